// half: IEEE's binary16. The hardware computes with it, and with two at once.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_FP16_H
#define HIP_INCLUDE_HIP_HIP_FP16_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H

#include "hip/device/push_names.h"

#include "hip/device/half_words.h"

typedef _Float16 __hip_f16x2_native __attribute__((ext_vector_type(2)));

struct __half_raw {
    union {
        _Float16 data;
        unsigned short x;
    };
};
struct __half2_raw {
    union {
        struct {
            __half_raw x, y;
        };
        __hip_f16x2_native data;
    };
};

// Numbers of every kind come and go implicitly, so an operator with a __half and a number is ambiguous: one of the two
// is converted by name. PyTorch's extensions are compiled without these conversions, or without the operators.
struct alignas(2) __half {
  protected:
    union {
        _Float16 data;
        unsigned short __x;
    };

  public:
    __half() = default;
    __host__ __device__ constexpr __half(const __half_raw &raw) : __x(raw.x) {}
    __host__ __device__ operator __half_raw() const { return __half_raw{data}; }
    __host__ __device__ operator __half_raw() const volatile { return __half_raw{data}; }
    __host__ __device__ __half &operator=(const __half_raw &raw) {
        __x = raw.x;
        return *this;
    }
#if !defined(__HIP_NO_HALF_CONVERSIONS__)
    __host__ __device__ __half(_Float16 value) : data(value) {}
    template <typename T, __hip_if<std::is_arithmetic<T>::value> = 0>
    __host__ __device__ __half(T value) : data(static_cast<_Float16>(value)) {}
    template <typename T, __hip_if<__hip_is_number<T>::value> = 0>
    __host__ __device__ __half &operator=(T value) {
        data = static_cast<_Float16>(value);
        return *this;
    }
    template <typename T, __hip_if<__hip_is_number<T>::value> = 0>
    __host__ __device__ operator T() const {
        return static_cast<T>(data);
    }
#endif
#if !defined(__HIP_NO_HALF_OPERATORS__)
    __host__ __device__ __half operator+() const { return *this; }
    __host__ __device__ __half operator-() const { return __half_raw{static_cast<_Float16>(-data)}; }
#define __HIP_HALF_OPERATOR(op)                                                                                        \
    __host__ __device__ __half &operator op## = (const __half &b) {                                                    \
        data = static_cast<_Float16>(data op b.data);                                                                  \
        return *this;                                                                                                  \
    }                                                                                                                  \
    friend __host__ __device__ inline __half operator op(const __half &a, const __half &b) {                           \
        return __half_raw{static_cast<_Float16>(a.data op b.data)};                                                    \
    }
    __HIP_HALF_OPERATOR(+)
    __HIP_HALF_OPERATOR(-)
    __HIP_HALF_OPERATOR(*)
    __HIP_HALF_OPERATOR(/)
#undef __HIP_HALF_OPERATOR
#define __HIP_HALF_COMPARE(op)                                                                                         \
    friend __host__ __device__ inline bool operator op(const __half &a, const __half &b) { return a.data op b.data; }
    __HIP_HALF_COMPARE(==)
    __HIP_HALF_COMPARE(!=)
    __HIP_HALF_COMPARE(<)
    __HIP_HALF_COMPARE(<=)
    __HIP_HALF_COMPARE(>)
    __HIP_HALF_COMPARE(>=)
#undef __HIP_HALF_COMPARE
    __HIP_STEPS(__half, __half_raw{static_cast<_Float16>(1)})
#endif
};

struct alignas(4) __half2 {
    union {
        struct {
            __half x, y;
        };
        __hip_f16x2_native data;
    };

    __half2() = default;
    __half2(const __half2 &) = default;
    __half2(__half2 &&) = default;
    __half2 &operator=(const __half2 &) = default;
    __half2 &operator=(__half2 &&) = default;
    __host__ __device__ constexpr __half2(const __half &x, const __half &y) : x(x), y(y) {}
    __host__ __device__ __half2(const __half2_raw &raw) : data(raw.data) {}
    __host__ __device__ __half2(__hip_f16x2_native value) : data(value) {}
    __host__ __device__ __half2 &operator=(const __half2_raw &raw) {
        data = raw.data;
        return *this;
    }
    __host__ __device__ operator __hip_f16x2_native() const { return data; }
    __host__ __device__ operator __half2_raw() const {
        __half2_raw raw;
        raw.data = data;
        return raw;
    }
#if !defined(__HIP_NO_HALF_OPERATORS__)
    __host__ __device__ __half2 operator+() const { return *this; }
    __host__ __device__ __half2 operator-() const { return -data; }
#define __HIP_HALF_OPERATOR(op)                                                                                        \
    __host__ __device__ __half2 &operator op## = (const __half2 &b) {                                                  \
        data = data op b.data;                                                                                         \
        return *this;                                                                                                  \
    }                                                                                                                  \
    friend __host__ __device__ inline __half2 operator op(const __half2 &a, const __half2 &b) {                        \
        return __half2(a.data op b.data);                                                                              \
    }
    __HIP_HALF_OPERATOR(+)
    __HIP_HALF_OPERATOR(-)
    __HIP_HALF_OPERATOR(*)
    __HIP_HALF_OPERATOR(/)
