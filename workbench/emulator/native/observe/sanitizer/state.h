/* The sanitizer's state during a launch, and the functions that its parts offer each other.
 *
 * A wave has, besides its registers: the lanes (bits of scalar registers) that were never written, and the number of
 * the load that each register waits for.
 */
#ifndef HK_SANITIZER_STATE_H
#define HK_SANITIZER_STATE_H

#include "observe/sanitizer/sanitizer.h"
#include "run/lanes.h"

/* An access of LDS by a load that may read what another wave writes in the meantime. */
#define ACCESS_FLAG 8u

#define SCALARS (SAN_SCC + 1)
#define REPORTS 1024
#define REPORT_SLOTS 2048
#define NOBODY 0xffffffffu
#define APART 0xfffffffeu /* in place of a work-group: what is known is with the dwords */

/* The newest write of a dword of LDS. */
typedef struct LdsWrite {
    uint32_t epoch, pc;
    uint32_t number;       /* of the access among the writer's of its counter */
    uint32_t done, global; /* the writer's vm_done and vm_issued then */
    uint16_t atomics;      /* waves, since the last other write */
    uint8_t writer;        /* wave, 255: none */
    uint8_t mask;          /* bytes */
    uint8_t how;           /* 1 by lgkmcnt, 2 by vmcnt; 4: atomic */
    uint8_t undefined;     /* bytes */
} LdsWrite;

/* One dword of LDS. */
typedef struct LdsCell {
    LdsWrite write;
    uint32_t read_epoch, read_pc;
    uint16_t readers;  /* waves */
    uint8_t read_mask; /* bytes */
} LdsCell;

/* A write of global memory, or a read. */
typedef struct Write {
    uint32_t group, epoch, pc, number;
    uint16_t mask;         /* of the 16 bytes around it */
    uint8_t writer, scope; /* wave; SCOPE_* */
} Write;

/* 16 bytes of global memory, or a dword of them. */
typedef struct Cell {
    Write write;                                           /* the newest */
    uint32_t read_group, read_epoch, read_pc, read_number; /* number: where one wave has read it */
    uint16_t read_mask, readers;
} Cell;

enum { SCOPE_WAVE, SCOPE_GROUP, SCOPE_DEVICE };

/* A read of LDS, whose data may still be under way. */
typedef struct LdsRead {
    uint64_t lanes;
    uint32_t number, pc;
    uint32_t low, high; /* bytes that it touches lie in [low, high) */
    uint32_t bytes;     /* of a lane, at each address */
    uint32_t second;    /* distance of the second address; 0: there is none */
    uint32_t at[HK_LANES];
} LdsRead;

/* lgkmcnt has 4 bits: an instruction that would count further waits, so no more can be under way. */
#define READS 16

#define PAGE_SHIFT 12
#define PAGE_CELLS ((1u << PAGE_SHIFT) / 16)
#define PAGE_DWORDS ((1u << PAGE_SHIFT) / 4)

/* Dwords of a page whose state a cell of 16 bytes cannot hold. */
typedef struct Dwords {
    Cell cells[PAGE_DWORDS];
    Write before[PAGE_DWORDS]; /* one that the newest may change places with, both being atomics */
    uint32_t *reads;           /* as Page.reads */
    Write *others;             /* as Page.others */
} Dwords;

typedef struct Page {
    uint64_t number;
    Cell *cells;
    uint32_t *reads; /* [waves][cells] number of each wave's newest read, where several have read; NULL: nowhere */
    Write *others;   /* a read before those that the cells have, by other waves or of other bytes; NULL: nowhere */
    Dwords *dwords;  /* for the cells whose write is of APART; NULL: there are none */
} Page;

/* Accesses of a counter that may complete before, or after, those around them: the number not known to be complete,
 * and the number of the first of these. */
typedef struct SanStrays {
    uint32_t count, first;
} SanStrays;

/* Accesses of a wave that are ordered before another one's next: of LDS by their lgkmcnt numbers, loads to LDS and
 * accesses of global memory by their vmcnt numbers. */
typedef struct SanOrder {
    uint32_t lgkm, to_lds, global;
} SanOrder;

/* Accesses that a wave knows to be ordered before its next, besides those by barriers. */
typedef struct SanKnown {
    SanOrder of[HK_MAX_WAVES];
    /* vmcnt numbers of the waves of its work-group: what is complete, and what other dies can see. */
    uint32_t complete[HK_MAX_WAVES], visible[HK_MAX_WAVES];
    /* Releases of other work-groups up to these times: seen, and seen before the L1 was invalidated. */
    uint32_t seen, acquired;
} SanKnown;

