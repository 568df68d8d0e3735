// half: IEEE's binary16. The hardware computes with it, and with two at once.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_runtime.h"

typedef _Float16 __hip_f16x2_native __attribute__((ext_vector_type(2)));

struct __half_raw {
    unsigned short x;
};
struct __half2_raw {
    unsigned short x, y;
};

struct alignas(2) __half {
    _Float16 data;

    __half() = default;
    __host__ __device__ constexpr __half(_Float16 value) : data(value) {}
    __host__ __device__ constexpr __half(const __half_raw &raw) : data(__builtin_bit_cast(_Float16, raw.x)) {}
    __host__ __device__ constexpr __half(float value) : data(static_cast<_Float16>(value)) {}
    __host__ __device__ constexpr __half(double value) : data(static_cast<_Float16>(value)) {}
    template <typename T, __hip_if<std::is_integral<T>::value> = 0>
    __host__ __device__ constexpr __half(T value) : data(static_cast<_Float16>(value)) {}

    __host__ __device__ constexpr operator float() const { return static_cast<float>(data); }
    __host__ __device__ constexpr operator __half_raw() const { return {__builtin_bit_cast(unsigned short, data)}; }
    __host__ __device__ constexpr explicit operator bool() const { return data != 0; }
};

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    __host__ __device__ constexpr __half2(const __half &x, const __half &y) : x(x), y(y) {}
    __host__ __device__ constexpr __half2(const __half2_raw &raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
    __host__ __device__ __half2(__hip_f16x2_native value) : x(value.x), y(value.y) {}
    __host__ __device__ constexpr operator __half2_raw() const {
        return {__builtin_bit_cast(unsigned short, x.data), __builtin_bit_cast(unsigned short, y.data)};
    }
    __host__ __device__ __hip_f16x2_native native() const { return __hip_f16x2_native{x.data, y.data}; }
};

typedef __half half;
typedef __half2 half2;

#define __HIP_FUNCTION __host__ __device__ static inline

// Conversions. _rn rounds to nearest even, _rz towards zero, _ru up, _rd down.
__HIP_FUNCTION __half __float2half(float x) { return x; }
__HIP_FUNCTION __half __float2half_rn(float x) { return x; }
__HIP_FUNCTION __half __double2half(double x) { return x; }
__HIP_FUNCTION float __half2float(__half x) { return x; }
__HIP_FUNCTION __half2 __float22half2_rn(float2 x) { return {x.x, x.y}; }
__HIP_FUNCTION __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
__HIP_FUNCTION __half2 __float2half2_rn(float x) { return {x, x}; }
__HIP_FUNCTION float2 __half22float2(__half2 x) { return {x.x, x.y}; }
__HIP_FUNCTION __half2 __half2half2(__half x) { return {x, x}; }
__HIP_FUNCTION short __half_as_short(__half x) { return __builtin_bit_cast(short, x.data); }
__HIP_FUNCTION unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x.data); }
__HIP_FUNCTION __half __short_as_half(short x) { return __builtin_bit_cast(_Float16, x); }
__HIP_FUNCTION __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(_Float16, x); }
__HIP_FUNCTION __half __int2half_rn(int x) { return x; }
__HIP_FUNCTION __half __uint2half_rn(unsigned x) { return x; }
__HIP_FUNCTION __half __short2half_rn(short x) { return x; }
__HIP_FUNCTION __half __ushort2half_rn(unsigned short x) { return x; }
__HIP_FUNCTION __half __ll2half_rn(long long x) { return x; }
__HIP_FUNCTION __half __ull2half_rn(unsigned long long x) { return x; }
// Steps from the nearest half to the one on the wanted side of x.
__HIP_FUNCTION __half __hip_half_towards(float x, bool up) {
    __half nearest = x;
    float back = nearest;
    if (back == x || x != x) return nearest;
    if (up ? back > x : back < x) return nearest;
    unsigned short bits = __half_as_ushort(nearest);
    if ((bits & 0x7fff) == 0) return __ushort_as_half(up ? 0x0001 : 0x8001);
    bool grow = up == !(bits >> 15);
    return __ushort_as_half(static_cast<unsigned short>(grow ? bits + 1 : bits - 1));
}
__HIP_FUNCTION __half __float2half_ru(float x) { return __hip_half_towards(x, true); }
__HIP_FUNCTION __half __float2half_rd(float x) { return __hip_half_towards(x, false); }
__HIP_FUNCTION __half __float2half_rz(float x) { return __hip_half_towards(x, x < 0); }
// Integers up to 2^17 are exact as floats; beyond, a half is infinite or the largest.
#define __HIP_TO_HALF(from, From)                                                                                      \
    __device__ static inline __half __##from##2half_rz(From x) { return __hip_half_of(x, x < 0); }                     \
    __device__ static inline __half __##from##2half_ru(From x) { return __hip_half_of(x, true); }                      \
    __device__ static inline __half __##from##2half_rd(From x) { return __hip_half_of(x, false); }
