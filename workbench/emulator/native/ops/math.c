/* Functions of the vector ALU that have no counterpart in the host's instructions: log2, 1/sqrt, sine and cosine
 * of turns, scaling, on 16 lanes at a time.
 *
 * Results are within one unit in the last place of the true value over the whole range, denormals included;
 * polynomials are Chebyshev fits. Loops are written so that the compiler vectorises them.
 */
#include "ops/bits.h"

#include <math.h>

#define LANES 16
#define LOOP for (int i = 0; i < LANES; i++)

/* log2 of a float before it is rounded. */
static inline double log2_wide(float x) {
    uint32_t bits = hk_float_bits(x);
    int denormal = (bits & 0x7f800000u) == 0;
    uint32_t scaled = denormal ? hk_float_bits(x * 0x1p24f) : bits;
    /* Scales the mantissa to [sqrt(1/2), sqrt(2)). */
    uint32_t shifted = scaled - 0x3f3504f3u;
    int32_t e = (int32_t)shifted >> 23;
    double f = (double)hk_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    e -= denormal ? 24 : 0;
    /* log2(1 + f) / f; the error is relative to f, which is exact, so the result is accurate next to 1 as well. */
    double q = -0x1.16c9192143833p-4;
    q = __builtin_fma(q, f, 0x1.0c91c8ec04459p-3);
    q = __builtin_fma(q, f, -0x1.140c67e94fcdep-3);
    q = __builtin_fma(q, f, 0x1.0b872a83448f7p-3);
    q = __builtin_fma(q, f, -0x1.23e34ff2dfed7p-3);
    q = __builtin_fma(q, f, 0x1.480da32d9077ap-3);
    q = __builtin_fma(q, f, -0x1.7186b110dbb40p-3);
    q = __builtin_fma(q, f, 0x1.a61c50cd4bc62p-3);
    q = __builtin_fma(q, f, -0x1.ec6f47f38905dp-3);
    q = __builtin_fma(q, f, 0x1.2776b48f57946p-2);
    q = __builtin_fma(q, f, -0x1.7154784e5d08ep-2);
    q = __builtin_fma(q, f, 0x1.ec709de7df48dp-2);
    q = __builtin_fma(q, f, -0x1.71547651d9376p-1);
    q = __builtin_fma(q, f, 0x1.71547652b5270p+0);
    return __builtin_fma(q, f, (double)e);
}

HK_EXPORT void hk_log2_f32x16(float *restrict out, const float *restrict in);
void hk_log2_f32x16(float *restrict out, const float *restrict in) {
    LOOP {
        float x = in[i];
        float result = (float)log2_wide(x);
        result = x == INFINITY ? INFINITY : result;
        result = x < 0.0f ? NAN : result;
        result = x == 0.0f ? -INFINITY : result;
        out[i] = x != x ? x + x : result;
    }
}

HK_EXPORT void hk_rsqrt_f32x16(float *restrict out, const float *restrict in);
void hk_rsqrt_f32x16(float *restrict out, const float *restrict in) {
    LOOP out[i] = (float)(1.0 / __builtin_sqrt((double)in[i]));
}

/* e to the power y <= 0, within 1e-14: 2**n times a Taylor polynomial on |r| <= log(2) / 2. */
HK_INLINE double exp_negative(double y) {
    double n = __builtin_rint(y * 0x1.71547652b82fep+0);
    double r = y - n * 0x1.62e42fefa39efp-1;
    double sum = 1.0;
    for (int k = 13; k > 0; k--) sum = 1.0 + sum * r / k;
    return n < -1000.0 ? 0.0 : sum * hk_double((uint64_t)(1023 + (int64_t)n) << 52);
}

/* The hyperbolic tangent: (1 - e) / (1 + e) with e = exp(-2 |x|), and near 0 its series. */
HK_EXPORT void hk_tanh_f32x16(float *restrict out, const float *restrict in);
void hk_tanh_f32x16(float *restrict out, const float *restrict in) {
    LOOP {
        double x = in[i], size = __builtin_fabs(x), square = x * x;
        double e = exp_negative(-2.0 * (size < 20.0 ? size : 20.0));
        double large = __builtin_copysign((1.0 - e) / (1.0 + e), x);
        double series = 62.0 / 2835.0 - square * (1382.0 / 155925.0);
        series = 2.0 / 15.0 + square * (-17.0 / 315.0 + square * series);
        double small = x + x * square * (-1.0 / 3.0 + square * series);
        out[i] = in[i] != in[i] ? in[i] + in[i] : (float)(size < 0.1 ? small : large);
    }
}

