/**
 * @file
 * @brief Random numbers by counter: Philox 4x32 with ten rounds.
 */
#pragma once

#include "base_types.cuh"

namespace kittens {

/**
 * @brief Four random words for a counter of four words and a key.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): the generator of
 * rocRAND, cuRAND and PyTorch on GPUs. Words of different counters or keys are independent, so any lane can compute any
 * element's numbers without a state.
 */
__device__ inline u32x4 philox(u32x4 counter, uint64_t key) {
    auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const uint64_t first = uint64_t{0xd2511f53u} * counter[0], second = uint64_t{0xcd9e8d57u} * counter[2];
        counter = u32x4{static_cast<uint32_t>(second >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(second),
                        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(first)};
        low += 0x9e3779b9u;
        high += 0xbb67ae85u;
    }
    return counter;
}

} // namespace kittens
