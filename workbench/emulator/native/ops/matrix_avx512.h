/* Matrix instructions of f16 and bf16 with AVX-512: sums of 16 columns by 16 rows, in 32 vector registers. Results
 * equal those of matrix.h's hk_multiply to the bit. */
#ifndef HK_MATRIX_AVX512_H
#define HK_MATRIX_AVX512_H

#include "ops/matrix.h"

#if defined(__AVX512F__)
#define HK_AVX512 1
/* D = C + A B for instructions of one block, from their registers: elements of A are converted into `a`, those of B
 * when needed, at most twice. */
HK_INLINE void hk_avx512_halves(HkElement type, int m, float *d, const float *c, float *a, const HkFactors *factors,
                                int links, int count) {
    int groups = HK_LANES / m;
    /* Distance in floats between neighbours in M, and between the two elements of a pair, in the order that the
     * conversions produce. */
    int step = type == HK_F16 ? 2 : 1, other = type == HK_F16 ? 1 : m;
    float *to = a;
    for (int n = 0; n < links * groups; n++)
        for (int r = 0; r < count; r++, to += 2 * m)
            for (int half = 0; half < m; half += 16) {
                const uint32_t *from = factors[n / groups].a + r * HK_LANES + n % groups * m + half;
                float *at = to + step * half;
                if (type == HK_F16) {
                    *(f32x16 *)at = __builtin_convertvector(*(const f16x16 *)from, f32x16);
                    *(f32x16 *)(at + 16) = __builtin_convertvector(*(const f16x16 *)(from + 8), f32x16);
                } else {
                    *(f32x16 *)at = hk_element(HK_BF16, *(const u32x16 *)from, 0, 0);
                    *(f32x16 *)(at + m) = hk_element(HK_BF16, *(const u32x16 *)from, 1, 0);
                }
            }
    for (int column = 0; column < m; column += 16)
        for (int first = 0; first < m; first += 16) {
            int corner = hk_result_offset(m, first) + column;
            f32x16 sum[16];
#pragma clang loop unroll(full)
            for (int i = 0; i < 16; i++) sum[i] = *(const f32x16 *)(c + corner + hk_result_offset(m, i));
            const float *ak = a + step * first;
            for (int n = 0; n < links * groups; n++) {
                const uint32_t *bk = factors[n / groups].b + n % groups * m + column;
#pragma clang loop unroll(disable)
                for (int r = 0; r < count; r++, ak += 2 * m, bk += HK_LANES) {
                    u32x16 pair = *(const u32x16 *)bk;
                    f32x16 row = hk_element(type, pair, 1, 0);
#pragma clang loop unroll(full)
                    for (int i = 0; i < 16; i++)
                        sum[i] = __builtin_elementwise_fma(hk_splat(ak[i * step + other]), row, sum[i]);
                    row = hk_element(type, pair, 0, 0);
#pragma clang loop unroll(full)
                    for (int i = 0; i < 16; i++)
                        sum[i] = __builtin_elementwise_fma(hk_splat(ak[i * step]), row, sum[i]);
                }
            }
#pragma clang loop unroll(full)
            for (int i = 0; i < 16; i++) *(f32x16 *)(d + corner + hk_result_offset(m, i)) = hk_one_nan(sum[i]);
        }
}
#endif

#endif
