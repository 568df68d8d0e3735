// bfloat16: the upper half of a float. Arithmetic is done in float and rounded once, to nearest even.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_runtime.h"

typedef __bf16 __hip_bf16x2_native __attribute__((ext_vector_type(2)));
typedef float __hip_f32x2_native __attribute__((ext_vector_type(2)));

struct __hip_bfloat16_raw {
    unsigned short x;
};
struct __hip_bfloat162_raw {
    unsigned short x, y;
};

struct alignas(2) __hip_bfloat16 {
    unsigned short __x;

    __hip_bfloat16() = default;
    __host__ __device__ constexpr __hip_bfloat16(const __hip_bfloat16_raw &raw) : __x(raw.x) {}
    __host__ __device__ __hip_bfloat16(float value) : __x(nearest(value)) {}
    __host__ __device__ __hip_bfloat16(double value) : __x(of(value)) {}
    template <typename T, __hip_if<std::is_integral<T>::value> = 0>
    __host__ __device__ __hip_bfloat16(T value) : __x(of(static_cast<double>(value))) {}

    __host__ __device__ operator float() const { return __builtin_bit_cast(float, static_cast<unsigned>(__x) << 16); }
    __host__ __device__ operator __hip_bfloat16_raw() const { return {__x}; }
    __host__ __device__ explicit operator bool() const { return (__x & 0x7fff) != 0; }

  private:
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
    __host__ __device__ static unsigned short of(double value) {
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
    __host__ __device__ __hip_bfloat162(const __hip_bfloat16 &x, const __hip_bfloat16 &y) : x(x), y(y) {}
    __host__ __device__ constexpr __hip_bfloat162(const __hip_bfloat162_raw &raw)
        : x(__hip_bfloat16_raw{raw.x}), y(__hip_bfloat16_raw{raw.y}) {}
    __host__ __device__ explicit __hip_bfloat162(const float2 &value)
        : __hip_bfloat162(of(__hip_f32x2_native{value.x, value.y})) {}
    __host__ __device__ operator float2() const { return {x, y}; }
    __host__ __device__ operator __hip_bfloat162_raw() const { return {x.__x, y.__x}; }

    // Both elements in one conversion, which gfx950 has an instruction for.
    __host__ __device__ static __hip_bfloat162 of(__hip_f32x2_native value) {
#if defined(__HIP_DEVICE_COMPILE__)
        return __builtin_bit_cast(__hip_bfloat162, __builtin_convertvector(value, __hip_bf16x2_native));
#else
        return {__hip_bfloat16(value.x), __hip_bfloat16(value.y)};
#endif
    }
    __host__ __device__ __hip_f32x2_native floats() const {
        return __hip_f32x2_native{static_cast<float>(x), static_cast<float>(y)};
    }
};

typedef __hip_bfloat16 hip_bfloat16;
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;

#define __HIP_FUNCTION __host__ __device__ static inline

// Conversions.
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16(float x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16_rn(float x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __double2bfloat16(double x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __int2bfloat16_rn(int x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __uint2bfloat16_rn(unsigned x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __short2bfloat16_rn(short x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return x; }
__HIP_FUNCTION __hip_bfloat16 __ll2bfloat16_rn(long long x) { return static_cast<float>(x); }
__HIP_FUNCTION __hip_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return static_cast<float>(x); }
// The nearest bfloat16 on the side of x that is wanted: what the upper half of a float cuts off says which.
__HIP_FUNCTION __hip_bfloat16 __hip_bfloat16_towards(float x, bool up) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    if (x != x) return x;
    const unsigned cut = bits >> 16, rest = bits & 0xffff;
    const bool grow = rest != 0 && up == (bits >> 31 == 0);
    return __hip_bfloat16_raw{static_cast<unsigned short>(cut + grow)};
}
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16_rz(float x) { return __hip_bfloat16_towards(x, x < 0); }
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16_ru(float x) { return __hip_bfloat16_towards(x, true); }
__HIP_FUNCTION __hip_bfloat16 __float2bfloat16_rd(float x) { return __hip_bfloat16_towards(x, false); }
#define __HIP_BF16_TO(to, To)                                                                                          \
    __device__ static inline To __bfloat162##to##_rn(__hip_bfloat16 x) { return __float2##to##_rn(x); }                \
    __device__ static inline To __bfloat162##to##_rz(__hip_bfloat16 x) { return __float2##to##_rz(x); }                \
    __device__ static inline To __bfloat162##to##_ru(__hip_bfloat16 x) { return __float2##to##_ru(x); }                \
    __device__ static inline To __bfloat162##to##_rd(__hip_bfloat16 x) { return __float2##to##_rd(x); }
__HIP_BF16_TO(int, int)
__HIP_BF16_TO(uint, unsigned)
__HIP_BF16_TO(ll, long long)
__HIP_BF16_TO(ull, unsigned long long)
#undef __HIP_BF16_TO
#define __HIP_BF16_TO(to, To, mode, lowest, highest)                                                                   \
    __device__ static inline To __bfloat162##to##_##mode(__hip_bfloat16 x) {                                           \
        const int value = __float2int_##mode(x);                                                                       \
        return static_cast<To>(value < lowest ? lowest : value > highest ? highest : value);                           \
    }
#define __HIP_BF16_TO_SHORT(mode)                                                                                      \
    __HIP_BF16_TO(short, short, mode, -32768, 32767)                                                                   \
    __HIP_BF16_TO(ushort, unsigned short, mode, 0, 65535)
__HIP_BF16_TO_SHORT(rn)
__HIP_BF16_TO_SHORT(rz)
__HIP_BF16_TO_SHORT(ru)
__HIP_BF16_TO_SHORT(rd)
__HIP_BF16_TO(char, signed char, rz, -128, 127)
__HIP_BF16_TO(uchar, unsigned char, rz, 0, 255)
#undef __HIP_BF16_TO_SHORT
#undef __HIP_BF16_TO
__HIP_FUNCTION float __bfloat162float(__hip_bfloat16 x) { return x; }
__HIP_FUNCTION __hip_bfloat162 __float22bfloat162_rn(float2 x) { return __hip_bfloat162(x); }
__HIP_FUNCTION __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return __hip_bfloat162(float2{x, y}); }
__HIP_FUNCTION __hip_bfloat162 __float2bfloat162_rn(float x) { return __hip_bfloat162(float2{x, x}); }
__HIP_FUNCTION float2 __bfloat1622float2(__hip_bfloat162 x) { return x; }
__HIP_FUNCTION __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
__HIP_FUNCTION short __bfloat16_as_short(__hip_bfloat16 x) { return static_cast<short>(x.__x); }
__HIP_FUNCTION unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.__x; }
__HIP_FUNCTION __hip_bfloat16 __short_as_bfloat16(short x) {
    return __hip_bfloat16_raw{static_cast<unsigned short>(x)};
}
__HIP_FUNCTION __hip_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __hip_bfloat16_raw{x}; }