#undef __HIP_HALF_OPERATOR
    __HIP_STEPS(__half2, __half2(__hip_f16x2_native{1, 1}))
    // As HIP has it, a <= b is !(b < a): true also where only one element is not less.
    friend __host__ __device__ inline bool operator==(const __half2 &a, const __half2 &b) {
        return a.data.x == b.data.x && a.data.y == b.data.y;
    }
    friend __host__ __device__ inline bool operator<(const __half2 &a, const __half2 &b) {
        return a.data.x < b.data.x && a.data.y < b.data.y;
    }
    friend __host__ __device__ inline bool operator!=(const __half2 &a, const __half2 &b) { return !(a == b); }
    friend __host__ __device__ inline bool operator>(const __half2 &a, const __half2 &b) { return b < a; }
    friend __host__ __device__ inline bool operator<=(const __half2 &a, const __half2 &b) { return !(b < a); }
    friend __host__ __device__ inline bool operator>=(const __half2 &a, const __half2 &b) { return !(a < b); }
#endif
};

typedef __half half;
typedef __half2 half2;

#define __HIP_FUNCTION __host__ __device__ static inline

__HIP_FUNCTION _Float16 __hip_f16(const __half &x) { return static_cast<__half_raw>(x).data; }
__HIP_FUNCTION __half __hip_half(_Float16 x) { return __half_raw{x}; }

