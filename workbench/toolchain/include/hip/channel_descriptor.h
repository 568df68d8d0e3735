// HIP's header of channel descriptors, which describe a texture's elements.
#pragma once
#ifndef HIP_INCLUDE_HIP_CHANNEL_DESCRIPTOR_H
#define HIP_INCLUDE_HIP_CHANNEL_DESCRIPTOR_H

#include "hip/hip_runtime_api.h"

#endif
