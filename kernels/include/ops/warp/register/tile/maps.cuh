/**
 * @file
 * @brief Element-wise operations on register tiles.
 *
 * `unary_map`, `bin_map`, `row_map` and `col_map` apply any functor of `base_ops`, `map` any function of floats; the
 * named functions apply the usual operations. The destination may be one of the sources. No function moves a value
 * between lanes.
 *
 * A row map takes one value for each row, that is, a `col_vec`; a column map one for each column, a `row_vec`.
 */
#pragma once

#include "../../../../types/types.cuh"

namespace kittens {

namespace detail {

/** True if two tiles have their elements in the same lanes and registers. */
template <typename A, typename B>
inline constexpr bool same_distribution =
    A::rows == B::rows && A::cols == B::cols && is_same<typename A::layout, typename B::layout> &&
    is_same<typename A::shape, typename B::shape>;

/** The value for packed element k of base tile {i, j} from a vector along the rows (`along_rows`) or columns. */
template <bool along_rows, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline typename RT::dtype vector_value(const RV &values, int i, int j, int k) {
    using wanted = select<along_rows, typename RT::col_vec, typename RT::row_vec>;
    constexpr bool own_vector = is_same<RV, wanted>;
    static_assert(own_vector, "a row map takes the tile's own col_vec, a column map its row_vec");
    const int tile = along_rows ? i : j;
    if constexpr (RV::is_align)
        return values.data[tile][k];
    else
        return base_types::pack(values.data[tile][0]);
}

} // namespace detail

/** dst = op(src). */
template <ducks::base_ops::unary op, ducks::rt::all RT>
__device__ inline void unary_map(RT &dst, const RT &src) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(src.tiles[i][j].data[k]);
}

/** dst = op(src, value) with the same packed value everywhere. */
template <ducks::base_ops::binary op, ducks::rt::all RT>
__device__ inline void bin_map(RT &dst, const RT &src, const typename RT::dtype &value) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(src.tiles[i][j].data[k], value);
}

/** dst = op(src, value) with the same value everywhere. */
template <ducks::base_ops::binary op, ducks::rt::all RT>
__device__ inline void bin_map(RT &dst, const RT &src, const typename RT::T &value) {
    bin_map<op, RT>(dst, src, base_types::pack(value));
}

/** dst = op(lhs, rhs). */
template <ducks::base_ops::binary op, ducks::rt::all RT>
__device__ inline void bin_map(RT &dst, const RT &lhs, const RT &rhs) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] =
                    op::template op<typename RT::dtype>(lhs.tiles[i][j].data[k], rhs.tiles[i][j].data[k]);
}

/** dst = op(a, b, c). */
template <ducks::base_ops::ternary op, ducks::rt::all RT>
__device__ inline void tri_map(RT &dst, const RT &a, const RT &b, const RT &c) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(
                    a.tiles[i][j].data[k], b.tiles[i][j].data[k], c.tiles[i][j].data[k]);
}

/** dst = op(src, value of the element's row). */
template <ducks::base_ops::binary op, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void row_map(RT &dst, const RT &src, const RV &row_values) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(
                    src.tiles[i][j].data[k], detail::vector_value<true, RT>(row_values, i, j, k));
}

/** dst = op(src, value of the element's column). */
template <ducks::base_ops::binary op, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void col_map(RT &dst, const RT &src, const RV &col_values) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(
                    src.tiles[i][j].data[k], detail::vector_value<false, RT>(col_values, i, j, k));
}

/** dst = op(a, b, value of the element's row). */
template <ducks::base_ops::ternary op, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void row_map(RT &dst, const RT &a, const RT &b, const RV &row_values) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(
                    a.tiles[i][j].data[k], b.tiles[i][j].data[k], detail::vector_value<true, RT>(row_values, i, j, k));
}

/** dst = op(a, b, value of the element's column). */
template <ducks::base_ops::ternary op, ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void col_map(RT &dst, const RT &a, const RT &b, const RV &col_values) {
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int k = 0; k < RT::packed_per_base_tile; k++)
                dst.tiles[i][j].data[k] = op::template op<typename RT::dtype>(
                    a.tiles[i][j].data[k], b.tiles[i][j].data[k], detail::vector_value<false, RT>(col_values, i, j, k));
}

