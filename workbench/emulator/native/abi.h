/* Structures, numbers and functions that C and Python share.
 *
 * native/abi.py reads this file with cffi, which knows C's declarations and `#define NAME number` but no
 * preprocessor: no other macros here, no attributes, no inline functions.
 *
 * Words of the ISA: a wave is 64 lanes; a work-group is up to 16 waves with one LDS; `row` is one vector
 * register of a wave, 64 dwords.
 */
#ifndef HK_ABI_H
#define HK_ABI_H

#include <stddef.h>
#include <stdint.h>

#define HK_LANES 64
#define HK_MAX_WAVES 16  /* waves of a work-group: 1024 work-items */
#define HK_MAX_ROWS 1024 /* more than rows of a wave that instructions name or that the emulator adds */
#define HK_MAX_USER_SGPRS 32
#define HK_NO_REGISTER 0xffff /* an Op field that names no register */

/* Scalar operand encodings with a meaning of their own: indices into Wave.s. */
enum {
    HK_FLAT_SCRATCH = 102,
    HK_XNACK_MASK = 104,
    HK_VCC = 106,
    HK_M0 = 124,
    HK_EXEC = 126,
};

/* Flat addresses inside these 4 GiB windows mean LDS and scratch (src_shared_base, src_private_base). */
#define HK_SHARED_APERTURE 0x0001000000000000ull
#define HK_PRIVATE_APERTURE 0x0002000000000000ull
#define HK_APERTURE_MASK 0xffffffff00000000ull
/* The hidden argument of a service that the emulated device lacks points here: nothing is at these addresses, so
 * that a use is recognised. */
#define HK_HEAP_APERTURE 0x0003000000000000ull

/* Return values of a block that are not the index of the next block. */
enum {
    HK_END = -1,     /* s_endpgm */
    HK_BARRIER = -2, /* s_barrier; Wave.block is where to go on */
    HK_FAULT = -3,   /* Wave.fault and Wave.pc say what and where */
    HK_JUMP = -4,    /* go on at the device address in Wave.target */
    HK_YIELD = -5,   /* let other waves run (s_sleep); Wave.block is where to go on */
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
    HK_FAULT_ALIGNMENT = 8,    /* an address that the instruction wants aligned to `size` */
    HK_FAULT_READ_ONLY = 9,    /* a write into memory that the host mapped read-only */
    HK_FAULT_UNSUPPORTED = 10, /* a case of the instruction seen only when it runs */
    HK_FAULT_SERVICE = 11,     /* set by the driver: a hostcall that nobody answers; address: the service */
    HK_FAULT_END = 12,         /* execution ran past the end of a function; address: code object address there */
    HK_FAULT_MASK = 13, /* lanes came to a function with another's mask; address: the mask, size | is_write << 32:
                           the lanes that came with it */
};

/* s_trap with this operand is trap 2 to hardware, which reads 8 bits of it; here it is a HK_FAULT_MASK, with the
 * mask in s[0:1] and the lanes in s[2:3] (hip/device/lanes.h). */
#define HK_MASK_TRAP 0x4d02

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
typedef struct San San;

/* Generated code of a basic block: runs it for a wave, and returns the next block's index or one of the values
   above. */
typedef int32_t (*BlockFn)(Wave *);

/* A fault; lane is -1 where the whole wave is meant. */
typedef struct Fault {
    int32_t kind;
    int32_t lane;
    uint64_t address;
    uint32_t size; /* bytes of the access */
    uint32_t is_write;
} Fault;

/* Accesses of LDS beyond the kernel's allocation: the number of lanes, and the first one of the lowest work-group. */
struct HkOverrun {
    uint64_t count;
    uint64_t group, pc;
    Fault first;
    uint32_t wave;
    uint32_t reserved;
};

/* Accesses behind memory in what its allocator added: of those that go furthest, writes before reads, the memory's
 * first byte and where the access ends; 0 where there are none. */
struct HkPast {
    uint64_t base, end;
    uint64_t is_write;
};

