// ROCm's inner header of attributes.
#pragma once

#include "hip/device/attributes.h"
