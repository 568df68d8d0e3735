// ROCm's inner header of 8-bit numbers.
#pragma once
#ifndef _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP8_H_
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_FP8_H_

#include "hip/hip_fp8.h"

#endif
