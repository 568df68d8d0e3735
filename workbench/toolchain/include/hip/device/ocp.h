// Conversions between float, half and bf16 and the 8-, 6- and 4-bit OCP formats, scaled by a power of two, as
// gfx950's v_cvt_scalef32_* do: to a small number, x / 2^scale is rounded to nearest even or stochastically; from a
// small number, the result is x * 2^scale. The arithmetic gives the same results on every target and the host;
// a number too large becomes NaN or infinity in the 8-bit formats, the largest number in the others.
#pragma once

#include "hip/device/push_names.h"

#include "hip/amd_detail/amd_hip_ocp_types.h"
#include "hip/hip_bf16.h"
#include "hip/hip_fp16.h"

namespace __hip_ocp {

struct format {
    int exponent, mantissa; // bits
    bool is_ieee;           // the highest exponent means infinity and NaN
    bool has_nan;           // the highest code is NaN
    __host__ __device__ constexpr int bits() const { return 1 + exponent + mantissa; }
    __host__ __device__ constexpr int least() const { return 2 - (1 << (exponent - 1)); }
    __host__ __device__ constexpr unsigned sign() const { return 1u << (exponent + mantissa); }
    __host__ __device__ constexpr unsigned largest() const {
        return sign() - 1 - (is_ieee ? 1u << mantissa : 0) - (has_nan ? 1 : 0);
    }
};

__host__ __device__ constexpr format of(__amd_fp8_interpretation_t kind) {
    return kind == __AMD_OCP_E4M3 ? format{4, 3, false, true} : format{5, 2, true, false};
}
__host__ __device__ constexpr format of(__amd_fp6_interpretation_t kind) {
    return kind == __AMD_OCP_E2M3 ? format{2, 3, false, false} : format{3, 2, false, false};
}
__host__ __device__ constexpr format of(__amd_fp4_interpretation_t) { return {2, 1, false, false}; }

inline constexpr format half_format{5, 10, true, false}, bf16_format{8, 7, true, false};

__host__ __device__ inline double power(int exponent) {
    return __builtin_bit_cast(double, static_cast<unsigned long long>(exponent + 1023) << 52);
}

// The code of x, to nearest even; with `dropped` bits, the upper ones of `random` are added below the last place before
// the rest is cut off.
__host__ __device__ inline unsigned encode(double x, format kind, int dropped, unsigned random) {
    const unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
    const unsigned sign = bits >> 63 ? kind.sign() : 0;
    const double size = __builtin_bit_cast(double, bits & ~(1ull << 63));
    const unsigned highest = kind.largest();
    const bool only_numbers = !kind.is_ieee && !kind.has_nan;
    const unsigned beyond = only_numbers ? highest : highest + 1;
    if (x != x)
        return sign | (only_numbers ? highest : kind.bits() > 8 ? beyond | 1u << (kind.mantissa - 1) : kind.sign() - 1);
    int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    if (exponent >= 1 << kind.exponent) return sign | beyond; // in every format
    if (exponent < kind.least()) exponent = kind.least();
    double units = size * power(kind.mantissa - exponent);
    if (dropped == 0) {
        units = __builtin_rint(units);
    } else {
        const double parts = __builtin_trunc(units * power(dropped));
        units = __builtin_trunc((parts + static_cast<double>(random >> (32 - dropped))) * power(-dropped));
    }
    const unsigned code =
        static_cast<unsigned>(units) + (static_cast<unsigned>(exponent - kind.least()) << kind.mantissa);
    return sign | (code > highest ? beyond : code);
}

__host__ __device__ inline double decode(unsigned code, format kind) {
    const unsigned size = code & (kind.sign() - 1), field = size >> kind.mantissa;
    const unsigned fraction = size & ((1u << kind.mantissa) - 1);
    double value;
    if (size > kind.largest())
        value = kind.is_ieee && fraction == 0 ? __builtin_inf() : __builtin_nan("");
    else
        value = static_cast<double>(field == 0 ? fraction : fraction | 1u << kind.mantissa) *
                power(kind.least() - kind.mantissa + (field == 0 ? 0 : static_cast<int>(field) - 1));
    return code & kind.sign() ? -value : value;
}

// The step from one number's random bits to the next one's: v_prng_b32.
__host__ __device__ inline unsigned next(unsigned random) { return random << 1 ^ (random >> 31 ? 197 : 0); }

template <typename T>
inline constexpr int mantissa_of = sizeof(T) == 4           ? 23
                                   : __is_same(T, _Float16) ? 10
                                                            : 7;

template <typename T>
__host__ __device__ inline double wide(T x) {
    if constexpr (sizeof(T) == 4)
        return x;
    else
        return decode(__builtin_bit_cast(unsigned short, x), __is_same(T, _Float16) ? half_format : bf16_format);
}
template <typename T>
__host__ __device__ inline T narrow(double x) {
    if constexpr (sizeof(T) == 4)
        return static_cast<T>(x);
    else
        return __builtin_bit_cast(
            T, static_cast<unsigned short>(encode(x, __is_same(T, _Float16) ? half_format : bf16_format, 0, 0)));
}

template <typename V, typename = void>
constexpr bool is_vector = false;
template <typename V>
constexpr bool is_vector<V, decltype(void(std::declval<const V &>()[0]))> = true;

// Element n of a compiler vector, or the only element.
template <typename V>
__host__ __device__ inline auto at(const V &of, int n) {
    if constexpr (is_vector<V>)
        return of[n];
    else
        return of;
}

// `count` numbers to consecutive codes, the first one lowest; rounded stochastically if there are random bits.
template <typename Small, int count, typename V>
__host__ __device__ inline Small to_small(const V &in, format kind, int scale, const unsigned *random = nullptr) {
    unsigned words[8] = {}, seed = random == nullptr ? 0 : *random;
    const double factor = power(-scale);
    for (int n = 0; n < count; n++) {
        const auto x = at(in, n);
        const int dropped = random == nullptr ? 0 : mantissa_of<__remove_cv(decltype(x))> - kind.mantissa;
        const unsigned long long code = encode(wide(x) * factor, kind, dropped, seed);
        const int bit = n * kind.bits();
        words[bit / 32] |= static_cast<unsigned>(code << bit % 32);
        if (bit % 32 + kind.bits() > 32) words[bit / 32 + 1] |= static_cast<unsigned>(code >> (32 - bit % 32));
        seed = next(seed);
    }
    Small result;
    __builtin_memcpy(&result, words, sizeof result);
    return result;
}

template <typename V, int count, typename Small>
__host__ __device__ inline V to_large(const Small &in, format kind, int scale) {
    unsigned words[9] = {};
    __builtin_memcpy(words, &in, sizeof in);
    V result;
    const double factor = power(scale);
    for (int n = 0; n < count; n++) {
        const int bit = n * kind.bits();
        const unsigned long long both = words[bit / 32] | static_cast<unsigned long long>(words[bit / 32 + 1]) << 32;
        const unsigned code = static_cast<unsigned>(both >> bit % 32) & ((1u << kind.bits()) - 1);
        if constexpr (is_vector<V>)
            result[n] = narrow<__remove_cvref(decltype(result[0]))>(decode(code, kind) * factor);
        else
            result = narrow<V>(decode(code, kind) * factor);
    }
    return result;
}

} // namespace __hip_ocp

#include "hip/device/pop_names.h"
