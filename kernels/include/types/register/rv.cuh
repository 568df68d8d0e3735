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

/**
 * @brief A vector in the registers of a wave.
 *
 * @tparam _T element type.
 * @tparam _length elements; a multiple of the base tile's side for the layouts that go with a tile.
 * @tparam _layout align, ortho or naive.
 * @tparam _shape base shape of the tile that it goes with, turned so that the tile's lanes lie along the shape's rows:
 *         an align vector lies along the columns of this shape, an ortho vector along its rows. `rt::row_vec` and
 *         `rt::col_vec` choose all of it.
 */
template <typename _T, int _length, ducks::rv_layout::all _layout = naive_l, ducks::rt_shape::all _shape = rt_16x16_s>
struct rv {
    using identifier = ducks::rv::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using layout = _layout;
    using shape = _shape;

    static constexpr bool is_align = detail::is_same<layout, align_l>;
    static constexpr bool is_ortho = detail::is_same<layout, ortho_l>;
    static constexpr bool is_naive = detail::is_same<layout, naive_l>;

    /** What a lane holds is an array of these: packed elements in the align layout, single ones in the others. */
    using dtype = detail::select<is_align, T2, T>;

    using distribution = ducks::rt_shape::distribution<shape, true>;

    static constexpr int length = _length;
    /** Elements that one base tile accounts for. */
    static constexpr int tile_length = is_align ? shape::cols : is_ortho ? shape::rows : WARP_THREADS;
    static_assert(length > 0, "rv: the length is positive");
    static_assert(is_naive || length % tile_length == 0, "rv: the length is a multiple of the base tile's side");

    static constexpr int tiles = (length + tile_length - 1) / tile_length;
    static constexpr int outer_dim = tiles;
    static constexpr int inner_dim = is_align ? shape::elements_per_thread / base_types::packing<dtype>::num() : 1;

    dtype data[outer_dim][inner_dim];

    /** Index in the vector of element `element` (0 but in the align layout) that a lane holds of base tile `tile`. */
    static __host__ __device__ constexpr int index(int tile, int lane, int element) {
        if constexpr (is_align)
            return tile * tile_length + distribution::major_index(lane, element);
        else if constexpr (is_ortho)
            return tile * tile_length + distribution::minor_index(lane);
        else
            return tile * tile_length + lane;
    }

    __device__ inline const dtype *operator[](int i) const { return data[i]; }
    __device__ inline dtype *operator[](int i) { return data[i]; }
    /** Of base tile x the lane's y-th. */
    __device__ inline const dtype &operator[](const int2 &at) const { return data[at.x][at.y]; }
    __device__ inline dtype &operator[](const int2 &at) { return data[at.x][at.y]; }
};

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
} // namespace ducks::rv

template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_bf = rv<bf16, length, layout, shape>;
template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_hf = rv<half, length, layout, shape>;
template <int length, ducks::rv_layout::all layout = naive_l, ducks::rt_shape::all shape = rt_16x16_s>
using rv_fl = rv<float, length, layout, shape>;
/** A vector that goes with no tile: lane l has elements l, l + 64, ... */
template <typename T, int length>
using rv_naive = rv<T, length, naive_l>;

} // namespace kittens
