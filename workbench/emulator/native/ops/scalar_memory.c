/* Scalar memory: loads, stores and atomics of SGPRs, by address and through buffer resources, and the clocks. */
#include "ops/buffer.h"
#include "run/waiting.h"

#include <time.h>

static int copy_dwords(Wave *w, const Op *op, uint64_t address, uint32_t dwords) {
    const uint32_t *source = hk_check(w, op, address, dwords * 4, 0, -1);
    if (source == NULL) return 0;
    memcpy(&w->s[op->sdst], source, dwords * 4);
    if (w->group->profile) {
        w->group->counters->scalar_bytes_read += dwords * 4;
        /* Not recorded as polled memory: scalar loads need not see later values. */
        if (w->group->watch != NULL) hk_watch_range(w, op->pc, address, dwords * 4, 0);
    }
    return 1;
}

static int64_t offset_of(const Wave *w, const Op *op) {
    uint32_t shift = op->flags >> HK_SCALE_SHIFT & HK_SCALE_MASK;
    return (int64_t)op->offset + (op->ssrc1 == HK_NO_REGISTER ? 0 : (int64_t)w->s[op->ssrc1] << shift);
}

/* sdst[0..imm[0]) = memory at the base pair ssrc0 + offset; the address is a multiple of 4. */
HK_EXPORT int32_t hk_s_load(Wave *w, const Op *op);
int32_t hk_s_load(Wave *w, const Op *op) {
    uint64_t address = (hk_s64(w, op->ssrc0) + (uint64_t)offset_of(w, op)) & ~3ull;
    return !copy_dwords(w, op, address, op->imm[0]);
}

/* sdst = a byte or two (imm[0]) at the base pair ssrc0 + offset, with their sign if imm[1]. */
static int32_t load_part(Wave *w, const Op *op, uint64_t address) {
    uint32_t size = op->imm[0];
    const void *source = hk_check(w, op, address, size, 0, -1);
    if (source == NULL) return 1;
    uint16_t value = 0;
    memcpy(&value, source, size);
    uint32_t sign = op->imm[1] ? 1u << (8 * size - 1) : 0;
    w->s[op->sdst] = (value ^ sign) - sign;
    if (w->group->profile) w->group->counters->scalar_bytes_read += size;
    return 0;
}

HK_EXPORT int32_t hk_s_load_part(Wave *w, const Op *op);
int32_t hk_s_load_part(Wave *w, const Op *op) {
    return load_part(w, op, (hk_s64(w, op->ssrc0) + (uint64_t)offset_of(w, op)) & ~(uint64_t)(op->imm[0] - 1));
}

/* Range that a buffer resource in four SGPRs covers. */
typedef struct Resource {
    uint64_t base, size;
} Resource;

static Resource resource(const Wave *w, const Op *op) {
    unsigned encoding = op->ssrc0;
    if (op->flags & HK_WIDE_RESOURCE) {
        const uint32_t *s = w->s + encoding;
        uint64_t step = s[3] >> 12 & 0x3fff, count = hk_wide_records(s);
        return (Resource){hk_wide_base(s), step ? step * count : count};
    }
    uint64_t stride = w->s[encoding + 1] >> 16 & 0x3fff;
    uint64_t records = w->s[encoding + 2];
    return (Resource){hk_s64(w, encoding) & 0xffffffffffffull, stride ? stride * records : records};
}

/* Number of dwords of an access that lie inside the resource. */
static uint32_t inside(Resource r, uint64_t offset, uint32_t dwords) {
    if (offset >= r.size) return 0;
    uint64_t room = (r.size - offset) / 4;
    return room < dwords ? (uint32_t)room : dwords;
}

/* Loads through the buffer resource in ssrc0..ssrc0+3: dwords beyond its range read as zero. */
HK_EXPORT int32_t hk_s_buffer_load(Wave *w, const Op *op);
int32_t hk_s_buffer_load(Wave *w, const Op *op) {
    Resource r = resource(w, op);
    uint64_t offset = (uint64_t)offset_of(w, op) & ~3ull;
    uint32_t dwords = op->imm[0], count = inside(r, offset, dwords);
    if (count && !copy_dwords(w, op, r.base + offset, count)) return 1;
    memset(&w->s[op->sdst + count], 0, (dwords - count) * 4);
    return 0;
}

/* The same of a byte or two as hk_s_load_part does: one beyond the range reads as zero. */
HK_EXPORT int32_t hk_s_buffer_load_part(Wave *w, const Op *op);
int32_t hk_s_buffer_load_part(Wave *w, const Op *op) {
    Resource r = resource(w, op);
    uint64_t offset = (uint64_t)offset_of(w, op) & ~(uint64_t)(op->imm[0] - 1);
    if (offset >= r.size || r.size - offset < op->imm[0]) {
        w->s[op->sdst] = 0;
        return 0;
    }
    return load_part(w, op, r.base + offset);
}

static int32_t store_dwords(Wave *w, const Op *op, uint64_t address, uint32_t dwords) {
    uint32_t *target = hk_check(w, op, address, dwords * 4, 1, -1);
    if (target == NULL) return 1;
    if (w->group->watch != NULL) hk_watch_range(w, op->pc, address, dwords * 4, 0);
    memcpy(target, &w->s[op->ssrc2], dwords * 4);
    return 0;
}

