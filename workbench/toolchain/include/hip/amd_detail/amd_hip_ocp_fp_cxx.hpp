// ROCm's inner header of the classes on OCP formats: what they are stored in is what sources use of it.
#pragma once

#include "hip/amd_detail/amd_hip_ocp_types.h"
