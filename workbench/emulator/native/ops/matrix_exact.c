/* Two implementations of matrix_exact.h's arithmetic: for any operands one element at a time in 64-bit integers, and
 * for ordinary operands many at once in 32 bits.
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
        /* A denormal of the source format, which has fewer significant bits. */
        significand >>= least - exponent;
        exponent = least;
    }
    return (HkParts){bits >> 31 ? -significand : significand, exponent};
}

HK_INLINE int64_t hk_down(int64_t value, int places) { return value >> (places < 63 ? places : 63); }

HK_INLINE int64_t hk_towards_zero(int64_t value, int places) {
    return value < 0 ? -hk_down(-value, places) : hk_down(value, places);
}

/* value 2^exponent rounded to nearest even; the value has less than 53 bits. */
HK_INLINE float hk_nearest(int64_t value, int exponent) {
    if (exponent > 900) exponent = 900;
    return (float)((double)value * hk_double((uint64_t)(exponent + 1023) << 52));
}

/* The exponent of element k's scale; the scale is a NaN if its byte is 255. */
HK_INLINE int hk_scale_of(const int *scales, int k, int stride) { return scales == NULL ? 0 : scales[k / 32 * stride]; }

/* The special result of infinities, NaNs and products of 2^128 and more; 0 if there is none. */
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
    for (int i = 0; i < count; i++) sum += hk_towards_zero(products[i], 46 - HK_PRODUCT_BITS + *most - exponents[i]);
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
            int64_t other = hk_exact_sum(a, least_a, scales_a, b, least_b, scales_b, stride, first + 1, last, 2, &odd);
            int larger = odd > e ? odd : e;
            sum = hk_down(sum, larger - e) + hk_down(other, larger - odd);
            e = larger;
        } else
            sum = hk_exact_sum(a, least_a, scales_a, b, least_b, scales_b, stride, first, last, 1, &e);
        HkParts addend = hk_parts(c, -126);
        int m = addend.exponent > e ? addend.exponent : e;
        /* |sum| < 2^30: room for seven more bits. */
        sum = hk_down(sum * (1 << (HK_SUM_BITS - HK_PRODUCT_BITS)), m - e);
        int64_t added = hk_down(addend.significand * (1 << (HK_ADDEND_BITS - 23)), m - addend.exponent);
        if (split && addend.exponent < m - HK_ADDEND_REACH) added = 0;
        c = hk_nearest(sum + added * (1 << (HK_SUM_BITS - HK_ADDEND_BITS)), m - HK_SUM_BITS);
    }
    return c;
}

/* Many elements at once, of ordinary numbers.
 *
 * Ordinary is a factor that is 0 or whose exponent is -35 to 16, and an addend that is 0 or 2^-94 to 2^100. Then
 *
 * - products are exact in fp32: at most 22 bits between 2^-76 and 2^34. So are they times 2^(24 - e), which is an
 *   addition to their exponents; the conversion to an integer cuts that towards zero, and |s| < 2^30 fits 32 bits.
 *   With 2^-8 taken off B beforehand the addition is of 32 - e, 0 to 126: it leaves a zero product below 1, as it was;
 * - a product with a zero has an exponent of -126 + 16 at most (-121 + 16 with the scales that are let through): below
 *   that of every other product, and below that of every addend but 0. Where all products are such, the sum is the
 *   addend, whatever e is. So such an exponent may count as -94, and exponents fit a byte, zeros being -128 with
 *   saturation;
 * - a result is 0 or at least 2^(e - 24) >= 2^-94, or close to a larger addend: an addend of the next sum is ordinary.
 *
 * The last step needs T = S + C in units finer than 2^(m - 24). With d = m - e, units of 2^(m - 24 - f), f = min(d, 5),
 * keep |T| < 2^31: |s| <= 56.25 2^24 (16 products below 3.52 of 8 bits; 31.8 2^24 else), |C| <= 2^(25 + f). Where
 * d <= 5 nothing of s is cut off, T is exact, and converting it to fp32 rounds once: the short way, of most sums. Where
 * d is more, m = e(c), so that |C| >= 2^29 and |s| 2^(5 - d) < 2^28.9: |T| > 2^25, of which fp32 leaves out at least
 * two bits; what is beyond the units can be told by the lowest bit alone, once it is down to 2^(m - 31).
 */
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define HK_FACTOR_LEAST (-35)
#define HK_FACTOR_MOST 16
#define HK_ZERO_SCALE 5
#define HK_ADDEND_LEAST (-94)
#define HK_ADDEND_MOST 100
#define HK_FINER_BITS 5
#define HK_B_SCALE (-8)

