// Bit counting, wide products, byte permutes and other integer functions.
#pragma once

#include "hip/device/attributes.h"

__hip_device_inline int __popc(unsigned x) { return __builtin_popcount(x); }
__hip_device_inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__hip_device_inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
__hip_device_inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
__hip_device_inline int __ffs(int x) { return x == 0 ? 0 : __builtin_ctz((unsigned)x) + 1; }
__hip_device_inline int __ffs(unsigned x) { return __ffs((int)x); }
__hip_device_inline int __ffsll(long long x) { return x == 0 ? 0 : __builtin_ctzll((unsigned long long)x) + 1; }
__hip_device_inline int __ffsll(unsigned long long x) { return __ffsll((long long)x); }
__hip_device_inline int __ffsll(long x) { return __ffsll((long long)x); }
__hip_device_inline int __ffsll(unsigned long x) { return __ffsll((long long)x); }
__hip_device_inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__hip_device_inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__hip_device_inline unsigned __lastbit_u32_u64(unsigned long long x) {
    return x == 0 ? ~0u : (unsigned)__builtin_ctzll(x);
}

__hip_device_inline int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__hip_device_inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
__hip_device_inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
__hip_device_inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
__hip_device_inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
__hip_device_inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

__hip_device_inline int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
__hip_device_inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
__hip_device_inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
__hip_device_inline unsigned __urhadd(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a + b + 1) >> 1);
}
__hip_device_inline unsigned __sad(int a, int b, unsigned sum) {
    return sum + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
__hip_device_inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return sum + (a > b ? a - b : b - a); }

__hip_device_inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
__hip_device_inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
__hip_device_inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}
__hip_device_inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// Byte i of the result is the byte of (b:a) that bits 4i..4i+2 of the selector name; with bit 4i+3 its sign.
__hip_device_inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned result = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        unsigned byte = (unsigned)(bytes >> ((selector >> (4 * i) & 7) * 8)) & 0xff;
        if (selector >> (4 * i) & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

__hip_device_inline unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
    return __builtin_amdgcn_ubfe(x, offset, width);
}
__hip_device_inline unsigned __bitinsert_u32(unsigned x, unsigned field, unsigned offset, unsigned width) {
    unsigned mask = (width & 31) == 0 ? 0 : (1u << (width & 31)) - 1;
    return (x & ~(mask << (offset & 31))) | (field & mask) << (offset & 31);
}

template <typename T>
__device__ inline __attribute__((always_inline)) T __ldg(const T *pointer) {
    return *pointer;
}
