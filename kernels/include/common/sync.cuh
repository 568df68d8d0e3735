/**
 * @file
 * @brief Waiting for memory and for the other waves.
 *
 * The compiler waits for loads into registers, but not for loads from global memory straight into shared memory: a wave
 * waits for its own with `wait_vmcnt`, and then for those of the other waves with `barrier`.
 *
 * Memory operations of the library do not move across waits, barriers, `sched_barrier` and `s_setprio`, whether those
 * are the functions below, builtins or inline assembly without a "memory" clobber.
 */
#pragma once

#include "util.cuh"

namespace kittens {

namespace detail {
/**
 * @brief Keeps the memory operations of a scope between the code before and after it.
 *
 * A barrier, a wait in inline assembly or `s_setprio` touches no memory as far as the compiler knows, so it may sink a
 * load below them, to the first use of its value. Each library operation that accesses memory visibly to the compiler
 * is in such a scope. The scope emits no instruction, and waits for loaded values remain with the compiler.
 */
struct program_order {
    __device__ inline program_order() { asm volatile("" ::: "memory"); }
    __device__ inline ~program_order() { asm volatile("" ::: "memory"); }
    program_order(const program_order &) = delete;
    program_order &operator=(const program_order &) = delete;
};
} // namespace detail

#if defined(KITTENS_WAVE32)
// Loads, stores and shared memory have counters of their own. Loads to shared memory pass through registers, for which
// the compiler waits; they end as writes to shared memory, all of which the function waits for, since it cannot tell
// them from others.
/**
 * @brief Waits for this wave's loads to shared memory; with `n` = 0 for all its global memory operations.
 *
 * `n` is for targets on which loads to shared memory stay in flight.
 */
template <int n = 0>
__device__ inline void wait_vmcnt() {
    static_assert(n >= 0, "wait_vmcnt: the number of operations is not negative");
#if defined(KITTENS_RDNA3)
    if constexpr (n == 0)
        asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\n\ts_waitcnt_vscnt null, 0x0" ::: "memory");
    else
        asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
#else
    if constexpr (n == 0)
        asm volatile("s_wait_loadcnt 0x0\n\ts_wait_storecnt 0x0\n\ts_wait_dscnt 0x0" ::: "memory");
    else
        asm volatile("s_wait_dscnt 0x0" ::: "memory");
#endif
}

/**
 * @brief Waits until at most `n` of this wave's shared memory operations, and no scalar memory operation, are in
 * flight.
 *
 * RDNA3 counts both together, and scalar memory operations return in any order.
 */
template <int n = 0>
__device__ inline void wait_lgkmcnt() {
    static_assert(n >= 0 && n <= 63, "wait_lgkmcnt: the counter has six bits");
#if defined(KITTENS_RDNA3)
    asm volatile("s_waitcnt lgkmcnt(%0)" ::"n"(n) : "memory");
#else
    asm volatile("s_wait_dscnt %0\n\ts_wait_kmcnt 0x0" ::"n"(n) : "memory");
#endif
}
#else
/** Waits until at most `n` of this wave's global memory operations are in flight; they end in order. */
template <int n = 0>
__device__ inline void wait_vmcnt() {
    static_assert(n >= 0 && n <= 63, "wait_vmcnt: the counter has six bits");
    asm volatile("s_waitcnt vmcnt(%0)" ::"n"(n) : "memory");
}

/**
 * @brief Waits until at most `n` of this wave's shared memory and scalar memory operations are in flight.
 *
 * The compiler takes the wait into account: it inserts no waits for values that have arrived by then.
 */
template <int n = 0>
__device__ inline void wait_lgkmcnt() {
    static_assert(n >= 0 && n <= 15, "wait_lgkmcnt: the counter has four bits");
    // The fields for vmcnt and expcnt allow any number in flight.
    constexpr int NO_OTHER = 0xc07f;
    const detail::program_order order;
    __builtin_amdgcn_s_waitcnt(NO_OTHER | n << 8);
}
#endif

/** Waits until every wave of the work-group is here. Moves no memory access of the program across itself. */
__device__ inline void barrier() {
    const detail::program_order order;
    __builtin_amdgcn_s_barrier();
}

/**
 * @brief Waits for this wave's loads to shared memory, and until every wave has done the same.
 *
 * Afterwards, the whole work-group sees every wave's loads; and since all reads from shared memory have ended too, the
 * memory that they read may be overwritten.
 */
__device__ inline void wait_and_barrier() {
#if defined(KITTENS_WAVE32)
    wait_vmcnt<0>();
#else
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
#endif
    barrier();
}

} // namespace kittens
