/**
 * @file
 * @brief Causal convolution of each channel with a few weights of its own: of rows, or split into q, k and v.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families {

/**
 * @brief out[r, t] = f(bias + sum over j of weight[r % channels, j] * x[r, t - width + 1 + j]), x being zero before
 * its first column.
 *
 * A thread computes `run` consecutive columns from one read and from its predecessor's columns.
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

  protected:
    static __device__ inline float number(const T &value) { return base_types::convertor<float, T>::convert(value); }
    /** Columns `first` to `first` + run - 1 of a row; those outside the row are zero. */
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

/** A channel's weights, and the same number of its columns, the newest last. */
template <typename T, int width, bool has_bias, bool silu>
struct channel_window {
    float weight[width], column[width] = {}, bias = 0;

    __device__ inline channel_window(const T *weights, const T *biases, int channel) {
#pragma unroll
        for (int j = 0; j < width; j++) weight[j] = number(weights[static_cast<size_t>(channel) * width + j]);
        if constexpr (has_bias) bias = number(biases[channel]);
    }
    /** The channel has no earlier columns: they are zero. */
    __device__ inline void clear() {
#pragma unroll
        for (int j = 0; j < width; j++) column[j] = 0;
    }
    __device__ inline void push(float newest) {
#pragma unroll
        for (int j = 1; j < width; j++) column[j - 1] = column[j];
        column[width - 1] = newest;
    }
    __device__ inline T sum() const {
        float made = bias;
#pragma unroll
        for (int j = 0; j < width; j++) made = __builtin_fmaf(weight[j], column[j], made);
        return base_types::convertor<T, float>::convert(silu ? base_ops::silu::op(made) : made);
    }
    static __device__ inline float number(const T &value) { return base_types::convertor<float, T>::convert(value); }
};

/** Destination of a layer's channels: the first `keys` go to q, the next `keys` to k, then `values` to v. */
template <typename T>
struct split_channels {
    T *q, *k, *v;
    int keys, values;

    /** A channel's tensor, the number of channels in it, and the channel's index in it. */
    struct place {
        T *tensor;
        int channels, at;
    };
    __device__ inline int channels() const { return 2 * keys + values; }
    __device__ inline place of(int channel) const {
        // Selects values without branches, which the compiler would turn into a table of pointers in memory.
        const bool first = channel < keys, key = channel < 2 * keys;
        T *const tensor = first ? q : key ? k : v;
        return {tensor, key ? keys : values, channel - (first ? 0 : key ? keys : 2 * keys)};
    }
};

/**
 * @brief Decode: batches x channels x tokens, which continue the columns in a pool of states and update them.
 *
 * A thread processes all tokens of a channel of a batch.
 */
template <typename T, int width, bool has_bias, bool silu>
struct causal_conv_update {
    static constexpr int threads = 256;
    struct arguments : split_channels<T> {
        /** (batches, channels, tokens). */
        const T *x;
        const T *weight, *bias;
        /** (lines, channels, width - 1): the last columns of each sequence. */
        T *state;
        /** The line of each batch; negative for padding, whose results are zeros; null if batch n has line n. */
        const int64_t *lines;
        int tokens;
    };
    static __device__ inline void make(const arguments &g) {
        const int channel = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
        const int batch = static_cast<int>(blockIdx.y), channels = g.channels();
        if (channel >= channels) return;
        const int64_t line = g.lines == nullptr ? batch : g.lines[batch];
        const typename split_channels<T>::place to = g.of(channel);
        T *out = to.tensor + (static_cast<size_t>(batch) * to.channels + to.at) * g.tokens;
        if (line < 0) {
            for (int t = 0; t < g.tokens; t++) out[t] = base_types::convertor<T, float>::convert(0.0f);
            return;
        }
        channel_window<T, width, has_bias, silu> window(g.weight, g.bias, channel);
        T *state = g.state + (line * channels + channel) * (width - 1);
        const T *x = g.x + (static_cast<size_t>(batch) * channels + channel) * g.tokens;
#pragma unroll
        for (int j = 0; j < width - 1; j++) window.push(window.number(state[j]));
        for (int t = 0; t < g.tokens; t++) {
            window.push(window.number(x[t]));
            out[t] = window.sum();
        }
#pragma unroll
        for (int j = 0; j < width - 1; j++) state[j] = base_types::convertor<T, float>::convert(window.column[j + 1]);
    }
};

/**
 * @brief Prefill: channels x tokens of consecutive sequences, to tokens x channels of q, k and v.
 *
 * A thread processes `run` tokens of a channel, whether or not sequences begin among them.
 */
template <typename T, int width, bool has_bias, bool silu>
struct causal_conv_split {
    static constexpr int threads = 256, run = 8;
    struct arguments : split_channels<T> {
        /** channels x tokens, of any strides. */
        const T *x;
        int64_t channel_stride, token_stride;
        const T *weight, *bias;
        /** (sequences + 1): where each begins; the last is the number of tokens. */
        const int *starts;
        int sequences, tokens;
    };
    /** The sequence of a token: the last one that begins at or before it. */
    static __device__ inline int sequence_of(const arguments &g, int token) {
        int low = 0, high = g.sequences;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            (g.starts[middle] <= token ? low : high) = middle;
        }
        return low;
    }
    static __device__ inline void make(const arguments &g) {
        const int channel = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
        const int first = static_cast<int>(blockIdx.y) * run;
        if (channel >= g.channels()) return;
        channel_window<T, width, has_bias, silu> window(g.weight, g.bias, channel);
        const T *x = g.x + channel * g.channel_stride;
        int sequence = sequence_of(g, first);
        const int start = g.starts[sequence];
#pragma unroll
        for (int t = first - width + 1; t < first; t++)
            window.push(t >= start ? window.number(x[t * g.token_stride]) : 0.0f);
        const typename split_channels<T>::place to = g.of(channel);
        for (int t = first; t < first + run && t < g.tokens; t++) {
            for (; sequence + 1 < g.sequences && g.starts[sequence + 1] == t; sequence++) window.clear();
            window.push(window.number(x[t * g.token_stride]));
            to.tensor[static_cast<size_t>(t) * to.channels + to.at] = window.sum();
        }
    }
};

} // namespace kittens::families
