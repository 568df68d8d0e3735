/* The sanitizer's state during a launch, and the functions that its source files share.
 *
 * Besides its registers, a wave has the lanes (bits of scalar registers) that were never written, and for each register
 * the number of the load in flight to it.
 */
#ifndef HK_SANITIZER_STATE_H
#define HK_SANITIZER_STATE_H

#include "observe/sanitizer/sanitizer.h"
#include "run/lanes.h"

/* Nonzero where there are copies between memory and LDS with counters of their own. */
#define HK_COPIES (HK_LANES == 32)
#define COPIES (SAN_UNDER_WAY_ASYNC | SAN_UNDER_WAY_TENSOR)

/* LDS access by a load that may read what another wave writes meanwhile. */
#define ACCESS_FLAG 8u

/* A mask of a work-group's waves. */
#if HK_WAVES > 16
typedef uint32_t WaveMask;
#else
typedef uint16_t WaveMask;
#endif

#define SCALARS (SAN_SCC + 1)
#define REPORTS 1024
#define REPORT_SLOTS 2048
#define NOBODY 0xffffffffu
#define APART 0xfffffffeu /* in place of a work-group: the records are in the dwords' own cells */

/* The newest write of a dword of LDS. */
typedef struct LdsWrite {
    uint32_t epoch, pc;
    uint32_t number;       /* number of the access, by the writer's counter */
    uint32_t done, global; /* the writer's vm_done and vm_issued at the write */
#if HK_COPIES
    uint32_t copied[2]; /* and its complete copies: asynchronous ones, and those of tiles */
#endif
    WaveMask atomics;  /* mask of waves with atomics since the last other write */
    uint8_t writer;    /* wave; 255: none */
    uint8_t mask;      /* mask of bytes */
    uint8_t how;       /* 1: counted by lgkmcnt, 2: by vmcnt, 4: atomic; with 2: SAN_UNDER_WAY_ASYNC, _TENSOR */
    uint8_t undefined; /* mask of bytes */
} LdsWrite;

/* One dword of LDS. */
typedef struct LdsCell {
    LdsWrite write;
    uint32_t read_epoch, read_pc;
    WaveMask readers;  /* mask of waves */
    uint8_t read_mask; /* mask of bytes */
} LdsCell;

/* A write of global memory, or a read. */
typedef struct Write {
    uint32_t group, epoch, pc, number;
    uint16_t mask;         /* mask of its bytes in the surrounding 16 */
    uint8_t writer, scope; /* wave; SCOPE_* */
} Write;

/* 16 bytes of global memory, or a dword of them. */
typedef struct Cell {
    Write write;                                           /* the newest write */
    uint32_t read_group, read_epoch, read_pc, read_number; /* read_number: valid if exactly one wave has read it */
    uint16_t read_mask;
    WaveMask readers;
} Cell;

enum { SCOPE_WAVE, SCOPE_GROUP, SCOPE_DEVICE };

/* An LDS read whose data may still be in flight. */
typedef struct LdsRead {
    uint64_t lanes;
    uint32_t number, pc;
    uint32_t copies;    /* SAN_UNDER_WAY_ASYNC or _TENSOR: a copy from LDS, with a number of that counter; else 0 */
    uint32_t low, high; /* the touched bytes lie in [low, high) */
    uint32_t bytes;     /* bytes per lane, at each address */
    uint32_t second;    /* distance of the second address; 0: none */
    uint32_t at[HK_LANES];
} LdsRead;

/* lgkmcnt has 4 bits, and an instruction that would overflow it waits, so no more can be in flight. dscnt of targets
 * with waves of 32 lanes has 6. */
#define READS (HK_LANES == 64 ? 16 : 64)
/* Copies from LDS that are followed at once; older ones are forgotten. */
#define COPY_READS (HK_COPIES ? 16 : 0)

#define PAGE_SHIFT 12
#define PAGE_CELLS ((1u << PAGE_SHIFT) / 16)
#define PAGE_DWORDS ((1u << PAGE_SHIFT) / 4)

/* Records for the dwords of a page, for state that a cell of 16 bytes cannot hold. */
typedef struct Dwords {
    Cell cells[PAGE_DWORDS];
    Write before[PAGE_DWORDS]; /* an earlier write that may swap places with the newest, both being atomics */
    uint32_t *reads;           /* as Page.reads */
    Write *others;             /* as Page.others */
} Dwords;

