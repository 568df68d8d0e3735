/**
 * @file
 * @brief Names for the order of a shared tile's elements, for source compatibility: `st` stores base tiles row by row.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens::ducks::st_layout {

struct row {};
struct col {};

template <typename T>
concept all = detail::is_same<T, row> || detail::is_same<T, col>;

} // namespace kittens::ducks::st_layout
