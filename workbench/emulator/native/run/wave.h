/* State of a running wave: helpers of native operations and of the driver for the structures of abi.h. */
#ifndef HK_WAVE_H
#define HK_WAVE_H

#include "abi.h"

#include <string.h>

/* Lanes of a wave: the library is built once for each wave size (native/__init__.py). */
#ifndef HK_LANES
#error "compile with -DHK_LANES=32 or -DHK_LANES=64"
#endif
#define HK_WAVES (HK_MAX_ITEMS / HK_LANES)      /* most waves of a work-group */
#define HK_MASK_DWORDS (HK_LANES / 32)          /* scalar registers of a lane mask */
#define HK_ROW_BYTES ((size_t)HK_LANES * 4)     /* bytes of a register row, and of a dword of every lane's scratch */
#define HK_ALL_LANES (~0ull >> (64 - HK_LANES)) /* mask of all lanes */

_Static_assert(HK_WAVES <= HK_MAX_WAVES, "records of a work-group have room for all of its waves");
_Static_assert(sizeof(Wave) % 64 == 0, "waves lie one after another, each at a cache line");

#define HK_EXPORT __attribute__((visibility("default")))

/* A lane mask in HK_MASK_DWORDS scalar registers. */
static inline uint64_t hk_mask(const Wave *w, unsigned encoding) {
    uint64_t mask = w->s[encoding];
    if (HK_MASK_DWORDS > 1) mask |= (uint64_t)w->s[encoding + 1] << 32;
    return mask;
}

static inline uint64_t hk_exec(const Wave *w) { return hk_mask(w, HK_EXEC); }

static inline void hk_set_exec(Wave *w, uint64_t lanes) {
    w->s[HK_EXEC] = (uint32_t)lanes;
    if (HK_MASK_DWORDS > 1) w->s[HK_EXEC + 1] = (uint32_t)(lanes >> 32);
}

static inline uint64_t hk_s64(const Wave *w, unsigned encoding) {
    return (uint64_t)w->s[encoding] | (uint64_t)w->s[encoding + 1] << 32;
}

static inline uint32_t *hk_row(const Wave *w, unsigned row) { return w->v + (size_t)row * HK_LANES; }

/* Records a fault of `op`; returns the nonzero value that the operation must return. */
__attribute__((cold, noinline, unused)) static int32_t hk_fault(Wave *w, const Op *op, int32_t kind, int32_t lane,
                                                                uint64_t address, uint32_t size, int is_write) {
    w->pc = op->pc;
    w->fault.kind = kind;
    w->fault.lane = lane;
    w->fault.address = address;
    w->fault.size = size;
    w->fault.is_write = is_write != 0;
    return 1;
}

