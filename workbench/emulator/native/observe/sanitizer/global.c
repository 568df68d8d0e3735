/* Global memory: writers and readers of each 16 bytes; unordered accesses are races.
 *
 * If a single write record for 16 bytes is not enough, because several waves write parts of them or their atomics are
 * unordered, each dword gets its own cell from then on, and a record of an earlier write beside the newest one.
 */
#include "observe/sanitizer/state.h"

#include <stdlib.h>

static const Cell nothing = {.write.group = NOBODY, .read_group = NOBODY};

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
        for (uint32_t k = 0; k < PAGE_CELLS; k++) cells[k] = nothing;
        s->memory_left -= bytes;
        s->page_count++;
        s->pages[i] = (Page){.number = number, .cells = cells};
    }
    return s->last_page = &s->pages[i];
}

/* True if a store would not change memory: waves that write the same value do not race. */
static int same_value(Wave *w, const SanOp *o, uint64_t address, unsigned lane) {
    if ((o->flags & SAN_LOAD) || o->src_count[1] == 0 || !hk_allowed(w, address, address + o->bytes, 0)) return 0;
    uint8_t data[16];
    for (uint32_t n = 0; n < o->src_count[1] && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[1] + n) + lane, 4);
    return memcmp(data, (const void *)(uintptr_t)address, o->bytes) == 0;
}

/* True if a wave repeats its own access with no other wave's in between: there can be no new finding. */
HK_INLINE int again(const Cell *c, uint32_t group, uint32_t me, uint32_t epoch, uint16_t mask, uint32_t scope,
                    int is_write) {
    const Write *write = &c->write;
    int mine = write->group == group && write->writer == me;
    if (is_write)
        return mine && write->epoch == epoch && write->scope == scope && !(mask & ~write->mask) &&
               c->read_group == NOBODY;
    return c->read_group == group && c->read_epoch == epoch && c->readers == 1u << me && !(mask & ~c->read_mask) &&
           (mine || write->group == NOBODY);
}

/* True if an access with a scope may be to a flag; wider ones are data accesses that bypass caches. */
static int is_flag(const SanOp *o) { return o->bytes <= 8 && !(o->flags & SAN_TO_LDS); }

/* Scope of an access itself: that of atomics, and of loads and stores with a scope. */
static uint32_t scope_of(const SanOp *o) {
    if (o->flags & (SAN_ATOMIC | SAN_DEVICE)) return SCOPE_DEVICE;
    return o->flags & (SAN_SYNC | SAN_POLLS) && is_flag(o) ? SCOPE_GROUP : SCOPE_WAVE;
}

/* True if a barrier lies between this wave and another one's access: one made behind the signal of the last barrier,
 * and before the wait for it, is not ordered by it. Scalar loads have number 1 before the first vector access. */
HK_INLINE int is_met(const SanWave *sw, uint32_t writer, uint32_t epoch, uint32_t number) {
    uint32_t passed = sw->group->waves[writer].vm_passed;
    return epoch < sw->group->epoch && (number <= passed || number == 1 || number == NOBODY);
}

/* True if a write is ordered before this wave's access. */
static int is_before(const Wave *w, const SanWave *sw, const Write *write, uint32_t scope, int is_write) {
    int is_local = write->group == (uint32_t)w->group->index;
    if (is_local && (write->writer == sw->index || is_met(sw, write->writer, write->epoch, write->number))) return 1;
    int is_cached = !is_write && scope != SCOPE_DEVICE;
    return san_ordered(w, sw, write->group, write->writer, write->number, write->scope != SCOPE_DEVICE, is_cached);
}

/* True if the order of the two does not matter: both access a flag, or the access begins a compare-and-swap. */
static int may_swap(const Wave *w, const SanOp *o, const Write *write, uint32_t scope) {
    int is_local = write->group == (uint32_t)w->group->index;
    int is_shared = write->scope == SCOPE_DEVICE && scope == SCOPE_DEVICE;
    if (write->scope && scope && is_flag(o) && (is_local || is_shared || san_is_near(w, write->group))) return 1;
    return write->scope && (o->flags & SAN_EXPECTS);
}

static int is_one(uint32_t waves) { return (waves & (waves - 1)) == 0; }

