/* Record of the memory that a work-group touches, and detection of repeated states; see waiting.h. */
#include "run/waiting.h"

#include <stdlib.h>

#define MOST_ROUNDS 16      /* rounds of a window without a result */
#define MOST_GROWN_ROUNDS 6 /* rounds that touch new memory: a loop's first pass through its loads, one per round */
#define COUNTING_ROWS 2     /* registers that may differ between rounds of a wave that counts its polls */
/* Blocks after which a work-group that reads only LDS is considered as waiting. Before that it is cheaper to continue
 * than to examine its whole state. */
#define LATE 65536

static int is_shared(uint64_t address) { return (address & HK_APERTURE_MASK) == HK_SHARED_APERTURE; }

void hk_watch_range(Wave *w, uint64_t pc, uint64_t address, uint32_t bytes, int is_read) {
    HkWatch *h = w->group->watch;
    if (is_read) {
        if (is_shared(address))
            h->ds_reads = 1;
        else
            h->reads = 1;
    }
    if (h->full) return;
    /* Lanes access the ranges in the same order each time. */
    for (uint32_t n = 0, i = h->newest; n < h->count; n++, i++) {
        if (i >= h->count) i = 0;
        HkWatched *r = &h->ranges[i];
        if (address < r->address || address + bytes > r->address + r->bytes) continue;
        h->newest = i;
        if (is_read && !r->is_read) {
            r->is_read = 1;
            r->pc = pc;
            r->wave = (uint16_t)w->index;
        }
        return;
    }
    h->grown = 1;
    h->bytes += bytes;
    if (h->bytes > HK_WATCHED_BYTES) {
        h->full = 1;
        return;
    }
    HkWatched *last = h->count > 0 ? &h->ranges[h->count - 1] : NULL;
    if (last != NULL && last->address + last->bytes == address && last->pc == pc) {
        last->bytes += bytes;
        return;
    }
    if (h->count == h->room) {
        uint32_t room = h->room == 0 ? 16 : 2 * h->room;
        HkWatched *ranges = room > HK_WATCHED ? NULL : realloc(h->ranges, room * sizeof *ranges);
        if (ranges == NULL) {
            h->full = 1;
            return;
        }
        h->ranges = ranges;
        h->room = room;
    }
    h->newest = h->count;
    h->ranges[h->count++] = (HkWatched){address, pc, bytes, (uint16_t)w->index, is_read != 0};
}

void hk_watch_lanes(Wave *w, const Op *op, const uint64_t *at, uint64_t lanes, uint32_t bytes, int is_read) {
    HK_FOR_LANES(lane, lanes) hk_watch_range(w, op->pc, at[lane], bytes, is_read);
}

void hk_watch_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t lanes, uint32_t bytes,
                  int is_read) {
    if (!w->group->watch->is_late) return;
    HK_FOR_LANES(lane, lanes) {
        hk_watch_range(w, op->pc, HK_SHARED_APERTURE | (uint32_t)(row[lane] + offset), bytes, is_read);
    }
}

int hk_watch_begin(Resident *r) {
    HkWatch *h = r->watch;
    size_t rows = (size_t)r->wave_room * r->rows;
    if (h == NULL) {
        h = r->watch = calloc(1, sizeof *h + rows * sizeof h->rows[0]);
        if (h == NULL) return 0;
    }
    HkWatched *ranges = h->ranges;
    uint32_t room = h->room;
    memset(h, 0, sizeof *h + rows * sizeof h->rows[0]);
    h->ranges = ranges;
    h->room = room;
    h->is_late = r->waits > 0 || hk_blocks_run(r) >= LATE;
    r->group.watch = h;
    r->group.profile |= HK_PROFILE_WATCH;
    return 1;
}

void hk_watch_end(Resident *r) {
    r->group.watch = NULL;
    r->group.profile &= ~HK_PROFILE_WATCH;
}

void hk_watch_free(Resident *r) {
    if (r->watch != NULL) free(r->watch->ranges);
    free(r->watch);
    r->watch = NULL;
}

/* A hash of memory, different for different content, except with probability 2^-64: a sum of its words, each mixed with
 * its position, so that it vectorises. */
static uint64_t digest(const void *memory, size_t bytes, uint64_t seed) {
    const uint64_t golden = 0x9e3779b97f4a7c15ull, mixer = 0xd6e8feb86659fd93ull;
    const uint8_t *p = memory;
    u64x8 sum = {}, key = (u64x8){1, 2, 3, 4, 5, 6, 7, 8} * golden + seed * mixer;
    for (size_t i = 0; i < bytes; i += 64, key += 8 * golden) {
        u64x8 x = {};
        if (__builtin_expect(bytes - i >= 64, 1))
            memcpy(&x, p + i, 64);
        else
            memcpy(&x, p + i, bytes - i);
        x = (x ^ key) * mixer;
        x ^= x >> 32;
        sum += x * golden;
    }
    uint64_t total = seed;
    for (unsigned i = 0; i < 8; i++) total += sum[i];
    return (total ^ total >> 32) * mixer;
}

static const void *place(const Resident *r, const HkWatched *range) {
    if (is_shared(range->address)) return r->lds + (uint32_t)range->address;
    return (const void *)(uintptr_t)range->address;
}

/* Bytes of a range that exist: past the end of LDS, reads give 0 and writes are dropped. */
static uint32_t present(const Resident *r, const HkWatched *range) {
    if (!is_shared(range->address)) return range->bytes;
    uint32_t offset = (uint32_t)range->address;
    if (offset >= r->lds_bytes) return 0;
    return range->bytes < r->lds_bytes - offset ? range->bytes : r->lds_bytes - offset;
}

