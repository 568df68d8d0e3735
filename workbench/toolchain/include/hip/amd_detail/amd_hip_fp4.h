// ROCm's inner header of 4-bit numbers.
#pragma once

#include "hip/hip_fp4.h"
