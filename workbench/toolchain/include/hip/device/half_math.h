// Half precision's functions as the device library calls them, single and in pairs, which Composable Kernel and
// TileLang call by name. They are computed in float and rounded once.
#pragma once

#include "hip/device/math.h"

typedef _Float16 __2f16 __attribute__((ext_vector_type(2)));
typedef short __2i16 __attribute__((ext_vector_type(2)));
#define __HIP_OCML_HALF(name)                                                                                          \
    extern "C" __device__ inline _Float16 __ocml_##name##_f16(_Float16 x) { return (_Float16)name((float)x); }         \
    extern "C" __device__ inline __2f16 __ocml_##name##_2f16(__2f16 x) {                                               \
        return __2f16{__ocml_##name##_f16(x.x), __ocml_##name##_f16(x.y)};                                             \
    }
__HIP_OCML_HALF(ceil)
__HIP_OCML_HALF(cos)
__HIP_OCML_HALF(exp)
__HIP_OCML_HALF(exp10)
__HIP_OCML_HALF(exp2)
__HIP_OCML_HALF(fabs)
__HIP_OCML_HALF(floor)
__HIP_OCML_HALF(log)
__HIP_OCML_HALF(log10)
__HIP_OCML_HALF(log2)
__HIP_OCML_HALF(rint)
__HIP_OCML_HALF(rsqrt)
__HIP_OCML_HALF(sin)
__HIP_OCML_HALF(sqrt)
__HIP_OCML_HALF(trunc)
#undef __HIP_OCML_HALF
extern "C" {
// In float, a sum of three would be rounded twice.
__device__ inline _Float16 __ocml_fma_f16(_Float16 x, _Float16 y, _Float16 z) { return __builtin_fmaf16(x, y, z); }
__device__ inline __2f16 __ocml_fma_2f16(__2f16 x, __2f16 y, __2f16 z) {
    return __2f16{__ocml_fma_f16(x.x, y.x, z.x), __ocml_fma_f16(x.y, y.y, z.y)};
}
__device__ inline _Float16 __ocml_fmax_f16(_Float16 x, _Float16 y) { return (_Float16)fmax((float)x, (float)y); }
__device__ inline _Float16 __ocml_fmin_f16(_Float16 x, _Float16 y) { return (_Float16)fmin((float)x, (float)y); }
__device__ inline int __ocml_isinf_f16(_Float16 x) { return __builtin_isinf((float)x); }
__device__ inline int __ocml_isnan_f16(_Float16 x) { return __builtin_isnan((float)x); }
// For pairs, all bits of an element are set where it is so.
__device__ inline __2i16 __ocml_isinf_2f16(__2f16 x) {
    return __2i16{(short)-__ocml_isinf_f16(x.x), (short)-__ocml_isinf_f16(x.y)};
}
__device__ inline __2i16 __ocml_isnan_2f16(__2f16 x) {
    return __2i16{(short)-__ocml_isnan_f16(x.x), (short)-__ocml_isnan_f16(x.y)};
}
// A float does not have all int values.
__device__ inline _Float16 __ocml_pown_f16(_Float16 x, int n) { return (_Float16)pow((double)x, (double)n); }
}