struct Wave {
    uint32_t s[128];       /* by scalar operand encoding: SGPRs, VCC 106/107, M0 124, EXEC 126/127 */
    uint32_t scc;          /* 0 or 1 */
    uint32_t mode;         /* MODE: round 3:0, denormals 7:4, dx10_clamp 8, ieee 9 */
    uint32_t *v;           /* [rows][64], 64-byte aligned; AGPR n is row acc_offset + n */
    uint8_t *lds;          /* of the work-group */
    uint8_t *scratch;      /* byte b of lane l is at (b/4)*256 + l*4 + b%4 */
    uint32_t lds_size;     /* bytes that the kernel asked for */
    uint32_t scratch_size; /* bytes a lane */
    int32_t block;         /* resume point */
    int32_t state;         /* of the driver: HK_WAVE_* */
    uint64_t target;       /* HK_JUMP: device address */
    uint64_t pc;           /* code object address (vaddr) of the last native operation or s_barrier */
    uint64_t code_base;    /* device address of the code object's vaddr 0 */
    Group *group;
    Fault fault;
    uint64_t hit_base, hit_end; /* allocation that the last checked access fell in */
    uint64_t hit_flags;
    uint32_t index;   /* of the wave in its work-group */
    uint32_t lanes;   /* work-items of this wave, 1..64 */
    void *san;        /* the sanitizer's state of the wave; NULL where nothing is sanitized */
    HkStream *stream; /* lines that it touches, or NULL */
    uint32_t xcc_id;  /* hardware registers: HW_REG_XCC_ID, HW_REG_HW_ID, and the fixed bits of HW_REG_STATUS */
    uint32_t hw_id;
    uint32_t status;
    uint32_t reads_dwords; /* nonzero: loads may go to the end of an allocation's last dword whatever its `read_end` */
    uint64_t packet;       /* a hostcall that it has submitted and nobody has answered: pointer to the packet, else 0 */
    HkWay *way;            /* the blocks that it ran, or NULL */
    uint64_t clock;        /* cycles: what it last read of its clock */
    uint64_t slept;        /* cycles of s_sleep since then */
    HkLate *late;          /* what it has issued and not waited for, where a launch's loads come late; else NULL */
    uint64_t unused[5];    /* waves begin at cache lines */
    uint32_t scratch_low, scratch_high; /* bytes of a lane's scratch that were written since the tape looked */
    /* By row, nonzero: a chain of matrix instructions made what is in it, and later ones may add to it without a look
       at it (ops/matrix.c). Generated code clears those of rows that anything else writes. */
    uint8_t sums[HK_MAX_ROWS];
};

enum { HK_WAVE_READY = 0, HK_WAVE_WAITING = 1, HK_WAVE_ENDED = 2 };

/* Bits of Group.profile: count everything; count only accesses of global memory, for `traffic`; note the memory that
 * the work-group's next steps touch (run/waiting.h). */
enum { HK_PROFILE_NONE = 0, HK_PROFILE_ALL = 1, HK_PROFILE_LINES = 2, HK_PROFILE_WATCH = 4 };

/* A work-group. `stop` becomes nonzero when the launch must end early; a long native operation may poll it. */
struct Group {
    uint32_t id[3];
    uint32_t size[3]; /* work-items, smaller in a partial work-group at the end of the grid */
    uint32_t grid[3]; /* work-groups of the launch */
    uint32_t wave_count;
    uint64_t index; /* linear: x fastest */
    const Machine *machine;
    Counters *counters; /* of the thread that runs the group */
    const int32_t *stop;
    int32_t profile;    /* HK_PROFILE_*; not zero: native operations add to `counters` */
    uint32_t lds_end;   /* bytes of LDS that there are, as Launch.lds_end */
    HkTrace *trace;     /* where accesses are recorded one by one, or NULL */
    HkTraffic *traffic; /* of the worker, where the launch asks for it, or NULL */
    HkSteps *steps;     /* of the launch, where it asks for it, or NULL */
    HkTape *tape;       /* of the launch, where this work-group is on it, or NULL */
    HkWatch *watch;     /* what it touches, while HK_PROFILE_WATCH is set; else NULL */
    HkOverrun *overrun; /* of the worker */
    HkPast *past;       /* of the worker */
};

/* HK_ALLOCATION_HOST: a program may count on the host to write it while a kernel runs. HK_ALLOCATION_ROUNDED: it may be
 * written up to a multiple of HK_STORAGE_BLOCK, and what goes behind `end` is made known. */
enum { HK_ALLOCATION_READ = 1, HK_ALLOCATION_WRITE = 2, HK_ALLOCATION_HOST = 4, HK_ALLOCATION_ROUNDED = 8 };

/* Memory that a kernel may access: [base, end), and for reads up to `read_end`. Device addresses are host addresses. */
typedef struct Allocation {
    uint64_t base, end;
    uint64_t flags;
    uint64_t read_end; /* of what a device's own allocator would have put there; the sanitizer's is `end`, unless
                          the memory is rounded */
    uint64_t placed;   /* where it begins for what models caches */
} Allocation;

/* Kinds of LDS accesses that are served differently. */
typedef enum HkLdsKind { HK_LDS_READ, HK_LDS_WRITE, HK_LDS_TRANSPOSE, HK_LDS_KINDS } HkLdsKind;

#define HK_LDS_PHASES 16
#define HK_LDS_WIDTHS 4

/* Rule by which the LDS serves accesses of one kind and width (targets/lds.py, ConflictRule). */
typedef struct HkLdsRule {
    uint32_t banks;    /* of 4 bytes that serve a phase, up to 64 */
    uint32_t phases;   /* groups of lanes that are served together */
    uint32_t measured; /* nonzero where hardware's counter confirms it */
    uint32_t reserved;
    uint64_t lanes[HK_LDS_PHASES];
} HkLdsRule;

