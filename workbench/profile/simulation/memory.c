/* Servers of a compute unit's accesses: LDS, the vector memory pipeline with its L1, and beyond that the unit's share
 * of L2, Infinity Cache and HBM.
 *
 * Each serves in order, so the end of an access is known as soon as it is issued. A share is a server as fast as this
 * unit's part of the bandwidth while all units request the same amount; bandwidth left unused for a while may be used
 * later, as other units leave some unused too. Nothing is saved before the first access: all units start together.
 */
#include "machine.h"

#include <math.h>

#define MOST_LOAD 0.9 /* beyond it the share itself makes accesses wait */

/* Multiples of it, modulo 1, are spread evenly, however few they are: a wave has no luck, and a run repeats itself. */
#define STEP 0.41421356237309503

static double most(double a, double b) { return a > b ? a : b; }

static double room(const Line *line, uint32_t depth, double now) {
    uint32_t waiting = line->next - line->first;
    for (uint32_t i = line->first; i != line->next && line->begins[i % WAITING] <= now; i++) waiting--;
    return waiting < depth ? 0 : line->begins[(line->next - depth) % WAITING];
}

static void wait_in(Line *line, double begins, double now) {
    while (line->first != line->next && line->begins[line->first % WAITING] <= now) line->first++;
    if (line->next - line->first == WAITING) line->first++;
    line->begins[line->next++ % WAITING] = begins;
}

double sim_lds_room(const Unit *u, uint32_t pair, double now) {
    return room(&u->pair_line[pair], u->m->lds_queue, now);
}

double sim_lds(Unit *u, uint32_t pair, const SimOp *op, SimStep cost, double now) {
    const SimMachine *m = u->m;
    double port = cost.lds_cycles ? cost.lds_cycles : op->cycles;
    double bus = most(m->lds_issue, m->lds_address + cost.bytes / m->lds_bus);
    double begins = most(now, most(u->lds_free, u->pair_free[pair]));
    u->lds_free = begins + port;
    u->pair_free[pair] = begins + bus;
    u->run->busy[SIM_LDS] += port;
    wait_in(&u->pair_line[pair], begins, now);
    return begins + m->lds_latency + most(port, bus) - m->lds_issue;
}

double sim_memory_room(const Unit *u, double now) { return room(&u->memory_line, u->m->memory_queue, now); }

static void land(Unit *u, double now) {
    while (u->flight_first != u->flight_next && u->flights[u->flight_first % IN_FLIGHT].done <= now)
        u->in_flight -= u->flights[u->flight_first++ % IN_FLIGHT].bytes;
}

/* Cycle from which `bytes` more may be in flight. */
static double admitted(Unit *u, double bytes, double at) {
    land(u, at);
    while (u->flight_first != u->flight_next &&
           (u->in_flight + bytes > u->m->in_flight || u->flight_next - u->flight_first == IN_FLIGHT)) {
        at = most(at, u->flights[u->flight_first % IN_FLIGHT].done);
        u->in_flight -= u->flights[u->flight_first++ % IN_FLIGHT].bytes;
    }
    return at;
}

/* Cycles that a share makes an access wait. */
static double delay(Unit *u, uint32_t level, double cycles, double at) {
    double before = u->share_free[level] == UNUSED ? at : u->share_free[level];
    double free = most(before, at - u->m->slack) + cycles;
    u->share_free[level] = free;
    u->run->memory_busy[level] += cycles;
    return most(0, free - at);
}

/* Wait for HBM behind other units' requests, of which there are as many as of this one's: as in any queue with random
 * arrivals it grows with the load over what is left. */
static double queued(Unit *u, double cycles, double at) {
    const SimMachine *m = u->m;
    u->load = u->load * exp((u->load_at - at) / m->slack) + cycles / m->slack;
    u->load_at = at;
    double load = u->load < MOST_LOAD ? u->load : MOST_LOAD;
    return m->hbm_queue * load / (1 - load);
}

/* The level that serves an access: each level gets its share of accesses, evenly spread. */
static uint32_t level_of(Unit *u, uint32_t index) {
    const SimOp *op = &u->run->ops[index];
    double *due = &u->accumulated[(uint64_t)index * SIM_LEVELS];
    uint32_t best = 0;
    for (uint32_t l = 0; l < SIM_LEVELS; l++) {
        due[l] += op->level[l];
        if (due[l] > due[best] + 1e-9) best = l;
    }
    due[best] -= 1;
    return best;
}

