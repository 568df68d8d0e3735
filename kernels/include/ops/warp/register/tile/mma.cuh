/**
 * @file
 * @brief Matrix multiplication of register tiles on the matrix cores: MFMA on CDNA3 and CDNA4, WMMA on the others.
 *
 * The four functions differ in the layouts of their operands: `mma_ABt` computes d = a bᵀ + c, `mma_AB` d = a b + c,
 * `mma_AtB` d = aᵀ b + c, `mma_AtBt` d = aᵀ bᵀ + c. In each, a lane must hold consecutive elements along K of both
 * operands:
 *
 *            a               b               d and c
 *   ABt      M x K, row_l    N x K, row_l    M x N
 *   AB       M x K, row_l    K x N, col_l    M x N
 *   AtB      K x M, col_l    K x N, col_l    M x N
 *   AtBt     K x M, col_l    N x K, row_l    M x N
 *
 * The accumulators c and d are floats (ints for int8 operands) with base shape rt_16x16_s or rt_32x32_s, in either
 * layout: the column layout is the hardware's, and the row layout exchanges the operands at no cost. The side of their
 * base shape equals that of the operands along M and N.
 *
 * The matrix cores sum over K in whatever order the operands agree on, so base shapes with the K of several
 * instructions simply take several instructions; on gfx942 these are 16x16x16 and 32x32x8 for 2-byte types, on gfx950
 * 16x16x32 and 32x32x16 where a lane holds 8 elements. Floats are multiplied without conversion, by 16x16x4 and 32x32x2
 * on both targets, at an eighth of the rate of 2-byte types or less. On gfx1201 they are 16x16x16 for 2-byte types, fp8
 * and int8; it has no instruction for floats or base shapes of 32 rows. On gfx1250 they are 16x16x32 for 2-byte types,
 * 16x16x64 and 16x16x128 for fp8, 16x16x64 for int8 and 16x16x4 for floats; base shapes with less along K take a whole
 * instruction, and there are none of 32 rows either.
 */
#pragma once

#include "maps.cuh"
#include "matrix_instructions.cuh"

