// HIP's functions and classes on the OCP formats of 8, 6 and 4 bits.
#pragma once

#include "hip/amd_detail/amd_hip_ocp_fp.hpp"
#include "hip/amd_detail/amd_hip_ocp_fp_cxx.hpp"
