// Where HIP declares the structures of its driver's functions.
#pragma once

#include "hip/hip_runtime_api.h"
