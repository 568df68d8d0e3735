// Thrust's complex numbers for kernels and the host, for a clang that comes without ROCm: the part of
// <thrust/complex.h> that c10's headers and kernels for PyTorch use. Names and meaning are Thrust's, the code is ours.
//
// Functions are within 4 ulp in each part, tan and tanh within 8, as the tests measure them; products, quotients and
// powers within some ulp of their length. Infinities, NaN and signed zeros have C's annex G, but in products, quotients
// and powers, as in Thrust.
#pragma once

#include "hip/device/push_names.h"

#include "hip/device/prelude.h"

#include <complex>
#include <istream>
#include <limits>
#include <ostream>
#include <type_traits>

#define __HIP_FUNCTION __host__ __device__ inline

namespace thrust {

template <typename T>
struct complex;

namespace complex_parts {

template <typename T0, typename T1>
using common = std::common_type_t<T0, T1>;
template <typename T>
using if_scalar = std::enable_if_t<std::is_arithmetic<T>::value, int>;

// The functions of <cmath> by one name for both types.
#define __HIP_UNARY(name)                                                                                              \
    __HIP_FUNCTION float name(float x) { return ::name##f(x); }                                                        \
    __HIP_FUNCTION double name(double x) { return ::name(x); }
#define __HIP_BINARY(name)                                                                                             \
    __HIP_FUNCTION float name(float x, float y) { return ::name##f(x, y); }                                            \
    __HIP_FUNCTION double name(double x, double y) { return ::name(x, y); }
__HIP_UNARY(acos)
__HIP_UNARY(asin)
__HIP_UNARY(atan)
__HIP_UNARY(atanh)
__HIP_UNARY(cos)
__HIP_UNARY(cosh)
__HIP_UNARY(exp)
__HIP_UNARY(fabs)
__HIP_UNARY(log)
__HIP_UNARY(log1p)
__HIP_UNARY(sin)
__HIP_UNARY(sinh)
__HIP_UNARY(sqrt)
__HIP_UNARY(tan)
__HIP_UNARY(tanh)
__HIP_BINARY(atan2)
__HIP_BINARY(copysign)
__HIP_BINARY(fmax)
__HIP_BINARY(fmin)
__HIP_BINARY(hypot)
#undef __HIP_UNARY
#undef __HIP_BINARY
__HIP_FUNCTION float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
__HIP_FUNCTION double fma(double x, double y, double z) { return ::fma(x, y, z); }
__HIP_FUNCTION float ldexp(float x, int exponent) { return ::ldexpf(x, exponent); }
__HIP_FUNCTION double ldexp(double x, int exponent) { return ::ldexp(x, exponent); }

template <typename T>
__HIP_FUNCTION bool is_nan(T x) {
    return __builtin_isnan(x);
}
template <typename T>
__HIP_FUNCTION bool is_infinite(T x) {
    return __builtin_isinf(x);
}
template <typename T>
__HIP_FUNCTION bool is_finite(T x) {
    return !is_nan(x) && !is_infinite(x);
}

template <typename T>
struct constants {
    static constexpr T pi = T(3.14159265358979323846L), half_pi = pi / 2, ln2 = T(0.69314718055994530942L);
    static constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    static constexpr T largest = std::numeric_limits<T>::max(), smallest = std::numeric_limits<T>::min();
    static constexpr T epsilon = std::numeric_limits<T>::epsilon();
    // exp(x) is finite up to here.
    static constexpr T exp_limit = std::numeric_limits<T>::max_exponent * ln2 * (1 - epsilon);
    // Between these a square neither overflows nor loses bits.
    static constexpr T low = sizeof(T) == 4 ? T(0x1p-51) : T(0x1p-484L),
                       high = sizeof(T) == 4 ? T(0x1p+60) : T(0x1p+508L);
};

// The larger part is 2^exponent times a number from 1/2 to 1. 0 for zeros, infinities and NaN.
__HIP_FUNCTION int exponent_of(float x, float y) {
    const float larger = fmax(fabs(x), fabs(y));
    int exponent = 0;
    if (larger > 0 && is_finite(larger)) ::frexpf(larger, &exponent);
    return exponent;
}
__HIP_FUNCTION int exponent_of(double x, double y) {
    const double larger = fmax(fabs(x), fabs(y));
    int exponent = 0;
    if (larger > 0 && is_finite(larger)) ::frexp(larger, &exponent);
    return exponent;
}

// exp(x) * factor * scale, which may be finite where exp(x) is not. The scale is a power of two.
template <typename T>
__HIP_FUNCTION T exp_times(T x, T factor, T scale = 1) {
    if (x <= constants<T>::exp_limit || is_infinite(x)) return exp(x) * factor * scale;
    const T root = exp(x / 2);
    return root * factor * (root * scale);
}

// x*x + y*y - 1, with the bits that cancel.
template <typename T>
__HIP_FUNCTION T square_less_one(T x, T y) {
#pragma clang fp contract(off)
    const T a = x * x, b = y * y;
    const T rest = fma(x, x, -a) + fma(y, y, -b);
    const T first = a - 1, first_error = (a - (first + 1)) + ((first + 1) - first - 1);
    const T sum = first + b, part = sum - first;
    return sum + ((first - (sum - part)) + (b - part) + first_error + rest);
}

template <typename T>
struct arcs {
    T sine, cosine, imaginary;
};

// asin and acos of x + iy, neither part negative; their imaginary parts differ by the sign alone. T. E. Hull,
// T. F. Fairgrieve, P. T. P. Tang: Implementing the Complex Arcsine and Arccosine Functions Using Exception Handling,
// ACM TOMS 23 (1997), which proves errors below 9.5 ulp.
template <typename T>
__HIP_FUNCTION arcs<T> arcs_of(T x, T y) {
    using c = constants<T>;
    if (is_nan(x) || is_nan(y)) {
        const bool exact = x == 0;
        return {exact ? x : c::nan, exact ? c::half_pi : c::nan,
                is_infinite(x) || is_infinite(y) ? c::infinity : c::nan};
    }
    if (is_infinite(x) || is_infinite(y)) return {atan2(x, y), atan2(y, x), c::infinity};
    const T above = x + 1, below = x - 1;
    const bool ordinary = x > 4 * c::low && x < c::high / 8 && y > 4 * c::low && y < c::high / 8;
    if (!ordinary) {
        if (y <= c::epsilon * fabs(below)) {
            if (x < 1) return {asin(x), acos(x), y / sqrt(above * (1 - x))};
            const bool fits = x < c::high;
            const T root = fits ? sqrt(below * above) : x;
            return {c::half_pi, root > 0 ? y / root : T(0), fits ? log1p(below + root) : c::ln2 + log(x)};
        }
        if (y <= 4 * c::low) return {c::half_pi - sqrt(y), sqrt(y), sqrt(y)};
        if (above <= c::epsilon * y) return {x / y, c::half_pi, c::ln2 + log(y)};
        if (x > 1) {
            const T ratio = x / y;
            return {atan2(x, y), atan2(y, x), c::ln2 + log(y) + T(0.5) * log1p(ratio * ratio)};
        }
        const T length = sqrt(1 + y * y);
        return {x / length, c::half_pi - x / length, T(0.5) * log1p(2 * y * (y + length))};
    }
    const T r = hypot(above, y), s = hypot(below, y), a = (r + s) / 2, b = x / a, square = y * y;
    arcs<T> result;
    if (b <= T(0.6417)) {
        result.sine = asin(b);
        result.cosine = acos(b);
    } else {
        const T sum = a + x;
        const T other = x <= 1 ? sqrt(sum * (square / (r + above) + (s - below)) / 2)
                               : y * sqrt((sum / (r + above) + sum / (s + below)) / 2);
        result.sine = atan2(x, other);
        result.cosine = atan2(other, x);
    }
    if (a <= T(1.5)) {
        const T over_s = x < 1 ? square / (s - below) : s + below, excess = (square / (r + above) + over_s) / 2;
        result.imaginary = log1p(excess + sqrt(excess * (a + 1)));
    } else {
        result.imaginary = log(a + sqrt(a * a - 1));
    }
    return result;
}

} // namespace complex_parts

template <typename T>
struct complex {
    using value_type = T;

    complex() = default;
    complex(const complex &) = default;
    __HIP_FUNCTION complex(const T &re) : data{re, T()} {}
    __HIP_FUNCTION complex(const T &re, const T &im) : data{re, im} {}
    template <typename U>
    __HIP_FUNCTION complex(const complex<U> &z) : data{T(z.real()), T(z.imag())} {}
    template <typename U>
    __HIP_FUNCTION complex(const std::complex<U> &z) : data{part(z, 0), part(z, 1)} {}

    complex &operator=(const complex &) = default;
    __HIP_FUNCTION complex &operator=(const T &re) { return *this = complex(re); }
    template <typename U>
    __HIP_FUNCTION complex &operator=(const complex<U> &z) {
        return *this = complex(z);
    }
    template <typename U>
    __HIP_FUNCTION complex &operator=(const std::complex<U> &z) {
        return *this = complex(z);
    }

#define __HIP_ASSIGN(op)                                                                                               \
    template <typename U>                                                                                              \
    __HIP_FUNCTION complex &operator op## = (const complex<U> &z) {                                                    \
        return *this = *this op z;                                                                                     \
    }                                                                                                                  \
    template <typename U, complex_parts::if_scalar<U> = 0>                                                             \
    __HIP_FUNCTION complex &operator op## = (const U &x) {                                                             \
        return *this = *this op x;                                                                                     \
    }
    __HIP_ASSIGN(+)
    __HIP_ASSIGN(-)
    __HIP_ASSIGN(*)
    __HIP_ASSIGN(/)
#undef __HIP_ASSIGN

