/* Matrix instructions by Arm's NEON, from their registers: operands are widened as they are needed.
 *
 * Floats take one product after the other in the order of matrix.h's hk_multiply, each with one fused multiply-add
 * rounded to nearest even, denormals kept; so the bits are those of every other CPU, whatever it has:
 *
 * - bf16: BFMLALT and BFMLALB (FEAT_BF16) widen and multiply-add so (Arm's manual: "without intermediate rounding",
 *   and by FPCR as single precision). BFDOT and BFMMLA are not used: they round to odd and flush denormals. Each of
 *   their roundings errs by up to a whole unit in the last place, twice as much as one to nearest even, and they
 *   round as often: a sum may be further off than a sequential one.
 * - f16: FMLAL and FMLAL2 (FEAT_FHM). Floats of 8 bits are exact in f16 and become such first.
 * - without these, elements are widened by FCVTL or a shift.
 *
 * int8: SMMLA (FEAT_I8MM), or SDOT (FEAT_DotProd); both wrap modulo 2^32, and are exact.
 *
 * 8 rows of 8 columns are summed at once, in 16 of the 32 vector registers.
 */
#ifndef HK_MATRIX_NEON_H
#define HK_MATRIX_NEON_H

#include "ops/matrix.h"

#if defined(__aarch64__) && defined(__ARM_NEON)
#define HK_NEON 1
#include <arm_neon.h>

#define HK_NEON_ROWS 8

/* For each of 8 rows: its number, and the vector and lane of A that contain it. This is a macro since lanes must be
 * immediates. */
#define HK_NEON_EACH(DO) DO(0, 0, 0) DO(1, 0, 1) DO(2, 0, 2) DO(3, 0, 3) DO(4, 1, 0) DO(5, 1, 1) DO(6, 1, 2) DO(7, 1, 3)

HK_INLINE float32x4_t hk_neon_one_nan(float32x4_t x) {
    return vbslq_f32(vceqq_f32(x, x), x, vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000)));
}

/* sum += a b for one k. */
HK_INLINE void hk_neon_product(float32x4_t sum[8][2], const float32x4_t a[2], const float32x4_t b[2]) {
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vfmaq_laneq_f32(sum[row][0], b[0], (a)[vector], lane);                                               \
    sum[row][1] = vfmaq_laneq_f32(sum[row][1], b[1], (a)[vector], lane);
    HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
}

/* The even or odd bf16 of four dwords, as floats; the even or odd f16 of eight. */
HK_INLINE float32x4_t hk_neon_wide_bf16(uint32x4_t pairs, int odd) {
    return vreinterpretq_f32_u32(odd ? vandq_u32(pairs, vdupq_n_u32(0xffff0000)) : vshlq_n_u32(pairs, 16));
}

HK_INLINE float16x8_t hk_neon_f16(const uint32x4_t pairs[2], int odd) {
    uint16x8_t low = vreinterpretq_u16_u32(pairs[0]), high = vreinterpretq_u16_u32(pairs[1]);
    return vreinterpretq_f16_u16(odd ? vuzp2q_u16(low, high) : vuzp1q_u16(low, high));
}

HK_INLINE void hk_neon_wide_f16(float32x4_t out[2], const uint32x4_t pairs[2], int odd) {
    float16x8_t halves = hk_neon_f16(pairs, odd);
    out[0] = vcvt_f32_f16(vget_low_f16(halves));
    out[1] = vcvt_high_f32_f16(halves);
}

/* sum += a b for a pair of k, the second k first. */
HK_INLINE void hk_neon_bf16(float32x4_t sum[8][2], const uint32x4_t a[2], const uint32x4_t b[2]) {
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
    bfloat16x8_t pairs_a[2] = {vreinterpretq_bf16_u32(a[0]), vreinterpretq_bf16_u32(a[1])};
    bfloat16x8_t pairs_b[2] = {vreinterpretq_bf16_u32(b[0]), vreinterpretq_bf16_u32(b[1])};
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vbfmlaltq_laneq_f32(sum[row][0], pairs_b[0], pairs_a[vector], 2 * (lane) + 1);                       \
    sum[row][1] = vbfmlaltq_laneq_f32(sum[row][1], pairs_b[1], pairs_a[vector], 2 * (lane) + 1);
    HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vbfmlalbq_laneq_f32(sum[row][0], pairs_b[0], pairs_a[vector], 2 * (lane));                           \
    sum[row][1] = vbfmlalbq_laneq_f32(sum[row][1], pairs_b[1], pairs_a[vector], 2 * (lane));
    HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
#else
#pragma clang loop unroll(full)
    for (int odd = 1; odd >= 0; odd--) {
        float32x4_t wide_a[2] = {hk_neon_wide_bf16(a[0], odd), hk_neon_wide_bf16(a[1], odd)};
        float32x4_t wide_b[2] = {hk_neon_wide_bf16(b[0], odd), hk_neon_wide_bf16(b[1], odd)};
        hk_neon_product(sum, wide_a, wide_b);
    }
#endif
}

