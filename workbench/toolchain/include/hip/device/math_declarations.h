// The device forms of C's math functions, declared before <cmath> is read.
//
// Clang accepts a device function beside a host function of the same name. The device function must come first:
// otherwise a constexpr function of the standard library counts as both.
#pragma once

#include "hip/device/attributes.h"

#define __HIP_MATH_UNARY(M)                                                                                            \
    M(acos)                                                                                                            \
    M(acosh)                                                                                                           \
    M(asin)                                                                                                            \
    M(asinh)                                                                                                           \
    M(atan)                                                                                                            \
    M(atanh)                                                                                                           \
    M(cbrt)                                                                                                            \
    M(ceil)                                                                                                            \
    M(cos)                                                                                                             \
    M(cosh)                                                                                                            \
    M(erf)                                                                                                             \
    M(erfc)                                                                                                            \
    M(exp)                                                                                                             \
    M(exp2)                                                                                                            \
    M(expm1)                                                                                                           \
    M(fabs)                                                                                                            \
    M(floor)                                                                                                           \
    M(lgamma)                                                                                                          \
    M(log)                                                                                                             \
    M(log10)                                                                                                           \
    M(log1p)                                                                                                           \
    M(log2)                                                                                                            \
    M(logb)                                                                                                            \
    M(nearbyint)                                                                                                       \
    M(rint)                                                                                                            \
    M(round)                                                                                                           \
    M(sin)                                                                                                             \
    M(sinh)                                                                                                            \
    M(sqrt)                                                                                                            \
    M(tan)                                                                                                             \
    M(tanh)                                                                                                            \
    M(tgamma)                                                                                                          \
    M(trunc)
#define __HIP_MATH_BINARY(M)                                                                                           \
    M(atan2)                                                                                                           \
    M(copysign)                                                                                                        \
    M(fdim)                                                                                                            \
    M(fmax)                                                                                                            \
    M(fmin)                                                                                                            \
    M(fmod)                                                                                                            \
    M(hypot)                                                                                                           \
    M(nextafter)                                                                                                       \
    M(pow)                                                                                                             \
    M(remainder)

#define __HIP_DECLARE(name)                                                                                            \
    __device__ static inline float name(float);                                                                        \
    __device__ static inline double name(double);                                                                      \
    __device__ static inline float name##f(float);
__HIP_MATH_UNARY(__HIP_DECLARE)
#undef __HIP_DECLARE
#define __HIP_DECLARE(name)                                                                                            \
    __device__ static inline float name(float, float);                                                                 \
    __device__ static inline double name(double, double);                                                              \
    __device__ static inline float name##f(float, float);
__HIP_MATH_BINARY(__HIP_DECLARE)
#undef __HIP_DECLARE

#define __HIP_DECLARE(result, name, ...)                                                                               \
    __device__ static inline result name(float __VA_OPT__(, ) __VA_ARGS__);                                            \
    __device__ static inline result name(double __VA_OPT__(, ) __VA_ARGS__);
__HIP_DECLARE(int, ilogb)
__HIP_DECLARE(long, lrint)
__HIP_DECLARE(long, lround)
__HIP_DECLARE(long long, llrint)
__HIP_DECLARE(long long, llround)
__HIP_DECLARE(bool, isnan)
__HIP_DECLARE(bool, isinf)
__HIP_DECLARE(bool, isfinite)
__HIP_DECLARE(bool, isnormal)
__HIP_DECLARE(bool, signbit)
#undef __HIP_DECLARE
__device__ static inline int ilogbf(float);
__device__ static inline long lrintf(float);
__device__ static inline long lroundf(float);
__device__ static inline long long llrintf(float);
__device__ static inline long long llroundf(float);
#define __HIP_DECLARE(T, suffix)                                                                                       \
    __device__ static inline T fma##suffix(T, T, T);                                                                   \
    __device__ static inline T frexp##suffix(T, int *);                                                                \
    __device__ static inline T ldexp##suffix(T, int);                                                                  \
    __device__ static inline T scalbn##suffix(T, int);                                                                 \
    __device__ static inline T scalbln##suffix(T, long);                                                               \
    __device__ static inline T modf##suffix(T, T *);                                                                   \
    __device__ static inline T remquo##suffix(T, T, int *);                                                            \
    __device__ static inline void sincos##suffix(T, T *, T *);
__HIP_DECLARE(float, )
__HIP_DECLARE(double, )
__HIP_DECLARE(float, f)
#undef __HIP_DECLARE
#define __HIP_DECLARE(T, suffix)                                                                                       \
    __device__ static inline T j0##suffix(T);                                                                          \
    __device__ static inline T j1##suffix(T);                                                                          \
    __device__ static inline T jn##suffix(int, T);                                                                     \
    __device__ static inline T y0##suffix(T);                                                                          \
    __device__ static inline T y1##suffix(T);                                                                          \
    __device__ static inline T yn##suffix(int, T);
__HIP_DECLARE(double, )
__HIP_DECLARE(float, f)
#undef __HIP_DECLARE
__device__ static inline int abs(int);
__device__ static inline long abs(long);
__device__ static inline long long abs(long long);
__device__ static inline float abs(float);
__device__ static inline double abs(double);
__device__ static inline long labs(long);
__device__ static inline long long llabs(long long);

namespace std {
#define __HIP_USE(name) using ::name;
__HIP_MATH_UNARY(__HIP_USE)
__HIP_MATH_BINARY(__HIP_USE)
#undef __HIP_USE
using ::abs;
using ::fma;
using ::frexp;
using ::ilogb;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::isnormal;
using ::ldexp;
using ::llrint;
using ::llround;
using ::lrint;
using ::lround;
using ::modf;
using ::remquo;
using ::scalbln;
using ::scalbn;
using ::signbit;
} // namespace std
