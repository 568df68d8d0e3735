// Names that some sources include by themselves; all is in hip_runtime.h.
#pragma once

#include "hip/hip_runtime.h"
