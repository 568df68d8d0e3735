/**
 * @file
 * @brief Explicit-register tiles: matrices in registers that the kernel selects by number.
 *
 * These are register tiles (`rt`) for kernels that allocate registers themselves: tiles in VGPRs and AGPRs at the same
 * time, operands read by the matrix cores straight from AGPRs, several views of the same registers. To the compiler,
 * such a tile holds no data; the functions on it are inline assembly and execute in program order.
 *
 *     using q_ranges = ducks::art::split_many_t<ducks::art::type_list<ducks::art::range<256, 271>>, 4>; // a[0:15]
 *     art_bf<16, 128, row_l, rt_16x32_s, q_ranges> q;
 *
 * The kernel reserves the registers with the attribute KITTENS_PINS_FROM (macros.cuh), whose arguments are the first
 * VGPR that the kernel allocates itself and the number of AGPRs.
 */
#pragma once

#include "art_base.cuh"
#include "rt.cuh"

namespace kittens {

namespace ducks::art {
struct asm_identifier {};
using identifier = asm_identifier;
} // namespace ducks::art

/**
 * @brief A matrix spread over given registers of a wave.
 *
 * @tparam _T element type.
 * @tparam _rows,_cols dimensions, multiples of the base shape's.
 * @tparam _layout row_l or col_l.
 * @tparam _shape base shape.
 * @tparam _register_ranges a `ducks::art::type_list` of ranges, one for each base tile, row by row.
 */
template <typename _T, int _rows, int _cols, ducks::rt_layout::all _layout = row_l,
          ducks::rt_shape::all _shape = rt_16x16_s,
          ducks::art::register_list_t _register_ranges = ducks::art::type_list<ducks::art::range<0, 1>>>
struct art {
#if defined(KITTENS_WAVE32)
    static_assert(sizeof(_T) == 0, "art: explicit-register tiles are for CDNA3 and CDNA4; on the others use rt");
#endif
    using identifier = ducks::art::asm_identifier;
    using layout = _layout;
    using shape = _shape;
    using register_ranges = _register_ranges;
    /** The tile with the same elements in the same lanes, in registers of the compiler's choice. */
    using like = rt<_T, _rows, _cols, layout, shape>;
    using base_tile = typename like::base_tile;
    using T = typename like::T;
    using T2 = typename like::T2;
    using dtype = T2;

    static constexpr bool is_row = like::is_row;
    static constexpr int rows = like::rows;
    static constexpr int cols = like::cols;
    static constexpr int height = like::height;
    static constexpr int width = like::width;
    static constexpr int num_elements = like::num_elements;
    static constexpr int base_tile_rows = like::base_tile_rows;
    static constexpr int base_tile_cols = like::base_tile_cols;
    static constexpr int base_tile_stride = like::base_tile_stride;
    static constexpr int base_tile_num_strides = base_tile::num_strides;
    static constexpr int base_tile_reductions = like::base_tile_reductions;
    static constexpr int base_tile_threads_per_reduction = like::base_tile_threads_per_reduction;
    static constexpr int base_tile_elements_per_stride_group = like::base_tile_elements_per_stride_group;
    static constexpr int base_tile_elements_per_thread = like::base_tile_elements_per_thread;
    static constexpr int elements_per_thread = like::elements_per_thread;
    static constexpr int packed_per_thread = like::packed_per_thread;
    static constexpr int packed_per_base_tile = like::packed_per_base_tile;
    static constexpr int elements_per_base_tile = like::elements_per_base_tile;
    static constexpr int registers_per_base_tile = base_tile::registers_per_thread;
    static constexpr int registers_per_stride = registers_per_base_tile / base_tile::num_strides;

    static constexpr bool enough_ranges = register_ranges::size == height * width;
    static_assert(
        enough_ranges,
        "art: there is one range of registers for each base tile; split_many makes ranges of a base tile's size");

    /** The base tile at {row, col}. */
    template <int row, int col>
    using base_tile_type = art_base<T, layout, shape, ducks::art::get_nth_range_t<register_ranges, row * width + col>>;
    /** Number of the first register of the base tile at {row, col}. */
    template <int row, int col>
    static constexpr int first_register = base_tile_type<row, col>::register_range::lo;

    using row_vec = typename like::row_vec;
    using col_vec = typename like::col_vec;

    __device__ inline art() { ducks::art::clobber<register_ranges>(); }
};

namespace ducks::art {
/** Any explicit-register tile. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, asm_identifier>;
template <typename T>
concept row_layout = all<T> && detail::is_same<typename T::layout, rt_layout::row>;
template <typename T>
concept col_layout = all<T> && detail::is_same<typename T::layout, rt_layout::col>;
} // namespace ducks::art

/** Explicit-register tiles by element type; the default ranges are those of one base tile. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::art::register_list_t ranges = ducks::art::type_list<ducks::art::range<0, 3>>>
using art_fl = art<float, rows, cols, layout, shape, ranges>;
/** Tile of bf16. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::art::register_list_t ranges = ducks::art::type_list<ducks::art::range<0, 1>>>
using art_bf = art<bf16, rows, cols, layout, shape, ranges>;
/** Tile of half. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s,
          ducks::art::register_list_t ranges = ducks::art::type_list<ducks::art::range<0, 1>>>
using art_hf = art<half, rows, cols, layout, shape, ranges>;
/** Tile of fp8e4m3, by default in the base shape with the longest K. */
template <int rows, int cols, ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x128_s,
          ducks::art::register_list_t ranges = ducks::art::type_list<ducks::art::range<0, 7>>>
using art_fp8e4m3 = art<fp8e4m3, rows, cols, layout, shape, ranges>;

} // namespace kittens
