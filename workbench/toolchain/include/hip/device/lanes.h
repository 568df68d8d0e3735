// Exchange between the 64 lanes of a wave: shuffles, votes, and which lane this is.
#pragma once

#include "hip/device/attributes.h"
#include "hip/device/integers.h"

#include <type_traits>

__hip_device_inline unsigned __mbcnt_lo(unsigned mask, unsigned sum) { return __builtin_amdgcn_mbcnt_lo(mask, sum); }
__hip_device_inline unsigned __mbcnt_hi(unsigned mask, unsigned sum) { return __builtin_amdgcn_mbcnt_hi(mask, sum); }
__hip_device_inline unsigned __lane_id() { return __mbcnt_hi(~0u, __mbcnt_lo(~0u, 0u)); }

// A number for the compute unit that this wave is on: its chiplet, its shader engine (bits 13 to 15 of HW_ID) and its
// place there (bits 8 to 11).
__hip_device_inline unsigned __smid() {
    constexpr int hw_id = 4;
    const unsigned place = __builtin_amdgcn_s_getreg(3 << 11 | 8 << 6 | hw_id);
    const unsigned engine = __builtin_amdgcn_s_getreg(2 << 11 | 13 << 6 | hw_id);
#if defined(__gfx90a__)
    const unsigned chiplet = 0;
#else
    constexpr int xcc_id = 20;
    const unsigned chiplet = __builtin_amdgcn_s_getreg(3 << 11 | xcc_id);
#endif
    return (chiplet << 3 | engine) << 4 | place;
}

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
template <typename T, __hip_if<std::is_trivially_copyable<T>::value && (sizeof(T) <= 32)> = 0>
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
template <typename T, __hip_if<std::is_trivially_copyable<T>::value> = 0>
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
template <typename T>
__device__ inline unsigned long long __match_any_sync(unsigned long long mask, T value) {
    return __match_any(value) & mask;
}
template <typename T>
__device__ inline unsigned long long __match_all_sync(unsigned long long mask, T value, int *predicate) {
    const T first = __hip_from_lane(value, __builtin_ctzll(mask));
    *predicate = __all_sync(mask, __hip_same_bits(first, value));
    return *predicate ? mask : 0;
}

// The lanes of the mask combined in a tree of their order; each of them gets the result.
template <typename T, typename Operation>
__device__ inline T __hip_reduce(unsigned long long mask, T value, Operation operation) {
    const unsigned count = (unsigned)__builtin_popcountll(mask);
    const unsigned rank = (unsigned)__builtin_popcountll(mask & __lanemask_lt());
    for (unsigned step = 32; step != 0; step /= 2) {
        const bool there = rank < step && rank + step < count;
        const T other = __hip_from_lane(value, there ? (int)__hip_nth_bit(mask, rank + step) : (int)__lane_id());
        if (there) value = operation(value, other);
    }
    return __hip_from_lane(value, __builtin_ctzll(mask));
}
#define __HIP_REDUCE(name, result)                                                                                     \
    template <typename T>                                                                                              \
    __device__ inline T __reduce_##name##_sync(unsigned long long mask, T value) {                                     \
        return __hip_reduce(mask, value, [](T a, T b) -> T { return result; });                                        \
    }
__HIP_REDUCE(add, a + b)
__HIP_REDUCE(min, b < a ? b : a)
__HIP_REDUCE(max, a < b ? b : a)
__HIP_REDUCE(and, a &b)
__HIP_REDUCE(or, a | b)
__HIP_REDUCE(xor, a ^ b)
#undef __HIP_REDUCE

// The instructions behind, by HIP's names: indices of ds_permute and ds_bpermute count bytes.
__hip_device_inline int __hip_ds_bpermute(int index, int value) { return __builtin_amdgcn_ds_bpermute(index, value); }
__hip_device_inline int __hip_ds_permute(int index, int value) { return __builtin_amdgcn_ds_permute(index, value); }
__hip_device_inline float __hip_ds_bpermutef(int index, float value) {
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(index, __builtin_bit_cast(int, value)));
}
__hip_device_inline float __hip_ds_permutef(int index, float value) {
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_permute(index, __builtin_bit_cast(int, value)));
}
template <int pattern>
__device__ inline __attribute__((always_inline)) int __hip_ds_swizzle_N(int value) {
    return __builtin_amdgcn_ds_swizzle(value, pattern);
}
template <int pattern>
__device__ inline __attribute__((always_inline)) float __hip_ds_swizzlef_N(float value) {
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_swizzle(__builtin_bit_cast(int, value), pattern));
}
template <int control, int row_mask, int bank_mask, bool bound_control>
__device__ inline __attribute__((always_inline)) int __hip_move_dpp_N(int value) {
    return __builtin_amdgcn_mov_dpp(value, control, row_mask, bank_mask, bound_control);
}
#define __hip_ds_swizzle(value, pattern) __hip_ds_swizzle_N<(pattern)>((value))
#define __hip_ds_swizzlef(value, pattern) __hip_ds_swizzlef_N<(pattern)>((value))
#define __hip_move_dpp(value, control, row_mask, bank_mask, bound_control)                                             \
    __hip_move_dpp_N<(control), (row_mask), (bank_mask), (bound_control)>((value))
