// HIP's header of the structures for driver functions.
#pragma once
#ifndef HIP_INCLUDE_HIP_DRIVER_TYPES_H
#define HIP_INCLUDE_HIP_DRIVER_TYPES_H

#include "hip/hip_runtime_api.h"

#endif
