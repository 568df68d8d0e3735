/* Initial state of a work-group: its memory, and the registers that the kernel descriptor requests. */
#include "run/late.h"
#include "run/waiting.h"

#include "observe/sanitizer/sanitizer.h"
#include "observe/steps.h"
#include "observe/traffic.h"

#include <stdlib.h>

#define FIRST_WATCH                                                                                                    \
    4096 /* blocks after which a work-group is looked at whether it waits; then each time that it has run              \
            twice as many */
#define MOST_REACHED 256 /* accesses after which a work-group's whole LDS is poisoned */
#define GUARD_BYTES 64   /* vector code may read, but never use, a few bytes past an array */

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

static void fill(void *memory, uint32_t value, size_t bytes) {
    uint32_t *p = __builtin_assume_aligned(memory, 64);
    for (size_t i = 0; i < (bytes + 3) / 4; i++) p[i] = value;
}

static size_t register_bytes(const Launch *l) { return (size_t)l->row_count * HK_LANES * 4; }
static size_t scratch_bytes(const Launch *l) { return ((size_t)l->scratch_size + 3) / 4 * HK_LANES * 4; }

/* Memory of work-groups of earlier launches. The system supplies new memory page by page, at first touch, and takes it
 * back from all cores: on 16 threads that took as long as the rest of a launch's overhead. A thread that finds the
 * cache locked does without it, so that no thread waits, least of all in a forked process. */
#define KEPT 64
#define KEPT_BYTES ((size_t)128 << 20)
static struct {
    char in_use;
    uint32_t count;
    size_t bytes;
    Resident *groups[KEPT]; /* oldest first */
} kept;

static int enter_kept(void) { return !__atomic_test_and_set(&kept.in_use, __ATOMIC_ACQUIRE); }

static void leave_kept(void) { __atomic_clear(&kept.in_use, __ATOMIC_RELEASE); }

static Resident *take_kept(uint32_t i) {
    Resident *r = kept.groups[i];
    kept.bytes -= r->bytes;
    kept.count--;
    memmove(kept.groups + i, kept.groups + i + 1, (kept.count - i) * sizeof *kept.groups);
    return r;
}

static Resident *find_memory(size_t bytes) {
    Resident *r = NULL;
    if (enter_kept()) {
        for (uint32_t i = kept.count; i > 0 && r == NULL; i--)
            if (kept.groups[i - 1]->bytes == bytes) r = take_kept(i - 1);
        leave_kept();
    }
    if (r == NULL) r = aligned_alloc(64, bytes);
    if (r != NULL) r->bytes = bytes;
    return r;
}

void hk_free_group(Resident *r) {
    hk_watch_free(r);
    if (r->bytes > KEPT_BYTES || !enter_kept()) {
        free(r);
        return;
    }
    while (kept.count == KEPT || kept.bytes + r->bytes > KEPT_BYTES) free(take_kept(0));
    kept.bytes += r->bytes;
    kept.groups[kept.count++] = r;
    leave_kept();
}

static Resident *allocate(const Launch *l, uint32_t waves) {
    size_t head = align64(sizeof(Resident));
    size_t states = align64(sizeof(Wave) * waves);
    size_t lds = align64((size_t)l->lds_end + GUARD_BYTES);
    size_t registers = align64(register_bytes(l) * waves + GUARD_BYTES);
    size_t scratch = align64(scratch_bytes(l) * waves + GUARD_BYTES);
    size_t shadow = l->san != NULL ? align64(hk_san_bytes(l, waves)) : 0;
    Resident *r = find_memory(head + states + lds + registers + scratch + shadow + hk_late_bytes(l, waves));
    if (r == NULL) return NULL;
    uint8_t *memory = (uint8_t *)r;
    r->waves = (Wave *)(memory + head);
    r->lds = memory + head + states;
    r->registers = r->lds + lds;
    r->scratch = r->registers + registers;
    r->shadow = r->scratch + scratch;
    r->late = r->shadow + shadow;
    r->lds_bytes = l->lds_end;
    r->rows = l->row_count;
    r->wave_room = waves;
    r->watch = NULL;
    return r;
}

