/**
 * @file
 * @brief Layouts of register vectors: the distribution of a register tile's vector over a wave.
 */
#pragma once

#include "../../common/common.cuh"

namespace kittens {
namespace ducks::rv_layout {

// `inner_dim` is for vectors of 16x16 base tiles.

/** Like a tile's elements along a lane: a lane holds runs of consecutive elements, and adjacent lanes hold copies. */
struct align {
    static constexpr int inner_dim = 2;
};
/** Across the lanes of a tile: a lane holds one element of each base tile, groups of lanes hold copies. */
struct ortho {
    static constexpr int inner_dim = 1;
};
/** Spread over the lanes without copies: lane l holds elements l, l + WARP_THREADS, and so on. */
struct naive {
    static constexpr int inner_dim = 1;
};

template <typename T>
concept all = detail::is_same<T, align> || detail::is_same<T, ortho> || detail::is_same<T, naive>;

} // namespace ducks::rv_layout

using align_l = ducks::rv_layout::align;
using ortho_l = ducks::rv_layout::ortho;
using naive_l = ducks::rv_layout::naive;

} // namespace kittens
