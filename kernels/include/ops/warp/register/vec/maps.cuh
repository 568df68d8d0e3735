/**
 * @file
 * @brief Element-wise operations on register vectors.
 */
#pragma once

#include "../../../../types/types.cuh"

namespace kittens {

/** dst = op(src). */
template <ducks::base_ops::unary op, ducks::rv::all RV>
__device__ inline void unary_map(RV &dst, const RV &src) {
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < RV::inner_dim; k++) dst.data[i][k] = op::template op<typename RV::dtype>(src.data[i][k]);
}

/** dst = op(lhs, rhs). */
template <ducks::base_ops::binary op, ducks::rv::all RV>
__device__ inline void bin_map(RV &dst, const RV &lhs, const RV &rhs) {
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < RV::inner_dim; k++)
            dst.data[i][k] = op::template op<typename RV::dtype>(lhs.data[i][k], rhs.data[i][k]);
}

/** dst = op(src, value) with the same value everywhere. */
template <ducks::base_ops::binary op, ducks::rv::all RV>
__device__ inline void bin_map(RV &dst, const RV &src, const typename RV::T &value) {
    typename RV::dtype stored;
    if constexpr (RV::is_align)
        stored = base_types::pack(value);
    else
        stored = value;
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < RV::inner_dim; k++)
            dst.data[i][k] = op::template op<typename RV::dtype>(src.data[i][k], stored);
}

