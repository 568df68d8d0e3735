/**
 * @file
 * @brief Register tiles with a part of their elements set to a value.
 *
 * Each copies src to dst and sets the elements on one side of a border to `value` (zero unless given). Rows and columns
 * are counted from the tile's corner. Comparisons that no lane can fail cost nothing.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/**
 * @brief dst = outside(row, col) ? value : src.
 *
 * @param outside predicate of the row and column of each element that the lane holds.
 */
template <ducks::rt::all RT, typename F>
__device__ inline void mask_map(RT &dst, const RT &src, const typename RT::T &value, F outside) {
    using lanes = base_types::lanes_of<typename RT::dtype>;
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++) {
                auto elements = detail::bit_cast<lanes>(src.tiles[i][j].data[k]);
#pragma unroll
                for (int e = 0; e < RT::packing; e++) {
                    const int row = i * RT::base_tile_rows + RT::base_tile::row(lane, k * RT::packing + e);
                    const int col = j * RT::base_tile_cols + RT::base_tile::col(lane, k * RT::packing + e);
                    if (outside(row, col)) elements.e[e] = value;
                }
                dst.tiles[i][j].data[k] = detail::bit_cast<typename RT::dtype>(elements);
            }
}

/** Keeps column <= row - row_idx, the triangle below a diagonal that begins in row `row_idx`, and sets the rest. */
template <ducks::rt::all RT>
__device__ inline void tril(RT &dst, const RT &src, int row_idx = 0,
                            const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int row, int col) { return col > row - row_idx; });
}
/** Keeps column >= row - row_idx, the triangle above a diagonal that begins in row `row_idx`, and sets the rest. */
template <ducks::rt::all RT>
__device__ inline void triu(RT &dst, const RT &src, int row_idx = 0,
                            const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int row, int col) { return col < row - row_idx; });
}
/** Keeps the elements that a query sees in causal attention, column <= row, and sets the rest. */
template <ducks::rt::all RT>
__device__ inline void make_causal(RT &dst, const RT &src,
                                   const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    tril(dst, src, 0, value);
}
/** The transpose of make_causal: keeps row <= column. */
template <ducks::rt::all RT>
__device__ inline void make_causal_t(RT &dst, const RT &src,
                                     const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    triu(dst, src, 0, value);
}
/** Sets the columns before `col_idx`. */
template <ducks::rt::all RT>
__device__ inline void left_fill(RT &dst, const RT &src, int col_idx,
                                 const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int, int col) { return col < col_idx; });
}
/** Sets the columns from `col_idx` on. */
template <ducks::rt::all RT>
__device__ inline void right_fill(RT &dst, const RT &src, int col_idx,
                                  const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int, int col) { return col >= col_idx; });
}
/** Sets the rows before `row_idx`. */
template <ducks::rt::all RT>
__device__ inline void upper_fill(RT &dst, const RT &src, int row_idx,
                                  const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int row, int) { return row < row_idx; });
}
/** Sets the rows from `row_idx` on. */
template <ducks::rt::all RT>
__device__ inline void lower_fill(RT &dst, const RT &src, int row_idx,
                                  const typename RT::T &value = base_types::constants<typename RT::T>::zero()) {
    mask_map(dst, src, value, [=](int row, int) { return row >= row_idx; });
}

} // namespace kittens
