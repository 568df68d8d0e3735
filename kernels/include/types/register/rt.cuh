/**
 * @file
 * @brief Register tiles: matrices in the registers of a wave.
 */
#pragma once

#include "rt_base.cuh"
#include "rv.cuh"

namespace kittens {

namespace ducks::rt {
struct identifier {};
} // namespace ducks::rt

/**
 * @brief A matrix spread over the registers of a wave.
 *
 * @tparam _T element type.
 * @tparam _rows,_cols dimensions, multiples of the base shape's.
 * @tparam _layout row_l or col_l: direction of a lane's consecutive elements.
 * @tparam _shape base shape.
 *
 * Takes rows * cols * sizeof(T) / 256 registers.
 */
template <typename _T, int _rows, int _cols, ducks::rt_layout::all _layout = row_l,
          ducks::rt_shape::all _shape = detail::default_rt_shape<_T>>
struct rt {
    using identifier = ducks::rt::identifier;
    using layout = _layout;
    using shape = _shape;
    using base_tile = rt_base<_T, layout, shape>;
    using T = typename base_tile::T;
    using T2 = typename base_tile::T2;
    using dtype = T2;

    static constexpr bool is_row = base_tile::is_row;
    static constexpr int rows = _rows;
    static constexpr int cols = _cols;
    static constexpr int num_elements = rows * cols;
    static constexpr int tile_size_row = shape::rows;
    static constexpr int tile_size_col = shape::cols;
    static constexpr int base_tile_rows = shape::rows;
    static constexpr int base_tile_cols = shape::cols;
    static constexpr int base_tile_stride = shape::stride;
    static constexpr int base_tile_num_strides = shape::num_strides;
    static constexpr int base_tile_packed_per_stride = base_tile::packed_per_stride;
    static constexpr int base_tile_reductions = base_tile::reductions;
    static constexpr int base_tile_threads_per_reduction = base_tile::threads_per_reduction;
    static constexpr int base_tile_elements_per_stride_group = base_tile::elements_per_stride_group;
    static constexpr int base_tile_elements_per_thread = base_tile::elements_per_thread;
    static constexpr int packing = base_tile::packing;
    static constexpr int num_packed = packing;
    static constexpr int packed_per_base_tile = base_tile::packed_per_thread;
    static constexpr int packed_per_tile = packed_per_base_tile;
    static constexpr int elements_per_base_tile = base_tile::elements_per_thread;

    static_assert(rows > 0 && rows % base_tile_rows == 0, "rt: the number of rows is a multiple of the base shape's");
    static_assert(cols > 0 && cols % base_tile_cols == 0,
                  "rt: the number of columns is a multiple of the base shape's");

    /** Base tiles along the rows and along the columns. */
    static constexpr int height = rows / base_tile_rows;
    static constexpr int width = cols / base_tile_cols;
    static constexpr int elements_per_thread = base_tile::elements_per_thread * height * width;
    static constexpr int packed_per_thread = base_tile::packed_per_thread * height * width;

    base_tile tiles[height][width];

    using minor_shape = detail::select<is_row, shape, typename shape::transposed>;
    /** A vector with one value for each column. */
    using row_vec = detail::register_vector<T, cols, typename base_tile::row_vec_layout, minor_shape>;
    /** A vector with one value for each row. */
    using col_vec = detail::register_vector<T, rows, typename base_tile::col_vec_layout, minor_shape>;
};

namespace ducks::rt {
/** Any register tile. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
template <typename T>
concept row_layout = all<T> && detail::is_same<typename T::layout, rt_layout::row>;
template <typename T>
concept col_layout = all<T> && detail::is_same<typename T::layout, rt_layout::col>;
template <typename T>
concept accumulator_layout = col_layout<T>;
} // namespace ducks::rt

/**
 * @brief Rows {index * rows, ...} of a register tile, in place: a part that consists of whole rows of base tiles. Used
 * like a register tile, at no cost.
 */
template <int rows, ducks::rt::all RT>
__device__ inline rt<typename RT::T, rows, RT::cols, typename RT::layout, typename RT::shape> &
subtile_inplace(RT &tile, int index) {
    using part = rt<typename RT::T, rows, RT::cols, typename RT::layout, typename RT::shape>;
    static_assert(RT::rows % rows == 0, "subtile_inplace: the register tile is a whole number of subtiles");
    return *reinterpret_cast<part *>(&tile.tiles[index * part::height][0]);
}

template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_bf = rt<bf16, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_hf = rt<half, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_fl = rt<float, rows, cols, layout, shape>;
/** By default, the 8- and 4-bit types use the base shapes of the matrix instructions with the longest K. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x128_s>
using rt_fp8e4m3 = rt<fp8e4m3, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x128_s>
using rt_fp8e5m2 = rt<fp8e5m2, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x64_s>
using rt_fp4e2m1_2 = rt<fp4e2m1_2, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x128_s>
using rt_int8 = rt<int8, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x128_s>
using rt_uint8 = rt<uint8, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_int = rt<int, rows, cols, layout, shape>;
/** Tile of fp6 in groups of four, which `cols` counts. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x32_s>
using rt_fp6e2m3_4 = rt<fp6e2m3_4, rows, cols, layout, shape>;
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x32_s>
using rt_fp6e3m2_4 = rt<fp6e3m2_4, rows, cols, layout, shape>;
#if defined(KITTENS_FP6)
/** Tile of fp6; `cols` counts single numbers. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l>
using rt_f6 = rt<fp6_e2m3, rows, cols, layout>;
template <ducks::rt_layout::all layout = row_l>
using rt_base_f6 = typename rt_f6<16, 128, layout>::base_tile;
#endif

} // namespace kittens
