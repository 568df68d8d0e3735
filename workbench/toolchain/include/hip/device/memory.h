// memcpy and similar functions in kernels, placement new and new from the heap, and functions that compilers call for
// classes with virtual functions.
//
// Declared before <cstring> is read, whose namespace imports the existing ones.
#pragma once

#include "hip/device/attributes.h"
#include "hip/device/heap.h"

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

// Entry of a table of virtual functions without an implementation.
extern "C" {
__device__ inline __attribute__((noreturn)) void __cxa_pure_virtual() { __builtin_trap(); }
__device__ inline __attribute__((noreturn)) void __cxa_deleted_virtual() { __builtin_trap(); }
}
