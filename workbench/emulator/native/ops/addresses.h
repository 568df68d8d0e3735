/* Addresses of the active lanes: computation, bounds check, counters. */
#ifndef HK_MEMORY_H
#define HK_MEMORY_H

#include "run/lanes.h"

/* Addresses of an instruction's lanes: 64-bit addresses (`wide`), or a base and 32-bit offsets. Inactive lanes
 * repeat an active one, so that a vector load may read them. */
typedef struct HkAddresses {
    int wide;
    uint8_t *base;
    const uint32_t *offsets;
    uint64_t lo, hi; /* least and greatest address of the active lanes */
    uint64_t exec;
    union {
        uint64_t at[HK_LANES];
        uint32_t safe[HK_LANES];
    } __attribute__((aligned(64)));
} HkAddresses;

HK_INLINE u64x8 hk_mask8(uint32_t bits) {
    u64x8 all = {bits, bits, bits, bits, bits, bits, bits, bits};
    u64x8 bit = {1, 2, 4, 8, 16, 32, 64, 128};
    return (u64x8)((all & bit) != 0);
}

/* A base and the lanes' signed offsets, shifted. */
HK_INLINE void hk_signed_addresses(HkAddresses *a, uint64_t base, const uint32_t *offsets, uint32_t shift) {
    uint64_t safe = base + ((uint64_t)(int64_t)(int32_t)offsets[hk_first_lane(a->exec)] << shift);
    a->wide = 1;
    a->lo = a->hi = safe;
    for (unsigned l = 0; l < HK_LANES; l++) {
        uint64_t at = base + ((uint64_t)(int64_t)(int32_t)offsets[l] << shift);
        if (!(a->exec >> l & 1)) at = safe;
        a->lo = at < a->lo ? at : a->lo;
        a->hi = at > a->hi ? at : a->hi;
        a->at[l] = at;
    }
}

/* The lane whose scratch an address is in, on targets where scratch has global addresses; -1 for other addresses. */
HK_INLINE int hk_scratch_lane(uint64_t address) {
    if (HK_LANES != 32 || address >> HK_SCRATCH_SHIFT != HK_GLOBAL_SCRATCH >> HK_SCRATCH_SHIFT) return -1;
    return (int)(address >> HK_SCRATCH_LANE_SHIFT & (HK_LANES - 1));
}

/* Replaces global addresses of scratch by those in the window of the lane's own, and says which lane's each is in. */
HK_INLINE void hk_locate_scratch(HkAddresses *a, uint64_t exec, uint8_t *owners) {
    HK_FOR_LANES(lane, exec) {
        int owner = hk_scratch_lane(a->at[lane]);
        owners[lane] = (uint8_t)(owner < 0 ? (int)lane : owner);
        if (owner >= 0) a->at[lane] = HK_PRIVATE_APERTURE | (uint32_t)a->at[lane];
    }
}

/* Addresses of GLOBAL_ and FLAT_: a VGPR pair plus the immediate, or an SGPR pair plus a 32-bit VGPR. */
HK_INLINE void hk_global_addresses(const Wave *w, const Op *op, uint64_t exec, HkAddresses *a) {
    const uint32_t *low = hk_row(w, op->src0);
    a->exec = exec;
    if (op->ssrc0 != HK_NO_REGISTER) {
        HkSpan32 span = hk_span32(low, exec);
        uint64_t base = hk_s64(w, op->ssrc0) + (uint64_t)(int64_t)op->offset;
        /* Only waves of 32 lanes have signed offsets. With the branch, stores of 64 lanes take twice as long. */
        if (HK_LANES == 32 && __builtin_expect(op->flags & HK_SIGNED_OFFSET, 0)) {
            hk_signed_addresses(a, base, low, op->flags >> HK_SCALE_SHIFT & HK_SCALE_MASK);
            return;
        }
        a->wide = 0;
        a->base = (uint8_t *)(uintptr_t)base;
        a->offsets = hk_safe32(low, exec, a->safe);
        a->lo = base + span.lo;
        a->hi = base + span.hi;
        return;
    }
    const uint32_t *high = low + HK_LANES;
    uint64_t offset = (uint64_t)(int64_t)op->offset;
    u64x8 lo = (u64x8){} - 1, hi = {};
    typedef uint32_t half __attribute__((vector_size(32), aligned(4)));
    for (int g = 0; g < HK_LANES; g += 8) {
        u64x8 value = __builtin_convertvector(*(const half *)(low + g), u64x8) |
                      __builtin_convertvector(*(const half *)(high + g), u64x8) << 32;
        value += offset;
        u64x8 mask = hk_mask8((uint32_t)(exec >> g) & 0xff);
        lo = __builtin_elementwise_min(lo, value | ~mask);
        hi = __builtin_elementwise_max(hi, value & mask);
        *(u64x8 *)(a->at + g) = value;
    }
    a->wide = 1;
    a->lo = __builtin_reduce_min(lo);
    a->hi = __builtin_reduce_max(hi);
    if (exec != HK_ALL_LANES) {
        uint64_t safe = a->at[hk_first_lane(exec)];
        for (int g = 0; g < HK_LANES; g += 8) {
            u64x8 mask = hk_mask8((uint32_t)(exec >> g) & 0xff);
            u64x8 *to = (u64x8 *)(a->at + g);
            *to = (*to & mask) | (safe & ~mask);
        }
    }
}

