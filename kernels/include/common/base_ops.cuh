/**
 * @file
 * @brief Operations on single elements, as types: the operands of maps and reductions over tiles.
 *
 * Each takes elements or packed elements. bf16 and fp8 are computed in float and rounded once, half and float in
 * their own precision.
 */
#pragma once

#include "base_types.cuh"
#include "functions.cuh"

namespace kittens {
namespace detail {

/** Applies a function of a float to one value or to each of a vector. */
template <typename F, typename W>
__device__ inline W each(F function, const W &value) {
    if constexpr (is_same<W, float>) {
        return function(value);
    } else if constexpr (is_same<W, _Float16>) {
        return static_cast<_Float16>(function(static_cast<float>(value)));
    } else {
        W result;
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(W) / sizeof(value[0])); i++) {
            result[i] = each(function, value[i]);
        }
        return result;
    }
}

/** The same for two values. */
template <typename F, typename W>
__device__ inline W each(F function, const W &a, const W &b) {
    if constexpr (is_same<W, float>) {
        return function(a, b);
    } else if constexpr (is_same<W, _Float16>) {
        return static_cast<_Float16>(function(static_cast<float>(a), static_cast<float>(b)));
    } else {
        W result;
#pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(W) / sizeof(a[0])); i++) result[i] = each(function, a[i], b[i]);
        return result;
    }
}

/** The argument of larger magnitude; NaN if one is NaN. As integers, magnitudes are ordered, with NaN above
    infinity. */
__device__ inline float larger_size(float a, float b) {
    const unsigned x = bit_cast<unsigned>(a) & 0x7fffffffu, y = bit_cast<unsigned>(b) & 0x7fffffffu;
    return bit_cast<float>(x > y ? x : y);
}

} // namespace detail

namespace ducks::base_ops {

/** An operation on one element, as a type: what `unary_map` takes. */
template <typename F>
concept unary = requires(const float &a) { F::template op<float>(a); };
/** On two elements: what `bin_map`, `row_map` and the reductions take. */
template <typename F>
concept binary = requires(const float &a) { F::template op<float>(a, a); };
/** On three elements: what `tri_map` takes. */
template <typename F>
concept ternary = requires(const float &a) { F::template op<float>(a, a, a); };

} // namespace ducks::base_ops

namespace base_ops {

using detail::narrow;
using detail::widen;

struct zero {
    template <typename T>
    static __device__ inline T op(const T &) {
        return base_types::constants<T>::zero();
    }
};
struct one {
    template <typename T>
    static __device__ inline T op(const T &) {
        return base_types::constants<T>::one();
    }
};
using ones = one;
struct pos_infty {
    template <typename T>
    static __device__ inline T op(const T &) {
        return base_types::constants<T>::pos_infty();
    }
};
struct neg_infty {
    template <typename T>
    static __device__ inline T op(const T &) {
        return base_types::constants<T>::neg_infty();
    }
};

/** The argument itself. */
struct copy {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return a;
    }
};
/** The second of two arguments. */
struct copy2 {
    template <typename T>
    static __device__ inline T op(const T &, const T &b) {
        return b;
    }
};

/**
 * @brief e to the power of the argument: of floats within 1 ulp, with denormals and overflow; of smaller types, which
 * are rounded anyway, by one multiplication and one v_exp_f32.
 */
