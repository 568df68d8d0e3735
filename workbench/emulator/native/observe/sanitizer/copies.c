/* Copies between memory and LDS that pass no register (gfx1250): asynchronous ones of each lane's bytes, counted by
 * asynccnt, and those of a tensor's tile, counted by tensorcnt.
 *
 * Nothing keeps them in order with other accesses of their wave: what they wrote, and what they read, may be used once
 * the counter has been waited for (LLVM AMDGPUUsage, "Memory Model GFX125x"). Copies of one counter are taken to
 * complete in the order of their issue, as LLVM's and Triton's waits for all but the newest ones assume; a copy from
 * LDS is not taken to follow one to LDS.
 */
#include "observe/sanitizer/state.h"
#include "observe/sanitizer/waits.h"

#include "ops/addresses.h"
#include "ops/copies.h"

static int counter_of(const SanOp *o) { return o->flags & SAN_ASYNC ? COUNTS_ASYNC : COUNTS_TENSOR; }
static uint32_t how_of(const SanOp *o) {
    return 2u | (o->flags & SAN_ASYNC ? SAN_UNDER_WAY_ASYNC : SAN_UNDER_WAY_TENSOR);
}

static void issue(SanWave *sw, const SanOp *o) {
    sw->vm_issued++;
    count_apart(sw, counter_of(o));
}

/* The number of the copy, before it is issued, by its counter. */
static uint32_t next_number(const SanWave *sw, const SanOp *o) { return sw->apart[counter_of(o)].issued + 1; }

static void copy_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    int is_load = (o->flags & SAN_LOAD) != 0;
    uint64_t at[HK_LANES], undefined[4] = {0};
    uint32_t places[HK_LANES] = {0}, how = how_of(o), number = next_number(sw, o);
    HkAddresses a;
    hk_global_addresses(w, &o->op, exec, &a);
    const uint32_t *row = hk_row(w, o->src[2]);
    HK_FOR_LANES(lane, exec) {
        at[lane] = hk_address(&a, lane);
        places[lane] = row[lane] + (uint32_t)o->op.offset;
    }
    uint64_t bad = undefined_row(sw, o->src[2]) & exec;
    if (bad)
        san_found(w, SAN_FOUND_UNDEFINED_ADDRESS, &o->op, san_origin(sw, o, 2, 2, bad), (int32_t)hk_first_lane(bad), 0,
                  0, 0, 0);
    uint64_t lanes = san_inside(w, o, exec, at);
    san_global_lanes(w, sw, o, lanes, at);
    if (sw->group->san->memory_count) san_follow_memory(w, sw, o, lanes, at, undefined);
    if (is_load) san_check_reads(w, sw, o, 2, lanes, places, o->bytes);
    HK_FOR_LANES(lane, lanes) {
        uint32_t words = 0, unused;
        san_lds_access(w, sw, o, places[lane], o->bytes, lane, is_load, 2, how, is_load ? number : sw->lgkm_issued + 1,
                       is_load ? &unused : &words);
        for (uint32_t n = 0; is_load && n < 4; n++) words |= (uint32_t)(undefined[n] >> lane & 1) << n;
        if (words && is_load) san_lds_undefine(sw, places[lane], o->bytes, words, (uint32_t)o->op.pc);
        if (words && !is_load)
            san_found(w, SAN_FOUND_UNDEFINED_STORE, &o->op, sw->group->lds_origin, (int32_t)lane, at[lane], 0, 0, 0);
    }
    if (!is_load) san_note_copy(sw, o, lanes, places, o->bytes, how & COPIES, number);
}

typedef struct Rows {
    Wave *wave;
    SanWave *sw;
    const SanOp *o;
    uint32_t number;
} Rows;

/* One run of bytes of a tile; `memory` is 0 where zeros are loaded. */
static int copy_row(void *data, uint64_t memory, uint32_t lds, uint32_t bytes) {
    const Rows *r = data;
    const SanOp *o = r->o;
    SanWave *sw = r->sw;
    int is_load = (o->flags & SAN_LOAD) != 0;
    uint32_t how = how_of(o), undefined, at[HK_LANES] = {lds};
    if (memory != 0) san_global_row(r->wave, sw, o, memory, bytes);
    if (is_load) san_check_reads(r->wave, sw, o, 2, 1, at, bytes);
    san_lds_access(r->wave, sw, o, lds, bytes, ~0u, is_load, 2, how, is_load ? r->number : sw->lgkm_issued + 1,
                   &undefined);
    if (is_load) return 1;
    if (undefined) san_found(r->wave, SAN_FOUND_UNDEFINED_STORE, &o->op, sw->group->lds_origin, -1, memory, 0, 0, 0);
    san_note_copy(sw, o, 1, at, bytes, how & COPIES, r->number);
    return 1;
}

/* A descriptor that is wrong is a fault of the operation itself, which comes next. */
static void copy_tile(Wave *w, SanWave *sw, const SanOp *o) {
    Rows rows = {w, sw, o, next_number(sw, o)};
    uint32_t barrier;
    if (o->flags & SAN_STORE) sw->group->san->lost_writes = 1;
    int arrives = hk_visit_tile(w, &o->op, (o->flags & SAN_LOAD) != 0, copy_row, &rows, &barrier);
    issue(sw, o);
    if (!arrives) return;
    /* The arrival comes behind the copy. */
    uint32_t unused;
    san_lds_access(w, sw, o, barrier, 8, ~0u, 1, 2, how_of(o) | 4, rows.number, &unused);
    san_release_copies(sw, sw->apart[COUNTS_ASYNC].done, rows.number);
}

void san_copy(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    if (o->flags & SAN_TENSOR) {
        copy_tile(w, sw, o);
        return;
    }
    if (exec) copy_lanes(w, sw, o, exec);
    issue(sw, o);
}
