/**
 * @file
 * @brief Reductions of a register vector to one value, which every lane gets.
 */
#pragma once

#include "maps.cuh"
#include "../tile/reductions.cuh"

namespace kittens {

namespace detail {

template <typename op, ducks::rv::all RV>
__device__ inline void reduce_vector(typename RV::T &result, const RV &src) {
    using stored = typename RV::dtype;
    using one = summed<typename RV::T>;
    using wide = select<RV::is_align, summed_pair<typename RV::T>, one>;
    wide partial = base_types::convertor<wide, stored>::convert(src.data[0][0]);
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = i == 0 ? 1 : 0; k < RV::inner_dim; k++)
            partial = op::template op<wide>(partial, base_types::convertor<wide, stored>::convert(src.data[i][k]));
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

/** result = op over the elements of src, in an order of its own; in float, rounded once. */
template <ducks::base_ops::binary op, ducks::rv::all RV>
__device__ inline void reduce(typename RV::T &result, const RV &src) {
    constexpr bool whole = !RV::is_naive || RV::length % WARP_THREADS == 0;
    static_assert(whole, "reduce: a vector in the naive layout has a multiple of 64 elements");
    constexpr bool converts = !RV::is_align || base_types::packing<typename RV::dtype>::num() == 2;
    static_assert(converts, "reduce: copy an fp8 vector to another type first");
    if constexpr (converts) detail::reduce_vector<op>(result, src);
}

namespace detail {
/** `start` may be the result itself. */
template <typename op, ducks::rv::all RV>
__device__ inline void reduce_from(typename RV::T &result, const RV &src, const typename RV::T &start) {
    typename RV::T whole;
    kittens::reduce<op>(whole, src);
    using convertor = base_types::convertor<float, typename RV::T>;
    const float both = op::template op<float>(convertor::convert(start), convertor::convert(whole));
    result = base_types::convertor<typename RV::T, float>::convert(both);
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

// With a value to begin from.
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
