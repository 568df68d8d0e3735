/* Loads that take effect as late as the hardware allows.
 *
 * A wave continues after it issues a memory instruction, and only a wait guarantees that the instruction has
 * completed (CDNA3 and CDNA4 ISA guides, "Data dependency resolution"). Each wave has two queues in order of issue, and
 * a wait asks that at most a number of accesses be left in one: vector memory, counted by vmcnt, and LDS, counted by
 * lgkmcnt. Accesses that return in any order (scalar loads, flat accesses for lgkmcnt) are in neither queue, since they
 * prove nothing about the others (observe/sanitizer/waits.h).
 *
 * Times at which memory is read and written:
 *   loads from memory: at the issue, since the loads of a work-group pass through one L1 in order; registers change at
 * the wait
 *   loads to LDS: likewise at the issue; LDS changes at the wait
 *   LDS reads, writes and atomics: at the wait, in order of issue; addresses and data are those in the registers at the
 * issue
 *   stores and atomics to memory: at the issue; they are in the queue because vmcnt counts them, and not where stores
 * have a counter of their own
 *   copies between memory and LDS with a counter of their own: at the wait for it, in the order of issue; addresses are
 * those in the registers at the issue
 *   scalar loads, with a schedule alone: memory is read at the issue; registers change at the wait
 *
 * All accesses in flight take effect before a wave lets others run, except at a barrier: another wave's turn takes
 * longer than any access, and a wave that polls must see what was written. A schedule stops waves at instructions; then
 * its late accesses stay in flight, too.
 */
#include "run/late.h"

#include "ops/addresses.h"

enum {
    DONE,        /* counted only */
    TO_REGISTER, /* `rows` has the data */
    TO_LDS,      /* `rows` has the data, lane by lane */
    IN_LDS, /* `rows` has the source registers' content at the issue, `scalars` that of the scalar ones of a copy */
};

#define ROWS 5 /* an address and 16 bytes (or twice 8) to write: more than any load returns */
/* A counter has 6 or 4 bits; an instruction that would overflow it waits. With waves of 32 lanes come dscnt, of 6 bits,
 * and kmcnt, of 5. */
#define VECTOR_ROOM 63
#define LDS_ROOM (HK_LANES == 64 ? 15 : 63)
#define SCALAR_ROOM (HK_LANES == 64 ? 15 : 31)
/* Copies between memory and LDS with counters of their own, of 6 bits; a tile's descriptor has 20 dwords. */
#define COPIES (HK_LANES == 64 ? 0 : 2)
#define COPY_ROOM 63
#define COPY_SCALARS (HK_LANES == 64 ? 1 : 20)

typedef struct Access {
    const SanOp *op;
    NativeFn operation;
    uint64_t exec;
    uint32_t m0;
    uint32_t effect;
    uint32_t is_late; /* HK_LATE_LISTED: the schedule has it wait */
    uint32_t start;   /* TO_LDS: offset of the first lane's data */
    uint32_t scalars[COPY_SCALARS];
    uint32_t rows[ROWS * HK_LANES] __attribute__((aligned(64)));
} Access;

typedef struct Queue {
    Access *accesses;
    uint32_t room, first, count;
} Queue;

/* A scalar load; scalar loads return in any order. */
typedef struct ScalarLoad {
    uint32_t first, dwords;
    uint32_t is_late;
    uint32_t values[16];
} ScalarLoad;

struct HkLate {
    Queue vector, lds, copies[COPIES + 1]; /* copies: asynchronous ones, and those of tiles */
    ScalarLoad scalars[SCALAR_ROOM];       /* with a schedule alone; counted by lgkmcnt, too */
    uint32_t scalar_count;
    uint32_t mode;              /* HK_LATE_* */
    const HkSchedule *schedule; /* HK_LATE_LISTED: NULL if no access of this wave is late */
    uint64_t random;
};

static size_t align64(size_t n) { return (n + 63) & ~(size_t)63; }

static size_t wave_bytes(void) {
    return align64(sizeof(HkLate)) + (VECTOR_ROOM + LDS_ROOM + COPIES * COPY_ROOM) * sizeof(Access);
}

size_t hk_late_bytes(const Launch *l, uint32_t waves) { return l->machine->late ? wave_bytes() * waves : 0; }

