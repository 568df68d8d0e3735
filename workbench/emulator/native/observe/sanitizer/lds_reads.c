/* LDS reads that are still in flight when a write overwrites their data. */
#include "observe/sanitizer/state.h"

int san_same_in_lds(const Wave *w, const SanOp *o, int source, uint64_t offset, unsigned lane) {
    uint8_t data[16];
    if (!(o->flags & SAN_STORE) || !hk_has_lds(w, offset, o->bytes)) return 0;
    uint32_t count = o->src_count[source];
    for (uint32_t n = 0; n < count && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[source] + n) + lane, 4);
    return count != 0 && memcmp(data, w->lds + offset, o->bytes) == 0;
}

static void fill_read(LdsRead *r, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes, uint32_t second,
                      uint32_t number, uint32_t copies) {
    r->lanes = lanes;
    r->number = number;
    r->copies = copies;
    r->pc = (uint32_t)o->op.pc;
    r->bytes = bytes;
    r->second = second;
    uint32_t low = ~0u, high = 0;
    for (unsigned lane = 0; lane < HK_LANES; lane++) {
        uint32_t a = at[lane];
        int is_active = (int)(lanes >> lane & 1);
        r->at[lane] = a;
        low = is_active && a < low ? a : low;
        high = is_active && a > high ? a : high;
    }
    r->low = second >> 31 ? low + second : low;
    r->high = high + bytes + (second >> 31 ? 0 : second);
}

void san_note_read(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t second) {
    if (lanes == 0) return;
    LdsRead *r = &sw->reads[sw->read_next++ % READS];
    sw->last_read = sw->lgkm_issued;
    fill_read(r, o, lanes, at, o->bytes, second, sw->lgkm_issued, 0);
}

void san_note_copy(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes, uint32_t copies,
                   uint32_t number) {
    if (lanes == 0 || COPY_READS == 0) return;
    fill_read(&sw->copied[sw->copy_next++ % (COPY_READS ? COPY_READS : 1)], o, lanes, at, bytes, 0, number, copies);
}

/* A lane of `r` that reads from [at, at + bytes); -1 if none does. */
static int reading_lane(const LdsRead *r, uint32_t at, uint32_t bytes) {
    for (uint32_t offset = 0;; offset = r->second) {
        HK_FOR_LANES(lane, r->lanes) {
            uint32_t from = r->at[lane] + offset;
            if (at < from + r->bytes && from < at + bytes) return (int)lane;
        }
        if (offset == r->second) return -1;
    }
}

/* A write to LDS while a read is in flight: a read of this wave, which only a load to LDS can overtake, or one of
 * another wave that has passed a barrier with it. LDS accesses of different waves are not ordered: each SIMD has its
 * own queue (LLVM AMDGPUUsage, "Memory model gfx942"). */
static void overwrite(Wave *w, const SanWave *sw, const SanOp *o, int source, uint64_t lanes, const uint32_t *at,
                      uint32_t bytes, const SanWave *other, const LdsRead *r) {
    HK_FOR_LANES(lane, lanes) {
        if (at[lane] >= r->high || at[lane] + bytes <= r->low || reading_lane(r, at[lane], bytes) < 0) continue;
        if (san_same_in_lds(w, o, source, at[lane], lane)) continue;
        /* Behind the signal of the barrier, and before the wait for it. */
        int is_apart = other != sw && r->number > passed_of(other, r->copies);
        uint32_t how = other == sw ? SAN_UNDER_WAY_OWN_READ : SAN_UNDER_WAY_READ;
        san_found(w, is_apart ? SAN_FOUND_RACE_LDS : SAN_FOUND_OVERWRITE_LDS, &o->op, r->pc, (int32_t)lane, at[lane],
                  is_apart ? 1 : how | r->copies, w->group->index, other->index);
        return;
    }
}

void san_check_reads(Wave *w, SanWave *sw, const SanOp *o, int source, uint64_t lanes, const uint32_t *at,
                     uint32_t bytes) {
    SanGroup *sg = sw->group;
    int is_load = (o->flags & SAN_TO_LDS) != 0, is_late = is_load && sw->last_read > sw->lgkm_done;
    int is_copying = san_copies_out(sw);
    if (sg->reads_passed == 0 && !is_late && !is_copying) return;
    uint32_t low = ~0u, high = 0;
    HK_FOR_LANES(lane, lanes) {
        low = at[lane] < low ? at[lane] : low;
        high = at[lane] + bytes > high ? at[lane] + bytes : high;
    }
    for (uint32_t i = 0; i < READS && is_late; i++) {
        const LdsRead *r = &sw->reads[i];
        if (r->number > sw->lgkm_done && sw->lgkm_issued - r->number < READS - 1 && r->low < high && low < r->high)
            overwrite(w, sw, o, source, lanes, at, bytes, sw, r);
    }
    for (uint32_t i = 0; i < COPY_READS && i < sw->copy_next && is_copying; i++) {
        const LdsRead *r = &sw->copied[i];
        if (r->number > done_of(sw, r->copies) && r->low < high && low < r->high)
            overwrite(w, sw, o, source, lanes, at, bytes, sw, r);
    }
    for (uint32_t i = 0; i < sg->wave_count && sg->reads_passed; i++) {
        const SanWave *other = &sg->waves[i];
        if (other == sw) continue;
        for (uint32_t n = 0; n < other->passed_count; n++) {
            const LdsRead *r = &other->passed[n];
            if (r->low >= high || low >= r->high || r->number <= ordered_of(&sw->known.of[i], r->copies)) continue;
            overwrite(w, sw, o, source, lanes, at, bytes, other, r);
        }
    }
}
