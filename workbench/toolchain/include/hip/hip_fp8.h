// 8-bit floats: e4m3 and e5m2 of the OCP specification (gfx950's), and the fnuz forms of CDNA3 (gfx942's),
// which have no infinity and no negative zero, their only NaN in its place, and an exponent bias one higher.
//
// Conversions round to nearest even. With __HIP_SATFINITE what is too large becomes the largest finite
// number, else infinity or NaN, as far as the format has them. The target's own format is converted by the
// hardware.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#if defined(__gfx950__)
#define HIP_FP8_CVT_FAST_PATH 1
#elif defined(__gfx942__)
#define HIP_FP8_CVT_FAST_PATH 1
#else
#define HIP_FP8_CVT_FAST_PATH 0
#endif

#define __HIP_FUNCTION __host__ __device__ static inline

struct __hip_fp8_format {
    int mantissa;           // bits
    int least;              // exponent of the least normal number
    float largest;          // largest finite number
    unsigned char infinity; // what a number too large becomes when it may not saturate
    unsigned char nan;
    bool fnuz;
};

__HIP_FUNCTION constexpr __hip_fp8_format __hip_fp8_format_of(__hip_fp8_interpretation_t kind) {
    switch (kind) {
    case __HIP_E4M3:
        return {3, -6, 448.0f, 0x7f, 0x7f, false};
    case __HIP_E5M2:
        return {2, -14, 57344.0f, 0x7c, 0x7f, false};
    case __HIP_E4M3_FNUZ:
        return {3, -7, 240.0f, 0x80, 0x80, true};
    default:
        return {2, -15, 57344.0f, 0x80, 0x80, true};
    }
}

// Whether the target's conversion instructions work on this format.
__HIP_FUNCTION constexpr bool __hip_fp8_is_native(__hip_fp8_interpretation_t kind) {
#if defined(__gfx950__)
    return kind == __HIP_E4M3 || kind == __HIP_E5M2;
#elif defined(__gfx942__)
    return kind == __HIP_E4M3_FNUZ || kind == __HIP_E5M2_FNUZ;
#else
    return kind != kind;
#endif
}

// The nearest 8-bit float by arithmetic alone: |x| is rounded to a multiple of its last place.
__HIP_FUNCTION __hip_fp8_storage_t __hip_fp8_encode(float x, __hip_saturation_t saturate,
                                                    __hip_fp8_interpretation_t kind) {
    const __hip_fp8_format format = __hip_fp8_format_of(kind);
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    const unsigned char sign = static_cast<unsigned char>(bits >> 24 & 0x80);
    const unsigned magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return format.fnuz ? format.nan : static_cast<unsigned char>(sign | format.nan);
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent < format.least) exponent = format.least;
    // One unit of the last place, and its inverse, are powers of two that float has.
    const float unit = __builtin_bit_cast(float, static_cast<unsigned>(exponent - format.mantissa + 127) << 23);
    float rounded = __builtin_bit_cast(float, magnitude);
    if (magnitude < 0x7f800000) rounded = __builtin_rintf(rounded / unit) * unit;
    if (rounded > format.largest) {
        if (!saturate) return format.fnuz ? format.infinity : static_cast<unsigned char>(sign | format.infinity);
        rounded = format.largest;
    }
    const unsigned result = __builtin_bit_cast(unsigned, rounded);
    const int power = static_cast<int>(result >> 23) - 127;
    unsigned code;
    if (power < format.least) {
        // Below the normal numbers the code counts units.
        code = static_cast<unsigned>(
            rounded / __builtin_bit_cast(float, static_cast<unsigned>(format.least - format.mantissa + 127) << 23));
    } else {
        code = static_cast<unsigned>(power - format.least + 1) << format.mantissa |
               (result & 0x7fffff) >> (23 - format.mantissa);
    }
    if (format.fnuz && code == 0) return 0;
    return static_cast<unsigned char>(sign | code);
}

