// Elementary functions in single precision that kernels call in their inner loops.
//
// Arguments are reduced in double precision, where one operation does what float needs several for, and the
// series are summed in float. Errors are in units of the last place (ulp), as the tests measure them.
#pragma once

#include "hip/device/double_math.h"

namespace __hip_math {

#define __HIP_FUNCTION __host__ __device__ static inline

__HIP_FUNCTION float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

template <int N>
__HIP_FUNCTION float polynomial(float x, const float (&c)[N]) {
    float result = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; --i) result = fmaf(result, x, c[i]);
    return result;
}

struct reduced_angle_float {
    float r;
    int quadrant;
};

// x = quadrant * pi/2 + r.
__HIP_FUNCTION reduced_angle_float reduce_angle_float(float x) {
    if (__builtin_fabsf(x) >= 0x1p28f) {
        reduced_angle a = reduce_large_angle((double)x);
        return {(float)a.r, a.quadrant};
    }
    double k = __builtin_rint((double)x * 0x1.45f306dc9c883p-1);
    double r = fma(-k, 0x1.921fb54442d18p+0, (double)x);
    r = fma(-k, 0x1.1a62633145c07p-54, r);
    return {(float)r, (int)k & 3};
}

__HIP_FUNCTION float sinf_near_zero(float r) {
    constexpr float c[] = {-1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880};
    float square = r * r;
    return fmaf(r * square, polynomial(square, c), r);
}
__HIP_FUNCTION float cosf_near_zero(float r) {
    constexpr float c[] = {-0.5f, 1.0f / 24, -1.0f / 720, 1.0f / 40320, -1.0f / 3628800};
    float square = r * r;
    return fmaf(square, polynomial(square, c), 1.0f);
}

// Within 2 ulp for every argument, as sin and cos.
__HIP_FUNCTION void sincosf(float x, float *sine, float *cosine) {
    if (!(__builtin_fabsf(x) < __builtin_inff())) {
        *sine = *cosine = __builtin_nanf("");
        return;
    }
    reduced_angle_float a = reduce_angle_float(x);
    float s = sinf_near_zero(a.r), c = cosf_near_zero(a.r);
    *sine = a.quadrant & 1 ? c : s;
    *cosine = a.quadrant & 1 ? s : c;
    if (a.quadrant & 2) *sine = -*sine;
    if ((a.quadrant + 1) & 2) *cosine = -*cosine;
    if (x == 0) *sine = x;
}
__HIP_FUNCTION float sinf(float x) {
    float s, c;
    sincosf(x, &s, &c);
    return s;
}
__HIP_FUNCTION float cosf(float x) {
    float s, c;
    sincosf(x, &s, &c);
    return c;
}
// Within 3 ulp.
__HIP_FUNCTION float tanf(float x) {
    float s, c;
    sincosf(x, &s, &c);
    return s / c;
}

// Within 2 ulp.
__HIP_FUNCTION float expm1f(float x) {
    if (x != x || x == 0) return x;
    if (x > 88.73f) return __builtin_inff();
    if (x < -18) return -1;
    float k = __builtin_rintf(x * 0x1.715476p+0f);
    float r = (float)fma(-(double)k, 0x1.62e42fefa39efp-1, (double)x);
    constexpr float c[] = {0.5f, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
    float part = fmaf(r * r, polynomial(r, c), r);
    int n = (int)k;
    if (n == 128) return 2 * __builtin_ldexpf(1 + part, 127);
    float power = __builtin_ldexpf(1.0f, n);
    return fmaf(power, part, power - 1);
}

// 2^x where the result is a normal number, and 1 / x where x is: one instruction each on the device.
__HIP_FUNCTION float exp2_normal(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_exp2f(x);
#else
    return __builtin_exp2f(x);
#endif
}
__HIP_FUNCTION float reciprocal_normal(float x) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_rcpf(x);
#else
    return 1 / x;
#endif
}

// Within 3 ulp. Both sides are computed: a branch would cost waves that need both more than it saves the others.
__HIP_FUNCTION float tanhf(float x) {
    float a = __builtin_fabsf(x), square = x * x;
    // (tanh(a) - a) / a^3, of least relative error below 0.6.
    constexpr float c[] = {-0x1.555554p-2f, 0x1.110ee0p-3f, -0x1.b955ecp-5f, 0x1.59e25ap-6f, -0x1.9add90p-8f};
    float near_zero = fmaf(a * square, polynomial(square, c), a);
    float far = fmaf(-2.0f, reciprocal_normal(1 + exp2_normal(a * 0x1.715476p+1f)), 1.0f);
    return __builtin_copysignf(a < 0.6f ? near_zero : far, x);
}

// Within 2 ulp; without a branch, as tanh.
__HIP_FUNCTION float erff(float x) {
    float a = __builtin_fabsf(x), square = x * x;
    constexpr float c[] = {-1.0f / 3,   1.0f / 10,     -1.0f / 42,    1.0f / 216,     -1.0f / 1320,
                           1.0f / 9360, -1.0f / 75600, 1.0f / 685440, -1.0f / 6894720};
    constexpr float scale = 0x1.20dd76p+0f, rest = -0x1.7ad7acp-25f; // 2 / sqrt(pi)
    float near_zero = fmaf(scale, a, fmaf(scale, a * square * polynomial(square, c), rest * a));
    // erfc(a) exp(a^2) as a polynomial in 1 / (a + 2), of least relative error between 1 and 4.
    constexpr float d[] = {0x1.103524p-11f, 0x1.1952f4p-1f,  0x1.4ccc7cp+0f, 0x1.e108e0p-1f,
                           0x1.840aa4p+2f,  -0x1.3037b0p+0f, -0x1.edf5c2p+1f};
    float scaled = polynomial(reciprocal_normal(a + 2), d);
    float far = a > 4 ? 1.0f : fmaf(-exp2_normal(square * -0x1.715476p+0f), scaled, 1.0f);
    return __builtin_copysignf(a < 1 ? near_zero : a == a ? far : a, x);
}

// Within 1 ulp: the logarithm and the product in double.
__HIP_FUNCTION float powf(float x, float y) { return (float)pow((double)x, (double)y); }

// Within 1 ulp: the squares are exact in double.
__HIP_FUNCTION float hypotf(float x, float y) {
    if (__builtin_fabsf(x) == __builtin_inff() || __builtin_fabsf(y) == __builtin_inff()) return __builtin_inff();
    return (float)__builtin_sqrt(fma((double)x, (double)x, (double)y * y));
}

#undef __HIP_FUNCTION

} // namespace __hip_math
