/**
 * @file
 * @brief Matrix multiplication: how the schedules with 256 x 256 of C bring A and B into shared memory.
 *
 * A step along K is two halves of A's block and two of B's, 128 rows each, which the schedules number in the order of
 * their use. Shared memory holds two steps. Columns that K lacks to a multiple of two steps are zeros in front of the
 * first, made by out-of-range loads in the first two steps.
 */
#pragma once

#include "families/gemm_operands.cuh"
#include "families/gemm_problem.cuh"

namespace kittens::families::gemm {

/** Rows and columns of C that a work-group computes, and rows of a half of A or B. */
inline constexpr int HALVES_TILE = 256;
inline constexpr int HALF_ROWS = HALVES_TILE / 2;

/**
 * @brief What does not change along K about the loads of a work-group.
 *
 * @tparam T element type of A and B.
 * @tparam waves that load a half together.
 * @tparam RowsA,RowsB which row of the block a row of the first half is, see `tile_stream`; the second half's is
 *         `RowsA::SECOND` (`RowsB::SECOND`) further on.
 * @tparam paired whether the second half of B is of another matrix, behind the first: see `gated`.
 */
template <typename T, int waves, typename RowsA, typename RowsB, bool paired = false>
struct halves {
    using operand = along_k<T>;
    static constexpr int K_STEP = operand::K_STEP;
    using shared = st<T, HALF_ROWS, K_STEP, typename operand::shared_shape>;
    using stream_a = tile_stream<waves, shared, RowsA>;
    using stream_b = tile_stream<waves, shared, RowsB>;
    static_assert(stream_a::loads == stream_b::loads && stream_a::runs == stream_b::runs);
    /** Loads and runs of loads of a half by a wave. */
    static constexpr int LOADS = stream_a::loads;
    static constexpr int RUNS = stream_a::runs;
    /** Halves in shared memory, by step and half. */
    using buffers = shared[2][2];

    /** Pairs of steps, and columns that K lacks to them. */
    int pairs, lacking;
    uint32_t pitch;
    stream_a loads_a;
    stream_b loads_b;
    i32x4 a0, a1, b0, b1;
    uint32_t lds_a, lds_b;

    template <typename G>
    __device__ inline halves(const G &g, const share &at, const buffers &As, const buffers &Bs)
        : pairs(ceil_div(at.end - at.begin, 2 * K_STEP)), lacking(pairs * 2 * K_STEP - (at.end - at.begin)),
          pitch(stream_a::bytes_of(static_cast<int>(g.a.cols()))), loads_a(pitch), loads_b(pitch) {
        const int rows_a = detail::min(at.rows - at.row, HALVES_TILE);
        const int n = static_cast<int>(g.c.cols());
        const int rows_b = detail::min(n - at.col, paired ? HALF_ROWS : HALVES_TILE);
        const T *first_a = &g.a[{at.a, at.first + at.row, at.begin}], *first_b = &g.b[{at.b, at.col, at.begin}];
        a0 = stream_a::rows_resource(first_a, 0, rows_a, pitch);
        a1 = stream_a::rows_resource(first_a, RowsA::SECOND, rows_a, pitch);
        b0 = stream_b::rows_resource(first_b, 0, rows_b, pitch);
        b1 = stream_b::rows_resource(first_b, paired ? n : RowsB::SECOND, paired ? n + rows_b : rows_b, pitch);
        lds_a = stream_a::lds_base(As[0][0]), lds_b = stream_b::lds_base(Bs[0][0]);
    }

    /** Bytes from a row's first column to that of step 2 of the columns, with zeros in front. */
    __device__ inline uint32_t third_step() const { return stream_a::bytes_of(2 * K_STEP - lacking); }

    /** Starts the loads of the first two steps: calls `start(half, to_a, to_b, column)` for each of eight halves. */
    template <typename Start>
    __device__ inline void first_steps(const Start &start) const {
        const int second = lacking > K_STEP ? lacking - K_STEP : 0;
        const stream_a begin_a[2] = {stream_a(pitch, lacking), stream_a(pitch, second)};
        const stream_b begin_b[2] = {stream_b(pitch, lacking), stream_b(pitch, second)};
        const uint32_t columns[2] = {0, lacking > K_STEP ? 0 : stream_a::bytes_of(K_STEP - lacking)};
        schedules::for_each_index<0, 8>(
            [&](auto half) { start(half, begin_a[half / 4], begin_b[half / 4], columns[half / 4]); });
    }
};

} // namespace kittens::families::gemm