/** The maps by another name. */
template <ducks::base_ops::unary op, ducks::rv::all RV>
__device__ inline void unary_op(RV &dst, const RV &src) {
    unary_map<op>(dst, src);
}
template <ducks::base_ops::binary op, ducks::rv::all RV, typename U>
__device__ inline void bin_op(RV &dst, const RV &lhs, const U &rhs) {
    bin_map<op>(dst, lhs, rhs);
}
/** dst = op(src) for a lane's elements `first` to `end` - 1, counted over all base tiles. */
template <ducks::base_ops::unary op, ducks::rv::all RV>
__device__ inline void unary_op_range(RV &dst, const RV &src, int first, int end) {
#pragma unroll
    for (int n = 0; n < RV::outer_dim * RV::inner_dim; n++) {
        const int i = n / RV::inner_dim, k = n % RV::inner_dim;
        if (n >= first && n < end) dst.data[i][k] = op::template op<typename RV::dtype>(src.data[i][k]);
    }
}
/** For the first half, or for the second. */
template <ducks::base_ops::unary op, ducks::rv::all RV>
__device__ inline void unary_op_first_half_vec(RV &dst, const RV &src) {
    unary_op_range<op>(dst, src, 0, RV::outer_dim * RV::inner_dim / 2);
}
template <ducks::base_ops::unary op, ducks::rv::all RV>
__device__ inline void unary_op_second_half_vec(RV &dst, const RV &src) {
    unary_op_range<op>(dst, src, RV::outer_dim * RV::inner_dim / 2, RV::outer_dim * RV::inner_dim);
}
/** 2 to the power of the elements of a half. */
template <ducks::rv::all RV>
__device__ inline void exp_first_half_vec(RV &dst, const RV &src) {
    unary_op_first_half_vec<base_ops::exp2>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void exp_second_half_vec(RV &dst, const RV &src) {
    unary_op_second_half_vec<base_ops::exp2>(dst, src);
}

namespace detail {

/** dst = f of the sources' elements, one by one. */
template <ducks::rv::all DST, typename F, ducks::rv::all... SRC>
__device__ inline void map_elements(DST &dst, const F &f, const SRC &...src) {
    constexpr bool same = ((DST::length == SRC::length && is_same<typename DST::layout, typename SRC::layout> &&
                            is_same<typename DST::shape, typename SRC::shape> && DST::packing == SRC::packing) &&
                           ...);
    static_assert(same, "map: the vectors have the same length, layout and base shape; fp8 is copied first");
    if constexpr (same) {
        const int lane = laneid();
#pragma unroll
        for (int i = 0; i < DST::outer_dim; i++)
#pragma unroll
            for (int k = 0; k < DST::inner_dim; k++) {
                numbers<typename DST::dtype> made;
#pragma unroll
                for (int e = 0; e < DST::packing; e++)
                    made.n[e] = call_at(f, DST::index(i, lane, k * DST::packing + e),
                                        numbers<typename SRC::dtype>::of(src.data[i][k]).n[e]...);
                dst.data[i][k] = made.packed();
            }
    }
}

} // namespace detail

/** dst = f(src), element by element, computed in float and rounded once; or f(src, index). */
template <ducks::rv::all DST, ducks::rv::all SRC, typename F>
__device__ inline void map(DST &dst, const SRC &src, const F &f) {
    detail::map_elements(dst, f, src);
}
/** dst = f(a, b), or f(a, b, index). */
template <ducks::rv::all DST, ducks::rv::all A, ducks::rv::all B, typename F>
__device__ inline void map(DST &dst, const A &a, const B &b, const F &f) {
    detail::map_elements(dst, f, a, b);
}
/** dst = f(a, b, c), or f(a, b, c, index). */
template <ducks::rv::all DST, ducks::rv::all A, ducks::rv::all B, ducks::rv::all C, typename F>
__device__ inline void map(DST &dst, const A &a, const B &b, const C &c, const F &f) {
    detail::map_elements(dst, f, a, b, c);
}
/** Every element becomes f(index). */
template <ducks::rv::all RV, typename F>
    requires requires(const F &f) { f(0); }
__device__ inline void fill(RV &dst, const F &f) {
    detail::map_elements(dst, f);
}

/** Sets every element to 0. */
template <ducks::rv::all RV>
__device__ inline void zero(RV &dst) {
    unary_map<base_ops::zero>(dst, dst);
}
/** Sets every element to 1. */
template <ducks::rv::all RV>
__device__ inline void one(RV &dst) {
    unary_map<base_ops::one>(dst, dst);
}
template <ducks::rv::all RV>
__device__ inline void ones(RV &dst) {
    unary_map<base_ops::one>(dst, dst);
}
/** Sets every element to +infinity. */
template <ducks::rv::all RV>
__device__ inline void pos_infty(RV &dst) {
    unary_map<base_ops::pos_infty>(dst, dst);
}
/** Sets every element to -infinity. */
template <ducks::rv::all RV>
__device__ inline void neg_infty(RV &dst) {
    unary_map<base_ops::neg_infty>(dst, dst);
}

template <ducks::rv::all RV>
__device__ inline void exp(RV &dst, const RV &src) {
    unary_map<base_ops::exp>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void exp2(RV &dst, const RV &src) {
    unary_map<base_ops::exp2>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void log(RV &dst, const RV &src) {
    unary_map<base_ops::log>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void log2(RV &dst, const RV &src) {
    unary_map<base_ops::log2>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void sqrt(RV &dst, const RV &src) {
    unary_map<base_ops::sqrt>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void rsqrt(RV &dst, const RV &src) {
    unary_map<base_ops::rsqrt>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void rcp(RV &dst, const RV &src) {
    unary_map<base_ops::rcp>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void neg(RV &dst, const RV &src) {
    unary_map<base_ops::neg>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void abs(RV &dst, const RV &src) {
    unary_map<base_ops::abs>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void relu(RV &dst, const RV &src) {
    unary_map<base_ops::relu>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void sigmoid(RV &dst, const RV &src) {
    unary_map<base_ops::sigmoid>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void silu(RV &dst, const RV &src) {
    unary_map<base_ops::silu>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void gelu(RV &dst, const RV &src) {
    unary_map<base_ops::gelu>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void gelu_tanh(RV &dst, const RV &src) {
    unary_map<base_ops::gelu_tanh>(dst, src);
}
/** The derivative of gelu_tanh. */
template <ducks::rv::all RV>
__device__ inline void dgelu(RV &dst, const RV &src) {
    unary_map<base_ops::dgelu>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void tanh(RV &dst, const RV &src) {
    unary_map<base_ops::tanh>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void erf(RV &dst, const RV &src) {
    unary_map<base_ops::erf>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void softplus(RV &dst, const RV &src) {
    unary_map<base_ops::softplus>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void sin(RV &dst, const RV &src) {
    unary_map<base_ops::sin>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void cos(RV &dst, const RV &src) {
    unary_map<base_ops::cos>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void floor(RV &dst, const RV &src) {
    unary_map<base_ops::floor>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void ceil(RV &dst, const RV &src) {
    unary_map<base_ops::ceil>(dst, src);
}
template <ducks::rv::all RV>
__device__ inline void round(RV &dst, const RV &src) {
    unary_map<base_ops::round>(dst, src);
}
/** dst = src, but `low` where it is less and `high` where it is more. */
template <ducks::rv::all RV>
__device__ inline void clamp(RV &dst, const RV &src, const typename RV::T &low, const typename RV::T &high) {
    bin_map<base_ops::max>(dst, src, low);
    bin_map<base_ops::min>(dst, dst, high);
}
template <ducks::rv::all RV>
__device__ inline void copy(RV &dst, const RV &src) {
    unary_map<base_ops::copy>(dst, src);
}

namespace detail {
/** True if U is a valid second argument of a map with two arguments. */
template <typename RV, typename U>
inline constexpr bool is_operand_of_vector =
    requires(RV &dst, const RV &lhs, const U &rhs) { bin_map<base_ops::sum>(dst, lhs, rhs); };
} // namespace detail

/** Their right-hand side is a vector of the same type, or one value for all elements. */
template <ducks::rv::all RV, typename U>
__device__ inline void add(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "add: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::sum>(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void sub(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "sub: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::sub>(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void sub_fma(RV &dst, const RV &lhs, const U &rhs) {
    sub(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void mul(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "mul: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::mul>(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void div(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "div: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::div>(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void max(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "max: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::max>(dst, lhs, rhs);
}
template <ducks::rv::all RV, typename U>
__device__ inline void min(RV &dst, const RV &lhs, const U &rhs) {
    constexpr bool fits = detail::is_operand_of_vector<RV, U>;
    static_assert(fits, "min: the right-hand side is a vector of the same type, or one value");
    if constexpr (fits) bin_map<base_ops::min>(dst, lhs, rhs);
}

/** dst = src in dst's element type; both have the same length, layout and base shape. */
template <ducks::rv::all DST, ducks::rv::all SRC>
    requires(!detail::is_same<DST, SRC>)
__device__ inline void copy(DST &dst, const SRC &src) {
    constexpr bool same_distribution = DST::length == SRC::length &&
                                       detail::is_same<typename DST::layout, typename SRC::layout> &&
                                       detail::is_same<typename DST::shape, typename SRC::shape>;
    static_assert(same_distribution,
                  "copy: the vectors have the same length, layout and base shape, and differ in the element type only");
    constexpr bool converts = !same_distribution || DST::inner_dim == SRC::inner_dim;
    static_assert(converts, "copy: a vector of fp8 in the align layout converts by way of a tile");
    if constexpr (same_distribution && converts) {
        using conversion = base_types::convertor<typename DST::dtype, typename SRC::dtype>;
#pragma unroll
        for (int i = 0; i < DST::outer_dim; i++)
#pragma unroll
            for (int k = 0; k < DST::inner_dim; k++) dst.data[i][k] = conversion::convert(src.data[i][k]);
    }
}

} // namespace kittens
