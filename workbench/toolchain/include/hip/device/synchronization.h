// Barriers and fences. A barrier orders memory only together with the fences around it.
#pragma once

#include "hip/device/attributes.h"

__hip_device_inline void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__hip_device_inline void __syncwarp() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

__hip_device_inline void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__hip_device_inline void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__hip_device_inline void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

__hip_device_inline void __named_sync() { __builtin_amdgcn_s_barrier(); }

// The number of work-items of the group for which the predicate holds; all of them get it.
__device__ inline int __syncthreads_count(int predicate) {
    __shared__ int count;
    __syncthreads();
    count = 0;
    __syncthreads();
    int here = __builtin_popcountll(__builtin_amdgcn_ballot_w64(predicate != 0));
    if (__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)) ==
        (unsigned)__builtin_ctzll(__builtin_amdgcn_ballot_w64(true)))
        __hip_atomic_fetch_add(&count, here, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __syncthreads();
    int result = count;
    __syncthreads();
    return result;
}
__device__ inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
__device__ inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }

__hip_device_inline long long clock64() { return (long long)__builtin_readcyclecounter(); }
__hip_device_inline long long __clock64() { return clock64(); }
__hip_device_inline long long clock() { return clock64(); }
__hip_device_inline long long __clock() { return clock64(); }
#if __has_builtin(__builtin_readsteadycounter)
__hip_device_inline long long wall_clock64() { return (long long)__builtin_readsteadycounter(); }
#else
__hip_device_inline long long wall_clock64() { return (long long)__builtin_amdgcn_s_memrealtime(); }
#endif

__hip_device_inline void abort() { __builtin_trap(); }
