// The host API's C++ side: typed pointers, kernels and variables by name instead of as `void *`.
#pragma once

#include "hip/host/functions.h"

template <typename T>
static inline hipError_t hipMalloc(T **pointer, std::size_t size) {
    return hipMalloc(reinterpret_cast<void **>(pointer), size);
}
template <typename T>
static inline hipError_t hipMallocAsync(T **pointer, std::size_t size, hipStream_t stream) {
    return hipMallocAsync(reinterpret_cast<void **>(pointer), size, stream);
}
template <typename T>
static inline hipError_t hipMallocFromPoolAsync(T **pointer, std::size_t size, hipMemPool_t pool, hipStream_t stream) {
    return hipMallocFromPoolAsync(reinterpret_cast<void **>(pointer), size, pool, stream);
}
template <typename T>
static inline hipError_t hipMallocManaged(T **pointer, std::size_t size, unsigned flags = hipMemAttachGlobal) {
    return hipMallocManaged(reinterpret_cast<void **>(pointer), size, flags);
}
template <typename T>
static inline hipError_t hipMallocPitch(T **pointer, std::size_t *pitch, std::size_t width, std::size_t height) {
    return hipMallocPitch(reinterpret_cast<void **>(pointer), pitch, width, height);
}
template <typename T>
static inline hipError_t hipHostMalloc(T **pointer, std::size_t size, unsigned flags = hipHostMallocDefault) {
    return hipHostMalloc(reinterpret_cast<void **>(pointer), size, flags);
}

template <typename T>
static inline hipError_t hipMemcpyToSymbol(const T &symbol, const void *from, std::size_t size, std::size_t offset = 0,
                                           hipMemcpyKind kind = hipMemcpyHostToDevice) {
    return hipMemcpyToSymbol(static_cast<const void *>(&symbol), from, size, offset, kind);
}
template <typename T>
static inline hipError_t hipMemcpyToSymbolAsync(const T &symbol, const void *from, std::size_t size, std::size_t offset,
                                                hipMemcpyKind kind, hipStream_t stream = nullptr) {
    return hipMemcpyToSymbolAsync(static_cast<const void *>(&symbol), from, size, offset, kind, stream);
}
template <typename T>
static inline hipError_t hipMemcpyFromSymbol(void *to, const T &symbol, std::size_t size, std::size_t offset = 0,
                                             hipMemcpyKind kind = hipMemcpyDeviceToHost) {
    return hipMemcpyFromSymbol(to, static_cast<const void *>(&symbol), size, offset, kind);
}
template <typename T>
static inline hipError_t hipMemcpyFromSymbolAsync(void *to, const T &symbol, std::size_t size, std::size_t offset,
                                                  hipMemcpyKind kind, hipStream_t stream = nullptr) {
    return hipMemcpyFromSymbolAsync(to, static_cast<const void *>(&symbol), size, offset, kind, stream);
}
template <typename T>
static inline hipError_t hipGetSymbolAddress(void **pointer, const T &symbol) {
    return hipGetSymbolAddress(pointer, static_cast<const void *>(&symbol));
}
template <typename T>
static inline hipError_t hipGetSymbolSize(std::size_t *size, const T &symbol) {
    return hipGetSymbolSize(size, static_cast<const void *>(&symbol));
}

template <typename... Parameters>
static inline hipError_t hipFuncSetAttribute(void (*function)(Parameters...), hipFuncAttribute attribute, int value) {
    return hipFuncSetAttribute(reinterpret_cast<const void *>(function), attribute, value);
}
template <typename... Parameters>
static inline hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, void (*function)(Parameters...)) {
    return hipFuncGetAttributes(attributes, reinterpret_cast<const void *>(function));
}
template <typename... Parameters>
static inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*function)(Parameters...),
                                                                      int threads, std::size_t shared) {
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(function), threads,
                                                        shared);
}
template <typename... Parameters>
static inline hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, void (*function)(Parameters...),
                                                           std::size_t shared = 0, int limit = 0) {
    return hipOccupancyMaxPotentialBlockSize(grid, block, reinterpret_cast<const void *>(function), shared, limit);
}
template <typename... Parameters>
static inline hipError_t
hipOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void (*function)(Parameters...),
                                           std::size_t shared = 0, int limit = 0, unsigned = hipOccupancyDefault) {
    return hipOccupancyMaxPotentialBlockSize(grid, block, function, shared, limit);
}
// The largest block size, in whole waves, with the most concurrent threads; `shared_of` gives the shared memory of a
// block of a size.
template <typename SharedOf, typename... Parameters>
static inline hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block,
                                                                       void (*function)(Parameters...),
                                                                       SharedOf shared_of, int limit = 0) {
    int device, units, wave;
    hipFuncAttributes attributes;
    hipError_t error = hipGetDevice(&device);
    if (error == hipSuccess) error = hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device);
    if (error == hipSuccess) error = hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, device);
    if (error == hipSuccess) error = hipFuncGetAttributes(&attributes, function);
    if (error != hipSuccess) return error;
    const int most = limit > 0 && limit < attributes.maxThreadsPerBlock ? limit : attributes.maxThreadsPerBlock;
    *grid = *block = 0;
    int threads = 0;
    for (int size = most < wave ? most : most / wave * wave; size > 0; size -= wave) {
        int blocks;
        error = hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size, std::size_t(shared_of(size)));
        if (error != hipSuccess) return error;
        if (blocks * size > threads) threads = blocks * size, *block = size, *grid = blocks * units;
    }
    return hipSuccess;
}
template <typename SharedOf, typename... Parameters>
static inline hipError_t hipOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *grid, int *block,
                                                                                void (*function)(Parameters...),
                                                                                SharedOf shared_of, int limit = 0,
                                                                                unsigned = hipOccupancyDefault) {
    return hipOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, function, shared_of, limit);
}
template <typename... Parameters>
static inline hipError_t hipLaunchCooperativeKernel(void (*function)(Parameters...), dim3 grid, dim3 block,
                                                    void **arguments, unsigned shared, hipStream_t stream) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(function), grid, block, arguments, shared, stream);
}

static inline hipExtent make_hipExtent(std::size_t width, std::size_t height, std::size_t depth) {
    return hipExtent{width, height, depth};
}
static inline hipPos make_hipPos(std::size_t x, std::size_t y, std::size_t z) { return hipPos{x, y, z}; }
static inline hipPitchedPtr make_hipPitchedPtr(void *pointer, std::size_t pitch, std::size_t width,
                                               std::size_t height) {
    return hipPitchedPtr{pointer, pitch, width, height};
}

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)                                                   \
    do {                                                                                                               \
        (kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__);                                                \
    } while (0)
