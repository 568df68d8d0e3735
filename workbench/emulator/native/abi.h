/* Structures, numbers and functions that C and Python share.
 *
 * native/abi.py reads this file with cffi, which knows C's declarations and `#define NAME number` but no
 * preprocessor: no other macros here, no attributes, no inline functions.
 *
 * Terms: a wave is 32 or 64 lanes, HK_LANES of them in a library that is built for waves of that size (run/wave.h); a
 * work-group is up to 1024 work-items with one LDS; `row` is one vector register of a wave, HK_LANES dwords. Structures
 * are the same in the libraries of all wave sizes.
 */
#ifndef HK_ABI_H
#define HK_ABI_H

#include <stddef.h>
#include <stdint.h>

#define HK_MAX_LANES 64
#define HK_MAX_ITEMS 1024 /* work-items of a work-group */
#define HK_MAX_WAVES 32   /* waves of a work-group, if they have 32 lanes */
#define HK_MAX_ROWS 1152  /* more vector registers than a wave can name, with those that the emulator adds */
#define HK_MAX_USER_SGPRS 32
#define HK_NO_REGISTER 0xffff /* the value of an Op field that names no register */

/* Scalar operand encodings of special registers: indices into Wave.s. */
enum {
    HK_FLAT_SCRATCH = 102,
    HK_XNACK_MASK = 104,
    HK_VCC = 106,
    HK_TTMP = 108, /* trap temporaries, 16 of them */
    HK_M0 = 124,
    HK_NULL = 125, /* reads as 0 and drops writes, on targets that have it (Target.has_null) */
    HK_EXEC = 126,
};

/* Flat addresses inside these 4 GiB windows refer to LDS and scratch (src_shared_base, src_private_base). */
#define HK_SHARED_APERTURE 0x0001000000000000ull
#define HK_PRIVATE_APERTURE 0x0002000000000000ull
#define HK_APERTURE_MASK 0xffffffff00000000ull
/* Where scratch has global addresses: each lane's begins at this one plus the lane << HK_SCRATCH_LANE_SHIFT (LLVM,
 * AMDGPUUsage, "Flat scratch" of GFX125x; src_flat_scratch_base). Code tells it from global memory by the bits from
 * HK_SCRATCH_SHIFT on. */
#define HK_GLOBAL_SCRATCH 0x0400000000000000ull
#define HK_SCRATCH_SHIFT 58
#define HK_SCRATCH_LANE_SHIFT 52
/* The hidden argument of a service that the emulated device lacks points into this window. No memory lies there, so any
 * use of the service is recognised. */
#define HK_HEAP_APERTURE 0x0003000000000000ull

/* A block returns the index of the next block, or one of these. */
enum {
    HK_END = -1,     /* s_endpgm */
    HK_BARRIER = -2, /* s_barrier; Wave.block is the block to resume at */
    HK_FAULT = -3,   /* Wave.fault and Wave.pc describe the fault */
    HK_JUMP = -4,    /* continue at the device address in Wave.target */
    HK_YIELD = -5,   /* let other waves run (s_sleep); Wave.block is the block to resume at */
    HK_AWAIT = -6,   /* wait for the barrier Wave.awaits; Wave.block is the block to resume at */
};

/* Fault.kind. */
enum {
    HK_FAULT_NONE = 0,
    HK_FAULT_ADDRESS = 1,      /* global memory outside every allocation; address: device address */
    HK_FAULT_LDS = 2,          /* LDS outside the work-group's bytes, with Machine.exact_lds; address: byte offset */
    HK_FAULT_SCRATCH = 3,      /* scratch outside the lane's share; address: byte offset in it */
    HK_FAULT_TRAP = 5,         /* s_trap; address: trap id */
    HK_FAULT_HALT = 6,         /* s_sethalt */
    HK_FAULT_JUMP = 7,         /* no instruction of the code object begins at `address` */
    HK_FAULT_ALIGNMENT = 8,    /* an address that the instruction requires to be aligned to `size` */
    HK_FAULT_READ_ONLY = 9,    /* a write into memory that the host mapped read-only */
    HK_FAULT_UNSUPPORTED = 10, /* an unsupported case of the instruction that shows only at run time */
    HK_FAULT_SERVICE = 11,     /* set by the driver: a hostcall that has no handler; address: the service */
    HK_FAULT_END = 12,         /* execution ran past the end of a function; address: code object address of that end */
    /* Lanes called a function with a mask that does not name exactly them (hip/device/lanes.h); address: the mask, size
     * | is_write << 32: the lanes. */
    HK_FAULT_MASK = 13,
    HK_FAULT_TENSOR = 14, /* a tensor descriptor that no hardware takes; address: HK_TENSOR_* */
};

/* What is wrong with a tensor descriptor. */
enum {
    HK_TENSOR_TYPE = 1,     /* its type is not 2 */
    HK_TENSOR_RESERVED = 2, /* bits that belong to the hardware are set */
    HK_TENSOR_CLUSTER = 3,  /* it names work-groups that the cluster does not have, or others alone */
};

/* s_trap with this operand is trap 2 to hardware, which reads 8 bits of it; the emulator reports HK_FAULT_MASK, with
 * the mask in s[0:1] and the lanes in s[2:3] (hip/device/lanes.h). */
#define HK_MASK_TRAP 0x4d02

/* Bits of Op.flags of global and flat accesses with a scalar base: the vector offset is signed; and, from
 * HK_SCALE_SHIFT on, by how many bits it is shifted. */
#define HK_SIGNED_OFFSET 0x80000000u
#define HK_SCALE_SHIFT 24
#define HK_SCALE_MASK 7
/* Bit of Op.flags of accesses through a buffer resource: its base has 57 bits and num_records 45. */
#define HK_WIDE_RESOURCE 0x40000000u
/* Bits of Op.flags of a load of half a register: which half of the destination stays as it was. */
#define HK_KEEPS_LOW 0x10000000u
#define HK_KEEPS_HIGH 0x20000000u

typedef struct Wave Wave;
typedef struct Group Group;
typedef struct Machine Machine;
typedef struct Counters Counters;
typedef struct Op Op;
typedef struct HkTrace HkTrace;
typedef struct HkTraffic HkTraffic;
typedef struct HkStream HkStream;
typedef struct HkSteps HkSteps;
typedef struct HkWay HkWay;
typedef struct HkTape HkTape;
typedef struct HkWatch HkWatch;
typedef struct HkOverrun HkOverrun;
typedef struct HkPast HkPast;
typedef struct HkLate HkLate;
typedef struct HkSchedule HkSchedule;
typedef struct San San;

/* Generated code of a basic block: runs it for a wave, and returns the next block's index or one of the values above.
 */
typedef int32_t (*BlockFn)(Wave *);

/* A fault; lane is -1 if it concerns the whole wave. */
typedef struct Fault {
    int32_t kind;
    int32_t lane;
    uint64_t address;
    uint32_t size; /* bytes of the access */
    uint32_t is_write;
} Fault;

/* Accesses to LDS beyond the kernel's allocation: the number of lanes, and the first such access in the work-group with
 * the lowest index. */
struct HkOverrun {
    uint64_t count;
    uint64_t group, pc;
    Fault first;
    uint32_t wave;
    uint32_t reserved;
};

/* The access that reaches furthest into the padding after an allocation, writes before reads: the allocation's first
 * byte and the end of the access; 0 if there was none. */
struct HkPast {
    uint64_t base, end;
    uint64_t is_write;
};

