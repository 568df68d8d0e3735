// ROCm's inner header of math functions.
#pragma once

#include "hip/device/functions.h"
