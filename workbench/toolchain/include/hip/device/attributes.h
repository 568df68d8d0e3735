// HIP's function and variable attributes in terms of clang's.
#pragma once

// The guard of ROCm's header of these, by which Thrust sees that they are not its own to define.
#define HIP_INCLUDE_HIP_AMD_DETAIL_HOST_DEFINES_H

#ifndef __host__
#define __host__ __attribute__((host))
#endif
#ifndef __device__
#define __device__ __attribute__((device))
#endif
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
#ifndef __constant__
#define __constant__ __attribute__((constant))
#endif
#ifndef __managed__
#define __managed__ __attribute__((managed))
#endif

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __hip_device_inline __device__ static inline __attribute__((always_inline))
#define __hip_host_device_inline __host__ __device__ static inline __attribute__((always_inline))

// What `requires` says in C++20, for programs in the older standards that makefiles ask for, from C++11 on: a template
// parameter that exists where the condition holds.
template <bool condition>
struct __hip_condition {};
template <>
struct __hip_condition<true> {
    using type = int;
};
template <bool condition>
using __hip_if = typename __hip_condition<condition>::type;

// CUDA's mark for a parameter that is read in place; kernel arguments always are on this target.
#define __grid_constant__

// __launch_bounds__(threads) and __launch_bounds__(threads, waves): the most work-items of a group, and how
// many waves are to fit on a SIMD.
#define __launch_bounds__(threads, ...)                                                                                \
    __attribute__((amdgpu_flat_work_group_size(1, threads) __VA_OPT__(, amdgpu_waves_per_eu(__VA_ARGS__))))

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(symbol) symbol