struct Wave {
    uint32_t s[128];       /* indexed by scalar operand encoding: SGPRs, VCC 106/107, M0 124, EXEC 126/127 */
    uint32_t scc;          /* 0 or 1 */
    uint32_t mode;         /* MODE: round 3:0, denormals 7:4, dx10_clamp 8, ieee 9 */
    uint32_t *v;           /* [rows][HK_LANES], 64-byte aligned; AGPR n is row acc_offset + n */
    uint8_t *lds;          /* LDS of the work-group */
    uint8_t *scratch;      /* byte b of lane l is at (b / 4 * HK_LANES + l) * 4 + b % 4 */
    uint32_t lds_size;     /* bytes of LDS that the kernel asked for, as far as the wave knows that none are bare */
    uint32_t scratch_size; /* bytes a lane */
    int32_t block;         /* block at which the wave resumes */
    int32_t state;         /* HK_WAVE_*, set by the driver */
    uint64_t target;       /* device address to continue at after HK_JUMP */
    uint64_t pc;           /* code object address (vaddr) of the last native operation or s_barrier */
    uint64_t code_base;    /* device address of the code object's vaddr 0 */
    Group *group;
    Fault fault;
    uint64_t hit_base, hit_end; /* allocation that contains the last checked access */
    uint64_t hit_flags;
    uint32_t index;   /* the wave's number in its work-group */
    uint32_t lanes;   /* work-items of this wave, 1..HK_LANES */
    void *san;        /* the sanitizer's state of the wave; NULL without the sanitizer */
    HkStream *stream; /* cache lines that the wave touches, or NULL */
    uint32_t xcc_id;  /* hardware registers: HW_REG_XCC_ID, HW_REG_HW_ID, and the fixed bits of HW_REG_STATUS */
    uint32_t hw_id;
    uint32_t status;
    uint32_t reads_dwords; /* nonzero: loads may read to the end of an allocation's last dword, past its `read_end` */
    uint64_t packet;       /* pointer to the packet of a submitted hostcall that has no answer yet; else 0 */
    HkWay *way;            /* record of the blocks that the wave ran, or NULL */
    uint64_t clock;        /* cycles: the value at the wave's last read of its clock */
    uint64_t slept;        /* cycles of s_sleep since that read */
    /* Issued accesses that the wave has not waited for, in a launch with late loads; else NULL. */
    HkLate *late;
    uint64_t held;                      /* one more than the block before which a schedule just stopped the wave */
    uint32_t signalled;                 /* HK_SIGNAL_*: the work-group's barrier, between signal and wait */
    uint32_t awaits;                    /* HK_AWAITS_*: what a wave in state HK_WAVE_AWAITING waits for */
    uint32_t cluster_passed;            /* completions of the cluster's barrier that the wave has seen */
    uint32_t named;                     /* number of the named barrier that it has joined; 0: none */
    uint32_t named_passed;              /* completions of that barrier that it has seen */
    uint32_t unused[3];                 /* padding: waves begin at cache lines */
    uint32_t scratch_low, scratch_high; /* range of a lane's scratch, in bytes, written since the tape last looked */
    /* Indexed by row; nonzero: the row holds the result of a chain of matrix instructions, so a later chain may add to
     * it without checking it again (ops/matrix.c). Generated code clears the entries of rows that any other instruction
     * writes. */
    uint8_t sums[HK_MAX_ROWS];
};

/* Wave.signalled: the wave has signalled the barrier; all have, so its next wait does not stop it. */
enum { HK_SIGNAL_NONE = 0, HK_SIGNAL_GIVEN = 1, HK_SIGNAL_COMPLETE = 2 };

/* Waiting: at the work-group's barrier; awaiting: at a named one or the cluster's. */
enum { HK_WAVE_READY = 0, HK_WAVE_WAITING = 1, HK_WAVE_ENDED = 2, HK_WAVE_AWAITING = 3 };

enum { HK_AWAITS_CLUSTER = 1, HK_AWAITS_NAMED = 2 };

#define HK_NAMED_BARRIERS 32

/* A cluster's barrier: completions in bits 63:32, signals since the last in 31:0. For the sanitizer, the times of the
 * newest releases by signals that an even and an odd completion follows. */
typedef struct HkCluster {
    uint64_t barrier;
    uint32_t released[2];
} HkCluster;

/* A named barrier of a work-group. */
typedef struct HkNamedBarrier {
    uint32_t members, signals; /* signals since it was last complete */
    uint32_t completions;
} HkNamedBarrier;

/* Bits of Group.profile: count everything; count only accesses to global memory, for `traffic`; record the memory that
 * the work-group's next steps touch (run/waiting.h). */
enum { HK_PROFILE_NONE = 0, HK_PROFILE_ALL = 1, HK_PROFILE_LINES = 2, HK_PROFILE_WATCH = 4 };

/* Bytes of LDS that a work-group can have; and of LDS that is poisoned together, by the first access (hk_lds_reach). */
#define HK_MAX_LDS 327680
#define HK_LDS_CHUNK 1024

/* A work-group. `stop` becomes nonzero when the launch must end early; a long native operation may poll it. */
struct Group {
    uint32_t id[3];
    uint32_t size[3]; /* work-items; fewer in a partial work-group at the end of the grid */
    uint32_t grid[3]; /* work-groups of the launch */
    uint32_t wave_count;
    uint64_t index; /* linear index: x fastest */
    const Machine *machine;
    Counters *counters; /* counters of the thread that runs the group */
    const int32_t *stop;
    int32_t profile;                             /* HK_PROFILE_*; nonzero: native operations add to `counters` */
    uint32_t lds_end;                            /* bytes of LDS that exist, as Launch.lds_end */
    uint32_t lds_size;                           /* as Launch.lds_size */
    uint32_t poison;                             /* as Launch.poison */
    uint32_t lds_clean;                          /* bytes before the first bare chunk */
    uint32_t lds_reached;                        /* accesses beyond `lds_clean` */
    uint8_t lds_bare[HK_MAX_LDS / HK_LDS_CHUNK]; /* nonzero: the chunk still holds an earlier work-group's data */
    HkTrace *trace;                              /* recorder of single accesses, or NULL */
    HkTraffic *traffic;                          /* the worker's recorder if the launch asks for one, else NULL */
    HkSteps *steps;                              /* the launch's recorder if it asks for one, else NULL */
    HkTape *tape;                                /* the launch's tape if this work-group is on it, else NULL */
    HkWatch *watch;     /* record of the memory touched while HK_PROFILE_WATCH is set; else NULL */
    HkOverrun *overrun; /* the worker's */
    HkPast *past;       /* the worker's */
    /* The launch's schedule if it has one that deviates in this work-group; else NULL. */
    const HkSchedule *schedule;
    HkCluster *cluster;    /* NULL: in no cluster */
    uint32_t cluster_size; /* work-groups of the cluster */
    uint32_t cluster_rank; /* the work-group's number in the cluster */
    HkNamedBarrier named[HK_NAMED_BARRIERS];
};

/* HK_ALLOCATION_HOST: the host may write the memory while a kernel runs. HK_ALLOCATION_ROUNDED: the memory may be
 * written up to a multiple of HK_STORAGE_BLOCK, and accesses past `end` are reported. */
enum { HK_ALLOCATION_READ = 1, HK_ALLOCATION_WRITE = 2, HK_ALLOCATION_HOST = 4, HK_ALLOCATION_ROUNDED = 8 };