__HIP_FUNCTION float __hip_fp8_decode(__hip_fp8_storage_t code, __hip_fp8_interpretation_t kind) {
    const __hip_fp8_format format = __hip_fp8_format_of(kind);
    const unsigned magnitude = code & 0x7f;
    if (format.fnuz ? code == format.nan : kind == __HIP_E4M3 ? magnitude == 0x7f : magnitude > 0x7c)
        return __builtin_nanf("");
    float value;
    const unsigned field = magnitude >> format.mantissa, fraction = magnitude & ((1u << format.mantissa) - 1);
    if (kind == __HIP_E5M2 && magnitude == 0x7c)
        value = __builtin_inff();
    else if (field == 0)
        value = static_cast<float>(fraction) *
                __builtin_bit_cast(float, static_cast<unsigned>(format.least - format.mantissa + 127) << 23);
    else
        value = __builtin_bit_cast(float, (field - 1 + static_cast<unsigned>(format.least + 127)) << 23 |
                                              fraction << (23 - format.mantissa));
    return code & 0x80 ? -value : value;
}

// Between one float and its storage.
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturate,
                                                          __hip_fp8_interpretation_t kind) {
#if defined(__gfx942__) || defined(__gfx950__)
    if (saturate == __HIP_SATFINITE && __hip_fp8_is_native(kind)) {
        const float largest = __hip_fp8_format_of(kind).largest;
        const float clamped = x != x ? x : __builtin_amdgcn_fmed3f(x, largest, -largest);
        const bool e4m3 = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ;
        return static_cast<__hip_fp8_storage_t>(e4m3 ? __builtin_amdgcn_cvt_pk_fp8_f32(clamped, clamped, 0, false)
                                                     : __builtin_amdgcn_cvt_pk_bf8_f32(clamped, clamped, 0, false));
    }
#endif
    return __hip_fp8_encode(x, saturate, kind);
}
__HIP_FUNCTION float __hip_cvt_fp8_to_float(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
#if defined(__gfx942__) || defined(__gfx950__)
    if (__hip_fp8_is_native(kind)) {
        const bool e4m3 = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ;
        return e4m3 ? __builtin_amdgcn_cvt_f32_fp8(x, 0) : __builtin_amdgcn_cvt_f32_bf8(x, 0);
    }
#endif
    return __hip_fp8_decode(x, kind);
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturate,
                                                           __hip_fp8_interpretation_t kind) {
    // Rounding twice is rounding once where the first keeps a bit for what it cut off.
    float nearest = static_cast<float>(x);
    unsigned bits = __builtin_bit_cast(unsigned, nearest);
    if (nearest != x && x == x && (bits & 0x7fffffff) < 0x7f800000)
        bits = ((x > 0) == (static_cast<double>(nearest) > x) ? bits - 1 : bits) | 1;
    return __hip_cvt_float_to_fp8(__builtin_bit_cast(float, bits), saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturate,
                                                               __hip_fp8_interpretation_t kind) {
    return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(x.x, saturate, kind) |
                                              __hip_cvt_float_to_fp8(x.y, saturate, kind) << 8);
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturate,
                                                            __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(__half(x), saturate, kind);
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, __hip_saturation_t saturate,
                                                                __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(__hip_bfloat16(x), saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 x, __hip_saturation_t saturate,
                                                                __hip_fp8_interpretation_t kind) {
    return __hip_cvt_double_to_fp8(x.x, saturate, kind) | __hip_cvt_double_to_fp8(x.y, saturate, kind) << 8;
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw x, __hip_saturation_t saturate,
                                                                 __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float2_to_fp8x2({__half(__half_raw{x.x}), __half(__half_raw{x.y})}, saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_bfloat16raw2_to_fp8x2(__hip_bfloat162_raw x, __hip_saturation_t saturate,
                                                                     __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float2_to_fp8x2(__hip_bfloat162(x), saturate, kind);
}
__HIP_FUNCTION __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
    return __half(__hip_cvt_fp8_to_float(x, kind));
}
__HIP_FUNCTION __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t kind) {
    return __half2(__hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x & 0xff), kind),
                   __hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x >> 8), kind));
}

