/* Matrix instructions of bf16 and smaller floats with VDPBF16PS, on CPUs that have it (AVX512_BF16).
 *
 * One VDPBF16PS adds two products to each of 16 floats: c + a[1] b[1], then + a[0] b[0], each a fused multiply-add
 * rounded to nearest even (Intel's manual: "each accumulation of the FMA"). That is the order in which matrix.h's
 * hk_multiply takes pairs of K, so both give the same bits, with one difference: VDPBF16PS reads denormals as zeros
 * and flushes tiny results. It is used only where neither can happen:
 *
 * - every factor is 0, at least 2^-56, infinite or NaN, so that products are multiples of 2^(2 (-56 - 7)) = 2^-126;
 * - every addend is a multiple of 2^-126, infinite or NaN: 0 and all from 2^-103 on are, since 2^(-103 - 23) = 2^-126.
 *
 * All sums are then multiples of 2^-126, before and after rounding, and none but 0 is below 2^-126. So a result may be
 * the next instruction's addend without a check.
 *
 * Floats of 8, 6 and 4 bits are exact in bf16 and at least 2^-16: they become bf16 by table, and only the addend is
 * looked at.
 */
#ifndef HK_MATRIX_DOT_H
#define HK_MATRIX_DOT_H

#include "ops/matrix.h"
#include "ops/matrix_tiles.h"

/* Properties of operands. HK_DOT_EXACT: as above. HK_DOT_CALM: too small to produce an infinity or a NaN, that is,
 * factors below 2^40 and an addend below 2^125. Any number of instructions may then add to the result, since results
 * are calm again: an instruction adds less than 2^86 (32 products), and from 2^112 on, where neighbouring floats are at
 * least 2^88 apart, a sum rounds to the addend. So no sum exceeds the greater of 2^112 and its first addend. */
#define HK_DOT_EXACT 1
#define HK_DOT_CALM 2

#if defined(__AVX512BF16__) && defined(__AVX512VBMI__)
#define HK_DOT 1
#include <immintrin.h>

/* Formats of hk_dot_tables, by HkElement from HK_FP8 to HK_FP4; the entry of HK_INT8 is not used. */
#define HK_DOT_FORMATS (HK_FP4 - HK_FP8 + 1)

/* High and low bytes of an element's bf16, indexed by the 7 bits without the sign of an 8-bit format, otherwise by the
 * low 7 bits of a byte, with the element in the lowest 6 or 4. Filled when the library is loaded. */
typedef struct __attribute__((aligned(64))) HkDotTable {
    uint8_t high[128], low[128];
} HkDotTable;
extern HkDotTable hk_dot_tables[HK_DOT_FORMATS];

/* Nonzero if VDPBF16PS is faster here than the two fused multiply-adds that give the same bits: it is twice as fast on
 * Zen 4, half as fast on Sapphire Rapids. Measured when the library is loaded. */
extern int hk_dot_pays;

#define HK_DOT_FACTOR 0x2380u     /* bits of 2^-56 as bf16 */
#define HK_DOT_ADDEND 0x0c000000u /* bits of 2^-103 */

/* True if an instruction of `pairs` pairs of K should be executed here. */
HK_INLINE int hk_dot_wanted(int pairs) { return hk_tiles_fit(pairs) || hk_dot_pays; }

#define HK_DOT_CALM_FACTOR 0x5380u     /* bits of 2^40 as bf16 */
#define HK_DOT_CALM_ADDEND 0x7e000000u /* bits of 2^125 */