void hk_late_start(const Launch *l, Wave *w, void *memory) {
    if (!l->machine->late) return;
    uint8_t *mine = (uint8_t *)memory + wave_bytes() * w->index;
    HkLate *late = (HkLate *)mine;
    Access *accesses = (Access *)(mine + align64(sizeof *late));
    late->vector = (Queue){.accesses = accesses, .room = VECTOR_ROOM};
    late->lds = (Queue){.accesses = accesses + VECTOR_ROOM, .room = LDS_ROOM};
    for (uint32_t i = 0; i < COPIES; i++)
        late->copies[i] = (Queue){.accesses = accesses + VECTOR_ROOM + LDS_ROOM + i * COPY_ROOM, .room = COPY_ROOM};
    late->scalar_count = 0;
    late->mode = l->machine->late;
    const HkSchedule *schedule = w->group->schedule;
    late->schedule = schedule != NULL && schedule->waves >> w->index & 1 ? schedule : NULL;
    late->random = l->machine->late_seed + 0x9e3779b97f4a7c15ull * (w->group->index * HK_WAVES + w->index + 1);
    w->late = late;
}

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators": SplitMix64. */
static uint32_t draw(HkLate *late) {
    uint64_t z = late->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(z >> 32);
}

static size_t dst_bytes(const SanOp *o) { return (size_t)o->dst_count * HK_LANES * 4; }

/* Stores the scalar sources of a copy in `scalars`, and puts back those in `from`; NULL: none. */
static void swap_scalars(Wave *w, const SanOp *o, uint32_t *scalars, const uint32_t *from) {
    uint32_t count = 0;
    if (!(o->flags & (SAN_ASYNC | SAN_TENSOR))) return;
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->ssrc_count[i] && count < COPY_SCALARS; n++, count++) {
            scalars[count] = w->s[o->ssrc[i] + n];
            if (from != NULL) w->s[o->ssrc[i] + n] = from[count];
        }
}

/* Runs an LDS access with the register contents of its issue; registers that it does not write keep their values. */
static int32_t run_in_lds(Wave *w, const Access *a) {
    const SanOp *o = a->op;
    uint64_t exec = hk_exec(w);
    uint32_t m0 = w->s[HK_M0], now[ROWS * HK_LANES] __attribute__((aligned(64))), count = 0;
    uint32_t scalars[COPY_SCALARS], issued[COPY_SCALARS];
    uint16_t places[ROWS];
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++, count++) {
            uint32_t *row = hk_row(w, places[count] = (uint16_t)(o->src[i] + n));
            memcpy(now + count * HK_LANES, row, HK_LANES * 4);
            memcpy(row, a->rows + count * HK_LANES, HK_LANES * 4);
        }
    swap_scalars(w, o, scalars, a->scalars);
    hk_set_exec(w, a->exec);
    w->s[HK_M0] = a->m0;
    int32_t fault = a->operation(w, &o->op);
    w->s[HK_M0] = m0;
    hk_set_exec(w, exec);
    swap_scalars(w, o, issued, scalars);
    /* In reverse order: for a register named twice, the first copy has its true content. */
    while (count-- > 0) {
        int loaded = places[count] >= o->dst && places[count] < o->dst + o->dst_count;
        hk_row_blend(hk_row(w, places[count]), now + count * HK_LANES, loaded ? ~a->exec : HK_ALL_LANES);
    }
    return fault;
}

/* The half of the last register that a load leaves: another load may have changed it since this one was issued. */
static void keep_half(Wave *w, Access *a) {
    uint32_t flags = a->op->op.flags & (HK_KEEPS_LOW | HK_KEEPS_HIGH), last = a->op->dst_count - 1;
    if (flags == 0) return;
    const uint32_t *now = hk_row(w, a->op->dst + last);
    uint32_t *loaded = a->rows + last * HK_LANES, kept = flags & HK_KEEPS_LOW ? 0xffff : 0xffff0000;
    for (int l = 0; l < HK_LANES; l++) loaded[l] = (loaded[l] & ~kept) | (now[l] & kept);
}

static int32_t take_effect(Wave *w, Access *a) {
    const SanOp *o = a->op;
    int32_t fault = 0;
    switch (a->effect) {
    case TO_REGISTER:
        keep_half(w, a);
        for (uint32_t n = 0; n < o->dst_count; n++)
            hk_row_blend(hk_row(w, o->dst + n), a->rows + n * HK_LANES, a->exec);
        break;
    case TO_LDS: {
        uint32_t width = o->bytes < 4 ? 4 : o->bytes, step = hk_to_lds_step(width);
        HK_FOR_LANES(lane, a->exec & hk_lanes_below(w->group->lds_end, a->start, step, width))
        memcpy(w->lds + a->start + lane * step, (const uint8_t *)a->rows + lane * step, width);
        break;
    }
    case IN_LDS:
        fault = run_in_lds(w, a);
        break;
    default:
        return 0;
    }
    memset(w->sums + o->dst, 0, o->dst_count);
    return fault;
}

