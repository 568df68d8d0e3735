// Attributes of functions and variables that clang declares before every HIP source, and those of these headers.
#pragma once

#if defined(__HIP__)
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
#else
// Host code from a compiler without these attributes.
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#endif

#define __hip_device_inline __device__ static inline __attribute__((always_inline))
#define __hip_host_device_inline __host__ __device__ static inline __attribute__((always_inline))

// A substitute for C++20's `requires`, for programs in the older standards that makefiles ask for, from C++11 on: a
// template parameter that exists where the condition holds.
template <bool condition>
struct __hip_condition {};
template <>
struct __hip_condition<true> {
    using type = int;
};
template <bool condition>
using __hip_if = typename __hip_condition<condition>::type;