/* Exponents lie in fp32's field, where they are added to numbers. */
#define HK_FIELD(exponent) ((exponent) << 23)
#define HK_FIELDS 0x7f800000

typedef int8_t i8x16 __attribute__((vector_size(16), aligned(1)));
typedef uint8_t u8x16 __attribute__((vector_size(16), aligned(1)));
typedef int32_t i32x4 __attribute__((vector_size(16), aligned(1)));

HK_INLINE i32x16 hk_ints(int x) { return (i32x16){} + x; }

HK_INLINE int hk_any_above(i32x16 x, int most) {
#if defined(__AVX512F__)
    return _mm512_cmpgt_epi32_mask((__m512i)x, _mm512_set1_epi32(most)) != 0;
#elif defined(__AVX2__)
    union {
        i32x16 all;
        __m256i half[2];
    } of = {x};
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(_mm256_max_epi32(of.half[0], of.half[1]), _mm256_set1_epi32(most)));
#else
    return __builtin_reduce_max(x) > most;
#endif
}

/* Converts numbers of -128 to 127 to bytes. */
HK_INLINE i8x16 hk_bytes(i32x16 x) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    union {
        i32x16 all;
        __m256i half[2];
    } of = {x};
    /* The packing instruction interleaves the two halves. */
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(of.half[0], of.half[1]), 0xd8);
    return (i8x16)_mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
#else
    return __builtin_convertvector(x, i8x16);
#endif
}

/* Exponents of a factor, [k][m], with -128 for zeros; returns 0 if a number is not ordinary. */
HK_INLINE int hk_exact_exponents(int8_t *to, HkExactFactor x, int m, int depth) {
    i32x16 odd = {};
    for (int k = 0; k < depth; k++)
        for (int half = 0; half < m; half += 16) {
            i32x16 bits = *(const i32x16 *)(x.values + k * m + half) & 0x7fffffff, zero = bits == 0;
            i32x16 exponent = __builtin_elementwise_max((bits >> 23) - 127, hk_ints(x.least));
            if (x.scales != NULL) {
                i32x16 scale = *(const i32x16 *)(x.scales + k / 32 * m + half);
                exponent += scale;
                odd |= (scale == 128) | (zero & (scale > HK_ZERO_SCALE));
            }
            odd |= ((exponent < HK_FACTOR_LEAST) | (exponent > HK_FACTOR_MOST)) & ~zero;
            *(i8x16 *)(to + k * m + half) = hk_bytes((exponent & ~zero) | (zero & -128));
        }
    return __builtin_reduce_or(odd) == 0;
}

HK_INLINE int hk_exact_addends(const float *c, int count) {
    i32x16 odd = {};
    for (int i = 0; i < count; i += 16) {
        i32x16 magnitude = *(const i32x16 *)(c + i) & 0x7fffffff;
        odd |= (magnitude < HK_FIELD(HK_ADDEND_LEAST + 127)) & (magnitude != 0);
        odd |= magnitude >= HK_FIELD(HK_ADDEND_MOST + 127);
    }
    return __builtin_reduce_or(odd) == 0;
}

/* The sum of `count` products, with k in steps of `step`, in units of 2^(e - 24); `shift` is 32 - e in the exponent
 * field. */
HK_INLINE i32x16 hk_exact_products(const float *a, const float *b, int m, int count, int step, i32x16 shift) {
    i32x16 sum = {};
#pragma clang loop unroll(full)
    for (int k = 0; k < count; k++) {
        f32x16 product = a[k * step * m] * *(const f32x16 *)(b + k * step * m);
        sum += __builtin_convertvector((f32x16)((i32x16)product + shift), i32x16);
    }
    return sum;
}

