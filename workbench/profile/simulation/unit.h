/* A compute unit cycle by cycle: structures that C and Python share (simulation/native.py reads this file with cffi).
 *
 * Times are cycles of the engine clock.
 */
#ifndef SIM_UNIT_H
#define SIM_UNIT_H

#include <stdint.h>

/* SimOp.kind: the unit that executes an instruction. */
enum {
    SIM_VALU, /* transcendental and packed ones too: `cycles` differs */
    SIM_MFMA,
    SIM_SALU,
    SIM_SMEM,
    SIM_LDS,
    SIM_LOAD, /* vector memory that returns something, to registers or to LDS */
    SIM_STORE,
    SIM_BRANCH,
    SIM_WAIT, /* s_waitcnt */
    SIM_BARRIER,
    SIM_IDLE, /* s_nop, s_sleep: `cycles` */
    SIM_PRIORITY,
    SIM_END,
    SIM_OTHER,
    SIM_KINDS,
};

/* Why a wave does not issue. */
enum {
    SIM_NONE,
    SIM_WAIT_MEMORY,  /* s_waitcnt for vector memory */
    SIM_WAIT_LDS,     /* s_waitcnt for LDS */
    SIM_WAIT_SCALAR,  /* s_waitcnt for a scalar load */
    SIM_AT_BARRIER,   /* cause: the wave that comes last */
    SIM_LDS_PORT,     /* LDS' queue is full */
    SIM_MEMORY_QUEUE, /* that of vector memory */
    SIM_MATRIX_BUSY,
    SIM_VECTOR_BUSY, /* the vector ALU, or operands being read for an MFMA */
    SIM_DEPENDENCE,  /* a register that an instruction under way writes */
    SIM_ISSUE,       /* another wave of the SIMD issued to the same unit in this turn */
    SIM_FETCH,       /* the instruction is not there yet: a branch, or a miss of the instruction cache */
    SIM_IDLING,      /* s_nop, s_sleep */
    SIM_REASONS,
};

#define SIM_SOURCES 7
#define SIM_RESULTS 3
#define SIM_REGISTERS 512 /* vector registers, AGPRs from 256 on */
#define SIM_SIMDS 4
#define SIM_LEVELS 4 /* L1, L2, Infinity Cache, HBM */

/* SimOp.flags */
#define SIM_ALONE 1  /* a vector instruction that no MFMA may overlap */
#define SIM_TO_LDS 2 /* a load to LDS */
#define SIM_ATOMIC 4
#define SIM_JUMPS 16  /* the wave may go on elsewhere */
#define SIM_RETURNS 8 /* LDS: gives something back, which lgkmcnt waits for */

typedef struct SimRange {
    uint16_t first, count;
} SimRange;

typedef struct SimOp {
    uint8_t kind, flags;
    uint8_t sources, results;
    uint16_t cycles;        /* that its unit is busy with it; of an LDS or memory instruction: without its costs */
    uint16_t operands;      /* MFMA: cycles in which it reads its operands and no vector instruction may issue */
    uint16_t latency;       /* cycles from issue until another instruction may use its result */
    uint16_t forwarded;     /* MFMA: the same for one that adds to its result */
    int16_t vmcnt, lgkmcnt; /* SIM_WAIT: operations that may still be under way; -1: any number */
    uint32_t place;         /* dword in the code */
    uint16_t size;          /* bytes */
    uint16_t priority;
    SimRange source[SIM_SOURCES]; /* the addend of an MFMA is the last one */
    SimRange result[SIM_RESULTS];
    float level[SIM_LEVELS]; /* share of its lines that each level serves; they add up to 1 */
} SimOp;

typedef struct SimStep {
    int32_t block; /* or -1: a cost */
    uint32_t place;
    uint16_t lds_cycles, lines, turns, bytes;
} SimStep;

typedef struct SimWay {
    const SimStep *steps;
    uint64_t count;
} SimWay;

/* Parameters of the unit. */
typedef struct SimMachine {
    double turn;          /* cycles between two turns of a SIMD */
    double taken;         /* cycles until the first instruction behind a taken branch can issue */
    double lds_latency;   /* of a read of a dword */
    double lds_bus;       /* bytes a cycle between LDS and a pair of SIMDs */
    double lds_issue;     /* least cycles between two accesses of a pair of SIMDs */
    double lds_address;   /* cycles added to a transfer of data */
    double lds_fill;      /* bytes a cycle that loads write to LDS */
    uint32_t lds_queue;   /* accesses that a pair of SIMDs has waiting at most */
    uint32_t shared_port; /* nonzero: LDS and vector memory instructions issue to one port */
    double scalar_hit, scalar_miss;
    double level_latency[SIM_LEVELS];
    double level_cycles[SIM_LEVELS]; /* of this unit's share of a level's bandwidth, for a line of 128 bytes */
    double write_cycles;             /* the same of memory for what a line that is written puts out of its place */
    double atomic_latency;
    double slack;              /* cycles of a share that a unit may save up: others leave theirs unused meanwhile */
    double l1_narrow, l1_wide; /* least cycles that L1 takes for a dword a lane, and for more */
    uint32_t memory_queue;     /* vector memory instructions that wait for L1 at most */
    uint32_t reserved;
    double in_flight;     /* bytes of loads under way at most */
    double fetch_miss;    /* cycles of an instruction cache miss */
    uint32_t fetch_lines; /* lines of 128 bytes in the instruction cache */
    uint32_t fetch_ways;
} SimMachine;

/* Entry of a lane of the timeline: an instruction from `start` on, or the reason why nothing was issued. */
typedef struct SimSpan {
    double start;
    float cycles;
    int32_t op;     /* that issues, or that cannot yet */
    int32_t cause;  /* index of a SimOp: the load waited for; of a wave: who came last to a barrier; -1: none */
    uint32_t wave;  /* index of its SimWaveResult */
    uint8_t reason; /* SIM_NONE: it issues */
    uint8_t kind;
} SimSpan;

typedef struct SimWaveResult {
    uint64_t group; /* index into SimRun.groups */
    uint32_t wave;
    uint32_t simd;
    double start, end;
    double busy;    /* cycles in which it issued */
    double stalled; /* the others */
} SimWaveResult;

typedef struct SimRun {
    const SimMachine *machine;
    const SimOp *ops;
    uint32_t op_count;
    uint32_t block_count;
    const uint32_t *block_first; /* [block_count + 1] */
    const SimWay *ways;          /* [groups][waves] */
    uint32_t group_count;        /* run one after another as places are free */
    uint32_t waves;              /* of a group, at most */
    uint32_t resident;           /* groups at once */
    uint32_t reserved;
    double dispatch; /* cycles between the starts of two waves */
    /* results */
    double cycles;
    double *group_end;              /* [group_count] */
    SimWaveResult *results;         /* [group_count * waves] */
    double *stalls;                 /* [op_count][SIM_REASONS] cycles that waves stood before it */
    float *wave_stalls;             /* [results][op_count][SIM_REASONS] the same of each wave; NULL: not wanted */
    double *charged;                /* [op_count] the same cycles, at the instruction that they were spent on */
    double *issued;                 /* [op_count] times that it was issued */
    double busy[SIM_KINDS];         /* cycles that units of a kind were busy, all SIMDs together */
    double memory_busy[SIM_LEVELS]; /* cycles of the shares */
    SimSpan *spans;
    uint64_t span_room, span_count;
    uint64_t steps; /* instructions issued */
    int32_t failed; /* 1: no memory; 2: waves wait for one another for ever */
} SimRun;

void sim_run(SimRun *run);

#endif
