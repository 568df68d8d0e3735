/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ of numbers that have a scale for each block of columns, summed in float.
 *
 * A is M x K and B is N x K, both row-major; so are their scales, a column for each block. A work-group of 4 waves
 * computes a 128 x 128 tile of C, a wave a quarter of it, by a plain loop over two buffers. A step is 128 columns. Its
 * scales go straight to registers, a step ahead, so that no use of them waits for the operands' loads.
 *
 * Rows past M and N read as zero, and what is outside of C is not written. Rows of A and B are whole 16 bytes.
 */
#pragma once

#include "families/gemm_scaled_products.cuh"

namespace kittens::families::gemm {

/**
 * @tparam Products from gemm_scaled_products.cuh.
 * @tparam U element type of C.
 * @tparam Epilogue,Problem from gemm_epilogue.cuh and gemm_problem.cuh.
 */
template <typename Products, typename U, typename Epilogue = epilogue<>, typename Problem = batches>
struct block_scaled;

template <typename TA, typename TB, typename ScaleA, typename ScaleB, typename U, typename Epilogue, typename Problem>
struct block_scaled<scaled_products<TA, TB, ScaleA, ScaleB>, U, Epilogue, Problem> {
    using products = scaled_products<TA, TB, ScaleA, ScaleB>;
    using of_a = typename products::of_a;
    using of_b = typename products::of_b;
    struct arguments : globals<typename of_a::stored, U, Problem, Epilogue, typename of_b::stored>,
                       products::arguments {};

    static constexpr int PART = SCALED_PART;
    static constexpr int TILE = 2 * PART;
    static constexpr int NUM_WARPS = 4;
    static constexpr int WARPS_N = 2;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;

    using operand_a = operand_along_k<of_a, TILE, group<NUM_WARPS>>;
    using operand_b = operand_along_k<of_b, TILE, group<NUM_WARPS>>;
    using shared_a = typename operand_a::shared;
    using shared_b = typename operand_b::shared;
    /** Where shared memory has room for one work-group alone, its waves have all registers: none is spilled. */
    static constexpr bool alone = 2 * 2 * (sizeof(shared_a) + sizeof(shared_b)) > MAX_SHARED_MEMORY;
    static constexpr int waves_per_simd = alone ? 1 : products::waves_per_simd;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared_a(&As)[2] = al.template allocate<shared_a, 2>();
        shared_b(&Bs)[2] = al.template allocate<shared_b, 2>();

        // In numbers, of which an element may hold several: fours of fp6 are three bytes, so multiply first.
        const size_t columns = g.a.cols() * sizeof(typename of_a::stored) * of_a::numbers / sizeof(TA);
        const share at = g.template find<TILE, 2>(g, static_cast<int>(columns));
        if (at.rows == 0) return;
        const auto matrix_a = elements_of<TA>(g.a, at.a, at.first, at.rows);
        const auto matrix_b = elements_of<TB>(g.b, at.b, 0, static_cast<int>(g.b.rows()));
        const operand_a from_a(matrix_a, at.row, As[0], As[1]);
        const operand_b from_b(matrix_b, at.col, Bs[0], Bs[1]);
        const auto start_loads = [&](int step, int half) {
            from_a.start(As[half], step, half);
            from_b.start(Bs[half], step, half);
        };

        typename operand_a::template registers<PART> a;
        typename operand_b::template registers<PART> b;
        typename products::sums c;
        zero(c);

        const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;
        const int steps = ceil_div(at.end, products::COLUMNS);
        const auto scales_of = [&](int step) {
            return products::read(g, at, at.first + at.row + warp_row * PART, at.col + warp_col * PART,
                                  step < steps ? step : steps - 1);
        };
        auto scales = scales_of(0);
        start_loads(0, 0);
        for (int step = 0, half = 0; step < steps; step++, half ^= 1) {
            // What this step works on is there, and the other half, which the step before worked on, is free.
            wait_and_barrier();
            schedules::arrive(scales);
            operand_a::template read<PART>(a, As[half], warp_row);
            operand_b::template read<PART>(b, Bs[half], warp_col);
            const auto next = scales_of(step + 1);
            if (step + 1 < steps) start_loads(step + 1, half ^ 1);
            // Left alone the compiler reads each operand just before its use, and every use waits for shared memory.
            __builtin_amdgcn_sched_barrier(0);
            products::multiply(c, a, b, scales);
            scales = next;
        }
        g.store(g.c, c, at, at.row / PART + warp_row, at.col / PART + warp_col);
    }
};

} // namespace kittens::families::gemm
