/**
 * @file
 * @brief Rotations of pairs of elements.
 */
#pragma once

#include "maps.cuh"

namespace kittens {

/** (first, second) rotated by the angle of each element: (x cos - y sin, y cos + x sin). Sources may be
    destinations. */
template <ducks::rt::all RT>
__device__ inline void rotate(RT &first, RT &second, const RT &x, const RT &y, const RT &cos, const RT &sin) {
    const RT before = x;
    RT crossed;
    mul(crossed, y, sin);
    map(first, before, cos, crossed, [](float v, float c, float s) { return v * c - s; });
    mul(crossed, before, sin);
    map(second, y, cos, crossed, [](float v, float c, float s) { return v * c + s; });
}

/**
 * @brief The same for adjacent columns: columns 2 i and 2 i + 1 are rotated by the angle in column i.
 *
 * @tparam ANGLES a tile of half the columns in the base shape with half the columns and half the stride, so that a lane
 *                holds the angles of its pairs.
 */
template <ducks::rt::all RT, ducks::rt::all ANGLES>
__device__ inline void rotate_pairs(RT &dst, const RT &src, const ANGLES &cos, const ANGLES &sin) {
    constexpr bool fits =
        RT::is_row && ANGLES::is_row && RT::packing == 2 && ANGLES::packing == 2 && RT::rows == ANGLES::rows &&
        RT::cols == 2 * ANGLES::cols && RT::base_tile_rows == ANGLES::base_tile_rows &&
        RT::base_tile_cols == 2 * ANGLES::base_tile_cols && RT::base_tile_stride == 2 * ANGLES::base_tile_stride;
    static_assert(fits, "rotate_pairs: the angles are a row-layout tile with half the columns in the base shape with "
                        "half the columns and half the stride; fp8 is copied first");
    if constexpr (fits) {
#pragma unroll
        for (int i = 0; i < RT::height; i++)
#pragma unroll
            for (int j = 0; j < RT::width; j++)
#pragma unroll
                for (int k = 0; k < RT::packed_per_base_tile; k++) {
                    using angle = detail::numbers<typename ANGLES::dtype>;
                    using pair = detail::numbers<typename RT::dtype>;
                    const float c = angle::of(cos.tiles[i][j].data[k / 2]).n[k % 2];
                    const float s = angle::of(sin.tiles[i][j].data[k / 2]).n[k % 2];
                    const pair x = pair::of(src.tiles[i][j].data[k]);
                    dst.tiles[i][j].data[k] = pair{{x.n[0] * c - x.n[1] * s, x.n[1] * c + x.n[0] * s}}.packed();
                }
    }
}

} // namespace kittens
