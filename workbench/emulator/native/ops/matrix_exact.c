/* The arithmetic of matrix_exact.h, twice: for any operands one element after the other, in 64-bit integers, and for
 * ordinary ones many at once, in 32 bits.
 *
 * A fused sum of products p_i = a_i b_i and an addend c, exponents e_i = e(a_i) + e(b_i), e their maximum, and
 * m = max(e, e(c)):
 *
 *   t_i = p_i cut towards zero to a multiple of 2^(e - 24), s = their sum;
 *   D = (s rounded down to a multiple of 2^(m - 31)) + (c rounded down to one of 2^(m - 24)), to nearest even.
 *
 * Zeros have exponent -126. With `split` (8 bits and less) products of even and odd k have an e and an s each; both
 * are rounded down to multiples of 2^(e - 24) of the larger e and added, and c is 0 where e(c) < m - 25.
 */
#include "ops/matrix_exact.h"

#define HK_ZERO_EXPONENT (-126)
#define HK_PRODUCT_BITS 24
#define HK_SUM_BITS 31
#define HK_ADDEND_BITS 24
#define HK_ADDEND_REACH 25

int hk_exact_least(HkElement type) {
    switch (type) {
    case HK_F16:
        return -14;
    case HK_FP8:
        return -6;
    case HK_FP8_FNUZ:
        return -7;
    case HK_BF8:
        return -14;
    case HK_BF8_FNUZ:
        return -15;
    case HK_FP6:
    case HK_FP4:
        return 0;
    case HK_BF6:
        return -2;
    default:
        return -126;
    }
}

int hk_exact_group(HkElement type, int depth) {
    int most = type == HK_XF32 ? 4 : type == HK_F16 || type == HK_BF16 ? 8 : 16;
    return depth < most ? depth : most;
}

/* x = significand 2^(exponent - 23). */
typedef struct HkParts {
    int64_t significand;
    int exponent;
} HkParts;

