/* A single wave: its SIMD's next visit, the reasons for its waits, and its next instruction. */
#include "machine.h"

#include <stddef.h>

double sim_on_turn(const Unit *u, uint32_t simd, double at) {
    if (at >= FOREVER) return FOREVER;
    double length = u->m->turn, turns = (at - simd) / length;
    int64_t whole = (int64_t)turns;
    if (turns > (double)whole) whole++;
    return (double)whole * length + simd;
}

/* Makes a SIMD's next turn no later than `at`. */
void sim_look(Unit *u, uint32_t simd, double at) {
    double turn = sim_on_turn(u, simd, at);
    if (turn < u->simds[simd].look) u->simds[simd].look = turn;
}

void sim_span(Unit *u, const SimWave *w, double start, double cycles, int reason, int32_t cause) {
    SimRun *r = u->run;
    if (r->spans == NULL || cycles <= 0 || r->span_count++ >= r->span_room) return;
    r->spans[r->span_count - 1] = (SimSpan){.start = start,
                                            .cycles = (float)cycles,
                                            .op = (int32_t)w->op,
                                            .cause = cause,
                                            .wave = w->index,
                                            .reason = (uint8_t)reason,
                                            .kind = r->ops[w->op].kind};
}

/* Records the reason of the wave's wait until now. */
void sim_settle(Unit *u, SimWave *w, double now) {
    if (now <= w->since) return;
    double cycles = now - w->since;
    u->run->stalls[(uint64_t)w->op * SIM_REASONS + (uint32_t)w->reason] += cycles;
    if (u->run->wave_stalls != NULL)
        u->run->wave_stalls[((uint64_t)w->index * u->run->op_count + w->op) * SIM_REASONS + (uint32_t)w->reason] +=
            (float)cycles;
    u->run->charged[w->blame < 0 ? w->op : (uint32_t)w->blame] += cycles;
    u->run->results[w->index].stalled += cycles;
    sim_span(u, w, w->since, cycles, w->reason, w->cause);
    w->since = now;
}

/* Moves to the wave's next instruction: in this block, in the next one, or none. */
void sim_advance(Unit *u, SimWave *w) {
    const SimRun *r = u->run;
    uint32_t left = w->op++;
    while (w->op >= w->block_end) {
        while (w->step < w->way->count && w->way->steps[w->step].block < 0) w->step++;
        if (w->step >= w->way->count) {
            w->over = 1;
            w->op = left;
            return;
        }
        uint32_t block = (uint32_t)w->way->steps[w->step++].block;
        w->op = r->block_first[block];
        w->block_end = r->block_first[block + 1];
    }
    const SimOp *before = &r->ops[left], *op = &r->ops[w->op];
    double there = w->free;
    int taken = before->flags & SIM_JUMPS && op->place != before->place + before->size / 4;
    w->fetched_by = taken ? (int32_t)left : -1;
    if (taken) there += u->m->taken;
    there += sim_fetch(u, op->place);
    w->fetched = there;
}
