// ROCm's inner header of atomic operations without their guarantees.
#pragma once

#include "hip/device/functions.h"
