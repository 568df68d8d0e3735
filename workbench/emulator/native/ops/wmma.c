/* V_WMMA and V_SWMMAC: D = A B + C, 16 by 16 each, in waves of either size.
 *
 * Which lane has which element is in the op fields, computed by wmma.py from the target's record: lane 16 g + i has
 * elements of row i of A, of column i of B, and of column i of C and D.
 *
 * Arithmetic: how hardware rounds is not published. Here products are exact, and each is added to the sum, which
 * starts from C, in single precision with one rounding to nearest even, in the order k = 1, 0, 3, 2, ... (sparse: in
 * the order of the stored elements), as in matrix.c, and for the same reason. A result of 16 bits is rounded once, at
 * the end, to nearest even. A NaN comes out as 0x7fc00000. Denormals are kept. Integers are exact; with clamp they
 * saturate at the end, else they wrap. EXEC is ignored.
 *
 * V_WMMA of formats of 8, 6 and 4 bits (f8f6f4): elements of 6 bits follow each other without gaps. With scales, each
 * 32 or 16 elements of K of a row of A, and of a column of B, are multiplied by one: byte k / 32 or k / 16 of one or
 * two registers in the row's or column's lane.
 *
 * Op fields: dst (D), src0 (A), src1 (B), src2 (C, or the indices of a sparse A), flags (abi.h); imm[0] a constant C;
 * imm[1] and imm[2] how A and B are spread: registers in bits 7:0, groups of lanes in 15:8, and in 31:16 the logarithm
 * of the number of adjacent K in a lane; imm[3] the set of indices, or rows of scales of A in 15:0 and of B in 31:16
 * (HK_NO_REGISTER: scalar registers ssrc0 and ssrc1).
 */
#include "ops/matrix_avx512.h"
#include "ops/matrix_dot.h"

enum { SIDE = 16, GROUPS = HK_LANES / SIDE, OF_LANE = SIDE / GROUPS, MOST_K = 256 };

typedef struct HkSpread {
    int rows, groups, run;
} HkSpread;

HK_INLINE HkSpread hk_spread(uint32_t bits) {
    return (HkSpread){(int)(bits & 255), (int)(bits >> 8 & 255), (int)(bits >> 16)};
}

HK_INLINE uint32_t hk_spread_bits(HkSpread s) {
    return (uint32_t)s.rows | (uint32_t)s.groups << 8 | (uint32_t)s.run << 16;
}

/* K of element `e` of a lane of group `g`, of `of_lane` elements. */
HK_INLINE int hk_spread_k(HkSpread s, int of_lane, int g, int e) {
    if (s.groups == 1) return e;
    int place = e + (g >> 1) * of_lane;
    return (place >> s.run << (s.run + 1)) + ((g & 1) << s.run) + (place & ((1 << s.run) - 1));
}

HK_INLINE int hk_wave_per_dword(HkElement type) {
    return type == HK_INT4 || type == HK_UINT4 ? 8 : type == HK_UINT8 ? 4 : hk_per_dword(type);
}

HK_INLINE f32x16 hk_wave_element(HkElement type, u32x16 dword, int e) {
    switch (type) {
    case HK_UINT8:
        return __builtin_convertvector((i32x16)(dword >> (8 * e) & 255), f32x16);
    case HK_UINT4:
        return __builtin_convertvector((i32x16)(dword >> (4 * e) & 15), f32x16);
    case HK_INT4:
        return __builtin_convertvector((i32x16)(dword << (28 - 4 * e)) >> 28, f32x16);
    default:
        return hk_element(type, dword, e, 1);
    }
}

/* The number of K in registers: of a sparse A, of the stored ones. */
HK_INLINE int hk_spread_depth(HkElement type, HkSpread s) { return s.rows * hk_wave_per_dword(type) * s.groups; }

/* A as [k][row], or B as [k][column]; `signs` are flipped in every dword. */
HK_INLINE void hk_wave_unpack_as(HkElement type, float *out, const uint32_t *rows, HkSpread s, uint32_t signs) {
    int per = hk_wave_per_dword(type);
    for (int g = 0; g < s.groups; g++)
        for (int r = 0; r < s.rows; r++) {
            u32x16 dword = *(const u32x16 *)(rows + HK_LANES * r + SIDE * g) ^ signs;
            float *to = out + SIDE * hk_spread_k(s, s.rows * per, g, r * per);
#pragma clang loop unroll(full)
            for (int e = 0; e < per; e++) *(f32x16 *)(to + SIDE * e) = hk_wave_element(type, dword, e);
        }
}

