// C's math functions, CUDA's additions and the fast forms, for the device.
//
// What the compiler turns into instructions is left to it: square roots, rounding, and in float exp, exp2,
// log, log2 and log10. The rest is computed in `float_math.h` (where speed matters) or `double_math.h`. The
// names that begin with two underscores are the hardware's own approximations.
#pragma once

#include "hip/device/math_declarations.h"
#include "hip/device/double_math.h"
#include "hip/device/float_math.h"
#include "hip/device/special_functions.h"

#include <type_traits>

// name(float), name(double) and namef(float).
#define __HIP_UNARY(name, of_float, of_double)                                                                         \
    __device__ static inline float name##f(float x) { return of_float; }                                               \
    __device__ static inline float name(float x) { return of_float; }                                                  \
    __device__ static inline double name(double x) { return of_double; }
#define __HIP_BUILTIN(name) __HIP_UNARY(name, __builtin_##name##f(x), __builtin_##name(x))
#define __HIP_IN_DOUBLE(name) __HIP_UNARY(name, (float)__hip_math::name((double)x), __hip_math::name(x))

__HIP_BUILTIN(ceil)
__HIP_BUILTIN(fabs)
__HIP_BUILTIN(floor)
__HIP_BUILTIN(nearbyint)
__HIP_BUILTIN(rint)
__HIP_BUILTIN(round)
__HIP_BUILTIN(sqrt)
__HIP_BUILTIN(trunc)
__HIP_UNARY(exp, __builtin_expf(x), __hip_math::exp(x))
__HIP_UNARY(exp2, __builtin_exp2f(x), __hip_math::exp2(x))
__HIP_UNARY(log, __builtin_logf(x), __hip_math::log(x))
__HIP_UNARY(log2, __builtin_log2f(x), __hip_math::log2(x))
__HIP_UNARY(log10, __builtin_log10f(x), __hip_math::log10(x))
__HIP_UNARY(expm1, __hip_math::expm1f(x), __hip_math::expm1(x))
__HIP_UNARY(sin, __hip_math::sinf(x), __hip_math::sin(x))
__HIP_UNARY(cos, __hip_math::cosf(x), __hip_math::cos(x))
__HIP_UNARY(tan, __hip_math::tanf(x), __hip_math::tan(x))
__HIP_UNARY(tanh, __hip_math::tanhf(x), __hip_math::tanh(x))
__HIP_UNARY(erf, __hip_math::erff(x), __hip_math::erf(x))
__HIP_IN_DOUBLE(acos)
__HIP_IN_DOUBLE(acosh)
__HIP_IN_DOUBLE(asin)
__HIP_IN_DOUBLE(asinh)
__HIP_IN_DOUBLE(atan)
__HIP_IN_DOUBLE(atanh)
__HIP_IN_DOUBLE(cbrt)
__HIP_IN_DOUBLE(cosh)
__HIP_IN_DOUBLE(erfc)
__HIP_IN_DOUBLE(lgamma)
__HIP_IN_DOUBLE(log1p)
__HIP_IN_DOUBLE(sinh)
__HIP_IN_DOUBLE(tgamma)

// The exponent of x; for 0 and NaN INT_MIN, for infinity INT_MAX, as C's FP_ILOGB0 and FP_ILOGBNAN say.
__device__ static inline int ilogb(double x) {
    if (x == 0 || x != x) return -__INT_MAX__ - 1;
    if (__hip_math::is_inf(x)) return __INT_MAX__;
    int k;
    (void)__builtin_frexp(x, &k);
    return k - 1;
}
__device__ static inline int ilogb(float x) { return ilogb((double)x); }
__device__ static inline int ilogbf(float x) { return ilogb((double)x); }
__device__ static inline double logb(double x) {
    if (x == 0) return -__builtin_inf();
    return __hip_math::is_inf(x) || x != x ? x * x : (double)ilogb(x);
}
__device__ static inline float logb(float x) { return (float)logb((double)x); }
__device__ static inline float logbf(float x) { return (float)logb((double)x); }
#undef __HIP_UNARY
#undef __HIP_BUILTIN
#undef __HIP_IN_DOUBLE