HK_EXPORT void hk_rsqrt_f64x16(double *restrict out, const double *restrict in);
void hk_rsqrt_f64x16(double *restrict out, const double *restrict in) {
    LOOP {
        double x = in[i];
        double y = 1.0 / __builtin_sqrt(x);
        /* One step of Newton's iteration with the residual exact to the last bit. */
        double xy = x * y;
        double low = __builtin_fma(x, y, -xy);
        double residual = __builtin_fma(-xy, y, 1.0) - low * y;
        double better = __builtin_fma(y * 0.5, residual, y);
        out[i] = x > 0.0 && x < INFINITY && x * y > 0x1p-1000 && x < 0x1p1000 ? better : y;
    }
}

/* Sine and cosine of t turns for |t| <= 1/8; t is exact. */
static inline double sine(double t) {
    double u = t * t;
    double q = -0x1.dd54805f3f706p+3;
    q = __builtin_fma(q, u, 0x1.5071ce4b47930p+5);
    q = __builtin_fma(q, u, -0x1.32d2c644adc0bp+6);
    q = __builtin_fma(q, u, 0x1.466bc67123fa1p+6);
    q = __builtin_fma(q, u, -0x1.4abbce6257a2ap+5);
    q = __builtin_fma(q, u, 0x1.921fb54442cfap+2);
    return q * t;
}

static inline double cosine(double t) {
    double u = t * t;
    double q = -0x1.a0ee132c60c1fp+4;
    q = __builtin_fma(q, u, 0x1.e1e7ccccb387ap+5);
    q = __builtin_fma(q, u, -0x1.55d3ba300cd50p+6);
    q = __builtin_fma(q, u, 0x1.03c1f074ded21p+6);
    q = __builtin_fma(q, u, -0x1.3bd3cc9bd2c35p+4);
    return __builtin_fma(q, u, 1.0);
}

static inline double turns(float x, int quarter) {
    double whole = (double)__builtin_rintf(x);
    double f = (double)x - whole;
    double steps = __builtin_rint(f * 4.0);
    double t = __builtin_fma(steps, -0.25, f);
    int32_t q = ((int32_t)(f == f ? steps : 0.0) + quarter) & 3;
    double value = q & 1 ? cosine(t) : sine(t);
    return q & 2 ? -value : value;
}

HK_EXPORT void hk_sin2pi_f32x16(float *restrict out, const float *restrict in);
void hk_sin2pi_f32x16(float *restrict out, const float *restrict in) {
    LOOP {
        /* A zero argument keeps its sign. */
        float value = (float)turns(in[i], 0);
        out[i] = in[i] == 0.0f ? in[i] : value;
    }
}

HK_EXPORT void hk_cos2pi_f32x16(float *restrict out, const float *restrict in);
void hk_cos2pi_f32x16(float *restrict out, const float *restrict in) { LOOP out[i] = (float)turns(in[i], 1); }

/* Results with the error that hardware may have (codeobject/instructions/accuracy.py). */

static double true_value(uint32_t function, double x) {
    switch (function) {
    case HK_RECIPROCAL:
        return 1.0 / x;
    case HK_RECIPROCAL_ROOT:
        return 1.0 / sqrt(x);
    case HK_ROOT:
        return sqrt(x);
    case HK_EXP2:
        return exp2(x);
    case HK_LOG2:
        return log2_wide((float)x);
    default:
        return turns((float)x, function == HK_COS);
    }
}

/* SplitMix64's finalizer (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* A number of the format that is less than `ulps` units in the last place from the true value, drawn by `draw`; the
 * exact result if it is representable and the bound is one unit or less. */
