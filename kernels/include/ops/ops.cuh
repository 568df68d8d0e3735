/**
 * @file
 * @brief All operations.
 */
#pragma once

#include "group/group.cuh"
#include "warp/shared/shared.cuh"
#include "warp/warp.cuh"
