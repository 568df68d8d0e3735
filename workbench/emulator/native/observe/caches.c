/* A model of the caches between compute units and memory: replays the lines that a launch touched.
 *
 * Work-groups go to the XCDs in turn, as the hardware dispatches them. Each XCD runs as many at once as fit its compute
 * units, and starts its next one when one ends. All resident waves advance in step, one turn at a time; a turn is the
 * memory instructions up to the next one before which the wave has waited, since a SIMD continues with the same wave as
 * long as it can issue. A barrier holds a wave until the others of its work-group reach it (traffic.c). So the order is
 * the same for any number of host threads. All caches start empty, except that with `rounds` the Infinity Cache starts
 * with the content that the launch before left: between launches L1 and L2 lose everything (the acquire at a kernel's
 * start invalidates lines that another die's L2 may have changed; LLVM's "User Guide for AMDGPU", memory model of
 * gfx942), while the cache beside memory loses nothing.
 *
 * L1 (one per compute unit): reads allocate; writes go through and allocate nothing. L2 (one per XCD): write-back; a
 * write allocates without a fetch and records which 32-byte sectors are valid; dirty sectors are written back at the
 * end. The Infinity Cache is shared by all XCDs. All are set-associative with least-recently-used replacement. With
 * sampling only a fraction of the lines is replayed, chosen by a hash of the address, in caches that are smaller by the
 * same factor (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015).
 */
#include "observe/traffic.h"

#include <stdlib.h>

/* An entry: line in bits 40:0, valid sectors in 44:41, dirty sectors in 48:45, bit 63 set if it is in use. */
#define PRESENT (1ull << 63)
#define LINE_MASK ((1ull << 41) - 1)
#define HAS(e) ((uint32_t)((e) >> 41) & 15)
#define DIRTY(e) ((uint32_t)((e) >> 45) & 15)

typedef struct Cache {
    uint64_t *entries; /* [sets][ways], most recently used first */
    uint64_t sets;
    uint32_t ways;
    uint32_t sampling;
} Cache;

static int make_cache(Cache *c, uint64_t bytes, uint32_t ways, uint32_t sampling) {
    uint64_t lines = (bytes >> HK_LINE_SHIFT) >> sampling;
    if (lines == 0) lines = 1;
    c->ways = ways < lines ? ways : (uint32_t)lines;
    c->sets = lines / c->ways;
    c->sampling = sampling;
    c->entries = calloc(c->sets * c->ways, sizeof *c->entries);
    return c->entries != NULL;
}

/* Finds the line's entry and moves it to the front of its set. On a miss with `allocate` it is a new empty entry, and
 * `evicted` gets the one that it replaces. */
static uint64_t *find(Cache *c, uint64_t line, int allocate, int *hit, uint64_t *evicted) {
    uint64_t place = c->sampling ? hk_mixed(line) >> c->sampling : hk_fold(line);
    uint64_t *set = c->entries + place % c->sets * c->ways;
    uint32_t i = 0;
    while (i < c->ways && set[i] != 0 && (set[i] & LINE_MASK) != line) i++;
    *hit = i < c->ways && set[i] != 0;
    *evicted = 0;
    if (!*hit) {
        if (!allocate) return NULL;
        if (i == c->ways) *evicted = set[--i];
    }
    uint64_t entry = *hit ? set[i] : PRESENT | line;
    memmove(set + 1, set, i * sizeof *set);
    set[0] = entry;
    return set;
}

typedef struct RunWave {
    const uint64_t *next, *end;
    const uint32_t *sites; /* instruction of each event, ending where `end` does */
    uint64_t due;          /* turn of the wave's next event */
} RunWave;

typedef struct Slot {
    RunWave waves[HK_MAX_WAVES];
    uint64_t due; /* smallest `due` of its waves */
    uint32_t unit;
    uint32_t live;
} Slot;

typedef struct Model {
    const HkReplay *r;
    const HkStream **streams; /* [group][wave] */
    Cache *l1;                /* [xcd][unit] */
    Cache *l2;                /* [xcd] */
    Cache mall;
    Slot *slots; /* [xcd][slots_per_xcd] */
    uint64_t slots_per_xcd;
    uint64_t *dispatched; /* [xcd] number of work-groups dispatched to it */
} Model;

static uint32_t halves(uint32_t sectors) { return ((sectors & 3) != 0) + ((sectors & 12) != 0); }

/* Indices of levels in HkReplay.levels. */
enum { LEVEL_L1, LEVEL_L2, LEVEL_MALL, LEVEL_HBM };

/* Reads a line through the Infinity Cache; returns the level that has it. */
static int fabric_read(Model *m, HkCacheCounts *c, uint64_t line) {
    int hit;
    uint64_t evicted;
    uint64_t *entry = find(&m->mall, line, 1, &hit, &evicted);
    /* A line of which L2 has only some sectors is not valid. */
    hit = hit && HAS(*entry) == 15;
    *entry |= 15ull << 41;
    c->fabric_reads++;
    *(hit ? &c->mall_read_hits : &c->mall_read_misses) += 1;
    return hit ? LEVEL_MALL : LEVEL_HBM;
}