/* True for HK_DOT_EXACT: no element is a nonzero number below 2^-56. */
__attribute__((noinline, unused)) static int hk_dot_factors_at_the_edge(const uint32_t *rows, int count) {
    __m512i least = _mm512_set1_epi16(-1), most = _mm512_setzero_si512(), one = _mm512_set1_epi16(1);
    for (int i = 0; i < 4 * count; i++) {
        __m512i bits = _mm512_load_si512(rows + 16 * i);
        /* Twice the magnitude, which drops the sign; minus 1, so that zeros become the greatest. */
        __m512i twice = _mm512_add_epi16(bits, bits);
        least = _mm512_min_epu16(least, _mm512_sub_epi16(twice, one));
        most = _mm512_max_epu16(most, twice);
    }
    int exact = _mm512_cmplt_epu16_mask(least, _mm512_set1_epi16((short)(2 * HK_DOT_FACTOR - 1))) == 0;
    int calm = _mm512_cmpge_epu16_mask(most, _mm512_set1_epi16((short)(2 * HK_DOT_CALM_FACTOR))) == 0;
    return (exact ? HK_DOT_EXACT : 0) | (calm ? HK_DOT_CALM : 0);
}

/* The same, faster: most elements are 0 or in the 64 binades from 2^-40 on, where bits 14:13 of their distance to 2^-40
 * are 0. */
HK_INLINE int hk_dot_factors(const uint32_t *rows, int count) {
    __m512i first = _mm512_set1_epi16(0x2b80), magnitude = _mm512_set1_epi16(0x7fff), far = _mm512_setzero_si512();
#pragma clang loop unroll_count(4)
    for (int i = 0; i < 4 * count; i++) {
        __m512i bits = _mm512_load_si512(rows + 16 * i);
        far = _mm512_or_si512(far, _mm512_maskz_sub_epi16(_mm512_test_epi16_mask(bits, magnitude), bits, first));
    }
    if (__builtin_expect(_mm512_test_epi16_mask(far, _mm512_set1_epi16(0x6000)) == 0, 1))
        return HK_DOT_EXACT | HK_DOT_CALM;
    return hk_dot_factors_at_the_edge(rows, count);
}

/* True if each float is a multiple of 2^-126, infinite or NaN. */
HK_INLINE int hk_dot_multiples(const float *c, int count) {
    __m512 unit = _mm512_set1_ps(0x1p126f), small = _mm512_set1_ps(0x1p-103f);
    for (int i = 0; i < 4 * count; i++) {
        __m512 x = _mm512_load_ps(c + 16 * i);
        __mmask16 looked = _mm512_cmp_ps_mask(_mm512_abs_ps(x), small, _CMP_LT_OQ);
        __m512 scaled = _mm512_mul_ps(x, unit);
        if (_mm512_mask_cmp_ps_mask(looked, scaled, _mm512_roundscale_ps(scaled, 8), _CMP_NEQ_OQ)) return 0;
    }
    return 1;
}

__attribute__((noinline, unused)) static int hk_dot_addends_at_the_edge(const float *c, int count) {
    __m512i most = _mm512_setzero_si512();
    for (int i = 0; i < 4 * count; i++) {
        __m512i bits = _mm512_load_si512(c + 16 * i);
        most = _mm512_max_epu32(most, _mm512_add_epi32(bits, bits));
    }
    int calm = _mm512_cmpge_epu32_mask(most, _mm512_set1_epi32((int)(2 * HK_DOT_CALM_ADDEND))) == 0;
    return (hk_dot_multiples(c, count) ? HK_DOT_EXACT : 0) | (calm ? HK_DOT_CALM : 0);
}

/* HK_DOT_EXACT and HK_DOT_CALM of addends; most are 0 or in the 128 binades from 2^-90 on, where bit 30 of their
 * distance to 2^-90 is 0. */
HK_INLINE int hk_dot_addends(const float *c, int count) {
    __m512i first = _mm512_set1_epi32(0x12800000), magnitude = _mm512_set1_epi32(0x7fffffff);
    __m512i far = _mm512_setzero_si512();
#pragma clang loop unroll_count(8)
    for (int i = 0; i < 4 * count; i++) {
        __m512i bits = _mm512_load_si512(c + 16 * i);
        far = _mm512_or_si512(far, _mm512_maskz_sub_epi32(_mm512_test_epi32_mask(bits, magnitude), bits, first));
    }
    if (__builtin_expect(_mm512_test_epi32_mask(far, _mm512_set1_epi32(0x40000000)) == 0, 1))
        return HK_DOT_EXACT | HK_DOT_CALM;
    return hk_dot_addends_at_the_edge(c, count);
}

