/* The sanitizer: shadow state of registers, LDS and memory, and what it finds out of order.
 *
 * A wave carries, beside its registers: which lanes (bits of scalar registers) were never written, and the
 * number of the load that each register waits for. Waits are counted like the compiler must count them:
 * vector memory in order; LDS in order as long as no scalar load is under way; with both, only a wait for
 * zero says anything (LLVM AMDGPUUsage, "Memory model gfx942"; CDNA3 ISA guide, "Data dependency resolution").
 *
 * Two accesses of different waves are ordered by a barrier between them, or, taken generously, by an atomic
 * of each side after the first access. Undefined values are followed, not reported, until they are stored to
 * global memory, decide a branch or EXEC, or are an address.
 */
#include "observe/sanitize.h"

#include "ops/addresses.h"
#include "ops/buffer.h"

#include <stdlib.h>

#define SCALARS (SAN_SCC + 1)
#define REPORTS 1024
#define NOBODY 0xffffffffu

/* One dword of LDS. */
typedef struct LdsCell {
    uint32_t write_epoch, read_epoch;
    uint32_t write_number; /* of the access among the writer's of its counter */
    uint32_t write_pc, read_pc;
    uint32_t tick;
    uint16_t readers;   /* waves */
    uint8_t writer;     /* wave, 255: none */
    uint8_t write_mask; /* bytes */
    uint8_t read_mask;
    uint8_t undefined; /* bytes */
    uint8_t how;       /* of the write: 1 by lgkmcnt, 2 by vmcnt; 4: atomic */
    uint8_t reader;
} LdsCell;

/* 16 bytes of global memory. */
typedef struct Cell {
    uint32_t write_group, write_epoch, write_pc, write_tick;
    uint32_t read_group, read_epoch, read_pc, read_tick;
    uint16_t write_mask, read_mask, readers;
    uint8_t writer, atomic;
} Cell;

/* A read of LDS, whose data may still be on its way. */
typedef struct LdsRead {
    uint64_t lanes;
    uint32_t number, epoch, tick, pc;
    uint32_t low, high; /* bytes that it touches lie in [low, high) */
    uint32_t bytes;     /* of a lane, at each address */
    uint32_t second;    /* distance of the second address; 0: there is none */
    uint32_t at[HK_LANES];
} LdsRead;

/* lgkmcnt has 4 bits: an instruction that would count further waits, so that no more can be under way. */
#define READS 16

#define PAGE_SHIFT 12
#define PAGE_CELLS ((1u << PAGE_SHIFT) / 16)

typedef struct Page {
    uint64_t number;
    Cell *cells;
} Page;

struct San {
    uint64_t groups;
    uint32_t tick;         /* atomics so far */
    uint32_t *group_ticks; /* last atomic of each group */
    Page *pages;           /* open hash */
    uint64_t page_capacity, page_count;
    uint64_t memory_left;
    uint64_t last_page;
    Cell *last_cells;
    const SanMemory *memories; /* sorted by base; the caller's */
    uint64_t memory_count;
    const SanMemory *last_memory;
    int32_t lost_writes; /* something was written that was not followed */
    uint64_t report_count, report_total;
    SanReport reports[REPORTS];
};

typedef struct SanGroup SanGroup;

typedef struct SanWave {
    SanGroup *group;
    uint32_t index;
    /* Loads issued and known to be done, by counter; and what was done at the last barrier. */
    uint32_t vm_issued, vm_done, vm_published;
    uint32_t lgkm_issued, lgkm_done, lgkm_published;
    uint32_t last_scalar, last_flat; /* numbers (lgkm) of the newest accesses that complete out of order */
    uint32_t last_read;              /* of the newest read of LDS */
    uint32_t read_next;              /* place of the next one in `reads` */
    uint32_t passed_count;
    uint32_t tick;
    uint64_t unwritten_pc;     /* of the newest load of memory that nobody wrote; ~0: none */
    uint64_t states;           /* wait states of the blocks that it has run */
    uint64_t marks[SAN_MARKS]; /* when the first instruction of each pair was over; 0: it has not run */
    uint32_t scalar_undefined[SCALARS + 3];
    uint32_t scalar_wait[SCALARS + 3];
    uint64_t *undefined;           /* [rows] lanes */
    uint32_t *vm_wait, *lgkm_wait; /* [rows] number of the load under way */
    uint32_t *vm_pc, *lgkm_pc;
    uint32_t scalar_pc[SCALARS + 3];
    uint64_t *scratch; /* [dwords] undefined lanes */
    uint64_t scratch_dwords;
    LdsRead reads[READS];  /* the newest ones, round and round */
    LdsRead passed[READS]; /* those that were under way when the wave passed the last barrier */
} SanWave;

struct SanGroup {
    San *san;
    const Group *group;
    uint32_t epoch;
    uint32_t wave_count;
    uint32_t rows;
    uint32_t lds_dwords;
    uint32_t reads_passed; /* of all waves together */
    LdsCell *lds;
    uint64_t *quick; /* by dword of LDS: epoch << 32, waves that may read it again, << 16: that may write it again */
    SanWave *waves;
};

static size_t round64(size_t n) { return (n + 63) & ~(size_t)63; }

/* ---- Reports ---- */

HK_EXPORT San *hk_san_new(uint64_t groups, uint64_t memory_limit) {
    San *s = calloc(1, sizeof *s);
    if (s == NULL) return NULL;
    s->groups = groups;
    s->memory_left = memory_limit;
    s->page_capacity = 1024;
    s->pages = calloc(s->page_capacity, sizeof *s->pages);
    s->group_ticks = calloc(groups + 1, sizeof *s->group_ticks);
    s->last_page = ~0ull;
    s->tick = 1;
    if (s->pages == NULL || s->group_ticks == NULL) {
        hk_san_free(s);
        return NULL;
    }
    return s;
}

HK_EXPORT void hk_san_free(San *s) {
    if (s == NULL) return;
    for (uint64_t i = 0; s->pages != NULL && i < s->page_capacity; i++) free(s->pages[i].cells);
    free(s->pages);
    free(s->group_ticks);
    free(s);
}

HK_EXPORT uint64_t hk_san_take(San *s, SanReport *reports, uint64_t room) {
    uint64_t count = s->report_count < room ? s->report_count : room;
    memcpy(reports, s->reports, count * sizeof *reports);
    return count;
}

HK_EXPORT void hk_san_watch(San *s, const SanMemory *memories, uint64_t count) {
    s->memories = memories;
    s->memory_count = count;
    s->last_memory = memories;
}

HK_EXPORT int32_t hk_san_lost_writes(const San *s) { return s->lost_writes; }

__attribute__((cold, noinline)) static void found(Wave *w, uint32_t kind, const Op *op, uint64_t other_pc, int32_t lane,
                                                  uint64_t address, uint64_t detail, uint64_t other_group,
                                                  uint32_t other_wave) {
    SanWave *sw = w->san;
    San *s = sw->group->san;
    s->report_total++;
    for (uint64_t i = 0; i < s->report_count; i++) {
        SanReport *r = &s->reports[i];
        if (r->pc == op->pc && r->kind == kind) {
            r->count++;
            return;
        }
    }
    if (s->report_count == REPORTS) return;
    s->reports[s->report_count++] = (SanReport){
        .pc = op->pc,
        .other_pc = other_pc,
        .address = address,
        .group = w->group->index,
        .other_group = other_group,
        .count = 1,
        .detail = detail,
        .kind = kind,
        .wave = w->index,
        .other_wave = other_wave,
        .lane = lane,
    };
}

/* ---- Groups and waves ---- */

static size_t wave_bytes(const Launch *l) {
    size_t rows = l->row_count, dwords = ((size_t)l->scratch_size + 3) / 4;
    return round64(sizeof(SanWave)) + round64(rows * 8) + 4 * round64(rows * 4) + round64(dwords * 8);
}

static size_t lds_bytes(const Launch *l) {
    size_t dwords = ((size_t)l->lds_size + 3) / 4;
    return round64(dwords * sizeof(LdsCell)) + round64(dwords * sizeof(uint64_t));
}

size_t hk_san_bytes(const Launch *l, uint32_t waves) {
    return round64(sizeof(SanGroup)) + round64(waves * sizeof(SanWave)) + lds_bytes(l) + waves * wave_bytes(l);
}

