/* Global memory: who wrote and read each 16 bytes; accesses that nothing orders are races. */
#include "observe/sanitizer/state.h"

#include <stdlib.h>

static Page *page_of(San *s, uint64_t number) {
    if (s->last_page != NULL && number == s->last_page->number) return s->last_page;
    uint64_t i = (number * 0x9e3779b97f4a7c15ull) >> 20 & (s->page_capacity - 1);
    while (s->pages[i].cells != NULL && s->pages[i].number != number) i = (i + 1) & (s->page_capacity - 1);
    if (s->pages[i].cells == NULL) {
        size_t bytes = PAGE_CELLS * sizeof(Cell);
        if (s->memory_left < bytes) return NULL;
        if ((s->page_count + 1) * 2 > s->page_capacity) {
            Page *old = s->pages, *new = calloc(s->page_capacity * 4, sizeof *new);
            if (new == NULL) return NULL;
            uint64_t before = s->page_capacity;
            s->page_capacity *= 4;
            for (uint64_t k = 0; k < before; k++) {
                if (old[k].cells == NULL) continue;
                uint64_t j = (old[k].number * 0x9e3779b97f4a7c15ull) >> 20 & (s->page_capacity - 1);
                while (new[j].cells != NULL) j = (j + 1) & (s->page_capacity - 1);
                new[j] = old[k];
            }
            free(old);
            s->pages = new;
            s->last_page = NULL;
            return page_of(s, number);
        }
        Cell *cells = malloc(bytes);
        if (cells == NULL) return NULL;
        for (uint32_t k = 0; k < PAGE_CELLS; k++) cells[k] = (Cell){.write_group = NOBODY, .read_group = NOBODY};
        s->memory_left -= bytes;
        s->page_count++;
        s->pages[i] = (Page){number, cells, NULL};
    }
    return s->last_page = &s->pages[i];
}

/* Whether a store would leave memory as it is: waves that write the same are no race. */
static int same_value(Wave *w, const SanOp *o, uint64_t address, unsigned lane) {
    if ((o->flags & SAN_LOAD) || o->src_count[1] == 0 || !hk_allowed(w, address, address + o->bytes, 0)) return 0;
    uint8_t data[16];
    for (uint32_t n = 0; n < o->src_count[1] && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[1] + n) + lane, 4);
    return memcmp(data, (const void *)(uintptr_t)address, o->bytes) == 0;
}

/* Whether a wave makes the same access as before, and no other has come in between: nothing new can come of it. */
HK_INLINE int again(const Cell *c, uint32_t group, uint32_t me, uint32_t epoch, uint16_t mask, uint32_t scope,
                    int is_write) {
    int mine = c->write_group == group && c->writer == me;
    if (is_write)
        return mine && c->write_epoch == epoch && c->scope == scope && !(mask & ~c->write_mask) &&
               c->read_group == NOBODY;
    return c->read_group == group && c->read_epoch == epoch && c->readers == 1u << me && !(mask & ~c->read_mask) &&
           (mine || c->write_group == NOBODY);
}

/* Whether an access with a scope may be one of a flag: what is wider is data that passes caches by. */
static int is_flag(const SanOp *o) { return o->bytes <= 8 && !(o->flags & SAN_TO_LDS); }

/* How far an access reaches by itself: atomics, and loads and stores with a scope. */
static uint32_t scope_of(const SanOp *o) {
    if (o->flags & (SAN_ATOMIC | SAN_DEVICE)) return SCOPE_DEVICE;
    return o->flags & (SAN_SYNC | SAN_POLLS) && is_flag(o) ? SCOPE_GROUP : SCOPE_WAVE;
}

/* Whether the newest write of a cell comes before this wave's access, or may change places with it. */
static int follows_write(const Wave *w, const SanWave *sw, const SanOp *o, const Cell *c, uint32_t scope,
                         int is_write) {
    int is_local = c->write_group == (uint32_t)w->group->index;
    if (is_local && (c->writer == sw->index || c->write_epoch < sw->group->epoch)) return 1;
    if (c->scope && scope && is_flag(o) && (is_local || (c->scope == SCOPE_DEVICE && scope == SCOPE_DEVICE))) return 1;
    if (c->scope && (o->flags & SAN_EXPECTS)) return 1;
    uint32_t until = is_write || scope == SCOPE_DEVICE ? sw->known.seen : sw->known.acquired;
    return san_ordered(w, sw, c->write_group, c->writer, c->write_number, c->scope != SCOPE_DEVICE, until);
}

static int is_one(uint32_t waves) { return (waves & (waves - 1)) == 0; }

/* A wave reads a cell that `c->readers` have read. */
static void note_read(San *s, Page *page, Cell *c, uint32_t me, uint32_t number) {
    uint32_t before = c->readers;
    c->readers |= (uint16_t)(1u << me);
    if ((before & ~(1u << me)) == 0) {
        c->read_number = number;
        return;
    }
    size_t bytes = HK_MAX_WAVES * PAGE_CELLS * sizeof(uint32_t);
    if (page->reads == NULL && s->memory_left >= bytes && (page->reads = malloc(bytes)) != NULL)
        s->memory_left -= bytes;
    if (page->reads == NULL) return;
    uint32_t *reads = page->reads + (c - page->cells);
    if (is_one(before)) reads[(uint32_t)__builtin_ctz(before) * PAGE_CELLS] = c->read_number;
    reads[me * PAGE_CELLS] = number;
}