static uint64_t content(const Resident *r) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->watch->count; i++) {
        const HkWatched *range = &r->watch->ranges[i];
        sum += digest(place(r, range), present(r, range), i + 1);
    }
    return sum;
}

/* Mask of the waves that do not run in the next round, unless all meet at a barrier. */
static uint32_t stopped_waves(const Resident *r) {
    uint32_t waves = 0;
    for (uint32_t i = 0; i < r->group.wave_count; i++) waves |= (uint32_t)(r->waves[i].state != HK_WAVE_READY) << i;
    return waves;
}

/* Hashes each register of all waves; returns the largest number of registers of one wave that differ from the round
 * before. */
static uint32_t compare_rows(const Resident *r, uint64_t *state) {
    HkWatch *h = r->watch;
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->group.wave_count; i++) {
        const Wave *w = &r->waves[i];
        uint64_t *rows = h->rows + (size_t)i * r->rows;
        uint32_t differ = 0;
        for (uint32_t n = 0; n < r->rows; n++) {
            if (h->idle >> i & 1) {
                *state += rows[n];
                continue;
            }
            uint64_t row = digest(hk_row(w, n), HK_LANES * 4, (uint64_t)i << 32 | n);
            differ += rows[n] != row;
            rows[n] = row;
            *state += row;
        }
        if (differ > most) most = differ;
        *state += digest(w->s, sizeof w->s, ~(uint64_t)i);
        const uint32_t rest[] = {i, w->scc, w->mode, (uint32_t)w->block, (uint32_t)w->state};
        *state += digest(rest, sizeof rest, 3);
    }
    h->idle = stopped_waves(r);
    return most;
}

static uint64_t shared_state(const Resident *r) {
    uint64_t state = digest(r->lds, r->lds_bytes, 1);
    for (uint32_t i = 0; i < r->group.wave_count; i++) {
        const Wave *w = &r->waves[i];
        /* With a tape, scratch_high covers the bytes written since the tape last looked, not since the wave began. */
        uint32_t high = r->group.tape != NULL ? w->scratch_size : w->scratch_high;
        if (high > w->scratch_size) high = w->scratch_size;
        state += digest(w->scratch, (size_t)(high + 3) / 4 * HK_LANES * 4, (uint64_t)i + 2);
    }
    return state;
}

int hk_watch_round(Resident *r, int slept) {
    HkWatch *h = r->watch;
    uint32_t reads = h->reads, ds_reads = h->ds_reads, grown = h->grown;
    h->reads = h->ds_reads = h->grown = 0;
    h->rounds++;
    h->idle &= stopped_waves(r);
    if (h->full) return HK_WATCH_WORKS;
    if (grown) {
        h->is_known = 0;
        h->shared_before = 0;
        return ++h->grown_rounds > MOST_GROWN_ROUNDS ? HK_WATCH_WORKS : HK_WATCH_ON;
    }
    int on = h->rounds < MOST_ROUNDS ? HK_WATCH_ON : HK_WATCH_WORKS;
    if (!slept && !reads && !ds_reads) return on;
    uint64_t state = 0;
    uint32_t differ = compare_rows(r, &state);
    uint64_t shared = shared_state(r), now = content(r);
    h->content_before = now;
    int has_read = 0;
    for (uint32_t i = 0; i < h->count; i++) has_read |= h->ranges[i].is_read;
    if (h->is_known && has_read && !h->unknown && h->state == state && h->shared == shared && h->content == now)
        return HK_WATCH_STUCK;
    int counts_only = h->shared_before == shared && differ <= COUNTING_ROWS;
    h->shared_before = shared;
    /* A loop over several rounds returns to its state at one of these rounds: Brent's cycle detection. */
    if (!h->is_known || (h->rounds & (h->rounds - 1)) == 0) {
        h->is_known = 1;
        h->unknown = 0;
        h->state = state;
        h->shared = shared;
        h->content = now;
    }
    if (h->rounds < MOST_ROUNDS / 2) return HK_WATCH_ON;
    return slept || (reads && counts_only) ? HK_WATCH_POLLS : on;
}

int hk_watch_changed(const Resident *r) { return r->watch != NULL && content(r) != r->watch->content_before; }

uint64_t hk_watch_flags(const Resident *r) {
    uint64_t flags = 0;
    for (uint32_t i = 0; i < r->watch->count; i++) {
        const HkWatched *range = &r->watch->ranges[i];
        const Allocation *a = hk_find_allocation(r->group.machine, range->address);
        if (a != NULL && range->is_read) flags |= a->flags;
    }
    return flags;
}

void hk_watch_wait(const Resident *r, HkWait *wait) {
    uint32_t wave = 0;
    while (wave + 1 < r->group.wave_count && r->waves[wave].state != HK_WAVE_READY) wave++;
    *wait = (HkWait){.group = r->group.index, .wave = wave, .is_stuck = r->is_stuck};
    for (uint32_t i = 0; r->watch != NULL && i < r->watch->count && wait->bytes == 0; i++) {
        const HkWatched *range = &r->watch->ranges[i];
        if (!range->is_read || r->waves[range->wave].state != HK_WAVE_READY) continue;
        wait->address = range->address;
        wait->bytes = range->bytes;
        wait->pc = range->pc;
        wait->wave = range->wave;
        uint32_t bytes = present(r, range);
        memcpy(&wait->value, place(r, range), bytes < 8 ? bytes : 8);
    }
    wait->block = r->waves[wait->wave].block;
}
