/**
 * @file
 * @brief The second step of a matrix multiplication that is split along K: adds the parts' sums and applies the
 * epilogue.
 */
#pragma once

#include "families/gemm_epilogue.cuh"

namespace kittens::families::gemm {

/** Sums of float, (parts, M, N). */
struct sums_of_parts {
    gl<float, 1, -1, -1, -1> parts;
};

/**
 * @tparam U element type of C.
 * @tparam Epilogue from gemm_epilogue.cuh.
 */
template <typename U, typename Epilogue = epilogue<>>
struct sum_parts {
    struct arguments : sums_of_parts, Epilogue {
        gl<U, 1, -1, -1, -1> c;
    };

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 4;
    /** Rows and columns per wave: few, since C has few tiles if K is split. */
    static constexpr int ROWS = 16;
    static constexpr int COLS = 16;
    /** Parts that are loaded at the same time. */
    static constexpr int AHEAD = 8;

    static __device__ inline void run(const arguments &g) {
        const int m = static_cast<int>(g.c.rows()), n = static_cast<int>(g.c.cols());
        const int wide = ceil_div(n, COLS), tile = static_cast<int>(blockIdx.x) * NUM_WARPS + warpid();
        const int row = tile / wide, col = tile % wide;
        if (row * ROWS >= m) return;
        const share at = {0, 0, 0, 0, m, row * ROWS, col * COLS, 0, 0};
        rt_fl<ROWS, COLS, row_l, rt_16x16_s> sum, others[AHEAD];
        zero(sum);
        const int parts = static_cast<int>(g.parts.depth());
        int part = 0;
        for (; part + AHEAD <= parts; part += AHEAD) {
#pragma unroll
            for (int i = 0; i < AHEAD; i++) load_bounded(others[i], g.parts, {0, part + i, row, col});
#pragma unroll
            for (int i = 0; i < AHEAD; i++) add(sum, sum, others[i]);
        }
        for (; part < parts; part++) {
            load_bounded(others[0], g.parts, {0, part, row, col});
            add(sum, sum, others[0]);
        }
        g.store(g.c, sum, at, row, col);
    }
};

} // namespace kittens::families::gemm
