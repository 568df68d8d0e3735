// ROCm's inner header of half-precision numbers.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP16_H

#include "hip/hip_fp16.h"

#endif
