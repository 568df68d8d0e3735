/**
 * @file
 * @brief Multiplication of matrices of small floats with a scale for each block of 32 along K, on gfx950 (CDNA4).
 *
 * The OCP microscaling formats (MXFP8, MXFP6, MXFP4): element (m, k) of a stands for a(m, k) * 2^(sa(m, k / 32) - 127),
 * where sa are scales of type fp8e8m0; the same for b. The matrix cores multiply by the scales at no cost. A scale of
 * 127 is one; a scale of 255 makes the results of its row NaN.
 *
 * Operands are of fp8e4m3 or fp8e5m2 with base shape rt_16x128_s (or rt_32x64_s, with accumulators of rt_32x32_s), or
 * pairs of fp4 with rt_16x64_s (rt_32x32_16_s), or groups of four fp6 with rt_16x32_s (rt_32x16_s): in these, the
 * instructions take a lane's elements along K in memory order, so that blocks consist of consecutive elements. a and b
 * may differ in their format.
 *
 * Scales are in registers. For the base tiles at one position along K, byte n of a register in lane l has the scale of
 * row l % 16 of the n-th base tile along M (of a) or N (of b), for block l / 16 of the four blocks in a base tile's
 * width. (With base tiles of 32 rows: row l % 32, block l / 32 of two.) `scale_a` points to such registers: for each
 * base tile along K, one for every four base tiles along M, the latter contiguous.
 */
#pragma once

#include "mma.cuh"

namespace kittens {

namespace detail {

/** One scaled instruction; `opsel_*` select the byte of a scale register, `cbsz` and `blgp` are formats of a and b. */
template <int opsel_a, int opsel_b, int cbsz, int blgp, typename D, typename A, typename B>
__device__ inline void mma_scaled_base(D &d, const A &a, const B &b, [[maybe_unused]] fp8e8m0_4 scale_a,
                                       [[maybe_unused]] fp8e8m0_4 scale_b) {
#if defined(KITTENS_CDNA4)
    constexpr bool is_a_byte = opsel_a >= 0 && opsel_a < 4 && opsel_b >= 0 && opsel_b < 4;
    static_assert(is_a_byte, "mma_*_scaled: a scale register has four bytes, chosen by opsel 0 to 3");
    using accumulator = select<sizeof(d.data) == 16, f32x4, f32x16>;
    i32x8 left = {}, right = {};
    __builtin_memcpy(&left, a.data, sizeof(a.data));
    __builtin_memcpy(&right, b.data, sizeof(b.data));
    accumulator sum;
    __builtin_memcpy(&sum, d.data, sizeof(sum));
    // The accumulator's row layout is its column layout with the operands exchanged.
    if constexpr (sizeof(d.data) == 16 && D::is_row)
        sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
            right, left, sum, blgp, cbsz, opsel_b, static_cast<int>(scale_b), opsel_a, static_cast<int>(scale_a));
    else if constexpr (sizeof(d.data) == 16)
        sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
            left, right, sum, cbsz, blgp, opsel_a, static_cast<int>(scale_a), opsel_b, static_cast<int>(scale_b));
    else if constexpr (D::is_row)
        sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
            right, left, sum, blgp, cbsz, opsel_b, static_cast<int>(scale_b), opsel_a, static_cast<int>(scale_a));
    else
        sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
            left, right, sum, cbsz, blgp, opsel_a, static_cast<int>(scale_a), opsel_b, static_cast<int>(scale_b));
    __builtin_memcpy(d.data, &sum, sizeof(sum));
#else
    (void)a, (void)b, (void)d;
    static_assert(never<D>, "mma_*_scaled: only gfx950 (CDNA4) has matrix instructions with block scales");
#endif
}

/** A format by its number, or -1 for the element type's format; a type can hold every format of its size. */
template <int given, typename T>
__host__ __device__ constexpr int scaled_format() {
    constexpr bool has_format = matrix_format<T> >= 0;
    static_assert(has_format, "mma_*_scaled: a and b are of fp8e4m3, fp8e5m2, fp6e2m3_4, fp6e3m2_4 or fp4e2m1_2");
    constexpr bool is_a_format = given >= -1 && given <= 4;
    static_assert(is_a_format, "mma_*_scaled: formats are 0 (e4m3), 1 (e5m2), 2 (e2m3), 3 (e3m2) and 4 (e2m1)");
    constexpr bool fits_type = !is_a_format || given == -1 || given / 2 == matrix_format<T> / 2;
    static_assert(fits_type, "mma_*_scaled: formats are 0 (e4m3) and 1 (e5m2) of 8-bit tiles, 2 (e2m3) and 3 (e3m2) of "
                             "tiles of fp6, 4 (e2m1) of tiles of fp4e2m1_2");
    return given == -1 ? matrix_format<T> : given;
}

