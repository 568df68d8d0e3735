/**
 * @file
 * @brief Decays and strengths of the gated delta rule from a layer's projections, and the element-wise functions in
 * them.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::delta_gates {

inline constexpr int THREADS = 256;

/** log(1 + exp(beta x)) / beta, and x where beta x is above the threshold. */
__device__ inline float softplus(float x, float beta, float threshold) {
    const float scaled = beta * x;
    return scaled > threshold ? x : base_ops::softplus::op(scaled) / beta;
}
/** The logarithm of a token's decay: -exp(a_log) softplus(x). */
__device__ inline float log_decay(float a_log, float x, float beta, float threshold) {
    return -base_ops::exp::op(a_log) * softplus(x, beta, threshold);
}
/** exp(x) for x up to 0, else 0. */
__device__ inline float safe_exp(float x) { return x <= 0.0f ? base_ops::exp::op(x) : 0.0f; }

__device__ inline size_t index() { return size_t{blockIdx.x} * THREADS + threadIdx.x; }

/** g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b) of (rows, heads); a_log and dt_bias have a value for
    each head. */
template <typename T>
struct gating {
    const float *a_log, *dt_bias;
    const T *a, *b;
    float *g, *beta;
    size_t count;
    int heads;
    float softplus_beta, softplus_threshold;

    __device__ inline void run() const {
        const size_t at = index();
        if (at >= count) return;
        const int head = static_cast<int>(at % static_cast<size_t>(heads));
        const auto number = [](const T &x) { return base_types::convertor<float, T>::convert(x); };
        g[at] = log_decay(a_log[head], number(a[at]) + dt_bias[head], softplus_beta, softplus_threshold);
        beta[at] = base_ops::sigmoid::op(number(b[at]));
    }
};

/** Element-wise functions; the logarithms are of |x| + 0.001. */
struct elementary {
    const float *x;
    float *exp, *exp2, *log, *log2, *safe_exp, *softplus, *sigmoid, *silu;
    size_t count;

    __device__ inline void run() const {
        const size_t at = index();
        if (at >= count) return;
        const float value = x[at], positive = __builtin_fabsf(value) + 0.001f;
        exp[at] = base_ops::exp::op(value);
        exp2[at] = base_ops::exp2::op(value);
        log[at] = base_ops::log::op(positive);
        log2[at] = base_ops::log2::op(positive);
        safe_exp[at] = delta_gates::safe_exp(value);
        softplus[at] = delta_gates::softplus(value, 1.0f, 20.0f);
        sigmoid[at] = base_ops::sigmoid::op(value);
        silu[at] = base_ops::silu::op(value);
    }
};

} // namespace kittens::families::delta_gates