/* The device during a launch; constant while kernels run. */
struct Machine {
    const Allocation *allocations; /* sorted by base, disjoint */
    uint64_t allocation_count;
    uint32_t lds_address_mask;  /* bits of M0 that address the LDS in loads to it */
    const HkLdsRule *lds_rules; /* by HkLdsKind, then by dwords of a lane: 1 to HK_LDS_WIDTHS */
    uint64_t hostcalls;         /* device address and bytes of the buffer of hostcalls (node/hostcall.py); 0: none */
    uint64_t hostcalls_bytes;
    uint32_t dies;      /* each with an L2 of its own */
    uint32_t exact_lds; /* nonzero: an access of LDS beyond what the kernel asked for is a fault */
    /* hk_approximate: what its draws depend on, and which instructions err, by code object address. */
    uint64_t approximate_seed, approximate_first, approximate_end;
    uint32_t late; /* HK_LATE_*: when loads come, in code that was translated for it */
    uint32_t reserved;
    uint64_t late_seed; /* of HK_LATE_DRAWN */
};

enum {
    HK_LATE_OFF = 0,
    HK_LATE_LAST = 1,  /* when a wait asks for them */
    HK_LATE_DRAWN = 2, /* then, or at a time before that is drawn by a seed */
};
#define HK_LATE_PART 1 /* SanOp.imm of an access whose effect comes late: it loads a part of a register */

/* Target of the hidden argument hidden_hostcall_buffer (rocclr's devhostcall.hpp). A packet is named by its index,
 * with a tag in the bits above. */
typedef struct HostcallBuffer {
    uint64_t headers;  /* device address of the packets' headers, by index */
    uint64_t payloads; /* and of their words, eight a lane */
    uint64_t doorbell;
    uint64_t free_stack;
    uint64_t ready_stack; /* a wave submits a packet by putting it here */
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
    uint64_t lds_unconfirmed;   /* accesses served by rules that nobody measured */
    uint64_t lds_bytes_read, lds_bytes_written;           /* by active lanes */
    uint64_t global_bytes_read, global_bytes_written;     /* requested by active lanes */
    uint64_t global_read_lines_64, global_read_lines_128; /* distinct lines an instruction touches, summed */
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
    uint32_t flags;  /* bits of the operation's own */
    uint32_t imm[4]; /* constants of the operation's own */
};

/* A native operation: returns 0 to continue; else it has filled Wave.fault through hk_fault, and the block returns
   HK_FAULT. */
typedef int32_t (*NativeFn)(Wave *, const Op *);

/* Position of a wave when its launch stopped. */
typedef struct WaveReport {
    int32_t state; /* HK_WAVE_* */
    uint64_t pc;   /* code object address of the s_barrier at which it waits, if it does */
} WaveReport;

/* The fault of one worker: that of its lowest work-group. */
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

/* A kernel launch: the initial state of every wave, and the progress that the worker threads share. */
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
    uint32_t lds_end;       /* the same in the steps in which hardware gives it: up to here there is LDS */
    uint32_t scratch_size;  /* bytes a lane */
    uint32_t mode;          /* initial MODE */
    uint32_t user_sgpr_count;
    uint32_t user_sgpr[HK_MAX_USER_SGPRS];
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
    uint32_t max_resident; /* work-groups that all workers hold at once: those that the device would */
    uint32_t max_company;  /* that one worker starts beside others that go on and on, before all had their turns */
    uint64_t group_total;
    /* shared by workers, changed atomically */
    uint64_t next_group;
    uint64_t waiting;    /* driver's own: workers that wait for memory to change; see dispatch.c */
    uint64_t waits_on;   /* HK_ALLOCATION_* flags of the memory that they wait for */
    uint32_t workers;    /* that have work-groups, look for some, or are to come; at most max_resident */
    uint32_t companions; /* work-groups that a worker holds beside another one */
    uint32_t share; /* work-groups that a worker leaves it at while others may start the rest; 0: it starts no second
                       one, since how many workers there are is not known yet */
    uint64_t last_group; /* work-groups above are not to run: a fault was seen there */
    uint64_t finished;   /* work-groups that ended */
    int32_t stop;        /* nonzero: leave as soon as possible */
    int32_t reserved;
    void *san;      /* the sanitizer's state of the launch, or NULL; one worker only */
    HkTrace *trace; /* where accesses are recorded one by one, or NULL; one worker only */
    uint32_t xcds;  /* dies that work-groups go to in turn */
    uint32_t units; /* compute units of a die */
    /* Answers the hostcall that a wave of a work-group submitted, by the pointer to its packet; 0, or the service that
     * is not available. */
    int32_t (*serve)(uint64_t group, uint32_t wave, uint64_t packet);
    HkSteps *steps;      /* where the waves' ways are recorded, or NULL */
    const uint8_t *only; /* [group_total] work-groups that are run: nonzero; NULL: all */
    HkTape *tape;        /* where what one work-group does is kept, or NULL */
} Launch;

typedef struct HkQueue {
    void *first, *last;
} HkQueue;

