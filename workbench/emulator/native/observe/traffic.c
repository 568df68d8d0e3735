/* Records a launch's memory traffic; see traffic.h. */
#include "observe/traffic.h"

#include <stdlib.h>

void hk_traffic_start(HkTraffic *t, Group *g, Wave *waves) {
    for (uint32_t i = 0; i < g->wave_count; i++) {
        waves[i].stream = NULL;
        if (!t->keep_lines) continue;
        HkStream *s = calloc(1, sizeof *s);
        if (s == NULL) {
            t->failed = 1;
            continue;
        }
        s->group = g->index;
        s->wave = i;
        s->next = t->streams;
        if (s->next != NULL) s->next->previous = s;
        t->streams = s;
        waves[i].stream = s;
    }
}

static void drop(HkTraffic *t, HkStream *s) {
    if (s->previous != NULL)
        s->previous->next = s->next;
    else
        t->streams = s->next;
    if (s->next != NULL) s->next->previous = s->previous;
    free(s->events);
    free(s->sites);
    free(s);
}

/* Makes room for `room` events; 0 if memory ran out. */
static int resize(HkStream *s, uint32_t room) {
    uint64_t *events = realloc(s->events, (size_t)room * sizeof *events);
    if (events != NULL) s->events = events;
    uint32_t *sites = realloc(s->sites, (size_t)room * sizeof *sites);
    if (sites != NULL) s->sites = sites;
    if (events == NULL || sites == NULL) return 0;
    s->capacity = room;
    return 1;
}

static void fit(HkStream *s) {
    if (s->count == s->capacity || s->count == 0) return;
    resize(s, (uint32_t)s->count);
}

/* Releases unused memory when a work-group ends, since launches have many. */
void hk_traffic_end(HkTraffic *t, const Group *g, Wave *waves) {
    for (uint32_t i = 0; i < g->wave_count; i++) {
        HkStream *s = waves[i].stream;
        waves[i].stream = NULL;
        if (s == NULL) continue;
        s->ended = 1;
        if (s->count == 0)
            drop(t, s);
        else
            fit(s);
    }
}

/* Waves that met at a barrier continue together: a wave with fewer turns has waited for the others, except for those
 * that have ended. */
void hk_traffic_barrier(const Group *g, Wave *waves) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < g->wave_count; i++)
        if (waves[i].state == HK_WAVE_WAITING && waves[i].stream != NULL && waves[i].stream->clock > most)
            most = waves[i].stream->clock;
    for (uint32_t i = 0; i < g->wave_count; i++)
        if (waves[i].state == HK_WAVE_WAITING && waves[i].stream != NULL) waves[i].stream->clock = most;
}

static HkSite *site_of(HkTraffic *t, const Op *op) {
    uint64_t index = (op->pc - t->text) / 4;
    return index < t->site_count ? &t->sites[index] : NULL;
}

/* Drops events that are not sampled, adding their delays to the next. */
static void thin(HkTraffic *t, uint32_t sampling) {
    t->sampling = sampling;
    t->events = 0;
    for (HkStream *s = t->streams, *next; s != NULL; s = next) {
        next = s->next;
        uint64_t kept = 0, delay = 0;
        for (uint64_t i = 0; i < s->count; i++) {
            uint64_t e = s->events[i];
            delay += HK_EVENT_DELAY(e);
            if (!hk_sampled(HK_EVENT_LINE(e), sampling)) continue;
            uint64_t shown = delay < 0xffff ? delay : 0xffff;
            s->sites[kept] = s->sites[i];
            s->events[kept++] = (e & ((1ull << 48) - 1)) | shown << 48;
            delay = 0;
        }
        s->count = kept;
        s->last -= delay < s->last ? delay : s->last;
        if (kept > 0) t->events += kept + HK_STREAM_COST;
        if (s->ended && kept == 0)
            drop(t, s);
        else
            fit(s);
    }
}

static void append(HkTraffic *t, HkStream *s, uint32_t site, uint64_t line, uint32_t sectors, uint32_t kind) {
    if (!hk_sampled(line, t->sampling)) return;
    if (s->count == s->capacity && !resize(s, s->capacity ? s->capacity * 2 : 8)) {
        t->failed = 1;
        return;
    }
    uint64_t delay = s->clock - s->last;
    s->last = s->clock;
    if (delay > 0xffff) delay = 0xffff;
    t->events += s->count == 0 ? 1 + HK_STREAM_COST : 1;
    s->sites[s->count] = site;
    s->events[s->count++] = line | (uint64_t)sectors << 41 | (uint64_t)kind << 45 | delay << 48;
}

