// Complex numbers as pairs of floats or doubles: x is the real part, y the imaginary.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_COMPLEX_H
#define HIP_INCLUDE_HIP_HIP_COMPLEX_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COMPLEX_H

#include "hip/device/push_names.h"

#include "hip/hip_vector_types.h"

typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;

#define __HIP_FUNCTION __host__ __device__ static inline

// Division and modulus scale by a power of two, so that the squares neither overflow nor vanish.
#define __HIP_COMPLEX(T, Complex, make, real, imaginary, conjugate, square, add, subtract, multiply, divide, modulus,  \
                      fused, suffix)                                                                                   \
    __HIP_FUNCTION Complex make(T a, T b) { return Complex{a, b}; }                                                    \
    __HIP_FUNCTION T real(Complex z) { return z.x; }                                                                   \
    __HIP_FUNCTION T imaginary(Complex z) { return z.y; }                                                              \
    __HIP_FUNCTION Complex conjugate(Complex z) { return Complex{z.x, -z.y}; }                                         \
    __HIP_FUNCTION T square(Complex z) { return z.x * z.x + z.y * z.y; }                                               \
    __HIP_FUNCTION Complex add(Complex p, Complex q) { return Complex{p.x + q.x, p.y + q.y}; }                         \
    __HIP_FUNCTION Complex subtract(Complex p, Complex q) { return Complex{p.x - q.x, p.y - q.y}; }                    \
    __HIP_FUNCTION Complex multiply(Complex p, Complex q) {                                                            \
        return Complex{p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y};                                                  \
    }                                                                                                                  \
    __HIP_FUNCTION Complex fused(Complex p, Complex q, Complex r) {                                                    \
        return Complex{p.x * q.x + r.x - p.y * q.y, q.x * p.y + r.y + p.x * q.y};                                      \
    }                                                                                                                  \
    __HIP_FUNCTION Complex divide(Complex p, Complex q) {                                                              \
        int exponent = 0;                                                                                              \
        __builtin_frexp##suffix(__builtin_fmax##suffix(__builtin_fabs##suffix(q.x), __builtin_fabs##suffix(q.y)),      \
                                &exponent);                                                                            \
        const T c = __builtin_ldexp##suffix(q.x, -exponent), d = __builtin_ldexp##suffix(q.y, -exponent);              \
        const T scale = c * c + d * d;                                                                                 \
        return Complex{__builtin_ldexp##suffix((p.x * c + p.y * d) / scale, -exponent),                                \
                       __builtin_ldexp##suffix((p.y * c - p.x * d) / scale, -exponent)};                               \
    }                                                                                                                  \
    __HIP_FUNCTION T modulus(Complex z) {                                                                              \
        const T a = __builtin_fabs##suffix(z.x), b = __builtin_fabs##suffix(z.y);                                      \
        const T large = a < b ? b : a, small = a < b ? a : b;                                                          \
        if (large == 0 || large == __builtin_inf##suffix()) return large;                                              \
        const T ratio = small / large;                                                                                 \
        return large * __builtin_sqrt##suffix(1 + ratio * ratio);                                                      \
    }
__HIP_COMPLEX(float, hipFloatComplex, make_hipFloatComplex, hipCrealf, hipCimagf, hipConjf, hipCsqabsf, hipCaddf,
              hipCsubf, hipCmulf, hipCdivf, hipCabsf, hipCfmaf, f)
__HIP_COMPLEX(double, hipDoubleComplex, make_hipDoubleComplex, hipCreal, hipCimag, hipConj, hipCsqabs, hipCadd, hipCsub,
              hipCmul, hipCdiv, hipCabs, hipCfma, )
#undef __HIP_COMPLEX

__HIP_FUNCTION hipComplex make_hipComplex(float x, float y) { return hipComplex{x, y}; }
__HIP_FUNCTION hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
    return hipFloatComplex{static_cast<float>(z.x), static_cast<float>(z.y)};
}
__HIP_FUNCTION hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) {
    return hipDoubleComplex{static_cast<double>(z.x), static_cast<double>(z.y)};
}

#undef __HIP_FUNCTION

#include "hip/device/pop_names.h"

#endif
