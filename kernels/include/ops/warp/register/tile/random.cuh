/**
 * @file
 * @brief Dropout on register tiles.
 */
#pragma once

#include "../../../../common/philox.cuh"
#include "maps.cuh"

namespace kittens {

/**
 * @brief dst = src / (1 - p) where an element is kept, else zero.
 *
 * The element in row r and column c of the matrix that the tile is a part of is dropped where word c % 4 of
 * `philox({c / 4, r, 0, 0}, seed)` is below p * 2^32, so that the mask depends on neither tiles nor lanes.
 *
 * @param p probability that an element is dropped, 0 <= p < 1.
 * @param first_row,first_col position of the tile in the matrix; the column is a multiple of 4.
 */
template <ducks::rt::all DST, ducks::rt::all SRC>
__device__ inline void dropout(DST &dst, const SRC &src, float p, uint64_t seed, int first_row, int first_col) {
    constexpr bool same = detail::same_distribution<DST, SRC> && DST::packing == SRC::packing;
    static_assert(same, "dropout: the tiles have the same dimensions, layout and base shape");
    // Four consecutive elements of a row in a lane use the words of one counter.
    constexpr bool in_fours = DST::is_row && DST::base_tile_stride % 4 == 0;
    const auto threshold = static_cast<uint32_t>(p * 0x1p32f);
    const float scale = 1.0f / (1.0f - p);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < DST::height; i++)
#pragma unroll
        for (int j = 0; j < DST::width; j++) {
            u32x4 words;
#pragma unroll
            for (int k = 0; k < DST::packed_per_base_tile; k++) {
                using numbers = detail::numbers<typename SRC::dtype>;
                const numbers given = numbers::of(src.tiles[i][j].data[k]);
                detail::numbers<typename DST::dtype> made;
#pragma unroll
                for (int e = 0; e < DST::packing; e++) {
                    const int n = k * DST::packing + e;
                    const int row = first_row + i * DST::base_tile_rows + DST::base_tile::row(lane, n);
                    const int col = first_col + j * DST::base_tile_cols + DST::base_tile::col(lane, n);
                    if (!in_fours || n % 4 == 0)
                        words = philox(u32x4{static_cast<uint32_t>(col) / 4, static_cast<uint32_t>(row), 0, 0}, seed);
                    made.n[e] = words[in_fours ? n % 4 : col % 4] < threshold ? 0.0f : given.n[e] * scale;
                }
                dst.tiles[i][j].data[k] = made.packed();
            }
        }
}

} // namespace kittens