/* One thread's share of a launch. */
typedef struct Worker {
    Launch *launch;
    uint64_t *counts; /* [block_count] how often this worker ran each block */
    Counters counters;
    FaultReport report;
    HkQueue resident; /* driver's own: work-groups under way */
    HkQueue parked;   /* driver's own: those of them that wait for memory to change */
    void *spare;      /* driver's own: memory of ended work-groups */
    HkOverrun overrun;
    HkPast past;
    uint32_t resident_count;
    uint32_t parked_count;
    uint32_t started;       /* driver's own: work-groups since those that wait were last given turns */
    uint32_t due;           /* driver's own: value of `started` at which they are next, before any other starts */
    uint32_t quanta;        /* driver's own: times that a work-group had its share since one was last started */
    uint32_t wants_company; /* driver's own: nonzero where a work-group goes on and on and another is to start */
    uint32_t is_waiting;    /* driver's own: all that it holds is stuck */
    uint32_t held_back;     /* driver's own: it started none because it has its share */
    uint32_t hurries;       /* driver's own: the others did not start the rest, so it does */
    uint32_t looks;         /* driver's own: that found nothing to do, one after the other */
    uint64_t confirmed;     /* driver's own: value of Launch.waiting at which it was counted there */
    uint64_t turns;         /* of work-groups */
    HkTraffic *traffic;     /* what it records, or NULL */
} Worker;

/* The memory that an unfinished work-group polls when its launch is stopped. */
typedef struct HkWait {
    uint64_t group;
    uint64_t address; /* of the memory that it polls: a device address, or one in the window of LDS; 0: not known */
    uint64_t value;   /* its content, up to 8 bytes of it */
    uint64_t pc;      /* code object address of the load or atomic, where `address` is known */
    uint32_t bytes;
    uint32_t wave;
    int32_t block;     /* where the wave goes on */
    uint32_t is_stuck; /* it comes back to the same state as long as that memory stays as it is */
} HkWait;

/* hk_run's answers. */
enum {
    HK_RUN_DONE = 0,    /* no work-group left for this worker */
    HK_RUN_AGAIN = 1,   /* the time slice is over: call again */
    HK_RUN_STOPPED = 2, /* Launch.stop was set */
    HK_RUN_MEMORY = 3,  /* no host memory for a work-group's registers */
};

int32_t hk_run(Worker *worker, uint64_t slice_nanoseconds);
void hk_release(Worker *worker);
/* Nonzero if every work-group under way is stuck and no other can start: HK_ALLOCATION_* flags of the memory that
 * they wait for. */
uint64_t hk_deadlock(const Launch *launch);
/* Waiting work-groups of a worker, up to `room` of them; returns their number. */
uint64_t hk_waits(const Worker *worker, HkWait *waits, uint64_t room);
uint64_t hk_hear_interrupts(void);
void hk_leave_interrupts(void);

/* HK_ALLOCATION_* flags that hold for all of [base, base + size), from the process's memory map; the second reads
   its text, for systems that cannot be asked about single mappings. */
int32_t hk_host_access(uint64_t base, uint64_t size);
int32_t hk_listed_access(uint64_t base, uint64_t size);

/* What PyTorch's allocations are multiples of on a GPU: kMinBlockSize of c10/cuda/CUDACachingAllocator.h. */
#define HK_STORAGE_BLOCK 512
/* Bytes that kernels may read behind such a multiple, at most. A GPU has them to the end of the piece of memory from
 * which the tensor is cut, which is 2 MiB and more; tiles go less far. */
#define HK_STORAGE_ROOM 65536

/* Memory of a tensor, of which reads reach `reach` bytes; `number`: later ones have larger ones. */
typedef struct HkStorage {
    uint64_t base, bytes, number, reach;
} HkStorage;

/* What our allocator has given out: how many pieces, how often that has changed, and their bytes, rounded up, now and
 * at most. */
typedef struct HkStorages {
    uint64_t count, changes, bytes, most;
} HkStorages;

/* Address of the c10::Allocator that does as another and lists what it gives out; 0 where it is another's. */
uint64_t hk_storages_allocator(uint64_t other);
void hk_storages_state(HkStorages *state);
void hk_storages_forget_most(void);
uint64_t hk_storages_list(HkStorage *list, uint64_t room);
/* The piece that begins at an address; zeros where none does. */
void hk_storage_at(uint64_t base, HkStorage *storage);

/* HkAccess.kind. */
enum {
    HK_TRACE_LDS_READ = 1,
    HK_TRACE_LDS_WRITE = 2,
    HK_TRACE_GLOBAL_READ = 3,
    HK_TRACE_GLOBAL_WRITE = 4,
    HK_TRACE_TO_LDS = 5, /* the LDS side of a load straight to LDS; its global side is a record of its own */
};

/* One instruction of one wave; instructions with two addresses make two records. */
typedef struct HkAccess {
    uint64_t pc;    /* code object address */
    uint64_t group; /* linear index */
    uint64_t exec;  /* active lanes */
    uint32_t wave;
    uint32_t kind;     /* HK_TRACE_* */
    uint32_t bytes;    /* of a lane */
    uint32_t banks;    /* that serve it; 0 where the access is none of LDS banks */
    uint32_t phases;   /* groups of lanes served one after the other; 0 likewise */
    uint32_t measured; /* nonzero where the rule of these phases was measured */
    uint64_t phase_lanes[HK_LDS_PHASES];
    uint64_t phase_conflicts[HK_LDS_PHASES]; /* banks that take more than a cycle */
    uint32_t phase_cycles[HK_LDS_PHASES];    /* 0 where no lane of the phase is active */
    uint64_t at[64];                         /* device address, or byte offset in LDS; of active lanes */
} HkAccess;

