/* Device memory that was never written: values loaded from it are undefined. */
#include "observe/sanitizer/state.h"

static const SanMemory *watched(San *s, uint64_t address) {
    const SanMemory *m = s->last_memory;
    if (address >= m->base && address < m->end) return m;
    uint64_t low = 0, high = s->memory_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->memories[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= s->memories[low - 1].end) return NULL;
    return s->last_memory = &s->memories[low - 1];
}

/* Uninitialised bytes of [address, address + bytes), at most 16; `set` marks them written. */
static uint32_t unwritten(San *s, uint64_t address, uint32_t bytes, int set) {
    const SanMemory *m = watched(s, address);
    if (m == NULL) return 0;
    if (address + bytes > m->end) bytes = (uint32_t)(m->end - address);
    uint64_t at = address - m->base;
    uint32_t bits = 0, mask = (1u << bytes) - 1;
    unsigned shift = at & 7;
    memcpy(&bits, m->bits + (at >> 3), 3);
    uint32_t missing = ~(bits >> shift) & mask;
    if (set && missing) {
        bits |= mask << shift;
        memcpy(m->bits + (at >> 3), &bits, 3);
    }
    return missing;
}

/* Mask of the dwords that contain a byte of the mask. */
static uint32_t words_of(uint32_t bytes) {
    uint32_t words = 0;
    for (uint32_t n = 0; n < 4; n++) words |= (uint32_t)((bytes >> 4 * n & 15) != 0) << n;
    return words;
}

void san_follow_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at, uint64_t *undefined) {
    San *s = sw->group->san;
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    HK_FOR_LANES(lane, lanes) {
        uint32_t missing = unwritten(s, at[lane], o->bytes, is_write);
        if (missing == 0 || (o->flags & SAN_STORE)) continue;
        if ((o->flags & SAN_ATOMIC) && !(o->flags & SAN_REPLACES)) {
            san_found(w, SAN_FOUND_UNDEFINED_STORE, &o->op, ~0ull, (int32_t)lane, at[lane], 1, 0, 0);
            continue;
        }
        uint32_t words = words_of(missing);
        for (uint32_t n = 0; n < 4; n++)
            if (words >> n & 1) undefined[n] |= 1ull << lane;
    }
}

void san_unwritten_scalars(SanWave *sw, const SanOp *o, uint64_t address) {
    San *s = sw->group->san;
    for (uint32_t n = 0; n < o->sdst_count[0]; n++) {
        if (unwritten(s, address + 4ull * n, 4, 0) == 0) continue;
        sw->scalar_undefined[o->sdst[0] + n] = ~0u;
        sw->scalar_origin[o->sdst[0] + n] = (uint32_t)o->op.pc;
    }
}