typedef struct Page {
    uint64_t number;
    Cell *cells;
    /* [waves][cells] number of each wave's newest read, if several waves have read; NULL: no such cell. */
    uint32_t *reads;
    Write *others;  /* a read older than those in the cells, by another wave or of other bytes; NULL: no such cell */
    Dwords *dwords; /* for the cells marked APART; NULL: none */
} Page;

/* Accesses of a counter that may complete out of order: how many may still be incomplete, and the number of the first
 * of these. */
typedef struct SanStrays {
    uint32_t count, first;
} SanStrays;

/* The accesses of a wave that a counter of its own counts: loads, stores, asynchronous copies, copies of tiles. Those
 * of a counter complete in order: of copies, LLVM's waits assume so. */
#define COUNTED 64
enum { COUNTS_LOADS, COUNTS_STORES, COUNTS_ASYNC, COUNTS_TENSOR, COUNTERS };
typedef struct SanApart {
    uint32_t issued, done;
    uint32_t arrived, arrived_done; /* at the signal of a barrier that the wave has yet to wait for */
    uint32_t passed, published;     /* at the last barrier */
    uint32_t numbers[COUNTED];      /* vm numbers of the newest ones: a counter of 6 bits has no more, an issue waits */
} SanApart;

/* Accesses of a wave that are ordered before another wave's next one: LDS accesses by their lgkmcnt numbers; loads to
 * LDS and accesses to global memory by their vmcnt numbers. */
typedef struct SanOrder {
    uint32_t lgkm, to_lds, global;
    uint32_t copied[2]; /* by the counters of copies */
} SanOrder;

/* Accesses that a wave knows to be ordered before its next one, in addition to those ordered by barriers. */
typedef struct SanKnown {
    SanOrder of[HK_WAVES];
    /* vmcnt numbers of each wave of its work-group: complete accesses, and those visible to other dies. */
    uint32_t complete[HK_WAVES], visible[HK_WAVES];
    /* Times of other work-groups' latest releases that were seen, and seen before the L1 was invalidated. `near`: those
     * that count for work-groups of the same cluster alone. */
    uint32_t seen, acquired, seen_near, acquired_near;
} SanKnown;

/* What a named barrier orders: accesses of the waves that have signalled it since it was last complete; and of those
 * that had when it was. */
typedef struct SanNamed {
    SanKnown signalled, complete;
} SanNamed;
#define NAMED_BARRIERS (HK_COPIES ? HK_NAMED_BARRIERS : 1)

/* Accesses that a work-group made visible by a write of device scope: vmcnt numbers of its waves, as in SanKnown. */
typedef struct SanRelease {
    uint32_t time;
    uint32_t complete[HK_WAVES], visible[HK_WAVES];
} SanRelease;

#define RELEASES 4

typedef struct SanReleases {
    uint64_t count;
    SanRelease newest[RELEASES]; /* ring buffer */
} SanReleases;

/* A dword of global memory written by an atomic, or by a store with a scope. */
typedef struct SanFlag {
    uint64_t dword;
    uint32_t group, time;
    WaveMask writers; /* mask of the group's waves that wrote by atomics since the last store */
    uint8_t wave, scope;
    SanOrder order; /* order at the newest write */
} SanFlag;

struct San {
    const Launch *launch;
    uint64_t groups;
    uint32_t time;          /* number of releases so far */
    SanReleases **releases; /* releases of each group; NULL: none */
    int32_t synced;         /* nonzero: a wave has synchronised with others */
    SanFlag *flags;         /* hash table, open addressing */
    uint64_t flag_capacity, flag_count;
    Page *pages; /* hash table, open addressing */
    uint64_t page_capacity, page_count;
    uint64_t memory_left;
    Page *last_page;
    const SanMemory *memories; /* sorted by base; owned by the caller */
    uint64_t memory_count;
    const SanMemory *last_memory;
    const SanObject *objects; /* sorted by base; owned by the caller */
    uint64_t object_count;
    uint64_t heap_base, heap_end; /* the heap of malloc in kernels; 0: none */
    uint64_t *heap_blocks;        /* start addresses of the heap's blocks, sorted */
    uint64_t heap_block_count, heap_block_room;
    int32_t lost_writes; /* nonzero: memory was written that the sanitizer could not track */
    uint64_t report_count, report_total;
    SanReport *last_report;
    SanReport reports[REPORTS];
    uint16_t report_slots[REPORT_SLOTS]; /* hash table, open addressing: a report's index + 1; 0: none */
};

