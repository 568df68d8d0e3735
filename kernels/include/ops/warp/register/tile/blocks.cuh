/**
 * @file
 * @brief Blocks of consecutive columns, which share a scale in quantized tiles.
 */
#pragma once

#include "../../memory/tile/global_to_register.cuh"
#include "reductions.cuh"

namespace kittens {

namespace detail {

/** A lane's part of blocks of `block` columns, in the row layout. */
template <int block, ducks::rt::all RT>
struct lane_blocks {
    using base = typename RT::base_tile;
    /** Consecutive columns that the lanes of a row hold. */
    static constexpr int together = base::elements_per_stride_group, stride = base::stride;
    static constexpr int minor = base::distribution::minor;
    static constexpr bool fits = RT::is_row && RT::cols % block == 0 &&
                                 (block % together == 0 || (block % stride == 0 && together % block == 0));
    static_assert(fits, "blocks: the tile is in the row layout, and a block is a whole number of a lane's runs");
    static constexpr int runs = RT::cols / together;
    static constexpr int runs_of_block = block > together ? block / together : 1;
    static constexpr int count = runs / runs_of_block;
    // Lanes of a row that share a block: their numbers differ in the bits from `minor` to below `lanes`.
    static constexpr int lanes = block < together ? minor * (block / stride) : WARP_THREADS;

    /** Calls f(base tile, element in it) for this lane's elements of block `n`. */
    template <typename F>
    static __device__ inline void for_each(int n, F f) {
#pragma unroll
        for (int run = n * runs_of_block; run < (n + 1) * runs_of_block; run++)
#pragma unroll
            for (int e = 0; e < stride; e++) f(run / base::num_strides, run % base::num_strides * stride + e);
    }
    /** Largest magnitude in block `n` of base tiles' row `i`; NaN if an element is NaN. */
    static __device__ inline float absmax(const RT &src, int i, int n) {
        float largest = 0.0f;
        for_each(n, [&](int j, int e) { largest = larger_size(largest, number(src.tiles[i][j], e)); });
        return reduce_lanes<base_ops::absmax, minor, lanes / 2>(largest);
    }
    static __device__ inline float number(const base &tile, int e) {
        return numbers<typename RT::dtype>::of(tile.data[e / RT::packing]).n[e % RT::packing];
    }
};

/** Sets element e of a base tile with two elements per register pair. */
template <typename Base>
__device__ inline void set_number(Base &tile, int e, float value) {
    auto packed = numbers<typename Base::dtype>::of(tile.data[e / Base::packing]);
    packed.n[e % Base::packing] = value;
    tile.data[e / Base::packing] = packed.packed();
}

/** Interval of the columns of a tile's runs at which blocks may begin. */
template <int block, ducks::rt::all RT>
inline constexpr int block_step = block < RT::base_tile::stride ? block : RT::base_tile::stride;

} // namespace detail

/**
 * @brief Every element becomes the largest magnitude of its block of `block` elements of its row: columns 0 to block -
 * 1, block to 2 block - 1, and so on; NaN if one of them is NaN.
 *
 * Supports the row layout; the block is a multiple of a lane's run, and a power of two times the run if several blocks
 * fit a base tile's run of lanes.
 */
template <int block, ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void block_absmax(DST &dst, const SRC &src) {
    constexpr bool alike = detail::same_distribution<DST, SRC> && DST::packing == SRC::packing;
    static_assert(alike, "block_absmax: the tiles differ in the element type only");
    using blocks = detail::lane_blocks<block, SRC>;
    if constexpr (alike && blocks::fits) {
#pragma unroll
        for (int i = 0; i < SRC::height; i++)
#pragma unroll
            for (int n = 0; n < blocks::count; n++) {
                const float largest = blocks::absmax(src, i, n);
                blocks::for_each(n, [&](int j, int e) { detail::set_number(dst.tiles[i][j], e, largest); });
            }
    }
}

/**
 * @brief Stores the first value of each block of `block` columns: a matrix with one column for each.
 *
 * @param row,col position of the tile in its matrix, in elements. Rows and columns past the end of dst are not written.
 */
template <int block, ducks::rt::all RT, ducks::gl::all GL>
__device__ inline void store_blocks(const GL &dst, const RT &src, int row, int col) {
    using U = typename GL::dtype;
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int e = 0; e < RT::elements_per_base_tile; e += detail::block_step<block, RT>) {
                const int at = row + i * RT::base_tile_rows + RT::base_tile::row(lane, e);
                const int column = col + j * RT::base_tile_cols + RT::base_tile::col(lane, e);
                if (column % block == 0 && at < static_cast<int>(dst.rows()) &&
                    column / block < static_cast<int>(dst.cols()))
                    dst[coord<>{0, 0, at, column / block}] = base_types::convertor<U, float>::convert(
                        detail::lane_blocks<block, RT>::number(src.tiles[i][j], e));
            }
}

/**
 * @brief Every element becomes the value of its block of `block` columns, from a matrix with one column for each block,
 * as `store_blocks` stores it.
 *
 * @param row,col position of the tile, in elements. Past the end of src it is zero.
 */
template <int block, ducks::rt::all RT, ducks::gl::all GL>
__device__ inline void load_blocks(RT &dst, const GL &src, int row, int col) {
    using U = typename GL::dtype;
    static_assert(RT::is_row && (block % RT::base_tile::stride == 0 || RT::base_tile::stride % block == 0),
                  "load_blocks: the tile is in the row layout, and blocks are a whole number of a lane's runs");
    constexpr int step = detail::block_step<block, RT>;
    const detail::program_order order;
    const detail::window<2, GL> view(src, coord<>{0, 0, row, 0});
    const detail::buffer memory(view.base, view.bytes);
    const int lane = laneid(), count = static_cast<int>(src.cols());
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int first = 0; first < RT::elements_per_base_tile; first += step) {
                const int at = i * RT::base_tile_rows + RT::base_tile::row(lane, first);
                const int n = (col + j * RT::base_tile_cols + RT::base_tile::col(lane, first)) / block;
                const uint32_t offset = static_cast<uint32_t>(at) * view.pitch +
                                        static_cast<uint32_t>(n) * static_cast<uint32_t>(sizeof(U));
                const float value = base_types::convertor<float, U>::convert(
                    detail::bit_cast<U>(detail::run<U, 1>::load(memory, n < count ? offset : detail::OUT_OF_RANGE)));
#pragma unroll
                for (int e = first; e < first + step; e++) detail::set_number(dst.tiles[i][j], e, value);
            }
}

} // namespace kittens