void hk_san_start(const Launch *l, Group *g, Wave *waves, void *memory) {
    uint8_t *p = memory;
    SanGroup *sg = memory;
    p += round64(sizeof *sg);
    sg->san = l->san;
    sg->group = g;
    sg->epoch = 1;
    sg->wave_count = g->wave_count;
    sg->rows = l->row_count;
    sg->lds_dwords = (uint32_t)(((size_t)l->lds_size + 3) / 4);
    sg->waves = (SanWave *)p;
    p += round64(g->wave_count * sizeof(SanWave));
    sg->lds = (LdsCell *)p;
    sg->quick = (uint64_t *)(p + round64(sg->lds_dwords * sizeof(LdsCell)));
    p += lds_bytes(l);
    for (uint32_t i = 0; i < sg->lds_dwords; i++) sg->lds[i] = (LdsCell){.writer = 255, .undefined = 15};
    memset(sg->quick, 0, sg->lds_dwords * sizeof(uint64_t));
    size_t rows = l->row_count, dwords = ((size_t)l->scratch_size + 3) / 4;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        SanWave *sw = &sg->waves[i];
        memset(sw, 0, sizeof *sw);
        sw->group = sg;
        sw->index = i;
        sw->states = 1;
        sw->unwritten_pc = ~0ull;
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
        memset(sw->undefined, 255, rows * 8);
        memset(sw->scratch, 255, dwords * 8);
        uint64_t items = waves[i].lanes == HK_LANES ? ~0ull : (1ull << waves[i].lanes) - 1;
        unsigned ids = l->packed_item_ids ? 1 : l->item_id_mode + 1;
        for (unsigned r = 0; r < ids && r < rows; r++) sw->undefined[r] = ~items;
        uint32_t given = l->user_sgpr_count + (uint32_t)__builtin_popcount(l->enable_group_id & 7) +
                         (l->enable_group_info != 0) + (l->enable_wave_offset != 0);
        for (uint32_t r = given; r < HK_FLAT_SCRATCH; r++) sw->scalar_undefined[r] = ~0u;
        sw->scalar_undefined[HK_VCC] = sw->scalar_undefined[HK_VCC + 1] = ~0u;
        sw->scalar_undefined[HK_M0] = ~0u;
        waves[i].san = sw;
    }
}

/* Keeps the reads of LDS with which a wave passes a barrier. */
static void pass_reads(SanWave *sw) {
    sw->passed_count = 0;
    if (sw->last_read <= sw->lgkm_done) return;
    for (uint32_t i = 0; i < READS; i++) {
        const LdsRead *r = &sw->reads[i];
        if (r->number > sw->lgkm_done && sw->lgkm_issued - r->number < READS - 1) sw->passed[sw->passed_count++] = *r;
    }
}

void hk_san_barrier(const Group *g, Wave *waves) {
    SanGroup *sg = ((SanWave *)waves[0].san)->group;
    sg->epoch++;
    sg->reads_passed = 0;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        SanWave *sw = waves[i].san;
        sw->vm_published = sw->vm_done;
        sw->lgkm_published = sw->lgkm_done;
        pass_reads(sw);
        sg->reads_passed += sw->passed_count;
    }
}

/* ---- Waits ---- */

static void wait_for(SanWave *sw, uint32_t imm) {
    uint32_t vm = imm & 255, lgkm = imm >> 8 & 255;
    int flat = sw->last_flat > sw->lgkm_done;
    if (vm != SAN_NOT_WAITED && (vm == 0 || !flat)) {
        uint32_t done = sw->vm_issued > vm ? sw->vm_issued - vm : 0;
        if (done > sw->vm_done) sw->vm_done = done;
    }
    if (lgkm != SAN_NOT_WAITED && (lgkm == 0 || !(flat || sw->last_scalar > sw->lgkm_done))) {
        uint32_t done = sw->lgkm_issued > lgkm ? sw->lgkm_issued - lgkm : 0;
        if (done > sw->lgkm_done) sw->lgkm_done = done;
    }
}

/* A row is read or written; `own` names the counter within which accesses stay in order. */
static void check_row(Wave *w, SanWave *sw, const SanOp *o, uint32_t row, int own) {
    if (row >= sw->group->rows) return;
    if (__builtin_expect(sw->vm_wait[row] > sw->vm_done, 0) && own != 1) {
        found(w, SAN_FOUND_WAIT_VECTOR, &o->op, sw->vm_pc[row], -1, row, row, 0, 0);
        sw->vm_wait[row] = 0;
    }
    if (__builtin_expect(sw->lgkm_wait[row] > sw->lgkm_done, 0) && own != 2) {
        found(w, SAN_FOUND_WAIT_LGKM, &o->op, sw->lgkm_pc[row], -1, row, row, 0, 0);
        sw->lgkm_wait[row] = 0;
    }
}

static void check_scalar(Wave *w, SanWave *sw, const SanOp *o, uint32_t index) {
    if (__builtin_expect(sw->scalar_wait[index] > sw->lgkm_done, 0)) {
        found(w, SAN_FOUND_WAIT_SCALAR, &o->op, sw->scalar_pc[index], -1, index, index, 0, 0);
        sw->scalar_wait[index] = 0;
    }
}

static void check_waits(Wave *w, SanWave *sw, const SanOp *o, int own) {
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++) check_row(w, sw, o, o->src[i] + n, 0);
    for (uint32_t n = 0; n < o->dst_count; n++) check_row(w, sw, o, o->dst + n, own);
    if (sw->last_scalar <= sw->lgkm_done) return;
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->ssrc_count[i]; n++) check_scalar(w, sw, o, o->ssrc[i] + n);
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) check_scalar(w, sw, o, o->sdst[i] + n);
}

/* ---- Undefined values ---- */

/* Lanes of a row that are undefined; rows that do not exist are not. */
static uint64_t undefined_row(const SanWave *sw, uint32_t row) {
    return row < sw->group->rows ? sw->undefined[row] : 0;
}

static uint64_t undefined_rows(const SanWave *sw, uint32_t row, uint32_t count) {
    uint64_t u = 0;
    for (uint32_t n = 0; n < count; n++) u |= undefined_row(sw, row + n);
    return u;
}

static uint64_t scalar_pair(const SanWave *sw, uint32_t index, uint32_t count) {
    return (uint64_t)sw->scalar_undefined[index] | (count > 1 ? (uint64_t)sw->scalar_undefined[index + 1] << 32 : 0);
}

static int scalar_any(const SanWave *sw, uint32_t index, uint32_t count) {
    for (uint32_t n = 0; n < count; n++)
        if (sw->scalar_undefined[index + n]) return 1;
    return 0;
}

static void set_rows(SanWave *sw, uint32_t row, uint32_t count, uint64_t lanes, uint64_t undefined) {
    for (uint32_t n = 0; n < count && row + n < sw->group->rows; n++)
        sw->undefined[row + n] = (sw->undefined[row + n] & ~lanes) | (undefined & lanes);
}

static void set_scalars(SanWave *sw, const SanOp *o, uint32_t undefined) {
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) sw->scalar_undefined[o->sdst[i] + n] = undefined;
}

static void set_scalar_lanes(SanWave *sw, const SanOp *o, uint64_t undefined) {
    for (int i = 0; i < 2; i++) {
        if (o->sdst_count[i] == 0) continue;
        sw->scalar_undefined[o->sdst[i]] = (uint32_t)undefined;
        if (o->sdst_count[i] > 1) sw->scalar_undefined[o->sdst[i] + 1] = (uint32_t)(undefined >> 32);
    }
}

static void undefined_branch(Wave *w, const SanOp *o, uint64_t lanes) {
    const SanWave *sw = w->san;
    found(w, SAN_FOUND_UNDEFINED_BRANCH, &o->op, sw->unwritten_pc, lanes ? (int32_t)hk_first_lane(lanes) : -1, 0, 0, 0,
          0);
}

/* Lanes in which the scalar sources make a vector result undefined. */
static uint64_t scalar_lanes(const SanWave *sw, const SanOp *o, uint64_t *mask) {
    uint64_t u = 0;
    int last = -1;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (o->ssrc_count[i]) last = i;
    for (int i = 0; i <= last; i++) {
        if (i == last && (o->flags & SAN_MASK_SOURCE))
            *mask = scalar_pair(sw, o->ssrc[i], o->ssrc_count[i]);
        else if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i]))
            u = ~0ull;
    }
    return u;
}

