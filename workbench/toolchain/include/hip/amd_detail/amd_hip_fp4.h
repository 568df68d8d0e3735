// ROCm's inner header of numbers of 4 bits.
#pragma once

#include "hip/hip_fp4.h"
