// HIP's header of surfaces.
#pragma once
#ifndef HIP_INCLUDE_HIP_SURFACE_TYPES_H
#define HIP_INCLUDE_HIP_SURFACE_TYPES_H

#include "hip/hip_runtime_api.h"

#endif
