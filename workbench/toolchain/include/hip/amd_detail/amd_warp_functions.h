// ROCm's inner header of wave functions.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_WARP_FUNCTIONS_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_WARP_FUNCTIONS_H

#include "hip/device/functions.h"

#endif
