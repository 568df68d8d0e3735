/**
 * @file
 * @brief Layouts of register tiles: whether a lane's neighbouring elements lie along a row or along a column.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {
namespace ducks::rt_layout {

/** A lane holds elements that are neighbours in a row; different lanes hold different rows. */
struct row {};
/** A lane holds elements that are neighbours in a column; different lanes hold different columns. */
struct col {};

template <typename T>
concept all = detail::is_same<T, row> || detail::is_same<T, col>;

/** The other layout. */
template <all L>
using transposed = detail::select<detail::is_same<L, row>, col, row>;

} // namespace ducks::rt_layout

using row_l = ducks::rt_layout::row;
using col_l = ducks::rt_layout::col;

} // namespace kittens
