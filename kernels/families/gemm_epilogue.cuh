/**
 * @file
 * @brief Matrix multiplication: operations on the sums before they are stored.
 *
 * An epilogue is a list of stages, applied in order to float tiles in registers: `epilogue<add_bias<bf16>,
 * activate<base_ops::gelu>>`. A stage's members are arguments of the kernel. Sums of int are first converted to float.
 */
#pragma once

#include "families/gemm_problem.cuh"

namespace kittens::families::gemm {

/** Strip `row`, counted from the share's first, of a matrix like C; columns past the last are zero. */
template <ducks::rt::all RT, ducks::gl::all GL, typename Share>
__device__ inline void load_strip(RT &strip, const GL &from, const Share &at, int row, int col) {
    constexpr int apart = Share::apart;
    if constexpr (apart == 1)
        load_bounded(strip, rows_of(from, at.c, at.first, at.rows), coord<RT>(row, col));
    else
        load_bounded<1>(strip, rows_in_turn_of<apart>(from, at.c, at.first, at.rows),
                        coord<RT>(row / apart, row % apart, col));
}

/** Values of a vector for the rows of strip `row`, one for each row of A. */
template <ducks::rv::all RV, typename Share>
__device__ inline void load_of_rows(RV &values, const gl<float, 1, 1, -1, -1> &from, const Share &at, int row) {
    using run = gl<float, 1, 1, -1, -1>;
    constexpr int apart = Share::apart;
    float *const first = &from[{at.a, at.first}];
    if constexpr (apart == 1)
        load(values, run(first, nullptr, nullptr, size_t{1}, static_cast<size_t>(at.rows)), {0, row});
    else
        load_along(values, run(first, nullptr, nullptr, static_cast<size_t>(at.rows / apart), size_t{apart}),
                   {row / apart * RV::length, row % apart});
}

/** The last stage of kernels that add sums to C by atomics. */
struct accumulate {
    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &, const Share &, int, int) const {}
};

/**
 * @brief Stages in the order of their use. `row` and `col` count in tiles like `sums`, rows from the share's first; in
 * a `share_in_turn`, consecutive strips have adjacent rows.
 */
template <typename... Stages>
struct epilogue : Stages... {
    /** True if a column of C needs two columns of sums: see `gated`. */
    static constexpr bool paired = false;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply([[maybe_unused]] RT &sums, [[maybe_unused]] const Share &at, [[maybe_unused]] int row,
                                 [[maybe_unused]] int col) const {
        (Stages::apply(sums, at, row, col), ...);
    }

    /**
     * @brief Finishes sums and stores them, rounded to C's type; rows and columns outside of C are not written.
     *
     * Works on one strip of base tiles at a time, so that the stages' loads take few registers.
     */
    template <ducks::rt::all RT, ducks::gl::all GL, typename Share>
    __device__ inline void store(const GL &c, const RT &sums, const Share &at, int row, int col) const {
        using strip = rt<float, RT::base_tile_rows, RT::cols, typename RT::layout, typename RT::shape>;
        static_assert(Share::apart == 1 || Share::apart == RT::height,
                      "gemm: rows are taken in turn by the strips of a tile");
#pragma unroll
        for (int i = 0; i < RT::height; i++) {
            rt<typename RT::T, strip::rows, strip::cols, typename RT::layout, typename RT::shape> summed;
#pragma unroll
            for (int j = 0; j < RT::width; j++) summed.tiles[0][j] = sums.tiles[i][j];
            strip part;
            copy(part, summed);
            apply(part, at, row * RT::height + i, col);
            put(c, part, at, row * RT::height + i, col);
        }
    }

  private:
    template <ducks::gl::all GL, ducks::rt::all RT, typename Share>
    static __device__ inline void put(const GL &c, const RT &part, const Share &at, int row, int col) {
        constexpr int apart = Share::apart;
        if constexpr ((detail::is_same<Stages, accumulate> || ...)) {
            static_assert(apart == 1, "gemm: parts are added to rows in order");
            atomic_add(rows_of(c, at.c, at.first, at.rows), part, coord<RT>(row, col));
        } else {
            rt<typename GL::dtype, RT::rows, RT::cols, typename RT::layout, typename RT::shape> rounded;
            copy(rounded, part);
            if constexpr (apart == 1)
                store_bounded(rows_of(c, at.c, at.first, at.rows), rounded, coord<RT>(row, col));
            else
                store_bounded<1>(rows_in_turn_of<apart>(c, at.c, at.first, at.rows), rounded,
                                 coord<RT>(row / apart, row % apart, col));
        }
    }
};

/**
 * @brief The rows of B are two matrices of N rows, left and right: C = left sums * op(right sums), then the stages.
 *
 * The schedules give a wave equal numbers of columns of both.
 */
template <ducks::base_ops::unary op, typename... Stages>
struct gated : epilogue<Stages...> {
    static constexpr bool paired = true;

