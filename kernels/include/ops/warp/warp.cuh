/**
 * @file
 * @brief Operations of one wave.
 */
#pragma once

#include "memory/tile/assembly/global_to_register.cuh"
#include "memory/tile/assembly/shared_to_register.cuh"
#include "memory/tile/atomics.cuh"
#include "memory/tile/global_to_register.cuh"
#include "memory/tile/shared_columns.cuh"
#include "memory/tile/shared_to_register.cuh"
#include "memory/vec/assembly/shared_to_register.cuh"
#include "memory/vec/global_to_register.cuh"
#include "memory/vec/shared_to_register.cuh"
#include "memory/words.cuh"
#include "register/register.cuh"