static void own(const HkTraffic *t, uint64_t group, const uint64_t *at, uint64_t exec, uint32_t bytes) {
    for (uint64_t o = 0; o < t->owner_count; o++) {
        const HkOwners *range = &t->owners[o];
        for (uint64_t left = exec; left != 0; left &= left - 1) {
            uint64_t from = at[__builtin_ctzll(left)], to = from + bytes;
            if (from < range->base) from = range->base;
            if (to > range->end) to = range->end;
            for (uint64_t e = from; e < to;) {
                uint64_t index = (e - range->base) / range->element;
                uint32_t *owner = &range->owner[index];
                /* The highest one wins, whichever thread is faster. */
                uint32_t seen = __atomic_load_n(owner, __ATOMIC_RELAXED), mine = (uint32_t)group + 1;
                while (seen < mine &&
                       !__atomic_compare_exchange_n(owner, &seen, mine, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                }
                e = range->base + (index + 1) * range->element;
            }
        }
    }
}

void hk_traffic_lanes(Wave *w, const Op *op, const uint64_t *at, const uint64_t *placed, uint64_t exec, uint32_t bytes,
                      int is_write) {
    HkTraffic *t = w->group->traffic;
    uint64_t lines[2 * HK_LANES];
    uint8_t sectors[2 * HK_LANES];
    uint32_t count = 0;
    for (uint64_t left = exec; left != 0; left &= left - 1) {
        uint64_t start = placed[__builtin_ctzll(left)], last = start + bytes - 1;
        for (uint64_t line = start >> HK_LINE_SHIFT; line <= last >> HK_LINE_SHIFT; line++) {
            uint64_t base = line << HK_LINE_SHIFT;
            unsigned first_sector = start > base ? (unsigned)(start - base) / 32 : 0;
            unsigned last_sector = last < base + 127 ? (unsigned)(last - base) / 32 : 3;
            uint32_t i = count;
            /* Neighbouring lanes mostly share lines, so search from the newest back. */
            while (i > 0 && lines[i - 1] != line) i--;
            if (i == 0) {
                lines[count] = line;
                sectors[count] = 0;
                i = ++count;
            }
            sectors[i - 1] |= (uint8_t)((2u << last_sector) - (1u << first_sector));
        }
    }
    HkSite *site = site_of(t, op);
    uint32_t kind = 0, at_once = 0;
    if (site != NULL) {
        site->bytes += (uint64_t)__builtin_popcountll(exec) * bytes;
        site->line_bytes += (uint64_t)count << HK_LINE_SHIFT;
        for (uint32_t i = 0; i < count; i++) site->accesses += ((sectors[i] & 3) != 0) + ((sectors[i] & 12) != 0);
        kind = t->kinds[(op->pc - t->text) / 4];
        at_once = kind & HK_LINE_AT_ONCE;
        kind &= ~(uint32_t)HK_LINE_AT_ONCE;
    }
    if (is_write && t->owner_count) own(t, w->group->index, at, exec, bytes);
    HkStream *s = w->stream;
    if (s == NULL) return;
    if (kind == HK_LINE_READ && is_write) kind = HK_LINE_WRITE;
    s->clock += !at_once;
    for (uint32_t i = 0; i < count; i++) append(t, s, (uint32_t)((op->pc - t->text) / 4), lines[i], sectors[i], kind);
    while (t->events > t->limit && t->sampling < HK_MAX_SAMPLING) thin(t, t->sampling + 1);
}

void hk_traffic_lds(Wave *w, const Op *op, uint64_t cycles, uint64_t conflicts, uint64_t bytes) {
    HkSite *site = site_of(w->group->traffic, op);
    if (site == NULL) return;
    site->lds_cycles += cycles;
    site->lds_bank_conflict += conflicts;
    site->lds_bytes += bytes;
}

/* Number of events left with a sampling, which may not be finer than the recorder's. */
HK_EXPORT uint64_t hk_traffic_events(const HkTraffic *t, uint32_t sampling) {
    uint64_t count = 0;
    for (const HkStream *s = t->streams; s != NULL; s = s->next) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < s->count; i++) kept += (uint64_t)hk_sampled(HK_EVENT_LINE(s->events[i]), sampling);
        if (kept > 0) count += kept + HK_STREAM_COST;
    }
    return count;
}

HK_EXPORT void hk_traffic_release_streams(HkTraffic *t) {
    while (t->streams != NULL) {
        HkStream *next = t->streams->next;
        free(t->streams->events);
        free(t->streams->sites);
        free(t->streams);
        t->streams = next;
    }
    t->events = 0;
}
