// Products and quotients of C's complex numbers, and std::complex's, which the compiler calls by these names.
//
// As annex G of C has them: where the formula gives two NaN but an operand is infinite, so is the result.
#pragma once

#include "hip/device/attributes.h"

namespace __hip_complex {

template <typename T>
struct parts {
    T real, imaginary;
};

template <typename T>
__device__ inline bool is_infinite(T x) {
    return __builtin_isinf(x);
}
template <typename T>
__device__ inline bool is_nan(T x) {
    return x != x;
}
template <typename T>
__device__ inline T sign_of(T size, T x) {
    return __builtin_signbit(x) ? -size : size;
}
// An infinite number's direction: 1 where a part is infinite, else 0.
template <typename T>
__device__ inline void make_direction(T &a, T &b) {
    a = sign_of(T(is_infinite(a)), a);
    b = sign_of(T(is_infinite(b)), b);
}
template <typename T>
__device__ inline void make_zero_of_nan(T &a) {
    if (is_nan(a)) a = sign_of(T(0), a);
}

template <typename T>
__device__ inline parts<T> product(T a, T b, T c, T d) {
    const T ac = a * c, bd = b * d, ad = a * d, bc = b * c;
    parts<T> result{ac - bd, ad + bc};
    if (!is_nan(result.real) || !is_nan(result.imaginary)) return result;
    bool infinite = false;
    if (is_infinite(a) || is_infinite(b)) {
        make_direction(a, b);
        make_zero_of_nan(c);
        make_zero_of_nan(d);
        infinite = true;
    }
    if (is_infinite(c) || is_infinite(d)) {
        make_direction(c, d);
        make_zero_of_nan(a);
        make_zero_of_nan(b);
        infinite = true;
    }
    if (!infinite && (is_infinite(ac) || is_infinite(bd) || is_infinite(ad) || is_infinite(bc))) {
        make_zero_of_nan(a);
        make_zero_of_nan(b);
        make_zero_of_nan(c);
        make_zero_of_nan(d);
        infinite = true;
    }
    if (infinite) result = {T(__builtin_inf()) * (a * c - b * d), T(__builtin_inf()) * (a * d + b * c)};
    return result;
}

// The divisor is scaled by a power of two, so that its square neither overflows nor vanishes.
template <typename T>
__device__ inline parts<T> quotient(T a, T b, T c, T d) {
    const T larger = __builtin_elementwise_max(__builtin_elementwise_abs(c), __builtin_elementwise_abs(d));
    int exponent = 0;
    const bool scaled = larger > 0 && !is_infinite(larger);
    if (scaled) __builtin_frexp(static_cast<double>(larger), &exponent);
    const T x = scaled ? T(__builtin_ldexp(static_cast<double>(c), -exponent)) : c;
    const T y = scaled ? T(__builtin_ldexp(static_cast<double>(d), -exponent)) : d;
    const T square = x * x + y * y;
    const T power = T(__builtin_ldexp(1.0, -exponent / 2)), rest = T(__builtin_ldexp(1.0, -exponent - -exponent / 2));
    parts<T> result{(a * x + b * y) / square * power * rest, (b * x - a * y) / square * power * rest};
    if (!is_nan(result.real) || !is_nan(result.imaginary)) return result;
    if (square == 0 && (!is_nan(a) || !is_nan(b))) {
        const T infinity = sign_of(T(__builtin_inf()), c);
        result = {infinity * a, infinity * b};
    } else if ((is_infinite(a) || is_infinite(b)) && !is_infinite(c) && !is_infinite(d) && !is_nan(c) && !is_nan(d)) {
        make_direction(a, b);
        result = {T(__builtin_inf()) * (a * c + b * d), T(__builtin_inf()) * (b * c - a * d)};
    } else if (is_infinite(larger) && !is_infinite(a) && !is_infinite(b) && !is_nan(a) && !is_nan(b)) {
        make_direction(c, d);
        result = {T(0) * (a * c + b * d), T(0) * (b * c - a * d)};
    }
    return result;
}

} // namespace __hip_complex

extern "C" {
__device__ inline float _Complex __mulsc3(float a, float b, float c, float d) {
    const __hip_complex::parts<float> result = __hip_complex::product(a, b, c, d);
    return __builtin_complex(result.real, result.imaginary);
}
__device__ inline double _Complex __muldc3(double a, double b, double c, double d) {
    const __hip_complex::parts<double> result = __hip_complex::product(a, b, c, d);
    return __builtin_complex(result.real, result.imaginary);
}
__device__ inline float _Complex __divsc3(float a, float b, float c, float d) {
    const __hip_complex::parts<float> result = __hip_complex::quotient(a, b, c, d);
    return __builtin_complex(result.real, result.imaginary);
}
__device__ inline double _Complex __divdc3(double a, double b, double c, double d) {
    const __hip_complex::parts<double> result = __hip_complex::quotient(a, b, c, d);
    return __builtin_complex(result.real, result.imaginary);
}
}