namespace kittens {

namespace detail {

/** d += a bᵀ for one base tile of each; a and b have the same `operand` distribution. */
template <typename T, int side, typename D, typename A, typename B>
__device__ inline void mma_base(D &d, const A &a, const B &b) {
    constexpr int have = A::elements_per_thread * static_cast<int>(sizeof(T));
    constexpr int bytes = mfma_bytes<T, side, have>();
    static_assert(bytes != 0,
                  "mma: the matrix cores of this target have no instruction for these operands; they take float, bf16, "
                  "half, int8, fp8 (no float on gfx1201, gfx1100; no fp8 on gfx1100), gfx950 fp4, fp6");
    if constexpr (bytes != 0) {
        using instruction = mfma<T, side, bytes>;
        typename instruction::accumulator sum;
        __builtin_memcpy(&sum, d.data, sizeof(sum));
#pragma unroll
        for (int k = 0; k < have; k += bytes) {
            typename instruction::operand left = {}, right = {};
            __builtin_memcpy(&left, reinterpret_cast<const char *>(a.data) + k, bytes);
            __builtin_memcpy(&right, reinterpret_cast<const char *>(b.data) + k, bytes);
            if constexpr (D::is_row)
                sum = instruction::run(right, left, sum);
            else
                sum = instruction::run(left, right, sum);
        }
        __builtin_memcpy(d.data, &sum, sizeof(sum));
    }
}

/** The four functions; a is transposed if its rows run along K. */
template <bool a_transposed, bool b_transposed, ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma(D &d, const A &a, const B &b, const C &c) {
    using T = typename A::T;
    constexpr int m = a_transposed ? A::cols : A::rows, k = a_transposed ? A::rows : A::cols;
    constexpr int n = b_transposed ? B::rows : B::cols, k_of_b = b_transposed ? B::cols : B::rows;
    constexpr bool one_accumulator = is_same<D, C>;
    static_assert(one_accumulator, "mma: the accumulators c and d have the same type");
    constexpr bool accumulates = is_same<typename D::T, select<is_same<T, int8>, int, float>>;
    static_assert(accumulates, "mma: the accumulators are of float, those of int8 operands of int");
    constexpr bool same_type = is_same<T, typename B::T>;
    static_assert(same_type, "mma: a and b have the same element type");
    constexpr bool same_depth = k == k_of_b;
    static_assert(same_depth, "mma: a and b have the same size along K");
    constexpr bool right_size = D::rows == m && D::cols == n;
    static_assert(right_size, "mma: the accumulator is M x N, M and N being those of a and b");
    constexpr bool a_layout = A::is_row != a_transposed;
    static_assert(a_layout,
                  "mma: a is in the row layout in mma_AB and mma_ABt, in the column layout in mma_AtB and mma_AtBt");
    constexpr bool b_layout = B::is_row == b_transposed;
    static_assert(b_layout,
                  "mma: b is in the row layout in mma_ABt and mma_AtBt, in the column layout in mma_AB and mma_AtB");
    constexpr bool same_order = is_same<typename A::minor_shape, typename B::minor_shape>;
    static_assert(same_order,
                  "mma: the base shapes of a and b put K in the same order: M (N) by K, and the same stride");
    constexpr int side = A::minor_shape::rows;
    constexpr bool fits =
        D::base_tile_rows == side && D::base_tile_cols == side && D::base_tile_stride == ducks::rt_shape::RESULT_STRIDE;
    static_assert(fits, "mma: the accumulator's base shape is rt_16x16_s or rt_32x32_s, as wide as the operands' base "
                        "shapes are along M and N");
    // If a check above fails, nothing else is reported.
    if constexpr (fits && one_accumulator && accumulates && same_type && same_depth && right_size && a_layout &&
                  b_layout && same_order) {
        constexpr int depth = a_transposed ? A::height : A::width;
        d = c;
        // K is the outermost loop, so that other instructions separate two that add to the same result.
#pragma unroll
        for (int s = 0; s < depth; s++)
#pragma unroll
            for (int i = 0; i < D::height; i++)
#pragma unroll
                for (int j = 0; j < D::width; j++)
                    mma_base<T, side>(d.tiles[i][j], a_transposed ? a.tiles[s][i] : a.tiles[i][s],
                                      b_transposed ? b.tiles[j][s] : b.tiles[s][j]);
    }
}

} // namespace detail

/** d = a b + c: a is M x K in the row layout, b K x N in the column layout. */
template <ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AB(D &d, const A &a, const B &b, const C &c) {
    detail::mma<false, false>(d, a, b, c);
}
/** d = a bᵀ + c: a is M x K, b N x K, both in the row layout. */
template <ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_ABt(D &d, const A &a, const B &b, const C &c) {
    detail::mma<false, true>(d, a, b, c);
}
/** d = aᵀ b + c: a is K x M, b K x N, both in the column layout. */
template <ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AtB(D &d, const A &a, const B &b, const C &c) {
    detail::mma<true, false>(d, a, b, c);
}
/** d = aᵀ bᵀ + c: a is K x M in the column layout, b N x K in the row layout. */
template <ducks::rt::all D, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C>
__device__ inline void mma_AtBt(D &d, const A &a, const B &b, const C &c) {
    detail::mma<true, true>(d, a, b, c);
}

namespace detail {
/** A base tile as a register tile with one base tile. */
template <typename Base>
using alone = rt<typename Base::T, Base::rows, Base::cols, typename Base::layout, typename Base::shape>;
template <typename Base>
__device__ inline alone<Base> as_tile(const Base &base) {
    alone<Base> tile;
    tile.tiles[0][0] = base;
    return tile;
}
template <bool a_transposed, bool b_transposed, typename D, typename A, typename B, typename C>
__device__ inline void mma_of_bases(D &d, const A &a, const B &b, const C &c) {
    alone<D> result;
    mma<a_transposed, b_transposed>(result, as_tile(a), as_tile(b), as_tile(c));
    d = result.tiles[0][0];
}
} // namespace detail

/** d = a b + c of single base tiles, such as `tile.tiles[i][j]`; layouts as for `mma_AB`. */
template <typename D, typename A, typename B, typename C>
__device__ inline void mma_AB_base(D &d, const A &a, const B &b, const C &c) {
    detail::mma_of_bases<false, false>(d, a, b, c);
}
/** d = a bᵀ + c of single base tiles; layouts as for `mma_ABt`. */
template <typename D, typename A, typename B, typename C>
__device__ inline void mma_ABt_base(D &d, const A &a, const B &b, const C &c) {
    detail::mma_of_bases<false, true>(d, a, b, c);
}
/** d = aᵀ b + c of single base tiles; layouts as for `mma_AtB`. */
template <typename D, typename A, typename B, typename C>
__device__ inline void mma_AtB_base(D &d, const A &a, const B &b, const C &c) {
    detail::mma_of_bases<true, false>(d, a, b, c);
}
/** d = aᵀ bᵀ + c of single base tiles; layouts as for `mma_AtBt`. */
template <typename D, typename A, typename B, typename C>
__device__ inline void mma_AtBt_base(D &d, const A &a, const B &b, const C &c) {
    detail::mma_of_bases<true, true>(d, a, b, c);
}

} // namespace kittens
