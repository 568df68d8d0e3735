/**
 * @file
 * @brief Mixtures of experts: the best experts of tokens, and lists of tokens by expert. Integers, so equal on every
 * run.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::routing {

/** Largest number of experts: the limit of a work-group's scan. */
inline constexpr int MOST_EXPERTS = 1024;
/** Ids per work-group, which is one wave. */
inline constexpr int CHUNK = 256;
/** Rows of a tile of a bit matrix. */
inline constexpr int BIT_ROWS = 128;

/** Number of lanes of a mask before this lane. */
__device__ inline int before(uint64_t mask) {
    return __builtin_amdgcn_mbcnt_hi(static_cast<unsigned>(mask >> 32),
                                     __builtin_amdgcn_mbcnt_lo(static_cast<unsigned>(mask), 0));
}

/** Mask of the participating lanes with the same value as this lane, from 0 to MOST_EXPERTS - 1. */
__device__ inline uint64_t lanes_alike(int value, bool takes_part) {
    uint64_t alike = __ballot(takes_part);
#pragma unroll
    for (int bit = 0; bit < 10; bit++) {
        const bool set = value >> bit & 1;
        const uint64_t with = __ballot(set);
        alike &= set ? with : ~with;
    }
    return alike;
}

/** Sum of the values of the preceding threads, in a work-group of MOST_EXPERTS; `total` becomes the sum of all. */
__device__ inline int scan_before(int value, int *waves, int &total) {
    int sum = value;
#pragma unroll
    for (int apart = 1; apart < WARP_THREADS; apart *= 2) {
        const int other = __shfl_up(sum, static_cast<unsigned>(apart));
        if (laneid() >= apart) sum += other;
    }
    __syncthreads();
    if (laneid() == WARP_THREADS - 1) waves[warpid()] = sum;
    __syncthreads();
    int in_front = 0;
    total = 0;
    for (int wave = 0; wave < MOST_EXPERTS / WARP_THREADS; wave++) {
        if (wave < warpid()) in_front += waves[wave];
        total += waves[wave];
    }
    return in_front + sum - value;
}

struct align_arguments {
    /** An expert for each of `count` ids. */
    const int *chosen;
    /** By chunk and expert: the number of ids, then the position of the first. */
    int *counts;
    int *sorted_token_ids, *expert_ids, *num_tokens_post_padded;
    int count, experts, block, length;
};

/** counts = number of ids of a chunk by expert. */
__device__ inline void count_experts(const align_arguments &g) {
    __shared__ int found[MOST_EXPERTS];
    for (int expert = laneid(); expert < g.experts; expert += WARP_THREADS) found[expert] = 0;
    __syncthreads();
    for (int i = laneid(); i < CHUNK; i += WARP_THREADS) {
        const int id = static_cast<int>(blockIdx.x) * CHUNK + i;
        if (id < g.count) atomicAdd(&found[g.chosen[id]], 1);
    }
    __syncthreads();
    for (int expert = laneid(); expert < g.experts; expert += WARP_THREADS)
        g.counts[static_cast<int>(blockIdx.x) * g.experts + expert] = found[expert];
}

/** counts = positions of the first ids; also writes padding, and experts of blocks. One thread per expert. */
__device__ inline void place_experts(const align_arguments &g) {
    __shared__ int waves[MOST_EXPERTS / WARP_THREADS];
    const int expert = static_cast<int>(threadIdx.x), chunks = ceil_div(g.count, CHUNK);
    int own = 0, total = 0;
    if (expert < g.experts)
        for (int chunk = 0; chunk < chunks; chunk++) own += g.counts[chunk * g.experts + expert];
    const int padded = ceil_div(own, g.block) * g.block;
    const int first = scan_before(padded, waves, total);
    if (expert < g.experts) {
        int at = first;
        for (int chunk = 0; chunk < chunks; chunk++) {
            const int here = g.counts[chunk * g.experts + expert];
            g.counts[chunk * g.experts + expert] = at;
            at += here;
        }
        for (; at < detail::min(first + padded, g.length); at++) g.sorted_token_ids[at] = g.count;
        for (int i = first; i < detail::min(first + padded, g.length); i += g.block) g.expert_ids[i / g.block] = expert;
    }
    for (int i = total + expert; i < g.length; i += MOST_EXPERTS) g.sorted_token_ids[i] = g.count;
    for (int i = total / g.block + expert; i < ceil_div(g.length, g.block); i += MOST_EXPERTS) g.expert_ids[i] = -1;
    if (expert == 0) *g.num_tokens_post_padded = total;
}

