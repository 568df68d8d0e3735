// Names that some sources include by themselves; all is in hip_runtime.h.
#pragma once
#ifndef HIP_INCLUDE_HIP_MATH_FUNCTIONS_H
#define HIP_INCLUDE_HIP_MATH_FUNCTIONS_H

#include "hip/hip_runtime.h"

#endif
