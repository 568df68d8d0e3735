/**
 * @file
 * @brief All types: global layouts, shared and register tiles and vectors.
 */
#pragma once

#include "global/coord.cuh"
#include "global/gl.cuh"
#include "register/art.cuh"
#include "register/art_base.cuh"
#include "register/rt.cuh"
#include "register/rt_base.cuh"
#include "register/rt_layout.cuh"
#include "register/rt_shape.cuh"
#include "register/rv.cuh"
#include "register/rv_layout.cuh"
#include "shared/st.cuh"
#include "shared/st_shape.cuh"
#include "shared/sv.cuh"
