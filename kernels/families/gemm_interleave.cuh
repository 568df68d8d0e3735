/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ, summed in float, by the 4-wave interleave schedule.
 *
 * A is M x K and B is N x K, both row-major. A work-group of 4 waves, two rows of two, computes 256 x 256 of C; a wave
 * 128 x 128, as four quarters of 64 x 64, for which it needs half of a lane's registers. It advances along K in steps
 * of 128 bytes (64 on gfx942), and shared memory holds two steps of A and B, each in two halves: eight slots of 128
 * rows.
 *
 * The halves are numbered in the order of their use: 4 s to 4 s + 3 are A's first, B's first, B's second and A's second
 * of step s. In turn t a wave computes a quarter of C from registers: A's first half by B's first, A's first by B's
 * second, A's second by B's first, A's second by B's second. Between these matrix instructions it
 *   - reads its part of half t + 2 into the registers of a half that it has finished with,
 *   - starts loading half t + 8 into the slot of half t, which was read in turn t - 2.
 * Every other turn, it waits for the four halves that it reads in the next two turns, and for the other waves. So a
 * load has at least four turns to arrive.
 *
 * If K is not a multiple of two steps, it is padded with zeros before its first column, by out-of-range loads in the
 * first two steps, before the loop. Rows past M and N read as zero and are not written. Rows of A, B and C are
 * multiples of 16 bytes.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_halves.cuh"

namespace kittens::families::gemm {

/**
 * @tparam T,U element types of A and B, and of C.
 * @tparam Epilogue,Problem from gemm_epilogue.cuh and gemm_problem.cuh.
 */
template <typename T, typename U, typename Epilogue = epilogue<>, typename Problem = batches>
struct interleave {
    using arguments = globals<T, U, Problem, Epilogue>;
    using operand = along_k<T>;
    static_assert(!Epilogue::paired, "gemm: gated products are not written for this schedule");

    static constexpr int TILE = HALVES_TILE;
    static constexpr int K_STEP = operand::K_STEP;
    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 1;
    static constexpr int WARPS_N = 2;
    /** Rows and columns of a quarter, and its size in base tiles. */
    static constexpr int QUARTER = 64;
    static constexpr int BASES = QUARTER / 16;

    using schedule = schedules::interleave<NUM_WARPS>;

    /** The row of A's block for row `row` of the first half. */
    struct rows_of_a {
        static constexpr int SECOND = QUARTER;
        __host__ __device__ constexpr int operator()(int row) const {
            return row / QUARTER * 2 * QUARTER + row % QUARTER;
        }
    };
    /**
     * @brief The same for B.
     *
     * A matrix instruction leaves four consecutive elements of a row of C in a lane. The rows of B alternate in fours
     * between two instructions (of base tiles 0 and 2 of a quarter, and of 1 and 3), so that together they give a lane
     * eight consecutive elements to store at once.
     */
    struct rows_of_b {
        static constexpr int SECOND = QUARTER;
        __host__ __device__ constexpr int operator()(int row) const {
            const int base = row % QUARTER / 16, inside = row % 16;
            return row / QUARTER * 2 * QUARTER + base % 2 * 32 + inside / 4 * 8 + base / 2 * 4 + inside % 4;
        }
    };
    using half_a = halves_along_k<T, NUM_WARPS, rows_of_a>;
    using half_b = halves_along_k<T, NUM_WARPS, rows_of_b>;
    using loading = halves<half_a, half_b>;
    using shared_half = typename half_a::shared;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        // By step (two of them) and half.
        shared_half(&As)[2][2] = al.allocate<shared_half, 2, 2>();
        shared_half(&Bs)[2][2] = al.allocate<shared_half, 2, 2>();

        const int n = static_cast<int>(g.c.cols());
        // As the spec requires: rows of C are multiples of 16 bytes too.
        __builtin_assume(n % 8 == 0);
        const share at = g.template find<TILE, 1>(g, static_cast<int>(g.a.cols()));
        if (at.rows == 0) return;
        const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;
        const loading in(g, at, As, Bs);
        auto &read_a = schedules::anchor(As), &read_b = schedules::anchor(Bs);

        using quarter = rt<T, QUARTER, K_STEP, row_l, typename operand::shape>;
        quarter a[2], b[2];
        // In the row layout a lane holds consecutive elements of a row of C.
        rt<typename operand::sum, QUARTER, QUARTER, row_l, rt_16x16_s> c[2][2];

