/* Global memory: who wrote and read each 16 bytes; accesses that nothing orders are races. */
#include "observe/sanitizer/state.h"

#include <stdlib.h>

static Cell *page_cells(San *s, uint64_t number) {
    if (number == s->last_page) return s->last_cells;
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
            return page_cells(s, number);
        }
        Cell *cells = malloc(bytes);
        if (cells == NULL) return NULL;
        for (uint32_t k = 0; k < PAGE_CELLS; k++) cells[k] = (Cell){.write_group = NOBODY, .read_group = NOBODY};
        s->memory_left -= bytes;
        s->page_count++;
        s->pages[i] = (Page){number, cells};
    }
    s->last_page = number;
    return s->last_cells = s->pages[i].cells;
}

/* Whether an access of another wave, at `tick` in `epoch` of `group`, is known to come before this one. */
static int ordered(const SanWave *sw, const Wave *w, uint32_t group, uint32_t wave, uint32_t epoch, uint32_t tick) {
    const SanGroup *sg = sw->group;
    if (group == (uint32_t)w->group->index)
        return wave == sw->index || epoch < sg->epoch || (sg->waves[wave].tick > tick && sw->tick > tick);
    return sg->san->group_ticks[group] > tick && sg->san->group_ticks[w->group->index] > tick;
}

/* Whether a store would leave memory as it is: waves that write the same are no race. */
static int same_value(Wave *w, const SanOp *o, uint64_t address, unsigned lane) {
    if ((o->flags & SAN_LOAD) || o->src_count[1] == 0 || !hk_allowed(w, address, address + o->bytes, 0)) return 0;
    uint8_t data[16];
    for (uint32_t n = 0; n < o->src_count[1] && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[1] + n) + lane, 4);
    return memcmp(data, (const void *)(uintptr_t)address, o->bytes) == 0;
}

/* Whether a wave makes the same access as before, and no other has come in between: nothing new can come of it. */
HK_INLINE int again(const Cell *c, uint32_t group, uint32_t me, uint32_t epoch, uint32_t tick, uint16_t mask,
                    int synced, int is_write) {
    int mine = c->write_group == group && c->writer == me;
    if (is_write)
        return mine && c->write_epoch == epoch && c->write_tick == tick && c->atomic == synced &&
               !(mask & ~c->write_mask) && c->read_group == NOBODY;
    return !synced && c->read_group == group && c->read_epoch == epoch && c->read_tick == tick &&
           c->readers == 1u << me && !(mask & ~c->read_mask) && (mine || c->write_group == NOBODY);
}

HK_INLINE void global_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes, unsigned lane,
                             int is_write) {
    San *s = sw->group->san;
    /* A packet of hostcalls is of the wave that took it from a stack, and the next wave's after it was put back. */
    if (address - w->group->machine->hostcalls < w->group->machine->hostcalls_bytes) return;
    int synced = (o->flags & (SAN_ATOMIC | SAN_SYNC)) != 0;
    /* LLVM begins the compare-and-swap loop of an atomic with a plain load, a scalar one at a uniform address. */
    int with_atomics = synced || o->space == SAN_SMEM;
    uint32_t group = (uint32_t)w->group->index, me = sw->index;
    uint64_t end = address + bytes;
    for (uint64_t granule = address >> 4; granule << 4 < end; granule++) {
        Cell *cells = page_cells(s, granule >> (PAGE_SHIFT - 4));
        if (cells == NULL) return;
        Cell *c = &cells[granule & (PAGE_CELLS - 1)];
        uint32_t first = granule << 4 < address ? (uint32_t)(address & 15) : 0;
        uint32_t last = (granule << 4) + 16 > end ? (uint32_t)(end - (granule << 4)) : 16;
        uint16_t mask = (uint16_t)((0xffffu >> (16 - (last - first))) << first);
        if (again(c, group, me, sw->group->epoch, s->tick, mask, synced, is_write)) {
            if (is_write) c->write_pc = (uint32_t)o->op.pc;
            continue;
        }
        if (c->write_group != NOBODY && (c->write_mask & mask) && !(c->atomic && with_atomics) &&
            !(c->write_group == group && c->writer == me)) {
            if (!ordered(sw, w, c->write_group, c->writer, c->write_epoch, c->write_tick)) {
                if (!is_write || !same_value(w, o, address, lane))
                    san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->write_pc, (int32_t)lane, address, is_write ? 2 : 0,
                              c->write_group, c->writer);
            }
        }
        if (is_write) {
            if (c->read_group != NOBODY && (c->read_mask & mask) && !synced) {
                uint32_t others = c->readers & (c->read_group == group ? ~(1u << me) : ~0u);
                uint32_t other = others ? (uint32_t)__builtin_ctz(others) : me;
                if (others && !ordered(sw, w, c->read_group, other, c->read_epoch, c->read_tick) &&
                    !same_value(w, o, address, lane))
                    san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->read_pc, (int32_t)lane, address, 1, c->read_group,
                              other);
            }
            int same = c->write_group == group && c->writer == me && c->write_epoch == sw->group->epoch &&
                       c->write_tick == s->tick && c->atomic == synced;
            c->write_mask = same ? c->write_mask | mask : mask;
            c->write_group = group;
            c->writer = (uint8_t)me;
            c->write_epoch = sw->group->epoch;
            c->write_pc = (uint32_t)o->op.pc;
            c->write_tick = s->tick;
            c->atomic = (uint8_t)synced;
        } else if (!synced) {
            if (c->read_group != group || c->read_epoch != sw->group->epoch ||
                (c->readers != (1u << me) && c->read_mask != mask)) {
                c->readers = 0;
                c->read_mask = 0;
            }
            c->read_group = group;
            c->read_epoch = sw->group->epoch;
            c->read_pc = (uint32_t)o->op.pc;
            c->read_tick = s->tick;
            c->readers |= (uint16_t)(1u << me);
            c->read_mask |= mask;
        }
    }
}

void san_global_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at) {
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    HK_FOR_LANES(lane, lanes) global_access(w, sw, o, at[lane], o->bytes, lane, is_write);
}

void san_global_scalar(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes) {
    global_access(w, sw, o, address, bytes, ~0u, 0);
}