    __HIP_FUNCTION T real() const { return data.x; }
    __HIP_FUNCTION T imag() const { return data.y; }
    __HIP_FUNCTION T real() const volatile { return data.x; }
    __HIP_FUNCTION T imag() const volatile { return data.y; }
    __HIP_FUNCTION void real(T re) { data.x = re; }
    __HIP_FUNCTION void imag(T im) { data.y = im; }
    __HIP_FUNCTION void real(T re) volatile { data.x = re; }
    __HIP_FUNCTION void imag(T im) volatile { data.y = im; }

    __HIP_FUNCTION operator std::complex<T>() const { return std::complex<T>(data.x, data.y); }

  private:
    // The standard says that a complex number is an array of its two parts; its members are the host's alone.
    template <typename U>
    __HIP_FUNCTION static T part(const std::complex<U> &z, int index) {
        return T(reinterpret_cast<const U(&)[2]>(z)[index]);
    }
    struct alignas(2 * sizeof(T)) storage {
        T x, y;
    } data;
};

#define __HIP_OPERATOR(op, of_complex, of_right, of_left)                                                              \
    template <typename T0, typename T1>                                                                                \
    __HIP_FUNCTION complex<complex_parts::common<T0, T1>> operator op(const complex<T0> &p, const complex<T1> &q) {    \
        using T = complex_parts::common<T0, T1>;                                                                       \
        const T a = p.real(), b = p.imag(), c = q.real(), d = q.imag();                                                \
        return of_complex;                                                                                             \
    }                                                                                                                  \
    template <typename T0, typename T1, complex_parts::if_scalar<T1> = 0>                                              \
    __HIP_FUNCTION complex<complex_parts::common<T0, T1>> operator op(const complex<T0> &p, const T1 &q) {             \
        using T = complex_parts::common<T0, T1>;                                                                       \
        const T a = p.real(), b = p.imag(), c = q;                                                                     \
        return of_right;                                                                                               \
    }                                                                                                                  \
    template <typename T0, typename T1, complex_parts::if_scalar<T0> = 0>                                              \
    __HIP_FUNCTION complex<complex_parts::common<T0, T1>> operator op(const T0 &p, const complex<T1> &q) {             \
        using T = complex_parts::common<T0, T1>;                                                                       \
        const T a = p, c = q.real(), d = q.imag();                                                                     \
        return of_left;                                                                                                \
    }
#define __HIP_COMMA ,
namespace complex_parts {
// Both are scaled by powers of two, so that nothing overflows or underflows unless the result does.
template <typename T>
__HIP_FUNCTION complex<T> quotient(T a, T b, T c, T d) {
    const int up = exponent_of(a, b), down = exponent_of(c, d);
    a = ldexp(a, -up), b = ldexp(b, -up), c = ldexp(c, -down), d = ldexp(d, -down);
    const T square = c * c + d * d;
    return complex<T>(ldexp((a * c + b * d) / square, up - down), ldexp((b * c - a * d) / square, up - down));
}
} // namespace complex_parts
__HIP_OPERATOR(+, complex<T>(a + c __HIP_COMMA b + d), complex<T>(a + c __HIP_COMMA b), complex<T>(a + c __HIP_COMMA d))
__HIP_OPERATOR(-, complex<T>(a - c __HIP_COMMA b - d), complex<T>(a - c __HIP_COMMA b),
               complex<T>(a - c __HIP_COMMA - d))
__HIP_OPERATOR(*, complex<T>(a *c - b * d __HIP_COMMA a * d + b * c), complex<T>(a *c __HIP_COMMA b *c),
               complex<T>(a *c __HIP_COMMA a *d))
__HIP_OPERATOR(/, complex_parts::quotient<T>(a __HIP_COMMA b __HIP_COMMA c __HIP_COMMA d),
               complex<T>(a / c __HIP_COMMA b / c),
               complex_parts::quotient<T>(a __HIP_COMMA T(0) __HIP_COMMA c __HIP_COMMA d))
#undef __HIP_OPERATOR
#undef __HIP_COMMA

template <typename T>
__HIP_FUNCTION complex<T> operator+(const complex<T> &z) {
    return z;
}
template <typename T>
__HIP_FUNCTION complex<T> operator-(const complex<T> &z) {
    return complex<T>(-z.real(), -z.imag());
}

#define __HIP_EQUAL(P, real_p, imag_p, Q, real_q, imag_q, ...)                                                         \
    template <typename T0, typename T1 __VA_OPT__(, ) __VA_ARGS__>                                                     \
    __HIP_FUNCTION bool operator==(const P &p, const Q &q) {                                                           \
        return real_p == real_q && imag_p == imag_q;                                                                   \
    }                                                                                                                  \
    template <typename T0, typename T1 __VA_OPT__(, ) __VA_ARGS__>                                                     \
    __HIP_FUNCTION bool operator!=(const P &p, const Q &q) {                                                           \
        return !(p == q);                                                                                              \
    }
__HIP_EQUAL(complex<T0>, p.real(), p.imag(), complex<T1>, q.real(), q.imag())
__HIP_EQUAL(complex<T0>, p.real(), p.imag(), T1, q, T0(0), complex_parts::if_scalar<T1> = 0)
__HIP_EQUAL(T0, p, T1(0), complex<T1>, q.real(), q.imag(), complex_parts::if_scalar<T0> = 0)
__HIP_EQUAL(complex<T0>, p.real(), p.imag(), std::complex<T1>, complex<T1>(q).real(), complex<T1>(q).imag())
__HIP_EQUAL(std::complex<T0>, complex<T0>(p).real(), complex<T0>(p).imag(), complex<T1>, q.real(), q.imag())
#undef __HIP_EQUAL

template <typename T>
__HIP_FUNCTION T abs(const complex<T> &z) {
    return complex_parts::hypot(z.real(), z.imag());
}
template <typename T>
__HIP_FUNCTION T arg(const complex<T> &z) {
    return complex_parts::atan2(z.imag(), z.real());
}
template <typename T>
__HIP_FUNCTION T norm(const complex<T> &z) {
    return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T>
__HIP_FUNCTION complex<T> conj(const complex<T> &z) {
    return complex<T>(z.real(), -z.imag());
}
template <typename T0, typename T1>
__HIP_FUNCTION complex<complex_parts::common<T0, T1>> polar(const T0 &length, const T1 &angle = T1()) {
    using T = complex_parts::common<T0, T1>;
    return complex<T>(T(length) * complex_parts::cos(T(angle)), T(length) * complex_parts::sin(T(angle)));
}
template <typename T>
__HIP_FUNCTION complex<T> proj(const complex<T> &z) {
    if (!complex_parts::is_infinite(z.real()) && !complex_parts::is_infinite(z.imag())) return z;
    return complex<T>(complex_parts::constants<T>::infinity, complex_parts::copysign(T(0), z.imag()));
}

template <typename T>
__HIP_FUNCTION complex<T> exp(const complex<T> &z) {
    namespace parts = complex_parts;
    const T x = z.real(), y = z.imag();
    if (y == 0) return complex<T>(parts::exp(x), y);
    if (!parts::is_finite(y) && parts::is_infinite(x))
        return x < 0 ? complex<T>(0, parts::copysign(T(0), y)) : complex<T>(x, parts::constants<T>::nan);
    return complex<T>(parts::exp_times(x, parts::cos(y)), parts::exp_times(x, parts::sin(y)));
}

template <typename T>
__HIP_FUNCTION complex<T> log(const complex<T> &z) {
    namespace parts = complex_parts;
    using c = parts::constants<T>;
    const T x = parts::fabs(z.real()), y = parts::fabs(z.imag()), larger = parts::fmax(x, y);
    T length;
    if (parts::is_infinite(x) || parts::is_infinite(y)) {
        length = c::infinity;
    } else if (larger < c::low || larger > c::high) {
        const int exponent = parts::exponent_of(x, y);
        length = exponent * c::ln2 + parts::log(parts::hypot(parts::ldexp(x, -exponent), parts::ldexp(y, -exponent)));
    } else {
        const T square = x * x + y * y;
        length = square > T(0.5) && square < 2
                     ? T(0.5) * parts::log1p(parts::square_less_one(larger, parts::fmin(x, y)))
                     : parts::log(parts::hypot(x, y));
    }
    return complex<T>(length, arg(z));
}
template <typename T>
__HIP_FUNCTION complex<T> log10(const complex<T> &z) {
    return log(z) / T(2.30258509299404568402L);
}

template <typename T>
__HIP_FUNCTION complex<T> sqrt(const complex<T> &z) {
    namespace parts = complex_parts;
    T x = z.real(), y = z.imag();
    if (parts::is_infinite(y)) return complex<T>(parts::constants<T>::infinity, y);
    if (x == 0 && y == 0) return complex<T>(0, y);
    if (parts::is_infinite(x)) {
        const T other = parts::is_nan(y) ? y : parts::copysign(T(0), y);
        return x > 0 ? complex<T>(x, other) : complex<T>(parts::fabs(other), parts::copysign(x, y));
    }
    const int half = parts::exponent_of(x, y) / 2;
    x = parts::ldexp(x, -2 * half), y = parts::ldexp(y, -2 * half);
    const T larger = parts::ldexp(parts::sqrt((parts::fabs(x) + parts::hypot(x, y)) / 2), half);
    const T smaller = parts::fabs(z.imag()) / (2 * larger);
    return x < 0 ? complex<T>(smaller, parts::copysign(larger, y)) : complex<T>(larger, parts::copysign(smaller, y));
}

// exp(log(base) * exponent), as Thrust has it: the error grows with the size of that product.
template <typename T0, typename T1>
__HIP_FUNCTION complex<complex_parts::common<T0, T1>> pow(const complex<T0> &base, const complex<T1> &exponent) {
    using T = complex_parts::common<T0, T1>;
    return exp(log(complex<T>(base)) * complex<T>(exponent));
}
template <typename T0, typename T1, complex_parts::if_scalar<T1> = 0>
__HIP_FUNCTION complex<complex_parts::common<T0, T1>> pow(const complex<T0> &base, const T1 &exponent) {
    using T = complex_parts::common<T0, T1>;
    return exp(log(complex<T>(base)) * T(exponent));
}
template <typename T0, typename T1, complex_parts::if_scalar<T0> = 0>
__HIP_FUNCTION complex<complex_parts::common<T0, T1>> pow(const T0 &base, const complex<T1> &exponent) {
    using T = complex_parts::common<T0, T1>;
    // The logarithm of a negative number is complex.
    return exp(log(complex<T>(T(base))) * complex<T>(exponent));
}

template <typename T>
__HIP_FUNCTION complex<T> sinh(const complex<T> &z) {
    namespace parts = complex_parts;
    const T x = z.real(), y = z.imag(), size = parts::fabs(x);
    if (y == 0) return complex<T>(parts::sinh(x), y);
    if (!parts::is_finite(y) && (x == 0 || parts::is_infinite(x))) return complex<T>(x, parts::constants<T>::nan);
    if (x == 0) return complex<T>(x * parts::cos(y), parts::sin(y));
    if (size > parts::constants<T>::exp_limit)
        return complex<T>(parts::exp_times(size, parts::cos(y), parts::copysign(T(0.5), x)),
                          parts::exp_times(size, parts::sin(y), T(0.5)));
    return complex<T>(parts::sinh(x) * parts::cos(y), parts::cosh(x) * parts::sin(y));
}
template <typename T>
__HIP_FUNCTION complex<T> cosh(const complex<T> &z) {
    namespace parts = complex_parts;
    const T x = z.real(), y = z.imag(), size = parts::fabs(x);
    const T sign = parts::copysign(T(1), x);
    if (y == 0) return complex<T>(parts::cosh(x), sign * y);
    if (!parts::is_finite(y) && parts::is_infinite(x)) return complex<T>(size, parts::constants<T>::nan);
    if (x == 0) return complex<T>(parts::cos(y), parts::is_finite(y) ? x * parts::sin(y) : x);
    if (size > parts::constants<T>::exp_limit)
        return complex<T>(parts::exp_times(size, parts::cos(y), T(0.5)),
                          parts::exp_times(size, parts::sin(y), sign / 2));
    return complex<T>(parts::cosh(x) * parts::cos(y), parts::sinh(x) * parts::sin(y));
}
// W. Kahan, Branch Cuts for Complex Elementary Functions (1987): by the tangent of the angle.
template <typename T>
__HIP_FUNCTION complex<T> tanh(const complex<T> &z) {
    namespace parts = complex_parts;
    const T x = z.real(), y = z.imag(), size = parts::fabs(x);
    if (parts::is_infinite(x))
        return complex<T>(parts::copysign(T(1), x),
                          parts::copysign(T(0), parts::is_finite(y) ? parts::sin(y) * parts::cos(y) : y));
    if (y == 0) return complex<T>(parts::tanh(x), y);
    if (!parts::is_finite(y)) return complex<T>(x == 0 ? x : parts::constants<T>::nan, parts::constants<T>::nan);
    // Beyond, 1 is next to |tanh(x)|, and its distance is of no weight.
    if (size > -parts::log(parts::constants<T>::epsilon) * T(0.625)) {
        const T shrunk = parts::exp(-size);
        return complex<T>(parts::copysign(T(1), x), 4 * parts::sin(y) * parts::cos(y) * shrunk * shrunk);
    }
    const T tangent = parts::tan(y), secant = 1 + tangent * tangent, sine = parts::sinh(x);
    const T cosine = parts::sqrt(1 + sine * sine), bottom = 1 + secant * sine * sine;
    return complex<T>(secant * cosine * sine / bottom, tangent / bottom);
}
// Trigonometric functions of z are hyperbolic ones of iz.
template <typename T>
__HIP_FUNCTION complex<T> sin(const complex<T> &z) {
    const complex<T> w = sinh(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), -w.real());
}
template <typename T>
__HIP_FUNCTION complex<T> cos(const complex<T> &z) {
    return cosh(complex<T>(-z.imag(), z.real()));
}
template <typename T>
__HIP_FUNCTION complex<T> tan(const complex<T> &z) {
    const complex<T> w = tanh(complex<T>(-z.imag(), z.real()));
    return complex<T>(w.imag(), -w.real());
}

template <typename T>
__HIP_FUNCTION complex<T> asin(const complex<T> &z) {
    namespace parts = complex_parts;
    const auto arcs = parts::arcs_of(parts::fabs(z.real()), parts::fabs(z.imag()));
    return complex<T>(parts::copysign(arcs.sine, z.real()), parts::copysign(arcs.imaginary, z.imag()));
}
template <typename T>
__HIP_FUNCTION complex<T> acos(const complex<T> &z) {
    namespace parts = complex_parts;
    const auto arcs = parts::arcs_of(parts::fabs(z.real()), parts::fabs(z.imag()));
    const T angle = __builtin_signbit(z.real()) ? parts::constants<T>::pi - arcs.cosine : arcs.cosine;
    return complex<T>(angle, -parts::copysign(arcs.imaginary, z.imag()));
}
template <typename T>
__HIP_FUNCTION complex<T> asinh(const complex<T> &z) {
    const complex<T> w = asin(complex<T>(z.imag(), z.real()));
    return complex<T>(w.imag(), w.real());
}
template <typename T>
__HIP_FUNCTION complex<T> acosh(const complex<T> &z) {
    namespace parts = complex_parts;
    const complex<T> w = acos(z);
    return complex<T>(parts::fabs(w.imag()), parts::copysign(w.real(), z.imag()));
}
template <typename T>
__HIP_FUNCTION complex<T> atanh(const complex<T> &z) {
    namespace parts = complex_parts;
    using c = parts::constants<T>;
    const T x = parts::fabs(z.real()), y = parts::fabs(z.imag());
    T re, im;
    if (parts::is_nan(x) || parts::is_nan(y)) {
        re = parts::is_infinite(x) || parts::is_infinite(y) || x == 0 ? T(0) : c::nan;
        im = parts::is_infinite(y) ? c::half_pi : c::nan;
    } else if (y == 0 && x <= 1) {
        re = parts::atanh(x), im = 0;
    } else if (x > 1 / c::epsilon || y > 1 / c::epsilon) {
        // The remaining part is 1 / z.
        const int exponent = parts::is_infinite(x) || parts::is_infinite(y) ? 0 : parts::exponent_of(x, y);
        const T a = parts::ldexp(x, -exponent), b = parts::ldexp(y, -exponent);
        re = parts::is_infinite(x) || parts::is_infinite(y) ? T(0) : parts::ldexp(a / (a * a + b * b), -exponent);
        im = c::half_pi;
    } else if (x < c::epsilon && y < c::epsilon) {
        re = x, im = y;
    } else {
        const T below = x - 1, square = y < c::low ? T(0) : y * y;
        re = x == 1 && y < c::epsilon ? (c::ln2 - parts::log(y)) / 2
                                      : parts::log1p(4 * x / (below * below + square)) / 4;
        im = parts::atan2(2 * y, (1 - x) * (1 + x) - square) / 2;
    }
    return complex<T>(parts::copysign(re, z.real()), parts::copysign(im, z.imag()));
}
template <typename T>
__HIP_FUNCTION complex<T> atan(const complex<T> &z) {
    const complex<T> w = atanh(complex<T>(z.imag(), z.real()));
    return complex<T>(w.imag(), w.real());
}

// Writes "(real,imaginary)", on the host.
template <typename T, typename Character, typename Traits>
std::basic_ostream<Character, Traits> &operator<<(std::basic_ostream<Character, Traits> &stream, const complex<T> &z) {
    return stream << std::complex<T>(z);
}
template <typename T, typename Character, typename Traits>
std::basic_istream<Character, Traits> &operator>>(std::basic_istream<Character, Traits> &stream, complex<T> &z) {
    std::complex<T> value;
    stream >> value;
    z = value;
    return stream;
}

} // namespace thrust

#undef __HIP_FUNCTION

#include "hip/device/pop_names.h"
