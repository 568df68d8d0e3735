// Common parts of the 16-bit numbers, half and bfloat16.
#pragma once

#include "hip/device/functions.h"

// A type of numbers, _Float16 included.
template <typename T>
struct __hip_is_number
    : std::integral_constant<bool, std::is_arithmetic<T>::value || std::is_same<T, _Float16>::value> {};

// Members ++ and --, in front and behind, of a type whose sums and differences `one` enters.
#define __HIP_STEPS(T, one)                                                                                            \
    __host__ __device__ T &operator++() { return *this += one; }                                                       \
    __host__ __device__ T &operator--() { return *this -= one; }                                                       \
    __host__ __device__ T operator++(int) {                                                                            \
        const T before = *this;                                                                                        \
        *this += one;                                                                                                  \
        return before;                                                                                                 \
    }                                                                                                                  \
    __host__ __device__ T operator--(int) {                                                                            \
        const T before = *this;                                                                                        \
        *this -= one;                                                                                                  \
        return before;                                                                                                 \
    }

// Memory's sum of one or two numbers, by compare-and-swap of the word that holds them.
template <typename T>
__device__ inline T __hip_atomic_sum(T *address, T value) {
    using Bits = typename std::conditional<sizeof(T) == 2, unsigned short, unsigned>::type;
    constexpr unsigned size = 8 * sizeof(T);
    const auto place = reinterpret_cast<__SIZE_TYPE__>(address);
    unsigned *word = reinterpret_cast<unsigned *>(place - place % 4);
    const unsigned shift = static_cast<unsigned>(place % 4) * 8, mask = (size == 32 ? ~0u : (1u << size) - 1) << shift;
    unsigned seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), next;
    T before;
    do {
        before = __builtin_bit_cast(T, static_cast<Bits>(seen >> shift));
        const T sum = __hip_sum(before, value);
        next = (seen & ~mask) | static_cast<unsigned>(__builtin_bit_cast(Bits, sum)) << shift;
    } while (!__hip_atomic_compare_exchange_strong(word, &seen, next, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_AGENT));
    return before;
}

// Adds to one of the two numbers of the aligned pair it is in, and negative zero, which changes nothing, to the other.
template <typename Pair, typename T>
__device__ inline T __hip_atomic_add_half_of_pair(T *address, T value) {
    const auto place = reinterpret_cast<__SIZE_TYPE__>(address);
    Pair *pair = reinterpret_cast<Pair *>(place - place % 4);
    const T nothing = __builtin_bit_cast(T, static_cast<unsigned short>(0x8000));
    const bool is_lower = place % 4 == 0;
    const Pair before = unsafeAtomicAdd(pair, is_lower ? Pair(value, nothing) : Pair(nothing, value));
    return is_lower ? before.x : before.y;
}
