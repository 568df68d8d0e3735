/**
 * @file
 * @brief Operations that only CDNA5 (gfx1250) has.
 */
#pragma once

#include "cluster.cuh"
#include "copies.cuh"
#include "sched.cuh"
#include "sync.cuh"
#include "wmma.cuh"
