// memcpy and its like in kernels, new where there is room already, and what compilers call for classes with
// virtual functions. Kernels have no heap.
//
// Declared before <cstring> is read, whose namespace takes what is there.
#pragma once

#include "hip/device/attributes.h"

extern "C" {
__device__ inline __attribute__((always_inline)) void *memcpy(void *to, const void *from, __SIZE_TYPE__ size) {
    return __builtin_memcpy(to, from, size);
}
__device__ inline __attribute__((always_inline)) void *memmove(void *to, const void *from, __SIZE_TYPE__ size) {
    return __builtin_memmove(to, from, size);
}
__device__ inline __attribute__((always_inline)) void *memset(void *to, int value, __SIZE_TYPE__ size) {
    return __builtin_memset(to, value, size);
}
}

__device__ inline __attribute__((always_inline)) void *operator new(__SIZE_TYPE__, void *place) noexcept {
    return place;
}
__device__ inline __attribute__((always_inline)) void *operator new[](__SIZE_TYPE__, void *place) noexcept {
    return place;
}
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
// A class with a virtual destructor names these; what they would free cannot come from a kernel.
__device__ inline void operator delete(void *pointer) noexcept {
    if (pointer != nullptr) __builtin_trap();
}
__device__ inline void operator delete[](void *pointer) noexcept {
    if (pointer != nullptr) __builtin_trap();
}
__device__ inline void operator delete(void *pointer, __SIZE_TYPE__) noexcept {
    if (pointer != nullptr) __builtin_trap();
}
__device__ inline void operator delete[](void *pointer, __SIZE_TYPE__) noexcept {
    if (pointer != nullptr) __builtin_trap();
}

#define __HIP_NO_DEVICE_HEAP                                                                                           \
    __attribute__((                                                                                                    \
        unavailable("kernels have no heap here: allocate with hipMalloc before the launch, or use an array")))
extern "C" {
__device__ void *malloc(__SIZE_TYPE__ size) __HIP_NO_DEVICE_HEAP;
__device__ void free(void *pointer) __HIP_NO_DEVICE_HEAP;
}
#undef __HIP_NO_DEVICE_HEAP

// What a table of virtual functions holds where there is none to call.
extern "C" {
__device__ inline __attribute__((noreturn)) void __cxa_pure_virtual() { __builtin_trap(); }
__device__ inline __attribute__((noreturn)) void __cxa_deleted_virtual() { __builtin_trap(); }
}
