/* The sanitizer's records: what an instruction reads and writes, and what was found.
 *
 * Code translated for sanitizing hands runs of instructions to hk_san_run before they execute; launches that
 * do not sanitize have none of it. workbench/emulator/sanitizer mirrors these structures.
 */
#ifndef HK_SANITIZE_H
#define HK_SANITIZE_H

#include "run/wave.h"

/* What an instruction is to the sanitizer. */
enum {
    SAN_VECTOR = 0,      /* lane by lane */
    SAN_SCALAR = 1,      /* any undefined source makes every result undefined */
    SAN_SCALAR_BITS = 2, /* bit by bit; flags say the operation */
    SAN_WAIT = 3,        /* imm: vmcnt | lgkmcnt << 8, 255: not waited for */
    SAN_MEMORY = 4,
    SAN_BRANCH = 5, /* the scalar sources decide where to go */
    SAN_MATRIX = 6,
    SAN_READ_LANE = 7, /* imm: lane, 64: the first active one, 65: in a scalar register */
    SAN_WRITE_LANE = 8,
    SAN_SHUFFLE = 9, /* lanes exchange values */
    SAN_WORDS = 10,  /* dword i of the result comes from dword i of the sources */
    SAN_MARK = 11,   /* imm: pair whose first instruction this is; flags: wait states of the block to its end */
    SAN_HAZARD = 12, /* imm: pair whose second one this is; flags: the same to its start; bytes: wanted */
    SAN_STATES = 13, /* imm: wait states of the block that ends */
};

/* SanOp.space. */
enum { SAN_GLOBAL, SAN_FLAT, SAN_SCRATCH, SAN_BUFFER, SAN_LDS, SAN_SMEM, SAN_LDS_LANES };

/* SanOp.flags. */
enum {
    SAN_LOAD = 1u << 0,
    SAN_STORE = 1u << 1,
    SAN_ATOMIC = 1u << 2,
    SAN_TO_LDS = 1u << 3,
    SAN_SYNC = 1u << 4,        /* an access of device scope: orders like an atomic */
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
};
/* SAN_SCALAR_BITS: which operation, in the flags' upper byte. */
enum { SAN_BITS_ANY = 0, SAN_BITS_AND = 1, SAN_BITS_OR = 2, SAN_BITS_ANDN2 = 3, SAN_BITS_SELECT = 4 };

#define SAN_SOURCES 5
#define SAN_MARKS 256 /* pairs that a kernel's records may name */

typedef struct SanOp {
    Op op;
    uint16_t dst;
    uint16_t src[SAN_SOURCES]; /* for stores and atomics src[0] is the address, the others data */
    uint16_t sdst[2];
    uint16_t ssrc[SAN_SOURCES]; /* scalar operand encodings; 128 is SCC */
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
    SAN_FOUND_WAIT_VECTOR = 1, /* a register used before vmcnt says that its load is done; detail: row */
    SAN_FOUND_WAIT_LGKM = 2,   /* the same for lgkmcnt */
    SAN_FOUND_WAIT_SCALAR = 3, /* a scalar register, lgkmcnt */
    SAN_FOUND_WAIT_LDS = 4,    /* LDS read while a load to LDS of the same wave is under way */
    SAN_FOUND_PUBLISH_LDS = 5, /* LDS read after a barrier that its writer passed without a wait; detail: 1 lgkm */
    /* LDS written where an access is under way. Detail: another wave's, with which it passed a barrier: 1 a write by
     * lgkmcnt, 2 by vmcnt, 4 a read; or this wave's own, before a load to LDS: 8 a read, 16 a write. */
    SAN_FOUND_OVERWRITE_LDS = 6,
    SAN_FOUND_RACE_LDS = 7, /* detail: 0 read after write, 1 write after read, 2 write after write */
    SAN_FOUND_RACE_GLOBAL = 8,
    SAN_FOUND_UNDEFINED_STORE = 9,
    SAN_FOUND_UNDEFINED_BRANCH = 10,
    SAN_FOUND_UNDEFINED_ADDRESS = 11,
    SAN_FOUND_RANGE = 12, /* a buffer resource larger than its allocation; detail: bytes beyond */
    SAN_FOUND_ALIGNMENT = 13,
    SAN_FOUND_HAZARD = 14, /* detail: wait states there were | wanted << 8 | rule << 16; address: register */
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

/* Device memory of which every write is known: a bit for each byte that was written. */
typedef struct SanMemory {
    uint64_t base, end;
    uint8_t *bits;
} SanMemory;

typedef struct San San;

HK_EXPORT San *hk_san_new(uint64_t groups, uint64_t memory_limit);
HK_EXPORT uint64_t hk_san_take(San *san, SanReport *reports, uint64_t room);
HK_EXPORT void hk_san_free(San *san);
HK_EXPORT void hk_san_watch(San *san, const SanMemory *memories, uint64_t count);
HK_EXPORT int32_t hk_san_lost_writes(const San *san);
HK_EXPORT void hk_san_run(Wave *w, const SanOp *ops, uint32_t count);

/* The driver's side. */
size_t hk_san_bytes(const Launch *l, uint32_t waves);
void hk_san_start(const Launch *l, Group *g, Wave *waves, void *memory);
void hk_san_barrier(const Group *g, Wave *waves);

#endif
