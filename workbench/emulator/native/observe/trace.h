/* The memory accesses of a launch one by one: which lane went where, and how the LDS served it.
 *
 * Recorded only where a launch asks for it; such a launch is profiled and runs on one worker.
 */
#ifndef HK_TRACE_H
#define HK_TRACE_H

#include "run/wave.h"

enum {
    HK_TRACE_LDS_READ = 1,
    HK_TRACE_LDS_WRITE = 2,
    HK_TRACE_GLOBAL_READ = 3,
    HK_TRACE_GLOBAL_WRITE = 4,
    HK_TRACE_TO_LDS = 5, /* the LDS side of a load straight to LDS; its global side is a record of its own */
};

#define HK_TRACE_PHASES 16

/* One instruction of one wave; instructions with two addresses make two records. */
typedef struct HkAccess {
    uint64_t pc;    /* code object address */
    uint64_t group; /* linear index */
    uint64_t exec;  /* active lanes */
    uint32_t wave;
    uint32_t kind;   /* HK_TRACE_* */
    uint32_t bytes;  /* of a lane */
    uint32_t banks;  /* that serve it; 0 where the access is none of LDS banks */
    uint32_t phases; /* groups of lanes served one after the other; 0 likewise */
    uint32_t reserved;
    uint64_t phase_lanes[HK_TRACE_PHASES];
    uint64_t phase_conflicts[HK_TRACE_PHASES]; /* banks that take more than a cycle */
    uint32_t phase_cycles[HK_TRACE_PHASES];    /* 0 where no lane of the phase is active */
    uint64_t at[64];                           /* device address, or byte offset in LDS; of active lanes */
} HkAccess;

typedef struct HkTrace {
    HkAccess *records;
    uint64_t room;
    uint64_t count; /* of accesses, beyond the room too */
} HkTrace;

/* A record to fill, with `at` still undefined; NULL where none is wanted or no room is left. */
HkAccess *hk_trace(Wave *w, const Op *op, uint32_t kind, uint64_t exec, uint32_t bytes);

#endif