// Conversions. _rn rounds to nearest even, _rz towards zero, _ru up, _rd down.
__HIP_FUNCTION __half __float2half(float x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __float2half_rn(float x) { return __float2half(x); }
__HIP_FUNCTION float __half2float(__half x) { return __hip_f16(x); }
__HIP_FUNCTION __half2 __floats2half2_rn(float x, float y) { return {__float2half(x), __float2half(y)}; }
__HIP_FUNCTION __half2 __float22half2_rn(float2 x) { return __floats2half2_rn(x.x, x.y); }
__HIP_FUNCTION __half2 __float2half2_rn(float x) { return __floats2half2_rn(x, x); }
__HIP_FUNCTION float2 __half22float2(__half2 x) { return {__half2float(x.x), __half2float(x.y)}; }
__HIP_FUNCTION __half2 __half2half2(__half x) { return {x, x}; }
__HIP_FUNCTION short __half_as_short(__half x) { return static_cast<short>(static_cast<__half_raw>(x).x); }
__HIP_FUNCTION unsigned short __half_as_ushort(__half x) { return static_cast<__half_raw>(x).x; }
__HIP_FUNCTION __half __ushort_as_half(unsigned short x) { return __hip_half(__builtin_bit_cast(_Float16, x)); }
__HIP_FUNCTION __half __short_as_half(short x) { return __ushort_as_half(static_cast<unsigned short>(x)); }
__HIP_FUNCTION __half __int2half_rn(int x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __uint2half_rn(unsigned x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __short2half_rn(short x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __ushort2half_rn(unsigned short x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __ll2half_rn(long long x) { return __hip_half(static_cast<_Float16>(x)); }
__HIP_FUNCTION __half __ull2half_rn(unsigned long long x) { return __hip_half(static_cast<_Float16>(x)); }
// Steps from the nearest half to the neighbour on the required side of x.
__HIP_FUNCTION __half __hip_half_towards(float x, bool up) {
    const __half nearest = __float2half(x);
    const float back = __half2float(nearest);
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
// Integers up to 2^17 are exact as floats; a larger one gives an infinite half or the largest.
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
    __device__ static inline To __half2##to##_rn(__half x) { return (To)__float2##to##_rn(__half2float(x)); }          \
    __device__ static inline To __half2##to##_rz(__half x) { return (To)__float2##to##_rz(__half2float(x)); }          \
    __device__ static inline To __half2##to##_ru(__half x) { return (To)__float2##to##_ru(__half2float(x)); }          \
    __device__ static inline To __half2##to##_rd(__half x) { return (To)__float2##to##_rd(__half2float(x)); }
__HIP_HALF_TO(int, int)
__HIP_HALF_TO(uint, unsigned)
__HIP_HALF_TO(ll, long long)
__HIP_HALF_TO(ull, unsigned long long)
#undef __HIP_HALF_TO
#define __HIP_HALF_TO(to, To, mode, lowest, highest)                                                                   \
    __device__ static inline To __half2##to##_##mode(__half x) {                                                       \
        const int value = __float2int_##mode(__half2float(x));                                                         \
        return static_cast<To>(value < lowest ? lowest : value > highest ? highest : value);                           \
    }
#define __HIP_HALF_TO_SHORT(mode)                                                                                      \
    __HIP_HALF_TO(short, short, mode, -32768, 32767)                                                                   \
    __HIP_HALF_TO(ushort, unsigned short, mode, 0, 65535)
__HIP_HALF_TO_SHORT(rn)
__HIP_HALF_TO_SHORT(rz)
__HIP_HALF_TO_SHORT(ru)
__HIP_HALF_TO_SHORT(rd)
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
__HIP_FUNCTION float __low2float(__half2 x) { return x.data.x; }
__HIP_FUNCTION float __high2float(__half2 x) { return x.data.y; }

// Arithmetic. _rn is never fused.
__HIP_FUNCTION __half __hip_clamped(__half x) {
    return __float2half(__builtin_fminf(__builtin_fmaxf(__half2float(x), 0.0f), 1.0f));
}
#define __HIP_HALF_NAMED(op, name)                                                                                     \
    __HIP_FUNCTION __half name(__half a, __half b) { return __hip_half(__hip_f16(a) op __hip_f16(b)); }                \
    __HIP_FUNCTION __half name##_rn(__half a, __half b) {                                                              \
        _Pragma("clang fp contract(off)") return __hip_half(__hip_f16(a) op __hip_f16(b));                             \
    }                                                                                                                  \
    __HIP_FUNCTION __half name##_sat(__half a, __half b) { return __hip_clamped(name(a, b)); }                         \
    __HIP_FUNCTION __half2 name##2(__half2 a, __half2 b) { return a.data op b.data; }                                  \
    __HIP_FUNCTION __half2 name##2_rn(__half2 a, __half2 b) {                                                          \
        _Pragma("clang fp contract(off)") return a.data op b.data;                                                     \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 name##2_sat(__half2 a, __half2 b) { return {name##_sat(a.x, b.x), name##_sat(a.y, b.y)}; }
__HIP_HALF_NAMED(+, __hadd)
__HIP_HALF_NAMED(-, __hsub)
__HIP_HALF_NAMED(*, __hmul)
#undef __HIP_HALF_NAMED
__HIP_FUNCTION __half __hdiv(__half a, __half b) { return __hip_half(__hip_f16(a) / __hip_f16(b)); }
__HIP_FUNCTION __half2 __h2div(__half2 a, __half2 b) { return a.data / b.data; }
__HIP_FUNCTION __half __hneg(__half a) { return __hip_half(-__hip_f16(a)); }
__HIP_FUNCTION __half2 __hneg2(__half2 a) { return -a.data; }
__HIP_FUNCTION __half __habs(__half a) {
    return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(a) & 0x7fff));
}
__HIP_FUNCTION __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
__device__ static inline __half __hfma(__half a, __half b, __half c) {
    return __hip_half(__builtin_elementwise_fma(__hip_f16(a), __hip_f16(b), __hip_f16(c)));
}
__device__ static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __builtin_elementwise_fma(a.data, b.data, c.data);
}
// Clamped to 0 to 1, NaN to 0.
__device__ static inline __half __hfma_sat(__half a, __half b, __half c) { return __hip_clamped(__hfma(a, b, c)); }
__device__ static inline __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) {
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}

// Comparison; the forms with u hold for NaN too.
#define __HIP_HALF_COMPARE(op, name)                                                                                   \
    __HIP_FUNCTION bool __h##name(__half a, __half b) { return __hip_f16(a) op __hip_f16(b); }                         \
    __HIP_FUNCTION bool __h##name##u(__half a, __half b) {                                                             \
        return __builtin_isunordered(__half2float(a), __half2float(b)) || __h##name(a, b);                             \
    }                                                                                                                  \
    __HIP_FUNCTION bool __hb##name##2(__half2 a, __half2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }     \
    __HIP_FUNCTION bool __hb##name##u2(__half2 a, __half2 b) {                                                         \
        return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                       \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 __h##name##2(__half2 a, __half2 b) {                                                        \
        return __floats2half2_rn(__h##name(a.x, b.x), __h##name(a.y, b.y));                                            \
    }                                                                                                                  \
    __HIP_FUNCTION __half2 __h##name##u2(__half2 a, __half2 b) {                                                       \
        return __floats2half2_rn(__h##name##u(a.x, b.x), __h##name##u(a.y, b.y));                                      \
    }
