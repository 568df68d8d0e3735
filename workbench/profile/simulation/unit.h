/* A compute unit cycle by cycle: structures that C and Python share (simulation/native.py reads this file with cffi).
 *
 * Times are cycles of the engine clock.
 */
#ifndef SIM_UNIT_H
#define SIM_UNIT_H

#include <stdint.h>

/* SimOp.kind: the unit that executes an instruction. */
enum {
    SIM_VALU, /* including transcendental and packed instructions, with other `cycles` */
    SIM_MFMA,
    SIM_SALU,
    SIM_SMEM,
    SIM_LDS,
    SIM_LOAD, /* vector memory operation that returns data, to registers or to LDS */
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

/* Reasons why a wave does not issue. */
enum {
    SIM_NONE,
    SIM_WAIT_MEMORY,  /* s_waitcnt for vector memory */
    SIM_WAIT_LDS,     /* s_waitcnt for LDS */
    SIM_WAIT_SCALAR,  /* s_waitcnt for a scalar load */
    SIM_AT_BARRIER,   /* cause: the wave that arrives last */
    SIM_LDS_PORT,     /* the queue of LDS is full */
    SIM_MEMORY_QUEUE, /* the queue of vector memory is full */
    SIM_MATRIX_BUSY,
    SIM_VECTOR_BUSY, /* the vector ALU is busy, or reads operands for an MFMA */
    SIM_DEPENDENCE,  /* an instruction in flight writes a register that this one uses */
    SIM_ISSUE,       /* another wave of the SIMD issued to the same unit in this turn */
    SIM_FETCH,       /* the instruction has not arrived: a branch, or a miss of the instruction cache */
    SIM_IDLING,      /* s_nop, s_sleep */
    SIM_REASONS,
};

#define SIM_SOURCES 7
#define SIM_RESULTS 3
#define SIM_REGISTERS 512 /* vector registers, AGPRs from 256 on */
#define SIM_SIMDS 4
#define SIM_LEVELS 4      /* L1, L2, Infinity Cache, HBM */
#define SIM_MOST_LINES 64 /* of an instruction, for SimMachine.slowest */
#define SIM_PARTS 64      /* equally likely latencies of an instruction, for the same */

/* SimOp.flags */
#define SIM_ALONE 1  /* a vector instruction that no MFMA may overlap */
#define SIM_TO_LDS 2 /* a load to LDS */
#define SIM_ATOMIC 4
#define SIM_JUMPS 16  /* the wave may continue elsewhere */
#define SIM_ENTRY 32  /* a scalar load from a pointer that the wave starts with: kernel arguments */
#define SIM_SHARED 64 /* a scalar load that no cache of the unit may serve */
#define SIM_RETURNS 8 /* LDS: returns data, which a wait waits for */

typedef struct SimRange {
    uint16_t first, count;
} SimRange;

typedef struct SimOp {
    uint8_t kind, flags;
    uint8_t sources, results;
    /* Cycles that its unit is busy with it; for LDS and memory instructions, without their recorded cost. */
    uint16_t cycles;
    uint16_t operands;  /* MFMA: cycles in which it reads its operands, so that no vector instruction may issue */
    uint16_t latency;   /* cycles from issue until another instruction may use its result */
    uint16_t forwarded; /* MFMA: the same if that instruction adds to its result */
    /* SIM_WAIT: memory operations, and LDS or scalar ones, that may still be in flight; -1: any number */
    int16_t memory_left, local_left;
    uint32_t place; /* dword in the code */
    uint16_t size;  /* bytes */
    uint16_t priority;
    uint32_t scalar_line; /* SIM_SMEM: number of its first line among those that scalar loads touch */
    uint32_t scalar_lines;
    SimRange source[SIM_SOURCES]; /* the addend of an MFMA comes last */
    SimRange result[SIM_RESULTS];
    float level[SIM_LEVELS]; /* share of its lines that each level serves; the shares add up to 1 */
} SimOp;

typedef struct SimStep {
    int32_t block; /* index of a block, or -1 for a cost */
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
    double taken;         /* cycles until the first instruction after a taken branch can issue */
    double lds_latency;   /* latency of a read of one dword */
    double lds_bus;       /* bytes per cycle between LDS and a pair of SIMDs */
    double lds_issue;     /* least number of cycles between two accesses of a pair of SIMDs */
    double lds_address;   /* cycles added to a transfer of data */
    double lds_fill;      /* bytes per cycle that loads write to LDS */
    uint32_t lds_queue;   /* most accesses of a pair of SIMDs in the queue */
    uint32_t shared_port; /* nonzero: LDS and vector memory instructions share an issue port */
    double scalar_hit;
    double scalar_first; /* scalar load of a line that this unit touches for the first time in the launch */
    double scalar_entry; /* the same of a kernel argument */
    double wave_start;   /* cycles from the start of a wave until its first instruction can issue */
    double level_latency[SIM_LEVELS];
    double level_cycles[SIM_LEVELS]; /* cycles per line of 128 bytes, of this unit's share of a level's bandwidth */
    double write_cycles;             /* the same for memory writes of lines that written lines evict */
    double level_spread[SIM_LEVELS]; /* standard deviation of a level's latency */
    /* By how many of these the slowest of so many lines is later than a line on average, in equally likely parts. */
    double slowest[SIM_MOST_LINES + 1][SIM_PARTS];
    double atomic_latency;
    double atomic_cycles; /* cycles per atomic of 64 bytes, of this unit's share of their rate */
    /* Cycles of its share that a unit may save up, since other units leave some unused meanwhile. */
    double slack;
    double hbm_queue;          /* wait for HBM behind other units' requests while half of its bandwidth is in use */
    double l1_narrow, l1_wide; /* least number of cycles in L1 for a dword per lane, and for wider accesses */
    uint32_t memory_queue;     /* most vector memory instructions that wait for L1 */
    uint32_t reserved;
    double in_flight;     /* most bytes of L1's lines that wait for data */
    double fetch_miss;    /* cycles of an instruction cache miss */
    uint32_t fetch_lines; /* lines of 128 bytes in the instruction cache */
    uint32_t fetch_ways;
} SimMachine;

/* Entry in a lane of the timeline: an instruction from `start` on, or the reason why none was issued. */
typedef struct SimSpan {
    double start;
    float cycles;
    int32_t op; /* op that issues, or that waits */
    /* Index of a SimOp: the load waited for; at a barrier the index of the wave that arrived last; -1: none. */
    int32_t cause;
    uint32_t wave;  /* index of its SimWaveResult */
    uint8_t reason; /* SIM_NONE: the op issues */
    uint8_t kind;
} SimSpan;

typedef struct SimWaveResult {
    uint64_t group; /* index into SimRun.groups */
    uint32_t wave;
    uint32_t simd;
    double start, end;
    double busy;    /* cycles in which the wave issued */
    double stalled; /* the other cycles */
} SimWaveResult;

typedef struct SimRun {
    const SimMachine *machine;
    const SimOp *ops;
    uint32_t op_count;
    uint32_t block_count;
    const uint32_t *block_first; /* [block_count + 1] */
    const SimWay *ways;          /* [groups][waves] */
    uint32_t group_count;        /* groups, started in order as places become free */
    uint32_t waves;              /* most waves of a group */
    uint32_t scalar_lines;       /* lines that scalar loads touch */
    uint32_t resident;           /* most groups at once */
    double dispatch;             /* cycles between the starts of two waves */
    /* results */
    double cycles;
    double *group_end;              /* [group_count] */
    SimWaveResult *results;         /* [group_count * waves] */
    double *stalls;                 /* [op_count][SIM_REASONS] cycles that waves waited before each op */
    float *wave_stalls;             /* [results][op_count][SIM_REASONS] the same for each wave; NULL: do not record */
    double *charged;                /* [op_count] the same cycles, charged to the op that caused them */
    double *issued;                 /* [op_count] number of times that it was issued */
    double busy[SIM_KINDS];         /* cycles that units of each kind were busy, summed over SIMDs */
    double memory_busy[SIM_LEVELS]; /* busy cycles of the shares */
    SimSpan *spans;
    uint64_t span_room, span_count;
    uint64_t steps; /* instructions issued */
    int32_t failed; /* 1: memory ran out; 2: deadlock of waves */
} SimRun;

void sim_run(SimRun *run);

#endif
