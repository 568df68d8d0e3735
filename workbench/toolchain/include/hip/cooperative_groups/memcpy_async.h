// memcpy_async(group, to, from, bytes): the threads of a group copy together, typically between global memory and LDS.
//
// Copied data is visible to the group's other threads after its next sync().
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_cooperative_groups.h"

namespace cooperative_groups {

namespace impl {

template <typename Word, typename Group>
__device__ inline void copy_words(const Group &group, void *to, const void *from, std::size_t bytes) {
    for (std::size_t i = group.thread_rank(); i < bytes / sizeof(Word); i += group.size())
        static_cast<Word *>(to)[i] = static_cast<const Word *>(from)[i];
}

template <typename Group>
__device__ inline void copy(const Group &group, void *to, const void *from, std::size_t bytes) {
    const std::size_t alignment = reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from) | bytes;
    if (alignment % 16 == 0)
        copy_words<uint4>(group, to, from, bytes);
    else if (alignment % 4 == 0)
        copy_words<unsigned>(group, to, from, bytes);
    else
        copy_words<unsigned char>(group, to, from, bytes);
}

} // namespace impl

template <typename Group, typename T, typename Size, __hip_if<std::is_integral<Size>::value> = 0>
__device__ inline void memcpy_async(const Group &group, T *to, const T *from, const Size &bytes) {
    impl::copy(group, to, from, static_cast<std::size_t>(bytes));
}
// The smaller of the two numbers of elements.
template <typename Group, typename T, typename To, typename From,
          __hip_if<std::is_integral<To>::value && std::is_integral<From>::value> = 0>
__device__ inline void memcpy_async(const Group &group, T *to, const To &to_count, const T *from,
                                    const From &from_count) {
    const std::size_t there = static_cast<std::size_t>(to_count), here = static_cast<std::size_t>(from_count);
    impl::copy(group, to, from, (there < here ? there : here) * sizeof(T));
}

// Waits until the group's copies are visible to all of its threads; copies are not distinguished, so waiting for all
// but the last few is the same.
template <typename Group>
__device__ inline void wait(const Group &group) {
    group.sync();
}
template <unsigned Stages, typename Group>
__device__ inline void wait_prior(const Group &group) {
    group.sync();
}

} // namespace cooperative_groups

#include "hip/device/pop_names.h"
