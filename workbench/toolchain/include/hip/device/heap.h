// malloc, free, new and delete in kernels.
//
// The heap is memory that whoever launches the kernel gives it through the variable below. Blocks are powers of two: a
// free one is taken from the list of its size, else the heap's unused end, else a list of larger ones. Without a heap
// malloc gives null.
#pragma once

#include "hip/device/attributes.h"

// The heap: bytes in use from its start, bytes there are, then the first free block of each size, as the number of its
// 16 bytes with a count of changes in the upper half, and from byte 512 on the blocks.
extern "C" {
inline __device__ unsigned long long *hipkittens_heap = nullptr;
__device__ __attribute__((noreturn)) void __assert_fail(const char *, const char *, unsigned, const char *);
}

namespace __hip_heap {

struct block {
    unsigned size_class;
    unsigned state;
    unsigned long long next;
};
static_assert(sizeof(block) == 16);

constexpr unsigned classes = 48, live = 0x4c495645, freed = 0x46524545;

template <typename T>
__device__ inline T load(T *from) {
    return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline bool exchange(unsigned long long *at, unsigned long long &seen, unsigned long long wanted) {
    return __hip_atomic_compare_exchange_strong(at, &seen, wanted, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                                __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline block *at(unsigned long long *heap, unsigned long long number) {
    return reinterpret_cast<block *>(heap) + (number & 0xffffffff);
}

__device__ inline block *take_free(unsigned long long *heap, unsigned size_class) {
    unsigned long long *list = heap + 2 + size_class, head = load(list);
    while ((head & 0xffffffff) != 0) {
        // Another work-item may have taken the block and written its own data here: the count tells.
        const unsigned long long next = load(&at(heap, head)->next);
        if (exchange(list, head, ((head >> 32) + 1) << 32 | (next & 0xffffffff))) return at(heap, head);
    }
    return nullptr;
}

__device__ inline block *take_unused(unsigned long long *heap, unsigned size_class) {
    unsigned long long used = load(heap);
    while (used + (1ull << size_class) <= heap[1])
        if (exchange(heap, used, used + (1ull << size_class))) return at(heap, used / sizeof(block));
    return nullptr;
}

__device__ inline void *allocate(__SIZE_TYPE__ size) {
    unsigned long long *heap = hipkittens_heap;
    if (heap == nullptr || size == 0 || size > heap[1]) return nullptr;
    const unsigned smallest = 64 - __builtin_clzll(size + sizeof(block) - 1);
    block *found = nullptr;
    for (unsigned size_class = smallest; found == nullptr && size_class < classes; size_class++) {
        found = take_free(heap, size_class);
        if (found == nullptr && size_class == smallest) {
            found = take_unused(heap, size_class);
            if (found != nullptr) found->size_class = size_class;
        }
    }
    if (found == nullptr) return nullptr;
    __hip_atomic_store(&found->state, live, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return found + 1;
}

__device__ inline void release(void *pointer) {
    if (pointer == nullptr) return;
    unsigned long long *heap = hipkittens_heap;
    block *const mine = static_cast<block *>(pointer) - 1;
    const unsigned long long offset = reinterpret_cast<char *>(mine) - reinterpret_cast<char *>(heap);
    // A second free finds that the first has been there.
    if (heap == nullptr || offset >= heap[1] || offset % sizeof(block) != 0 ||
        __hip_atomic_exchange(&mine->state, freed, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) != live)
        __assert_fail("malloc gave this pointer, and it was not freed before", "hip/device/heap.h", 0, "free");
    unsigned long long *list = heap + 2 + mine->size_class, head = load(list);
    do {
        __hip_atomic_store(&mine->next, head & 0xffffffff, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } while (!exchange(list, head, ((head >> 32) + 1) << 32 | offset / sizeof(block)));
}

} // namespace __hip_heap

extern "C" {
__device__ inline void *malloc(__SIZE_TYPE__ size) { return __hip_heap::allocate(size); }
__device__ inline void free(void *pointer) { __hip_heap::release(pointer); }
}

__device__ inline void *operator new(__SIZE_TYPE__ size) { return __hip_heap::allocate(size); }
__device__ inline void *operator new[](__SIZE_TYPE__ size) { return __hip_heap::allocate(size); }
__device__ inline void operator delete(void *pointer) noexcept { __hip_heap::release(pointer); }
__device__ inline void operator delete[](void *pointer) noexcept { __hip_heap::release(pointer); }
__device__ inline void operator delete(void *pointer, __SIZE_TYPE__) noexcept { __hip_heap::release(pointer); }
__device__ inline void operator delete[](void *pointer, __SIZE_TYPE__) noexcept { __hip_heap::release(pointer); }
