// The host API, for a source with kernels and their launchers, or for a whole program.
//
// A compilation for the device reads these declarations and drops the launchers; host code finds the functions
// in a libamdhip64, AMD's or the emulated device's.
#pragma once
#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_API_H
#define HIP_INCLUDE_HIP_HIP_RUNTIME_API_H

#include "hip/host/types.h"
#include "hip/host/functions.h"
#include "hip/host/templates.h"
#include "hip/host/textures.h"
#include "hip/host/further.h"

#endif