/** Stores ids at their positions, those of an expert in order. */
__device__ inline void place_ids(const align_arguments &g) {
    __shared__ int next[MOST_EXPERTS];
    for (int expert = laneid(); expert < g.experts; expert += WARP_THREADS)
        next[expert] = g.counts[static_cast<int>(blockIdx.x) * g.experts + expert];
    for (int i = 0; i < CHUNK; i += WARP_THREADS) {
        __syncthreads();
        const int id = static_cast<int>(blockIdx.x) * CHUNK + i + laneid();
        const bool there = id < g.count;
        const int expert = there ? g.chosen[id] : 0;
        const uint64_t alike = lanes_alike(expert, there);
        const int at = there ? next[expert] + before(alike) : g.length;
        __syncthreads();
        if (!there) continue;
        if (at < g.length) g.sorted_token_ids[at] = id;
        // The last lane with an expert has all others before it.
        if (before(alike) + 1 == __popcll(alike)) next[expert] = at + 1;
    }
}

struct tiles_arguments {
    /** Tokens of each expert. */
    const int *hist;
    /** First token and first tile of each expert, and the totals. */
    int *token_start, *tile_start;
    /** expert | tile of the expert << 16; -1 after the last. */
    int *tile_info;
    int experts, tile_log2, length;
};

/** One work-group, one thread per expert. */
__device__ inline void list_tiles(const tiles_arguments &g) {
    __shared__ int waves[MOST_EXPERTS / WARP_THREADS];
    const int expert = static_cast<int>(threadIdx.x);
    const int own = expert < g.experts ? g.hist[expert] : 0;
    const int tiles = own == 0 ? 0 : (own - 1 >> g.tile_log2) + 1;
    int tokens, all;
    const int token = scan_before(own, waves, tokens), first = scan_before(tiles, waves, all);
    if (expert < g.experts) g.token_start[expert] = token, g.tile_start[expert] = first;
    if (expert == 0) g.token_start[g.experts] = tokens, g.tile_start[g.experts] = all;
    for (int i = 0; i < tiles && first + i < g.length; i++) g.tile_info[first + i] = i << 16 | expert;
    for (int i = all + expert; i < g.length; i += MOST_EXPERTS) g.tile_info[i] = -1;
}

struct bits_arguments {
    /** Rows by words of 32 bits. */
    const int *bits;
    int row_stride, word_stride, rows, words;
    /** By tile of BIT_ROWS rows and bit: set bits of the rows before the tile; until the scan, those of the tile
        itself. */
    int *partials;
    int *sums;
};

/** Set bits of a tile and a word, by a wave. */
__device__ inline void count_bits(const bits_arguments &g) {
    const int tile = static_cast<int>(blockIdx.x), word = static_cast<int>(blockIdx.y);
    int counted = 0;
    for (int part = 0; part < BIT_ROWS; part += WARP_THREADS) {
        const int row = tile * BIT_ROWS + part + laneid();
        const int own = row < g.rows ? g.bits[static_cast<size_t>(row) * g.row_stride + word * g.word_stride] : 0;
        for (int bit = 0; bit < 32; bit++) {
            const int set = __popcll(__ballot(own >> bit & 1));
            if (laneid() == bit) counted += set;
        }
    }
    if (laneid() < 32) g.partials[(tile * g.words + word) * 32 + laneid()] = counted;
}

/** Sums over the preceding tiles, and over all; one thread per bit. */
__device__ inline void scan_tiles(const bits_arguments &g) {
    const int bit = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), width = 32 * g.words;
    if (bit >= width) return;
    int sum = 0;
    for (int tile = 0; tile < ceil_div(g.rows, BIT_ROWS); tile++) {
        const int own = g.partials[tile * width + bit];
        g.partials[tile * width + bit] = sum;
        sum += own;
    }
    g.sums[bit] = sum;
}

