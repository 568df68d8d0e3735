// The older header of the bfloat16 type.
#pragma once
#ifndef _HIP_BFLOAT16_H_
#define _HIP_BFLOAT16_H_
#define _HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BFLOAT16_H_

#include "hip/hip_bf16.h"
typedef __hip_bfloat16 hip_bfloat16;

#endif
