/**
 * @file
 * @brief Schedules: how waves overlap memory and compute, and in which order work-groups take tiles.
 *
 * A schedule is the frame; what a kernel loads, computes and stores are its own clusters, given as functors.
 */
#pragma once

#include "interleave.cuh"
#include "ping_pong.cuh"
#include "tile_order.cuh"