HK_INLINE int hk_dot_addend(uint32_t bits) {
    int exact = 2 * bits - 1 >= 2 * HK_DOT_ADDEND - 1, calm = 2 * bits < 2 * HK_DOT_CALM_ADDEND;
    return (exact ? HK_DOT_EXACT : 0) | (calm ? HK_DOT_CALM : 0);
}

/* sum + b times the pair at `a`. The compiler would use a separate instruction for the broadcast. */
HK_INLINE void hk_dot_add(__m512 *sum, __m512i b, const uint32_t *a) {
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(*sum) : "v"(b), "m"(*a));
}

/* D = C + A[0] B[0] + ... for `m` x `m` floats and `links` pairs of A and B; `c` is NULL where every element is
 * `constant`. With `calm` no result can be a NaN. */
HK_INLINE void hk_dot_multiply(int m, float *d, const float *c, uint32_t constant, const HkPairs *a, const HkPairs *b,
                               int links, int groups, int count, int calm) {
    if (hk_tiles_fit(groups * count)) {
        /* Without links, groups and rows form one run of pairs. */
        hk_tiles_one(0, m, (uint32_t *)d, (const uint32_t *)c, constant, a->base, b->base, groups * count, calm);
        return;
    }
#pragma clang loop unroll(full)
    for (int column = 0; column < m; column += 16)
#pragma clang loop unroll(full)
        for (int first = 0; first < m; first += 16) {
            int corner = hk_result_offset(m, first) + column;
            __m512 sum[16];
            if (c == NULL)
#pragma clang loop unroll(full)
                for (int i = 0; i < 16; i++) sum[i] = _mm512_castsi512_ps(_mm512_set1_epi32((int)constant));
            else
#pragma clang loop unroll(full)
                for (int i = 0; i < 16; i++) sum[i] = _mm512_load_ps(c + corner + hk_result_offset(m, i));
            for (int n = 0; n < links * groups; n++) {
                int link = n / groups, g = n % groups;
                const uint32_t *ak = a[link].base + g * a[link].group_stride + first;
                const uint32_t *bk = b[link].base + g * b[link].group_stride + column;
#pragma clang loop unroll(disable)
                for (int r = 0; r < count; r++, ak += a->row_stride, bk += b->row_stride) {
                    __m512i row = _mm512_load_si512(bk);
#pragma clang loop unroll(full)
                    for (int i = 0; i < 16; i++) hk_dot_add(&sum[i], row, ak + i);
                }
            }
#pragma clang loop unroll(full)
            for (int i = 0; i < 16; i++) *(f32x16 *)(d + corner + hk_result_offset(m, i)) = hk_one_nan((f32x16)sum[i]);
        }
}

/* Four bytes per lane, with the high and low bytes of bf16 in separate vectors, become two rows of pairs. */
HK_INLINE void hk_dot_pairs(uint32_t *out, int stride, __m512i high, __m512i low) {
    __m512 even = _mm512_castsi512_ps(_mm512_unpacklo_epi8(low, high));
    __m512 odd = _mm512_castsi512_ps(_mm512_unpackhi_epi8(low, high));
    _mm512_store_ps(out, _mm512_shuffle_ps(even, odd, 0x88));
    _mm512_store_ps(out + stride, _mm512_shuffle_ps(even, odd, 0xdd));
}

HK_INLINE __m512i hk_dot_look_up(const uint8_t *table, __m512i index) {
    return _mm512_permutex2var_epi8(_mm512_load_si512(table), index, _mm512_load_si512(table + 64));
}

