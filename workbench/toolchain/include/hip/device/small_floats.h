// Conversions between float and the OCP formats of 4 and 6 bits, which have neither infinity nor NaN.
#pragma once

#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"

enum hipRoundMode { hipRoundNearest = 0, hipRoundZero = 1, hipRoundPosInf = 2, hipRoundMinInf = 3 };

namespace __hip_small {

// A sign, `exponent` bits and `mantissa` bits; every exponent encodes numbers.
struct format {
    int exponent, mantissa;
    __host__ __device__ constexpr int least() const {
        return 2 - (1 << (exponent - 1));
    } // least exponent of the normal numbers
    __host__ __device__ constexpr unsigned highest() const { return (1u << (exponent + mantissa)) - 1; }
    __host__ __device__ constexpr unsigned char sign() const {
        return static_cast<unsigned char>(1 << (exponent + mantissa));
    }
};

__host__ __device__ inline float power(int exponent) {
    return __builtin_bit_cast(float, static_cast<unsigned>(exponent + 127) << 23);
}

__host__ __device__ inline float decode(unsigned char code, format kind) {
    const unsigned magnitude = code & kind.highest(), field = magnitude >> kind.mantissa;
    const unsigned fraction = magnitude & ((1u << kind.mantissa) - 1);
    const float units = static_cast<float>(field == 0 ? fraction : fraction | 1u << kind.mantissa);
    const float value = units * power(kind.least() - kind.mantissa + (field == 0 ? 0 : static_cast<int>(field) - 1));
    return code & kind.sign() ? -value : value;
}

// Numbers that are too large become the largest one, NaN too.
__host__ __device__ inline unsigned char encode(float x, format kind, hipRoundMode round) {
    const unsigned bits = __builtin_bit_cast(unsigned, x), magnitude = bits & 0x7fffffff;
    const bool negative = bits >> 31;
    const unsigned char sign = negative ? kind.sign() : 0;
    const float largest = decode(static_cast<unsigned char>(kind.highest()), kind);
    const float absolute = __builtin_bit_cast(float, magnitude);
    if (!(absolute < largest)) return static_cast<unsigned char>(sign | kind.highest());
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent < kind.least()) exponent = kind.least();
    const float scaled = absolute * power(kind.mantissa - exponent); // exact: a power of two, and no denormal result
    const float units = round == hipRoundNearest                ? __builtin_rintf(scaled)
                        : round == hipRoundZero                 ? __builtin_truncf(scaled)
                        : (round == hipRoundPosInf) != negative ? __builtin_ceilf(scaled)
                                                                : __builtin_floorf(scaled);
    // A carry out of the mantissa is the next exponent, as codes are in the order of their numbers.
    return static_cast<unsigned char>(
        sign | (static_cast<unsigned>(units) + (static_cast<unsigned>(exponent - kind.least()) << kind.mantissa)));
}

// float of x such that rounding it again, to fewer bits, is the same as rounding once: the last bit records what was
// cut off.
__host__ __device__ inline float to_odd(double x) {
    const float nearest = static_cast<float>(x);
    const unsigned bits = __builtin_bit_cast(unsigned, nearest);
    if (nearest == x || x != x || (bits & 0x7fffffff) >= 0x7f800000) return nearest;
    return __builtin_bit_cast(float, ((x > 0) == (static_cast<double>(nearest) > x) ? bits - 1 : bits) | 1);
}

} // namespace __hip_small