/* Of a wave's newest read of a cell; where that is not known it is one that nothing comes after. */
static uint32_t read_number(const Page *page, const Cell *c, uint32_t wave) {
    if (is_one(c->readers)) return c->read_number;
    return page->reads != NULL ? page->reads[wave * PAGE_CELLS + (uint32_t)(c - page->cells)] : NOBODY;
}

/* The wave whose read of a cell does not come before this wave's write; NOBODY: all do. */
static uint32_t reader_before(const Wave *w, const SanWave *sw, const Page *page, const Cell *c) {
    int is_local = c->read_group == (uint32_t)w->group->index;
    if (is_local && c->read_epoch < sw->group->epoch) return NOBODY;
    for (uint32_t others = c->readers & (is_local ? ~(1u << sw->index) : ~0u); others; others &= others - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(others);
        if (!san_ordered(w, sw, c->read_group, other, read_number(page, c, other), 0, sw->known.seen)) return other;
    }
    return NOBODY;
}

HK_INLINE void global_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes, unsigned lane,
                             int is_write, uint32_t scope) {
    San *s = sw->group->san;
    /* A packet of hostcalls is of the wave that took it from a stack, and the next wave's after it was put back. */
    if (address - w->group->machine->hostcalls < w->group->machine->hostcalls_bytes) return;
    uint32_t group = (uint32_t)w->group->index, me = sw->index;
    uint32_t number = sw->vm_issued + (o->space != SAN_SMEM || sw->vm_issued == 0);
    int is_noted = !(o->flags & SAN_EXPECTS) && !(scope && is_flag(o)); /* as a read */
    uint64_t end = address + bytes;
    for (uint64_t granule = address >> 4; granule << 4 < end; granule++) {
        Page *page = page_of(s, granule >> (PAGE_SHIFT - 4));
        if (page == NULL) return;
        Cell *c = &page->cells[granule & (PAGE_CELLS - 1)];
        uint32_t first = granule << 4 < address ? (uint32_t)(address & 15) : 0;
        uint32_t last = (granule << 4) + 16 > end ? (uint32_t)(end - (granule << 4)) : 16;
        uint16_t mask = (uint16_t)((0xffffu >> (16 - (last - first))) << first);
        if ((is_write || is_noted) && again(c, group, me, sw->group->epoch, mask, scope, is_write)) {
            if (is_write) {
                c->write_pc = (uint32_t)o->op.pc;
                c->write_number = number;
            } else
                c->read_number = number;
            continue;
        }
        if (c->write_group != NOBODY && (c->write_mask & mask) && !follows_write(w, sw, o, c, scope, is_write) &&
            (!is_write || !same_value(w, o, address, lane)))
            san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->write_pc, (int32_t)lane, address, is_write ? 2 : 0,
                      c->write_group, c->writer);
        if (is_write) {
            if (c->read_group != NOBODY && (c->read_mask & mask)) {
                uint32_t other = reader_before(w, sw, page, c);
                if (other != NOBODY && !same_value(w, o, address, lane))
                    san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->read_pc, (int32_t)lane, address, 1, c->read_group,
                              other);
            }
            int same =
                c->write_group == group && c->writer == me && c->write_epoch == sw->group->epoch && c->scope == scope;
            c->write_mask = same ? c->write_mask | mask : mask;
            c->write_group = group;
            c->writer = (uint8_t)me;
            c->write_epoch = sw->group->epoch;
            c->write_pc = (uint32_t)o->op.pc;
            c->write_number = number;
            c->scope = (uint8_t)scope;
        } else if (is_noted) {
            if (c->read_group != group || c->read_epoch != sw->group->epoch ||
                (c->readers != (1u << me) && c->read_mask != mask)) {
                c->readers = 0;
                c->read_mask = 0;
            }
            c->read_group = group;
            c->read_epoch = sw->group->epoch;
            c->read_pc = (uint32_t)o->op.pc;
            note_read(s, page, c, me, number);
            c->read_mask |= mask;
        }
    }
}

/* Where one L2 serves the device, atomic stores have no scope: one of a single address may be one. */
static int is_one_place(const SanOp *o, uint64_t lanes, const uint64_t *at) {
    uint64_t first = at[hk_first_lane(lanes)];
    HK_FOR_LANES(lane, lanes) {
        if (at[lane] != first) return 0;
    }
    return 1;
}

void san_global_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at) {
    if (lanes == 0) return;
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    uint32_t scope = scope_of(o);
    if (w->group->machine->dies == 1 && (o->flags & SAN_STORE) && is_flag(o) && is_one_place(o, lanes, at))
        scope = SCOPE_DEVICE;
    /* An atomic reads before it writes. */
    if (scope && is_flag(o) && (o->flags & SAN_LOAD)) {
        HK_FOR_LANES(lane, lanes) san_global_learn(w, sw, at[lane], scope, sw->vm_issued + 1);
    }
    if (sw->group->san->heap_end) {
        HK_FOR_LANES(lane, lanes) san_heap(w, o, at[lane], o->bytes, (int32_t)lane);
    }
    HK_FOR_LANES(lane, lanes) global_access(w, sw, o, at[lane], o->bytes, lane, is_write, scope);
    if (scope && is_flag(o) && is_write) san_release_global(w, sw, at, lanes, scope, (o->flags & SAN_ATOMIC) != 0);
}

void san_global_scalar(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes) {
    if (sw->group->san->heap_end) san_heap(w, o, address, bytes, -1);
    global_access(w, sw, o, address, bytes, ~0u, 0, SCOPE_WAVE);
}
