/**
 * @file
 * @brief Matrix instructions on arrays of packed elements: what a lane has of base tiles, such as `tile.data`.
 *
 * The names give M, N and K. d = a bᵀ + c, the accumulators in the column layout.
 */
#pragma once

#include "mma.cuh"

namespace kittens {

namespace detail {
/** d = a bᵀ + c, with as many instructions along K as the operands require. */
template <typename T, int side, typename D, typename Operand>
__device__ inline void mma_words(D &d, const Operand &a, const Operand &b, const D &c) {
    constexpr int have = static_cast<int>(sizeof(Operand)), bytes = mfma_bytes<T, side, have>();
    using instruction = mfma<T, side, bytes>;
    auto sum = bit_cast<typename instruction::accumulator>(c);
#pragma unroll
    for (int k = 0; k < have; k += bytes) {
        typename instruction::operand left = {}, right = {};
        __builtin_memcpy(&left, reinterpret_cast<const char *>(&a) + k, bytes);
        __builtin_memcpy(&right, reinterpret_cast<const char *>(&b) + k, bytes);
        sum = instruction::run(left, right, sum);
    }
    __builtin_memcpy(&d, &sum, sizeof(sum));
}
} // namespace detail

#define KITTENS_MFMA(name, T, side, count)                                                                             \
    __device__ inline void name(                                                                                       \
        float2(&d)[side * side / (2 * WARP_THREADS)], const base_types::packing<T>::packed_type(&a)[count],            \
        const base_types::packing<T>::packed_type(&b)[count], const float2(&c)[side * side / (2 * WARP_THREADS)]) {    \
        detail::mma_words<T, side>(d, a, b, c);                                                                        \
    }
KITTENS_MFMA(mfma161616, bf16, 16, 128 / WARP_THREADS)
KITTENS_MFMA(mfma161616, half, 16, 128 / WARP_THREADS)
#if defined(KITTENS_CDNA4)
KITTENS_MFMA(mfma161632, bf16, 16, 4)
KITTENS_MFMA(mfma161632, half, 16, 4)
KITTENS_MFMA(mfma323216, bf16, 32, 4)
KITTENS_MFMA(mfma323216, half, 32, 4)
KITTENS_MFMA(mfma323232, bf16, 32, 8)
KITTENS_MFMA(mfma1616128, fp8e4m3, 16, 8)
KITTENS_MFMA(mfma323264, fp8e4m3, 32, 8)
#if defined(KITTENS_FP6)
KITTENS_MFMA(mfma1616128_fp6, fp6_e2m3, 16, 1)
#endif
#endif
#undef KITTENS_MFMA

} // namespace kittens