/* Lets the oldest accesses take effect until at most `left` are in flight. */
static int32_t leave(Wave *w, Queue *q, uint32_t left) {
    while (q->count > left) {
        Access *a = &q->accesses[q->first];
        q->first = (q->first + 1) % q->room;
        q->count--;
        if (take_effect(w, a)) return 1;
    }
    return 0;
}

static int32_t issue(Wave *w, Queue *q, const SanOp *o, NativeFn operation, Access **access) {
    if (leave(w, q, q->room - 1)) return 1;
    Access *a = *access = &q->accesses[(q->first + q->count++) % q->room];
    a->op = o;
    a->operation = operation;
    a->exec = hk_exec(w);
    a->m0 = w->s[HK_M0];
    a->effect = DONE;
    const HkSchedule *schedule = w->late->schedule;
    a->is_late = schedule != NULL && schedule->late[(o->op.pc - schedule->code_first) / 4];
    return 0;
}

/* Loads now, without changing the registers yet. */
static int32_t load(Wave *w, Access *a) {
    const SanOp *o = a->op;
    uint32_t *row = hk_row(w, o->dst), old[ROWS * HK_LANES];
    size_t bytes = dst_bytes(o);
    memcpy(old, row, bytes);
    int32_t fault = a->operation(w, &o->op);
    memcpy(a->rows, row, bytes);
    a->effect = TO_REGISTER;
    memcpy(row, old, bytes);
    return fault;
}

/* Loads now, into a buffer in place of LDS. */
static int32_t load_to_lds(Wave *w, Access *a) {
    uint8_t *lds = w->lds;
    a->start = hk_to_lds_start(w, &a->op->op);
    w->lds = (uint8_t *)((uintptr_t)a->rows - a->start);
    int32_t fault = a->operation(w, &a->op->op);
    w->lds = lds;
    a->effect = TO_LDS;
    return fault;
}

static uint32_t source_rows(const SanOp *o) {
    uint32_t count = 0;
    for (int i = 0; i < SAN_SOURCES; i++) count += o->src_count[i];
    return count;
}

/* True if any lane of a flat access addresses LDS. */
static int goes_to_lds(const Wave *w, const SanOp *o) {
    const uint32_t *high = hk_row(w, o->src[0] + 1u);
    HK_FOR_LANES(lane, hk_exec(w)) if (high[lane] == HK_SHARED_APERTURE >> 32) return 1;
    return 0;
}

/* Keeps an access to LDS for later, with the registers that it reads. */
static void keep(const Wave *w, Access *a) {
    const SanOp *o = a->op;
    uint32_t *copy = a->rows;
    a->effect = IN_LDS;
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++, copy += HK_LANES)
            memcpy(copy, hk_row(w, o->src[i] + n), HK_LANES * 4);
}

HK_EXPORT int32_t hk_late_native(Wave *w, const SanOp *o, NativeFn operation) {
    HkLate *late = w->late;
    if (late == NULL) return operation(w, &o->op);
    Access *a;
    if (COPIES && (o->flags & (SAN_ASYNC | SAN_TENSOR))) {
        if (issue(w, &late->copies[o->flags & SAN_ASYNC ? 0 : 1], o, operation, &a)) return 1;
        keep(w, a);
        swap_scalars(w, o, a->scalars, NULL);
        return 0;
    }
    if (o->flags & SAN_APART) {
        /* A flat access counts among those to LDS, too. */
        if (o->space == SAN_FLAT && issue(w, &late->lds, o, operation, &a)) return 1;
        /* A wait for loads proves nothing about stores, which take effect at once. */
        if (!(o->flags & SAN_LOAD) && o->space != SAN_LDS && o->space != SAN_LDS_LANES) return operation(w, &o->op);
    }
    if (o->space == SAN_LDS || o->space == SAN_LDS_LANES) {
        if (source_rows(o) > ROWS) return leave(w, &late->lds, 0) || operation(w, &o->op);
        if (issue(w, &late->lds, o, operation, &a)) return 1;
        if (o->space == SAN_LDS_LANES) return load(w, a);
        keep(w, a);
        return 0;
    }
    if (o->space == SAN_FLAT && goes_to_lds(w, o) && leave(w, &late->lds, 0)) return 1;
    if (issue(w, &late->vector, o, operation, &a)) return 1;
    if (o->flags & SAN_TO_LDS) return load_to_lds(w, a);
    return o->dst_count ? load(w, a) : operation(w, &o->op);
}

