/* Shapes and element types of matrix instructions, and conversion of elements to floats.
 *
 * Every MFMA reads A and B the same way. With M rows (columns of B) the 64 lanes form 64/M groups; group g holds block
 * g % blocks and its K elements [kl * (g / blocks), ...), where kl is the number of elements per lane, in the order of
 * the bits of the registers. So for each k the M elements of A, and the M of B, are in neighbouring lanes.
 */
#ifndef HK_MATRIX_H
#define HK_MATRIX_H

#include "ops/bits.h"

/* Op.flags of a matrix instruction. */
#define HK_MATRIX_TYPE_A(op) ((HkElement)((op)->flags & 15))
#define HK_MATRIX_TYPE_B(op) ((HkElement)((op)->flags >> 4 & 15))
#define HK_MATRIX_BLOCKS(op) ((int)((op)->flags >> 8 & 31))
#define HK_MATRIX_CBSZ(op) ((op)->flags >> 16 & 7)
#define HK_MATRIX_ABID(op) ((op)->flags >> 19 & 15)
#define HK_MATRIX_BLGP(op) ((op)->flags >> 23 & 7)
/* Op.imm[2]: registers of A in bits 7:0, of B in bits 15:8. */
#define HK_MATRIX_ROWS_A(op) ((int)((op)->imm[2] & 255))
#define HK_MATRIX_ROWS_B(op) ((int)((op)->imm[2] >> 8 & 255))

/* Element types in a function for integers only, or for floats only: the first has no code for floats. */
#define HK_TYPE_A(op, integer) ((integer) ? HK_INT8 : HK_MATRIX_TYPE_A(op))
#define HK_TYPE_B(op, integer) ((integer) ? HK_INT8 : HK_MATRIX_TYPE_B(op))

#define HK_MATRIX_MAX_K 128

/* e4m3 and e5m2 are converted through half precision, whose conversion is exact and handles denormals: shifted into its
 * fields, and afterwards multiplied by the difference of the exponent biases. */
typedef _Float16 f16x16 __attribute__((vector_size(32)));
typedef uint16_t u16x16 __attribute__((vector_size(32)));

HK_INLINE f32x16 hk_half_bits(u32x16 bits) {
    return __builtin_convertvector((f16x16) __builtin_convertvector(bits, u16x16), f32x16);
}

HK_INLINE f32x16 hk_splat(float x) { return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }

HK_INLINE f32x16 hk_select(u32x16 mask, f32x16 yes, f32x16 no) {
    return (f32x16)(((u32x16)yes & mask) | ((u32x16)no & ~mask));
}

HK_INLINE f32x16 hk_from_fp8(u32x16 x, int fnuz, int with_nan) {
    f32x16 value = hk_half_bits((x & 0x80) << 8 | (x & 0x7f) << 7) * (fnuz ? 128.0f : 256.0f);
    if (!with_nan) return value;
    u32x16 nan = fnuz ? (u32x16)(x == 0x80) : (u32x16)((x & 0x7f) == 0x7f);
    return hk_select(nan, hk_splat(__builtin_nanf("")), value);
}

HK_INLINE f32x16 hk_from_bf8(u32x16 x, int fnuz, int with_nan) {
    if (!fnuz) return hk_half_bits(x << 8);
    /* Exponent 31 is an ordinary one in this format: it is lowered by one before the conversion from half precision. */
    u32x16 top = (u32x16)((x & 0x7c) == 0x7c);
    f32x16 value = hk_half_bits((x - (top & 4)) << 8) * hk_select(top, hk_splat(1.0f), hk_splat(0.5f));
    return with_nan ? hk_select((u32x16)(x == 0x80), hk_splat(__builtin_nanf("")), value) : value;
}

/* Nonzero where a byte of the dwords may be a NaN that half precision does not recognise. */
HK_INLINE u32x16 hk_nan_bytes(HkElement type, u32x16 dword) {
    if (type == HK_FP8) return ((dword & 0x7f7f7f7f) + 0x01010101) & 0x80808080;
    if (type == HK_FP8_FNUZ || type == HK_BF8_FNUZ) {
        u32x16 other = dword ^ 0x80808080;
        return (other - 0x01010101) & ~other & 0x80808080;
    }
    return (u32x16){};
}