static void vector(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t mask = 0, u = scalar_lanes(sw, o, &mask);
    if (o->flags & SAN_SELECT) {
        uint64_t all = ~0ull;
        int sources = 0;
        for (int i = 0; i < SAN_SOURCES; i++) {
            if (o->src_count[i] == 0) continue;
            sources++;
            all &= undefined_rows(sw, o->src[i], o->src_count[i]);
        }
        u = sources && !(o->imm & 1) ? all & (o->ssrc_count[0] > 0 && !(o->flags & SAN_MASK_SOURCE) ? u : ~0ull) : 0;
    } else {
        for (int i = 0; i < SAN_SOURCES; i++) {
            uint64_t v = undefined_rows(sw, o->src[i], o->src_count[i]);
            if (i == 0 && (o->flags & SAN_CROSS)) v = (v & exec) == exec ? exec : 0;
            u |= v;
        }
        if (o->flags & SAN_KEEP) u |= undefined_rows(sw, o->dst, o->dst_count);
    }
    if (o->flags & SAN_SAME) u = 0;
    u |= mask;
    if (o->flags & SAN_DPP) {
        /* Lanes may keep what they had. */
        for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) {
            uint64_t *d = &sw->undefined[o->dst + n];
            *d &= u | ~exec;
        }
    } else
        set_rows(sw, o->dst, o->dst_count, exec, u);
    if (o->flags & SAN_TO_EXEC) {
        if (u & exec) undefined_branch(w, o, u & exec);
    }
    if (o->sdst_count[0]) set_scalar_lanes(sw, o, u & exec);
}

/* What a dword of a 64-bit result takes from a source: its own, and the other one where that reaches it. */
static uint64_t carried(const SanOp *o, uint32_t word, uint32_t count, uint64_t low, uint64_t high) {
    if (count < 2) return low;
    if (o->flags & SAN_CARRY) return word == 0 ? low : low | high;
    return word == 0 ? low & high : high;
}

static void carry_words(SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t results[2] = {0, 0};
    for (uint32_t n = 0; n < 2; n++)
        for (int i = 0; i < SAN_SOURCES; i++) {
            if (o->src_count[i])
                results[n] |=
                    carried(o, n, o->src_count[i], undefined_row(sw, o->src[i]), undefined_row(sw, o->src[i] + 1u));
            if (o->ssrc_count[i]) {
                uint64_t low = sw->scalar_undefined[o->ssrc[i]] ? ~0ull : 0;
                uint64_t high = o->ssrc_count[i] > 1 && sw->scalar_undefined[o->ssrc[i] + 1] ? ~0ull : 0;
                results[n] |= carried(o, n, o->ssrc_count[i], low, high);
            }
        }
    for (uint32_t n = 0; n < o->dst_count && n < 2; n++) set_rows(sw, o->dst + n, 1, exec, results[n]);
    if (o->dst_count)
        set_scalar_lanes(sw, o, results[1] & exec);
    else
        for (uint32_t n = 0; n < o->sdst_count[0] && n < 2; n++)
            sw->scalar_undefined[o->sdst[0] + n] = results[n] ? ~0u : 0;
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = results[0] | results[1] ? ~0u : 0;
}

static void words(SanWave *sw, const SanOp *o, uint64_t exec) {
    if (o->flags & (SAN_CARRY | SAN_CARRY_DOWN)) {
        carry_words(sw, o, exec);
        return;
    }
    uint64_t results[8] = {0};
    uint64_t unused = 0, scalar = scalar_lanes(sw, o, &unused);
    uint32_t count = o->dst_count < 8 ? o->dst_count : 8;
    for (uint32_t n = 0; n < count; n++) {
        results[n] = scalar;
        for (int i = 0; i < SAN_SOURCES; i++) {
            if (o->src_count[i] == 0) continue;
            /* imm: for each source, which of its dwords each half of the result reads. */
            uint32_t word = n < 2 ? o->imm >> (2 * i + n) & 1 : n;
            if (o->flags & SAN_KEEP) word = n;
            results[n] |= undefined_row(sw, o->src[i] + (word < o->src_count[i] ? word : 0u));
        }
    }
    for (uint32_t n = 0; n < count; n++) set_rows(sw, o->dst + n, 1, exec, results[n]);
}

static void scalar_bits(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint32_t how = o->flags >> 24;
    uint64_t u[2] = {0, 0};
    int is_exec[2] = {0, 0}, count = 0;
    for (int i = 0; i < SAN_SOURCES && count < 2; i++) {
        if (o->ssrc_count[i] == 0 || o->ssrc[i] == SAN_SCC) continue;
        u[count] = scalar_pair(sw, o->ssrc[i], o->ssrc_count[i]);
        is_exec[count++] = o->ssrc[i] == HK_EXEC && o->ssrc_count[i] == 2;
    }
    uint64_t result;
    switch (how) {
    case SAN_BITS_AND:
        result = is_exec[0] ? u[1] & exec : is_exec[1] ? u[0] & exec : u[0] | u[1];
        break;
    case SAN_BITS_OR:
        result = is_exec[0] ? u[1] & ~exec : is_exec[1] ? u[0] & ~exec : u[0] | u[1];
        break;
    case SAN_BITS_ANDN2:
        result = is_exec[0] ? u[1] & exec : is_exec[1] ? u[0] & ~exec : u[0] | u[1];
        break;
    case SAN_BITS_SELECT:
        result = count > 1 ? u[0] & u[1] : 0;
        if (sw->scalar_undefined[SAN_SCC]) result = ~0ull;
        break;
    default:
        result = u[0] | u[1];
    }
    if (o->flags & SAN_SAME) result = 0;
    if (o->flags & SAN_TO_EXEC) {
        if (result) undefined_branch(w, o, result);
        result = 0;
    }
    set_scalar_lanes(sw, o, result);
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = result ? ~0u : 0;
}

static void scalar(SanWave *sw, const SanOp *o) {
    uint32_t u = 0;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i])) u = ~0u;
    if (o->flags & SAN_SAME) u = 0;
    set_scalars(sw, o, u);
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = u;
}

static uint64_t fold(uint64_t lanes, unsigned columns) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += columns) result |= lanes >> shift;
    return result & (columns == 64 ? ~0ull : (1ull << columns) - 1);
}

/* Row i of A is in lanes i modulo the columns, column j of B and D likewise; D's rows are spread over registers
 * (workbench/emulator/native/ops/matrix.h). Where blocks make it less simple only whole registers count. */
static void matrix(SanWave *sw, const SanOp *o) {
    uint64_t a = undefined_rows(sw, o->src[0], o->src_count[0]), b = undefined_rows(sw, o->src[1], o->src_count[1]);
    if ((a | b) == 0 && o->src_count[2] == 0) {
        set_rows(sw, o->dst, o->dst_count, ~0ull, 0);
        return;
    }
    unsigned columns = o->columns;
    uint64_t rows_a = 0, column_lanes = 0;
    if (columns == 0) {
        if (a == ~0ull || b == ~0ull) column_lanes = ~0ull;
    } else {
        rows_a = fold(a, columns);
        uint64_t c = fold(b, columns);
        for (unsigned shift = 0; shift < 64; shift += columns) column_lanes |= c << shift;
    }
    uint64_t results[32];
    for (uint32_t r = 0; r < o->dst_count && r < 32; r++) {
        uint64_t u = column_lanes;
        if (rows_a)
            for (unsigned g = 0; g < 64 / columns; g++) {
                unsigned row = columns == 16 ? 4 * g + (r & 3) : 8 * (r / 4) + 4 * g + (r & 3);
                uint64_t lanes = ((1ull << columns) - 1) << (g * columns);
                if (rows_a >> row & 1) u |= lanes;
            }
        if (o->src_count[2]) u |= undefined_row(sw, o->src[2] + (r < o->src_count[2] ? r : 0));
        results[r] = u;
    }
    for (uint32_t r = 0; r < o->dst_count && r < 32; r++) set_rows(sw, o->dst + r, 1, ~0ull, results[r]);
}

static void shuffle(SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t u = 0;
    int all = 1;
    for (int i = 0; i < SAN_SOURCES; i++) {
        uint64_t v = undefined_rows(sw, o->src[i], o->src_count[i]);
        int whole = (v & exec) == exec;
        if (o->src_count[i] && whole) u = ~0ull;
        if (o->src_count[i] && !whole) all = 0;
    }
    if ((o->flags & SAN_KEEP) && !all) u = 0;
    set_rows(sw, o->dst, o->dst_count, exec, u);
    /* A swap writes its source too. */
    if (o->flags & SAN_KEEP) set_rows(sw, o->src[0], o->src_count[0], exec, u);
}

