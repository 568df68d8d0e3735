// ROCm's inner header of cooperative groups.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H

#include "hip/hip_cooperative_groups.h"

#endif
