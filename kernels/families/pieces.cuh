/**
 * @file
 * @brief Operators that only move rows, or change them element by element: a lane takes eight neighbours at a time.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::pieces {

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
/** Which piece of all this lane takes. */
__device__ inline size_t index() { return size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/** Each row of out is one of `left` and then one of `right`; both are whole pieces. */
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

/** Rows (token, head) divided by a number into the slot of their token of a paged cache: blocks x heads x block x dim.
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

/** out = a x + b; a and b have an element for each of x, or one for all. */
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

} // namespace kittens::families::pieces
