/**
 * @file
 * @brief Base register tiles: the building blocks of register tiles.
 */
#pragma once

#include "rt_layout.cuh"
#include "rt_shape.cuh"
#include "rv_layout.cuh"

namespace kittens {

namespace ducks::rt_base {
struct identifier {};
} // namespace ducks::rt_base

namespace detail {
/** The default base shape of a register tile: for 6-bit floats, the only one that their instruction supports. */
template <typename T>
using default_rt_shape = select<is_six_bits<T>, rt_shape<16, 128, 32>, rt_16x16_s>;

/**
 * True for 1-byte elements in `rt_16x128_s`, which has more columns than a wave has lanes: in the column layout, too,
 * such a tile is held by rows, as the matrix instructions read it. Its name says that its columns are rows in memory.
 */
template <typename T, typename shape>
inline constexpr bool always_by_rows = sizeof(T) == 1 && is_same<shape, rt_16x128_s>;
} // namespace detail

/**
 * @brief One base tile, spread over the lanes of a wave.
 *
 * Takes elements_per_thread * sizeof(T) / 4 registers.
 */
template <typename _T, ducks::rt_layout::all _layout, ducks::rt_shape::all _shape = detail::default_rt_shape<_T>>
struct rt_base {
    using identifier = ducks::rt_base::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T2;
    using layout = _layout;
    using shape = _shape;

    /** Whether a lane holds a part of a row. */
    static constexpr bool is_row = detail::is_same<layout, row_l> || detail::always_by_rows<T, shape>;
    using distribution = ducks::rt_shape::distribution<shape, is_row>;

    static constexpr int rows = shape::rows;
    static constexpr int cols = shape::cols;
    static constexpr int tile_size_row = rows;
    static constexpr int tile_size_col = cols;
    static constexpr int stride = shape::stride;
    static constexpr int num_elements = shape::num_elements;
    static constexpr int elements_per_thread = shape::elements_per_thread;
    static constexpr int num_strides = shape::num_strides;
    static constexpr int packing = base_types::packing<T2>::num();
    static constexpr int packed_per_thread = elements_per_thread / packing;
    static constexpr int num_packed = packing;
    static constexpr int packed_per_stride = stride / packing;
    /** Elements of a row (column) of the row (column) layout, lanes that share them, and elements in one run of each of
     * these lanes. */
    static constexpr int reductions = is_row ? cols : rows;
    static constexpr int threads_per_reduction = reductions / elements_per_thread;
    static constexpr int elements_per_stride_group = threads_per_reduction * stride;
    static constexpr int registers_per_thread = packed_per_thread * static_cast<int>(sizeof(T2)) / 4;

    /** Layouts of the vectors with a value for each column and for each row. */
    using row_vec_layout = detail::select<is_row, align_l, ortho_l>;
    using col_vec_layout = detail::select<is_row, ortho_l, align_l>;

    static_assert(distribution::groups >= 1);
    static_assert(stride % packing == 0, "rt: the base shape's stride is a whole number of packed elements");

    /** Packed elements, in the order of the lane's elements. */
    dtype data[packed_per_thread];

    /** Row in the base tile of a lane's element. */
    static __host__ __device__ constexpr int row(int lane, int element) {
        return is_row ? distribution::minor_index(lane) : distribution::major_index(lane, element);
    }
    /** Column in the base tile of a lane's element. */
    static __host__ __device__ constexpr int col(int lane, int element) {
        return is_row ? distribution::major_index(lane, element) : distribution::minor_index(lane);
    }
};

namespace ducks::rt_base {
/** Any base tile. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
} // namespace ducks::rt_base

/** Base tiles by element type. */
template <ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_base_fl = rt_base<float, layout, shape>;
template <ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_base_bf = rt_base<bf16, layout, shape>;
template <ducks::rt_layout::all layout = row_l, ducks::rt_shape::all shape = rt_16x16_s>
using rt_base_hf = rt_base<half, layout, shape>;

} // namespace kittens