HK_INLINE void hk_neon_halves(float32x4_t sum[8][2], const uint32x4_t a[2], const uint32x4_t b[2]) {
#ifdef __ARM_FEATURE_FP16_FML
    float16x8_t pairs_a[2] = {vreinterpretq_f16_u32(a[0]), vreinterpretq_f16_u32(a[1])};
    float16x8_t odd = hk_neon_f16(b, 1), even = hk_neon_f16(b, 0);
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vfmlalq_laneq_low_f16(sum[row][0], odd, pairs_a[vector], 2 * (lane) + 1);                            \
    sum[row][1] = vfmlalq_laneq_high_f16(sum[row][1], odd, pairs_a[vector], 2 * (lane) + 1);
    HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vfmlalq_laneq_low_f16(sum[row][0], even, pairs_a[vector], 2 * (lane));                               \
    sum[row][1] = vfmlalq_laneq_high_f16(sum[row][1], even, pairs_a[vector], 2 * (lane));
    HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
#else
#pragma clang loop unroll(full)
    for (int odd = 1; odd >= 0; odd--) {
        float32x4_t wide_a[2], wide_b[2];
        hk_neon_wide_f16(wide_a, a, odd);
        hk_neon_wide_f16(wide_b, b, odd);
        hk_neon_product(sum, wide_a, wide_b);
    }
#endif
}

/* D = C + A[0] B[0] + ... for `m` x `m` floats and `links` pairs of A and B, of f16 or bf16. `d` may be `c` and
 * overlaps no factor. */
HK_INLINE void hk_neon_multiply(HkElement type, int m, float *d, const float *c, const HkPairs *a, const HkPairs *b,
                                int links, int groups, int count) {
    for (int column = 0; column < m; column += 8)
        for (int first = 0; first < m; first += HK_NEON_ROWS) {
            int corner = hk_result_offset(m, first) + column;
            float32x4_t sum[8][2];
#pragma clang loop unroll(full)
            for (int i = 0; i < HK_NEON_ROWS; i++) {
                const float *from = c + corner + hk_result_offset(m, i);
                sum[i][0] = vld1q_f32(from);
                sum[i][1] = vld1q_f32(from + 4);
            }
            for (int n = 0; n < links * groups; n++) {
                int link = n / groups, g = n % groups;
                const uint32_t *ak = a[link].base + g * a[link].group_stride + first;
                const uint32_t *bk = b[link].base + g * b[link].group_stride + column;
#pragma clang loop unroll(disable)
                for (int r = 0; r < count; r++, ak += a->row_stride, bk += b->row_stride) {
                    uint32x4_t of_a[2] = {vld1q_u32(ak), vld1q_u32(ak + 4)};
                    uint32x4_t of_b[2] = {vld1q_u32(bk), vld1q_u32(bk + 4)};
                    if (type == HK_BF16)
                        hk_neon_bf16(sum, of_a, of_b);
                    else
                        hk_neon_halves(sum, of_a, of_b);
                }
            }
#pragma clang loop unroll(full)
            for (int i = 0; i < HK_NEON_ROWS; i++) {
                float *to = d + corner + hk_result_offset(m, i);
                vst1q_f32(to, hk_neon_one_nan(sum[i][0]));
                vst1q_f32(to + 4, hk_neon_one_nan(sum[i][1]));
            }
        }
}

/* Instructions of one block of f16 or bf16; `d` may overlap factors, and `a` is not used. */
HK_INLINE void hk_neon_multiply_halves(HkElement type, int m, float *d, const float *c, float *a,
                                       const HkFactors *factors, int links, int count) {
    HkPairs pairs_a[HK_LINKS], pairs_b[HK_LINKS];
    float beside[16 * HK_LANES], *to = d;
    int result_rows = m * m / HK_LANES;
    (void)a;
    for (int n = 0; n < links; n++) {
        pairs_a[n] = (HkPairs){factors[n].a, m, HK_LANES};
        pairs_b[n] = (HkPairs){factors[n].b, m, HK_LANES};
        if (hk_rows_overlap(factors[n].a, count, d, result_rows) ||
            hk_rows_overlap(factors[n].b, count, d, result_rows))
            to = beside;
    }
    hk_neon_multiply(type, m, to, c, pairs_a, pairs_b, links, HK_LANES / m, count);
    if (to != d) memcpy(d, beside, sizeof(float) * HK_LANES * (size_t)result_rows);
}

#if defined(__ARM_FEATURE_FP16_FML) && defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
#define HK_NEON_EIGHTS 1

