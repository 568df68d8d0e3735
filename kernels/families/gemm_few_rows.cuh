/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ, summed in float, where A has few rows: what a decoder does with its weights.
 *
 * Such a product is as fast as B is read, each element of which is used by one wave only. So operands go from global
 * memory straight into registers, each chunk while the matrix cores work on the one before. A work-group of 4 waves
 * computes all rows of some columns of C; its waves take turns at the chunks of K, and add up in shared memory.
 *
 * Rows past M and N and columns past K read as zero and are not written. Rows of A and B are whole 16 bytes.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_operands.cuh"

namespace kittens::families::gemm {

/**
 * @tparam T,U element types of A and B, and of C.
 * @tparam ROWS rows of C, a multiple of 16; M is at most that.
 * @tparam COLS columns of C that a work-group computes, a multiple of 16.
 * @tparam Epilogue from gemm_epilogue.cuh.
 */
template <typename T, typename U, int ROWS, int COLS, typename Epilogue = epilogue<>>
struct few_rows {
    using arguments = globals<T, U, batches, Epilogue>;

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 1;
    /** Columns of a chunk: 256 bytes of each row. */
    static constexpr int CHUNK = 256 / static_cast<int>(sizeof(T));

    using shape = typename along_k<T>::shape;
    using shared = st_fl<ROWS, COLS, st_16x16_swizzled_s>;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared(&sums)[NUM_WARPS] = al.template allocate<shared, NUM_WARPS>();

        const int m = static_cast<int>(g.c.rows()), k = static_cast<int>(g.a.cols());
        __builtin_assume(k % (16 / static_cast<int>(sizeof(T))) == 0);
        const int batch = static_cast<int>(blockIdx.y), tile = static_cast<int>(blockIdx.x), wave = warpid();
        const share at = {batch, g.b.depth() == 1 ? 0 : batch, batch, 0, m, 0, tile * COLS, 0, k};

        rt<T, ROWS, CHUNK, row_l, shape> a[2];
        rt<T, COLS, CHUNK, row_l, shape> b[2];
        rt<typename along_k<T>::sum, ROWS, COLS, row_l, rt_16x16_s> c;
        zero(c);
        const int chunks = ceil_div(k, CHUNK);
        const auto fetch = [&](int half, int chunk) {
            load_bounded(b[half], g.b, {0, at.b, tile, chunk});
            load_bounded(a[half], g.a, {0, at.a, 0, chunk});
        };
        // Chunks past the last are zeros.
        fetch(0, wave);
        for (int chunk = wave; chunk < chunks; chunk += 2 * NUM_WARPS) {
            fetch(1, chunk + NUM_WARPS);
            mma_ABt(c, a[0], b[0], c);
            fetch(0, chunk + 2 * NUM_WARPS);
            mma_ABt(c, a[1], b[1], c);
        }

        rt_fl<ROWS, COLS, row_l, rt_16x16_s> part_of_k;
        copy(part_of_k, c);
        store(sums[wave], part_of_k);
        wait_and_barrier();
        for (int part = wave; part < ROWS / 16 * (COLS / 16); part += NUM_WARPS) {
            const int row = part / (COLS / 16), col = part % (COLS / 16);
            rt_fl<16, 16, row_l, rt_16x16_s> sum, other;
            load(sum, subtile_inplace<16, 16>(sums[0], {row, col}));
#pragma unroll
            for (int other_wave = 1; other_wave < NUM_WARPS; other_wave++) {
                load(other, subtile_inplace<16, 16>(sums[other_wave], {row, col}));
                add(sum, sum, other);
            }
            g.store(g.c, sum, at, row, tile * (COLS / 16) + col);
        }
    }
};

} // namespace kittens::families::gemm
