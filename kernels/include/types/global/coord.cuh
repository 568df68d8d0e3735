/**
 * @file
 * @brief Coordinates in a global layout, counted in elements, tiles or vectors.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {

namespace ducks::coord {
struct identifier {};
} // namespace ducks::coord

/**
 * @brief A position {batch, depth, row, column}; the last two count in units of `BASE`.
 *
 * `coord<Tile>` counts rows and columns in tiles, `coord<Vector>` columns in vectors, `coord<>` in elements. Missing
 * leading indices are zero.
 */
template <typename _BASE = ducks::default_type>
struct coord {
    using identifier = ducks::coord::identifier;
    using BASE = _BASE;

    int b, d, r, c;

    __host__ __device__ constexpr coord(int b, int d, int r, int c) : b(b), d(d), r(r), c(c) {}
    __host__ __device__ constexpr coord(int d, int r, int c) : coord(0, d, r, c) {}
    __host__ __device__ constexpr coord(int r, int c) : coord(0, 0, r, c) {}
    __host__ __device__ constexpr coord(int c) : coord(0, 0, 0, c) {}
    __host__ __device__ constexpr coord() : coord(0, 0, 0, 0) {}
    __host__ __device__ coord(const int4 &at) : coord(at.x, at.y, at.z, at.w) {}
    __host__ __device__ operator int4() const { return int4{b, d, r, c}; }

    /** Index along axis 0 (batch) to 3 (column). */
    template <int axis>
    __host__ __device__ constexpr int dim() const {
        static_assert(axis >= 0 && axis <= 3, "coord::dim: the axes are 0 (batch), 1 (depth), 2 (row) and 3 (column)");
        if constexpr (axis == 0)
            return b;
        else if constexpr (axis == 1)
            return d;
        else if constexpr (axis == 2)
            return r;
        else
            return c;
    }

    /**
     * @brief The same position in elements: rows of the tile lie along `row_axis`, columns along `col_axis`.
     */
    template <int row_axis, int col_axis>
    __host__ __device__ constexpr coord<> unit_coord() const {
        static_assert(col_axis == 3, "coord: columns lie along axis 3, where elements are next to each other");
        if constexpr (detail::is_same<BASE, ducks::default_type>) {
            return coord<>(b, d, r, c);
        } else if constexpr (requires { BASE::length; }) {
            return coord<>(b, d, r, c * static_cast<int>(BASE::length));
        } else {
            static_assert(row_axis >= 0 && row_axis < 3, "coord: rows of a tile lie along axis 0, 1 or 2");
            return coord<>(row_axis == 0 ? b * BASE::rows : b, row_axis == 1 ? d * BASE::rows : d,
                           row_axis == 2 ? r * BASE::rows : r, c * BASE::cols);
        }
    }
};

namespace ducks::coord {
/** Any coordinate. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
/** A coordinate that counts in tiles. */
template <typename T>
concept tile = all<T> && (detail::is_same<typename T::BASE, ducks::default_type> || requires {
                   T::BASE::rows;
                   T::BASE::cols;
               });
/** A coordinate that counts in vectors. */
template <typename T>
concept vec = all<T> && (detail::is_same<typename T::BASE, ducks::default_type> || requires { T::BASE::length; });
} // namespace ducks::coord

} // namespace kittens