static void read_lane(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    unsigned lane = o->imm;
    if (lane == SAN_FIRST_ACTIVE)
        lane = exec ? hk_first_lane(exec) : 0;
    else if (lane == SAN_IN_REGISTER)
        lane = w->s[o->ssrc[0]] & 63;
    set_scalars(sw, o, undefined_row(sw, o->src[0]) >> lane & 1 ? ~0u : 0);
}

static void write_lane(Wave *w, SanWave *sw, const SanOp *o) {
    unsigned lane = o->imm == SAN_IN_REGISTER ? w->s[o->ssrc[1]] & 63 : o->imm & 63;
    uint64_t bit = 1ull << lane;
    int u = o->ssrc_count[0] && scalar_any(sw, o->ssrc[0], 1);
    set_rows(sw, o->dst, o->dst_count, bit, u ? bit : 0);
}

/* ---- Memory ---- */

static void advance(SanWave *sw, Wave *w) {
    San *s = sw->group->san;
    sw->tick = ++s->tick;
    s->group_ticks[w->group->index] = s->tick;
}

/* Whether a store to LDS would leave it as it is: waves that write the same are no race. */
static int same_in_lds(const Wave *w, const SanOp *o, uint64_t offset, unsigned lane) {
    uint8_t data[16];
    if (!(o->flags & SAN_STORE) || (o->flags & SAN_TWO) || offset + o->bytes > w->lds_size) return 0;
    for (uint32_t n = 0; n < o->src_count[1] && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[1] + n) + lane, 4);
    return o->src_count[1] != 0 && memcmp(data, w->lds + offset, o->bytes) == 0;
}

/* Whether nothing new can come of an access: this wave has made the same one since the last barrier, without a
 * finding, and no other wave has come in between. */
HK_INLINE int nothing_new(const SanGroup *sg, uint64_t dword, uint32_t bit) {
    uint64_t wanted = (uint64_t)sg->epoch << 32 | bit;
    return (sg->quick[dword] & (0xffffffff00000000ull | bit)) == wanted;
}

/* Reads of whole dwords that need no look at their cells. */
HK_INLINE int quick_read(const SanWave *sw, uint64_t offset, uint32_t bytes) {
    const SanGroup *sg = sw->group;
    if (((offset | bytes) & 3) || offset + bytes > 4ull * sg->lds_dwords) return 0;
    for (uint64_t dword = offset / 4; dword * 4 < offset + bytes; dword++)
        if (!nothing_new(sg, dword, 1u << sw->index)) return 0;
    return 1;
}

/* The same for writes: what the cell says of the newest write changes, and nothing else. */
HK_INLINE int quick_write(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, uint32_t how, uint32_t number) {
    SanGroup *sg = sw->group;
    if (((offset | bytes) & 3) || offset + bytes > 4ull * sg->lds_dwords) return 0;
    for (uint64_t dword = offset / 4; dword * 4 < offset + bytes; dword++) {
        const LdsCell *c = &sg->lds[dword];
        if (!nothing_new(sg, dword, 0x10000u << sw->index) || c->how != how || c->tick != sg->san->tick) return 0;
    }
    for (uint64_t dword = offset / 4; dword * 4 < offset + bytes; dword++) {
        LdsCell *c = &sg->lds[dword];
        c->write_number = number;
        c->write_pc = (uint32_t)o->op.pc;
        c->undefined = 0;
    }
    return 1;
}

/* Reads of whole dwords that are right: written, by this wave or before a barrier that the writer passed with its
 * wait. 0, and nothing done, where it takes a closer look. */
HK_INLINE int plain_read(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes) {
    SanGroup *sg = sw->group;
    if (((offset | bytes) & 3) || offset + bytes > 4ull * sg->lds_dwords) return 0;
    uint32_t me = sw->index, epoch = sg->epoch, count = bytes / 4;
    LdsCell *cells = &sg->lds[offset / 4];
    uint64_t *quick = &sg->quick[offset / 4];
    for (uint32_t n = 0; n < count; n++) {
        const LdsCell *c = &cells[n];
        if (c->undefined || (c->read_epoch == epoch && c->read_mask != 15)) return 0;
        if (c->writer == me) {
            if ((c->how & 2) && c->write_number > sw->vm_done) return 0;
        } else if (c->writer != 255) {
            const SanWave *other = &sg->waves[c->writer];
            if (c->write_epoch == epoch) return 0;
            if (c->write_number > (c->how & 2 ? other->vm_published : other->lgkm_published)) return 0;
        }
    }
    for (uint32_t n = 0; n < count; n++) {
        LdsCell *c = &cells[n];
        c->readers = (uint16_t)((c->read_epoch == epoch ? c->readers : 0u) | 1u << me);
        c->read_mask = 15;
        c->read_epoch = epoch;
        c->read_pc = (uint32_t)o->op.pc;
        uint64_t kept = quick[n] >> 32 == epoch ? quick[n] & (0xffffull | 0x10000ull << me) : 0;
        quick[n] = (uint64_t)epoch << 32 | kept | 1u << me;
    }
    return 1;
}

/* Writes of whole dwords that nobody else has used since the last barrier; likewise. */
HK_INLINE int plain_write(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, uint32_t how, uint32_t number) {
    SanGroup *sg = sw->group;
    if (((offset | bytes) & 3) || (how & 4) || offset + bytes > 4ull * sg->lds_dwords) return 0;
    uint32_t me = sw->index, epoch = sg->epoch, count = bytes / 4;
    LdsCell *cells = &sg->lds[offset / 4];
    for (uint32_t n = 0; n < count; n++) {
        const LdsCell *c = &cells[n];
        if (c->read_epoch == epoch && (c->readers & ~(1u << me))) return 0;
        if (c->writer == me) {
            if ((c->how & 2) && c->write_number > sw->vm_done) return 0;
        } else if (c->writer != 255) {
            const SanWave *other = &sg->waves[c->writer];
            if (c->write_epoch == epoch) return 0;
            if (c->write_number > (c->how & 2 ? other->vm_published : other->lgkm_published)) return 0;
        }
    }
    for (uint32_t n = 0; n < count; n++) {
        LdsCell *c = &cells[n];
        c->write_mask = 15;
        c->writer = (uint8_t)me;
        c->write_epoch = epoch;
        c->write_number = number;
        c->write_pc = (uint32_t)o->op.pc;
        c->how = (uint8_t)how;
        c->tick = sg->san->tick;
        c->undefined = 0;
        sg->quick[offset / 4 + n] = (uint64_t)epoch << 32 | 0x10000u << me;
    }
    return 1;
}

