/**
 * @file
 * @brief Global layouts of views: tensors with any strides between batches, depths and rows.
 */
#pragma once

#include "gl.cuh"

namespace kittens {

/**
 * @brief A `gl` with explicit strides, such as q in a fused QKV; elements of a row are contiguous.
 *
 * Every function that takes a `gl` accepts it. A launch from Python fills in the tensor's strides. A stride may be
 * zero, except that of the axis along a tile's rows, which determines where they end.
 *
 * @tparam _T element type.
 * @tparam b,d,r,c the dimensions; -1 where one is given at run time.
 */
template <typename _T, int b, int d, int r, int c>
struct gl_strided {
    using identifier = ducks::gl::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T;

    static constexpr int __b__ = b, __d__ = d, __r__ = r, __c__ = c;

    T *raw_ptr;
    ducks::gl::make_dim_t<b> batch_internal;
    ducks::gl::make_dim_t<d> depth_internal;
    ducks::gl::make_dim_t<r> rows_internal;
    ducks::gl::make_dim_t<c> cols_internal;
    /** Elements from one index to the next. */
    size_t batch_stride, depth_stride, rows_stride;

    __host__ __device__ constexpr gl_strided(T *data, ducks::gl::make_arg_t<b> batch, ducks::gl::make_arg_t<d> depth,
                                             ducks::gl::make_arg_t<r> rows, ducks::gl::make_arg_t<c> cols,
                                             size_t batch_stride, size_t depth_stride, size_t rows_stride)
        : raw_ptr(data), batch_internal(batch), depth_internal(depth), rows_internal(rows), cols_internal(cols),
          batch_stride(batch_stride), depth_stride(depth_stride), rows_stride(rows_stride) {}

    __host__ __device__ constexpr size_t batch() const { return batch_internal; }
    __host__ __device__ constexpr size_t depth() const { return depth_internal; }
    __host__ __device__ constexpr size_t rows() const { return rows_internal; }
    __host__ __device__ constexpr size_t cols() const { return cols_internal; }
    __host__ __device__ constexpr size_t numel() const { return batch() * depth() * rows() * cols(); }

    /** Elements along an axis: 0 batch, 1 depth, 2 rows, 3 columns. */
    template <int axis>
    __host__ __device__ constexpr size_t shape() const {
        static_assert(axis >= 0 && axis <= 3, "gl_strided::shape: the axes are 0 (batch) to 3 (columns)");
        return axis == 0 ? batch() : axis == 1 ? depth() : axis == 2 ? rows() : cols();
    }
    /** Elements from one index to the next along an axis. */
    template <int axis>
    __host__ __device__ constexpr size_t stride() const {
        static_assert(axis >= 0 && axis <= 3, "gl_strided::stride: the axes are 0 (batch) to 3 (columns)");
        return axis == 0 ? batch_stride : axis == 1 ? depth_stride : axis == 2 ? rows_stride : 1;
    }
    /** Elements before a position. */
    __host__ __device__ constexpr size_t offset(const coord<> &at) const {
        return static_cast<size_t>(at.b) * batch_stride + static_cast<size_t>(at.d) * depth_stride +
               static_cast<size_t>(at.r) * rows_stride + static_cast<size_t>(at.c);
    }
    __host__ __device__ constexpr T &operator[](const coord<> &at) const { return raw_ptr[offset(at)]; }
};

} // namespace kittens