/* Memory that a kernel may access: [base, end), and reads up to `read_end`. Device addresses are host addresses. */
typedef struct Allocation {
    uint64_t base, end;
    uint64_t flags;
    /* End of the block that a device's allocator would have returned; equal to `end` under the sanitizer, unless the
     * memory is rounded. */
    uint64_t read_end;
    uint64_t placed; /* address that the cache models use for `base` */
} Allocation;

/* Kinds of LDS accesses that follow different rules. */
typedef enum HkLdsKind { HK_LDS_READ, HK_LDS_WRITE, HK_LDS_TRANSPOSE, HK_LDS_KINDS } HkLdsKind;

#define HK_LDS_PHASES 16
#define HK_LDS_WIDTHS 4

/* Rule by which the LDS serves accesses of one kind and width (targets/lds.py, ConflictRule). */
typedef struct HkLdsRule {
    uint32_t banks;    /* banks of 4 bytes that serve a phase, up to 64 */
    uint32_t phases;   /* groups of lanes, each served in one phase */
    uint32_t measured; /* nonzero if a hardware counter confirms the rule */
    uint32_t reserved;
    uint64_t lanes[HK_LDS_PHASES];
} HkLdsRule;

/* The device during a launch; constant while kernels run. */
struct Machine {
    const Allocation *allocations; /* sorted by base, disjoint */
    uint64_t allocation_count;
    uint32_t lds_address_mask;  /* bits of M0 that address the LDS in loads to it */
    const HkLdsRule *lds_rules; /* by HkLdsKind, then by dwords per lane: 1 to HK_LDS_WIDTHS */
    uint64_t hostcalls;         /* device address and bytes of the hostcall buffer (node/hostcall.py); 0: none */
    uint64_t hostcalls_bytes;
    uint32_t dies;      /* dies, each with its own L2 */
    uint32_t exact_lds; /* nonzero: an access to LDS beyond what the kernel asked for is a fault */
    /* hk_approximate: the seed of its draws, and the code object addresses of the instructions that err. */
    uint64_t approximate_seed, approximate_first, approximate_end;
    uint32_t late; /* HK_LATE_*: when loads take effect, in code translated for late loads */
    uint32_t reserved;
    uint64_t late_seed; /* seed of HK_LATE_DRAWN */
};

enum {
    HK_LATE_OFF = 0,
    HK_LATE_LAST = 1,   /* when a wait asks for them */
    HK_LATE_DRAWN = 2,  /* at a wait, or at an earlier time drawn from the seed */
    HK_LATE_LISTED = 3, /* at a wait those that the schedule lists, the others at once */
};

#define HK_EVERY_GROUP 0xffffffffffffffff

/* Deviations from the plain order of waves and accesses (workbench/schedules.py), in code translated for them. */
struct HkSchedule {
    const uint8_t *holds; /* [block_count] nonzero: a wave stops before the block until the others had a turn */
    const uint8_t *late;  /* by dword of the code: nonzero: the instruction's access waits for s_waitcnt */
    uint64_t code_first;  /* code object address of the first dword of `late` */
    uint64_t group;       /* the work-group that deviates, or HK_EVERY_GROUP */
    uint32_t waves;       /* bit mask of the waves to which `holds` and `late` apply */
    uint32_t reverse;     /* nonzero: work-groups start from the last to the first */
    uint32_t mixes;       /* nonzero: where waves stop, other work-groups run, too */
    uint32_t reserved;
    uint32_t order[HK_MAX_WAVES]; /* waves in the order of their turns */
};

/* Target of the hidden argument hidden_hostcall_buffer (rocclr's devhostcall.hpp). A packet is identified by its index,
 * with a tag in the bits above. */
typedef struct HostcallBuffer {
    uint64_t headers;  /* device address of the packets' headers, by index */
    uint64_t payloads; /* device address of the packets' payloads, eight words per lane */
    uint64_t doorbell;
    uint64_t free_stack;
    uint64_t ready_stack; /* a wave pushes a packet here to submit it */
    uint64_t index_mask;
} HostcallBuffer;

typedef struct HostcallHeader {
    uint64_t next;
    uint64_t lanes;
    uint32_t service;
    uint32_t control;
} HostcallHeader;

/* Address-dependent counts of one thread, updated only if Group.profile is set. */
struct Counters {
    uint64_t lds_bank_conflict; /* LDS cycles beyond those of a conflict-free access (SQ_LDS_BANK_CONFLICT) */
    uint64_t lds_cycles;        /* all LDS cycles of indexed accesses */
    uint64_t lds_unconfirmed;   /* accesses served by rules that no measurement confirms */
    uint64_t lds_bytes_read, lds_bytes_written;       /* by active lanes */
    uint64_t global_bytes_read, global_bytes_written; /* requested by active lanes */
    /* Distinct lines that an instruction touches, summed over executions. */
    uint64_t global_read_lines_64, global_read_lines_128;
    uint64_t global_write_lines_64, global_write_lines_128;
    uint64_t global_atomics; /* by active lanes */
    uint64_t scalar_bytes_read;
    uint64_t scratch_bytes_read, scratch_bytes_written;
    uint64_t direct_to_lds_bytes; /* part of global_bytes_read that went to LDS directly */
};

/* Constants of a native operation: one static record per instruction. */
struct Op {
    uint64_t pc;                        /* code object address of the instruction */
    uint16_t dst, src0, src1, src2;     /* register rows, acc_offset already added; HK_NO_REGISTER: none */
    uint16_t sdst, ssrc0, ssrc1, ssrc2; /* scalar operand encodings; HK_NO_REGISTER: none */
    int32_t offset;
    uint32_t flags;  /* bits with a meaning of the operation's own */
    uint32_t imm[4]; /* constants with a meaning of the operation's own */
};

/* A native operation: returns 0 to continue; after a fault it has filled Wave.fault through hk_fault, and the block
 * returns HK_FAULT. */
typedef int32_t (*NativeFn)(Wave *, const Op *);

/* Position of a wave when its launch stopped. */
typedef struct WaveReport {
    int32_t state; /* HK_WAVE_* */
    uint64_t pc;   /* code object address of the s_barrier at which the wave waits, if any */
} WaveReport;

/* Fault of one worker: the one in its work-group with the lowest index. */
typedef struct FaultReport {
    Fault fault;
    uint64_t group; /* linear index */
    uint64_t pc;    /* code object address, valid if `has_pc` */
    uint32_t wave;
    uint32_t wave_count;
    int32_t block; /* block that was running */
    uint32_t has_pc;
    WaveReport waves[HK_MAX_WAVES];
} FaultReport;

