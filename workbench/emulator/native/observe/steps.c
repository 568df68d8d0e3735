/* See steps.h. */
#include "observe/steps.h"

#include <stdlib.h>

void hk_steps_start(HkSteps *s, Group *g, Wave *waves) {
    for (uint32_t i = 0; i < g->wave_count; i++) {
        HkWay *way = calloc(1, sizeof *way);
        waves[i].way = way;
        if (way == NULL) {
            __atomic_store_n(&s->failed, 1, __ATOMIC_RELAXED);
            continue;
        }
        way->group = g->index;
        way->wave = i;
        way->keep = s->keep[g->index];
        way->hash = g->wave_count;
    }
}

void hk_steps_end(HkSteps *s, const Group *g, Wave *waves) {
    uint64_t hash = 0, blocks = 0;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        HkWay *way = waves[i].way;
        waves[i].way = NULL;
        if (way == NULL) continue;
        hash = (hash ^ way->hash) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
        blocks += way->blocks;
        if (way->keep) {
            way->next = __atomic_load_n(&s->ways, __ATOMIC_RELAXED);
            while (!__atomic_compare_exchange_n(&s->ways, &way->next, way, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            }
        } else
            free(way);
    }
    s->hashes[g->index] = hash;
    s->blocks[g->index] = blocks;
}

void hk_steps_put(HkWay *way, uint64_t step) {
    if (way->count == way->room) {
        uint64_t room = way->room ? way->room * 2 : 64;
        uint64_t *larger = way->count < HK_MOST_STEPS ? realloc(way->steps, room * sizeof *larger) : NULL;
        if (larger == NULL) {
            way->cut = 1;
            way->keep = 2; /* stopped: no more steps are added, but those recorded remain */
            return;
        }
        way->steps = larger;
        way->room = room;
    }
    way->steps[way->count++] = step;
}

static uint64_t most(uint64_t value, unsigned bits) {
    uint64_t limit = (1ull << bits) - 1;
    return value < limit ? value : limit;
}

void hk_steps_cost(Wave *w, const Op *op, uint32_t lds_cycles, uint32_t lines, uint32_t turns, uint32_t bytes) {
    HkWay *way = w->way;
    if (way == NULL || way->keep != 1) return;
    uint64_t place = (op->pc - w->group->steps->text) / 4;
    if (way->count > way->block_at && HK_STEP_PLACE(way->steps[way->count - 1]) == place) {
        uint64_t before = way->steps[--way->count];
        lds_cycles += HK_STEP_LDS(before);
        lines += HK_STEP_LINES(before);
        turns += HK_STEP_TURNS(before);
        bytes += HK_STEP_BYTES(before) * 8;
    }
    hk_steps_put(way, HK_STEP_COST | place | most(lds_cycles, 12) << 20 | most(lines, 9) << 32 | most(turns, 9) << 41 |
                          most((bytes + 7) / 8, 9) << 50);
}

HK_EXPORT void hk_steps_free(HkSteps *s) {
    while (s->ways != NULL) {
        HkWay *next = s->ways->next;
        free(s->ways->steps);
        free(s->ways);
        s->ways = next;
    }
}

/* Steps of one wave, and their number; NULL if none were recorded. */
HK_EXPORT const uint64_t *hk_steps_of(const HkSteps *s, uint64_t group, uint32_t wave, uint64_t *count, uint32_t *cut) {
    for (const HkWay *way = s->ways; way != NULL; way = way->next)
        if (way->group == group && way->wave == wave) {
            *count = way->count;
            *cut = way->cut;
            return way->steps;
        }
    *count = 0;
    return NULL;
}
