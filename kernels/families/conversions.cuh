/**
 * @file
 * @brief Conversion between element types with given scales: eight consecutive elements per thread.
 */
#pragma once

#include "families/expert_operands.cuh"

namespace kittens::families::conversions {

/** Index of the first of the thread's eight elements; past the end if it has none. */
__device__ inline size_t first_of_eight() { return 8 * (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x); }

struct to_fp8_arguments {
    const bf16 *x;
    /** One scale, the divisor of all elements. */
    const float *scale;
    fp8e4m3 *out;
    /** A multiple of 8. */
    size_t count;
};

/** out = x / scale, rounded to nearest, saturating. */
__device__ inline void to_fp8(const to_fp8_arguments &g) {
    const size_t at = first_of_eight();
    if (at >= g.count) return;
    const auto numbers = *reinterpret_cast<const experts::whole<bf16>::raw *>(g.x + at);
    experts::whole<fp8e4m3>::raw made;
#pragma unroll
    for (int i = 0; i < 8; i++)
        made.numbers[i] = base_types::convertor<fp8e4m3, float>::convert(
            base_types::convertor<float, bf16>::convert(numbers.numbers[i]) / *g.scale);
    *reinterpret_cast<experts::whole<fp8e4m3>::raw *>(g.out + at) = made;
}

template <typename T>
struct from_mx_arguments {
    const typename T::stored *numbers;
    /** A byte s for each block of 32, for 2^(s - 127). */
    const unsigned char *powers;
    bf16 *out;
    /** Numbers, a multiple of 32. */
    size_t count;
};

/** out = elements times their powers of two; T is `experts::fp4` or `experts::whole<fp8e4m3>`. */
template <typename T>
__device__ inline void from_mx(const from_mx_arguments<T> &g) {
    const size_t at = first_of_eight();
    if (at >= g.count) return;
    float numbers[8];
    // The scale 0 is not a normal float, and 255 is NaN.
    const unsigned power = g.powers[at / 32];
    const float scale = power == 255 ? __builtin_nanf("") : power == 0 ? 0x1p-127f : experts::power_of(power);
    if constexpr (T::per_element == 2) {
        const unsigned codes = *reinterpret_cast<const unsigned *>(g.numbers + at / 2);
#pragma unroll
        for (int i = 0; i < 8; i++) numbers[i] = 0.5f * experts::twice_e2m1(codes >> 4 * i) * scale;
    } else {
        const auto from = *reinterpret_cast<const typename T::raw *>(g.numbers + at);
#pragma unroll
        for (int i = 0; i < 8; i++)
            numbers[i] = base_types::convertor<float, typename T::stored>::convert(from.numbers[i]) * scale;
    }
    *reinterpret_cast<experts::eight *>(g.out + at) = experts::rounded(numbers);
}

} // namespace kittens::families::conversions
