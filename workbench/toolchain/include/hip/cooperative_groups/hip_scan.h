// Prefix sums, or those of another operation, over a tile or the coalesced threads.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_cooperative_groups.h"

#include <limits>

namespace cooperative_groups {

namespace impl {

// What the first thread of an exclusive scan gets: the operation's identity where it is one of the named, else T{}.
template <typename T, typename Operation>
__device__ inline T identity_of() {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<Operation, less<T>> || std::is_same_v<Operation, less<>>)
        return limits::has_infinity ? limits::infinity() : limits::max();
    else if constexpr (std::is_same_v<Operation, greater<T>> || std::is_same_v<Operation, greater<>>)
        return limits::has_infinity ? -limits::infinity() : limits::lowest();
    else if constexpr (std::is_same_v<Operation, bit_and<T>> || std::is_same_v<Operation, bit_and<>>)
        return static_cast<T>(~T{});
    else
        return T{};
}

} // namespace impl

template <typename Group, typename T, typename Operation>
__device__ inline std::remove_cvref_t<T> inclusive_scan(const Group &group, T &&value, Operation &&operation) {
    std::remove_cvref_t<T> result = value;
    const unsigned size = group.size(), rank = group.thread_rank();
#pragma unroll
    for (unsigned step = 1; step < 64; step *= 2) {
        if (step >= size) continue;
        const std::remove_cvref_t<T> other = group.shfl_up(result, step);
        if (rank >= step) result = operation(other, result);
    }
    return result;
}
template <typename Group, typename T>
__device__ inline std::remove_cvref_t<T> inclusive_scan(const Group &group, T &&value) {
    return inclusive_scan(group, static_cast<T &&>(value), plus<std::remove_cvref_t<T>>());
}

template <typename Group, typename T, typename Operation>
__device__ inline std::remove_cvref_t<T> exclusive_scan(const Group &group, T &&value, Operation &&operation) {
    using U = std::remove_cvref_t<T>;
    const U before = group.shfl_up(inclusive_scan(group, static_cast<T &&>(value), operation), 1);
    return group.thread_rank() == 0 ? impl::identity_of<U, std::remove_cvref_t<Operation>>() : before;
}
template <typename Group, typename T>
__device__ inline std::remove_cvref_t<T> exclusive_scan(const Group &group, T &&value) {
    return exclusive_scan(group, static_cast<T &&>(value), plus<std::remove_cvref_t<T>>());
}

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
