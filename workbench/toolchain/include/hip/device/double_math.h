// Elementary functions in double precision, written with arithmetic alone, for a compiler without device
// libraries. The float functions use them too where one rounding at the end is worth more than speed.
//
// A number that needs more than 53 bits is a `pair`, the unevaluated sum of two doubles. Series are Taylor's,
// whose coefficients anybody can check; where one would need too many terms the argument is first reduced.
// Each function's comment gives its error in units of the last place (ulp), as the tests measure it.
#pragma once

#include "hip/device/attributes.h"

namespace __hip_math {

#define __HIP_FUNCTION __host__ __device__ static inline

struct pair {
    double high, low;
};

__HIP_FUNCTION double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__HIP_FUNCTION double infinity() { return __builtin_inf(); }
__HIP_FUNCTION double quiet_nan() { return __builtin_nan(""); }
__HIP_FUNCTION bool is_nan(double x) { return x != x; }
__HIP_FUNCTION bool is_inf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
__HIP_FUNCTION unsigned long long bits(double x) { return __builtin_bit_cast(unsigned long long, x); }
__HIP_FUNCTION bool sign(double x) { return bits(x) >> 63; }

// a + b exactly; `fast` where |a| >= |b| or a is 0.
__HIP_FUNCTION pair fast_sum(double a, double b) {
#pragma clang fp contract(off) reassociate(off)
    double high = a + b;
    return {high, b - (high - a)};
}
__HIP_FUNCTION pair sum(double a, double b) {
#pragma clang fp contract(off) reassociate(off)
    double high = a + b, part = high - a;
    return {high, (a - (high - part)) + (b - part)};
}
// a * b exactly.
__HIP_FUNCTION pair product(double a, double b) {
    double high = a * b;
    return {high, fma(a, b, -high)};
}
__HIP_FUNCTION pair product(pair a, pair b) {
    pair result = product(a.high, b.high);
    result.low += fma(a.high, b.low, a.low * b.high);
    return fast_sum(result.high, result.low);
}

// The polynomial c[0] + c[1] x + ... by Horner's rule.
template <int N>
__HIP_FUNCTION double polynomial(double x, const double (&c)[N]) {
    double result = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; --i) result = fma(result, x, c[i]);
    return result;
}

