/**
 * @file
 * @brief Matrix multiplication, summed in float, by the 8-wave ping-pong schedule.
 *
 * A and B are row-major, with rows along K or across it. A work-group of 8 waves, two rows of four, computes 256 x 256
 * of C; a wave 128 x 64, as four quarters of 64 x 32. It advances along K in steps of 128 bytes (64 on gfx942), and
 * shared memory holds two steps of A and B, each in two halves: eight slots of 128 rows.
 *
 * The halves are numbered in the order of their use: 4 s to 4 s + 3 are B's first, A's first, B's second and A's second
 * of step s. In turn t of the schedule a wave
 *   - reads its part of half t + 1 from shared memory into registers,
 *   - starts loading half t + 7 into the slot of half t - 1, which was last read in turn t - 2,
 *   - waits for half t + 2, that is, for all but the last five that were started,
 *   - and computes a quarter of C: A's first half by B's first, A's first by B's second, A's second by B's first,
 *     A's second by B's second.
 * So each turn reads 8 or 4 times 16 bytes per lane, starts one half and has 16 matrix instructions (8 of twice the
 * length for fp8 on gfx950), and a load has six turns to arrive.
 *
 * If K is not a multiple of two steps, it is padded with zeros before its first column, by out-of-range loads in the
 * first two steps, before the loop. Rows past M and N read as zero and are not written. Rows of A, B and C are
 * multiples of 16 bytes; rows of an operand across K, where K is arbitrary, are multiples of a half's width.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_sums.cuh"

namespace kittens::families::gemm {

/**
 * @tparam T,U element types of A and B, and of C.
 * @tparam stored how A and B are stored.
 * @tparam Epilogue,Problem,Sums from gemm_epilogue.cuh, gemm_problem.cuh and gemm_sums.cuh.
 */
template <typename T, typename U, layout stored, typename Epilogue = epilogue<>, typename Problem = batches,
          typename Sums = added_sums>
struct ping_pong {
    struct arguments : globals<T, U, Problem, Epilogue>, Sums::arguments {};
    using operand = along_k<T>;

    static constexpr int TILE = HALVES_TILE;
    static constexpr bool paired = Epilogue::paired;
    /** Columns of C; with a `gated` epilogue, each needs two columns of sums. */
    static constexpr int TILE_N = paired ? TILE / 2 : TILE;
    static constexpr int K_STEP = operand::K_STEP;
    static constexpr int NUM_WARPS = 8;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 2;
    static constexpr int WARPS_N = 4;
    static constexpr int QUARTER_M = 64;
    static constexpr int QUARTER_N = 32;

    using schedule = schedules::ping_pong<NUM_WARPS>;
    /** Classes of instructions for `__builtin_amdgcn_sched_group_barrier`. */
    static constexpr int VECTOR_INSTRUCTIONS = 0x2, MATRIX_INSTRUCTIONS = 0x8;

    /** The row of A's block for row `row` of the first half. */
    struct rows_of_a {
        static constexpr int SECOND = QUARTER_M;
        __host__ __device__ constexpr int operator()(int row) const {
            return row / QUARTER_M * 2 * QUARTER_M + row % QUARTER_M;
        }
    };
    /**
     * @brief The same for B and QUARTER_N.
     *
     * A matrix instruction leaves four consecutive elements of a row of C in a lane. The rows of B alternate in fours
     * between two adjacent instructions, so that together they give a lane eight consecutive elements to store at once.
     */
    struct rows_of_b {
        static constexpr int SECOND = QUARTER_N;
        __host__ __device__ constexpr int operator()(int row) const {
            const int base = row % QUARTER_N / 16, inside = row % 16;
            return row / QUARTER_N * (paired ? 1 : 2) * QUARTER_N + inside / 4 * 8 + base * 4 + inside % 4;
        }
    };
    using half_a =
        detail::select<is_a_along_k(stored), halves_along_k<T, NUM_WARPS, rows_of_a>, halves_across_k<T, NUM_WARPS>>;
    using half_b =
        detail::select<is_b_along_k(stored), halves_along_k<T, NUM_WARPS, rows_of_b>, halves_across_k<T, NUM_WARPS>>;
    static_assert(!paired || stored == layout::nt, "gemm: the rows of B of a gated product run along K");
    static_assert(!paired || !Sums::scaled, "gemm: gated products have no scales");
    using loading = halves<half_a, half_b, paired>;
    using shared_a = typename half_a::shared;
    using shared_b = typename half_b::shared;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        // By step (two of them) and half.
        shared_a(&As)[2][2] = al.allocate<shared_a, 2, 2>();
        shared_b(&Bs)[2][2] = al.allocate<shared_b, 2, 2>();
        const uint32_t scales = Sums::allocate(al);