/* The pairs of four 8-bit floats in each of 16 lanes: out[0..15] and out[stride..]. */
HK_INLINE void hk_dot_from_bytes(HkElement type, uint32_t *out, int stride, const uint32_t *dwords) {
    const HkDotTable *table = &hk_dot_tables[type - HK_FP8];
    __m512i bytes = _mm512_load_si512(dwords), sign = _mm512_set1_epi8((char)0x80);
    /* high | (bytes & sign) */
    __m512i high = _mm512_ternarylogic_epi32(hk_dot_look_up(table->high, bytes), bytes, sign, 0xf8);
    __m512i low = hk_dot_look_up(table->low, bytes);
    if (type == HK_FP8_FNUZ || type == HK_BF8_FNUZ)
        high = _mm512_mask_mov_epi8(high, _mm512_cmpeq_epi8_mask(bytes, sign), _mm512_set1_epi8(-1));
    if (type == HK_FP8_FNUZ || type == HK_BF8_FNUZ)
        low = _mm512_mask_mov_epi8(low, _mm512_cmpeq_epi8_mask(bytes, sign), _mm512_set1_epi8((char)0xc0));
    hk_dot_pairs(out, stride, high, low);
}

/* A whole operand of 8-bit floats as [pair][m], in the order of K. */
HK_INLINE void hk_dot_convert_as(HkElement type, int m, uint32_t *out, const uint32_t *rows, int count) {
    for (int g = 0; g < HK_LANES / m; g++)
        for (int r = 0; r < count; r++)
#pragma clang loop unroll(full)
            for (int half = 0; half < m; half += 16)
                hk_dot_from_bytes(type, out + 2 * (g * count + r) * m + half, m, rows + HK_LANES * r + m * g + half);
}

HK_INLINE void hk_dot_convert(HkElement type, int m, uint32_t *out, const uint32_t *rows, int count) {
    HK_WITH_EIGHTS(type, hk_dot_convert_as, m, out, rows, count);
}
#endif

#if defined(__AVX512VNNI__)
#define HK_DOT_BYTES 1
#include <immintrin.h>

/* D = C + A B of int8, modulo 2^32. VPDPBUSD multiplies four unsigned bytes by four signed ones: 128 is added to each
 * element of B, and 128 times the sum of A's row is subtracted in advance. If `c` is NULL, every element of C is
 * `constant`. */
HK_INLINE void hk_dot_bytes(int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *rows_a,
                            const uint32_t *rows_b, int count) {
    int groups = HK_LANES / m;
    if (hk_tiles_fit(groups * count)) {
        hk_tiles_one(1, m, d, c, constant, rows_a, rows_b, groups * count, 1);
        return;
    }
    uint32_t excess[32] __attribute__((aligned(64)));
    __m512i high = _mm512_set1_epi8((char)0x80);
#pragma clang loop unroll(full)
    for (int half = 0; half < m; half += 16) {
        __m512i sum = _mm512_setzero_si512();
        for (int g = 0; g < groups; g++)
            for (int r = 0; r < count; r++)
                sum = _mm512_dpbusd_epi32(sum, high, _mm512_load_si512(rows_a + r * HK_LANES + g * m + half));
        _mm512_store_si512(excess + half, sum);
    }
#pragma clang loop unroll(full)
    for (int column = 0; column < m; column += 16)
#pragma clang loop unroll(full)
        for (int first = 0; first < m; first += 16) {
            int corner = hk_result_offset(m, first) + column;
            __m512i sum[16];
#pragma clang loop unroll(full)
            for (int i = 0; i < 16; i++) {
                const uint32_t *from = c == NULL ? NULL : c + corner + hk_result_offset(m, i);
                sum[i] = from == NULL ? _mm512_set1_epi32((int)constant) : _mm512_load_si512(from);
                sum[i] = _mm512_sub_epi32(sum[i], _mm512_set1_epi32((int)excess[first + i]));
            }
            for (int g = 0; g < groups; g++) {
                const uint32_t *ak = rows_a + g * m + first, *bk = rows_b + g * m + column;
#pragma clang loop unroll(disable)
                for (int r = 0; r < count; r++, ak += HK_LANES, bk += HK_LANES) {
                    __m512i row = _mm512_xor_si512(_mm512_load_si512(bk), high);
#pragma clang loop unroll(full)
                    for (int i = 0; i < 16; i++)
                        __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum[i]) : "v"(row), "m"(ak[i]));
                }
            }
#pragma clang loop unroll(full)
            for (int i = 0; i < 16; i++) _mm512_store_si512(d + corner + hk_result_offset(m, i), sum[i]);
        }
}
#endif

#endif