/** The four forms; a is transposed where its rows run along K. */
template <bool a_transposed, bool b_transposed, int cbsz, int blgp, ducks::rt::all D, ducks::rt::all A,
          ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_scaled(D &d, const A &a, const B &b, const C &c, const fp8e8m0_4 *scale_a,
                                  const fp8e8m0_4 *scale_b) {
    constexpr int m = a_transposed ? A::cols : A::rows, k = a_transposed ? A::rows : A::cols;
    constexpr int n = b_transposed ? B::rows : B::cols, k_of_b = b_transposed ? B::cols : B::rows;
    constexpr int format_a = scaled_format<cbsz, typename A::T>(), format_b = scaled_format<blgp, typename B::T>();
    constexpr int per_a = numbers_in<typename A::T>, per_b = numbers_in<typename B::T>;
    constexpr int side = A::minor_shape::rows;
    constexpr bool one_accumulator = is_same<D, C>;
    static_assert(one_accumulator, "mma_*_scaled: the accumulators c and d have the same type");
    constexpr bool accumulates_floats = is_same<typename D::T, float>;
    static_assert(accumulates_floats, "mma_*_scaled: the accumulators are of float");
    constexpr bool same_depth = k * per_a == k_of_b * per_b;
    static_assert(same_depth, "mma_*_scaled: a and b have the same size along K");
    constexpr bool right_size = D::rows == m && D::cols == n;
    static_assert(right_size, "mma_*_scaled: the accumulator is M x N, M and N being those of a, b");
    constexpr bool a_layout = A::is_row != a_transposed;
    static_assert(a_layout, "mma_*_scaled: a is in the row layout in mma_AB_scaled and mma_ABt_scaled, "
                            "in the column layout in mma_AtB_scaled and mma_AtBt_scaled");
    constexpr bool b_layout = B::is_row == b_transposed;
    static_assert(b_layout, "mma_*_scaled: b is in the row layout in mma_ABt_scaled and "
                            "mma_AtBt_scaled, in the column layout in mma_AB_scaled and mma_AtB_scaled");
    constexpr bool right_shapes =
        (side == 16 || side == 32) && B::minor_shape::rows == side && A::minor_shape::cols * per_a == 2048 / side &&
        B::minor_shape::cols * per_b == 2048 / side && A::minor_shape::stride == min(16, 32 / per_a) &&
        B::minor_shape::stride == min(16, 32 / per_b);
    static_assert(
        right_shapes,
        "mma_*_scaled: the base shapes are rt_16x128_s or rt_32x64_s, of fp4e2m1_2 rt_16x64_s or "
        "rt_32x32_16_s, of fp6 rt_16x32_s or rt_32x16_s; for the column layout with rows and columns exchanged");
    constexpr bool right_accumulator =
        D::base_tile_rows == side && D::base_tile_cols == side && D::base_tile_stride == 4;
    static_assert(right_accumulator,
                  "mma_*_scaled: the accumulator's base shape is rt_16x16_s or rt_32x32_s, as wide as the operands' "
                  "base shapes are along M and N");
    constexpr int depth = a_transposed ? A::height : A::width;
    d = c;
    for_constants<depth>([&]<int s>() {
        for_constants<D::height>([&]<int i>() {
            for_constants<D::width>([&]<int j>() {
                mma_scaled_base<i % 4, j % 4, format_a, format_b>(
                    d.tiles[i][j], a_transposed ? a.tiles[s][i] : a.tiles[i][s],
                    b_transposed ? b.tiles[j][s] : b.tiles[s][j], scale_a[s * ((D::height + 3) / 4) + i / 4],
                    scale_b[s * ((D::width + 3) / 4) + j / 4]);
            });
        });
    });
}

} // namespace detail

/**
 * @brief d = a bᵀ + c with block scales: a is M x K, b N x K, both in the row layout.
 *
 * @tparam cbsz,blgp formats of a and b, if tiles hold another format than their type's: 0 e4m3, 1 e5m2; 2 e2m3, 3 e3m2;
 * 4 e2m1.
 * @param scale_a,scale_b scales in registers, as described at the top of this header.
 *
 * Costs one instruction of 16x16x128 (32x32x64) for each base tile of d and base tile along K.
 */
template <int cbsz = -1, int blgp = -1, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_ABt_scaled(D &d, const A &a, const B &b, const C &c, const fp8e8m0_4 *scale_a,
                                      const fp8e8m0_4 *scale_b) {
    detail::mma_scaled<false, true, cbsz, blgp>(d, a, b, c, scale_a, scale_b);
}
/** d = a b + c with block scales: a is M x K in the row layout, b K x N in the column layout. */
template <int cbsz = -1, int blgp = -1, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AB_scaled(D &d, const A &a, const B &b, const C &c, const fp8e8m0_4 *scale_a,
                                     const fp8e8m0_4 *scale_b) {
    detail::mma_scaled<false, false, cbsz, blgp>(d, a, b, c, scale_a, scale_b);
}
/** d = aᵀ b + c with block scales: a is K x M, b K x N, both in the column layout. */
template <int cbsz = -1, int blgp = -1, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AtB_scaled(D &d, const A &a, const B &b, const C &c, const fp8e8m0_4 *scale_a,
                                      const fp8e8m0_4 *scale_b) {
    detail::mma_scaled<true, false, cbsz, blgp>(d, a, b, c, scale_a, scale_b);
}
/** d = aᵀ bᵀ + c with block scales: a is K x M in the column layout, b N x K in the row layout. */
template <int cbsz = -1, int blgp = -1, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AtBt_scaled(D &d, const A &a, const B &b, const C &c, const fp8e8m0_4 *scale_a,
                                       const fp8e8m0_4 *scale_b) {
    detail::mma_scaled<true, true, cbsz, blgp>(d, a, b, c, scale_a, scale_b);
}