static double drawn(double value, double truth, uint32_t kind, double ulps, uint64_t draw) {
    static const int mantissa[] = {10, 23, 52}, lowest[] = {-14, -126, -1022};
    static const double most[] = {65504.0, 0x1.fffffep127, 0x1.fffffffffffffp1023};
    int exponent = ilogb(truth);
    int unit = (exponent < lowest[kind] ? lowest[kind] : exponent) - mantissa[kind];
    double units = scalbn(truth, -unit);
    /* A MODE that flushes denormals or rounds in another direction has determined the result already. */
    if (fabs(scalbn(value, -unit) - units) > 1.0) return value;
    double first = floor(units - ulps) + 1.0, last = ceil(units + ulps) - 1.0;
    double result = scalbn(first + (double)(draw % (uint64_t)(last - first + 1.0)), unit);
    return fabs(result) <= most[kind] ? copysign(result, truth) : value;
}

/* `results` contain the function's correctly rounded values for `arguments`: doubles for double precision, else floats.
 * As in hardware, the same function of the same argument has the same error everywhere. */
HK_EXPORT void hk_approximate(void *results, const void *arguments, const Wave *wave, uint64_t pc, uint32_t what,
                              double ulps);
void hk_approximate(void *results, const void *arguments, const Wave *wave, uint64_t pc, uint32_t what, double ulps) {
    const Machine *machine = wave->group->machine;
    if (pc < machine->approximate_first || pc >= machine->approximate_end) return;
    uint32_t kind = what >> HK_APPROXIMATE_KIND, function = what & ((1u << HK_APPROXIMATE_KIND) - 1);
    uint64_t key = mixed(machine->approximate_seed * 0x9e3779b97f4a7c15ull + what);
    LOOP {
        double x = kind == HK_DOUBLE ? ((const double *)arguments)[i] : (double)((const float *)arguments)[i];
        double value = kind == HK_DOUBLE ? ((double *)results)[i] : (double)((float *)results)[i];
        double truth = true_value(function, x);
        if (!isfinite(truth) || truth == 0 || !isfinite(value) || value == 0) continue;
        value = drawn(value, truth, kind, ulps, mixed(key ^ hk_double_bits(x)));
        if (kind == HK_DOUBLE)
            ((double *)results)[i] = value;
        else
            ((float *)results)[i] = (float)value;
    }
}

/* Division (v_div_scale, v_div_fmas, v_div_fixup), for float and double. */

#define INFINITY_BITS_32 0x7f800000u
#define INFINITY_BITS_64 0x7ff0000000000000ull

static inline int32_t field_32(float x) { return (int32_t)(hk_float_bits(x) >> 23 & 0xff); }
static inline int32_t field_64(double x) { return (int32_t)(hk_double_bits(x) >> 52 & 0x7ff); }
static inline int denormal_32(float x) { return field_32(x) == 0 && x != 0.0f; }
static inline int denormal_64(double x) { return field_64(x) == 0 && x != 0.0; }
static inline float quiet_32(float x) { return hk_float(hk_float_bits(x) | 0x00400000u); }
static inline double quiet_64(double x) { return hk_double(hk_double_bits(x) | 0x0008000000000000ull); }

/* The first source, either the denominator d or the numerator n, scaled by a power of two so that the steps of a
 * division neither overflow nor become denormal; `late` is set if v_div_fmas has to scale the quotient back. The rules
 * are the ISA guide's, except for a denominator with a denormal reciprocal, which has to become smaller. */
