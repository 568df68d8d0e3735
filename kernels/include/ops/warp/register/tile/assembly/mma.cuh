/**
 * @file
 * @brief Matrix multiplication of explicit-register tiles: operands and accumulators in VGPRs or AGPRs, read in place.
 *
 * The functions, layouts and base shapes are those of mma.cuh. In addition, each function has overloads without c, for
 * d = a b, which makes zeroing d unnecessary, and with <N, M, K> for one base tile of d and one along K.
 *
 * The overloads on whole tiles insert the wait states that matrix instructions need: two before, for operands that
 * vector instructions have just written, and 12 (base shape rt_16x16_s) or 20 after, for instructions that read or
 * overwrite the result other than as an accumulator; the matrix core is busy for that long. The overloads with <N, M,
 * K> leave both to the kernel. In both cases, the kernel waits for loads of operands.
 */
#pragma once

#include "../mma.cuh"
#include "maps.cuh"

namespace kittens {

namespace detail {

/** The instruction of `mfma` on registers D, A, B and C, by number; C of -1 is a matrix of zeros. */
template <typename T, int side, int bytes>
struct mfma_pinned;

#define KITTENS_MFMA_ON(d, a, b, name, suffix)                                                                         \
    if constexpr (C < 0)                                                                                               \
        asm volatile("v_mfma_f32_" name " " d "[%0:%1], " a "[%2:%3], " b "[%4:%5], 0" suffix::"n"(D & 255),           \
                     "n"((D & 255) + last), "n"(A & 255), "n"((A & 255) + last_of_operand), "n"(B & 255),              \
                     "n"((B & 255) + last_of_operand));                                                                \
    else                                                                                                               \
        asm volatile("v_mfma_f32_" name " " d "[%0:%1], " a "[%2:%3], " b "[%4:%5], " d                                \
                     "[%6:%7]" suffix::"n"(D & 255),                                                                   \
                     "n"((D & 255) + last), "n"(A & 255), "n"((A & 255) + last_of_operand), "n"(B & 255),              \
                     "n"((B & 255) + last_of_operand), "n"(C & 255), "n"((C & 255) + last))
#define KITTENS_MFMA_PINNED(type, side, bytes, name, suffix)                                                           \
    template <>                                                                                                        \
    struct mfma_pinned<type, side, bytes> {                                                                            \
        template <int D, int A, int B, int C>                                                                          \
        static __device__ inline void run() {                                                                          \
            static_assert(C < 0 || (D < FIRST_AGPR) == (C < FIRST_AGPR),                                               \
                          "mma: the accumulators c and d are both in VGPRs or both in AGPRs");                         \
            constexpr int last = (side) == 16 ? 3 : 15, last_of_operand = (bytes) / 4 - 1;                             \
            constexpr bool v = D < FIRST_AGPR, a = A < FIRST_AGPR, b = B < FIRST_AGPR;                                 \
            if constexpr (v && a && b) {                                                                               \
                KITTENS_MFMA_ON("v", "v", "v", name, suffix);                                                          \
            } else if constexpr (v && a) {                                                                             \
                KITTENS_MFMA_ON("v", "v", "a", name, suffix);                                                          \
            } else if constexpr (v && b) {                                                                             \
                KITTENS_MFMA_ON("v", "a", "v", name, suffix);                                                          \
            } else if constexpr (v) {                                                                                  \
                KITTENS_MFMA_ON("v", "a", "a", name, suffix);                                                          \
            } else if constexpr (a && b) {                                                                             \
                KITTENS_MFMA_ON("a", "v", "v", name, suffix);                                                          \
            } else if constexpr (a) {                                                                                  \
                KITTENS_MFMA_ON("a", "v", "a", name, suffix);                                                          \
            } else if constexpr (b) {                                                                                  \
                KITTENS_MFMA_ON("a", "a", "v", name, suffix);                                                          \
            } else {                                                                                                   \
                KITTENS_MFMA_ON("a", "a", "a", name, suffix);                                                          \
            }                                                                                                          \
        }                                                                                                              \
    };
KITTENS_MFMA_PINNED(float, 16, 4, "16x16x4_f32", "")
KITTENS_MFMA_PINNED(float, 32, 4, "32x32x2_f32", "")
KITTENS_MFMA_PINNED(bf16, 16, 8, "16x16x16_bf16", "")
KITTENS_MFMA_PINNED(bf16, 32, 8, "32x32x8_bf16", "")
KITTENS_MFMA_PINNED(half, 16, 8, "16x16x16_f16", "")
KITTENS_MFMA_PINNED(half, 32, 8, "32x32x8_f16", "")
KITTENS_MFMA_PINNED(fp8e4m3, 16, 8, "16x16x32_fp8_fp8", "")
KITTENS_MFMA_PINNED(fp8e4m3, 32, 8, "32x32x16_fp8_fp8", "")
KITTENS_MFMA_PINNED(fp8e5m2, 16, 8, "16x16x32_bf8_bf8", "")
KITTENS_MFMA_PINNED(fp8e5m2, 32, 8, "32x32x16_bf8_bf8", "")
#if defined(KITTENS_CDNA4)
KITTENS_MFMA_PINNED(bf16, 16, 16, "16x16x32_bf16", "")
KITTENS_MFMA_PINNED(bf16, 32, 16, "32x32x16_bf16", "")
KITTENS_MFMA_PINNED(half, 16, 16, "16x16x32_f16", "")
KITTENS_MFMA_PINNED(half, 32, 16, "32x32x16_f16", "")
KITTENS_MFMA_PINNED(fp8e4m3, 16, 32, "16x16x128_f8f6f4", "")
KITTENS_MFMA_PINNED(fp8e4m3, 32, 32, "32x32x64_f8f6f4", "")
KITTENS_MFMA_PINNED(fp8e5m2, 16, 32, "16x16x128_f8f6f4", " cbsz:1 blgp:1")
KITTENS_MFMA_PINNED(fp8e5m2, 32, 32, "32x32x64_f8f6f4", " cbsz:1 blgp:1")
KITTENS_MFMA_PINNED(fp4e2m1_2, 16, 16, "16x16x128_f8f6f4", " cbsz:4 blgp:4")
KITTENS_MFMA_PINNED(fp4e2m1_2, 32, 16, "32x32x64_f8f6f4", " cbsz:4 blgp:4")
#endif
#undef KITTENS_MFMA_PINNED
#undef KITTENS_MFMA_ON

/** The checks of a function, and its steps; with `first`, step 0 adds to c, or to nothing if C is void. */
template <bool a_transposed, bool b_transposed, ducks::art::all D, ducks::art::all A, ducks::art::all B, typename C>
struct pinned_product {
    using T = typename A::T;
    static constexpr int m = a_transposed ? A::cols : A::rows, k = a_transposed ? A::rows : A::cols;
    static constexpr int n = b_transposed ? B::rows : B::cols, k_of_b = b_transposed ? B::cols : B::rows;
    using left_shape = typename A::like::minor_shape;
    static constexpr int side = left_shape::rows;
    static constexpr int depth = a_transposed ? A::height : A::width;
    static constexpr int have = A::base_tile_elements_per_thread * static_cast<int>(sizeof(T));
    static constexpr int bytes = mfma_bytes<T, side, have>();
    static constexpr bool has_c = !is_same<C, void>;

