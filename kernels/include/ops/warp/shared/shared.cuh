/**
 * @file
 * @brief Operations on shared tiles and vectors by one wave: those of `group<1>`, and reductions of vectors.
 */
#pragma once

#include "../../group/shared/reductions.cuh"

namespace kittens {

#define KITTENS_OF_ONE_WAVE(of, name)                                                                                  \
    template <ducks::shared T, typename... Rest>                                                                       \
    __device__ inline void name(T &dst, const Rest &...rest) {                                                         \
        detail::of<1>::name(dst, rest...);                                                                             \
    }
#define KITTENS_WITH_OPERATION(of, name)                                                                               \
    template <typename op, ducks::shared T, typename... Rest>                                                          \
    __device__ inline void name(T &dst, const Rest &...rest) {                                                         \
        detail::of<1>::template name<op>(dst, rest...);                                                                \
    }
KITTENS_OF_ONE_WAVE(shared_maps, zero)
KITTENS_OF_ONE_WAVE(shared_maps, one)
KITTENS_OF_ONE_WAVE(shared_maps, pos_infty)
KITTENS_OF_ONE_WAVE(shared_maps, neg_infty)
KITTENS_OF_ONE_WAVE(shared_maps, copy)
KITTENS_OF_ONE_WAVE(shared_maps, exp)
KITTENS_OF_ONE_WAVE(shared_maps, exp2)
KITTENS_OF_ONE_WAVE(shared_maps, log)
KITTENS_OF_ONE_WAVE(shared_maps, log2)
KITTENS_OF_ONE_WAVE(shared_maps, abs)
KITTENS_OF_ONE_WAVE(shared_maps, relu)
KITTENS_OF_ONE_WAVE(shared_maps, sqrt)
KITTENS_OF_ONE_WAVE(shared_maps, rsqrt)
KITTENS_OF_ONE_WAVE(shared_maps, rcp)
KITTENS_OF_ONE_WAVE(shared_maps, neg)
KITTENS_OF_ONE_WAVE(shared_maps, sigmoid)
KITTENS_OF_ONE_WAVE(shared_maps, silu)
KITTENS_OF_ONE_WAVE(shared_maps, gelu)
KITTENS_OF_ONE_WAVE(shared_maps, gelu_tanh)
KITTENS_OF_ONE_WAVE(shared_maps, dgelu)
KITTENS_OF_ONE_WAVE(shared_maps, tanh)
KITTENS_OF_ONE_WAVE(shared_maps, erf)
KITTENS_OF_ONE_WAVE(shared_maps, softplus)
KITTENS_OF_ONE_WAVE(shared_maps, sin)
KITTENS_OF_ONE_WAVE(shared_maps, cos)
KITTENS_OF_ONE_WAVE(shared_maps, floor)
KITTENS_OF_ONE_WAVE(shared_maps, ceil)
KITTENS_OF_ONE_WAVE(shared_maps, round)
KITTENS_OF_ONE_WAVE(shared_maps, clamp)
KITTENS_OF_ONE_WAVE(shared_maps, map)
KITTENS_OF_ONE_WAVE(shared_maps, fill)
KITTENS_OF_ONE_WAVE(shared_maps, max)
KITTENS_OF_ONE_WAVE(shared_maps, min)
KITTENS_OF_ONE_WAVE(shared_maps, add)
KITTENS_OF_ONE_WAVE(shared_maps, sub)
KITTENS_OF_ONE_WAVE(shared_maps, mul)
KITTENS_OF_ONE_WAVE(shared_maps, div)
KITTENS_OF_ONE_WAVE(shared_maps, add_row)
KITTENS_OF_ONE_WAVE(shared_maps, sub_row)
KITTENS_OF_ONE_WAVE(shared_maps, mul_row)
KITTENS_OF_ONE_WAVE(shared_maps, div_row)
KITTENS_OF_ONE_WAVE(shared_maps, broadcast_row)
KITTENS_OF_ONE_WAVE(shared_maps, add_col)
KITTENS_OF_ONE_WAVE(shared_maps, sub_col)
KITTENS_OF_ONE_WAVE(shared_maps, mul_col)
KITTENS_OF_ONE_WAVE(shared_maps, div_col)
KITTENS_OF_ONE_WAVE(shared_maps, broadcast_col)
KITTENS_OF_ONE_WAVE(shared_reductions, row_max)
KITTENS_OF_ONE_WAVE(shared_reductions, row_min)
KITTENS_OF_ONE_WAVE(shared_reductions, row_sum)
KITTENS_OF_ONE_WAVE(shared_reductions, row_prod)
KITTENS_OF_ONE_WAVE(shared_reductions, col_max)
KITTENS_OF_ONE_WAVE(shared_reductions, col_min)
KITTENS_OF_ONE_WAVE(shared_reductions, col_sum)
KITTENS_OF_ONE_WAVE(shared_reductions, col_prod)
KITTENS_WITH_OPERATION(shared_maps, unary_map)
KITTENS_WITH_OPERATION(shared_maps, bin_map)
KITTENS_WITH_OPERATION(shared_maps, unary_op)
KITTENS_WITH_OPERATION(shared_maps, bin_op)
KITTENS_WITH_OPERATION(shared_maps, row_map)
KITTENS_WITH_OPERATION(shared_maps, col_map)
#undef KITTENS_OF_ONE_WAVE
#undef KITTENS_WITH_OPERATION

/** row_values = op over each row of src; after `start` where `reset` is false. */
template <typename op, ducks::sv::all V, ducks::st::all T, bool reset = true>
__device__ inline void row_reduce(V &row_values, const T &src, const V &start) {
    detail::shared_reductions<1>::row_reduce<op, V, T, reset>(row_values, src, start);
}
/** The same for columns. */
template <typename op, ducks::sv::all V, ducks::st::all T, bool reset = true>
__device__ inline void col_reduce(V &col_values, const T &src, const V &start) {
    detail::shared_reductions<1>::col_reduce<op, V, T, reset>(col_values, src, start);
}

/** result = op over the elements of src, in an unspecified order; after `start` if `reset` is false. */
template <typename op, ducks::sv::all SV, bool reset = true>
__device__ inline void reduce(typename SV::dtype &result, const SV &src, const typename SV::dtype &start) {
    const auto element = [&](int i) { return base_types::convertor<float, typename SV::dtype>::convert(src[i]); };
    const detail::program_order order;
    const int lane = laneid();
    float total = element(lane < SV::length ? lane : 0);
    for (int i = lane + WARP_THREADS; i < SV::length; i += WARP_THREADS)
        total = op::template op<float>(total, element(i));
#pragma unroll
    for (int distance = WARP_THREADS / 2; distance > 0; distance /= 2) {
        const float other = packed_shfl_down(MASK_ALL, total, distance);
        if (lane < distance && lane + distance < SV::length) total = op::template op<float>(total, other);
    }
    total = packed_shfl(MASK_ALL, total, 0);
    if constexpr (!reset)
        total = op::template op<float>(base_types::convertor<float, typename SV::dtype>::convert(start), total);
    result = base_types::convertor<typename SV::dtype, float>::convert(total);
}
#define KITTENS_REDUCTION(name, op)                                                                                    \
    template <ducks::sv::all SV>                                                                                       \
    __device__ inline void name(typename SV::dtype &result, const SV &src) {                                           \
        reduce<base_ops::op, SV, true>(result, src, result);                                                           \
    }                                                                                                                  \
    template <ducks::sv::all SV>                                                                                       \
    __device__ inline void name(typename SV::dtype &result, const SV &src, const typename SV::dtype &start) {          \
        reduce<base_ops::op, SV, false>(result, src, start);                                                           \
    }
KITTENS_REDUCTION(max, max)
KITTENS_REDUCTION(min, min)
KITTENS_REDUCTION(sum, sum)
KITTENS_REDUCTION(prod, mul)
#undef KITTENS_REDUCTION

} // namespace kittens
