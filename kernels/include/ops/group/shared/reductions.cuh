/**
 * @file
 * @brief Reductions of shared tiles along rows and columns by several waves, as members of `group`.
 *
 * A thread reduces whole rows (columns), in the order of the elements and in their type. As with maps, the other waves
 * see the results after `wait_lgkmcnt` and a barrier.
 */
#pragma once

#include "maps.cuh"

namespace kittens::detail {

template <int N>
struct shared_reductions {
    /** row_values = op over each row of src; after `start` where `reset` is false. */
    template <typename op, ducks::sv::all V, ducks::st::all T, bool reset = true>
    static __device__ inline void row_reduce(V &row_values, const T &src, const V &start) {
        reduce<op, V, T::cols, reset, T::rows>(row_values, start, [&](int row, int i) { return src[int2{row, i}]; });
    }
    /** The same for columns. */
    template <typename op, ducks::sv::all V, ducks::st::all T, bool reset = true>
    static __device__ inline void col_reduce(V &col_values, const T &src, const V &start) {
        reduce<op, V, T::rows, reset, T::cols>(col_values, start, [&](int col, int i) { return src[int2{i, col}]; });
    }

#define KITTENS_REDUCTION(name, op)                                                                                    \
    template <ducks::sv::all V, ducks::st::all T>                                                                      \
    static __device__ inline void row_##name(V &row_values, const T &src) {                                            \
        row_reduce<base_ops::op, V, T, true>(row_values, src, row_values);                                             \
    }                                                                                                                  \
    template <ducks::sv::all V, ducks::st::all T>                                                                      \
    static __device__ inline void row_##name(V &row_values, const T &src, const V &start) {                            \
        row_reduce<base_ops::op, V, T, false>(row_values, src, start);                                                 \
    }                                                                                                                  \
    template <ducks::sv::all V, ducks::st::all T>                                                                      \
    static __device__ inline void col_##name(V &col_values, const T &src) {                                            \
        col_reduce<base_ops::op, V, T, true>(col_values, src, col_values);                                             \
    }                                                                                                                  \
    template <ducks::sv::all V, ducks::st::all T>                                                                      \
    static __device__ inline void col_##name(V &col_values, const T &src, const V &start) {                            \
        col_reduce<base_ops::op, V, T, false>(col_values, src, start);                                                 \
    }
    KITTENS_REDUCTION(max, max)
    KITTENS_REDUCTION(min, min)
    KITTENS_REDUCTION(sum, sum)
    KITTENS_REDUCTION(prod, mul)
#undef KITTENS_REDUCTION

  private:
    template <typename op, ducks::sv::all V, int count, bool reset, int length, typename Element>
    static __device__ inline void reduce(V &values, const V &start, Element element) {
        using T = typename V::dtype;
        constexpr bool right_length = V::length == length;
        static_assert(right_length, "a reduction of a shared tile gives a shared vector with a value for each row "
                                    "(column)");
        for_own_elements<N, V>([&](int at) {
            T total = element(at, 0);
            for (int i = 1; i < count; i++) total = op::template op<T>(total, element(at, i));
            values[at] = reset ? total : op::template op<T>(start[at], total);
        });
    }
};

} // namespace kittens::detail
