/* Runs the work-groups of a launch.
 *
 * Each worker thread takes work-groups in order from a shared counter and runs their waves in turns. A wave's turn ends
 * when it reaches a barrier, sleeps, ends, faults or has run its number of blocks, so waves that wait for one another
 * through memory make progress. Nothing here depends on time except when a call returns, so a launch gives the same
 * bits for any number of workers, unless its work-groups depend on one another; with one worker it does not depend on
 * time even then.
 *
 * Work-groups may wait for one another, too. Most run to their end, one after the other, in the same memory. One that
 * is seen to wait (waiting.h) is parked, and the next one starts beside it, up to as many as the device would hold.
 * Parked ones get their turns when the worker has nothing else to do, or has started as many as are parked; those that
 * are stuck, only when the memory that they wait for has changed. So each waits a bounded number of turns for each
 * change. One that runs on without being seen to wait shares the worker with others after a while.
 *
 * A worker whose work-groups are all stuck and that may start no other says so in Launch.waiting: above 16 bits an
 * epoch, which each worker increments when it leaves, begins to wait and stops waiting; below, the number of workers
 * that have found their work-groups stuck in this epoch. When these are all workers, those still to come included,
 * nobody has run between their checks, and the launch cannot change anything any more.
 */
#define _GNU_SOURCE
#include "run/group.h"

#include "observe/sanitizer/sanitizer.h"
#include "observe/steps.h"
#include "observe/tape.h"
#include "observe/traffic.h"
#include "ops/matrix_tiles.h"
#include "run/late.h"
#include "run/waiting.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { GROUP_ENDED, GROUP_AGAIN, GROUP_FAULT, GROUP_SLICE_OVER, GROUP_WAITS };

/* Result of run_blocks in addition to a block's HK_END and so on: the turn's blocks are used up. */
#define TURN_OVER (-100)
/* Likewise: a schedule stops the wave before its next block. */
#define HELD (-101)
#define SHORT_TURN 64 /* blocks per turn of a wave in a work-group that has been seen waiting */
#define EPOCH 0x10000ull
/* Consecutive checks without work: after SPINS a worker sleeps between checks; after the second number, about 2 ms, it
 * no longer relies on other workers to start work-groups. */