template <typename T>
__HIP_FUNCTION __half __hip_half_of(T x, bool up) {
    const long long limit = 1 << 17;
    const long long held = x > 0 && static_cast<unsigned long long>(x) > static_cast<unsigned long long>(limit) ? limit
                           : x < 0 && static_cast<long long>(x) < -limit ? -limit
                                                                         : static_cast<long long>(x);
    return __hip_half_towards(static_cast<float>(held), up);
}
__HIP_TO_HALF(int, int)
__HIP_TO_HALF(uint, unsigned)
__HIP_TO_HALF(short, short)
__HIP_TO_HALF(ushort, unsigned short)
__HIP_TO_HALF(ll, long long)
__HIP_TO_HALF(ull, unsigned long long)
#undef __HIP_TO_HALF
#define __HIP_HALF_TO(to, To)                                                                                          \
    __device__ static inline To __half2##to##_rn(__half x) { return (To)__float2##to##_rn(x); }                        \
    __device__ static inline To __half2##to##_rz(__half x) { return (To)__float2##to##_rz(x); }                        \
    __device__ static inline To __half2##to##_ru(__half x) { return (To)__float2##to##_ru(x); }                        \
    __device__ static inline To __half2##to##_rd(__half x) { return (To)__float2##to##_rd(x); }
__HIP_HALF_TO(int, int)
__HIP_HALF_TO(uint, unsigned)
__HIP_HALF_TO(ll, long long)
__HIP_HALF_TO(ull, unsigned long long)
#undef __HIP_HALF_TO
#define __HIP_HALF_TO(to, To, mode, lowest, highest)                                                                   \
    __device__ static inline To __half2##to##_##mode(__half x) {                                                       \
        const int value = __float2int_##mode(x);                                                                       \
        return static_cast<To>(value < lowest ? lowest : value > highest ? highest : value);                           \
    }
#define __HIP_HALF_TO_SHORT(mode)                                                                                      \
    __HIP_HALF_TO(short, short, mode, -32768, 32767)                                                                   \
    __HIP_HALF_TO(ushort, unsigned short, mode, 0, 65535)
__HIP_HALF_TO_SHORT(rn)
__HIP_HALF_TO_SHORT(rz)
__HIP_HALF_TO_SHORT(ru)
__HIP_HALF_TO_SHORT(rd)
__HIP_HALF_TO(char, signed char, rz, -128, 127)
__HIP_HALF_TO(uchar, unsigned char, rz, 0, 255)
#undef __HIP_HALF_TO_SHORT
#undef __HIP_HALF_TO

// Pairs and their halves.
__HIP_FUNCTION __half2 __halves2half2(__half x, __half y) { return {x, y}; }
__HIP_FUNCTION __half2 make_half2(__half x, __half y) { return {x, y}; }
__HIP_FUNCTION __half __low2half(__half2 x) { return x.x; }
__HIP_FUNCTION __half __high2half(__half2 x) { return x.y; }
__HIP_FUNCTION __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
__HIP_FUNCTION __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
__HIP_FUNCTION __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }
__HIP_FUNCTION __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
__HIP_FUNCTION __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
__HIP_FUNCTION float __low2float(__half2 x) { return x.x; }
__HIP_FUNCTION float __high2float(__half2 x) { return x.y; }

// Arithmetic.
#define __HIP_HALF_OPERATOR(op)                                                                                        \
    __HIP_FUNCTION __half operator op(const __half &a, const __half &b) {                                              \
        return static_cast<_Float16>(a.data op b.data);                                                                \
    }                                                                                                                  \
    __HIP_FUNCTION __half &operator op## = (__half & a, const __half &b) { return a = a op b; }                        \
    __HIP_FUNCTION __half2 operator op(const __half2 &a, const __half2 &b) { return a.native() op b.native(); }        \
    __HIP_FUNCTION __half2 &operator op## = (__half2 & a, const __half2 &b) { return a = a op b; }
