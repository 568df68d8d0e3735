// ROCm's inner header of __ldg; its content is in hip_runtime.h.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_LDG_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_LDG_H

#include "hip/hip_runtime.h"

#endif