namespace detail {

/** dst = f of the sources' elements, one by one. */
template <ducks::rt::all DST, typename F, ducks::rt::all... SRC>
__device__ inline void map_elements(DST &dst, const F &f, const SRC &...src) {
    constexpr bool same = (same_distribution<DST, SRC> && ...);
    static_assert(same, "map: the tiles have the same dimensions, layout and base shape");
    constexpr bool packed_alike = ((DST::packing == SRC::packing) && ...);
    static_assert(packed_alike, "map: copy between fp8 tiles and others first");
    if constexpr (same && packed_alike) {
        const int lane = laneid();
#pragma unroll
        for (int i = 0; i < DST::height; i++)
#pragma unroll
            for (int j = 0; j < DST::width; j++)
#pragma unroll
                for (int k = 0; k < DST::packed_per_base_tile; k++) {
                    numbers<typename DST::dtype> made;
#pragma unroll
                    for (int e = 0; e < DST::packing; e++)
                        made.n[e] =
                            call_at(f, i * DST::base_tile_rows + DST::base_tile::row(lane, k * DST::packing + e),
                                    j * DST::base_tile_cols + DST::base_tile::col(lane, k * DST::packing + e),
                                    numbers<typename SRC::dtype>::of(src.tiles[i][j].data[k]).n[e]...);
                    dst.tiles[i][j].data[k] = made.packed();
                }
    }
}

} // namespace detail

/**
 * @brief dst = f(src), element by element, computed in float and rounded once.
 *
 * @param f a function (a lambda, or a functor's object) of a float, or of a float and the element's row and column in
 *          the tile: `map(d, x, [](float v) { return v * v; })`, `map(d, x, [](float v, int row, int col) { ... })`.
 *
 * Tiles may differ in the element type, so that a conversion needs no additional tile.
 */
template <ducks::rt::all DST, ducks::rt::all SRC, typename F>
__device__ inline void map(DST &dst, const SRC &src, const F &f) {
    detail::map_elements(dst, f, src);
}
/** dst = f(a, b), or f(a, b, row, col). */
template <ducks::rt::all DST, ducks::rt::all A, ducks::rt::all B, typename F>
__device__ inline void map(DST &dst, const A &a, const B &b, const F &f) {
    detail::map_elements(dst, f, a, b);
}
/** dst = f(a, b, c), or f(a, b, c, row, col). */
template <ducks::rt::all DST, ducks::rt::all A, ducks::rt::all B, ducks::rt::all C, typename F>
__device__ inline void map(DST &dst, const A &a, const B &b, const C &c, const F &f) {
    detail::map_elements(dst, f, a, b, c);
}
/** Every element becomes f(row, col) of its position in the tile. */
template <ducks::rt::all RT, typename F>
    requires requires(const F &f) { f(0, 0); }
__device__ inline void fill(RT &dst, const F &f) {
    detail::map_elements(dst, f);
}

/** Sets every element to 0. */
template <ducks::rt::all RT>
__device__ inline void zero(RT &dst) {
    unary_map<base_ops::zero>(dst, dst);
}
/** Sets every element to 1. */
template <ducks::rt::all RT>
__device__ inline void one(RT &dst) {
    unary_map<base_ops::one>(dst, dst);
}
template <ducks::rt::all RT>
__device__ inline void ones(RT &dst) {
    unary_map<base_ops::one>(dst, dst);
}
/** Sets every element to +infinity. */
template <ducks::rt::all RT>
__device__ inline void pos_infty(RT &dst) {
    unary_map<base_ops::pos_infty>(dst, dst);
}
/** Sets every element to -infinity. */
template <ducks::rt::all RT>
__device__ inline void neg_infty(RT &dst) {
    unary_map<base_ops::neg_infty>(dst, dst);
}

