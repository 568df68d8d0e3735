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
#include "observe/sanitizer/sanitizer.h"
#include "observe/traffic.h"

#include <stdlib.h>
#include <time.h>

typedef struct Resident {
    struct Resident *next;
    Group group;
    Wave *waves;
    uint8_t *lds;
    uint8_t *registers;
    uint8_t *scratch;
    uint8_t *shadow; /* the sanitizer's */
    uint32_t cursor; /* wave whose turn is next */
    uint64_t spent;  /* blocks run since another work-group was last let in */
} Resident;

enum { GROUP_ENDED, GROUP_AGAIN, GROUP_FAULT, GROUP_SLICE_OVER };

#define GUARD_BYTES 64 /* vector code may read, never use, a few bytes beyond an array */

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

static void fill(void *memory, uint32_t value, size_t bytes) {
    uint32_t *p = __builtin_assume_aligned(memory, 64);
    for (size_t i = 0; i < bytes / 4; i++) p[i] = value;
}

static size_t register_bytes(const Launch *l) { return (size_t)l->row_count * HK_LANES * 4; }
static size_t scratch_bytes(const Launch *l) { return ((size_t)l->scratch_size + 3) / 4 * HK_LANES * 4; }

static Resident *allocate(const Launch *l, uint32_t waves) {
    size_t head = align64(sizeof(Resident));
    size_t states = align64(sizeof(Wave) * waves);
    size_t lds = align64((size_t)l->lds_size + GUARD_BYTES);
    size_t registers = align64(register_bytes(l) * waves + GUARD_BYTES);
    size_t scratch = align64(scratch_bytes(l) * waves + GUARD_BYTES);
    size_t shadow = l->san != NULL ? align64(hk_san_bytes(l, waves)) : 0;
    uint8_t *memory = aligned_alloc(64, head + states + lds + registers + scratch + shadow);
    if (memory == NULL) return NULL;
    Resident *r = (Resident *)memory;
    r->waves = (Wave *)(memory + head);
    r->lds = memory + head + states;
    r->registers = r->lds + lds;
    r->scratch = r->registers + registers;
    r->shadow = r->scratch + scratch;
    return r;
}

/* Work-item ids of a wave's lanes, as the descriptor asks for them. */
static void set_item_ids(const Launch *l, const Group *g, Wave *w) {
    uint32_t first = w->index * HK_LANES;
    uint32_t x = first % g->size[0], y = first / g->size[0] % g->size[1], z = first / g->size[0] / g->size[1];
    for (unsigned lane = 0; lane < w->lanes; lane++) {
        uint32_t ids[3] = {x, l->item_id_mode >= 1 ? y : 0, l->item_id_mode >= 2 ? z : 0};
        if (l->packed_item_ids) {
            w->v[lane] = ids[0] | ids[1] << 10 | ids[2] << 20;
        } else {
            for (unsigned i = 0; i <= l->item_id_mode && i < l->row_count; i++) w->v[i * HK_LANES + lane] = ids[i];
        }
        if (++x == g->size[0]) {
            x = 0;
            if (++y == g->size[1]) {
                y = 0;
                z++;
            }
        }
    }
}

/* HW_REG_HW_ID and HW_REG_XCC_ID of a wave, as if the compute units were filled in turn: work-groups go to the dies
 * one after another, on a die to its four shader engines one after another, and the waves of a work-group to the four
 * SIMDs. Fields of HW_ID on gfx940 (LLVM's SIDefines.h, Hwreg::ID_HW_ID): wave 3:0, SIMD 5:4, compute unit 11:8, shader
 * engine 15:13, work-group 19:16. */
static void set_hardware_ids(const Launch *l, const Group *g, Wave *w) {
    uint32_t engines = 4, simds = 4;
    uint64_t turn = g->index / l->xcds; /* of the die's work-groups */
    uint32_t place = (uint32_t)(turn % l->units), round = (uint32_t)(turn / l->units);
    w->xcc_id = (uint32_t)(g->index % l->xcds);
    w->hw_id = (w->index / simds & 15) | w->index % simds << 4 | (place / engines & 15) << 8 | place % engines << 13 |
               (round & 15) << 16;
    /* VALID, and IN_TG where a barrier has somebody to wait for. */
    w->status = 1u << 16 | (g->wave_count > 1 ? 1u << 11 : 0);
}

static void start_wave(const Worker *worker, Resident *r, uint32_t index, uint32_t items) {
    const Launch *l = worker->launch;
    const Group *g = &r->group;
    Wave *w = &r->waves[index];
    memset(w, 0, sizeof *w);
    fill(w->s, l->poison, sizeof w->s);
    w->v = (uint32_t *)(r->registers + register_bytes(l) * index);
    w->lds = r->lds;
    w->lds_size = l->lds_size;
    w->scratch = r->scratch + scratch_bytes(l) * index;
    w->scratch_size = l->scratch_size;
    w->mode = l->mode;
    w->code_base = l->code_base;
    w->block = l->entry;
    w->group = &r->group;
    w->index = index;
    w->lanes = items < HK_LANES ? items : HK_LANES;
    set_hardware_ids(l, g, w);
    fill(w->v, l->poison, register_bytes(l));
    fill(w->scratch, l->poison, scratch_bytes(l));

    uint64_t exec = w->lanes == HK_LANES ? ~0ull : (1ull << w->lanes) - 1;
    w->s[HK_EXEC] = (uint32_t)exec;
    w->s[HK_EXEC + 1] = (uint32_t)(exec >> 32);
    w->s[HK_FLAT_SCRATCH] = (uint32_t)l->flat_scratch;
    w->s[HK_FLAT_SCRATCH + 1] = (uint32_t)(l->flat_scratch >> 32);

    uint32_t next = 0;
    for (; next < l->user_sgpr_count; next++) w->s[next] = l->user_sgpr[next];
    for (unsigned i = 0; i < 3; i++)
        if (l->enable_group_id >> i & 1) w->s[next++] = g->id[i];
    /* Work-group info: whether it is the first wave, and the number of waves. */
    if (l->enable_group_info) w->s[next++] = (index == 0) << 31 | g->wave_count;
    if (l->enable_wave_offset) w->s[next++] = 0;
    set_item_ids(l, g, w);
}

