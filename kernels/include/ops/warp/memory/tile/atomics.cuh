/**
 * @file
 * @brief Register tiles added to global memory.
 */
#pragma once

#include "global_to_register.cuh"

namespace kittens {

/**
 * @brief The tile at idx of dst += src, each element by an atomic addition; rows and columns past the end are skipped.
 *
 * Supports layouts of float, and of bf16 in pairs, whose rows begin at a multiple of 4 bytes and whose lanes hold
 * consecutive elements of a row. Waves may add to the same elements at the same time; the order, and so the last bits
 * of the sums, may differ from run to run.
 */
template <ducks::rt::all RT, ducks::gl::all GL, ducks::coord::tile COORD = coord<RT>>
__device__ inline void atomic_add(const GL &dst, const RT &src, const COORD &idx) {
    using U = typename GL::dtype;
    constexpr bool of_float = detail::is_same<U, float>;
    constexpr bool in_pairs = detail::is_same<U, bf16> && RT::packing == 2 && RT::is_row;
    static_assert(of_float || in_pairs, "atomic_add: the global layout is of float, or of bf16 with a tile of pairs in "
                                        "the row layout");
    if constexpr (of_float || in_pairs) {
        const detail::program_order order;
        const coord<> at = idx.template unit_coord<2, 3>();
        const int rows = static_cast<int>(dst.rows()) - at.r, cols = static_cast<int>(dst.cols()) - at.c;
        U *base = dst.raw_ptr + dst.offset(at);
        const int lane = laneid();
#pragma unroll
        for (int i = 0; i < RT::height; i++)
#pragma unroll
            for (int j = 0; j < RT::width; j++)
#pragma unroll
                for (int k = 0; k < RT::packed_per_base_tile; k++) {
                    const auto values = detail::numbers<typename RT::dtype>::of(src.tiles[i][j].data[k]);
                    // Consecutive elements that are added at once.
                    constexpr int together = in_pairs ? 2 : 1;
#pragma unroll
                    for (int e = 0; e < RT::packing; e += together) {
                        const int n = k * RT::packing + e;
                        const int row = i * RT::base_tile_rows + RT::base_tile::row(lane, n);
                        const int col = j * RT::base_tile_cols + RT::base_tile::col(lane, n);
                        if (row >= rows || col >= cols) continue;
                        U *to = base + static_cast<size_t>(row) * dst.template stride<2>() + col;
                        if constexpr (in_pairs)
                            unsafeAtomicAdd(
                                reinterpret_cast<bf16_2 *>(to),
                                base_types::convertor<bf16_2, float2>::convert(float2{values.n[e], values.n[e + 1]}));
                        else
                            unsafeAtomicAdd(to, values.n[e]);
                    }
                }
    }
}

} // namespace kittens
