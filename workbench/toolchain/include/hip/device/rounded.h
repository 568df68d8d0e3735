// Arithmetic rounded up, down and toward zero: the intrinsics that end in _ru, _rd and _rz.
//
// MODE has float's rounding in bits 1:0 and double's in bits 3:2 (CDNA3 and CDNA4 ISA guides, "MODE register"). An
// operation sets both and goes back to the nearest in one piece of assembly, so no other instruction comes between.
//
// Declared on request, as by clang's own header.
#pragma once

#include "hip/device/math.h"

#if defined(OCML_BASIC_ROUNDED_OPERATIONS)

namespace __hip_math {

enum rounding { upward = 1, downward = 2, to_zero = 3 };

// `z`, the result of an instruction. Two s_setreg of the same register need two wait states between them.
#define __HIP_ROUNDED(instruction, ...)                                                                                \
    asm("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), %[mode]\n\t" instruction                                         \
        "\n\ts_nop 0\n\ts_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0"                                                \
        : [z] "=v"(z)                                                                                                  \
        : [mode] "n"(how * 5), __VA_ARGS__)
#define __HIP_ROUNDED_TYPE(T, suffix)                                                                                  \
    template <rounding how>                                                                                            \
    __device__ inline T rounded_sum(T x, T y) {                                                                        \
        T z;                                                                                                           \
        __HIP_ROUNDED("v_add_" suffix " %[z], %[x], %[y]", [x] "v"(x), [y] "v"(y));                                    \
        return z;                                                                                                      \
    }                                                                                                                  \
    template <rounding how>                                                                                            \
    __device__ inline T rounded_product(T x, T y) {                                                                    \
        T z;                                                                                                           \
        __HIP_ROUNDED("v_mul_" suffix " %[z], %[x], %[y]", [x] "v"(x), [y] "v"(y));                                    \
        return z;                                                                                                      \
    }                                                                                                                  \
    template <rounding how>                                                                                            \
    __device__ inline T rounded_fma(T x, T y, T a) {                                                                   \
        T z;                                                                                                           \
        __HIP_ROUNDED("v_fma_" suffix " %[z], %[x], %[y], %[a]", [x] "v"(x), [y] "v"(y), [a] "v"(a));                  \
        return z;                                                                                                      \
    }
__HIP_ROUNDED_TYPE(float, "f32")
__HIP_ROUNDED_TYPE(double, "f64")
#undef __HIP_ROUNDED_TYPE

// Quotients and roots of floats in double are right to 53 bits, and no nearer than 2^-50 to a float that they are not.
template <rounding how>
__device__ inline float rounded_float(double x) {
    float z;
    __HIP_ROUNDED("v_cvt_f32_f64 %[z], %[x]", [x] "v"(x));
    return z;
}
#undef __HIP_ROUNDED

// A value above, below or equal to the double nearest to it, by the sign of `rest`.
template <rounding how>
__device__ inline double rounded_nearest(double nearest, double rest) {
    const bool is_less = rest < 0, is_negative = nearest < 0;
    if (rest == 0) return nearest;
    if (how == upward || (how == to_zero && is_negative))
        return is_less ? nearest : nextafter(nearest, __builtin_inf());
    return is_less ? nextafter(nearest, -__builtin_inf()) : nearest;
}

template <rounding how>
__device__ inline double rounded_quotient(double x, double y) {
    int above, below;
    const double a = frexp(x, &above), b = frexp(y, &below);
    const double nearest = a / b;
    if (x == 0 || y == 0 || x - x != 0 || y - y != 0) return x / y;
    const double rest = __builtin_fma(-nearest, b, a);
    // A denormal or infinite result is rounded again in the same direction, which does not change it.
    int exponent = above - below;
    exponent = exponent > 1200 ? 1200 : exponent < -1200 ? -1200 : exponent;
    const double half = __builtin_ldexp(rounded_nearest<how>(nearest, b < 0 ? -rest : rest), exponent / 2);
    return rounded_product<how>(half, __builtin_ldexp(1.0, exponent - exponent / 2));
}

template <rounding how>
__device__ inline double rounded_root(double x) {
    if (!(x > 0) || x == __builtin_inf()) return sqrt(x);
    int exponent;
    double a = frexp(x, &exponent);
    if (exponent & 1) {
        a *= 2;
        exponent--;
    }
    const double nearest = sqrt(a);
    return __builtin_ldexp(rounded_nearest<how>(nearest, __builtin_fma(-nearest, nearest, a)), exponent / 2);
}

} // namespace __hip_math

#define __HIP_ROUNDINGS(suffix, how)                                                                                   \
    __device__ static inline float __fadd_##suffix(float x, float y) { return __hip_math::rounded_sum<how>(x, y); }    \
    __device__ static inline float __fsub_##suffix(float x, float y) { return __hip_math::rounded_sum<how>(x, -y); }   \
    __device__ static inline float __fmul_##suffix(float x, float y) {                                                 \
        return __hip_math::rounded_product<how>(x, y);                                                                 \
    }                                                                                                                  \
    __device__ static inline float __fmaf_##suffix(float x, float y, float z) {                                        \
        return __hip_math::rounded_fma<how>(x, y, z);                                                                  \
    }                                                                                                                  \
    __device__ static inline float __fdiv_##suffix(float x, float y) {                                                 \
        return __hip_math::rounded_float<how>((double)x / (double)y);                                                  \
    }                                                                                                                  \
    __device__ static inline float __frcp_##suffix(float x) { return __hip_math::rounded_float<how>(1 / (double)x); }  \
    __device__ static inline float __fsqrt_##suffix(float x) {                                                         \
        return __hip_math::rounded_float<how>(sqrt((double)x));                                                        \
    }                                                                                                                  \
    __device__ static inline double __dadd_##suffix(double x, double y) { return __hip_math::rounded_sum<how>(x, y); } \
    __device__ static inline double __dsub_##suffix(double x, double y) {                                              \
        return __hip_math::rounded_sum<how>(x, -y);                                                                    \
    }                                                                                                                  \
    __device__ static inline double __dmul_##suffix(double x, double y) {                                              \
        return __hip_math::rounded_product<how>(x, y);                                                                 \
    }                                                                                                                  \
    __device__ static inline double __fma_##suffix(double x, double y, double z) {                                     \
        return __hip_math::rounded_fma<how>(x, y, z);                                                                  \
    }                                                                                                                  \
    __device__ static inline double __ddiv_##suffix(double x, double y) {                                              \
        return __hip_math::rounded_quotient<how>(x, y);                                                                \
    }                                                                                                                  \
    __device__ static inline double __drcp_##suffix(double x) { return __hip_math::rounded_quotient<how>(1, x); }      \
    __device__ static inline double __dsqrt_##suffix(double x) { return __hip_math::rounded_root<how>(x); }
__HIP_ROUNDINGS(ru, __hip_math::upward)
__HIP_ROUNDINGS(rd, __hip_math::downward)
__HIP_ROUNDINGS(rz, __hip_math::to_zero)
#undef __HIP_ROUNDINGS
#endif
