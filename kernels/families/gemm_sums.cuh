/**
 * @file
 * @brief Matrix multiplication: use of the products of a step in the 8-wave ping-pong.
 *
 * `added_sums` has the matrix instructions add them. With `block_sums`, blocks of columns have scales, and the products
 * of a step are scaled before they are added.
 */
#pragma once

#include "families/gemm_halves.cuh"

namespace kittens::families::gemm {

/** C = A B: products are added unscaled. */
struct added_sums {
    struct arguments {};
    template <typename T>
    using number = typename along_k<T>::sum;
    static constexpr bool scaled = false;

    template <typename T, ducks::rt::all Quarter>
    struct of_wave {
        template <typename G>
        __device__ inline of_wave(const G &, const share &, int, int, int) {}
        __device__ inline void start_first() {}
        template <int turn>
        __device__ inline void start(int) {}
        template <int turn>
        __device__ inline void take() {}
        /** Loads of turn `turn` and the four before that may be in flight after the halves that a wait covers. */
        template <int turn>
        static constexpr int loads = 0;
        template <ducks::rt::all A, ducks::rt::all B>
        __device__ inline void multiply(Quarter &sums, const A &a, const B &b) {
            mma_ABt(sums, a, b, sums);
        }
        __device__ inline void finish(Quarter &) {}
    };
};

/**
 * @brief A has a float for each 128 columns of a row, (M, K / 128), B one for each 128 x 128, (N / 128, K / 128).
 *
 * The matrix instructions of a step add to zeros. Their results are multiplied by the scales and added in the next
 * memory cluster, when they have long arrived, and while the other wave of the SIMD uses the matrix cores. K is a
 * multiple of a block, so that a step lies in one block.
 *
 * A's scales for the 64 rows of a quarter are one register, a row for each lane, loaded seven turns before their use,
 * as early as the operands and in the same order, so that a wave waits for them without waiting for other loads. From
 * there, each lane fetches those of its rows. B's scales are the same for all lanes, and are loaded by scalar
 * instructions.
 */
struct block_sums {
    static constexpr int BLOCK = 128;
    struct arguments {
        gl<float, 1, -1, -1, -1> scale_a, scale_b;
    };
    template <typename T>
    using number = float;
    static constexpr bool scaled = true;

    template <typename T, ducks::rt::all Quarter>
    struct of_wave {
        static constexpr int K_STEP = along_k<T>::K_STEP;
        static_assert(Quarter::rows == WARP_THREADS && BLOCK % K_STEP == 0);
        using constant_floats = const float __attribute__((address_space(4))) *;

        i32x4 resource;
        uint32_t offset, second;
        int first_lane;
        constant_floats scales_of_b;
        int lacking;
        /** By step of a pair and half of A. */
        float of_rows[2][2];
        float of_b[2];
        float factors[Quarter::height];
        rt<typename along_k<T>::sum, Quarter::rows, Quarter::cols, row_l, rt_16x16_s> products;

        /** @param row,col the wave's first row and column in C, counted as in the share; `lacking` columns are zeros
            before K. */
        template <typename G>
        __device__ inline of_wave(const G &g, const share &at, int row, int col, int lacking)
            : first_lane(laneid() % 16 * 4), lacking(lacking), of_rows{} {
            const auto pitch = static_cast<uint32_t>(g.scale_a.cols() * sizeof(float));
            resource = make_srsrc(&g.scale_a[{at.a, at.first, 0}], static_cast<uint32_t>(at.rows) * pitch);
            offset = static_cast<uint32_t>(row + laneid()) * pitch;
            second = Quarter::rows * pitch;
            // Columns past the last of C have no scales and need none.
            const int square = detail::min(col / BLOCK, static_cast<int>(g.scale_b.rows()) - 1);
            scales_of_b = (constant_floats)(&g.scale_b[{at.b, square, 0}]);
        }

        /** Block of step `step` of pair `pair`; the zeros before K count as the first block. */
        __device__ inline int block(int pair, int step) const {
            return detail::max((2 * pair + step) * K_STEP - lacking, 0) / BLOCK;
        }
        template <int step, int half>
        __device__ inline void load(int pair) {
            asm volatile("buffer_load_dword %0, %1, %2, %3 offen"
                         : "+v"(of_rows[step][half])
                         : "v"(offset + half * second), "s"(resource),
                           "s"(block(pair, step) * static_cast<int>(sizeof(float)))
                         : "memory");
        }
        __device__ inline void load_of_b(int pair) {
            of_b[0] = scales_of_b[block(pair, 0)];
            of_b[1] = scales_of_b[block(pair, 1)];
        }
        /** Loads all scales of the first pair of steps, before its operands. */
        __device__ inline void start_first() {
            load<0, 0>(0);
            load<0, 1>(0);
            load<1, 0>(0);
            load<1, 1>(0);
            load_of_b(0);
        }
        /** Starts for pair `pair`, the next one, in turn `turn`, 1 to 8, before it starts loading a half. */
        template <int turn>
        __device__ inline void start(int pair) {
            if constexpr (turn % 2 == 1) load<turn / 4, turn / 2 % 2>(pair);
            if constexpr (turn == 7) load_of_b(pair);
        }
        /** Loads of turns 1 to `turn`, at most the last five of them. */
        template <int turn>
        static constexpr int loads = (turn + 1) / 2 - (turn > 5 ? (turn - 4) / 2 : 0);

        /** The factors of turn `turn` and the next, from the data that has arrived. */
        template <int turn>
        __device__ inline void take() {
            if constexpr (turn % 2 == 0) {
                constexpr int step = turn / 4 % 2, half = turn / 2 % 2;
                asm volatile("" : "+v"(of_rows[step][half]));
                const int scaled = detail::bit_cast<int>(of_rows[step][half] * of_b[step]);
#pragma unroll
                for (int x = 0; x < Quarter::height; x++)
                    factors[x] = detail::bit_cast<float>(__builtin_amdgcn_ds_bpermute(first_lane + 64 * x, scaled));
            }
        }

        template <ducks::rt::all A, ducks::rt::all B>
        __device__ inline void multiply(Quarter &, const A &a, const B &b) {
            zero(products);
            mma_ABt(products, a, b, products);
        }
        /** Adds the results of `multiply` to the sums of the same turn. */
        __device__ inline void finish(Quarter &sums) {
            Quarter numbers;
            copy(numbers, products);
#pragma unroll
            for (int x = 0; x < Quarter::height; x++)
#pragma unroll
                for (int y = 0; y < Quarter::width; y++) {
                    auto total = detail::bit_cast<detail::f32x4>(sums.tiles[x][y]);
                    const auto made = detail::bit_cast<detail::f32x4>(numbers.tiles[x][y]);
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float sum = __builtin_fmaf(factors[x], made[e], total[e]);
                        // Added here, not where the sums are finally used, since the compiler would keep all products
                        // until then; and one by one, since packed instructions do not overlap the other wave's matrix
                        // instructions.
                        asm volatile("" : "+v"(sum));
                        total[e] = sum;
                    }
                    __builtin_memcpy(sums.tiles[x][y].data, &total, sizeof(total));
                }
        }
    };
};

} // namespace kittens::families::gemm
