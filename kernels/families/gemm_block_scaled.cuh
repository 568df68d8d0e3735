/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ of numbers that have a scale for each block of columns, summed in float.
 *
 * A is M x K and B is N x K, both row-major; so are their scales, a column for each block. A work-group of 4 waves
 * computes a 128 x 128 tile of C, a wave a quarter of it, by a plain loop over two buffers. A step is 128 columns. Its
 * scales go straight to registers, a step ahead, so that no use of them waits for the operands' loads.
 *
 * Rows past M and N read as zero, and what is outside of C is not written. Rows of A and B are whole 16 bytes.
 */
#pragma once

#include "families/gemm_epilogue.cuh"
#include "families/gemm_operands.cuh"

namespace kittens::families::gemm {

/** Rows and columns of C that a work-group and a wave compute. */
inline constexpr int BLOCK_SCALED_TILE = 128;
inline constexpr int BLOCK_SCALED_PART = BLOCK_SCALED_TILE / 2;

/** fp8 with a float for each 128 columns of a row of A, and for each 128 columns of 128 rows of B. */
struct blocks_of_128 {
    using element = fp8e4m3;
    using stored = fp8e4m3;
    using scale = float;
    static constexpr int K_STEP = 128;
    using shared_shape = st_16x128_s;
    using shape = rt_16x128_s;
    static constexpr int waves_per_simd = 2;

    using sums = rt_fl<BLOCK_SCALED_PART, BLOCK_SCALED_PART, row_l, rt_16x16_s>;
    struct scales {
        sums::col_vec of_rows;
        float of_cols;
    };

    template <ducks::gl::all GL>
    static __device__ inline scales read(const GL &scale_a, const GL &scale_b, int row, int col, int step) {
        scales made;
        load_along(made.of_rows, scale_a, {row, step});
        made.of_cols = scale_b[{col / 128, step}];
        return made;
    }
    template <typename A, typename B>
    static __device__ inline void multiply(sums &c, const A &a, const B &b, const scales &by) {
        sums products;
        zero(products);
        mma_ABt(products, a, b, products);
        sums::col_vec factors;
        mul(factors, by.of_rows, by.of_cols);
        row_map<base_ops::fma_AxCtB>(c, products, c, factors);
    }
};

/**
 * @brief The OCP microscaling formats: blocks of 32 columns, with a power of two (fp8e8m0, 1 to 254) each.
 *
 * gfx950 multiplies them on its matrix cores. Elsewhere numbers times scales become bf16, which is exact.
 *
 * @tparam T fp8e4m3, fp8e5m2, fours of fp6 or pairs of fp4.
 */
template <typename T>
struct microscaled {
    using element = T;
    static constexpr int numbers = detail::numbers_in<T>;
    using stored = detail::select<numbers == 1, T, unsigned char>;
    using scale = fp8e8m0;
    static constexpr int K_STEP = 128 / numbers;
    using shared_shape =
        detail::select<numbers == 1, st_16x128_s, detail::select<numbers == 2, st_16x64_s, st_16x32_s>>;
#if defined(KITTENS_CDNA4)
    using shape = detail::select<numbers == 1, rt_16x128_s, detail::select<numbers == 2, rt_16x64_s, rt_16x32_s>>;
    static constexpr int waves_per_simd = 2;
#else
    /** A lane holds a whole block. */
    using shape = rt_shape<16, K_STEP, 32 / numbers>;
    /** Of fp8 a work-group fills the LDS, of the others it wants more than half of the registers. */
    static constexpr int waves_per_simd = 1;
#endif

    using sums = rt_fl<BLOCK_SCALED_PART, BLOCK_SCALED_PART, row_l, rt_16x16_s>;
    static_assert(sums::height == 4, "gemm: a scale register is for four base tiles");
    struct scales {
        fp8e8m0_4 of_rows, of_cols;
    };

    template <ducks::gl::all GL>
    static __device__ inline scales read(const GL &scale_a, const GL &scale_b, int row, int col, int step) {
        return {load_scales(scale_a, {row, step * 4}), load_scales(scale_b, {col, step * 4})};
    }
#if defined(KITTENS_CDNA4)
    template <typename A, typename B>
    static __device__ inline void multiply(sums &c, const A &a, const B &b, const scales &by) {
        mma_ABt_scaled(c, a, b, c, &by.of_rows, &by.of_cols);
    }
#else
    using wide_shape = rt_shape<16, 128, 32>;
    using wide = rt_bf<16, 128, row_l, wide_shape>;

