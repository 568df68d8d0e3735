/* State of a running compute unit. From the bottom up: code.c has the instruction cache and memory.c the servers of
 * accesses; wave.c the steps of a wave, groups.c the work-groups, unit.c the turns of the SIMDs. A file calls only
 * those named before it.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "unit.h"

#define FOREVER 1e30
#define UNUSED -1.0    /* Unit.share_free before the first access */
#define PENDING 128    /* operations of a wave in flight that a counter may distinguish, a power of two */
#define MAX_WAVES 64   /* waves of a SIMD that are considered in one turn */
#define WAITING 64     /* accesses in a queue that have not begun, a power of two */
#define IN_FLIGHT 4096 /* loads in flight, a power of two */

typedef struct Pending {
    double done;
    int32_t op;
    int32_t scalar;
} Pending;

typedef struct Queue {
    Pending entries[PENDING];
    uint32_t first, next;
} Queue;

typedef struct Place Place;

typedef struct SimWave {
    struct SimWave *younger;
    const SimWay *way;
    uint64_t step;
    Place *place;
    uint32_t index; /* index of its SimWaveResult */
    uint32_t simd;
    uint32_t op, block_end;
    uint32_t priority;
    int32_t live, waiting, over;
    int32_t hold;   /* reason why it is not free before `free` */
    int32_t reason; /* reason of its wait from `since` on */
    int32_t cause;
    int32_t blame;      /* op that causes its wait; -1: its own next op */
    int32_t held_by;    /* the same, for `hold` */
    int32_t fetched_by; /* the same, for a fetch */
    double start, free, fetched, since;
    double wake;        /* no instruction can issue before this cycle */
    double chance;      /* 0 to 1: which of its equally likely latencies its next load has */
    double memory_done; /* end of its last vector memory operation; they return in order */
    Queue memory, local;
    double ready[SIM_REGISTERS];   /* cycle from which each register can be read */
    double chained[SIM_REGISTERS]; /* the same for a read as the addend of an MFMA */
    int32_t writer[SIM_REGISTERS]; /* op that wrote each register last */
} SimWave;

struct Place {
    SimWave *waves;
    uint32_t group, live, arrived, used;
    double free_at;
};

typedef struct Simd {
    double look; /* the next turn in which something may happen */
    double vector_free, matrix_free;
    int32_t vector_op, matrix_op; /* ops that keep the units busy */
    SimWave *oldest;
    uint32_t waves;
} Simd;

/* Accesses that wait to be served in order: the cycle at which each one begins. */
typedef struct Line {
    double begins[WAITING];
    uint32_t first, next;
} Line;

typedef struct Flight {
    double done;
    double bytes;
} Flight;

typedef struct Unit {
    SimRun *run;
    const SimMachine *m;
    Simd simds[SIM_SIMDS];
    Place *places;
    uint32_t next_group;
    double dispatched; /* start of the last wave */
    double lds_free;
    double pair_free[2];
    Line pair_line[2], memory_line;
    double l1_free;
    double share_free[SIM_LEVELS], atomic_free;
    double in_flight;
    double returned;      /* cycle at which the last load's data return */
    double load, load_at; /* fraction of HBM's bandwidth in use lately, and the cycle for which it was computed */
    Flight flights[IN_FLIGHT];
    uint32_t flight_first, flight_next;
    double *accumulated; /* [ops][levels] lines of an instruction's accesses that are due at each level */
    double *scalar_at;   /* [scalar_lines] cycle at which the scalar cache has a line; 0: nobody loaded it */
    uint32_t *fetched;   /* [sets][ways] lines in the instruction cache, plus 1 */
    uint32_t last_line;
    int32_t code_fits; /* nonzero: the code stays in the instruction cache between launches */
} Unit;

/* code.c */
int sim_prepare_fetch(Unit *u);
double sim_fetch(Unit *u, uint32_t place);

/* memory.c */
double sim_lds_room(const Unit *u, uint32_t pair, double now);
double sim_lds(Unit *u, uint32_t pair, const SimOp *op, SimStep cost, double now);
double sim_memory_room(const Unit *u, double now);
double sim_memory(Unit *u, SimWave *w, SimStep cost, double now);
double sim_scalar(Unit *u, uint32_t index, double now);

/* wave.c */
double sim_on_turn(const Unit *u, uint32_t simd, double at);
void sim_look(Unit *u, uint32_t simd, double at);
void sim_span(Unit *u, const SimWave *w, double start, double cycles, int reason, int32_t cause);
void sim_settle(Unit *u, SimWave *w, double now);
void sim_advance(Unit *u, SimWave *w);

/* groups.c */
int sim_prepare_unit(Unit *u);
void sim_release_unit(Unit *u);
void sim_start_groups(Unit *u, double now);
void sim_end_wave(Unit *u, SimWave *w, double now);
void sim_pass_barrier(Unit *u, Place *p, double now, int32_t last);

#endif