HK_INLINE uint64_t hk_address(const HkAddresses *a, unsigned lane) {
    return a->wide ? a->at[lane] : (uint64_t)(uintptr_t)a->base + a->offsets[lane];
}

void hk_count_global(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes, int is_write);
void hk_count_flat(Wave *w, const Op *op, const HkAddresses *a, uint64_t exec, uint32_t bytes, int is_write);
int32_t hk_check_each(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes, int is_write);

/* Checks that every lane may access its `bytes`; nonzero after recording a fault of the first lane that may not. */
HK_INLINE int32_t hk_check_addresses(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes, int is_write) {
    if (__builtin_expect(!hk_allowed(w, a->lo, a->hi + bytes, is_write), 0)) {
        if (hk_check_each(w, op, a, bytes, is_write)) return 1;
    }
    if (__builtin_expect(w->group->profile, 0)) hk_count_global(w, op, a, bytes, is_write);
    return 0;
}

/* Loads and stores of the lanes' scratch at `uniform` plus, if `row` is not NULL, each lane's own offset. */
int32_t hk_scratch_move(Wave *w, const Op *op, HkData data, uint32_t uniform, const uint32_t *row, int is_write);

/* The lanes of a load to LDS, `step` bytes apart from `start`, with a destination below `end`. */
HK_INLINE uint64_t hk_lanes_below(uint32_t end, uint32_t start, uint32_t step, uint32_t width) {
    if ((uint64_t)start + width > end) return 0;
    uint64_t last = (end - width - start) / step;
    return last >= HK_LANES - 1 ? HK_ALL_LANES : (2ull << last) - 1;
}

/* Destination of lane 0 in LDS; and the distance between the lanes' destinations of `width` bytes. */
HK_INLINE uint32_t hk_to_lds_start(const Wave *w, const Op *op) {
    return (w->s[HK_M0] & w->group->machine->lds_address_mask) + (uint32_t)op->offset;
}
HK_INLINE uint32_t hk_to_lds_step(uint32_t width) { return width == 4 ? 4 : 16; }

/* Memory to LDS: each lane l of `exec` moves its data from at[l]; lanes in `out_of_range` move 0. */
int32_t hk_to_lds(Wave *w, const Op *op, HkData data, const uint64_t *at, uint64_t exec, uint64_t out_of_range);

/* The ISA's names for the data that loads and stores move. */
/* clang-format off */
#define HK_LOADS(X)                                                                                                    \
    X(ubyte, HK_U8) X(sbyte, HK_I8) X(ushort, HK_U16) X(sshort, HK_I16)                                                \
    X(ubyte_d16, HK_U8_LO) X(sbyte_d16, HK_I8_LO) X(short_d16, HK_U16_LO)                                              \
    X(ubyte_d16_hi, HK_U8_HI) X(sbyte_d16_hi, HK_I8_HI) X(short_d16_hi, HK_U16_HI)                                     \
    X(dword, HK_B32) X(dwordx2, HK_B64) X(dwordx3, HK_B96) X(dwordx4, HK_B128)
#define HK_STORES(X)                                                                                                   \
    X(byte, HK_B8) X(short, HK_B16) X(byte_d16_hi, HK_B8_FROM_HI) X(short_d16_hi, HK_B16_FROM_HI)                      \
    X(dword, HK_B32) X(dwordx2, HK_B64) X(dwordx3, HK_B96) X(dwordx4, HK_B128)
/* clang-format on */

#endif