    /** Replaces the sums of the left matrix's columns by those of C. */
    template <ducks::rt::all RT>
    static __device__ inline auto joined(const RT &left, const RT &right) {
        rt<float, RT::rows, RT::cols, typename RT::layout, typename RT::shape> sums, gates;
        copy(sums, left);
        copy(gates, right);
        unary_map<op>(gates, gates);
        mul(sums, sums, gates);
        return sums;
    }
    /** For a tile whose first half has the left sums: `col` counts in tiles of half its width. */
    template <ducks::rt::all RT, ducks::gl::all GL>
    __device__ inline void store_joined(const GL &c, const RT &sums, const share &at, int row, int col) const {
        rt<typename RT::T, RT::rows, RT::cols / 2, typename RT::layout, typename RT::shape> left, right;
#pragma unroll
        for (int i = 0; i < RT::height; i++)
#pragma unroll
            for (int j = 0; j < RT::width / 2; j++) {
                left.tiles[i][j] = sums.tiles[i][j];
                right.tiles[i][j] = sums.tiles[i][j + RT::width / 2];
            }
        this->store(c, joined(left, right), at, row, col);
    }
};

/** C(i, j) = scale_a(i) scale_b(j) sum: scales of the rows of A and of B, (batch, rows). */
struct scale_rows {
    gl<float, 1, 1, -1, -1> scale_a, scale_b;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int col) const {
        typename RT::col_vec of_rows;
        typename RT::row_vec of_cols;
        load_of_rows(of_rows, scale_a, at, row);
        load(of_cols, scale_b, {at.b, col});
        mul_row(sums, sums, of_rows);
        mul_col(sums, sums, of_cols);
    }
};

/** C(i, j) = scale_a(i) sum: only scales of the rows of A. */
struct scale_rows_of_a {
    gl<float, 1, 1, -1, -1> scale_a;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int) const {
        typename RT::col_vec of_rows;
        load_of_rows(of_rows, scale_a, at, row);
        mul_row(sums, sums, of_rows);
    }
};

/** Times a number. */
struct scale_all {
    float alpha;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &, int, int) const {
        mul(sums, sums, alpha);
    }
};

/** Adds a value to each column, with the same row for every matrix of B or one row for each. */
template <typename T>
struct add_bias {
    gl<T, 1, -1, 1, -1> bias;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int, int col) const {
        typename RT::row_vec values;
        load(values, bias, {0, bias.depth() == 1 ? 0 : at.b, 0, col});
        add_col(sums, sums, values);
    }
};

/** Applies a function from `base_ops` to each element. */
template <ducks::base_ops::unary op>
struct activate {
    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &, int, int) const {
        unary_map<op>(sums, sums);
    }
};

/** Multiplies by a matrix like C, element by element. */
template <typename T>
struct multiply_gate {
    gl<T, 1, -1, -1, -1> gate;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int col) const {
        RT factors;
        load_strip(factors, gate, at, row, col);
        mul(sums, sums, factors);
    }
};

/** Adds `beta` times a matrix like C. */
template <typename T>
struct add_residual {
    gl<T, 1, -1, -1, -1> residual;
    float beta;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int col) const {
        RT added;
        load_strip(added, residual, at, row, col);
        map(sums, sums, added, [&](float sum, float x) { return __builtin_fmaf(beta, x, sum); });
    }
};

/** Extent of an operand of the epilogue: one value for every element of C, for every column, or for all. */
enum class spread { matrix, row, one };

/** sums = op(sums, values). */
template <ducks::base_ops::binary op, spread how, ducks::rt::all RT, ducks::gl::all GL, typename Share>
__device__ inline void combine(RT &sums, const GL &values, const Share &at, int row, int col) {
    if constexpr (how == spread::matrix) {
        RT own;
        load_strip(own, values, at, row, col);
        bin_map<op>(sums, sums, own);
    } else if constexpr (how == spread::row) {
        typename RT::row_vec own;
        load(own, values, {0, at.c, 0, col});
        col_map<op>(sums, sums, own);
    } else {
        const float own = base_types::convertor<float, typename GL::dtype>::convert(values[{0, 0, 0, 0}]);
        bin_map<op>(sums, sums, own);
    }
}
/** Times c_a, plus c_b. */
template <typename T, spread how>
struct multiply_by {
    gl<T, 1, -1, -1, -1> c_a;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int col) const {
        combine<base_ops::mul, how>(sums, c_a, at, row, col);
    }
};
template <typename T, spread how>
struct add_to {
    gl<T, 1, -1, -1, -1> c_b;

    template <ducks::rt::all RT, typename Share>
    __device__ inline void apply(RT &sums, const Share &at, int row, int col) const {
        combine<base_ops::sum, how>(sums, c_b, at, row, col);
    }
};

} // namespace kittens::families::gemm
