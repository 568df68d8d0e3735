// Conversions between numbers and their bits, and between integers and floating point with explicit rounding.
//
// _rn rounds to nearest even, _rz towards zero, _ru up, _rd down. A float that an integer cannot hold gives
// the nearest integer that it can, NaN gives 0, as the hardware converts.
#pragma once

#include "hip/device/attributes.h"

#include <type_traits>

__hip_device_inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__hip_device_inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__hip_device_inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__hip_device_inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__hip_device_inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__hip_device_inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__hip_device_inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__hip_device_inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
__hip_device_inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

template <typename Integer, typename Float>
__device__ inline __attribute__((always_inline)) Integer __hip_saturated(Float x) {
    constexpr bool is_signed = Integer(-1) < Integer(0);
    constexpr int bits = 8 * sizeof(Integer);
    constexpr Integer highest = is_signed ? Integer(~0ull >> (65 - bits)) : Integer(~0ull >> (64 - bits));
    constexpr Integer lowest = is_signed ? Integer(-highest - 1) : Integer(0);
    constexpr Float above = Float(1ull << (bits - 1 - is_signed)) * 2;
    if (x != x) return 0;
    if (x >= above) return highest;
    if (x <= Float(lowest)) return lowest;
    return (Integer)x;
}

#define __HIP_FLOAT_TO_INTEGER(from, From, to, To)                                                                     \
    __hip_device_inline To __##from##2##to##_rn(From x) {                                                              \
        return __hip_saturated<To>(__builtin_elementwise_roundeven(x));                                                \
    }                                                                                                                  \
    __hip_device_inline To __##from##2##to##_rz(From x) {                                                              \
        return __hip_saturated<To>(__builtin_elementwise_trunc(x));                                                    \
    }                                                                                                                  \
    __hip_device_inline To __##from##2##to##_ru(From x) { return __hip_saturated<To>(__builtin_elementwise_ceil(x)); } \
    __hip_device_inline To __##from##2##to##_rd(From x) { return __hip_saturated<To>(__builtin_elementwise_floor(x)); }
__HIP_FLOAT_TO_INTEGER(float, float, int, int)
__HIP_FLOAT_TO_INTEGER(float, float, uint, unsigned)
__HIP_FLOAT_TO_INTEGER(float, float, ll, long long)
__HIP_FLOAT_TO_INTEGER(float, float, ull, unsigned long long)
__HIP_FLOAT_TO_INTEGER(double, double, int, int)
__HIP_FLOAT_TO_INTEGER(double, double, uint, unsigned)
__HIP_FLOAT_TO_INTEGER(double, double, ll, long long)
__HIP_FLOAT_TO_INTEGER(double, double, ull, unsigned long long)
#undef __HIP_FLOAT_TO_INTEGER

// The float next to x, which is not infinite on that side.
template <typename Float>
__device__ inline __attribute__((always_inline)) Float __hip_next(Float x, bool up) {
    using Bits = typename std::conditional<sizeof(Float) == 4, unsigned, unsigned long long>::type;
    const Bits sign = Bits(1) << (8 * sizeof(Bits) - 1), bits = __builtin_bit_cast(Bits, x);
    if ((bits & ~sign) == 0) return __builtin_bit_cast(Float, Bits(up ? 1 : sign | 1));
    return __builtin_bit_cast(Float, Bits(up == ((bits & sign) == 0) ? bits + 1 : bits - 1));
}
// x as a Float rounded to the requested side. `compare` is negative where a Float is below x, positive where above.
template <typename Float, typename T, typename Compare>
__device__ inline __attribute__((always_inline)) Float __hip_directed(T x, bool up, Compare compare) {
    const Float nearest = (Float)x;
    const int order = compare(nearest);
    if (up ? order < 0 : order > 0) return __hip_next(nearest, up);
    return nearest;
}
template <typename Float, typename T>
__device__ inline __attribute__((always_inline)) Float __hip_directed(T x, bool up) {
    return __hip_directed<Float>(x, up, [x](Float nearest) -> int {
        if constexpr (std::is_integral<T>::value) {
            // A value that rounds up to a power of two outside the type is above every value of it.
            if (nearest >= Float(T(1) << (8 * sizeof(T) - 2)) * (std::is_signed<T>::value ? 2 : 4)) return 1;
            const T back = (T)nearest;
            return back < x ? -1 : back > x;
        } else
            return nearest < x ? -1 : nearest > x;
    });
}

#define __HIP_TO_FLOAT(from, From, to, To)                                                                             \
    __hip_device_inline To __##from##2##to##_rn(From x) { return (To)x; }                                              \
    __hip_device_inline To __##from##2##to##_rz(From x) { return __hip_directed<To>(x, x < 0); }                       \
    __hip_device_inline To __##from##2##to##_ru(From x) { return __hip_directed<To>(x, true); }                        \
    __hip_device_inline To __##from##2##to##_rd(From x) { return __hip_directed<To>(x, false); }
__HIP_TO_FLOAT(int, int, float, float)
__HIP_TO_FLOAT(uint, unsigned, float, float)
__HIP_TO_FLOAT(ll, long long, float, float)
__HIP_TO_FLOAT(ull, unsigned long long, float, float)
__HIP_TO_FLOAT(ll, long long, double, double)
__HIP_TO_FLOAT(ull, unsigned long long, double, double)
__HIP_TO_FLOAT(double, double, float, float)
#undef __HIP_TO_FLOAT
__hip_device_inline double __int2double_rn(int x) { return (double)x; }
__hip_device_inline double __uint2double_rn(unsigned x) { return (double)x; }
