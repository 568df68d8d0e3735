// Device functions of hip_runtime.h that are not about launches; the number types' headers have them too.
#pragma once

#if !defined(__clang__)
#error "HIP's device functions and small numbers (hip_fp16.h, hip_bf16.h, hip_fp8.h) are for clang: compile with hipcc"
#endif

#include "hip/device/prelude.h"
#include "hip/hip_version.h"
#include "hip/amd_detail/host_defines.h"
#include "hip/hip_vector_types.h"
#include "hip/device/warp_size.h"
#include "hip/device/synchronization.h"
#include "hip/device/lanes.h"
#include "hip/device/integers.h"
#include "hip/device/conversions.h"
#include "hip/device/atomics.h"
#include "hip/device/dot.h"
