// Where HIP says for which platform a source is compiled.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#include "hip/hip_version.h"
