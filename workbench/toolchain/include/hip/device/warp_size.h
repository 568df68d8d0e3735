// The number of lanes of a wave: a device value, not a constant expression since HIP 7 (its
// amd_warp_functions.h).
#pragma once

#include "hip/device/attributes.h"

struct __hip_warp_size final {
    __device__ __attribute__((always_inline, const)) operator int() const noexcept {
        return __builtin_amdgcn_wavefrontsize();
    }
};
inline __device__ const __hip_warp_size warpSize{};
