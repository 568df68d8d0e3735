// Exchange between the 64 lanes of a wave: shuffles, votes, and which lane this is.
#pragma once

#include "hip/device/attributes.h"

#include <type_traits>

__hip_device_inline unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

__hip_device_inline unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate != 0); }
__hip_device_inline unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
__hip_device_inline unsigned long long __activemask() { return __builtin_amdgcn_ballot_w64(true); }
__hip_device_inline int __any(int predicate) { return __ballot(predicate) != 0; }
__hip_device_inline int __all(int predicate) { return __ballot(predicate == 0) == 0; }
__hip_device_inline unsigned long long __lanemask_lt() { return (1ull << __lane_id()) - 1; }
__hip_device_inline unsigned long long __lanemask_le() { return __lanemask_lt() << 1 | 1; }
__hip_device_inline unsigned long long __lanemask_eq() { return 1ull << __lane_id(); }
__hip_device_inline unsigned long long __lanemask_gt() { return ~__lanemask_le(); }
__hip_device_inline unsigned long long __lanemask_ge() { return ~__lanemask_lt(); }

// A value of 1 to 32 bytes from another lane, moved in words of 32 bits. A lane that is not active gives 0.
template <typename T>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) <= 32)
__device__ inline __attribute__((always_inline)) T __hip_from_lane(T value, int lane) {
    int words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
    for (unsigned i = 0; i < (sizeof(T) + 3) / 4; ++i) words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
    T result;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
}

// The lanes form groups of `width`, a power of two up to 64. A source outside the group is the lane itself.
template <typename T>
__device__ inline __attribute__((always_inline)) T __shfl(T value, int source, int width = 64) {
    int self = (int)__lane_id();
    return __hip_from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __shfl_up(T value, unsigned delta, int width = 64) {
    int self = (int)__lane_id(), source = self - (int)delta;
    return __hip_from_lane(value, source < (self & ~(width - 1)) ? self : source);
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __shfl_down(T value, unsigned delta, int width = 64) {
    int self = (int)__lane_id();
    return __hip_from_lane(value, (int)((self & (width - 1)) + delta) >= width ? self : self + (int)delta);
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __shfl_xor(T value, int mask, int width = 64) {
    int self = (int)__lane_id(), source = self ^ mask;
    return __hip_from_lane(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}

// The forms with a mask of lanes that take part: all active lanes do so at once on this target.
template <typename M, typename T>
__device__ inline __attribute__((always_inline)) T __shfl_sync(M, T value, int source, int width = 64) {
    return __shfl(value, source, width);
}
template <typename M, typename T>
__device__ inline __attribute__((always_inline)) T __shfl_up_sync(M, T value, unsigned delta, int width = 64) {
    return __shfl_up(value, delta, width);
}
template <typename M, typename T>
__device__ inline __attribute__((always_inline)) T __shfl_down_sync(M, T value, unsigned delta, int width = 64) {
    return __shfl_down(value, delta, width);
}
template <typename M, typename T>
__device__ inline __attribute__((always_inline)) T __shfl_xor_sync(M, T value, int mask, int width = 64) {
    return __shfl_xor(value, mask, width);
}
__hip_device_inline unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
    return __ballot(predicate) & mask;
}
__hip_device_inline int __any_sync(unsigned long long mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
__hip_device_inline int __all_sync(unsigned long long mask, int predicate) {
    return __ballot_sync(mask, predicate == 0) == 0;
}

// Whether two values have the same bits.
template <typename T>
    requires std::is_trivially_copyable_v<T>
__device__ inline __attribute__((always_inline)) bool __hip_same_bits(T a, T b) {
    if constexpr (sizeof(T) == 1)
        return __builtin_bit_cast(unsigned char, a) == __builtin_bit_cast(unsigned char, b);
    else if constexpr (sizeof(T) == 2)
        return __builtin_bit_cast(unsigned short, a) == __builtin_bit_cast(unsigned short, b);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bit_cast(unsigned, a) == __builtin_bit_cast(unsigned, b);
    else {
        static_assert(sizeof(T) == 8, "values of 1, 2, 4 or 8 bytes are compared");
        return __builtin_bit_cast(unsigned long long, a) == __builtin_bit_cast(unsigned long long, b);
    }
}

// For each lane the active lanes that hold the same value.
template <typename T>
__device__ inline unsigned long long __match_any(T value) {
    unsigned long long left = __activemask(), result = 0;
    while (left != 0) {
        T first = __hip_from_lane(value, __builtin_ctzll(left));
        unsigned long long same = __builtin_amdgcn_ballot_w64(__hip_same_bits(first, value)) & left;
        if (same >> __lane_id() & 1) result = same;
        left &= ~same;
    }
    return result;
}
template <typename T>
__device__ inline unsigned long long __match_all(T value, int *predicate) {
    unsigned long long active = __activemask();
    T first = __hip_from_lane(value, __builtin_ctzll(active));
    *predicate = __all(__hip_same_bits(first, value));
    return *predicate ? active : 0;
}
