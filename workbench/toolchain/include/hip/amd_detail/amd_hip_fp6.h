// ROCm's inner header of numbers of 6 bits.
#pragma once

#include "hip/hip_fp6.h"
