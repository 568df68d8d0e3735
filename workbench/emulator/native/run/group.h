/* A running work-group, for the driver. */
#ifndef HK_GROUP_H
#define HK_GROUP_H

#include "run/wave.h"

/* Reasons for which turns of waves ended: s_sleep; all blocks of the turn used; anything else, including an answered
 * hostcall; with HK_MOVED, a schedule. */
enum { HK_SLEPT = 1, HK_RAN_OUT = 2, HK_MOVED = 4, HK_STOPPED = 8 };

typedef struct Resident {
    struct Resident *next;
    size_t bytes; /* bytes of its memory, including this structure */
    Group group;
    Wave *waves;
    uint8_t *lds;
    uint8_t *registers;
    uint8_t *scratch;
    uint8_t *shadow; /* the sanitizer's memory */
    uint8_t *late;   /* memory for accesses with a late effect */
    uint32_t lds_bytes;
    uint32_t rows;        /* registers per wave */
    uint32_t wave_room;   /* waves of a full work-group */
    uint32_t cursor;      /* the wave that runs next */
    uint64_t spent;       /* blocks run since another work-group was last admitted */
    uint64_t before;      /* blocks run before that */
    uint64_t next_watch;  /* total blocks after which it is watched again */
    uint32_t turn_blocks; /* blocks per turn of a wave */
    uint32_t seen;        /* HK_SLEPT and so on, of the waves in this round */
    uint32_t waits;       /* consecutive rounds in which it waited */
    uint32_t is_stuck;    /* nonzero: stuck until the memory that it touches changes */
    HkWatch *watch;       /* NULL: never watched */
} Resident;

/* Number of blocks that a work-group has run. */
static inline uint64_t hk_blocks_run(const Resident *r) { return r->before + r->spent; }

/* Gives a work-group its memory, that of an ended one or new memory, and its initial state; NULL if memory ran out. */
Resident *hk_start_group(Worker *worker, uint64_t index);

/* The cluster of a work-group, of a launch that has clusters. */
static inline HkCluster *hk_cluster_of(const Launch *l, uint64_t index) {
    uint64_t number = 0, across = 1;
    for (unsigned i = 0; i < 3; i++) {
        number += across * (index % l->groups[i] / l->cluster[i]);
        across *= l->groups[i] / l->cluster[i];
        index /= l->groups[i];
    }
    return l->clusters + number;
}

/* Frees a work-group's memory, or keeps it for a work-group of the same size in a later launch. */
void hk_free_group(Resident *r);

#endif
