/**
 * @file
 * @brief Register vectors: one value for each row or column of a register tile, held by a wave.
 */
#pragma once

#include "rt_shape.cuh"
#include "rv_layout.cuh"

namespace kittens {

namespace ducks::rv {
struct identifier {};
} // namespace ducks::rv

namespace detail {

/**
 * @brief A vector in the registers of a wave: `rv` names it.
 *
 * @tparam _T element type.
 * @tparam _length elements; a multiple of the base tile's side for the layouts that belong to a tile.
 * @tparam _layout align, ortho or naive.
 * @tparam _shape base shape of the tile that it belongs to, transposed if necessary so that the tile's lanes lie along
 *         the shape's rows: an align vector lies along the columns of this shape, an ortho vector along its rows.
 *         `rt::row_vec` and `rt::col_vec` choose all of these.
 */
template <typename _T, int _length, ducks::rv_layout::all _layout, ducks::rt_shape::all _shape>
struct register_vector {
    using identifier = ducks::rv::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using layout = _layout;
    using shape = _shape;

    static constexpr bool is_align = detail::is_same<layout, align_l>;
    static constexpr bool is_ortho = detail::is_same<layout, ortho_l>;
    static constexpr bool is_naive = detail::is_same<layout, naive_l>;

    /** Element type of a lane's array: packed elements in the align layout, single ones in the others. */
    using dtype = detail::select<is_align, T2, T>;

    using distribution = ducks::rt_shape::distribution<shape, true>;

    static constexpr int length = _length;
    /** Elements per base tile. */
    static constexpr int tile_length = is_align ? shape::cols : is_ortho ? shape::rows : length;
    static_assert(length > 0, "rv: the length is positive");
    static_assert(length % tile_length == 0, "rv: the length is a multiple of the base tile's side");

    static constexpr int packing = base_types::packing<dtype>::num();
    static constexpr int tiles = length / tile_length;
    /** Elements per lane in the naive layout. On HipKittens' branch for CDNA4 and later they are consecutive in
     * the vector, on the others as far apart as a wave has lanes. */
    static constexpr int of_lane = (length + WARP_THREADS - 1) / WARP_THREADS;
#if !defined(KITTENS_CDNA3) && !defined(KITTENS_FP6)
    static constexpr bool side_by_side = true;
#else
    static constexpr bool side_by_side = false;
#endif
    static constexpr int outer_dim = is_naive && !side_by_side ? of_lane : tiles;
    static constexpr int inner_dim = is_align                   ? shape::elements_per_thread / packing
                                     : is_naive && side_by_side ? of_lane
                                                                : 1;

    /** For the tile that an align vector belongs to: a lane's elements, and the lanes that share a row of the base
     * tile. */
    static constexpr int stride = shape::stride;
    static constexpr int elements_per_thread = shape::elements_per_thread;
    static constexpr int packed_per_stride = stride / packing;
    static constexpr int reductions = shape::cols;
    static constexpr int threads_per_reduction = reductions / elements_per_thread;
    static constexpr int aligned_threads = WARP_THREADS / threads_per_reduction;
    static constexpr int elements_per_stride_group = threads_per_reduction * stride;
    static constexpr int strides_per_tile = reductions / elements_per_stride_group;

    dtype data[outer_dim][inner_dim];

    /** Index in the vector of a lane's element `element` (0 in the ortho layout) of base tile `tile`. */
    static __host__ __device__ constexpr int index(int tile, int lane, int element) {
        if constexpr (is_align)
            return tile * tile_length + distribution::major_index(lane, element);
        else if constexpr (is_ortho)
            return tile * tile_length + distribution::minor_index(lane);
        else
            return side_by_side ? lane * of_lane + element : tile * WARP_THREADS + lane;
    }

    __device__ inline const dtype *operator[](int i) const { return data[i]; }
    __device__ inline dtype *operator[](int i) { return data[i]; }
    /** The lane's element y of base tile x. */
    __device__ inline const dtype &operator[](const int2 &at) const { return data[at.x][at.y]; }
    __device__ inline dtype &operator[](const int2 &at) { return data[at.x][at.y]; }
};

/** A base shape, transposed if necessary for a vector with `tile_length` elements per base tile in its layout. */
template <int tile_length, ducks::rt_shape::all shape, ducks::rv_layout::all layout>
struct turned {
    static constexpr bool is_align = is_same<layout, align_l>, is_naive = is_same<layout, naive_l>;
    static_assert(is_naive || shape::rows == tile_length || shape::cols == tile_length,
                  "rv: the tile length is a side of the base shape");
    static constexpr bool as_is = (is_align ? shape::cols : shape::rows) == tile_length;
    using type = select<is_naive, rt_16x16_s, select<as_is, shape, typename shape::transposed>>;
};

} // namespace detail

namespace ducks::rv {
/** Any register vector. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
template <typename T>
concept align_layout = all<T> && detail::is_same<typename T::layout, rv_layout::align>;
template <typename T>
concept ortho_layout = all<T> && detail::is_same<typename T::layout, rv_layout::ortho>;
template <typename T>
concept naive_layout = all<T> && detail::is_same<typename T::layout, rv_layout::naive>;
/** Vectors of the layouts that belong to a tile. */
template <typename T>
concept tile_layout = align_layout<T> || ortho_layout<T>;
} // namespace ducks::rv

// HipKittens' branches differ in the template arguments of a vector: the branch for CDNA4 and later takes the length
// per base tile and the base shape, the others, for CDNA3 and for fp6, the layout. One parameter cannot be both a type
// and a number, so sources with the arguments for CDNA4 on another target define KITTENS_RV_TILE_LENGTH.
#if (!defined(KITTENS_CDNA3) && !defined(KITTENS_FP6)) || defined(KITTENS_RV_TILE_LENGTH)
/**
 * @brief A vector in the registers of a wave.
 *
 * @tparam T element type.
 * @tparam length elements; a multiple of `tile_length`.
 * @tparam tile_length elements per base tile: the side of `shape` along which the vector lies.
 * @tparam shape base shape of the tile that it goes with.
 * @tparam layout align, ortho or naive; the latter belongs to no tile.
 */
template <typename T, int length, int tile_length = length, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::rv_layout::all layout = naive_l>
using rv = detail::register_vector<T, length, layout, typename detail::turned<tile_length, shape, layout>::type>;
template <int length, int tile_length = length, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::rv_layout::all layout = naive_l>
using rv_bf = rv<bf16, length, tile_length, shape, layout>;
template <int length, int tile_length = length, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::rv_layout::all layout = naive_l>
using rv_hf = rv<half, length, tile_length, shape, layout>;
template <int length, int tile_length = length, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::rv_layout::all layout = naive_l>
using rv_fl = rv<float, length, tile_length, shape, layout>;
#else
/**
 * @brief A vector in the registers of a wave.
 *
 * @tparam T element type.
 * @tparam length elements; a multiple of a side of `shape` in the layouts that belong to a tile.
 * @tparam layout align, along the columns of `shape`; ortho, along its rows; or naive, which belongs to no tile.
 * @tparam shape base shape of the tile that it belongs to, in the row layout.
 */
template <typename T, int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv = detail::register_vector<T, length, layout, shape>;
template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_bf = rv<bf16, length, layout, shape>;
template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_hf = rv<half, length, layout, shape>;
template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_fl = rv<float, length, layout, shape>;
#endif
/** A vector that belongs to no tile: lane l has elements l, l + WARP_THREADS, ... */
template <typename T, int length>
using rv_naive = detail::register_vector<T, length, naive_l, rt_16x16_s>;

} // namespace kittens
