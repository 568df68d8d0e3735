/**
 * @file
 * @brief Register tiles added to global memory.
 */
#pragma once

#include "global_to_register.cuh"

namespace kittens {

/**
 * @brief The tile at idx of dst += src, each element by an atomic addition; rows and columns past the end are left out.
 *
 * For layouts of float. Waves may add to the same elements at once; in which order they do, and so the last bits of the
 * sums, may differ from run to run.
 */
template <ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void atomic_add(const GL &dst, const RT &src, const COORD &idx) {
    constexpr bool of_float = detail::is_same<typename GL::dtype, float>;
    static_assert(of_float, "atomic_add: the global layout is of float");
    if constexpr (of_float) {
        const detail::program_order order;
        const coord<> at = idx.template unit_coord<2, 3>();
        const int rows = static_cast<int>(dst.rows()) - at.r, cols = static_cast<int>(dst.cols()) - at.c;
        float *base = dst.raw_ptr + dst.offset(at);
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
                        const int row = i * RT::base_tile_rows + RT::base_tile::row(lane, n);
                        const int col = j * RT::base_tile_cols + RT::base_tile::col(lane, n);
                        if (row < rows && col < cols)
                            unsafeAtomicAdd(base + static_cast<size_t>(row) * dst.template stride<2>() + col,
                                            values.n[e]);
                    }
                }
    }
}

} // namespace kittens
