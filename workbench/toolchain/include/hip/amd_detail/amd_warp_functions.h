// ROCm's inner header of functions of a wave.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_WARP_FUNCTIONS_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_WARP_FUNCTIONS_H

#include "hip/device/functions.h"

#endif