/* A kernel launch: the initial state of every wave, and the progress that the worker threads share. */
typedef struct Launch {
    const Machine *machine;
    const BlockFn *functions;        /* by block index */
    const uint64_t *block_addresses; /* code object addresses of the blocks, ascending */
    const int32_t *block_indices;    /* index of the block at the same position in block_addresses */
    uint32_t block_count;
    int32_t entry;
    uint64_t code_base;
    uint64_t flat_scratch;
    uint32_t groups[3];     /* work-groups */
    uint32_t items[3];      /* work-items */
    uint32_t group_size[3]; /* work-items of a full work-group */
    uint32_t row_count;     /* vector registers, AGPRs included */
    uint32_t lds_size;      /* bytes, static and dynamic */
    uint32_t lds_end;       /* lds_size rounded up to hardware's allocation step: LDS exists up to here */
    uint32_t scratch_size;  /* bytes per lane */
    uint32_t mode;          /* initial MODE */
    uint32_t user_sgpr_count;
    uint32_t user_sgpr[HK_MAX_USER_SGPRS];
    uint32_t enable_group_id; /* bits 0..2: work-group id x, y, z in the SGPRs after the user SGPRs */
    uint32_t enable_group_info;
    uint32_t architected_group_ids; /* nonzero: they are in ttmp9 and ttmp7 instead, and the wave's number in ttmp8 */
    uint32_t
        enable_wave_offset;   /* an SGPR with the wave's scratch offset follows (targets without architected scratch) */
    uint32_t item_id_mode;    /* 0: x, 1: x and y, 2: x, y and z */
    uint32_t packed_item_ids; /* 10 bits each in v0; else one register each */
    uint32_t poison;          /* content of registers, LDS and scratch before the first write */
    const uint8_t *poisoned;  /* [row_count] nonzero: a wave may read the row before it has written it; NULL: any row */
    uint32_t profile;
    uint32_t turn_blocks;  /* blocks that a wave runs before the next wave's turn */
    uint32_t turn_rounds;  /* turns of its waves after which an unfinished work-group lets another one start */
    uint32_t max_resident; /* most work-groups that all workers hold at once: as many as the device would */
    /* Most that one worker starts beside work-groups that keep running, before all have had their turns. */
    uint32_t max_company;
    uint64_t group_total;
    /* shared by workers, changed atomically */
    uint64_t next_group; /* the first work-group that no worker has taken */
    uint64_t waiting;    /* for dispatch.c alone: number of workers that wait for memory to change */
    uint64_t waits_on;   /* HK_ALLOCATION_* flags of the memory that they wait for */
    uint32_t workers;    /* workers that have work-groups, look for some or have yet to start; at most max_resident */
    uint32_t companions; /* work-groups that workers hold beside their first */
    /* Number of work-groups at which a worker stops taking more while others may start the rest; 0: it takes no second
     * one, since the number of workers is still unknown. */
    uint32_t share;
    uint64_t last_group; /* work-groups above this index are skipped: a fault occurred here */
    uint64_t finished;   /* number of work-groups that have ended */
    int32_t stop;        /* nonzero: leave as soon as possible */
    int32_t reserved;
    void *san;      /* the sanitizer's state of the launch, or NULL; one worker only */
    HkTrace *trace; /* recorder of single accesses, or NULL; one worker only */
    uint32_t xcds;  /* dies over which work-groups are distributed in turn */
    uint32_t units; /* compute units per die */
    /* Answers the hostcall that a wave of a work-group submitted, given the pointer to its packet; returns 0, or the
     * number of the service that is not available. */
    int32_t (*serve)(uint64_t group, uint32_t wave, uint64_t packet);
    HkSteps *steps;             /* recorder of the waves' paths, or NULL */
    const uint8_t *only;        /* [group_total] nonzero: run this work-group; NULL: run all */
    HkTape *tape;               /* tape of one work-group's execution, or NULL */
    const HkSchedule *schedule; /* deviations from the plain order, or NULL; one worker only */
    uint32_t cluster[3];        /* work-groups of a cluster, which divide those of the grid */
    uint32_t reserved_too;
    HkCluster *clusters; /* NULL: no clusters */
} Launch;

typedef struct HkQueue {
    void *first, *last;
} HkQueue;

/* One thread's share of a launch. */
typedef struct Worker {
    Launch *launch;
    uint64_t *counts; /* [block_count] number of times that this worker ran each block */
    Counters counters;
    FaultReport report;
    HkQueue resident; /* for dispatch.c alone: running work-groups */
    HkQueue parked;   /* for dispatch.c alone: the resident work-groups that wait for memory to change */
    void *spare;      /* for dispatch.c alone: memory of ended work-groups */
    HkOverrun overrun;
    HkPast past;
    uint32_t resident_count;
    uint32_t parked_count;
    uint32_t started; /* for dispatch.c alone: work-groups started since the waiting ones last got turns */
    /* For dispatch.c alone: value of `started` at which the waiting ones get turns, before any new start. */
    uint32_t due;
    /* For dispatch.c alone: number of times that a work-group has used its share since one was last started. */
    uint32_t quanta;
    /* For dispatch.c alone: nonzero if a work-group keeps running and another one should start. */
    uint32_t wants_company;
    uint32_t is_waiting; /* for dispatch.c alone: all work-groups of the worker are stuck */
    /* For dispatch.c alone: the worker started no further work-group because it has its share. */
    uint32_t held_back;
    uint32_t hurries;       /* for dispatch.c alone: the other workers did not start the rest, so this one does */
    uint32_t looks;         /* for dispatch.c alone: consecutive checks that found nothing to do */
    uint64_t confirmed;     /* for dispatch.c alone: value of Launch.waiting when the worker was last counted there */
    uint64_t turns;         /* turns of work-groups */
    HkTraffic *traffic;     /* the worker's recorder, or NULL */
    uint32_t out_of_memory; /* nonzero: it stopped the launch, since no host memory was left for a work-group */
    uint32_t reserved;
    /* Numbers in the order of starts that this worker has taken from Launch.next_group and not used yet. */
    uint64_t next_reserved, reserved_end;
} Worker;

/* The memory that an unfinished work-group polls when its launch is stopped. */
typedef struct HkWait {
    uint64_t group;
    uint64_t address; /* device address of the polled memory, or an address in the LDS window; 0: unknown */
    uint64_t value;   /* content of that memory, up to 8 bytes */
    uint64_t pc;      /* code object address of the load or atomic, valid if `address` is */
    uint32_t bytes;
    uint32_t wave;
    int32_t block;     /* block at which the wave resumes */
    uint32_t is_stuck; /* nonzero: the work-group returns to the same state until that memory changes */
} HkWait;

/* Return values of hk_run. */
enum {
    HK_RUN_DONE = 0,    /* no work-group left for this worker */
    HK_RUN_AGAIN = 1,   /* the time slice is over: call again */
    HK_RUN_STOPPED = 2, /* Launch.stop was set */
};

int32_t hk_run(Worker *worker, uint64_t slice_nanoseconds);

/* A thread that calls hk_run beside the launching one, again and again until its worker has nothing left. */
typedef struct HkHelper HkHelper;
/* NULL if memory ran out. It is never freed, because its thread is in hk_helper_serve until the process ends. */
HkHelper *hk_helper_new(void);
void hk_helper_serve(HkHelper *helper);
/* The worker before must have ended. */
void hk_helper_start(HkHelper *helper, Worker *worker, uint64_t slice_nanoseconds);
/* Nonzero once its worker has ended; waits that long at most. */
int32_t hk_helper_wait(HkHelper *helper, uint64_t nanoseconds);

void hk_release(Worker *worker);
/* Nonzero if every running work-group is stuck and no other can start: HK_ALLOCATION_* flags of the memory that they
 * wait for. */
uint64_t hk_deadlock(const Launch *launch);
/* Writes up to `room` waiting work-groups of a worker; returns their number. */
uint64_t hk_waits(const Worker *worker, HkWait *waits, uint64_t room);
uint64_t hk_hear_interrupts(void);
void hk_leave_interrupts(void);

/* HK_ALLOCATION_* flags that hold for all of [base, base + size), from the process's memory map. hk_listed_access reads
 * the map as text, for systems that do not support queries of single mappings. */
int32_t hk_host_access(uint64_t base, uint64_t size);
int32_t hk_listed_access(uint64_t base, uint64_t size);

/* Granularity of PyTorch's allocations on a GPU, in bytes: kMinBlockSize of c10/cuda/CUDACachingAllocator.h. */
#define HK_STORAGE_BLOCK 512
/* Largest number of bytes that kernels may read after such a multiple. A GPU has them to the end of the piece of memory
 * from which the tensor is cut, which is 2 MiB and more; tiles go less far. */
