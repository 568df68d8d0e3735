// The older header of the same type.
#pragma once

#include "hip/hip_bf16.h"
