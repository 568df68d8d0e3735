/**
 * @file
 * @brief Basics that the rest of the tile library uses.
 */
#pragma once

#include "base_ops.cuh"
#include "base_types.cuh"
#include "buffer.cuh"
#include "debug.cuh"
#include "functions.cuh"
#include "hip.cuh"
#include "lanes.cuh"
#include "macros.cuh"
#include "meta.cuh"
#include "numbers.cuh"
#include "philox.cuh"
#include "sync.cuh"
#include "target.cuh"
#include "util.cuh"
