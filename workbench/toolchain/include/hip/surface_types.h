// Where HIP declares surfaces.
#pragma once

#include "hip/hip_runtime_api.h"
