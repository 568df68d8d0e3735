/**
 * @file
 * @brief Functions of a float for activations, without branches.
 *
 * Errors are in units of the last place (ulp) of float.
 */
#pragma once

#include "meta.cuh"

namespace kittens {

/** Logarithm of e to base 2, natural logarithm of 2. */
inline constexpr float LOG2_E = 0x1.715476p+0f;
inline constexpr float LN_2 = 0x1.62e430p-1f;

namespace detail {

/** e to the power of x in two instructions: within |x| + 1 ulp, zero below 2^-126. */
__device__ inline float fast_exp(float x) { return __builtin_amdgcn_exp2f(x * LOG2_E); }

/** 1 / (1 + exp(-x)), with the error of fast_exp. */
__device__ inline float sigmoid(float x) { return __builtin_amdgcn_rcpf(1.0f + fast_exp(-x)); }

/** The normal distribution function at -|x|, within x^2 + 4 ulp, with its factor exp(-x^2 / 2). */
struct normal_tail_parts {
    float exponential, tail;
};
__device__ inline normal_tail_parts normal_tail(float x) {
    // It is exp(-x^2 / 2) times a polynomial in t = 1 / (1 + 0.3 |x|), without a constant term, of least relative
    // error down to -13.5, where the exponential is no longer a normal number.
    constexpr float c[] = {0x1.e9fd5cp-4f,  0x1.eeca4ap-4f, 0x1.981d48p-4f,  0x1.092786p-3f,
                           -0x1.c5cc80p-5f, 0x1.aa692ep-3f, -0x1.4426d2p-3f, 0x1.265af4p-5f};
    const float t = __builtin_amdgcn_rcpf(__builtin_fmaf(0.3f, __builtin_fabsf(x), 1.0f));
    float series = c[7];
#pragma unroll
    for (int i = 6; i >= 0; i--) series = __builtin_fmaf(series, t, c[i]);
    const float exponential = __builtin_amdgcn_exp2f(x * x * (-0.5f * LOG2_E));
    return {exponential, series * t * exponential};
}

/** The normal distribution function, (1 + erf(x / sqrt(2))) / 2: within x^2 + 4 ulp, on the negative side too. */
__device__ inline float normal_cdf(float x) {
    const float tail = normal_tail(x).tail;
    return x < 0 ? tail : 1.0f - tail;
}

/** x times the normal distribution function of x: within x^2 + 5 ulp below zero, 4 above; zero at minus infinity. */
__device__ inline float gelu(float x) {
    // max(x, 0) - |x| cdf(-|x|): the use of a comparison's result waits two cycles on these targets. The tail at an
    // infinite x is zero, and a finite factor keeps it zero. (It is a median because the compiler precedes a minimum or
    // maximum by an instruction that quiets NaN.)
    const float size = __builtin_amdgcn_fmed3f(__builtin_fabsf(x), 0.0f, 0x1p100f);
    return __builtin_fmaf(-size, normal_tail(x).tail, __builtin_amdgcn_fmed3f(x, 0.0f, __builtin_inff()));
}

/** A product that is zero if a factor is, even if the other is infinite; there is no builtin for it. */
__device__ float multiply_legacy(float, float) __asm("llvm.amdgcn.fmul.legacy");

/**
 * @brief gelu of one or several floats, for results that are rounded to 16 bits: within 0.015 ulp of bf16 and of half
 * before rounding, from -13 up; NaN at minus infinity, as in PyTorch.
 *
 * max(x, 0) - |x| cdf(-|x|), with the logarithm of the second term as a polynomial, so that one transcendental
 * instruction remains. The maximum is twice x / 4 + |x| / 4, which cannot overflow and is NaN at -infinity; the tail
 * times an infinite x must be zero. Each step is done for all floats, since it waits for the previous step.
 */
template <typename W>
__device__ inline W gelu_of_16_bits(const W &x) {
    // log2(cdf(-size)), with least error up to 13.5, in units of the rounding of x cdf(x) to bf16 and to half,
    // whichever is finer: by least squares at Chebyshev points, reweighted until the errors are equal (Lawson). Beyond
    // 13.5 it continues to fall.
    constexpr float c[] = {-0x1.fffed2p-1f,  -0x1.26bf10p+0f, -0x1.d5129ap-2f,  -0x1.be7e4cp-5f, 0x1.22eccep-7f,
                           -0x1.179b50p-10f, 0x1.77050ap-14f, -0x1.47e822p-18f, 0x1.4d455ep-23f, -0x1.292956p-29f};
    const W size = __builtin_elementwise_abs(x);
    W series = c[9] - W{}, tail;
#pragma unroll
    for (int i = 8; i >= 0; i--) series = __builtin_elementwise_fma(series, size, c[i] - W{});
    if constexpr (sizeof(W) == sizeof(float)) {
        tail = multiply_legacy(size, __builtin_amdgcn_exp2f(series));
    } else {
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(W) / sizeof(float)); i++)
            tail[i] = multiply_legacy(size[i], __builtin_amdgcn_exp2f(series[i]));
    }
    const W half = __builtin_elementwise_fma(x, 0.25f - W{}, 0.25f * size);
    return __builtin_elementwise_fma(half, 2.0f - W{}, -tail);
}

/** gelu with the normal distribution function by way of tanh, as a sigmoid: with the error of fast_exp. */
__device__ inline float gelu_tanh(float x) {
    // sqrt(8 / pi) x (1 + 0.044715 x^2), times -log2(e) for the exponential.
    constexpr float linear = -0x1.26aec2p+1f, cubic = -0x1.a5a7d0p-4f;
    return x * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(x * __builtin_fmaf(cubic, x * x, linear)));
}

/** The derivative of gelu_tanh, within 2^-20 and 24 ulp: zero at minus infinity, one at infinity. */
__device__ inline float dgelu_tanh(float x) {
    // Beyond 20 it is 0 or 1 to the last bit, and the cubic could overflow.
    const float z = __builtin_amdgcn_fmed3f(x, -20.0f, 20.0f), square = z * z;
    constexpr float twice = 0x1.988454p+0f, cubic = 0.044715f;
    const float s = sigmoid(z * twice * __builtin_fmaf(cubic, square, 1.0f));
    const float slope = twice * __builtin_fmaf(3.0f * cubic, square, 1.0f);
    const float derivative = __builtin_fmaf(z * slope, s * (1.0f - s), s);
    return x == x ? derivative : x;
}

/** log(1 + exp(x)), within 4 ulp. */
__device__ inline float softplus(float x) {
    const float e = fast_exp(-__builtin_fabsf(x));
    // The rounding error of 1 + e is added to the logarithm, whose derivative is 1 / (1 + e).
    const float sum = 1.0f + e, lost = e - (sum - 1.0f);
    const float logarithm = __builtin_fmaf(__builtin_amdgcn_logf(sum), LN_2, lost * __builtin_amdgcn_rcpf(sum));
    return __builtin_fmaxf(x, 0.0f) + (x == x ? logarithm : x);
}

} // namespace detail
} // namespace kittens
