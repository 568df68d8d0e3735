/**
 * @file
 * @brief Layouts of register tiles: whether a lane's consecutive elements lie along a row or along a column.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {
namespace ducks::rt_layout {

/** A lane holds consecutive elements of a row; different lanes hold different rows. */
struct row {};
/** A lane holds consecutive elements of a column; different lanes hold different columns. */
struct col {};
/** The layout of the results of matrix instructions: the column layout. */
using accumulator = col;

template <typename T>
concept all = detail::is_same<T, row> || detail::is_same<T, col>;

template <typename T>
concept classic = all<T>;
template <typename T>
concept accum = detail::is_same<T, accumulator>;

/** The other layout. */
template <all L>
struct transpose {
    using type = detail::select<detail::is_same<L, row>, col, row>;
};

} // namespace ducks::rt_layout

using row_l = ducks::rt_layout::row;
using col_l = ducks::rt_layout::col;
using accum_l = ducks::rt_layout::accumulator;

} // namespace kittens