static void lds_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, unsigned lane,
                       int is_write, uint32_t how, uint32_t number, uint32_t *undefined) {
    SanGroup *sg = sw->group;
    uint64_t end = offset + bytes;
    uint32_t me = sw->index;
    *undefined = 0;
    for (uint64_t dword = offset / 4; dword * 4 < end && dword < sg->lds_dwords; dword++) {
        LdsCell *c = &sg->lds[dword];
        uint64_t before = sw->group->san->report_total;
        uint32_t first = dword * 4 < offset ? (uint32_t)(offset & 3) : 0;
        uint32_t last = dword * 4 + 4 > end ? (uint32_t)(end - dword * 4) : 4;
        uint8_t mask = (uint8_t)((15u >> (4 - (last - first))) << first);
        int atomic = (how & 4) && (c->how & 4);
        if (c->writer != 255 && (c->write_mask & mask) && !atomic) {
            if (c->writer != me) {
                SanWave *other = &sg->waves[c->writer];
                int synced = other->tick > c->tick && sw->tick > c->tick;
                if (c->write_epoch == sg->epoch) {
                    if (!synced && !(is_write && same_in_lds(w, o, offset, lane)))
                        found(w, SAN_FOUND_RACE_LDS, &o->op, c->write_pc, (int32_t)lane, dword * 4, is_write ? 2 : 0,
                              w->group->index, c->writer);
                } else {
                    uint32_t known = c->how & 2 ? other->vm_published : other->lgkm_published;
                    if (c->write_number > known && !synced && !(is_write && same_in_lds(w, o, offset, lane)))
                        found(w, is_write ? SAN_FOUND_OVERWRITE_LDS : SAN_FOUND_PUBLISH_LDS, &o->op, c->write_pc,
                              (int32_t)lane, dword * 4, c->how & 3, w->group->index, c->writer);
                }
            } else if ((c->how & 2) && c->write_number > sw->vm_done && !(how & 2))
                found(w, SAN_FOUND_WAIT_LDS, &o->op, c->write_pc, (int32_t)lane, dword * 4, 0, 0, 0);
            else if ((how & 2) && !(c->how & 2) && c->write_number > sw->lgkm_done)
                found(w, SAN_FOUND_OVERWRITE_LDS, &o->op, c->write_pc, (int32_t)lane, dword * 4,
                      SAN_UNDER_WAY_OWN_WRITE, w->group->index, me);
        }
        if (is_write) {
            uint32_t others = c->readers & ~(1u << me);
            if (others && c->read_epoch == sg->epoch && (c->read_mask & mask) && !(how & 4)) {
                uint32_t other = (uint32_t)__builtin_ctz(others);
                found(w, SAN_FOUND_RACE_LDS, &o->op, c->read_pc, (int32_t)lane, dword * 4, 1, w->group->index, other);
            }
            int same = c->writer == me && c->write_epoch == sg->epoch && c->how == how && c->tick == sg->san->tick;
            c->write_mask = same ? c->write_mask | mask : mask;
            c->writer = (uint8_t)me;
            c->write_epoch = sg->epoch;
            c->write_number = number;
            c->write_pc = (uint32_t)o->op.pc;
            c->how = (uint8_t)how;
            c->tick = sg->san->tick;
            c->undefined &= (uint8_t)~mask;
            int whole = mask == 15 && !(how & 4) && before == sg->san->report_total;
            sg->quick[dword] = whole ? (uint64_t)sg->epoch << 32 | 0x10000u << me : 0;
        } else {
            if (c->undefined & mask) *undefined |= 1u << (dword - offset / 4 < 4 ? dword - offset / 4 : 3);
            if (c->read_epoch != sg->epoch || (c->readers != (1u << me) && c->read_mask != mask)) {
                c->readers = 0;
                c->read_mask = 0;
            }
            c->readers |= (uint16_t)(1u << me);
            c->read_mask |= mask;
            c->read_epoch = sg->epoch;
            c->read_pc = (uint32_t)o->op.pc;
            uint64_t q = sg->quick[dword];
            /* What another wave has written may be written again by it alone as long as nobody reads it. */
            q = q >> 32 == sg->epoch ? q & (0xffffffff0000ffffull | 0x10000ull << me) : (uint64_t)sg->epoch << 32;
            if (mask == 15 && c->undefined == 0 && before == sg->san->report_total) q |= 1u << me;
            sg->quick[dword] = q;
        }
    }
}

/* Remembers a read of LDS: the wave may pass a barrier, or load over it, before the data has come. */
static void note_read(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t second) {
    if (lanes == 0) return;
    LdsRead *r = &sw->reads[sw->read_next++ % READS];
    r->lanes = lanes;
    r->number = sw->last_read = sw->lgkm_issued;
    r->epoch = sw->group->epoch;
    r->tick = sw->group->san->tick;
    r->pc = (uint32_t)o->op.pc;
    r->bytes = o->bytes;
    r->second = second;
    uint32_t low = ~0u, high = 0;
    for (unsigned lane = 0; lane < HK_LANES; lane++) {
        uint32_t a = at[lane];
        int is_active = (int)(lanes >> lane & 1);
        r->at[lane] = a;
        low = is_active && a < low ? a : low;
        high = is_active && a > high ? a : high;
    }
    r->low = second >> 31 ? low + second : low;
    r->high = high + o->bytes + (second >> 31 ? 0 : second);
}

/* A lane of `r` that reads of [at, at + bytes); -1: none does. */
static int reading_lane(const LdsRead *r, uint32_t at, uint32_t bytes) {
    for (uint32_t offset = 0;; offset = r->second) {
        HK_FOR_LANES(lane, r->lanes) {
            uint32_t from = r->at[lane] + offset;
            if (at < from + r->bytes && from < at + bytes) return (int)lane;
        }
        if (offset == r->second) return -1;
    }
}

/* A write of LDS where a read is under way: of this wave, which only a load to LDS can come before, or of another
 * one that has passed a barrier with it. What the waves' accesses of LDS are among each other is no order: each
 * SIMD has a queue of its own (LLVM AMDGPUUsage, "Memory model gfx942"). */
static void overwrite(Wave *w, const SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes,
                      const SanWave *other, const LdsRead *r) {
    HK_FOR_LANES(lane, lanes) {
        if (at[lane] >= r->high || at[lane] + bytes <= r->low || reading_lane(r, at[lane], bytes) < 0) continue;
        if (same_in_lds(w, o, at[lane], lane)) continue;
        found(w, SAN_FOUND_OVERWRITE_LDS, &o->op, r->pc, (int32_t)lane, at[lane],
              other == sw ? SAN_UNDER_WAY_OWN_READ : SAN_UNDER_WAY_READ, w->group->index, other->index);
        return;
    }
}

static void check_reads(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes) {
    SanGroup *sg = sw->group;
    int is_load = (o->flags & SAN_TO_LDS) != 0, is_late = is_load && sw->last_read > sw->lgkm_done;
    if (sg->reads_passed == 0 && !is_late) return;
    uint32_t low = ~0u, high = 0;
    HK_FOR_LANES(lane, lanes) {
        low = at[lane] < low ? at[lane] : low;
        high = at[lane] + bytes > high ? at[lane] + bytes : high;
    }
    for (uint32_t i = 0; i < READS && is_late; i++) {
        const LdsRead *r = &sw->reads[i];
        if (r->number > sw->lgkm_done && sw->lgkm_issued - r->number < READS - 1 && r->low < high && low < r->high)
            overwrite(w, sw, o, lanes, at, bytes, sw, r);
    }
    for (uint32_t i = 0; i < sg->wave_count && sg->reads_passed; i++) {
        const SanWave *other = &sg->waves[i];
        if (other == sw) continue;
        for (uint32_t n = 0; n < other->passed_count; n++) {
            const LdsRead *r = &other->passed[n];
            if (r->low >= high || low >= r->high || (other->tick > r->tick && sw->tick > r->tick)) continue;
            overwrite(w, sw, o, lanes, at, bytes, other, r);
        }
    }
}

static void lds_undefine(SanWave *sw, uint64_t offset, uint32_t bytes, uint32_t words) {
    for (uint32_t n = 0; n * 4 < bytes; n++) {
        uint64_t dword = offset / 4 + n;
        if (!(words >> n & 1) || dword >= sw->group->lds_dwords) continue;
        sw->group->lds[dword].undefined = 15;
        sw->group->quick[dword] = 0;
    }
}

static Cell *page_cells(San *s, uint64_t number) {
    if (number == s->last_page) return s->last_cells;
    uint64_t i = (number * 0x9e3779b97f4a7c15ull) >> 20 & (s->page_capacity - 1);
    while (s->pages[i].cells != NULL && s->pages[i].number != number) i = (i + 1) & (s->page_capacity - 1);
    if (s->pages[i].cells == NULL) {
        size_t bytes = PAGE_CELLS * sizeof(Cell);
        if (s->memory_left < bytes) return NULL;
        if ((s->page_count + 1) * 2 > s->page_capacity) {
            Page *old = s->pages, *new = calloc(s->page_capacity * 4, sizeof *new);
            if (new == NULL) return NULL;
            uint64_t before = s->page_capacity;
            s->page_capacity *= 4;
            for (uint64_t k = 0; k < before; k++) {
                if (old[k].cells == NULL) continue;
                uint64_t j = (old[k].number * 0x9e3779b97f4a7c15ull) >> 20 & (s->page_capacity - 1);
                while (new[j].cells != NULL) j = (j + 1) & (s->page_capacity - 1);
                new[j] = old[k];
            }
            free(old);
            s->pages = new;
            return page_cells(s, number);
        }
        Cell *cells = malloc(bytes);
        if (cells == NULL) return NULL;
        for (uint32_t k = 0; k < PAGE_CELLS; k++) cells[k] = (Cell){.write_group = NOBODY, .read_group = NOBODY};
        s->memory_left -= bytes;
        s->page_count++;
        s->pages[i] = (Page){number, cells};
    }
    s->last_page = number;
    return s->last_cells = s->pages[i].cells;
}

/* Whether an access of another wave, at `tick` in `epoch` of `group`, is known to come before this one. */
static int ordered(const SanWave *sw, const Wave *w, uint32_t group, uint32_t wave, uint32_t epoch, uint32_t tick) {
    const SanGroup *sg = sw->group;
    if (group == (uint32_t)w->group->index)
        return wave == sw->index || epoch < sg->epoch || (sg->waves[wave].tick > tick && sw->tick > tick);
    return sg->san->group_ticks[group] > tick && sg->san->group_ticks[w->group->index] > tick;
}

