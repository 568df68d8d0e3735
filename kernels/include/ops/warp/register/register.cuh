/**
 * @file
 * @brief All operations on register tiles and vectors.
 */
#pragma once

#include "tile/assembly/conversions.cuh"
#include "tile/assembly/maps.cuh"
#include "tile/assembly/mma.cuh"
#include "tile/blocks.cuh"
#include "tile/conversions.cuh"
#include "tile/maps.cuh"
#include "tile/masks.cuh"
#include "tile/mma.cuh"
#include "tile/mma_agpr.cuh"
#include "tile/mma_scaled.cuh"
#include "tile/mma_words.cuh"
#include "tile/products.cuh"
#include "tile/quantize.cuh"
#include "tile/random.cuh"
#include "tile/reductions.cuh"
#include "tile/rotations.cuh"
#include "tile/scans.cuh"
#include "tile/selections.cuh"
#include "tile/small_floats.cuh"
#include "vec/maps.cuh"
#include "vec/reductions.cuh"
