// The name of hip_ext.h of old.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_HCC_H
#define HIP_INCLUDE_HIP_HIP_HCC_H

#include "hip/hip_ext.h"

#endif
