/**
 * @file
 * @brief The largest elements of each row of a register tile, and their columns.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

namespace detail {

struct candidate {
    float value;
    int column;
};
/** The larger one; among equal ones, the one in the lower column; NaN only if both are NaN. */
struct larger {
    // By value and by members: the compiler turns a choice between two objects into one between addresses, which puts
    // them in scratch memory.
    template <typename T>
    static __device__ inline T op(T a, T b) {
        const bool b_wins = b.value > a.value || (b.value == a.value && b.column < a.column) ||
                            (a.value != a.value && (b.value == b.value || b.column < a.column));
        return {b_wins ? b.value : a.value, b_wins ? b.column : a.column};
    }
};

} // namespace detail

/**
 * @brief The largest element of each row and its column; the first of equal ones. For the row layout.
 *
 * @param values,columns the tile's own col_vec; columns are numbers below 2^24, exact in float.
 *
 * A NaN is selected only if a row has nothing else.
 */
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_argmax(RV &values, RV &columns, const RT &src) {
    constexpr bool fits =
        RT::is_row && detail::is_same<RV, typename RT::col_vec> && detail::is_same<typename RT::T, float>;
    static_assert(fits, "row_argmax: the tile is of float in the row layout, the results are its own col_vec");
    if constexpr (fits) {
        const int lane = laneid();
#pragma unroll
        for (int i = 0; i < RT::height; i++) {
            detail::candidate best{__builtin_nanf(""), 0x7fffffff};
#pragma unroll
            for (int j = 0; j < RT::width; j++)
#pragma unroll
                for (int k = 0; k < RT::packed_per_base_tile; k++) {
                    const auto pair = detail::numbers<typename RT::dtype>::of(src.tiles[i][j].data[k]);
#pragma unroll
                    for (int e = 0; e < RT::packing; e++)
                        best = detail::larger::op(
                            best, detail::candidate{pair.n[e], j * RT::base_tile_cols +
                                                                   RT::base_tile::col(lane, k * RT::packing + e)});
                }
            best = detail::reduce_lanes<detail::larger, RT::base_tile::distribution::minor, WARP_THREADS / 2>(best);
            values.data[i][0] = best.value;
            columns.data[i][0] = static_cast<float>(best.column);
        }
    }
}

/**
 * @brief The k largest elements of each row and their columns, in descending order; equal ones keep their order.
 *
 * @param src its selected elements become NaN.
 */
template <int k, ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_topk(RV (&values)[k], RV (&columns)[k], RT &src) {
    static_assert(k >= 1 && k <= RT::cols, "row_topk: k is at most the number of columns");
#pragma unroll
    for (int n = 0; n < k; n++) {
        row_argmax(values[n], columns[n], src);
        RT found;
        broadcast_row(found, columns[n]);
        map(src, src, found, [](float v, float column, int, int col) {
            return static_cast<float>(col) == column ? __builtin_nanf("") : v;
        });
    }
}

} // namespace kittens
