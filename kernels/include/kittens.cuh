/**
 * @file
 * @brief The tile library: matrices and vectors in registers, shared and global memory, and operations on them.
 *
 * Follows the public interface of HipKittens, for AMD CDNA5 (gfx1250, KITTENS_CDNA5), CDNA4 (gfx950, KITTENS_CDNA4),
 * CDNA3 (gfx942, KITTENS_CDNA3), RDNA4 (gfx1200, gfx1201, KITTENS_RDNA4) and RDNA3 (gfx1100, KITTENS_RDNA3).
 *
 *   types/global     gl, coord               tensors in global memory
 *   types/shared     st, sv                  tiles and vectors in the LDS
 *   types/register   rt, rv                  tiles and vectors in the registers of a wave
 *   ops/warp         operations of one wave: loads and stores, arithmetic, reductions, matrix multiplication
 *   ops/group        operations of several waves: loads straight into the LDS
 *   schedules        how waves overlap memory and compute, and the order in which work-groups compute tiles
 *   common           element types, waiting, buffer resources, lanes
 */
#pragma once

#include "common/push_names.cuh"

#if defined(KITTENS_FP6)
// That branch's programs rely on it; it takes 1.6 s to parse.
#include <iostream>
#endif

#include "common/common.cuh"
#include "ops/ops.cuh"
#include "schedules/schedules.cuh"
#include "types/types.cuh"

#include "common/show.cuh"

#include "common/pop_names.cuh"
