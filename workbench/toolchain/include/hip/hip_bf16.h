// bfloat16: the upper half of a float. Arithmetic is done in float and rounded once, to nearest even.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_BF16_H
#define HIP_INCLUDE_HIP_HIP_BF16_H
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_

#include "hip/device/push_names.h"

#include "hip/device/half_words.h"

typedef __bf16 __hip_bf16x2_native __attribute__((ext_vector_type(2)));
typedef float __hip_f32x2_native __attribute__((ext_vector_type(2)));

struct __hip_bfloat16_raw {
    unsigned short x;
};
struct __hip_bfloat162_raw {
    unsigned short x, y;
};

// Comes from and goes to most numbers implicitly, so an operator with a __hip_bfloat16 and a number is ambiguous: one
// of the two is converted by name.
struct alignas(2) __hip_bfloat16 {
  protected:
    unsigned short __x;

  public:
    __hip_bfloat16() = default;
    __host__ __device__ constexpr __hip_bfloat16(const __hip_bfloat16_raw &raw) : __x(raw.x) {}
    __host__ __device__ __hip_bfloat16(__bf16 value) : __x(__builtin_bit_cast(unsigned short, value)) {}
#define __HIP_BF16_FROM(T, of)                                                                                         \
    __host__ __device__ __hip_bfloat16(T value) : __x(of(value)) {}                                                    \
    __host__ __device__ __hip_bfloat16 &operator=(T value) {                                                           \
        __x = of(value);                                                                                               \
        return *this;                                                                                                  \
    }
    __HIP_BF16_FROM(float, nearest)
    __HIP_BF16_FROM(double, of_double)
    __HIP_BF16_FROM(int, of_double)
    __HIP_BF16_FROM(unsigned, of_double)
    __HIP_BF16_FROM(short, of_double)
    __HIP_BF16_FROM(unsigned short, of_double)
#undef __HIP_BF16_FROM
    __host__ __device__ __hip_bfloat16 &operator=(const __hip_bfloat16_raw &raw) {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ operator __hip_bfloat16_raw() const { return {__x}; }
    __host__ __device__ operator __hip_bfloat16_raw() const volatile { return {__x}; }
    __host__ __device__ operator __bf16() const { return __builtin_bit_cast(__bf16, __x); }
    __host__ __device__ operator float() const { return as_float(); }
    __host__ __device__ operator bool() const { return (__x & 0x7fff) != 0; }
#define __HIP_BF16_TO(T)                                                                                               \
    __host__ __device__ operator T() const { return static_cast<T>(as_float()); }
    __HIP_BF16_TO(char)
    __HIP_BF16_TO(signed char)
    __HIP_BF16_TO(unsigned char)
    __HIP_BF16_TO(short)
    __HIP_BF16_TO(unsigned short)
    __HIP_BF16_TO(int)
    __HIP_BF16_TO(unsigned)
    __HIP_BF16_TO(long)
    __HIP_BF16_TO(unsigned long)
    __HIP_BF16_TO(long long)
    __HIP_BF16_TO(unsigned long long)
#undef __HIP_BF16_TO

  private:
    __host__ __device__ float as_float() const { return __builtin_bit_cast(float, static_cast<unsigned>(__x) << 16); }
    // Ties go to even and NaN stays NaN.
    __host__ __device__ static unsigned short nearest(float value) {
#if defined(__HIP_DEVICE_COMPILE__)
        // One instruction on gfx950.
        return __builtin_bit_cast(unsigned short, static_cast<__bf16>(value));
#else
        unsigned bits = __builtin_bit_cast(unsigned, value);
        if (value != value) return static_cast<unsigned short>(bits >> 16 | 0x40);
        return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    }
    // Through float with its last bit set where something was cut off, so that rounding happens once.
    __host__ __device__ static unsigned short of_double(double value) {
        float single = static_cast<float>(value);
        unsigned bits = __builtin_bit_cast(unsigned, single);
        double back = single;
        if (back != value && value == value && (bits & 0x7fffffff) < 0x7f800000) {
            bool away = (value > 0) == (back > value);
            bits = (away ? bits - 1 : bits) | 1;
        }
        return nearest(__builtin_bit_cast(float, bits));
    }
};

struct alignas(4) __hip_bfloat162 {
    __hip_bfloat16 x, y;

