/**
 * @file
 * @brief All types: global layouts, shared and register tiles and vectors.
 */
#pragma once

#if defined(KITTENS_FP6)
#include "complex.cuh"
#endif
#include "global/coord.cuh"
#include "global/gl.cuh"
#include "global/gl_strided.cuh"
#include "register/art.cuh"
#include "register/art_base.cuh"
#include "register/rt.cuh"
#include "register/rt_base.cuh"
#include "register/rt_layout.cuh"
#include "register/rt_shape.cuh"
#include "register/rv.cuh"
#include "register/rv_layout.cuh"
#include "shared/st.cuh"
#include "shared/st_layout.cuh"
#include "shared/st_shape.cuh"
#include "shared/sv.cuh"

namespace kittens {

/** The vectors of a tile: a value for each column, and for each row. */
template <typename T>
using row_vec = typename T::row_vec;
template <typename T>
using col_vec = typename T::col_vec;

} // namespace kittens