// Pairs and their halves.
__HIP_FUNCTION __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
__HIP_FUNCTION __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
__HIP_FUNCTION __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) { return x.x; }
__HIP_FUNCTION __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) { return x.y; }
__HIP_FUNCTION __hip_bfloat162 __low2bfloat162(__hip_bfloat162 x) { return {x.x, x.x}; }
__HIP_FUNCTION __hip_bfloat162 __high2bfloat162(__hip_bfloat162 x) { return {x.y, x.y}; }
__HIP_FUNCTION __hip_bfloat162 __lowhigh2highlow(__hip_bfloat162 x) { return {x.y, x.x}; }
__HIP_FUNCTION __hip_bfloat162 __lows2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x, b.x}; }
__HIP_FUNCTION __hip_bfloat162 __highs2bfloat162(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.y, b.y}; }
__HIP_FUNCTION float __low2float(__hip_bfloat162 x) { return x.x; }
__HIP_FUNCTION float __high2float(__hip_bfloat162 x) { return x.y; }

// Arithmetic.
#define __HIP_BF16_OPERATOR(op, name)                                                                                  \
    __HIP_FUNCTION __hip_bfloat16 operator op(const __hip_bfloat16 &a, const __hip_bfloat16 &b) {                      \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat16 &operator op## = (__hip_bfloat16 & a, const __hip_bfloat16 &b) {                     \
        return a = a op b;                                                                                             \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 operator op(const __hip_bfloat162 &a, const __hip_bfloat162 &b) {                   \
        return __hip_bfloat162::of(a.floats() op b.floats());                                                          \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 &operator op## = (__hip_bfloat162 & a, const __hip_bfloat162 &b) {                  \
        return a = a op b;                                                                                             \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }                          \
    __HIP_FUNCTION __hip_bfloat16 name##_rn(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }                     \
    __HIP_FUNCTION __hip_bfloat16 name##_sat(__hip_bfloat16 a, __hip_bfloat16 b) {                                     \
        return __builtin_fminf(__builtin_fmaxf(a op b, 0.0f), 1.0f);                                                   \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) { return a op b; }                    \
    __HIP_FUNCTION __hip_bfloat162 name##2_rn(__hip_bfloat162 a, __hip_bfloat162 b) { return a op b; }                 \
    __HIP_FUNCTION __hip_bfloat162 name##2_sat(__hip_bfloat162 a, __hip_bfloat162 b) {                                 \
        return {name##_sat(a.x, b.x), name##_sat(a.y, b.y)};                                                           \
    }
