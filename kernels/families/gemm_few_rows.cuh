/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ, summed in float, where A has few rows, as in decoding.
 *
 * Such a product takes as long as reading B, and only one wave uses each element of B. So operands are loaded from
 * global memory straight to registers, each chunk while the matrix cores work on the previous one. A work-group of 4
 * waves computes all rows of some columns of C; its waves take turns at the chunks of K, and add their sums in shared
 * memory.
 *
 * Rows past M and N and columns past K read as zero and are not written. Rows of A and B are multiples of 16 bytes.
 */
#pragma once

#include "families/gemm_scaled_products.cuh"

namespace kittens::families::gemm {

/** A chunk of elements that matrix instructions take without conversion: 256 bytes of each row. */
template <typename T, int ROWS, int COLS>
struct plain_products {
    struct operand {
        using element = T;
        using stored = T;
        static constexpr int numbers = 1;
        static constexpr int K_STEP = 256 / static_cast<int>(sizeof(T));
        using shape = typename along_k<T>::shape;
    };
    using of_a = operand;
    using of_b = operand;
    static constexpr int COLUMNS = operand::K_STEP;
    using sums = rt<typename along_k<T>::sum, ROWS, COLS, row_l, rt_16x16_s>;
    struct arguments {};
    struct scales {};

    template <typename G>
    static __device__ inline scales read(const G &, const share &, int, int, int) {
        return {};
    }
    template <typename A, typename B>
    static __device__ inline void multiply(sums &c, const A &a, const B &b, const scales &) {
        mma_ABt(c, a, b, c);
    }
};

/**
 * @tparam Products plain_products, or scaled_products by registers: ROWS x COLS of C, multiples of 16; M is at most
 *         ROWS.
 * @tparam U element type of C.
 * @tparam Epilogue from gemm_epilogue.cuh.
 */
template <typename Products, typename U, typename Epilogue = epilogue<>>
struct few_rows_of {
    using of_a = typename Products::of_a;
    using of_b = typename Products::of_b;
    using TA = typename of_a::element;
    using TB = typename of_b::element;
    struct arguments : globals<typename of_a::stored, U, batches, Epilogue, typename of_b::stored>,
                       Products::arguments {};

    static constexpr int NUM_WARPS = 4;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = 1;
    static constexpr int ROWS = Products::sums::rows;
    static constexpr int COLS = Products::sums::cols;
    using shared = st_fl<ROWS, COLS, st_16x16_swizzled_s>;

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared(&sums)[NUM_WARPS] = al.template allocate<shared, NUM_WARPS>();

        const int batch = static_cast<int>(blockIdx.y), tile = static_cast<int>(blockIdx.x), wave = warpid();
        const int m = static_cast<int>(g.c.rows()), of_b_at = g.b.depth() == 1 ? 0 : batch;
        const auto matrix_a = elements_of<TA>(g.a, batch, 0, m);
        const auto matrix_b = elements_of<TB>(g.b, of_b_at, 0, static_cast<int>(g.b.rows()));
        const int k = static_cast<int>(matrix_a.cols()) * of_a::numbers;
        __builtin_assume(k % (16 * of_a::numbers / static_cast<int>(sizeof(TA))) == 0);
        const share at = {batch, of_b_at, batch, 0, m, 0, tile * COLS, 0, k};

        rt<TA, ROWS, of_a::K_STEP, row_l, typename of_a::shape> a[2];
        rt<TB, COLS, of_b::K_STEP, row_l, typename of_b::shape> b[2];
        typename Products::scales scales[2];
        typename Products::sums c;
        zero(c);
        const int chunks = ceil_div(k, Products::COLUMNS);
        const auto fetch = [&](int half, int chunk) {
            load_bounded(b[half], matrix_b, {0, 0, tile, chunk});
            load_bounded(a[half], matrix_a, {0, 0, 0, chunk});
            scales[half] = Products::read(g, at, 0, at.col, chunk < chunks ? chunk : chunks - 1);
        };
        // Chunks past the last are zeros.
        fetch(0, wave);
        for (int chunk = wave; chunk < chunks; chunk += 2 * NUM_WARPS) {
            fetch(1, chunk + NUM_WARPS);
            Products::multiply(c, a[0], b[0], scales[0]);
            fetch(0, chunk + 2 * NUM_WARPS);
            Products::multiply(c, a[1], b[1], scales[1]);
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

template <typename T, typename U, int ROWS, int COLS, typename Epilogue = epilogue<>>
using few_rows = few_rows_of<plain_products<T, ROWS, COLS>, U, Epilogue>;
/** Elements with scales, in the form of `scaled_products`. */
template <typename TA, typename TB, typename ScaleA, typename ScaleB, typename U, int ROWS, int COLS,
          typename Epilogue = epilogue<>>
using few_rows_scaled = few_rows_of<scaled_products<TA, TB, ScaleA, ScaleB, by_registers<ROWS, COLS>>, U, Epilogue>;

} // namespace kittens::families::gemm
