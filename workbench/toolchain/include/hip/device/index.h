// Declarations for kernels and their launches: launch bounds, shared memory of a launch, and threadIdx, blockIdx,
// blockDim and gridDim, objects without storage whose members read the hardware's ids.
#pragma once

#include "hip/hip_vector_types.h"

// __launch_bounds__(threads) and __launch_bounds__(threads, waves): the most work-items of a group, and how
// many waves are to fit on a SIMD.
#define __launch_bounds__(threads, ...)                                                                                \
    __attribute__((amdgpu_flat_work_group_size(1, threads) __VA_OPT__(, amdgpu_waves_per_eu(__VA_ARGS__))))

// __cluster_dims__(x, y, z): work-groups of a cluster, on gfx1250; others have no clusters.
#if defined(__has_attribute)
#if __has_attribute(cluster_dims)
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#endif
#endif

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_SYMBOL(symbol) symbol

struct __hip_thread_index {
    __device__ static unsigned get_x() { return __builtin_amdgcn_workitem_id_x(); }
    __device__ static unsigned get_y() { return __builtin_amdgcn_workitem_id_y(); }
    __device__ static unsigned get_z() { return __builtin_amdgcn_workitem_id_z(); }
};

struct __hip_block_index {
    __device__ static unsigned get_x() { return __builtin_amdgcn_workgroup_id_x(); }
    __device__ static unsigned get_y() { return __builtin_amdgcn_workgroup_id_y(); }
    __device__ static unsigned get_z() { return __builtin_amdgcn_workgroup_id_z(); }
};

struct __hip_block_size {
    __device__ static unsigned get_x() { return __builtin_amdgcn_workgroup_size_x(); }
    __device__ static unsigned get_y() { return __builtin_amdgcn_workgroup_size_y(); }
    __device__ static unsigned get_z() { return __builtin_amdgcn_workgroup_size_z(); }
};

// The hidden arguments of code object version 5 begin with the number of work-groups in each dimension.
struct __hip_grid_size {
    __device__ static unsigned count(int axis) {
        return ((const __attribute__((address_space(4))) unsigned *)__builtin_amdgcn_implicitarg_ptr())[axis];
    }
    __device__ static unsigned get_x() { return count(0); }
    __device__ static unsigned get_y() { return count(1); }
    __device__ static unsigned get_z() { return count(2); }
};

template <typename Source>
struct __hip_coordinates : Source {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    __declspec(property(get = get_z)) unsigned z;
    __device__ operator dim3() const { return dim3(Source::get_x(), Source::get_y(), Source::get_z()); }
};

extern const __device__ __attribute__((weak)) __hip_coordinates<__hip_thread_index> threadIdx;
extern const __device__ __attribute__((weak)) __hip_coordinates<__hip_block_index> blockIdx;
extern const __device__ __attribute__((weak)) __hip_coordinates<__hip_block_size> blockDim;
extern const __device__ __attribute__((weak)) __hip_coordinates<__hip_grid_size> gridDim;

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
