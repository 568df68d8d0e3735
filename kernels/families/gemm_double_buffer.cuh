/**
 * @file
 * @brief Matrix multiplication, summed in float, by a plain loop over two buffers or more: any layout, any size.
 *
 * A work-group of 4 waves computes a tile of C, a wave a part of it. It advances along K in steps: while the matrix
 * cores work on one pair of shared tiles, the next pairs are loaded straight from global memory into others. Two
 * buffers suffice if other work-groups of the compute unit hide the latency; otherwise, more are better.
 *
 * Rows past M and N and columns past K read as zero, and nothing is written outside C. Rows of A and B are multiples of
 * 16 bytes.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_operands.cuh"

namespace kittens::families::gemm {

/** A tile of 2-byte elements has base tiles narrower than its rows, so two work-groups' loads would interleave. */
template <typename T>
struct plain_along_k : along_k<T> {
    using shared_shape = detail::select<sizeof(T) == 2, st_16x32_s, typename along_k<T>::shared_shape>;
};

/**
 * @tparam T,U element types of A and B, and of C.
 * @tparam stored how A and B are stored.
 * @tparam tile the tile of a work-group, a number for a square; half of the columns with a `gated` epilogue, which
 * supports layout nt and squares.
 * @tparam Epilogue,Problem from gemm_epilogue.cuh and gemm_problem.cuh.
 */
template <typename T, typename U, layout stored, tile_of_c tile, typename Epilogue = epilogue<>,
          typename Problem = batches>
struct double_buffer {
    using arguments = globals<T, U, Problem, Epilogue>;

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 2;
    static constexpr int PART_M = tile.part_m(), PART_N = tile.part_n();
    static_assert(PART_M % 16 == 0 && PART_N % 16 == 0, "gemm: a wave computes multiples of 16 rows and columns");

    using workers = group<NUM_WARPS>;
    using operand_a = detail::select<stored == layout::tn, operand_across_k<plain_along_k<T>, tile.high, workers>,
                                     operand_along_k<plain_along_k<T>, tile.high, workers>>;
    static constexpr bool paired = Epilogue::paired;
    static_assert(!paired || (stored == layout::nt && tile.high == tile.wide),
                  "gemm: the rows of B of a gated product run along K, and its tiles are squares");
    using operand_b =
        detail::select<paired, operand_pair<plain_along_k<T>, tile.wide, workers>,
                       detail::select<stored == layout::nt, operand_along_k<plain_along_k<T>, tile.wide, workers>,
                                      operand_across_k<plain_along_k<T>, tile.wide, workers>>>;
    static constexpr bool grouped_along_k = detail::is_same<Problem, groups_of_k>;
    static_assert(!grouped_along_k || stored == layout::tn, "gemm: groups of rows along K are of A and of B");
    static constexpr int TILE_N = paired ? tile.wide / 2 : tile.wide;
    using shared_a = typename operand_a::shared;
    using shared_b = typename operand_b::shared;
    static constexpr int K_STEP = operand_a::K_STEP;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared_a(&As)[tile.steps] = al.template allocate<shared_a, tile.steps>();
        shared_b(&Bs)[tile.steps] = al.template allocate<shared_b, tile.steps>();

        const int k = static_cast<int>(stored == layout::tn ? g.a.rows() : g.a.cols());
        const share at = g.template find<tile.high, 2, TILE_N>(g, k);
        if (at.rows == 0) return;
        const auto whole = [&](const auto &from, int index) {
            if constexpr (grouped_along_k)
                return rows_of(from, index, at.skipped, at.end);
            else
                return matrix_of(from, index);
        };
        const auto matrix_a = stored == layout::tn ? whole(g.a, at.a) : rows_of(g.a, at.a, at.first, at.rows);
        const auto matrix_b = whole(g.b, at.b);
        // The parts of the loads that do not change along K.
        const operand_a from_a(matrix_a, at.row, As[0]);
        const operand_b from_b(matrix_b, at.col, Bs[0]);

        typename operand_a::template registers<PART_M> a;
        typename operand_b::template registers<PART_N> b;
        // In the row layout a lane holds four consecutive elements of a row of C, and stores them together.
        rt<typename along_k<T>::sum, PART_M, PART_N, row_l, rt_16x16_s> c;
        zero(c);

        const int warp_row = warpid() / tile.warps_n(), warp_col = warpid() % tile.warps_n();
        ring_of_steps<tile.steps, operand_a::LOADS + operand_b::LOADS>(
            at.begin / K_STEP, ceil_div(at.end, K_STEP),
            [&](int step, int slot) {
                from_a.start(As[slot], step, slot);
                from_b.start(Bs[slot], step, slot);
            },
            [&](int, int slot, auto &&start_next) {
                operand_a::template read<PART_M>(a, As[slot], warp_row);
                operand_b::template read<PART_N>(b, Bs[slot], warp_col);
                start_next();
                // Otherwise the compiler reads each operand just before its use, and every use waits for shared memory.
                __builtin_amdgcn_sched_barrier(0);
                if constexpr (stored == layout::nt)
                    mma_ABt(c, a, b, c);
                else if constexpr (stored == layout::nn)
                    mma_AB(c, a, b, c);
                else
                    mma_AtB(c, a, b, c);
            });
        const int row = at.row / PART_M + warp_row;
        if constexpr (paired)
            g.store_joined(g.c, c, at, row, at.col / (PART_N / 2) + warp_col);
        else
            g.store(g.c, c, at, row, at.col / PART_N + warp_col);
    }
};

} // namespace kittens::families::gemm