        const int n = static_cast<int>(g.c.cols());
        // As the spec requires: rows of C are multiples of 16 bytes too.
        __builtin_assume(n % 8 == 0);
        const int k = static_cast<int>(is_a_along_k(stored) ? g.a.cols() : g.a.rows());
        const share at = g.template find<TILE, 1, TILE_N>(g, k);
        if (at.rows == 0) return;
        const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;
        const loading in(g, at, As, Bs);
        auto &read_a = schedules::anchor(As);
        auto &read_b = schedules::anchor(Bs);

        using part_of_a = rt<T, QUARTER_M, K_STEP, row_l, typename operand::shape>;
        using part_of_b = rt<T, QUARTER_N, K_STEP, row_l, typename operand::shape>;
        part_of_a a;
        part_of_b b[2];
        typename half_a::template unsorted<part_of_a> unsorted_a;
        typename half_b::template unsorted<part_of_b> unsorted_b;
        // In the row layout a lane holds consecutive elements of a row of C.
        using quarter = rt<typename Sums::template number<T>, QUARTER_M, QUARTER_N, row_l, rt_16x16_s>;
        quarter c[2][2];
        const int first_row = at.row + typename half_a::order{}(warp_row * QUARTER_M);
        const int first_col = at.col + typename half_b::order{}(warp_col * QUARTER_N);
        using place = place_of_wave<half_a::order::SECOND, half_b::order::SECOND>;
        const place here = {
            first_row, first_col, first_row + half_a::template row_of_lane<QUARTER_M>(laneid()),
            at.col + typename half_b::order{}(warp_col * QUARTER_N +
                                              half_b::template row_of_lane<QUARTER_N>(laneid() % QUARTER_N))};
        typename Sums::template of_wave<T, quarter, place> sums(g, at, here, scales, in.lacking);

        /** Starts loading half `half` of the step that begins `at_a` (`at_b`) bytes into A (B). */
        const auto start = [&](auto half, const auto &to_a, const auto &to_b, uint32_t at_a, uint32_t at_b) {
            constexpr int which = decltype(half)::v % 4, slot = decltype(half)::v / 4 % 2 * 2 + which / 2;
            if constexpr (which % 2 == 0)
                to_b.start(which == 0 ? in.b.first : in.b.second, at_b, in.b.lds + slot * sizeof(shared_b));
            else
                to_a.start(which == 1 ? in.a.first : in.a.second, at_a, in.a.lds + slot * sizeof(shared_a));
        };
        /** Sorts a part of the data read from half `half`. */
        const auto sort = [&]<int part>(auto half, schedules::index<part>) {
            constexpr int which = decltype(half)::v % 4;
            if constexpr (which % 2 == 0)
                unsorted_b.template sort<part, 2>(b[which / 2]);
            else
                unsorted_a.template sort<part, 2>(a);
        };
        /** Starts reading this wave's part of half `half`. */
        const auto read = [&](auto half) {
            constexpr int step = decltype(half)::v / 4 % 2, which = decltype(half)::v % 4;
            if constexpr (which % 2 == 0)
                half_b::read(b[which / 2], unsorted_b, read_b[step][which / 2], warp_col);
            else
                half_a::read(a, unsorted_a, read_a[step][which / 2], warp_row);
        };
        const auto compute = [&](auto turn) {
            constexpr int which = decltype(turn)::v % 4;
            sums.template multiply<which % 2>(c[which / 2][which % 2], a, b[which % 2]);
        };
        /** Remaining work of turn `turn` - 1, and the data other than operands that turn `turn` needs. */
        const auto finish_and_take = [&](auto turn) {
            constexpr int before = (decltype(turn)::v + 3) % 4;
            sums.finish(c[before / 2][before % 2]);
            sums.template take<decltype(turn)::v>();
        };
        // Data is sorted in two parts: the part for the first matrix instructions in the memory cluster, and the rest
        // among these instructions.
        constexpr schedules::index<0> FIRST;
        constexpr schedules::index<1> SECOND;
        const auto sort_and_compute = [&](auto turn) {
            sort(schedules::index<turn + 1>{}, SECOND);
            compute(turn);
            // Otherwise the compiler sorts first, while the matrix cores are idle.
            if constexpr ((turn + 1) % 2 == 0 ? half_b::in_turn : half_a::in_turn)
                schedules::for_each_index<0, 8>([](auto) {
                    __builtin_amdgcn_sched_group_barrier(MATRIX_INSTRUCTIONS, 1, 0);
                    __builtin_amdgcn_sched_group_barrier(VECTOR_INSTRUCTIONS, 2, 0);
                });
        };

