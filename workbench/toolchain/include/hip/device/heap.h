// malloc, free, new and delete in kernels.
//
// The heap is memory that the launcher passes through the variable below. Blocks are powers of two: a free one is taken
// from the list of its size, else from the heap's unused end, else from a list of larger ones. Without a heap malloc
// returns null.
//
// In a sanitized launch, a block has a red zone after the requested bytes, and a freed one is reused only when nothing
// else is left. The sanitizer knows the inside of a block by its size and state, and this code by its accesses of them:
// atomics of the device's scope.
#pragma once

#include "hip/device/attributes.h"

// The heap: bytes in use from its start, its size in bytes, then the first free block of each size, as the index of its
// 16 bytes with a count of changes in the upper half; the same for blocks that were freed in a sanitized launch;
// a flag for a sanitized launch; and from byte 1024 on the blocks.
extern "C" {
inline __device__ unsigned long long *hipkittens_heap = nullptr;
__device__ __attribute__((noreturn)) void __assert_fail(const char *, const char *, unsigned, const char *);
}

namespace __hip_heap {

struct block {
    unsigned size_class;
    unsigned state;
    unsigned long long next; // the next free block; in a block in use, the requested bytes
};
static_assert(sizeof(block) == 16);

constexpr unsigned classes = 48, live = 0x4c495645, freed = 0x46524545;
constexpr unsigned free_lists = 2, kept_lists = free_lists + classes, sanitized = kept_lists + classes, red_zone = 16;

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

template <typename T>
__device__ inline T put(T *at, T value) {
    return __hip_atomic_exchange(at, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}

__device__ inline block *take_free(unsigned long long *heap, unsigned long long *list) {
    unsigned long long head = load(list);
    while ((head & 0xffffffff) != 0) {
        // Another work-item may have taken the block and written its own data here; the count of changes detects that.
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

__device__ inline block *take(unsigned long long *heap, __SIZE_TYPE__ size) {
    const unsigned smallest = 64 - __builtin_clzll(size - 1);
    block *found = take_free(heap, heap + free_lists + smallest);
    if (found == nullptr) {
        found = take_unused(heap, smallest);
        if (found != nullptr) put(&found->size_class, smallest);
    }
    for (unsigned larger = smallest + 1; found == nullptr && larger < classes; larger++)
        found = take_free(heap, heap + free_lists + larger);
    for (unsigned kept = smallest; found == nullptr && kept < classes; kept++)
        found = take_free(heap, heap + kept_lists + kept);
    return found;
}

__device__ inline void *allocate(__SIZE_TYPE__ size) {
    unsigned long long *heap = hipkittens_heap;
    if (heap == nullptr || size == 0 || size > heap[1]) return nullptr;
    block *found = heap[sanitized] ? take(heap, size + sizeof(block) + red_zone) : nullptr;
    if (found == nullptr) found = take(heap, size + sizeof(block));
    if (found == nullptr) return nullptr;
    put(&found->next, static_cast<unsigned long long>(size));
    put(&found->state, live);
    return found + 1;
}

__device__ inline void release(void *pointer) {
    if (pointer == nullptr) return;
    unsigned long long *heap = hipkittens_heap;
    block *const mine = static_cast<block *>(pointer) - 1;
    const unsigned long long offset = reinterpret_cast<char *>(mine) - reinterpret_cast<char *>(heap);
    // A second free sees the state that the first one left.
    if (heap == nullptr || offset >= heap[1] || offset % sizeof(block) != 0 || put(&mine->state, freed) != live)
        __assert_fail("malloc gave this pointer, and it was not freed before", "hip/device/heap.h", 0, "free");
    unsigned long long *list = heap + (heap[sanitized] ? kept_lists : free_lists) + load(&mine->size_class);
    unsigned long long head = load(list);
    do {
        put(&mine->next, head & 0xffffffff);
    } while (!exchange(list, head, ((head >> 32) + 1) << 32 | offset / sizeof(block)));
}

// Blocks begin at multiples of 16 bytes; for a larger alignment, the block's own address is stored before the result.
__device__ inline void *allocate_aligned(__SIZE_TYPE__ size, __SIZE_TYPE__ alignment) {
    if (alignment <= sizeof(block)) return allocate(size);
    char *const own = static_cast<char *>(allocate(size + alignment));
    if (own == nullptr) return nullptr;
    const __SIZE_TYPE__ past = reinterpret_cast<__SIZE_TYPE__>(own) % alignment;
    void **const given = reinterpret_cast<void **>(own + alignment - past);
    given[-1] = own;
    return given;
}

__device__ inline void release_aligned(void *pointer, __SIZE_TYPE__ alignment) {
    const bool moved = pointer != nullptr && alignment > sizeof(block);
    release(moved ? static_cast<void **>(pointer)[-1] : pointer);
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

// Used for types with an alignment above the compiler's default, which is 8 or 16 bytes.
namespace std {
enum class align_val_t : __SIZE_TYPE__;
}

__device__ inline void *operator new(__SIZE_TYPE__ size, std::align_val_t alignment) {
    return __hip_heap::allocate_aligned(size, static_cast<__SIZE_TYPE__>(alignment));
}
__device__ inline void *operator new[](__SIZE_TYPE__ size, std::align_val_t alignment) {
    return __hip_heap::allocate_aligned(size, static_cast<__SIZE_TYPE__>(alignment));
}
__device__ inline void operator delete(void *pointer, std::align_val_t alignment) noexcept {
    __hip_heap::release_aligned(pointer, static_cast<__SIZE_TYPE__>(alignment));
}
__device__ inline void operator delete[](void *pointer, std::align_val_t alignment) noexcept {
    __hip_heap::release_aligned(pointer, static_cast<__SIZE_TYPE__>(alignment));
}
__device__ inline void operator delete(void *pointer, __SIZE_TYPE__, std::align_val_t alignment) noexcept {
    __hip_heap::release_aligned(pointer, static_cast<__SIZE_TYPE__>(alignment));
}
__device__ inline void operator delete[](void *pointer, __SIZE_TYPE__, std::align_val_t alignment) noexcept {
    __hip_heap::release_aligned(pointer, static_cast<__SIZE_TYPE__>(alignment));
}