#define __HIP_BINARY(name, of_float, of_double)                                                                        \
    __device__ static inline float name##f(float x, float y) { return of_float; }                                      \
    __device__ static inline float name(float x, float y) { return of_float; }                                         \
    __device__ static inline double name(double x, double y) { return of_double; }
#define __HIP_BUILTIN(name) __HIP_BINARY(name, __builtin_##name##f(x, y), __builtin_##name(x, y))

__HIP_BUILTIN(copysign)
__HIP_BUILTIN(fmax)
__HIP_BUILTIN(fmin)
__HIP_BINARY(atan2, (float)__hip_math::atan2((double)x, (double)y), __hip_math::atan2(x, y))
__HIP_BINARY(fdim, x <= y ? 0 : x - y, x <= y ? 0 : x - y)
__HIP_BINARY(fmod, (float)__hip_math::fmod((double)x, (double)y), __hip_math::fmod(x, y))
__HIP_BINARY(hypot, __hip_math::hypotf(x, y), __hip_math::hypot(x, y))
__HIP_BINARY(pow, __hip_math::powf(x, y), __hip_math::pow(x, y))
#undef __HIP_BINARY
#undef __HIP_BUILTIN

#define __HIP_BINARY(T, suffix, Bits)                                                                                  \
    __device__ static inline T remquo##suffix(T x, T y, int *quotient) {                                               \
        return (T)__hip_math::remquo((double)x, (double)y, quotient);                                                  \
    }                                                                                                                  \
    __device__ static inline T remainder##suffix(T x, T y) {                                                           \
        int quotient;                                                                                                  \
        return remquo##suffix(x, y, &quotient);                                                                        \
    }                                                                                                                  \
    __device__ static inline T nextafter##suffix(T x, T y) {                                                           \
        if (x != x || y != y) return x + y;                                                                            \
        if (x == y) return y;                                                                                          \
        if (x == 0) return __builtin_elementwise_copysign(__builtin_bit_cast(T, (Bits)1), y);                          \
        Bits bits = __builtin_bit_cast(Bits, x);                                                                       \
        return __builtin_bit_cast(T, (Bits)(((x < y) == (x > 0)) ? bits + 1 : bits - 1));                              \
    }
__HIP_BINARY(float, , unsigned)
__HIP_BINARY(float, f, unsigned)
__HIP_BINARY(double, , unsigned long long)
#undef __HIP_BINARY

#define __HIP_TYPED(T, suffix, builtin)                                                                                \
    __device__ static inline T fma##suffix(T x, T y, T z) { return __builtin_fma##builtin(x, y, z); }                  \
    __device__ static inline T ldexp##suffix(T x, int k) { return __builtin_ldexp##builtin(x, k); }                    \
    __device__ static inline T scalbn##suffix(T x, int k) { return __builtin_ldexp##builtin(x, k); }                   \
    __device__ static inline T scalbln##suffix(T x, long k) {                                                          \
        return __builtin_ldexp##builtin(x, k > 100000 ? 100000 : k < -100000 ? -100000 : (int)k);                      \
    }                                                                                                                  \
    __device__ static inline T frexp##suffix(T x, int *k) {                                                            \
        if (x == 0 || x - x != 0) {                                                                                    \
            *k = 0;                                                                                                    \
            return x;                                                                                                  \
        }                                                                                                              \
        return __builtin_frexp##builtin(x, k);                                                                         \
    }                                                                                                                  \
    __device__ static inline T modf##suffix(T x, T *whole) {                                                           \
        *whole = __builtin_trunc##builtin(x);                                                                          \
        return __builtin_copysign##builtin(*whole == x ? T(0) : x - *whole, x);                                        \
    }
