// Inverse and scaled error functions, and Bessel functions, in double precision.
#pragma once

#include "hip/device/double_math.h"

namespace __hip_math {

#define __HIP_FUNCTION __host__ __device__ static inline

// Halley's method for erf(y) = x and erfc(y) = z: `step` is the error over the derivative.
__HIP_FUNCTION double halley(double y, double step) { return y - step / (1 + y * step); }

constexpr double half_root_pi = 0x1.c5bf891b4ef6ap-1;

__HIP_FUNCTION double erfinv_small(double x) {
    const double square = x * x;
    double y = half_root_pi * x * (1 + square * (0.2618 + square * (0.1439 + square * 0.0977)));
    for (int i = 0; i < 2; ++i) y = halley(y, (erf(y) - x) * half_root_pi * exp(y * y));
    return y;
}
// For 0 < z <= 1/2. The first guess is Abramowitz and Stegun's 26.2.23; exp(y * y) alone would overflow.
__HIP_FUNCTION double erfcinv_small(double z) {
    const double logarithm = log(z), t = __builtin_sqrt(2 * (0x1.62e42fefa39efp-1 - logarithm));
    const double above = 2.515517 + t * (0.802853 + t * 0.010328);
    const double below = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    double y = (t - above / below) * 0x1.6a09e667f3bcdp-1;
    for (int i = 0; i < 2; ++i) {
        const double scaled = y < 1 ? erfc(y) * exp(y * y) : scaled_erfc(y);
        y = halley(y, half_root_pi * (exp(__builtin_fma(y, y, logarithm)) - scaled));
    }
    return y;
}
// Within 4 ulp, and where erfc's argument is subnormal as good as it.
__HIP_FUNCTION double erfcinv(double z) {
    if (!(z >= 0 && z <= 2)) return quiet_nan();
    if (z == 0 || z == 2) return z == 0 ? infinity() : -infinity();
    if (z < 0.5) return erfcinv_small(z);
    return z <= 1.5 ? erfinv_small(1 - z) : -erfcinv_small(2 - z);
}
__HIP_FUNCTION double erfinv(double x) {
    const double a = __builtin_fabs(x);
    if (a <= 0.5) return x == 0 ? x : erfinv_small(x);
    return __builtin_copysign(erfcinv(1 - a), x);
}
__HIP_FUNCTION double normcdfinv(double p) { return -0x1.6a09e667f3bcdp+0 * erfcinv(2 * p); }

// Within 8 ulp. For x > 28 by the series in 1 / x^2.
__HIP_FUNCTION double erfcx(double x) {
    if (x < -26.7) return infinity();
    if (x < 1) {
        const pair square = product(x, x);
        return exp(square.high, square.low) * erfc(x);
    }
    if (!(x > 28)) return x != x ? x : scaled_erfc(x);
    constexpr double c[] = {1, -1, 3, -15, 105, -945, 10395, -135135};
    const double inverse = 1 / x;
    return 0x1.20dd750429b6dp-1 * inverse * polynomial(inverse * inverse / 2, c);
}
// Within 8 ulp: the rounding error of -x / sqrt(2) is corrected by the derivative of erfc.
__HIP_FUNCTION double normcdf(double x) {
    constexpr double root = 0x1.6a09e667f3bcdp-1, rest = -0x1.bdd3413b26456p-55;
    const double a = -x * root, lost = __builtin_fma(-x, root, -a) - x * rest, value = erfc(a);
    if (!(a > -6 && a < 27.3)) return 0.5 * value;
    const double slope = a < 1 ? exp(-a * a) : value / scaled_erfc(a);
    return 0.5 * (value - lost * 0x1.20dd750429b6dp+0 * slope);
}

// Modified Bessel functions of the first kind, order 0 or 1. Every term of the power series is positive; it follows
// from the one before, and what that lost goes with it: else a dozen roundings add up. Within 2 ulp; from 20 on
// within 8.
__HIP_FUNCTION double cyl_bessel_i(int order, double x) {
    const double a = __builtin_fabs(x), sign = order == 1 && x < 0 ? -1 : 1;
    if (a < 20) {
        const double square = a / 2 * (a / 2), square_lost = __builtin_fma(a / 2, a / 2, -square);
        double term = order == 0 ? 1 : a / 2, lost = 0, sum = term, sum_lost = 0;
        for (int k = 1; term > sum * 0x1p-60; ++k) {
            const double divisor = k * (k + order), product = term * square;
            const double rest = __builtin_fma(term, square, -product) + term * square_lost + lost * square;
            term = product / divisor;
            lost = (__builtin_fma(-term, divisor, product) + rest) / divisor;
            const double next = sum + term, part = next - sum;
            sum_lost += (sum - (next - part)) + (term - part) + lost;
            sum = next;
        }
        return x != x ? x : sign * (sum + sum_lost);
    }
    if (x != x || is_inf(a)) return x != x ? x : sign * a;
    double term = 1, rest = 0; // the sum without its first term, which is 1
    for (int k = 1; k < 40 && __builtin_fabs(term) > 0x1p-60; ++k) {
        term *= ((2 * k - 1) * (2 * k - 1) - 4.0 * order) / (8 * a * k);
        rest += term;
    }
    const double scale = (1 + rest) / __builtin_sqrt(0x1.921fb54442d18p+2 * a);
    if (a < 700) return sign * (exp(a) * scale);
    // exp(a) itself overflows before the result does.
    const double half = exp(a / 2);
    return sign * half * (half * scale);
}
__HIP_FUNCTION double cyl_bessel_i0(double x) { return cyl_bessel_i(0, x); }
__HIP_FUNCTION double cyl_bessel_i1(double x) { return x == 0 ? x : cyl_bessel_i(1, x); }

// The Bessel functions of orders 0 and 1, of both kinds.
struct bessel {
    double j0, j1, y0, y1;
};

constexpr double two_by_pi = 0x1.45f306dc9c883p-1, euler_gamma = 0x1.2788cfc6fb619p-1;

// For 0 < x < 25: Miller's backward recurrence for J, normalized by J0 + 2 J2 + 2 J4 + ... = 1; Neumann's series for
// Y0 and its derivative.
__HIP_FUNCTION bessel bessel_small(double x) {
    const double logarithm = log(x / 2) + euler_gamma;
    if (x < 1e-5) return {1 - x * x / 4, x / 2, two_by_pi * logarithm, -two_by_pi / x};
    double next = 0, j = 1e-200, total = 0, series = 0, slope = 0, first = 0;
    for (int n = x < 1 ? 20 : 64; n > 0; --n) {
        const double before = 2 * n / x * j - next; // the function of order n - 1
        if (n % 2 == 0) {
            const double sign = n % 4 == 0 ? -1 : 1;
            total += 2 * j;
            series += sign * j / (n / 2);
            slope += sign * (before - next) / (n / 2);
        } else if (n == 1)
            first = j;
        next = j;
        j = before;
    }
    total += j;
    const double j0 = j / total, j1 = first / total;
    return {j0, j1, two_by_pi * (logarithm * j0 + 2 * series / total),
            two_by_pi * (logarithm * j1 - j0 / x - slope / total)};
}
// For x >= 25: Hankel's expansions, amplitude and phase of order `n`.
__HIP_FUNCTION void bessel_large(double x, int n, double *j, double *y) {
    double p = 1, q = 0, term = 1;
    for (int k = 1; k < 40; ++k) {
        const double factor = (4.0 * n * n - (2 * k - 1) * (2 * k - 1)) / (8 * x * k);
        term *= factor;
        if (__builtin_fabs(term) < 1e-18) break;
        const double sign = (k / 2) % 2 == 0 ? 1 : -1;
        if (k % 2 == 0)
            p += sign * term;
        else
            q += sign * term;
    }
    // cos(x - n pi/2 - pi/4) in terms of sine and cosine of x, which are reduced exactly.
    const double s = sin(x), c = cos(x), scale = __builtin_sqrt(two_by_pi / x) * 0x1.6a09e667f3bcdp-1;
    const double cosine = n == 0 ? c + s : s - c, sine = n == 0 ? s - c : -s - c;
    *j = scale * (p * cosine - q * sine);
    *y = scale * (p * sine + q * cosine);
}
__HIP_FUNCTION bessel bessel_of(double x) {
    if (x < 25) return bessel_small(x);
    bessel result;
    bessel_large(x, 0, &result.j0, &result.y0);
    bessel_large(x, 1, &result.j1, &result.y1);
    return result;
}
// Absolute errors within 2e-15; y's relative ones within 4e-15 where it is large.
__HIP_FUNCTION double j0(double x) {
    if (x != x || is_inf(x)) return is_inf(x) ? 0 : x;
    return x == 0 ? 1 : bessel_of(__builtin_fabs(x)).j0;
}
__HIP_FUNCTION double j1(double x) {
    if (x != x || x == 0 || is_inf(x)) return is_inf(x) ? 0 : x;
    const double value = bessel_of(__builtin_fabs(x)).j1;
    return x < 0 ? -value : value;
}
__HIP_FUNCTION double y_of(double x, int n) {
    if (!(x > 0)) return x == 0 ? -infinity() : quiet_nan();
    if (is_inf(x)) return 0;
    const bessel value = bessel_of(x);
    return n == 0 ? value.y0 : value.y1;
}
__HIP_FUNCTION double y0(double x) { return y_of(x, 0); }
__HIP_FUNCTION double y1(double x) { return y_of(x, 1); }
__HIP_FUNCTION double yn(int n, double x) {
    const int order = n < 0 ? -n : n;
    const double sign = n < 0 && order % 2 ? -1 : 1;
    double before = y0(x), value = order == 0 ? before : y1(x);
    if (!(x > 0)) return sign * value;
    for (int k = 1; k < order && !is_inf(value); ++k) {
        const double after = 2 * k / x * value - before;
        before = value;
        value = after;
    }
    return sign * value;
}
// Forward recurrence below the turning point; above it backward, from where the function has vanished.
__HIP_FUNCTION double jn(int n, double x) {
    const int order = n < 0 ? -n : n;
    const double a = __builtin_fabs(x), sign = (n < 0) != (x < 0) && order % 2 ? -1 : 1;
    if (order == 0) return j0(x);
    if (order == 1) return sign * j1(a);
    if (x != x || a == 0 || is_inf(a)) return x != x ? x : 0;
    const bessel start = bessel_of(a);
    if (order <= a) {
        double before = start.j0, value = start.j1;
        for (int k = 1; k < order; ++k) {
            const double after = 2 * k / a * value - before;
            before = value;
            value = after;
        }
        return sign * value;
    }
    double next = 0, value = 1e-280, wanted = 0;
    for (int k = order + 30 + static_cast<int>(__builtin_sqrt(60.0 * order)); k > 0; --k) {
        if (k == order) wanted = value;
        const double before = 2 * k / a * value - next;
        next = value;
        value = before;
        if (__builtin_fabs(value) > 1e200) value *= 1e-300, next *= 1e-300, wanted *= 1e-300;
    }
    return sign * wanted * (__builtin_fabs(start.j0) > __builtin_fabs(start.j1) ? start.j0 / value : start.j1 / next);
}

#undef __HIP_FUNCTION

} // namespace __hip_math