/* Element `e` of the dwords of 16 lanes, as floats. */
HK_INLINE f32x16 hk_element(HkElement type, u32x16 dword, int e, int with_nan) {
    switch (type) {
    case HK_F32:
        return (f32x16)dword;
    case HK_XF32: {
        /* Only 10 mantissa bits are used; a NaN with only lower bits set remains a NaN. */
        u32x16 nan = (u32x16)((dword & 0x7fffffff) > 0x7f800000);
        return (f32x16)((dword & 0xffffe000) | (nan & 0x00400000));
    }
    case HK_BF16:
        return (f32x16)(e ? dword & 0xffff0000u : dword << 16);
    case HK_F16:
        return hk_half_bits(e ? dword >> 16 : dword & 0xffff);
    case HK_FP8:
        return hk_from_fp8(dword >> (8 * e) & 0xff, 0, with_nan);
    case HK_FP8_FNUZ:
        return hk_from_fp8(dword >> (8 * e) & 0xff, 1, with_nan);
    case HK_BF8:
        return hk_from_bf8(dword >> (8 * e) & 0xff, 0, with_nan);
    case HK_BF8_FNUZ:
        return hk_from_bf8(dword >> (8 * e) & 0xff, 1, with_nan);
    case HK_INT8:
        return __builtin_convertvector((i32x16)(dword << (24 - 8 * e)) >> 24, f32x16);
    default:
        return (f32x16)(u32x16){};
    }
}

/* Element e of 16 lanes, of a format with `bits` bits; each lane's follow each other in its registers from
 * `rows` on. */
HK_INLINE f32x16 hk_packed_element(const uint32_t *rows, int bits, int mantissa, float bias, int e) {
    int at = e * bits, word = at / 32, shift = at % 32;
    u32x16 value = *(const u32x16 *)(rows + HK_LANES * word) >> shift;
    if (shift + bits > 32) value |= *(const u32x16 *)(rows + HK_LANES * (word + 1)) << (32 - shift);
    u32x16 sign = value << (16 - bits) & 0x8000;
    u32x16 magnitude = (value & ((1u << (bits - 1)) - 1)) << (10 - mantissa);
    return hk_half_bits(sign | magnitude) * bias;
}

HK_INLINE int hk_per_dword(HkElement type) {
    return type == HK_F32 || type == HK_XF32 ? 1 : type == HK_F16 || type == HK_BF16 ? 2 : 4;
}

/* The four e4m3 bytes of 16 dwords, none a NaN, converted to halves two at a time. */
HK_INLINE void hk_unpack_fp8(float *out, int stride, u32x16 dword, float bias) {
    u32x16 even = (dword & 0x00800080) << 8 | (dword & 0x007f007f) << 7;
    u32x16 odd = (dword & 0x80008000) | (dword & 0x7f007f00) >> 1;
    *(f32x16 *)out = hk_half_bits(even) * bias;
    *(f32x16 *)(out + stride) = hk_half_bits(odd) * bias;
    *(f32x16 *)(out + 2 * stride) = hk_half_bits(even >> 16) * bias;
    *(f32x16 *)(out + 3 * stride) = hk_half_bits(odd >> 16) * bias;
}

/* Unpacks 16 lanes of `count` rows: out[k * stride + 0..15], k in register order. Without `with_nan`, NaNs are
 * converted to numbers, and the result is nonzero if there were any. */
HK_INLINE u32x16 hk_unpack_as(HkElement type, float *out, int stride, const uint32_t *rows, int count, int with_nan) {
    int per = hk_per_dword(type);
    u32x16 found = {};
    for (int r = 0; r < count; r++) {
        u32x16 dword = *(const u32x16 *)(rows + HK_LANES * r);
        found |= hk_nan_bytes(type, dword);
        if (!with_nan && (type == HK_FP8 || type == HK_FP8_FNUZ))
            hk_unpack_fp8(out + r * per * stride, stride, dword, type == HK_FP8 ? 256.0f : 128.0f);
        else
            for (int e = 0; e < per; e++)
                *(f32x16 *)(out + (r * per + e) * stride) = hk_element(type, dword, e, with_nan);
    }
    return found;
}

