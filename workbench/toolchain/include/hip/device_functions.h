// A header that some sources include on its own; its content is in hip_runtime.h.
#pragma once
#ifndef HIP_INCLUDE_HIP_DEVICE_FUNCTIONS_H
#define HIP_INCLUDE_HIP_DEVICE_FUNCTIONS_H

#include "hip/hip_runtime.h"

#endif
