/* The sanitizer's state of a launch, its work-groups and waves. */
#include "observe/sanitizer/state.h"

#include <stdlib.h>

static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }

HK_EXPORT San *hk_san_new(uint64_t groups, uint64_t memory_limit) {
    San *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->groups = groups;
    s->memory_left = memory_limit;
    s->page_capacity = 1024;
    s->pages = calloc(s->page_capacity, sizeof *s->pages);
    s->releases = calloc(groups, sizeof *s->releases);
    if (s->pages == NULL || s->releases == NULL) {
        hk_san_free(s);
        return NULL;
    }
    return s;
}

HK_EXPORT void hk_san_free(San *s) {
    if (s == NULL) return;
    for (uint64_t i = 0; s->pages != NULL && i < s->page_capacity; i++) {
        free(s->pages[i].cells);
        free(s->pages[i].reads);
        free(s->pages[i].others);
        if (s->pages[i].dwords != NULL) {
            free(s->pages[i].dwords->reads);
            free(s->pages[i].dwords->others);
        }
        free(s->pages[i].dwords);
    }
    free(s->pages);
    san_order_free(s);
    san_heap_free(s);
    free(s);
}

HK_EXPORT void hk_san_watch(San *s, const SanMemory *memories, uint64_t count) {
    s->memories = memories;
    s->memory_count = count;
    s->last_memory = memories;
}

HK_EXPORT void hk_san_know(San *s, const SanObject *objects, uint64_t count) {
    s->objects = objects;
    s->object_count = count;
}

HK_EXPORT int32_t hk_san_lost_writes(const San *s) { return s->lost_writes; }

static size_t wave_bytes(const Launch *l) {
    size_t rows = l->row_count, dwords = ((size_t)l->scratch_size + 3) / 4;
    return round64(sizeof(SanWave)) + 2 * round64(rows * 8) + 4 * round64(rows * 4) + 2 * round64(dwords * 8);
}

static size_t lds_bytes(const Launch *l, uint32_t waves) {
    size_t dwords = ((size_t)l->lds_end + 3) / 4;
    return round64(dwords * sizeof(LdsCell)) + round64(dwords * sizeof(uint64_t)) +
           round64(dwords * waves * sizeof(uint32_t)) + round64(dwords / 4);
}

size_t hk_san_bytes(const Launch *l, uint32_t waves) {
    return round64(sizeof(SanGroup)) + round64(waves * sizeof(SanWave)) + lds_bytes(l, waves) + waves * wave_bytes(l);
}