__HIP_BF16_OPERATOR(+, __hadd)
__HIP_BF16_OPERATOR(-, __hsub)
__HIP_BF16_OPERATOR(*, __hmul)
#undef __HIP_BF16_OPERATOR
__HIP_FUNCTION __hip_bfloat16 operator/(const __hip_bfloat16 &a, const __hip_bfloat16 &b) {
    return static_cast<float>(a) / static_cast<float>(b);
}
__HIP_FUNCTION __hip_bfloat16 &operator/=(__hip_bfloat16 &a, const __hip_bfloat16 &b) { return a = a / b; }
__HIP_FUNCTION __hip_bfloat162 operator/(const __hip_bfloat162 &a, const __hip_bfloat162 &b) {
    return __hip_bfloat162::of(a.floats() / b.floats());
}
__HIP_FUNCTION __hip_bfloat162 &operator/=(__hip_bfloat162 &a, const __hip_bfloat162 &b) { return a = a / b; }
__HIP_FUNCTION __hip_bfloat16 __hdiv(__hip_bfloat16 a, __hip_bfloat16 b) { return a / b; }
__HIP_FUNCTION __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) { return a / b; }
__HIP_FUNCTION __hip_bfloat16 operator+(const __hip_bfloat16 &a) { return a; }
__HIP_FUNCTION __hip_bfloat16 operator-(const __hip_bfloat16 &a) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(a.__x ^ 0x8000));
}
__HIP_FUNCTION __hip_bfloat162 operator-(const __hip_bfloat162 &a) { return {-a.x, -a.y}; }
__HIP_FUNCTION __hip_bfloat16 &operator++(__hip_bfloat16 &a) { return a += __hip_bfloat16(1.0f); }
__HIP_FUNCTION __hip_bfloat16 &operator--(__hip_bfloat16 &a) { return a -= __hip_bfloat16(1.0f); }
__HIP_FUNCTION __hip_bfloat16 operator++(__hip_bfloat16 &a, int) {
    __hip_bfloat16 before = a;
    ++a;
    return before;
}
__HIP_FUNCTION __hip_bfloat16 operator--(__hip_bfloat16 &a, int) {
    __hip_bfloat16 before = a;
    --a;
    return before;
}
__HIP_FUNCTION __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
__HIP_FUNCTION __hip_bfloat162 __hneg2(__hip_bfloat162 a) { return -a; }
__HIP_FUNCTION __hip_bfloat16 __habs(__hip_bfloat16 a) {
    return __ushort_as_bfloat16(static_cast<unsigned short>(a.__x & 0x7fff));
}
__HIP_FUNCTION __hip_bfloat162 __habs2(__hip_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
__HIP_FUNCTION __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    return __builtin_fmaf(a, b, c);
}
__HIP_FUNCTION __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return __hip_bfloat162::of(__builtin_elementwise_fma(a.floats(), b.floats(), c.floats()));
}
// Clamped to 0 to 1, NaN to 0; and with what is negative made 0.
__HIP_FUNCTION __hip_bfloat16 __hfma_sat(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    return __builtin_fminf(__builtin_fmaxf(__hfma(a, b, c), 0.0f), 1.0f);
}
__HIP_FUNCTION __hip_bfloat16 __hfma_relu(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    const float result = __hfma(a, b, c);
    return result < 0 ? 0.0f : result;
}
__HIP_FUNCTION __hip_bfloat162 __hfma2_sat(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
__HIP_FUNCTION __hip_bfloat162 __hfma2_relu(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}

// Comparison; the forms with u hold for NaN too.
#define __HIP_BF16_COMPARE(op, name)                                                                                   \
    __HIP_FUNCTION bool operator op(const __hip_bfloat16 &a, const __hip_bfloat16 &b) {                                \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }                                                                                                                  \
    __HIP_FUNCTION bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }                               \
    __HIP_FUNCTION bool __h##name##u(__hip_bfloat16 a, __hip_bfloat16 b) {                                             \
        return __builtin_isunordered(static_cast<float>(a), static_cast<float>(b)) || a op b;                          \
    }                                                                                                                  \
    __HIP_FUNCTION bool __hb##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { return (a.x op b.x) && (a.y op b.y); }   \
    __HIP_FUNCTION bool __hb##name##u2(__hip_bfloat162 a, __hip_bfloat162 b) {                                         \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                       \
    }                                                                                                                  \
    __HIP_FUNCTION __hip_bfloat162 __h##name##2(__hip_bfloat162 a, __hip_bfloat162 b) {                                \
        return {a.x op b.x ? 1.0f : 0.0f, a.y op b.y ? 1.0f : 0.0f};                                                   \
    }
