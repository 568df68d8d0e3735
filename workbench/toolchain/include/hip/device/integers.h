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
__hip_device_inline unsigned __lastbit_u32_u32(unsigned x) { return x == 0 ? ~0u : (unsigned)__builtin_ctz(x); }
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

// Byte i of the result is the byte of (b:a) that bits 4i..4i+2 of the selector name; with bit 4i+3 set, its sign.
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
__hip_device_inline unsigned long long __bitextract_u64(unsigned long long x, unsigned offset, unsigned width) {
    unsigned long long mask = (width & 63) == 0 ? 0 : (1ull << (width & 63)) - 1;
    return x >> (offset & 63) & mask;
}
__hip_device_inline unsigned long long __bitinsert_u64(unsigned long long x, unsigned long long field, unsigned offset,
                                                       unsigned width) {
    unsigned long long mask = (width & 63) == 0 ? 0 : (1ull << (width & 63)) - 1;
    return (x & ~(mask << (offset & 63))) | (field & mask) << (offset & 63);
}

// The lowest `count` of 64 bits.
__hip_device_inline unsigned long long __hip_low_bits(unsigned count) {
    return count >= 64 ? ~0ull : (1ull << count) - 1;
}
// Position of the set bit number `index`, counted from 0, of `bits`; 64 or more if fewer are set.
__hip_device_inline unsigned __hip_nth_bit(unsigned long long bits, unsigned index) {
    if (index >= (unsigned)__builtin_popcountll(bits)) return 64;
    unsigned place = 0;
#pragma unroll
    for (unsigned half = 32; half != 0; half /= 2) {
        const unsigned below = (unsigned)__builtin_popcountll(bits & __hip_low_bits(half));
        if (index >= below) {
            index -= below;
            bits >>= half;
            place += half;
        }
    }
    return place;
}
// The place of the offset-th set bit from `base` on, downwards where the offset is negative; with 0 `base` itself if
// its bit is set. -1 if there is none.
__hip_device_inline int __fns64(unsigned long long bits, unsigned base, int offset) {
    unsigned place;
    if (offset > 0)
        place = base > 63 ? 64 : __hip_nth_bit(bits & ~__hip_low_bits(base), (unsigned)offset - 1);
    else if (offset < 0) {
        const unsigned long long below = bits & __hip_low_bits(base + 1);
        const int index = __builtin_popcountll(below) + offset;
        place = index < 0 ? 64 : __hip_nth_bit(below, (unsigned)index);
    } else
        place = base < 64 && (bits >> base & 1) ? base : 64;
    return place > 63 ? -1 : (int)place;
}
__hip_device_inline int __fns32(unsigned long long bits, unsigned base, int offset) {
    return __fns64(bits & 0xffffffff, base, offset);
}
__hip_device_inline int __fns(unsigned bits, unsigned base, int offset) { return __fns32(bits, base, offset); }
