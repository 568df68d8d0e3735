// 6-bit floats of the OCP specification, e2m3 and e3m2. Each number takes a byte, whose upper two bits
// are zero.
#pragma once

#include "hip/device/push_names.h"

#include "hip/device/small_floats.h"

typedef unsigned char __hip_fp6_storage_t;
typedef unsigned short __hip_fp6x2_storage_t;
typedef unsigned int __hip_fp6x4_storage_t;

enum __hip_fp6_interpretation_t { __HIP_E2M3 = 0, __HIP_E3M2 = 1 };

__hip_host_device_inline constexpr __hip_small::format __hip_fp6_format(__hip_fp6_interpretation_t kind) {
    return kind == __HIP_E2M3 ? __hip_small::format{2, 3} : __hip_small::format{3, 2};
}

__HIP_SMALL_FUNCTIONS(fp6, 8)
__HIP_SMALL_TYPES(fp6, e2m3, __HIP_E2M3, 8)
__HIP_SMALL_TYPES(fp6, e3m2, __HIP_E3M2, 8)

#include "hip/device/pop_names.h"
