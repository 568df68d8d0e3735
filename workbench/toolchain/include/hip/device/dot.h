// Dot products of packed integers with a sum of 32 bits: HIP's amd_mixed_dot; and sums and products of four bytes.
#pragma once

#include "hip/hip_vector_types.h"

#define __HIP_DOT(Sum, Packed, Wanted, builtin)                                                                        \
    __device__ static inline Sum amd_mixed_dot(Packed a, Packed b, Sum c, bool saturate) {                             \
        const Wanted x = __builtin_bit_cast(Wanted, a), y = __builtin_bit_cast(Wanted, b);                             \
        return saturate ? __builtin_amdgcn_##builtin(x, y, c, true) : __builtin_amdgcn_##builtin(x, y, c, false);      \
    }
typedef short __hip_short2_bits __attribute__((ext_vector_type(2)));
typedef unsigned short __hip_ushort2_bits __attribute__((ext_vector_type(2)));
__HIP_DOT(int, short2, __hip_short2_bits, sdot2)
__HIP_DOT(unsigned, ushort2, __hip_ushort2_bits, udot2)
__HIP_DOT(int, char4, int, sdot4)
__HIP_DOT(unsigned, uchar4, unsigned, udot4)
// Eight numbers of 4 bits.
__HIP_DOT(int, int, int, sdot8)
__HIP_DOT(unsigned, unsigned, unsigned, udot8)
#undef __HIP_DOT

__hip_device_inline char4 __hip_hc_add8pk(char4 a, char4 b) { return a + b; }
__hip_device_inline char4 __hip_hc_sub8pk(char4 a, char4 b) { return a - b; }
__hip_device_inline char4 __hip_hc_mul8pk(char4 a, char4 b) { return a * b; }
