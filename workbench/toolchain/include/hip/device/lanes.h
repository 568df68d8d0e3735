// Exchange between the 64 lanes of a wave: shuffles, votes, and which lane this is.
#pragma once

#include "hip/device/attributes.h"
#include "hip/device/integers.h"
#include "hip/device/synchronization.h"

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
__hip_device_inline unsigned long long __hip_active_lanes() { return __builtin_amdgcn_ballot_w64(true); }
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
__device__ inline __attribute__((always_inline)) T __hip_shfl(T value, int source, int width) {
    int self = (int)__lane_id();
    return __hip_from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __hip_shfl_up(T value, unsigned delta, int width) {
    int self = (int)__lane_id(), source = self - (int)delta;
    return __hip_from_lane(value, source < (self & ~(width - 1)) ? self : source);
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __hip_shfl_down(T value, unsigned delta, int width) {
    int self = (int)__lane_id();
    return __hip_from_lane(value, (int)((self & (width - 1)) + delta) >= width ? self : self + (int)delta);
}
template <typename T>
__device__ inline __attribute__((always_inline)) T __hip_shfl_xor(T value, int mask, int width) {
    int self = (int)__lane_id(), source = self ^ mask;
    return __hip_from_lane(value, source >= ((self + width) & ~(width - 1)) ? self : source);
}

// As ROCm's headers have them (amd_warp_functions.h): numbers of 4 and 8 bytes, to which smaller ones are promoted.
// hip_fp16.h and hip_bf16.h add their types.
#define __HIP_SHUFFLE(name, T, Source)                                                                                 \
    __device__ inline __attribute__((always_inline)) T __##name(T value, Source source, int width = 64) {              \
        return __hip_##name(value, source, width);                                                                     \
    }
#define __HIP_SHUFFLES(T)                                                                                              \
    __HIP_SHUFFLE(shfl, T, int)                                                                                        \
    __HIP_SHUFFLE(shfl_up, T, unsigned) __HIP_SHUFFLE(shfl_down, T, unsigned) __HIP_SHUFFLE(shfl_xor, T, int)
__HIP_SHUFFLES(int)
__HIP_SHUFFLES(unsigned)
__HIP_SHUFFLES(long)
__HIP_SHUFFLES(unsigned long)
__HIP_SHUFFLES(long long)
__HIP_SHUFFLES(unsigned long long)
__HIP_SHUFFLES(float)
__HIP_SHUFFLES(double)
#undef __HIP_SHUFFLES
#undef __HIP_SHUFFLE

// Pairs of bf16 are shuffled with a mask alone (amd_hip_bf16.h).
struct __hip_bfloat162;
#define __HIP_SHUFFLE(name, Source)                                                                                    \
    template <typename T, __hip_if<std::is_same<T, __hip_bfloat162>::value> = 0>                                       \
    __device__ T __##name(T value, Source source, int width = 64) = delete;
__HIP_SHUFFLE(shfl, int)
__HIP_SHUFFLE(shfl_up, unsigned)
__HIP_SHUFFLE(shfl_down, unsigned)
__HIP_SHUFFLE(shfl_xor, int)
#undef __HIP_SHUFFLE

// The lanes of the mask combined in a tree of neighbours, as ROCm's headers do; each of them gets the result.
template <typename T, typename Operation>
__device__ inline T __hip_reduce(unsigned long long mask, T value, Operation operation) {
    const unsigned count = (unsigned)__builtin_popcountll(mask);
    const unsigned rank = (unsigned)__builtin_popcountll(mask & __lanemask_lt());
    for (unsigned step = 1; step < count; step *= 2) {
        const bool there = rank + step < count;
        const T other = __hip_from_lane(value, there ? (int)__hip_nth_bit(mask, rank + step) : (int)__lane_id());
        if (there) value = operation(value, other);
    }
    return __hip_from_lane(value, __builtin_ctzll(mask));
}

// ROCm 7 omits these if this macro is defined.
#if !defined(HIP_DISABLE_WARP_SYNC_BUILTINS)
__hip_device_inline unsigned long long __activemask() { return __hip_active_lanes(); }

// Stops the wave because of a mask in s[0:1]; s[2:3] has the lanes that came with it. To hardware this is trap 2, as of
// __builtin_trap: it ignores the bits above the trap's number, which tell the emulated device the cause.
__device__ __attribute__((always_inline)) inline void __hip_mask_trap(unsigned long long mask,
                                                                      unsigned long long lanes) {
    // The result of readfirstlane is in scalar registers at -O0 too.
    asm volatile(
        "s_mov_b32 s0, %0\n\ts_mov_b32 s1, %1\n\ts_mov_b32 s2, %2\n\ts_mov_b32 s3, %3\n\ts_trap 0x4d02"
        :
        : "s"(__builtin_amdgcn_readfirstlane((int)mask)), "s"(__builtin_amdgcn_readfirstlane((int)(mask >> 32))),
          "s"(__builtin_amdgcn_readfirstlane((int)lanes)), "s"(__builtin_amdgcn_readfirstlane((int)(lanes >> 32)))
        : "s0", "s1", "s2", "s3");
    __builtin_trap();
}

// The requirement of ROCm's headers on a mask: the lanes that come with one mask are exactly those that it names, so
// that the masks of a divergent one divide the active lanes among them. Otherwise they trap, unless NDEBUG is defined
// (amd_warp_sync_functions.h, __hip_check_mask).
template <typename M>
__device__ __attribute__((always_inline)) inline void __hip_check_mask(M mask) {
    static_assert(std::is_integral<M>::value && sizeof(M) == 8,
                  "The mask must be a 64-bit integer, one bit a lane of the wave: write ~0ull or a 64-bit variable. A "
                  "smaller one that is promoted is almost always an error");
#if !defined(NDEBUG)
    const unsigned long long bits = (unsigned long long)mask, active = __hip_active_lanes();
    if (__builtin_constant_p(mask)) {
        if (bits != active) __hip_mask_trap(bits, active);
        return;
    }
    unsigned long long left = __builtin_amdgcn_ballot_w64(bits != active);
    while (left != 0) {
        const int first = __builtin_ctzll(left);
        const unsigned low = (unsigned)__builtin_amdgcn_readlane((int)(unsigned)bits, first);
        const unsigned high = (unsigned)__builtin_amdgcn_readlane((int)(unsigned)(bits >> 32), first);
        const unsigned long long chosen = (unsigned long long)high << 32 | low;
        const unsigned long long lanes = __builtin_amdgcn_ballot_w64(bits == chosen);
        if (lanes != chosen) __hip_mask_trap(chosen, lanes);
        left &= ~lanes;
    }
#endif
}

template <typename M>
__device__ __attribute__((always_inline)) inline void __syncwarp(M mask) {
    __hip_check_mask(mask);
    __syncwarp();
}
template <typename M>
__device__ __attribute__((always_inline)) inline unsigned long long __ballot_sync(M mask, int predicate) {
    __hip_check_mask(mask);
    return __ballot(predicate) & (unsigned long long)mask;
}
template <typename M>
__device__ __attribute__((always_inline)) inline int __any_sync(M mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
template <typename M>
__device__ __attribute__((always_inline)) inline int __all_sync(M mask, int predicate) {
    return __ballot_sync(mask, predicate) == (unsigned long long)mask;
}

// The shuffles' types. For pairs of bf16 hip_bf16.h has functions whose masks are unsigned long long and no other type.
#define __HIP_SHUFFLE_SYNC(name, Source)                                                                               \
    template <typename M, typename T>                                                                                  \
    __device__ __attribute__((always_inline)) inline auto __##name##_sync(                                             \
        M mask, T value, Source source, int width = 64) -> decltype(static_cast<T>(__##name(value, source, width))) {  \
        __hip_check_mask(mask);                                                                                        \
        return static_cast<T>(__##name(value, source, width));                                                         \
    }                                                                                                                  \
    template <typename M, typename T, __hip_if<std::is_same<T, __hip_bfloat162>::value> = 0>                           \
    __device__ __attribute__((always_inline)) inline T __##name##_sync(M mask, T value, Source source,                 \
                                                                       int width = 64) {                               \
        __hip_check_mask(mask);                                                                                        \
        return __##name(value, source, width);                                                                         \
    }
__HIP_SHUFFLE_SYNC(shfl, int)
__HIP_SHUFFLE_SYNC(shfl_up, unsigned)
__HIP_SHUFFLE_SYNC(shfl_down, unsigned)
__HIP_SHUFFLE_SYNC(shfl_xor, int)
#undef __HIP_SHUFFLE_SYNC

// For each lane, the mask of active lanes with the same value. As in ROCm, it loops endlessly for a value that equals
// nothing, a NaN.
template <typename T>
__device__ inline unsigned long long __match_any(T value) {
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "values that are matched are int, long, long long, signed or unsigned, float or double");
    unsigned long long left = __hip_active_lanes(), result = 0;
    while (left != 0) {
        const T first = __hip_from_lane(value, __builtin_ctzll(left));
        const unsigned long long same = __builtin_amdgcn_ballot_w64(first == value) & left;
        if (same >> __lane_id() & 1) result = same;
        left &= ~same;
    }
    return result;
}
template <typename T>
__device__ inline unsigned long long __hip_match_all(unsigned long long lanes, T value, int *predicate) {
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "values that are matched are int, long, long long, signed or unsigned, float or double");
    const T first = __hip_from_lane(value, __builtin_ctzll(lanes));
    *predicate = (__ballot(first == value) & lanes) == lanes;
    return *predicate ? lanes : 0;
}
template <typename T>
__device__ inline unsigned long long __match_all(T value, int *predicate) {
    return __hip_match_all(__hip_active_lanes(), value, predicate);
}
template <typename M, typename T>
__device__ __attribute__((always_inline)) inline unsigned long long __match_any_sync(M mask, T value) {
    __hip_check_mask(mask);
    return __match_any(value) & (unsigned long long)mask;
}
template <typename M, typename T>
__device__ __attribute__((always_inline)) inline unsigned long long __match_all_sync(M mask, T value, int *predicate) {
    __hip_check_mask(mask);
    return __hip_match_all((unsigned long long)mask, value, predicate);
}