struct HkTrace {
    HkAccess *records;
    uint64_t room;
    uint64_t count; /* of accesses, beyond the room too */
};

/* Totals of one instruction over all of its executions. */
typedef struct HkSite {
    uint64_t lds_cycles;
    uint64_t lds_bank_conflict;
    uint64_t lds_bytes;
    uint64_t bytes;      /* that lanes ask of or send to global memory */
    uint64_t accesses;   /* distinct 64-byte pieces of each execution, summed */
    uint64_t line_bytes; /* bytes of the distinct 128-byte lines of each execution, summed */
} HkSite;

/* Purpose of a touched line; the upper bits depend on the instruction (HkTraffic.kinds). */
enum {
    HK_LINE_READ = 0,
    HK_LINE_WRITE = 1,
    HK_LINE_ATOMIC = 2,
    HK_LINE_READ_PAST_L1 = 3, /* a load with a scope that L1 does not serve (sc1) */
    HK_LINE_AT_ONCE = 8,      /* in HkTraffic.kinds, besides: nothing is waited for since the one before it */
};

/* Writer of each element of a range of memory: the number of the highest work-group plus 1, 0 for none. */
typedef struct HkOwners {
    uint64_t base, end;
    uint64_t element; /* bytes */
    uint32_t *owner;  /* shared by all workers */
} HkOwners;

/* One worker's recorder. */
struct HkTraffic {
    uint64_t text; /* code object address of the first instruction */
    uint64_t site_count;
    HkSite *sites;        /* by dword of the code */
    const uint8_t *kinds; /* by dword of the code: HK_LINE_ATOMIC, HK_LINE_READ_PAST_L1, or 0; HK_LINE_AT_ONCE */
    HkStream *streams;    /* newest first */
    uint64_t events;      /* in all streams; a stream that has any counts for HK_STREAM_COST more */
    uint64_t limit;       /* of events; beyond it half of the sampled lines are dropped */
    uint32_t sampling;    /* one line in 1 << sampling is kept */
    uint32_t keep_lines;  /* zero: counts by instruction only */
    uint64_t failed;      /* nonzero: no memory; the streams are not whole */
    const HkOwners *owners;
    uint64_t owner_count;
};

#define HK_MAX_SAMPLING 8u

/* Counts of one XCD. */
typedef struct HkCacheCounts {
    uint64_t l1_reads, l1_read_hits;          /* lines asked for */
    uint64_t l2_reads, l2_writes, l2_atomics; /* requests: reads of a line, writes and atomics of 64 bytes */
    uint64_t l2_hits, l2_misses;              /* of all requests */
    uint64_t l2_read_hits;                    /* of reads */
    uint64_t fabric_reads;                    /* of 128 bytes */
    uint64_t fabric_writes_32, fabric_writes_64;
    uint64_t mall_read_hits, mall_read_misses; /* Infinity Cache, of 128 bytes */
    uint64_t memory_bytes_written;             /* from the Infinity Cache to HBM, at the end too */
} HkCacheCounts;

typedef struct HkReplay {
    HkTraffic *const *recorders;
    uint64_t recorder_count;
    uint64_t group_total;
    const uint64_t *order; /* [group_total] work-groups as they are dispatched; NULL: by number */
    uint32_t waves;        /* of a work-group, at most */
    uint32_t xcds;
    uint32_t units; /* compute units of an XCD */
    uint32_t groups_per_unit;
    uint32_t sampling;
    uint32_t l1_ways, l2_ways, mall_ways;
    uint32_t rounds; /* times that the launch is replayed; only the last one is counted */
    uint64_t l1_bytes, l2_bytes, mall_bytes;
    HkCacheCounts *counts; /* [xcds] */
    /* [sites][HK_LEVELS] lines of each instruction that L1, L2, the Infinity Cache and HBM served; NULL: not wanted */
    uint64_t *levels;
    uint64_t site_count;
} HkReplay;

#define HK_LEVELS 4

void hk_traffic_release_streams(HkTraffic *t);
uint64_t hk_traffic_events(const HkTraffic *t, uint32_t sampling);
int32_t hk_replay(const HkReplay *r);

/* A step of a wave: a basic block's index, or, with the highest bit set, the cost of a memory instruction of the
 * block before it. A cost has the instruction's dword in the code in bits 19:0, cycles of LDS in 31:20, lines of 128
 * and blocks of 64 bytes that it touched in 40:32 and 49:41, and bytes that lanes moved, in eights, in 58:50. */
#define HK_STEP_COST 0x8000000000000000ull

/* Paths of a launch's waves; all workers share it. */
struct HkSteps {
    uint64_t text;       /* code object address of the first instruction */
    const uint8_t *keep; /* [group_total] nonzero: the steps of its waves are kept, and it is profiled */
    uint64_t *hashes;    /* [group_total] equal where all waves went the same way */
    uint64_t *blocks;    /* [group_total] basic blocks that its waves ran */
    HkWay *ways;
    uint64_t failed; /* nonzero: no memory */
};

