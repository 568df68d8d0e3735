/**
 * @file
 * @brief Waiting for memory and for the other waves.
 *
 * Loads into registers are waited for by the compiler. Loads from global straight into shared memory are not: the
 * kernel waits for its own with `wait_vmcnt`, and then for those of the other waves with `barrier`.
 */
#pragma once

#include "util.cuh"

namespace kittens {

/** Waits until at most `n` of this wave's global memory operations are still under way; they end in order. */
template <int n = 0>
__device__ inline void wait_vmcnt() {
    static_assert(n >= 0 && n <= 63, "wait_vmcnt: the counter has six bits");
    asm volatile("s_waitcnt vmcnt(%0)" ::"n"(n) : "memory");
}

/** Waits until at most `n` of this wave's shared memory and scalar memory operations are still under way. */
template <int n = 0>
__device__ inline void wait_lgkmcnt() {
    static_assert(n >= 0 && n <= 15, "wait_lgkmcnt: the counter has four bits");
    asm volatile("s_waitcnt lgkmcnt(%0)" ::"n"(n) : "memory");
}

/** Waits until every wave of the work-group is here. Moves no memory access of the program across itself. */
__device__ inline void barrier() {
    asm volatile("" ::: "memory");
    __builtin_amdgcn_s_barrier();
    asm volatile("" ::: "memory");
}

/**
 * @brief Waits for this wave's loads into shared memory and for every wave to have done the same.
 *
 * After it all of the work-group sees what any wave loaded; and as every wave's reads from shared memory have ended
 * too, what they read may be overwritten.
 */
__device__ inline void wait_and_barrier() {
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
    barrier();
}

} // namespace kittens
