/* Work-groups that wait for memory to change: how the driver tells them from those that work.
 *
 * Now and then the driver watches a work-group for some rounds of its waves' turns. The native operations, which
 * HK_PROFILE_WATCH sends through the code that counts accesses, record the memory that it touches. A work-group polls
 * if it touches the same memory again and again and its registers hardly change. It is stuck if registers, LDS, scratch
 * and that memory are as they were at the end of an earlier round: until another writes there, all its work brings it
 * back to the same state, so that its turns may be left out. This costs nothing for a work-group that is not watched.
 */
#ifndef HK_WAITING_H
#define HK_WAITING_H

#include "ops/addresses.h"
#include "run/group.h"

/* Ranges of memory, and bytes of all of them: a work-group that touches more does not wait. */
#define HK_WATCHED 1024
#define HK_WATCHED_BYTES 65536

typedef struct HkWatched {
    uint64_t address; /* a device address, or one in the window of LDS */
    uint64_t pc;      /* of the first instruction that touched it */
    uint32_t bytes;
    uint16_t wave;
    uint16_t is_read; /* by an instruction that sees what others wrote meanwhile */
} HkWatched;

struct HkWatch {
    uint32_t count, room;
    uint32_t newest; /* range: the one that was touched last */
    uint32_t bytes;
    /* in this round */
    uint32_t grown; /* memory was touched that is not among the ranges */
    uint32_t reads; /* of global memory by instructions that see what others wrote meanwhile */
    uint32_t ds_reads;
    /* in this window */
    uint32_t rounds, grown_rounds;
    uint32_t is_late;  /* reads of LDS count, too */
    uint32_t full;     /* more was touched than the ranges hold */
    uint32_t is_known; /* whether state, content and shared are those at the end of an earlier round */
    uint32_t idle;     /* waves that have not run since their registers were last compared */
    uint32_t unknown;  /* something was read since then that the ranges do not have: a clock, a part of an element */
    uint64_t state, content, shared;
    /* at the end of the round before */
    uint64_t content_before, shared_before; /* of the ranges; of LDS and scratch */
    HkWatched *ranges;
    uint64_t rows[]; /* [waves][rows] registers at the end of the round before; 0: there is none */
};

/* Records that a wave touches memory. */
void hk_watch_range(Wave *w, uint64_t pc, uint64_t address, uint32_t bytes, int is_read);
void hk_watch_lanes(Wave *w, const Op *op, const uint64_t *at, uint64_t lanes, uint32_t bytes, int is_read);
void hk_watch_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t lanes, uint32_t bytes,
                  int is_read);

/* Records that a wave learns something of which the ranges cannot tell whether it changes. */
static inline void hk_watch_unknown(Wave *w) {
    if (__builtin_expect(w->group->watch != NULL, 0)) w->group->watch->unknown = 1;
}

/* The driver's side. */

/* Begins a window; 0 if memory ran out. */
int hk_watch_begin(Resident *r);
void hk_watch_end(Resident *r);
void hk_watch_free(Resident *r);

enum {
    HK_WATCH_ON,    /* not known yet: another round */
    HK_WATCH_WORKS, /* it does not wait */
    HK_WATCH_POLLS,
    HK_WATCH_STUCK,
};

/* Evaluates a round of a watched work-group; `slept`: each of its waves that ran asked to be left alone (s_sleep). */
int hk_watch_round(Resident *r, int slept);

/* Whether memory that a work-group was seen to touch has changed since. */
int hk_watch_changed(const Resident *r);

/* HK_ALLOCATION_* flags of that memory. */
uint64_t hk_watch_flags(const Resident *r);

void hk_watch_wait(const Resident *r, HkWait *wait);

#endif
