/**
 * @file
 * @brief Register vectors from and to global memory.
 *
 * Coordinates count in vectors along the columns and must be the same in all lanes of a wave. Elements past the end of
 * the row read as zero and are not written. Lanes that hold copies of an element all load it; one of them stores it.
 */
#pragma once

#include "../tile/global_to_register.cuh"

namespace kittens {

namespace detail {

/** `length` elements of a row from a position on; those past the row's end are out of range. */
template <ducks::gl::all GL, int length>
struct row_window {
    typename GL::dtype *base;
    uint32_t bytes;

    __device__ inline row_window(const GL &layout, const coord<> &at) {
        base = layout.raw_ptr + layout.offset(at);
        const int left = detail::min(length, static_cast<int>(layout.cols()) - at.c);
        bytes = left <= 0 ? 0 : static_cast<uint32_t>(left) * static_cast<uint32_t>(sizeof(typename GL::dtype));
    }
};

/** What a lane holds side by side of a vector in memory: its stride in the align layout, one element in the others. */
template <ducks::rv::all RV>
inline constexpr int vector_run = RV::is_align ? RV::shape::stride : 1;

} // namespace detail

/** dst = the vector at idx of src. */
template <ducks::rv::all RV, ducks::gl::all GL, ducks::coord::vec COORD = coord<RV>>
__device__ inline void load(RV &dst, const GL &src, const COORD &idx) {
    using T = typename RV::T;
    using U = typename GL::dtype;
    const detail::program_order order;
    const coord<> at = idx.template unit_coord<-1, 3>();
    const detail::row_window<GL, RV::length> view(src, at);
    const detail::buffer memory(view.base, view.bytes);
    const int lane = laneid();
    constexpr int stride = detail::vector_run<RV>;
    constexpr int per_run = RV::is_align ? stride / base_types::packing<typename RV::dtype>::num() : 1;
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int s = 0; s < RV::inner_dim / per_run; s++) {
            typename detail::run<U, stride>::elements got;
            const auto offset =
                static_cast<uint32_t>(RV::index(i, lane, s * stride)) * static_cast<uint32_t>(sizeof(U));
            if (at.c % stride == 0 && src.cols() % stride == 0) {
                got = detail::bit_cast<typename detail::run<U, stride>::elements>(
                    detail::run<U, stride>::load(memory, offset));
            } else {
#pragma unroll
                for (int e = 0; e < stride; e++)
                    got.e[e] = detail::bit_cast<U>(detail::run<U, 1>::load(
                        memory, offset + static_cast<uint32_t>(e) * static_cast<uint32_t>(sizeof(U))));
            }
            struct stored {
                typename RV::dtype v[per_run];
            };
            const auto values = detail::bit_cast<stored>(detail::convert_run<T, U, stride>(got));
#pragma unroll
            for (int k = 0; k < per_run; k++) dst.data[i][s * per_run + k] = values.v[k];
        }
}

/** dst = the elements below each other from `at` on: of column at.c, rows at.r, at.r + 1, ... Past the end zero. */
template <ducks::rv::all RV, ducks::gl::all GL>
__device__ inline void load_column(RV &dst, const GL &src, const coord<> &at) {
    static_assert(!RV::is_align, "load_column: a vector of one value a lane, such as the col_vec of a row layout");
    using U = typename GL::dtype;
    const detail::program_order order;
    const detail::window<2, GL> view(src, at);
    const detail::buffer memory(view.base, view.bytes);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
        dst.data[i][0] = base_types::convertor<typename RV::dtype, U>::convert(detail::bit_cast<U>(
            detail::run<U, 1>::load(memory, static_cast<uint32_t>(RV::index(i, lane, 0)) * view.pitch)));
}

/** The vector at idx of dst = src. */
template <ducks::rv::all RV, ducks::gl::all GL, ducks::coord::vec COORD = coord<RV>>
__device__ inline void store(const GL &dst, const RV &src, const COORD &idx) {
    using T = typename RV::T;
    using U = typename GL::dtype;
    const detail::program_order order;
    const coord<> at = idx.template unit_coord<-1, 3>();
    const detail::row_window<GL, RV::length> view(dst, at);
    const detail::buffer memory(view.base, view.bytes);
    const int lane = laneid();
    constexpr int stride = detail::vector_run<RV>;
    constexpr int per_run = RV::is_align ? stride / base_types::packing<typename RV::dtype>::num() : 1;
    const bool stores =
        RV::is_naive || (RV::is_align ? RV::distribution::minor_index(lane) == 0 : lane < RV::distribution::minor);
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int s = 0; s < RV::inner_dim / per_run; s++) {
            struct stored {
                typename RV::dtype v[per_run];
            } values;
#pragma unroll
            for (int k = 0; k < per_run; k++) values.v[k] = src.data[i][s * per_run + k];
            const auto out =
                detail::convert_run<U, T, stride>(detail::bit_cast<typename detail::run<T, stride>::elements>(values));
            const auto offset =
                static_cast<uint32_t>(RV::index(i, lane, s * stride)) * static_cast<uint32_t>(sizeof(U));
            if (at.c % stride == 0 && dst.cols() % stride == 0) {
                detail::run<U, stride>::store(memory, stores ? offset : detail::OUT_OF_RANGE,
                                              detail::bit_cast<typename detail::run<U, stride>::words>(out));
            } else {
#pragma unroll
                for (int e = 0; e < stride; e++)
                    detail::run<U, 1>::store(memory,
                                             stores
                                                 ? offset + static_cast<uint32_t>(e) * static_cast<uint32_t>(sizeof(U))
                                                 : detail::OUT_OF_RANGE,
                                             detail::bit_cast<typename detail::run<U, 1>::words>(out.e[e]));
            }
        }
}

} // namespace kittens