struct exp {
    template <typename T>
    static __device__ inline T op(const T &a) {
        constexpr bool exact = detail::is_same<typename base_types::packing<T>::unpacked_type, float>;
        return narrow<T>(
            detail::each([](float x) { return exact ? __builtin_expf(x) : detail::fast_exp(x); }, widen(a)));
    }
};
/** 2 to the power of the argument: one v_exp_f32, which returns zero below 2^-126. */
struct exp2 {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_amdgcn_exp2f(x); }, widen(a)));
    }
};
/** Natural logarithm. */
struct log {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_logf(x); }, widen(a)));
    }
};
/** Logarithm to base 2: one v_log_f32, which treats denormal arguments as zero. */
struct log2 {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_amdgcn_logf(x); }, widen(a)));
    }
};
/** Square root, within 1 ulp. */
struct sqrt {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_amdgcn_sqrtf(x); }, widen(a)));
    }
};
/** One over the square root: one v_rsq_f32, within 1 ulp. */
struct rsqrt {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_amdgcn_rsqf(x); }, widen(a)));
    }
};
/** One over the argument: one v_rcp_f32, within 1 ulp. */
struct rcp {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return __builtin_amdgcn_rcpf(x); }, widen(a)));
    }
};
struct neg {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(-widen(a));
    }
};
struct abs {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(__builtin_elementwise_abs(widen(a)));
    }
};
/** The larger of the argument and zero. */
struct relu {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(__builtin_elementwise_max(widen(a), widen(base_types::constants<T>::zero())));
    }
};
/** 1 / (1 + exp(-x)), four instructions. */
struct sigmoid {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return detail::sigmoid(x); }, widen(a)));
    }
};
/** x / (1 + exp(-x)), also called swish. */
struct silu {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return x * detail::sigmoid(x); }, widen(a)));
    }
};
/** The normal distribution function, (1 + erf(x / sqrt(2))) / 2. */
struct normal_cdf {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return detail::normal_cdf(x); }, widen(a)));
    }
};
/** x times the normal distribution function of x: PyTorch's gelu without approximation. */
struct gelu {
    template <typename T>
    static __device__ inline T op(const T &a) {
        constexpr bool exact = sizeof(typename base_types::packing<T>::unpacked_type) != 2;
        return narrow<T>(
            detail::each([](float x) { return exact ? detail::gelu(x) : detail::gelu_of_16_bits(x); }, widen(a)));
    }
};
/** gelu with the normal distribution function by way of tanh: PyTorch's approximate="tanh". */
struct gelu_tanh {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return detail::gelu_tanh(x); }, widen(a)));
    }
};
/** Constants of the approximation by tanh: x / 2 (1 + tanh(SQRT_2_OVER_PI (x + GELU_COEFF x^3))). */
inline constexpr float SQRT_2_OVER_PI = 0.7978845608028654f;
inline constexpr float GELU_COEFF = 0.044715f;
inline constexpr float GELU_INNER_COEFF = GELU_COEFF * SQRT_2_OVER_PI;
inline constexpr float DGELU_COEFF = 3.0f * GELU_COEFF * SQRT_2_OVER_PI;
/** Hyperbolic tangent in four instructions, within 2^-22 of it: not to so many ulp near zero. */
__device__ inline float fast_tanh(float x) { return 1.0f - 2.0f * detail::sigmoid(-2.0f * x); }
/** The derivative of gelu_tanh. */
struct dgelu {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return detail::dgelu_tanh(x); }, widen(a)));
    }
};
/** Hyperbolic tangent. */
struct tanh {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return ::tanhf(x); }, widen(a)));
    }
};
/** Error function. */
struct erf {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return ::erff(x); }, widen(a)));
    }
};
/** log(1 + exp(x)). */
struct softplus {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return detail::softplus(x); }, widen(a)));
    }
};
/** Sine of an angle in radians, of any size. */
struct sin {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return ::sinf(x); }, widen(a)));
    }
};
/** Cosine of an angle in radians, of any size. */
struct cos {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(detail::each([](float x) { return ::cosf(x); }, widen(a)));
    }
};
/** The integer below the argument. */
struct floor {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(__builtin_elementwise_floor(widen(a)));
    }
};
/** The integer above the argument. */
struct ceil {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(__builtin_elementwise_ceil(widen(a)));
    }
};
/** The nearest integer, ties to even. */
struct round {
    template <typename T>
    static __device__ inline T op(const T &a) {
        return narrow<T>(__builtin_elementwise_roundeven(widen(a)));
    }
};

struct sum {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(widen(a) + widen(b));
    }
};
struct sub {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(widen(a) - widen(b));
    }
};
/** `sub`, computed as an FMA with a factor of one. */
using sub_fma = sub;
struct mul {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(widen(a) * widen(b));
    }
};
/** IEEE division, about ten instructions per element: prefer to multiply by a reciprocal that elements share. */
struct div {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(widen(a) / widen(b));
    }
};
/** The larger argument; if one is NaN, the other. */
struct max {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(__builtin_elementwise_max(widen(a), widen(b)));
    }
};
/** The smaller argument; if one is NaN, the other. */
struct min {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(__builtin_elementwise_min(widen(a), widen(b)));
    }
};

/** The larger magnitude, without a sign; NaN if one argument is. */
struct absmax {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b) {
        return narrow<T>(detail::each([](float x, float y) { return detail::larger_size(x, y); }, widen(a), widen(b)));
    }
};

/** a * b + c, rounded once in the type that it is computed in. */
struct fma_AxBtC {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b, const T &c) {
        return narrow<T>(__builtin_elementwise_fma(widen(a), widen(b), widen(c)));
    }
};
/** a * c + b. */
struct fma_AxCtB {
    template <typename T>
    static __device__ inline T op(const T &a, const T &b, const T &c) {
        return fma_AxBtC::op(a, c, b);
    }
};

} // namespace base_ops
} // namespace kittens