/* Lets scalar loads take effect, except for those that `stays` says: it also gets whether a load is one of the newest
 * `left`. */
static void come_scalars(Wave *w, HkLate *late, int (*stays)(const ScalarLoad *, uint32_t), uint32_t left) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < late->scalar_count; i++) {
        const ScalarLoad *load = &late->scalars[i];
        if (stays(load, left + i >= late->scalar_count)) {
            late->scalars[kept++] = *load;
            continue;
        }
        memcpy(w->s + load->first, load->values, load->dwords * 4);
    }
    late->scalar_count = kept;
}

static int none_stays(const ScalarLoad *load, uint32_t is_left) {
    (void)load, (void)is_left;
    return 0;
}

static int late_stays(const ScalarLoad *load, uint32_t is_left) {
    (void)is_left;
    return load->is_late != 0;
}

/* A load of several dwords counts 2, so a wait for one access left includes it. */
static int left_stays(const ScalarLoad *load, uint32_t is_left) { return is_left && load->dwords == 1; }

HK_EXPORT int32_t hk_late_scalar(Wave *w, const Op *op, NativeFn operation) {
    HkLate *late = w->late;
    uint32_t first = op->sdst, dwords = op->imm[0], old[16];
    if (late == NULL || dwords > 16) return operation(w, op);
    if (late->scalar_count == SCALAR_ROOM) come_scalars(w, late, none_stays, 0);
    ScalarLoad *load = &late->scalars[late->scalar_count++];
    memcpy(old, w->s + first, dwords * 4);
    int32_t fault = operation(w, op);
    memcpy(load->values, w->s + first, dwords * 4);
    memcpy(w->s + first, old, dwords * 4);
    load->first = first;
    load->dwords = dwords;
    load->is_late = late->schedule != NULL && late->schedule->late[(op->pc - late->schedule->code_first) / 4];
    return fault;
}

HK_EXPORT int32_t hk_late_wait(Wave *w, const SanOp *o) {
    HkLate *late = w->late;
    if (late == NULL) return 0;
    uint32_t left = o->imm >> 16 & 255;
    if (late->scalar_count > 0 && left < SCALAR_ROOM) come_scalars(w, late, left_stays, left);
    /* SAN_NOT_WAITED exceeds the room of every queue. */
    for (uint32_t i = 0; i < COPIES; i++)
        if (leave(w, &late->copies[i], o->op.imm[0] >> 8 * i & 255)) return 1;
    return leave(w, &late->vector, o->imm & 255) || leave(w, &late->lds, o->imm >> 8 & 255);
}

/* Draws: with probability 1/2 no access takes effect, with 1/4 some, with 1/4 all. */
static int32_t come(Wave *w, HkLate *late, Queue *q) {
    if (q->count == 0) return 0;
    uint32_t random = draw(late);
    return random & 1 ? 0 : leave(w, q, random & 2 ? (random >> 8) % q->count : 0);
}

/* The accesses before the first late one take effect; those behind it return in order and wait with it. */
static int32_t come_listed(Wave *w, Queue *q) {
    while (q->count > 0 && !q->accesses[q->first].is_late)
        if (leave(w, q, q->count - 1)) return 1;
    return 0;
}

int32_t hk_late_stop(Wave *w) {
    HkLate *late = w->late;
    if (late->scalar_count > 0) come_scalars(w, late, late_stays, 0);
    for (uint32_t i = 0; i < COPIES; i++)
        if (come_listed(w, &late->copies[i])) return 1;
    return come_listed(w, &late->vector) || come_listed(w, &late->lds);
}

HK_EXPORT int32_t hk_late_pass(Wave *w, const Op *op) {
    (void)op;
    HkLate *late = w->late;
    if (late == NULL || late->mode == HK_LATE_LAST) return 0;
    if (late->mode == HK_LATE_LISTED) return hk_late_stop(w);
    for (uint32_t i = 0; i < COPIES; i++)
        if (come(w, late, &late->copies[i])) return 1;
    return come(w, late, &late->vector) || come(w, late, &late->lds);
}

int32_t hk_late_finish(Wave *w) {
    HkLate *late = w->late;
    come_scalars(w, late, none_stays, 0);
    for (uint32_t i = 0; i < COPIES; i++)
        if (leave(w, &late->copies[i], 0)) return 1;
    return leave(w, &late->vector, 0) || leave(w, &late->lds, 0);
}
