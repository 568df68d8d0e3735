/**
 * @file
 * @brief Global layouts: a kernel's view of a tensor in global memory.
 */
#pragma once

#include "coord.cuh"

#if !defined(__HIP_DEVICE_COMPILE__)
#include <stdexcept>
#include <string>
#endif

namespace kittens {

namespace detail {
struct no_descriptors {};
} // namespace detail

namespace ducks::gl {

struct identifier {};

/** Compile-time and run-time dimensions. */
template <int d>
concept cdim = d > 0;
template <int d>
concept rdim = d == -1;

/** A compile-time dimension: an empty type. */
template <int value>
struct compiled_dim {
    static_assert(value > 0, "gl: a dimension is positive, or -1 where it is given at run time");
    static constexpr size_t v = value;
    __host__ __device__ constexpr compiled_dim(decltype(nullptr)) {}
    __host__ __device__ constexpr operator size_t() const { return v; }
};

/** A run-time dimension. */
struct runtime_dim {
    size_t v;
    __host__ __device__ constexpr runtime_dim(size_t v) : v(v) {}
    __host__ __device__ constexpr operator size_t() const { return v; }
};

template <int d>
using make_dim_t = detail::select<d == -1, runtime_dim, compiled_dim<d == -1 ? 1 : d>>;
/** Type of a constructor argument for a dimension: its size, or nullptr if it is fixed. */
template <int d>
using make_arg_t = detail::select<d == -1, size_t, decltype(nullptr)>;

} // namespace ducks::gl

/**
 * @brief A 4-D row-major view of global memory: batch, depth, rows, columns.
 *
 * @tparam _T element type.
 * @tparam b,d,r,c the dimensions; -1 where one is given at run time.
 * @tparam TMA_Types for source compatibility; nothing depends on them.
 */
template <typename _T, int b, int d, int r, int c, typename... TMA_Types>
struct gl {
    using identifier = ducks::gl::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T;

    static constexpr int __b__ = b, __d__ = d, __r__ = r, __c__ = c;

    /** NVIDIA's TMA does not exist here: does nothing, as in HipKittens. */
    static constexpr detail::no_descriptors tma_descs{};

    T *raw_ptr;
    ducks::gl::make_dim_t<b> batch_internal;
    ducks::gl::make_dim_t<d> depth_internal;
    ducks::gl::make_dim_t<r> rows_internal;
    ducks::gl::make_dim_t<c> cols_internal;

    __host__ __device__ constexpr gl(T *data, ducks::gl::make_arg_t<b> batch, ducks::gl::make_arg_t<d> depth,
                                     ducks::gl::make_arg_t<r> rows, ducks::gl::make_arg_t<c> cols)
        : raw_ptr(data), batch_internal(batch), depth_internal(depth), rows_internal(rows), cols_internal(cols) {}

    __host__ __device__ constexpr size_t batch() const { return batch_internal; }
    __host__ __device__ constexpr size_t depth() const { return depth_internal; }
    __host__ __device__ constexpr size_t rows() const { return rows_internal; }
    __host__ __device__ constexpr size_t cols() const { return cols_internal; }
    __host__ __device__ constexpr size_t numel() const { return batch() * depth() * rows() * cols(); }

    /** Elements along an axis: 0 batch, 1 depth, 2 rows, 3 columns. */
    template <int axis>
    __host__ __device__ constexpr size_t shape() const {
        static_assert(axis >= 0 && axis <= 3, "gl::shape: the axes are 0 (batch), 1 (depth), 2 (rows) and 3 (columns)");
        if constexpr (axis == 0)
            return batch();
        else if constexpr (axis == 1)
            return depth();
        else if constexpr (axis == 2)
            return rows();
        else
            return cols();
    }

    /** Elements from one index to the next along an axis. */
    template <int axis>
    __host__ __device__ constexpr size_t stride() const {
        static_assert(axis >= 0 && axis <= 3,
                      "gl::stride: the axes are 0 (batch), 1 (depth), 2 (rows) and 3 (columns)");
        if constexpr (axis == 0)
            return depth() * rows() * cols();
        else if constexpr (axis == 1)
            return rows() * cols();
        else if constexpr (axis == 2)
            return cols();
        else
            return 1;
    }

