/**
 * @file
 * @brief Outer products of vectors.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/** dst = the product of the values of the element's row and column. */
template <ducks::rt::all RT, ducks::rv::all COL, ducks::rv::all ROW>
__device__ inline void outer(RT &dst, const COL &row_values, const ROW &col_values) {
    broadcast_row(dst, row_values);
    mul_col(dst, dst, col_values);
}
/** dst = src + the same product, rounded once in float. */
template <ducks::rt::all RT, ducks::rv::all COL, ducks::rv::all ROW>
__device__ inline void outer_add(RT &dst, const RT &src, const COL &row_values, const ROW &col_values) {
    RT values;
    broadcast_row(values, row_values);
    // a * c + b, where c is the value of the column.
    col_map<base_ops::fma_AxCtB>(dst, values, src, col_values);
}

} // namespace kittens
