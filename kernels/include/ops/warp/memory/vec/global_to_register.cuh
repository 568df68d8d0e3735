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

/** Elements of a vector in memory that a lane moves at once: its stride in the align layout; in the naive layout four
 * if they are contiguous, else one. */
template <ducks::rv::all RV>
inline constexpr int vector_run = RV::is_align                                                    ? RV::shape::stride
                                  : RV::is_naive && RV::inner_dim % 4 == 0 && RV::length % 4 == 0 ? 4
                                                                                                  : 1;
/** The same, in elements of a lane's array. */
template <ducks::rv::all RV>
inline constexpr int packed_run = vector_run<RV> / base_types::packing<typename RV::dtype>::num();

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
    constexpr int per_run = detail::packed_run<RV>;
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

namespace detail {

/** Calls f(i, element of it, byte offset, stores) for each of a lane's elements of a vector along `axis`. */
template <int axis, ducks::rv::all RV, ducks::gl::all GL, typename F>
__device__ inline void for_each_along(const GL &layout, const coord<> &at, F f) {
    static_assert(axis >= 0 && axis <= 2, "load_along, store_along: the axes are 0 (batch), 1 (depth) and 2 (rows); "
                                          "load and store take a row's elements");
    const program_order order;
    const window<axis, GL> view(layout, at);
    const buffer memory(view.base, view.bytes);
    const int lane = laneid();
    constexpr int count = base_types::packing<typename RV::dtype>::num();
    const bool owns =
        RV::is_naive || (RV::is_align ? RV::distribution::minor_index(lane) == 0 : lane < RV::distribution::minor);
#pragma unroll
    for (int i = 0; i < RV::outer_dim; i++)
#pragma unroll
        for (int e = 0; e < RV::inner_dim * count; e++) {
            const int index = RV::index(i, lane, e);
            const uint32_t offset = index < RV::length ? static_cast<uint32_t>(index) * view.pitch : OUT_OF_RANGE;
            f(memory, i, e, offset, owns);
        }
}

} // namespace detail

/**
 * @brief dst = the elements from `at` on along `axis` (0 batch, 1 depth, 2 rows), with src's stride. Elements past the
 * end of the axis are zero.
 */
template <int axis = 2, ducks::rv::all RV, ducks::gl::all GL>
__device__ inline void load_along(RV &dst, const GL &src, const coord<> &at) {
    using U = typename GL::dtype;
    using packed = base_types::lanes_of<typename RV::dtype>;
    constexpr int count = base_types::packing<typename RV::dtype>::num();
    detail::for_each_along<axis, RV>(src, at, [&](const detail::buffer &memory, int i, int e, uint32_t offset, bool) {
        auto elements = detail::bit_cast<packed>(dst.data[i][e / count]);
        elements.e[e % count] = base_types::convertor<typename RV::T, U>::convert(
            detail::bit_cast<U>(detail::run<U, 1>::load(memory, offset)));
        dst.data[i][e / count] = detail::bit_cast<typename RV::dtype>(elements);
    });
}
/** The elements of dst from `at` on along `axis` = src; elements past the end of the axis are not written. */
template <int axis = 2, ducks::rv::all RV, ducks::gl::all GL>
__device__ inline void store_along(const GL &dst, const RV &src, const coord<> &at) {
    using U = typename GL::dtype;
    using packed = base_types::lanes_of<typename RV::dtype>;
    constexpr int count = base_types::packing<typename RV::dtype>::num();
    detail::for_each_along<axis, RV>(
        dst, at, [&](const detail::buffer &memory, int i, int e, uint32_t offset, bool owns) {
            const U value = base_types::convertor<U, typename RV::T>::convert(
                detail::bit_cast<packed>(src.data[i][e / count]).e[e % count]);
            detail::run<U, 1>::store(memory, owns ? offset : detail::OUT_OF_RANGE,
                                     detail::bit_cast<typename detail::run<U, 1>::words>(value));
        });
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
    constexpr int per_run = detail::packed_run<RV>;
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
