// ROCm's inner header of the older bfloat16.
#pragma once
#ifndef _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BFLOAT16_H_
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BFLOAT16_H_

#include "hip/hip_bfloat16.h"

#endif
