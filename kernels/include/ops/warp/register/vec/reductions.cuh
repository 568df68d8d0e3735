/**
 * @file
 * @brief Reductions of a register vector to one value, in every lane.
 */
#pragma once

#include "maps.cuh"
#include "../tile/reductions.cuh"

namespace kittens {

namespace detail {

/** The neutral element of an operation, if it has one. */
template <typename op>
inline constexpr bool has_neutral = is_same<op, base_ops::sum> || is_same<op, base_ops::mul> ||
                                    is_same<op, base_ops::max> || is_same<op, base_ops::min>;
template <typename op, typename T>
__device__ constexpr T neutral() {
    if constexpr (is_same<op, base_ops::sum>)
        return 0;
    else if constexpr (is_same<op, base_ops::mul>)
        return 1;
    else if constexpr (is_same<T, float>)
        return is_same<op, base_ops::max> ? -__builtin_inff() : __builtin_inff();
    else
        return is_same<op, base_ops::max> ? -2147483647 - 1 : 2147483647;
}

template <typename op, ducks::rv::all RV>
__device__ inline void reduce_vector(typename RV::T &result, const RV &src) {
    using stored = typename RV::dtype;
    using one = summed<typename RV::T>;
    using wide = select<RV::is_align, summed_pair<typename RV::T>, one>;
    const int lane = laneid();
    const auto at = [&](int i, int k) -> wide {
        // Lanes past the end of a vector in the naive layout hold nothing.
        if constexpr (RV::is_naive && RV::length % WARP_THREADS != 0)
            if (RV::index(i, lane, k) >= RV::length) return neutral<op, one>();
        return base_types::convertor<wide, stored>::convert(src.data[i][k]);
    };
    wide partial = at(0, 0);
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = i == 0 ? 1 : 0; k < RV::inner_dim; k++) partial = op::template op<wide>(partial, at(i, k));
    one total;
    if constexpr (RV::is_align)
        total = reduce_lanes<op, RV::distribution::minor, WARP_THREADS / 2>(fold_packed<op>(partial));
    else if constexpr (RV::is_ortho)
        total = reduce_lanes<op, 1, RV::distribution::minor / 2>(partial);
    else
        total = reduce_lanes<op, 1, WARP_THREADS / 2>(partial);
    result = base_types::convertor<typename RV::T, one>::convert(total);
}

} // namespace detail

/** result = op over the elements of src, in an unspecified order; in float, rounded once. */
template <ducks::base_ops::binary op, ducks::rv::all RV>
__device__ inline void reduce(typename RV::T &result, const RV &src) {
    constexpr bool whole = !RV::is_naive || RV::length % WARP_THREADS == 0 || detail::has_neutral<op>;
    static_assert(whole,
                  "reduce: a vector in the naive layout has a multiple of a wave's lanes, but for sum, mul, max and "
                  "min");
    constexpr bool converts = !RV::is_align || base_types::packing<typename RV::dtype>::num() == 2;
    static_assert(converts, "reduce: copy an fp8 vector to another type first");
    if constexpr (whole && converts) detail::reduce_vector<op>(result, src);
}

namespace detail {
/** `start` may be the result itself. */
template <typename op, ducks::rv::all RV>
__device__ inline void reduce_from(typename RV::T &result, const RV &src, const typename RV::T &start) {
    typename RV::T whole;
    kittens::reduce<op>(whole, src);
    using one = summed<typename RV::T>;
    using convertor = base_types::convertor<one, typename RV::T>;
    const one both = op::template op<one>(convertor::convert(start), convertor::convert(whole));
    result = base_types::convertor<typename RV::T, one>::convert(both);
}
} // namespace detail

template <ducks::rv::all RV>
__device__ inline void max(typename RV::T &result, const RV &src) {
    reduce<base_ops::max>(result, src);
}
template <ducks::rv::all RV>
__device__ inline void min(typename RV::T &result, const RV &src) {
    reduce<base_ops::min>(result, src);
}
template <ducks::rv::all RV>
__device__ inline void sum(typename RV::T &result, const RV &src) {
    reduce<base_ops::sum>(result, src);
}
template <ducks::rv::all RV>
__device__ inline void prod(typename RV::T &result, const RV &src) {
    reduce<base_ops::mul>(result, src);
}

// With a start value.
template <ducks::rv::all RV>
__device__ inline void max(typename RV::T &result, const RV &src, const typename RV::T &start) {
    detail::reduce_from<base_ops::max>(result, src, start);
}
template <ducks::rv::all RV>
__device__ inline void min(typename RV::T &result, const RV &src, const typename RV::T &start) {
    detail::reduce_from<base_ops::min>(result, src, start);
}
template <ducks::rv::all RV>
__device__ inline void sum(typename RV::T &result, const RV &src, const typename RV::T &start) {
    detail::reduce_from<base_ops::sum>(result, src, start);
}
template <ducks::rv::all RV>
__device__ inline void prod(typename RV::T &result, const RV &src, const typename RV::T &start) {
    detail::reduce_from<base_ops::mul>(result, src, start);
}

} // namespace kittens