typedef struct SanGroup SanGroup;

typedef struct SanWave {
    SanGroup *group;
    uint32_t index;
    /* Number of loads issued and of those known to be complete, by counter; and of those complete at the last barrier.
     */
    uint32_t vm_issued, vm_done, vm_published;
    uint32_t lgkm_issued, lgkm_done, lgkm_published;
    SanStrays vm_strays, lgkm_strays;
    uint32_t vm_loaded;                     /* loads up to this number are complete; `vm_done`: stores, too */
    SanApart apart[COUNTERS];               /* by counter, of targets that count loads and stores apart */
    uint32_t scalar_issued, scalar_done[2]; /* scalar loads; done: loads of one dword, and larger ones */
    uint32_t last_read;                     /* number of the newest LDS read */
    uint32_t read_next;                     /* index of the next one in `reads` */
    uint32_t copy_next;                     /* likewise in `copied` */
    uint32_t passed_count;
    uint32_t vm_passed, lgkm_passed; /* vm_issued and lgkm_issued at the last barrier */
    /* The same numbers at the signal of a barrier that the wave has yet to wait for. */
    uint32_t has_arrived, arrived_vm_done, arrived_vm, arrived_lgkm_done, arrived_lgkm;
    SanKnown known;
    SanOrder release; /* state at its newest atomic, or store with a scope */
    /* Order from reads that it has not waited for yet, with the numbers of the newest such reads; 0: none. */
    SanKnown learned;
    uint32_t learned_vm, learned_lgkm;
    /* Writes that the L2 is writing back to memory, as in SanKnown, and the number of the instruction that requested
     * it; 0: none.
     */
    uint32_t written_back[HK_WAVES], written_back_vm;
    const SanOp *access;       /* the newest memory access */
    uint64_t states;           /* wait states of the blocks run so far */
    uint64_t marks[SAN_MARKS]; /* time at which the first instruction of each pair ended; 0: it has not run */
    uint32_t scalar_undefined[SCALARS + 3];
    uint32_t scalar_wait[SCALARS + 3]; /* number of the scalar load << 1 | 1 if it loads more than a dword */
    uint64_t *undefined;               /* [rows] mask of undefined lanes */
    uint32_t *vm_wait, *lgkm_wait;     /* [rows] number of the load in flight to the register */
    uint32_t *vm_pc, *lgkm_pc;
    uint64_t *origin; /* [rows] origin of the undefined value, as SAN_ORIGIN_WHAT; 0: never written */
    uint32_t scalar_pc[SCALARS + 3];
    uint64_t scalar_origin[SCALARS + 3];
    uint64_t *scratch; /* [dwords] mask of undefined lanes */
    uint64_t *scratch_origin;
    uint64_t scratch_dwords;
    LdsRead reads[READS]; /* the newest reads, a ring buffer */
    LdsRead copied[COPY_READS + 1];
    LdsRead passed[READS + COPY_READS]; /* reads that were in flight when the wave passed the last barrier */
} SanWave;

struct SanGroup {
    San *san;
    const Group *group;
    uint64_t lds_origin; /* origin of the newest undefined value written to LDS; 0: none */
    uint32_t epoch;
    uint32_t wave_count;
    uint32_t rows;
    uint32_t lds_dwords;
    uint32_t reads_passed; /* number of such reads of all waves */
    LdsCell *lds;
    uint32_t *lds_reads; /* [waves][dwords] number of each wave's newest read */
    uint8_t *together;   /* [16 bytes] nonzero: the first dword's cell stands for all four (lds.c) */
    /* By dword of LDS: epoch << 32 | mask of the waves that may write again << 16 | mask of those that may read again,
     * without a check. Waves beyond the 16th always need one. */
    uint64_t *quick;
    SanWave *waves;
    uint32_t named_used; /* mask of the named barriers that `named` has; the others' records are not initialised */
    SanNamed named[NAMED_BARRIERS];
    /* What signals of the cluster's barrier order within the work-group, by the completion that follows them: even or
     * odd, since a wave may signal the next one before another has waited for this one. */
    SanKnown cluster[HK_COPIES ? 2 : 1];
};

/* reports.c */
/* Nonzero if the report was recorded; 0 if there was no room. */
__attribute__((cold, noinline)) int san_found(Wave *w, uint32_t kind, const Op *op, uint64_t other_pc, int32_t lane,
                                              uint64_t address, uint64_t detail, uint64_t other_group,
                                              uint32_t other_wave);
