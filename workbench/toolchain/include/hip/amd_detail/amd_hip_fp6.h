// ROCm's inner header of 6-bit numbers.
#pragma once

#include "hip/hip_fp6.h"