#define HK_STORAGE_ROOM 65536

/* Memory of a tensor. `reach`: bytes from its base that reads may access; `number` increases with each allocation. */
typedef struct HkStorage {
    uint64_t base, bytes, number, reach;
} HkStorage;

/* Memory that our allocator has given out: number of blocks, number of changes so far, and rounded bytes, now and at
 * most. */
typedef struct HkStorages {
    uint64_t count, changes, bytes, most;
} HkStorages;

/* Address of a c10::Allocator that calls `other` and records the blocks given out; 0 if a different allocator was
 * wrapped before. */
uint64_t hk_storages_allocator(uint64_t other);
void hk_storages_state(HkStorages *state);
void hk_storages_forget_most(void);
uint64_t hk_storages_list(HkStorage *list, uint64_t room);
/* The block that begins at `base`; zeros if none does. */
void hk_storage_at(uint64_t base, HkStorage *storage);

/* HkAccess.kind. */
enum {
    HK_TRACE_LDS_READ = 1,
    HK_TRACE_LDS_WRITE = 2,
    HK_TRACE_GLOBAL_READ = 3,
    HK_TRACE_GLOBAL_WRITE = 4,
    HK_TRACE_TO_LDS = 5, /* the LDS side of a load straight to LDS; its global side has its own record */
};

/* One instruction of one wave; an instruction with two addresses makes two records. */
typedef struct HkAccess {
    uint64_t pc;    /* code object address */
    uint64_t group; /* linear index */
    uint64_t exec;  /* active lanes */
    uint32_t wave;
    uint32_t kind;     /* HK_TRACE_* */
    uint32_t bytes;    /* bytes per lane */
    uint32_t banks;    /* LDS banks that serve the access; 0 if it is not to LDS */
    uint32_t phases;   /* groups of lanes served in turn; 0 if the access is not to LDS */
    uint32_t measured; /* nonzero if the rule of these phases was measured */
    uint64_t phase_lanes[HK_LDS_PHASES];
    uint64_t phase_conflicts[HK_LDS_PHASES]; /* banks that need more than one cycle */
    uint32_t phase_cycles[HK_LDS_PHASES];    /* 0 where no lane of the phase is active */
    uint64_t at[HK_MAX_LANES];               /* device address, or byte offset in LDS, of each active lane */
} HkAccess;

struct HkTrace {
    HkAccess *records;
    uint64_t room;
    uint64_t count; /* number of accesses, including those without a record */
};

/* Totals of one instruction over all of its executions. */
typedef struct HkSite {
    uint64_t lds_cycles;
    uint64_t lds_bank_conflict;
    uint64_t lds_bytes;
    uint64_t bytes;      /* bytes that lanes read from or write to global memory */
    uint64_t accesses;   /* distinct 64-byte blocks per execution, summed */
    uint64_t line_bytes; /* bytes of the distinct 128-byte lines per execution, summed */
} HkSite;

/* Kind of access to a line; the upper bits depend on the instruction (HkTraffic.kinds). */
enum {
    HK_LINE_READ = 0,
    HK_LINE_WRITE = 1,
    HK_LINE_ATOMIC = 2,
    HK_LINE_READ_PAST_L1 = 3, /* a load that L1 does not serve because of its scope (sc1) */
    HK_LINE_AT_ONCE = 8,      /* extra bit in HkTraffic.kinds: no wait since the instruction before */
};

/* Writer of each element of a range of memory: the number of the highest work-group plus 1, 0 for none. */
typedef struct HkOwners {
    uint64_t base, end;
    uint64_t element; /* bytes per element */
    uint32_t *owner;  /* shared by all workers */
} HkOwners;

/* Traffic recorder of one worker. */
struct HkTraffic {
    uint64_t text; /* code object address of the first instruction */
    uint64_t site_count;
    HkSite *sites; /* indexed by dword of the code */
    /* Indexed by dword of the code: HK_LINE_ATOMIC, HK_LINE_READ_PAST_L1 or 0, plus HK_LINE_AT_ONCE. */
    const uint8_t *kinds;
    HkStream *streams;   /* newest first */
    uint64_t events;     /* events in all streams, plus HK_STREAM_COST for each stream that has any */
    uint64_t limit;      /* limit of `events`; beyond it half of the sampled lines are dropped */
    uint32_t sampling;   /* one line in 1 << sampling is kept */
    uint32_t keep_lines; /* zero: only the counts by instruction */
    uint64_t failed;     /* nonzero: memory ran out; the streams are incomplete */
    const HkOwners *owners;
    uint64_t owner_count;
};

#define HK_MAX_SAMPLING 8u

/* Counts of one XCD. */
typedef struct HkCacheCounts {
    uint64_t l1_reads, l1_read_hits;          /* requested lines */
    uint64_t l2_reads, l2_writes, l2_atomics; /* requests: reads of a line, writes and atomics of 64 bytes */
    uint64_t l2_hits, l2_misses;              /* hits and misses of all requests */
    uint64_t l2_read_hits;                    /* hits of reads */
    uint64_t fabric_reads;                    /* reads of 128 bytes */
    uint64_t fabric_writes_32, fabric_writes_64;
    uint64_t mall_read_hits, mall_read_misses; /* Infinity Cache reads of 128 bytes */
    uint64_t memory_bytes_written;             /* from the Infinity Cache to HBM, including the write-back at the end */
} HkCacheCounts;

typedef struct HkReplay {
    HkTraffic *const *recorders;
    uint64_t recorder_count;
    uint64_t group_total;
    const uint64_t *order; /* [group_total] work-groups in dispatch order; NULL: by index */
    uint32_t waves;        /* most waves of a work-group */
    uint32_t xcds;
    uint32_t units; /* compute units of an XCD */
    uint32_t groups_per_unit;
    uint32_t sampling;
    uint32_t l1_ways, l2_ways, mall_ways;
    uint32_t rounds; /* number of replays; only the last one is counted */
    uint64_t l1_bytes, l2_bytes, mall_bytes;
    HkCacheCounts *counts; /* [xcds] */
    /* [sites][HK_LEVELS] lines of each instruction that L1, L2, the Infinity Cache and HBM served; NULL: do not count
     */
    uint64_t *levels;
    uint64_t site_count;
} HkReplay;

#define HK_LEVELS 4

void hk_traffic_release_streams(HkTraffic *t);
uint64_t hk_traffic_events(const HkTraffic *t, uint32_t sampling);
int32_t hk_replay(const HkReplay *r);

/* A step of a wave: a basic block's index, or, with the highest bit set, the cost of a memory instruction in the block
 * before. Fields of a cost: the instruction's dword in the code in bits 19:0, LDS cycles in 31:20, touched 128-byte
 * lines in 40:32, touched 64-byte blocks in 49:41, and bytes moved by lanes, in units of 8, in 58:50. */
#define HK_STEP_COST 0x8000000000000000ull

/* Paths of a launch's waves, shared by all workers. */
struct HkSteps {
    uint64_t text;       /* code object address of the first instruction */
    const uint8_t *keep; /* [group_total] nonzero: record the steps of its waves, and profile it */
    uint64_t *hashes;    /* [group_total] equal for work-groups with the same paths in all waves */
    uint64_t *blocks;    /* [group_total] number of basic blocks that its waves ran */
    HkWay *ways;
    uint64_t failed; /* nonzero: memory ran out */
};

