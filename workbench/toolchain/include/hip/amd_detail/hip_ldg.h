// ROCm's inner header of __ldg; all is in hip_runtime.h.
#pragma once

#include "hip/hip_runtime.h"
