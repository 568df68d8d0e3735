/**
 * @file
 * @brief Causal convolution of rows, backward.
 */
#pragma once

#include "families/causal_conv.cuh"
#include "families/rowwise.cuh"

namespace kittens::families {

/**
 * @brief Gradients of `causal_conv`: dx, and each row's share of the gradients of its channel's weights and bias.
 *
 * A wave processes a row, each lane `run` columns at a time, and recomputes the gradients of the following columns that
 * depend on them. `column_sums` adds up the rows of a channel, so that two runs give the same bits.
 */
template <typename T, int width, bool has_bias, bool silu>
struct causal_conv_backward : causal_conv<T, width, has_bias, silu> {
    using forward = causal_conv<T, width, has_bias, silu>;
    using forward::run, forward::threads;

    struct arguments {
        const gl<T, 1, 1, -1, -1> x;
        const T *weight, *bias, *dout;
        T *dx;
        /** A value for each weight of each row, and one for each row. */
        float *dweight, *dbias;
        int channels;
    };

    static __device__ inline void make(const arguments &g) {
        const int length = static_cast<int>(g.x.cols());
        const size_t row = static_cast<size_t>(blockIdx.x) * (threads / WARP_THREADS) + warpid();
        if (row >= g.x.rows()) return;
        const size_t from = row * static_cast<size_t>(length);
        const int channel = static_cast<int>(row % static_cast<size_t>(g.channels));
        float weight[width], dweight[width] = {}, dbias = 0;
#pragma unroll
        for (int j = 0; j < width; j++) weight[j] = forward::number(g.weight[channel * width + j]);
        for (int first = laneid() * run; first < length; first += WARP_THREADS * run) {
            float x[3 * run], dz[2 * run];
#pragma unroll
            for (int part = 0; part < 3; part++)
                read(x + part * run, g.x.raw_ptr + from, first + (part - 1) * run, length);
#pragma unroll
            for (int part = 0; part < 2; part++) read(dz + part * run, g.dout + from, first + part * run, length);
            if constexpr (silu) {
#pragma unroll
                for (int t = 0; t < run + width - 1; t++) {
                    float sum = has_bias ? forward::number(g.bias[channel]) : 0.0f;
#pragma unroll
                    for (int j = 0; j < width; j++) sum = __builtin_fmaf(weight[j], x[run + t - width + 1 + j], sum);
                    dz[t] *= activation::silu::slope(sum);
                }
            }
#pragma unroll
            for (int t = 0; t < run; t++) {
                float dx = 0;
                dbias += dz[t];
#pragma unroll
                for (int j = 0; j < width; j++) {
                    dweight[j] = __builtin_fmaf(dz[t], x[run + t - width + 1 + j], dweight[j]);
                    dx = __builtin_fmaf(weight[j], dz[t + width - 1 - j], dx);
                }
                if (first + t < length) g.dx[from + first + t] = base_types::convertor<T, float>::convert(dx);
            }
        }
#pragma unroll
        for (int j = 0; j < width; j++) {
            const float sum = detail::reduce_lanes<base_ops::sum, 1, WARP_THREADS / 2>(dweight[j]);
            if (laneid() == 0) g.dweight[row * width + j] = sum;
        }
        const float sum = detail::reduce_lanes<base_ops::sum, 1, WARP_THREADS / 2>(dbias);
        if (laneid() == 0) g.dbias[row] = sum;
    }

  private:
    /** The same for columns that may all be past the end of the row. */
    static __device__ inline void read(float *to, const T *x, int first, int length) {
        if (first < length) {
            forward::read(to, x, first, length);
        } else {
#pragma unroll
            for (int t = 0; t < run; t++) to[t] = 0;
        }
    }
};

} // namespace kittens::families
