/**
 * @file
 * @brief Mixtures of experts: loads of 16-, 8- and 4-bit elements from global memory to tiles.
 *
 * If the matrix instructions take elements as they are stored, a lane loads eight bytes at a time. Otherwise it
 * converts them to bf16, eight consecutive elements at a time; the conversion is exact unless noted: bf16 has 8
 * significant bits.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::experts {

/** Eight numbers of bf16. */
struct alignas(16) eight {
    bf16_2 pairs[4];
};

__device__ inline eight rounded(const float (&x)[8]) {
    eight made;
#pragma unroll
    for (int i = 0; i < 4; i++)
        made.pairs[i] = base_types::convertor<bf16_2, float2>::convert(float2{x[2 * i], x[2 * i + 1]});
    return made;
}

/** 2^(s - 127) of a scale s from 1 to 254. */
__device__ inline float power_of(unsigned scale) { return __builtin_bit_cast(float, scale << 23); }

/** Twice the value of an e2m1 code. */
__device__ inline float twice_e2m1(unsigned code) {
    const auto size = static_cast<float>(0xc8643210u >> 4 * (code & 7) & 15);
    return code & 8 ? -size : size;
}

/** Parameters of operands other than their elements. */
struct extras {
    /** Scales of blocks of 32 along K: of A (rows, K / 32), of B (experts, K / 32, N). */
    const unsigned char *powers_a, *powers_b;
    /** Zero points of 4-bit integers of B: (experts, K / group, N); 8 if null. Rounded to bf16. */
    const float *zero;
    int group;
};

/** Elements of one type, stored unpacked. */
template <typename T>
struct whole {
    using stored = T;
    static constexpr int per_element = 1;
    struct alignas(8 * sizeof(T) > 16 ? 16 : 8 * sizeof(T)) raw {
        T numbers[8];
    };

    static __device__ inline eight widened(const raw &from) {
        if constexpr (detail::is_same<T, bf16>) {
            return __builtin_bit_cast(eight, from);
        } else {
            float numbers[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                if constexpr (detail::is_same<T, int8>)
                    numbers[i] = static_cast<float>(from.numbers[i]);
                else
                    numbers[i] = base_types::convertor<float, T>::convert(from.numbers[i]);
            }
            return rounded(numbers);
        }
    }

    /** Eight along a row. */
    struct along {
        raw numbers;
        __device__ inline void fetch(const stored *row, int col, const unsigned char *) {
            numbers = *reinterpret_cast<const raw *>(row + col);
        }
        __device__ inline eight widen() const { return widened(numbers); }
    };
    /** Eight columns of one row of B, starting at `first`. */
    struct across {
        raw numbers;
        __device__ inline void fetch(const stored *first, const extras &, int, int, int, int, int) {
            numbers = *reinterpret_cast<const raw *>(first);
        }
        __device__ inline eight widen(int) const { return widened(numbers); }
    };
};

/** e2m1 elements, two (adjacent along K) per byte, lowest bits first, with a power of two for each 32. */
struct fp4 {
    using stored = unsigned char;
    static constexpr int per_element = 2;

    struct along {
        unsigned codes;
        float scale;
        /** @param row its bytes; @param col column in elements. */
        __device__ inline void fetch(const stored *row, int col, const unsigned char *powers) {
            codes = *reinterpret_cast<const unsigned *>(row + col / 2);
            scale = 0.5f * power_of(powers[col / 32]);
        }
        __device__ inline eight widen() const {
            float numbers[8];
#pragma unroll
            for (int i = 0; i < 8; i++) numbers[i] = scale * twice_e2m1(codes >> 4 * i);
            return rounded(numbers);
        }
    };
    struct across {
        /** Both elements of a byte in each of eight columns, and their scale. */
        uint2 codes, scales;
        __device__ inline void fetch(const stored *first, const extras &by, int expert, int k, int n, int depth,
                                     int cols) {
            codes = *reinterpret_cast<const uint2 *>(first);
            const size_t at = (static_cast<size_t>(expert) * (depth / 32) + k / 32) * cols + n;
            scales = *reinterpret_cast<const uint2 *>(by.powers_b + at);
        }
        /** @param which of the two rows of K. */
        __device__ inline eight widen(int which) const {
            float numbers[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const unsigned byte = (i < 4 ? codes.x : codes.y) >> 8 * (i % 4);
                const unsigned scale = (i < 4 ? scales.x : scales.y) >> 8 * (i % 4) & 255;
                numbers[i] = 0.5f * power_of(scale) * twice_e2m1(byte >> 4 * which);
            }
            return rounded(numbers);
        }
    };
};