    __hip_bfloat162() = default;
    __host__ __device__ constexpr __hip_bfloat162(const __hip_bfloat16 &x, const __hip_bfloat16 &y) : x(x), y(y) {}
    __host__ __device__ __hip_bfloat162(const __hip_bfloat162_raw &raw)
        : x(__hip_bfloat16_raw{raw.x}), y(__hip_bfloat16_raw{raw.y}) {}
    // A plain number is not a pair, although the compiler would convert it to a vector.
    template <typename V, __hip_if<std::is_same<V, __hip_bf16x2_native>::value> = 0>
    __host__ __device__ __hip_bfloat162(V value) : x(value.x), y(value.y) {}
    __host__ __device__ __hip_bfloat162 &operator=(const __hip_bfloat162_raw &raw) {
        return *this = __hip_bfloat162(raw);
    }
    __host__ __device__ operator float2() const { return {static_cast<float>(x), static_cast<float>(y)}; }
    __host__ __device__ operator __hip_bf16x2_native() const { return __builtin_bit_cast(__hip_bf16x2_native, *this); }
    __host__ __device__ operator __hip_bfloat162_raw() const {
        return {static_cast<__hip_bfloat16_raw>(x).x, static_cast<__hip_bfloat16_raw>(y).x};
    }
};

// Both elements in one conversion, which gfx950 has an instruction for.
__hip_host_device_inline __hip_bfloat162 __hip_bf162(__hip_f32x2_native value) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_bit_cast(__hip_bfloat162, __builtin_convertvector(value, __hip_bf16x2_native));
#else
    return {__hip_bfloat16(value.x), __hip_bfloat16(value.y)};
#endif
}
__hip_host_device_inline __hip_f32x2_native __hip_f32x2(const __hip_bfloat162 &value) {
    return __hip_f32x2_native{static_cast<float>(value.x), static_cast<float>(value.y)};
}

#define __HIP_FUNCTION __host__ __device__ static inline

// Conversions.
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16(float x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __double2bfloat16(double x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __int2bfloat16_rn(int x) { return x; }
__HIP_FUNCTION float __bfloat162float(__hip_bfloat16 x) { return x; }
__HIP_FUNCTION __hip_bfloat162 __float22bfloat162_rn(float2 x) { return __hip_bf162(__hip_f32x2_native{x.x, x.y}); }
__HIP_FUNCTION float2 __bfloat1622float2(__hip_bfloat162 x) { return x; }
__HIP_FUNCTION __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
__HIP_FUNCTION unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return static_cast<__hip_bfloat16_raw>(x).x; }
__HIP_FUNCTION short __bfloat16_as_short(__hip_bfloat16 x) { return static_cast<short>(__bfloat16_as_ushort(x)); }
__HIP_FUNCTION __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __hip_bfloat16_raw{x}; }
__HIP_FUNCTION __hip_bfloat16 __short_as_bfloat16(short x) {
    return __hip_bfloat16_raw{static_cast<unsigned short>(x)};
}

// Pairs and their halves.
__HIP_FUNCTION __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
__HIP_FUNCTION __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) { return x.x; }
__HIP_FUNCTION __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) { return x.y; }
__HIP_FUNCTION __hip_bfloat162 __low2bfloat162(__hip_bfloat162 x) { return {x.x, x.x}; }
__HIP_FUNCTION __hip_bfloat162 __high2bfloat162(__hip_bfloat162 x) { return {x.y, x.y}; }
__HIP_FUNCTION __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 x) { return {x.y, x.x}; }
__HIP_FUNCTION __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x, b.x}; }
__HIP_FUNCTION __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.y, b.y}; }
__HIP_FUNCTION float __low2float(__hip_bfloat162 x) { return x.x; }
__HIP_FUNCTION float __high2float(__hip_bfloat162 x) { return x.y; }