const uint64_t *hk_steps_of(const HkSteps *s, uint64_t group, uint32_t wave, uint64_t *count, uint32_t *cut);
void hk_steps_free(HkSteps *s);

/* State of a work-group on the tape; a wave's scalars are Wave.s, SCC and MODE. */
#define HK_TAPE_SCALARS 130

typedef struct HkState {
    uint32_t *scalars; /* [waves][HK_TAPE_SCALARS] */
    uint32_t *rows;    /* [waves][rows][HK_LANES] */
    uint32_t *lds;     /* padded to a multiple of 64 bytes; scratch likewise */
    uint32_t *scratch; /* [waves][scratch] */
} HkState;

#define HK_TAPE_RANGES 4
enum { HK_TAPE_LDS = 1, HK_TAPE_ROWS = 2 }; /* HK_TAPE_ROWS: which rows change is known only at run time */

/* State that a block may change, other than scalars; writes to scratch are recorded when they happen. */
typedef struct HkChanges {
    uint16_t first[HK_TAPE_RANGES], count[HK_TAPE_RANGES]; /* rows */
    uint32_t flags;                                        /* HK_TAPE_* */
} HkChanges;

/* One block of one wave. Its changes are words of the tape from `at` on: for each, a head and then the exclusive or of
 * the contents before and after. A head has the place in bits 23:0, the kind in 31:28 and, for a row, the mask of the
 * quarters that follow in 27:24.
 */
typedef struct HkEvent {
    uint64_t at;
    uint64_t accesses; /* number of earlier accesses in the trace */
    int32_t block;
    uint32_t wave;
} HkEvent;

enum { HK_CHANGED_SCALAR = 0, HK_CHANGED_ROW = 1, HK_CHANGED_LDS = 2, HK_CHANGED_SCRATCH = 3 };
enum { HK_CHANGED_PLACE = 0xffffff, HK_CHANGED_QUARTERS = 24, HK_CHANGED_KIND = 28 };

/* Tape of one work-group's waves, block by block, for stepping in both directions. */
struct HkTape {
    uint64_t group;
    uint64_t skip;            /* blocks of wave `watched` before the tape begins */
    uint64_t limit;           /* bytes of the tape */
    const HkChanges *changes; /* indexed by block */
    HkTrace *trace;
    uint32_t watched;
    uint32_t waves, rows, lds_words, scratch_words; /* sizes of the state */
    uint32_t running;                               /* 0: not started, 1: running, 2: finished */
    HkState begin, now;                             /* state at the start of the tape, and after its last event */
    HkEvent *events;
    uint64_t event_count, event_room;
    uint32_t *words;
    uint64_t word_count, word_room;
    /* Words of the work-group's final state that the tape does not reproduce: 0 unless there is a bug. */
    uint64_t differs;
    uint32_t cut; /* nonzero: the tape was full and lacks what came later */
    uint32_t reserved;
};

/* Moves a state from event `from` to event `to`, forward or backward. */
void hk_tape_move(const HkTape *t, const HkState *s, uint64_t from, uint64_t to);
void hk_tape_free(HkTape *t);

/* Instruction classes of the sanitizer. */
enum {
    SAN_VECTOR = 0,      /* each lane by itself */
    SAN_SCALAR = 1,      /* any undefined source makes every result undefined */
    SAN_SCALAR_BITS = 2, /* each bit by itself; the flags give the operation */
    /* imm: what may be left: loads | LDS << 8 | scalar << 16 | stores << 24; op.imm[0]: asynchronous copies | copies of
     * tiles << 8; SAN_NOT_WAITED: any number. */
    SAN_WAIT = 3,
    SAN_MEMORY = 4, /* imm: code object address of the variable that it should access; 0: unknown */
    SAN_BRANCH = 5, /* a branch on its scalar sources */
    SAN_MATRIX = 6,
    SAN_READ_LANE = 7, /* imm: lane, SAN_FIRST_ACTIVE, or SAN_IN_REGISTER: the lane is in a scalar register */
    SAN_WRITE_LANE = 8,
    SAN_SHUFFLE = 9, /* lanes exchange values */
    SAN_WORDS = 10,  /* dword i of the result comes from dword i of the sources */
    SAN_MARK = 11,   /* first instruction of the pair `imm`; flags: wait states from here to the end of the block */
    /* Second instruction of the pair `imm`; flags: wait states from the start of the block; bytes: required. */
    SAN_HAZARD = 12,
    SAN_STATES = 13,  /* imm: wait states of the block that ends here */
    SAN_CACHE = 14,   /* imm: SAN_WRITES_BACK, SAN_INVALIDATES */
    SAN_ARRIVES = 15, /* the wave signals a barrier for which it waits later */
    SAN_CLEAR = 16,   /* the wave waits for the first instruction of the pair `imm` */
};

/* SanOp.space. */
enum { SAN_GLOBAL, SAN_FLAT, SAN_SCRATCH, SAN_BUFFER, SAN_LDS, SAN_SMEM, SAN_LDS_LANES };

/* SanOp.flags. */
enum {
    SAN_LOAD = 1u << 0,
    SAN_STORE = 1u << 1,
    SAN_ATOMIC = 1u << 2,
    SAN_TO_LDS = 1u << 3,
    SAN_SYNC = 1u << 4,        /* an access with a scope wider than the wave, like atomic loads and stores */
    SAN_SELECT = 1u << 5,      /* undefined only if every data source is */
    SAN_KEEP = 1u << 6,        /* the destination is read too */
    SAN_LANE_MASK = 1u << 7,   /* scalar results are lane masks */
    SAN_MASK_SOURCE = 1u << 8, /* the last scalar source is a lane mask */
    SAN_CROSS = 1u << 9,       /* the first source comes from other lanes (DPP) */
    SAN_WRITES_SCC = 1u << 10,
    SAN_TO_EXEC = 1u << 11,       /* the result is the new EXEC */
    SAN_PLAIN_ADDRESS = 1u << 12, /* addresses of ADDTID, or none: not checked */
    SAN_TWO = 1u << 13,           /* a second address at op.imm[0] */
    SAN_TRANSPOSED = 1u << 14,
    SAN_DPP = 1u << 15,
    SAN_SAME = 1u << 16,       /* x - x, x ^ x: defined whatever x is */
    SAN_CARRY = 1u << 17,      /* 64-bit operation: the low dword depends on low dwords only */
    SAN_CARRY_DOWN = 1u << 18, /* the high dword depends on high dwords only */
    SAN_REPLACES = 1u << 19,   /* an atomic that replaces the old value without computing with it */
    SAN_RESOURCE = 1u << 20,   /* a scalar load through a buffer resource */
    SAN_INDEXED = 1u << 21,    /* each lane names its source lane */
    SAN_DEVICE = 1u << 22,     /* with SAN_SYNC: device scope or wider */
    SAN_POLLS = 1u << 23,      /* a load in a loop that waits for its value to change */
    SAN_EXPECTS = 1u << 24,    /* loads the value that a later compare-and-swap expects */
    SAN_PATTERN = 1u << 25,    /* the pattern in the offset field names each lane's source */
    SAN_SPILLS = 1u << 26,     /* v_writelane fills lanes of a register with spilled scalars, whatever EXEC is */
    SAN_APART = 1u << 27,      /* the target counts stores, which load nothing, apart from loads */
    SAN_ASYNC = 1u << 28,      /* counted by asynccnt; src[2] of a copy: addresses in LDS */
    SAN_TENSOR = 1u << 29,     /* a copy of a tensor's tile, counted by tensorcnt */
};
/* SAN_SCALAR_BITS: the operation, in the upper byte of the flags. */
enum { SAN_BITS_ANY = 0, SAN_BITS_AND = 1, SAN_BITS_OR = 2, SAN_BITS_ANDN2 = 3, SAN_BITS_SELECT = 4 };

