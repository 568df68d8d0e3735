// ROCm's inner header of wave functions with a mask.
#pragma once

#include "hip/device/functions.h"