static void hk_wave_unpack(HkElement type, float *out, const uint32_t *rows, HkSpread s, uint32_t signs) {
    switch (type) {
#define HK_UNPACK(kind)                                                                                                \
    case kind:                                                                                                         \
        hk_wave_unpack_as(kind, out, rows, s, signs);                                                                  \
        return;
        HK_UNPACK(HK_F32)
        HK_UNPACK(HK_F16)
        HK_UNPACK(HK_BF16)
        HK_UNPACK(HK_FP8)
        HK_UNPACK(HK_BF8)
        HK_UNPACK(HK_INT8)
        HK_UNPACK(HK_UINT8)
        HK_UNPACK(HK_INT4)
        HK_UNPACK(HK_UINT4)
#undef HK_UNPACK
    default:
        return;
    }
}

/* Where a row of C and D is: its group of lanes, and its place among the rows of a lane. */
typedef struct HkPlace {
    int group, index;
} HkPlace;

HK_INLINE HkPlace hk_row_place(int row, int interleaved) {
    if (interleaved) return (HkPlace){row % GROUPS, row / GROUPS};
    return (HkPlace){row / 8 + row / OF_LANE % (8 / OF_LANE) * 2, row % OF_LANE};
}

/* 16 bits of each dword, in `half`, as floats. */
HK_INLINE f32x16 hk_half_row(int kind, u32x16 dword, int half) {
    return hk_element(kind == HK_WMMA_F16 ? HK_F16 : HK_BF16, dword, half, 0);
}

/* Floats to 16 bits, to nearest even. */
HK_INLINE u32x16 hk_to_half_row(int kind, f32x16 x) {
    if (kind == HK_WMMA_F16) {
        u16x16 bits = (u16x16) __builtin_convertvector(x, f16x16);
        return __builtin_convertvector(bits, u32x16);
    }
    u32x16 bits = (u32x16)x, rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    u32x16 nan = (u32x16)(x != x);
    return (rounded & ~nan) | (nan & 0x7fc0);
}

HK_INLINE int hk_in_halves(int kind) { return kind == HK_WMMA_F16 || kind == HK_WMMA_BF16; }

/* C, with its modifiers, by row. */
HK_INLINE void hk_load_sums(f32x16 *sums, const Wave *w, const Op *op, int kind) {
    int halves = hk_in_halves(kind), packed = halves && !(op->flags & HK_WMMA_HALVES);
    int high = (op->flags & HK_WMMA_HIGH) != 0, interleaved = (op->flags & HK_WMMA_INTERLEAVED) != 0;
    const uint32_t *c = hk_row(w, op->src2);
    f32x16 constant = (f32x16)((u32x16){} + op->imm[0]);
    if (halves) constant = hk_half_row(kind, (u32x16)constant, 0);
#pragma clang loop unroll(full)
    for (int row = 0; row < SIDE; row++) {
        HkPlace p = hk_row_place(row, interleaved);
        if (op->flags & HK_MATRIX_C_CONSTANT)
            sums[row] = constant;
        else if (!halves)
            sums[row] = *(const f32x16 *)(c + p.index * HK_LANES + SIDE * p.group);
        else {
            int reg = packed ? p.index / 2 : p.index, half = packed ? p.index % 2 : high;
            sums[row] = hk_half_row(kind, *(const u32x16 *)(c + reg * HK_LANES + SIDE * p.group), half);
        }
    }
    uint32_t keep = op->flags >> 17 & 1 ? 0x7fffffff : ~0u, flip = op->flags >> 14 & 1 ? 0x80000000 : 0;
    if (__builtin_expect(~keep | flip, 0) && kind != HK_WMMA_I32)
        for (int row = 0; row < SIDE; row++) sums[row] = (f32x16)(((u32x16)sums[row] & keep) ^ flip);
}

HK_INLINE void hk_store_sums(Wave *w, const Op *op, int kind, const f32x16 *sums) {
    int halves = hk_in_halves(kind), high = (op->flags & HK_WMMA_HIGH) != 0;
    int interleaved = (op->flags & HK_WMMA_INTERLEAVED) != 0;
    uint32_t *d = hk_row(w, op->dst);
#pragma clang loop unroll(full)
    for (int row = 0; row < SIDE; row++) {
        HkPlace p = hk_row_place(row, interleaved);
        if (!halves)
            *(f32x16 *)(d + p.index * HK_LANES + SIDE * p.group) = sums[row];
        else if (op->flags & HK_WMMA_HALVES) {
            u32x16 *to = (u32x16 *)(d + p.index * HK_LANES + SIDE * p.group), bits = hk_to_half_row(kind, sums[row]);
            *to = high ? (*to & 0xffff) | bits << 16 : (*to & 0xffff0000) | bits;
        } else if (p.index % 2 == 0)
            *(u32x16 *)(d + p.index / 2 * HK_LANES + SIDE * p.group) =
                hk_to_half_row(kind, sums[row]) | hk_to_half_row(kind, sums[row + 1]) << 16;
    }
}

