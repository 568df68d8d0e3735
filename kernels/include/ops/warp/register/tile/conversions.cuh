/**
 * @file
 * @brief Register tiles from one type, layout or orientation to another.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/** dst = src in dst's element type; both have the same size, layout and base shape. No value changes its lane. */
template <ducks::rt::all DST, ducks::rt::all SRC>
    requires(!detail::is_same<DST, SRC> && detail::numbers_in<typename DST::T> == detail::numbers_in<typename SRC::T>)
__device__ inline void copy(DST &dst, const SRC &src) {
    constexpr bool same_distribution = detail::same_distribution<DST, SRC>;
    static_assert(same_distribution,
                  "copy: the tiles have the same size, layout and base shape, and differ in the element type only; "
                  "swap_layout changes the layout");
    using to = typename DST::dtype;
    using from = typename SRC::dtype;
    if constexpr (DST::packing == SRC::packing) {
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++)
                    dst.tiles[i][j].data[k] = base_types::convertor<to, from>::convert(src.tiles[i][j].data[k]);
    } else {
        // fp8 is packed by four, the others by two: convert by fours through float.
        constexpr int per_step = 4;
        using four_to = struct {
            typename DST::dtype v[per_step / DST::packing];
        };
        using four_from = struct {
            typename SRC::dtype v[per_step / SRC::packing];
        };
        using four_elements_to = struct {
            typename DST::T e[per_step];
        };
        using four_elements_from = struct {
            typename SRC::T e[per_step];
        };
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::base_tile_elements_per_thread / per_step; k++) {
                    four_from packed;
#pragma unroll
                    for (int v = 0; v < per_step / SRC::packing; v++)
                        packed.v[v] = src.tiles[i][j].data[k * (per_step / SRC::packing) + v];
                    const auto elements = detail::bit_cast<four_elements_from>(packed);
                    four_elements_to converted;
#pragma unroll
                    for (int e = 0; e < per_step; e++)
                        converted.e[e] =
                            base_types::convertor<typename DST::T, typename SRC::T>::convert(elements.e[e]);
                    const auto result = detail::bit_cast<four_to>(converted);
#pragma unroll
                    for (int v = 0; v < per_step / DST::packing; v++)
                        dst.tiles[i][j].data[k * (per_step / DST::packing) + v] = result.v[v];
                }
    }
}

/**
 * @brief dst = src transposed, where dst has the other layout and the base shape with rows and columns exchanged: then
 * every element is already in the right lane and register, and it costs nothing.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void transpose(DST &dst, const SRC &src) {
    constexpr bool turned_size = DST::rows == SRC::cols && DST::cols == SRC::rows;
    static_assert(turned_size, "transpose: dst has as many rows as src has columns, and the reverse");
    constexpr bool same_type = detail::is_same<typename DST::T, typename SRC::T>;
    static_assert(same_type, "transpose: the tiles have the same element type");
    constexpr bool other_layout = DST::is_row != SRC::is_row;
    static_assert(other_layout, "transpose: dst has the other layout than src; swap_layout changes it before or after");
    constexpr bool turned_shape = detail::is_same<typename DST::shape, typename SRC::shape::transposed>;
    static_assert(turned_shape, "transpose: dst's base shape is src's with rows and columns exchanged");
    if constexpr (same_type) {
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++) dst.tiles[i][j].data[k] = src.tiles[j][i].data[k];
    }
}

namespace detail {

/** Elements from the lanes of one layout to those of the other. */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void exchange_layout(DST &dst, const SRC &src) {
    using T = typename DST::T;
    constexpr int count = DST::base_tile_elements_per_thread;
    using elements = struct {
        T e[count];
    };
    using packed = struct {
        typename DST::dtype v[DST::packed_per_base_tile];
    };
    using from = typename SRC::base_tile;
    using distribution = typename from::distribution;
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < DST::height; i++)
#pragma unroll
        for (int j = 0; j < DST::width; j++) {
            packed source;
#pragma unroll
            for (int k = 0; k < SRC::packed_per_base_tile; k++) source.v[k] = src.tiles[i][j].data[k];
            const auto have = bit_cast<elements>(source);
            elements wanted;
#pragma unroll
            for (int e = 0; e < count; e++) {
                const int row = DST::base_tile::row(lane, e), col = DST::base_tile::col(lane, e);
                const int minor = SRC::is_row ? row : col, major = SRC::is_row ? col : row;
                constexpr int stride = SRC::base_tile_stride, run = distribution::groups * stride;
                const int holder = minor + major % run / stride * distribution::minor;
                const int held = major / run * stride + major % stride;
#pragma unroll
                for (int f = 0; f < count; f++) {
                    unsigned bits = 0;
                    __builtin_memcpy(&bits, &have.e[f], sizeof(T));
                    const unsigned got = from_lane(bits, holder);
                    T value;
                    __builtin_memcpy(&value, &got, sizeof(T));
                    if (held == f) wanted.e[e] = value;
                }
            }
            const auto result = bit_cast<packed>(wanted);
#pragma unroll
            for (int k = 0; k < DST::packed_per_base_tile; k++) dst.tiles[i][j].data[k] = result.v[k];
        }
}

} // namespace detail

/**
 * @brief dst = src in the other layout; both have the same size, element type and base shape sides.
 *
 * Elements go from lane to lane: for n elements a lane holds of a base tile, n * n exchanges through the LDS hardware
 * (ds_bpermute) at most. Going through a shared tile is cheaper for base shapes larger than 16x16.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void swap_layout(DST &dst, const SRC &src) {
    constexpr bool same_size = DST::rows == SRC::rows && DST::cols == SRC::cols;
    static_assert(same_size, "swap_layout: the tiles have the same size");
    constexpr bool same_type = detail::is_same<typename DST::T, typename SRC::T>;
    static_assert(same_type, "swap_layout: the tiles have the same element type");
    constexpr bool other_layout = DST::is_row != SRC::is_row;
    static_assert(other_layout, "swap_layout: dst has the other layout than src");
    constexpr bool same_sides =
        DST::base_tile_rows == SRC::base_tile_rows && DST::base_tile_cols == SRC::base_tile_cols;
    static_assert(same_sides, "swap_layout: the base tiles have the same sides");
    if constexpr (same_type) detail::exchange_layout(dst, src);
}

/**
 * @brief Changes the layout of a tile where it is, and gives the tile by its new type; the old name is not to be used
 * any more.
 *
 * Costs what swap_layout costs: the elements change lanes.
 */
template <ducks::rt::all RT>
__device__ inline rt<typename RT::T, RT::rows, RT::cols, ducks::rt_layout::transposed<typename RT::layout>,
                     typename RT::shape> &
swap_layout_inplace(RT &tile) {
    using DST =
        rt<typename RT::T, RT::rows, RT::cols, ducks::rt_layout::transposed<typename RT::layout>, typename RT::shape>;
    static_assert(sizeof(DST) == sizeof(RT));
    DST swapped;
    swap_layout(swapped, tile);
    __builtin_memcpy(&tile, &swapped, sizeof(DST));
    return reinterpret_cast<DST &>(tile);
}

} // namespace kittens
