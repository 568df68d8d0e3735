/**
 * @file
 * @brief Values from one lane to another.
 */
#pragma once

#include "base_ops.cuh"
#include "util.cuh"

namespace kittens {
namespace detail {

/** DPP controls: the lane that a lane reads from, within its group of 4, 8 or 16 lanes. */
enum : int {
    DPP_QUAD_XOR_1 = 0xb1,       // lanes 1 0 3 2 of each four
    DPP_QUAD_XOR_2 = 0x4e,       // lanes 2 3 0 1
    DPP_QUAD_XOR_3 = 0x1b,       // lanes 3 2 1 0
    DPP_ROW_ROTATE_8 = 0x128,    // lane l of each sixteen reads l xor 8
    DPP_ROW_HALF_MIRROR = 0x141, // lane l of each eight reads l xor 7
};

template <int control>
__device__ inline unsigned dpp(unsigned value) {
    return static_cast<unsigned>(__builtin_amdgcn_update_dpp(0, static_cast<int>(value), control, 0xf, 0xf, true));
}

/** The value of the lane whose number is this one's xor `mask`, a power of two below WARP_THREADS. All lanes take part.
 */
template <int mask>
__device__ inline unsigned lane_xor(unsigned value) {
    static_assert(is_power_of_two(mask) && mask < WARP_THREADS,
                  "lane_xor: the mask is a power of two below the number of lanes");
    if constexpr (mask == 1)
        return dpp<DPP_QUAD_XOR_1>(value);
    else if constexpr (mask == 2)
        return dpp<DPP_QUAD_XOR_2>(value);
    else if constexpr (mask == 4)
        return dpp<DPP_QUAD_XOR_3>(dpp<DPP_ROW_HALF_MIRROR>(value));
    else if constexpr (mask == 8)
        return dpp<DPP_ROW_ROTATE_8>(value);
    else if constexpr (mask == 16)
        return static_cast<unsigned>(__builtin_amdgcn_ds_swizzle(static_cast<int>(value), 0x401f));
    else
        return static_cast<unsigned>(__builtin_amdgcn_ds_bpermute((laneid() ^ 32) * 4, static_cast<int>(value)));
}

/** The same for any type of at most 4 bytes, or of 8. */
template <int mask, typename T>
__device__ inline T lane_xor(const T &value) {
    if constexpr (sizeof(T) == 8) {
        u32x2 words = bit_cast<u32x2>(value);
        words[0] = lane_xor<mask>(words[0]);
        words[1] = lane_xor<mask>(words[1]);
        return bit_cast<T>(words);
    } else if constexpr (sizeof(T) == 4) {
        return bit_cast<T>(lane_xor<mask>(bit_cast<unsigned>(value)));
    } else if constexpr (sizeof(T) == 2) {
        return bit_cast<T>(
            static_cast<unsigned short>(lane_xor<mask>(static_cast<unsigned>(bit_cast<unsigned short>(value)))));
    } else {
        return bit_cast<T>(
            static_cast<unsigned char>(lane_xor<mask>(static_cast<unsigned>(bit_cast<unsigned char>(value)))));
    }
}

#if defined(KITTENS_CDNA4)
/** A lane's bits and those of the lane xor 16 or 32; the lane in the even group comes first. */
template <int mask>
__device__ inline u32x2 both_groups(unsigned bits) {
    // These exchange the odd groups of 16 (32) lanes of one register with the even ones of another, so that one of two
    // copies of a value gets the even groups' values, and the other the odd groups'.
    if constexpr (mask == 16) {
        const auto both = __builtin_amdgcn_permlane16_swap(bits, bits, false, false);
        return {both[0], both[1]};
    } else {
        const auto both = __builtin_amdgcn_permlane32_swap(bits, bits, false, false);
        return {both[0], both[1]};
    }
}
#endif

/** `op`, which is commutative, of this lane's value and that of the lane whose number is this one's xor `mask`. */
template <typename op, int mask, typename T>
__device__ inline T combine_xor(const T &value) {
#if defined(KITTENS_CDNA4)
    if constexpr (sizeof(T) == 4 && mask >= 16) {
        const u32x2 both = both_groups<mask>(bit_cast<unsigned>(value));
        return op::template op<T>(bit_cast<T>(static_cast<unsigned>(both[0])),
                                  bit_cast<T>(static_cast<unsigned>(both[1])));
    } else if constexpr (sizeof(T) == 8 && mask >= 16) {
        const u32x2 words = bit_cast<u32x2>(value);
        const u32x2 low = both_groups<mask>(words[0]), high = both_groups<mask>(words[1]);
        return op::template op<T>(bit_cast<T>(u32x2{low[0], high[0]}), bit_cast<T>(u32x2{low[1], high[1]}));
    } else
#endif
        return op::template op<T>(value, lane_xor<mask>(value));
}

/**
 * @brief `op` over all lanes whose numbers differ only in the bits `first`, 2 `first`, ..., `last`; each of them gets
 * the result.
 */
template <typename op, int first, int last, typename T>
__device__ inline T reduce_lanes(const T &value) {
    if constexpr (first > last)
        return value;
    else
        return reduce_lanes<op, 2 * first, last>(combine_xor<op, first>(value));
}

/** The value of lane `source`, which may differ from lane to lane; T of 1, 2, 4 or 8 bytes. All lanes take part. */
template <typename T>
__device__ inline T from_lane(const T &value, int source) {
    if constexpr (sizeof(T) == 8) {
        u32x2 words = bit_cast<u32x2>(value);
        words[0] = from_lane(words[0], source);
        words[1] = from_lane(words[1], source);
        return bit_cast<T>(words);
    } else if constexpr (sizeof(T) == 4) {
        return bit_cast<T>(__builtin_amdgcn_ds_bpermute(source * 4, bit_cast<int>(value)));
    } else {
        using bits = select<sizeof(T) == 2, unsigned short, unsigned char>;
        return bit_cast<T>(static_cast<bits>(from_lane(static_cast<unsigned>(bit_cast<bits>(value)), source)));
    }
}

} // namespace detail

/** The value, packed or not, of lane `source` (modulo WARP_THREADS). `mask` exists for source compatibility. */
template <typename T>
__device__ inline T packed_shfl([[maybe_unused]] uint64_t mask, const T &value, int source) {
    return detail::from_lane(value, source & (WARP_THREADS - 1));
}
/** The value of the lane `delta` further up; the lane's own value if there is none. */
template <typename T>
__device__ inline T packed_shfl_down([[maybe_unused]] uint64_t mask, const T &value, int delta) {
    const int source = laneid() + delta;
    return detail::from_lane(value, source < WARP_THREADS ? source : laneid());
}

} // namespace kittens
