/* Scaled instructions of 8, 6 and 4 bits (matrix_scaled.c) with VDPBF16PS. */
#ifndef HK_MATRIX_DOT_SCALED_H
#define HK_MATRIX_DOT_SCALED_H

#include "ops/matrix_dot.h"

#ifdef HK_DOT
/* A or B as pairs of bf16, [pair][m]. */
HK_INLINE void hk_dot_small_as(int m, uint32_t *out, const uint32_t *rows, uint32_t format) {
    int groups = HK_LANES / m, pairs = 16 * groups;
    HkElement type = format == 0 ? HK_FP8 : format == 1 ? HK_BF8 : format == 2 ? HK_FP6 : format == 3 ? HK_BF6 : HK_FP4;
    const HkDotTable *table = &hk_dot_tables[type - HK_FP8];
    /* First bits of the four elements in each half of a quadword. */
    __m512i of_6 = _mm512_set1_epi64(0x322c2620120c0600), of_4 = _mm512_set1_epi64(0x2c2824200c080400);
    __m512i sixteen = _mm512_set1_epi8(16);
    for (int g = 0; g < groups; g++)
        for (int half = 0; half < m; half += 16) {
            const uint32_t *from = rows + m * g + half;
            uint32_t *to = out + half;
            for (int n = 0; n < 8; n++) {
                if (format <= 1) {
                    int pair = n / 4 * pairs / 2 + 8 * g + n % 4 * 2;
                    hk_dot_from_bytes(type, to + pair * m, m, from + n * HK_LANES);
                    continue;
                }
                __m512i bytes;
                if (format == 4) {
                    __m512i place = n % 2 == 0 ? of_4 : _mm512_add_epi8(of_4, sixteen);
                    bytes = _mm512_multishift_epi64_epi8(place, _mm512_load_si512(from + n / 2 * HK_LANES));
                } else {
                    int word = 24 * n / 32, shift = 24 * n % 32;
                    u32x16 bits = *(const u32x16 *)(from + word * HK_LANES) >> shift;
                    if (shift > 8) bits |= *(const u32x16 *)(from + (word + 1) * HK_LANES) << (32 - shift);
                    bytes = _mm512_multishift_epi64_epi8(of_6, (__m512i)bits);
                }
                hk_dot_pairs(to + (16 * g + 2 * n) * m, m, hk_dot_look_up(table->high, bytes),
                             hk_dot_look_up(table->low, bytes));
            }
        }
}

static void hk_dot_small(int m, uint32_t *out, const uint32_t *rows, uint32_t format) {
    switch (format) {
    case 0:
        hk_dot_small_as(m, out, rows, 0);
        break;
    case 1:
        hk_dot_small_as(m, out, rows, 1);
        break;
    case 2:
        hk_dot_small_as(m, out, rows, 2);
        break;
    case 3:
        hk_dot_small_as(m, out, rows, 3);
        break;
    default:
        hk_dot_small_as(m, out, rows, 4);
        break;
    }
}

/* Multiplies elements by their scales: adds exponents, except to zeros, infinities and NaNs. */
static void hk_dot_scale(int m, uint32_t *pairs, const int *exponents) {
    __m512i magnitude = _mm512_set1_epi16(0x7fff), special = _mm512_set1_epi16(0x7f80);
    for (int g = 0; g < HK_LANES / m; g++)
        for (int half = 0; half < m; half += 16) {
            __m512i scale = _mm512_slli_epi32(_mm512_loadu_si512(exponents + g * m + half), 7);
            scale = _mm512_mask_mov_epi16(scale, 0xaaaaaaaa, _mm512_slli_epi32(scale, 16));
            for (int n = 16 * g; n < 16 * g + 16; n++) {
                uint32_t *at = pairs + n * m + half;
                __m512i bits = _mm512_load_si512(at);
                __mmask32 number = _mm512_test_epi16_mask(bits, magnitude);
                number &= _mm512_cmplt_epu16_mask(_mm512_and_si512(bits, magnitude), special);
                _mm512_store_si512(at, _mm512_mask_add_epi16(bits, number, bits, scale));
            }
        }
}

/* Executes the whole instruction; returns 0, with nothing written to D, if VDPBF16PS is slower or inexact. `a`, `b` and
 * `c` are room for operands; scales are NULL if there are none. */
HK_INLINE int hk_dot_scaled(Wave *w, const Op *op, int m, uint32_t *a, uint32_t *b, float *c, const int *scale_a,
                            const int *scale_b) {
    int count = m * m / HK_LANES, depth = 32 * HK_LANES / m, constant = (op->flags & HK_MATRIX_C_CONSTANT) != 0;
    const float *addends = constant ? NULL : (const float *)hk_row(w, op->src2);
    if (!hk_dot_wanted(depth / 2)) return 0;
    if (!((constant ? hk_dot_addend(op->imm[0]) : hk_dot_addends(addends, count)) & HK_DOT_EXACT)) return 0;
    hk_dot_small(m, a, hk_row(w, op->src0), HK_MATRIX_CBSZ(op));
    hk_dot_small(m, b, hk_row(w, op->src1), HK_MATRIX_BLGP(op));
    if (scale_a != NULL) {
        hk_dot_scale(m, a, scale_a);
        hk_dot_scale(m, b, scale_b);
    }
    if (!constant && op->src2 != op->dst) addends = memcpy(c, addends, sizeof(float) * HK_LANES * (size_t)count);
    HkPairs pairs_a = {a, 0, m}, pairs_b = {b, 0, m};
    hk_dot_multiply(m, (float *)hk_row(w, op->dst), addends, op->imm[0], &pairs_a, &pairs_b, 1, 1, depth / 2, 0);
    return 1;
}
#endif

#endif