/* Whether a store would leave memory as it is: waves that write the same are no race. */
static int same_value(Wave *w, const SanOp *o, uint64_t address, unsigned lane) {
    if ((o->flags & SAN_LOAD) || o->src_count[1] == 0 || !hk_allowed(w, address, address + o->bytes, 0)) return 0;
    uint8_t data[16];
    for (uint32_t n = 0; n < o->src_count[1] && n < 4; n++) memcpy(data + 4 * n, hk_row(w, o->src[1] + n) + lane, 4);
    return memcmp(data, (const void *)(uintptr_t)address, o->bytes) == 0;
}

/* Whether a wave makes the same access as before, and no other has come in between: nothing new can come of it. */
HK_INLINE int again(const Cell *c, uint32_t group, uint32_t me, uint32_t epoch, uint32_t tick, uint16_t mask,
                    int synced, int is_write) {
    int mine = c->write_group == group && c->writer == me;
    if (is_write)
        return mine && c->write_epoch == epoch && c->write_tick == tick && c->atomic == synced &&
               !(mask & ~c->write_mask) && c->read_group == NOBODY;
    return !synced && c->read_group == group && c->read_epoch == epoch && c->read_tick == tick &&
           c->readers == 1u << me && !(mask & ~c->read_mask) && (mine || c->write_group == NOBODY);
}

static void global_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes, unsigned lane,
                          int is_write) {
    San *s = sw->group->san;
    /* A packet of hostcalls is of the wave that took it from a stack, and the next wave's after it was put back. */
    if (address - w->group->machine->hostcalls < w->group->machine->hostcalls_bytes) return;
    int synced = (o->flags & (SAN_ATOMIC | SAN_SYNC)) != 0;
    uint32_t group = (uint32_t)w->group->index, me = sw->index;
    uint64_t end = address + bytes;
    for (uint64_t granule = address >> 4; granule << 4 < end; granule++) {
        Cell *cells = page_cells(s, granule >> (PAGE_SHIFT - 4));
        if (cells == NULL) return;
        Cell *c = &cells[granule & (PAGE_CELLS - 1)];
        uint32_t first = granule << 4 < address ? (uint32_t)(address & 15) : 0;
        uint32_t last = (granule << 4) + 16 > end ? (uint32_t)(end - (granule << 4)) : 16;
        uint16_t mask = (uint16_t)((0xffffu >> (16 - (last - first))) << first);
        if (again(c, group, me, sw->group->epoch, s->tick, mask, synced, is_write)) {
            if (is_write) c->write_pc = (uint32_t)o->op.pc;
            continue;
        }
        if (c->write_group != NOBODY && (c->write_mask & mask) && !(c->atomic && synced) &&
            !(c->write_group == group && c->writer == me)) {
            if (!ordered(sw, w, c->write_group, c->writer, c->write_epoch, c->write_tick)) {
                if (!is_write || !same_value(w, o, address, lane))
                    found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->write_pc, (int32_t)lane, address, is_write ? 2 : 0,
                          c->write_group, c->writer);
            }
        }
        if (is_write) {
            if (c->read_group != NOBODY && (c->read_mask & mask) && !synced) {
                uint32_t others = c->readers & (c->read_group == group ? ~(1u << me) : ~0u);
                uint32_t other = others ? (uint32_t)__builtin_ctz(others) : me;
                if (others && !ordered(sw, w, c->read_group, other, c->read_epoch, c->read_tick) &&
                    !same_value(w, o, address, lane))
                    found(w, SAN_FOUND_RACE_GLOBAL, &o->op, c->read_pc, (int32_t)lane, address, 1, c->read_group,
                          other);
            }
            int same = c->write_group == group && c->writer == me && c->write_epoch == sw->group->epoch &&
                       c->write_tick == s->tick && c->atomic == synced;
            c->write_mask = same ? c->write_mask | mask : mask;
            c->write_group = group;
            c->writer = (uint8_t)me;
            c->write_epoch = sw->group->epoch;
            c->write_pc = (uint32_t)o->op.pc;
            c->write_tick = s->tick;
            c->atomic = (uint8_t)synced;
        } else if (!synced) {
            if (c->read_group != group || c->read_epoch != sw->group->epoch ||
                (c->readers != (1u << me) && c->read_mask != mask)) {
                c->readers = 0;
                c->read_mask = 0;
            }
            c->read_group = group;
            c->read_epoch = sw->group->epoch;
            c->read_pc = (uint32_t)o->op.pc;
            c->read_tick = s->tick;
            c->readers |= (uint16_t)(1u << me);
            c->read_mask |= mask;
        }
    }
}

/* Undefined dwords of a lane's data. */
static uint32_t data_words(const SanWave *sw, uint32_t row, uint32_t count, unsigned lane) {
    uint32_t words = 0;
    for (uint32_t n = 0; n < count && n < 4; n++) words |= (uint32_t)(undefined_row(sw, row + n) >> lane & 1) << n;
    return words;
}

/* ---- Memory that nobody wrote ---- */

static const SanMemory *watched(San *s, uint64_t address) {
    const SanMemory *m = s->last_memory;
    if (address >= m->base && address < m->end) return m;
    uint64_t low = 0, high = s->memory_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->memories[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address >= s->memories[low - 1].end) return NULL;
    return s->last_memory = &s->memories[low - 1];
}

/* Bytes of [address, address + bytes), at most 16, that nobody wrote; `set` says that they are written now. */
static uint32_t unwritten(San *s, uint64_t address, uint32_t bytes, int set) {
    const SanMemory *m = watched(s, address);
    if (m == NULL) return 0;
    if (address + bytes > m->end) bytes = (uint32_t)(m->end - address);
    uint64_t at = address - m->base;
    uint32_t bits = 0, mask = (1u << bytes) - 1;
    unsigned shift = at & 7;
    memcpy(&bits, m->bits + (at >> 3), 3);
    uint32_t missing = ~(bits >> shift) & mask;
    if (set && missing) {
        bits |= mask << shift;
        memcpy(m->bits + (at >> 3), &bits, 3);
    }
    return missing;
}

/* Bit n: a byte of dword n is in the mask of bytes. */
static uint32_t words_of(uint32_t bytes) {
    uint32_t words = 0;
    for (uint32_t n = 0; n < 4; n++) words |= (uint32_t)((bytes >> 4 * n & 15) != 0) << n;
    return words;
}

/* What an access leaves and finds of never-written memory; dwords of the result that are undefined, by lane. */
static void follow_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at,
                          uint64_t *undefined) {
    San *s = sw->group->san;
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    HK_FOR_LANES(lane, lanes) {
        uint32_t missing = unwritten(s, at[lane], o->bytes, is_write);
        if (missing == 0 || (o->flags & SAN_STORE)) continue;
        if ((o->flags & SAN_ATOMIC) && !(o->flags & SAN_REPLACES)) {
            found(w, SAN_FOUND_UNDEFINED_STORE, &o->op, ~0ull, (int32_t)lane, at[lane], 1, 0, 0);
            continue;
        }
        sw->unwritten_pc = o->op.pc;
        uint32_t words = words_of(missing);
        for (uint32_t n = 0; n < 4; n++)
            if (words >> n & 1) undefined[n] |= 1ull << lane;
    }
}

/* Scalar loads: SGPRs that come from memory that nobody wrote. */
static void scalar_load(Wave *w, SanWave *sw, const SanOp *o) {
    San *s = sw->group->san;
    const Op *op = &o->op;
    if (op->ssrc0 == HK_NO_REGISTER) return;
    uint64_t address = hk_s64(w, op->ssrc0);
    uint64_t offset = (uint64_t)(int64_t)op->offset + (op->ssrc1 == HK_NO_REGISTER ? 0 : w->s[op->ssrc1]);
    if (o->flags & SAN_RESOURCE) address &= 0xffffffffffffull;
    address = (address + offset) & ~3ull;
    for (uint32_t n = 0; n < o->sdst_count[0]; n++) {
        if (unwritten(s, address + 4ull * n, 4, 0) == 0) continue;
        sw->scalar_undefined[o->sdst[0] + n] = ~0u;
        sw->unwritten_pc = o->op.pc;
    }
}

static void check_address(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t u = undefined_rows(sw, o->src[0], o->src_count[0]) & exec;
    if (o->space == SAN_SMEM) u = 0;
    int uniform = 0;
    for (int i = 0; i < SAN_SOURCES; i++) uniform |= scalar_any(sw, o->ssrc[i], o->ssrc_count[i]);
    if (u || (uniform && (exec || o->space == SAN_SMEM)))
        found(w, SAN_FOUND_UNDEFINED_ADDRESS, &o->op, sw->unwritten_pc, u ? (int32_t)hk_first_lane(u) : -1, 0, 0, 0, 0);
}

