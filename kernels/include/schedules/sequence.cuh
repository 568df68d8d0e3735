/**
 * @file
 * @brief Calls with a compile-time number.
 */
#pragma once

#include "../ops/ops.cuh"

namespace kittens::schedules {

/** An integer as a type, which functors receive as `auto` and use as a constant. */
template <int value>
struct index {
    static constexpr int v = value;
    __host__ __device__ constexpr operator int() const { return value; }
};

namespace detail {
template <typename Int, Int... values>
struct sequence {};

template <int first, typename Call, int... offsets>
__device__ __attribute__((always_inline)) inline void call_each(Call &call, sequence<int, offsets...>) {
    (call(index<first + offsets>{}), ...);
}
} // namespace detail

/** `call(index<first>)`, `call(index<first + 1>)`, ..., `call(index<end - 1>)`. */
template <int first, int end, typename Call>
__device__ __attribute__((always_inline)) inline void for_each_index(Call &&call) {
    if constexpr (first < end) detail::call_each<first>(call, __make_integer_seq<detail::sequence, int, end - first>{});
}

/**
 * @brief The same object in shared memory, at an address that is opaque to the compiler.
 *
 * The compiler recomputes an address from its parts where an instruction's 16-bit offset does not reach, even in a
 * loop. Relative to an anchor, accesses within 64 KB have their whole distance as the offset.
 */
template <typename T>
__device__ inline T &anchor(T &shared) {
    auto at = (kittens::detail::shared_pointer<T>)&shared;
    asm volatile("" : "+v"(at));
    return *reinterpret_cast<T *>((T *)at);
}

/**
 * @brief Makes the compiler wait here for loads into a register, or into an array of registers.
 *
 * Otherwise it waits at the first use of the value, and there also for loads to shared memory, of which it does not
 * know.
 */
template <typename T>
__device__ inline void arrive(T &value) {
    static_assert(sizeof(T) % 4 == 0, "arrive: whole registers");
    struct words {
        unsigned w[sizeof(T) / 4];
    };
    auto held = kittens::detail::bit_cast<words>(value);
#pragma unroll
    for (unsigned &word : held.w) asm volatile("" : "+v"(word));
    value = kittens::detail::bit_cast<T>(held);
}

/** Keeps the compiler from moving any instruction across. */
__device__ inline void pin() { __builtin_amdgcn_sched_barrier(0); }

} // namespace kittens::schedules
