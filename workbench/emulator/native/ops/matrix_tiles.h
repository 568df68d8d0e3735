/* Matrix instructions by the CPU's own matrix unit, AMX, where there is one: bf16 by TDPBF16PS, int8 by TDPBSSD.
 *
 * A pair of bf16 (four int8) of K is a dword, and the registers of A and of B are [pair][m] dwords one after the
 * other: what AMX takes as its second factor as it is. Its first has rows of M, so A is turned. The rows of a result
 * are in memory in another order than those of D; a tile takes them in the order of memory, and A is turned into the
 * same. Results are read and written in place.
 *
 * Arithmetic (Intel's manual, TDPBF16PS): products of even K are added one after the other, those of odd K beside
 * them, each with one rounding to nearest even; then both sums, and that to C. So the bits are others than those of
 * matrix.c, and the error is no greater: a sum is of half as many terms, and C takes one rounding an instruction.
 * Denormals are read and written as zeros: the condition of matrix_dot.h holds here for the same reason. Each
 * instruction is one TDPBF16PS for every 32 of K whatever stands around it, so that results do not depend on how
 * instructions are grouped. Integers wrap, and are exact.
 *
 * Tiles belong to a thread. They are configured at the first use in a turn of its work-groups and released at the end
 * (run/dispatch.c); outside of a turn around each instruction. The operating system must allow them: it is asked once.
 */
#ifndef HK_MATRIX_TILES_H
#define HK_MATRIX_TILES_H

#include "ops/bits.h"

#if defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__AVX512BF16__) && defined(__AVX512VBMI__) &&            \
    defined(__linux__)
#define HK_TILES 1
#include <immintrin.h>

/* Whether this process may use tiles. */
extern int hk_tiles_allowed;

typedef struct HkTilesOfThread {
    int turn;  /* a work-group's turn is under way */
    int ready; /* the tiles are configured */
} HkTilesOfThread;
/* In the thread's static block: looking it up costs no call. */
extern __thread HkTilesOfThread hk_tiles_here __attribute__((tls_model("initial-exec")));

void hk_tiles_configure(void);

/* Tiles: two of results, then factors by the dwords of K: 16, 8 and 4. */
enum { HK_TILE_C0, HK_TILE_C1, HK_TILE_A16, HK_TILE_B16, HK_TILE_A8, HK_TILE_B8, HK_TILE_A4, HK_TILE_B4 };

/* Dwords of K that an operand turned for tiles may have, and how many it takes. */
#define HK_TILES_TURNED (64 * 16)

HK_INLINE int hk_tiles_fit(int pairs) { return hk_tiles_allowed && (pairs == 4 || pairs == 8 || pairs % 16 == 0); }

HK_INLINE void hk_tiles_begin(void) {
    if (__builtin_expect(!hk_tiles_here.ready, 0)) hk_tiles_configure();
}

HK_INLINE void hk_tiles_release(void) {
    if (!hk_tiles_here.ready) return;
    _tile_release();
    hk_tiles_here.ready = 0;
}

HK_INLINE void hk_tiles_end(void) {
    if (__builtin_expect(!hk_tiles_here.turn, 0)) hk_tiles_release();
}

/* Around a work-group's turn on this thread. */
HK_INLINE void hk_tiles_turn_begins(void) { hk_tiles_here.turn = 1; }

HK_INLINE void hk_tiles_turn_ends(void) {
    hk_tiles_here.turn = 0;
    hk_tiles_release();
}

/* 4x4 dwords of each lane of 128 bits: out[c] has in lane L column 4 L + c of the four rows. */
HK_INLINE void hk_tiles_turn_lanes(__m512i *out, const uint32_t *rows, int stride) {
    __m512i row[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) row[i] = _mm512_load_si512(rows + i * stride);
    __m512i low = _mm512_unpacklo_epi32(row[0], row[1]), high = _mm512_unpackhi_epi32(row[0], row[1]);
    __m512i low2 = _mm512_unpacklo_epi32(row[2], row[3]), high2 = _mm512_unpackhi_epi32(row[2], row[3]);
    out[0] = _mm512_unpacklo_epi64(low, low2);
    out[1] = _mm512_unpackhi_epi64(low, low2);
    out[2] = _mm512_unpacklo_epi64(high, high2);
    out[3] = _mm512_unpackhi_epi64(high, high2);
}