    /** Elements before a position. */
    __host__ __device__ constexpr size_t offset(const coord<> &at) const {
        return ((static_cast<size_t>(at.b) * depth() + static_cast<size_t>(at.d)) * rows() +
                static_cast<size_t>(at.r)) *
                   cols() +
               static_cast<size_t>(at.c);
    }

    /** `offset` by another name. */
    __host__ __device__ constexpr int idx(const coord<> &at) const { return static_cast<int>(offset(at)); }

    __host__ __device__ constexpr T &operator[](const coord<> &at) const {
        if constexpr (detail::is_six_bits<T>)
            return raw_ptr[detail::bytes_in<T>(offset(at))]; // address of the byte that contains its first bit
        else
            return raw_ptr[offset(at)];
    }
};

namespace ducks::gl {
/** Any global layout. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
} // namespace ducks::gl

namespace detail {

/**
 * @brief The part of a global layout from a position to the end of the axis of a tile's rows.
 *
 * Its offsets have 32 bits and are in bytes. Rows past the end of the axis are outside its range, unless the position
 * itself is past the end of an earlier axis. The position is the same in all lanes.
 */
template <int axis, ducks::gl::all GL>
struct window {
    typename GL::dtype *base;
    /** Bytes from `base` to the end of the last row, limited by the offsets: just under 4 GiB. */
    uint32_t bytes;
    /** Bytes from one row to the next. */
    uint32_t pitch;

    __device__ inline window(const GL &source, const coord<> &at) {
        using T = typename GL::dtype;
        base = &source[at];
        const auto stride = static_cast<uint64_t>(source.template stride<axis>());
        pitch = static_cast<uint32_t>(bytes_in<T>(stride));
        const auto end = static_cast<int64_t>(source.template shape<axis>());
        const int64_t ahead = end - at.template dim<axis>();
        // Within one index of the axis, the window begins after the later axes' elements that precede `at`.
        uint64_t skipped = static_cast<uint64_t>(at.c);
        if constexpr (axis < 2) skipped += static_cast<uint64_t>(at.r) * source.template stride<2>();
        if constexpr (axis < 1) skipped += static_cast<uint64_t>(at.d) * source.template stride<1>();
        const uint64_t left = bytes_in<T>(static_cast<uint64_t>(ahead) * stride - skipped);
        constexpr uint64_t limit = OUT_OF_RANGE;
        bytes = ahead <= 0 ? 0 : static_cast<uint32_t>(left < limit ? left : limit);
    }
};

} // namespace detail

/** A dimension in the form for a global layout's constructor, unchecked. */
template <int dim>
__host__ __device__ constexpr ducks::gl::make_arg_t<dim> make_unsafe_gl_arg([[maybe_unused]] int given) {
    if constexpr (dim == -1)
        return static_cast<size_t>(given);
    else
        return nullptr;
}

#if defined(__HIP_DEVICE_COMPILE__)
template <ducks::gl::all GL>
__host__ GL make_gl(uint64_t data, int b, int d, int r, int c);
#else
namespace detail {
template <int dim>
ducks::gl::make_arg_t<dim> checked_dim(const char *name, int given) {
    if constexpr (dim == -1) {
        if (given <= 0)
            throw std::invalid_argument(std::string("gl: ") + name + " is " + std::to_string(given) +
                                        "; expected a positive number");
        return static_cast<size_t>(given);
    } else {
        if (given != dim)
            throw std::invalid_argument(std::string("gl: ") + name + " is " + std::to_string(given) +
                                        "; the kernel was compiled for " + std::to_string(dim));
        return nullptr;
    }
}
} // namespace detail

/**
 * @brief A global layout of type GL over the memory at `data`.
 *
 * @throws std::invalid_argument a dimension differs from the one that GL fixes, or is not positive.
 */
template <ducks::gl::all GL>
__host__ GL make_gl(uint64_t data, int b, int d, int r, int c) {
    return GL(reinterpret_cast<typename GL::dtype *>(data), detail::checked_dim<GL::__b__>("batch", b),
              detail::checked_dim<GL::__d__>("depth", d), detail::checked_dim<GL::__r__>("rows", r),
              detail::checked_dim<GL::__c__>("cols", c));
}
#endif

} // namespace kittens
