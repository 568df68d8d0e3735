// AMD's additions to launches: work-items instead of groups, events around a kernel.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_EXT_H
#define HIP_INCLUDE_HIP_HIP_EXT_H

#include "hip/hip_runtime.h"

extern "C" {
// As hipModuleLaunchKernel, except that sizes are in work-items of the whole grid.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                                    std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z,
                                    std::size_t shared, hipStream_t stream, void **parameters, void **extra,
                                    hipEvent_t start = nullptr, hipEvent_t stop = nullptr, std::uint32_t flags = 0);
[[deprecated("use hipExtModuleLaunchKernel")]] hipError_t
hipHccModuleLaunchKernel(hipFunction_t function, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                         std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z, std::size_t shared,
                         hipStream_t stream, void **parameters, void **extra, hipEvent_t start = nullptr,
                         hipEvent_t stop = nullptr);
} // extern "C"

// hipExtLaunchKernel with a kernel and its arguments; each is converted to its parameter's type.
template <typename... Parameters, typename... Arguments>
inline void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), const dim3 &grid, const dim3 &block,
                                  std::uint32_t shared, hipStream_t stream, hipEvent_t start, hipEvent_t stop,
                                  std::uint32_t flags, Arguments... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument for each of the kernel's parameters");
    [&](Parameters... converted) {
        void *addresses[] = {const_cast<void *>(static_cast<const void *>(&converted))..., nullptr};
        (void)hipExtLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block, addresses, shared, stream, start,
                                 stop, static_cast<int>(flags));
    }(static_cast<Parameters>(arguments)...);
}

#endif