/* registers.c */
/* The instruction that made the first undefined source among `first` to `last` undefined in `lanes`; the current one if
 * the register was never written. */
uint64_t san_origin(const SanWave *sw, const SanOp *o, int first, int last, uint64_t lanes);
/* Marks the results of an instruction undefined, with `origin`. */
void san_mark(SanWave *sw, const SanOp *o, uint64_t origin);
void san_vector(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
void san_words(SanWave *sw, const SanOp *o, uint64_t exec);
void san_scalar_bits(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
void san_scalar(SanWave *sw, const SanOp *o);
void san_matrix(SanWave *sw, const SanOp *o);
void san_shuffle(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
void san_gather(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
void san_read_lane(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
void san_write_lane(Wave *w, SanWave *sw, const SanOp *o);
void san_branch(Wave *w, SanWave *sw, const SanOp *o);
/* lds.c */
/* How an instruction accesses LDS: 1 counted by lgkmcnt, 2 by vmcnt, 4 atomic, ACCESS_FLAG. */
uint32_t san_lds_how(const SanOp *o);
void san_lds_flag(SanWave *sw, uint64_t offset, uint32_t number);
void san_lds_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, unsigned lane, int is_write,
                    int source, uint32_t how, uint32_t number, uint32_t *undefined);
void san_lds_undefine(SanWave *sw, uint64_t offset, uint32_t bytes, uint32_t words, uint64_t origin);
void san_lds_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
/* copies.c */
/* A copy between memory and LDS that passes no register. */
void san_copy(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
/* lds_reads.c */
/* True if a copy from LDS has not been waited for. */
HK_INLINE int san_copies_out(const SanWave *sw) {
    return HK_COPIES && sw->copy_next != 0 &&
           (sw->apart[COUNTS_ASYNC].done != sw->apart[COUNTS_ASYNC].issued ||
            sw->apart[COUNTS_TENSOR].done != sw->apart[COUNTS_TENSOR].issued);
}
/* Records a copy's read of LDS: `bytes` from each of the lanes' addresses. */
void san_note_copy(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes, uint32_t copies,
                   uint32_t number);
/* True if a store of operand `source` to LDS would not change it: waves that write the same value do not race. */
int san_same_in_lds(const Wave *w, const SanOp *o, int source, uint64_t offset, unsigned lane);
/* Records an LDS read: the wave may pass a barrier, or overwrite the data by a load to LDS, before it arrives. */
void san_note_read(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t second);
void san_check_reads(Wave *w, SanWave *sw, const SanOp *o, int source, uint64_t lanes, const uint32_t *at,
                     uint32_t bytes);
/* order.c */
/* Handles LDS read `number` of data that other waves may have written to signal this one. */
void san_lds_learn(SanWave *sw, const LdsCell *c, uint32_t number);
/* The same for global memory; `scope` is the read's. */
void san_global_learn(const Wave *w, SanWave *sw, uint64_t address, uint32_t scope, uint32_t number);
/* Records the accesses that an atomic, or a store with a scope, makes visible to others. */
void san_release(SanWave *sw, uint32_t lgkm);
/* The same for an arrival that comes behind copies up to these numbers. */
void san_release_copies(SanWave *sw, uint32_t async, uint32_t tensor);
void san_release_global(const Wave *w, SanWave *sw, const uint64_t *at, uint64_t lanes, uint32_t scope, int is_atomic);
/* Applies reads and write-backs that have been waited for. */
void san_settle(SanWave *sw);
void san_cache(const Wave *w, SanWave *sw, const SanOp *o);
void san_order_barrier(SanGroup *sg);
/* True if a work-group is of the same cluster, so of the same die. */
int san_is_near(const Wave *w, uint32_t group);
/* True if an access to global memory, numbered `number` by its wave, is ordered before this wave's next one by later
 * actions of both waves, other than barriers. */
int san_ordered(const Wave *w, const SanWave *sw, uint32_t group, uint32_t wave, uint32_t number, int needs_visible,
                int needs_acquire);
void san_order_free(San *s);
/* global.c */
/* Reports an access of one lane that uses the address of a variable but lies outside it. */
void san_object(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane);
/* Reports an access to the padding after an allocation. */
void san_check_past(Wave *w, const SanOp *o, uint64_t lo, uint32_t bytes, int is_write, int32_t lane);
/* The lanes of `lanes` whose access the operation will do; reports those that end in the padding of an allocation. */
uint64_t san_inside(Wave *w, const SanOp *o, uint64_t lanes, const uint64_t *at);
void san_global_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at);
void san_global_scalar(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes);
/* The same for a row of a tile. */
void san_global_row(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes);
/* heap.c */
/* Reports accesses to the heap of malloc in kernels outside blocks in use. */
void san_heap(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane);
void san_heap_free(San *s);
/* written.c */
/* Effect of an access on records of never-written memory; fills the undefined dwords of the result, by lane. */
void san_follow_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at, uint64_t *undefined);
/* Scalar loads: marks SGPRs loaded from uninitialised memory. */
void san_unwritten_scalars(SanWave *sw, const SanOp *o, uint64_t address);
/* accesses.c */
void san_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);

/* The counter of copies that an access is counted by. */
HK_INLINE const SanApart *copies_of(const SanWave *sw, uint32_t how) {
    return &sw->apart[how & SAN_UNDER_WAY_ASYNC ? COUNTS_ASYNC : COUNTS_TENSOR];
}

/* Numbers of the accesses, counted as `how` says, that are complete; that were at the last barrier; and that had been
 * issued there. */
HK_INLINE uint32_t done_of(const SanWave *sw, uint32_t how) {
    if (HK_COPIES && (how & COPIES)) return copies_of(sw, how)->done;
    return how & 2 ? sw->vm_done : sw->lgkm_done;
}
HK_INLINE uint32_t published_of(const SanWave *sw, uint32_t how) {
    if (HK_COPIES && (how & COPIES)) return copies_of(sw, how)->published;
    return how & 2 ? sw->vm_published : sw->lgkm_published;
}
HK_INLINE uint32_t passed_of(const SanWave *sw, uint32_t how) {
    if (HK_COPIES && (how & COPIES)) return copies_of(sw, how)->passed;
    return how & 2 ? sw->vm_passed : sw->lgkm_passed;
}
/* Numbers of the accesses to LDS that an order covers. */
HK_INLINE uint32_t ordered_of(const SanOrder *order, uint32_t how) {
    if (HK_COPIES && (how & COPIES)) return order->copied[how & SAN_UNDER_WAY_ASYNC ? 0 : 1];
    return how & 2 ? order->to_lds : order->lgkm;
}

/* The wave signals that it has come to a barrier: what it did before is what others rely on behind it. */
HK_INLINE void arrive(SanWave *sw) {
    for (unsigned i = COUNTS_ASYNC; HK_COPIES && i < COUNTERS; i++) {
        sw->apart[i].arrived = sw->apart[i].issued;
        sw->apart[i].arrived_done = sw->apart[i].done;
    }
    sw->has_arrived = 1;
    sw->arrived_vm_done = sw->vm_done;
    sw->arrived_vm = sw->vm_issued;
    sw->arrived_lgkm_done = sw->lgkm_done;
    sw->arrived_lgkm = sw->lgkm_issued;
}

/* Mask of the undefined lanes of a row; 0 for rows that do not exist. */
HK_INLINE uint64_t undefined_row(const SanWave *sw, uint32_t row) {
    return row < sw->group->rows ? sw->undefined[row] : 0;
}

HK_INLINE uint64_t undefined_rows(const SanWave *sw, uint32_t row, uint32_t count) {
    uint64_t u = 0;
    for (uint32_t n = 0; n < count; n++) u |= undefined_row(sw, row + n);
    return u;
}

HK_INLINE int scalar_any(const SanWave *sw, uint32_t index, uint32_t count) {
    for (uint32_t n = 0; n < count; n++)
        if (sw->scalar_undefined[index + n]) return 1;
    return 0;
}

HK_INLINE void set_rows(SanWave *sw, uint32_t row, uint32_t count, uint64_t lanes, uint64_t undefined) {
    for (uint32_t n = 0; n < count && row + n < sw->group->rows; n++)
        sw->undefined[row + n] = (sw->undefined[row + n] & ~lanes) | (undefined & lanes);
}

/* Mask of the undefined dwords of a lane's data. */
HK_INLINE uint32_t data_words(const SanWave *sw, uint32_t row, uint32_t count, unsigned lane) {
    uint32_t words = 0;
    for (uint32_t n = 0; n < count && n < 4; n++) words |= (uint32_t)(undefined_row(sw, row + n) >> lane & 1) << n;
    return words;
}

#endif