/* s 2^(e - 24) + c; `shift` as above. */
HK_INLINE f32x16 hk_exact_finish(i32x16 s, i32x16 shift, f32x16 c, int split) {
    i32x16 e = HK_FIELD(HK_PRODUCT_BITS - HK_B_SCALE + 127) - shift;
    i32x16 exponent = (i32x16)c & HK_FIELDS, most = __builtin_elementwise_max(exponent, e), apart = most - e;
    /* 2^(24 - m), as a float; with twice the bias the sign overflows and returns. */
    f32x16 to_units = (f32x16)(hk_ints((int)((HK_ADDEND_BITS + 254u) << 23)) - most);
    i32x16 addend = __builtin_convertvector(__builtin_elementwise_floor(c * to_units), i32x16);
    if (split) addend &= most - exponent <= HK_FIELD(HK_ADDEND_REACH);
    i32x16 distance = apart >> 23;
    if (__builtin_expect(!hk_any_above(apart, HK_FIELD(HK_FINER_BITS)), 1))
        return __builtin_convertvector(s + (addend << distance), f32x16) * (f32x16)(e - HK_FIELD(HK_PRODUCT_BITS));
    i32x16 finer = __builtin_elementwise_min(distance, hk_ints(HK_FINER_BITS));
    /* s rounded down to units of 2^(m - 31) if these are coarser than its own; then the bits above the units of T. */
    i32x16 kept = __builtin_elementwise_min(distance, hk_ints(HK_SUM_BITS - HK_PRODUCT_BITS));
    i32x16 down = s >> __builtin_elementwise_min(distance - kept, hk_ints(31));
    i32x16 units = down >> (kept - finer), total = units + (addend << finer);
    total |= ((units << (kept - finer)) != down) & 1;
    return __builtin_convertvector(total, f32x16) * (f32x16)(most - ((finer + HK_PRODUCT_BITS) << 23));
}

/* Adds all sums of one group of products to d. `exponents_a` has each byte four times. */
HK_INLINE void hk_exact_group_of(int m, float *d, const float *a, const float *b, const int32_t *exponents_a,
                                 const int8_t *exponents_b, int count, int parts) {
    for (int column = 0; column < m; column += 16) {
        uint8_t shifts[2][32][16] __attribute__((aligned(64)));
        for (int part = 0; part < parts; part++)
            for (int i = 0; i < m; i++) {
                i8x16 most = {};
                most += (int8_t)HK_ADDEND_LEAST;
#pragma clang loop unroll(full)
                for (int k = 0; k < count; k++) {
                    i32x4 of_a = (i32x4){} + exponents_a[(k * parts + part) * m + i];
                    i8x16 of_b = *(const i8x16 *)(exponents_b + (k * parts + part) * m + column);
                    most = __builtin_elementwise_max(most, __builtin_elementwise_add_sat((i8x16)of_a, of_b));
                }
                *(u8x16 *)shifts[part][i] = (u8x16)(HK_PRODUCT_BITS - HK_B_SCALE - most);
            }
        for (int four = 0; four < m; four += 4)
            for (int i = four; i < four + 4; i++) {
                f32x16 *at = (f32x16 *)(d + hk_result_offset(m, four) + (i - four) * HK_LANES + column);
                i32x16 shift = __builtin_convertvector(*(const u8x16 *)shifts[0][i], i32x16) << 23;
                i32x16 sum = hk_exact_products(a + i, b + column, m, count, parts, shift);
                if (parts == 2) {
                    i32x16 odd = __builtin_convertvector(*(const u8x16 *)shifts[1][i], i32x16) << 23;
                    i32x16 other = hk_exact_products(a + m + i, b + m + column, m, count, parts, odd);
                    i32x16 least = __builtin_elementwise_min(shift, odd), end = hk_ints(31);
                    sum = (sum >> __builtin_elementwise_min((shift - least) >> 23, end)) +
                          (other >> __builtin_elementwise_min((odd - least) >> 23, end));
                    shift = least;
                }
                *at = hk_exact_finish(sum, shift, *at, parts == 2);
            }
    }
}

/* Computes a whole multiplication; `d` has the addends. */
HK_INLINE void hk_exact_groups(int m, float *d, const float *a, const float *b, const int32_t *exponents_a,
                               const int8_t *exponents_b, int depth, int group, int split) {
    for (int k = 0; k < depth * m; k += group * m) {
        if (split)
            hk_exact_group_of(m, d, a + k, b + k, exponents_a + k, exponents_b + k, 8, 2);
        else if (group == 8)
            hk_exact_group_of(m, d, a + k, b + k, exponents_a + k, exponents_b + k, 8, 1);
        else
            hk_exact_group_of(m, d, a + k, b + k, exponents_a + k, exponents_b + k, 4, 1);
    }
}

