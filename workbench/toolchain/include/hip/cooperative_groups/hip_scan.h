// Prefix sums, or those of another operation, over a tile or the coalesced threads.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_cooperative_groups.h"

#include <limits>

namespace cooperative_groups {

namespace impl {

// Value of the first thread of an exclusive scan: the operation's identity if it is one of HIP's operations, else T{}.
template <typename T, typename Operation>
__device__ inline T identity_of() {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_same<Operation, less<T>>::value)
        return limits::has_infinity ? limits::infinity() : limits::max();
    else if constexpr (std::is_same<Operation, greater<T>>::value)
        return limits::has_infinity ? -limits::infinity() : limits::lowest();
    else if constexpr (std::is_same<Operation, bit_and<T>>::value)
        return static_cast<T>(~T{});
    else
        return T{};
}

// The value of the thread `step` ranks below; if there is none, the thread's own.
template <typename Group, typename T>
__device__ inline T from_below(const Group &group, T value, unsigned step) {
    const unsigned rank = group.thread_rank();
    return __hip_from_lane(value, static_cast<int>(lane_of_rank(lanes_of(group), rank >= step ? rank - step : rank)));
}

} // namespace impl

template <typename Group, typename T, typename Operation>
__device__ inline __remove_cvref(T) inclusive_scan(const Group &group, T &&value, Operation &&operation) {
    __remove_cvref(T) result = value;
    const unsigned size = group.size(), rank = group.thread_rank();
#pragma unroll
    for (unsigned step = 1; step < 64; step *= 2) {
        if (step >= size) continue;
        const __remove_cvref(T) other = impl::from_below(group, result, step);
        if (rank >= step) result = operation(other, result);
    }
    return result;
}
template <typename Group, typename T>
__device__ inline __remove_cvref(T) inclusive_scan(const Group &group, T &&value) {
    return inclusive_scan(group, static_cast<T &&>(value), plus<__remove_cvref(T)>());
}

template <typename Group, typename T, typename Operation>
__device__ inline __remove_cvref(T) exclusive_scan(const Group &group, T &&value, Operation &&operation) {
    using U = __remove_cvref(T);
    const U before = impl::from_below(group, inclusive_scan(group, static_cast<T &&>(value), operation), 1);
    return group.thread_rank() == 0 ? impl::identity_of<U, __remove_cvref(Operation)>() : before;
}
template <typename Group, typename T>
__device__ inline __remove_cvref(T) exclusive_scan(const Group &group, T &&value) {
    return exclusive_scan(group, static_cast<T &&>(value), plus<__remove_cvref(T)>());
}

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