__HIP_HALF_COMPARE(==, eq)
__HIP_HALF_COMPARE(!=, ne)
__HIP_HALF_COMPARE(<, lt)
__HIP_HALF_COMPARE(<=, le)
__HIP_HALF_COMPARE(>, gt)
__HIP_HALF_COMPARE(>=, ge)
#undef __HIP_HALF_COMPARE
__HIP_FUNCTION bool __hisnan(__half a) { return (__half_as_ushort(a) & 0x7fff) > 0x7c00; }
__HIP_FUNCTION __half2 __hisnan2(__half2 a) { return __floats2half2_rn(__hisnan(a.x), __hisnan(a.y)); }
__HIP_FUNCTION bool __hisinf(__half a) { return (__half_as_ushort(a) & 0x7fff) == 0x7c00; }
__HIP_FUNCTION __half2 __hisinf2(__half2 a) { return __floats2half2_rn(__hisinf(a.x), __hisinf(a.y)); }
__HIP_FUNCTION __half __hmax(__half a, __half b) {
    return __float2half(__builtin_fmaxf(__half2float(a), __half2float(b)));
}
__HIP_FUNCTION __half __hmin(__half a, __half b) {
    return __float2half(__builtin_fminf(__half2float(a), __half2float(b)));
}
// NaN if either operand is.
__HIP_FUNCTION __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
__HIP_FUNCTION __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }

// Functions: hexp(half) and h2exp(half2), computed in float and rounded once.
#define __HIP_HALF_MATH(name, of)                                                                                      \
    __device__ static inline __half h##name(__half a) { return __float2half(of(__half2float(a))); }                    \
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

__hip_device_inline __half __hip_sum(__half a, __half b) { return __hadd(a, b); }
__hip_device_inline __half2 __hip_sum(__half2 a, __half2 b) { return __hadd2(a, b); }
// Two at once, as the hardware adds them; one as one of the two, to the other of which 0 is added. atomicAdd came with
// ROCm 7.13: a source's own, which its predecessors needed, is taken before a template.
__device__ static inline __half2 unsafeAtomicAdd(__half2 *address, __half2 value) {
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__) || defined(__gfx9_4_generic__)
    return __builtin_amdgcn_flat_atomic_fadd_v2f16((__hip_f16x2_native *)address, value.data);
#else
    return __hip_atomic_sum(address, value);
#endif
}
__device__ static inline __half unsafeAtomicAdd(__half *address, __half value) {
    return __hip_atomic_add_half_of_pair<__half2>(address, value);
}
template <typename T, __hip_if<std::is_same<T, __half>::value || std::is_same<T, __half2>::value> = 0>
__device__ inline T atomicAdd(T *address, T value) {
    return __hip_atomic_sum(address, value);
}
// Lanes exchange whole words, so 16 bits are exchanged as a word, in the wave's own steps.
#define __HIP_HALF_SHUFFLE(name, Argument)                                                                             \
    __hip_device_inline __half name(__half value, Argument lane, int width = warpSize) {                               \
        return __ushort_as_half(                                                                                       \
            static_cast<unsigned short>(name(static_cast<int>(__half_as_ushort(value)), lane, width)));                \
    }                                                                                                                  \
    __hip_device_inline __half2 name(__half2 value, Argument lane, int width = warpSize) {                             \
        return __builtin_bit_cast(__half2, name(__builtin_bit_cast(int, value), lane, width));                         \
    }
__HIP_HALF_SHUFFLE(__shfl, int)
__HIP_HALF_SHUFFLE(__shfl_up, unsigned)
__HIP_HALF_SHUFFLE(__shfl_down, unsigned)
__HIP_HALF_SHUFFLE(__shfl_xor, int)
#undef __HIP_HALF_SHUFFLE
#define __HIP_LOADS(T)                                                                                                 \
    __hip_device_inline T __ldg(const T *address) { return *address; }                                                 \
    __hip_device_inline T __ldca(const T *address) { return *address; }                                                \
    __hip_device_inline T __ldcg(const T *address) { return *address; }                                                \
    __hip_device_inline T __ldcs(const T *address) { return *address; }
__HIP_LOADS(__half)
__HIP_LOADS(__half2)
#undef __HIP_LOADS
__device__ static inline float amd_mixed_dot(__half2 a, __half2 b, float c, bool saturate) {
    return saturate ? __builtin_amdgcn_fdot2(a.data, b.data, c, true)
                    : __builtin_amdgcn_fdot2(a.data, b.data, c, false);
}

#include "hip/device/pop_names.h"

#endif
