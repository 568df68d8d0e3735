/**
 * @file
 * @brief The few type traits of the standard library that tiles need, without the cost of its headers.
 */
#pragma once

#include "hip.cuh"

namespace kittens::detail {

template <typename A, typename B>
inline constexpr bool is_same = __is_same(A, B);

template <bool condition, typename A, typename B>
struct select_type {
    using type = A;
};
template <typename A, typename B>
struct select_type<false, A, B> {
    using type = B;
};
template <bool condition, typename A, typename B>
using select = typename select_type<condition, A, B>::type;

template <typename T>
struct bare_type {
    using type = T;
};
template <typename T>
struct bare_type<const T> : bare_type<T> {};
template <typename T>
struct bare_type<T &> : bare_type<T> {};
template <typename T>
struct bare_type<T &&> : bare_type<T> {};

/** For a static_assert in a branch that no instance may take. */
template <typename...>
inline constexpr bool never = false;

template <typename To, typename From>
__host__ __device__ constexpr To bit_cast(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "bit_cast: the types differ in size");
    return __builtin_bit_cast(To, from);
}

__host__ __device__ constexpr int min(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int max(int a, int b) { return a > b ? a : b; }
__host__ __device__ constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/** Calls f.template operator()<first>(), ..., <count - 1>(). */
template <int count, int first = 0, typename F>
__host__ __device__ constexpr void for_constants(F f) {
    if constexpr (first < count) {
        f.template operator()<first>();
        for_constants<count, first + 1>(f);
    }
}

} // namespace kittens::detail