/* Separate functions for 16 and 32 rows, so that the strides are constants. */
__attribute__((noinline)) static void hk_exact_groups_16(float *d, const float *a, const float *b,
                                                         const int32_t *exponents_a, const int8_t *exponents_b,
                                                         int depth, int group, int split) {
    hk_exact_groups(16, d, a, b, exponents_a, exponents_b, depth, group, split);
}
__attribute__((noinline)) static void hk_exact_groups_32(float *d, const float *a, const float *b,
                                                         const int32_t *exponents_a, const int8_t *exponents_b,
                                                         int depth, int group, int split) {
    hk_exact_groups(32, d, a, b, exponents_a, exponents_b, depth, group, split);
}

/* A prepared factor: m rows of an instruction's K.
 *
 * row: its first register, for those that are kept.
 * ordinary: whether all its numbers are; else nothing else holds.
 * exponents: for A each byte four times, for B the bytes.
 */
typedef struct HkExactOperand {
    uint32_t row;
    int ordinary;
    float *values;
    union {
        int32_t *of_a;
        int8_t *of_b;
    } exponents;
} HkExactOperand;

HK_INLINE void hk_exact_ready(HkExactOperand *x, HkExactFactor factor, int m, int depth, int is_a) {
    int8_t exponents[HK_MATRIX_MAX_K * 16];
    x->ordinary = hk_exact_exponents(is_a ? exponents : x->exponents.of_b, factor, m, depth);
    if (!x->ordinary) return;
    for (int i = 0; is_a && i < depth * m; i++) x->exponents.of_a[i] = (uint8_t)exponents[i] * 0x01010101;
    for (int k = 0; k < depth; k++)
        for (int i = 0; i < m; i += 16) {
            i32x16 scale = hk_ints(is_a ? 127 : HK_B_SCALE + 127);
            if (factor.scales != NULL) scale += *(const i32x16 *)(factor.scales + k / 32 * m + i);
            *(f32x16 *)(x->values + k * m + i) = *(const f32x16 *)(factor.values + k * m + i) * (f32x16)(scale << 23);
        }
}

/* Returns 0, with nothing done, if a number is not ordinary. */
HK_INLINE int hk_exact_run(int m, float *d, const HkExactOperand *a, const HkExactOperand *b, int depth, int group,
                           int split) {
    if (!a->ordinary || !b->ordinary || !hk_exact_addends(d, m * m)) return 0;
    (m == 16 ? hk_exact_groups_16 : hk_exact_groups_32)(d, a->values, b->values, a->exponents.of_a, b->exponents.of_b,
                                                        depth, group, split);
    return 1;
}