/* Sets the work-item ids of a wave's lanes in the form that the descriptor requests. */
static void set_item_ids(const Launch *l, const Group *g, Wave *w) {
    uint32_t first = w->index * HK_LANES;
    if (g->size[1] == 1 && g->size[2] == 1) {
        for (unsigned lane = 0; lane < w->lanes; lane++) w->v[lane] = first + lane;
        if (!l->packed_item_ids)
            for (unsigned i = 1; i <= l->item_id_mode && i < l->row_count; i++) memset(hk_row(w, i), 0, w->lanes * 4);
        return;
    }
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
    uint64_t turn = g->index / l->xcds; /* number of the work-group on its die */
    uint32_t place = (uint32_t)(turn % l->units), round = (uint32_t)(turn / l->units);
    w->xcc_id = (uint32_t)(g->index % l->xcds);
    w->hw_id = (w->index / simds & 15) | w->index % simds << 4 | (place / engines & 15) << 8 | place % engines << 13 |
               (round & 15) << 16;
    /* VALID; and IN_TG if the work-group has several waves. */
    w->status = 1u << 16 | (g->wave_count > 1 ? 1u << 11 : 0);
}

/* Poisons those of the chunks that [low, high) touches that are bare, or none that it covers. */
static void poison_lds(Group *g, uint8_t *lds, uint64_t low, uint64_t high, int is_covered) {
    for (uint64_t chunk = low / HK_LDS_CHUNK; chunk * HK_LDS_CHUNK < high; chunk++) {
        uint64_t from = chunk * HK_LDS_CHUNK;
        uint64_t bytes = g->lds_end - from < HK_LDS_CHUNK ? g->lds_end - from : HK_LDS_CHUNK;
        if (!g->lds_bare[chunk]) continue;
        if (!is_covered || from < low || from + bytes > high) fill(lds + from, g->poison, bytes);
        g->lds_bare[chunk] = 0;
    }
    while (g->lds_clean < g->lds_end && !g->lds_bare[g->lds_clean / HK_LDS_CHUNK]) g->lds_clean += HK_LDS_CHUNK;
}

int hk_lds_reach(Wave *w, uint64_t low, uint64_t high, int is_covered) {
    Group *g = w->group;
    int is_inside = high <= g->lds_size;
    if (g->lds_clean < g->lds_end) {
        if (is_inside && ++g->lds_reached < MOST_REACHED)
            poison_lds(g, w->lds, low, high, is_covered);
        else
            poison_lds(g, w->lds, 0, g->lds_end, 0);
    }
    uint32_t clean = g->lds_clean < g->lds_size ? g->lds_clean : g->lds_size;
    if (clean > w->lds_size) w->lds_size = clean;
    return is_inside;
}

static void start_wave(const Worker *worker, Resident *r, uint32_t index, uint32_t items) {
    const Launch *l = worker->launch;
    const Group *g = &r->group;
    Wave *w = &r->waves[index];
    memset(w, 0, offsetof(Wave, sums));
    memset(w->sums, 0, l->row_count);
    fill(w->s, l->poison, sizeof w->s);
    w->v = (uint32_t *)(r->registers + register_bytes(l) * index);
    w->lds = r->lds;
    w->scratch = r->scratch + scratch_bytes(l) * index;
    w->scratch_size = l->scratch_size;
    w->mode = l->mode;
    w->code_base = l->code_base;
    w->block = l->entry;
    w->group = &r->group;
    w->lds_size = g->lds_clean < g->lds_size ? g->lds_clean : g->lds_size;
    w->index = index;
    w->lanes = items < HK_LANES ? items : HK_LANES;
    set_hardware_ids(l, g, w);
    if (l->poisoned == NULL) fill(w->v, l->poison, register_bytes(l));
    for (uint32_t row = 0; l->poisoned != NULL && row < l->row_count; row++)
        if (l->poisoned[row]) fill(hk_row(w, row), l->poison, HK_ROW_BYTES);
    fill(w->scratch, l->poison, scratch_bytes(l));

    w->s[HK_NULL] = 0;
    w->s[HK_EXEC + 1] = 0;
    hk_set_exec(w, HK_ALL_LANES >> (HK_LANES - w->lanes));
    w->s[HK_FLAT_SCRATCH] = (uint32_t)l->flat_scratch;
    w->s[HK_FLAT_SCRATCH + 1] = (uint32_t)(l->flat_scratch >> 32);

    uint32_t next = 0;
    for (; next < l->user_sgpr_count; next++) w->s[next] = l->user_sgpr[next];
    /* The wave's number in the work-group, in bits 29:25. */
    if (l->architected_group_ids) w->s[HK_TTMP + 8] = index << 25;
    if (l->architected_group_ids && g->cluster != NULL) {
        /* LLVM's AMDGPULowerKernelArguments and SIISelLowering, lowerWorkGroupId: the cluster's id instead of the
         * work-group's, whose id in the cluster, with the greatest, is in ttmp6. */
        const uint32_t *c = l->cluster;
        uint32_t ids = 0;
        for (unsigned i = 0; i < 3; i++) ids |= g->id[i] % c[i] << 4 * i | (c[i] - 1) << (12 + 4 * i);
        w->s[HK_TTMP + 6] = ids | (g->cluster_size - 1) << 24;
        w->s[HK_TTMP + 9] = g->id[0] / c[0];
        w->s[HK_TTMP + 7] = g->id[1] / c[1] | g->id[2] / c[2] << 16;
    } else if (l->architected_group_ids) {
        w->s[HK_TTMP + 6] = 0; /* in no cluster */
        w->s[HK_TTMP + 9] = g->id[0];
        w->s[HK_TTMP + 7] = g->id[1] | g->id[2] << 16;
    }
    for (unsigned i = 0; i < 3 && !l->architected_group_ids; i++)
        if (l->enable_group_id >> i & 1) w->s[next++] = g->id[i];
    /* Work-group info: a flag for the first wave, and the number of waves. */
    if (l->enable_group_info) w->s[next++] = (index == 0) << 31 | g->wave_count;
    if (l->enable_wave_offset) w->s[next++] = 0;
    set_item_ids(l, g, w);
    hk_late_start(l, w, r->late);
}