#define DIV_SCALE(width, type, largest_normal, up, down, far, tiny)                                                    \
    HK_EXPORT void hk_div_scale_f##width##x16(type *restrict out, const type *restrict in, const type *restrict ds,    \
                                              const type *restrict ns);                                                \
    void hk_div_scale_f##width##x16(type *restrict out, const type *restrict in, const type *restrict ds,              \
                                    const type *restrict ns) {                                                         \
        uint32_t *late = (uint32_t *)(out + LANES);                                                                    \
        LOOP {                                                                                                         \
            type x = in[i], d = ds[i], n = ns[i];                                                                      \
            int is_d = x == d, is_n = x == n;                                                                          \
            int zero = d == 0 || n == 0;                                                                               \
            int apart = field_##width(n) - field_##width(d) >= far;                                                    \
            type size = d < 0 ? -d : d;                                                                                \
            int small_reciprocal = size > largest_normal && size < (type)INFINITY;                                     \
            int small_quotient = denormal_##width(n / d);                                                              \
            type value = field_##width(n) <= tiny ? x * up : x;                                                        \
            value = small_quotient ? (is_n ? x * up : x) : value;                                                      \
            value = small_reciprocal ? (is_d || !small_quotient ? x * down : x) : value;                               \
            value = denormal_##width(d) ? x * up : value;                                                              \
            value = apart ? (is_d ? x * up : x) : value;                                                               \
            out[i] = zero ? (type)NAN : value;                                                                         \
            late[i] = !zero && (apart || (!denormal_##width(d) && small_quotient));                                    \
        }                                                                                                              \
    }

DIV_SCALE(32, float, 0x1p126f, 0x1p64f, 0x1p-64f, 96, 23)
DIV_SCALE(64, double, 0x1p1022, 0x1p128, 0x1p-128, 768, 53)

/* a * b + c, scaled back if v_div_scale requested it: a large quotient grows, a small one shrinks. A quotient that
 * becomes denormal is rounded once, at its last bit. Single precision computes it in double, rounded to odd. */
HK_EXPORT void hk_div_fmas_f32x16(float *restrict out, const float *restrict a, const float *restrict b,
                                  const float *restrict c, const uint32_t *restrict late);
void hk_div_fmas_f32x16(float *restrict out, const float *restrict a, const float *restrict b, const float *restrict c,
                        const uint32_t *restrict late) {
    LOOP {
        double product = (double)a[i] * (double)b[i], addend = (double)c[i];
        double wide = product + addend, back = wide - product;
        double error = (product - (wide - back)) + (addend - back);
        uint64_t bits = hk_double_bits(wide);
        int to_odd = error != 0 && !(bits & 1);
        wide = hk_double(to_odd ? bits + ((error > 0) == (wide > 0) ? 1 : -1ull) : bits);
        float moved = (float)(wide * (field_32(c[i]) > 127 ? 0x1p64 : 0x1p-64));
        out[i] = late[i] ? moved : __builtin_fmaf(a[i], b[i], c[i]);
    }
}

/* The sign of the rounding error of fma(a, b, c) = r, for |r| below 2**-800: Boldo and Muller, "Exact and approximated
 * error of the FMA" (IEEE Trans. Computers 60, 2011), on operands scaled up so that no part of the error underflows. */
static double fma_error(double a, double b, double c, double r) {
    /* With a larger addend the product cancels so far that nothing is left to round. */
    if (fabs(c) >= 0x1p-700) return 0;
    double large = fabs(a) < fabs(b) ? b : a, small = fabs(a) < fabs(b) ? a : b;
    small *= 0x1p600, c *= 0x1p600, r *= 0x1p600;
    double product = large * small, low = __builtin_fma(large, small, -product);
    double sum = c + low, part = sum - c, rest = (c - (sum - part)) + (low - part);
    double top = product + sum, shift = top - product, under = (product - (top - shift)) + (sum - shift);
    double first = (top - r) + under;
    return first != 0 ? first : rest;
}

/* r = fma(a, b, c) divided by 2**128. If r is exactly halfway between two denormal quotients, the error of r itself
 * decides the rounding. */
static double shrunk(double r, double a, double b, double c) {
    double moved = r * 0x1p-128, dropped = r - moved * 0x1p128;
    if (fabs(dropped) != 0x1p-947) return moved;
    double error = fma_error(a, b, c, r);
    /* The division rounded to the even neighbour; the other one lies in the direction of the dropped part. */
    return (error > 0 && dropped > 0) || (error < 0 && dropped < 0) ? moved + copysign(0x1p-1074, dropped) : moved;
}

HK_EXPORT void hk_div_fmas_f64x16(double *restrict out, const double *restrict a, const double *restrict b,
                                  const double *restrict c, const uint32_t *restrict late);
void hk_div_fmas_f64x16(double *restrict out, const double *restrict a, const double *restrict b,
                        const double *restrict c, const uint32_t *restrict late) {
    LOOP {
        double result = __builtin_fma(a[i], b[i], c[i]);
        double moved = field_64(c[i]) > 1023 ? result * 0x1p128 : shrunk(result, a[i], b[i], c[i]);
        out[i] = late[i] ? moved : result;
    }
}

/* The quotient q of n / d, with its special cases. Outside the two distances of exponents it underflows or overflows
 * for any mantissas, and the approximation may have become NaN. */
#define DIV_FIXUP(name, width, type, integer, bits, infinity, lowest, highest)                                         \
    HK_EXPORT void hk_div_fixup_##name##x16(type *restrict out, const type *restrict q, const type *restrict ds,       \
                                            const type *restrict ns);                                                  \
    void hk_div_fixup_##name##x16(type *restrict out, const type *restrict q, const type *restrict ds,                 \
                                  const type *restrict ns) {                                                           \
        LOOP {                                                                                                         \
            type d = ds[i], n = ns[i];                                                                                 \
            integer top = (integer)1 << (width - 1);                                                                   \
            integer sign = (bits(d) ^ bits(n)) & top, infinite = infinity;                                             \
            integer result = bits(q[i]) & ~top;                                                                        \
            int32_t distance = field_##width(n) - field_##width(d);                                                    \
            int n_infinite = (bits(n) & ~top) == infinite, d_infinite = (bits(d) & ~top) == infinite;                  \
            result = distance < lowest ? 0 : result;                                                                   \
            result = distance > highest ? infinite : result;                                                           \
            result = d_infinite || n == 0 ? 0 : result;                                                                \
            result = (d == 0 || n_infinite ? infinite : result) | sign;                                                \
            integer invalid = top | infinite | (infinite & -infinite) >> 1;                                            \
            result = (d == 0 && n == 0) || (d_infinite && n_infinite) ? invalid : result;                              \
            type value;                                                                                                \
            memcpy(&value, &result, sizeof value);                                                                     \
            value = d != d ? quiet_##width(d) : value;                                                                 \
            out[i] = n != n ? quiet_##width(n) : value;                                                                \
        }                                                                                                              \
    }