const uint64_t *hk_steps_of(const HkSteps *s, uint64_t group, uint32_t wave, uint64_t *count, uint32_t *cut);
void hk_steps_free(HkSteps *s);

/* State of a work-group on the tape: a wave's scalars are Wave.s, then SCC and MODE. */
#define HK_TAPE_SCALARS 130

typedef struct HkState {
    uint32_t *scalars; /* [waves][HK_TAPE_SCALARS] */
    uint32_t *rows;    /* [waves][rows][64] */
    uint32_t *lds;     /* padded to 64 bytes, as scratch is */
    uint32_t *scratch; /* [waves][scratch] */
} HkState;

#define HK_TAPE_RANGES 4
enum { HK_TAPE_LDS = 1, HK_TAPE_ROWS = 2 }; /* the last: rows that only its run tells */

/* State that a block may change besides scalars; writes to scratch are noted when they happen. */
typedef struct HkChanges {
    uint16_t first[HK_TAPE_RANGES], count[HK_TAPE_RANGES]; /* rows */
    uint32_t flags;                                        /* HK_TAPE_* */
} HkChanges;

/* One block of one wave. Its changes are words of the tape from `at` on: a head, then the exclusive or of the contents
 * before and after. A head has the place in bits 23:0, its kind in 31:28 and, for a row, the quarters that follow in
 * 27:24.
 */
typedef struct HkEvent {
    uint64_t at;
    uint64_t accesses; /* in the trace before it */
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
    const HkChanges *changes; /* by block */
    HkTrace *trace;
    uint32_t watched;
    uint32_t waves, rows, lds_words, scratch_words; /* of the state */
    uint32_t running;                               /* 0: not begun, 1: under way, 2: over */
    HkState begin, now;                             /* when the tape begins; as far as it has come */
    HkEvent *events;
    uint64_t event_count, event_room;
    uint32_t *words;
    uint64_t word_count, word_room;
    uint64_t differs; /* words of the work-group's last state that the tape does not tell: 0 unless it is wrong */
    uint32_t cut;     /* nonzero: it has no room for what comes after */
    uint32_t reserved;
};

/* Turns a state at event `from` into that at `to`, in either direction. */
void hk_tape_move(const HkTape *t, const HkState *s, uint64_t from, uint64_t to);
void hk_tape_free(HkTape *t);

/* Kinds of instructions to the sanitizer. */
enum {
    SAN_VECTOR = 0,      /* lane by lane */
    SAN_SCALAR = 1,      /* any undefined source makes every result undefined */
    SAN_SCALAR_BITS = 2, /* bit by bit; flags say the operation */
    SAN_WAIT = 3,        /* imm: vmcnt | lgkmcnt << 8, SAN_NOT_WAITED where it does not wait for one */
    SAN_MEMORY = 4,      /* imm: code object address of the variable that it is to access; 0: not known */
    SAN_BRANCH = 5,      /* the scalar sources decide where to go */
    SAN_MATRIX = 6,
    SAN_READ_LANE = 7, /* imm: lane, SAN_FIRST_ACTIVE, or SAN_IN_REGISTER: in a scalar register */
    SAN_WRITE_LANE = 8,
    SAN_SHUFFLE = 9, /* lanes exchange values */
    SAN_WORDS = 10,  /* dword i of the result comes from dword i of the sources */
    SAN_MARK = 11,   /* imm: pair whose first instruction this is; flags: wait states of the block to its end */
    SAN_HAZARD = 12, /* imm: pair whose second one this is; flags: the same to its start; bytes: wanted */
    SAN_STATES = 13, /* imm: wait states of the block that ends */
    SAN_CACHE = 14,  /* imm: SAN_WRITES_BACK, SAN_INVALIDATES */
};

/* SanOp.space. */
enum { SAN_GLOBAL, SAN_FLAT, SAN_SCRATCH, SAN_BUFFER, SAN_LDS, SAN_SMEM, SAN_LDS_LANES };

