/**
 * @file
 * @brief The matrix instructions of each target: a record for each, which the multiplications of tiles choose from.
 *
 * Their operands and results are base tiles as `rt_shape.cuh` describes them: a lane holds a row of A, a row of Bᵀ, and
 * runs of a column of the result.
 */
#pragma once

#include "../../../../types/types.cuh"

namespace kittens::detail {

/**
 * @brief One matrix instruction: accumulators of side x side floats, and `bytes` bytes of each operand per lane.
 *
 * `exists` says whether the target has it.
 */
template <typename T, int side, int bytes>
struct mfma {
    static constexpr bool exists = false;
};

using s16x4 = short __attribute__((ext_vector_type(4)));
using f16x4 = _Float16 __attribute__((ext_vector_type(4)));
using f16x8 = _Float16 __attribute__((ext_vector_type(8)));
using bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using s16x8 = short __attribute__((ext_vector_type(8)));
using f32x8 = float __attribute__((ext_vector_type(8)));
using i32x16 = int __attribute__((ext_vector_type(16)));
using i32x8 = int __attribute__((ext_vector_type(8)));

/** Numbers of the small-float formats in gfx950's matrix instructions; -1 for the other types. */
template <typename T>
inline constexpr int matrix_format = -1;
template <>
inline constexpr int matrix_format<fp8e4m3> = 0;
template <>
inline constexpr int matrix_format<fp8e5m2> = 1;
template <>
inline constexpr int matrix_format<fp6e2m3_4> = 2;
#if defined(KITTENS_FP6)
template <>
inline constexpr int matrix_format<fp6_e2m3> = 2;
#endif
template <>
inline constexpr int matrix_format<fp6e3m2_4> = 3;
template <>
inline constexpr int matrix_format<fp4e2m1_2> = 4;
/** Bytes of 32 numbers of such a format, a lane's operand of an instruction. */
template <typename T>
inline constexpr int mx_bytes = 32 / numbers_in<T> * static_cast<int>(sizeof(T));

template <typename Operand, typename Accumulator>
struct mfma_of {
    static constexpr bool exists = true;
    using operand = Operand;
    using accumulator = Accumulator;
};

#if defined(KITTENS_CDNA5)
using f16x16 = _Float16 __attribute__((ext_vector_type(16)));
using bf16x16 = __bf16 __attribute__((ext_vector_type(16)));
using f32x2 = float __attribute__((ext_vector_type(2)));

// WMMA of gfx1250. Lane l has row l % 16 of A (column of B) and runs of 16 bytes of K, the first from 16 (l / 16) bytes
// on, the next 32 bytes further; floats have runs of 8 bytes. Of the result it has column l % 16 and 8 consecutive
// rows.
template <>
struct mfma<bf16, 16, 32> : mfma_of<bf16x16, f32x8> {
    template <bool a_again = false, bool b_again = false>
    static __device__ inline f32x8 run(bf16x16 a, bf16x16 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x32_bf16(false, a, false, b, 0, c, a_again, b_again);
    }
};
template <>
struct mfma<half, 16, 32> : mfma_of<f16x16, f32x8> {
    template <bool a_again = false, bool b_again = false>
    static __device__ inline f32x8 run(f16x16 a, f16x16 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x32_f16(false, a, false, b, 0, c, a_again, b_again);
    }
};
template <>
struct mfma<float, 16, 8> : mfma_of<f32x2, f32x8> {
    static __device__ inline f32x8 run(f32x2 a, f32x2 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x4_f32(false, a, false, b, 0, c, false, false);
    }
};
template <>
struct mfma<fp8e4m3, 16, 32> : mfma_of<i32x8, f32x8> {
    static __device__ inline f32x8 run(i32x8 a, i32x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x64_fp8_fp8(a, b, 0, c, false, false);
    }
};
template <>
struct mfma<fp8e5m2, 16, 32> : mfma_of<i32x8, f32x8> {
    static __device__ inline f32x8 run(i32x8 a, i32x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x64_bf8_bf8(a, b, 0, c, false, false);
    }
};
template <>
struct mfma<fp8e4m3, 16, 64> : mfma_of<i32x16, f32x8> {
    static __device__ inline f32x8 run(i32x16 a, i32x16 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x128_fp8_fp8(a, b, 0, c, false, false);
    }
};
template <>
struct mfma<fp8e5m2, 16, 64> : mfma_of<i32x16, f32x8> {
    static __device__ inline f32x8 run(i32x16 a, i32x16 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x128_bf8_bf8(a, b, 0, c, false, false);
    }
};
template <>
struct mfma<int8, 16, 32> : mfma_of<i32x8, i32x8> {
    static __device__ inline i32x8 run(i32x8 a, i32x8 b, i32x8 c) {
        return __builtin_amdgcn_wmma_i32_16x16x64_iu8(true, a, true, b, c, false, false);
    }
};
// Base tiles with less along K, such as rt_16x16_s: the rest of the operands is zero.
template <typename T, int bytes>
    requires(mfma<T, 16, 32>::exists && (bytes == 8 || bytes == 16))
struct mfma<T, 16, bytes> : mfma<T, 16, 32> {};
#elif defined(KITTENS_RDNA4)
// WMMA of gfx12 in waves of 32 lanes. Lane l has row l % 16 of A (column of B) and 8 consecutive numbers of K from
// 8 (l / 16) on; of the result column l % 16 and 8 consecutive rows.
template <>
struct mfma<bf16, 16, 16> : mfma_of<s16x8, f32x8> {
    static __device__ inline f32x8 run(s16x8 a, s16x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c);
    }
};
template <>
struct mfma<half, 16, 16> : mfma_of<f16x8, f32x8> {
    static __device__ inline f32x8 run(f16x8 a, f16x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c);
    }
};
template <>
struct mfma<fp8e4m3, 16, 8> : mfma_of<i32x2, f32x8> {
    static __device__ inline f32x8 run(i32x2 a, i32x2 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c);
    }
};
template <>
struct mfma<fp8e5m2, 16, 8> : mfma_of<i32x2, f32x8> {
    static __device__ inline f32x8 run(i32x2 a, i32x2 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf8_bf8_w32_gfx12(a, b, c);
    }
};
template <>
struct mfma<int8, 16, 8> : mfma_of<i32x2, i32x8> {
    static __device__ inline i32x8 run(i32x2 a, i32x2 b, i32x8 c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, c, false);
    }
};
#elif defined(KITTENS_RDNA3)
// WMMA of gfx11 in waves of 32 lanes. Lanes l and l + 16 both have the whole row l of A (column of B), of 16 numbers of
// K; of the result column l % 16 the one has the even rows and the other the odd ones. In a register tile the two lanes
// have half a row each, and of a result 8 consecutive rows, as on gfx12. So they exchange their halves, and the rows of
// A are dealt to the lanes so that those of the result come out in order. K is in the order lower lane, upper lane in
// both operands, which gives the same sums.
/** For each lane of 16 the lane whose row of A it gets, four bits each: 0, 8, 1, 9, ... for A; itself for B. */
inline constexpr uint64_t DEALT_ROWS = 0xf7e6d5c4b3a29180, SAME_ROWS = 0xfedcba9876543210;
/** Both lanes' halves of a row, the lower lane's first. */
template <typename Row, uint64_t rows, typename Half>
__device__ inline Row whole_row(Half half) {
    constexpr int count = sizeof(Half) / 4;
    constexpr int first = static_cast<int>(rows), second = static_cast<int>(rows >> 32);
    int halves[count], all[2 * count];
    __builtin_memcpy(halves, &half, sizeof(half));
    const bool is_upper = laneid() & 16;
#pragma unroll
    for (int i = 0; i < count; i++) {
        int own = halves[i];
        if constexpr (rows != SAME_ROWS) own = __builtin_amdgcn_permlane16(own, own, first, second, true, false);
        const int other = __builtin_amdgcn_permlanex16(halves[i], halves[i], first, second, true, false);
        all[i] = is_upper ? other : own;
        all[count + i] = is_upper ? own : other;
    }
    Row row;
    __builtin_memcpy(&row, all, sizeof(row));
    return row;
}
template <>
struct mfma<bf16, 16, 16> : mfma_of<s16x8, f32x8> {
    using row = short __attribute__((ext_vector_type(16)));
    static __device__ inline f32x8 run(s16x8 a, s16x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(whole_row<row, DEALT_ROWS>(a), whole_row<row, SAME_ROWS>(b),
                                                           c);
    }
};
template <>
struct mfma<half, 16, 16> : mfma_of<f16x8, f32x8> {
    using row = _Float16 __attribute__((ext_vector_type(16)));
    static __device__ inline f32x8 run(f16x8 a, f16x8 b, f32x8 c) {
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(whole_row<row, DEALT_ROWS>(a), whole_row<row, SAME_ROWS>(b),
                                                          c);
    }
};
template <>
struct mfma<int8, 16, 8> : mfma_of<i32x2, i32x8> {
    static __device__ inline i32x8 run(i32x2 a, i32x2 b, i32x8 c) {
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, whole_row<i32x4, DEALT_ROWS>(a), true,
                                                          whole_row<i32x4, SAME_ROWS>(b), c, false);
    }
};
#else
template <>
struct mfma<bf16, 16, 8> : mfma_of<s16x4, f32x4> {
    static __device__ inline f32x4 run(s16x4 a, s16x4 b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<bf16, 32, 8> : mfma_of<s16x4, f32x16> {
    static __device__ inline f32x16 run(s16x4 a, s16x4 b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<half, 16, 8> : mfma_of<f16x4, f32x4> {
    static __device__ inline f32x4 run(f16x4 a, f16x4 b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<half, 32, 8> : mfma_of<f16x4, f32x16> {
    static __device__ inline f32x16 run(f16x4 a, f16x4 b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<float, 16, 4> : mfma_of<float, f32x4> {
    static __device__ inline f32x4 run(float a, float b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<float, 32, 4> : mfma_of<float, f32x16> {
    static __device__ inline f32x16 run(float a, float b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<fp8e4m3, 16, 8> : mfma_of<long, f32x4> {
    static __device__ inline f32x4 run(long a, long b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<fp8e4m3, 32, 8> : mfma_of<long, f32x16> {
    static __device__ inline f32x16 run(long a, long b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<fp8e5m2, 16, 8> : mfma_of<long, f32x4> {
    static __device__ inline f32x4 run(long a, long b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<fp8e5m2, 32, 8> : mfma_of<long, f32x16> {
    static __device__ inline f32x16 run(long a, long b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<int8, 16, 8> : mfma_of<long, i32x4> {
    static __device__ inline i32x4 run(long a, long b, i32x4 c) {
        return __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<int8, 32, 8> : mfma_of<long, i32x16> {
    static __device__ inline i32x16 run(long a, long b, i32x16 c) {
        return __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, c, 0, 0, 0);
    }
};
#if defined(KITTENS_CDNA4)
template <>
struct mfma<int8, 16, 16> : mfma_of<i32x4, i32x4> {
    static __device__ inline i32x4 run(i32x4 a, i32x4 b, i32x4 c) {
        return __builtin_amdgcn_mfma_i32_16x16x64_i8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<int8, 32, 16> : mfma_of<i32x4, i32x16> {
    static __device__ inline i32x16 run(i32x4 a, i32x4 b, i32x16 c) {
        return __builtin_amdgcn_mfma_i32_32x32x32_i8(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<bf16, 16, 16> : mfma_of<bf16x8, f32x4> {
    static __device__ inline f32x4 run(bf16x8 a, bf16x8 b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<bf16, 32, 16> : mfma_of<bf16x8, f32x16> {
    static __device__ inline f32x16 run(bf16x8 a, bf16x8 b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<half, 16, 16> : mfma_of<f16x8, f32x4> {
    static __device__ inline f32x4 run(f16x8 a, f16x8 b, f32x4 c) {
        return __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0);
    }
};
template <>
struct mfma<half, 32, 16> : mfma_of<f16x8, f32x16> {
    static __device__ inline f32x16 run(f16x8 a, f16x8 b, f32x16 c) {
        return __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, c, 0, 0, 0);
    }
};
// The instructions for 8-, 6- and 4-bit floats, which also take block scales; zero as scale operands turns scaling off.
// An operand is 8 registers; formats with fewer bits leave the last ones unused.
template <typename T, int side, int bytes>
    requires(matrix_format<T> >= 0 && bytes == mx_bytes<T> && (side == 16 || side == 32))
struct mfma<T, side, bytes> : mfma_of<i32x8, select<side == 16, f32x4, f32x16>> {
    using accumulator = select<side == 16, f32x4, f32x16>;
    static __device__ inline accumulator run(i32x8 a, i32x8 b, accumulator c) {
        constexpr int format = matrix_format<T>;
        if constexpr (side == 16)
            return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, format, format, 0, 0, 0, 0);
        else
            return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, format, format, 0, 0, 0, 0);
    }
};
#endif
#endif

/** Bytes of an operand per instruction, out of the `have` bytes that a lane holds: the largest that divides them. */
template <typename T, int side, int have>
__host__ __device__ constexpr int mfma_bytes() {
    if constexpr (have % 64 == 0 && mfma<T, side, 64>::exists)
        return 64;
    else if constexpr (have % 32 == 0 && mfma<T, side, 32>::exists)
        return 32;
    else if constexpr (have % 24 == 0 && mfma<T, side, 24>::exists)
        return 24;
    else if constexpr (have % 16 == 0 && mfma<T, side, 16>::exists)
        return 16;
    else if constexpr (have % 8 == 0 && mfma<T, side, 8>::exists)
        return 8;
    else if constexpr (have % 4 == 0 && mfma<T, side, 4>::exists)
        return 4;
    else
        return 0;
}

} // namespace kittens::detail