/* Where 16 rows of sums are: one after another, or as registers of C and D without halves are. */
typedef enum HkOrder { HK_IN_ORDER, HK_BLOCKED, HK_INTERLEAVED } HkOrder;

HK_INLINE int hk_row_offset(HkOrder order, int row) {
    HkPlace p = hk_row_place(row, order == HK_INTERLEAVED);
    return order == HK_IN_ORDER ? row * SIDE : p.index * HK_LANES + p.group * SIDE;
}

/* D = C + A B; a and b are [k][16]. D may be C. */
HK_INLINE void hk_wave_multiply(HkOrder order, float *d, const float *c, const float *a, const float *b, int depth,
                                int paired) {
#pragma clang loop unroll(full)
    for (int first = 0; first < SIDE; first += HK_TILE_ROWS) {
        f32x16 sum[HK_TILE_ROWS];
#pragma clang loop unroll(full)
        for (int i = 0; i < HK_TILE_ROWS; i++) sum[i] = *(const f32x16 *)(c + hk_row_offset(order, first + i));
#pragma clang loop unroll(disable)
        for (int k = 0; k < depth; k++) {
            int at = (k ^ paired) * SIDE;
            f32x16 row = *(const f32x16 *)(b + at);
#pragma clang loop unroll(full)
            for (int i = 0; i < HK_TILE_ROWS; i++)
                sum[i] = __builtin_elementwise_fma(hk_splat(a[at + first + i]), row, sum[i]);
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < HK_TILE_ROWS; i++) *(f32x16 *)(d + hk_row_offset(order, first + i)) = hk_one_nan(sum[i]);
    }
}

/* Addresses of pairs of K, in the order of K. */
HK_INLINE void hk_wave_pairs(const uint32_t **pairs, const uint32_t *rows, HkSpread s) {
    for (int g = 0; g < s.groups; g++)
        for (int r = 0; r < s.rows; r++)
            pairs[hk_spread_k(s, 2 * s.rows, g, 2 * r) / 2] = rows + r * HK_LANES + SIDE * g;
}

#ifdef HK_AVX512
/* The same for f16 or bf16 in registers: A becomes floats here, B when needed. */
HK_INLINE void hk_wave_halves(HkOrder order, HkElement type, float *d, const float *c, const uint32_t *rows_a,
                              const uint32_t *rows_b, HkSpread a, HkSpread b) {
    const uint32_t *pairs_a[MOST_K / 2], *pairs_b[MOST_K / 2];
    float room[MOST_K / 2 * SIDE * 2] __attribute__((aligned(64)));
    hk_wave_pairs(pairs_a, rows_a, a);
    hk_wave_pairs(pairs_b, rows_b, b);
    /* Distance of neighbouring rows, and of the elements of a pair, as the conversions leave them. */
    int count = hk_spread_depth(type, a) / 2, step = type == HK_F16 ? 2 : 1, other = type == HK_F16 ? 1 : SIDE;
#pragma clang loop unroll_count(4)
    for (int k = 0; k < count; k++) {
        float *to = room + 2 * SIDE * k;
        if (type == HK_F16) {
            *(f32x16 *)to = __builtin_convertvector(*(const f16x16 *)pairs_a[k], f32x16);
            *(f32x16 *)(to + 16) = __builtin_convertvector(*(const f16x16 *)(pairs_a[k] + 8), f32x16);
        } else {
            *(f32x16 *)to = hk_element(HK_BF16, *(const u32x16 *)pairs_a[k], 0, 0);
            *(f32x16 *)(to + 16) = hk_element(HK_BF16, *(const u32x16 *)pairs_a[k], 1, 0);
        }
    }
    f32x16 sum[SIDE];
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) sum[i] = *(const f32x16 *)(c + hk_row_offset(order, i));
#pragma clang loop unroll(disable)
    for (int k = 0; k < count; k++) {
        const float *ak = room + 2 * SIDE * k;
        u32x16 pair = *(const u32x16 *)pairs_b[k];
        f32x16 row = hk_element(type, pair, 1, 0);
#pragma clang loop unroll(full)
        for (int i = 0; i < SIDE; i++) sum[i] = __builtin_elementwise_fma(hk_splat(ak[i * step + other]), row, sum[i]);
        row = hk_element(type, pair, 0, 0);
#pragma clang loop unroll(full)
        for (int i = 0; i < SIDE; i++) sum[i] = __builtin_elementwise_fma(hk_splat(ak[i * step]), row, sum[i]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) *(f32x16 *)(d + hk_row_offset(order, i)) = hk_one_nan(sum[i]);
}
#endif