static void check_data(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint64_t address) {
    uint64_t u = 0;
    for (int i = 1; i < SAN_SOURCES; i++) u |= undefined_rows(sw, o->src[i], o->src_count[i]);
    u &= exec;
    if (u) found(w, SAN_FOUND_UNDEFINED_STORE, &o->op, sw->unwritten_pc, (int32_t)hk_first_lane(u), address, 0, 0, 0);
}

static uint32_t lds_alignment(const SanOp *o) {
    if (o->flags & SAN_TRANSPOSED) return 8;
    return o->bytes == 8 ? 8 : o->bytes >= 12 ? 16 : 1;
}

static void lds_addresses(const Wave *w, const SanOp *o, uint32_t offset, uint32_t *at) {
    const uint32_t *row = o->src_count[0] ? hk_row(w, o->src[0]) : NULL;
    for (uint32_t lane = 0; lane < HK_LANES; lane++)
        at[lane] = (row != NULL ? row[lane] : (w->s[HK_M0] & 0xffff) + 4 * lane) + offset;
}

static void lds_one(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint32_t offset, uint32_t first_row,
                    int source) {
    const uint32_t *row = o->src_count[0] ? hk_row(w, o->src[0]) : NULL;
    uint32_t rows = (o->bytes + 3u) / 4u, alignment = lds_alignment(o);
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    uint32_t how = 1u | (o->flags & SAN_ATOMIC ? 4u : 0u), number = sw->lgkm_issued + 1;
    uint64_t result[4] = {0};
    int is_data_undefined = (o->flags & SAN_STORE) && undefined_rows(sw, o->src[source], o->src_count[source]) != 0;
    if ((o->flags & SAN_STORE) && sw->group->reads_passed) {
        uint32_t at[HK_LANES];
        lds_addresses(w, o, offset, at);
        check_reads(w, sw, o, exec, at, o->bytes);
    }
    HK_FOR_LANES(lane, exec) {
        uint64_t at = (uint32_t)((row != NULL ? row[lane] : (w->s[HK_M0] & 0xffff) + 4 * lane) + offset);
        uint32_t undefined;
        if (at & (alignment - 1)) found(w, SAN_FOUND_ALIGNMENT, &o->op, ~0ull, (int32_t)lane, at, alignment, 0, 0);
        if (!is_write) {
            if (quick_read(sw, at, o->bytes) || plain_read(sw, o, at, o->bytes)) continue;
            lds_access(w, sw, o, at, o->bytes, lane, 0, how, number, &undefined);
            for (uint32_t n = 0; n < 4; n++) result[n] |= (uint64_t)(undefined >> n & 1) << lane;
            continue;
        }
        if (!is_data_undefined &&
            (quick_write(sw, o, at, o->bytes, how, number) || plain_write(sw, o, at, o->bytes, how, number)))
            continue;
        lds_access(w, sw, o, at, o->bytes, lane, 1, how, number, &undefined);
        if (is_data_undefined) {
            uint32_t words = data_words(sw, o->src[source], o->src_count[source], lane);
            if (words) lds_undefine(sw, at, o->bytes, words);
        }
    }
    if (o->flags & SAN_TRANSPOSED)
        set_rows(sw, first_row, o->dst_count, exec, 0);
    else if (o->dst_count)
        for (uint32_t n = 0; n < rows && n < 4; n++) set_rows(sw, first_row + n, 1, exec, result[n]);
}

static void lds_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    if (!(o->flags & SAN_PLAIN_ADDRESS)) {
        /* The destination may hold the address, so that both reads come before it changes. */
        uint32_t rows = (o->bytes + 3u) / 4u;
        lds_one(w, sw, o, exec, (uint32_t)o->op.offset, o->dst, 1);
        if (o->flags & SAN_TWO) lds_one(w, sw, o, exec, o->op.imm[0], o->dst + rows, 2);
    } else
        set_rows(sw, o->dst, o->dst_count, exec, 0);
    if (o->flags & SAN_ATOMIC) advance(sw, w);
    sw->lgkm_issued++;
    if (exec == 0) return;
    if ((o->flags & SAN_LOAD) && !(o->flags & SAN_PLAIN_ADDRESS)) {
        uint32_t at[HK_LANES];
        lds_addresses(w, o, (uint32_t)o->op.offset, at);
        note_read(sw, o, exec, at, o->flags & SAN_TWO ? o->op.imm[0] - (uint32_t)o->op.offset : 0);
    }
    for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) {
        sw->lgkm_wait[o->dst + n] = sw->lgkm_issued;
        sw->lgkm_pc[o->dst + n] = (uint32_t)o->op.pc;
        sw->vm_wait[o->dst + n] = 0;
    }
}

static void check_range(Wave *w, const SanOp *o, const HkResource *r) {
    if (r->stride || r->swizzle || r->records == 0) return;
    const Allocation *a = hk_find_allocation(w->group->machine, r->base);
    if (a != NULL && r->base + r->records > a->end)
        found(w, SAN_FOUND_RANGE, &o->op, ~0ull, -1, r->base, r->base + r->records - a->end, 0, 0);
}

static void scratch_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    const Op *op = &o->op;
    uint32_t uniform = (uint32_t)op->offset + (op->ssrc0 == HK_NO_REGISTER ? 0 : w->s[op->ssrc0]);
    uint32_t rows = (o->bytes + 3u) / 4u;
    HK_FOR_LANES(lane, exec) {
        uint64_t dword = (uniform + (op->src0 == HK_NO_REGISTER ? 0 : hk_row(w, op->src0)[lane])) / 4;
        uint64_t bit = 1ull << lane;
        for (uint32_t n = 0; n < rows && dword + n < sw->scratch_dwords; n++) {
            uint64_t *shadow = &sw->scratch[dword + n];
            if (o->flags & SAN_STORE) {
                *shadow &= ~bit;
                if (n < o->src_count[1]) *shadow |= undefined_row(sw, o->src[1] + n) & bit;
            } else
                set_rows(sw, o->dst + n, 1, bit, *shadow);
        }
    }
}

/* Addresses of the active lanes that touch global memory; lanes elsewhere are left out. */
static uint64_t addresses(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint64_t *at) {
    HkAddresses a;
    if (o->space == SAN_BUFFER) {
        HkResource r = hk_resource(w, &o->op);
        HkBuffer b;
        check_range(w, o, &r);
        uint32_t rows = (o->bytes + 3u) / 4u;
        hk_buffer_addresses(w, &o->op, &r, exec, rows, o->bytes < 4 ? o->bytes : 4, &b);
        uint64_t lanes = b.address.exec;
        for (unsigned l = 0; l < HK_LANES; l++) at[l] = hk_address(&b.address, l);
        if (!r.swizzle || rows == 1) return lanes;
        if (o->flags & SAN_STORE) sw->group->san->lost_writes = 1;
        return 0;
    }
    hk_global_addresses(w, &o->op, exec, &a);
    uint64_t lanes = 0;
    HK_FOR_LANES(lane, exec) {
        at[lane] = hk_address(&a, lane);
        if (o->space == SAN_GLOBAL || at[lane] < HK_SHARED_APERTURE) lanes |= 1ull << lane;
    }
    return lanes;
}

/* A lane of a flat access that goes to LDS or to scratch. */
static void flat_lane(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, unsigned lane, int is_write) {
    uint64_t offset = address & ~HK_APERTURE_MASK, bit = 1ull << lane;
    uint32_t rows = (o->bytes + 3u) / 4u, undefined = 0;
    int stores = (o->flags & SAN_STORE) != 0;
    uint32_t words = stores ? data_words(sw, o->src[1], o->src_count[1], lane) : 0;
    if ((address & HK_APERTURE_MASK) == HK_SHARED_APERTURE) {
        uint32_t how = 1u | (o->flags & SAN_ATOMIC ? 4u : 0u);
        lds_access(w, sw, o, offset, o->bytes, lane, is_write, how, sw->lgkm_issued + 1, &undefined);
        if (words) lds_undefine(sw, offset, o->bytes, words);
    } else {
        for (uint32_t n = 0; n < rows && offset / 4 + n < sw->scratch_dwords; n++) {
            uint64_t *shadow = &sw->scratch[offset / 4 + n];
            if (stores)
                *shadow = (*shadow & ~bit) | (words >> n & 1 ? bit : 0);
            else
                undefined |= (uint32_t)(*shadow >> lane & 1) << n;
        }
    }
    if (o->flags & SAN_LOAD)
        for (uint32_t n = 0; n < rows && n < o->dst_count; n++)
            set_rows(sw, o->dst + n, 1, bit, undefined >> n & 1 ? bit : 0);
}