__HIP_TYPED(float, , f)
__HIP_TYPED(float, f, f)
__HIP_TYPED(double, , )
#undef __HIP_TYPED
__device__ static inline void sincosf(float x, float *s, float *c) { __hip_math::sincosf(x, s, c); }
__device__ static inline void sincos(float x, float *s, float *c) { __hip_math::sincosf(x, s, c); }
__device__ static inline void sincos(double x, double *s, double *c) { __hip_math::sincos(x, s, c); }

#define __HIP_TO_INTEGER(Integer, name, of)                                                                            \
    __device__ static inline Integer name(float x) { return (Integer)__builtin_##of##f(x); }                           \
    __device__ static inline Integer name(double x) { return (Integer)__builtin_##of(x); }                             \
    __device__ static inline Integer name##f(float x) { return (Integer)__builtin_##of##f(x); }
__HIP_TO_INTEGER(long, lrint, rint)
__HIP_TO_INTEGER(long, lround, round)
__HIP_TO_INTEGER(long long, llrint, rint)
__HIP_TO_INTEGER(long long, llround, round)
#undef __HIP_TO_INTEGER

#define __HIP_CLASSIFY(T, f)                                                                                           \
    __device__ static inline bool isnan(T x) { return __builtin_isnan(x); }                                            \
    __device__ static inline bool isinf(T x) { return __builtin_isinf(x); }                                            \
    __device__ static inline bool isfinite(T x) { return __builtin_isfinite(x); }                                      \
    __device__ static inline bool isnormal(T x) { return __builtin_isnormal(x); }                                      \
    __device__ static inline bool signbit(T x) { return __builtin_signbit(x); }                                        \
    __device__ static inline int __isnan##f(T x) { return __builtin_isnan(x); }                                        \
    __device__ static inline int __isinf##f(T x) { return __builtin_isinf(x); }                                        \
    __device__ static inline int __finite##f(T x) { return __builtin_isfinite(x); }
__HIP_CLASSIFY(float, f)
__HIP_CLASSIFY(double, )
#undef __HIP_CLASSIFY

__device__ static inline int abs(int x) { return x < 0 ? -x : x; }
__device__ static inline long abs(long x) { return x < 0 ? -x : x; }
__device__ static inline long long abs(long long x) { return x < 0 ? -x : x; }
__device__ static inline long labs(long x) { return x < 0 ? -x : x; }
__device__ static inline long long llabs(long long x) { return x < 0 ? -x : x; }
__device__ static inline float abs(float x) { return __builtin_fabsf(x); }
__device__ static inline double abs(double x) { return __builtin_fabs(x); }

// Integers count as double, as in <cmath>; two arguments of different types as the wider.
template <typename T, typename U>
constexpr bool __hip_are_mixed =
    std::is_arithmetic<T>::value && std::is_arithmetic<U>::value && !std::is_same<T, U>::value;
#define __HIP_OF_INTEGER(name)                                                                                         \
    template <typename T, __hip_if<std::is_integral<T>::value> = 0>                                                    \
    __device__ static inline double name(T x) {                                                                        \
        return name((double)x);                                                                                        \
    }
#define __HIP_OF_MIXED(name)                                                                                           \
    template <typename T, typename U, __hip_if<__hip_are_mixed<T, U>> = 0>                                             \
    __device__ static inline double name(T x, U y) {                                                                   \
        return name((double)x, (double)y);                                                                             \
    }                                                                                                                  \
    template <typename T, __hip_if<std::is_integral<T>::value> = 0>                                                    \
    __device__ static inline double name(T x, T y) {                                                                   \
        return name((double)x, (double)y);                                                                             \
    }
__HIP_MATH_UNARY(__HIP_OF_INTEGER)
__HIP_MATH_BINARY(__HIP_OF_MIXED)
#undef __HIP_OF_INTEGER
#undef __HIP_OF_MIXED
namespace std {
// By their names for float too, of which GNU's library has the younger alone.
#define __HIP_USE(name)                                                                                                \
    using ::name;                                                                                                      \
    using ::name##f;
__HIP_MATH_UNARY(__HIP_USE)
__HIP_MATH_BINARY(__HIP_USE)
#undef __HIP_USE
using ::frexpf;
using ::ldexpf;
using ::modff;
} // namespace std

// As the device library calls them, which libraries such as Composable Kernel do by name.
#define __HIP_OCML_UNARY(name)                                                                                         \
    extern "C" __device__ inline float __ocml_##name##_f32(float x) { return name(x); }                                \
    extern "C" __device__ inline double __ocml_##name##_f64(double x) { return name(x); }
#define __HIP_OCML_BINARY(name)                                                                                        \
    extern "C" __device__ inline float __ocml_##name##_f32(float x, float y) { return name(x, y); }                    \
    extern "C" __device__ inline double __ocml_##name##_f64(double x, double y) { return name(x, y); }
__HIP_MATH_UNARY(__HIP_OCML_UNARY)
__HIP_MATH_BINARY(__HIP_OCML_BINARY)
#undef __HIP_OCML_UNARY
#undef __HIP_OCML_BINARY

// The least and greatest, for the types that CUDA has them for.
#define __HIP_EXTREMES(T)                                                                                              \
    __hip_host_device_inline T min(T a, T b) { return b < a ? b : a; }                                                 \
    __hip_host_device_inline T max(T a, T b) { return a < b ? b : a; }
__HIP_EXTREMES(int)
__HIP_EXTREMES(unsigned)
__HIP_EXTREMES(long)
__HIP_EXTREMES(unsigned long)
__HIP_EXTREMES(long long)
__HIP_EXTREMES(unsigned long long)
#undef __HIP_EXTREMES
__hip_host_device_inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
__hip_host_device_inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
__hip_host_device_inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
__hip_host_device_inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
__hip_host_device_inline float min(float a, float b) { return __builtin_fminf(a, b); }
__hip_host_device_inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
__hip_host_device_inline double min(double a, double b) { return __builtin_fmin(a, b); }
__hip_host_device_inline double max(double a, double b) { return __builtin_fmax(a, b); }

// Result type for two types: double if one is floating point, as in HIP, else the type that can hold both.
template <typename T, typename U>
using __hip_either = typename std::conditional<std::is_floating_point<T>::value || std::is_floating_point<U>::value,
                                               double, typename std::common_type<T, U>::type>::type;
template <typename T, typename U, __hip_if<__hip_are_mixed<T, U>> = 0>
__host__ __device__ static inline __hip_either<T, U> min(T a, U b) {
    const __hip_either<T, U> x = a, y = b;
    return min(x, y);
}
template <typename T, typename U, __hip_if<__hip_are_mixed<T, U>> = 0>
__host__ __device__ static inline __hip_either<T, U> max(T a, U b) {
    const __hip_either<T, U> x = a, y = b;
    return max(x, y);
}

// For any other type that can be compared.
template <typename T>
__device__ static inline T min(T a, T b) {
    return a < b ? a : b;
}
template <typename T>
__device__ static inline T max(T a, T b) {
    return a > b ? a : b;
}

__device__ static inline float powif(float x, int n) { return powf(x, (float)n); }
__device__ static inline double powi(double x, int n) { return pow(x, (double)n); }
__device__ static inline float nanf(const char *) { return __builtin_nanf(""); }
__device__ static inline double nan(const char *) { return __builtin_nan(""); }
template <typename T, __hip_if<std::is_integral<T>::value> = 0>
__device__ static inline bool isnan(T) {
    return false;
}
template <typename T, __hip_if<std::is_integral<T>::value> = 0>
__device__ static inline bool isinf(T) {
    return false;
}
template <typename T, __hip_if<std::is_integral<T>::value> = 0>
__device__ static inline bool isfinite(T) {
    return true;
}

// CUDA's additions.
__device__ static inline float exp10f(float x) { return (float)__hip_math::exp10((double)x); }
__device__ static inline double exp10(double x) { return __hip_math::exp10(x); }
__device__ static inline float rsqrtf(float x) {
    // v_rsq_f32 treats a subnormal as zero, so it is scaled by an even power of two.
    bool small = x < 0x1p-126f;
    float y = __builtin_amdgcn_rsqf(small ? x * 0x1p24f : x);
    return small ? y * 0x1p12f : y;
}
__device__ static inline float rsqrt(float x) { return rsqrtf(x); }
__device__ static inline double rsqrt(double x) {
    double y = __builtin_amdgcn_rsq(x);
    if (x == 0 || x == __builtin_inf() || x != x) return y;
    // One step of Newton's method takes the instruction's estimate to full precision.
    double e = __builtin_fma(-y * x, y, 1.0);
    return __builtin_fma(y * e, __builtin_fma(0.375, e, 0.5), y);
}
__device__ static inline float rcbrtf(float x) { return 1 / cbrtf(x); }
__device__ static inline double rcbrt(double x) { return 1 / __hip_math::cbrt(x); }
__device__ static inline void sincospi(double x, double *s, double *c) { __hip_math::sincospi(x, s, c); }
__device__ static inline void sincospif(float x, float *s, float *c) {
    double sine, cosine;
    __hip_math::sincospi((double)x, &sine, &cosine);
    *s = (float)sine;
    *c = (float)cosine;
}
__device__ static inline double sinpi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return s;
}
__device__ static inline double cospi(double x) {
    double s, c;
    sincospi(x, &s, &c);
    return c;
}
__device__ static inline float sinpif(float x) { return (float)sinpi((double)x); }
__device__ static inline float cospif(float x) { return (float)cospi((double)x); }
#define __HIP_SPECIAL(name)                                                                                            \
    __device__ static inline double name(double x) { return __hip_math::name(x); }                                     \
    __device__ static inline float name##f(float x) { return (float)__hip_math::name((double)x); }
__HIP_SPECIAL(erfinv)
__HIP_SPECIAL(erfcinv)
__HIP_SPECIAL(normcdfinv)
__HIP_SPECIAL(normcdf)
__HIP_SPECIAL(erfcx)
__HIP_SPECIAL(cyl_bessel_i0)
__HIP_SPECIAL(cyl_bessel_i1)
__HIP_SPECIAL(j0)
__HIP_SPECIAL(j1)
__HIP_SPECIAL(y0)
__HIP_SPECIAL(y1)
#undef __HIP_SPECIAL
__device__ static inline double jn(int n, double x) { return __hip_math::jn(n, x); }
__device__ static inline float jnf(int n, float x) { return (float)__hip_math::jn(n, (double)x); }
__device__ static inline double yn(int n, double x) { return __hip_math::yn(n, x); }
__device__ static inline float ynf(int n, float x) { return (float)__hip_math::yn(n, (double)x); }
__device__ static inline float rhypotf(float x, float y) {
    return (float)(1 / __hip_math::hypot((double)x, (double)y));
}
__device__ static inline double rhypot(double x, double y) { return 1 / __hip_math::hypot(x, y); }
__device__ static inline float norm3df(float x, float y, float z) {
    return (float)__hip_math::hypot(__hip_math::hypot((double)x, (double)y), (double)z);
}
__device__ static inline float norm4df(float x, float y, float z, float w) {
    return (float)__hip_math::hypot(__hip_math::hypot((double)x, (double)y), __hip_math::hypot((double)z, (double)w));
}
__device__ static inline double norm3d(double x, double y, double z) {
    return __hip_math::hypot(__hip_math::hypot(x, y), z);
}
__device__ static inline double norm4d(double x, double y, double z, double w) {
    return __hip_math::hypot(__hip_math::hypot(x, y), __hip_math::hypot(z, w));
}
__device__ static inline double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
__device__ static inline double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
// The length of a vector of any dimension, scaled by its largest element so that no square overflows.
__device__ static inline double norm(int dimension, const double *x) {
    double largest = 0, sum = 0;
    for (int i = 0; i < dimension; ++i) {
        if (__hip_math::is_inf(x[i])) return __builtin_inf();
        largest = x[i] != x[i] ? x[i] : __builtin_fmax(largest, __builtin_fabs(x[i]));
    }
    if (largest == 0 || largest != largest) return largest;
    int exponent;
    __builtin_frexp(largest, &exponent);
    for (int i = 0; i < dimension; ++i) {
        const double part = __builtin_ldexp(x[i], -exponent);
        sum = __builtin_fma(part, part, sum);
    }
    return __builtin_ldexp(__builtin_sqrt(sum), exponent);
}
__device__ static inline double rnorm(int dimension, const double *x) { return 1 / norm(dimension, x); }
// The squares of floats are computed in double.
__device__ static inline float normf(int dimension, const float *x) {
    double sum = 0;
    bool infinite = false;
    for (int i = 0; i < dimension; ++i) {
        infinite = infinite || __builtin_fabsf(x[i]) == __builtin_inff();
        sum = __builtin_fma((double)x[i], (double)x[i], sum);
    }
    return infinite ? __builtin_inff() : (float)__builtin_sqrt(sum);
}
__device__ static inline float rnormf(int dimension, const float *x) { return 1 / normf(dimension, x); }
__device__ static inline float rnorm3df(float x, float y, float z) { return 1 / norm3df(x, y, z); }
__device__ static inline float rnorm4df(float x, float y, float z, float w) { return 1 / norm4df(x, y, z, w); }
__device__ static inline float fdividef(float x, float y) { return x / y; }
__device__ static inline float __saturatef(float x) { return __builtin_amdgcn_fmed3f(x, 0.0f, 1.0f); }

// The fast forms: one or two instructions, subnormals may be lost, arguments of __sinf and __cosf are best
// within a few turns.
__hip_device_inline float __expf(float x) { return __builtin_amdgcn_exp2f(x * 0x1.715476p+0f); }
__hip_device_inline float __exp10f(float x) { return __builtin_amdgcn_exp2f(x * 0x1.a934f0p+1f); }
__hip_device_inline float __log2f(float x) { return __builtin_amdgcn_logf(x); }
__hip_device_inline float __logf(float x) { return __builtin_amdgcn_logf(x) * 0x1.62e430p-1f; }
__hip_device_inline float __log10f(float x) { return __builtin_amdgcn_logf(x) * 0x1.344136p-2f; }
// v_sin_f32 and v_cos_f32 count in turns.
__hip_device_inline float __sinf(float x) { return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f)); }
__hip_device_inline float __cosf(float x) { return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f)); }
__hip_device_inline float __tanf(float x) { return __sinf(x) * __builtin_amdgcn_rcpf(__cosf(x)); }
__hip_device_inline void __sincosf(float x, float *s, float *c) {
    *s = __sinf(x);
    *c = __cosf(x);
}
__hip_device_inline float __powf(float x, float y) { return __builtin_amdgcn_exp2f(y * __builtin_amdgcn_logf(x)); }
__hip_device_inline float __fdividef(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }

// Arithmetic that is rounded to nearest whatever flags say, and never fused.
#define __HIP_ROUNDED(T, f, d)                                                                                         \
    __hip_device_inline T __##f##add_rn(T a, T b) { _Pragma("clang fp contract(off)") return a + b; }                  \
    __hip_device_inline T __##f##sub_rn(T a, T b) { _Pragma("clang fp contract(off)") return a - b; }                  \
    __hip_device_inline T __##f##mul_rn(T a, T b) { _Pragma("clang fp contract(off)") return a * b; }                  \
    __hip_device_inline T __##f##div_rn(T a, T b) { return a / b; }                                                    \
    __hip_device_inline T __##f##rcp_rn(T a) { return 1 / a; }                                                         \
    __hip_device_inline T __##f##sqrt_rn(T a) { return __builtin_sqrt##d(a); }
__HIP_ROUNDED(float, f, f)
__HIP_ROUNDED(double, d, )
#undef __HIP_ROUNDED
__hip_device_inline float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
__hip_device_inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__hip_device_inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
