/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ with a scale for each block of columns, summed in float.
 *
 * A is M x K and B is N x K, both row-major; so are their scales, a column for each block. A work-group of 4 waves
 * computes a tile of C, a wave a part of it, by a plain loop over two buffers or more. A step is 128 columns. With two
 * buffers, its scales are loaded straight to registers, a step ahead, so that no use of them waits for the operands'
 * loads; with more, they are loaded to shared memory with the operands.
 *
 * Rows past M and N read as zero, and nothing is written outside C. Rows of A and B are multiples of 16 bytes.
 */
#pragma once

#include "families/gemm_scaled_products.cuh"

namespace kittens::families::gemm {

/**
 * @tparam Products from gemm_scaled_products.cuh.
 * @tparam U element type of C.
 * @tparam Epilogue,Problem from gemm_epilogue.cuh and gemm_problem.cuh.
 * @tparam tile the tile of a work-group.
 * @tparam stored how A and B are stored; scales are the same in every layout.
 */
template <typename Products, typename U, typename Epilogue = epilogue<>, typename Problem = batches,
          tile_of_c tile = 128, layout stored = layout::nt>
struct block_scaled;

template <typename TA, typename TB, typename ScaleA, typename ScaleB, typename U, typename Epilogue, typename Problem,
          tile_of_c tile, layout stored>
struct block_scaled<scaled_products<TA, TB, ScaleA, ScaleB>, U, Epilogue, Problem, tile, stored> {
    static constexpr int PART_M = tile.part_m(), PART_N = tile.part_n();
    using products = scaled_products<TA, TB, ScaleA, ScaleB, by_shared_memory<PART_M, PART_N, tile.words>>;
    using of_a = typename products::of_a;
    using of_b = typename products::of_b;
    struct arguments : globals<typename of_a::stored, U, Problem, Epilogue, typename of_b::stored>,
                       products::arguments {};

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;

    using workers = group<NUM_WARPS>;
    using operand_a = detail::select<is_a_along_k(stored), operand_along_k<of_a, tile.high, workers>,
                                     operand_across_k<of_a, tile.high, workers>>;
    using operand_b = detail::select<is_b_along_k(stored), operand_along_k<of_b, tile.wide, workers>,
                                     operand_across_k<of_b, tile.wide, workers>>;
    using shared_a = typename operand_a::shared;
    using shared_b = typename operand_b::shared;
    static_assert(!tile.words || products::by_words, "gemm: these scales are no words");
    /** A step's scales in shared memory, the rows' second words behind their first ones; a wave loads the words of 64
     * rows at a time, one per lane. */
    static constexpr int CHUNKS_A = ceil_div(tile.high, WARP_THREADS);
    static constexpr int CHUNKS_B = ceil_div(tile.wide, WARP_THREADS);
    static_assert(CHUNKS_A + CHUNKS_B <= NUM_WARPS);
    struct words {
        sv_fl<products::WORDS * CHUNKS_A * WARP_THREADS> of_rows;
        sv_fl<products::WORDS * CHUNKS_B * WARP_THREADS> of_cols;
    };
    /** If shared memory has room for only one work-group, its waves get all registers and spill none. */
    static constexpr bool alone = 2 * tile.steps * (sizeof(shared_a) + sizeof(shared_b)) > MAX_SHARED_MEMORY;
    static constexpr int waves_per_simd = alone ? 1 : products::waves_per_simd;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared_a(&As)[tile.steps] = al.template allocate<shared_a, tile.steps>();
        shared_b(&Bs)[tile.steps] = al.template allocate<shared_b, tile.steps>();

        // In single values, of which an element has several: four fp6 are three bytes, so multiply first.
        const size_t along = g.a.cols() * sizeof(typename of_a::stored) * of_a::numbers / sizeof(TA);
        const size_t columns = is_a_along_k(stored) ? along : g.a.rows();
        const share at = g.template find<tile.high, 2, tile.wide>(g, static_cast<int>(columns));
        if (at.rows == 0) return;
        const auto matrix_a = is_a_along_k(stored) ? elements_of<TA>(g.a, at.a, at.first, at.rows)
                                                   : elements_of<TA>(g.a, at.a, 0, static_cast<int>(g.a.rows()));
        const auto matrix_b = elements_of<TB>(g.b, at.b, 0, static_cast<int>(g.b.rows()));
        const operand_a from_a(matrix_a, at.row, As[0]);
        const operand_b from_b(matrix_b, at.col, Bs[0]);