/* What a flat access does to the reads of LDS that are under way, and its own. */
static void flat_reads(Wave *w, SanWave *sw, const SanOp *o, uint64_t elsewhere, const uint64_t *at) {
    uint32_t places[HK_LANES] = {0};
    uint64_t lanes = 0;
    HK_FOR_LANES(lane, elsewhere) {
        if ((at[lane] & HK_APERTURE_MASK) != HK_SHARED_APERTURE) continue;
        places[lane] = (uint32_t)(at[lane] & ~HK_APERTURE_MASK);
        lanes |= 1ull << lane;
    }
    if (o->flags & SAN_STORE) check_reads(w, sw, o, lanes, places, o->bytes);
    if ((o->flags & SAN_LOAD) && !(o->flags & SAN_ATOMIC)) note_read(sw, o, lanes, places, 0);
}

static void vector_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t at[HK_LANES], undefined[4] = {0};
    uint64_t elsewhere = 0;
    if ((o->flags & SAN_PLAIN_ADDRESS) && (o->flags & (SAN_STORE | SAN_ATOMIC))) sw->group->san->lost_writes = 1;
    if ((o->flags & SAN_PLAIN_ADDRESS) && (o->flags & SAN_LOAD)) set_rows(sw, o->dst, o->dst_count, exec, 0);
    if (o->space == SAN_SCRATCH && !(o->flags & SAN_TO_LDS)) {
        if (exec) scratch_memory(w, sw, o, exec);
    } else if (exec && o->space != SAN_SCRATCH && !(o->flags & SAN_PLAIN_ADDRESS)) {
        uint64_t lanes = addresses(w, sw, o, exec, at);
        uint64_t known = lanes ? at[hk_first_lane(lanes)] : 0;
        int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
        elsewhere = o->space == SAN_FLAT ? exec & ~lanes : 0;
        if (is_write) check_data(w, sw, o, exec & ~elsewhere, known);
        if (o->flags & (SAN_ATOMIC | SAN_SYNC)) advance(sw, w);
        HK_FOR_LANES(lane, lanes) global_access(w, sw, o, at[lane], o->bytes, lane, is_write);
        if (o->flags & SAN_LOAD) set_rows(sw, o->dst, o->dst_count, exec, 0);
        if (sw->group->san->memory_count) {
            follow_memory(w, sw, o, lanes, at, undefined);
            if (o->flags & SAN_LOAD)
                for (uint32_t n = 0; n < 4 && n < o->dst_count; n++)
                    set_rows(sw, o->dst + n, 1, undefined[n], undefined[n]);
        }
        HK_FOR_LANES(lane, elsewhere) flat_lane(w, sw, o, at[lane], lane, is_write);
    }
    sw->vm_issued++;
    if (o->space == SAN_FLAT) {
        sw->lgkm_issued++;
        if (elsewhere) {
            sw->last_flat = sw->lgkm_issued;
            flat_reads(w, sw, o, elsewhere, at);
        }
    }
    if (exec == 0) return;
    if (o->flags & SAN_TO_LDS) {
        uint32_t m0 = w->s[HK_M0] & (w->group->machine->target == 0x950 ? 0x3fffcu : 0xfffcu);
        uint32_t width = o->bytes < 4 ? 4 : o->bytes, step = o->bytes <= 4 ? 4 : 16, unused, places[HK_LANES];
        for (uint32_t lane = 0; lane < HK_LANES; lane++) places[lane] = m0 + (uint32_t)o->op.offset + lane * step;
        check_reads(w, sw, o, exec, places, width);
        HK_FOR_LANES(lane, exec) {
            uint64_t to = places[lane];
            uint32_t words = 0;
            lds_access(w, sw, o, to, width, lane, 1, 2, sw->vm_issued, &unused);
            for (uint32_t n = 0; n < 4; n++) words |= (uint32_t)(undefined[n] >> lane & 1) << n;
            if (words) lds_undefine(sw, to, width, words);
        }
        return;
    }
    for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) {
        uint32_t row = o->dst + n;
        sw->vm_wait[row] = exec & ~elsewhere ? sw->vm_issued : 0;
        sw->lgkm_wait[row] = elsewhere ? sw->lgkm_issued : 0;
        sw->vm_pc[row] = sw->lgkm_pc[row] = (uint32_t)o->op.pc;
    }
}

static void memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    if (o->space != SAN_LDS_LANES) check_address(w, sw, o, exec);
    if (o->space == SAN_SMEM) {
        sw->last_scalar = ++sw->lgkm_issued;
        for (uint32_t n = 0; n < o->sdst_count[0]; n++) {
            sw->scalar_undefined[o->sdst[0] + n] = 0;
            sw->scalar_wait[o->sdst[0] + n] = sw->lgkm_issued;
            sw->scalar_pc[o->sdst[0] + n] = (uint32_t)o->op.pc;
        }
        if (o->flags & SAN_STORE)
            sw->group->san->lost_writes = 1;
        else if (sw->group->san->memory_count)
            scalar_load(w, sw, o);
    } else if (o->space == SAN_LDS)
        lds_memory(w, sw, o, exec);
    else if (o->space == SAN_LDS_LANES) {
        shuffle(sw, o, exec);
        sw->lgkm_issued++;
        if (exec && o->dst < sw->group->rows) {
            sw->lgkm_wait[o->dst] = sw->lgkm_issued;
            sw->lgkm_pc[o->dst] = (uint32_t)o->op.pc;
        }
    } else
        vector_memory(w, sw, o, exec);
}

/* ---- The instructions ---- */

static void branch(Wave *w, SanWave *sw, const SanOp *o) {
    int decided = 1;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i])) {
            decided = 0;
        }
    if (!decided) undefined_branch(w, o, 0);
    set_scalars(sw, o, 0); /* a call's return address */
}

/* The second instruction of a pair that needs wait states in between. */
static void hazard(Wave *w, const SanWave *sw, const SanOp *o) {
    uint64_t mark = sw->marks[o->imm % SAN_MARKS], now = sw->states + o->flags;
    if (mark == 0 || now - mark >= o->bytes) return;
    uint64_t detail = (now - mark) | (uint64_t)o->bytes << 8 | (uint64_t)o->reserved << 16;
    found(w, SAN_FOUND_HAZARD, &o->op, o->op.imm[0], -1, o->op.imm[1], detail, 0, 0);
}

HK_EXPORT void hk_san_run(Wave *w, const SanOp *ops, uint32_t count) {
    SanWave *sw = w->san;
    if (sw == NULL) return;
    uint64_t exec = hk_exec(w);
    for (uint32_t i = 0; i < count; i++) {
        const SanOp *o = &ops[i];
        int own = 0;
        if (o->kind == SAN_MEMORY) own = o->space == SAN_LDS || o->space == SAN_LDS_LANES ? 2 : 1;
        if (o->kind != SAN_WAIT && (sw->vm_issued != sw->vm_done || sw->lgkm_issued != sw->lgkm_done))
            check_waits(w, sw, o, own);
        switch (o->kind) {
        case SAN_VECTOR:
            vector(w, sw, o, exec);
            break;
        case SAN_SCALAR:
            scalar(sw, o);
            break;
        case SAN_SCALAR_BITS:
            scalar_bits(w, sw, o, exec);
            break;
        case SAN_WAIT:
            wait_for(sw, o->imm);
            break;
        case SAN_MEMORY:
            memory(w, sw, o, exec);
            break;
        case SAN_BRANCH:
            branch(w, sw, o);
            break;
        case SAN_MATRIX:
            matrix(sw, o);
            break;
        case SAN_READ_LANE:
            read_lane(w, sw, o, exec);
            break;
        case SAN_WRITE_LANE:
            write_lane(w, sw, o);
            break;
        case SAN_SHUFFLE:
            shuffle(sw, o, exec);
            break;
        case SAN_WORDS:
            words(sw, o, exec);
            break;
        case SAN_MARK:
            sw->marks[o->imm % SAN_MARKS] = sw->states + o->flags;
            break;
        case SAN_HAZARD:
            hazard(w, sw, o);
            break;
        case SAN_STATES:
            sw->states += o->imm;
            break;
        default:
            break;
        }
    }
}
