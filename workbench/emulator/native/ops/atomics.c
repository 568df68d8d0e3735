/* Atomic read-modify-write of global memory (GLOBAL_ATOMIC_, FLAT_ATOMIC_, BUFFER_ATOMIC_) and LDS (DS_).
 *
 * Lanes act one after the other, the lowest first. Global memory is shared with other work-groups on other
 * threads, so each lane's update is one C11 compare-and-exchange loop; the LDS belongs to one thread.
 *
 * Op fields: src0 the address rows, src1 the data rows, src2 the second data row of a DS compare, dst the row for the
 * old value (none: nothing is returned), imm[1] the operation; the rest as in flat.c, buffer.c and lds.c.
 *
 * Floating point: to nearest even. Memory keeps denormals (the guides' tables say that ADD_F32 flushes them
 * on input, LLVM's target description that it does not); LDS follows MODE. NaNs come out quiet.
 */
#include <math.h>

#include "ops/bits.h"
#include "ops/lds.h"
#include "ops/buffer.h"
#include "run/waiting.h"

#define HK_FLUSH_INPUT 1u
#define HK_FLUSH_OUTPUT 2u

HK_INLINE uint32_t hk_flush32(uint32_t bits, int flush) {
    return flush && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

static uint32_t hk_add32(uint32_t a, uint32_t b, uint32_t flush) {
    if ((a & 0x7fffffff) > 0x7f800000) return a | 0x00400000;
    if ((b & 0x7fffffff) > 0x7f800000) return b | 0x00400000;
    uint32_t sum = hk_float_bits(hk_float(hk_flush32(a, flush & HK_FLUSH_INPUT)) +
                                 hk_float(hk_flush32(b, flush & HK_FLUSH_INPUT)));
    if ((sum & 0x7fffffff) > 0x7f800000) return 0x7fc00000;
    return hk_flush32(sum, flush & HK_FLUSH_OUTPUT);
}

static uint64_t hk_add64(uint64_t a, uint64_t b) {
    const uint64_t infinity = 0x7ff0000000000000, sign = 0x8000000000000000;
    if ((a & ~sign) > infinity) return a | 0x0008000000000000;
    if ((b & ~sign) > infinity) return b | 0x0008000000000000;
    uint64_t sum = hk_double_bits(hk_double(a) + hk_double(b));
    return (sum & ~sign) > infinity ? 0x7ff8000000000000 : sum;
}

/* -0 orders below +0; a number wins over a quiet NaN; a signalling NaN is returned quiet. */
static uint32_t hk_extreme32(uint32_t a, uint32_t b, int max, uint32_t flush) {
    int nan_a = (a & 0x7fffffff) > 0x7f800000, nan_b = (b & 0x7fffffff) > 0x7f800000;
    if (nan_a && !(a & 0x00400000)) return a | 0x00400000;
    if (nan_b && !(b & 0x00400000)) return b | 0x00400000;
    if (nan_a) return b;
    if (nan_b) return a;
    float fa = hk_float(hk_flush32(a, flush & HK_FLUSH_INPUT)), fb = hk_float(hk_flush32(b, flush & HK_FLUSH_INPUT));
    int a_less = fa < fb || (fa == fb && (hk_float_bits(fa) >> 31) > (hk_float_bits(fb) >> 31));
    return a_less == max ? b : a;
}

static uint32_t hk_quiet32(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000 ? x | 0x00400000 : x; }

static uint64_t hk_quiet64(uint64_t x) {
    return (x & 0x7fffffffffffffff) > 0x7ff0000000000000 ? x | 0x0008000000000000 : x;
}

static uint64_t hk_extreme64(uint64_t a, uint64_t b, int max) {
    const uint64_t infinity = 0x7ff0000000000000, magnitude = 0x7fffffffffffffff, quiet = 0x0008000000000000;
    int nan_a = (a & magnitude) > infinity, nan_b = (b & magnitude) > infinity;
    if (nan_a && !(a & quiet)) return a | quiet;
    if (nan_b && !(b & quiet)) return b | quiet;
    if (nan_a) return b;
    if (nan_b) return a;
    double fa = hk_double(a), fb = hk_double(b);
    int a_less = fa < fb || (fa == fb && (a >> 63) > (b >> 63));
    return a_less == max ? b : a;
}

static uint32_t hk_flush16(uint32_t half, uint32_t flush) {
    return flush && (half & 0x7c00) == 0 ? half & 0x8000 : half;
}

/* The fp32 sum of two halves or bfloats, rounded again, is the correctly rounded sum: 24 bits >= 2 * 11 + 2. */
static uint32_t hk_add_half(uint32_t a, uint32_t b, uint32_t flush) {
    a = hk_flush16(a, flush & HK_FLUSH_INPUT);
    b = hk_flush16(b, flush & HK_FLUSH_INPUT);
    if ((a & 0x7fff) > 0x7c00) return a | 0x200;
    if ((b & 0x7fff) > 0x7c00) return b | 0x200;
    return hk_flush16(hk_to_half(hk_from_half(a) + hk_from_half(b)), flush & HK_FLUSH_OUTPUT);
}

static uint32_t hk_add_bfloat(uint32_t a, uint32_t b, uint32_t flush) {
    uint32_t sum = hk_add32(a << 16, b << 16, flush);
    if ((sum & 0x7fffffff) > 0x7f800000) return sum >> 16 | 0x40;
    return hk_flush32((sum + 0x7fff + (sum >> 16 & 1)) & 0xffff0000u, flush & HK_FLUSH_OUTPUT) >> 16;
}

/* Result of an integer operation of either width; `second` is the compare value, or the data of a masked operation. */
#define HK_INTEGER_UPDATES(Signed)                                                                                     \
    case HK_SWAP:                                                                                                      \
        return data;                                                                                                   \
    case HK_CMPSWAP:                                                                                                   \
        return old == second ? data : old;                                                                             \
    case HK_ADD:                                                                                                       \
        return old + data;                                                                                             \
    case HK_SUB:                                                                                                       \
        return old - data;                                                                                             \
    case HK_RSUB:                                                                                                      \
        return data - old;                                                                                             \
    case HK_SMIN:                                                                                                      \
        return (Signed)old < (Signed)data ? old : data;                                                                \
    case HK_UMIN:                                                                                                      \
        return old < data ? old : data;                                                                                \
    case HK_SMAX:                                                                                                      \
        return (Signed)old > (Signed)data ? old : data;                                                                \
    case HK_UMAX:                                                                                                      \
        return old > data ? old : data;                                                                                \
    case HK_AND:                                                                                                       \
        return old & data;                                                                                             \
    case HK_OR:                                                                                                        \
        return old | data;                                                                                             \
    case HK_XOR:                                                                                                       \
        return old ^ data;                                                                                             \
    case HK_INC:                                                                                                       \
        return old >= data ? 0 : old + 1;                                                                              \
    case HK_DEC:                                                                                                       \
        return old == 0 || old > data ? data : old - 1;                                                                \
    case HK_MSKOR:                                                                                                     \
        return (old & ~data) | second;

/* The new value of memory. */
static uint32_t hk_update32(HkAtomic kind, uint32_t old, uint32_t data, uint32_t second, uint32_t flush) {
    switch (kind) {
        HK_INTEGER_UPDATES(int32_t)
    case HK_WRAP:
        return old >= data ? old - data : old + second;
    case HK_CMPSWAP_FLOAT: {
        float a = hk_float(hk_flush32(old, flush & HK_FLUSH_INPUT)),
              b = hk_float(hk_flush32(second, flush & HK_FLUSH_INPUT));
        return a == b ? hk_flush32(data, flush & HK_FLUSH_INPUT) : old;
    }
    case HK_ADD_FLOAT:
        return hk_add32(old, data, flush);
    case HK_MIN_FLOAT:
        return hk_extreme32(old, data, 0, flush);
    case HK_MAX_FLOAT:
        return hk_extreme32(old, data, 1, flush);
    case HK_MIN_NUMBER:
    case HK_MAX_NUMBER:
        /* Signaling NaNs are quiet ones here. */
        return hk_extreme32(hk_quiet32(old), hk_quiet32(data), kind == HK_MAX_NUMBER, flush);
    case HK_COND_SUB:
        return old >= data ? old - data : old;
    case HK_SUB_CLAMP:
        return old >= data ? old - data : 0;
    case HK_PK_ADD_F16:
        return hk_add_half(old & 0xffff, data & 0xffff, flush) | hk_add_half(old >> 16, data >> 16, flush) << 16;
    case HK_PK_ADD_BF16:
        return hk_add_bfloat(old & 0xffff, data & 0xffff, flush) | hk_add_bfloat(old >> 16, data >> 16, flush) << 16;
    case HK_CONDXCHG32:
        break;
    }
    return old;
}

static uint64_t hk_update64(HkAtomic kind, uint64_t old, uint64_t data, uint64_t second) {
    switch (kind) {
        HK_INTEGER_UPDATES(int64_t)
    case HK_CMPSWAP_FLOAT:
        return hk_double(old) == hk_double(second) ? data : old;
    case HK_ADD_FLOAT:
        return hk_add64(old, data);
    case HK_MIN_FLOAT:
        return hk_extreme64(old, data, 0);
    case HK_MAX_FLOAT:
        return hk_extreme64(old, data, 1);
    case HK_MIN_NUMBER:
    case HK_MAX_NUMBER:
        return hk_extreme64(hk_quiet64(old), hk_quiet64(data), kind == HK_MAX_NUMBER);
    case HK_CONDXCHG32: {
        /* Each half is exchanged when bit 31 of its data is set. */
        uint32_t low = (uint32_t)data, high = (uint32_t)(data >> 32);
        uint32_t new_low = low >> 31 ? low & 0x7fffffff : (uint32_t)old;
        uint32_t new_high = high >> 31 ? high & 0x7fffffff : (uint32_t)(old >> 32);
        return new_low | (uint64_t)new_high << 32;
    }
    default:
        return old;
    }
}

HK_INLINE uint64_t hk_pair(const uint32_t *rows, unsigned lane) {
    return rows[lane] | (uint64_t)rows[HK_LANES + lane] << 32;
}

/* Data of one lane: operand, and compare value (after the operand in memory instructions, before it in DS
 * instructions). */
typedef struct HkAtomicData {
    const uint32_t *data, *second;
} HkAtomicData;

/* True if an atomic leaves the bits of `past` unchanged, like those that compilers emit for a half or a byte. */
static int hk_leaves(HkAtomic kind, uint32_t data, uint32_t second, uint32_t past) {
    switch (kind) {
    case HK_CMPSWAP:
        return ((data ^ second) & past) == 0;
    case HK_OR:
    case HK_XOR:
        return (data & past) == 0;
    case HK_AND:
        return (~data & past) == 0;
    case HK_PK_ADD_F16:
    case HK_PK_ADD_BF16:
        return past == 0xffff0000 && (data & 0x7fff0000) == 0;
    default:
        return 0;
    }
}

/* Bits of a lane's dword past the end of its memory if the atomic leaves them unchanged; 0 if there are none, or if it
 * changes them.
 */
static uint32_t hk_bits_left(const Wave *w, HkAtomic kind, int wide, HkAtomicData from, uint64_t address,
                             unsigned lane) {
    uint32_t past = wide ? 0 : hk_bits_past_end(w, address);
    return past && hk_leaves(kind, from.data[lane], from.second ? from.second[lane] : 0, past) ? past : 0;
}

/* One lane's update of memory that other threads may update too; the bits in `left` do not change. */
static void hk_update_memory(HkAtomic kind, int wide, uint8_t *p, HkAtomicData from, uint32_t *returned, unsigned lane,
                             uint32_t left) {
    if (wide) {
        uint64_t data = hk_pair(from.data, lane), second = from.second ? hk_pair(from.second, lane) : 0;
        uint64_t *place = (uint64_t *)p, old = __atomic_load_n(place, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(place, &old, hk_update64(kind, old, data, second), 0, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED)) {
        }
        if (returned) {
            returned[lane] = (uint32_t)old;
            returned[HK_LANES + lane] = (uint32_t)(old >> 32);
        }
    } else {
        uint32_t data = from.data[lane], second = from.second ? from.second[lane] : 0;
        uint32_t *place = (uint32_t *)p, old = __atomic_load_n(place, __ATOMIC_RELAXED), new;
        do {
            new = (hk_update32(kind, old, data, second, 0) & ~left) | (old & left);
        } while (!__atomic_compare_exchange_n(place, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
        if (returned) returned[lane] = old;
    }
}

/* One lane's update of memory that only this thread accesses. */
static void hk_update_own(HkAtomic kind, int wide, uint8_t *p, HkAtomicData from, uint32_t *returned, unsigned lane,
                          uint32_t flush) {
    if (wide) {
        uint64_t old = hk_get64(p);
        hk_put64(p, hk_update64(kind, old, hk_pair(from.data, lane), from.second ? hk_pair(from.second, lane) : 0));
        if (returned) {
            returned[lane] = (uint32_t)old;
            returned[HK_LANES + lane] = (uint32_t)(old >> 32);
        }
    } else {
        uint32_t old = hk_get32(p);
        hk_put32(p, hk_update32(kind, old, from.data[lane], from.second ? from.second[lane] : 0, flush));
        if (returned) returned[lane] = old;
    }
}

HK_INLINE HkAtomicData hk_memory_data(const Wave *w, const Op *op, HkAtomic kind, int wide) {
    const uint32_t *rows = hk_row(w, op->src1);
    int compares = kind == HK_CMPSWAP || kind == HK_CMPSWAP_FLOAT;
    return (HkAtomicData){rows, compares ? rows + (wide ? 2 : 1) * HK_LANES : NULL};
}

/* The data rows may also be the result rows, so old values are written only after all lanes are done. */
HK_INLINE void hk_put_returned(Wave *w, const Op *op, const uint32_t *returned, int wide, uint64_t exec) {
    if (op->dst == HK_NO_REGISTER) return;
    for (int r = 0; r < 1 + wide; r++) hk_row_blend(hk_row(w, op->dst) + r * HK_LANES, returned + r * HK_LANES, exec);
}

static int32_t hk_check_aligned(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes) {
    HK_FOR_LANES(lane, a->exec) {
        uint64_t address = hk_address(a, lane);
        if (address & (bytes - 1)) return hk_fault(w, op, HK_FAULT_ALIGNMENT, (int32_t)lane, address, bytes, 1);
    }
    return 0;
}

/* Records the packet that a wave has pushed on the hostcall stack; the driver answers it at the end of the wave's turn.
 * A wave submits one packet at a time. */
static void hk_note_packet(Wave *w, const HkAddresses *a, HkAtomicData from, const uint32_t *returned) {
    HK_FOR_LANES(lane, a->exec) {
        if (hk_address(a, lane) != w->group->machine->hostcalls + offsetof(HostcallBuffer, ready_stack)) continue;
        if (hk_pair(returned, lane) == hk_pair(from.second, lane)) w->packet = hk_pair(from.data, lane);
    }
}

/* Updates the lanes of `a`, all in global memory. */
static int32_t hk_atomic_lanes(Wave *w, const Op *op, const HkAddresses *a, uint32_t *returned) {
    HkAtomic kind = (HkAtomic)(op->imm[1] & 0xff);
    int wide = (op->imm[1] & HK_ATOMIC_64) != 0;
    uint32_t bytes = wide ? 8 : 4;
    if (a->exec == 0) return 0;
    HkAtomicData from = hk_memory_data(w, op, kind, wide);
    uint32_t left[HK_LANES] = {0};
    if (__builtin_expect(!hk_allowed(w, a->lo, a->hi + bytes, 1), 0)) {
        HK_FOR_LANES(lane, a->exec) {
            uint64_t address = hk_address(a, lane);
            left[lane] = hk_bits_left(w, kind, wide, from, address, lane);
            if (left[lane] == 0 && hk_check(w, op, address, bytes, 1, (int32_t)lane) == NULL) return 1;
        }
    }
    if (hk_check_aligned(w, op, a, bytes)) return 1;
    if (w->group->profile) {
        hk_count_global(w, op, a, bytes, 1);
        if (w->group->watch != NULL && op->dst != HK_NO_REGISTER)
            HK_FOR_LANES(lane, a->exec) hk_watch_range(w, op->pc, hk_address(a, lane), bytes, 1);
        w->group->counters->global_atomics += (uint64_t)__builtin_popcountll(a->exec);
    }
    HK_FOR_LANES(lane, a->exec) {
        hk_update_memory(kind, wide, (uint8_t *)(uintptr_t)hk_address(a, lane), from, returned, lane, left[lane]);
    }
    if (kind == HK_CMPSWAP && wide && w->group->machine->hostcalls != 0) hk_note_packet(w, a, from, returned);
    return 0;
}

HK_EXPORT int32_t hk_global_atomic(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkAddresses a;
    uint32_t returned[2 * HK_LANES] __attribute__((aligned(64)));
    hk_global_addresses(w, op, exec, &a);
    if (hk_atomic_lanes(w, op, &a, returned)) return 1;
    hk_put_returned(w, op, returned, (op->imm[1] & HK_ATOMIC_64) != 0, exec);
    return 0;
}

HK_EXPORT int32_t hk_flat_atomic(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkAtomic kind = (HkAtomic)(op->imm[1] & 0xff);
    int wide = (op->imm[1] & HK_ATOMIC_64) != 0;
    uint32_t bytes = wide ? 8 : 4;
    HkAddresses a;
    uint32_t returned[2 * HK_LANES] __attribute__((aligned(64)));
    hk_global_addresses(w, op, exec, &a);
    if (a.hi < HK_SHARED_APERTURE) {
        if (hk_atomic_lanes(w, op, &a, returned)) return 1;
    } else {
        hk_watch_unknown(w);
        uint8_t owners[HK_LANES];
        hk_locate_scratch(&a, exec, owners);
        HkAtomicData from = hk_memory_data(w, op, kind, wide);
        uint32_t left[HK_LANES] = {0};
        if (hk_check_aligned(w, op, &a, bytes)) return 1;
        HK_FOR_LANES(lane, exec) {
            uint64_t window = a.at[lane] & HK_APERTURE_MASK, offset = a.at[lane] & ~HK_APERTURE_MASK;
            if (window == HK_SHARED_APERTURE) {
                if (!hk_check_lds(w, op, offset, bytes, 1, (int32_t)lane)) return 1;
                returned[lane] = returned[HK_LANES + lane] = 0;
            } else if (window == HK_PRIVATE_APERTURE) {
                if (!hk_check_scratch(w, op, offset, bytes, 1, (int32_t)lane)) return 1;
            } else {
                left[lane] = hk_bits_left(w, kind, wide, from, a.at[lane], lane);
                if (left[lane] == 0 && hk_check(w, op, a.at[lane], bytes, 1, (int32_t)lane) == NULL) return 1;
            }
        }
        HK_FOR_LANES(lane, exec) {
            uint64_t window = a.at[lane] & HK_APERTURE_MASK, offset = a.at[lane] & ~HK_APERTURE_MASK;
            if (window == HK_SHARED_APERTURE) {
                if (hk_has_lds(w, offset, bytes)) hk_update_own(kind, wide, w->lds + offset, from, returned, lane, 0);
            } else if (window == HK_PRIVATE_APERTURE) {
                uint8_t copy[8];
                for (uint32_t b = 0; b < bytes; b++) copy[b] = *hk_scratch_byte(w, (uint32_t)offset + b, owners[lane]);
                hk_update_own(kind, wide, copy, from, returned, lane, 0);
                for (uint32_t b = 0; b < bytes; b++) *hk_scratch_byte(w, (uint32_t)offset + b, owners[lane]) = copy[b];
            } else {
                hk_update_memory(kind, wide, (uint8_t *)(uintptr_t)a.at[lane], from, returned, lane, left[lane]);
            }
        }
    }
    hk_put_returned(w, op, returned, wide, exec);
    return 0;
}

/* A lane out of range changes nothing and gets 0. */
HK_EXPORT int32_t hk_buffer_atomic(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    int wide = (op->imm[1] & HK_ATOMIC_64) != 0;
    HkResource r = hk_resource(w, op);
    HkBuffer b;
    uint32_t returned[2 * HK_LANES] __attribute__((aligned(64))) = {0};
    hk_buffer_addresses(w, op, &r, exec, 1, wide ? 8 : 4, &b);
    if (hk_atomic_lanes(w, op, &b.address, returned)) return 1;
    hk_put_returned(w, op, returned, wide, exec);
    return 0;
}

/* MODE's denormal bits of the data: fp32 has bits 5:4, fp64 and fp16 bits 7:6; a set bit allows denormals. */
HK_INLINE uint32_t hk_mode_flush(const Wave *w, HkAtomic kind) {
    uint32_t allow = w->mode >> (kind == HK_PK_ADD_F16 || kind == HK_PK_ADD_BF16 ? 6 : 4) & 3;
    return ~allow & 3;
}

HK_EXPORT int32_t hk_ds_atomic(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkAtomic kind = (HkAtomic)(op->imm[1] & 0xff);
    int wide = (op->imm[1] & HK_ATOMIC_64) != 0;
    uint32_t bytes = wide ? 8 : 4;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64))), at = (uint32_t)op->offset;
    const uint32_t *row = hk_lds_wrap(hk_row(w, op->src0), &at, exec, wrapped);
    HK_FOR_LANES(lane, exec) {
        uint64_t offset = (uint64_t)row[lane] + at;
        if (offset & (bytes - 1)) return hk_fault(w, op, HK_FAULT_ALIGNMENT, (int32_t)lane, offset, bytes, 1);
    }
    HkLdsLanes lanes = hk_check_lds_row(w, op, row, at, exec, bytes, HK_LDS_WRITE);
    if (lanes.fault) return 1;
    HkAtomicData from = {hk_row(w, op->src1), op->src2 == HK_NO_REGISTER ? NULL : hk_row(w, op->src2)};
    uint32_t returned[2 * HK_LANES] __attribute__((aligned(64)));
    uint32_t flush = hk_mode_flush(w, kind);
    if (__builtin_expect(lanes.exec != exec, 0)) hk_load_nothing(wide ? HK_B64 : HK_B32, returned, exec & ~lanes.exec);
    HK_FOR_LANES(lane, lanes.exec) { hk_update_own(kind, wide, w->lds + row[lane] + at, from, returned, lane, flush); }
    hk_put_returned(w, op, returned, wide, exec);
    return 0;
}

