// reduce(group, value, operation) over a tile or the coalesced threads; every thread gets the result.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_cooperative_groups.h"

namespace cooperative_groups {

// The operation is taken for associative and commutative, as HIP takes it: floating-point sums are those of a tree.
template <typename Group, typename T, typename Operation>
__device__ inline __remove_cvref(T) reduce(const Group &group, T &&value, Operation &&operation) {
    __remove_cvref(T) result = value;
    const unsigned size = group.size(), rank = group.thread_rank();
#pragma unroll
    for (unsigned step = 32; step != 0; step /= 2) {
        if (step >= size) continue;
        const __remove_cvref(T) other = group.shfl_down(result, step);
        if (rank < step && rank + step < size) result = operation(result, other);
    }
    return group.shfl(result, 0);
}
template <typename Group, typename T>
__device__ inline __remove_cvref(T) reduce(const Group &group, T &&value) {
    return reduce(group, static_cast<T &&>(value), plus<__remove_cvref(T)>());
}

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
