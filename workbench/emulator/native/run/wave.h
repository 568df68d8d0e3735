/* State of a running wave, and what generated code, native operations and the driver say to each other.
 *
 * One file holds every structure that crosses a language border, so that the translator (LLVM IR made in
 * Python), the native operations (C) and the driver (C, called from Python) agree by construction.
 * workbench/emulator/layout.py mirrors it; tests/emulator/test_layout.py compares every offset.
 *
 * Words of the ISA: a wave is 64 lanes; a work-group is up to 16 waves with one LDS; `row` is one vector
 * register of a wave, 64 dwords.
 */
#ifndef HK_WAVE_H
#define HK_WAVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HK_LANES 64
#define HK_MAX_WAVES 16       /* waves of a work-group: 1024 work-items */
#define HK_NO_REGISTER 0xffff /* an Op field that names no register */

/* Scalar operand encodings with a meaning of their own: indices into Wave.s. */
enum {
    HK_S_FLAT_SCRATCH = 102,
    HK_S_XNACK_MASK = 104,
    HK_S_VCC = 106,
    HK_S_M0 = 124,
    HK_S_EXEC = 126,
};

/* Flat addresses inside these 4 GiB windows mean LDS and scratch (src_shared_base, src_private_base). */
#define HK_SHARED_APERTURE 0x0001000000000000ull
#define HK_PRIVATE_APERTURE 0x0002000000000000ull
#define HK_APERTURE_MASK 0xffffffff00000000ull

/* What a block returns when it is not the index of the next block. */
enum {
    HK_END = -1,     /* s_endpgm */
    HK_BARRIER = -2, /* s_barrier; Wave.block is where to go on */
    HK_FAULT = -3,   /* Wave.fault and Wave.pc say what and where */
    HK_JUMP = -4,    /* go on at the device address in Wave.target */
    HK_YIELD = -5,   /* let other waves run (s_sleep); Wave.block is where to go on */
};

enum {
    HK_FAULT_NONE = 0,
    HK_FAULT_ADDRESS = 1,      /* global memory outside every allocation; address: device address */
    HK_FAULT_LDS = 2,          /* LDS outside the work-group's share; address: byte offset in it */
    HK_FAULT_SCRATCH = 3,      /* scratch outside the lane's share; address: byte offset in it */
    HK_FAULT_BARRIER = 4,      /* set by the driver: some waves wait, the others ended */
    HK_FAULT_TRAP = 5,         /* s_trap; address: trap id */
    HK_FAULT_HALT = 6,         /* s_sethalt */
    HK_FAULT_JUMP = 7,         /* no instruction of the code object begins at `address` */
    HK_FAULT_ALIGNMENT = 8,    /* an address that the instruction wants aligned to `size` */
    HK_FAULT_READ_ONLY = 9,    /* a write into memory that the host mapped read-only */
    HK_FAULT_UNSUPPORTED = 10, /* a case of the instruction seen only when it runs */
    HK_FAULT_SERVICE = 11      /* set by the driver: a hostcall that nobody answers; address: the service */
};

typedef struct Wave Wave;
typedef struct Group Group;
typedef struct Machine Machine;
typedef struct Counters Counters;
typedef struct Op Op;
typedef struct HkTrace HkTrace;
typedef struct HkTraffic HkTraffic;
typedef struct HkStream HkStream;

/* Generated code: runs one basic block of a wave; the next block's index or one of the values above. */
typedef int32_t (*BlockFn)(Wave *);

/* What went wrong; lane is -1 where the whole wave is meant. */
typedef struct Fault {
    int32_t kind;
    int32_t lane;
    uint64_t address;
    uint32_t size; /* bytes of the access */
    uint32_t is_write;
} Fault;