// Arithmetic. _rn is never fused, as nothing is that is rounded to 16 bits.
#define __HIP_BF16_OPERATOR(op, name, name2)                                                                           \
    __HIP_FUNCTION __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) {                                           \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 name2(__hip_bfloat162 a, __hip_bfloat162 b) {                                       \
        return __hip_bf162(__hip_f32x2(a) op __hip_f32x2(b));                                                          \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat16 operator op(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return name(a, b); } \
    __HIP_FUNCTION __hip_bfloat162 operator op(const __hip_bfloat162 &a, const __hip_bfloat162 &b) {                   \
        return name2(a, b);                                                                                            \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat16 &operator op## = (__hip_bfloat16 & a, const __hip_bfloat16 &b) {                     \
        return a = name(a, b);                                                                                         \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 &operator op## = (__hip_bfloat162 & a, const __hip_bfloat162 &b) {                  \
        return a = name2(a, b);                                                                                        \
    }
#define __HIP_BF16_UNFUSED(name)                                                                                       \
    __HIP_FUNCTION __hip_bfloat16 name##_rn(__hip_bfloat16 a, __hip_bfloat16 b) { return name(a, b); }                 \
    __HIP_FUNCTION __hip_bfloat162 name##2_rn(__hip_bfloat162 a, __hip_bfloat162 b) { return name##2(a, b); }
__HIP_BF16_OPERATOR(+, __hadd, __hadd2)
__HIP_BF16_OPERATOR(-, __hsub, __hsub2)
__HIP_BF16_OPERATOR(*, __hmul, __hmul2)
__HIP_BF16_OPERATOR(/, __hdiv, __h2div)
__HIP_BF16_UNFUSED(__hadd)
__HIP_BF16_UNFUSED(__hsub)
__HIP_BF16_UNFUSED(__hmul)
#undef __HIP_BF16_UNFUSED
#undef __HIP_BF16_OPERATOR
__HIP_FUNCTION __hip_bfloat16 __hneg(__hip_bfloat16 a) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(__bfloat16_as_ushort(a) ^ 0x8000));
}
__HIP_FUNCTION __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return {__hneg(a.x), __hneg(a.y)}; }
#define __HIP_BF16_STEPS(T, negated, one)                                                                              \
    __HIP_FUNCTION T operator+(const T &a) { return a; }                                                               \
    __HIP_FUNCTION T operator-(const T &a) { return negated(a); }                                                      \
    __HIP_FUNCTION T &operator++(T &a) { return a += one; }                                                            \
    __HIP_FUNCTION T &operator--(T &a) { return a -= one; }                                                            \
    __HIP_FUNCTION T operator++(T &a, int) {                                                                           \
        const T before = a;                                                                                            \
        a += one;                                                                                                      \
        return before;                                                                                                 \
    }                                                                                                                  \
    __HIP_FUNCTION T operator--(T &a, int) {                                                                           \
        const T before = a;                                                                                            \
        a -= one;                                                                                                      \
        return before;                                                                                                 \
    }
__HIP_BF16_STEPS(__hip_bfloat16, __hneg, __hip_bfloat16(1.0f))
__HIP_BF16_STEPS(__hip_bfloat162, __hneg2, __bfloat162bfloat162(1.0f))
#undef __HIP_BF16_STEPS
__HIP_FUNCTION __hip_bfloat16 __habs(__hip_bfloat16 a) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(__bfloat16_as_ushort(a) & 0x7fff));
}
__HIP_FUNCTION __hip_bfloat162 __habs2(__hip_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
__device__ static inline __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    return __builtin_fmaf(__bfloat162float(a), __bfloat162float(b), __bfloat162float(c));
}
__device__ static inline __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return __hip_bf162(__builtin_elementwise_fma(__hip_f32x2(a), __hip_f32x2(b), __hip_f32x2(c)));
}

