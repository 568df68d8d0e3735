// The 4-bit float of the OCP specification, e2m1: two numbers a byte, the first in its lower half.
#pragma once

#include "hip/device/push_names.h"

#include "hip/device/small_floats.h"

typedef unsigned char __hip_fp4_storage_t;
typedef unsigned char __hip_fp4x2_storage_t;
typedef unsigned short __hip_fp4x4_storage_t;

enum __hip_fp4_interpretation_t { __HIP_E2M1 = 0 };

__hip_host_device_inline constexpr __hip_small::format __hip_fp4_format(__hip_fp4_interpretation_t) { return {2, 1}; }

__HIP_SMALL_FUNCTIONS(fp4, 4)
__HIP_SMALL_TYPES(fp4, e2m1, __HIP_E2M1, 4)

#include "hip/device/pop_names.h"