__HIP_HALF_OPERATOR(+)
__HIP_HALF_OPERATOR(-)
__HIP_HALF_OPERATOR(*)
__HIP_HALF_OPERATOR(/)
#undef __HIP_HALF_OPERATOR
#define __HIP_HALF_NAMED(op, name)                                                                                     \
    __HIP_FUNCTION __half name(__half a, __half b) { return a op b; }                                                  \
    __HIP_FUNCTION __half name##_rn(__half a, __half b) { return a op b; }                                             \
    __HIP_FUNCTION __half name##_sat(__half a, __half b) {                                                             \
        return __builtin_fminf(__builtin_fmaxf(a op b, 0.0f), 1.0f);                                                   \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 name##2(__half2 a, __half2 b) { return a op b; }                                            \
    __HIP_FUNCTION __half2 name##2_sat(__half2 a, __half2 b) { return {name##_sat(a.x, b.x), name##_sat(a.y, b.y)}; }
__HIP_HALF_NAMED(+, __hadd)
__HIP_HALF_NAMED(-, __hsub)
__HIP_HALF_NAMED(*, __hmul)
#undef __HIP_HALF_NAMED
__HIP_FUNCTION __half __hdiv(__half a, __half b) { return a / b; }
__HIP_FUNCTION __half2 __h2div(__half2 a, __half2 b) { return a / b; }
__HIP_FUNCTION __half operator+(const __half &a) { return a; }
__HIP_FUNCTION __half operator-(const __half &a) { return static_cast<_Float16>(-a.data); }
__HIP_FUNCTION __half2 operator-(const __half2 &a) { return -a.native(); }
__HIP_FUNCTION __half &operator++(__half &a) { return a += __half(1.0f); }
__HIP_FUNCTION __half &operator--(__half &a) { return a -= __half(1.0f); }
__HIP_FUNCTION __half operator++(__half &a, int) {
    __half before = a;
    ++a;
    return before;
}
__HIP_FUNCTION __half operator--(__half &a, int) {
    __half before = a;
    --a;
    return before;
}
__HIP_FUNCTION __half __hneg(__half a) { return -a; }
__HIP_FUNCTION __half2 __hneg2(__half2 a) { return -a; }
__HIP_FUNCTION __half __habs(__half a) {
    return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(a) & 0x7fff));
}
__HIP_FUNCTION __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
__device__ static inline __half __hfma(__half a, __half b, __half c) {
    return __builtin_elementwise_fma(a.data, b.data, c.data);
}
__device__ static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __builtin_elementwise_fma(a.native(), b.native(), c.native());
}

// Clamped to 0 to 1, NaN to 0; and with what is negative made 0.
__device__ static inline __half __hfma_sat(__half a, __half b, __half c) {
    return __builtin_fminf(__builtin_fmaxf(__hfma(a, b, c), 0.0f), 1.0f);
}
__device__ static inline __half __hfma_relu(__half a, __half b, __half c) {
    const __half result = __hfma(a, b, c);
    return result.data < 0 ? __half(0.0f) : result;
}
__device__ static inline __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
__device__ static inline __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}
// a * b + c of complex numbers, x the real part.
__device__ static inline __half2 __hcmadd(__half2 a, __half2 b, __half2 c) {
    const __half real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
    return {__hfma(-a.y, b.y, real), __hfma(a.y, b.x, imaginary)};
}

// Comparison; the forms with u hold for NaN too.
#define __HIP_HALF_COMPARE(op, name)                                                                                   \
    __HIP_FUNCTION bool operator op(const __half &a, const __half &b) { return a.data op b.data; }                     \
    __HIP_FUNCTION bool __h##name(__half a, __half b) { return a op b; }                                               \
    __HIP_FUNCTION bool __h##name##u(__half a, __half b) { return a.data != a.data || b.data != b.data || a op b; }    \
    __HIP_FUNCTION bool __hb##name##2(__half2 a, __half2 b) { return (a.x op b.x) && (a.y op b.y); }                   \
    __HIP_FUNCTION bool __hb##name##u2(__half2 a, __half2 b) {                                                         \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                       \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 __h##name##2(__half2 a, __half2 b) {                                                        \
        return {a.x op b.x ? 1.0f : 0.0f, a.y op b.y ? 1.0f : 0.0f};                                                   \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 __h##name##u2(__half2 a, __half2 b) {                                                       \
        return {__h##name##u(a.x, b.x) ? 1.0f : 0.0f, __h##name##u(a.y, b.y) ? 1.0f : 0.0f};                           \
    }