__HIP_BF16_COMPARE(==, eq)
__HIP_BF16_COMPARE(!=, ne)
__HIP_BF16_COMPARE(<, lt)
__HIP_BF16_COMPARE(<=, le)
__HIP_BF16_COMPARE(>, gt)
__HIP_BF16_COMPARE(>=, ge)
#undef __HIP_BF16_COMPARE
__HIP_FUNCTION bool operator==(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return a.x == b.x && a.y == b.y; }
__HIP_FUNCTION bool operator!=(const __hip_bfloat162 &a, const __hip_bfloat162 &b) { return !(a == b); }
__HIP_FUNCTION bool __hisnan(__hip_bfloat16 a) { return (a.__x & 0x7fff) > 0x7f80; }
__HIP_FUNCTION __hip_bfloat162 __hisnan2(__hip_bfloat162 a) {
    return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f};
}
__HIP_FUNCTION int __hisinf(__hip_bfloat16 a) { return (a.__x & 0x7fff) != 0x7f80 ? 0 : a.__x >> 15 ? -1 : 1; }
__HIP_FUNCTION __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __builtin_fmaxf(static_cast<float>(a), static_cast<float>(b));
}
__HIP_FUNCTION __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __builtin_fminf(static_cast<float>(a), static_cast<float>(b));
}
// NaN where one of the two is.
__HIP_FUNCTION __hip_bfloat16 __hmax_nan(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
__HIP_FUNCTION __hip_bfloat16 __hmin_nan(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
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
__HIP_BF16_MATH(tanh, tanhf)
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

// Two at once, as the hardware adds them.
__device__ static inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162 *address, __hip_bfloat162 value) {
#if defined(__gfx942__) || defined(__gfx950__)
    typedef short pair __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(
        __hip_bfloat162, __builtin_amdgcn_flat_atomic_fadd_v2bf16((pair *)address, __builtin_bit_cast(pair, value)));
#else
    unsigned old = *(unsigned *)address, seen;
    do {
        seen = old;
        old = atomicCAS((unsigned *)address, seen,
                        __builtin_bit_cast(unsigned, __builtin_bit_cast(__hip_bfloat162, seen) + value));
    } while (old != seen);
    return __builtin_bit_cast(__hip_bfloat162, old);
#endif
}
__device__ static inline __hip_bfloat162 atomicAdd(__hip_bfloat162 *address, __hip_bfloat162 value) {
    unsigned old = *(unsigned *)address, seen;
    do {
        seen = old;
        old = atomicCAS((unsigned *)address, seen,
                        __builtin_bit_cast(unsigned, __builtin_bit_cast(__hip_bfloat162, seen) + value));
    } while (old != seen);
    return __builtin_bit_cast(__hip_bfloat162, old);
}

#include "hip/device/pop_names.h"