// The types: one number, two and four of them.
#define __HIP_FP8_TYPES(name, kind)                                                                                    \
    struct __hip_fp8_##name {                                                                                          \
        __hip_fp8_storage_t __x;                                                                                       \
        static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                        \
        static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                    \
        __hip_fp8_##name() = default;                                                                                  \
        __host__ __device__ __hip_fp8_##name(float x) : __x(__hip_cvt_float_to_fp8(x, __HIP_SATFINITE, kind)) {}       \
        __host__ __device__ __hip_fp8_##name(double x) : __x(__hip_cvt_double_to_fp8(x, __HIP_SATFINITE, kind)) {}     \
        __host__ __device__ __hip_fp8_##name(const __half &x) : __hip_fp8_##name(static_cast<float>(x)) {}             \
        __host__ __device__ __hip_fp8_##name(const __hip_bfloat16 &x) : __hip_fp8_##name(static_cast<float>(x)) {}     \
        template <typename T, __hip_if<std::is_integral<T>::value> = 0>                                                \
        __host__ __device__ explicit __hip_fp8_##name(T x) : __hip_fp8_##name(static_cast<double>(x)) {}               \
        __host__ __device__ operator float() const { return __hip_cvt_fp8_to_float(__x, kind); }                       \
        __host__ __device__ explicit operator __half() const { return static_cast<float>(*this); }                     \
        __host__ __device__ explicit operator __hip_bfloat16() const { return static_cast<float>(*this); }             \
        __host__ __device__ explicit operator bool() const { return static_cast<float>(*this) != 0; }                  \
    };                                                                                                                 \
    struct alignas(2) __hip_fp8x2_##name {                                                                             \
        __hip_fp8x2_storage_t __x;                                                                                     \
        __hip_fp8x2_##name() = default;                                                                                \
        __host__ __device__ __hip_fp8x2_##name(const float2 &x)                                                        \
            : __x(__hip_cvt_float2_to_fp8x2(x, __HIP_SATFINITE, kind)) {}                                              \
        __host__ __device__ operator float2() const {                                                                  \
            return {__hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x & 0xff), kind),                        \
                    __hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 8), kind)};                         \
        }                                                                                                              \
    };                                                                                                                 \
    struct alignas(4) __hip_fp8x4_##name {                                                                             \
        __hip_fp8x4_storage_t __x;                                                                                     \
        __hip_fp8x4_##name() = default;                                                                                \
        __host__ __device__ __hip_fp8x4_##name(const float4 &x)                                                        \
            : __x(__hip_cvt_float2_to_fp8x2({x.x, x.y}, __HIP_SATFINITE, kind) |                                       \
                  static_cast<unsigned>(__hip_cvt_float2_to_fp8x2({x.z, x.w}, __HIP_SATFINITE, kind)) << 16) {}        \
        __host__ __device__ operator float4() const {                                                                  \
            return {__hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x & 0xff), kind),                        \
                    __hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 8 & 0xff), kind),                   \
                    __hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 16 & 0xff), kind),                  \
                    __hip_cvt_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 24), kind)};                        \
        }                                                                                                              \
    };
__HIP_FP8_TYPES(e4m3, __HIP_E4M3)
__HIP_FP8_TYPES(e5m2, __HIP_E5M2)
__HIP_FP8_TYPES(e4m3_fnuz, __HIP_E4M3_FNUZ)
__HIP_FP8_TYPES(e5m2_fnuz, __HIP_E5M2_FNUZ)
#undef __HIP_FP8_TYPES

#undef __HIP_FUNCTION

#include "hip/device/pop_names.h"