/* SanOp.flags. */
enum {
    SAN_LOAD = 1u << 0,
    SAN_STORE = 1u << 1,
    SAN_ATOMIC = 1u << 2,
    SAN_TO_LDS = 1u << 3,
    SAN_SYNC = 1u << 4,        /* an access with a scope wider than the wave's, as atomic loads and stores have */
    SAN_SELECT = 1u << 5,      /* undefined only where every data source is */
    SAN_KEEP = 1u << 6,        /* the destination is read too */
    SAN_LANE_MASK = 1u << 7,   /* scalar results are lane masks */
    SAN_MASK_SOURCE = 1u << 8, /* the last scalar source is a lane mask */
    SAN_CROSS = 1u << 9,       /* the first source comes from other lanes (DPP) */
    SAN_WRITES_SCC = 1u << 10,
    SAN_TO_EXEC = 1u << 11,       /* the result is the new EXEC */
    SAN_PLAIN_ADDRESS = 1u << 12, /* addresses are ADDTID's or none: not followed */
    SAN_TWO = 1u << 13,           /* a second address at op.imm[0] */
    SAN_TRANSPOSED = 1u << 14,
    SAN_DPP = 1u << 15,
    SAN_SAME = 1u << 16,       /* x - x, x ^ x: defined whatever x is */
    SAN_CARRY = 1u << 17,      /* of 64 bits: the low dword comes from low dwords only */
    SAN_CARRY_DOWN = 1u << 18, /* the high dword from high dwords only */
    SAN_REPLACES = 1u << 19,   /* an atomic that does not compute with what was there */
    SAN_RESOURCE = 1u << 20,   /* a scalar load through a buffer resource */
    SAN_INDEXED = 1u << 21,    /* each lane names the lane that it reads from */
    SAN_DEVICE = 1u << 22,     /* with SAN_SYNC: the device's scope or wider */
    SAN_POLLS = 1u << 23,      /* a load that a loop waits with for its value to change */
    SAN_EXPECTS = 1u << 24,    /* a load of what a compare-and-swap then expects */
    SAN_PATTERN = 1u << 25,    /* each lane reads from the one that the offset field's pattern says */
    SAN_SPILLS = 1u << 26,     /* lanes of a register that v_writelane fills, whatever EXEC says */
};
/* SAN_SCALAR_BITS: the operation, in the flags' upper byte. */
enum { SAN_BITS_ANY = 0, SAN_BITS_AND = 1, SAN_BITS_OR = 2, SAN_BITS_ANDN2 = 3, SAN_BITS_SELECT = 4 };

/* SAN_CACHE: the L2's writes to memory; the L1. */
enum { SAN_WRITES_BACK = 1, SAN_INVALIDATES = 2 };

#define SAN_SCC 128 /* as a scalar operand */
#define SAN_NOT_WAITED 255
#define SAN_FIRST_ACTIVE 64
#define SAN_IN_REGISTER 65
#define SAN_SOURCES 5
#define SAN_MARKS 256 /* Number of pairs that a kernel's records may name. */

typedef struct SanOp {
    Op op;
    uint16_t dst;
    uint16_t src[SAN_SOURCES]; /* for stores and atomics src[0] is the address, the others data */
    uint16_t sdst[2];
    uint16_t ssrc[SAN_SOURCES]; /* scalar operand encodings, or SAN_SCC */
    uint8_t dst_count;
    uint8_t src_count[SAN_SOURCES];
    uint8_t sdst_count[2];
    uint8_t ssrc_count[SAN_SOURCES];
    uint8_t kind, space, bytes;
    uint8_t reserved_byte;
    uint8_t columns; /* of a matrix instruction with one block: 16 or 32; else 0 */
    uint16_t reserved;
    uint32_t flags;
    uint32_t imm;
} SanOp;

/* What was found. */
enum {
    SAN_FOUND_WAIT_VECTOR = 1,   /* a register used before vmcnt says that its load is done; detail: row */
    SAN_FOUND_WAIT_LGKM = 2,     /* the same for lgkmcnt */
    SAN_FOUND_WAIT_SCALAR = 3,   /* a scalar register, lgkmcnt */
    SAN_FOUND_WAIT_LDS = 4,      /* LDS read while a load to LDS of the same wave is under way */
    SAN_FOUND_PUBLISH_LDS = 5,   /* LDS read after a barrier that its writer passed without a wait; detail: the same */
    SAN_FOUND_OVERWRITE_LDS = 6, /* LDS written where an access is under way; detail: SAN_UNDER_WAY_* */
    SAN_FOUND_RACE_LDS = 7,      /* detail: 0 read after write, 1 write after read, 2 write after write */
    SAN_FOUND_RACE_GLOBAL = 8,
    SAN_FOUND_UNDEFINED_STORE = 9,
    SAN_FOUND_UNDEFINED_BRANCH = 10,
    SAN_FOUND_UNDEFINED_ADDRESS = 11,
    SAN_FOUND_RANGE = 12,   /* a buffer resource larger than its allocation, a note; detail: bytes beyond */
    SAN_FOUND_DROPPED = 18, /* a load to LDS whose place is not in it, a note; address: there, detail: bytes of LDS */
    SAN_FOUND_ALIGNMENT = 13,
    SAN_FOUND_WRAPS = 19,    /* a buffer offset that is in range if it wraps; address: the register's, detail: the
                                instruction's */
    SAN_FOUND_OBJECT = 21,   /* an access through a variable's address outside of it; detail: of which */
    SAN_FOUND_WITHIN = 22,   /* that the same instruction has accessed the variable too: goes with the one before */
    SAN_FOUND_LANE_OFF = 20, /* what a lane that is off holds is read, a note; detail: that lane */
    SAN_FOUND_HAZARD = 14,   /* detail: wait states there were | wanted << 8 | rule << 16; address: register */
    SAN_FOUND_BARRIER = 15,  /* a barrier passed without waves that have ended; detail: how many */
    SAN_FOUND_HEAP = 17,     /* an access of the kernels' heap outside its blocks; detail: SAN_HEAP_* */
    SAN_FOUND_FAULT = 16,    /* an access that would have ended a plain launch; detail: its Fault */
    SAN_FOUND_OVERRUN = 23,  /* an access of LDS beyond what the kernel asked for; detail: its Fault */
    SAN_FOUND_PAST = 24,     /* an access behind memory in what its allocator added; address: the memory's, detail: its
                                Fault, whose bytes are those past the end */
};