static void fabric_write(Model *m, HkCacheCounts *c, uint64_t from) {
    uint32_t dirty = DIRTY(from);
    if (dirty == 0) return;
    int hit;
    uint64_t evicted;
    uint64_t *entry = find(&m->mall, from & LINE_MASK, 1, &hit, &evicted);
    /* Each sector is written to HBM once, when its line is evicted or at the end. */
    c->memory_bytes_written += 32u * (uint32_t)__builtin_popcount(dirty & ~DIRTY(*entry));
    *entry |= (uint64_t)dirty << 41 | (uint64_t)dirty << 45;
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t part = dirty >> 2 * half & 3;
        if (part == 3) c->fabric_writes_64++;
        if (part == 1 || part == 2) c->fabric_writes_32++;
    }
}

static int touch_l2(Model *m, uint32_t xcd, uint64_t line, uint32_t sectors, uint32_t kind) {
    int level = LEVEL_L2;
    HkCacheCounts *c = &m->r->counts[xcd];
    int hit;
    uint64_t evicted;
    uint64_t *entry = find(&m->l2[xcd], line, 1, &hit, &evicted);
    if (evicted) fabric_write(m, c, evicted);
    uint32_t requests = 1;
    if (kind == HK_LINE_WRITE || kind == HK_LINE_ATOMIC) {
        requests = halves(sectors);
        *(kind == HK_LINE_WRITE ? &c->l2_writes : &c->l2_atomics) += requests;
        if (kind == HK_LINE_ATOMIC && (HAS(*entry) & sectors) != sectors) {
            hit = 0;
            level = fabric_read(m, c, line);
            *entry |= 15ull << 41;
        }
        *entry |= (uint64_t)sectors << 41 | (uint64_t)sectors << 45;
    } else {
        hit = hit && (HAS(*entry) & sectors) == sectors;
        c->l2_reads++;
        c->l2_read_hits += (uint64_t)hit;
        if (!hit) {
            level = fabric_read(m, c, line);
            *entry |= 15ull << 41;
        }
    }
    *(hit ? &c->l2_hits : &c->l2_misses) += requests;
    return level;
}

static int touch(Model *m, uint32_t xcd, uint32_t unit, uint64_t event) {
    uint64_t line = HK_EVENT_LINE(event);
    uint32_t kind = HK_EVENT_KIND(event);
    if (kind == HK_LINE_READ) {
        HkCacheCounts *c = &m->r->counts[xcd];
        int hit;
        uint64_t evicted;
        find(&m->l1[(size_t)xcd * m->r->units + unit], line, 1, &hit, &evicted);
        c->l1_reads++;
        c->l1_read_hits += (uint64_t)hit;
        if (hit) return LEVEL_L1;
        /* L1 requests the whole line from L2. */
        return touch_l2(m, xcd, line, 15, kind);
    }
    return touch_l2(m, xcd, line, kind == HK_LINE_READ_PAST_L1 ? 15 : HK_EVENT_SECTORS(event), kind);
}

/* Skips events that are not sampled, adding up their delays. */
static int settle(const Model *m, RunWave *w) {
    while (w->next < w->end) {
        w->due += HK_EVENT_DELAY(*w->next);
        if (hk_sampled(HK_EVENT_LINE(*w->next), m->r->sampling)) return 1;
        w->next++;
    }
    return 0;
}

/* Puts the XCD's next work-group that touches memory into the slot; returns 0 if there is none. */
static int fill_slot(Model *m, uint32_t xcd, Slot *slot, uint64_t tick) {
    const HkReplay *r = m->r;
    for (;;) {
        uint64_t position = m->dispatched[xcd] * r->xcds + xcd;
        slot->live = 0;
        if (position >= r->group_total) return 0;
        m->dispatched[xcd]++;
        uint64_t group = r->order != NULL ? r->order[position] : position;
        slot->due = ~0ull;
        for (uint32_t i = 0; i < r->waves; i++) {
            const HkStream *s = m->streams[group * r->waves + i];
            RunWave *w = &slot->waves[i];
            w->next = s != NULL ? s->events : NULL;
            w->end = s != NULL ? s->events + s->count : NULL;
            w->sites = s != NULL ? s->sites + s->count : NULL;
            w->due = tick;
            if (!settle(m, w)) continue;
            slot->live = 1;
            if (w->due < slot->due) slot->due = w->due;
        }
        if (slot->live) return 1;
    }
}