// The functions of a format of `bits` bits, and its types of one, two and four numbers. A number of a pair or of
// four has `stride` bits of the storage.
#define __HIP_SMALL_FUNCTIONS(fpN, stride)                                                                             \
    __hip_host_device_inline __hip_##fpN##_storage_t __hip_cvt_float_to_##fpN(                                         \
        float x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                            \
        return __hip_small::encode(x, __hip_##fpN##_format(kind), round);                                              \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##_storage_t __hip_cvt_double_to_##fpN(                                        \
        double x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                           \
        return __hip_cvt_float_to_##fpN(__hip_small::to_odd(x), kind, round);                                          \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##_storage_t __hip_cvt_halfraw_to_##fpN(                                       \
        __half_raw x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                       \
        return __hip_cvt_float_to_##fpN(x.data, kind, round);                                                          \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##_storage_t __hip_cvt_bfloat16raw_to_##fpN(                                   \
        __hip_bfloat16_raw x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                               \
        return __hip_cvt_float_to_##fpN(__hip_bfloat16(x), kind, round);                                               \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##x2_storage_t __hip_cvt_float2_to_##fpN##x2(                                  \
        float2 x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                           \
        return static_cast<__hip_##fpN##x2_storage_t>(__hip_cvt_float_to_##fpN(x.x, kind, round) |                     \
                                                      __hip_cvt_float_to_##fpN(x.y, kind, round) << stride);           \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##x2_storage_t __hip_cvt_double2_to_##fpN##x2(                                 \
        double2 x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                          \
        return __hip_cvt_float2_to_##fpN##x2({__hip_small::to_odd(x.x), __hip_small::to_odd(x.y)}, kind, round);       \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##x2_storage_t __hip_cvt_halfraw2_to_##fpN##x2(                                \
        __half2_raw x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                                      \
        return __hip_cvt_float2_to_##fpN##x2(__half22float2(x), kind, round);                                          \
    }                                                                                                                  \
    __hip_host_device_inline __hip_##fpN##x2_storage_t __hip_cvt_bfloat16raw2_to_##fpN##x2(                            \
        __hip_bfloat162_raw x, __hip_##fpN##_interpretation_t kind, hipRoundMode round) {                              \
        return __hip_cvt_float2_to_##fpN##x2(__bfloat1622float2(x), kind, round);                                      \
    }                                                                                                                  \
    __hip_host_device_inline __half_raw __hip_cvt_##fpN##_to_halfraw(__hip_##fpN##_storage_t x,                        \
                                                                     __hip_##fpN##_interpretation_t kind) {            \
        return __float2half(__hip_small::decode(x, __hip_##fpN##_format(kind)));                                       \
    }                                                                                                                  \
    __hip_host_device_inline __half2_raw __hip_cvt_##fpN##x2_to_halfraw2(__hip_##fpN##x2_storage_t x,                  \
                                                                         __hip_##fpN##_interpretation_t kind) {        \
        return __half2(                                                                                                \
            __float2half(__hip_small::decode(static_cast<unsigned char>(x), __hip_##fpN##_format(kind))),              \
            __float2half(__hip_small::decode(static_cast<unsigned char>(x >> stride), __hip_##fpN##_format(kind))));   \
    }

#define __HIP_SMALL_TYPES(fpN, name, kind, stride)                                                                     \
    struct __hip_##fpN##_##name {                                                                                      \
        __hip_##fpN##_storage_t __x;                                                                                   \
        static constexpr __hip_##fpN##_interpretation_t __default_interpret = kind;                                    \
        __hip_##fpN##_##name() = default;                                                                              \
        __host__ __device__ __hip_##fpN##_##name(float x) : __x(__hip_cvt_float_to_##fpN(x, kind, hipRoundNearest)) {} \
        __host__ __device__ __hip_##fpN##_##name(double x)                                                             \
            : __x(__hip_cvt_double_to_##fpN(x, kind, hipRoundNearest)) {}                                              \
        __host__ __device__ __hip_##fpN##_##name(const __half &x) : __hip_##fpN##_##name(static_cast<float>(x)) {}     \
        __host__ __device__ __hip_##fpN##_##name(const __hip_bfloat16 &x)                                              \
            : __hip_##fpN##_##name(static_cast<float>(x)) {}                                                           \
        template <typename T, __hip_if<std::is_integral<T>::value> = 0>                                                \
        __host__ __device__ explicit __hip_##fpN##_##name(T x) : __hip_##fpN##_##name(static_cast<double>(x)) {}       \
        __host__ __device__ operator float() const { return __hip_small::decode(__x, __hip_##fpN##_format(kind)); }    \
        __host__ __device__ explicit operator __half() const { return __float2half(static_cast<float>(*this)); }       \
        __host__ __device__ explicit operator __hip_bfloat16() const { return static_cast<float>(*this); }             \
    };                                                                                                                 \
    struct __hip_##fpN##x2_##name {                                                                                    \
        __hip_##fpN##x2_storage_t __x;                                                                                 \
        __hip_##fpN##x2_##name() = default;                                                                            \
        __host__ __device__ __hip_##fpN##x2_##name(const float2 &x)                                                    \
            : __x(__hip_cvt_float2_to_##fpN##x2(x, kind, hipRoundNearest)) {}                                          \
        __host__ __device__ __hip_##fpN##x2_##name(const double2 &x)                                                   \
            : __x(__hip_cvt_double2_to_##fpN##x2(x, kind, hipRoundNearest)) {}                                         \
        __host__ __device__ operator float2() const { return {at(0), at(1)}; }                                         \
                                                                                                                       \
      private:                                                                                                         \
        __host__ __device__ float at(int index) const {                                                                \
            return __hip_small::decode(static_cast<unsigned char>(__x >> stride * index), __hip_##fpN##_format(kind)); \
        }                                                                                                              \
    };                                                                                                                 \
    struct __hip_##fpN##x4_##name {                                                                                    \
        __hip_##fpN##x4_storage_t __x;                                                                                 \
        __hip_##fpN##x4_##name() = default;                                                                            \
        __host__ __device__ __hip_##fpN##x4_##name(const float4 &x)                                                    \
            : __x(static_cast<__hip_##fpN##x4_storage_t>(                                                              \
                  __hip_cvt_float2_to_##fpN##x2({x.x, x.y}, kind, hipRoundNearest) |                                   \
                  static_cast<unsigned>(__hip_cvt_float2_to_##fpN##x2({x.z, x.w}, kind, hipRoundNearest))              \
                      << 2 * stride)) {}                                                                               \
        __host__ __device__ operator float4() const { return {at(0), at(1), at(2), at(3)}; }                           \
                                                                                                                       \
      private:                                                                                                         \
        __host__ __device__ float at(int index) const {                                                                \
            return __hip_small::decode(static_cast<unsigned char>(__x >> stride * index), __hip_##fpN##_format(kind)); \
        }                                                                                                              \
    };
