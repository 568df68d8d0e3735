/* DS_READ and DS_WRITE of every width: per-lane loads and stores of the work-group's LDS.
 *
 * Op fields: src0 the address row (byte offset in LDS), src1 and src2 the data rows, dst the first row read,
 * offset the immediate in bytes; two-address forms have the second offset in imm[0].
 */
#include "ops/lds.h"
#include "observe/sanitizer/sanitizer.h"
#include "ops/matrix_tiles.h"

int hk_lds_overrun(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    if (w->group->machine->exact_lds) {
        hk_fault(w, op, HK_FAULT_LDS, lane, offset, size, is_write);
        return 0;
    }
    if (w->san != NULL) {
        hk_san_overrun(w, op, offset, size, is_write, lane);
        return 1;
    }
    HkOverrun *o = w->group->overrun;
    if (o->count++ == 0 || w->group->index < o->group) {
        o->group = w->group->index;
        o->pc = op->pc;
        o->wave = w->index;
        o->first = (Fault){HK_FAULT_LDS, lane, offset, size, is_write != 0};
    }
    return 1;
}

__attribute__((cold, noinline)) HkLdsLanes hk_lds_beyond(Wave *w, const Op *op, const uint32_t *row, uint32_t offset,
                                                         uint64_t exec, uint32_t bytes, HkLdsKind kind) {
    uint64_t there = exec;
    HkSpan32 span = hk_span32(row, exec);
    int is_inside = hk_lds_reach(w, (uint64_t)span.lo + offset, (uint64_t)span.hi + offset + bytes, 0);
    HK_FOR_LANES(lane, is_inside ? 0 : exec) {
        uint64_t at = (uint64_t)row[lane] + offset;
        if (!hk_check_lds(w, op, at, bytes, kind == HK_LDS_WRITE, (int32_t)lane)) return (HkLdsLanes){0, 1};
        if (!hk_has_lds(w, at, bytes)) there &= ~(1ull << lane);
    }
    if (w->group->profile && there) hk_count_lds(w, op, row, offset, there, bytes, kind);
    return (HkLdsLanes){there, 0};
}

__attribute__((cold, noinline)) void hk_load_nothing(HkData data, uint32_t *rows, uint64_t lanes) {
    static const uint8_t nothing[64];
    static const uint32_t offsets[HK_LANES] __attribute__((aligned(64)));
    if (lanes) hk_gather_masked(data, rows, 0, nothing, offsets, lanes);
}

HK_INLINE int32_t hk_lds_read(Wave *w, const Op *op, HkData data) {
    hk_tiles_stay_awake();
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64)));
    uint32_t offset = (uint32_t)op->offset;
    const uint32_t *row = hk_row(w, op->src0);
    HkLdsLanes lanes = hk_lds_lanes(w, op, &row, &offset, exec, wrapped, hk_data_bytes(data), HK_LDS_READ);
    if (__builtin_expect(lanes.exec != exec, 0)) {
        if (lanes.fault) return 1;
        hk_load_nothing(data, hk_row(w, op->dst), exec & ~lanes.exec);
        if (lanes.exec == 0) return 0;
    }
    uint32_t temporary[HK_LANES] __attribute__((aligned(64)));
    hk_gather_masked(data, hk_row(w, op->dst), 0, w->lds + offset, hk_safe32(row, lanes.exec, temporary), lanes.exec);
    return 0;
}

HK_INLINE int32_t hk_lds_write(Wave *w, const Op *op, HkData data) {
    hk_tiles_stay_awake();
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64)));
    uint32_t offset = (uint32_t)op->offset;
    const uint32_t *row = hk_row(w, op->src0);
    HkLdsLanes lanes = hk_lds_lanes(w, op, &row, &offset, exec, wrapped, hk_data_bytes(data), HK_LDS_WRITE);
    if (__builtin_expect(lanes.exec == 0, 0)) return lanes.fault;
    hk_scatter(data, hk_row(w, op->src1), 0, w->lds + offset, row, lanes.exec);
    return 0;
}

/* The two addresses of a two-address instruction, each with its offset and the mask of lanes with LDS there; 1 after a
 * fault. */
typedef struct {
    const uint32_t *row[2];
    uint32_t offset[2];
    uint64_t exec[2];
    uint32_t wrapped[2][HK_LANES] __attribute__((aligned(64)));
} HkLdsPair;

HK_INLINE int32_t hk_lds_pair(Wave *w, const Op *op, HkData data, uint64_t exec, HkLdsKind kind, HkLdsPair *pair) {
    pair->offset[0] = (uint32_t)op->offset;
    pair->offset[1] = op->imm[0];
    for (int i = 0; i < 2; i++) {
        pair->row[i] = hk_row(w, op->src0);
        HkLdsLanes lanes =
            hk_lds_lanes(w, op, &pair->row[i], &pair->offset[i], exec, pair->wrapped[i], hk_data_bytes(data), kind);
        if (lanes.fault) return 1;
        pair->exec[i] = lanes.exec;
    }
    return 0;
}

