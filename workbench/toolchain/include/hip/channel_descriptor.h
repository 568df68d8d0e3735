// Where HIP declares descriptions of a texture's elements.
#pragma once

#include "hip/hip_runtime_api.h"
