/* Runs the work-groups of a launch.
 *
 * Each worker thread takes work-groups in order from a shared counter and runs the waves of one in turns: a
 * wave goes on until it meets a barrier, ends, faults or has used its turn, so that waves which wait for one
 * another through memory make progress. A work-group that goes on and on lets the next one start beside it,
 * so that work-groups may wait for one another too. Nothing here depends on time but when a call returns, so
 * a launch gives the same bits for any number of workers, unless what work-groups do depends on one another:
 * with one worker it does not depend on time even then.
 */
#define _GNU_SOURCE
#include "run/group.h"

#include "observe/sanitizer/sanitizer.h"
#include "observe/steps.h"
#include "observe/tape.h"
#include "observe/traffic.h"
#include "ops/matrix_tiles.h"

#include <stdlib.h>
#include <time.h>

enum { GROUP_ENDED, GROUP_AGAIN, GROUP_FAULT, GROUP_SLICE_OVER };

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* Block that begins at a device address; -1 where none does. */
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

/* Runs a wave's turn; HK_END, HK_BARRIER, HK_FAULT, or HK_YIELD when it is to go on later. */
__attribute__((always_inline)) static inline int32_t run_blocks(const Launch *l, uint64_t *counts, Wave *w,
                                                                uint64_t *spent, HkWay *way, HkTape *tape) {
    const BlockFn *functions = l->functions;
    int32_t block = w->block;
    uint32_t left = l->turn_blocks;
    int32_t result = HK_YIELD;
    while (left-- > 0) {
        counts[block]++;
        if (way != NULL) hk_steps_block(way, block);
        if (tape != NULL) hk_tape_before(tape, w);
        int32_t next = functions[block](w);
        if (tape != NULL) hk_tape_after(tape, w, block);
        if (__builtin_expect(next >= 0, 1)) {
            block = next;
            continue;
        }
        if (next == HK_JUMP) {
            int32_t found = find_block(l, w->target);
            if (found >= 0) {
                block = found;
                continue;
            }
            w->fault = (Fault){.kind = HK_FAULT_JUMP, .lane = -1, .address = w->target};
            next = HK_FAULT;
        }
        result = next;
        if (next == HK_BARRIER || next == HK_YIELD) block = w->block;
        break;
    }
    w->block = block;
    *spent += l->turn_blocks - left;
    return result;
}