/* A cell, and the records beside it. */
typedef struct Place {
    Cell *cell;
    Write *before;         /* NULL: a cell of 16 bytes, which has none */
    uint32_t **reads;      /* [waves][cells] */
    Write **others;        /* [cells] */
    uint32_t index, cells; /* index in the page, and number of cells of the page */
} Place;

static Place place_of(Page *page, Cell *c) {
    return (Place){c, NULL, &page->reads, &page->others, (uint32_t)(c - page->cells), PAGE_CELLS};
}

static Place dword_of(Page *page, uint32_t index) {
    Dwords *d = page->dwords;
    return (Place){&d->cells[index], &d->before[index], &d->reads, &d->others, index, PAGE_DWORDS};
}

static uint32_t *reads_of(San *s, const Place *p) {
    size_t bytes = HK_WAVES * (size_t)p->cells * sizeof(uint32_t);
    if (*p->reads == NULL && s->memory_left >= bytes && (*p->reads = malloc(bytes)) != NULL) s->memory_left -= bytes;
    return *p->reads == NULL ? NULL : *p->reads + p->index;
}

/* Records that a wave reads a cell that `cell->readers` have read. */
static void note_read(San *s, const Place *p, uint32_t me, uint32_t number) {
    Cell *c = p->cell;
    uint32_t before = c->readers;
    c->readers |= (WaveMask)(1u << me);
    if ((before & ~(1u << me)) == 0) {
        c->read_number = number;
        return;
    }
    uint32_t *reads = reads_of(s, p);
    if (reads == NULL) return;
    if (is_one(before)) reads[(uint32_t)__builtin_ctz(before) * p->cells] = c->read_number;
    reads[me * p->cells] = number;
}

/* Number of a wave's newest read of a cell; if unknown, a number that nothing is ordered after. */
static uint32_t read_number(const Place *p, uint32_t wave) {
    if (is_one(p->cell->readers)) return p->cell->read_number;
    return *p->reads != NULL ? (*p->reads)[wave * p->cells + p->index] : NOBODY;
}

/* The read recorded beside a cell's newest ones, with no bytes if there is none; NULL: no memory for it. */
static Write *other_read(San *s, const Place *p, int make) {
    size_t bytes = p->cells * sizeof(Write);
    if (*p->others == NULL && make && s->memory_left >= bytes && (*p->others = calloc(1, bytes)) != NULL)
        s->memory_left -= bytes;
    return *p->others == NULL ? NULL : *p->others + p->index;
}

/* Keeps one of a cell's reads beside those that replace it: a wave that has read the cell itself may still race with it
 * by a write. If no wave is ordered with another, the read of any work-group other than `group` will do. */
static void keep_read(San *s, const Place *p, uint32_t group) {
    const Cell *c = p->cell;
    if (c->readers == 0) return;
    Write *kept = other_read(s, p, 1);
    if (kept == NULL || (!s->synced && kept->group != group && !(c->read_mask & ~kept->mask))) return;
    uint32_t wave = (uint32_t)__builtin_ctz(c->readers);
    *kept = (Write){
        .group = c->read_group,
        .epoch = c->read_epoch,
        .pc = c->read_pc,
        .number = read_number(p, wave),
        .mask = c->read_mask,
        .writer = (uint8_t)wave,
    };
}

/* True if a read is ordered before this wave's write. */
static int is_read_before(const Wave *w, const SanWave *sw, const Write *read) {
    int is_local = read->group == (uint32_t)w->group->index;
    if (is_local && (read->writer == sw->index || is_met(sw, read->writer, read->epoch, read->number))) return 1;
    return san_ordered(w, sw, read->group, read->writer, read->number, 0, 0);
}

/* A wave with a read of the cell that is not ordered before this wave's write; NOBODY if all are. */
static uint32_t reader_before(const Wave *w, const SanWave *sw, const Place *p) {
    const Cell *c = p->cell;
    int is_local = c->read_group == (uint32_t)w->group->index;
    for (uint32_t others = c->readers & (is_local ? ~(1u << sw->index) : ~0u); others; others &= others - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(others), number = read_number(p, other);
        if (is_local && is_met(sw, other, c->read_epoch, number)) continue;
        if (!san_ordered(w, sw, c->read_group, other, number, 0, 0)) return other;
    }
    return NOBODY;
}