/** Integers from 0 to 15 minus a zero point, two (adjacent along K) per byte, lowest bits first. */
struct nibbles {
    using stored = unsigned char;
    static constexpr int per_element = 2;

    struct across {
        uint2 codes;
        float zero[8];
        __device__ inline void fetch(const stored *first, const extras &by, int expert, int k, int n, int depth,
                                     int cols) {
            codes = *reinterpret_cast<const uint2 *>(first);
            const size_t at = (static_cast<size_t>(expert) * ceil_div(depth, by.group) + k / by.group) * cols + n;
#pragma unroll
            for (int i = 0; i < 8; i++) zero[i] = by.zero == nullptr ? 8.0f : by.zero[at + i];
        }
        __device__ inline eight widen(int which) const {
            float numbers[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const unsigned byte = (i < 4 ? codes.x : codes.y) >> 8 * (i % 4);
                numbers[i] = static_cast<float>(byte >> 4 * which & 15) - zero[i];
            }
            return rounded(numbers);
        }
    };
};

/** The same minus 8, as int8. */
struct eights : nibbles {
    /** Four bytes of two numbers each, unpacked to bytes: all first numbers, or all second ones. */
    static __device__ inline unsigned widened(unsigned codes, int which) {
        // Subtraction of 8 flips the highest of the four bits; the bits above are the sign.
        const unsigned turned = (codes >> 4 * which & 0x0f0f0f0fu) ^ 0x08080808u;
        return turned | (turned & 0x08080808u) * 0x1e;
    }
};

/** Type in which the matrix cores multiply elements of A and of B: bf16. */
template <typename A, typename B>
struct multiplied {
    using element = bf16;
    static constexpr bool as_stored = false, powers = false;
};
/** int8 and fp8 as they are. */
template <typename T>
    requires(sizeof(T) == 1)
struct multiplied<whole<T>, whole<T>> {
    using element = T;
    static constexpr bool as_stored = true, powers = false;
};
/** int8 by int4 as int8. */
template <>
struct multiplied<whole<int8>, eights> : multiplied<whole<int8>, whole<int8>> {};
#if defined(KITTENS_CDNA4)
/** fp4 by instructions that also take the powers of two. */
template <>
struct multiplied<fp4, fp4> {
    using element = fp4e2m1_2;
    static constexpr bool as_stored = true, powers = true;
};
#endif

/** Eight bytes along a row, unchanged. */
struct eight_bytes {
    uint2 bytes;
    /** @param col counts bytes. */
    __device__ inline void fetch(const void *row, int col) {
        bytes = *reinterpret_cast<const uint2 *>(static_cast<const unsigned char *>(row) + col);
    }
    __device__ inline uint2 widen() const { return bytes; }
};

/** Four adjacent columns of eight rows of bytes, which a tile holds transposed. */
struct turned_bytes {
    unsigned rows[8];
    /** The eight bytes of column `col` of the four. */
    template <int col>
    __device__ inline uint2 column() const {
        return {four<col, 0>(), four<col, 4>()};
    }

  private:
    template <int col, int first>
    __device__ inline unsigned four() const {
        // Combines the bytes of two rows into pairs, then selects the pair of column `col`.
        constexpr unsigned both = col < 2 ? 0x05010400u : 0x07030602u;
        constexpr unsigned own = col % 2 == 0 ? 0x05040100u : 0x07060302u;
        const unsigned low = __builtin_amdgcn_perm(rows[first + 1], rows[first], both);
        const unsigned high = __builtin_amdgcn_perm(rows[first + 3], rows[first + 2], both);
        return __builtin_amdgcn_perm(high, low, own);
    }
};

} // namespace kittens::families::experts
