// ROCm's inner header of bfloat16 numbers.
#pragma once
#ifndef _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_

#include "hip/hip_bf16.h"

#endif