static void step(Model *m, uint32_t xcd, Slot *slot, uint64_t tick) {
    uint64_t due = ~0ull;
    slot->live = 0;
    for (uint32_t i = 0; i < m->r->waves; i++) {
        RunWave *w = &slot->waves[i];
        while (w->next < w->end && w->due <= tick) {
            int level = touch(m, xcd, slot->unit, *w->next);
            if (m->r->levels != NULL) m->r->levels[(size_t)w->sites[w->next - w->end] * HK_LEVELS + (size_t)level]++;
            w->next++;
            if (!settle(m, w)) break;
        }
        if (w->next >= w->end) continue;
        slot->live = 1;
        if (w->due < due) due = w->due;
    }
    slot->due = due;
    if (!slot->live) fill_slot(m, xcd, slot, tick + 1);
}

static void run(Model *m) {
    const HkReplay *r = m->r;
    for (uint64_t s = 0; s < m->slots_per_xcd; s++)
        for (uint32_t xcd = 0; xcd < r->xcds; xcd++) {
            Slot *slot = &m->slots[xcd * m->slots_per_xcd + s];
            slot->unit = (uint32_t)(s % r->units);
            fill_slot(m, xcd, slot, 0);
        }
    for (;;) {
        uint64_t tick = ~0ull;
        for (uint64_t s = 0; s < m->slots_per_xcd * r->xcds; s++)
            if (m->slots[s].live && m->slots[s].due < tick) tick = m->slots[s].due;
        if (tick == ~0ull) break;
        for (uint32_t xcd = 0; xcd < r->xcds; xcd++)
            for (uint64_t s = 0; s < m->slots_per_xcd; s++) {
                Slot *slot = &m->slots[xcd * m->slots_per_xcd + s];
                if (slot->live && slot->due <= tick) step(m, xcd, slot, tick);
            }
    }
    for (uint32_t xcd = 0; xcd < r->xcds; xcd++)
        for (uint64_t i = 0; i < m->l2[xcd].sets * m->l2[xcd].ways; i++)
            fabric_write(m, &r->counts[xcd], m->l2[xcd].entries[i]);
}

static void empty(Cache *c) { memset(c->entries, 0, c->sets * c->ways * sizeof *c->entries); }

/* Prepares another round of the launch: only the Infinity Cache keeps its contents. */
static void start_again(Model *m) {
    const HkReplay *r = m->r;
    for (uint64_t i = 0; i < (uint64_t)r->xcds * r->units; i++) empty(&m->l1[i]);
    for (uint32_t i = 0; i < r->xcds; i++) empty(&m->l2[i]);
    memset(m->dispatched, 0, r->xcds * sizeof *m->dispatched);
    memset(r->counts, 0, r->xcds * sizeof *r->counts);
    if (r->levels != NULL) memset(r->levels, 0, r->site_count * HK_LEVELS * sizeof *r->levels);
}

static int prepare(Model *m) {
    const HkReplay *r = m->r;
    uint64_t per_xcd = (r->group_total + r->xcds - 1) / r->xcds, room = (uint64_t)r->units * r->groups_per_unit;
    m->slots_per_xcd = per_xcd < room ? per_xcd : room;
    m->streams = calloc(r->group_total * r->waves, sizeof *m->streams);
    m->l1 = calloc((size_t)r->xcds * r->units, sizeof *m->l1);
    m->l2 = calloc(r->xcds, sizeof *m->l2);
    m->slots = calloc(m->slots_per_xcd * r->xcds, sizeof *m->slots);
    m->dispatched = calloc(r->xcds, sizeof *m->dispatched);
    if (!m->streams || !m->l1 || !m->l2 || !m->slots || !m->dispatched) return 0;
    for (uint64_t i = 0; i < (uint64_t)r->xcds * r->units; i++)
        if (!make_cache(&m->l1[i], r->l1_bytes, r->l1_ways, r->sampling)) return 0;
    for (uint32_t i = 0; i < r->xcds; i++)
        if (!make_cache(&m->l2[i], r->l2_bytes, r->l2_ways, r->sampling)) return 0;
    if (!make_cache(&m->mall, r->mall_bytes, r->mall_ways, r->sampling)) return 0;
    for (uint64_t i = 0; i < r->recorder_count; i++)
        for (const HkStream *s = r->recorders[i]->streams; s != NULL; s = s->next)
            if (s->group < r->group_total && s->wave < r->waves) m->streams[s->group * r->waves + s->wave] = s;
    return 1;
}

/* Fills `counts`, which must be zeroed; returns 0 if memory ran out. */
HK_EXPORT int32_t hk_replay(const HkReplay *r) {
    Model m = {.r = r};
    int done = prepare(&m);
    for (uint32_t round = 0; done && round < r->rounds; round++) {
        if (round) start_again(&m);
        run(&m);
    }
    if (m.l1 != NULL)
        for (uint64_t i = 0; i < (uint64_t)r->xcds * r->units; i++) free(m.l1[i].entries);
    if (m.l2 != NULL)
        for (uint32_t i = 0; i < r->xcds; i++) free(m.l2[i].entries);
    free(m.mall.entries);
    free(m.streams);
    free(m.l1);
    free(m.l2);
    free(m.slots);
    free(m.dispatched);
    return done;
}