DIV_FIXUP(f32, 32, float, uint32_t, hk_float_bits, INFINITY_BITS_32, -150, 128)
DIV_FIXUP(f64, 64, double, uint64_t, hk_double_bits, INFINITY_BITS_64, -1075, 1024)
DIV_FIXUP(f16, 32, float, uint32_t, hk_float_bits, INFINITY_BITS_32, -300, 300)

/* in * 2**exponent rounded once: two exact steps and one that may round. */
HK_EXPORT void hk_ldexp_f64x16(double *restrict out, const double *restrict in, const int32_t *restrict exponent);
void hk_ldexp_f64x16(double *restrict out, const double *restrict in, const int32_t *restrict exponent) {
    for (int i = 0; i < LANES; i++) {
        int32_t n = exponent[i];
        n = n > 4000 ? 4000 : n < -4000 ? -4000 : n;
        out[i] = scalbn(in[i], n);
    }
}

/* Bits 1200 to 0 of the fraction of 2/pi, most significant first, in words of 32 bits. */
static const uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
};

static uint32_t two_over_pi_word(uint32_t bit) {
    uint32_t word = bit / 32, shift = bit % 32;
    uint32_t count = sizeof two_over_pi / sizeof *two_over_pi;
    uint64_t pair = 0;
    if (word < count) pair = (uint64_t)two_over_pi[word] << 32;
    if (word + 1 < count) pair |= two_over_pi[word + 1];
    return (uint32_t)(pair << shift >> 32);
}

/* 53 bits of 2/pi for one step of a large argument's reduction (v_trig_preop_f64). */
HK_EXPORT void hk_trig_preop_f64x16(double *restrict out, const double *restrict in, const uint32_t *restrict segment);
void hk_trig_preop_f64x16(double *restrict out, const double *restrict in, const uint32_t *restrict segment) {
    for (int i = 0; i < LANES; i++) {
        int32_t exponent = (int32_t)(hk_double_bits(in[i]) >> 52 & 0x7ff);
        int32_t shift = (int32_t)(segment[i] & 31) * 53;
        if (exponent > 1077) shift += exponent - 1077;
        uint64_t high = two_over_pi_word((uint32_t)shift), low = two_over_pi_word((uint32_t)shift + 32);
        double result = (double)(high << 21 | low >> 11);
        int32_t scale = -53 - shift;
        if (exponent >= 1968) scale += 128;
        out[i] = scalbn(result, scale);
    }
}