/* Gives each dword of a cell its own cell; returns 0 if memory ran out. */
static int take_apart(San *s, Page *page, Cell *c) {
    if (page->dwords == NULL) {
        if (s->memory_left < sizeof(Dwords) || (page->dwords = malloc(sizeof(Dwords))) == NULL) return 0;
        s->memory_left -= sizeof(Dwords);
        page->dwords->reads = NULL;
        page->dwords->others = NULL;
    }
    Place whole = place_of(page, c);
    for (uint32_t n = 0; n < 4; n++) {
        uint16_t mask = (uint16_t)(0xf << 4 * n);
        Place part = dword_of(page, 4 * whole.index + n);
        *part.before = nothing.write;
        *part.cell = *c;
        part.cell->write.mask &= mask;
        part.cell->read_mask &= mask;
        if (part.cell->write.mask == 0) part.cell->write = nothing.write;
        if (part.cell->read_mask == 0) part.cell->read_group = NOBODY, part.cell->readers = 0;
        uint32_t *reads = is_one(part.cell->readers) ? NULL : reads_of(s, &part);
        for (uint32_t readers = part.cell->readers; reads != NULL && readers; readers &= readers - 1) {
            uint32_t wave = (uint32_t)__builtin_ctz(readers);
            reads[wave * part.cells] = read_number(&whole, wave);
        }
        const Write *other = other_read(s, &whole, 0);
        Write *kept = other_read(s, &part, other != NULL && (other->mask & mask));
        if (kept != NULL) {
            *kept = other != NULL ? *other : (Write){0};
            kept->mask &= mask;
        }
    }
    *c = nothing;
    c->write.group = APART;
    return 1;
}

/* One lane's access to its cells. */
typedef struct Lane {
    uint64_t address;
    uint32_t lane, scope;
    uint32_t number;        /* number of the access, by the wave's vmcnt */
    int is_write, is_noted; /* is_noted: recorded as a read */
} Lane;

static void check_write(Wave *w, const SanWave *sw, const SanOp *o, const Lane *a, const Write *write, uint16_t mask) {
    if (write->group == NOBODY || !(write->mask & mask) || is_before(w, sw, write, a->scope, a->is_write) ||
        may_swap(w, o, write, a->scope) || (a->is_write && same_value(w, o, a->address, a->lane)))
        return;
    san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, write->pc, (int32_t)a->lane, a->address, a->is_write ? 2 : 0,
              write->group, write->writer);
}

/* True if a write may be unordered with an access that swaps places with its successor. */
static int outlives(const Wave *w, const SanWave *sw, const Lane *a, const Write *write) {
    return write->group != NOBODY && (write->scope < a->scope || !is_before(w, sw, write, a->scope, 1));
}

/* Keeps the newest write beside the one that replaces it. */
static void keep_before(const Wave *w, const SanWave *sw, const Lane *a, const Place *p) {
    const Write *newest = &p->cell->write;
    uint32_t group = (uint32_t)w->group->index;
    if (!outlives(w, sw, a, newest)) return;
    /* A write of another work-group stays: a barrier does not order it with any access. */
    if (newest->group != group || p->before->group == NOBODY || p->before->group == group) *p->before = *newest;
}

