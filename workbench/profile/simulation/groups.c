/* Start and end of work-groups: places of their waves on the SIMDs, and barriers. */
#include "machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiples of it, modulo 1, are spread evenly over the waves. */
#define GOLDEN 0.6180339887498949

int sim_prepare_unit(Unit *u) {
    SimRun *r = u->run;
    u->places = calloc(r->resident, sizeof *u->places);
    if (u->places == NULL) return 0;
    for (uint32_t k = 0; k < r->resident; k++) {
        u->places[k].waves = calloc(r->waves, sizeof(SimWave));
        if (u->places[k].waves == NULL) return 0;
    }
    u->accumulated = calloc((size_t)r->op_count * SIM_LEVELS, sizeof *u->accumulated);
    u->scalar_at = calloc((size_t)r->scalar_lines + 1, sizeof *u->scalar_at);
    for (uint32_t i = 0; i < SIM_LEVELS; i++) u->share_free[i] = UNUSED;
    u->atomic_free = UNUSED;
    for (uint32_t i = 0; i < SIM_SIMDS; i++) u->simds[i].look = FOREVER;
    return u->accumulated != NULL && u->scalar_at != NULL && sim_prepare_fetch(u);
}

void sim_release_unit(Unit *u) {
    if (u->places != NULL)
        for (uint32_t k = 0; k < u->run->resident; k++) free(u->places[k].waves);
    free(u->places);
    free(u->accumulated);
    free(u->scalar_at);
    free(u->fetched);
}

static void start_wave(Unit *u, Place *p, SimWave *w, uint32_t index, double now) {
    const SimRun *r = u->run;
    uint32_t best = 0;
    for (uint32_t i = 1; i < SIM_SIMDS; i++)
        if (u->simds[i].waves < u->simds[best].waves) best = i;
    u->dispatched = u->dispatched + r->dispatch > now ? u->dispatched + r->dispatch : now;
    memset(w, 0, sizeof *w);
    w->way = &r->ways[index];
    w->place = p;
    w->index = index;
    w->chance = fmod((index + 0.5) * GOLDEN, 1);
    w->simd = best;
    w->live = 1;
    w->start = w->free = w->since = sim_on_turn(u, best, u->dispatched);
    w->hold = w->reason = SIM_ISSUE;
    w->fetched = w->start + u->m->wave_start;
    w->cause = w->blame = w->held_by = w->fetched_by = -1;
    while (w->step < w->way->count && w->way->steps[w->step].block < 0) w->step++;
    uint32_t block = (uint32_t)w->way->steps[w->step++].block;
    w->op = r->block_first[block];
    w->block_end = r->block_first[block + 1];
    r->results[index] = (SimWaveResult){.group = p->group, .wave = index % r->waves, .simd = best, .start = w->start};
    SimWave **end = &u->simds[best].oldest;
    while (*end != NULL) end = &(*end)->younger;
    *end = w;
    u->simds[best].waves++;
    p->live++;
    sim_look(u, best, w->start);
}

/* Gives free places to the next work-groups. */
void sim_start_groups(Unit *u, double now) {
    SimRun *r = u->run;
    for (uint32_t k = 0; k < r->resident && u->next_group < r->group_count; k++) {
        Place *p = &u->places[k];
        if (p->used) continue;
        p->group = u->next_group++;
        p->used = 1;
        p->live = p->arrived = 0;
        for (uint32_t i = 0; i < r->waves; i++) {
            uint32_t index = p->group * r->waves + i;
            if (r->ways[index].count > 0) start_wave(u, p, &p->waves[i], index, now);
        }
        r->group_end[p->group] = now;
        if (p->live == 0) p->used = 0;
    }
}

/* All waves of the group that still run have reached the barrier: they continue. */
void sim_pass_barrier(Unit *u, Place *p, double now, int32_t last) {
    for (uint32_t i = 0; i < u->run->waves; i++) {
        SimWave *w = &p->waves[i];
        if (!w->live || !w->waiting) continue;
        w->waiting = 0;
        w->cause = last;
        w->blame = -1;
        w->reason = SIM_AT_BARRIER;
        w->wake = 0;
        w->free = now + u->m->turn;
        sim_settle(u, w, w->free);
        sim_advance(u, w);
        sim_look(u, w->simd, w->free);
    }
    p->arrived = 0;
}

void sim_end_wave(Unit *u, SimWave *w, double now) {
    SimRun *r = u->run;
    Place *p = w->place;
    w->live = 0;
    sim_settle(u, w, now);
    r->results[w->index].end = now;
    if (now > r->cycles) r->cycles = now;
    SimWave **link = &u->simds[w->simd].oldest;
    while (*link != w) link = &(*link)->younger;
    *link = w->younger;
    u->simds[w->simd].waves--;
    p->live--;
    if (p->live == 0) {
        r->group_end[p->group] = now;
        p->used = 0;
        sim_start_groups(u, now);
    } else if (p->arrived == p->live)
        sim_pass_barrier(u, p, now, (int32_t)w->index);
}
