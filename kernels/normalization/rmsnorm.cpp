/**
 * @file
 * @brief RMSNorm: every row divided by its root mean square, times a weight for each column.
 *
 *   out[r][c] = x[r][c] / sqrt(mean over c of x[r][c]^2 + eps) * weight[c]
 *
 * bf16 in and out, float in between. The kernel is bound by memory: a wave reads whole rows once, 16 bytes a lane,
 * keeps them in registers and writes them once. Short rows share a wave: 64 lanes hold 4 rows of 128 columns.
 */
#include "kittens.cuh"

using namespace kittens;

#ifndef RMSNORM_COLS
#define RMSNORM_COLS 4096
#endif

/** Length of a row; the tile is as wide, rounded up to what a wave reads at once. */
constexpr int COLS = RMSNORM_COLS;

constexpr int NUM_WARPS = 4;
constexpr int NUM_THREADS = NUM_WARPS * WARP_THREADS;

using shape = rt_rows_s<bf16, COLS>;
constexpr int ROWS = shape::rows;
constexpr int WIDTH = ceil_div(COLS, shape::cols) * shape::cols;

struct rmsnorm_globals {
    using matrix = gl<bf16, 1, 1, -1, COLS>;
    using vector = gl<bf16, 1, 1, 1, COLS>;

    matrix x;
    vector weight;
    matrix out;
    float eps;
    hipStream_t stream;

    dim3 grid() const { return dim3(static_cast<unsigned>(ceil_div(x.rows(), size_t{NUM_WARPS * ROWS}))); }
    dim3 block() const { return dim3(NUM_THREADS); }
    size_t dynamic_shared_memory() const { return 0; }
};

__global__ __launch_bounds__(NUM_THREADS) void rmsnorm(const rmsnorm_globals g) {
    rt_bf<ROWS, WIDTH, row_l, shape> stored;
    rt_fl<ROWS, WIDTH, row_l, shape> x, squares;
    decltype(x)::col_vec scale;
    decltype(stored)::row_vec weight;

    const int tile = static_cast<int>(blockIdx.x) * NUM_WARPS + warpid();

    // Columns past the end of a row read as zero and add nothing to the sum of squares.
    load_bounded(stored, g.x, {0, 0, tile, 0});
    load(weight, g.weight, {0, 0, 0, 0});
    copy(x, stored);

    mul(squares, x, x);
    row_sum(scale, squares);
    mul(scale, scale, 1.0f / COLS);
    add(scale, scale, g.eps);
    rsqrt(scale, scale);

    mul_row(x, x, scale);
    decltype(x)::row_vec weight_float;
    copy(weight_float, weight);
    mul_col(x, x, weight_float);
    store_bounded(g.out, x, {0, 0, tile, 0});
}
