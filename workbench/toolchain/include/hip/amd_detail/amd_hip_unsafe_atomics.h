// ROCm's inner header of unsafe atomic operations.
#pragma once

#include "hip/device/functions.h"
