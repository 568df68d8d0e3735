/* A compute unit that executes recorded waves: four SIMDs, each with a turn every four cycles in which it issues at
 * most one instruction of each class, of different waves, the oldest of the highest priority first.
 *
 * A SIMD is visited only in turns in which one of its waves may continue: every wave knows the first such turn. The
 * order in which LDS and memory serve accesses is settled when an instruction issues (memory.c), as both serve in
 * order.
 */
#include "machine.h"

#include <stdlib.h>

/* The last of the conditions that hold a wave up. */
typedef struct Hold {
    double at;
    int reason;
    int32_t cause; /* cause shown in a timeline */
    int32_t blame; /* op that the time is charged to; -1: the waiting op */
} Hold;

static void until(Hold *h, double at, int reason, int32_t cause, int32_t blame) {
    if (at > h->at) *h = (Hold){at, reason, cause, blame};
}

/* Waits for the results that an instruction reads or overwrites. */
static void registers(Hold *h, const SimWave *w, const double *ready, const SimRange *ranges, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = ranges[i].first; k < ranges[i].first + ranges[i].count; k++)
            until(h, ready[k], SIM_DEPENDENCE, -1, w->writer[k]);
}

/* Waits for the operations that an s_waitcnt names. */
static void counted(Hold *h, const Queue *q, int32_t left, int vector) {
    for (uint32_t i = q->first; (int32_t)(q->next - i) > left; i++) {
        const Pending *p = &q->entries[i % PENDING];
        until(h, p->done, vector ? SIM_WAIT_MEMORY : p->scalar ? SIM_WAIT_SCALAR : SIM_WAIT_LDS, p->op, p->op);
    }
}

/* Cycle at which the wave's next instruction could issue if the wave were alone, and the reason for the wait. */
static Hold earliest(Unit *u, SimWave *w, double now) {
    const SimOp *op = &u->run->ops[w->op];
    const Simd *s = &u->simds[w->simd];
    Hold h = {w->free, w->hold, -1, w->held_by};
    until(&h, w->fetched, SIM_FETCH, -1, w->fetched_by);
    uint32_t plain = op->kind == SIM_MFMA ? op->sources - 1u : op->sources;
    registers(&h, w, w->ready, op->source, plain);
    switch (op->kind) {
    case SIM_MFMA:
        registers(&h, w, w->chained, &op->source[plain], 1);
        until(&h, s->vector_free, SIM_VECTOR_BUSY, -1, s->vector_op);
        until(&h, s->matrix_free, SIM_MATRIX_BUSY, -1, s->matrix_op);
        break;
    case SIM_VALU:
        registers(&h, w, w->ready, op->result, op->results);
        until(&h, s->vector_free, SIM_VECTOR_BUSY, -1, s->vector_op);
        if (op->flags & SIM_ALONE) until(&h, s->matrix_free, SIM_MATRIX_BUSY, -1, s->matrix_op);
        break;
    case SIM_LDS:
        until(&h, sim_lds_room(u, w->simd / 2, now), SIM_LDS_PORT, -1, -1);
        break;
    case SIM_LOAD:
    case SIM_STORE:
        until(&h, sim_memory_room(u, now), SIM_MEMORY_QUEUE, -1, -1);
        break;
    case SIM_WAIT:
        if (op->memory_left >= 0) counted(&h, &w->memory, op->memory_left, 1);
        if (op->local_left >= 0) counted(&h, &w->local, op->local_left, 0);
        break;
    case SIM_END:
        counted(&h, &w->memory, 0, 1);
        break; /* its registers are not released until its stores are done */
    default:
        break;
    }
    return h;
}

static void forget(Queue *q, int32_t left) {
    while ((int32_t)(q->next - q->first) > left) q->first++;
}

static void put(Queue *q, double done, uint32_t op, int scalar) {
    if (q->next - q->first == PENDING) q->first++;
    q->entries[q->next++ % PENDING] = (Pending){done, (int32_t)op, scalar};
}

/* Recorded cost of the instruction; zero if no lane was active. */
static SimStep cost_of(const SimRun *r, SimWave *w) {
    const SimStep *steps = w->way->steps;
    for (uint64_t i = w->step; i < w->way->count && steps[i].block < 0; i++)
        if (steps[i].place == r->ops[w->op].place) {
            w->step = i + 1;
            return steps[i];
        }
    return (SimStep){0};
}

static void set(double *ready, const SimRange *ranges, uint32_t count, double at) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < ranges[i].count; k++) ready[ranges[i].first + k] = at;
}

/* Executes the instruction; returns the number of cycles that a timeline shows for it. */
static double execute(Unit *u, SimWave *w, const SimOp *op, double now) {
    SimRun *r = u->run;
    Simd *s = &u->simds[w->simd];
    double turn = u->m->turn;
    switch (op->kind) {
    case SIM_VALU:
        s->vector_free = now + op->cycles;
        s->vector_op = (int32_t)w->op;
        return op->cycles;
    case SIM_MFMA:
        s->vector_free = now + op->operands;
        s->matrix_free = now + op->cycles;
        s->vector_op = s->matrix_op = (int32_t)w->op;
        return op->cycles;
    case SIM_SMEM:
        put(&w->local, sim_scalar(u, w->op, now), w->op, 1);
        break;
    case SIM_LDS:
        put(&w->local, sim_lds(u, w->simd / 2, op, cost_of(r, w), now), w->op, 0);
        break;
    case SIM_LOAD:
    case SIM_STORE: {
        double done = sim_memory(u, w, cost_of(r, w), now);
        w->memory_done = done > w->memory_done ? done : w->memory_done;
        put(&w->memory, w->memory_done, w->op, 0);
        break;
    }
    case SIM_WAIT:
        if (op->memory_left >= 0) forget(&w->memory, op->memory_left);
        if (op->local_left >= 0) forget(&w->local, op->local_left);
        break;
    case SIM_IDLE:
        w->free = now + (op->cycles > turn ? op->cycles : turn);
        w->hold = SIM_IDLING;
        w->held_by = (int32_t)w->op;
        break;
    case SIM_PRIORITY:
        w->priority = op->priority;
        break;
    default:
        break;
    }
    return turn;
}

