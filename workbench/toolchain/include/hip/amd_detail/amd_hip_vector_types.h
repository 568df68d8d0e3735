// ROCm's inner header of vector types.
#pragma once

#include "hip/hip_vector_types.h"
