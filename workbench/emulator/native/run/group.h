/* A work-group under way, in the driver. */
#ifndef HK_GROUP_H
#define HK_GROUP_H

#include "run/wave.h"

/* Ends of waves' turns: s_sleep; its blocks used up; anything else, or a hostcall answered. */
enum { HK_SLEPT = 1, HK_RAN_OUT = 2, HK_MOVED = 4 };

typedef struct Resident {
    struct Resident *next;
    size_t bytes; /* of its memory, this structure included */
    Group group;
    Wave *waves;
    uint8_t *lds;
    uint8_t *registers;
    uint8_t *scratch;
    uint8_t *shadow; /* the sanitizer's */
    uint8_t *late;   /* of accesses whose effect comes late */
    uint32_t lds_bytes;
    uint32_t rows;        /* registers of a wave */
    uint32_t wave_room;   /* waves of a full work-group */
    uint32_t cursor;      /* wave whose turn is next */
    uint64_t spent;       /* blocks run since another work-group was last let in */
    uint64_t before;      /* blocks run until then */
    uint64_t next_watch;  /* blocks in all after which it is watched again */
    uint32_t turn_blocks; /* of a wave's turn */
    uint32_t seen;        /* what waves did in this round: HK_SLEPT and so on */
    uint32_t waits;       /* rounds in which it waited, one after the other */
    uint32_t is_stuck;    /* as long as the memory that it touches stays as it is */
    HkWatch *watch;       /* NULL: it was never watched */
} Resident;

/* Blocks that a work-group has run. */
static inline uint64_t hk_blocks_run(const Resident *r) { return r->before + r->spent; }

/* Gives a work-group the memory of an ended one, or new memory, and its initial state; NULL if memory ran out. */
Resident *hk_start_group(Worker *worker, uint64_t index);

/* Frees a work-group's memory, or keeps it for one of the same size in a later launch. */
void hk_free_group(Resident *r);

#endif
