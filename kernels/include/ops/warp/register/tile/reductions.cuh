/**
 * @file
 * @brief Reductions of register tiles along rows or columns.
 *
 * A row reduction gives one value for each row, a `col_vec`; a column reduction one for each column, a `row_vec`.
 * Within a lane's elements, a reduction costs only arithmetic; across lanes, one exchange for each doubling of the
 * lanes involved. The order of the operations follows registers and lanes, not columns; they are in float (int for
 * int), and the result is rounded once.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

namespace detail {

/** Reduces the elements in a packed value. */
template <typename op, typename T2>
__device__ inline typename base_types::packing<T2>::unpacked_type fold_packed(const T2 &value) {
    const auto elements = bit_cast<base_types::lanes_of<T2>>(value);
    auto result = elements.e[0];
#pragma unroll
    for (int i = 1; i < base_types::packing<T2>::num(); i++)
        result = op::template op<decltype(result)>(result, elements.e[i]);
    return result;
}

/** Types that reductions are computed in: for pairs, and for single elements. */
template <typename T>
using summed_pair = select<is_same<T, int>, int2, float2>;
template <typename T>
using summed = select<is_same<T, int>, int, float>;

/** Packed element k, as it is summed, of the base tile that is the `outer`-th across and the `inner`-th along the
 * reduction.
 */
template <bool along_rows, ducks::rt::all RT>
__device__ inline summed_pair<typename RT::T> element(const RT &src, int outer, int inner, int k) {
    return base_types::convertor<summed_pair<typename RT::T>, typename RT::dtype>::convert(
        along_rows ? src.tiles[outer][inner].data[k] : src.tiles[inner][outer].data[k]);
}

/** Reduces along rows (`along_rows`) or columns into `dst`, after `start` where `has_start`; in float, rounded once. */
template <ducks::base_ops::binary op, bool along_rows, bool has_start, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void reduce_pairs(RV &dst, const RT &src, const RV &start) {
    using distribution = typename RT::base_tile::distribution;
    using stored = typename RV::dtype;
    // One value, or the pair of neighbours that an align vector stores.
    using pair = summed_pair<typename RT::T>;
    using wide = select<RV::is_align, pair, summed<typename RT::T>>;
    constexpr int outer_size = along_rows ? RT::height : RT::width;
    constexpr int inner_size = along_rows ? RT::width : RT::height;
    constexpr int packed = RT::packed_per_base_tile;
#pragma unroll
    for (int outer = 0; outer < outer_size; outer++) {
#pragma unroll
        for (int k = 0; k < RV::inner_dim; k++) {
            wide total;
            if constexpr (RV::is_ortho) {
                // The reduction runs along each lane's elements, then over the lanes that share a row (column).
                pair partial = element<along_rows>(src, outer, 0, 0);
#pragma unroll
                for (int inner = 0; inner < inner_size; inner++)
#pragma unroll
                    for (int e = inner == 0 ? 1 : 0; e < packed; e++)
                        partial = op::template op<pair>(partial, element<along_rows>(src, outer, inner, e));
                total = reduce_lanes<op, distribution::minor, WARP_THREADS / 2>(fold_packed<op>(partial));
            } else {
                // Each of a lane's elements belongs to a different result; the reduction runs over adjacent lanes.
                pair partial = element<along_rows>(src, outer, 0, k);
#pragma unroll
                for (int inner = 1; inner < inner_size; inner++)
                    partial = op::template op<pair>(partial, element<along_rows>(src, outer, inner, k));
                total = reduce_lanes<op, 1, distribution::minor / 2>(partial);
            }
            if constexpr (has_start)
                total =
                    op::template op<wide>(base_types::convertor<wide, stored>::convert(start.data[outer][k]), total);
            dst.data[outer][k] = base_types::convertor<stored, wide>::convert(total);
        }
    }
}

/** The same, after a check that the operands match. */
template <ducks::base_ops::binary op, bool along_rows, bool has_start, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void reduce(RV &dst, const RT &src, const RV &start) {
    using wanted = select<along_rows, typename RT::col_vec, typename RT::row_vec>;
    constexpr bool own_vector = is_same<RV, wanted>;
    static_assert(own_vector, "a row reduction gives the tile's own col_vec, a column reduction its row_vec");
    constexpr bool in_pairs = RT::packing == 2;
    static_assert(in_pairs, "reduce: copy an fp8 tile to another type first");
    if constexpr (own_vector && in_pairs) reduce_pairs<op, along_rows, has_start>(dst, src, start);
}

} // namespace detail

/** row_values = op over each row of src. */
template <ducks::base_ops::binary op, ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_reduce(RV &row_values, const RT &src) {
    detail::reduce<op, true, false>(row_values, src, row_values);
}
/** row_values = op(start, op over each row of src); `start` may be `row_values` itself. */
template <ducks::base_ops::binary op, ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_reduce(RV &row_values, const RT &src, const RV &start) {
    detail::reduce<op, true, true>(row_values, src, start);
}
/** col_values = op over each column of src. */
template <ducks::base_ops::binary op, ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_reduce(RV &col_values, const RT &src) {
    detail::reduce<op, false, false>(col_values, src, col_values);
}
/** col_values = op(start, op over each column of src); `start` may be `col_values` itself. */
template <ducks::base_ops::binary op, ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_reduce(RV &col_values, const RT &src, const RV &start) {
    detail::reduce<op, false, true>(col_values, src, start);
}

template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_max(RV &row_values, const RT &src) {
    row_reduce<base_ops::max>(row_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_max(RV &row_values, const RT &src, const RV &start) {
    row_reduce<base_ops::max>(row_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_min(RV &row_values, const RT &src) {
    row_reduce<base_ops::min>(row_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_min(RV &row_values, const RT &src, const RV &start) {
    row_reduce<base_ops::min>(row_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_sum(RV &row_values, const RT &src) {
    row_reduce<base_ops::sum>(row_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_sum(RV &row_values, const RT &src, const RV &start) {
    row_reduce<base_ops::sum>(row_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_prod(RV &row_values, const RT &src) {
    row_reduce<base_ops::mul>(row_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void row_prod(RV &row_values, const RT &src, const RV &start) {
    row_reduce<base_ops::mul>(row_values, src, start);
}

template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_max(RV &col_values, const RT &src) {
    col_reduce<base_ops::max>(col_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_max(RV &col_values, const RT &src, const RV &start) {
    col_reduce<base_ops::max>(col_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_min(RV &col_values, const RT &src) {
    col_reduce<base_ops::min>(col_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_min(RV &col_values, const RT &src, const RV &start) {
    col_reduce<base_ops::min>(col_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_sum(RV &col_values, const RT &src) {
    col_reduce<base_ops::sum>(col_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_sum(RV &col_values, const RT &src, const RV &start) {
    col_reduce<base_ops::sum>(col_values, src, start);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_prod(RV &col_values, const RT &src) {
    col_reduce<base_ops::mul>(col_values, src);
}
template <ducks::rv::all RV, ducks::rt::all RT>
__device__ inline void col_prod(RV &col_values, const RT &src, const RV &start) {
    col_reduce<base_ops::mul>(col_values, src, start);
}

} // namespace kittens
