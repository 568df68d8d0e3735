// ROCm's inner header of complex numbers.
#pragma once
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COMPLEX_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COMPLEX_H

#include "hip/hip_complex.h"

#endif
