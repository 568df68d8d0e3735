/**
 * @file
 * @brief Barriers and waits of gfx1250: split barriers, a wait for each counter, and barriers in shared memory.
 *
 * Each function is the instructions that it names and nothing else: a barrier does not wait for memory, so a wave waits
 * for its own copies and writes (`wait_async`, `wait_tdm`, `wait_ds`) before it arrives. Memory operations of the
 * library do not move across any of them.
 */
#pragma once

#include "../warp/warp.cuh"

#if defined(KITTENS_CDNA5)
namespace kittens::sync {

/** Arrives at the work-group's barrier and goes on. */
__device__ inline void arrive() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_barrier_signal(-1);
}
/** Waits until every wave of the work-group has arrived. */
__device__ inline void wait() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_barrier_wait(-1);
}
/** Arrives, and waits for the other waves. */
__device__ inline void sync() {
    arrive();
    wait();
}

// Each counter has six bits, and its operations end in order.
/** Waits until at most N of this wave's loads from global memory to registers are in flight. */
template <int N = 0>
__device__ inline void wait_load() {
    static_assert(N >= 0 && N <= 63, "sync::wait_load: the counter has six bits");
    asm volatile("s_wait_loadcnt %0" ::"n"(N) : "memory");
}
/** Waits until at most N of this wave's stores to global memory are in flight. */
template <int N = 0>
__device__ inline void wait_store() {
    static_assert(N >= 0 && N <= 63, "sync::wait_store: the counter has six bits");
    asm volatile("s_wait_storecnt %0" ::"n"(N) : "memory");
}
/** Waits until at most N of this wave's shared memory operations are in flight. */
template <int N = 0>
__device__ inline void wait_ds() {
    static_assert(N >= 0 && N <= 63, "sync::wait_ds: the counter has six bits");
    asm volatile("s_wait_dscnt %0" ::"n"(N) : "memory");
}
/** Waits until at most N of this wave's scalar memory operations and messages are in flight. */
template <int N = 0>
__device__ inline void wait_km() {
    static_assert(N >= 0 && N <= 63, "sync::wait_km: the counter has six bits");
    asm volatile("s_wait_kmcnt %0" ::"n"(N) : "memory");
}
/** Waits until at most N of this wave's `load_async` copies, one for each 16 bytes a lane, are in flight. */
template <int N = 0>
__device__ inline void wait_async() {
    static_assert(N >= 0 && N <= 63, "sync::wait_async: the counter has six bits");
    asm volatile("s_wait_asynccnt %0" ::"n"(N) : "memory");
}
/** Waits until at most N of this wave's `load_tdm` copies are in flight. */
template <int N = 0>
__device__ inline void wait_tdm() {
    static_assert(N >= 0 && N <= 63, "sync::wait_tdm: the counter has six bits");
    asm volatile("s_wait_tensorcnt %0" ::"n"(N) : "memory");
}

/** Waits for this wave's loads to registers and for its shared memory operations. */
__device__ inline void fence() {
    wait_load<0>();
    wait_ds<0>();
}

/**
 * @brief A barrier in shared memory, which copies arrive at: 64 bits with the pending arrivals less one (15:0), the
 * phase (31:16), and the pending arrivals less one with which a phase begins (47:32).
 *
 * The last arrival of a phase counts the phase down, so its lowest bit alternates, from 0 on.
 */
struct alignas(8) barrier_lds {
    uint64_t state;
};

namespace detail {
using lds_u64 = __attribute__((address_space(3))) uint64_t;
__device__ inline lds_u64 *in_lds(uint64_t *bar) { return (lds_u64 *)bar; }
} // namespace detail

/**
 * @brief Sets a barrier to expect `count` arrivals, 1 to 65536, in each phase. One thread calls it.
 *
 * Other waves may use the barrier after a `sync`.
 */
__device__ inline void init_barrier(uint64_t *bar, uint32_t count) {
    const kittens::detail::program_order order;
    const uint64_t pending = (count - 1) & 0xffff;
    *detail::in_lds(bar) = pending << 32 | pending;
    wait_ds<0>();
}

/** Waits until the lowest bit of the barrier's phase is `expected_phase`: 1 after the first phase, 0 after the next. */
__device__ inline void wait_barrier(uint64_t *bar, int expected_phase) {
    const kittens::detail::program_order order;
    while (true) {
        const uint64_t state = *static_cast<volatile detail::lds_u64 *>(detail::in_lds(bar));
        if (static_cast<int>(state >> 16 & 1) == expected_phase) break;
        __builtin_amdgcn_s_sleep(1);
    }
}

/** Arrives at a barrier once for each active lane, behind this wave's earlier asynchronous copies. */
__device__ inline void async_barrier_arrive(uint64_t *bar) {
    const kittens::detail::program_order order;
    __builtin_amdgcn_ds_atomic_async_barrier_arrive_b64((__attribute__((address_space(3))) long *)bar);
}

} // namespace kittens::sync

#endif