/* SAN_CACHE: the L2 writes back to memory; the L1 is invalidated, or for what work-groups of the cluster wrote alone.
 */
enum { SAN_WRITES_BACK = 1, SAN_INVALIDATES = 2, SAN_INVALIDATES_NEAR = 4 };

#define SAN_SCC 128 /* SCC as a scalar operand */
#define SAN_NOT_WAITED 255
#define SAN_FIRST_ACTIVE 64
#define SAN_IN_REGISTER 65
#define SAN_SOURCES 5
#define SAN_MARKS 256 /* most pairs that a kernel's records may name */

typedef struct SanOp {
    Op op;
    uint16_t dst;
    uint16_t src[SAN_SOURCES]; /* src[0] of stores and atomics is the address, the others are data */
    uint16_t sdst[2];
    uint16_t ssrc[SAN_SOURCES]; /* scalar operand encodings, or SAN_SCC */
    uint8_t dst_count;
    uint8_t src_count[SAN_SOURCES];
    uint8_t sdst_count[2];
    uint8_t ssrc_count[SAN_SOURCES];
    uint8_t kind, space, bytes;
    uint8_t reserved_byte;
    uint8_t columns; /* matrix instruction with one block: 16 or 32 columns; else 0 */
    uint16_t reserved;
    uint32_t flags;
    uint32_t imm;
} SanOp;

/* Kinds of findings. */
enum {
    SAN_FOUND_WAIT_VECTOR = 1, /* a register used before a wait on vmcnt shows that its load is done; detail: row */
    SAN_FOUND_WAIT_LGKM = 2,   /* the same with lgkmcnt */
    SAN_FOUND_WAIT_SCALAR = 3, /* a scalar register used before a wait on lgkmcnt */
    SAN_FOUND_WAIT_LDS = 4,    /* LDS read while the same wave has a load to LDS in flight */
    /* LDS read after a barrier that the writer passed without waiting for its write; detail: SAN_UNDER_WAY_LGKM or
     * SAN_UNDER_WAY_VECTOR. */
    SAN_FOUND_PUBLISH_LDS = 5,
    SAN_FOUND_OVERWRITE_LDS = 6, /* LDS written while an access to it is in flight; detail: SAN_UNDER_WAY_* */
    SAN_FOUND_RACE_LDS = 7,      /* detail: 0 read after write, 1 write after read, 2 write after write */
    SAN_FOUND_RACE_GLOBAL = 8,
    SAN_FOUND_UNDEFINED_STORE = 9,
    SAN_FOUND_UNDEFINED_BRANCH = 10,
    SAN_FOUND_UNDEFINED_ADDRESS = 11,
    SAN_FOUND_RANGE = 12, /* a note: a buffer resource larger than its allocation; detail: bytes beyond it */
    /* A note: the destination of a load to LDS is outside LDS; address: destination, detail: bytes of LDS. */
    SAN_FOUND_DROPPED = 18,
    SAN_FOUND_ALIGNMENT = 13,
    /* A buffer offset that is in range only after wrapping; address: the register's offset, detail: the instruction's.
     */
    SAN_FOUND_WRAPS = 19,
    SAN_FOUND_OBJECT = 21, /* an access through the address of a variable, outside the variable; detail: which one */
    /* Belongs to the finding before it: the same instruction has accessed inside the variable too. */
    SAN_FOUND_WITHIN = 22,
    SAN_FOUND_LANE_OFF = 20, /* a note: a read from an inactive lane; detail: that lane */
    SAN_FOUND_HAZARD = 14,   /* detail: wait states present | required << 8 | rule << 16; address: register */
    SAN_FOUND_BARRIER = 15,  /* a barrier passed without waves that have ended; detail: their number */
    SAN_FOUND_HEAP = 17,     /* an access to the kernels' heap outside its blocks; detail: SAN_HEAP_* */
    SAN_FOUND_FAULT = 16,    /* an access that would have ended a launch without the sanitizer; detail: its Fault */
    SAN_FOUND_OVERRUN = 23,  /* an access to LDS beyond what the kernel asked for; detail: its Fault */
    /* An access to the padding after an allocation; address: the allocation's, detail: its Fault, with the bytes past
     * the end. */
    SAN_FOUND_PAST = 24,
};

/* Origin of an undefined value: the pc in the lower bits, and above them the number of the unwritten place plus 1: a
 * vector register's row, a scalar register, or a dword of scratch if the instruction loads from there; 0: unknown.
 */
#define SAN_ORIGIN_WHAT 48
#define SAN_ORIGIN_SCALAR 0x8000

/* Fields of SAN_FOUND_FAULT's detail: bytes of the access, a write flag, HK_FAULT_*. */
enum { SAN_FAULT_SIZE = 0xffff, SAN_FAULT_WRITES = 1 << 16, SAN_FAULT_KIND = 24 };

/* The access in flight: by another wave with which this one has passed a barrier, or by this wave before its load to
 * LDS. */
enum {
    SAN_UNDER_WAY_LGKM = 1,   /* a write counted by lgkmcnt */
    SAN_UNDER_WAY_VECTOR = 2, /* a write counted by vmcnt */
    SAN_UNDER_WAY_READ = 4,
    SAN_UNDER_WAY_OWN_READ = 8,
    SAN_UNDER_WAY_OWN_WRITE = 16,
    SAN_UNDER_WAY_ASYNC = 32,  /* with one of the others: counted by asynccnt */
    SAN_UNDER_WAY_TENSOR = 64, /* with one of the others: counted by tensorcnt */
};

/* Fields of SAN_FOUND_HEAP's detail: bytes past the end or from the start | kind of fault << 24 | bytes of the block <<
 * 32. */
enum {
    SAN_HEAP_PAST = 0,
    SAN_HEAP_BEFORE = 1,
    SAN_HEAP_FREED = 2,
    SAN_HEAP_UNUSED = 3,
    SAN_HEAP_WHAT = 24,
    SAN_HEAP_SIZE = 32
};

typedef struct SanReport {
    uint64_t pc, other_pc; /* other_pc: the other instruction involved; ~0: none */
    uint64_t address, group, other_group;
    uint64_t count; /* number of lanes or registers */
    uint64_t detail;
    uint32_t kind;
    uint32_t wave, other_wave;
    int32_t lane;
} SanReport;

/* Device memory in which writes are tracked: one bit for each byte written. */
typedef struct SanMemory {
    uint64_t base, end;
    uint8_t *bits;
} SanMemory;

/* A variable of the code object. */
typedef struct SanObject {
    uint64_t base, end;
} SanObject;

San *hk_san_new(uint64_t groups, uint64_t memory_limit);
uint64_t hk_san_take(San *san, SanReport *reports, uint64_t room);
void hk_san_free(San *san);
void hk_san_watch(San *san, const SanMemory *memories, uint64_t count);
/* Variables, sorted by base; owned by the caller. */
void hk_san_know(San *san, const SanObject *objects, uint64_t count);
/* The heap of malloc in kernels (hip/device/heap.h), in [base, end). */
void hk_san_watch_heap(San *san, uint64_t base, uint64_t end);
int32_t hk_san_lost_writes(const San *san);