// Comparison; the forms with u hold for NaN too.
#define __HIP_BF16_COMPARE(op, name)                                                                                   \
    __HIP_FUNCTION bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) {                                                \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }                                                                                                                  \
    __HIP_FUNCTION bool operator op(const __hip_bfloat16 &a, const __hip_bfloat16 &b) { return __h##name(a, b); }      \
    __HIP_FUNCTION bool __h##name##u(__hip_bfloat16 a, __hip_bfloat16 b) {                                             \
        return __builtin_isunordered(static_cast<float>(a), static_cast<float>(b)) || __h##name(a, b);                 \
    }                                                                                                                  \
    __HIP_FUNCTION bool __hb##name##2(__hip_bfloat162 a, __hip_bfloat162 b) {                                          \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                             \
    }                                                                                                                  \
    __HIP_FUNCTION bool __hb##name##u2(__hip_bfloat162 a, __hip_bfloat162 b) {                                         \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                       \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 __h##name##2(__hip_bfloat162 a, __hip_bfloat162 b) {                                \
        return {__h##name(a.x, b.x) ? 1.0f : 0.0f, __h##name(a.y, b.y) ? 1.0f : 0.0f};                                 \
    }
__HIP_BF16_COMPARE(==, eq)
__HIP_BF16_COMPARE(!=, ne)
__HIP_BF16_COMPARE(<, lt)
__HIP_BF16_COMPARE(<=, le)
__HIP_BF16_COMPARE(>, gt)
__HIP_BF16_COMPARE(>=, ge)
#undef __HIP_BF16_COMPARE
__HIP_FUNCTION bool operator==(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return __hbeq2(a, b); }
__HIP_FUNCTION bool operator!=(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return !(a == b); }
// As ROCm's amd_hip_bf16.h has them (6.4 to 7.13): the first element of a with both of b.
#define __HIP_BF16_COMPARE(op)                                                                                         \
    __HIP_FUNCTION bool operator op(const __hip_bfloat162 &a, const __hip_bfloat162 &b) {                              \
        return a.x op b.x && a.x op b.y;                                                                               \
    }