/* The same for lane groups that are `group_stride` lanes apart, consecutive in `out`. */
HK_INLINE void hk_unpack_groups(HkElement type, float *out, int stride, const uint32_t *rows, int count, int groups,
                                int group_stride) {
    int step = count * hk_per_dword(type) * stride;
    u32x16 found = {};
    for (int g = 0; g < groups; g++)
        found |= hk_unpack_as(type, out + g * step, stride, rows + g * group_stride, count, 0);
    if (type >= HK_FP8 && type != HK_INT8 && __builtin_expect(__builtin_reduce_or(found) != 0, 0))
        for (int g = 0; g < groups; g++) hk_unpack_as(type, out + g * step, stride, rows + g * group_stride, count, 1);
}

/* Calls an inlined function with a type of 8-bit floats as its first argument, with separate code for each type. */
#define HK_WITH_EIGHTS(type, function, ...)                                                                            \
    switch (type) {                                                                                                    \
    case HK_FP8:                                                                                                       \
        function(HK_FP8, __VA_ARGS__);                                                                                 \
        break;                                                                                                         \
    case HK_BF8:                                                                                                       \
        function(HK_BF8, __VA_ARGS__);                                                                                 \
        break;                                                                                                         \
    case HK_FP8_FNUZ:                                                                                                  \
        function(HK_FP8_FNUZ, __VA_ARGS__);                                                                            \
        break;                                                                                                         \
    default:                                                                                                           \
        function(HK_BF8_FNUZ, __VA_ARGS__);                                                                            \
        break;                                                                                                         \
    }

HK_INLINE void hk_unpack(HkElement type, float *out, int stride, const uint32_t *rows, int count, int groups,
                         int group_stride) {
    switch (type) {
    case HK_F32:
        hk_unpack_groups(HK_F32, out, stride, rows, count, groups, group_stride);
        break;
    case HK_XF32:
        hk_unpack_groups(HK_XF32, out, stride, rows, count, groups, group_stride);
        break;
    case HK_F16:
        hk_unpack_groups(HK_F16, out, stride, rows, count, groups, group_stride);
        break;
    case HK_BF16:
        hk_unpack_groups(HK_BF16, out, stride, rows, count, groups, group_stride);
        break;
    case HK_FP8:
        hk_unpack_groups(HK_FP8, out, stride, rows, count, groups, group_stride);
        break;
    case HK_BF8:
        hk_unpack_groups(HK_BF8, out, stride, rows, count, groups, group_stride);
        break;
    case HK_FP8_FNUZ:
        hk_unpack_groups(HK_FP8_FNUZ, out, stride, rows, count, groups, group_stride);
        break;
    case HK_BF8_FNUZ:
        hk_unpack_groups(HK_BF8_FNUZ, out, stride, rows, count, groups, group_stride);
        break;
    case HK_INT8:
        hk_unpack_groups(HK_INT8, out, stride, rows, count, groups, group_stride);
        break;
    default:
        break;
    }
}

/* Unpacks one block to [k][m] floats: the lane groups that hold it, consecutively. */
HK_INLINE int hk_unpack_block(HkElement type, float *out, int m, const uint32_t *rows, int count, int blocks,
                              int block) {
    int per_lane = count * hk_per_dword(type), groups = HK_LANES / m / blocks;
    for (int half = 0; half < m; half += 16)
        hk_unpack(type, out + half, m, rows + m * block + half, count, groups, m * blocks);
    return groups * per_lane;
}

/* Accumulator rows of 16 columns kept in vector registers at once. */
#if defined(__AVX512F__)
#define HK_TILE_ROWS 16
#else
#define HK_TILE_ROWS 4
#endif

/* Offset of row i of a block of 16 or 32: D[i][0..] are neighbouring lanes of one register. */
HK_INLINE int hk_result_offset(int m, int i) {
    return m == 16 ? (i % 4) * HK_LANES + 16 * (i / 4) : (4 * (i / 8) + i % 4) * HK_LANES + 32 * (i / 4 % 2);
}

/* Replaces every NaN by the same one, so that results do not depend on the order in which the CPU examines operands. */
HK_INLINE f32x16 hk_one_nan(f32x16 x) { return hk_select((u32x16)(x == x), x, hk_splat(__builtin_nanf(""))); }

/* D = C + A B for `m` x `m` floats; a and b are [k][m]. With `paired`, the second of each two adjacent K is added
 * first, as in instructions that multiply pairs (matrix_dot.h). */