typedef enum HkData {
    HK_U8 = 0,
    HK_I8 = 1,
    HK_U16 = 2,
    HK_I16 = 3,
    HK_U8_LO = 4,
    HK_I8_LO = 5,
    HK_U16_LO = 6,
    HK_U8_HI = 7,
    HK_I8_HI = 8,
    HK_U16_HI = 9,
    HK_B32 = 10,
    HK_B64 = 11,
    HK_B96 = 12,
    HK_B128 = 13,
    HK_B8 = 14,
    HK_B16 = 15,
    HK_B8_FROM_HI = 16,
    HK_B16_FROM_HI = 17,
} HkData;

typedef enum HkAtomic {
    HK_SWAP,
    HK_CMPSWAP,
    HK_ADD,
    HK_SUB,
    HK_RSUB,
    HK_SMIN,
    HK_UMIN,
    HK_SMAX,
    HK_UMAX,
    HK_AND,
    HK_OR,
    HK_XOR,
    HK_INC,
    HK_DEC,
    HK_MSKOR,
    HK_WRAP,
    HK_CMPSWAP_FLOAT,
    HK_ADD_FLOAT,
    HK_MIN_FLOAT,
    HK_MAX_FLOAT,
    HK_PK_ADD_F16,
    HK_PK_ADD_BF16,
    HK_CONDXCHG32,
    HK_MIN_NUMBER, /* a number wins over any NaN */
    HK_MAX_NUMBER,
    HK_COND_SUB,  /* subtracts unless that is below 0 */
    HK_SUB_CLAMP, /* subtracts, to 0 at least */
} HkAtomic;

#define HK_ATOMIC_64 0x100u /* imm[1]: operands of 64 bits */

typedef enum HkElement {
    HK_F32 = 0,
    HK_XF32,
    HK_F16,
    HK_BF16,
    HK_FP8,
    HK_BF8,
    HK_FP8_FNUZ,
    HK_BF8_FNUZ,
    HK_INT8,
    HK_FP6,
    HK_BF6,
    HK_FP4,
    HK_UINT8,
    HK_INT4,
    HK_UINT4
} HkElement;

/* Op.flags of a matrix instruction; matrix.h defines the fields of several bits. */
#define HK_MATRIX_C_CONSTANT 0x08000000u /* srcC is the constant in imm[0] (and imm[1] for f64) */
#define HK_MATRIX_SCALED 0x10000000u     /* f8f6f4 instruction: has scales */
/* Flags in a chain. HK_MATRIX_SEEN_A, HK_MATRIX_SEEN_B: an earlier instruction has checked the same registers of A or
 * B. HK_MATRIX_LINKED: the next instruction adds to the same D. HK_MATRIX_WAITS, on the first instruction of a group
 * that adds to one D: the group reads or overwrites a result made since the last group that waited. */
#define HK_MATRIX_WAITS 0x04000000u
#define HK_MATRIX_SEEN_A 0x10000000u
#define HK_MATRIX_SEEN_B 0x20000000u
#define HK_MATRIX_LINKED 0x80000000u

/* Op.flags of V_WMMA and V_SWMMAC: elements of A in bits 3:0 and of B in 7:4, HK_WMMA_* of D in 9:8 and of C in 11:10,
 * neg_lo in 14:12 and neg_hi in 17:15, then these. HK_MATRIX_C_CONSTANT: C is the constant in imm[0]. */
enum { HK_WMMA_F32, HK_WMMA_F16, HK_WMMA_BF16, HK_WMMA_I32 };
#define HK_WMMA_CLAMP 0x00040000u       /* an integer saturates */
#define HK_WMMA_INTERLEAVED 0x00080000u /* neighbouring rows of D are in neighbouring groups of 16 lanes */
#define HK_WMMA_HALVES 0x00100000u      /* 16 bits of C and D are half a register, the high half with HK_WMMA_HIGH */
#define HK_WMMA_HIGH 0x00200000u
#define HK_WMMA_ORDERED 0x00400000u /* indices of a sparse A are in the order of K */
#define HK_WMMA_TALL                                                                                                   \
    0x00800000u /* 32 rows of A: of the second sixteen, A, C and D are in the second half of registers */
/* Op.offset of a V_WMMA whose elements have scales, HK_MATRIX_SCALED: HK_SCALE_* of A in bits 1:0 and of B in 3:2, and:
 */
enum { HK_SCALE_E8M0, HK_SCALE_E5M3, HK_SCALE_E4M3 };
#define HK_SCALE_UPPER_A 16 /* lanes 16 to 31 have the scales of A, else lanes 0 to 15 */
#define HK_SCALE_UPPER_B 32
#define HK_SCALE_16 64 /* a scale for 16 elements, else for 32 */

/* Op.flags of a buffer instruction. */
enum {
    HK_BUFFER_OFFEN = 1,  /* the address row (the second one with IDXEN) has a byte offset */
    HK_BUFFER_IDXEN = 2,  /* the first address row has a record index */
    HK_BUFFER_FORMAT = 4, /* converts by the resource's data format */
};

/* hk_rounded: the operation, and above it the first bits of the fields: kind of the result, kind of a narrowed source,
 * rounding as in MODE, number of values. */
enum {
    HK_ROUND_ADD,
    HK_ROUND_SUBTRACT,
    HK_ROUND_MULTIPLY,
    HK_ROUND_DIVIDE,
    HK_ROUND_FMA,
    HK_ROUND_ROOT,
    HK_ROUND_NARROW,
    HK_ROUND_FROM_SIGNED,
    HK_ROUND_FROM_UNSIGNED,
};
enum { HK_HALF, HK_SINGLE, HK_DOUBLE };
enum { HK_ROUND_RESULT = 4, HK_ROUND_SOURCE = 6, HK_ROUND_MODE = 8, HK_ROUND_COUNT = 16 };

/* hk_approximate: the function, and above it the first bit of the kind of the results (HK_HALF, ...). */
enum { HK_RECIPROCAL, HK_RECIPROCAL_ROOT, HK_ROOT, HK_EXP2, HK_LOG2, HK_SIN, HK_COS, HK_APPROXIMATE_KIND = 8 };

/* hk_convert_scaled (v_cvt_scalef32_* of gfx950): the formats, and the first bit of each field. */
enum { HK_SMALL_FP8, HK_SMALL_BF8, HK_SMALL_FP6, HK_SMALL_BF6, HK_SMALL_FP4 };
enum { HK_LARGE_F32, HK_LARGE_F16, HK_LARGE_BF16 };
enum {
    HK_SCALED_SMALL = 0,  /* 3 bits: HK_SMALL_* */
    HK_SCALED_LARGE = 3,  /* 2 bits: HK_LARGE_* */
    HK_SCALED_NARROW = 5, /* 1: converts to the small format */
    HK_SCALED_STOCHASTIC = 6,
    HK_SCALED_COUNT = 8,        /* 6 bits: number of values */
    HK_SCALED_PLACE = 16,       /* 5 bits: first bit of the small values in their dword */
    HK_SCALED_INTERLEAVED = 21, /* two sources alternate */
    HK_SCALED_HIGH = 22,        /* a single 16-bit result goes to the upper half */
};

/* Op.imm[1] of a typed buffer instruction, besides the number of components; typed_buffer.c defines the other fields.
 */
enum {
    HK_FORMAT_D16 = 8,
    HK_FORMAT_HIGH = 16,
    HK_FORMAT_STORE = 32,
    HK_FORMAT_TYPED = 0x8000,
    HK_FORMAT_UNIFIED = 0x10000, /* data and number format are one number (gfx11 and later) */
};

#endif