/* Stores ssrc2[0..imm[0]) at the base pair ssrc0 + offset. */
HK_EXPORT int32_t hk_s_store(Wave *w, const Op *op);
int32_t hk_s_store(Wave *w, const Op *op) {
    return store_dwords(w, op, (hk_s64(w, op->ssrc0) + (uint64_t)offset_of(w, op)) & ~3ull, op->imm[0]);
}

/* The same through a buffer resource: stores to dwords beyond its range are dropped. */
HK_EXPORT int32_t hk_s_buffer_store(Wave *w, const Op *op);
int32_t hk_s_buffer_store(Wave *w, const Op *op) {
    Resource r = resource(w, op);
    uint64_t offset = (uint64_t)offset_of(w, op) & ~3ull;
    uint32_t count = inside(r, offset, op->imm[0]);
    return count ? store_dwords(w, op, r.base + offset, count) : 0;
}

/* The new value of an atomic operation; operands and memory as 64-bit numbers of `bits` bits. */
static uint64_t combined(uint32_t operation, uint64_t old, uint64_t data, uint64_t compare, int bits) {
    int64_t a = (int64_t)(old << (64 - bits)) >> (64 - bits), b = (int64_t)(data << (64 - bits)) >> (64 - bits);
    switch (operation) {
    case 0:
        return data;
    case 1:
        return old == compare ? data : old;
    case 2:
        return old + data;
    case 3:
        return old - data;
    case 4:
        return b < a ? data : old;
    case 5:
        return data < old ? data : old;
    case 6:
        return b > a ? data : old;
    case 7:
        return data > old ? data : old;
    case 8:
        return old & data;
    case 9:
        return old | data;
    case 10:
        return old ^ data;
    case 11:
        return old >= data ? 0 : old + 1;
    default:
        return old == 0 || old > data ? data : old - 1;
    }
}

/* imm: operation (numbered as in memory_scalar.py), 64 bits wide, through a buffer resource, returns the old value. */
HK_EXPORT int32_t hk_s_atomic(Wave *w, const Op *op);
int32_t hk_s_atomic(Wave *w, const Op *op) {
    uint32_t wide = op->imm[1], size = wide ? 8 : 4;
    uint64_t address = (hk_s64(w, op->ssrc0) + (uint64_t)offset_of(w, op)) & ~3ull;
    if (op->imm[2]) {
        Resource r = resource(w, op);
        uint64_t offset = (uint64_t)offset_of(w, op) & ~3ull;
        if (inside(r, offset, size / 4) < size / 4) {
            if (op->imm[3]) memset(&w->s[op->ssrc2], 0, size);
            return 0;
        }
        address = r.base + offset;
    }
    if (address & (size - 1)) return hk_fault(w, op, HK_FAULT_ALIGNMENT, -1, address, size, 1);
    void *place = hk_check(w, op, address, size, 1, -1);
    if (place == NULL) return 1;
    if (w->group->watch != NULL) hk_watch_range(w, op->pc, address, size, op->imm[3] != 0);
    uint64_t data = wide ? hk_s64(w, op->ssrc2) : w->s[op->ssrc2];
    uint64_t compare = op->imm[0] != 1 ? 0 : wide ? hk_s64(w, op->ssrc2 + 2u) : w->s[op->ssrc2 + 1];
    uint64_t old;
    if (wide) {
        uint64_t *target = place;
        old = __atomic_load_n(target, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(target, &old, combined(op->imm[0], old, data, compare, 64), 1,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        }
    } else {
        uint32_t *target = place, seen = __atomic_load_n(target, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(target, &seen, (uint32_t)combined(op->imm[0], seen, data, compare, 32), 1,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        }
        old = seen;
    }
    if (op->imm[3]) memcpy(&w->s[op->ssrc2], &old, size);
    return 0;
}

static void store_clock(Wave *w, const Op *op, uint64_t ticks) {
    hk_watch_unknown(w);
    w->s[op->sdst] = (uint32_t)ticks;
    w->s[op->sdst + 1] = (uint32_t)(ticks >> 32);
}

/* Cycles of both clocks: the shader clock at about 2 GHz, and the constant clock at 100 MHz. */
#define CYCLES_OF_NANOSECOND 2
#define CYCLES_OF_CONSTANT_TICK 20

/* The host's time in cycles; a wave that has slept since its last reading sees at least the cycles of that sleep pass.
 */
static uint64_t cycles(Wave *w) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    const uint64_t host = nanoseconds * CYCLES_OF_NANOSECOND, awake = w->clock + w->slept;
    w->clock = host > awake ? host : awake;
    w->slept = 0;
    return w->clock;
}

/* The shader clock. */
HK_EXPORT int32_t hk_s_memtime(Wave *w, const Op *op);
int32_t hk_s_memtime(Wave *w, const Op *op) {
    store_clock(w, op, cycles(w));
    return 0;
}

/* A half of that clock, the upper one if imm[0]; code reads that before and after the lower one. */
HK_EXPORT int32_t hk_shader_cycles(Wave *w, const Op *op);
int32_t hk_shader_cycles(Wave *w, const Op *op) {
    uint64_t now = cycles(w);
    w->s[op->sdst] = (uint32_t)(now >> (op->imm[0] == 1 ? 32 : 0));
    if (op->imm[0] == 2) w->s[op->sdst + 1] = (uint32_t)(now >> 32);
    return 0;
}

/* The constant clock of 100 MHz. */
HK_EXPORT int32_t hk_s_memrealtime(Wave *w, const Op *op);
int32_t hk_s_memrealtime(Wave *w, const Op *op) {
    store_clock(w, op, cycles(w) / CYCLES_OF_CONSTANT_TICK);
    return 0;
}
