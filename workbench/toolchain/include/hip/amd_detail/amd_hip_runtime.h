// ROCm's inner header of the device's functions; all is in hip_runtime.h.
#pragma once

#include "hip/hip_runtime.h"
