/**
 * @file
 * @brief Operations that only CDNA5 (gfx1250) has.
 */
#pragma once

#if defined(KITTENS_CDNA5)
#include "cluster.cuh"
#include "copies.cuh"
#include "sched.cuh"
#include "sync.cuh"
#include "wmma.cuh"
#endif