__HIP_HALF_COMPARE(==, eq)
__HIP_HALF_COMPARE(!=, ne)
__HIP_HALF_COMPARE(<, lt)
__HIP_HALF_COMPARE(<=, le)
__HIP_HALF_COMPARE(>, gt)
__HIP_HALF_COMPARE(>=, ge)
#undef __HIP_HALF_COMPARE
__HIP_FUNCTION bool operator==(const __half2 &a, const __half2 &b) { return a.x == b.x && a.y == b.y; }
__HIP_FUNCTION bool operator!=(const __half2 &a, const __half2 &b) { return !(a == b); }
__HIP_FUNCTION bool __hisnan(__half a) { return a.data != a.data; }
__HIP_FUNCTION __half2 __hisnan2(__half2 a) { return {__hisnan(a.x) ? 1.0f : 0.0f, __hisnan(a.y) ? 1.0f : 0.0f}; }
__HIP_FUNCTION int __hisinf(__half a) {
    return (__half_as_ushort(a) & 0x7fff) != 0x7c00 ? 0 : __half_as_ushort(a) >> 15 ? -1 : 1;
}
__HIP_FUNCTION __half2 __hisinf2(__half2 a) {
    return {__hisinf(a.x) != 0 ? 1.0f : 0.0f, __hisinf(a.y) != 0 ? 1.0f : 0.0f};
}
__HIP_FUNCTION __half __hmax(__half a, __half b) {
    return __builtin_fmaxf(static_cast<float>(a), static_cast<float>(b));
}
__HIP_FUNCTION __half __hmin(__half a, __half b) {
    return __builtin_fminf(static_cast<float>(a), static_cast<float>(b));
}
__HIP_FUNCTION __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
__HIP_FUNCTION __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
// NaN where one of the two is.
__HIP_FUNCTION __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
__HIP_FUNCTION __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
__HIP_FUNCTION __half2 __hmax2_nan(__half2 a, __half2 b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }
__HIP_FUNCTION __half2 __hmin2_nan(__half2 a, __half2 b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }

// Functions: hexp(half) and h2exp(half2), computed in float and rounded once.
#define __HIP_HALF_MATH(name, of)                                                                                      \
    __device__ static inline __half h##name(__half a) { return of(static_cast<float>(a)); }                            \
    __device__ static inline __half2 h2##name(__half2 a) { return {h##name(a.x), h##name(a.y)}; }
__HIP_HALF_MATH(ceil, ceilf)
__HIP_HALF_MATH(cos, cosf)
__HIP_HALF_MATH(exp, expf)
__HIP_HALF_MATH(exp10, exp10f)
__HIP_HALF_MATH(exp2, exp2f)
__HIP_HALF_MATH(floor, floorf)
__HIP_HALF_MATH(log, logf)
__HIP_HALF_MATH(log10, log10f)
__HIP_HALF_MATH(log2, log2f)
__HIP_HALF_MATH(rcp, 1.0f /)
__HIP_HALF_MATH(rint, rintf)
__HIP_HALF_MATH(rsqrt, rsqrtf)
__HIP_HALF_MATH(sin, sinf)
__HIP_HALF_MATH(sqrt, sqrtf)
__HIP_HALF_MATH(tanh, tanhf)
__HIP_HALF_MATH(trunc, truncf)
#undef __HIP_HALF_MATH

#define HIPRT_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define HIPRT_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define HIPRT_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define HIPRT_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define HIPRT_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define HIPRT_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
#define HIPRT_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)

#undef __HIP_FUNCTION

// Two at once, as the hardware adds them.
__device__ static inline __half2 atomicAdd(__half2 *address, __half2 value) {
    unsigned old = *(unsigned *)address, seen;
    do {
        seen = old;
        old = atomicCAS((unsigned *)address, seen,
                        __builtin_bit_cast(unsigned, __builtin_bit_cast(__half2, seen) + value));
    } while (old != seen);
    return __builtin_bit_cast(__half2, old);
}
__device__ static inline __half2 unsafeAtomicAdd(__half2 *address, __half2 value) {
#if defined(__gfx942__) || defined(__gfx950__)
    return __builtin_amdgcn_flat_atomic_fadd_v2f16((__hip_f16x2_native *)address, value.native());
#else
    return atomicAdd(address, value);
#endif
}
__device__ static inline float amd_mixed_dot(__half2 a, __half2 b, float c, bool saturate) {
    return saturate ? __builtin_amdgcn_fdot2(a.native(), b.native(), c, true)
                    : __builtin_amdgcn_fdot2(a.native(), b.native(), c, false);
}

#include "hip/device/pop_names.h"
