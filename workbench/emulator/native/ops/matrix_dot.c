/* The tables of matrix_dot.h, from the definitions of the formats (OCP 8-bit and microscaling formats; the "fnuz" ones
 * of CDNA3: bias one higher, no infinity, 0x80 the only NaN). */
#include "ops/matrix_dot.h"

#ifdef HK_DOT
#include <math.h>
#include <x86intrin.h>

int hk_dot_pays;

#define HK_DOT_SUMS 8 /* enough to hide either instruction's latency */

/* Cycles of the same number of products with VDPBF16PS (`dot`) or with fused multiply-adds. */
static uint64_t hk_dot_cycles(int dot) {
    __m512 sum[HK_DOT_SUMS], one = _mm512_set1_ps(1.0f);
    __m512i pairs = _mm512_set1_epi32(0x3f803f80);
    for (int i = 0; i < HK_DOT_SUMS; i++) sum[i] = _mm512_setzero_ps();
    uint64_t start = __rdtsc();
    for (int n = 0; n < 500; n++)
#pragma clang loop unroll(full)
        for (int i = 0; i < HK_DOT_SUMS; i++)
            if (dot)
                __asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(sum[i]) : "v"(pairs));
            else
                __asm__ volatile("vfmadd231ps %1, %1, %0\n\tvfmadd231ps %1, %1, %0" : "+v"(sum[i]) : "v"(one));
    return __rdtsc() - start;
}

__attribute__((constructor)) static void hk_dot_measure(void) {
    /* The least of several measurements: other programs only add time. */
    uint64_t least[2] = {~0ull, ~0ull};
    for (int n = 0; n < 16; n++) {
        uint64_t cycles = hk_dot_cycles(n % 2);
        if (cycles < least[n % 2]) least[n % 2] = cycles;
    }
    hk_dot_pays = least[1] < least[0];
}

HkDotTable hk_dot_tables[HK_DOT_FORMATS];

/* The bf16 of an element with `mantissa` bits and its sign in bit `sign` of `code`. */
static uint16_t hk_dot_value(uint32_t code, int sign, int mantissa, int bias) {
    uint32_t magnitude = code & ((1u << sign) - 1), fraction = magnitude & ((1u << mantissa) - 1);
    int exponent = (int)(magnitude >> mantissa);
    float value = exponent == 0 ? ldexpf((float)fraction, 1 - bias - mantissa)
                                : ldexpf((float)(fraction | 1u << mantissa), exponent - bias - mantissa);
    if (code >> sign & 1) value = -value;
    return (uint16_t)(hk_float_bits(value) >> 16);
}

__attribute__((constructor)) static void hk_dot_fill(void) {
    static const struct {
        HkElement type;
        int sign, mantissa, bias;
    } formats[] = {
        {HK_FP8, 7, 3, 7}, {HK_BF8, 7, 2, 15}, {HK_FP8_FNUZ, 7, 3, 8}, {HK_BF8_FNUZ, 7, 2, 16},
        {HK_FP6, 5, 3, 1}, {HK_BF6, 5, 2, 3},  {HK_FP4, 3, 1, 1},
    };
    for (unsigned f = 0; f < sizeof formats / sizeof *formats; f++)
        for (uint32_t index = 0; index < 128; index++) {
            uint16_t bits = hk_dot_value(index, formats[f].sign, formats[f].mantissa, formats[f].bias);
            if (formats[f].type == HK_FP8 && index == 0x7f) bits = 0x7fc0;
            if (formats[f].type == HK_BF8 && index >= 0x7c) bits = index == 0x7c ? 0x7f80 : 0x7fc0;
            hk_dot_tables[formats[f].type - HK_FP8].high[index] = (uint8_t)(bits >> 8);
            hk_dot_tables[formats[f].type - HK_FP8].low[index] = (uint8_t)bits;
        }
}
#endif
