// The first include of a HIP source: launch built-ins, vector types, device functions and the host API's declarations,
// for a clang that comes without ROCm. The names and meanings are HIP's; the code is ours and needs no device library,
// so a kernel links with nothing.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_RUNTIME_H

#include "hip/device/push_names.h"

// Host code from another compiler, such as g++, gets the host API and the vector types.
#if !defined(__HIP__) && !defined(__HIP_PLATFORM_AMD__)
#error "hip/hip_runtime.h: compile with hipcc or -x hip, or host code without kernels with -D__HIP_PLATFORM_AMD__"
#endif

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#if defined(__HIP__)
#include "hip/device/functions.h"
#else
#include "hip/hip_version.h"
#include "hip/amd_detail/host_defines.h"
#include "hip/hip_vector_types.h"
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Headers that programs rely on, as ROCm's headers include them: assert, printf, memset, std::array, std::thread and
// with it std::chrono. Up to GCC 11's library, algorithm includes functional and this unordered_map, which programs
// such as AITER use without including it. A kernel alone does not wait for them.
#if defined(__HIP_WHOLE_PROGRAM__)
#include <assert.h>
#include <stdio.h>
#include <limits.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iosfwd>
#include <limits>
#include <thread>

// Thrust for libc++ calls its namespace by a name that libc++ 21 no longer has.
#if defined(_LIBCPP_VERSION) && !defined(_VSTD)
#define _VSTD std
#endif
#endif

#include "hip/hip_runtime_api.h"
#if defined(__HIP__)
#include "hip/device/index.h"
#include "hip/device/console.h"
#include "hip/device/textures.h"
// By whose guards programs see what is declared.
#include "hip/amd_detail/amd_device_functions.h"
#include "hip/amd_detail/amd_warp_functions.h"
#include "hip/amd_detail/hip_ldg.h"
#endif

#include "hip/device/pop_names.h"

#endif