HK_INLINE HkParts hk_parts(float x, int least) {
    uint32_t bits = hk_float_bits(x), field = bits >> 23 & 255;
    int64_t significand = (bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
    int exponent = field != 0 ? (int)field - 127 : -126;
    if (significand == 0) return (HkParts){0, HK_ZERO_EXPONENT};
    if (exponent < least) {
        /* A denormal of its format, which has fewer bits than these. */
        significand >>= least - exponent;
        exponent = least;
    }
    return (HkParts){bits >> 31 ? -significand : significand, exponent};
}

HK_INLINE int64_t hk_down(int64_t value, int places) { return value >> (places < 63 ? places : 63); }

HK_INLINE int64_t hk_towards_zero(int64_t value, int places) {
    return value < 0 ? -hk_down(-value, places) : hk_down(value, places);
}

/* value 2^exponent to nearest even; the value has less than 53 bits. */
HK_INLINE float hk_nearest(int64_t value, int exponent) {
    if (exponent > 900) exponent = 900;
    return (float)((double)value * hk_double((uint64_t)(exponent + 1023) << 52));
}

/* The scale of element k, which is a NaN where its byte is 255. */
HK_INLINE int hk_scale_of(const int *scales, int k, int stride) { return scales == NULL ? 0 : scales[k / 32 * stride]; }

/* What infinities, NaNs and products of 2^128 and more make of a sum: the result, or 0 where they make nothing. */
static float hk_exact_special(const float *a, const int *scales_a, const float *b, const int *scales_b, int stride,
                              float c, int first, int last) {
    double sum = (double)c, over = 0;
    for (int k = first; k < last; k++) {
        int ea = hk_scale_of(scales_a, k, stride), eb = hk_scale_of(scales_b, k, stride);
        double product = (double)a[k * stride] * (double)b[k * stride];
        product *= ea == 128 || eb == 128 ? __builtin_nan("") : hk_double((uint64_t)(ea + eb + 1023) << 52);
        sum += product;
        if (product >= 0x1p128 || product <= -0x1p128) over += product < 0 ? -__builtin_inf() : __builtin_inf();
    }
    if (sum - sum != 0) over = sum;
    return over != over ? __builtin_nanf("") : (float)over;
}

/* Sum of the products of k = first, first + step, ... and its exponent. */
HK_INLINE int64_t hk_exact_sum(const float *a, int least_a, const int *scales_a, const float *b, int least_b,
                               const int *scales_b, int stride, int first, int last, int step, int *most) {
    int64_t products[16], sum = 0;
    int exponents[16], count = 0;
    *most = -1000;
    for (int k = first; k < last; k += step, count++) {
        HkParts x = hk_parts(a[k * stride], least_a), y = hk_parts(b[k * stride], least_b);
        products[count] = x.significand * y.significand;
        exponents[count] =
            x.exponent + y.exponent + hk_scale_of(scales_a, k, stride) + hk_scale_of(scales_b, k, stride);
        *most = exponents[count] > *most ? exponents[count] : *most;
    }
    for (int i = 0; i < count; i++)
        sum += hk_towards_zero(products[i], 46 - HK_PRODUCT_BITS + *most - exponents[i]);
    return sum;
}

float hk_exact_element(const float *a, int least_a, const int *scales_a, const float *b, int least_b,
                       const int *scales_b, int stride, float c, int depth, int group, int split) {
    for (int first = 0; first < depth; first += group) {
        int last = first + group, e;
        float special = hk_exact_special(a, scales_a, b, scales_b, stride, c, first, last);
        if (special != 0) {
            c = special;
            continue;
        }
        int64_t sum;
        if (split) {
            int odd;
            sum = hk_exact_sum(a, least_a, scales_a, b, least_b, scales_b, stride, first, last, 2, &e);
            int64_t other =
                hk_exact_sum(a, least_a, scales_a, b, least_b, scales_b, stride, first + 1, last, 2, &odd);
            int larger = odd > e ? odd : e;
            sum = hk_down(sum, larger - e) + hk_down(other, larger - odd);
            e = larger;
        } else
            sum = hk_exact_sum(a, least_a, scales_a, b, least_b, scales_b, stride, first, last, 1, &e);
        HkParts addend = hk_parts(c, -126);
        int m = addend.exponent > e ? addend.exponent : e;
        /* |sum| < 2^30: seven more bits. */
        sum = hk_down(sum * (1 << (HK_SUM_BITS - HK_PRODUCT_BITS)), m - e);
        int64_t added = hk_down(addend.significand * (1 << (HK_ADDEND_BITS - 23)), m - addend.exponent);
        if (split && addend.exponent < m - HK_ADDEND_REACH) added = 0;
        c = hk_nearest(sum + added * (1 << (HK_SUM_BITS - HK_ADDEND_BITS)), m - HK_SUM_BITS);
    }
    return c;
}

void hk_exact_multiply(int m, float *d, const float *c, HkExactFactor a, HkExactFactor b, int depth, int group,
                       int split) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            int at = hk_result_offset(m, i) + j;
            d[at] = hk_exact_element(a.values + i, a.least, a.scales == NULL ? NULL : a.scales + i, b.values + j,
                                     b.least, b.scales == NULL ? NULL : b.scales + j, m, c[at], depth, group, split);
        }
}