/**
 * @brief d = a bᵀ + c for one base tile of each, with bytes of the scale registers selected by the caller.
 *
 * @tparam opsel_a,opsel_b bytes of *scale_a and *scale_b, 0 to 3.
 */
template <int opsel_a, int opsel_b, int cbsz = -1, int blgp = -1, typename D, typename A, typename B>
__device__ inline void mma_ABt_base_scaled(D &d, const A &a, const B &b, const D &c, const fp8e8m0_4 *scale_a,
                                           const fp8e8m0_4 *scale_b) {
    D sum = c;
    detail::mma_scaled_base<opsel_a, opsel_b, detail::scaled_format<cbsz, typename A::T>(),
                            detail::scaled_format<blgp, typename B::T>()>(sum, a, b, *scale_a, *scale_b);
    d = sum;
}

#if defined(KITTENS_CDNA4)
/**
 * @brief d = a bᵀ + c on what a lane has of base tiles of 16x128, with block scales: one instruction.
 *
 * @tparam opsel_a,opsel_b bytes of *scale_a and *scale_b, 0 to 3.
 * @tparam cbsz,blgp formats of a and b: 0 e4m3, 1 e5m2.
 */
template <int opsel_a, int opsel_b, int cbsz = 0, int blgp = 0>
__device__ inline void mfma1616128_scaled(float2 (&d)[2], const fp8e4m3_4 (&a)[8], const fp8e4m3_4 (&b)[8],
                                          const float2 (&c)[2], const fp8e8m0_4 *scale_a, const fp8e8m0_4 *scale_b) {
    static_assert((cbsz == 0 || cbsz == 1) && (blgp == 0 || blgp == 1),
                  "mfma1616128_scaled: formats are 0 (e4m3) and 1 (e5m2)");
    const auto sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(
        detail::bit_cast<detail::i32x8>(a), detail::bit_cast<detail::i32x8>(b), detail::bit_cast<detail::f32x4>(c),
        cbsz, blgp, opsel_a, static_cast<int>(*scale_a), opsel_b, static_cast<int>(*scale_b));
    __builtin_memcpy(&d, &sum, sizeof(sum));
}
#endif

/**
 * @brief A scale register for four base tiles of 16 rows, from scales in memory.
 *
 * @param scales the contiguous scales of the four blocks of each row, 4 bytes of `unsigned char` or fp8e8m0;
 *        in shared or global memory.
 * @param row the first of the 64 rows.
 *
 * Costs four loads of 4 bytes per lane and seven other instructions.
 */
template <typename T>
    requires(sizeof(T) == 1)
__device__ inline fp8e8m0_4 pack_scales(const T *scales, int row) {
    const int lane = laneid(), shift = lane / 16 * 8;
    fp8e8m0_4 packed = 0;
#pragma unroll
    for (int n = 0; n < 4; n++) {
        unsigned blocks;
        __builtin_memcpy(&blocks, __builtin_assume_aligned(scales + (row + n * 16 + lane % 16) * 4, 4), 4);
        packed |= (blocks >> shift & 255u) << (n * 8);
    }
    return packed;
}

/**
 * @brief A scale register for four base tiles of 16 rows, from a matrix of scales in global memory.
 *
 * @tparam blocks width of base tiles in blocks: four, as the matrix instructions require, with a quarter of the lanes
 * for each, or one.
 * @tparam tiles number of base tiles, at most four.
 * @param scales a row for each row of the operand, with a scale for each block of 32 along K; `unsigned char` or
 * fp8e8m0.
 * @param at the first of the 64 rows, and the first of the blocks. Rows past the end read as zero.
 *
 * Costs a load of 1 byte per lane for each base tile.
 */
template <int blocks = 4, int tiles = 4, ducks::gl::all GL>
__device__ inline fp8e8m0_4 load_scales(const GL &scales, const coord<> &at) {
    static_assert(sizeof(typename GL::dtype) == 1, "load_scales: scales have 1 byte");
    static_assert(blocks == 4 || blocks == 1, "load_scales: base tiles are four blocks wide, or one");
    static_assert(tiles >= 1 && tiles <= 4, "load_scales: a register has the scales of one to four base tiles");
    const detail::program_order order;
    const detail::window<2, GL> view(scales, at);
    const detail::buffer memory(view.base, view.bytes);
    const int lane = laneid();
    fp8e8m0_4 packed = 0;
#pragma unroll
    for (int n = 0; n < tiles; n++) {
        const uint32_t offset =
            static_cast<uint32_t>(n * 16 + lane % 16) * view.pitch + static_cast<uint32_t>(lane / 16 * blocks / 4);
        packed |= static_cast<fp8e8m0_4>(memory.load<unsigned char>(offset)) << (n * 8);
    }
    return packed;
}

} // namespace kittens