    /** 16 rows with byte `index` of a scale register. */
    template <typename A>
    static __device__ inline wide scaled(const A &a, int index, fp8e8m0_4 by) {
        rt<T, 16, K_STEP, row_l, shape> rows;
        rows.tiles[0][0] = a.tiles[index][0];
        rt_fl<16, 128, row_l, wide_shape> numbers_of_rows;
        copy(numbers_of_rows, rows);
        mul(numbers_of_rows, numbers_of_rows, __builtin_bit_cast(float, (by >> (8 * index) & 255u) << 23));
        wide made;
        copy(made, numbers_of_rows);
        return made;
    }
    template <typename A, typename B>
    static __device__ inline void multiply(sums &c, const A &a, const B &b, const scales &by) {
        wide right[sums::width];
#pragma unroll
        for (int j = 0; j < sums::width; j++) right[j] = scaled(b, j, by.of_cols);
#pragma unroll
        for (int i = 0; i < sums::height; i++) {
            const wide left = scaled(a, i, by.of_rows);
#pragma unroll
            for (int j = 0; j < sums::width; j++)
                mma_ABt_base(c.tiles[i][j], left.tiles[0][0], right[j].tiles[0][0], c.tiles[i][j]);
        }
    }
#endif
};

/**
 * @tparam Format blocks_of_128 or microscaled.
 * @tparam U element type of C.
 * @tparam Epilogue from gemm_epilogue.cuh.
 */
template <typename Format, typename U, typename Epilogue = epilogue<>>
struct block_scaled {
    struct arguments : globals<typename Format::stored, U, batches, Epilogue> {
        gl<typename Format::scale, 1, -1, -1, -1> scale_a, scale_b;
    };

    static constexpr int TILE = BLOCK_SCALED_TILE;
    static constexpr int PART = BLOCK_SCALED_PART;
    static constexpr int NUM_WARPS = 4;
    static constexpr int WARPS_N = 2;
    static constexpr int threads = NUM_WARPS * WARP_THREADS;
    static constexpr int waves_per_simd = Format::waves_per_simd;
    static constexpr int K_STEP = Format::K_STEP;

    using T = typename Format::element;
    using operand = operand_along_k<Format, TILE, group<NUM_WARPS>>;
    using shared = typename operand::shared;
    using matrix = typename operand::matrix;

    /** A matrix of a tensor, of which memory holds bytes or elements. */
    template <ducks::gl::all GL>
    static __device__ inline matrix elements_of(const GL &whole, int index) {
        constexpr size_t size = sizeof(T) / sizeof(typename GL::dtype);
        return matrix(reinterpret_cast<T *>(whole.raw_ptr + whole.offset({0, index, 0, 0})), nullptr, size_t{1},
                      whole.rows(), whole.cols() / size);
    }

    static __device__ inline void run(const arguments &g) {
        extern __shared__ alignment_dummy __shm[];
        shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
        shared(&As)[2] = al.template allocate<shared, 2>();
        shared(&Bs)[2] = al.template allocate<shared, 2>();

        const auto whole_a = elements_of(g.a, 0);
        const share at = g.template find<TILE, 2>(g, static_cast<int>(whole_a.cols()));
        const auto matrix_a = elements_of(g.a, at.a), matrix_b = elements_of(g.b, at.b);
        const auto scale_a = matrix_of(g.scale_a, at.a), scale_b = matrix_of(g.scale_b, at.b);
        const operand from_a(matrix_a, at.row, As), from_b(matrix_b, at.col, Bs);
        const auto start_loads = [&](int step, int half) {
            from_a.start(As[half], step, half);
            from_b.start(Bs[half], step, half);
        };

        typename operand::template registers<PART> a, b;
        typename Format::sums c;
        zero(c);

        const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;
        const int steps = ceil_div(at.end, K_STEP);
        const auto scales_of = [&](int step) {
            return Format::read(scale_a, scale_b, at.row + warp_row * PART, at.col + warp_col * PART,
                                step < steps ? step : steps - 1);
        };
        auto scales = scales_of(0);
        start_loads(0, 0);
        for (int step = 0, half = 0; step < steps; step++, half ^= 1) {
            // What this step works on is there, and the other half, which the step before worked on, is free.
            wait_and_barrier();
            schedules::arrive(scales);
            operand::template read<PART>(a, As[half], warp_row);
            operand::template read<PART>(b, Bs[half], warp_col);
            const auto next = scales_of(step + 1);
            if (step + 1 < steps) start_loads(step + 1, half ^ 1);
            // Left alone the compiler reads each operand just before its use, and every use waits for shared memory.
            __builtin_amdgcn_sched_barrier(0);
            Format::multiply(c, a, b, scales);
            scales = next;
        }
        g.store(g.c, c, at, at.row / PART + warp_row, at.col / PART + warp_col);
    }
};

} // namespace kittens::families::gemm