static double store(Unit *u, uint32_t index, double lines, double requests, double begins, double spent) {
    const SimMachine *m = u->m;
    const SimOp *op = &u->run->ops[index];
    double late = delay(u, 1, lines * m->level_cycles[1], begins);
    double beyond = op->level[2] + op->level[3];
    if (beyond > 0) late = most(late, delay(u, 2, lines * beyond * m->level_cycles[2], begins));
    if (op->level[3] > 0) late = most(late, delay(u, 3, lines * op->level[3] * m->write_cycles, begins));
    double latency = m->level_latency[1];
    if (op->flags & SIM_ATOMIC) {
        /* It reads its line before it writes, so L2 fetches a line that it does not have. */
        uint32_t level = level_of(u, index);
        latency = m->atomic_latency + (level > 1 ? m->level_latency[level] - m->level_latency[1] : 0);
        double first = u->atomic_free == UNUSED ? begins : u->atomic_free;
        u->atomic_free = most(first, begins) + requests * m->atomic_cycles;
        late = most(late, u->atomic_free - begins);
    }
    return begins + spent + latency + late;
}

/* Cycle at which a vector memory instruction is done. */
double sim_memory(Unit *u, SimWave *w, SimStep cost, double now) {
    const SimMachine *m = u->m;
    uint32_t index = w->op;
    const SimOp *op = &u->run->ops[index];
    double lines = cost.lines, least = op->cycles;
    /* A wide access takes at least one turn for each quad (`least`); turns without bytes have no active lanes. */
    double spent = most(most(least, cost.turns), lines * m->level_cycles[0]);
    double begins = most(now, u->l1_free);
    int loads = op->kind == SIM_LOAD && !(op->flags & SIM_ATOMIC);
    /* A miss takes its lines of L1 until its data return; a hit takes none. */
    uint32_t level = loads && lines > 0 ? level_of(u, index) : 0;
    double bytes = level > 0 ? lines * 128 : 0;
    if (bytes > 0) begins = admitted(u, bytes, begins);
    u->l1_free = begins + spent;
    u->run->memory_busy[0] += spent;
    wait_in(&u->memory_line, begins, now);
    if (lines == 0) return begins + spent;
    if (!loads) return store(u, index, lines, cost.turns, begins, spent - m->l1_narrow);
    double late = 0;
    for (uint32_t l = 1; l <= level; l++) late = most(late, delay(u, l, lines * m->level_cycles[l], begins));
    if (level == 3) late = most(late, 0) + queued(u, lines * m->level_cycles[3], begins);
    uint32_t count = cost.lines < SIM_MOST_LINES ? cost.lines : SIM_MOST_LINES;
    double latency = m->level_latency[level] + m->level_spread[level] * m->slowest[count][(int)(w->chance * SIM_PARTS)];
    w->chance += STEP - (w->chance + STEP >= 1);
    /* Data return in the order of the requests, those of other waves included: a hit waits for an earlier miss. */
    double done = most(u->returned, begins + spent - m->l1_narrow + latency + late);
    u->returned = done;
    if (op->flags & SIM_TO_LDS) u->lds_free = most(u->lds_free, now) + cost.bytes / m->lds_fill;
    if (bytes == 0) return done;
    u->flights[u->flight_next++ % IN_FLIGHT] = (Flight){done, bytes};
    u->in_flight += bytes;
    return done;
}

/* Cycle at which a scalar load is done. A line that the unit touches for the first time comes from memory; until it is
 * there, others wait for it, too. */
double sim_scalar(Unit *u, uint32_t index, double now) {
    const SimMachine *m = u->m;
    const SimOp *op = &u->run->ops[index];
    if (op->flags & SIM_SHARED) return now + m->scalar_first;
    double done = now + m->scalar_hit;
    for (uint32_t i = op->scalar_line; i < op->scalar_line + op->scalar_lines; i++) {
        double *there = &u->scalar_at[i];
        if (*there == 0) *there = now + (op->flags & SIM_ENTRY ? m->scalar_entry : m->scalar_first);
        done = most(done, *there);
    }
    return done;
}