/**
 * Function of the best values: identity, softmax over them, or the sigmoid of each. With `sigmoids`, the selection is
 * by sigmoids: values whose sigmoids are the same float are equal.
 */
enum class score { none, softmax, sigmoid, sigmoids };

template <typename T, typename V = T>
struct top_arguments {
    gl<T, 1, 1, -1, -1> x;
    V *values;
    int *indices;
    /** Null, or a bit for each selected column, (words, rows). */
    int *bits;
    /** Additional columns, after the last, with a value of 1. */
    int shared;
};

/** Unsigned integers in the order of the floats. */
__device__ inline unsigned ordered(float x) {
    const auto bits = __builtin_bit_cast(unsigned, x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/**
 * @brief The k largest elements of a row, by a wave; equal ones keep their order.
 *
 * @tparam PER columns that a lane holds.
 */
template <typename T, int PER, int k, score scored, typename V>
__device__ inline void top(const top_arguments<T, V> &g) {
    const int row = static_cast<int>(blockIdx.x * (blockDim.x / WARP_THREADS)) + warpid();
    const int rows = static_cast<int>(g.x.rows()), cols = static_cast<int>(g.x.cols());
    if (row >= rows) return;
    // Value in the upper half, index in the lower one: the maximum is the first of the largest values.
    uint64_t keys[PER];
#pragma unroll
    for (int i = 0; i < PER; i++) {
        const int col = i * WARP_THREADS + laneid();
        float value = col < cols ? base_types::convertor<float, T>::convert(g.x[{row, col}]) : 0.0f;
        if constexpr (scored == score::sigmoids) value = 1.0f / (1.0f + __expf(-value));
        keys[i] = col < cols ? static_cast<uint64_t>(ordered(value)) << 32 | ~static_cast<unsigned>(col) : 0;
    }
    uint64_t own = 0;
    int word = 0;
    for (int rank = 0; rank < k; rank++) {
        uint64_t best = 0;
#pragma unroll
        for (int i = 0; i < PER; i++) best = keys[i] > best ? keys[i] : best;
#pragma unroll
        for (int apart = 1; apart < WARP_THREADS; apart *= 2) {
            const uint64_t other = __shfl_xor(static_cast<unsigned long long>(best), apart);
            best = other > best ? other : best;
        }
#pragma unroll
        for (int i = 0; i < PER; i++)
            if (keys[i] == best) keys[i] = 0;
        if (laneid() == rank) own = best;
        const unsigned col = ~static_cast<unsigned>(best);
        if (static_cast<int>(col / 32) == laneid()) word |= static_cast<int>(1u << col % 32);
    }
    const auto high = static_cast<unsigned>(own >> 32);
    float value = __builtin_bit_cast(float, high & 0x80000000u ? high & 0x7fffffffu : ~high);
    if constexpr (scored == score::softmax) {
        const float greatest = __shfl(value, 0);
        value = laneid() < k ? __expf(value - greatest) : 0.0f;
        float sum = value;
#pragma unroll
        for (int apart = 1; apart < WARP_THREADS; apart *= 2) sum += __shfl_xor(sum, apart);
        value /= sum;
    } else if constexpr (scored == score::sigmoid) {
        value = 1.0f / (1.0f + __expf(-value));
    }
    const size_t out = static_cast<size_t>(row) * (k + g.shared) + laneid();
    if (laneid() < k + g.shared) {
        const bool chosen = laneid() < k;
        g.values[out] = base_types::convertor<V, float>::convert(chosen ? value : 1.0f);
        g.indices[out] = chosen ? static_cast<int>(~static_cast<unsigned>(own)) : cols + laneid() - k;
    }
    if (g.bits != nullptr && laneid() < ceil_div(cols, 32)) g.bits[static_cast<size_t>(laneid()) * rows + row] = word;
}

/** out[t] = the sum of rows t k to t k + k - 1, optionally weighted; one thread per two columns. */
struct sum_arguments {
    const bf16 *rows;
    const float *weights;
    bf16 *out;
    int tokens, top_k, cols;
};
__device__ inline void sum_rows(const sum_arguments &g) {
    const int col = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), token = static_cast<int>(blockIdx.y);
    if (col >= g.cols) return;
    float sum = 0;
    for (int which = 0; which < g.top_k; which++) {
        const size_t id = static_cast<size_t>(token) * g.top_k + which;
        const float value = base_types::convertor<float, bf16>::convert(g.rows[id * g.cols + col]);
        sum += g.weights == nullptr ? value : g.weights[id] * value;
    }
    g.out[static_cast<size_t>(token) * g.cols + col] = base_types::convertor<bf16, float>::convert(sum);
}

/** Gradient of `top`'s x from the gradient of its values; zero in columns that were not selected. */
template <typename T>
struct top_backward_arguments {
    const T *values;
    const int *indices;
    const T *dvalues;
    T *dx;
    int rows, experts, k;
    /** Additional columns, which do not depend on x. */
    int shared;
};

/** One wave per row: lane j computes the gradient of the j-th selected column, and every column looks for its own. */
template <typename T, score scored>
__device__ inline void top_backward(const top_backward_arguments<T> &g) {
    const int row = static_cast<int>(blockIdx.x * (blockDim.x / WARP_THREADS)) + warpid();
    if (row >= g.rows) return;
    const bool chosen = laneid() < g.k;
    const size_t at = static_cast<size_t>(row) * (g.k + g.shared) + (chosen ? laneid() : 0);
    const int index = g.indices[at];
    const float value = base_types::convertor<float, T>::convert(g.values[at]);
    float grad = chosen ? base_types::convertor<float, T>::convert(g.dvalues[at]) : 0.0f;
    if constexpr (scored == score::softmax) {
        float sum = grad * value;
#pragma unroll
        for (int apart = 1; apart < WARP_THREADS; apart *= 2) sum += __shfl_xor(sum, apart);
        grad = value * (grad - sum);
    } else if constexpr (scored == score::sigmoid) {
        grad *= value * (1.0f - value);
    }
    for (int first = 0; first < g.experts; first += WARP_THREADS) {
        const int col = first + laneid();
        float own = 0.0f;
        for (int which = 0; which < g.k; which++) {
            const float of = __shfl(grad, which);
            if (__shfl(index, which) == col) own = of;
        }
        if (col < g.experts)
            g.dx[static_cast<size_t>(row) * g.experts + col] = base_types::convertor<T, float>::convert(own);
    }
}

/** Gradients of the rows of `sum_rows` and of their weights, which may be null; a work-group of 256 per row. */
struct sum_backward_arguments {
    const bf16 *dout, *rows;
    const float *weights;
    bf16 *drows;
    float *dweights;
    int top_k, cols;
};
__device__ inline void sum_backward(const sum_backward_arguments &g) {
    __shared__ float waves[4];
    const size_t id = blockIdx.x, token = id / static_cast<unsigned>(g.top_k);
    const float weight = g.weights == nullptr ? 1.0f : g.weights[id];
    float sum = 0.0f;
    for (int col = static_cast<int>(threadIdx.x); col < g.cols; col += 256) {
        const float grad = base_types::convertor<float, bf16>::convert(g.dout[token * g.cols + col]);
        g.drows[id * g.cols + col] = base_types::convertor<bf16, float>::convert(weight * grad);
        if (g.weights != nullptr) sum += grad * base_types::convertor<float, bf16>::convert(g.rows[id * g.cols + col]);
    }
    if (g.weights == nullptr) return;
#pragma unroll
    for (int apart = 1; apart < WARP_THREADS; apart *= 2) sum += __shfl_xor(sum, apart);
    if (laneid() == 0) waves[warpid()] = sum;
    __syncthreads();
    if (threadIdx.x == 0) g.dweights[id] = (waves[0] + waves[1]) + (waves[2] + waves[3]);
}

} // namespace kittens::families::routing
