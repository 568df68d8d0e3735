// 8-bit floats: e4m3 and e5m2 of the OCP specification (gfx950's), and the fnuz forms of CDNA3 (gfx942's),
// which have no infinity and no negative zero, their only NaN in its place, and an exponent bias one higher.
//
// As ROCm 7's amd_hip_fp8.h has it: device code of a target knows that target's own formats, which its instructions
// convert to nearest even; host code and other targets know all, by arithmetic. With __HIP_SATFINITE what is finite and
// too large becomes the largest number; infinity stays infinity, or NaN where the format has none. A pair of floats is
// not clamped by the instructions, so there what is too large is NaN or infinity whatever is asked for.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_FP8_H
#define HIP_INCLUDE_HIP_HIP_FP8_H
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP8_H_

#include "hip/device/push_names.h"

#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"

typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned int __hip_fp8x4_storage_t;

enum __hip_saturation_t { __HIP_NOSAT = 0, __HIP_SATFINITE = 1 };
enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

#if defined(__HIP_DEVICE_COMPILE__) && defined(__gfx942__)
#define HIP_FP8_TYPE_OCP 0
#define HIP_FP8_TYPE_FNUZ 1
#define HIP_FP8_CVT_FAST_PATH 1
#elif defined(__HIP_DEVICE_COMPILE__) && (defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__))
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 0
#define HIP_FP8_CVT_FAST_PATH 1
#else
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1
#define HIP_FP8_CVT_FAST_PATH 0
#endif

#define __HIP_FUNCTION __host__ __device__ static inline

