/**
 * @file
 * @brief Functions of a float that activations are made from, without branches.
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

/** The normal distribution function at -|x|: within x^2 + 4 ulp. */
__device__ inline float normal_tail(float x) {
    // It is exp(-x^2 / 2) times a polynomial in t = 1 / (1 + 0.3 |x|), without a constant term, of least relative
    // error down to -13.5, where the exponential is no normal number any more.
    constexpr float c[] = {0x1.e9fd5cp-4f,  0x1.eeca4ap-4f, 0x1.981d48p-4f,  0x1.092786p-3f,
                           -0x1.c5cc80p-5f, 0x1.aa692ep-3f, -0x1.4426d2p-3f, 0x1.265af4p-5f};
    const float t = __builtin_amdgcn_rcpf(__builtin_fmaf(0.3f, __builtin_fabsf(x), 1.0f));
    float series = c[7];
#pragma unroll
    for (int i = 6; i >= 0; i--) series = __builtin_fmaf(series, t, c[i]);
    return series * t * __builtin_amdgcn_exp2f(x * x * (-0.5f * LOG2_E));
}

/** The normal distribution function, (1 + erf(x / sqrt(2))) / 2: within x^2 + 4 ulp, on the negative side too. */
__device__ inline float normal_cdf(float x) {
    const float tail = normal_tail(x);
    return x < 0 ? tail : 1.0f - tail;
}

/** x times the normal distribution function of x: within x^2 + 5 ulp below zero, 4 above; zero at minus infinity. */
__device__ inline float gelu(float x) {
    // max(x, 0) - |x| cdf(-|x|): a comparison would make its reader wait two cycles on these targets. An infinite x has
    // no tail, which a finite factor leaves at zero.
    // (A median, as the compiler puts an instruction that quiets NaN before a minimum or maximum.)
    const float size = __builtin_amdgcn_fmed3f(__builtin_fabsf(x), 0.0f, 0x1p100f);
    return __builtin_fmaf(-size, normal_tail(x), __builtin_amdgcn_fmed3f(x, 0.0f, __builtin_inff()));
}

/** log(1 + exp(x)), within 4 ulp. */
__device__ inline float softplus(float x) {
    const float e = fast_exp(-__builtin_fabsf(x));
    // What rounding 1 + e cut off is added to the logarithm, whose derivative is 1 / (1 + e).
    const float sum = 1.0f + e, lost = e - (sum - 1.0f);
    const float logarithm = __builtin_fmaf(__builtin_amdgcn_logf(sum), LN_2, lost * __builtin_amdgcn_rcpf(sum));
    return __builtin_fmaxf(x, 0.0f) + (x == x ? logarithm : x);
}

} // namespace detail
} // namespace kittens