// exp(r + low) - 1 for |r| <= 0.35.
__HIP_FUNCTION double exp_less_one_near_zero(double r, double low) {
    constexpr double c[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                            1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                            1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    double series = r * r * polynomial(r, c);
    return r + (series + fma(low, r, low));
}

struct reduced_exponent {
    double r, low;
    int k;
};

constexpr double ln2_high = 0x1.62e42fefa3800p-1; // 42 bits: its product with an exponent is exact
constexpr double ln2_low = 0x1.ef35793c76730p-45;
constexpr double log2_e = 0x1.71547652b82fep+0;

// x + low = k ln 2 + r + low', |r| <= 0.35.
__HIP_FUNCTION reduced_exponent reduce_exponent(double x, double low) {
    double k = __builtin_rint(x * log2_e);
    double high = fma(-k, ln2_high, x);
    pair r = sum(high, -k * ln2_low);
    r = fast_sum(r.high, r.low + low);
    return {r.high, r.low, (int)k};
}

// exp(x + low), |low| below an ulp of x. Within 1 ulp.
__HIP_FUNCTION double exp(double x, double low = 0) {
    if (is_nan(x)) return x;
    if (x > 709.79) return infinity();
    if (x < -745.2) return 0;
    reduced_exponent e = reduce_exponent(x, low);
    return __builtin_ldexp(1 + exp_less_one_near_zero(e.r, e.low), e.k);
}

// Within 1 ulp.
__HIP_FUNCTION double exp2(double x) {
    if (is_nan(x)) return x;
    if (x >= 1024) return infinity();
    if (x < -1075.5) return 0;
    double k = __builtin_rint(x), f = x - k;
    constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
    pair r = product(f, ln2);
    return __builtin_ldexp(1 + exp_less_one_near_zero(r.high, fma(f, ln2_rest, r.low)), (int)k);
}

// Within 1 ulp.
__HIP_FUNCTION double exp10(double x) {
    if (is_nan(x)) return x;
    if (x > 308.26) return infinity();
    if (x < -323.7) return 0;
    constexpr double ln10 = 0x1.26bb1bbb55516p+1, ln10_rest = -0x1.f48ad494ea3e9p-53;
    constexpr double log2_10 = 0x1.a934f0979a371p+1;
    constexpr double log10_2_high = 0x1.34413509f4000p-2, log10_2_low = 0x1.cff7988f8959bp-41;
    double k = __builtin_rint(x * log2_10);
    pair f = sum(fma(-k, log10_2_high, x), -k * log10_2_low);
    pair r = product(f, {ln10, ln10_rest});
    return __builtin_ldexp(1 + exp_less_one_near_zero(r.high, r.low), (int)k);
}

// Within 2 ulp.
__HIP_FUNCTION double expm1(double x) {
    if (is_nan(x) || x == 0) return x;
    if (x > 709.79) return infinity();
    if (x < -40) return -1;
    reduced_exponent e = reduce_exponent(x, 0);
    double part = exp_less_one_near_zero(e.r, e.low);
    if (e.k == 0) return part;
    if (e.k == 1024) return __builtin_ldexp(1 + part, e.k);
    // 2^k (1 + part) - 1
    pair whole = sum(__builtin_ldexp(1.0, e.k), -1);
    return whole.high + (__builtin_ldexp(part, e.k) + whole.low);
}

// The natural logarithm of a positive, finite x as a pair with about 100 bits.
//
// x = 2^k m with m near 1; with f = (m - 1) / (m + 1), log m = 2 (f + f^3/3 + f^5/5 + ...), |f| <= 0.172.
__HIP_FUNCTION pair log_pair(double x) {
#pragma clang fp contract(off) reassociate(off)
    int k;
    double m = __builtin_frexp(x, &k);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        k -= 1;
    }
    double u = m - 1;
    pair d = sum(m, 1);
    double high = u / d.high;
    double low = (fma(-high, d.high, u) - high * d.low) / d.high;
    pair f = {high, low};
    pair square = product(f, f);
    constexpr double c[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                            1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
    pair third = fast_sum(0x1.5555555555555p-2, square.high * polynomial(square.high, c));
    third.low += 0x1.5555555555555p-56;
    pair cubic = product(product(square, third), f);
    pair m_log = sum(f.high, cubic.high);
    m_log.low += f.low + cubic.low;
    pair whole = sum(k * ln2_high, 2 * m_log.high);
    whole.low += fma((double)k, ln2_low, 2 * m_log.low);
    return fast_sum(whole.high, whole.low);
}

// Results of log, log2 and log10 for arguments without a logarithm: zero, infinity, NaN, negative numbers.
__HIP_FUNCTION bool log_is_special(double x, double *result) {
    if (x > 0 && x < infinity()) return false;
    *result = x == 0 ? -infinity() : x > 0 ? x : quiet_nan();
    return true;
}

// Within 1 ulp, as log2 and log10.
__HIP_FUNCTION double log(double x) {
    double special;
    if (log_is_special(x, &special)) return special;
    pair y = log_pair(x);
    return y.high + y.low;
}
__HIP_FUNCTION double log2(double x) {
    double special;
    if (log_is_special(x, &special)) return special;
    pair y = product(log_pair(x), {log2_e, 0x1.777d0ffda0d24p-56});
    return y.high + y.low;
}
__HIP_FUNCTION double log10(double x) {
    double special;
    if (log_is_special(x, &special)) return special;
    pair y = product(log_pair(x), {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
    return y.high + y.low;
}

// Within 1 ulp.
__HIP_FUNCTION double log1p(double x) {
    if (is_nan(x) || __builtin_fabs(x) < 0x1p-54) return x;
    if (x == -1) return -infinity();
    if (x < -1) return quiet_nan();
    if (x == infinity()) return x;
    pair u = sum(1, x);
    pair y = log_pair(u.high);
    return y.high + (y.low + u.low / u.high);
}

// 2/pi in binary, 64 bits a word, behind 64 zeros that spare a case for small exponents.
__HIP_FUNCTION unsigned long long two_over_pi(int word) {
    constexpr unsigned long long table[] = {0,
                                            0xa2f9836e4e441529ull,
                                            0xfc2757d1f534ddc0ull,
                                            0xdb6295993c439041ull,
                                            0xfe5163abdebbc561ull,
                                            0xb7246e3a424dd2e0ull,
                                            0x06492eea09d1921cull,
                                            0xfe1deb1cb129a73eull,
                                            0xe88235f52ebb4484ull,
                                            0xe99c7026b45f7e41ull,
                                            0x3991d639835339f4ull,
                                            0x9c845f8bbdf9283bull,
                                            0x1ff897ffde05980full,
                                            0xef2f118b5a0a6d1full,
                                            0x6d367ecf27cb09b7ull,
                                            0x4f463f669e5fea2dull,
                                            0x7527bac7ebe5f17bull,
                                            0x3d0739f78a5292eaull,
                                            0x6bfb5fb11f8d5d08ull,
                                            0x56033046fc7b6babull,
                                            0xf0cfbc209af4361dull};
    return table[word];
}

struct reduced_angle {
    double r, low;
    int quadrant;
};

// x = quadrant * pi/2 + r + low (the quadrant modulo 4), |r| <= pi/4, for finite |x| >= 2^30.
//
// Payne and Hanek's method: of x * 2/pi only the bits around the binary point matter. x = m 2^e, and the
// product of m with the 192 bits of 2/pi that begin at weight 2^(1-e) has two bits before the point.
__HIP_FUNCTION reduced_angle reduce_large_angle(double x) {
    unsigned long long field = bits(x);
    int e = (int)(field >> 52 & 0x7ff) - 1075;
    unsigned long long m = (field & ((1ull << 52) - 1)) | 1ull << 52;
    int first = e + 62; // position in the table of the bit with weight 2^(1-e)
    int word = first >> 6, shift = first & 63;
    unsigned long long w[4];
    for (int i = 0; i < 4; ++i) w[i] = two_over_pi(word + i);
    for (int i = 0; i < 3; ++i) w[i] = shift ? w[i] << shift | w[i + 1] >> (64 - shift) : w[i];
    unsigned __int128 low = (unsigned __int128)m * w[2];
    unsigned __int128 middle = (unsigned __int128)m * w[1] + (unsigned long long)(low >> 64);
    unsigned long long top = m * w[0] + (unsigned long long)(middle >> 64);
    unsigned long long next = (unsigned long long)middle;
    // The top two bits are the quadrant, the rest a fraction of one; expected the nearest quadrant.
    int quadrant = (int)(top >> 62);
    unsigned __int128 fraction = ((unsigned __int128)top << 64 | next) << 2;
    bool upper = fraction >> 127;
    if (upper) {
        fraction = -fraction;
        quadrant += 1;
    }
    double scale = upper ? -1 : 1;
    if (fraction == 0) return {0, 0, sign(x) ? -quadrant & 3 : quadrant & 3};
    int zeros = (unsigned long long)(fraction >> 64) ? __builtin_clzll((unsigned long long)(fraction >> 64))
                                                     : 64 + __builtin_clzll((unsigned long long)fraction);
    fraction <<= zeros;
    unsigned long long leading = (unsigned long long)(fraction >> 75) << 11;
    unsigned long long trailing = (unsigned long long)(fraction >> 22 & ((1ull << 53) - 1));
    pair f = {__builtin_ldexp((double)leading, -64 - zeros), __builtin_ldexp((double)trailing, -106 - zeros)};
    pair r = product(f, {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54});
    if (sign(x)) {
        quadrant = -quadrant;
        scale = -scale;
    }
    return {scale * r.high, scale * r.low, quadrant & 3};
}

// The same for every finite x: for small ones pi/2 in three parts, the products exact by fma.
__HIP_FUNCTION reduced_angle reduce_angle(double x) {
#pragma clang fp contract(off) reassociate(off)
    if (__builtin_fabs(x) >= 0x1p30) return reduce_large_angle(x);
    double k = __builtin_rint(x * 0x1.45f306dc9c883p-1);
    double first = fma(-k, 0x1.921fb54442d18p+0, x);
    pair second = product(k, 0x1.1a62633145c07p-54);
    pair r = sum(first, -second.high);
    r.low -= second.low + k * -0x1.f1976b7ed8fbcp-110;
    r = fast_sum(r.high, r.low);
    return {r.high, r.low, (int)k & 3};
}

// sin and cos of r + low, |r| <= pi/4.
__HIP_FUNCTION double sin_near_zero(double r, double low) {
    constexpr double c[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                            -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    double square = r * r;
    return r + fma(r * square, polynomial(square, c), low * fma(-0.5, square, 1.0));
}
__HIP_FUNCTION double cos_near_zero(double r, double low) {
#pragma clang fp contract(off) reassociate(off)
    constexpr double c[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
                            1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
    double square = r * r, half = 0.5 * square;
    double leading = 1 - half;
    // The rounding errors of the square and of the difference are added with the rest of the series.
    double lost = (1 - leading) - half - 0.5 * fma(r, r, -square);
    return leading + (lost + fma(square * square, polynomial(square, c), -r * low));
}

// Within 1 ulp for every argument, as sin and cos.
__HIP_FUNCTION void sincos(double x, double *sine, double *cosine) {
    if (is_nan(x) || is_inf(x)) {
        *sine = *cosine = quiet_nan();
        return;
    }
    reduced_angle a = reduce_angle(x);
    double s = sin_near_zero(a.r, a.low), c = cos_near_zero(a.r, a.low);
    *sine = a.quadrant & 1 ? c : s;
    *cosine = a.quadrant & 1 ? s : c;
    if (a.quadrant & 2) *sine = -*sine;
    if ((a.quadrant + 1) & 2) *cosine = -*cosine;
    if (x == 0) *sine = x;
}
__HIP_FUNCTION double sin(double x) {
    double s, c;
    sincos(x, &s, &c);
    return s;
}
__HIP_FUNCTION double cos(double x) {
    double s, c;
    sincos(x, &s, &c);
    return c;
}
// Within 2 ulp.
__HIP_FUNCTION double tan(double x) {
    double s, c;
    sincos(x, &s, &c);
    return s / c;
}

// sin and cos of pi x. Within 2 ulp.
__HIP_FUNCTION void sincospi(double x, double *sine, double *cosine) {
    if (is_nan(x) || is_inf(x)) {
        *sine = *cosine = quiet_nan();
        return;
    }
    double halves = __builtin_rint(2 * x);
    double f = fma(-0.5, halves, x);
    pair r = product({f, 0}, {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53});
    double s = sin_near_zero(r.high, r.low), c = cos_near_zero(r.high, r.low);
    int quadrant = (int)fma(-4, __builtin_floor(halves * 0.25), halves) & 3;
    *sine = quadrant & 1 ? c : s;
    *cosine = quadrant & 1 ? s : c;
    if (quadrant & 2) *sine = -*sine;
    if ((quadrant + 1) & 2) *cosine = -*cosine;
    // Zeros are exact: a sine's has the sign of x, a cosine's is positive.
    if (f == 0 && !(quadrant & 1)) *sine = __builtin_copysign(0.0, x);
    if (f == 0 && (quadrant & 1)) *cosine = 0.0;
}

// The angle of the point (x, y). Within 1 ulp.
//
// With t = min/max in [0, 1] and k the nearest quarter, atan t = atan k + atan((t - k) / (1 + k t)).
__HIP_FUNCTION double atan2(double y, double x) {
    if (is_nan(x) || is_nan(y)) return quiet_nan();
    constexpr double pi = 0x1.921fb54442d18p+1, pi_rest = 0x1.1a62633145c07p-53;
    double a = __builtin_fabs(y), b = __builtin_fabs(x);
    if (a == 0) return __builtin_copysign(sign(x) ? pi : 0.0, y);
    bool steep = a > b;
    double least = steep ? b : a, most = steep ? a : b;
    if (most == infinity()) {
        least = least == infinity() ? 1 : 0;
        most = 1;
    }
    // Neither the product nor the quotient may leave the range of normal numbers.
    int exponent;
    __builtin_frexp(most, &exponent);
    most = __builtin_ldexp(most, -exponent);
    double scaled = __builtin_ldexp(least, -exponent);
    if (scaled == 0 || __builtin_fabs(scaled) < 0x1p-900) {
        double tiny = least / __builtin_ldexp(most, exponent);
        if (!steep && !sign(x)) return __builtin_copysign(tiny, y);
        scaled = 0;
    }
    double k = __builtin_rint(4 * (scaled / most));
    double base = k == 0   ? 0
                  : k == 1 ? 0x1.f5b75f92c80ddp-3
                  : k == 2 ? 0x1.dac670561bb4fp-2
                  : k == 3 ? 0x1.4978fa3269ee1p-1
                           : 0x1.921fb54442d18p-1;
    double base_rest = k == 0   ? 0
                       : k == 1 ? 0x1.8ab6e3cf7afbdp-57
                       : k == 2 ? 0x1.a2b7f222f65e2p-56
                       : k == 3 ? 0x1.2419a87f2a458p-56
                                : 0x1.1a62633145c07p-55;
    double quarter = 0.25 * k;
    pair top = product(-quarter, most);
    double numerator = (scaled + top.high) + top.low;
    pair bottom = product(quarter, scaled);
    pair denominator = sum(most, bottom.high);
    denominator.low += bottom.low;
    double u = numerator / denominator.high;
    double u_rest = (fma(-u, denominator.high, numerator) - u * denominator.low) / denominator.high;
    constexpr double c[] = {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19};
    double square = u * u;
    pair angle = fast_sum(base, u);
    angle.low += base_rest + u_rest + u * square * polynomial(square, c);
    if (steep) {
        pair turned = sum(pi / 2, -angle.high);
        angle = {turned.high, turned.low + pi_rest / 2 - angle.low};
    }
    if (sign(x)) {
        pair turned = sum(pi, -angle.high);
        angle = {turned.high, turned.low + pi_rest - angle.low};
    }
    return __builtin_copysign(angle.high + angle.low, y);
}
__HIP_FUNCTION double atan(double x) { return atan2(x, 1.0); }
// Within 2 ulp, as acos.
__HIP_FUNCTION double asin(double x) {
    if (__builtin_fabs(x) > 1) return quiet_nan();
    return atan2(x, __builtin_sqrt((1 - x) * (1 + x)));
}
__HIP_FUNCTION double acos(double x) {
    if (__builtin_fabs(x) > 1) return quiet_nan();
    return atan2(__builtin_sqrt((1 - x) * (1 + x)), x);
}

// Within 3 ulp, as cosh and tanh.
__HIP_FUNCTION double sinh(double x) {
    double a = __builtin_fabs(x);
    if (a < 0x1p-28) return x;
    double y;
    if (a > 709) {
        double half = exp(0.5 * a);
        y = 0.5 * half * half;
    } else {
        double e = expm1(a);
        y = 0.5 * (e + e / (e + 1));
    }
    return __builtin_copysign(y, x);
}
__HIP_FUNCTION double cosh(double x) {
    double a = __builtin_fabs(x);
    if (a > 709) {
        double half = exp(0.5 * a);
        return 0.5 * half * half;
    }
    double e = exp(a);
    return 0.5 * (e + 1 / e);
}
__HIP_FUNCTION double tanh(double x) {
    double a = __builtin_fabs(x);
    if (a > 20) return __builtin_copysign(1.0, x);
    double e = expm1(2 * a);
    return __builtin_copysign(e / (e + 2), x);
}

// Within 3 ulp, as acosh and atanh.
__HIP_FUNCTION double asinh(double x) {
    double a = __builtin_fabs(x);
    if (a < 0x1p-28 || is_inf(x)) return x;
    double y = a > 0x1p28 ? log(a) + 0x1.62e42fefa39efp-1 : log1p(a + a * a / (1 + __builtin_sqrt(fma(a, a, 1.0))));
    return __builtin_copysign(y, x);
}
__HIP_FUNCTION double acosh(double x) {
    if (x < 1) return quiet_nan();
    if (x > 0x1p28) return log(x) + 0x1.62e42fefa39efp-1;
    double t = x - 1;
    return log1p(t + __builtin_sqrt(t * (t + 2)));
}
__HIP_FUNCTION double atanh(double x) {
    double a = __builtin_fabs(x);
    if (a > 1) return quiet_nan();
    if (a == 1) return __builtin_copysign(infinity(), x);
    return __builtin_copysign(0.5 * log1p(2 * a / (1 - a)), x);
}

__HIP_FUNCTION bool is_integer(double x) { return __builtin_trunc(x) == x; }
__HIP_FUNCTION bool is_odd(double x) { return is_integer(x) && __builtin_fabs(x) < 0x1p53 && ((long long)x & 1); }

// x to the power y for positive finite x: the logarithm has the bits that the product with y takes.
__HIP_FUNCTION double pow_positive(double x, double y) {
    pair l = log_pair(x);
    pair p = product(y, l.high);
    p.low = fma(y, l.low, p.low);
    if (is_nan(p.high) || is_inf(p.high) || __builtin_fabs(p.high) > 800) {
        bool grows = (y > 0) == (l.high > 0);
        return grows ? infinity() : 0;
    }
    p = fast_sum(p.high, p.low);
    return exp(p.high, p.low);
}

// Within 1 ulp.
__HIP_FUNCTION double pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (is_nan(x) || is_nan(y)) return quiet_nan();
    double a = __builtin_fabs(x);
    if (is_inf(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? infinity() : 0;
    bool negative = sign(x) && is_odd(y);
    double magnitude;
    if (a == 0 || is_inf(a))
        magnitude = (a == 0) == (y < 0) ? infinity() : 0;
    else if (sign(x) && !is_integer(y))
        return quiet_nan();
    else
        magnitude = pow_positive(a, y);
    return negative ? -magnitude : magnitude;
}

// Within 1 ulp.
__HIP_FUNCTION double cbrt(double x) {
    if (x == 0 || is_nan(x) || is_inf(x)) return x;
    int k;
    double m = __builtin_frexp(__builtin_fabs(x), &k);
    int third = (k + 3072) / 3 - 1024; // floor(k / 3) for every exponent
    m = __builtin_ldexp(m, k - 3 * third);
    // From a parabola through the range [0.5, 4), three steps of Newton and one in which the residue is
    // exact.
    double y = fma(fma(-0.0415, m, 0.3895), m, 0.6333);
    for (int i = 0; i < 3; ++i) y -= (y * y * y - m) / (3 * y * y);
    pair square = product(y, y);
    double residue = fma(square.high, y, -m) + square.low * y;
    y -= residue / (3 * square.high);
    return __builtin_copysign(__builtin_ldexp(y, third), x);
}

// Within 1 ulp, without overflow on the way.
__HIP_FUNCTION double hypot(double x, double y) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    if (is_inf(a) || is_inf(b)) return infinity();
    if (is_nan(a) || is_nan(b)) return quiet_nan();
    double most = a > b ? a : b, least = a > b ? b : a;
    if (most == 0) return 0;
    int k;
    __builtin_frexp(most, &k);
    most = __builtin_ldexp(most, -k);
    least = __builtin_ldexp(least, -k);
    pair p = product(most, most), q = product(least, least);
    pair s = fast_sum(p.high, q.high);
    double rest = s.low + (p.low + q.low);
    double root = __builtin_sqrt(s.high);
    root += (fma(-root, root, s.high) + rest) / (2 * root);
    return __builtin_ldexp(root, k);
}

// x - n y with n = trunc(x / y), exact. The quotient's bits come 26 at a time, so that each step is exact.
__HIP_FUNCTION double fmod(double x, double y, unsigned *quotient = nullptr) {
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    unsigned n = 0;
    if (is_nan(x) || is_nan(y) || is_inf(a) || b == 0) return quiet_nan();
    if (!(is_inf(b) || a < b)) {
        int ka, kb;
        __builtin_frexp(a, &ka);
        __builtin_frexp(b, &kb);
        for (int shift = ka - kb; shift > -26; shift -= 26) {
            int place = shift > 26 ? shift - 26 : 0;
            double step = __builtin_ldexp(b, place);
            double count = __builtin_trunc(a / step);
            a = fma(-count, step, a);
            if (a < 0) {
                a += step;
                count -= 1;
            }
            if (a >= step) {
                a -= step;
                count += 1;
            }
            n += place < 32 ? (unsigned)(long long)count << place : 0u;
            if (place == 0) break;
        }
    }
    if (quotient != nullptr) *quotient = n;
    return __builtin_copysign(a, x);
}

// x - n y with n the integer nearest x / y, the even one of two; exact. `quotient` gets its last 31 bits.
__HIP_FUNCTION double remquo(double x, double y, int *quotient) {
    unsigned n = 0;
    double r = fmod(x, y, &n), b = __builtin_fabs(y);
    *quotient = 0;
    if (is_nan(r)) return r;
    double a = __builtin_fabs(r);
    double other = b - a;
    if (!is_inf(b) && (a > other || (a == other && (n & 1)))) {
        r = __builtin_copysign(other, -x);
        n += 1;
    } else
        r = __builtin_copysign(a, x);
    int magnitude = (int)(n & 0x7fffffff);
    *quotient = sign(x) != sign(y) ? -magnitude : magnitude;
    return r;
}

// erfc(x) exp(x^2) for 1 <= x <= 28: a polynomial in (x - 4) / (x + 4), interpolated at Chebyshev's points.
__HIP_FUNCTION double scaled_erfc(double x) {
    constexpr double c[] = {0x1.5eb7f6ecb19a9p-1,  -0x1.9841f8fe19461p-3,  0x1.df6f7856005eap-4,
                            -0x1.89dfde1d97601p-5, 0x1.03a84393755f7p-8,   0x1.f5c2a425664fcp-7,
                            -0x1.1ef9faf7d75e1p-6, 0x1.8e8471e37ccbbp-7,   -0x1.8db87b5711ee2p-8,
                            0x1.156752f2034a2p-9,  -0x1.98b36283f08adp-12, -0x1.f876c17753d33p-15,
                            0x1.0c91efc93b240p-14, -0x1.b944f990f24aap-17, -0x1.159145bad102dp-18,
                            0x1.6379dd462f355p-19, -0x1.129935de77757p-30, -0x1.8132a85cc8e79p-22,
                            0x1.e84033b9d100dp-25, 0x1.4927c92574932p-25,  -0x1.b7f16872b2d74p-27};
    return polynomial((x - 4) / (x + 4), c) / (1 + x);
}
__HIP_FUNCTION double erf_near_zero(double x) {
    constexpr double scale = 0x1.20dd750429b6dp+0, rest = 0x1.1ae3a914fed80p-56; // 2 / sqrt(pi)
    constexpr double c[] = {-1.0 / 3,
                            1.0 / 10,
                            -1.0 / 42,
                            1.0 / 216,
                            -1.0 / 1320,
                            1.0 / 9360,
                            -1.0 / 75600,
                            1.0 / 685440,
                            -1.0 / 6894720,
                            1.0 / 76204800,
                            -1.0 / 918086400,
                            1.0 / 11975040000,
                            -1.0 / 168129561600,
                            1.0 / 2528170444800,
                            -1.0 / 40537905408000,
                            1.0 / 690452066304000,
                            -1.0 / 12449059983360000,
                            1.0 / 236887827111936000};
    double square = x * x;
    double series = fma(x * square, polynomial(square, c), 0.0);
    return fma(scale, x, fma(scale, series, rest * x));
}
// Within 2 ulp.
__HIP_FUNCTION double erf(double x) {
    double a = __builtin_fabs(x);
    if (is_nan(x) || x == 0) return x;
    if (a < 1) return erf_near_zero(x);
    if (a > 6) return __builtin_copysign(1.0, x);
    return __builtin_copysign(1 - exp(-a * a) * scaled_erfc(a), x);
}
// Within 5 ulp.
__HIP_FUNCTION double erfc(double x) {
    if (is_nan(x)) return x;
    if (x < 0.5) return x < -6 ? 2 : x < -1 ? 2 - erfc(-x) : 1 - erf_near_zero(x);
    if (x > 27.3) return 0;
    if (x < 1) return 0.5 - (erf_near_zero(x) - 0.5);
    pair square = product(x, x);
    return exp(-square.high, -square.low) * scaled_erfc(x);
}

// Stirling's series for x >= 8: log gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2).
__HIP_FUNCTION double stirling(double x) {
    constexpr double c[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                            1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
    double inverse = 1 / x;
    return inverse * polynomial(inverse * inverse, c);
}
// For x < 10 by gamma(x) = gamma(x + n) / (x (x + 1) ...). Pairs throughout: the two logarithms cancel.
__HIP_FUNCTION double lgamma_positive(double x) {
    if (x > 0x1p60) return x * (log(x) - 1);
    pair y = {x, 0}, shift = {1, 0};
    for (int n = 1; y.high < 10; ++n) {
        shift = product(shift, y);
        y = sum(x, n);
    }
    pair l = log_pair(y.high);
    pair slope = fast_sum(l.high - 1, l.low + y.low / y.high);
    pair factor = sum(y.high, -0.5);
    factor.low += y.low;
    pair whole = product(factor, slope);
    pair divisor = log_pair(shift.high);
    pair result = sum(whole.high, -divisor.high);
    pair constant = sum(result.high, 0x1.acfe390c97d69p-2);
    double rest = 0x1.3494bc9001442p-56 + whole.low - divisor.low - shift.low / shift.high;
    return constant.high + (constant.low + result.low + (stirling(y.high) + rest));
}
// Within 2 ulp; near its zeros at 1 and 2 and below 0 within 1e-14 instead.
__HIP_FUNCTION double lgamma(double x) {
    if (is_nan(x) || is_inf(x)) return x * x;
    double a = __builtin_fabs(x);
    if (a < 0x1p-60) return -log(a);
    if (x > 0) return x == 1 || x == 2 ? 0.0 : lgamma_positive(x);
    double s, c;
    sincospi(x, &s, &c);
    if (s == 0) return infinity();
    return log(0x1.921fb54442d18p+1 / __builtin_fabs(s * x)) - lgamma_positive(a);
}
// Within 30 ulp.
__HIP_FUNCTION double tgamma(double x) {
    if (is_nan(x)) return x;
    if (x == 0) return __builtin_copysign(infinity(), x);
    if (x == infinity()) return x;
    if (x < 0 && (is_integer(x) || is_inf(x))) return quiet_nan();
    double a = __builtin_fabs(x), shift = 1, y = a;
    if (x > 0 && x > 171.7) return infinity();
    if (x < 0 && a > 185) return is_odd(__builtin_floor(x)) ? -0.0 : 0.0;
    while (y < 8) shift *= y, y += 1;
    // y^(y - 1/2) in two factors, because it overflows before gamma does.
    double half = pow_positive(y, 0.5 * y - 0.25);
    double value = 0x1.40d931ff62706p+1 * half * (exp(-y) * half) * exp(stirling(y)) / shift;
    if (x > 0) return value;
    double s, c;
    sincospi(x, &s, &c);
    return 0x1.921fb54442d18p+1 / (s * a) / value;
}

#undef __HIP_FUNCTION

} // namespace __hip_math