/* Accesses that a work-group made visible by a write of device scope: the numbers of its waves, as in SanKnown. */
typedef struct SanRelease {
    uint32_t time;
    uint32_t complete[HK_MAX_WAVES], visible[HK_MAX_WAVES];
} SanRelease;

#define RELEASES 4

typedef struct SanReleases {
    uint64_t count;
    SanRelease newest[RELEASES]; /* round and round */
} SanReleases;

/* A dword of global memory written by an atomic, or by a store with a scope. */
typedef struct SanFlag {
    uint64_t dword;
    uint32_t group, time;
    uint16_t writers; /* waves of the group: by atomics, since the last store */
    uint8_t wave, scope;
    SanOrder order; /* of the newest writer */
} SanFlag;

struct San {
    uint64_t groups;
    uint32_t time;          /* releases so far */
    SanReleases **releases; /* of each group; NULL: none */
    int32_t synced;         /* a wave has done something that orders it with others */
    SanFlag *flags;         /* open hash */
    uint64_t flag_capacity, flag_count;
    Page *pages; /* open hash */
    uint64_t page_capacity, page_count;
    uint64_t memory_left;
    Page *last_page;
    const SanMemory *memories; /* sorted by base; the caller's */
    uint64_t memory_count;
    const SanMemory *last_memory;
    const SanObject *objects; /* sorted by base; the caller's */
    uint64_t object_count;
    uint64_t heap_base, heap_end; /* of malloc in kernels; 0: there is none */
    uint64_t *heap_blocks;        /* where the heap's blocks begin, sorted */
    uint64_t heap_block_count, heap_block_room;
    int32_t lost_writes; /* something was written that was not followed */
    uint64_t report_count, report_total;
    SanReport *last_report;
    SanReport reports[REPORTS];
    uint16_t report_slots[REPORT_SLOTS]; /* open hash: a report's place + 1; 0: none */
};

typedef struct SanGroup SanGroup;

typedef struct SanWave {
    SanGroup *group;
    uint32_t index;
    /* Loads issued and known to be complete, by counter; and those complete at the last barrier. */
    uint32_t vm_issued, vm_done, vm_published;
    uint32_t lgkm_issued, lgkm_done, lgkm_published;
    SanStrays vm_strays, lgkm_strays;
    uint32_t scalar_issued, scalar_done[2]; /* scalar loads: done of a dword, and of more */
    uint32_t last_read;                     /* of the newest read of LDS */
    uint32_t read_next;                     /* place of the next one in `reads` */
    uint32_t passed_count;
    uint32_t vm_passed; /* issued at the last barrier */
    SanKnown known;
    SanOrder release; /* as of its newest atomic, or store with a scope */
    /* What it has read and not waited for, with the numbers of the newest such reads; 0: none. */
    SanKnown learned;
    uint32_t learned_vm, learned_lgkm;
    /* Writes that the L2 is sending to memory, as in SanKnown, and the number of the instruction that asked for it; 0:
     * none.
     */
    uint32_t written_back[HK_MAX_WAVES], written_back_vm;
    const SanOp *access;       /* the newest of memory */
    uint64_t states;           /* wait states of the blocks that it has run */
    uint64_t marks[SAN_MARKS]; /* when the first instruction of each pair was over; 0: it has not run */
    uint32_t scalar_undefined[SCALARS + 3];
    uint32_t scalar_wait[SCALARS + 3]; /* number of the scalar load << 1 | whether it is of more than a dword */
    uint64_t *undefined;               /* [rows] lanes */
    uint32_t *vm_wait, *lgkm_wait;     /* [rows] number of the load under way */
    uint32_t *vm_pc, *lgkm_pc;
    uint64_t *origin; /* [rows] what made the register undefined, as SAN_ORIGIN_WHAT says; 0: it was never written */
    uint32_t scalar_pc[SCALARS + 3];
    uint64_t scalar_origin[SCALARS + 3];
    uint64_t *scratch; /* [dwords] undefined lanes */
    uint64_t *scratch_origin;
    uint64_t scratch_dwords;
    LdsRead reads[READS];  /* the newest ones, round and round */
    LdsRead passed[READS]; /* those that were under way when the wave passed the last barrier */
} SanWave;