struct __hip_fp8_format {
    int mantissa;           // bits
    int least;              // exponent of the least normal number
    float largest;          // largest finite number
    unsigned char infinity; // code of a number that is too large, without saturation
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

// ROCm's stop where device code converts a format that its target does not have.
__HIP_FUNCTION void __hip_fp8_check(__hip_fp8_interpretation_t kind) {
#if HIP_FP8_CVT_FAST_PATH && !defined(NDEBUG)
    const bool is_ocp = kind == __HIP_E4M3 || kind == __HIP_E5M2;
    if (is_ocp != static_cast<bool>(HIP_FP8_TYPE_OCP))
        __assert_fail("the format of 8 bits is one that this target has (OCP's on gfx950, fnuz on gfx942)", "hip_fp8.h",
                      0, "fp8 conversion");
#endif
    (void)kind;
}

// The nearest 8-bit float by arithmetic alone: |x| is rounded to a multiple of its last place.
__HIP_FUNCTION __hip_fp8_storage_t __hip_fp8_encode(float x, __hip_saturation_t saturate,
                                                    __hip_fp8_interpretation_t kind) {
    const __hip_fp8_format format = __hip_fp8_format_of(kind);
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    const unsigned char sign = static_cast<unsigned char>(bits >> 24 & 0x80);
    const unsigned magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return format.fnuz ? format.nan : static_cast<unsigned char>(sign | format.nan);
    const unsigned char beyond = format.fnuz ? format.infinity : static_cast<unsigned char>(sign | format.infinity);
    if (magnitude == 0x7f800000) return beyond;
    const float size = __builtin_bit_cast(float, magnitude);
    if (size > format.largest && !saturate) return beyond;
    int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent < format.least) exponent = format.least;
    // One unit of the last place, and its inverse, are powers of two that float has.
    const float unit = __builtin_bit_cast(float, static_cast<unsigned>(exponent - format.mantissa + 127) << 23);
    const float rounded = size > format.largest ? format.largest : __builtin_rintf(size / unit) * unit;
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

#if HIP_FP8_CVT_FAST_PATH
__hip_device_inline __hip_fp8x2_storage_t __hip_fp8_of_floats(float x, float y, __hip_fp8_interpretation_t kind) {
    const bool e4m3 = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ;
    return static_cast<__hip_fp8x2_storage_t>(e4m3 ? __builtin_amdgcn_cvt_pk_fp8_f32(x, y, 0, false)
                                                   : __builtin_amdgcn_cvt_pk_bf8_f32(x, y, 0, false));
}
#endif

// Conversions between numbers and their storage.
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturate,
                                                          __hip_fp8_interpretation_t kind) {
#if HIP_FP8_CVT_FAST_PATH
    __hip_fp8_check(kind);
    const float largest = __hip_fp8_format_of(kind).largest;
    const bool clamps = saturate == __HIP_SATFINITE && x - x == 0;
    const float clamped = clamps ? __builtin_amdgcn_fmed3f(x, largest, -largest) : x;
    return static_cast<__hip_fp8_storage_t>(__hip_fp8_of_floats(clamped, clamped, kind));
#else
    return __hip_fp8_encode(x, saturate, kind);
#endif
}
__HIP_FUNCTION float __hip_fp8_to_float(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
#if HIP_FP8_CVT_FAST_PATH
    __hip_fp8_check(kind);
    const bool e4m3 = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ;
    return e4m3 ? __builtin_amdgcn_cvt_f32_fp8(x, 0) : __builtin_amdgcn_cvt_f32_bf8(x, 0);
#else
    return __hip_fp8_decode(x, kind);
#endif
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturate,
                                                           __hip_fp8_interpretation_t kind) {
    __hip_fp8_check(kind);
    // Rounding twice is the same as rounding once if the first keeps a bit for the part that it cut off.
    float nearest = static_cast<float>(x);
    unsigned bits = __builtin_bit_cast(unsigned, nearest);
    if (nearest != x && x - x == 0 && (bits & 0x7fffffff) < 0x7f800000)
        bits = ((x > 0) == (static_cast<double>(nearest) > x) ? bits - 1 : bits) | 1;
    // A number that only a double can hold is not infinite, but too large.
    else if (x - x == 0 && (bits & 0x7fffffff) == 0x7f800000)
        bits -= 1;
    return __hip_fp8_encode(__builtin_bit_cast(float, bits), saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturate,
                                                               __hip_fp8_interpretation_t kind) {
#if HIP_FP8_CVT_FAST_PATH
    (void)saturate;
    __hip_fp8_check(kind);
    return __hip_fp8_of_floats(x.x, x.y, kind);
#else
    return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_float_to_fp8(x.x, saturate, kind) |
                                              __hip_cvt_float_to_fp8(x.y, saturate, kind) << 8);
#endif
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_halfraw_to_fp8(__half_raw x, __hip_saturation_t saturate,
                                                            __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(x.data, saturate, kind);
}
__HIP_FUNCTION __hip_fp8_storage_t __hip_cvt_bfloat16raw_to_fp8(__hip_bfloat16_raw x, __hip_saturation_t saturate,
                                                                __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float_to_fp8(__bfloat162float(x), saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_double2_to_fp8x2(double2 x, __hip_saturation_t saturate,
                                                                __hip_fp8_interpretation_t kind) {
    return static_cast<__hip_fp8x2_storage_t>(__hip_cvt_double_to_fp8(x.x, saturate, kind) |
                                              __hip_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_halfraw2_to_fp8x2(__half2_raw x, __hip_saturation_t saturate,
                                                                 __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float2_to_fp8x2(__half22float2(x), saturate, kind);
}
__HIP_FUNCTION __hip_fp8x2_storage_t __hip_cvt_bfloat16raw2_to_fp8x2(__hip_bfloat162_raw x, __hip_saturation_t saturate,
                                                                     __hip_fp8_interpretation_t kind) {
    return __hip_cvt_float2_to_fp8x2(__bfloat1622float2(x), saturate, kind);
}
__HIP_FUNCTION __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
    __hip_fp8_check(kind);
    return __half_raw{static_cast<_Float16>(__hip_fp8_decode(x, kind))};
}
__HIP_FUNCTION __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t kind) {
    return __half2(__hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x & 0xff), kind),
                   __hip_cvt_fp8_to_halfraw(static_cast<__hip_fp8_storage_t>(x >> 8), kind));
}

// The types: one number, two and four of them. `has` is where a target's device code has the format. ROCm's e4m3 is
// made of a short everywhere, which is what a number of another type becomes on gfx942, before the conversion stops.
#if HIP_FP8_TYPE_OCP
#define __HIP_FP8_OCP __host__ __device__
#else
#define __HIP_FP8_OCP __host__
#endif
#if HIP_FP8_TYPE_FNUZ
#define __HIP_FP8_FNUZ __host__ __device__
#else
#define __HIP_FP8_FNUZ __host__
#endif
// Conversion to an integer: 0 for NaN; at most the largest value of the type.
template <typename T>
__HIP_FUNCTION T __hip_fp8_integer(float x) {
    constexpr bool is_signed = T(-1) < T(0);
    constexpr int bits = 8 * sizeof(T);
    if (x != x || (x < 0 && !is_signed)) return 0;
    if (bits > 16) return x - x != 0 ? T(0) : static_cast<T>(x);
    const long long limit = (1ll << (bits - is_signed)) - 1, value = static_cast<long long>(x);
    return static_cast<T>(value > limit ? limit : value < -limit - 1 ? -limit - 1 : value);
}
#define __HIP_FP8_FROM(name, has, T)                                                                                   \
    has __hip_fp8_##name(T x)                                                                                          \
        : __x(__hip_cvt_float_to_fp8(static_cast<float>(x), __default_saturation, __default_interpret)) {}
#define __HIP_FP8_TO(has, T)                                                                                           \
    has operator T() const { return __hip_fp8_integer<T>(static_cast<float>(*this)); }
#define __HIP_FP8_KIND(kind)                                                                                           \
    static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                            \
    static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                        \
    static constexpr unsigned __we = kind == __HIP_E4M3 || kind == __HIP_E4M3_FNUZ ? 4 : 5, __wm = 7 - __we;
#define __HIP_FP8_TYPES(name, kind, has, has_short)                                                                    \
    struct __hip_fp8_##name {                                                                                          \
        __hip_fp8_storage_t __x;                                                                                       \
        __HIP_FP8_KIND(kind)                                                                                           \
        has __hip_fp8_##name() = default;                                                                              \
        __HIP_FP8_FROM(name, has, long)                                                                                \
        __HIP_FP8_FROM(name, has, int)                                                                                 \
        __HIP_FP8_FROM(name, has_short, short)                                                                         \
        __HIP_FP8_FROM(name, has, unsigned long)                                                                       \
        __HIP_FP8_FROM(name, has, unsigned)                                                                            \
        __HIP_FP8_FROM(name, has, unsigned short)                                                                      \
        __HIP_FP8_FROM(name, has, float)                                                                               \
        __HIP_FP8_FROM(name, has, __hip_bfloat16)                                                                      \
        has __hip_fp8_##name(double x) : __x(__hip_cvt_double_to_fp8(x, __default_saturation, __default_interpret)) {} \
        has __hip_fp8_##name(__half x)                                                                                 \
            : __x(__hip_cvt_halfraw_to_fp8(x, __default_saturation, __default_interpret)) {}                           \
        has operator float() const { return __hip_fp8_to_float(__x, kind); }                                           \
        has operator double() const { return __hip_fp8_to_float(__x, kind); }                                          \
        has operator __half() const { return __hip_cvt_fp8_to_halfraw(__x, kind); }                                    \
        has operator __hip_bfloat16() const { return __float2bfloat16(__hip_fp8_to_float(__x, kind)); }                \
        has operator bool() const {                                                                                    \
            return (__hip_fp8_format_of(kind).fnuz ? static_cast<unsigned>(__x) : __x & 0x7fu) != 0;                   \
        }                                                                                                              \
        __HIP_FP8_TO(has, char)                                                                                        \
        __HIP_FP8_TO(has, signed char)                                                                                 \
        __HIP_FP8_TO(has, unsigned char)                                                                               \
        __HIP_FP8_TO(has, short)                                                                                       \
        __HIP_FP8_TO(has, unsigned short)                                                                              \
        __HIP_FP8_TO(has, int)                                                                                         \
        __HIP_FP8_TO(has, unsigned)                                                                                    \
        __HIP_FP8_TO(has, long)                                                                                        \
        __HIP_FP8_TO(has, unsigned long)                                                                               \
        __HIP_FP8_TO(has, long long)                                                                                   \
        __HIP_FP8_TO(has, unsigned long long)                                                                          \
    };                                                                                                                 \
    struct __hip_fp8x2_##name {                                                                                        \
        __hip_fp8x2_storage_t __x;                                                                                     \
        __HIP_FP8_KIND(kind)                                                                                           \
        has __hip_fp8x2_##name() = default;                                                                            \
        has __hip_fp8x2_##name(double2 x)                                                                              \
            : __x(__hip_cvt_double2_to_fp8x2(x, __default_saturation, __default_interpret)) {}                         \
        has __hip_fp8x2_##name(float2 x)                                                                               \
            : __x(__hip_cvt_float2_to_fp8x2(x, __default_saturation, __default_interpret)) {}                          \
        has __hip_fp8x2_##name(__hip_bfloat162 x)                                                                      \
            : __x(__hip_cvt_bfloat16raw2_to_fp8x2(x, __default_saturation, __default_interpret)) {}                    \
        has __hip_fp8x2_##name(__half2 x)                                                                              \
            : __x(__hip_cvt_halfraw2_to_fp8x2(x, __default_saturation, __default_interpret)) {}                        \
        has operator __half2() const { return __hip_cvt_fp8x2_to_halfraw2(__x, kind); }                                \
        has operator float2() const { return {at(0), at(1)}; }                                                         \
                                                                                                                       \
      private:                                                                                                         \
        has float at(int n) const { return __hip_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 8 * n), kind); } \
    };                                                                                                                 \
    struct __hip_fp8x4_##name {                                                                                        \
        __hip_fp8x4_storage_t __x;                                                                                     \
        __HIP_FP8_KIND(kind)                                                                                           \
        has __hip_fp8x4_##name() = default;                                                                            \
        has __hip_fp8x4_##name(double4 x)                                                                              \
            : __x(four(__hip_fp8_##name(x.x), __hip_fp8_##name(x.y), __hip_fp8_##name(x.z), __hip_fp8_##name(x.w))) {} \
        has __hip_fp8x4_##name(float4 x)                                                                               \
            : __x(four(__hip_fp8_##name(x.x), __hip_fp8_##name(x.y), __hip_fp8_##name(x.z), __hip_fp8_##name(x.w))) {} \
        has __hip_fp8x4_##name(__hip_bfloat162 low, __hip_bfloat162 high)                                              \
            : __x(two(__hip_fp8x2_##name(low), __hip_fp8x2_##name(high))) {}                                           \
        has __hip_fp8x4_##name(__half2 low, __half2 high)                                                              \
            : __x(two(__hip_fp8x2_##name(low), __hip_fp8x2_##name(high))) {}                                           \
        has operator float4() const { return {at(0), at(1), at(2), at(3)}; }                                           \
                                                                                                                       \
      private:                                                                                                         \
        has static unsigned four(__hip_fp8_##name x, __hip_fp8_##name y, __hip_fp8_##name z, __hip_fp8_##name w) {     \
            return x.__x | static_cast<unsigned>(y.__x) << 8 | static_cast<unsigned>(z.__x) << 16 |                    \
                   static_cast<unsigned>(w.__x) << 24;                                                                 \
        }                                                                                                              \
        /* ROCm has the second pair in the lower half of the word. */                                                  \
        has static unsigned two(__hip_fp8x2_##name low, __hip_fp8x2_##name high) {                                     \
            return high.__x | static_cast<unsigned>(low.__x) << 16;                                                    \
        }                                                                                                              \
        has float at(int n) const { return __hip_fp8_to_float(static_cast<__hip_fp8_storage_t>(__x >> 8 * n), kind); } \
    };
__HIP_FP8_TYPES(e4m3, __HIP_E4M3, __HIP_FP8_OCP, __host__ __device__)
__HIP_FP8_TYPES(e5m2, __HIP_E5M2, __HIP_FP8_OCP, __HIP_FP8_OCP)
__HIP_FP8_TYPES(e4m3_fnuz, __HIP_E4M3_FNUZ, __HIP_FP8_FNUZ, __HIP_FP8_FNUZ)
__HIP_FP8_TYPES(e5m2_fnuz, __HIP_E5M2_FNUZ, __HIP_FP8_FNUZ, __HIP_FP8_FNUZ)
#undef __HIP_FP8_TYPES
#undef __HIP_FP8_KIND
#undef __HIP_FP8_TO
#undef __HIP_FP8_FROM
#undef __HIP_FP8_FNUZ
#undef __HIP_FP8_OCP

#undef __HIP_FUNCTION

#include "hip/device/pop_names.h"

#endif
