/**
 * @file
 * @brief Matrix multiplication: what becomes of the sums before they are stored.
 *
 * An epilogue is a list of stages, applied in order to float tiles in registers: `epilogue<add_bias<bf16>,
 * activate<base_ops::gelu>>`. A stage's members are arguments of the kernel. Sums of int become float first.
 */
#pragma once

#include "families/gemm_problem.cuh"

namespace kittens::families::gemm {

/** Stages in the order of their use. `row` and `col` count in tiles like `sums`, rows from the share's first. */
template <typename... Stages>
struct epilogue : Stages... {
    template <ducks::rt::all RT>
    __device__ inline void apply([[maybe_unused]] RT &sums, [[maybe_unused]] const share &at, [[maybe_unused]] int row,
                                 [[maybe_unused]] int col) const {
        (Stages::apply(sums, at, row, col), ...);
    }

    /**
     * @brief Finishes sums and stores them, rounded to C's type; rows and columns outside of C are not written.
     *
     * A strip of base tiles at a time, so that what the stages load takes few registers.
     */
    template <ducks::rt::all RT, ducks::gl::all GL>
    __device__ inline void store(const GL &c, const RT &sums, const share &at, int row, int col) const {
        using strip = rt<float, RT::base_tile_rows, RT::cols, typename RT::layout, typename RT::shape>;
        const GL to = rows_of(c, at.c, at.first, at.rows);
#pragma unroll
        for (int i = 0; i < RT::height; i++) {
            rt<typename RT::T, strip::rows, strip::cols, typename RT::layout, typename RT::shape> summed;
#pragma unroll
            for (int j = 0; j < RT::width; j++) summed.tiles[0][j] = sums.tiles[i][j];
            strip part;
            copy(part, summed);
            apply(part, at, row * RT::height + i, col);
            rt<typename GL::dtype, strip::rows, strip::cols, typename RT::layout, typename RT::shape> rounded;
            copy(rounded, part);
            store_bounded(to, rounded, coord<strip>(row * RT::height + i, col));
        }
    }
};

/** C(i, j) = scale_a(i) scale_b(j) sum: scales of the rows of A and of B, (batch, rows). */
struct scale_rows {
    gl<float, 1, 1, -1, -1> scale_a, scale_b;

    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &at, int row, int col) const {
        typename RT::col_vec of_rows;
        typename RT::row_vec of_cols;
        const gl<float, 1, 1, -1, -1> run(&scale_a[{at.a, at.first}], nullptr, nullptr, size_t{1},
                                          static_cast<size_t>(at.rows));
        load(of_rows, run, {0, row});
        load(of_cols, scale_b, {at.b, col});
        mul_row(sums, sums, of_rows);
        mul_col(sums, sums, of_cols);
    }
};

/** Times a number. */
struct scale_all {
    float alpha;

    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &, int, int) const {
        mul(sums, sums, alpha);
    }
};

/** Plus a value for each column. */
template <typename T>
struct add_bias {
    gl<T, 1, 1, 1, -1> bias;

    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &, int, int col) const {
        typename RT::row_vec values;
        load(values, bias, {col});
        add_col(sums, sums, values);
    }
};

/** A function of each element, from `base_ops`. */
template <ducks::base_ops::unary op>
struct activate {
    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &, int, int) const {
        unary_map<op>(sums, sums);
    }
};

/** Times a matrix like C, element by element. */
template <typename T>
struct multiply_gate {
    gl<T, 1, -1, -1, -1> gate;

    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &at, int row, int col) const {
        RT factors;
        load_bounded(factors, rows_of(gate, at.c, at.first, at.rows), coord<RT>(row, col));
        mul(sums, sums, factors);
    }
};

/** Plus `beta` times a matrix like C. */
template <typename T>
struct add_residual {
    gl<T, 1, -1, -1, -1> residual;
    float beta;

    template <ducks::rt::all RT>
    __device__ inline void apply(RT &sums, const share &at, int row, int col) const {
        RT added;
        load_bounded(added, rows_of(residual, at.c, at.first, at.rows), coord<RT>(row, col));
        map(sums, sums, added, [&](float sum, float x) { return __builtin_fmaf(beta, x, sum); });
    }
};

} // namespace kittens::families::gemm
