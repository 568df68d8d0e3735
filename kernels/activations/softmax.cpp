/**
 * @file
 * @brief Softmax along the rows of a matrix: exponentials that sum to one.
 *
 *   out[r][c] = exp(x[r][c] - max over c of x[r][c]) / sum over c of the same exponentials
 *
 * bf16 or float in and out, float in between. The kernel is bound by memory: a wave reads whole rows once, 16 bytes a
 * lane, keeps them in registers and writes them once. Short rows share a wave: 64 lanes hold 4 rows of 128 bf16
 * columns.
 */
#include "kittens.cuh"

using namespace kittens;

#ifndef SOFTMAX_COLS
#define SOFTMAX_COLS 1024
#endif
#ifndef SOFTMAX_DTYPE
#define SOFTMAX_DTYPE bf16
#endif

/** Length of a row; the tile is as wide, rounded up to what a wave reads at once. */
constexpr int COLS = SOFTMAX_COLS;
/** Element type in memory: bf16 or float. */
using dtype = SOFTMAX_DTYPE;

constexpr int NUM_WARPS = 4;
constexpr int NUM_THREADS = NUM_WARPS * WARP_THREADS;

using shape = rt_rows_s<dtype, COLS>;
constexpr int ROWS = shape::rows;
constexpr int WIDTH = ceil_div(COLS, shape::cols) * shape::cols;

struct softmax_globals {
    using matrix = gl<dtype, 1, 1, -1, COLS>;

    matrix x;
    matrix out;
    hipStream_t stream;

    dim3 grid() const { return dim3(static_cast<unsigned>(ceil_div(x.rows(), size_t{NUM_WARPS * ROWS}))); }
    dim3 block() const { return dim3(NUM_THREADS); }
    size_t dynamic_shared_memory() const { return 0; }
};

__global__ __launch_bounds__(NUM_THREADS) void softmax(const softmax_globals g) {
    rt_fl<ROWS, WIDTH, row_l, shape> x;
    decltype(x)::col_vec largest, total;

    const int tile = static_cast<int>(blockIdx.x) * NUM_WARPS + warpid();

    load_bounded(x, g.x, {0, 0, tile, 0});
    // What is past the end of a row takes no part: its exponential is zero.
    if constexpr (WIDTH != COLS) right_fill(x, x, COLS, base_types::constants<float>::neg_infty());

    row_max(largest, x);
    sub_row(x, x, largest);
    exp(x, x);
    row_sum(total, x);
    one(largest);
    div(total, largest, total);
    mul_row(x, x, total);

    store_bounded(g.out, x, {0, 0, tile, 0});
}
