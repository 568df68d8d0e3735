/**
 * @file
 * @brief Base shapes of register tiles: the units in which a wave holds a tile, mostly operands of an MFMA.
 *
 * A base tile has `rows` x `cols` elements over the lanes of a wave. In the row layout lane l holds row l % rows; the
 * WARP_THREADS / rows lanes of a row hold `stride` consecutive elements each, in turn, until the row is full. The
 * column layout is the same with rows and columns exchanged.
 *
 * So a base shape and the number of lanes make the layout. Only the shapes of results depend on the target, in their
 * stride: it is what a lane of the matrix instruction gets of a column at once.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {
namespace ducks::rt_shape {

struct identifier {};

/**
 * @tparam _rows,_cols elements of the base tile.
 * @tparam _stride consecutive elements that a lane holds.
 */
template <int _rows, int _cols, int _stride>
struct rt_shape {
    using identifier = ducks::rt_shape::identifier;
    static constexpr int rows = _rows;
    static constexpr int cols = _cols;
    static constexpr int stride = _stride;
    static constexpr int num_elements = rows * cols;
    static constexpr int elements_per_thread = num_elements / WARP_THREADS;
    static constexpr int num_strides = elements_per_thread / stride;
    /** The same with rows and columns exchanged. */
    using transposed = rt_shape<cols, rows, stride>;

    static_assert(num_elements % WARP_THREADS == 0,
                  "rt_shape: the elements of a base tile are spread evenly over the lanes of a wave");
    static_assert(elements_per_thread % stride == 0, "rt_shape: a lane holds whole runs of `stride` elements");
};

/** Consecutive elements of a column that a lane gets of a 16x16 result: 8 of a WMMA (32 lanes), 4 of an MFMA (64). */
#if defined(KITTENS_WAVE32)
inline constexpr int RESULT_STRIDE = 8;
#else
inline constexpr int RESULT_STRIDE = 4;
#endif

/** A, B and C/D of a 16x16 MFMA or WMMA: A and B over a K of 16 (2-byte types). */
using rt_16x16 = rt_shape<16, 16, RESULT_STRIDE>;
/** C/D of a 32x32 MFMA; also A and B over a K of 32, in four MFMAs of 8. */
using rt_32x32 = rt_shape<32, 32, 4>;
/** A and B of a 32x32 MFMA over a K of 32, in runs of 8. */
using rt_32x32_8 = rt_shape<32, 32, 8>;
/** A and B of a 16x16 MFMA over a K of 32. */
using rt_16x32 = rt_shape<16, 32, 8>;
/** A and B of a 32x32 MFMA over a K of 16. */
using rt_32x16 = rt_shape<32, 16, 8>;
/** A and B of a 16x16 MFMA over a K of 32, in runs of 4. */
using rt_16x32_4 = rt_shape<16, 32, 4>;
/** A and B of a 32x32 MFMA over a K of 16, in runs of 4. */
using rt_32x16_4 = rt_shape<32, 16, 4>;
/** A and B of a 16x16 MFMA over a K of 128, for fp8. */
using rt_16x128 = rt_shape<16, 128, 16>;
/** A and B of a 16x16 MFMA over a K of 128, for pairs of fp4. */
using rt_16x64 = rt_shape<16, 64, 16>;
/** A and B of a 32x32 MFMA over a K of 64, for fp8. */
using rt_32x64 = rt_shape<32, 64, 16>;
/** A and B of a 32x32 MFMA over a K of 64, for pairs of fp4. */
using rt_32x32_16 = rt_shape<32, 32, 16>;

/** Any base shape of a register tile. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;

/** The shape with rows and columns exchanged. */
template <all S>
struct transpose {
    using type = typename S::transposed;
};

/** A lane's part of a base tile in a layout: `minor` is the axis over lanes, `major` the axis along a lane's elements.
 */
template <all S, bool row_layout>
struct distribution {
    static constexpr int minor = row_layout ? S::rows : S::cols;
    static constexpr int major = row_layout ? S::cols : S::rows;
    static_assert(minor <= WARP_THREADS && WARP_THREADS % minor == 0,
                  "rt: this base shape has no such layout; the row layout has at most as many rows as a wave has "
                  "lanes, the column "
                  "layout as many columns");
    /** Lanes that share one index of the minor axis. */
    static constexpr int groups = WARP_THREADS / minor;
    static_assert(major % (groups * S::stride) == 0,
                  "rt: this base shape has no such layout; its lanes would not fill a row (column) evenly");

    static __host__ __device__ constexpr int minor_index(int lane) { return lane % minor; }
    static __host__ __device__ constexpr int major_index(int lane, int element) {
        return element / S::stride * (groups * S::stride) + lane / minor * S::stride + element % S::stride;
    }
};

} // namespace ducks::rt_shape

using ducks::rt_shape::rt_shape;
using rt_16x16_s = ducks::rt_shape::rt_16x16;
using rt_32x32_s = ducks::rt_shape::rt_32x32;
using rt_32x32_8_s = ducks::rt_shape::rt_32x32_8;
using rt_16x32_s = ducks::rt_shape::rt_16x32;
using rt_32x16_s = ducks::rt_shape::rt_32x16;
using rt_16x32_4_s = ducks::rt_shape::rt_16x32_4;
using rt_32x16_4_s = ducks::rt_shape::rt_32x16_4;
using rt_16x128_s = ducks::rt_shape::rt_16x128;
using rt_16x64_s = ducks::rt_shape::rt_16x64;
using rt_32x64_s = ducks::rt_shape::rt_32x64;
using rt_32x32_16_s = ducks::rt_shape::rt_32x32_16;

/**
 * @brief The base shape in which a wave reads whole rows from global memory fastest, for kernels on rows: each lane
 * holds 16 contiguous bytes, and short rows share a base tile.
 *
 * @tparam T element type.
 * @tparam cols length of a row; the base tile is at least as wide, up to what the lanes of a wave hold.
 * @tparam stride consecutive elements per lane; 16 bytes by default.
 */
template <typename T, int cols, int stride = 16 / static_cast<int>(sizeof(T))>
struct rows_shape {
    static constexpr int lanes_of_row() {
        int lanes = 1;
        while (lanes < WARP_THREADS && lanes * stride < cols) lanes *= 2;
        return lanes;
    }
    using type = rt_shape<WARP_THREADS / lanes_of_row(), lanes_of_row() * stride, stride>;
};
template <typename T, int cols, int stride = 16 / static_cast<int>(sizeof(T))>
using rt_rows_s = typename rows_shape<T, cols, stride>::type;

} // namespace kittens