#define SPINS 16
#define PATIENCE 56

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Index of the block at a device address; -1 if there is none. */
static int32_t find_block(const Launch *l, uint64_t target) {
    uint64_t address = target - l->code_base;
    uint32_t low = 0, high = l->block_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (l->block_addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->block_count && l->block_addresses[low] == address ? l->block_indices[low] : -1;
}

/* True if the turn of a watched wave ends before its next block: it is back at the block where the turn began, or has
 * touched other memory than before. */
static inline int comes_back(const Wave *w, const HkWatch *watch, uint32_t grown, int32_t block) {
    return watch != NULL && (block == w->block || watch->grown != grown);
}

/* True if a schedule stops the wave before a block at which it has not just been stopped. */
static inline int stops(Wave *w, const uint8_t *holds, int32_t block) {
    uint64_t mark = (uint64_t)block + 1;
    int result = holds[block] && w->held != mark;
    w->held = result ? mark : 0;
    return result;
}

/* Runs a wave's turn; HK_END, HK_BARRIER, HK_AWAIT, HK_FAULT, or HK_YIELD, TURN_OVER or HELD if it is to continue
 * later. */
__attribute__((always_inline)) static inline int32_t run_blocks(const Launch *l, uint64_t *counts, Wave *w,
                                                                uint32_t turn, uint64_t *spent, HkWay *way,
                                                                HkTape *tape, const HkWatch *watch,
                                                                const uint8_t *holds) {
    const BlockFn *functions = l->functions;
    int32_t block = w->block;
    uint32_t used = 0, grown = watch != NULL ? watch->grown : 0;
    int32_t result = TURN_OVER;
    while (used < turn) {
        if (holds != NULL && stops(w, holds, block)) {
            result = HELD;
            break;
        }
        used++;
        counts[block]++;
        if (way != NULL) hk_steps_block(way, block);
        if (tape != NULL) hk_tape_before(tape, w);
        int32_t next = functions[block](w);
        if (tape != NULL) hk_tape_after(tape, w, block);
        if (__builtin_expect(next >= 0, 1)) {
            block = next;
            if (comes_back(w, watch, grown, block)) break;
            continue;
        }
        if (next == HK_JUMP) {
            int32_t found = find_block(l, w->target);
            if (found >= 0) {
                block = found;
                if (comes_back(w, watch, grown, block)) break;
                continue;
            }
            w->fault = (Fault){.kind = HK_FAULT_JUMP, .lane = -1, .address = w->target};
            next = HK_FAULT;
        }
        result = next;
        if (next == HK_BARRIER || next == HK_YIELD || next == HK_AWAIT) block = w->block;
        break;
    }
    w->block = block;
    *spent += used;
    return result;
}

/* Picks a specialised copy of run_blocks, so that launches without recorders need not check for them at each block. */
static int32_t run_wave(const Launch *l, uint64_t *counts, Wave *w, uint32_t turn, uint64_t *spent) {
    const Group *g = w->group;
    if (__builtin_expect(g->schedule != NULL, 0)) {
        const uint8_t *holds = g->schedule->waves >> w->index & 1 ? g->schedule->holds : NULL;
        return run_blocks(l, counts, w, turn, spent, w->way, g->tape, g->watch, holds);
    }
    if (__builtin_expect(g->watch != NULL, 0))
        return run_blocks(l, counts, w, turn, spent, w->way, g->tape, g->watch, NULL);
    if (__builtin_expect(g->tape != NULL, 0)) return run_blocks(l, counts, w, turn, spent, NULL, g->tape, NULL, NULL);
    return __builtin_expect(w->way != NULL, 0) ? run_blocks(l, counts, w, turn, spent, w->way, NULL, NULL, NULL)
                                               : run_blocks(l, counts, w, turn, spent, NULL, NULL, NULL, NULL);
}

static void report(Worker *worker, const Resident *r, uint32_t wave, const Fault *fault, int has_pc) {
    FaultReport *f = &worker->report;
    if (f->wave_count != 0 && f->group <= r->group.index) return;
    memset(f, 0, sizeof *f);
    f->fault = *fault;
    f->group = r->group.index;
    f->wave = wave;
    f->wave_count = r->group.wave_count;
    f->block = r->waves[wave].block;
    f->pc = r->waves[wave].pc;
    f->has_pc = (uint32_t)has_pc;
    for (uint32_t i = 0; i < r->group.wave_count; i++)
        f->waves[i] = (WaveReport){.state = r->waves[i].state, .pc = r->waves[i].pc};
}

/* Records where the launch was when it stopped, for the message of a time limit. */
static void report_stop(Worker *worker) {
    const Resident *r = worker->resident.first != NULL ? worker->resident.first : worker->parked.first;
    if (r == NULL) return;
    Fault none = {.kind = HK_FAULT_NONE, .lane = -1};
    uint32_t wave = 0;
    while (wave + 1 < r->group.wave_count && r->waves[wave].state != HK_WAVE_READY) wave++;
    report(worker, r, wave, &none, 0);
}

/* Lets the waves that met at a barrier continue. The barrier does not wait for waves that have ended (CDNA3 and CDNA4
 * ISA guides, S_BARRIER). */
static void pass_barrier(Worker *worker, Resident *r) {
    if (worker->launch->san != NULL) hk_san_barrier(&r->group, r->waves);
    if (r->group.traffic != NULL) hk_traffic_barrier(&r->group, r->waves);
    for (uint32_t i = 0; i < r->group.wave_count; i++) {
        Wave *w = &r->waves[i];
        if (w->state == HK_WAVE_WAITING)
            w->state = HK_WAVE_READY, w->signalled = HK_SIGNAL_NONE;
        else if (w->signalled == HK_SIGNAL_GIVEN)
            w->signalled = HK_SIGNAL_COMPLETE;
    }
}

/* A wave had a whole turn and has not reached the barrier at which others wait; the late accesses of those others take
 * effect now. Returns 0 after a fault. */
static int finish_waiting(Worker *worker, Resident *r) {
    for (uint32_t i = 0; i < r->group.wave_count; i++) {
        Wave *w = &r->waves[i];
        if (w->state != HK_WAVE_WAITING || !hk_late_finish(w)) continue;
        report(worker, r, i, &w->fault, 1);
        return 0;
    }
    return 1;
}

/* Answers the hostcall that a wave submitted in its turn; returns 0 if it has no handler. */
static int answer(Worker *worker, Resident *r, uint32_t index) {
    Launch *l = worker->launch;
    Wave *w = &r->waves[index];
    uint64_t packet = w->packet;
    w->packet = 0;
    hk_tiles_release(); /* the handler may use tiles too */
    int32_t refused = l->serve != NULL ? l->serve(r->group.index, index, packet) : -1;
    if (refused == 0) return 1;
    Fault fault = {.kind = HK_FAULT_SERVICE, .lane = -1, .address = (uint64_t)(int64_t)refused};
    report(worker, r, index, &fault, 0);
    return 0;
}

/* Evaluates a round of turns of a work-group's waves: returns whether it waits. */
__attribute__((noinline)) static int look(Resident *r, const Launch *l) {
    int slept = r->seen == HK_SLEPT;
    if (r->group.watch == NULL) {
        if (slept || (r->waits > 0 && !(r->seen & HK_MOVED))) {
            /* Most work-groups find what they wait for at the next check. */
            if (r->waits++ > 0 && (r->waits & (r->waits - 1)) == 0 && hk_watch_begin(r)) return HK_WATCH_ON;
            if (r->turn_blocks < l->turn_blocks && !slept) r->turn_blocks *= 2;
            return HK_WATCH_POLLS;
        }
        r->waits = 0;
        if (hk_blocks_run(r) >= r->next_watch && !hk_watch_begin(r)) r->next_watch = 2 * hk_blocks_run(r);
        return HK_WATCH_ON;
    }
    int result = hk_watch_round(r, slept);
    if (result == HK_WATCH_ON) return result;
    hk_watch_end(r);
    if (result == HK_WATCH_WORKS) {
        r->waits = 0;
        r->turn_blocks = l->turn_blocks;
        r->next_watch = 2 * hk_blocks_run(r);
        return result;
    }
    r->waits += r->waits == 0;
    r->is_stuck = result == HK_WATCH_STUCK;
    r->turn_blocks = SHORT_TURN < l->turn_blocks ? SHORT_TURN : l->turn_blocks;
    r->next_watch = hk_blocks_run(r);
    return result;
}

static int run_group(Worker *worker, Resident *r, uint64_t deadline) {
    Launch *l = worker->launch;
    const HkSchedule *schedule = r->group.schedule;
    uint32_t count = r->group.wave_count, turns = schedule != NULL ? HK_WAVES : count;
    uint64_t since_check = 0;
    for (;;) {
        while (r->cursor < turns) {
            uint32_t index = schedule != NULL ? schedule->order[r->cursor] : r->cursor;
            Wave *w = &r->waves[index];
            if (__builtin_expect(index < count && w->state == HK_WAVE_AWAITING, 0)) {
                if (hk_barrier_passed(w)) {
                    w->state = HK_WAVE_READY;
                    r->seen |= HK_MOVED;
                } else {
                    r->seen |= HK_SLEPT;
                    if (r->group.watch != NULL) hk_watch_barrier(w);
                }
            }
            if (index < count && w->state == HK_WAVE_READY) {
                uint64_t blocks = 0;
                int32_t result = run_wave(l, worker->counts, w, r->turn_blocks, &blocks);
                r->spent += blocks;
                since_check += blocks;
                if (__builtin_expect(w->late != NULL, 0) && result != HK_BARRIER && result != HK_FAULT &&
                    (result == HELD ? hk_late_stop(w) : hk_late_finish(w)))
                    result = HK_FAULT;
                if (__builtin_expect(schedule != NULL, 0) && r->group.tape != NULL) hk_tape_late(r->group.tape, w);
                if (__builtin_expect(w->packet != 0, 0)) {
                    if (!answer(worker, r, index)) return GROUP_FAULT;
                    r->seen |= HK_MOVED;
                }
                if (result == HK_AWAIT) {
                    w->state = HK_WAVE_AWAITING;
                    r->seen |= HK_MOVED;
                } else if (result == HK_BARRIER || result == HK_END) {
                    w->state = result == HK_END ? HK_WAVE_ENDED : HK_WAVE_WAITING;
                    r->seen |= HK_MOVED;
                } else if (result == HELD)
                    r->seen |= HK_MOVED | HK_STOPPED;
                else if (result == TURN_OVER)
                    r->seen |= HK_RAN_OUT;
                else if (result == HK_YIELD)
                    r->seen |= HK_SLEPT;
                else {
                    report(worker, r, index, &w->fault, w->fault.kind != HK_FAULT_JUMP);
                    return GROUP_FAULT;
                }
            }
            r->cursor++;
            if (since_check >= l->turn_blocks) {
                since_check = 0;
                if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED) || now() >= deadline) return GROUP_SLICE_OVER;
            }
        }
        r->cursor = 0;
        uint32_t waiting = 0, ended = 0;
        for (uint32_t i = 0; i < count; i++) {
            /* A wave that has signalled may work on, even wait for others, before it waits for the barrier. */
            waiting += r->waves[i].state == HK_WAVE_WAITING ||
                       (r->waves[i].state == HK_WAVE_READY && r->waves[i].signalled == HK_SIGNAL_GIVEN);
            ended += r->waves[i].state == HK_WAVE_ENDED;
        }
        if (ended == count) return GROUP_ENDED;
        if (waiting + ended == count)
            pass_barrier(worker, r);
        else if (__builtin_expect(r->waves[0].late != NULL, 0) && !(r->seen & HK_STOPPED) && !finish_waiting(worker, r))
            return GROUP_FAULT;
        /* The usual case, handled separately: rounds between barriers can be as short as 100 ns. */
        int works = r->group.watch == NULL && r->seen != HK_SLEPT && r->waits == 0 && hk_blocks_run(r) < r->next_watch;
        int state = __builtin_expect(works, 1) ? HK_WATCH_ON : look(r, l);
        int mixes = schedule != NULL && schedule->mixes && r->seen & HK_STOPPED;
        r->seen = 0;
        if (state == HK_WATCH_POLLS || state == HK_WATCH_STUCK) return GROUP_WAITS;
        if (mixes || r->spent >= (uint64_t)l->turn_blocks * l->turn_rounds) {
            r->before += r->spent;
            r->spent = 0;
            return GROUP_AGAIN;
        }
    }
}

