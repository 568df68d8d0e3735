// Cooperative groups: work-groups and whole grids as objects that their work-items synchronise through.
//
// A grid's barrier needs all of its work-groups at once, which hipLaunchCooperativeKernel promises.
#pragma once

#include "hip/hip_runtime.h"

// Half a period of this counter is one barrier. Whoever loads the code object begins each launch with zero.
extern "C" {
inline __device__ unsigned hipkittens_grid_barrier = 0;
}

namespace cooperative_groups {

class thread_block {
  public:
    __device__ void sync() const { __syncthreads(); }
    __device__ dim3 group_index() const { return blockIdx; }
    __device__ dim3 thread_index() const { return threadIdx; }
    __device__ dim3 group_dim() const { return blockDim; }
    __device__ unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    __device__ bool is_valid() const { return true; }
};

class grid_group {
  public:
    __device__ dim3 group_dim() const { return gridDim; }
    __device__ dim3 grid_dim() const { return gridDim; }
    __device__ unsigned num_blocks() const { return gridDim.x * gridDim.y * gridDim.z; }
    __device__ unsigned block_rank() const { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
    __device__ unsigned long long size() const { return 1ull * num_blocks() * thread_block().size(); }
    __device__ unsigned long long num_threads() const { return size(); }
    __device__ unsigned long long thread_rank() const {
        return 1ull * block_rank() * thread_block().size() + thread_block().thread_rank();
    }
    __device__ bool is_valid() const { return true; }
    // Arrivals add up to half the counter's period, so its top bit changes with the last one.
    __device__ void sync() const {
        constexpr unsigned half = 0x80000000u;
        __syncthreads();
        if (thread_block().thread_rank() == 0) {
            const unsigned mine = block_rank() == 0 ? half - (num_blocks() - 1) : 1;
            const unsigned before =
                __hip_atomic_fetch_add(&hipkittens_grid_barrier, mine, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
            while (((before ^ __hip_atomic_load(&hipkittens_grid_barrier, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) &
                    half) == 0)
                __builtin_amdgcn_s_sleep(1);
        }
        __syncthreads();
    }
};

__device__ inline thread_block this_thread_block() { return {}; }
__device__ inline grid_group this_grid() { return {}; }

template <typename Group>
__device__ inline void sync(const Group &group) {
    group.sync();
}

} // namespace cooperative_groups