#ifdef HK_DOT
/* 8-bit floats as pairs of bf16, [pair][16]. */
HK_INLINE void hk_wave_from_bytes(HkElement type, uint32_t *out, const uint32_t *rows, HkSpread s) {
    for (int g = 0; g < s.groups; g++)
        for (int r = 0; r < s.rows; r++)
            hk_dot_from_bytes(type, out + hk_spread_k(s, 4 * s.rows, g, 4 * r) / 2 * SIDE, SIDE,
                              rows + r * HK_LANES + SIDE * g);
}

/* The same with VDPBF16PS; returns 0, with nothing done, where that is inexact or slower. */
HK_INLINE int hk_wave_dot(HkOrder order, float *d, const float *c, HkElement type_a, HkElement type_b,
                          const uint32_t *rows_a, const uint32_t *rows_b, HkSpread a, HkSpread b) {
    if (type_a != HK_BF16 && type_a != HK_FP8 && type_a != HK_BF8) return 0;
    /* Vectors of 16 dwords are looked at by fours. */
    if (!hk_dot_pays || !(hk_dot_addends(c, SIDE / 4) & HK_DOT_EXACT)) return 0;
    const uint32_t *pairs_a[MOST_K / 2], *pairs_b[MOST_K / 2];
    uint32_t room[2][MOST_K / 2 * SIDE] __attribute__((aligned(64)));
    int count = hk_spread_depth(type_a, a) / 2;
    if (type_a == HK_BF16) {
        int vectors = a.rows * GROUPS / 4;
        if (!(hk_dot_factors(rows_a, vectors) & hk_dot_factors(rows_b, vectors) & HK_DOT_EXACT)) return 0;
        hk_wave_pairs(pairs_a, rows_a, a);
        hk_wave_pairs(pairs_b, rows_b, b);
    } else {
        HK_WITH_EIGHTS(type_a, hk_wave_from_bytes, room[0], rows_a, a);
        HK_WITH_EIGHTS(type_b, hk_wave_from_bytes, room[1], rows_b, b);
        for (int k = 0; k < count; k++) pairs_a[k] = room[0] + SIDE * k, pairs_b[k] = room[1] + SIDE * k;
    }
    __m512 sum[SIDE];
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) sum[i] = _mm512_load_ps(c + hk_row_offset(order, i));
#pragma clang loop unroll(disable)
    for (int k = 0; k < count; k++) {
        __m512i row = _mm512_load_si512(pairs_b[k]);
        const uint32_t *ak = pairs_a[k];
#pragma clang loop unroll(full)
        for (int i = 0; i < SIDE; i++) hk_dot_add(&sum[i], row, ak + i);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) *(f32x16 *)(d + hk_row_offset(order, i)) = hk_one_nan((f32x16)sum[i]);
    return 1;
}
#endif

/* Signs to flip in every dword of a factor: neg_lo is for elements of even K, neg_hi for the others. */
HK_INLINE uint32_t hk_flipped(const Op *op, int factor) {
    return (op->flags >> (12 + factor) & 1) << 15 | (op->flags >> (15 + factor) & 1) << 31;
}

/* The stored elements and B's rows that they are multiplied with: sums += A B. */
static void hk_sparse_multiply(f32x16 *sums, const Wave *w, const Op *op, const float *a, const float *b, HkSpread s,
                               int per) {
    int of_lane = s.rows * per, first = (int)op->imm[3] * 2 * of_lane, stored = of_lane * s.groups;
    int ordered = (op->flags & HK_WMMA_ORDERED) != 0;
    uint16_t place[MOST_K / 2 * SIDE];
    for (int g = 0; g < s.groups; g++)
        for (int e = 0; e < of_lane; e++) {
            int n = hk_spread_k(s, of_lane, g, e);
            int bit = first + 2 * (ordered ? n % of_lane : e), group = ordered ? n / of_lane : g;
            const uint32_t *indices = hk_row(w, op->src2 + (unsigned)(bit / 32)) + SIDE * group;
            for (int i = 0; i < SIDE; i++)
                place[n * SIDE + i] = (uint16_t)(n / 2 * 4 + (int)(indices[i] >> bit % 32 & 3));
        }
    for (int i = 0; i < SIDE; i++) {
        f32x16 sum = sums[i];
        for (int n = 0; n < stored; n++) {
            f32x16 row = *(const f32x16 *)(b + place[n * SIDE + i] * SIDE);
            sum = __builtin_elementwise_fma(hk_splat(a[n * SIDE + i]), row, sum);
        }
        sums[i] = hk_one_nan(sum);
    }
}