static void lower_bound(uint64_t *bound, uint64_t value) {
    uint64_t seen = __atomic_load_n(bound, __ATOMIC_RELAXED);
    while (value < seen && !__atomic_compare_exchange_n(bound, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void append(HkQueue *queue, Resident *r) {
    r->next = NULL;
    if (queue->first == NULL)
        queue->first = r;
    else
        ((Resident *)queue->last)->next = r;
    queue->last = r;
}

static void prepend(HkQueue *queue, Resident *r) {
    r->next = queue->first;
    queue->first = r;
    if (r->next == NULL) queue->last = r;
}

static Resident *take_first(HkQueue *queue) {
    Resident *r = queue->first;
    if (r != NULL) queue->first = r->next;
    return r;
}

/* Lets a worker hold another work-group, as long as the launch holds no more than the device would. A worker's first
 * does not count, so that work-groups that run one after the other cost nothing: each worker has a place for it,
 * even before it starts. */
static int has_room(Worker *worker) {
    Launch *l = worker->launch;
    if (worker->resident_count == 0) return 1;
    uint32_t room = l->max_resident - __atomic_load_n(&l->workers, __ATOMIC_RELAXED);
    /* Without room, no worker starts the work-groups that this one leaves to others. */
    if (__atomic_load_n(&l->companions, __ATOMIC_RELAXED) >= room) return 0;
    worker->held_back = worker->resident_count >= __atomic_load_n(&l->share, __ATOMIC_RELAXED) && !worker->hurries;
    if (worker->held_back) return 0;
    if (__atomic_fetch_add(&l->companions, 1, __ATOMIC_RELAXED) < room) return 1;
    __atomic_fetch_sub(&l->companions, 1, __ATOMIC_RELAXED);
    return 0;
}

static void leave_room(Worker *worker) {
    worker->resident_count--;
    if (worker->resident_count > 0) __atomic_fetch_sub(&worker->launch->companions, 1, __ATOMIC_RELAXED);
}

/* The linear index of the work-group that starts as number `n`: those of a cluster start one after another. */
static uint64_t in_order(const Launch *l, uint64_t n) {
    if (l->clusters == NULL || n >= l->group_total) return n;
    const uint32_t *c = l->cluster;
    uint64_t size = (uint64_t)c[0] * c[1] * c[2], cluster = n / size, member = n % size, id[3];
    for (unsigned i = 0; i < 3; i++) {
        uint64_t across = l->groups[i] / c[i];
        id[i] = cluster % across * c[i] + member % c[i];
        cluster /= across;
        member /= c[i];
    }
    return id[0] + l->groups[0] * (id[1] + l->groups[1] * id[2]);
}

static int none_left(const Worker *worker) {
    return worker->next_reserved == worker->reserved_end &&
           __atomic_load_n(&worker->launch->next_group, __ATOMIC_RELAXED) >= worker->launch->group_total;
}

/* Number, in the order of starts, of the next work-group for this worker. Work-groups that move memory mostly write
 * next to their neighbours, and threads that touch a new large page together all clear one of their own. So each worker
 * takes a part of what is left; at the end the parts are single ones. It takes no more than it may hold (`share`), and
 * only when it holds nothing else, so that those which the device would hold at once can all start. */
static uint64_t next_number(Worker *worker) {
    Launch *l = worker->launch;
    if (worker->next_reserved == worker->reserved_end) {
        uint64_t begun = __atomic_load_n(&l->next_group, __ATOMIC_RELAXED), many = 1;
        if (worker->resident_count == 1 && begun < l->group_total) {
            uint64_t part = (l->group_total - begun) / (2 * __atomic_load_n(&l->workers, __ATOMIC_RELAXED) + 1);
            uint32_t share = __atomic_load_n(&l->share, __ATOMIC_RELAXED);
            if (part > share) part = share;
            if (part > 1) many = part;
        }
        worker->next_reserved = __atomic_fetch_add(&l->next_group, many, __ATOMIC_RELAXED);
        worker->reserved_end = worker->next_reserved + many;
    }
    return worker->next_reserved++;
}

/* Takes the launch's next work-group for this worker; NULL if there is none. Sets *failed if memory ran out. */
static Resident *take_group(Worker *worker, int *failed) {
    Launch *l = worker->launch;
    worker->held_back = 0;
    if (none_left(worker) || !has_room(worker)) return NULL;
    worker->resident_count++;
    uint64_t index;
    do {
        index = next_number(worker);
        if (l->schedule != NULL && l->schedule->reverse && index < l->group_total) index = l->group_total - 1 - index;
        index = in_order(l, index);
    } while (l->only != NULL && index < l->group_total && !l->only[index]);
    Resident *r = NULL;
    if (index < l->group_total && index <= __atomic_load_n(&l->last_group, __ATOMIC_RELAXED)) {
        r = hk_start_group(worker, index);
        *failed = r == NULL;
    }
    if (r == NULL) leave_room(worker);
    return r;
}

/* Gives parked work-groups a turn, except stuck ones: they get one when the memory that they wait for has changed,
 * or when a fault in an earlier work-group has made them unnecessary. */
static void wake(Worker *worker) {
    uint64_t last = __atomic_load_n(&worker->launch->last_group, __ATOMIC_RELAXED);
    HkQueue parked = worker->parked;
    Resident *r;
    worker->due = worker->parked_count;
    worker->started = worker->parked_count = 0;
    worker->parked = (HkQueue){NULL, NULL};
    while ((r = take_first(&parked)) != NULL) {
        int changed = hk_watch_changed(r);
        if (r->is_stuck && !changed && r->group.index <= last) {
            append(&worker->parked, r);
            worker->parked_count++;
            continue;
        }
        if (changed) r->waits = 1;
        r->is_stuck = 0;
        append(&worker->resident, r);
    }
}

static void start_another(Worker *worker, int *failed) {
    Resident *r = take_group(worker, failed);
    if (r == NULL) return;
    worker->started++;
    worker->quanta = 0;
    append(&worker->resident, r);
}

/* The work-group that runs next; NULL if all wait for memory to change, or there are none. */
static Resident *next_turn(Worker *worker, int *failed) {
    Launch *l = worker->launch;
    if (worker->wants_company) {
        /* A work-group that keeps running has had its share. */
        worker->wants_company = 0;
        wake(worker);
        if (worker->resident_count < l->max_company || ++worker->quanta >= worker->resident_count)
            start_another(worker, failed);
    }
    if (worker->resident.first == NULL && worker->parked_count > 0 && worker->started >= worker->due) wake(worker);
    if (worker->resident.first == NULL) start_another(worker, failed);
    if (worker->resident.first == NULL && !*failed) wake(worker);
    return take_first(&worker->resident);
}

static void raise_epoch(Launch *l) {
    __atomic_store_n(&l->waits_on, 0, __ATOMIC_SEQ_CST);
    uint64_t seen = __atomic_load_n(&l->waiting, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&l->waiting, &seen, (seen / EPOCH + 1) * EPOCH, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED)) {
    }
}

/* A worker without work is no longer counted. Before that, waiting workers must check again: this one may have written
 * the memory that they wait for. */
static void leave(Launch *l) {
    raise_epoch(l);
    __atomic_fetch_sub(&l->workers, 1, __ATOMIC_SEQ_CST);
}

/* Counts a worker among the waiting ones, once per epoch: it has just checked, in an epoch that began before the check,
 * that no memory changed for any of its work-groups. */
static void confirm(Worker *worker, uint64_t epoch) {
    Launch *l = worker->launch;
    if (worker->confirmed == epoch) return;
    uint64_t flags = 0;
    for (const Resident *r = worker->parked.first; r != NULL; r = r->next) flags |= hk_watch_flags(r);
    __atomic_fetch_or(&l->waits_on, flags, __ATOMIC_SEQ_CST);
    uint64_t seen = __atomic_load_n(&l->waiting, __ATOMIC_SEQ_CST);
    while (seen / EPOCH == epoch)
        if (__atomic_compare_exchange_n(&l->waiting, &seen, seen + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            worker->confirmed = epoch;
            return;
        }
}

HK_EXPORT uint64_t hk_deadlock(const Launch *l) {
    uint64_t seen = __atomic_load_n(&l->waiting, __ATOMIC_SEQ_CST),
             flags = __atomic_load_n(&l->waits_on, __ATOMIC_SEQ_CST);
    uint32_t workers = __atomic_load_n(&l->workers, __ATOMIC_SEQ_CST);
    if (workers == 0 || seen % EPOCH != workers || __atomic_load_n(&l->waiting, __ATOMIC_SEQ_CST) != seen) return 0;
    return flags | HK_ALLOCATION_READ;
}

HK_EXPORT uint64_t hk_waits(const Worker *worker, HkWait *waits, uint64_t room) {
    uint64_t count = 0;
    for (const Resident *r = worker->parked.first; r != NULL; r = r->next, count++)
        if (count < room) hk_watch_wait(r, &waits[count]);
    return count;
}

/* Runs a work-group until another one's turn. */
static void run_turn(Worker *worker, Resident *r, uint64_t deadline) {
    Launch *l = worker->launch;
    worker->turns++;
    int result = GROUP_ENDED;
    int dropped = r->group.index > __atomic_load_n(&l->last_group, __ATOMIC_RELAXED);
    hk_tiles_turn_begins();
    if (!dropped) result = run_group(worker, r, deadline);
    hk_tiles_turn_ends();
    switch (result) {
    case GROUP_FAULT:
        lower_bound(&l->last_group, r->group.index);
        /* fall through: its memory is reused for the next work-group */
    case GROUP_ENDED:
        if (!dropped && result == GROUP_ENDED) __atomic_fetch_add(&l->finished, 1, __ATOMIC_RELAXED);
        if (r->group.tape != NULL) hk_tape_end(r->group.tape, &r->group, r->waves);
        if (r->group.steps != NULL) hk_steps_end(r->group.steps, &r->group, r->waves);
        if (r->group.traffic != NULL) hk_traffic_end(r->group.traffic, &r->group, r->waves);
        r->next = worker->spare;
        worker->spare = r;
        leave_room(worker);
        break;
    case GROUP_AGAIN:
        append(&worker->resident, r);
        worker->wants_company = 1;
        break;
    case GROUP_WAITS:
        append(&worker->parked, r);
        worker->parked_count++;
        break;
    case GROUP_SLICE_OVER: /* it stays first, so that the order of turns does not depend on time */
        prepend(&worker->resident, r);
        break;
    }
}

/* Runs work-groups until none is left, the time slice ends or the launch stops; returns HK_RUN_*. */
HK_EXPORT int32_t hk_run(Worker *worker, uint64_t slice_nanoseconds) {
    Launch *l = worker->launch;
    uint64_t deadline = now() + slice_nanoseconds;
    for (;;) {
        if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
            report_stop(worker);
            return HK_RUN_STOPPED;
        }
        uint64_t epoch = __atomic_load_n(&l->waiting, __ATOMIC_SEQ_CST) / EPOCH;
        int failed = 0;
        Resident *r = next_turn(worker, &failed);
        if (failed) {
            worker->out_of_memory = 1;
            __atomic_store_n(&l->stop, 1, __ATOMIC_RELAXED);
            continue;
        }
        if (r != NULL) {
            if (worker->is_waiting) raise_epoch(l);
            worker->is_waiting = 0;
            worker->looks = 0;
            run_turn(worker, r, deadline);
        } else if (worker->parked.first == NULL) {
            leave(l);
            return HK_RUN_DONE;
        } else if (!worker->is_waiting) {
            worker->is_waiting = 1;
            raise_epoch(l);
        } else {
            if (!worker->held_back)
                confirm(worker, epoch);
            else if (worker->looks >= PATIENCE && __atomic_load_n(&l->share, __ATOMIC_RELAXED) != 0)
                worker->hurries = 1;
            if (worker->looks++ < SPINS)
                sched_yield();
            else
                nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        }
        if (now() >= deadline) return HK_RUN_AGAIN;
    }
}

/* Frees a worker's memory, except its counts and report. */
HK_EXPORT void hk_release(Worker *worker) {
    HkQueue spare = {worker->spare, NULL}, *queues[] = {&worker->resident, &worker->parked, &spare};
    for (unsigned i = 0; i < 3; i++) {
        Resident *r;
        while ((r = take_first(queues[i])) != NULL) hk_free_group(r);
    }
    worker->spare = NULL;
    worker->resident_count = worker->parked_count = 0;
}
