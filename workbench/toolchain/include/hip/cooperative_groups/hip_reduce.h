// reduce(group, value, operation) over a tile or the coalesced threads; every thread gets the result.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_cooperative_groups.h"

namespace cooperative_groups {

#if !defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
// The operation is assumed to be associative, as in HIP: floating-point sums are those of a tree of neighbours. The
// group's threads that do not take part are left out.
template <typename Group, typename T, typename Operation>
__device__ inline auto reduce(const Group &group, T &&value, Operation &&operation)
    -> decltype(operation(value, value)) {
    using U = __remove_cvref(T);
    static_assert(std::is_base_of<thread_group, Group>::value && !std::is_same<thread_group, Group>::value &&
                      !std::is_same<thread_block, Group>::value,
                  "reduce takes a tile whose size is known when it is compiled, or a coalesced group");
    static_assert(std::is_same<U, __remove_cvref(decltype(operation(value, value)))>::value,
                  "the operation gives values of the type that it takes");
    static_assert(impl::movable<U>, "values are trivially copyable and of 32 bytes at most");
    return __hip_reduce(impl::lanes_of(group) & __hip_active_lanes(), static_cast<U>(value), operation);
}
#endif

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
