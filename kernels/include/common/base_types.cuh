/**
 * @file
 * @brief Element types of tiles: names, packed forms, constants and conversions.
 *
 * A packed type holds as many neighbouring elements as fit in a 32-bit register (two floats for `float`, in a
 * register pair). Register tiles store packed elements, so that packed instructions work on them directly.
 */
#pragma once

#include "meta.cuh"
#include "target.cuh"

/** Four fp8 numbers, or scales, as bits. */
typedef uint32_t __amd_fp8x4_storage_t;

namespace kittens {

/** Two to four 32-bit words. */
using i32x2 = int __attribute__((ext_vector_type(2)));
using i32x3 = int __attribute__((ext_vector_type(3)));
using u32x2 = uint32_t __attribute__((ext_vector_type(2)));
using u32x3 = uint32_t __attribute__((ext_vector_type(3)));
using u32x4 = uint32_t __attribute__((ext_vector_type(4)));

using bf16 = __hip_bfloat16;
using bf16_2 = __hip_bfloat162;
using half = __half;
using half_2 = __half2;

#if !defined(KITTENS_CDNA3)
/** 8-bit float with 4 exponent and 3 mantissa bits: the OCP format, largest value 448. */
using fp8e4m3 = __hip_fp8_e4m3;
using fp8e4m3_2 = __hip_fp8x2_e4m3;
using fp8e4m3_4 = __hip_fp8x4_e4m3;
/** 8-bit float with 5 exponent and 2 mantissa bits: the OCP format, largest value 57344. */
using fp8e5m2 = __hip_fp8_e5m2;
using fp8e5m2_4 = __hip_fp8x4_e5m2;
#else
/** 8-bit float with 4 exponent and 3 mantissa bits: the fnuz format of CDNA3, largest value 240. */
using fp8e4m3 = __hip_fp8_e4m3_fnuz;
using fp8e4m3_2 = __hip_fp8x2_e4m3_fnuz;
using fp8e4m3_4 = __hip_fp8x4_e4m3_fnuz;
/** 8-bit float with 5 exponent and 2 mantissa bits: the fnuz format of CDNA3, largest value 57344. */
using fp8e5m2 = __hip_fp8_e5m2_fnuz;
using fp8e5m2_4 = __hip_fp8x4_e5m2_fnuz;
#endif

/** Power of two, 2^(bits - 127); 255 is NaN. The scale of a block of 32 elements (OCP microscaling formats). */
struct fp8e8m0 {
    unsigned char bits;
};
using fp8e8m0_2 = unsigned short;
/** Four scales in a register: what the scaled matrix instructions take, which choose one of the bytes. */
using fp8e8m0_4 = unsigned;

/** One 4-bit float, in the low half of a byte; and four in 16 bits. Tiles hold pairs, fp4e2m1_2. */
struct fp4e2m1 {
    unsigned char bits;
};
struct fp4e2m1_4 {
    unsigned short bits;
};

/**
 * @brief Two 4-bit floats with 2 exponent bits and 1 mantissa bit (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives) in a
 * byte, the first in the low half.
 *
 * A tile of them counts pairs: an M x K matrix is `rt_fp4e2m1_2<M, K / 2>`.
 */
struct fp4e2m1_2 {
    unsigned char bits;
};
struct alignas(4) fp4e2m1_8 {
    fp4e2m1_2 pairs[4];
};

/**
 * @brief Four 6-bit floats with 2 exponent and 3 mantissa bits (0, 0.125, ..., 7.5 and their negatives) in three bytes,
 * the first in the lowest bits.
 *
 * A tile of them counts fours: an M x K matrix is `rt_fp6e2m3_4<M, K / 4>`.
 */
struct fp6e2m3_4 {
    unsigned char bits[3];
};
struct alignas(4) fp6e2m3_16 {
    fp6e2m3_4 fours[4];
};
/** The same with 3 exponent and 2 mantissa bits: 0, 0.0625, ..., 28 and their negatives. */
struct fp6e3m2_4 {
    unsigned char bits[3];
};
struct alignas(4) fp6e3m2_16 {
    fp6e3m2_4 fours[4];
};

#if defined(KITTENS_FP6)
/**
 * @brief One 6-bit float with 2 exponent and 3 mantissa bits. A single one takes a byte; in tiles and in global layouts
 * it takes 6 bits, with the first number in the lowest ones.
 */
using fp6_e2m3 = __hip_fp6_e2m3;
using fp6_e2m3_2 = __hip_fp6x2_e2m3;
/** 24 bytes, and 8 unused ones. */
using fp6_e2m3_32 = uint32_t __attribute__((ext_vector_type(6)));
#endif

/** 8-bit integer; conversions to it round to the nearest, ties to even, and saturate. */
using int8 = signed char;
struct alignas(4) int8_4 {
    int8 e[4];
};
/** The same without a sign; NaN becomes zero. */
using uint8 = unsigned char;
struct alignas(4) uint8_4 {
    uint8 e[4];
};

/**
 * @brief Two 4-bit integers, -8 to 7, in a byte, the first in the low half; conversions round as for int8.
 *
 * A tile of them counts pairs, like a tile of fp4.
 */
struct int4_2 {
    unsigned char bits;
};
struct alignas(4) int4_8 {
    int4_2 pairs[4];
};
/** The same without a sign, 0 to 15. */
struct uint4_2 {
    unsigned char bits;
};
struct alignas(4) uint4_8 {
    uint4_2 pairs[4];
};

namespace detail {

/** True if elements have 6 bits each in memory, and so no addresses. */
template <typename T>
inline constexpr bool is_six_bits = false;
#if defined(KITTENS_FP6)
template <>
inline constexpr bool is_six_bits<fp6_e2m3> = true;
#endif
/** Bytes of `count` elements in memory. */
template <typename T, typename Count>
__host__ __device__ constexpr Count bytes_in(Count count) {
    return is_six_bits<T> ? count * 6 / 8 : count * static_cast<Count>(sizeof(T));
}

using f32x2 = float __attribute__((ext_vector_type(2)));
using f32x4 = float __attribute__((ext_vector_type(4)));
using f32x16 = float __attribute__((ext_vector_type(16)));
using bf16x2 = __bf16 __attribute__((ext_vector_type(2)));
using f16x2 = _Float16 __attribute__((ext_vector_type(2)));

/** Reported once for a type that tiles cannot hold: the list of supported types. */
#define KITTENS_NO_SUCH_TYPE                                                                                           \
    "no such element type; kittens has float, bf16, half, int, int8, uint8, fp8e4m3, fp8e5m2, fp8e8m0, fp6e2m3_4, "    \
    "fp6e3m2_4, fp4e2m1_2, int4_2, uint4_2, each also packed"

/**
 * @brief The compiler's own type for a type.
 *
 * `native` has the same bits; `wide` is the type for arithmetic: float for the 8-bit and bf16 types, for which the
 * hardware has no arithmetic.
 */
template <typename T>
struct numeric {
    // Before the assertion, so that the compiler has them and reports nothing else.
    using native = T;
    using wide = T;
    static_assert(never<T>, KITTENS_NO_SUCH_TYPE);
};
template <>
struct numeric<float> {
    using native = float;
    using wide = float;
};
template <>
struct numeric<float2> {
    using native = f32x2;
    using wide = f32x2;
};
template <>
struct numeric<int> {
    using native = int;
    using wide = int;
};
template <>
struct numeric<int2> {
    using native = i32x2;
    using wide = i32x2;
};
template <>
struct numeric<int8> {
    using native = int8;
    using wide = float;
};
template <>
struct numeric<int8_4> {
    using native = unsigned;
    using wide = f32x4;
};
template <>
struct numeric<uint8> {
    using native = uint8;
    using wide = float;
};
template <>
struct numeric<uint8_4> {
    using native = unsigned;
    using wide = f32x4;
};
template <>
struct numeric<int4_2> {
    using native = unsigned char;
    using wide = f32x2;
};
template <>
struct numeric<uint4_2> {
    using native = unsigned char;
    using wide = f32x2;
};
template <>
struct numeric<bf16> {
    using native = __bf16;
    using wide = float;
};
template <>
struct numeric<bf16_2> {
    using native = bf16x2;
    using wide = f32x2;
};
template <>
struct numeric<half> {
    using native = _Float16;
    using wide = _Float16;
};
template <>
struct numeric<half_2> {
    using native = f16x2;
    using wide = f16x2;
};
template <>
struct numeric<fp8e4m3> {
    using native = unsigned char;
    using wide = float;
};
template <>
struct numeric<fp8e4m3_4> {
    using native = unsigned;
    using wide = f32x4;
};
template <>
struct numeric<fp8e5m2> {
    using native = unsigned char;
    using wide = float;
};
template <>
struct numeric<fp8e5m2_4> {
    using native = unsigned;
    using wide = f32x4;
};
template <>
struct numeric<fp8e8m0> {
    using native = unsigned char;
    using wide = float;
};
template <>
struct numeric<fp4e2m1> {
    using native = unsigned char;
    using wide = float;
};
template <>
struct numeric<fp4e2m1_4> {
    using native = unsigned short;
    using wide = f32x4;
};
template <>
struct numeric<fp4e2m1_2> {
    using native = unsigned char;
    using wide = f32x2;
};
template <>
struct numeric<fp6e2m3_4> {
    using native = fp6e2m3_4;
    using wide = f32x4;
};
template <>
struct numeric<fp6e3m2_4> {
    using native = fp6e3m2_4;
    using wide = f32x4;
};
#if defined(KITTENS_FP6)
template <>
struct numeric<fp6_e2m3> {
    using native = unsigned char;
    using wide = float;
};
#endif
template <>
struct numeric<float4> {
    using native = f32x4;
    using wide = f32x4;
};

/** Numbers in an element: the types with less than a byte each count pairs or fours. */
template <typename T>
inline constexpr int numbers_in = 1;
template <>
inline constexpr int numbers_in<fp4e2m1_2> = 2;
template <>
inline constexpr int numbers_in<int4_2> = 2;
template <>
inline constexpr int numbers_in<uint4_2> = 2;
template <>
inline constexpr int numbers_in<fp6e2m3_4> = 4;
template <>
inline constexpr int numbers_in<fp6e3m2_4> = 4;
template <typename T>
inline constexpr bool is_fp6 = is_same<T, fp6e2m3_4> || is_same<T, fp6e3m2_4>;

/** Numbers in a type for arithmetic. */
template <typename W>
inline constexpr int wide_count = 1;
template <>
inline constexpr int wide_count<f32x2> = 2;
template <>
inline constexpr int wide_count<f16x2> = 2;
template <>
inline constexpr int wide_count<i32x2> = 2;
template <>
inline constexpr int wide_count<f32x4> = 4;

/** 4-bit code of the e2m1 float nearest to |x|, ties to even, saturating. */
__device__ inline unsigned e2m1_code(float x) {
    const float size = __builtin_fabsf(x);
    const unsigned sign = __builtin_bit_cast(unsigned, x) >> 31 << 3;
    return sign | (static_cast<unsigned>(size > 0.25f) + (size >= 0.75f) + (size > 1.25f) + (size >= 1.75f) +
                   (size > 2.5f) + (size >= 3.5f) + (size > 5.0f));
}
/** The value of a 4-bit code: 0, 0.5, then 1, 1.5 times powers of two. */
__device__ inline float e2m1_value(unsigned code) {
    const unsigned exponent = code >> 1 & 3, mantissa = code & 1;
    const unsigned size = exponent == 0 ? mantissa * 0x3f000000u : (exponent + 126) << 23 | mantissa << 22;
    return __builtin_bit_cast(float, size | (code >> 3 & 1) << 31);
}

/**
 * @brief A float format without infinity and NaN, of a sign, `exponent_bits` and `mantissa_bits`: the OCP formats of 6
 * bits.
 */
template <int exponent_bits, int mantissa_bits>
struct small_float {
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    /** Exponent field of the float that is its smallest normal number. */
    static constexpr int lowest = 128 - bias;
    static constexpr unsigned codes = 1u << (exponent_bits + mantissa_bits);