    static constexpr bool accumulates_floats = is_same<typename D::T, float>;
    static_assert(accumulates_floats, "mma: the accumulators are of float");
    static constexpr bool same_type = is_same<T, typename B::T>;
    static_assert(same_type, "mma: a and b have the same element type");
    static constexpr bool same_depth = k == k_of_b;
    static_assert(same_depth, "mma: a and b have the same size along K");
    static constexpr bool right_size = D::rows == m && D::cols == n;
    static_assert(right_size, "mma: the accumulator is M x N, M and N being those of a and b");
    static constexpr bool a_layout = A::is_row != a_transposed;
    static_assert(a_layout,
                  "mma: a is in the row layout in mma_AB and mma_ABt, in the column layout in mma_AtB and mma_AtBt");
    static constexpr bool b_layout = B::is_row == b_transposed;
    static_assert(b_layout,
                  "mma: b is in the row layout in mma_ABt and mma_AtBt, in the column layout in mma_AB and mma_AtB");
    static constexpr bool same_order = is_same<left_shape, typename B::like::minor_shape>;
    static_assert(same_order,
                  "mma: the base shapes of a and b put K in the same order: M (N) by K, and the same stride");
    static constexpr bool right_accumulator =
        D::base_tile_rows == side && D::base_tile_cols == side && D::base_tile_stride == 4;
    static_assert(right_accumulator,
                  "mma: the accumulator's base shape is rt_16x16_s or rt_32x32_s, as wide as the operands' base shapes "
                  "are along M and N");
    static constexpr bool has_instruction = bytes != 0;
    static_assert(has_instruction,
                  "mma: the matrix cores of this target have no instruction for these operands; they take "
                  "float, bf16, half, fp8e4m3 and fp8e5m2, 8 bytes or more a lane, on gfx950 fp4e2m1_2, 16 bytes");