template <ducks::rt::all RT>
__device__ inline void exp(RT &dst, const RT &src) {
    unary_map<base_ops::exp>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void exp2(RT &dst, const RT &src) {
    unary_map<base_ops::exp2>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void log(RT &dst, const RT &src) {
    unary_map<base_ops::log>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void log2(RT &dst, const RT &src) {
    unary_map<base_ops::log2>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void sqrt(RT &dst, const RT &src) {
    unary_map<base_ops::sqrt>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void rsqrt(RT &dst, const RT &src) {
    unary_map<base_ops::rsqrt>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void rcp(RT &dst, const RT &src) {
    unary_map<base_ops::rcp>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void neg(RT &dst, const RT &src) {
    unary_map<base_ops::neg>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void abs(RT &dst, const RT &src) {
    unary_map<base_ops::abs>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void relu(RT &dst, const RT &src) {
    unary_map<base_ops::relu>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void sigmoid(RT &dst, const RT &src) {
    unary_map<base_ops::sigmoid>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void silu(RT &dst, const RT &src) {
    unary_map<base_ops::silu>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void gelu(RT &dst, const RT &src) {
    unary_map<base_ops::gelu>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void gelu_tanh(RT &dst, const RT &src) {
    unary_map<base_ops::gelu_tanh>(dst, src);
}
/** The derivative of gelu_tanh. */
template <ducks::rt::all RT>
__device__ inline void dgelu(RT &dst, const RT &src) {
    unary_map<base_ops::dgelu>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void tanh(RT &dst, const RT &src) {
    unary_map<base_ops::tanh>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void erf(RT &dst, const RT &src) {
    unary_map<base_ops::erf>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void softplus(RT &dst, const RT &src) {
    unary_map<base_ops::softplus>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void sin(RT &dst, const RT &src) {
    unary_map<base_ops::sin>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void cos(RT &dst, const RT &src) {
    unary_map<base_ops::cos>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void floor(RT &dst, const RT &src) {
    unary_map<base_ops::floor>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void ceil(RT &dst, const RT &src) {
    unary_map<base_ops::ceil>(dst, src);
}
template <ducks::rt::all RT>
__device__ inline void round(RT &dst, const RT &src) {
    unary_map<base_ops::round>(dst, src);
}
/** dst = src, but `low` where it is less and `high` where it is more. */
template <ducks::rt::all RT>
__device__ inline void clamp(RT &dst, const RT &src, const typename RT::T &low, const typename RT::T &high) {
    bin_map<base_ops::max>(dst, src, low);
    bin_map<base_ops::min>(dst, dst, high);
}
template <ducks::rt::all RT>
__device__ inline void copy(RT &dst, const RT &src) {
    unary_map<base_ops::copy>(dst, src);
}

namespace detail {
/** True if U is a valid second argument of a map with two arguments. */
template <typename RT, typename U>
inline constexpr bool is_operand_of_tile =
    requires(RT &dst, const RT &lhs, const U &rhs) { bin_map<base_ops::sum>(dst, lhs, rhs); };
} // namespace detail

/** Their right-hand side is a tile of the same type, or one value for all elements. */
template <ducks::rt::all RT, typename U>
__device__ inline void add(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "add: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::sum>(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void sub(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "sub: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::sub>(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void sub_fma(RT &dst, const RT &lhs, const U &rhs) {
    sub(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void mul(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "mul: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::mul>(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void div(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "div: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::div>(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void max(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "max: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::max>(dst, lhs, rhs);
}
template <ducks::rt::all RT, typename U>
__device__ inline void min(RT &dst, const RT &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_tile<RT, U>;
    static_assert(fits, "min: the right-hand side is a tile of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::min>(dst, lhs, rhs);
}

/** dst = a * b + c, rounded once. */
template <ducks::rt::all RT>
__device__ inline void fma_AxBtC(RT &dst, const RT &a, const RT &b, const RT &c) {
    tri_map<base_ops::fma_AxBtC>(dst, a, b, c);
}
/** dst = a * c + b, rounded once. */
template <ducks::rt::all RT>
__device__ inline void fma_AxCtB(RT &dst, const RT &a, const RT &b, const RT &c) {
    tri_map<base_ops::fma_AxCtB>(dst, a, b, c);
}

/** Combines each element with the value of its row. */
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void add_row(RT &dst, const RT &src, const RV &row_values) {
    row_map<base_ops::sum>(dst, src, row_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void sub_row(RT &dst, const RT &src, const RV &row_values) {
    row_map<base_ops::sub>(dst, src, row_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void mul_row(RT &dst, const RT &src, const RV &row_values) {
    row_map<base_ops::mul>(dst, src, row_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void div_row(RT &dst, const RT &src, const RV &row_values) {
    row_map<base_ops::div>(dst, src, row_values);
}
/** Every element becomes the value of its row. */
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void broadcast_row(RT &dst, const RV &row_values) {
    row_map<base_ops::copy2>(dst, dst, row_values);
}

/** Combines each element with the value of its column. */
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void add_col(RT &dst, const RT &src, const RV &col_values) {
    col_map<base_ops::sum>(dst, src, col_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void sub_col(RT &dst, const RT &src, const RV &col_values) {
    col_map<base_ops::sub>(dst, src, col_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void mul_col(RT &dst, const RT &src, const RV &col_values) {
    col_map<base_ops::mul>(dst, src, col_values);
}
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void div_col(RT &dst, const RT &src, const RV &col_values) {
    col_map<base_ops::div>(dst, src, col_values);
}
/** Every element becomes the value of its column. */
template <ducks::rt::all RT, ducks::rv::all RV>
__device__ inline void broadcast_col(RT &dst, const RV &col_values) {
    col_map<base_ops::copy2>(dst, dst, col_values);
}

} // namespace kittens