/* Copies of it, so that a launch of which nothing is recorded does not look for each block whether it is. */
static int32_t run_wave(const Launch *l, uint64_t *counts, Wave *w, uint64_t *spent) {
    if (__builtin_expect(w->group->tape != NULL, 0)) return run_blocks(l, counts, w, spent, NULL, w->group->tape);
    return __builtin_expect(w->way != NULL, 0) ? run_blocks(l, counts, w, spent, w->way, NULL)
                                               : run_blocks(l, counts, w, spent, NULL, NULL);
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

/* Where the launch stood when it was stopped, for the message of a time limit. */
static void report_stop(Worker *worker) {
    const Resident *r = worker->resident;
    if (r == NULL) return;
    Fault none = {.kind = HK_FAULT_NONE, .lane = -1};
    uint32_t wave = 0;
    while (wave + 1 < r->group.wave_count && r->waves[wave].state != HK_WAVE_READY) wave++;
    report(worker, r, wave, &none, 0);
}

/* Lets the waves that met at a barrier go on. Those that have ended are not waited for (CDNA3 and CDNA4 ISA guides,
 * S_BARRIER). */
static void pass_barrier(Worker *worker, Resident *r) {
    if (worker->launch->san != NULL) hk_san_barrier(&r->group, r->waves);
    if (r->group.traffic != NULL) hk_traffic_barrier(&r->group, r->waves);
    for (uint32_t i = 0; i < r->group.wave_count; i++)
        if (r->waves[i].state == HK_WAVE_WAITING) r->waves[i].state = HK_WAVE_READY;
}

/* Answers the hostcall that a wave submitted in its turn; 0 where nobody does. */
static int answer(Worker *worker, Resident *r, uint32_t index) {
    Launch *l = worker->launch;
    Wave *w = &r->waves[index];
    uint64_t packet = w->packet;
    w->packet = 0;
    hk_tiles_release(); /* whoever answers may use tiles, too */
    int32_t refused = l->serve != NULL ? l->serve(r->group.index, index, packet) : -1;
    if (refused == 0) return 1;
    Fault fault = {.kind = HK_FAULT_SERVICE, .lane = -1, .address = (uint64_t)(int64_t)refused};
    report(worker, r, index, &fault, 0);
    return 0;
}

static int run_group(Worker *worker, Resident *r, uint64_t deadline) {
    Launch *l = worker->launch;
    uint32_t count = r->group.wave_count;
    uint64_t since_check = 0;
    for (;;) {
        while (r->cursor < count) {
            Wave *w = &r->waves[r->cursor];
            if (w->state == HK_WAVE_READY) {
                uint64_t blocks = 0;
                int32_t result = run_wave(l, worker->counts, w, &blocks);
                r->spent += blocks;
                since_check += blocks;
                if (__builtin_expect(w->packet != 0, 0) && !answer(worker, r, r->cursor)) return GROUP_FAULT;
                if (result == HK_END)
                    w->state = HK_WAVE_ENDED;
                else if (result == HK_BARRIER)
                    w->state = HK_WAVE_WAITING;
                else if (result != HK_YIELD) {
                    report(worker, r, r->cursor, &w->fault, w->fault.kind != HK_FAULT_JUMP);
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
            waiting += r->waves[i].state == HK_WAVE_WAITING;
            ended += r->waves[i].state == HK_WAVE_ENDED;
        }
        if (ended == count) return GROUP_ENDED;
        if (waiting + ended == count) pass_barrier(worker, r);
        if (r->spent >= (uint64_t)l->turn_blocks * l->turn_rounds) {
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

static void append(Worker *worker, Resident *r) {
    Resident **end = (Resident **)&worker->resident;
    while (*end != NULL) end = &(*end)->next;
    r->next = NULL;
    *end = r;
    worker->resident_count++;
}

/* The next work-group of the launch for this worker, or NULL; *failed is set where memory ran out. */
static Resident *take_group(Worker *worker, int *failed) {
    Launch *l = worker->launch;
    if (__atomic_load_n(&l->next_group, __ATOMIC_RELAXED) >= l->group_total) return NULL;
    uint64_t index;
    do index = __atomic_fetch_add(&l->next_group, 1, __ATOMIC_RELAXED);
    while (l->only != NULL && index < l->group_total && !l->only[index]);
    if (index >= l->group_total || index > __atomic_load_n(&l->last_group, __ATOMIC_RELAXED)) return NULL;
    Resident *r = hk_start_group(worker, index);
    *failed = r == NULL;
    return r;
}

/* Runs work-groups until none is left, the slice is over or the launch stops; HK_RUN_*. */
HK_EXPORT int32_t hk_run(Worker *worker, uint64_t slice_nanoseconds) {
    Launch *l = worker->launch;
    uint64_t deadline = now() + slice_nanoseconds;
    for (;;) {
        if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
            report_stop(worker);
            return HK_RUN_STOPPED;
        }
        if (worker->resident == NULL || (worker->wants_company && worker->resident_count < l->max_resident)) {
            int failed = 0;
            Resident *taken = take_group(worker, &failed);
            if (failed) return HK_RUN_MEMORY;
            if (taken != NULL) append(worker, taken);
            worker->wants_company = 0;
        }
        Resident *r = worker->resident;
        if (r == NULL) return HK_RUN_DONE;
        worker->resident = r->next;
        worker->resident_count--;
        int result = GROUP_ENDED;
        int dropped = r->group.index > __atomic_load_n(&l->last_group, __ATOMIC_RELAXED);
        hk_tiles_turn_begins();
        if (!dropped) result = run_group(worker, r, deadline);
        hk_tiles_turn_ends();
        switch (result) {
        case GROUP_FAULT:
            lower_bound(&l->last_group, r->group.index);
            /* fall through: its memory serves the next work-group */
        case GROUP_ENDED:
            if (!dropped && result == GROUP_ENDED) __atomic_fetch_add(&l->finished, 1, __ATOMIC_RELAXED);
            if (r->group.tape != NULL) hk_tape_end(r->group.tape, &r->group, r->waves);
            if (r->group.steps != NULL) hk_steps_end(r->group.steps, &r->group, r->waves);
            if (r->group.traffic != NULL) hk_traffic_end(r->group.traffic, &r->group, r->waves);
            r->next = worker->spare;
            worker->spare = r;
            break;
        case GROUP_AGAIN:
            append(worker, r);
            worker->wants_company = 1;
            break;
        case GROUP_SLICE_OVER: /* it stays the first, so that turns do not depend on time */
            r->next = worker->resident;
            worker->resident = r;
            worker->resident_count++;
            break;
        }
        if (now() >= deadline) return HK_RUN_AGAIN;
    }
}

/* Gives back what a worker holds; its counts and report stay. */
HK_EXPORT void hk_release(Worker *worker) {
    void **lists[] = {&worker->resident, &worker->spare};
    for (unsigned i = 0; i < 2; i++) {
        Resident *r = *lists[i];
        while (r != NULL) {
            Resident *next = r->next;
            hk_free_group(r);
            r = next;
        }
        *lists[i] = NULL;
    }
    worker->resident_count = 0;
}
