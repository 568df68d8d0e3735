/**
 * @file
 * @brief The matrix instruction of gfx1250 for 2-byte types, on the elements of base tiles.
 */
#pragma once

#include "../warp/warp.cuh"

#if defined(KITTENS_CDNA5)
namespace kittens {

/**
 * @brief D = A Bᵀ + C of base tiles 16x32 (`rt_16x32_s`, row layout) and 16x16 (`rt_16x16_s`, column layout), by their
 * `data`; `pair` is bf16_2 or half_2.
 *
 * @tparam A_reuse,B_reuse the matrix instruction right before this one has the same A (B) in the same registers, which
 *         is then not read again.
 */
template <bool A_reuse = false, bool B_reuse = false, typename pair>
__device__ inline void wmma161632(float2 (&D)[4], const pair (&A)[8], const pair (&B)[8], const float2 (&C)[4]) {
    using instruction = detail::mfma<typename base_types::packing<pair>::unpacked_type, 16, 32>;
    typename instruction::operand a, b;
    typename instruction::accumulator sum;
    __builtin_memcpy(&a, A, sizeof(a));
    __builtin_memcpy(&b, B, sizeof(b));
    __builtin_memcpy(&sum, C, sizeof(sum));
    sum = instruction::template run<A_reuse, B_reuse>(a, b, sum);
    __builtin_memcpy(D, &sum, sizeof(sum));
}

} // namespace kittens

#endif
