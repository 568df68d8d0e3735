/**
 * @file
 * @brief The only includes of HIP's headers: ROCm's if the compiler has them, else portable ones.
 */
#pragma once

#include <hip/hip_runtime.h>

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#if defined(KITTENS_FP6)
#include <hip/hip_fp6.h>
#endif
