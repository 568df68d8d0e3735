/**
 * @file
 * @brief Matrix multiplication: loads of A and B to shared memory in the schedules with 256 x 256 of C.
 *
 * A step along K is two halves of A's block and two of B's, 128 rows of C (columns) each, which the schedules number in
 * the order of their use. Shared memory holds two steps. If K is not a multiple of two steps, it is padded with zeros
 * before its first column, by out-of-range loads in the first two steps.
 */
#pragma once

#include "families/gemm_operands.cuh"
#include "families/gemm_problem.cuh"

namespace kittens::families::gemm {

/** Rows and columns of C per work-group, and per half of A or B. */
inline constexpr int HALVES_TILE = 256;
inline constexpr int HALF_ROWS = HALVES_TILE / 2;

/** The part of an operand that a work-group multiplies. */
struct operand_part {
    /** Index of the matrix, first row of the block, and number of its rows. */
    int index, row, rows;
    /** First row of the second half, and end of its rows, relative to the block's first row. */
    int second, end_of_second;
    /** Along K. */
    int begin, end;
    /** Columns that K lacks to a multiple of two steps. */
    int lacking;
};

/** Work between a read and the use of its data: none. */
template <ducks::rt::row_layout RT>
struct as_read {
    template <int part, int parts>
    __device__ inline void sort(RT &) const {}
};

/**
 * @brief Halves of an operand whose rows run along K: M x K (N x K).
 *
 * @tparam T element type.
 * @tparam waves that load a half together.
 * @tparam Rows maps a row of the first half to a row of the block, see `tile_stream`; the second half's row is
 *         `Rows::SECOND` further on.
 */
template <typename T, int waves, typename Rows>
struct halves_along_k {
    using operand = along_k<T>;
    static constexpr int K_STEP = operand::K_STEP;
    using shared = st<T, HALF_ROWS, K_STEP, typename operand::shared_shape>;
    using stream = tile_stream<waves, shared, Rows>;
    using order = Rows;
    static constexpr bool in_turn = false;
    /** Of `rows` rows that a wave reads at once, the one that comes in place `lane`. */
    template <int rows>
    static __device__ inline int row_of_lane(int lane) {
        return lane;
    }

    uint32_t pitch;
    int lacking;
    stream loads;
    i32x4 first, second;
    uint32_t lds;

    template <ducks::gl::all GL>
    __device__ inline halves_along_k(const GL &whole, const operand_part &at, const shared &to)
        : pitch(stream::bytes_of(static_cast<int>(whole.cols()))), lacking(at.lacking), loads(pitch),
          lds(stream::lds_base(to)) {
        const T *begin = &whole[{at.index, at.row, at.begin}];
        first = stream::rows_resource(begin, 0, at.rows, pitch);
        second = stream::rows_resource(begin, at.second, at.end_of_second, pitch);
    }
    /** Loads of a step with zeros in its first `zeros` columns. */
    __device__ inline stream behind(int zeros) const { return stream(pitch, zeros); }
    /** Bytes from the first row's first element to the beginning of step `step`. */
    __device__ inline uint32_t at_step(int step) const {
        return stream::bytes_of(detail::max(step * K_STEP - lacking, 0));
    }
    /** Bytes from a step to the next. */
    __device__ inline uint32_t step_bytes() const { return stream::bytes_of(K_STEP); }

    template <ducks::rt::row_layout RT>
    using unsorted = as_read<RT>;
    /** Reads part `index` of a half, of as many rows as `to` has. */
    template <ducks::rt::row_layout RT>
    static __device__ inline void read(RT &to, unsorted<RT> &, shared &from, int index) {
        load(to, subtile_inplace<RT::rows, K_STEP>(from, {index, 0}));
    }
};

/**
 * @brief Halves of an operand whose rows run across K: K x M (K x N).
 *
 * Columns are read to registers by transposing reads on gfx950, and on gfx942 `in_turn` (see `columns_in_turn`).
 *
 * Past the last column, a tile has the following columns of the matrix, whose results are not stored.
 */
template <typename T, int waves>
struct halves_across_k {
    using operand = along_k<T>;
    static constexpr int K_STEP = operand::K_STEP;
    using shared = st<T, K_STEP, HALF_ROWS, st_32x128_s>;
    using stream = tile_stream<waves, shared>;
#if defined(KITTENS_CDNA4)
    static constexpr bool in_turn = false;
#else
    static constexpr bool in_turn = true;
#endif
    struct order : rows_in_order {
        static constexpr int SECOND = HALF_ROWS;
    };
    /** Of `rows` columns that a wave reads at once, the one that comes in place `lane`. */
    template <int rows>
    static __device__ inline int row_of_lane(int lane) {
        return in_turn ? lane % 16 * (rows / 16) + lane / 16 : lane;
    }

