/* A compute unit while it runs. From the bottom up: code.c has its instruction cache and memory.c what serves accesses;
 * wave.c a wave's steps, groups.c the work-groups, unit.c the turns of the SIMDs. A file calls those before it alone.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "unit.h"

#define FOREVER 1e30
#define PENDING 128    /* operations under way of a wave that a counter may tell apart, a power of two */
#define MAX_WAVES 64   /* of a SIMD that are looked at in one turn */
#define WAITING 64     /* a queue's accesses that have not begun, a power of two */
#define IN_FLIGHT 4096 /* loads under way, a power of two */

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
    uint32_t index; /* of its SimWaveResult */
    uint32_t simd;
    uint32_t op, block_end;
    uint32_t priority;
    int32_t live, waiting, over;
    int32_t hold;   /* why it is not free before `free` */
    int32_t reason; /* what it has waited for from `since` on */
    int32_t cause;
    int32_t blame;      /* op that it waits because of; -1: its own next one */
    int32_t held_by;    /* the same of `hold` */
    int32_t fetched_by; /* and of a fetch */
    double start, free, fetched, since;
    double wake;        /* nothing can issue before */
    double memory_done; /* of its last vector memory operation: they return in order */
    Queue memory, local;
    double ready[SIM_REGISTERS];   /* from when on a register can be read */
    double chained[SIM_REGISTERS]; /* the same for the addend of an MFMA */
    int32_t writer[SIM_REGISTERS]; /* op that wrote it last */
} SimWave;

struct Place {
    SimWave *waves;
    uint32_t group, live, arrived, used;
    double free_at;
};

typedef struct Simd {
    double look; /* the next turn in which something may happen */
    double vector_free, matrix_free;
    int32_t vector_op, matrix_op; /* that keep them busy */
    SimWave *oldest;
    uint32_t waves;
} Simd;

/* Accesses that wait to be served in order: the cycle at which each will begin. */
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
    double dispatched; /* when the last wave was started */
    double lds_free;
    double pair_free[2];
    Line pair_line[2], memory_line;
    double l1_free;
    double share_free[SIM_LEVELS];
    double in_flight;
    Flight flights[IN_FLIGHT];
    uint32_t flight_first, flight_next;
    double *accumulated; /* [ops][levels] what each level is due of an instruction's accesses */
    uint8_t *seen;       /* [ops] scalar loads that were executed before */
    uint32_t *fetched;   /* [sets][ways] lines in the instruction cache, plus 1 */
    uint32_t last_line;
    int32_t code_fits; /* the code stays in the instruction cache from one launch to the next */
} Unit;

/* code.c */
int sim_prepare_fetch(Unit *u);
double sim_fetch(Unit *u, uint32_t place);

/* memory.c */
double sim_lds_room(const Unit *u, uint32_t pair, double now);
double sim_lds(Unit *u, uint32_t pair, const SimOp *op, SimStep cost, double now);
double sim_memory_room(const Unit *u, double now);
double sim_memory(Unit *u, uint32_t index, SimStep cost, double now);
double sim_scalar(Unit *u, uint32_t index);

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
