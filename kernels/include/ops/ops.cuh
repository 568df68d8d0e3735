/**
 * @file
 * @brief All operations.
 */
#pragma once

#include "cdna5/cdna5.cuh"
#include "group/group.cuh"
#include "warp/shared/shared.cuh"
#include "warp/warp.cuh"