static void cell_access(Wave *w, SanWave *sw, const SanOp *o, const Lane *a, const Place *p, uint16_t mask) {
    uint32_t group = (uint32_t)w->group->index, me = sw->index, epoch = sw->group->epoch;
    Cell *c = p->cell;
    Write *write = &c->write;
    check_write(w, sw, o, a, write, mask);
    if (p->before != NULL) check_write(w, sw, o, a, p->before, mask);
    if (a->is_write) {
        if (c->read_group != NOBODY && (c->read_mask & mask)) {
            uint32_t other = reader_before(w, sw, p);
            if (other != NOBODY && !same_value(w, o, a->address, a->lane))
                san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->read_pc, (int32_t)a->lane, a->address, 1, c->read_group,
                          other);
        }
        const Write *other = other_read(sw->group->san, p, 0);
        if (other != NULL && (other->mask & mask) && !is_read_before(w, sw, other) &&
            !same_value(w, o, a->address, a->lane))
            san_found(w, SAN_FOUND_RACE_GLOBAL, &o->op, other->pc, (int32_t)a->lane, a->address, 1, other->group,
                      other->writer);
        if (p->before != NULL) keep_before(w, sw, a, p);
        int same = write->group == group && write->writer == me && write->epoch == epoch && write->scope == a->scope;
        *write = (Write){
            .group = group,
            .epoch = epoch,
            .pc = (uint32_t)o->op.pc,
            .number = a->number,
            .mask = same ? write->mask | mask : mask,
            .writer = (uint8_t)me,
            .scope = (uint8_t)a->scope,
        };
    } else if (a->is_noted) {
        int is_same = c->read_group == group && c->read_epoch == epoch;
        if (!is_same || (c->readers != (1u << me) && c->read_mask != mask)) {
            if (is_same || c->read_group != group) keep_read(sw->group->san, p, group);
            c->readers = 0;
            c->read_mask = 0;
        }
        c->read_group = group;
        c->read_epoch = epoch;
        c->read_pc = (uint32_t)o->op.pc;
        note_read(sw->group->san, p, me, a->number);
        c->read_mask |= mask;
    }
}

/* True if a cell of 16 bytes would lose a write that later accesses may be unordered with. */
static int forgets(const Wave *w, const SanWave *sw, const SanOp *o, const Lane *a, const Cell *c, uint16_t mask) {
    const Write *write = &c->write;
    if (!a->is_write || write->group == NOBODY) return 0;
    int mine = write->group == (uint32_t)w->group->index && write->writer == sw->index;
    if (mine && write->epoch == sw->group->epoch && write->scope == a->scope) return 0;
    return (write->mask & ~mask) || (a->scope && outlives(w, sw, a, write));
}

HK_INLINE void global_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes, unsigned lane,
                             int is_write, uint32_t scope) {
    San *s = sw->group->san;
    /* A hostcall packet belongs to the wave that popped it from a stack, and to the next wave after it was pushed
     * again. */
    if (address - w->group->machine->hostcalls < w->group->machine->hostcalls_bytes) return;
    uint32_t group = (uint32_t)w->group->index, me = sw->index;
    Lane a = {
        .address = address,
        .lane = lane,
        .scope = scope,
        .number = sw->vm_issued + (o->space != SAN_SMEM || sw->vm_issued == 0),
        .is_write = is_write,
        .is_noted = !(o->flags & SAN_EXPECTS) && !(scope && is_flag(o)),
    };
    uint64_t end = address + bytes;
    for (uint64_t granule = address >> 4; granule << 4 < end; granule++) {
        Page *page = page_of(s, granule >> (PAGE_SHIFT - 4));
        if (page == NULL) return;
        Cell *c = &page->cells[granule & (PAGE_CELLS - 1)];
        uint32_t first = granule << 4 < address ? (uint32_t)(address & 15) : 0;
        uint32_t last = (granule << 4) + 16 > end ? (uint32_t)(end - (granule << 4)) : 16;
        uint16_t mask = (uint16_t)((0xffffu >> (16 - (last - first))) << first);
        if ((is_write || a.is_noted) && again(c, group, me, sw->group->epoch, mask, scope, is_write)) {
            if (is_write) {
                c->write.pc = (uint32_t)o->op.pc;
                c->write.number = a.number;
            } else
                c->read_number = a.number;
            continue;
        }
        Place whole = place_of(page, c);
        if (c->write.group != APART && (!forgets(w, sw, o, &a, c, mask) || !take_apart(s, page, c))) {
            cell_access(w, sw, o, &a, &whole, mask);
            continue;
        }
        for (uint32_t n = first / 4; n * 4 < last; n++) {
            Place part = dword_of(page, 4 * whole.index + n);
            cell_access(w, sw, o, &a, &part, mask & (uint16_t)(0xf << 4 * n));
        }
    }
}

/* Where one L2 serves the device, atomic stores have no scope, so a store to a single address may be one. */
static int is_one_place(const SanOp *o, uint64_t lanes, const uint64_t *at) {
    uint64_t first = at[hk_first_lane(lanes)];
    HK_FOR_LANES(lane, lanes) {
        if (at[lane] != first) return 0;
    }
    return 1;
}

