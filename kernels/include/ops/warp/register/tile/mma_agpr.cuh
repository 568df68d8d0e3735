/**
 * @file
 * @brief Matrix multiplication into accumulators that stay in accumulation registers (AGPRs).
 *
 * A wave that is alone on its SIMD has 512 registers per lane: 256 VGPRs and 256 AGPRs, both of which can be operands
 * of matrix instructions. By default, the compiler spreads accumulators over both and copies them back and forth in the
 * loop, with hundreds of instructions. These functions name the register file by inline assembly.
 *
 * The compiler does not know that such a statement is a matrix instruction, and adds no wait states for it. So
 * accumulators must be created with `zero_agpr` and used only after `settle_agpr`, and only memory loads may write an
 * operand right before.
 *
 * CDNA5 and RDNA4 have no AGPRs: there the functions are ordinary multiplications, and the compiler places the
 * accumulators.
 */
#pragma once

#include "mma.cuh"

namespace kittens {

namespace detail {

#if defined(KITTENS_WAVE32)
/** The instruction of `mfma`. */
template <typename T, int side, int bytes>
struct mfma_agpr {
    using instruction = mfma<T, side, bytes>;
    using operand = typename instruction::operand;
    using accumulator = typename instruction::accumulator;
    static __device__ inline void run(accumulator &c, const operand &a, const operand &b) {
        c = instruction::run(a, b, c);
    }
};

template <ducks::rt::all D>
__device__ inline void all_in_agprs([[maybe_unused]] D &d) {}
#else
/** The instruction of `mfma` with its accumulator in AGPRs. */
template <typename T, int side, int bytes>
struct mfma_agpr;

#define KITTENS_MFMA_AGPR(type, side, bytes, name)                                                                     \
    template <>                                                                                                        \
    struct mfma_agpr<type, side, bytes> {                                                                              \
        using operand = typename mfma<type, side, bytes>::operand;                                                     \
        using accumulator = typename mfma<type, side, bytes>::accumulator;                                             \
        static __device__ inline void run(accumulator &c, const operand &a, const operand &b) {                        \
            asm volatile("v_mfma_" name " %0, %1, %2, %0" : "+a"(c) : "v"(a), "v"(b));                                 \
        }                                                                                                              \
    };
KITTENS_MFMA_AGPR(bf16, 16, 8, "f32_16x16x16_bf16")
KITTENS_MFMA_AGPR(bf16, 32, 8, "f32_32x32x8_bf16")
KITTENS_MFMA_AGPR(half, 16, 8, "f32_16x16x16_f16")
KITTENS_MFMA_AGPR(half, 32, 8, "f32_32x32x8_f16")
KITTENS_MFMA_AGPR(fp8e4m3, 16, 8, "f32_16x16x32_fp8_fp8")
KITTENS_MFMA_AGPR(fp8e4m3, 32, 8, "f32_32x32x16_fp8_fp8")
KITTENS_MFMA_AGPR(int8, 16, 8, "i32_16x16x32_i8")
KITTENS_MFMA_AGPR(int8, 32, 8, "i32_32x32x16_i8")
#if defined(KITTENS_CDNA4)
KITTENS_MFMA_AGPR(bf16, 16, 16, "f32_16x16x32_bf16")
KITTENS_MFMA_AGPR(bf16, 32, 16, "f32_32x32x16_bf16")
KITTENS_MFMA_AGPR(half, 16, 16, "f32_16x16x32_f16")
KITTENS_MFMA_AGPR(half, 32, 16, "f32_32x32x16_f16")
KITTENS_MFMA_AGPR(int8, 16, 16, "i32_16x16x64_i8")
KITTENS_MFMA_AGPR(int8, 32, 16, "i32_32x32x32_i8")
KITTENS_MFMA_AGPR(fp8e4m3, 16, 32, "f32_16x16x128_f8f6f4")
KITTENS_MFMA_AGPR(fp8e4m3, 32, 32, "f32_32x32x64_f8f6f4")
#endif
#undef KITTENS_MFMA_AGPR

/** The bits of a base tile of floats or ints, which one instruction produces as a whole. */
template <typename Base>
using base_accumulator = float __attribute__((ext_vector_type(Base::elements_per_thread)));

/** Puts a base tile in AGPRs at this point of the program. */
template <typename Base>
__device__ inline void in_agprs(Base &tile) {
    base_accumulator<Base> sum;
    __builtin_memcpy(&sum, tile.data, sizeof(sum));
    asm volatile("" : "+a"(sum));
    __builtin_memcpy(tile.data, &sum, sizeof(sum));
}

template <ducks::rt::all D>
__device__ inline void all_in_agprs(D &d) {
#pragma unroll
    for (int i = 0; i < D::height; i++)
#pragma unroll
        for (int j = 0; j < D::width; j++) in_agprs(d.tiles[i][j]);
}
#endif

} // namespace detail

/** d = 0, before any `mma_ABt_agpr`. */
template <ducks::rt::all D>
__device__ inline void zero_agpr(D &d) {
    zero(d);
    detail::all_in_agprs(d);
#if !defined(KITTENS_WAVE32)
    // A matrix instruction may read what a vector instruction wrote two wait states before.
    asm volatile("s_nop 1");
#endif
}

/** Makes d's values ready for use by anything else, after the last `mma_ABt_agpr`. */
template <ducks::rt::all D>
__device__ inline void settle_agpr(D &d) {
#if !defined(KITTENS_WAVE32)
    // 16 passes and 4 wait states more: the time of the longest of these instructions until instructions of other kinds
    // may read its result.
    asm volatile("s_nop 15\n\ts_nop 3");
#endif
    detail::all_in_agprs(d);
}

namespace detail {
/** Bytes of an operand that one instruction of `mma_ABt_agpr` takes. */
template <ducks::rt::all A>
inline constexpr int mfma_agpr_bytes =
    mfma_bytes<typename A::T, A::base_tile_rows,
               A::base_tile_elements_per_thread *static_cast<int>(sizeof(typename A::T))>();
} // namespace detail

/** Matrix instructions of `mma_ABt_agpr` for one pass along K, for operands of type A. */
template <ducks::rt::all A>
inline constexpr int mma_agpr_depth =
    A::width * A::base_tile_elements_per_thread * static_cast<int>(sizeof(typename A::T)) / detail::mfma_agpr_bytes<A>;

/**
 * @brief One matrix instruction of d += a bᵀ: the s-th along K for base tile {i, j} of d.
 *
 * d is M x N, a is M x K, b is N x K, a and b in the row layout. A kernel that interleaves instructions calls it for
 * all i, j and s < `mma_agpr_depth<A>` in any order; an instruction that adds to the previous one's result waits for
 * it.
 */
template <int i, int j, int s, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B>
__device__ inline void mma_ABt_agpr(D &d, const A &a, const B &b) {
    using T = typename A::T;
    constexpr int side = A::base_tile_rows;
    static_assert(detail::is_same<typename A::base_tile, typename B::base_tile>,
                  "mma_ABt_agpr: a and b have the same element type, layout and base shape");
    static_assert(A::is_row, "mma_ABt_agpr: a and b are in the row layout");
    static_assert(A::rows == D::rows && B::rows == D::cols && A::cols == B::cols,
                  "mma_ABt_agpr: d is M x N, a is M x K and b is N x K");
    using number = detail::select<detail::is_same<T, int8>, int, float>;
    static_assert(detail::is_same<typename D::T, number> && D::base_tile_rows == side && D::base_tile_cols == side,
                  "mma_ABt_agpr: the accumulator is of float, of int8 of int, its base shape rt_16x16_s or rt_32x32_s "
                  "as wide as the "
                  "operands' base shape has rows");
    static_assert(i >= 0 && i < D::height && j >= 0 && j < D::width && s >= 0 && s < mma_agpr_depth<A>,
                  "mma_ABt_agpr: no such base tile, or past the end of K");
    constexpr int bytes = detail::mfma_agpr_bytes<A>, per_base = mma_agpr_depth<A> / A::width;
    using instruction = detail::mfma_agpr<T, side, bytes>;
    auto &into = d.tiles[i][j];
    typename instruction::accumulator sum;
    typename instruction::operand left, right;
    __builtin_memcpy(&sum, into.data, sizeof(sum));
    __builtin_memcpy(&left, reinterpret_cast<const char *>(a.tiles[i][s / per_base].data) + s % per_base * bytes,
                     bytes);
    __builtin_memcpy(&right, reinterpret_cast<const char *>(b.tiles[j][s / per_base].data) + s % per_base * bytes,
                     bytes);
    if constexpr (D::is_row)
        instruction::run(sum, right, left);
    else
        instruction::run(sum, left, right);
    __builtin_memcpy(into.data, &sum, sizeof(sum));
}

} // namespace kittens