/* Adds exact sums of integer products to `c`. */
HK_INLINE void hk_add_integers(f32x16 *sums, const f32x16 *c, int clamp) {
    for (int i = 0; i < SIDE; i++) {
        i32x16 products = __builtin_convertvector(sums[i], i32x16), addend = (i32x16)c[i];
        i32x16 total =
            clamp ? __builtin_elementwise_add_sat(products, addend) : (i32x16)((u32x16)products + (u32x16)addend);
        sums[i] = (f32x16)total;
    }
}

#ifdef HK_DOT_BYTES
/* D = C + A B of bytes, with and without signs. VPDPBUSD multiplies four bytes without a sign by four with one. So 128
 * is added to each element of a signed B, and subtracted from each of an unsigned A; what that adds to the products is
 * subtracted in advance. Groups and registers of A and B have the same K, in whatever order. */
HK_INLINE void hk_wave_bytes(HkOrder order, u32x16 *d, const u32x16 *c, HkElement type_a, HkElement type_b,
                             const uint32_t *rows_a, const uint32_t *rows_b, HkSpread s, int clamp) {
    uint32_t moved[2 * SIDE * SIDE] __attribute__((aligned(64)));
    u32x16 flip_a = (u32x16){} + (type_a == HK_UINT8 ? 0x80808080 : 0);
    u32x16 flip_b = (u32x16){} + (type_b == HK_INT8 ? 0x80808080 : 0);
    __m512i of_rows = _mm512_setzero_si512(), of_columns = _mm512_setzero_si512(), ones = _mm512_set1_epi8(1);
    int count = s.rows * s.groups;
    for (int n = 0; n < count; n++) {
        int from = n % s.rows * HK_LANES + n / s.rows * SIDE;
        u32x16 a = *(const u32x16 *)(rows_a + from) ^ flip_a, b = *(const u32x16 *)(rows_b + from) ^ flip_b;
        *(u32x16 *)(moved + SIDE * n) = a;
        of_rows = _mm512_dpbusd_epi32(of_rows, (__m512i)flip_b, (__m512i)a);
        of_columns = _mm512_dpbusd_epi32(of_columns, (__m512i)b, ones);
    }
    u32x16 excess = type_b == HK_INT8 ? (u32x16)of_rows : (u32x16){};
    u32x16 lack = type_a == HK_UINT8 ? (u32x16)of_columns << 7 : (u32x16){};
    if (type_a == HK_UINT8 && type_b == HK_INT8) excess += 128 * 128 * 4 * (uint32_t)count;
    __m512i sum[SIDE];
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) sum[i] = (__m512i)(lack - excess[i]);
#pragma clang loop unroll(disable)
    for (int n = 0; n < count; n++) {
        const uint32_t *a = moved + SIDE * n;
        int from = n % s.rows * HK_LANES + n / s.rows * SIDE;
        __m512i row = (__m512i)(*(const u32x16 *)(rows_b + from) ^ flip_b);
#pragma clang loop unroll(full)
        for (int i = 0; i < SIDE; i++) __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum[i]) : "v"(row), "m"(a[i]));
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < SIDE; i++) {
        int at = hk_row_offset(order, i) / SIDE;
        d[at] = clamp ? (u32x16)__builtin_elementwise_add_sat((i32x16)sum[i], (i32x16)c[at]) : (u32x16)sum[i] + c[at];
    }
}
#endif

/* Factors of an instruction. */
typedef struct HkWaveFactors {
    HkElement type_a, type_b;
    HkSpread a, b;
    const uint32_t *rows_a, *rows_b;
    uint32_t flip_a, flip_b;
} HkWaveFactors;