struct Wave {
    uint32_t s[128];       /* by scalar operand encoding: SGPRs, VCC 106/107, M0 124, EXEC 126/127 */
    uint32_t scc;          /* 0 or 1 */
    uint32_t mode;         /* MODE: round 3:0, denormals 7:4, dx10_clamp 8, ieee 9 */
    uint32_t *v;           /* [rows][64], 64-byte aligned; AGPR n is row acc_offset + n */
    uint8_t *lds;          /* of the work-group */
    uint8_t *scratch;      /* byte b of lane l is at (b/4)*256 + l*4 + b%4 */
    uint32_t lds_size;     /* bytes */
    uint32_t scratch_size; /* bytes a lane */
    int32_t block;         /* resume point */
    int32_t state;         /* of the driver: HK_WAVE_* */
    uint64_t target;       /* HK_JUMP: device address */
    uint64_t pc;           /* code object address (vaddr) of the instruction last handed to a native operation */
    uint64_t code_base;    /* device address of the code object's vaddr 0 */
    Group *group;
    Fault fault;
    uint64_t hit_base, hit_end; /* allocation that the last checked access fell in */
    uint64_t hit_flags;
    uint32_t index;   /* of the wave in its work-group */
    uint32_t lanes;   /* work-items of this wave, 1..64 */
    void *san;        /* the sanitizer's state of the wave; NULL where nothing is sanitized */
    HkStream *stream; /* lines that it touches (traffic.h), or NULL */
    uint32_t xcc_id;  /* hardware registers: HW_REG_XCC_ID, HW_REG_HW_ID, and the fixed bits of HW_REG_STATUS */
    uint32_t hw_id;
    uint32_t status;
    uint32_t reserved;
    uint64_t packet; /* a hostcall that it has submitted and nobody has answered: pointer to the packet, else 0 */
} __attribute__((aligned(64)));

enum { HK_WAVE_READY = 0, HK_WAVE_WAITING = 1, HK_WAVE_ENDED = 2 };

/* A work-group. `stop` becomes nonzero when the launch is to end early; a long native operation may poll it. */
struct Group {
    uint32_t id[3];
    uint32_t size[3]; /* work-items, smaller in a partial work-group at the end of the grid */
    uint32_t grid[3]; /* work-groups of the launch */
    uint32_t wave_count;
    uint64_t index; /* linear: x fastest */
    const Machine *machine;
    Counters *counters; /* of the thread that runs the group */
    const int32_t *stop;
    int32_t profile; /* nonzero: native operations add to `counters` */
    int32_t reserved;
    HkTrace *trace;     /* where accesses are recorded one by one (trace.h), or NULL */
    HkTraffic *traffic; /* of the worker, where the launch asks for it (traffic.h), or NULL */
};

enum { HK_ALLOCATION_READ = 1, HK_ALLOCATION_WRITE = 2 };

/* Memory that a kernel may touch: [base, end), byte-exact. Device addresses are host addresses. */
typedef struct Allocation {
    uint64_t base, end;
    uint64_t flags;
} Allocation;

/* The device as a launch sees it; constant while kernels run. */
struct Machine {
    const Allocation *allocations; /* sorted by base, disjoint */
    uint64_t allocation_count;
    uint32_t target;    /* 0x942, 0x950, 0x90a */
    uint32_t lds_banks; /* 32 or 64, 4 bytes each */
    uint64_t hostcalls; /* device address and bytes of the buffer of hostcalls (emulator/hostcall.py); 0: none */
    uint64_t hostcalls_bytes;
};

#define HK_READY_STACK 32 /* offset in the buffer of hostcalls: the word that a wave changes to submit one */

/* Address-dependent counts of one thread, added to only when Group.profile is set. */
struct Counters {
    uint64_t lds_bank_conflict; /* LDS cycles beyond those of a conflict-free access (SQ_LDS_BANK_CONFLICT) */
    uint64_t lds_cycles;        /* all LDS cycles of indexed accesses */
    uint64_t lds_bytes_read, lds_bytes_written;           /* by active lanes */
    uint64_t global_bytes_read, global_bytes_written;     /* requested by active lanes */
    uint64_t global_read_lines_64, global_read_lines_128; /* distinct lines an instruction touches, summed */
    uint64_t global_write_lines_64, global_write_lines_128;
    uint64_t global_atomics; /* by active lanes */
    uint64_t scalar_bytes_read;
    uint64_t scratch_bytes_read, scratch_bytes_written;
    uint64_t direct_to_lds_bytes; /* part of global_bytes_read that went to LDS directly */
    uint64_t reserved[1];
};

/* A native operation's constants, one static record an instruction. */
struct Op {
    uint64_t pc;                        /* code object address of the instruction */
    uint16_t dst, src0, src1, src2;     /* register rows, acc_offset already added; HK_NO_REGISTER: none */
    uint16_t sdst, ssrc0, ssrc1, ssrc2; /* scalar operand encodings; HK_NO_REGISTER: none */
    int32_t offset;
    uint32_t flags;  /* bits of the operation's own */
    uint32_t imm[4]; /* constants of the operation's own */
};