    uint32_t pitch;
    stream loads;
    i32x4 first, second;
    uint32_t lds;

    template <ducks::gl::all GL>
    __device__ inline halves_across_k(const GL &whole, const operand_part &at, const shared &to)
        : pitch(stream::bytes_of(static_cast<int>(whole.cols()))), loads(pitch), lds(stream::lds_base(to)) {
        // Rows that K lacks are counted, so that a step's position follows from its number.
        const char *begin = reinterpret_cast<const char *>(&whole[{at.index, at.begin, at.row}]) -
                            static_cast<uint64_t>(at.lacking) * pitch;
        // The range check counts the scalar offset, a step's position, so the range is that of all steps.
        const auto bytes = static_cast<uint32_t>(at.end - at.begin + at.lacking) * pitch;
        const auto from = [&](int column) {
            const bool there = column < at.rows;
            return stream::resource(begin + (there ? stream::bytes_of(column) : 0),
                                    there ? bytes - stream::bytes_of(at.row + column) : 0);
        };
        first = from(0);
        second = from(at.second);
    }
    /** Loads of a step with zeros in its first `zeros` rows. */
    __device__ inline stream behind(int zeros) const { return stream(pitch, 0, zeros); }
    __device__ inline uint32_t at_step(int step) const { return static_cast<uint32_t>(step) * step_bytes(); }
    __device__ inline uint32_t step_bytes() const { return static_cast<uint32_t>(K_STEP) * pitch; }

    /** Data that must be sorted before its use. */
    template <ducks::rt::row_layout RT>
    using unsorted = detail::select<in_turn, columns_in_turn<RT, shared>, as_read<RT>>;
    /** Reads part `index` of a half, of as many columns as `to` has rows. */
    template <ducks::rt::row_layout RT>
    static __device__ inline void read(RT &to, unsorted<RT> &kept, shared &from, int index) {
        if constexpr (in_turn)
            kept.fetch(from, index * RT::rows);
        else
            load_columns(to, from, index * RT::rows);
    }
};

/**
 * @brief State of a work-group's loads that does not change along K.
 *
 * @tparam A,B `halves_along_k` or `halves_across_k`.
 * @tparam paired whether the second half of B belongs to another matrix, after the first: see `gated`.
 */
template <typename A, typename B, bool paired = false>
struct halves {
    static constexpr int K_STEP = A::K_STEP;
    static_assert(A::stream::loads == B::stream::loads && A::stream::runs == B::stream::runs);
    /** Loads, and runs of loads, per wave and half. */
    static constexpr int LOADS = A::stream::loads;
    static constexpr int RUNS = A::stream::runs;
    /** Halves in shared memory, by step and half. */
    using buffers_a = typename A::shared[2][2];
    using buffers_b = typename B::shared[2][2];

    /** Pairs of steps, and the missing part of K. */
    int pairs, lacking;
    A a;
    B b;

    template <typename G>
    __device__ inline halves(const G &g, const share &at, const buffers_a &As, const buffers_b &Bs)
        : pairs(ceil_div(at.end - at.begin, 2 * K_STEP)), lacking(pairs * 2 * K_STEP - (at.end - at.begin)),
          a(g.a, part_of_a(at), As[0][0]), b(g.b, part_of_b(at, static_cast<int>(g.c.cols())), Bs[0][0]) {}

    /** Starts the loads of the first two steps: calls `start(half, to_a, to_b, at_a, at_b)` for each of eight halves.
     */
    template <typename Start>
    __device__ inline void first_steps(const Start &start) const {
        const int second = lacking > K_STEP ? lacking - K_STEP : 0;
        const typename A::stream begin_a[2] = {a.behind(lacking), a.behind(second)};
        const typename B::stream begin_b[2] = {b.behind(lacking), b.behind(second)};
        schedules::for_each_index<0, 8>([&](auto half) {
            start(half, begin_a[half / 4], begin_b[half / 4], a.at_step(half / 4), b.at_step(half / 4));
        });
    }

  private:
    __device__ inline operand_part part_of_a(const share &at) const {
        const int rows = detail::min(at.rows - at.row, HALVES_TILE);
        return {at.a, at.first + at.row, rows, A::order::SECOND, rows, at.begin, at.end, lacking};
    }
    __device__ inline operand_part part_of_b(const share &at, int n) const {
        const int rows = detail::min(n - at.col, paired ? HALF_ROWS : HALVES_TILE);
        const int second = paired ? n : B::order::SECOND, end_of_second = paired ? n + rows : rows;
        return {at.b, at.col, rows, second, end_of_second, at.begin, at.end, lacking};
    }
};

} // namespace kittens::families::gemm