    template <typename Operand>
    static constexpr bool apart_from = ducks::art::apart<
        typename ducks::art::concat<typename D::register_ranges, typename Operand::register_ranges>::type>;

    /** Adds the product of a and b at base tile s along K to base tile {i, j} of d, or with `from_c` to that of c. */
    template <int i, int j, int s, bool from_c>
    static __device__ inline void step() {
        constexpr int d = D::template first_register<i, j>;
        constexpr int a = A::template first_register < a_transposed ? s : i, a_transposed ? i : s > ;
        constexpr int b = B::template first_register < b_transposed ? j : s, b_transposed ? s : j > ;
        constexpr int c = [] {
            if constexpr (!from_c)
                return D::template first_register<i, j>;
            else if constexpr (has_c)
                return C::template first_register<i, j>;
            else
                return -1;
        }();
        for_constants<have / bytes>([]<int p>() {
            constexpr int first_a = a + p * bytes / 4, first_b = b + p * bytes / 4, sum = p == 0 ? c : d;
            // The accumulator's row layout is its column layout with the operands exchanged.
            if constexpr (D::is_row)
                mfma_pinned<T, side, bytes>::template run<d, first_b, first_a, sum>();
            else
                mfma_pinned<T, side, bytes>::template run<d, first_a, first_b, sum>();
        });
    }