        constexpr int IN_FLIGHT = 5 * loading::LOADS;

        schedule::run(
            [&] {
                sums.start_first();
                in.first_steps(start);
                zero(c[0][0]);
                zero(c[0][1]);
                zero(c[1][0]);
                zero(c[1][1]);
                wait_vmcnt<6 * loading::LOADS>();
                barrier();
                read(schedules::index<0>{});
                sort(schedules::index<0>{}, FIRST);
                sort(schedules::index<0>{}, SECOND);
                sums.take_first();
            },
            [&] {
                // Turn 0 starts no loads. Turns 1 to 8 of a pair of steps start the loads of the next pair.
                schedule::turns<0, 1>(
                    [&](auto turn) {
                        read(schedules::index<turn + 1>{});
                        sort(schedules::index<turn + 1>{}, FIRST);
                        wait_vmcnt<IN_FLIGHT>();
                    },
                    sort_and_compute);
                uint32_t at_a = in.a.at_step(2), at_b = in.b.at_step(2);
                for (int pair = 1; pair < in.pairs; pair++) {
                    schedule::turns<1, 9>(
                        [&](auto turn) {
                            constexpr int t = decltype(turn)::v;
                            finish_and_take(turn);
                            read(schedules::index<t + 1>{});
                            sums.template start<t>(pair);
                            constexpr uint32_t step = (t + 7) / 4 % 2;
                            start(schedules::index<t + 7>{}, in.a.loads, in.b.loads, at_a + step * in.a.step_bytes(),
                                  at_b + step * in.b.step_bytes());
                            sort(schedules::index<t + 1>{}, FIRST);
                            wait_vmcnt<IN_FLIGHT + decltype(sums)::template loads<t>>();
                        },
                        sort_and_compute);
                    at_a += 2 * in.a.step_bytes(), at_b += 2 * in.b.step_bytes();
                }
                schedule::turns<1, 7>(
                    [&](auto turn) {
                        constexpr int t = decltype(turn)::v;
                        finish_and_take(turn);
                        read(schedules::index<t + 1>{});
                        sort(schedules::index<t + 1>{}, FIRST);
                        if constexpr (t + 2 < 8) wait_vmcnt<(5 - t) * loading::LOADS>();
                    },
                    sort_and_compute);
                schedule::turns<7, 8>(finish_and_take, compute);
                sums.finish(c[1][1]);
            },
            [&] {
                // If a lane's results of two instructions are adjacent in C, they are stored together.
                constexpr bool beside = is_b_along_k(stored) || half_b::in_turn;
                /** Sums of quarter {i, j}, in the order of C's columns. */
                const auto sums_of = [&](int i, int j) {
                    if constexpr (!beside) {
                        return c[i][j];
                    } else {
                        rt<typename quarter::T, QUARTER_M, QUARTER_N, row_l, rt_16x32_s> sums;
#pragma unroll
                        for (int x = 0; x < QUARTER_M / 16; x++) {
                            const auto &tiles = c[i][j].tiles[x];
                            auto joined = detail::get_run(sums.tiles[x][0], 0);
#pragma unroll
                            for (int e = 0; e < 8; e++)
                                joined.e[e] = half_b::in_turn ? detail::get_run(tiles[e % 2], 0).e[e / 2]
                                                              : detail::get_run(tiles[e / 4], 0).e[e % 4];
                            detail::set_run(sums.tiles[x][0], 0, joined);
                        }
                        return sums;
                    }
                };
                const auto to = [&] {
                    if constexpr (half_a::in_turn)
                        return share_in_turn<QUARTER_M / 16>{at};
                    else
                        return at;
                }();
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const int row = (first_row + i * half_a::order::SECOND) / QUARTER_M;
                    if constexpr (paired) {
                        g.store(g.c, Epilogue::joined(sums_of(i, 0), sums_of(i, 1)), to, row, first_col / QUARTER_N);
                    } else {
#pragma unroll
                        for (int j = 0; j < 2; j++)
                            g.store(g.c, sums_of(i, j), to, row, (first_col + j * half_b::order::SECOND) / QUARTER_N);
                    }
                }
            });
    }
};

} // namespace kittens::families::gemm
