/**
 * @file
 * @brief Operators that only move rows, or change them element by element; a lane processes eight consecutive elements.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::elementwise {

inline constexpr int LENGTH = 8;

/** Eight neighbours of a row. */
template <typename T>
struct alignas(8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16) piece {
    T e[LENGTH];
};
template <typename T>
__device__ inline piece<T> load(const T *from) {
    return *reinterpret_cast<const piece<T> *>(from);
}
template <typename T>
__device__ inline void store(T *to, const piece<T> &values) {
    *reinterpret_cast<piece<T> *>(to) = values;
}
template <typename T>
__device__ inline float number(T value) {
    return base_types::convertor<float, T>::convert(value);
}
template <typename T>
__device__ inline T rounded(float value) {
    return base_types::convertor<T, float>::convert(value);
}
/** Index of this lane's piece. */
__device__ inline size_t index() { return size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/** Each row of out is a row of `left` followed by a row of `right`; both are whole pieces. */
template <typename T>
struct concatenation {
    const T *left, *right;
    T *out;
    int rows, left_cols, right_cols;

    /** Pieces of all rows. */
    __device__ inline size_t count() const { return static_cast<size_t>(rows) * ((left_cols + right_cols) / LENGTH); }
    __device__ inline void run(size_t at) const {
        const int in_row = (left_cols + right_cols) / LENGTH;
        const size_t row = at / in_row;
        const int col = static_cast<int>(at % in_row) * LENGTH;
        const T *from = col < left_cols ? left + row * left_cols + col : right + row * right_cols + (col - left_cols);
        store(out + row * (left_cols + right_cols) + col, load(from));
    }
};

/** Stores rows (token, head), divided by a number, to the slots of their tokens in a paged cache: blocks x heads x
 * block x dim.
 */
template <typename T, typename U>
struct cache_rows {
    const T *rows;
    U *cache;
    float scale;

    __device__ inline void run(size_t at, const int *slots, int heads, int dim, int block) const {
        const int in_row = dim / LENGTH, col = static_cast<int>(at % in_row) * LENGTH;
        const size_t row = at / in_row, token = row / heads, head = row % heads;
        const int slot = slots[token];
        if (slot < 0) return; // padding
        const size_t place = (static_cast<size_t>(slot / block) * heads + head) * block + slot % block;
        const piece<T> from = load(rows + row * dim + col);
        piece<U> to;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) to.e[e] = rounded<U>(number(from.e[e]) / scale);
        store(cache + place * dim + col, to);
    }
};

/** tokens x heads x [q, k, groups x v, groups x z] as [all q, all k, all v] and z; [groups x b, groups x a] as b and a.
 */
template <typename T>
struct take_apart {
    int tokens, heads, groups, keys, values;

    __device__ inline void run(size_t at, const T *qkvz, const T *ba, T *qkv, T *z, T *b, T *a) const {
        const int of_v = groups * values, of_head = 2 * (keys + of_v), in_row = heads * of_head / LENGTH;
        const size_t token = at / in_row;
        if (token >= static_cast<size_t>(tokens)) return;
        const int within = static_cast<int>(at % in_row) * LENGTH, head = within / of_head, col = within % of_head;
        T *row = qkv + token * (heads * (2 * keys + of_v)), *to;
        if (col < keys)
            to = row + head * keys + col;
        else if (col < 2 * keys)
            to = row + (heads + head) * keys + (col - keys);
        else if (col < 2 * keys + of_v)
            to = row + 2 * heads * keys + head * of_v + (col - 2 * keys);
        else
            to = z + (token * heads + head) * of_v + (col - 2 * keys - of_v);
        store(to, load(qkvz + at * LENGTH));
        // The lanes of a head's first pieces also move its few elements of b and a.
        const size_t first = (token * heads + head) * groups;
        for (int group = col / LENGTH; group < groups; group += of_head / LENGTH) {
            b[first + group] = ba[2 * first + group];
            a[first + group] = ba[2 * first + groups + group];
        }
    }
};

/**
 * @brief Rotates a piece of a vector of `dim` elements by the angles of its position.
 *
 * @tparam interleaved whether elements 2 i and 2 i + 1 make a pair (GPT-J), or i and i + dim / 2 (NeoX), where dim / 2
 * is a multiple of a piece.
 * @param cos,sin dim / 2 cosines and sines.
 */
template <bool interleaved, typename T, typename Table>
__device__ inline piece<float> turned(const T *vector, int col, int dim, const Table *cos, const Table *sin) {
    const int half = dim / 2, partner = col < half ? col + half : col - half;
    const piece<T> own = load(vector + col), others = load(vector + (interleaved ? col : partner));
    piece<float> made;
#pragma unroll
    for (int e = 0; e < LENGTH; e++) {
        const int angle = interleaved ? (col + e) / 2 : (col + e) % half;
        const bool second = interleaved ? e % 2 == 1 : col >= half;
        const float across = number(others.e[interleaved ? e ^ 1 : e]) * number(sin[angle]);
        const float along = number(own.e[e]) * number(cos[angle]);
        made.e[e] = second ? along + across : along - across;
    }
    return made;
}