        /** Starts run `run` of the loads of half `half` of the step that begins `at` bytes into the rows. */
        const auto start = [&](auto half, auto run, const auto &to_a, const auto &to_b, uint32_t at) {
            constexpr int which = decltype(half)::v % 4;
            constexpr uint32_t slot = (decltype(half)::v / 4 % 2 * 2 + which / 2) * sizeof(shared_half);
            if constexpr (which % 3 == 0)
                to_a.template start_run<decltype(run)::v>(which == 0 ? in.a.first : in.a.second, at, in.a.lds + slot);
            else
                to_b.template start_run<decltype(run)::v>(which == 1 ? in.b.first : in.b.second, at, in.b.lds + slot);
        };
        /** Reads strip `strip`, 16 rows, of this wave's part of half `half`. */
        const auto read = [&](auto half, auto strip) {
            constexpr int step = decltype(half)::v / 4 % 2, which = decltype(half)::v % 4, s = decltype(strip)::v;
            const int first = (which % 3 == 0 ? warp_row : warp_col) * BASES;
            auto &from = which % 3 == 0 ? read_a[step][which / 2] : read_b[step][which / 2];
            auto &to = which % 3 == 0 ? a[which / 2] : b[which / 2];
            rt<T, 16, K_STEP, row_l, typename operand::shape> rows;
            load(rows, subtile_inplace<16, K_STEP>(from, {first + s, 0}));
#pragma unroll
            for (int j = 0; j < decltype(rows)::width; j++) to.tiles[s][j] = rows.tiles[0][j];
        };

        constexpr int RUNS = loading::RUNS, LOADS = loading::LOADS;
        constexpr int DEPTH = mma_agpr_depth<quarter>;
        constexpr int COMPUTES = BASES * BASES * DEPTH;
        /** Turn `turn`: its matrix instructions, interleaved with the reads of the half after next, if any, and
         * `starts` runs of loads.
         */
        const auto take_turn = [&](auto turn, auto reads, auto starts, uint32_t column) {
            constexpr int t = decltype(turn)::v, which = t % 4;
            constexpr int strips = decltype(reads)::v ? BASES : 0;
            schedule::template mix<COMPUTES, strips + decltype(starts)::v, COMPUTES * 3 / 4>(
                [&](auto i) {
                    // K is the outermost loop, so that other instructions separate two that add to the same result.
                    constexpr int s = i / (BASES * BASES), x = i / BASES % BASES, y = i % BASES;
                    mma_ABt_agpr<x, y, s>(c[which / 2][which % 2], a[which / 2], b[which % 2]);
                },
                [&](auto j) {
                    // Reads come first, since the turn ends with a wait for them.
                    if constexpr (j < strips)
                        read(schedules::index<t + 2>{}, j);
                    else
                        start(schedules::index<t + 8>{}, schedules::index<j - strips>{}, in.a.loads, in.b.loads,
                              column);
                });
        };

        in.first_steps([&](auto half, const auto &to_a, const auto &to_b, uint32_t first, uint32_t) {
            schedules::for_each_index<0, RUNS>([&](auto run) { start(half, run, to_a, to_b, first); });
        });
        schedules::for_each_index<0, 4>([&](auto quarter) { zero_agpr(c[quarter / 2][quarter % 2]); });
        schedule::end_stage<4 * LOADS>();
        schedules::for_each_index<0, 2>(
            [&](auto half) { schedules::for_each_index<0, BASES>([&](auto strip) { read(half, strip); }); });
        schedule::end_stage<4 * LOADS>();

        constexpr schedules::index<1> YES;
        constexpr schedules::index<0> NO;
        uint32_t column = in.a.at_step(2);
        for (int pair = 1; pair < in.pairs; pair++) {
            schedules::for_each_index<0, 8>([&](auto turn) {
                take_turn(turn, YES, schedules::index<RUNS>{}, column + turn / 4 * in.a.step_bytes());
                if constexpr (turn % 2 == 1) schedule::end_stage<4 * LOADS>();
            });
            column += 2 * in.a.step_bytes();
        }
        schedules::for_each_index<0, 8>([&](auto turn) {
            if constexpr (turn < 6)
                take_turn(turn, YES, NO, 0);
            else
                take_turn(turn, NO, NO, 0);
            if constexpr (turn % 2 == 1 && turn < 4) schedule::end_stage<(3 - turn) * LOADS>();
        });

#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                rt<typename operand::sum, QUARTER, QUARTER, row_l, rt_16x32_s> sums;
                settle_agpr(c[i][j]);
#pragma unroll
                for (int x = 0; x < BASES; x++)
#pragma unroll
                    for (int y = 0; y < BASES / 2; y++)
#pragma unroll
                        for (int e = 0; e < 4; e++)
                            sums.tiles[x][y].data[e] = c[i][j].tiles[x][y + e / 2 * 2].data[e % 2];
                g.store(g.c, sums, at, at.row / QUARTER + warp_row * 2 + i, at.col / QUARTER + warp_col * 2 + j);
            }
    }
};

} // namespace kittens::families::gemm