static Resident *start_group(Worker *worker, uint64_t index) {
    const Launch *l = worker->launch;
    Resident *r = worker->spare;
    if (r != NULL) {
        worker->spare = r->next;
    } else {
        uint32_t full = l->group_size[0] * l->group_size[1] * l->group_size[2];
        r = allocate(l, (full + HK_LANES - 1) / HK_LANES);
        if (r == NULL) return NULL;
    }
    Group *g = &r->group;
    memset(g, 0, sizeof *g);
    r->next = NULL;
    r->cursor = 0;
    r->spent = 0;
    g->index = index;
    uint64_t rest = index;
    for (unsigned i = 0; i < 3; i++) {
        g->id[i] = (uint32_t)(rest % l->groups[i]);
        rest /= l->groups[i];
        g->grid[i] = l->groups[i];
        uint32_t left = l->items[i] - g->id[i] * l->group_size[i];
        g->size[i] = left < l->group_size[i] ? left : l->group_size[i];
    }
    uint32_t items = g->size[0] * g->size[1] * g->size[2];
    g->wave_count = (items + HK_LANES - 1) / HK_LANES;
    g->machine = l->machine;
    g->counters = &worker->counters;
    g->stop = &worker->launch->stop;
    g->profile = (int32_t)l->profile;
    g->trace = l->trace;
    fill(r->lds, l->poison, ((size_t)l->lds_size + 3) & ~(size_t)3);
    for (uint32_t i = 0; i < g->wave_count; i++) start_wave(worker, r, i, items - i * HK_LANES);
    if (l->san != NULL) hk_san_start(l, g, r->waves, r->shadow);
    g->traffic = worker->traffic;
    if (g->traffic != NULL) hk_traffic_start(g->traffic, g, r->waves);
    return r;
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
static int32_t run_wave(const Launch *l, uint64_t *counts, Wave *w, uint64_t *spent) {
    const BlockFn *functions = l->functions;
    int32_t block = w->block;
    uint32_t left = l->turn_blocks;
    int32_t result = HK_YIELD;
    while (left-- > 0) {
        counts[block]++;
        int32_t next = functions[block](w);
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
        f->waves[i] = (WaveReport){.state = r->waves[i].state, .block = r->waves[i].block};
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

/* Lets the waves that met at a barrier go on; 0 where they wait for ones that have ended. */
static int pass_barrier(Worker *worker, Resident *r, uint32_t waiting) {
    uint32_t first = 0;
    while (r->waves[first].state != HK_WAVE_WAITING) first++;
    if (waiting < r->group.wave_count) {
        Fault fault = {.kind = HK_FAULT_BARRIER, .lane = -1, .address = waiting};
        report(worker, r, first, &fault, 0);
        return 0;
    }
    for (uint32_t i = 0; i < r->group.wave_count; i++) r->waves[i].state = HK_WAVE_READY;
    if (worker->launch->san != NULL) hk_san_barrier(&r->group, r->waves);
    if (r->group.traffic != NULL) hk_traffic_barrier(&r->group, r->waves);
    return 1;
}

/* Answers the hostcall that a wave submitted in its turn; 0 where nobody does. */
static int answer(Worker *worker, Resident *r, uint32_t index) {
    Launch *l = worker->launch;
    Wave *w = &r->waves[index];
    uint64_t packet = w->packet;
    w->packet = 0;
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
        if (waiting + ended == count && !pass_barrier(worker, r, waiting)) return GROUP_FAULT;
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
    uint64_t index = __atomic_fetch_add(&l->next_group, 1, __ATOMIC_RELAXED);
    if (index >= l->group_total || index > __atomic_load_n(&l->last_group, __ATOMIC_RELAXED)) return NULL;
    Resident *r = start_group(worker, index);
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
        if (!dropped) result = run_group(worker, r, deadline);
        switch (result) {
        case GROUP_FAULT:
            lower_bound(&l->last_group, r->group.index);
            /* fall through: its memory serves the next work-group */
        case GROUP_ENDED:
            if (!dropped && result == GROUP_ENDED) __atomic_fetch_add(&l->finished, 1, __ATOMIC_RELAXED);
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

/* Frees what a worker holds; its counts and report stay. */
HK_EXPORT void hk_release(Worker *worker) {
    void **lists[] = {&worker->resident, &worker->spare};
    for (unsigned i = 0; i < 2; i++) {
        Resident *r = *lists[i];
        while (r != NULL) {
            Resident *next = r->next;
            free(r);
            r = next;
        }
        *lists[i] = NULL;
    }
    worker->resident_count = 0;
}