/* Row of a tile of results that holds row 4 L + c of 16: the inverse of hk_result_offset's order. */
HK_INLINE int hk_tiles_row(int m, int lane, int c) {
    return m == 16 ? 4 * c + lane : 8 * (lane / 2) + 2 * c + lane % 2;
}

/* 16 columns of `depth` rows (4, 8 or 16) of [pair][m] as a tile's rows of `depth` dwords. */
HK_INLINE void hk_tiles_turn_part(int m, int depth, uint32_t *to, const uint32_t *from) {
    __m512i part[4][4];
#pragma clang loop unroll(full)
    for (int k = 0; k < depth / 4; k++) hk_tiles_turn_lanes(part[k], from + 4 * k * m, m);
#pragma clang loop unroll(full)
    for (int c = 0; c < 4; c++) {
        if (depth == 4) {
            for (int lane = 0; lane < 4; lane += 2)
                _mm256_store_si256((__m256i *)(to + depth * hk_tiles_row(m, lane, c)),
                                   lane == 0 ? _mm512_castsi512_si256(part[0][c])
                                             : _mm512_extracti64x4_epi64(part[0][c], 1));
            continue;
        }
        /* Lanes 0 and 2, 1 and 3 of each two; then of each four. */
        if (depth == 8) {
            const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            _mm512_store_si512(to + depth * hk_tiles_row(m, 0, c),
                               _mm512_permutex2var_epi64(part[0][c], first, part[1][c]));
            _mm512_store_si512(to + depth * hk_tiles_row(m, 2, c),
                               _mm512_permutex2var_epi64(part[0][c], second, part[1][c]));
            continue;
        }
        __m512i even = _mm512_shuffle_i32x4(part[0][c], part[1][c], 0x88);
        __m512i odd = _mm512_shuffle_i32x4(part[0][c], part[1][c], 0xdd);
        __m512i even2 = _mm512_shuffle_i32x4(part[2][c], part[3][c], 0x88);
        __m512i odd2 = _mm512_shuffle_i32x4(part[2][c], part[3][c], 0xdd);
        _mm512_store_si512(to + depth * hk_tiles_row(m, 0, c), _mm512_shuffle_i32x4(even, even2, 0x88));
        _mm512_store_si512(to + depth * hk_tiles_row(m, 1, c), _mm512_shuffle_i32x4(odd, odd2, 0x88));
        _mm512_store_si512(to + depth * hk_tiles_row(m, 2, c), _mm512_shuffle_i32x4(even, even2, 0xdd));
        _mm512_store_si512(to + depth * hk_tiles_row(m, 3, c), _mm512_shuffle_i32x4(odd, odd2, 0xdd));
    }
}

/* An operand of A, [pair][m], turned: for each run of up to 16 pairs, for each 16 rows of M, [row][pair]. */
HK_INLINE void hk_tiles_turn(int m, uint32_t *to, const uint32_t *from, int pairs) {
    int depth = pairs < 16 ? pairs : 16;
    for (int k = 0; k < pairs; k += depth)
        for (int half = 0; half < m; half += 16, to += 16 * depth) {
            if (depth == 16)
                hk_tiles_turn_part(m, 16, to, from + k * m + half);
            else if (depth == 8)
                hk_tiles_turn_part(m, 8, to, from + k * m + half);
            else
                hk_tiles_turn_part(m, 4, to, from + k * m + half);
        }
}