/* The last allocation with base <= `address`, or NULL. */
static inline const Allocation *hk_allocation_before(const Machine *m, uint64_t address) {
    uint64_t low = 0, high = m->allocation_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (m->allocations[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &m->allocations[low - 1];
}

/* The allocation that contains the byte at `address`, or NULL. */
static inline const Allocation *hk_find_allocation(const Machine *m, uint64_t address) {
    const Allocation *a = hk_allocation_before(m, address);
    return a != NULL && address < a->end ? a : NULL;
}

/* Bytes that PyTorch's allocator on a GPU gives for a request of `bytes`. */
static inline uint64_t hk_block_bytes(uint64_t bytes) {
    return (bytes + HK_STORAGE_BLOCK - 1) & ~(HK_STORAGE_BLOCK - 1ull);
}

/* True if an access that begins in or after an allocation and ends at `hi` ends in its padding. */
static inline int hk_ends_past(const Allocation *a, uint64_t hi, int is_write) {
    if (!(a->flags & HK_ALLOCATION_ROUNDED) || hi <= a->end) return 0;
    return hi <= (is_write ? a->base + hk_block_bytes(a->end - a->base) : a->read_end);
}

/* Records such an access. */
static inline void hk_note_past(HkPast *past, const Allocation *a, uint64_t hi, int is_write) {
    if (past->is_write > (uint64_t)is_write || (past->is_write == (uint64_t)is_write && past->end >= hi)) return;
    *past = (HkPast){a->base, hi, (uint64_t)is_write};
}

__attribute__((noinline, unused)) static int hk_find_range(Wave *w, uint64_t lo, uint64_t hi, uint64_t need) {
    const Allocation *a = hk_allocation_before(w->group->machine, lo);
    if (a == NULL || hi < lo) return 0;
    if (hi > a->end) {
        int is_write = need == HK_ALLOCATION_WRITE;
        if (hk_ends_past(a, hi, is_write)) {
            hk_note_past(w->group->past, a, hi, is_write);
            return 1;
        }
        uint64_t end = w->reads_dwords ? (a->end + 3) & ~3ull : a->read_end;
        return need == HK_ALLOCATION_READ && hi <= end && lo < end;
    }
    w->hit_base = a->base;
    w->hit_end = a->end;
    w->hit_flags = a->flags;
    return (a->flags & need) == need;
}

/* True if a kernel may access every byte of [lo, hi): one allocation contains them and permits the access. */
static inline int hk_allowed(Wave *w, uint64_t lo, uint64_t hi, int is_write) {
    uint64_t need = is_write ? HK_ALLOCATION_WRITE : HK_ALLOCATION_READ;
    if (__builtin_expect(lo >= w->hit_base && hi <= w->hit_end && lo <= hi && (w->hit_flags & need), 1)) return 1;
    return hk_find_range(w, lo, hi, need);
}

/* Mask of the bits of a dword of memory past the end of its allocation: 0 if there are none, or if no byte may be
 * written. Memory and atomics work in dwords, even an atomic on a half or a byte at the end. */
__attribute__((unused)) static uint32_t hk_bits_past_end(const Wave *w, uint64_t address) {
    const Allocation *a = address & 3 ? NULL : hk_find_allocation(w->group->machine, address);
    if (a == NULL || !(a->flags & HK_ALLOCATION_WRITE) || a->end - address >= 4) return 0;
    return ~0u << 8 * (a->end - address);
}

/* Pointer to [address, address + size) of global memory for one lane; NULL after recording a fault. */
static inline void *hk_check(Wave *w, const Op *op, uint64_t address, uint32_t size, int is_write, int32_t lane) {
    if (__builtin_expect(hk_allowed(w, address, address + size, is_write), 1)) return (void *)(uintptr_t)address;
    const Allocation *a = hk_find_allocation(w->group->machine, address);
    int read_only = is_write && a != NULL && address + size <= a->end && !(a->flags & HK_ALLOCATION_WRITE);
    hk_fault(w, op, read_only ? HK_FAULT_READ_ONLY : HK_FAULT_ADDRESS, lane, address, size, is_write);
    return NULL;
}

/* True if LDS exists at an offset; elsewhere hardware reads 0 and drops writes. A lane's access is inside or outside as
 * a whole: LDS is allocated in steps, and no aligned access crosses the end of a step. */
static inline int hk_has_lds(const Wave *w, uint64_t offset, uint32_t size) {
    return offset + size <= w->group->lds_end;
}

/* Prepares [low, high) of LDS for an access: what no access has reached is bare, that is, not poisoned yet. If
 * `is_covered` the access writes all of it. Returns nonzero if the range is in the kernel's allocation. */
__attribute__((cold)) int hk_lds_reach(Wave *w, uint64_t low, uint64_t high, int is_covered);

/* Reports an access to LDS beyond the kernel's allocation; returns 0 if it is a fault. */
__attribute__((cold)) int hk_lds_overrun(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write,
                                         int32_t lane);

/* As hk_check, for LDS and scratch offsets; return 0 after recording a fault. */
static inline int hk_check_lds(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    return __builtin_expect(offset + size <= w->lds_size, 1) || hk_lds_reach(w, offset, offset + size, 0) ||
           hk_lds_overrun(w, op, offset, size, is_write, lane);
}

static inline int hk_check_scratch(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    if (__builtin_expect(offset + size <= w->scratch_size && offset + size >= offset, 1)) {
        if (is_write && offset < w->scratch_low) w->scratch_low = (uint32_t)offset;
        if (is_write && offset + size > w->scratch_high) w->scratch_high = (uint32_t)(offset + size);
        return 1;
    }
    hk_fault(w, op, HK_FAULT_SCRATCH, lane, offset, size, is_write);
    return 0;
}

/* Byte `offset` of a lane's scratch; a dword's bytes are contiguous, and the lane's next dword is a row further. */
static inline uint8_t *hk_scratch_byte(const Wave *w, uint32_t offset, unsigned lane) {
    return w->scratch + (offset >> 2) * HK_ROW_BYTES + (size_t)lane * 4 + (offset & 3);
}

#endif
