/**
 * @file
 * @brief Schedules: overlap of memory and compute among waves, and the order in which work-groups compute tiles.
 *
 * A schedule is the frame; the kernel passes its clusters, which load, compute and store, as functors.
 */
#pragma once

#include "interleave.cuh"
#include "ping_pong.cuh"
#include "tile_order.cuh"