HK_INLINE HkWaveFactors hk_wave_factors(const Wave *w, const Op *op) {
    return (HkWaveFactors){HK_MATRIX_TYPE_A(op), HK_MATRIX_TYPE_B(op), hk_spread(op->imm[1]), hk_spread(op->imm[2]),
                           hk_row(w, op->src0),  hk_row(w, op->src1),  hk_flipped(op, 0),     hk_flipped(op, 1)};
}

/* D = C + A B of floats. */
HK_INLINE void hk_wave_floats(HkOrder order, float *d, const float *c, const HkWaveFactors *f) {
#ifdef HK_DOT
    if (!(f->flip_a | f->flip_b) && hk_wave_dot(order, d, c, f->type_a, f->type_b, f->rows_a, f->rows_b, f->a, f->b))
        return;
#endif
#ifdef HK_AVX512
    if (!(f->flip_a | f->flip_b) && f->type_a == HK_F16) {
        hk_wave_halves(order, HK_F16, d, c, f->rows_a, f->rows_b, f->a, f->b);
        return;
    }
    if (!(f->flip_a | f->flip_b) && f->type_a == HK_BF16) {
        hk_wave_halves(order, HK_BF16, d, c, f->rows_a, f->rows_b, f->a, f->b);
        return;
    }
#endif
    float a[MOST_K / 2 * SIDE] __attribute__((aligned(64))), b[MOST_K / 2 * SIDE] __attribute__((aligned(64)));
    hk_wave_unpack(f->type_a, a, f->rows_a, f->a, f->flip_a);
    hk_wave_unpack(f->type_b, b, f->rows_b, f->b, f->flip_b);
    hk_wave_multiply(order, d, c, a, b, hk_spread_depth(f->type_a, f->a), f->type_a != HK_F32);
}

HK_INLINE int32_t hk_wave_matrix(Wave *w, const Op *op, int sparse) {
    float a[MOST_K / 2 * SIDE] __attribute__((aligned(64))), b[MOST_K * SIDE] __attribute__((aligned(64)));
    f32x16 sums[SIDE] __attribute__((aligned(64))), addends[SIDE];
    HkWaveFactors f = hk_wave_factors(w, op);
    int kind_d = (int)(op->flags >> 8 & 3), kind_c = (int)(op->flags >> 10 & 3), integer = kind_d == HK_WMMA_I32;
    Op own = *op;
    /* C is D, and src2 has the indices. */
    if (sparse) own.src2 = op->dst;
    hk_load_sums(sums, w, &own, kind_c);
    if (!sparse && !integer) {
        hk_wave_floats(HK_IN_ORDER, (float *)sums, (const float *)sums, &f);
        hk_store_sums(w, op, kind_d, sums);
        return 0;
    }
#ifdef HK_DOT_BYTES
    int bytes_a = f.type_a == HK_INT8 || f.type_a == HK_UINT8, bytes_b = f.type_b == HK_INT8 || f.type_b == HK_UINT8;
    if (integer && !sparse && bytes_a && bytes_b && op->imm[1] == op->imm[2]) {
        hk_wave_bytes(HK_IN_ORDER, (u32x16 *)sums, (const u32x16 *)sums, f.type_a, f.type_b, f.rows_a, f.rows_b, f.a,
                      (op->flags & HK_WMMA_CLAMP) != 0);
        hk_store_sums(w, op, kind_d, sums);
        return 0;
    }
#endif
    if (integer) {
        memcpy(addends, sums, sizeof sums);
        memset(sums, 0, sizeof sums);
    }
    hk_wave_unpack(f.type_a, a, f.rows_a, f.a, f.flip_a);
    hk_wave_unpack(f.type_b, b, f.rows_b, f.b, f.flip_b);
    if (sparse)
        hk_sparse_multiply(sums, w, op, a, b, f.a, hk_wave_per_dword(f.type_a));
    else
        hk_wave_multiply(HK_IN_ORDER, (float *)sums, (const float *)sums, a, b, hk_spread_depth(f.type_a, f.a), 0);
    if (integer) hk_add_integers(sums, addends, (op->flags & HK_WMMA_CLAMP) != 0);
    hk_store_sums(w, op, kind_d, sums);
    return 0;
}

static int32_t hk_wave_general(Wave *w, const Op *op) { return hk_wave_matrix(w, op, 0); }