/* Both halves are read before a register changes: the destination may hold the address. */
HK_INLINE int32_t hk_lds_read2(Wave *w, const Op *op, HkData data) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkLdsPair pair;
    if (hk_lds_pair(w, op, data, exec, HK_LDS_READ, &pair)) return 1;
    uint32_t safe[HK_LANES] __attribute__((aligned(64)));
    uint32_t loaded[4 * HK_LANES] __attribute__((aligned(64)));
    int rows = hk_data_rows(data);
    for (int i = 0; i < 2; i++) {
        uint32_t *half = loaded + i * rows * HK_LANES;
        if (pair.exec[i]) hk_gather(data, half, 0, w->lds + pair.offset[i], hk_safe32(pair.row[i], pair.exec[i], safe));
        if (__builtin_expect(pair.exec[i] != exec, 0)) hk_load_nothing(data, half, exec & ~pair.exec[i]);
    }
    if (exec == HK_ALL_LANES)
        memcpy(hk_row(w, op->dst), loaded, (size_t)(2 * rows) * HK_LANES * 4);
    else
        for (int r = 0; r < 2 * rows; r++) hk_row_blend(hk_row(w, op->dst) + r * HK_LANES, loaded + r * HK_LANES, exec);
    return 0;
}

HK_INLINE int32_t hk_lds_write2(Wave *w, const Op *op, HkData data) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkLdsPair pair;
    if (hk_lds_pair(w, op, data, exec, HK_LDS_WRITE, &pair)) return 1;
    for (int i = 0; i < 2; i++)
        if (pair.exec[i])
            hk_scatter(data, hk_row(w, i ? op->src2 : op->src1), 0, w->lds + pair.offset[i], pair.row[i], pair.exec[i]);
    return 0;
}

#define HK_DEFINE_READ(name, data)                                                                                     \
    HK_EXPORT int32_t hk_ds_read_##name(Wave *w, const Op *op) { return hk_lds_read(w, op, data); }
#define HK_DEFINE_WRITE(name, data)                                                                                    \
    HK_EXPORT int32_t hk_ds_write_##name(Wave *w, const Op *op) { return hk_lds_write(w, op, data); }

HK_DEFINE_READ(u8, HK_U8)
HK_DEFINE_READ(i8, HK_I8)
HK_DEFINE_READ(u16, HK_U16)
HK_DEFINE_READ(i16, HK_I16)
HK_DEFINE_READ(u8_d16, HK_U8_LO)
HK_DEFINE_READ(u8_d16_hi, HK_U8_HI)
HK_DEFINE_READ(i8_d16, HK_I8_LO)
HK_DEFINE_READ(i8_d16_hi, HK_I8_HI)
HK_DEFINE_READ(u16_d16, HK_U16_LO)
HK_DEFINE_READ(u16_d16_hi, HK_U16_HI)
HK_DEFINE_READ(b32, HK_B32)
HK_DEFINE_READ(b64, HK_B64)
HK_DEFINE_READ(b96, HK_B96)
HK_DEFINE_READ(b128, HK_B128)
HK_DEFINE_WRITE(b8, HK_B8)
HK_DEFINE_WRITE(b16, HK_B16)
HK_DEFINE_WRITE(b8_d16_hi, HK_B8_FROM_HI)
HK_DEFINE_WRITE(b16_d16_hi, HK_B16_FROM_HI)
HK_DEFINE_WRITE(b32, HK_B32)
HK_DEFINE_WRITE(b64, HK_B64)
HK_DEFINE_WRITE(b96, HK_B96)
HK_DEFINE_WRITE(b128, HK_B128)

HK_EXPORT int32_t hk_ds_read2_b32(Wave *w, const Op *op) { return hk_lds_read2(w, op, HK_B32); }
HK_EXPORT int32_t hk_ds_read2_b64(Wave *w, const Op *op) { return hk_lds_read2(w, op, HK_B64); }
HK_EXPORT int32_t hk_ds_write2_b32(Wave *w, const Op *op) { return hk_lds_write2(w, op, HK_B32); }
HK_EXPORT int32_t hk_ds_write2_b64(Wave *w, const Op *op) { return hk_lds_write2(w, op, HK_B64); }

/* DS_READ_ADDTID and DS_WRITE_ADDTID: without an address register; lane l accesses M0[15:0] + immediate + 4 * l. */
HK_INLINE int32_t hk_lds_addtid(Wave *w, const Op *op, int is_write) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t offsets[HK_LANES] __attribute__((aligned(64)));
    for (uint32_t l = 0; l < HK_LANES; l++) offsets[l] = (w->s[HK_M0] & 0xffff) + 4 * l;
    HkLdsLanes lanes =
        hk_check_lds_row(w, op, offsets, (uint32_t)op->offset, exec, 4, is_write ? HK_LDS_WRITE : HK_LDS_READ);
    if (!is_write && !lanes.fault) hk_load_nothing(HK_B32, hk_row(w, op->dst), exec & ~lanes.exec);
    if (lanes.exec == 0) return lanes.fault;
    uint32_t temporary[HK_LANES] __attribute__((aligned(64)));
    uint8_t *base = w->lds + op->offset;
    if (is_write)
        hk_scatter(HK_B32, hk_row(w, op->src1), 0, base, offsets, lanes.exec);
    else
        hk_gather_masked(HK_B32, hk_row(w, op->dst), 0, base, hk_safe32(offsets, lanes.exec, temporary), lanes.exec);
    return 0;
}

HK_EXPORT int32_t hk_ds_read_addtid_b32(Wave *w, const Op *op) { return hk_lds_addtid(w, op, 0); }
HK_EXPORT int32_t hk_ds_write_addtid_b32(Wave *w, const Op *op) { return hk_lds_addtid(w, op, 1); }
