/**
 * @file
 * @brief Causal convolution of each row with a few weights of its channel.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families {

/**
 * @brief out[r, t] = f(bias + sum over j of weight[r % channels, j] * x[r, t - width + 1 + j]), x being zero before
 * its first column.
 *
 * A thread makes `run` neighbouring columns from what it reads at once and what its neighbour before reads too.
 *
 * @tparam width weights of a channel, at most `run` + 1.
 */
template <typename T, int width, bool has_bias, bool silu>
struct causal_conv {
    static constexpr int threads = 256, run = 8;
    static_assert(width >= 2 && width <= run + 1, "causal_conv: 2 to 9 weights");

    struct arguments {
        const gl<T, 1, 1, -1, -1> x;
        const T *weight, *bias;
        T *out;
        int channels;
    };
    using elements = typename detail::run<T, run>::elements;

    static __device__ inline void make(const arguments &g) {
        const int length = static_cast<int>(g.x.cols()), runs = ceil_div(length, run);
        const size_t at = static_cast<size_t>(blockIdx.x) * threads + threadIdx.x;
        const size_t row = at / static_cast<size_t>(runs);
        const int first = static_cast<int>(at % static_cast<size_t>(runs)) * run;
        if (row >= g.x.rows()) return;
        const T *x = g.x.raw_ptr + row * static_cast<size_t>(length);
        const int channel = static_cast<int>(row % static_cast<size_t>(g.channels));
        float before[2 * run];
        read(before, x, first - run, length);
        read(before + run, x, first, length);
        float made[run];
#pragma unroll
        for (int t = 0; t < run; t++) made[t] = has_bias ? number(g.bias[channel]) : 0.0f;
#pragma unroll
        for (int j = 0; j < width; j++) {
            const float weight = number(g.weight[channel * width + j]);
#pragma unroll
            for (int t = 0; t < run; t++) made[t] = __builtin_fmaf(weight, before[run + t - width + 1 + j], made[t]);
        }
        elements out;
#pragma unroll
        for (int t = 0; t < run; t++)
            out.e[t] = base_types::convertor<T, float>::convert(silu ? base_ops::silu::op(made[t]) : made[t]);
        T *to = g.out + row * static_cast<size_t>(length) + first;
        if (length % run == 0) {
            __builtin_memcpy(__builtin_assume_aligned(to, 16), &out, sizeof(out));
        } else {
#pragma unroll
            for (int t = 0; t < run; t++)
                if (first + t < length) to[t] = out.e[t];
        }
    }

  private:
    static __device__ inline float number(const T &value) { return base_types::convertor<float, T>::convert(value); }
    /** Columns `first` to `first` + run - 1 of a row; those that it does not have are zero. */
    static __device__ inline void read(float *to, const T *x, int first, int length) {
        elements got = {};
        if (first >= 0 && length % run == 0) {
            __builtin_memcpy(&got, __builtin_assume_aligned(x + first, 16), sizeof(got));
        } else {
#pragma unroll
            for (int t = 0; t < run; t++)
                if (first + t >= 0 && first + t < length) got.e[t] = x[first + t];
        }
#pragma unroll
        for (int t = 0; t < run; t++) to[t] = number(got.e[t]);
    }
};

} // namespace kittens::families