static void issue(Unit *u, SimWave *w, double now) {
    SimRun *r = u->run;
    const SimOp *op = &r->ops[w->op];
    double turn = u->m->turn;
    r->issued[w->op]++;
    r->steps++;
    if (op->kind == SIM_VALU || op->kind == SIM_MFMA || op->kind == SIM_SALU) r->busy[op->kind] += op->cycles;
    r->results[w->index].busy += turn;
    w->free = w->since = now + turn;
    w->hold = w->reason = SIM_ISSUE;
    w->cause = w->blame = w->held_by = -1;
    w->wake = 0;
    for (uint32_t i = 0; i < op->results; i++)
        for (uint32_t k = 0; k < op->result[i].count; k++) w->writer[op->result[i].first + k] = (int32_t)w->op;
    set(w->ready, op->result, op->results, now + op->latency);
    set(w->chained, op->result, op->results, now + (op->kind == SIM_MFMA ? op->forwarded : op->latency));
    double shown = execute(u, w, op, now);
    sim_span(u, w, now, shown, SIM_NONE, -1);
    if (op->kind == SIM_BARRIER) {
        Place *p = w->place;
        w->waiting = 1;
        w->reason = SIM_AT_BARRIER;
        if (++p->arrived == p->live) sim_pass_barrier(u, p, now, (int32_t)w->index);
        return;
    }
    if (op->kind != SIM_END) sim_advance(u, w);
    if (op->kind == SIM_END || w->over) sim_end_wave(u, w, now + turn);
}

/* Issue class of an instruction: a SIMD issues one of each class per turn; 0: handled by the sequencer, any number. */
static uint32_t class_of(const Unit *u, const SimOp *op) {
    switch (op->kind) {
    case SIM_VALU:
    case SIM_MFMA:
        return 1;
    case SIM_SALU:
    case SIM_SMEM:
        return 2;
    case SIM_LDS:
        return 4;
    case SIM_LOAD:
    case SIM_STORE:
        return u->m->shared_port ? 4 : 8;
    case SIM_BRANCH:
        return 16;
    default:
        return 0;
    }
}

/* The waves that may issue, the oldest of the highest priority first. */
static uint32_t in_order(const Simd *s, double now, SimWave **order) {
    uint32_t count = 0;
    for (SimWave *w = s->oldest; w != NULL && count < MAX_WAVES; w = w->younger) {
        if (w->waiting || w->start > now) continue;
        uint32_t i = count++;
        for (; i > 0 && order[i - 1]->priority < w->priority; i--) order[i] = order[i - 1];
        order[i] = w;
    }
    return count;
}

/* Executes one turn of a SIMD. */
static void turn(Unit *u, uint32_t index) {
    Simd *s = &u->simds[index];
    double now = s->look, soon = now + u->m->turn;
    s->look = FOREVER;
    SimWave *order[MAX_WAVES];
    uint32_t count = in_order(s, now, order), used = 0;
    for (uint32_t i = 0; i < count; i++) {
        SimWave *w = order[i];
        if (w->wake <= now) {
            sim_settle(u, w, now);
            Hold h = earliest(u, w, now);
            w->wake = h.at;
            w->reason = h.reason;
            w->cause = h.cause;
            w->blame = h.blame;
        }
        if (w->wake <= now) {
            uint32_t class = class_of(u, &u->run->ops[w->op]);
            if (used & class) {
                w->reason = SIM_ISSUE;
                w->cause = w->blame = -1;
            } else {
                used |= class;
                issue(u, w, now);
                if (!w->live || w->waiting) continue;
            }
        }
        sim_look(u, index, w->wake > soon ? w->wake : soon);
    }
    for (SimWave *w = s->oldest; w != NULL; w = w->younger)
        if (!w->waiting && w->start > now) sim_look(u, index, w->start);
}

static void run(Unit *u) {
    sim_start_groups(u, 0);
    for (;;) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < SIM_SIMDS; i++)
            if (u->simds[i].look < u->simds[first].look) first = i;
        if (u->simds[first].look >= FOREVER) break;
        turn(u, first);
    }
    for (uint32_t k = 0; k < u->run->resident; k++)
        if (u->places[k].used) u->run->failed = 2;
}

__attribute__((visibility("default"))) void sim_run(SimRun *r) {
    Unit *u = calloc(1, sizeof *u);
    r->cycles = 0;
    r->failed = 1;
    if (u == NULL) return;
    u->run = r;
    u->m = r->machine;
    if (sim_prepare_unit(u)) {
        r->failed = 0;
        run(u);
    }
    sim_release_unit(u);
    free(u);
}