    static __device__ inline void all() {
        // If the whole product were issued at once, a sum written over an operand would be read as that operand.
        constexpr bool apart_from_a = apart_from<A>, apart_from_b = apart_from<B>;
        static_assert(apart_from_a && apart_from_b, "mma: the accumulators' registers are apart from the operands'");
        wait_states<2>();
        for_constants<depth>([]<int s>() { for_base_tiles<D>([]<int i, int j>() { step<i, j, s, s == 0>(); }); });
        wait_states<side == 16 ? 12 : 20>();
    }
};

template <typename D, typename C>
__device__ inline constexpr void check_accumulators() {
    constexpr bool one_accumulator = same_distribution<D, C> && is_same<typename D::T, typename C::T>;
    static_assert(one_accumulator, "mma: the accumulators c and d have the same size, type, layout and base shape");
}

} // namespace detail

#define KITTENS_ART_MMA(name, a_transposed, b_transposed)                                                              \
    template <ducks::art::all D, ducks::art::all A, ducks::art::all B, ducks::art::all C>                              \
    __device__ inline void name(D &, const A &, const B &, const C &) {                                                \
        detail::check_accumulators<D, C>();                                                                            \
        detail::pinned_product<a_transposed, b_transposed, D, A, B, C>::all();                                         \
    }                                                                                                                  \
    template <ducks::art::all D, ducks::art::all A, ducks::art::all B>                                                 \
    __device__ inline void name(D &, const A &, const B &) {                                                           \
        detail::pinned_product<a_transposed, b_transposed, D, A, B, void>::all();                                      \
    }                                                                                                                  \
    template <int N, int M, int K, ducks::art::all D, ducks::art::all A, ducks::art::all B, ducks::art::all C>         \
    __device__ inline void name(D &, const A &, const B &, const C &) {                                                \
        detail::check_accumulators<D, C>();                                                                            \
        detail::pinned_product<a_transposed, b_transposed, D, A, B, C>::template step<N, M, K, true>();                \
    }                                                                                                                  \
    template <int N, int M, int K, ducks::art::all D, ducks::art::all A, ducks::art::all B>                            \
    __device__ inline void name(D &, const A &, const B &) {                                                           \
        detail::pinned_product<a_transposed, b_transposed, D, A, B, void>::template step<N, M, K, true>();             \
    }
KITTENS_ART_MMA(mma_AB, false, false)
KITTENS_ART_MMA(mma_ABt, false, true)
KITTENS_ART_MMA(mma_AtB, true, false)
KITTENS_ART_MMA(mma_AtBt, true, true)
#undef KITTENS_ART_MMA

namespace macros {
/** Matrix instructions on registers by number: the first of each operand's and of the accumulators'. */
template <int A, int B, int C, int D>
__device__ inline void mfma_f32_16x16x32_fp8_fp8() {
    detail::mfma_pinned<fp8e4m3, 16, 8>::run<D, A, B, C>();
}
/** The same without an accumulator to begin with. */
template <int A, int B, int D>
__device__ inline void mfma_f32_16x16x32_fp8_fp8_zero_accum() {
    detail::mfma_pinned<fp8e4m3, 16, 8>::run<D, A, B, -1>();
}
} // namespace macros

#if defined(KITTENS_CDNA4)
namespace macros {
/** The same for bf16, on gfx950. */
template <int A, int B, int C, int D>
__device__ inline void mfma_f32_16x16x32_bf16() {
    detail::mfma_pinned<bf16, 16, 16>::run<D, A, B, C>();
}
template <int A, int B, int C, int D>
__device__ inline void mfma_f32_32x32x16_bf16() {
    detail::mfma_pinned<bf16, 32, 16>::run<D, A, B, C>();
}
/** The same without an initial accumulator. */
template <int A, int B, int D>
__device__ inline void mfma_f32_16x16x32_bf16_zero_accum() {
    detail::mfma_pinned<bf16, 16, 16>::run<D, A, B, -1>();
}
template <int A, int B, int D>
__device__ inline void mfma_f32_32x32x16_bf16_zero_accum() {
    detail::mfma_pinned<bf16, 32, 16>::run<D, A, B, -1>();
}
} // namespace macros

/** d = a bᵀ + c of ranges of registers, base tiles of bf16 with accumulators of 16x16. */
template <ducks::art::register_range_t A, ducks::art::register_range_t B, ducks::art::register_range_t C,
          ducks::art::register_range_t D>
__device__ inline void mma_ABt_base() {
    macros::mfma_f32_16x16x32_bf16<A::lo, B::lo, C::lo, D::lo>();
}
template <ducks::art::register_range_t A, ducks::art::register_range_t B, ducks::art::register_range_t D>
__device__ inline void mma_ABt_base_zero_accum() {
    macros::mfma_f32_16x16x32_bf16_zero_accum<A::lo, B::lo, D::lo>();
}
/** d = aᵀ b + c of ranges of registers, with accumulators of a base shape, 32x32 or 16x16. */
template <ducks::rt_shape::all shape, ducks::art::register_range_t A, ducks::art::register_range_t B,
          ducks::art::register_range_t C, ducks::art::register_range_t D>
__device__ inline void mma_AtB_base() {
    detail::mfma_pinned<bf16, shape::rows, 16>::template run<D::lo, A::lo, B::lo, C::lo>();
}
template <ducks::rt_shape::all shape, ducks::art::register_range_t A, ducks::art::register_range_t B,
          ducks::art::register_range_t D>
__device__ inline void mma_AtB_base_zero_accum() {
    detail::mfma_pinned<bf16, shape::rows, 16>::template run<D::lo, A::lo, B::lo, -1>();
}
#endif

} // namespace kittens