HK_EXPORT int32_t hk_wmma(Wave *w, const Op *op);
HK_EXPORT int32_t hk_swmmac(Wave *w, const Op *op);
int32_t hk_wmma(Wave *w, const Op *op) {
    /* The most frequent case in place: C and D of fp32, and C as it is. */
    const uint32_t others = 0xf00 | 1u << 14 | 1u << 17 | HK_MATRIX_C_CONSTANT;
    float *d = (float *)hk_row(w, op->dst);
    const float *c = (const float *)hk_row(w, op->src2);
    if (op->flags & others || (c != d && hk_rows_overlap(c, OF_LANE, d, OF_LANE))) return hk_wave_general(w, op);
    HkWaveFactors f = hk_wave_factors(w, op);
    /* With the type and the places of factors as constants, for the spreads of gfx12, gfx1250 and gfx11. */
    static const HkSpread usual[] = {
        {HK_LANES == 32 ? 4 : 2, GROUPS, 2}, /* 16 elements of 16 bits */
        {8, GROUPS, 3},                      /* 32 of 16 bits */
        {8, GROUPS, 4},                      /* 64 of 8 bits */
        {16, GROUPS, 4},                     /* 128 of 8 bits */
        {8, 1, 0},                           /* 16 of 16 bits, in each group of lanes */
    };
#define HK_USUAL(order, number, type)                                                                                  \
    if (op->imm[1] == hk_spread_bits(usual[number]) && f.type_a == (type) && f.type_b == (type)) {                     \
        const HkWaveFactors known = {type, type, usual[number], usual[number], f.rows_a, f.rows_b, 0, 0};              \
        hk_wave_floats(order, d, c, &known);                                                                           \
        return 0;                                                                                                      \
    }
    int is_interleaved = (op->flags & HK_WMMA_INTERLEAVED) != 0;
    if (op->imm[1] == op->imm[2] && !(f.flip_a | f.flip_b)) {
        if (is_interleaved) {
            HK_USUAL(HK_INTERLEAVED, 4, HK_F16)
            HK_USUAL(HK_INTERLEAVED, 4, HK_BF16)
        } else {
            HK_USUAL(HK_BLOCKED, 0, HK_F16)
            HK_USUAL(HK_BLOCKED, 0, HK_BF16)
#if HK_LANES == 32
            HK_USUAL(HK_BLOCKED, 1, HK_F16)
            HK_USUAL(HK_BLOCKED, 1, HK_BF16)
            HK_USUAL(HK_BLOCKED, 2, HK_FP8)
            HK_USUAL(HK_BLOCKED, 3, HK_FP8)
#endif
        }
    }
#undef HK_USUAL
    if (is_interleaved)
        hk_wave_floats(HK_INTERLEAVED, d, c, &f);
    else
        hk_wave_floats(HK_BLOCKED, d, c, &f);
    return 0;
}
int32_t hk_swmmac(Wave *w, const Op *op) { return hk_wave_matrix(w, op, 1); }

/* f8f6f4. */

/* A or B as [k][16]. */
static void hk_block_unpack(HkElement type, float *out, const uint32_t *rows, HkSpread s) {
    if (type == HK_FP8 || type == HK_BF8) {
        hk_wave_unpack(type, out, rows, s, 0);
        return;
    }
    int bits = type == HK_FP4 ? 4 : 6, of_lane = 32 * s.rows / bits;
    for (int g = 0; g < s.groups; g++)
        for (int e = 0; e < of_lane; e++) {
            const uint32_t *from = rows + SIDE * g;
            f32x16 *to = (f32x16 *)(out + SIDE * hk_spread_k(s, of_lane, g, e));
            *to = type == HK_FP4   ? hk_packed_element(from, 4, 1, 0x1p14f, e)
                  : type == HK_FP6 ? hk_packed_element(from, 6, 3, 0x1p14f, e)
                                   : hk_packed_element(from, 6, 2, 0x1p12f, e);
        }
}

HK_INLINE float hk_block_scale(int format, uint32_t byte) {
    if (format == HK_SCALE_E8M0) return byte == 255 ? __builtin_nanf("") : __builtin_ldexpf(1, (int)byte - 127);
    if (format == HK_SCALE_E4M3) return hk_from_fp8((u32x16){byte}, 0, 1)[0];
    /* No sign; bias 15; 255 is NaN. */
    int exponent = (int)(byte >> 3), mantissa = (int)(byte & 7);
    if (byte == 255) return __builtin_nanf("");
    return __builtin_ldexpf((float)(exponent ? 8 + mantissa : mantissa), (exponent ? exponent : 1) - 18);
}