struct SanGroup {
    San *san;
    const Group *group;
    uint64_t lds_origin; /* of the newest undefined value that was written to LDS; 0: there is none */
    uint32_t epoch;
    uint32_t wave_count;
    uint32_t rows;
    uint32_t lds_dwords;
    uint32_t reads_passed; /* of all waves together */
    LdsCell *lds;
    uint32_t *lds_reads; /* [waves][dwords] number of each wave's newest read */
    uint8_t *together;   /* [16 bytes] whether the first dword's cell speaks for all four (lds.c) */
    uint64_t *quick; /* by dword of LDS: epoch << 32, waves that may read it again, << 16: that may write it again */
    SanWave *waves;
};

/* reports.c */
/* Nonzero where the report has its place; 0 where there is room for no more. */
__attribute__((cold, noinline)) int san_found(Wave *w, uint32_t kind, const Op *op, uint64_t other_pc, int32_t lane,
                                              uint64_t address, uint64_t detail, uint64_t other_group,
                                              uint32_t other_wave);
/* registers.c */
/* The instruction that made the first undefined source among `first` to `last` so in `lanes`: the one at hand where a
 * register was never written. */
uint64_t san_origin(const SanWave *sw, const SanOp *o, int first, int last, uint64_t lanes);
/* Marks the results of an instruction undefined because of `origin`. */
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
/* How an instruction accesses LDS: by lgkmcnt, 4: atomic, ACCESS_FLAG. */
uint32_t san_lds_how(const SanOp *o);
void san_lds_flag(SanWave *sw, uint64_t offset, uint32_t number);
void san_lds_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, unsigned lane, int is_write,
                    uint32_t how, uint32_t number, uint32_t *undefined);
void san_lds_undefine(SanWave *sw, uint64_t offset, uint32_t bytes, uint32_t words, uint64_t origin);
void san_lds_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);
/* lds_reads.c */
/* Whether a store to LDS would leave it as it is: waves that write the same are no race. */
int san_same_in_lds(const Wave *w, const SanOp *o, uint64_t offset, unsigned lane);
/* Records a read of LDS: the wave may pass a barrier, or load over it, before the data has arrived. */
void san_note_read(SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t second);
void san_check_reads(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint32_t *at, uint32_t bytes);
/* order.c */
/* A read of LDS, numbered `number`, of what other waves may have written for this one to see. */
void san_lds_learn(SanWave *sw, const LdsCell *c, uint32_t number);
/* The same of global memory; `scope` is the read's. */
void san_global_learn(const Wave *w, SanWave *sw, uint64_t address, uint32_t scope, uint32_t number);
/* Records what an atomic, or a store with a scope, makes visible to others. */
void san_release(SanWave *sw, uint32_t lgkm);
void san_release_global(const Wave *w, SanWave *sw, const uint64_t *at, uint64_t lanes, uint32_t scope, int is_atomic);
/* Reads and write-backs count once they have been waited for. */
void san_settle(SanWave *sw);
void san_cache(const Wave *w, SanWave *sw, uint32_t what);
void san_order_barrier(SanGroup *sg);
/* Whether an access of global memory, numbered `number` by its wave, is ordered before this wave's next by both
 * waves' actions since, other than barriers. */
int san_ordered(const Wave *w, const SanWave *sw, uint32_t group, uint32_t wave, uint32_t number, int needs_visible,
                uint32_t until);
void san_order_free(San *s);
/* global.c */
/* An access of one lane through the address of a variable that is not in it. */
void san_object(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane);
void san_global_lanes(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at);
void san_global_scalar(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, uint32_t bytes);
/* heap.c */
/* Accesses of the heap of malloc in kernels that lie in no block in use. */
void san_heap(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane);
void san_heap_free(San *s);
/* written.c */
/* What an access leaves and finds of never-written memory; dwords of the result that are undefined, by lane. */
void san_follow_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t lanes, const uint64_t *at, uint64_t *undefined);
/* Scalar loads: SGPRs that come from uninitialised memory. */
void san_unwritten_scalars(SanWave *sw, const SanOp *o, uint64_t address);
/* accesses.c */
void san_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec);

/* Undefined lanes of a row; rows that do not exist have none. */
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

/* Undefined dwords of a lane's data. */
HK_INLINE uint32_t data_words(const SanWave *sw, uint32_t row, uint32_t count, unsigned lane) {
    uint32_t words = 0;
    for (uint32_t n = 0; n < count && n < 4; n++) words |= (uint32_t)(undefined_row(sw, row + n) >> lane & 1) << n;
    return words;
}

#endif