__HIP_BF16_COMPARE(<)
__HIP_BF16_COMPARE(<=)
__HIP_BF16_COMPARE(>)
__HIP_BF16_COMPARE(>=)
#undef __HIP_BF16_COMPARE
__HIP_FUNCTION bool __hisnan(__hip_bfloat16 a) { return (__bfloat16_as_ushort(a) & 0x7fff) > 0x7f80; }
__HIP_FUNCTION __hip_bfloat162 __hisnan2(__hip_bfloat162 a) {
    return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f};
}
__HIP_FUNCTION bool __hisinf(__hip_bfloat16 a) { return (__bfloat16_as_ushort(a) & 0x7fff) == 0x7f80; }
__HIP_FUNCTION __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __builtin_fmaxf(static_cast<float>(a), static_cast<float>(b));
}
__HIP_FUNCTION __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __builtin_fminf(static_cast<float>(a), static_cast<float>(b));
}
__HIP_FUNCTION __hip_bfloat162 __hmax2(__hip_bfloat162 a, __hip_bfloat162 b) {
    return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
__HIP_FUNCTION __hip_bfloat162 __hmin2(__hip_bfloat162 a, __hip_bfloat162 b) {
    return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}

// Functions: hexp(bf16) and h2exp(pair of bf16), computed in float.
#define __HIP_BF16_MATH(name, of)                                                                                      \
    __device__ static inline __hip_bfloat16 h##name(__hip_bfloat16 a) { return of(static_cast<float>(a)); }            \
    __device__ static inline __hip_bfloat162 h2##name(__hip_bfloat162 a) { return {h##name(a.x), h##name(a.y)}; }
__HIP_BF16_MATH(ceil, ceilf)
__HIP_BF16_MATH(cos, cosf)
__HIP_BF16_MATH(exp, expf)
__HIP_BF16_MATH(exp10, exp10f)
__HIP_BF16_MATH(exp2, exp2f)
__HIP_BF16_MATH(floor, floorf)
__HIP_BF16_MATH(log, logf)
__HIP_BF16_MATH(log10, log10f)
__HIP_BF16_MATH(log2, log2f)
__HIP_BF16_MATH(rcp, 1.0f /)
__HIP_BF16_MATH(rint, rintf)
__HIP_BF16_MATH(rsqrt, rsqrtf)
__HIP_BF16_MATH(sin, sinf)
__HIP_BF16_MATH(sqrt, sqrtf)
__HIP_BF16_MATH(trunc, truncf)
#undef __HIP_BF16_MATH

#define HIPRT_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define HIPRT_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define HIPRT_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define HIPRT_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define HIPRT_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define HIPRT_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
#define HIPRT_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)

#undef __HIP_FUNCTION

__hip_device_inline __hip_bfloat16 __hip_sum(__hip_bfloat16 a, __hip_bfloat16 b) { return __hadd(a, b); }
__hip_device_inline __hip_bfloat162 __hip_sum(__hip_bfloat162 a, __hip_bfloat162 b) { return __hadd2(a, b); }
// As for half: two at once, one as part of a pair, and an atomicAdd that yields to one in the source.
__device__ static inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162 *address, __hip_bfloat162 value) {
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx9_4_generic__)
    typedef short pair __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(
        __hip_bfloat162, __builtin_amdgcn_flat_atomic_fadd_v2bf16((pair *)address, __builtin_bit_cast(pair, value)));
#else
    return __hip_atomic_sum(address, value);
#endif
}
__device__ static inline __hip_bfloat16 unsafeAtomicAdd(__hip_bfloat16 *address, __hip_bfloat16 value) {
    return __hip_atomic_add_half_of_pair<__hip_bfloat162>(address, value);
}
template <typename T, __hip_if<std::is_same<T, __hip_bfloat16>::value || std::is_same<T, __hip_bfloat162>::value> = 0,
          int = 0>
__device__ inline T atomicAdd(T *address, T value) {
    return __hip_atomic_sum(address, value);
}
// Exchanged as a word; pairs under a mask alone.
#define __HIP_BF16_SHUFFLE(name, Argument)                                                                             \
    __hip_device_inline __hip_bfloat16 name(__hip_bfloat16 value, Argument lane, int width = warpSize) {               \
        const int word = name(static_cast<int>(__bfloat16_as_ushort(value)), lane, width);                             \
        return __ushort_as_bfloat16(static_cast<unsigned short>(word));                                                \
    }                                                                                                                  \
    __hip_device_inline __hip_bfloat16 name##_sync(unsigned long long mask, __hip_bfloat16 value, Argument lane,       \
                                                   int width = warpSize) {                                             \
        const int word = name##_sync(mask, static_cast<int>(__bfloat16_as_ushort(value)), lane, width);                \
        return __ushort_as_bfloat16(static_cast<unsigned short>(word));                                                \
    }                                                                                                                  \
    __hip_device_inline __hip_bfloat162 name##_sync(unsigned long long mask, __hip_bfloat162 value, Argument lane,     \
                                                    int width = warpSize) {                                            \
        return __builtin_bit_cast(__hip_bfloat162, name##_sync(mask, __builtin_bit_cast(int, value), lane, width));    \
    }
__HIP_BF16_SHUFFLE(__shfl, int)
__HIP_BF16_SHUFFLE(__shfl_up, unsigned)
__HIP_BF16_SHUFFLE(__shfl_down, unsigned)
__HIP_BF16_SHUFFLE(__shfl_xor, int)
#undef __HIP_BF16_SHUFFLE

#include "hip/device/pop_names.h"

#endif