void hk_exact_multiply(int m, float *d, const float *c, HkExactFactor a, HkExactFactor b, int depth, int group,
                       int split) {
    float values[2][HK_MATRIX_MAX_K * 16] __attribute__((aligned(64)));
    int32_t of_a[HK_MATRIX_MAX_K * 16];
    int8_t of_b[HK_MATRIX_MAX_K * 16];
    HkExactOperand left = {.values = values[0], .exponents.of_a = of_a};
    HkExactOperand right = {.values = values[1], .exponents.of_b = of_b};
    if (d != c) memcpy(d, c, sizeof(float) * (size_t)(m * m));
    if (group == 4 || group == 8 || group == 16) {
        hk_exact_ready(&left, a, m, depth, 1);
        hk_exact_ready(&right, b, m, depth, 0);
        if (hk_exact_run(m, d, &left, &right, depth, group, split)) return;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            int at = hk_result_offset(m, i) + j;
            d[at] = hk_exact_element(a.values + i, a.least, a.scales == NULL ? NULL : a.scales + i, b.values + j,
                                     b.least, b.scales == NULL ? NULL : b.scales + j, m, d[at], depth, group, split);
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

/* A chain of f16 or bf16 (matrix.c): a factor is prepared once and reused by later instructions with the flag that it
 * was seen before. */
#define HK_EXACT_KEPT 8
/* Most elements of a factor: 16 x 32 or 32 x 16. */
#define HK_EXACT_ELEMENTS 512

HK_INLINE const HkExactOperand *hk_exact_kept(HkExactOperand *kept, HkExactOperand *others, int *next, const Wave *w,
                                              const Op *op, int m, int is_a) {
    uint32_t row = is_a ? op->src0 : op->src1, seen = op->flags & (is_a ? HK_MATRIX_SEEN_A : HK_MATRIX_SEEN_B);
    int at = -1;
    for (int i = 0; i < HK_EXACT_KEPT; i++) {
        if (kept[i].row == row) at = i;
        /* The copy of these registers in the other buffer is stale. */
        if (!seen && others[i].row == row) others[i].row = HK_NO_REGISTER;
    }
    if (seen && at >= 0) return &kept[at];
    if (at < 0) {
        at = *next;
        *next = (at + 1) % HK_EXACT_KEPT;
    }
    float values[HK_EXACT_ELEMENTS] __attribute__((aligned(64)));
    HkElement type = HK_MATRIX_TYPE_A(op);
    int depth = hk_unpack_block(type, values, m, hk_row(w, row), HK_MATRIX_ROWS_A(op), 1, 0);
    kept[at].row = row;
    hk_exact_ready(&kept[at], (HkExactFactor){values, hk_exact_least(type), NULL}, m, depth, is_a);
    return &kept[at];
}

HK_INLINE int32_t hk_mfma_exact_chain(Wave *w, const Op *op, int32_t count, int m) {
    HkExactOperand kept_a[HK_EXACT_KEPT], kept_b[HK_EXACT_KEPT];
    int next_a = 0, next_b = 0, depth = HK_MATRIX_ROWS_A(op) * 2 * HK_LANES / m;
    int group = hk_exact_group(HK_MATRIX_TYPE_A(op), depth);
    float values[2 * HK_EXACT_KEPT][HK_EXACT_ELEMENTS] __attribute__((aligned(64)));
    int32_t of_a[HK_EXACT_KEPT][HK_EXACT_ELEMENTS];
    int8_t of_b[HK_EXACT_KEPT][HK_EXACT_ELEMENTS];
    for (int i = 0; i < HK_EXACT_KEPT; i++) {
        kept_a[i] = (HkExactOperand){.row = HK_NO_REGISTER, .values = values[i], .exponents.of_a = of_a[i]};
        kept_b[i] =
            (HkExactOperand){.row = HK_NO_REGISTER, .values = values[HK_EXACT_KEPT + i], .exponents.of_b = of_b[i]};
    }
    for (const Op *end = op + count; op < end; op++) {
        float *d = (float *)hk_row(w, op->dst);
        const HkExactOperand *a = hk_exact_kept(kept_a, kept_b, &next_a, w, op, m, 1);
        const HkExactOperand *b = hk_exact_kept(kept_b, kept_a, &next_b, w, op, m, 0);
        int constant = (op->flags & HK_MATRIX_C_CONSTANT) != 0, in_place = !constant && op->src2 == op->dst;
        float result[16 * HK_LANES] __attribute__((aligned(64))), *to = in_place ? d : result;
        if (constant)
            hk_fill_constant(result, m * m / HK_LANES, op->imm[0]);
        else if (!in_place)
            memcpy(result, hk_row(w, op->src2), sizeof(float) * (size_t)(m * m));
        if ((group != 4 && group != 8) || !hk_exact_run(m, to, a, b, depth, group, 0))
            (m == 16 ? hk_mfma_exact_f32_16x16 : hk_mfma_exact_f32_32x32)(w, op);
        else if (!in_place)
            memcpy(d, result, sizeof(float) * (size_t)(m * m));
    }
    return 0;
}

HK_EXPORT int32_t hk_mfma_exact_f32_16x16_chain(Wave *w, const Op *op, int32_t count) {
    return hk_mfma_exact_chain(w, op, count, 16);
}
HK_EXPORT int32_t hk_mfma_exact_f32_32x32_chain(Wave *w, const Op *op, int32_t count) {
    return hk_mfma_exact_chain(w, op, count, 32);
}

/* 16 blocks of 4x4, with the layout of hk_mfma_4x4. */
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
