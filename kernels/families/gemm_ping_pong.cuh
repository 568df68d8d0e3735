/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ, summed in float, by the 8-wave ping-pong schedule.
 *
 * A is M x K and B is N x K, both row-major. A work-group of 8 waves, two rows of four, computes 256 x 256 of C; a wave
 * 128 x 64, as four quarters of 64 x 32. Along K it goes in steps of 128 bytes (64 on gfx942), and shared memory holds
 * two steps of A and B, each in two halves: eight slots of 128 rows.
 *
 * The halves are numbered in the order of their use: 4 s to 4 s + 3 are B's first, A's first, B's second and A's second
 * of step s. In turn t of the schedule a wave
 *   - reads its part of half t + 1 from shared memory into registers,
 *   - starts loading half t + 7 into the slot of half t - 1, which was last read in turn t - 2,
 *   - waits for half t + 2, all but the last five to have been started,
 *   - and computes a quarter of C: A's first half by B's first, A's first by B's second, A's second by B's first,
 *     A's second by B's second.
 * So each turn reads 8 or 4 times 16 bytes a lane, starts one half and has 16 matrix instructions (8 of twice the
 * length for fp8 on gfx950), and a load has six turns to arrive.
 *
 * Columns that K lacks to a multiple of two steps are zeros in front of the first, made by out-of-range loads in the
 * first two steps, before the loop. Rows past M and N read as zero and are not written. Rows of A, B and C are whole 16
 * bytes.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_operands.cuh"

namespace kittens::families::gemm {

/**
 * @tparam T,U element types of A and B, and of C.
 * @tparam Epilogue,Problem from gemm_epilogue.cuh and gemm_problem.cuh.
 */
template <typename T, typename U, typename Epilogue = epilogue<>, typename Problem = batches>
struct ping_pong {
    using arguments = globals<T, U, Problem, Epilogue>;
    using operand = along_k<T>;

    static constexpr int TILE = 256;
    static constexpr int HALF = TILE / 2;
    static constexpr int K_STEP = operand::K_STEP;
    static constexpr int NUM_WARPS = 8;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 2;
    static constexpr int WARPS_N = 4;
    static constexpr int QUARTER_M = 64;
    static constexpr int QUARTER_N = 32;

    using shared_half = st<T, HALF, K_STEP, typename operand::shared_shape>;
    using schedule = schedules::ping_pong<NUM_WARPS>;

    /** Row of A's block that row `row` of the first half is; the second half's is QUARTER_M further on. */
    struct rows_of_a {
        __host__ __device__ constexpr int operator()(int row) const {
            return row / QUARTER_M * 2 * QUARTER_M + row % QUARTER_M;
        }
    };
    /**
     * @brief The same of B and QUARTER_N.
     *
     * The result of a matrix instruction has four neighbours in a row of C in a lane. For two instructions beside each
     * other to give a lane eight, which it stores at once, their rows of B take turns in fours.
     */
    struct rows_of_b {
        __host__ __device__ constexpr int operator()(int row) const {
            const int base = row % QUARTER_N / 16, inside = row % 16;
            return row / QUARTER_N * 2 * QUARTER_N + inside / 4 * 8 + base * 4 + inside % 4;
        }
    };
    using stream_a = tile_stream<NUM_WARPS, shared_half, rows_of_a>;
    using stream_b = tile_stream<NUM_WARPS, shared_half, rows_of_b>;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        // By step, of which there are two, and half.
        shared_half(&As)[2][2] = al.allocate<shared_half, 2, 2>();
        shared_half(&Bs)[2][2] = al.allocate<shared_half, 2, 2>();

        const int n = static_cast<int>(g.c.cols());
        // As the spec has it: rows of C are whole 16 bytes too.
        __builtin_assume(n % 8 == 0);
        const share at = g.template find<TILE, 1>(g, static_cast<int>(g.a.cols()));
        if (at.rows == 0) return;
        const int k = at.end - at.begin;
        const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;

        // Two steps at least, and an even number of them.
        const int pairs = ceil_div(k, 2 * K_STEP);
        const int lacking = pairs * 2 * K_STEP - k;
        const uint32_t pitch = stream_a::bytes_of(static_cast<int>(g.a.cols()));
        const stream_a loads_a(pitch);
        const stream_b loads_b(pitch);
        const int rows_a = detail::min(at.rows - at.row, TILE), rows_b = detail::min(n - at.col, TILE);
        const T *first_a = &g.a[{at.a, at.first + at.row, at.begin}], *first_b = &g.b[{at.b, at.col, at.begin}];
        const i32x4 a0 = stream_a::rows_resource(first_a, 0, rows_a, pitch);
        const i32x4 a1 = stream_a::rows_resource(first_a, QUARTER_M, rows_a, pitch);
        const i32x4 b0 = stream_b::rows_resource(first_b, 0, rows_b, pitch);
        const i32x4 b1 = stream_b::rows_resource(first_b, QUARTER_N, rows_b, pitch);
        const uint32_t lds_a = stream_a::lds_base(As[0][0]), lds_b = stream_b::lds_base(Bs[0][0]);
        auto &read_a = schedules::anchor(As), &read_b = schedules::anchor(Bs);