/** Latent attention's vectors, each with `rank` unchanged columns and `dim` rotated ones: queries, and rows of a cache.
 */
template <bool interleaved, typename T, typename Cache, typename Table>
struct latent_rows {
    const T *plain, *q_pe, *k_nope, *k_rope;
    T *q_out, *k_pe_out;
    Cache *cache;
    const Table *cos, *sin;
    const int64_t *positions, *slots;
    /** Divisor of the cache's rows. */
    float k_scale;
    /** Tokens with queries, and those with keys. */
    int queries, keys, q_heads, k_heads, rank, dim;

    __device__ inline void run(size_t at) const {
        const int in_row = (rank + dim) / LENGTH, col = static_cast<int>(at % in_row) * LENGTH;
        const int row = static_cast<int>(at / in_row), of_queries = queries * q_heads;
        if (row < of_queries)
            query(row / q_heads, row % q_heads, col);
        else if (row - of_queries < keys * k_heads)
            key((row - of_queries) / k_heads, (row - of_queries) % k_heads, col);
    }

  private:
    template <typename U>
    static __device__ inline void put(U *to, const piece<float> &values, float by) {
        piece<U> made;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) made.e[e] = rounded<U>(values.e[e] * by);
        store(to, made);
    }
    static __device__ inline piece<float> as_floats(const T *from) {
        const piece<T> values = load(from);
        piece<float> made;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) made.e[e] = number(values.e[e]);
        return made;
    }
    __device__ inline piece<float> turned_at(const T *vector, int token, int col) const {
        const size_t angles = static_cast<size_t>(positions[token]) * (dim / 2);
        return turned<interleaved>(vector, col, dim, cos + angles, sin + angles);
    }
    __device__ inline void query(int token, int head, int col) const {
        const size_t row = static_cast<size_t>(token) * q_heads + head;
        T *to = q_out + row * (rank + dim) + col;
        if (col < rank)
            store(to, load(plain + (static_cast<size_t>(head) * queries + token) * rank + col));
        else
            put(to, turned_at(q_pe + row * dim, token, col - rank), 1.0f);
    }
    __device__ inline void key(int token, int head, int col) const {
        const size_t row = static_cast<size_t>(token) * k_heads + head;
        const bool plain_part = col < rank;
        const piece<float> values =
            plain_part ? as_floats(k_nope + row * rank + col) : turned_at(k_rope + row * dim, token, col - rank);
        if (!plain_part) put(k_pe_out + row * dim + (col - rank), values, 1.0f);
        const int64_t slot = slots[token];
        if (slot >= 0) put(cache + (slot * k_heads + head) * (rank + dim) + col, values, 1.0f / k_scale);
    }
};

/** out = f of one element of each of `in`, rounded once; the size need not be a multiple of a piece. */
template <typename U, typename F, typename... T>
__device__ inline void each(U *out, size_t size, F f, const T *...in) {
    const size_t first = index() * LENGTH;
    if (first + LENGTH > size) {
        for (size_t i = first; i < size; i++) out[i] = rounded<U>(f(number(in[i])...));
        return;
    }
    [&](const auto &...from) {
        piece<U> made;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) made.e[e] = rounded<U>(f(number(from.e[e])...));
        store(out + first, made);
    }(load(in + first)...);
}

/** out[n] = op over elements 256 n to 256 n + 255, as far as they exist; a wave reduces 256. */
template <typename op>
__device__ inline void reduce_blocks(const float *x, float *out, int size, float nothing) {
    const int block = static_cast<int>(index()) / WARP_THREADS, lane = laneid();
    if (block * 256 >= size) return;
    float made = nothing;
#pragma unroll
    for (int part = 0; part < 4; part++) {
        const int at = block * 256 + part * WARP_THREADS + lane;
        if (at < size) made = op::template op<float>(made, x[at]);
    }
    made = kittens::detail::reduce_lanes<op, 1, WARP_THREADS / 2>(made);
    if (lane == 0) out[block] = made;
}

/** out = a x + b; a and b have one element for each of x, or one for all of x. */
template <typename T, bool one_a, bool one_b>
__device__ inline void multiply_add(const T *x, const T *a, const T *b, T *out, size_t at, size_t size) {
    const size_t first = at * LENGTH;
    const auto element = [&](size_t i) {
        return rounded<T>(__builtin_fmaf(number(a[one_a ? 0 : i]), number(x[i]), number(b[one_b ? 0 : i])));
    };
    if (first + LENGTH > size) {
        for (size_t i = first; i < size; i++) out[i] = element(i);
        return;
    }
    piece<T> values = load(x + first), factors, addends;
    if constexpr (!one_a) factors = load(a + first);
    if constexpr (!one_b) addends = load(b + first);
#pragma unroll
    for (int e = 0; e < LENGTH; e++)
        values.e[e] = rounded<T>(__builtin_fmaf(number(one_a ? a[0] : factors.e[e]), number(values.e[e]),
                                                number(one_b ? b[0] : addends.e[e])));
    store(out + first, values);
}

} // namespace kittens::families::elementwise
