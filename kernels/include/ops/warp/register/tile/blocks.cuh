/**
 * @file
 * @brief Blocks of neighbouring columns: what scales of quantized tiles belong to.
 */
#pragma once

#include "../../memory/tile/global_to_register.cuh"
#include "maps.cuh"

namespace kittens {

/**
 * @brief Every element becomes the largest size of the `block` elements of its row that it is among: columns 0 to
 * block - 1, block to 2 block - 1, and so on.
 *
 * In the row layout; the block is a multiple of what a lane holds side by side, a power of two times that where several
 * fit a base tile's run of lanes.
 */
template <int block, ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void block_absmax(DST &dst, const SRC &src) {
    using base = typename SRC::base_tile;
    /** Columns that the lanes of a row hold side by side. */
    constexpr int together = base::elements_per_stride_group, stride = base::stride, minor = base::distribution::minor;
    constexpr bool fits = detail::same_distribution<DST, SRC> && DST::packing == SRC::packing && SRC::is_row &&
                          SRC::cols % block == 0 &&
                          (block % together == 0 || (block % stride == 0 && together % block == 0));
    static_assert(fits,
                  "block_absmax: the tiles are in the row layout and alike, and a block is a whole number of runs");
    if constexpr (fits) {
        using given = detail::numbers<typename SRC::dtype>;
        constexpr int packing = SRC::packing, runs = SRC::cols / together;
        constexpr int runs_of_block = block > together ? block / together : 1;
        // Lanes of a row that share a block: their numbers differ in the bits from `minor` to below `lanes`.
        constexpr int lanes = block < together ? minor * (block / stride) : WARP_THREADS;
        const auto element = [&](int i, int run, int e) {
            const int j = run / base::num_strides, n = run % base::num_strides * stride + e;
            return given::of(src.tiles[i][j].data[n / packing]).n[n % packing];
        };
#pragma unroll
        for (int i = 0; i < SRC::height; i++)
#pragma unroll
            for (int first = 0; first < runs; first += runs_of_block) {
                float largest = 0.0f;
#pragma unroll
                for (int run = first; run < first + runs_of_block; run++)
#pragma unroll
                    for (int e = 0; e < stride; e++)
                        largest = __builtin_fmaxf(largest, __builtin_fabsf(element(i, run, e)));
                largest = detail::reduce_lanes<base_ops::max, minor, lanes / 2>(largest);
                detail::numbers<typename DST::dtype> made;
#pragma unroll
                for (int p = 0; p < packing; p++) made.n[p] = largest;
#pragma unroll
                for (int run = first; run < first + runs_of_block; run++)
#pragma unroll
                    for (int e = 0; e < stride; e += packing)
                        dst.tiles[i][run / base::num_strides].data[(run % base::num_strides * stride + e) / packing] =
                            made.packed();
            }
    }
}

/**
 * @brief Stores the first value of each block of `block` columns: a matrix with one column for each.
 *
 * @param row,col where the tile begins in the matrix that it is a part of, in elements. Rows and columns past the end
 * of dst are not written.
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
            for (int k = 0; k < RT::packed_per_base_tile; k++) {
                const auto values = detail::numbers<typename RT::dtype>::of(src.tiles[i][j].data[k]);
#pragma unroll
                for (int e = 0; e < RT::packing; e++) {
                    const int n = k * RT::packing + e;
                    const int at = row + i * RT::base_tile_rows + RT::base_tile::row(lane, n);
                    const int column = col + j * RT::base_tile_cols + RT::base_tile::col(lane, n);
                    if (column % block == 0 && at < static_cast<int>(dst.rows()) &&
                        column / block < static_cast<int>(dst.cols()))
                        dst[coord<>{0, 0, at, column / block}] = base_types::convertor<U, float>::convert(values.n[e]);
                }
            }
}

} // namespace kittens
