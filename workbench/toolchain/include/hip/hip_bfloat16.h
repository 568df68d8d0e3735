// The older header of the same type.
#pragma once
#define _HIP_BFLOAT16_H_

#include "hip/hip_bf16.h"
typedef __hip_bfloat16 hip_bfloat16;
