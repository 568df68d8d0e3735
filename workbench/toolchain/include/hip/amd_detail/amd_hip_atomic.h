// ROCm's inner header of atomic operations.
#pragma once

#include "hip/device/functions.h"