/* Scales of 16 rows of A or columns of B, as [block][16], whose lanes are from `lane` on. */
static void hk_block_scales(float *out, const Wave *w, const Op *op, int factor, int lane) {
    uint32_t row = op->imm[3] >> 16 * factor & 0xffff, count = op->offset & HK_SCALE_16 ? 8 : 4;
    uint16_t scalar = factor ? op->ssrc1 : op->ssrc0;
    int format = op->offset >> 2 * factor & 3;
    for (uint32_t n = 0; n < count; n++)
        for (int i = 0; i < SIDE; i++) {
            uint32_t word = row != HK_NO_REGISTER ? hk_row(w, row + n / 4)[lane + i] : w->s[scalar + n / 4];
            out[SIDE * n + (unsigned)i] = hk_block_scale(format, word >> 8 * (n % 4) & 255);
        }
}

/* Multiplies elements [k][16] by their scales, which is exact below 2^112; returns 0, with nothing done, for larger. */
static int hk_block_apply(float *elements, const float *scales, int depth, int count) {
    for (int n = 0; n < SIDE * count; n++)
        if (scales[n] >= 0x1p112f) return 0;
    for (int k = 0; k < depth; k++)
        *(f32x16 *)(elements + SIDE * k) *= *(const f32x16 *)(scales + SIDE * (k * count / depth));
    return 1;
}

/* With a large scale: products in double precision, where they are exact. NULL scales are in the elements already. */
static void hk_block_multiply_wide(f32x16 *sums, const float *a, const float *b, int depth, const float *scale_a,
                                   const float *scale_b, int count) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum = sums[i][j];
            for (int n = 0; n < depth; n++) {
                int k = n ^ 1, block = SIDE * (k * count / depth);
                double x = (double)a[SIDE * k + i] * (scale_a ? (double)scale_a[block + i] : 1.0);
                double y = (double)b[SIDE * k + j] * (scale_b ? (double)scale_b[block + j] : 1.0);
                sum = (float)((double)sum + x * y);
            }
            sums[i][j] = sum;
        }
    for (int i = 0; i < SIDE; i++) sums[i] = hk_one_nan(sums[i]);
}

HK_EXPORT int32_t hk_wmma_blocks(Wave *w, const Op *op);
int32_t hk_wmma_blocks(Wave *w, const Op *op) {
    enum { DEPTH = 128, MOST_BLOCKS = 8 };
    float a[2][DEPTH * SIDE] __attribute__((aligned(64))), b[DEPTH * SIDE] __attribute__((aligned(64)));
    float scale_a[2][MOST_BLOCKS * SIDE] __attribute__((aligned(64)));
    float scale_b[MOST_BLOCKS * SIDE] __attribute__((aligned(64)));
    f32x16 sums[2][SIDE] __attribute__((aligned(64)));
    HkWaveFactors f = hk_wave_factors(w, op);
    unsigned halves = op->flags & HK_WMMA_TALL ? 2 : 1;
    int scaled = (op->flags & HK_MATRIX_SCALED) != 0, count = op->offset & HK_SCALE_16 ? 8 : 4, wide_b = 0;
    hk_block_unpack(f.type_b, b, f.rows_b, f.b);
    if (scaled) {
        hk_block_scales(scale_b, w, op, 1, op->offset & HK_SCALE_UPPER_B ? SIDE : 0);
        wide_b = !hk_block_apply(b, scale_b, DEPTH, count);
    }
    /* All is read before any result is written. */
    for (unsigned half = 0; half < halves; half++) {
        Op part = *op;
        part.src2 = (uint16_t)(op->src2 + half * OF_LANE);
        hk_load_sums(sums[half], w, &part, HK_WMMA_F32);
        hk_block_unpack(f.type_a, a[half], f.rows_a + half * (unsigned)f.a.rows * HK_LANES, f.a);
        int wide_a = 0;
        if (scaled) {
            int lane = halves == 2 ? (int)half * SIDE : op->offset & HK_SCALE_UPPER_A ? SIDE : 0;
            hk_block_scales(scale_a[half], w, op, 0, lane);
            wide_a = !hk_block_apply(a[half], scale_a[half], DEPTH, count);
        }
        if (wide_a || wide_b)
            hk_block_multiply_wide(sums[half], a[half], b, DEPTH, wide_a ? scale_a[half] : NULL,
                                   wide_b ? scale_b : NULL, count);
        else
            hk_wave_multiply(HK_IN_ORDER, (float *)sums[half], (const float *)sums[half], a[half], b, DEPTH, 1);
    }
    for (unsigned half = 0; half < halves; half++) {
        Op part = *op;
        part.dst = (uint16_t)(op->dst + half * OF_LANE);
        hk_store_sums(w, &part, HK_WMMA_F32, sums[half]);
    }
    return 0;
}