Resident *hk_start_group(Worker *worker, uint64_t index) {
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
    r->spent = r->before = 0;
    r->next_watch = FIRST_WATCH;
    r->turn_blocks = l->turn_blocks;
    r->seen = r->waits = r->is_stuck = 0;
    g->index = index;
    uint64_t rest = index;
    for (unsigned i = 0; i < 3; i++) {
        g->id[i] = (uint32_t)(rest % l->groups[i]);
        rest /= l->groups[i];
        g->grid[i] = l->groups[i];
        uint32_t left = l->items[i] - g->id[i] * l->group_size[i];
        g->size[i] = left < l->group_size[i] ? left : l->group_size[i];
    }
    if (l->clusters != NULL) {
        const uint32_t *c = l->cluster;
        g->cluster = hk_cluster_of(l, index);
        g->cluster_size = c[0] * c[1] * c[2];
        g->cluster_rank = g->id[0] % c[0] + c[0] * (g->id[1] % c[1] + c[1] * (g->id[2] % c[2]));
    }
    uint32_t items = g->size[0] * g->size[1] * g->size[2];
    g->wave_count = (items + HK_LANES - 1) / HK_LANES;
    g->machine = l->machine;
    g->counters = &worker->counters;
    g->stop = &worker->launch->stop;
    g->profile = (int32_t)l->profile;
    g->lds_end = l->lds_end;
    g->lds_size = l->lds_size;
    g->poison = l->poison;
    g->overrun = &worker->overrun;
    g->past = &worker->past;
    g->steps = l->steps;
    if (g->steps != NULL && g->steps->keep[index]) g->profile = HK_PROFILE_ALL;
    g->trace = l->trace;
    if (l->tape != NULL && l->tape->group == index) g->tape = l->tape;
    const HkSchedule *schedule = l->schedule;
    if (schedule != NULL && (schedule->group == HK_EVERY_GROUP || schedule->group == index)) g->schedule = schedule;
    /* The sanitizer, a tape and late loads read and write LDS in ways of their own. */
    if (l->san != NULL || l->tape != NULL || l->machine->late != HK_LATE_OFF) {
        fill(r->lds, l->poison, l->lds_end);
        g->lds_clean = l->lds_end;
    } else {
        memset(g->lds_bare, 1, sizeof g->lds_bare);
    }
    for (uint32_t i = 0; i < g->wave_count; i++) start_wave(worker, r, i, items - i * HK_LANES);
    if (l->san != NULL) hk_san_start(l, g, r->waves, r->shadow);
    if (g->steps != NULL) hk_steps_start(g->steps, g, r->waves);
    g->traffic = worker->traffic;
    if (g->traffic != NULL) hk_traffic_start(g->traffic, g, r->waves);
    return r;
}
