// The older bfloat16, which rocBLAS and rocWMMA use: a type of its own beside __hip_bfloat16, without its functions.
#pragma once
#ifndef _HIP_BFLOAT16_H_
#define _HIP_BFLOAT16_H_
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BFLOAT16_H_

#if !defined(__cplusplus) || !defined(__HIP__)

#include <stdint.h>
typedef struct {
    uint16_t data;
} hip_bfloat16;

#else

#include "hip/hip_runtime.h"

struct hip_bfloat16 {
    unsigned short data;

    enum truncate_t { truncate };

    hip_bfloat16() = default;
    __host__ __device__ explicit hip_bfloat16(float value) : data(nearest(value)) {}
    __host__ __device__ explicit hip_bfloat16(float value, truncate_t) : data(truncated(value)) {}
    __host__ __device__ hip_bfloat16 &operator=(const float &value) {
        data = nearest(value);
        return *this;
    }
    __host__ __device__ operator float() const { return __builtin_bit_cast(float, static_cast<unsigned>(data) << 16); }

    __host__ __device__ static hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
    __host__ __device__ static hip_bfloat16 round_to_bfloat16(float value, truncate_t) {
        return hip_bfloat16(value, truncate);
    }

  private:
    // Ties go to even. A NaN whose upper half would be an infinity keeps a bit.
    __host__ __device__ static unsigned short nearest(float value) {
        const unsigned bits = __builtin_bit_cast(unsigned, value);
        if ((bits & 0x7f800000) == 0x7f800000) return truncated(value);
        return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    __host__ __device__ static unsigned short truncated(float value) {
        const unsigned bits = __builtin_bit_cast(unsigned, value);
        const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
        return static_cast<unsigned short>(bits >> 16 | (is_nan && (bits & 0xffff) != 0));
    }
};

#define __HIP_BFLOAT16_OPERATOR(op)                                                                                    \
    __host__ __device__ inline hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) {                              \
        return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                                           \
    }                                                                                                                  \
    __host__ __device__ inline hip_bfloat16 &operator op## = (hip_bfloat16 & a, hip_bfloat16 b) { return a = a op b; }
__HIP_BFLOAT16_OPERATOR(+)
__HIP_BFLOAT16_OPERATOR(-)
__HIP_BFLOAT16_OPERATOR(*)
__HIP_BFLOAT16_OPERATOR(/)
#undef __HIP_BFLOAT16_OPERATOR
#define __HIP_BFLOAT16_COMPARISON(op)                                                                                  \
    __host__ __device__ inline bool operator op(hip_bfloat16 a, hip_bfloat16 b) {                                      \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }
__HIP_BFLOAT16_COMPARISON(==)
__HIP_BFLOAT16_COMPARISON(!=)
__HIP_BFLOAT16_COMPARISON(<)
__HIP_BFLOAT16_COMPARISON(>)
#undef __HIP_BFLOAT16_COMPARISON
// As ROCm's: true for a NaN.
__host__ __device__ inline bool operator<=(hip_bfloat16 a, hip_bfloat16 b) { return !(a > b); }
__host__ __device__ inline bool operator>=(hip_bfloat16 a, hip_bfloat16 b) { return !(a < b); }
__host__ __device__ inline hip_bfloat16 operator+(hip_bfloat16 a) { return a; }
__host__ __device__ inline hip_bfloat16 operator-(hip_bfloat16 a) {
    a.data ^= 0x8000;
    return a;
}
__host__ __device__ inline hip_bfloat16 &operator++(hip_bfloat16 &a) { return a += hip_bfloat16(1.0f); }
__host__ __device__ inline hip_bfloat16 &operator--(hip_bfloat16 &a) { return a -= hip_bfloat16(1.0f); }
__host__ __device__ inline hip_bfloat16 operator++(hip_bfloat16 &a, int) {
    const hip_bfloat16 before = a;
    ++a;
    return before;
}
__host__ __device__ inline hip_bfloat16 operator--(hip_bfloat16 &a, int) {
    const hip_bfloat16 before = a;
    --a;
    return before;
}

namespace std {
__host__ __device__ constexpr bool isinf(hip_bfloat16 a) { return (a.data & 0x7fff) == 0x7f80; }
__host__ __device__ constexpr bool isnan(hip_bfloat16 a) { return (a.data & 0x7fff) > 0x7f80; }
__host__ __device__ constexpr bool iszero(hip_bfloat16 a) { return (a.data & 0x7fff) == 0; }
} // namespace std

#endif
#endif