/* One tile of results or two beside each other. Tiles are named by immediates: hence macros. */
#define HK_TILES_STEP(product, tile_a, tile_b)                                                                         \
    do {                                                                                                               \
        _tile_loadd(tile_a, a, 4 * (size_t)depth);                                                                     \
        _tile_loadd(tile_b, b, 4 * (size_t)m);                                                                         \
        product(HK_TILE_C0, tile_a, tile_b);                                                                           \
        if (m == 16) break;                                                                                            \
        _tile_loadd(tile_b, b + 16, 4 * (size_t)m);                                                                    \
        product(HK_TILE_C1, tile_a, tile_b);                                                                           \
    } while (0)

#define HK_TILES_ADD(product)                                                                                          \
    do {                                                                                                               \
        if (depth == 16)                                                                                               \
            HK_TILES_STEP(product, HK_TILE_A16, HK_TILE_B16);                                                          \
        else if (depth == 8)                                                                                           \
            HK_TILES_STEP(product, HK_TILE_A8, HK_TILE_B8);                                                            \
        else                                                                                                           \
            HK_TILES_STEP(product, HK_TILE_A4, HK_TILE_B4);                                                            \
    } while (0)

/* Every NaN is the same one (matrix.h). 0 x is NaN for infinities, too; then each number is looked at. */
HK_INLINE void hk_tiles_one_nan(int m, uint32_t *d) {
    __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int i = 0; i < m * m; i += 64)
#pragma clang loop unroll(full)
        for (int n = 0; n < 4; n++)
            sum[n] = _mm512_fmadd_ps(_mm512_load_ps((const float *)d + i + 16 * n), _mm512_setzero_ps(), sum[n]);
    sum[0] = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
    if (__builtin_expect(_mm512_cmp_ps_mask(sum[0], sum[0], _CMP_UNORD_Q) == 0, 1)) return;
    for (int i = 0; i < m * m; i += 16) {
        __m512 x = _mm512_load_ps((const float *)d + i);
        __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        _mm512_mask_store_epi32(d + i, nan, _mm512_set1_epi32(0x7fc00000));
    }
}

/* D = C + A[0] B[0] + ... for `m` x `m` results and `links` operands of `pairs` dwords of K: A turned, B [pair][m].
 * `c` is NULL where every element is `constant`. */
HK_INLINE void hk_tiles_multiply(int integer, int m, uint32_t *d, const uint32_t *c, uint32_t constant,
                                 const uint32_t *const *turned, const uint32_t *const *rows_b, int links, int pairs) {
    const int depth = pairs < 16 ? pairs : 16;
    const size_t stride = m == 16 ? 64 : 128;
    hk_tiles_begin();
    for (int part = 0; part < m / 16; part++) {
        int corner = part * 8 * HK_LANES;
        if (c != NULL) {
            _tile_loadd(HK_TILE_C0, c + corner, stride);
            if (m > 16) _tile_loadd(HK_TILE_C1, c + corner + 16, stride);
        } else {
            __m512i row = _mm512_set1_epi32((int)constant);
            _tile_loadd(HK_TILE_C0, &row, 0);
            if (m > 16) _tile_loadd(HK_TILE_C1, &row, 0);
        }
        for (int n = 0; n < links; n++)
            for (int k = 0; k < pairs; k += depth) {
                const uint32_t *a = turned[n] + k * m + part * 16 * depth, *b = rows_b[n] + k * m;
                if (integer)
                    HK_TILES_ADD(_tile_dpbssd);
                else
                    HK_TILES_ADD(_tile_dpbf16ps);
            }
        _tile_stored(HK_TILE_C0, d + corner, stride);
        if (m > 16) _tile_stored(HK_TILE_C1, d + corner + 16, stride);
    }
    hk_tiles_end();
    if (!integer) hk_tiles_one_nan(m, d);
}
#else
HK_INLINE void hk_tiles_release(void) {}
HK_INLINE void hk_tiles_turn_begins(void) {}
HK_INLINE void hk_tiles_turn_ends(void) {}
#endif

#endif
