// Precedes every HIP source, whatever it includes, as clang's own wrapper header does where ROCm is installed.
// Attributes, C's math functions, malloc and new; no name of HIP's headers.
#pragma once

#if defined(__HIP__)
#include "hip/device/push_names.h"

#include "hip/device/attributes.h"
#include "hip/device/math_declarations.h"
#include "hip/device/memory.h"

// The headers of C too: they give the global abs and its like their overloads, and `abs(float)` is not an int.
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <new>

#include "hip/device/math.h"
#include "hip/device/half_math.h"
#include "hip/device/rounded.h"
#include "hip/device/complex.h"

#include "hip/device/pop_names.h"
#endif