void hk_san_start(const Launch *l, Group *g, Wave *waves, void *memory) {
    uint8_t *p = memory;
    SanGroup *sg = memory;
    p += round64(sizeof *sg);
    sg->san = l->san;
    sg->san->launch = l;
    sg->group = g;
    sg->epoch = 1;
    sg->reads_passed = 0;
    sg->named_used = 0;
    memset(sg->cluster, 0, sizeof sg->cluster);
    sg->lds_origin = 0;
    sg->wave_count = g->wave_count;
    sg->rows = l->row_count;
    sg->lds_dwords = (uint32_t)(((size_t)l->lds_end + 3) / 4);
    sg->waves = (SanWave *)p;
    p += round64(g->wave_count * sizeof(SanWave));
    sg->lds = (LdsCell *)p;
    sg->quick = (uint64_t *)(p + round64(sg->lds_dwords * sizeof(LdsCell)));
    sg->lds_reads = (uint32_t *)((uint8_t *)sg->quick + round64(sg->lds_dwords * sizeof(uint64_t)));
    sg->together = (uint8_t *)sg->lds_reads + round64(sg->lds_dwords * sizeof(uint32_t) * g->wave_count);
    p += lds_bytes(l, g->wave_count);
    for (uint32_t i = 0; i < sg->lds_dwords; i++) sg->lds[i] = (LdsCell){.write = {.writer = 255, .undefined = 15}};
    memset(sg->quick, 0, sg->lds_dwords * sizeof(uint64_t));
    memset(sg->together, 0, sg->lds_dwords / 4);
    size_t rows = l->row_count, dwords = ((size_t)l->scratch_size + 3) / 4;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        SanWave *sw = &sg->waves[i];
        memset(sw, 0, sizeof *sw);
        sw->group = sg;
        sw->index = i;
        sw->states = 1;
        sw->undefined = (uint64_t *)p;
        p += round64(rows * 8);
        uint32_t **tables[] = {&sw->vm_wait, &sw->lgkm_wait, &sw->vm_pc, &sw->lgkm_pc};
        for (unsigned t = 0; t < 4; t++) {
            *tables[t] = (uint32_t *)p;
            memset(p, 0, rows * 4);
            p += round64(rows * 4);
        }
        sw->scratch = (uint64_t *)p;
        sw->scratch_dwords = dwords;
        p += round64(dwords * 8);
        sw->scratch_origin = (uint64_t *)p;
        p += round64(dwords * 8);
        sw->origin = (uint64_t *)p;
        p += round64(rows * 8);
        memset(sw->undefined, 255, rows * 8);
        memset(sw->scratch, 255, dwords * 8);
        memset(sw->scratch_origin, 0, dwords * 8);
        memset(sw->origin, 0, rows * 8);
        uint64_t items = HK_ALL_LANES >> (HK_LANES - waves[i].lanes);
        unsigned ids = l->packed_item_ids ? 1 : l->item_id_mode + 1;
        for (unsigned r = 0; r < ids && r < rows; r++) sw->undefined[r] = ~items;
        uint32_t given = l->user_sgpr_count +
                         (l->architected_group_ids ? 0 : (uint32_t)__builtin_popcount(l->enable_group_id & 7)) +
                         (l->enable_group_info != 0) + (l->enable_wave_offset != 0);
        for (uint32_t r = given; r < HK_FLAT_SCRATCH; r++) sw->scalar_undefined[r] = ~0u;
        sw->scalar_undefined[HK_VCC] = sw->scalar_undefined[HK_VCC + 1] = ~0u;
        sw->scalar_undefined[HK_M0] = ~0u;
        waves[i].san = sw;
    }
}

/* Records the LDS reads that are in flight when a wave passes a barrier. */
static void pass_reads(SanWave *sw) {
    sw->passed_count = 0;
    for (uint32_t i = 0; i < COPY_READS && i < sw->copy_next; i++)
        if (sw->copied[i].number > published_of(sw, sw->copied[i].copies))
            sw->passed[sw->passed_count++] = sw->copied[i];
    if (sw->last_read <= sw->lgkm_published) return;
    for (uint32_t i = 0; i < READS; i++) {
        const LdsRead *r = &sw->reads[i];
        if (r->number > sw->lgkm_published && sw->lgkm_issued - r->number < READS - 1)
            sw->passed[sw->passed_count++] = *r;
    }
}

/* `pc` is the address of the barrier at which the first waiting wave is. */
void hk_san_barrier(const Group *g, Wave *waves) {
    Wave *first = NULL;
    uint64_t ended = 0;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        if (waves[i].state == HK_WAVE_ENDED) ended++;
        if (waves[i].state == HK_WAVE_WAITING && first == NULL) first = &waves[i];
    }
    if (ended != 0) san_found(first, SAN_FOUND_BARRIER, &(Op){.pc = first->pc}, ~0ull, -1, 0, ended, 0, 0);

    SanGroup *sg = ((SanWave *)waves[0].san)->group;
    sg->epoch++;
    sg->reads_passed = 0;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        SanWave *sw = waves[i].san;
        if (!sw->has_arrived) arrive(sw);
        sw->has_arrived = 0;
        for (unsigned n = COUNTS_ASYNC; HK_COPIES && n < COUNTERS; n++) {
            sw->apart[n].passed = sw->apart[n].arrived;
            sw->apart[n].published = sw->apart[n].arrived_done;
        }
        sw->vm_published = sw->arrived_vm_done;
        sw->vm_passed = sw->arrived_vm;
        sw->lgkm_published = sw->arrived_lgkm_done;
        sw->lgkm_passed = sw->arrived_lgkm;
        pass_reads(sw);
        sg->reads_passed += sw->passed_count;
    }
    if (sg->san->synced) san_order_barrier(sg);
}