void san_object(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane) {
    const San *s = ((const SanWave *)w->san)->group->san;
    uint64_t base = w->code_base + o->imm, low = 0, high = s->object_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->objects[middle].base <= base)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || base >= s->objects[low - 1].end) return;
    const SanObject *object = &s->objects[low - 1];
    int is_in = address >= object->base && address + bytes <= object->end;
    san_found(w, is_in ? SAN_FOUND_WITHIN : SAN_FOUND_OBJECT, &o->op, ~0ull, lane, address, object->base, 0, 0);
}

/* Reports an access to the padding after an allocation. */
void san_check_past(Wave *w, const SanOp *o, uint64_t lo, uint32_t bytes, int is_write, int32_t lane) {
    const Allocation *a = hk_allocation_before(w->group->machine, lo);
    if (a == NULL || !hk_ends_past(a, lo + bytes, is_write)) return;
    uint64_t detail = lo + bytes - a->end;
    san_found(w, SAN_FOUND_PAST, &o->op, ~0ull, lane, a->base, detail | (is_write ? SAN_FAULT_WRITES : 0), 0, 0);
}

/* The lanes of `lanes` inside an allocation; for an atomic, a part of the dword suffices. The operation itself reports
 * the others, which are ignored from here on. */
uint64_t san_inside(Wave *w, const SanOp *o, uint64_t lanes, const uint64_t *at) {
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    int is_atomic = (o->flags & (SAN_ATOMIC | SAN_EXPECTS)) && o->bytes <= 4;
    uint64_t low = ~0ull, high = 0, found = lanes;
    HK_FOR_LANES(lane, lanes) {
        low = at[lane] < low ? at[lane] : low;
        high = at[lane] > high ? at[lane] : high;
    }
    if (lanes == 0) return 0;
    /* An access that is allowed but not inside the last allocation ends in the padding after one. */
    if (hk_allowed(w, low, high + o->bytes, is_write) && low >= w->hit_base && high + o->bytes <= w->hit_end)
        return lanes;
    HK_FOR_LANES(lane, lanes) {
        san_check_past(w, o, at[lane], o->bytes, is_write, (int32_t)lane);
        if (hk_allowed(w, at[lane], at[lane] + o->bytes, is_write)) continue;
        if (!is_atomic || !hk_bits_past_end(w, at[lane])) found &= ~(1ull << lane);
    }
    return found;
}

void san_global_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at) {
    if (lanes == 0) return;
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    uint32_t scope = scope_of(o);
    if (w->group->machine->dies == 1 && (o->flags & SAN_STORE) && is_flag(o) && is_one_place(o, lanes, at))
        scope = SCOPE_DEVICE;
    /* With several dies and CU mode alone (gfx1250), those of a work-group's scope are. */
    if (HK_COPIES && scope == SCOPE_WAVE && (o->flags & SAN_STORE) && is_flag(o) && is_one_place(o, lanes, at))
        scope = SCOPE_GROUP;
    /* An atomic reads before it writes. */
    if (scope && is_flag(o) && (o->flags & SAN_LOAD)) {
        HK_FOR_LANES(lane, lanes) san_global_learn(w, sw, at[lane], scope, sw->vm_issued + 1);
    }
    if (sw->group->san->heap_end) {
        HK_FOR_LANES(lane, lanes) san_heap(w, o, at[lane], o->bytes, (int32_t)lane);
    }
    if (o->imm) {
        HK_FOR_LANES(lane, lanes) san_object(w, o, at[lane], o->bytes, (int32_t)lane);
    }
    HK_FOR_LANES(lane, lanes) global_access(w, sw, o, at[lane], o->bytes, lane, is_write, scope);
    if (scope && is_flag(o) && is_write) san_release_global(w, sw, at, lanes, scope, (o->flags & SAN_ATOMIC) != 0);
}

void san_global_scalar(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes) {
    if (sw->group->san->heap_end) san_heap(w, o, address, bytes, -1);
    if (o->imm) san_object(w, o, address, bytes, -1);
    global_access(w, sw, o, address, bytes, ~0u, 0, SCOPE_WAVE);
}

void san_global_row(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes) {
    int is_write = (o->flags & SAN_STORE) != 0;
    if (!hk_allowed(w, address, address + bytes, is_write)) return;
    global_access(w, sw, o, address, bytes, ~0u, is_write, SCOPE_WAVE);
}
