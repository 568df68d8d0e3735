/* Vectors of 16 lanes, and moves of per-lane data into and out of register rows.
 *
 * A register row is HK_LANES dwords, lane by lane; memory holds each lane's 1 to 4 dwords together. Loads and
 * stores are therefore transposes, done here 16 lanes at a time in clang's portable vectors: one AVX-512
 * register, two AVX2 ones, four NEON ones.
 */
#ifndef HK_LANES_H
#define HK_LANES_H

#include "run/wave.h"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

/* Vectors wider than the target's registers are passed between inlined functions only. */
#pragma clang diagnostic ignored "-Wpsabi"

typedef uint32_t u32x16 __attribute__((vector_size(64), aligned(4)));
typedef int32_t i32x16 __attribute__((vector_size(64), aligned(4)));
typedef float f32x16 __attribute__((vector_size(64), aligned(4)));
typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(1)));
typedef uint32_t u32x8 __attribute__((vector_size(32), aligned(4)));
typedef uint64_t u64x8 __attribute__((vector_size(64), aligned(8)));
typedef int64_t i64x8 __attribute__((vector_size(64), aligned(8)));

#define HK_INLINE static inline __attribute__((always_inline, unused))

/* Memory accesses may be unaligned; these types tell the compiler so. */
typedef struct __attribute__((packed)) {
    uint16_t value;
} hk_u16_unaligned;
typedef struct __attribute__((packed)) {
    uint32_t value;
} hk_u32_unaligned;
typedef struct __attribute__((packed)) {
    uint64_t value;
} hk_u64_unaligned;

HK_INLINE uint32_t hk_get16(const uint8_t *p) { return ((const hk_u16_unaligned *)p)->value; }
HK_INLINE uint32_t hk_get32(const uint8_t *p) { return ((const hk_u32_unaligned *)p)->value; }
HK_INLINE uint64_t hk_get64(const uint8_t *p) { return ((const hk_u64_unaligned *)p)->value; }
HK_INLINE void hk_put16(uint8_t *p, uint32_t value) { ((hk_u16_unaligned *)p)->value = (uint16_t)value; }
HK_INLINE void hk_put32(uint8_t *p, uint32_t value) { ((hk_u32_unaligned *)p)->value = value; }
HK_INLINE void hk_put64(uint8_t *p, uint64_t value) { ((hk_u64_unaligned *)p)->value = value; }

static const u32x16 hk_lane_bit = {1u << 0, 1u << 1, 1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
                                   1u << 8, 1u << 9, 1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15};

/* All ones in each of 16 lanes whose bit is set. */
HK_INLINE u32x16 hk_mask16(uint32_t bits) {
    u32x16 all = {bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits};
    return (u32x16)((all & hk_lane_bit) != 0);
}

/* Replaces the lanes of a row whose bit in EXEC is set. */
HK_INLINE void hk_row_blend(uint32_t *row, const uint32_t *value, uint64_t exec) {
    for (int g = 0; g < HK_LANES / 16; g++) {
        u32x16 *to = (u32x16 *)(row + 16 * g);
        u32x16 mask = hk_mask16((uint32_t)(exec >> (16 * g)) & 0xffff);
        *to = (*to & ~mask) | (*(const u32x16 *)(value + 16 * g) & mask);
    }
}

HK_INLINE unsigned hk_first_lane(uint64_t exec) { return (unsigned)__builtin_ctzll(exec); }

