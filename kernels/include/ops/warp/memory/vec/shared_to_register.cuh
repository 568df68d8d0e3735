/**
 * @file
 * @brief Register vectors from and to shared vectors.
 */
#pragma once

#include "../tile/shared_to_register.cuh"
#include "global_to_register.cuh"

namespace kittens {

namespace detail {
/* In the host's pass, which runs none of it, clang 21 does not accept a pointer for the builtin. */
__device__ inline bool is_shared([[maybe_unused]] const void *address) {
#if defined(__HIP_DEVICE_COMPILE__)
    return __builtin_amdgcn_is_shared(address);
#else
    return true;
#endif
}

template <ducks::rv::all RV, ducks::sv::all SV>
__device__ inline void load_elements(RV &dst, const SV &src) {
    constexpr int packing = base_types::packing<typename RV::dtype>::num();
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < RV::inner_dim; k++) {
            base_types::lanes_of<typename RV::dtype> elements;
#pragma unroll
            for (int e = 0; e < packing; e++) {
                const int index = RV::index(i, lane, k * packing + e);
                elements.e[e] = base_types::convertor<typename RV::T, typename SV::dtype>::convert(
                    src.data[min(index, SV::length - 1)]);
            }
            dst.data[i][k] = bit_cast<typename RV::dtype>(elements);
        }
}
} // namespace detail

/** dst = src, of the same length; src may also be a thread's private copy of a shared vector. */
template <ducks::rv::all RV, ducks::sv::all SV>
__device__ inline void load(RV &dst, const SV &src) {
    constexpr bool same_length = RV::length == SV::length;
    static_assert(same_length, "load: the register vector and the shared vector have the same length");
    using T = typename RV::T;
    using U = typename SV::dtype;
    // The compiler almost always knows which one it is.
    if (!detail::is_shared(&src.data[0])) return detail::load_elements(dst, src);
    constexpr int stride = detail::vector_run<RV>;
    constexpr int per_run = detail::packed_run<RV>;
    const detail::program_order order;
    const auto memory = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int s = 0; s < RV::inner_dim / per_run; s++) {
            if (RV::is_naive && RV::index(i, lane, s * stride) >= RV::length) continue;
            const auto got = detail::shared_run<U, stride, 16>::load(memory, [&](int e) {
                return static_cast<uint32_t>(RV::index(i, lane, s * stride + e)) * static_cast<uint32_t>(sizeof(U));
            });
            struct stored {
                typename RV::dtype v[per_run];
            };
            const auto values = detail::bit_cast<stored>(detail::convert_run<T, U, stride>(got));
#pragma unroll
            for (int k = 0; k < per_run; k++) dst.data[i][s * per_run + k] = values.v[k];
        }
}

/** dst = src, of the same length; one of the lanes with copies of an element stores it. */
template <ducks::sv::all SV, ducks::rv::all RV>
__device__ inline void store(SV &dst, const RV &src) {
    constexpr bool same_length = RV::length == SV::length;
    static_assert(same_length, "store: the register vector and the shared vector have the same length");
    using T = typename RV::T;
    using U = typename SV::dtype;
    constexpr int stride = detail::vector_run<RV>;
    constexpr int per_run = detail::packed_run<RV>;
    const detail::program_order order;
    const auto memory = (detail::shared_pointer<char>)reinterpret_cast<char *>(&dst.data[0]);
    const int lane = laneid();
    if (RV::is_align && RV::distribution::minor_index(lane) != 0) return;
    if (RV::is_ortho && lane >= RV::distribution::minor) return;
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int s = 0; s < RV::inner_dim / per_run; s++) {
            if (RV::is_naive && RV::index(i, lane, s * stride) >= RV::length) continue;
            struct stored {
                typename RV::dtype v[per_run];
            } values;
#pragma unroll
            for (int k = 0; k < per_run; k++) values.v[k] = src.data[i][s * per_run + k];
            detail::shared_run<U, stride, 16>::store(
                memory,
                [&](int e) {
                    return static_cast<uint32_t>(RV::index(i, lane, s * stride + e)) * static_cast<uint32_t>(sizeof(U));
                },
                detail::convert_run<U, T, stride>(detail::bit_cast<typename detail::run<T, stride>::elements>(values)));
        }
}

} // namespace kittens