/* Eight 8-bit floats, each in the upper half of 16 bits, as f16. The exponent biases are adjusted as in matrix.h. */
HK_INLINE uint16x8_t hk_neon_eights(HkElement type, uint16x8_t x) {
    uint16x8_t sign = vandq_u16(x, vdupq_n_u16(0x8000)), nan = vdupq_n_u16(0x7e00);
    if (type == HK_BF8) return x;
    if (type == HK_BF8_FNUZ) {
        uint16x8_t top = vceqq_u16(vandq_u16(x, vdupq_n_u16(0x7c00)), vdupq_n_u16(0x7c00));
        float16x8_t lower = vreinterpretq_f16_u16(vsubq_u16(x, vandq_u16(top, vdupq_n_u16(0x0400))));
        float16x8_t half = vreinterpretq_f16_u16(vbslq_u16(top, vdupq_n_u16(0x3c00), vdupq_n_u16(0x3800)));
        uint16x8_t value = vreinterpretq_u16_f16(vmulq_f16(lower, half));
        return vbslq_u16(vceqq_u16(x, vdupq_n_u16(0x8000)), nan, value);
    }
    uint16x8_t magnitude = vandq_u16(x, vdupq_n_u16(0x7f00));
    /* 256 or 128, as f16. */
    float16x8_t bias = vreinterpretq_f16_u16(vdupq_n_u16(type == HK_FP8 ? 0x5c00 : 0x5800));
    float16x8_t fields = vreinterpretq_f16_u16(vorrq_u16(sign, vshrq_n_u16(magnitude, 1)));
    uint16x8_t value = vreinterpretq_u16_f16(vmulq_f16(fields, bias));
    uint16x8_t is_nan = type == HK_FP8 ? vceqq_u16(magnitude, vdupq_n_u16(0x7f00)) : vceqq_u16(x, vdupq_n_u16(0x8000));
    return vbslq_u16(is_nan, nan, value);
}

/* A whole operand of 8-bit floats as f16, [pair][m], in the order of K. */
HK_INLINE void hk_neon_convert_as(HkElement type, int m, uint32_t *out, const uint32_t *rows, int count) {
    for (int g = 0; g < HK_LANES / m; g++)
        for (int r = 0; r < count; r++, out += 2 * m)
            for (int i = 0; i < m; i += 4) {
                uint16x8_t x = vreinterpretq_u16_u32(vld1q_u32(rows + HK_LANES * r + m * g + i));
                uint16x8_t even = hk_neon_eights(type, vshlq_n_u16(x, 8));
                uint16x8_t odd = hk_neon_eights(type, vandq_u16(x, vdupq_n_u16(0xff00)));
                vst1q_u32(out + i, vreinterpretq_u32_u16(vtrn1q_u16(even, odd)));
                vst1q_u32(out + m + i, vreinterpretq_u32_u16(vtrn2q_u16(even, odd)));
            }
}

HK_INLINE void hk_neon_convert(HkElement type, int m, uint32_t *out, const uint32_t *rows, int count) {
    HK_WITH_EIGHTS(type, hk_neon_convert_as, m, out, rows, count);
}

/* An instruction of one block of 8-bit floats; `pairs` has room for both factors, of `count` rows. */
HK_INLINE void hk_neon_multiply_eights(HkElement type_a, HkElement type_b, int m, float *d, const float *c,
                                       uint32_t *pairs, const HkFactors *factors, int count) {
    int depth = 2 * count * HK_LANES / m;
    HkPairs a = {pairs, 0, m}, b = {pairs + depth * m, 0, m};
    hk_neon_convert(type_a, m, pairs, factors->a, count);
    hk_neon_convert(type_b, m, pairs + depth * m, factors->b, count);
    hk_neon_multiply(HK_F16, m, d, c, &a, &b, 1, 1, depth);
}
#endif

#ifdef __ARM_FEATURE_DOTPROD
/* Addends and results of an int8 block: 8 columns of row i. */
HK_INLINE uint32x4_t hk_neon_addend(const uint32_t *c, uint32_t constant, int at) {
    return c == NULL ? vdupq_n_u32(constant) : vld1q_u32(c + at);
}

HK_INLINE int8x16_t hk_neon_bytes(uint32x4_t x) { return vreinterpretq_s8_u32(x); }