/* DS_WRXCHG2: two exchanges per lane, at the two offsets. */
HK_EXPORT int32_t hk_ds_wrxchg2(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    int wide = (op->imm[1] & HK_ATOMIC_64) != 0;
    uint32_t bytes = wide ? 8 : 4;
    uint32_t returned[4 * HK_LANES] __attribute__((aligned(64))), wrapped[2][HK_LANES] __attribute__((aligned(64)));
    uint32_t at[2] = {(uint32_t)op->offset, op->imm[0]};
    const uint32_t *row[2];
    HkLdsLanes lanes[2];
    for (int i = 0; i < 2; i++) {
        row[i] = hk_lds_wrap(hk_row(w, op->src0), &at[i], exec, wrapped[i]);
        lanes[i] = hk_check_lds_row(w, op, row[i], at[i], exec, bytes, HK_LDS_WRITE);
        if (lanes[i].fault) return 1;
        hk_load_nothing(wide ? HK_B64 : HK_B32, returned + i * (1 + wide) * HK_LANES, exec & ~lanes[i].exec);
    }
    HK_FOR_LANES(lane, exec) {
        for (int i = 0; i < 2; i++) {
            HkAtomicData data = {hk_row(w, i ? op->src2 : op->src1), NULL};
            if (lanes[i].exec >> lane & 1)
                hk_update_own(HK_SWAP, wide, w->lds + row[i][lane] + at[i], data, returned + i * (1 + wide) * HK_LANES,
                              lane, 0);
        }
    }
    for (int r = 0; r < 2 * (1 + wide); r++)
        hk_row_blend(hk_row(w, op->dst) + r * HK_LANES, returned + r * HK_LANES, exec);
    return 0;
}

/* DS_APPEND and DS_CONSUME: add or subtract the number of active lanes at M0[31:16] + offset; every active lane gets
 * the old count. */
HK_EXPORT int32_t hk_ds_append(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint64_t offset = (uint64_t)(w->s[HK_M0] >> 16) + (uint32_t)op->offset;
    if (!hk_check_lds(w, op, offset, 4, 1, (int32_t)hk_first_lane(exec))) return 1;
    int is_there = hk_has_lds(w, offset, 4);
    uint32_t old = is_there ? hk_get32(w->lds + offset) : 0, count = (uint32_t)__builtin_popcountll(exec);
    if (is_there) hk_put32(w->lds + offset, op->flags ? old - count : old + count);
    uint32_t all[HK_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < HK_LANES; l++) all[l] = old;
    hk_row_blend(hk_row(w, op->dst), all, exec);
    return 0;
}