        rt<T, QUARTER_M, K_STEP, row_l, typename operand::shape> a;
        rt<T, QUARTER_N, K_STEP, row_l, typename operand::shape> b[2];
        // In the row layout a lane holds neighbours in a row of C.
        rt<typename operand::sum, QUARTER_M, QUARTER_N, row_l, rt_16x16_s> c[2][2];

        /** Starts loading half `half` of which the columns begin `column` bytes into the rows. */
        const auto start = [&](auto half, const stream_a &to_a, const stream_b &to_b, uint32_t column) {
            constexpr int which = decltype(half)::v % 4;
            constexpr uint32_t slot = (decltype(half)::v / 4 % 2 * 2 + which / 2) * sizeof(shared_half);
            if constexpr (which % 2 == 0)
                to_b.start(which == 0 ? b0 : b1, column, lds_b + slot);
            else
                to_a.start(which == 1 ? a0 : a1, column, lds_a + slot);
        };
        /** Reads this wave's part of half `half`. */
        const auto read = [&](auto half) {
            constexpr int step = decltype(half)::v / 4 % 2, which = decltype(half)::v % 4;
            if constexpr (which % 2 == 0)
                load(b[which / 2], subtile_inplace<QUARTER_N, K_STEP>(read_b[step][which / 2], {warp_col, 0}));
            else
                load(a, subtile_inplace<QUARTER_M, K_STEP>(read_a[step][which / 2], {warp_row, 0}));
        };
        const auto compute = [&](auto turn) {
            constexpr int which = decltype(turn)::v % 4;
            mma_ABt(c[which / 2][which % 2], a, b[which % 2], c[which / 2][which % 2]);
        };

        constexpr int IN_FLIGHT = 5 * stream_a::loads;
        static_assert(stream_a::loads == stream_b::loads);

        schedule::run(
            [&] {
                // The first two steps, of which some of the columns may lie before the first.
                const int second = lacking > K_STEP ? lacking - K_STEP : 0;
                const stream_a begin_a[2] = {stream_a(pitch, lacking), stream_a(pitch, second)};
                const stream_b begin_b[2] = {stream_b(pitch, lacking), stream_b(pitch, second)};
                const uint32_t begin[2] = {0, lacking > K_STEP ? 0 : stream_a::bytes_of(K_STEP - lacking)};
                schedules::for_each_index<0, 8>(
                    [&](auto half) { start(half, begin_a[half / 4], begin_b[half / 4], begin[half / 4]); });
                zero(c[0][0]);
                zero(c[0][1]);
                zero(c[1][0]);
                zero(c[1][1]);
                wait_vmcnt<6 * stream_a::loads>();
                barrier();
                read(schedules::index<0>{});
            },
            [&] {
                // Turn 0 has nothing to start. Turns 1 to 8 of a pair of steps start what the next pair will use.
                schedule::turns<0, 1>(
                    [&](auto turn) {
                        read(schedules::index<turn + 1>{});
                        wait_vmcnt<IN_FLIGHT>();
                    },
                    compute);
                uint32_t column = stream_a::bytes_of(2 * K_STEP - lacking);
                for (int pair = 1; pair < pairs; pair++) {
                    schedule::turns<1, 9>(
                        [&](auto turn) {
                            constexpr int t = decltype(turn)::v;
                            read(schedules::index<t + 1>{});
                            start(schedules::index<t + 7>{}, loads_a, loads_b,
                                  column + stream_a::bytes_of((t + 7) / 4 % 2 * K_STEP));
                            wait_vmcnt<IN_FLIGHT>();
                        },
                        compute);
                    column += stream_a::bytes_of(2 * K_STEP);
                }
                schedule::turns<1, 8>(
                    [&](auto turn) {
                        constexpr int t = decltype(turn)::v;
                        if constexpr (t + 1 < 8) read(schedules::index<t + 1>{});
                        if constexpr (t + 2 < 8) wait_vmcnt<(5 - t) * stream_a::loads>();
                    },
                    compute);
            },
            [&] {
#pragma unroll
                for (int i = 0; i < 2; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        rt<typename operand::sum, QUARTER_M, QUARTER_N, row_l, rt_16x32_s> sums;
#pragma unroll
                        for (int x = 0; x < QUARTER_M / 16; x++)
#pragma unroll
                            for (int e = 0; e < 4; e++) sums.tiles[x][0].data[e] = c[i][j].tiles[x][e / 2].data[e % 2];
                        g.store(g.c, sums, at, at.row / QUARTER_M + warp_row * 2 + i,
                                at.col / QUARTER_N + warp_col * 2 + j);
                    }
            });
    }
};

} // namespace kittens::families::gemm