// As ROCm has them: sums, minima and maxima of int and unsigned, bits of unsigned; of further types where the program
// asks for them.
#define __HIP_REDUCE(name, T, result)                                                                                  \
    template <typename M>                                                                                              \
    __device__ __attribute__((always_inline)) inline T __reduce_##name##_sync(M mask, T value) {                       \
        __hip_check_mask(mask);                                                                                        \
        return __hip_reduce((unsigned long long)mask, value, [](T a, T b) -> T { return result; });                    \
    }
#define __HIP_REDUCE_NUMBERS(T)                                                                                        \
    __HIP_REDUCE(add, T, a + b) __HIP_REDUCE(min, T, b < a ? b : a) __HIP_REDUCE(max, T, a < b ? b : a)
#define __HIP_REDUCE_BITS(T) __HIP_REDUCE(and, T, a &b) __HIP_REDUCE(or, T, a | b) __HIP_REDUCE(xor, T, a ^ b)
__HIP_REDUCE_NUMBERS(int)
__HIP_REDUCE_NUMBERS(unsigned)
__HIP_REDUCE_BITS(unsigned)
#if defined(HIP_ENABLE_EXTRA_WARP_SYNC_TYPES)
__HIP_REDUCE_NUMBERS(long long)
__HIP_REDUCE_NUMBERS(unsigned long long)
__HIP_REDUCE_NUMBERS(float)
__HIP_REDUCE_NUMBERS(double)
__HIP_REDUCE_BITS(int)
__HIP_REDUCE_BITS(long long)
__HIP_REDUCE_BITS(unsigned long long)
#endif
#undef __HIP_REDUCE_BITS
#undef __HIP_REDUCE_NUMBERS
#undef __HIP_REDUCE
#endif

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