        rt<TA, PART_M, of_a::K_STEP, row_l, typename of_a::shape> a;
        rt<TB, PART_N, of_b::K_STEP, row_l, typename of_b::shape> b;
        typename products::sums c;
        zero(c);

        const int wave = warpid(), warp_row = wave / tile.warps_n(), warp_col = wave % tile.warps_n();
        const int first = at.begin / products::COLUMNS, end = ceil_div(at.end, products::COLUMNS);
        const int row = at.first + at.row + warp_row * PART_M, col = at.col + warp_col * PART_N;
        constexpr int LOADS = operand_a::LOADS + operand_b::LOADS;
        if constexpr (tile.words) {
            words(&scales)[tile.steps] = al.template allocate<words, tile.steps>();
            words_ahead from_words{};
            bool has_words = false;
            constexpr int CHUNK_BYTES = WARP_THREADS * static_cast<int>(sizeof(float));
            int chunk = wave, apart = CHUNKS_A * CHUNK_BYTES;
            if constexpr (ScaleA::words)
                if (wave < CHUNKS_A) {
                    from_words = ScaleA::ahead_of_a(g, at.a, at.first + at.row + wave * WARP_THREADS);
                    has_words = true;
                }
            if constexpr (ScaleB::words)
                if (wave >= CHUNKS_A && wave < CHUNKS_A + CHUNKS_B) {
                    from_words = ScaleB::ahead_of_b(g, at.b, at.col + (wave - CHUNKS_A) * WARP_THREADS);
                    has_words = true;
                    chunk += (products::WORDS - 1) * CHUNKS_A;
                    apart = CHUNKS_B * CHUNK_BYTES;
                }
            const uint32_t lds =
                detail::shared_address(&scales[0].of_rows.data[0]) + static_cast<uint32_t>(chunk * CHUNK_BYTES);
            ring_of_steps<tile.steps, LOADS>(
                first, end,
                [&](int step, int slot) {
                    if (has_words)
                        from_words.template start<products::WORDS>(lds + static_cast<uint32_t>(slot) *
                                                                             static_cast<uint32_t>(sizeof(words)),
                                                                   static_cast<uint32_t>(apart), step);
                    from_a.start(As[slot], step, slot);
                    from_b.start(Bs[slot], step, slot);
                },
                [&](int step, int slot, auto &&start_next) {
                    operand_a::template read_as_rows<PART_M>(a, As[slot], warp_row);
                    operand_b::template read_as_rows<PART_N>(b, Bs[slot], warp_col);
                    const auto by = products::take(g, scales[slot].of_rows, scales[slot].of_cols, warp_row, warp_col,
                                                   {at.b, col, step * products::COLUMNS});
                    start_next();
                    __builtin_amdgcn_sched_barrier(0);
                    products::multiply(c, a, b, by);
                });
        } else {
            const auto scales_of = [&](int step) {
                return products::read(g, at, row, col, step < end ? step : end - 1);
            };
            auto scales = scales_of(first);
            ring_of_steps<tile.steps, LOADS>(
                first, end,
                [&](int step, int slot) {
                    from_a.start(As[slot], step, slot);
                    from_b.start(Bs[slot], step, slot);
                },
                [&](int step, int slot, auto &&start_next) {
                    schedules::arrive(scales);
                    operand_a::template read_as_rows<PART_M>(a, As[slot], warp_row);
                    operand_b::template read_as_rows<PART_N>(b, Bs[slot], warp_col);
                    const auto next = scales_of(step + 1);
                    start_next();
                    // Otherwise the compiler reads each operand just before its use, and every use waits for shared
                    // memory.
                    __builtin_amdgcn_sched_barrier(0);
                    products::multiply(c, a, b, scales);
                    scales = next;
                });
        }
        g.store(g.c, c, at, at.row / PART_M + warp_row, at.col / PART_N + warp_col);
    }
};

} // namespace kittens::families::gemm