/* Loops over the lanes whose bit in EXEC is set. */
#define HK_FOR_LANES(lane, exec)                                                                                       \
    for (uint64_t lane##_left = (exec); lane##_left != 0; lane##_left &= lane##_left - 1)                              \
        for (unsigned lane = (unsigned)__builtin_ctzll(lane##_left), lane##_once = 1; lane##_once; lane##_once = 0)

HK_INLINE uint32_t hk_data_bytes(HkData data) {
    switch (data) {
    case HK_U8:
    case HK_I8:
    case HK_U8_LO:
    case HK_I8_LO:
    case HK_U8_HI:
    case HK_I8_HI:
    case HK_B8:
    case HK_B8_FROM_HI:
        return 1;
    case HK_U16:
    case HK_I16:
    case HK_U16_LO:
    case HK_U16_HI:
    case HK_B16:
    case HK_B16_FROM_HI:
        return 2;
    case HK_B32:
        return 4;
    case HK_B64:
        return 8;
    case HK_B96:
        return 12;
    case HK_B128:
        return 16;
    }
    return 0;
}

/* The new value of a register after a load of at most 32 bits.
 *
 * A load of half a register clears the other half, as these targets have SRAM-ECC: Tensile joins two such loads by OR
 * (HasEccHalf, true for gfx906 to gfx950), and LLVM does not expect the other half to stay (d16PreservesUnusedBits).
 * The ISA guides' pseudocode, which leaves it, is that of the opcode without SRAM-ECC. */
HK_INLINE uint32_t hk_loaded(HkData data, const uint8_t *p) {
    switch (data) {
    case HK_U8:
        return *p;
    case HK_I8:
        return (uint32_t)(int32_t)(int8_t)*p;
    case HK_U16:
        return hk_get16(p);
    case HK_I16:
        return (uint32_t)(int32_t)(int16_t)hk_get16(p);
    case HK_U8_LO:
        return *p;
    case HK_I8_LO:
        return (uint16_t)(int16_t)(int8_t)*p;
    case HK_U16_LO:
        return hk_get16(p);
    case HK_U8_HI:
        return (uint32_t)*p << 16;
    case HK_I8_HI:
        return (uint32_t)(uint16_t)(int16_t)(int8_t)*p << 16;
    case HK_U16_HI:
        return hk_get16(p) << 16;
    default:
        return hk_get32(p);
    }
}

HK_INLINE void hk_put_small(HkData data, uint8_t *p, uint32_t value) {
    switch (data) {
    case HK_B8:
        *p = (uint8_t)value;
        break;
    case HK_B8_FROM_HI:
        *p = (uint8_t)(value >> 16);
        break;
    case HK_B16:
        hk_put16(p, value);
        break;
    case HK_B16_FROM_HI:
        hk_put16(p, value >> 16);
        break;
    default:
        hk_put32(p, value);
        break;
    }
}

/* Address of a lane's data: a base plus one of HK_LANES offsets of 32 or 64 bits. Addresses of inactive lanes must be
 * readable. */
#define HK_AT(wide, base, offsets, lane)                                                                               \
    ((wide) ? (uint8_t *)(uintptr_t)((const uint64_t *)(offsets))[lane] + (intptr_t)0                                  \
            : (base) + ((const uint32_t *)(offsets))[lane])

HK_INLINE u32x16 hk_join4(u32x4 a, u32x4 b, u32x4 c, u32x4 d) {
    u32x8 ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    u32x8 cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* 4 x 4 transposes inside each quarter of four vectors: out[r] holds dword r of 16 lanes when in[q] holds
 * the four dwords of lanes q, 4 + q, 8 + q, 12 + q. Its own inverse. */
HK_INLINE void hk_transpose4(u32x16 in[4]) {
    u32x16 ab_lo = __builtin_shufflevector(in[0], in[1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    u32x16 ab_hi = __builtin_shufflevector(in[0], in[1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    u32x16 cd_lo = __builtin_shufflevector(in[2], in[3], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    u32x16 cd_hi = __builtin_shufflevector(in[2], in[3], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    in[0] = __builtin_shufflevector(ab_lo, cd_lo, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    in[1] = __builtin_shufflevector(ab_lo, cd_lo, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    in[2] = __builtin_shufflevector(ab_hi, cd_hi, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    in[3] = __builtin_shufflevector(ab_hi, cd_hi, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}

/* Fills `rows` (1 to 4 consecutive rows, all lanes) from memory. */
HK_INLINE void hk_gather(HkData data, uint32_t *rows, int wide, const uint8_t *base, const void *offsets) {
    if (data == HK_B128) {
        for (int g = 0; g < HK_LANES; g += 16) {
            u32x16 part[4];
#pragma clang loop unroll(full)
            for (int q = 0; q < 4; q++)
                part[q] = hk_join4(*(const u32x4 *)HK_AT(wide, base, offsets, g + q),
                                   *(const u32x4 *)HK_AT(wide, base, offsets, g + 4 + q),
                                   *(const u32x4 *)HK_AT(wide, base, offsets, g + 8 + q),
                                   *(const u32x4 *)HK_AT(wide, base, offsets, g + 12 + q));
            hk_transpose4(part);
#pragma clang loop unroll(full)
            for (int r = 0; r < 4; r++) *(u32x16 *)(rows + HK_LANES * r + g) = part[r];
        }
    }
#ifdef __aarch64__
    else if (data == HK_B64) {
        /* Copies each lane's eight bytes to half a register; the compiler uses two general registers for it. */
        for (int g = 0; g < HK_LANES; g += 4) {
            uint8x16_t part[2];
#pragma clang loop unroll(full)
            for (int q = 0; q < 2; q++)
                part[q] = vcombine_u8(vld1_u8(HK_AT(wide, base, offsets, g + 2 * q)),
                                      vld1_u8(HK_AT(wide, base, offsets, g + 2 * q + 1)));
            uint32x4_t first = vreinterpretq_u32_u8(part[0]), second = vreinterpretq_u32_u8(part[1]);
            vst1q_u32(rows + g, vuzp1q_u32(first, second));
            vst1q_u32(rows + HK_LANES + g, vuzp2q_u32(first, second));
        }
    }
#endif
    else if (data == HK_B64 || data == HK_B96) {
        for (int g = 0; g < HK_LANES; g += 16) {
            uint32_t part[3][16];
#pragma clang loop unroll(full)
            for (int l = 0; l < 16; l++) {
                const uint8_t *p = HK_AT(wide, base, offsets, g + l);
                uint64_t low = hk_get64(p);
                part[0][l] = (uint32_t)low;
                part[1][l] = (uint32_t)(low >> 32);
                if (data == HK_B96) part[2][l] = hk_get32(p + 8);
            }
#pragma clang loop unroll(full)
            for (int r = 0; r < (data == HK_B96 ? 3 : 2); r++)
                *(u32x16 *)(rows + HK_LANES * r + g) = *(const u32x16 *)part[r];
        }
    }
#ifdef __AVX512F__
    else if (data == HK_B32 && !wide) {
        /* The gather instruction treats its offsets as signed. Clang's builtin, since immintrin.h takes 0.2 s to parse
         * in each of the thirty files that include this one. */
        const i32x16 zero = {0};
        for (int g = 0; g < HK_LANES; g += 16) {
            const i32x16 offset = (i32x16)(*(const u32x16 *)((const uint32_t *)offsets + g) ^ 0x80000000u);
            *(i32x16 *)(rows + g) =
                __builtin_ia32_gathersiv16si(zero, base + 0x80000000u, offset, (unsigned short)0xffff, 1);
        }
    }
#endif
    else {
        for (int g = 0; g < HK_LANES; g += 16) {
            uint32_t part[16];
#pragma clang loop unroll(full)
            for (int l = 0; l < 16; l++) part[l] = hk_loaded(data, HK_AT(wide, base, offsets, g + l));
            *(u32x16 *)(rows + g) = *(const u32x16 *)part;
        }
    }
}

HK_INLINE int hk_data_rows(HkData data) { return data == HK_B128 ? 4 : data == HK_B96 ? 3 : data == HK_B64 ? 2 : 1; }

/* Loads into the active lanes of EXEC; the `offsets` of the others must be readable. */
HK_INLINE void hk_gather_masked(HkData data, uint32_t *rows, int wide, const uint8_t *base, const void *offsets,
                                uint64_t exec) {
    /* Both cases end here, so that the gather is inlined once. */
    uint32_t temporary[4 * HK_LANES] __attribute__((aligned(64)));
    uint32_t *to = exec == HK_ALL_LANES ? rows : temporary;
    hk_gather(data, to, wide, base, offsets);
    if (to == rows) return;
    for (int r = 0; r < hk_data_rows(data); r++) hk_row_blend(rows + HK_LANES * r, temporary + HK_LANES * r, exec);
}

/* Stores from the active lanes of EXEC, the lowest lane first: where lanes write to the same address, the highest
 * lane's value always remains. */
HK_INLINE void hk_scatter(HkData data, const uint32_t *rows, int wide, uint8_t *base, const void *offsets,
                          uint64_t exec) {
    if (data == HK_B128 && exec == HK_ALL_LANES) {
        for (int g = 0; g < HK_LANES; g += 16) {
            u32x16 part[4];
            uint32_t lanes[4][16] __attribute__((aligned(64)));
#pragma clang loop unroll(full)
            for (int r = 0; r < 4; r++) part[r] = *(const u32x16 *)(rows + HK_LANES * r + g);
            hk_transpose4(part);
#pragma clang loop unroll(full)
            for (int q = 0; q < 4; q++) *(u32x16 *)lanes[q] = part[q];
#pragma clang loop unroll(full)
            for (int l = 0; l < 16; l++)
                *(u32x4 *)HK_AT(wide, base, offsets, g + l) = *(const u32x4 *)&lanes[l & 3][l & ~3];
        }
        return;
    }
#ifdef __aarch64__
    if (data == HK_B64 && exec == HK_ALL_LANES) {
        for (int g = 0; g < HK_LANES; g += 4) {
            uint32x4_t low = vld1q_u32(rows + g), high = vld1q_u32(rows + HK_LANES + g);
            uint8x16_t first = vreinterpretq_u8_u32(vzip1q_u32(low, high));
            uint8x16_t second = vreinterpretq_u8_u32(vzip2q_u32(low, high));
            vst1_u8(HK_AT(wide, base, offsets, g), vget_low_u8(first));
            vst1_u8(HK_AT(wide, base, offsets, g + 1), vget_high_u8(first));
            vst1_u8(HK_AT(wide, base, offsets, g + 2), vget_low_u8(second));
            vst1_u8(HK_AT(wide, base, offsets, g + 3), vget_high_u8(second));
        }
        return;
    }
#endif
    if (exec == HK_ALL_LANES) {
#pragma clang loop unroll_count(16)
        for (int l = 0; l < HK_LANES; l++) {
            uint8_t *p = HK_AT(wide, base, offsets, l);
            if (data == HK_B64)
                hk_put64(p, rows[l] | (uint64_t)rows[HK_LANES + l] << 32);
            else if (data == HK_B96) {
                hk_put64(p, rows[l] | (uint64_t)rows[HK_LANES + l] << 32);
                hk_put32(p + 8, rows[2 * HK_LANES + l]);
            } else
                hk_put_small(data, p, rows[l]);
        }
        return;
    }
    HK_FOR_LANES(l, exec) {
        uint8_t *p = HK_AT(wide, base, offsets, l);
        if (hk_data_rows(data) == 1)
            hk_put_small(data, p, rows[l]);
        else
            for (int r = 0; r < hk_data_rows(data); r++) hk_put32(p + 4 * r, rows[HK_LANES * r + l]);
    }
}

/* Least and greatest 32-bit offset of the active lanes. */
typedef struct HkSpan32 {
    uint32_t lo, hi;
} HkSpan32;

HK_INLINE HkSpan32 hk_span32(const uint32_t *row, uint64_t exec) {
    u32x16 lo, hi;
    for (int g = 0; g < HK_LANES / 16; g++) {
        u32x16 value = *(const u32x16 *)(row + 16 * g);
        u32x16 low = value, high = value;
        if (exec != HK_ALL_LANES) {
            u32x16 mask = hk_mask16((uint32_t)(exec >> (16 * g)) & 0xffff);
            low |= ~mask;
            high &= mask;
        }
        lo = g == 0 ? low : __builtin_elementwise_min(lo, low);
        hi = g == 0 ? high : __builtin_elementwise_max(hi, high);
    }
    return (HkSpan32){__builtin_reduce_min(lo), __builtin_reduce_max(hi)};
}

/* Offsets that are safe to read in every lane: inactive lanes get the first active lane's. Returns `row` itself if all
 * lanes are active. */
HK_INLINE const uint32_t *hk_safe32(const uint32_t *row, uint64_t exec, uint32_t *temporary) {
    if (exec == HK_ALL_LANES) return row;
    uint32_t safe = row[hk_first_lane(exec)];
    for (int l = 0; l < HK_LANES; l++) temporary[l] = safe;
    hk_row_blend(temporary, row, exec);
    return temporary;
}

#endif
