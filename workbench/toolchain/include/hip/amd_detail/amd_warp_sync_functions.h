// ROCm's inner header of functions of a wave with a mask.
#pragma once

#include "hip/device/functions.h"