    /** Code of the number nearest to x, ties to even, saturating; of NaN that of the largest. */
    static __device__ inline unsigned code(float x) {
        constexpr unsigned largest = static_cast<unsigned>(lowest + (1 << exponent_bits) - 2) << 23 |
                                     ((1u << mantissa_bits) - 1) << (23 - mantissa_bits);
        const float size = __builtin_fminf(__builtin_fabsf(x), bit_cast<float>(largest));
        const int exponent = max(static_cast<int>(bit_cast<unsigned>(size) >> 23), lowest);
        // In units of the last bit at this magnitude; the next exponent begins 2^mantissa_bits units later.
        const float units = size * bit_cast<float>(static_cast<unsigned>(254 - exponent + mantissa_bits) << 23);
        const unsigned sign = bit_cast<unsigned>(x) >> 31 ? codes : 0;
        return sign | (static_cast<unsigned>((exponent - lowest) << mantissa_bits) +
                       static_cast<unsigned>(__builtin_rintf(units)));
    }
    static __device__ inline float value(unsigned code) {
        const unsigned size = code & (codes - 1), exponent = size >> mantissa_bits;
        constexpr float least = bit_cast<float>(static_cast<unsigned>(lowest - mantissa_bits) << 23);
        const float number =
            exponent == 0 ? static_cast<float>(size) * least
                          : bit_cast<float>((size << (23 - mantissa_bits)) + (static_cast<unsigned>(lowest - 1) << 23));
        return code & codes ? -number : number;
    }
};
template <typename T>
using fp6_format = small_float<is_same<T, fp6e2m3_4> ? 2 : 3, is_same<T, fp6e2m3_4> ? 3 : 2>;

/** The value of an element in the type for arithmetic. */
template <typename T>
__device__ inline typename numeric<T>::wide widen(const T &value) {
    using wide = typename numeric<T>::wide;
    if constexpr (is_same<T, fp8e4m3>) {
        return __builtin_amdgcn_cvt_f32_fp8(bit_cast<unsigned char>(value), 0);
    } else if constexpr (is_same<T, fp8e4m3_4>) {
        const int bits = bit_cast<int>(value);
        const auto low = __builtin_amdgcn_cvt_pk_f32_fp8(bits, false);
        const auto high = __builtin_amdgcn_cvt_pk_f32_fp8(bits, true);
        return wide{low[0], low[1], high[0], high[1]};
    } else if constexpr (is_same<T, fp8e5m2>) {
        return __builtin_amdgcn_cvt_f32_bf8(bit_cast<unsigned char>(value), 0);
    } else if constexpr (is_same<T, fp8e5m2_4>) {
        const int bits = bit_cast<int>(value);
        const auto low = __builtin_amdgcn_cvt_pk_f32_bf8(bits, false);
        const auto high = __builtin_amdgcn_cvt_pk_f32_bf8(bits, true);
        return wide{low[0], low[1], high[0], high[1]};
    } else if constexpr (is_same<T, int8> || is_same<T, uint8>) {
        return static_cast<float>(value);
    } else if constexpr (is_same<T, int8_4> || is_same<T, uint8_4>) {
        return wide{static_cast<float>(value.e[0]), static_cast<float>(value.e[1]), static_cast<float>(value.e[2]),
                    static_cast<float>(value.e[3])};
    } else if constexpr (is_same<T, int4_2>) {
        return wide{static_cast<float>(static_cast<int>(value.bits << 28) >> 28),
                    static_cast<float>(static_cast<int8>(value.bits) >> 4)};
    } else if constexpr (is_same<T, uint4_2>) {
        return wide{static_cast<float>(value.bits & 15u), static_cast<float>(value.bits >> 4)};
    } else if constexpr (is_same<T, fp8e8m0>) {
        // Exponent 0 is 2^-127, a denormal number; 255 the NaN without a sign.
        const unsigned exponent = value.bits;
        return bit_cast<float>(exponent == 0 ? 0x00400000u : exponent == 255 ? 0x7fc00000u : exponent << 23);
    } else if constexpr (is_same<T, fp4e2m1>) {
        return e2m1_value(value.bits & 15u);
    } else if constexpr (is_same<T, fp4e2m1_2>) {
        return wide{e2m1_value(value.bits & 15u), e2m1_value(value.bits >> 4)};
    } else if constexpr (is_same<T, fp4e2m1_4>) {
        const unsigned bits = value.bits;
        return wide{e2m1_value(bits & 15u), e2m1_value(bits >> 4 & 15u), e2m1_value(bits >> 8 & 15u),
                    e2m1_value(bits >> 12)};
    } else if constexpr (is_fp6<T>) {
        const unsigned bits = value.bits[0] | value.bits[1] << 8 | value.bits[2] << 16;
        using format = fp6_format<T>;
        return wide{format::value(bits & 63), format::value(bits >> 6 & 63), format::value(bits >> 12 & 63),
                    format::value(bits >> 18)};
    } else if constexpr (is_six_bits<T>) {
        return small_float<2, 3>::value(bit_cast<unsigned char>(value));
    } else if constexpr (is_same<T, bf16>) {
        return bit_cast<float>(static_cast<unsigned>(bit_cast<unsigned short>(value)) << 16);
    } else if constexpr (is_same<T, bf16_2>) {
        const unsigned bits = bit_cast<unsigned>(value);
        return wide{bit_cast<float>(bits << 16), bit_cast<float>(bits & 0xffff0000u)};
    } else {
        return bit_cast<wide>(value);
    }
}

/** The value clamped to fp8e4m3's range, beyond which the hardware's conversion returns NaN. NaN stays NaN. */
__device__ inline float within_fp8(float value) {
#if !defined(KITTENS_CDNA3)
    constexpr float largest = 448.0f;
#else
    constexpr float largest = 240.0f;
#endif
    return value != value ? value : __builtin_amdgcn_fmed3f(value, largest, -largest);
}

/** The same for fp8e5m2, where the hardware's conversion returns infinity, or NaN on gfx942. */
__device__ inline float within_bf8(float value) {
    return value != value ? value : __builtin_amdgcn_fmed3f(value, 57344.0f, -57344.0f);
}

/** The nearest integer from `lowest` to `highest`, ties to even; NaN becomes the lowest. */
__device__ inline int to_integer(float value, float lowest, float highest) {
    return static_cast<int>(__builtin_amdgcn_fmed3f(__builtin_rintf(value), lowest, highest));
}
/** The same for 32 bits; 2^31 - 128 is the highest float below 2^31. */
__device__ inline int to_integers(float value) { return to_integer(value, -0x1p31f, 0x1.fffffep30f); }
__device__ inline i32x2 to_integers(f32x2 value) { return {to_integers(value[0]), to_integers(value[1])}; }

/**
 * @brief The element nearest to a value, ties to even; fp8, fp6 and fp4 saturate, infinity included. For e8m0, the
 * power of two at or below it.
 */
template <typename T>
__device__ inline T narrow(const typename numeric<T>::wide &value) {
    if constexpr (is_same<T, fp8e4m3>) {
        const float bounded = within_fp8(value);
        return bit_cast<T>(static_cast<unsigned char>(__builtin_amdgcn_cvt_pk_fp8_f32(bounded, bounded, 0, false)));
    } else if constexpr (is_same<T, fp8e4m3_4>) {
        const int low = __builtin_amdgcn_cvt_pk_fp8_f32(within_fp8(value[0]), within_fp8(value[1]), 0, false);
        return bit_cast<T>(__builtin_amdgcn_cvt_pk_fp8_f32(within_fp8(value[2]), within_fp8(value[3]), low, true));
    } else if constexpr (is_same<T, fp8e5m2>) {
        const float bounded = within_bf8(value);
        return bit_cast<T>(static_cast<unsigned char>(__builtin_amdgcn_cvt_pk_bf8_f32(bounded, bounded, 0, false)));
    } else if constexpr (is_same<T, fp8e5m2_4>) {
        const int low = __builtin_amdgcn_cvt_pk_bf8_f32(within_bf8(value[0]), within_bf8(value[1]), 0, false);
        return bit_cast<T>(__builtin_amdgcn_cvt_pk_bf8_f32(within_bf8(value[2]), within_bf8(value[3]), low, true));
    } else if constexpr (is_same<T, int8>) {
        return static_cast<int8>(to_integer(value, -128.0f, 127.0f));
    } else if constexpr (is_same<T, uint8>) {
        return static_cast<uint8>(to_integer(value, 0.0f, 255.0f));
    } else if constexpr (is_same<T, int8_4> || is_same<T, uint8_4>) {
        using one = select<is_same<T, int8_4>, int8, uint8>;
        return {{narrow<one>(value[0]), narrow<one>(value[1]), narrow<one>(value[2]), narrow<one>(value[3])}};
    } else if constexpr (is_same<T, int4_2>) {
        const int low = to_integer(value[0], -8.0f, 7.0f), high = to_integer(value[1], -8.0f, 7.0f);
        return {static_cast<unsigned char>((low & 15) | high << 4)};
    } else if constexpr (is_same<T, uint4_2>) {
        const int low = to_integer(value[0], 0.0f, 15.0f), high = to_integer(value[1], 0.0f, 15.0f);
        return {static_cast<unsigned char>(low | high << 4)};
    } else if constexpr (is_same<T, fp8e8m0>) {
        return {static_cast<unsigned char>(bit_cast<unsigned>(value) >> 23)};
    } else if constexpr (is_same<T, fp4e2m1>) {
        return {static_cast<unsigned char>(e2m1_code(value))};
    } else if constexpr (is_same<T, fp4e2m1_2>) {
        return {static_cast<unsigned char>(e2m1_code(value[0]) | e2m1_code(value[1]) << 4)};
    } else if constexpr (is_same<T, fp4e2m1_4>) {
        return {static_cast<unsigned short>(e2m1_code(value[0]) | e2m1_code(value[1]) << 4 | e2m1_code(value[2]) << 8 |
                                            e2m1_code(value[3]) << 12)};
    } else if constexpr (is_fp6<T>) {
        using format = fp6_format<T>;
        const unsigned bits = format::code(value[0]) | format::code(value[1]) << 6 | format::code(value[2]) << 12 |
                              format::code(value[3]) << 18;
        return {{static_cast<unsigned char>(bits), static_cast<unsigned char>(bits >> 8),
                 static_cast<unsigned char>(bits >> 16)}};
    } else if constexpr (is_six_bits<T>) {
        return bit_cast<T>(static_cast<unsigned char>(small_float<2, 3>::code(value)));
    } else if constexpr (is_same<T, bf16>) {
        return bit_cast<T>(static_cast<__bf16>(value));
    } else if constexpr (is_same<T, bf16_2>) {
        return bit_cast<T>(__builtin_convertvector(value, bf16x2));
    } else {
        return bit_cast<T>(value);
    }
}

} // namespace detail

namespace ducks::base_types {

/** An element type of tiles and vectors. */
template <typename T>
concept T1 =
    detail::is_same<T, float> || detail::is_same<T, int> || detail::is_same<T, int8> || detail::is_same<T, uint8> ||
    detail::is_same<T, bf16> || detail::is_same<T, half> || detail::is_same<T, fp8e4m3> ||
    detail::is_same<T, fp8e5m2> || detail::is_same<T, fp8e8m0> || detail::is_same<T, fp4e2m1_2> ||
    detail::is_same<T, int4_2> || detail::is_same<T, uint4_2> || detail::is_fp6<T> || detail::is_six_bits<T>;
/** A packed element type: what register tiles hold. */
template <typename T>
concept T2 = detail::is_same<T, float2> || detail::is_same<T, int2> || detail::is_same<T, int8_4> ||
             detail::is_same<T, uint8_4> || detail::is_same<T, bf16_2> || detail::is_same<T, half_2> ||
             detail::is_same<T, fp8e4m3_4> || detail::is_same<T, fp8e5m2_4> || detail::is_same<T, fp8e8m0_4> ||
             detail::is_same<T, fp4e2m1_8> || detail::is_same<T, int4_8> || detail::is_same<T, uint4_8> ||
             detail::is_same<T, fp6e2m3_16> || detail::is_same<T, fp6e3m2_16>
#if defined(KITTENS_FP6)
             || detail::is_same<T, fp6_e2m3_2> || detail::is_same<T, fp6_e2m3_32>
#endif
    ;

} // namespace ducks::base_types

namespace detail {
template <typename Unpacked, typename Packed, int count>
struct packing_of {
    using unpacked_type = Unpacked;
    using packed_type = Packed;
    /** Number of elements in the given type. */
    static __host__ __device__ inline constexpr int num() { return count; }
    /** A packed value with the same element everywhere. */
    static __device__ inline Packed pack(const Unpacked &value) {
        struct {
            Unpacked e[sizeof(Packed) / sizeof(Unpacked)];
        } elements;
#pragma unroll
        for (auto &element : elements.e) element = value;
        return bit_cast<Packed>(elements);
    }
};
} // namespace detail

namespace base_types {

/** Packed and unpacked form of an element type, and how many elements are in `T`. */
template <typename T>
struct packing {
    // Before the assertion, so that the compiler has them and reports nothing else.
    using unpacked_type = T;
    using packed_type = T;
    static __host__ __device__ inline constexpr int num() { return 1; }
    static_assert(detail::never<T>, KITTENS_NO_SUCH_TYPE);
};
#undef KITTENS_NO_SUCH_TYPE
template <>
struct packing<float> : detail::packing_of<float, float2, 1> {};
template <>
struct packing<float2> : detail::packing_of<float, float2, 2> {};
template <>
struct packing<int8> : detail::packing_of<int8, int8_4, 1> {};
template <>
struct packing<int8_4> : detail::packing_of<int8, int8_4, 4> {};
template <>
struct packing<uint8> : detail::packing_of<uint8, uint8_4, 1> {};
template <>
struct packing<uint8_4> : detail::packing_of<uint8, uint8_4, 4> {};
template <>
struct packing<int4_2> : detail::packing_of<int4_2, int4_8, 1> {};
template <>
struct packing<int4_8> : detail::packing_of<int4_2, int4_8, 4> {};
template <>
struct packing<uint4_2> : detail::packing_of<uint4_2, uint4_8, 1> {};
template <>
struct packing<uint4_8> : detail::packing_of<uint4_2, uint4_8, 4> {};
template <>
struct packing<int> : detail::packing_of<int, int2, 1> {};
template <>
struct packing<int2> : detail::packing_of<int, int2, 2> {};
template <>
struct packing<bf16> : detail::packing_of<bf16, bf16_2, 1> {};
template <>
struct packing<bf16_2> : detail::packing_of<bf16, bf16_2, 2> {};
template <>
struct packing<half> : detail::packing_of<half, half_2, 1> {};
template <>
struct packing<half_2> : detail::packing_of<half, half_2, 2> {};
template <>
struct packing<fp8e4m3> : detail::packing_of<fp8e4m3, fp8e4m3_4, 1> {};
template <>
struct packing<fp8e4m3_4> : detail::packing_of<fp8e4m3, fp8e4m3_4, 4> {};
template <>
struct packing<fp8e5m2> : detail::packing_of<fp8e5m2, fp8e5m2_4, 1> {};
template <>
struct packing<fp8e5m2_4> : detail::packing_of<fp8e5m2, fp8e5m2_4, 4> {};
template <>
struct packing<fp8e8m0> : detail::packing_of<fp8e8m0, fp8e8m0_4, 1> {};
template <>
struct packing<fp8e8m0_4> : detail::packing_of<fp8e8m0, fp8e8m0_4, 4> {};
template <>
struct packing<fp8e8m0_2> : detail::packing_of<fp8e8m0, fp8e8m0_2, 2> {};
template <>
struct packing<fp4e2m1> {
    using unpacked_type = fp4e2m1;
    using packed_type = fp4e2m1_4;
    static __host__ __device__ inline constexpr int num() { return 1; }
    static __device__ inline fp4e2m1_4 pack(const fp4e2m1 &value) {
        return {static_cast<unsigned short>((value.bits & 15u) * 0x1111u)};
    }
};
template <>
struct packing<fp4e2m1_4> : packing<fp4e2m1> {
    static __host__ __device__ inline constexpr int num() { return 4; }
};
template <>
struct packing<fp4e2m1_2> : detail::packing_of<fp4e2m1_2, fp4e2m1_8, 1> {};
template <>
struct packing<fp4e2m1_8> : detail::packing_of<fp4e2m1_2, fp4e2m1_8, 4> {};
template <>
struct packing<fp6e2m3_4> : detail::packing_of<fp6e2m3_4, fp6e2m3_16, 1> {};
template <>
struct packing<fp6e2m3_16> : detail::packing_of<fp6e2m3_4, fp6e2m3_16, 4> {};
template <>
struct packing<fp6e3m2_4> : detail::packing_of<fp6e3m2_4, fp6e3m2_16, 1> {};
template <>
struct packing<fp6e3m2_16> : detail::packing_of<fp6e3m2_4, fp6e3m2_16, 4> {};
#if defined(KITTENS_FP6)
template <>
struct packing<fp6_e2m3> {
    using unpacked_type = fp6_e2m3;
    using packed_type = fp6_e2m3_32;
    static __host__ __device__ inline constexpr int num() { return 1; }
    /** A packed value with the same element everywhere. */
    static __device__ inline fp6_e2m3_32 pack(const fp6_e2m3 &value) {
        const uint32_t code = detail::bit_cast<unsigned char>(value) & 63;
        // 16 numbers are three words.
        const uint32_t four = code | code << 6 | code << 12 | code << 18;
        const uint32_t first = four | four << 24, second = four >> 8 | four << 16, third = four >> 16 | four << 8;
        return {first, second, third, first, second, third};
    }
};
template <>
struct packing<fp6_e2m3_32> : packing<fp6_e2m3> {
    static __host__ __device__ inline constexpr int num() { return 32; }
};
#endif
/** Four numbers, for conversions to and from groups of four fp6; not an element type of tiles. */
template <>
struct packing<float4> : detail::packing_of<float, float4, 4> {};

/** Consecutive elements of a packed type; or one unpacked element. */
template <typename T>
struct lanes_of {
    typename packing<T>::unpacked_type e[packing<T>::num()];
};

/** A packed value with the same element everywhere. */
template <typename T>
__device__ inline typename packing<T>::packed_type pack(const T &value) {
    if constexpr (packing<T>::num() > 1)
        return value;
    else
        return packing<T>::pack(value);
}

/** Values from one element type to another: round to nearest even, fp8 saturating. */
template <typename T, typename U>
struct convertor {
    static __device__ inline T convert(const U &value) {
        if constexpr (detail::is_same<T, U>) {
            return value;
        } else {
            using to = typename detail::numeric<T>::wide;
            using from = typename detail::numeric<U>::wide;
            static_assert(detail::wide_count<to> == detail::wide_count<from> ||
                              (packing<T>::num() == 1 && detail::is_same<U, float>),
                          "convertor: a packed type converts to a packed type with as many elements");
            if constexpr (detail::is_same<to, from>)
                return detail::narrow<T>(detail::widen(value));
            else if constexpr (detail::is_same<to, int>)
                return detail::narrow<T>(detail::to_integers(static_cast<float>(detail::widen(value))));
            else if constexpr (detail::is_same<to, i32x2>)
                return detail::narrow<T>(
                    detail::to_integers(__builtin_convertvector(detail::widen(value), detail::f32x2)));
            else if constexpr (detail::wide_count<from> == 1)
                return detail::narrow<T>(static_cast<to>(detail::widen(value)));
            else
                return detail::narrow<T>(__builtin_convertvector(detail::widen(value), to));
        }
    }
};

/** Named values of an element type, packed or not. */
template <typename T>
struct constants {
    /** `value` rounded to T, in every element. */
    static __device__ inline T of(float value) {
        using unpacked = typename packing<T>::unpacked_type;
        const unpacked element = convertor<unpacked, float>::convert(value);
        if constexpr (packing<T>::num() == 1)
            return element;
        else
            return packing<T>::pack(element);
    }
    static __device__ inline T zero() { return of(0.0f); }
    static __device__ inline T zeros() { return zero(); }
    static __device__ inline T one() { return of(1.0f); }
    static __device__ inline T ones() { return one(); }
    /** Positive infinity; for fp8, which has none, the largest number. */
    static __device__ inline T pos_infty() { return of(__builtin_inff()); }
    static __device__ inline T neg_infty() { return of(-__builtin_inff()); }
};

} // namespace base_types
} // namespace kittens