/* Origin of an undefined value: the pc in the lower bits, and above them the unwritten place plus 1: a vector
 * register's row, a scalar register, or a dword of scratch where the instruction loads from there; 0: not known.
 */
#define SAN_ORIGIN_WHAT 48
#define SAN_ORIGIN_SCALAR 0x8000

/* SAN_FOUND_FAULT's detail: bytes of the access, whether it writes, HK_FAULT_*. */
enum { SAN_FAULT_SIZE = 0xffff, SAN_FAULT_WRITES = 1 << 16, SAN_FAULT_KIND = 24 };

/* Access that was under way: of another wave with which this one has passed a barrier, or its own before a load to
   LDS. */
enum {
    SAN_UNDER_WAY_LGKM = 1,   /* a write, counted by lgkmcnt */
    SAN_UNDER_WAY_VECTOR = 2, /* a write, counted by vmcnt */
    SAN_UNDER_WAY_READ = 4,
    SAN_UNDER_WAY_OWN_READ = 8,
    SAN_UNDER_WAY_OWN_WRITE = 16,
};

/* SAN_FOUND_HEAP's detail: bytes past the end or from the start | kind of fault << 24 | bytes of the block << 32. */
enum {
    SAN_HEAP_PAST = 0,
    SAN_HEAP_BEFORE = 1,
    SAN_HEAP_FREED = 2,
    SAN_HEAP_UNUSED = 3,
    SAN_HEAP_WHAT = 24,
    SAN_HEAP_SIZE = 32
};

typedef struct SanReport {
    uint64_t pc, other_pc; /* other_pc: the instruction on the other side; ~0 where there is none */
    uint64_t address, group, other_group;
    uint64_t count; /* lanes, or registers */
    uint64_t detail;
    uint32_t kind;
    uint32_t wave, other_wave;
    int32_t lane;
} SanReport;

/* Device memory of which every write is tracked: one bit for each byte that was written. */
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
    HK_FP4
} HkElement;

/* Op.flags of a matrix instruction; matrix.h has its fields of several bits. */
#define HK_MATRIX_C_CONSTANT 0x08000000u /* srcC is the constant in imm[0] (and imm[1] for f64) */
#define HK_MATRIX_SCALED 0x10000000u     /* of an f8f6f4 instruction: has scales */
/* In a chain: an earlier instruction has looked at the registers of A, or of B; the next one adds to D. Of the first
 * that add to a D: they want or make what an earlier one makes, since the last that waited. */
#define HK_MATRIX_WAITS 0x04000000u
#define HK_MATRIX_SEEN_A 0x10000000u
#define HK_MATRIX_SEEN_B 0x20000000u
#define HK_MATRIX_LINKED 0x80000000u

/* Op.flags of a buffer instruction. */
enum {
    HK_BUFFER_OFFEN = 1,  /* the address row (the second one with IDXEN) has a byte offset */
    HK_BUFFER_IDXEN = 2,  /* the first address row has a record index */
    HK_BUFFER_FORMAT = 4, /* converts by the resource's data format */
};

/* hk_rounded: the operation, and the first bits of the fields above it: kind of the result, kind of a narrowed source,
 * MODE's rounding, number of values. */
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

/* hk_approximate: the function, and the first bit of the kind of its results (HK_HALF, ...) above it. */
enum { HK_RECIPROCAL, HK_RECIPROCAL_ROOT, HK_ROOT, HK_EXP2, HK_LOG2, HK_SIN, HK_COS, HK_APPROXIMATE_KIND = 8 };

/* hk_convert_scaled (v_cvt_scalef32_* of gfx950): the formats, and the first bits of its fields. */
enum { HK_SMALL_FP8, HK_SMALL_BF8, HK_SMALL_FP6, HK_SMALL_BF6, HK_SMALL_FP4 };
enum { HK_LARGE_F32, HK_LARGE_F16, HK_LARGE_BF16 };
enum {
    HK_SCALED_SMALL = 0,  /* 3 bits: HK_SMALL_* */
    HK_SCALED_LARGE = 3,  /* 2 bits: HK_LARGE_* */
    HK_SCALED_NARROW = 5, /* 1: to the small format */
    HK_SCALED_STOCHASTIC = 6,
    HK_SCALED_COUNT = 8,        /* 6 bits: numbers converted */
    HK_SCALED_PLACE = 16,       /* 5 bits: first bit of the small ones in their dword */
    HK_SCALED_INTERLEAVED = 21, /* two sources take turns */
    HK_SCALED_HIGH = 22,        /* a single 16-bit result goes to the upper half */
};

/* Op.imm[1] of a typed buffer instruction, beside its count of components; typed_buffer.c has the other fields. */
enum { HK_FORMAT_D16 = 8, HK_FORMAT_HIGH = 16, HK_FORMAT_STORE = 32, HK_FORMAT_TYPED = 0x8000 };

#endif
