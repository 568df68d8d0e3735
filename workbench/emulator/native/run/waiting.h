/* Detection of work-groups that wait for memory to change.
 *
 * From time to time the driver watches a work-group for some rounds of its waves' turns. HK_PROFILE_WATCH makes native
 * operations take the code path that counts accesses, where they record the memory that they touch. A work-group polls
 * if it touches the same memory repeatedly and its registers hardly change. It is stuck if registers, LDS, scratch and
 * that memory are as they were at the end of an earlier round: until another work-group writes there, it returns to the
 * same state, so its turns may be skipped. Work-groups that are not watched pay nothing.
 */
#ifndef HK_WAITING_H
#define HK_WAITING_H

#include "ops/addresses.h"
#include "run/group.h"

/* Most ranges of memory, and most bytes in all of them; a work-group that touches more is not waiting. */
#define HK_WATCHED 1024
#define HK_WATCHED_BYTES 65536

typedef struct HkWatched {
    uint64_t address; /* a device address, or an address in the LDS window */
    uint64_t pc;      /* address of the first instruction that touched it */
    uint32_t bytes;
    uint16_t wave;
    uint16_t is_read; /* nonzero: read by an instruction that sees other waves' later writes */
} HkWatched;

struct HkWatch {
    uint32_t count, room;
    uint32_t newest; /* index of the range touched last */
    uint32_t bytes;
    /* in this round */
    uint32_t grown; /* accesses to memory outside the ranges */
    uint32_t reads; /* reads of global memory by instructions that see other waves' later writes */
    uint32_t ds_reads;
    /* in this window */
    uint32_t rounds, grown_rounds;
    uint32_t is_late;  /* nonzero: reads of LDS count, too */
    uint32_t full;     /* nonzero: the ranges do not hold all touched memory */
    uint32_t is_known; /* nonzero: state, content and shared are those at the end of an earlier round */
    uint32_t idle;     /* mask of waves that have not run since their registers were last compared */
    uint32_t unknown;  /* nonzero: since then something was read that no range covers: a clock, a part of an element */
    uint64_t state, content, shared;
    /* at the end of the round before */
    uint64_t content_before, shared_before; /* hashes of the ranges, and of LDS and scratch */
    HkWatched *ranges;
    uint64_t rows[]; /* [waves][rows] hashes of registers at the end of the round before; 0: none */
};

/* Records that a wave touches memory. */
void hk_watch_range(Wave *w, uint64_t pc, uint64_t address, uint32_t bytes, int is_read);
void hk_watch_lanes(Wave *w, const Op *op, const uint64_t *at, uint64_t lanes, uint32_t bytes, int is_read);
void hk_watch_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t lanes, uint32_t bytes,
                  int is_read);

/* Records that a wave reads something that no range covers, so that changes cannot be detected. */
static inline void hk_watch_unknown(Wave *w) {
    if (__builtin_expect(w->group->watch != NULL, 0)) w->group->watch->unknown = 1;
}

/* Named barriers and clusters' (ops/barriers.c), for the driver: whether the wave need not wait any longer, and a record
 * of the memory that says so, for a wave of a watched work-group. */
int hk_barrier_passed(Wave *w);
void hk_watch_barrier(Wave *w);

/* Functions for the driver. */

/* Begins a window; 0 if memory ran out. */
int hk_watch_begin(Resident *r);
void hk_watch_end(Resident *r);
void hk_watch_free(Resident *r);

enum {
    HK_WATCH_ON,    /* undecided: another round is needed */
    HK_WATCH_WORKS, /* it is not waiting */
    HK_WATCH_POLLS,
    HK_WATCH_STUCK,
};

/* Evaluates a round of a watched work-group; `slept`: each wave that ran ended its turn with s_sleep. */
int hk_watch_round(Resident *r, int slept);

/* True if memory that a work-group touched while watched has changed since. */
int hk_watch_changed(const Resident *r);

/* HK_ALLOCATION_* flags of that memory. */
uint64_t hk_watch_flags(const Resident *r);

void hk_watch_wait(const Resident *r, HkWait *wait);

#endif