HK_INLINE void hk_multiply(int m, float *d, const float *c, const float *a, const float *b, int depth, int paired) {
    for (int column = 0; column < m; column += 16)
        for (int first = 0; first < m; first += HK_TILE_ROWS) {
            /* `first` is a multiple of the rows below: the offsets add up. */
            int corner = hk_result_offset(m, first) + column;
            f32x16 sum[HK_TILE_ROWS];
#pragma clang loop unroll(full)
            for (int i = 0; i < HK_TILE_ROWS; i++) sum[i] = *(const f32x16 *)(c + corner + hk_result_offset(m, i));
            const float *ak = a + first, *bk = b + column;
#pragma clang loop unroll_count(2)
            for (int k = 0; k < depth; k++) {
                int at = (k ^ paired) * m;
                f32x16 row = *(const f32x16 *)(bk + at);
#pragma clang loop unroll(full)
                for (int i = 0; i < HK_TILE_ROWS; i++)
                    sum[i] = __builtin_elementwise_fma(hk_splat(ak[at + i]), row, sum[i]);
            }
#pragma clang loop unroll(full)
            for (int i = 0; i < HK_TILE_ROWS; i++)
                *(f32x16 *)(d + corner + hk_result_offset(m, i)) = hk_one_nan(sum[i]);
        }
}

/* Most instructions that add to one result and run as a unit. */
#define HK_LINKS 8

/* Registers of A and B of one instruction. */
typedef struct HkFactors {
    const uint32_t *a, *b;
} HkFactors;

/* Addresses of pairs of K: pair r of lane group g begins at base[g * group_stride + r * row_stride]. */
typedef struct HkPairs {
    const uint32_t *base;
    int group_stride, row_stride;
} HkPairs;

HK_INLINE int hk_rows_overlap(const void *a, int count_a, const void *b, int count_b) {
    size_t row = sizeof(uint32_t) * HK_LANES;
    return (const char *)a < (const char *)b + row * (size_t)count_b &&
           (const char *)b < (const char *)a + row * (size_t)count_a;
}

HK_INLINE void hk_fill_constant(float *rows, int count, uint32_t bits) {
    for (int i = 0; i < count * HK_LANES; i++) ((uint32_t *)rows)[i] = bits;
}

/* Copies `count` rows of B to `to`, with the lanes permuted as BLGP says. */
HK_INLINE void hk_arrange_b(uint32_t *to, const uint32_t *from, int count, uint32_t blgp) {
    for (int r = 0; r < count; r++)
        for (unsigned lane = 0; lane < HK_LANES; lane++) {
            unsigned source = lane;
            switch (blgp) {
            case 1:
                source = lane % 32;
                break;
            case 2:
                source = 32 + lane % 32;
                break;
            case 3:
                source = (lane + 16) % HK_LANES;
                break;
            case 4:
            case 5:
            case 6:
            case 7:
                source = 16 * (blgp - 4) + lane % 16;
                break;
            default:
                break;
            }
            to[HK_LANES * r + (int)lane] = from[HK_LANES * r + (int)source];
        }
}

/* Block of A that is multiplied into block `block` of the result: each 2^CBSZ blocks share the one that ABID names.
 * (AMD's matrix instruction calculator. The CDNA4 guide's formula counts ABID over the whole wave instead; the two
 * agree if 2^CBSZ is the number of blocks.) */
HK_INLINE int hk_source_block(const Op *op, int block) {
    int cbsz = (int)HK_MATRIX_CBSZ(op);
    return cbsz == 0 ? block : (block & ~((1 << cbsz) - 1)) + (int)HK_MATRIX_ABID(op) % (1 << cbsz);
}

/* Only 32-bit inputs follow MODE: if its bit 4 is clear, denormals are zeros. */
HK_INLINE void hk_flush_inputs(const Wave *w, float *values, int count) {
    if (__builtin_expect(w->mode >> 4 & 1, 1)) return;
    for (int i = 0; i < count; i++)
        if (((uint32_t *)values)[i] << 1 < 0x01000000u) ((uint32_t *)values)[i] &= 0x80000000u;
}

/* Dense instructions of floats (matrix.c), executed singly if they cannot run as a chain. */
HK_EXPORT int32_t hk_mfma_f32_16x16(Wave *w, const Op *op);
HK_EXPORT int32_t hk_mfma_f32_32x32(Wave *w, const Op *op);

#endif