/* A native operation: 0 = go on; else it filled Wave.fault through hk_fault and the block returns HK_FAULT. */
typedef int32_t (*NativeFn)(Wave *, const Op *);

#define HK_EXPORT __attribute__((visibility("default")))

static inline uint64_t hk_exec(const Wave *w) {
    return (uint64_t)w->s[HK_S_EXEC] | (uint64_t)w->s[HK_S_EXEC + 1] << 32;
}

static inline uint64_t hk_s64(const Wave *w, unsigned encoding) {
    return (uint64_t)w->s[encoding] | (uint64_t)w->s[encoding + 1] << 32;
}

static inline uint32_t *hk_row(const Wave *w, unsigned row) { return w->v + (size_t)row * HK_LANES; }

/* Record a fault of `op`; returns the nonzero value that the operation is to return. */
__attribute__((cold, noinline, unused)) static int32_t hk_fault(Wave *w, const Op *op, int32_t kind, int32_t lane,
                                                                uint64_t address, uint32_t size, int is_write) {
    w->pc = op->pc;
    w->fault.kind = kind;
    w->fault.lane = lane;
    w->fault.address = address;
    w->fault.size = size;
    w->fault.is_write = is_write != 0;
    return 1;
}

/* The allocation that holds the byte at `address`, or NULL. */
static inline const Allocation *hk_find_allocation(const Machine *m, uint64_t address) {
    uint64_t low = 0, high = m->allocation_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (m->allocations[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return NULL;
    const Allocation *a = &m->allocations[low - 1];
    return address < a->end ? a : NULL;
}

__attribute__((noinline, unused)) static int hk_find_range(Wave *w, uint64_t lo, uint64_t hi, uint64_t need) {
    const Allocation *a = hk_find_allocation(w->group->machine, lo);
    if (a == NULL || hi > a->end || hi < lo) return 0;
    w->hit_base = a->base;
    w->hit_end = a->end;
    w->hit_flags = a->flags;
    return (a->flags & need) == need;
}

/* Whether a kernel may touch every byte of [lo, hi): they lie in one allocation that allows the access. */
static inline int hk_allowed(Wave *w, uint64_t lo, uint64_t hi, int is_write) {
    uint64_t need = is_write ? HK_ALLOCATION_WRITE : HK_ALLOCATION_READ;
    if (__builtin_expect(lo >= w->hit_base && hi <= w->hit_end && lo <= hi && (w->hit_flags & need), 1)) return 1;
    return hk_find_range(w, lo, hi, need);
}

/* Pointer to [address, address + size) of global memory for one lane; NULL after recording a fault. */
static inline void *hk_check(Wave *w, const Op *op, uint64_t address, uint32_t size, int is_write, int32_t lane) {
    if (__builtin_expect(hk_allowed(w, address, address + size, is_write), 1)) return (void *)(uintptr_t)address;
    const Allocation *a = hk_find_allocation(w->group->machine, address);
    int read_only = is_write && a != NULL && address + size <= a->end && !(a->flags & HK_ALLOCATION_WRITE);
    hk_fault(w, op, read_only ? HK_FAULT_READ_ONLY : HK_FAULT_ADDRESS, lane, address, size, is_write);
    return NULL;
}

/* The same for LDS and scratch offsets; they return 0 after recording a fault. */
static inline int hk_check_lds(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    if (__builtin_expect(offset + size <= w->lds_size && offset + size >= offset, 1)) return 1;
    hk_fault(w, op, HK_FAULT_LDS, lane, offset, size, is_write);
    return 0;
}

static inline int hk_check_scratch(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    if (__builtin_expect(offset + size <= w->scratch_size && offset + size >= offset, 1)) return 1;
    hk_fault(w, op, HK_FAULT_SCRATCH, lane, offset, size, is_write);
    return 0;
}

/* Byte `offset` of a lane's scratch; a dword's bytes are together, the next dword is 256 bytes on. */
static inline uint8_t *hk_scratch_byte(const Wave *w, uint32_t offset, unsigned lane) {
    return w->scratch + (size_t)(offset >> 2) * 256 + (size_t)lane * 4 + (offset & 3);
}

/* ---- The driver's side (dispatch.c) ---- */

/* Where a wave stood when its launch stopped. */
typedef struct WaveReport {
    int32_t state; /* HK_WAVE_* */
    int32_t block; /* resume block; -1 after the end */
} WaveReport;

/* The fault of one worker, the lowest work-group first. */
typedef struct FaultReport {
    Fault fault;
    uint64_t group; /* linear index */
    uint64_t pc;    /* code object address, where `has_pc` */
    uint32_t wave;
    uint32_t wave_count;
    int32_t block; /* block that was running */
    uint32_t has_pc;
    WaveReport waves[HK_MAX_WAVES];
} FaultReport;

/* One kernel launch: what every wave starts from, and the progress that the worker threads share. */
typedef struct Launch {
    const Machine *machine;
    const BlockFn *functions;        /* by block index */
    const uint64_t *block_addresses; /* code object addresses of the blocks, ascending */
    const int32_t *block_indices;    /* block at the same place of block_addresses */
    uint32_t block_count;
    int32_t entry;
    uint64_t code_base;
    uint64_t flat_scratch;
    uint32_t groups[3];     /* work-groups */
    uint32_t items[3];      /* work-items */
    uint32_t group_size[3]; /* work-items of a full work-group */
    uint32_t row_count;     /* vector registers, AGPRs included */
    uint32_t lds_size;      /* bytes, static and dynamic */
    uint32_t scratch_size;  /* bytes a lane */
    uint32_t mode;          /* initial MODE */
    uint32_t user_sgpr_count;
    uint32_t user_sgpr[32];
    uint32_t enable_group_id; /* bits 0..2: work-group id x, y, z in the SGPRs after the user SGPRs */
    uint32_t enable_group_info;
    uint32_t
        enable_wave_offset;   /* an SGPR with the wave's scratch offset follows (targets without architected scratch) */
    uint32_t item_id_mode;    /* 0: x, 1: x and y, 2: x, y and z */
    uint32_t packed_item_ids; /* 10 bits each in v0; else one register each */
    uint32_t poison;          /* what registers, LDS and scratch hold before they are written */
    uint32_t profile;
    uint32_t turn_blocks;  /* blocks that a wave runs before the next one takes its turn */
    uint32_t turn_rounds;  /* turns of its waves before a work-group that does not end lets another start */
    uint32_t max_resident; /* work-groups that one worker holds at once */
    uint64_t group_total;
    /* shared by workers, changed atomically */
    uint64_t next_group;
    uint64_t last_group; /* work-groups above are not to run: a fault was seen there */
    uint64_t finished;   /* work-groups that ended */
    int32_t stop;        /* nonzero: leave as soon as possible */
    int32_t reserved;
    void *san;      /* the sanitizer's state of the launch, or NULL; one worker only */
    HkTrace *trace; /* where accesses are recorded one by one, or NULL; one worker only */
    uint32_t xcds;  /* dies that work-groups go to in turn */
    uint32_t units; /* compute units of a die */
    /* Answers the hostcall that a wave of a work-group submitted, by the pointer to its packet; 0, or the service that
     * is not to be had. */
    int32_t (*serve)(uint64_t group, uint32_t wave, uint64_t packet);
} Launch;

/* One thread's share of a launch. */
typedef struct Worker {
    Launch *launch;
    uint64_t *counts; /* [block_count] how often this worker ran each block */
    Counters counters;
    FaultReport report;
    void *resident; /* driver's own: work-groups under way */
    void *spare;    /* driver's own: memory of ended work-groups */
    uint32_t resident_count;
    uint32_t reserved;
    HkTraffic *traffic; /* what it records, or NULL */
} Worker;

/* hk_run's answers. */
enum {
    HK_RUN_DONE = 0,    /* no work-group left for this worker */
    HK_RUN_AGAIN = 1,   /* the time slice is over: call again */
    HK_RUN_STOPPED = 2, /* Launch.stop was set */
    HK_RUN_MEMORY = 3,  /* no host memory for a work-group's registers */
};

HK_EXPORT int32_t hk_run(Worker *worker, uint64_t slice_nanoseconds);
HK_EXPORT void hk_release(Worker *worker);

#endif