/* 8 x 8 elements of D = C + A B. K is `depth` dwords, [dword][m]. */
#ifdef __ARM_FEATURE_MATMUL_INT8
/* SMMLA adds the product of 2 x 8 and 8 x 2 bytes to 2 x 2 sums. */
HK_INLINE void hk_neon_bytes_block(int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *a,
                                   const uint32_t *b, int depth) {
    int32x4_t sum[4][4];
#define HK_NEON_QUARTERS(x, y) vreinterpretq_u64_u32(x), vreinterpretq_u64_u32(y)
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i += 2) {
        int row = i / 4 * 2, four = i % 4 * 2;
        uint32x4_t x = hk_neon_addend(c, constant, hk_result_offset(m, row) + four);
        uint32x4_t y = hk_neon_addend(c, constant, hk_result_offset(m, row + 1) + four);
        sum[i / 4][i % 4] = vreinterpretq_s32_u64(vzip1q_u64(HK_NEON_QUARTERS(x, y)));
        sum[i / 4][i % 4 + 1] = vreinterpretq_s32_u64(vzip2q_u64(HK_NEON_QUARTERS(x, y)));
    }
#pragma clang loop unroll(disable)
    for (int k = 0; k < depth; k += 2, a += 2 * m, b += 2 * m) {
        int8x16_t of_a[4], of_b[4];
#pragma clang loop unroll(full)
        for (int i = 0; i < 4; i += 2) {
            uint32x4_t x = vld1q_u32(a + 2 * i), y = vld1q_u32(a + m + 2 * i);
            of_a[i] = hk_neon_bytes(vzip1q_u32(x, y));
            of_a[i + 1] = hk_neon_bytes(vzip2q_u32(x, y));
            x = vld1q_u32(b + 2 * i), y = vld1q_u32(b + m + 2 * i);
            of_b[i] = hk_neon_bytes(vzip1q_u32(x, y));
            of_b[i + 1] = hk_neon_bytes(vzip2q_u32(x, y));
        }
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) sum[i / 4][i % 4] = vmmlaq_s32(sum[i / 4][i % 4], of_a[i / 4], of_b[i % 4]);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i += 2) {
        int row = i / 4 * 2, four = i % 4 * 2;
        uint32x4_t x = vreinterpretq_u32_s32(sum[i / 4][i % 4]), y = vreinterpretq_u32_s32(sum[i / 4][i % 4 + 1]);
        vst1q_u32(d + hk_result_offset(m, row) + four, vreinterpretq_u32_u64(vzip1q_u64(HK_NEON_QUARTERS(x, y))));
        vst1q_u32(d + hk_result_offset(m, row + 1) + four, vreinterpretq_u32_u64(vzip2q_u64(HK_NEON_QUARTERS(x, y))));
    }
#undef HK_NEON_QUARTERS
}
#else
HK_INLINE void hk_neon_bytes_block(int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *a,
                                   const uint32_t *b, int depth) {
    int32x4_t sum[8][2];
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++)
        sum[i / 2][i % 2] = vreinterpretq_s32_u32(hk_neon_addend(c, constant, hk_result_offset(m, i / 2) + i % 2 * 4));
#pragma clang loop unroll(disable)
    for (int k = 0; k < depth; k++, a += m, b += m) {
        int8x16_t of_a[2] = {hk_neon_bytes(vld1q_u32(a)), hk_neon_bytes(vld1q_u32(a + 4))};
        int8x16_t of_b[2] = {hk_neon_bytes(vld1q_u32(b)), hk_neon_bytes(vld1q_u32(b + 4))};
#define HK_NEON_DO(row, vector, lane)                                                                                  \
    sum[row][0] = vdotq_laneq_s32(sum[row][0], of_b[0], of_a[vector], lane);                                           \
    sum[row][1] = vdotq_laneq_s32(sum[row][1], of_b[1], of_a[vector], lane);
        HK_NEON_EACH(HK_NEON_DO)
#undef HK_NEON_DO
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++)
        vst1q_u32(d + hk_result_offset(m, i / 2) + i % 2 * 4, vreinterpretq_u32_s32(sum[i / 2][i % 2]));
}
#endif

/* D = C + A B of int8, modulo 2^32. Groups and rows are one run of dwords of K in A and B alike, since integer sums do
 * not depend on order. `d` may overlap factors. */
#define HK_NEON_BYTES 1
HK_INLINE void hk_neon_multiply_bytes(int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *rows_a,
                                      const uint32_t *rows_b, int count) {
    uint32_t beside[16 * HK_LANES];
    int result_rows = m * m / HK_LANES, depth = HK_LANES / m * count;
    int over = hk_rows_overlap(rows_a, count, d, result_rows) || hk_rows_overlap(rows_b, count, d, result_rows);
    uint32_t *to = over ? beside : d;
    for (int column = 0; column < m; column += 8)
        for (int first = 0; first < m; first += HK_NEON_ROWS) {
            int corner = hk_result_offset(m, first) + column;
            hk_neon_bytes_block(m, to + corner, c == NULL ? NULL : c + corner, constant, rows_a + first,
                                rows_b + column, depth);
        }
    if (over) memcpy(d, beside, sizeof(uint32_t) * HK_LANES * (size_t)result_rows);
}
#endif

#endif

#endif
