// Attributes that come with HIP's headers, not with the compiler.
#pragma once
// The guard of ROCm's header of these, by which Thrust sees that they are not its own to define.
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HOST_DEFINES_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HOST_DEFINES_H

#include "hip/device/attributes.h"

#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))

#endif
