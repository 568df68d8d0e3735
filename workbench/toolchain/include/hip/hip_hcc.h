// The name of hip_ext.h of old.
#pragma once

#include "hip/hip_ext.h"