/* Dense instructions: fields as in matrix.c. */
HK_INLINE int32_t hk_mfma_exact(Wave *w, const Op *op, int m) {
    float a[HK_MATRIX_MAX_K * 32] __attribute__((aligned(64))), c[32 * HK_LANES] __attribute__((aligned(64)));
    float result[32 * HK_LANES] __attribute__((aligned(64)));
    uint32_t arranged[16 * HK_LANES];
    HkElement type_a = HK_MATRIX_TYPE_A(op), type_b = HK_MATRIX_TYPE_B(op);
    int blocks = HK_MATRIX_BLOCKS(op), result_rows = m * m * blocks / HK_LANES;
    const uint32_t *rows_a = hk_row(w, op->src0), *rows_b = hk_row(w, op->src1);
    if (HK_MATRIX_BLGP(op) != 0) {
        hk_arrange_b(arranged, rows_b, HK_MATRIX_ROWS_B(op), HK_MATRIX_BLGP(op));
        rows_b = arranged;
    }
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(c, result_rows, op->imm[0]);
    else
        memcpy(c, hk_row(w, op->src2), sizeof(float) * HK_LANES * (size_t)result_rows);
    for (int block = 0; block < blocks; block++) {
        int depth = hk_unpack_block(type_a, a, m, rows_a, HK_MATRIX_ROWS_A(op), blocks, hk_source_block(op, block));
        float *b = a + depth * m;
        hk_unpack_block(type_b, b, m, rows_b, HK_MATRIX_ROWS_B(op), blocks, block);
        if (type_a == HK_XF32) hk_flush_inputs(w, a, 2 * depth * m);
        int at = block * (m * m / HK_LANES) * HK_LANES;
        HkExactFactor left = {a, hk_exact_least(type_a), NULL}, right = {b, hk_exact_least(type_b), NULL};
        hk_exact_multiply(m, result + at, c + at, left, right, depth, hk_exact_group(type_a, depth),
                          hk_exact_split(type_a));
    }
    memcpy(hk_row(w, op->dst), result, sizeof(float) * HK_LANES * (size_t)result_rows);
    return 0;
}

HK_EXPORT int32_t hk_mfma_exact_f32_16x16(Wave *w, const Op *op) { return hk_mfma_exact(w, op, 16); }
HK_EXPORT int32_t hk_mfma_exact_f32_32x32(Wave *w, const Op *op) { return hk_mfma_exact(w, op, 32); }

/* 16 blocks of 4x4, as hk_mfma_4x4 has them. */
HK_EXPORT int32_t hk_mfma_exact_f32_4x4(Wave *w, const Op *op) {
    float a[4 * HK_LANES] __attribute__((aligned(64))), b[4 * HK_LANES] __attribute__((aligned(64)));
    float c[4 * HK_LANES] __attribute__((aligned(64)));
    uint32_t arranged[2 * HK_LANES];
    HkElement type_a = HK_MATRIX_TYPE_A(op), type_b = HK_MATRIX_TYPE_B(op);
    const uint32_t *rows_a = hk_row(w, op->src0), *rows_b = hk_row(w, op->src1);
    if (HK_MATRIX_BLGP(op) != 0) {
        hk_arrange_b(arranged, rows_b, HK_MATRIX_ROWS_B(op), HK_MATRIX_BLGP(op));
        rows_b = arranged;
    }
    for (int lane = 0; lane < HK_LANES; lane += 16) {
        hk_unpack(type_a, a + lane, HK_LANES, rows_a + lane, HK_MATRIX_ROWS_A(op), 1, 0);
        hk_unpack(type_b, b + lane, HK_LANES, rows_b + lane, HK_MATRIX_ROWS_B(op), 1, 0);
    }
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(c, 4, op->imm[0]);
    else
        memcpy(c, hk_row(w, op->src2), sizeof c);
    float *d = (float *)hk_row(w, op->dst);
    int depth = HK_MATRIX_ROWS_A(op) * hk_per_dword(type_a);
    for (int at = 0; at < 4 * HK_LANES; at++) {
        int i = at / HK_LANES, lane = at % HK_LANES, source = 4 * hk_source_block(op, lane / 4) + i;
        d[at] = hk_exact_element(a + source, hk_exact_least(type_a), NULL, b + lane, hk_exact_least(type_b), NULL,
                                 HK_LANES, c[at], depth, hk_exact_group(type_a, depth), hk_exact_split(type_a));
    }
    return 0;
}
