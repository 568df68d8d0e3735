/* Loads and stores of global, flat and scratch memory (FLAT_, GLOBAL_, SCRATCH_ instructions).
 *
 * Op fields: src0 the address row (64-bit address in two rows; a 32-bit offset where ssrc0 is given; the
 * scratch offset), src1 the first data row of a store, dst the first row of a load, ssrc0 the scalar base,
 * offset the immediate. Every access is checked against the allocations of the device: the span of all active
 * lanes at once, and lane by lane where that fails.
 */
#include "ops/addresses.h"
#include "ops/matrix_tiles.h"
#include "observe/steps.h"

HK_INLINE int32_t hk_global_load(Wave *w, const Op *op, HkData data) {
    hk_tiles_stay_awake();
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    if (hk_check_addresses(w, op, &a, hk_data_bytes(data), 0)) return 1;
    if (a.wide)
        hk_gather_masked(data, hk_row(w, op->dst), 1, NULL, a.at, exec);
    else
        hk_gather_masked(data, hk_row(w, op->dst), 0, a.base, a.offsets, exec);
    return 0;
}

HK_INLINE int32_t hk_global_store(Wave *w, const Op *op, HkData data) {
    hk_tiles_stay_awake();
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    if (hk_check_addresses(w, op, &a, hk_data_bytes(data), 1)) return 1;
    if (a.wide)
        hk_scatter(data, hk_row(w, op->src1), 1, NULL, a.at, exec);
    else
        hk_scatter(data, hk_row(w, op->src1), 0, a.base, a.offsets, exec);
    return 0;
}

/* A lane's scratch is spread over rows of dwords; these functions copy `bytes` of it. */
static void hk_scratch_read(const Wave *w, uint32_t offset, unsigned lane, uint32_t bytes, uint8_t *to) {
    for (uint32_t b = 0; b < bytes; b++) to[b] = *hk_scratch_byte(w, offset + b, lane);
}

static void hk_scratch_write(const Wave *w, uint32_t offset, unsigned lane, uint32_t bytes, const uint8_t *from) {
    for (uint32_t b = 0; b < bytes; b++) *hk_scratch_byte(w, offset + b, lane) = from[b];
}

HK_INLINE void hk_put_lane(HkData data, uint32_t *rows, unsigned lane, const uint8_t *from) {
    if (hk_data_rows(data) == 1)
        rows[lane] = hk_loaded(data, from);
    else
        for (int r = 0; r < hk_data_rows(data); r++) rows[HK_LANES * r + lane] = hk_get32(from + 4 * r);
}

HK_INLINE void hk_get_lane(HkData data, const uint32_t *rows, unsigned lane, uint8_t *to) {
    if (hk_data_rows(data) == 1)
        hk_put_small(data, to, rows[lane]);
    else
        for (int r = 0; r < hk_data_rows(data); r++) hk_put32(to + 4 * r, rows[HK_LANES * r + lane]);
}

/* Flat addresses above 2^48 are in the LDS or scratch window; lanes of one access may differ. */
HK_INLINE int32_t hk_flat_access(Wave *w, const Op *op, HkData data, int is_write) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t bytes = hk_data_bytes(data);
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    uint32_t *rows = hk_row(w, is_write ? op->src1 : op->dst);
    if (a.hi < HK_SHARED_APERTURE) {
        if (hk_check_addresses(w, op, &a, bytes, is_write)) return 1;
        if (is_write)
            hk_scatter(data, rows, 1, NULL, a.at, exec);
        else
            hk_gather_masked(data, rows, 1, NULL, a.at, exec);
        return 0;
    }
    uint8_t owners[HK_LANES];
    hk_locate_scratch(&a, exec, owners);
    /* All lanes are checked before any data moves. */
    HK_FOR_LANES(lane, exec) {
        uint64_t window = a.at[lane] & HK_APERTURE_MASK, offset = a.at[lane] & ~HK_APERTURE_MASK;
        if (window == HK_SHARED_APERTURE) {
            if (!hk_check_lds(w, op, offset, bytes, is_write, (int32_t)lane)) return 1;
        } else if (window == HK_PRIVATE_APERTURE) {
            if (!hk_check_scratch(w, op, offset, bytes, is_write, (int32_t)lane)) return 1;
        } else if (hk_check(w, op, a.at[lane], bytes, is_write, (int32_t)lane) == NULL)
            return 1;
    }
    HK_FOR_LANES(lane, exec) {
        uint64_t window = a.at[lane] & HK_APERTURE_MASK;
        uint32_t offset = (uint32_t)a.at[lane];
        uint8_t copy[16];
        if (window == HK_PRIVATE_APERTURE) {
            if (is_write) {
                hk_get_lane(data, rows, lane, copy);
                hk_scratch_write(w, offset, owners[lane], bytes, copy);
            } else {
                hk_scratch_read(w, offset, owners[lane], bytes, copy);
                hk_put_lane(data, rows, lane, copy);
            }
        } else {
            uint8_t *p = window == HK_SHARED_APERTURE ? w->lds + offset : (uint8_t *)(uintptr_t)a.at[lane];
            if (window == HK_SHARED_APERTURE && !hk_has_lds(w, offset, bytes)) {
                memset(copy, 0, sizeof copy);
                p = copy;
            }
            if (is_write)
                hk_get_lane(data, rows, lane, p);
            else
                hk_put_lane(data, rows, lane, p);
        }
    }
    hk_count_flat(w, op, &a, exec, bytes, is_write);
    return 0;
}

int32_t hk_scratch_move(Wave *w, const Op *op, HkData data, uint32_t uniform, const uint32_t *row, int is_write) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t bytes = hk_data_bytes(data);
    uint32_t *rows = hk_row(w, is_write ? op->src1 : op->dst);
    if (w->group->profile) {
        uint64_t moved = (uint64_t)__builtin_popcountll(exec) * bytes;
        /* A dword of all lanes spans whole lines, the next dword the following ones. */
        uint32_t dwords = (bytes + 3) / 4;
        if (w->way != NULL) hk_steps_cost(w, op, 0, 2 * dwords, 4 * dwords, (uint32_t)moved);
        if (is_write)
            w->group->counters->scratch_bytes_written += moved;
        else
            w->group->counters->scratch_bytes_read += moved;
    }
    if (row == NULL) {
        if (!hk_check_scratch(w, op, uniform, bytes, is_write, (int32_t)hk_first_lane(exec))) return 1;
        if (hk_data_rows(data) * 4u == bytes && (uniform & 3) == 0) {
            for (int r = 0; r < hk_data_rows(data); r++) {
                uint32_t *memory = (uint32_t *)(w->scratch + (uniform / 4 + (size_t)r) * HK_ROW_BYTES);
                if (is_write)
                    hk_row_blend(memory, rows + HK_LANES * r, exec);
                else
                    hk_row_blend(rows + HK_LANES * r, memory, exec);
            }
            return 0;
        }
    }
    uint32_t offsets[HK_LANES];
    for (int l = 0; l < HK_LANES; l++) offsets[l] = uniform + (row == NULL ? 0 : row[l]);
    HK_FOR_LANES(lane, exec) {
        if (!hk_check_scratch(w, op, offsets[lane], bytes, is_write, (int32_t)lane)) return 1;
    }
    HK_FOR_LANES(lane, exec) {
        uint8_t copy[16];
        if (is_write) {
            hk_get_lane(data, rows, lane, copy);
            hk_scratch_write(w, offsets[lane], lane, bytes, copy);
        } else {
            hk_scratch_read(w, offsets[lane], lane, bytes, copy);
            hk_put_lane(data, rows, lane, copy);
        }
    }
    return 0;
}

/* SCRATCH_: offset = VGPR (if src0) + SGPR (if ssrc0) + immediate, in the lane's scratch. */
HK_INLINE int32_t hk_scratch_access(Wave *w, const Op *op, HkData data, int is_write) {
    uint32_t uniform = (uint32_t)op->offset + (op->ssrc0 == HK_NO_REGISTER ? 0 : w->s[op->ssrc0]);
    const uint32_t *row = op->src0 == HK_NO_REGISTER ? NULL : hk_row(w, op->src0);
    uint32_t shift = op->flags >> HK_SCALE_SHIFT & HK_SCALE_MASK, scaled[HK_LANES];
    if (shift != 0 && row != NULL) {
        for (unsigned l = 0; l < HK_LANES; l++) scaled[l] = row[l] << shift;
        row = scaled;
    }
    return hk_scratch_move(w, op, data, uniform, row, is_write);
}

#define HK_DEFINE_LOAD(name, data)                                                                                     \
    HK_EXPORT int32_t hk_global_load_##name(Wave *w, const Op *op) { return hk_global_load(w, op, data); }             \
    HK_EXPORT int32_t hk_flat_load_##name(Wave *w, const Op *op) { return hk_flat_access(w, op, data, 0); }            \
    HK_EXPORT int32_t hk_scratch_load_##name(Wave *w, const Op *op) { return hk_scratch_access(w, op, data, 0); }
#define HK_DEFINE_STORE(name, data)                                                                                    \
    HK_EXPORT int32_t hk_global_store_##name(Wave *w, const Op *op) { return hk_global_store(w, op, data); }           \
    HK_EXPORT int32_t hk_flat_store_##name(Wave *w, const Op *op) { return hk_flat_access(w, op, data, 1); }           \
    HK_EXPORT int32_t hk_scratch_store_##name(Wave *w, const Op *op) { return hk_scratch_access(w, op, data, 1); }

HK_LOADS(HK_DEFINE_LOAD)
HK_STORES(HK_DEFINE_STORE)

/* GLOBAL_LOAD_ADDTID_B32, GLOBAL_STORE_ADDTID_B32: without an address register; lane l accesses the scalar base +
 * immediate + 4 * l. */
HK_INLINE int32_t hk_global_addtid(Wave *w, const Op *op, int is_write) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint64_t start = (w->s[op->ssrc0] | (uint64_t)w->s[op->ssrc0 + 1] << 32) + (uint64_t)(int64_t)op->offset;
    uint32_t offsets[HK_LANES] __attribute__((aligned(64))), safe[HK_LANES] __attribute__((aligned(64)));
    for (uint32_t l = 0; l < HK_LANES; l++) offsets[l] = 4 * l;
    HkAddresses a = {.wide = 0, .exec = exec, .base = (uint8_t *)(uintptr_t)start};
    a.offsets = hk_safe32(offsets, exec, safe);
    a.lo = start + 4 * hk_first_lane(exec);
    a.hi = start + 4 * (63 - (uint64_t)__builtin_clzll(exec));
    if (hk_check_addresses(w, op, &a, 4, is_write)) return 1;
    if (is_write)
        hk_scatter(HK_B32, hk_row(w, op->src1), 0, a.base, offsets, exec);
    else
        hk_gather_masked(HK_B32, hk_row(w, op->dst), 0, a.base, a.offsets, exec);
    return 0;
}

HK_EXPORT int32_t hk_global_load_addtid_b32(Wave *w, const Op *op) { return hk_global_addtid(w, op, 0); }
HK_EXPORT int32_t hk_global_store_addtid_b32(Wave *w, const Op *op) { return hk_global_addtid(w, op, 1); }

/* GLOBAL_LOAD_LDS_: memory to LDS. Lane l's data goes to M0 + immediate + l * (4, or 16 for 3 and 4 dwords), whether or
 * not lower lanes are active; sub-dword data is extended to a dword. */
HK_EXPORT int32_t hk_global_load_lds(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkData data = (HkData)op->imm[0];
    uint32_t bytes = hk_data_bytes(data);
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    if (hk_check_addresses(w, op, &a, bytes, 0)) return 1;
    uint64_t at[HK_LANES];
    for (int l = 0; l < HK_LANES; l++) at[l] = a.wide ? a.at[l] : (uint64_t)(uintptr_t)a.base + a.offsets[l];
    return hk_to_lds(w, op, data, at, exec, 0);
}

/* SCRATCH_LOAD_LDS_: the same from the lanes' scratch. */
HK_EXPORT int32_t hk_scratch_load_lds(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkData data = (HkData)op->imm[0];
    uint32_t bytes = hk_data_bytes(data);
    uint32_t uniform = (uint32_t)op->offset + (op->ssrc0 == HK_NO_REGISTER ? 0 : w->s[op->ssrc0]);
    uint8_t copies[HK_LANES][4];
    uint64_t at[HK_LANES];
    HK_FOR_LANES(lane, exec) {
        uint32_t offset = uniform + (op->src0 == HK_NO_REGISTER ? 0 : hk_row(w, op->src0)[lane]);
        if (!hk_check_scratch(w, op, offset, bytes, 0, (int32_t)lane)) return 1;
        hk_scratch_read(w, offset, lane, bytes, copies[lane]);
        at[lane] = (uint64_t)(uintptr_t)copies[lane];
    }
    return hk_to_lds(w, op, data, at, exec, 0);
}

/* GLOBAL_LOAD_TR_B128 and _B64 in waves of 32 lanes: the lanes exchange what they read. Of 16-bit elements each group
 * of eight lanes transposes its 8 by 8. Of bytes, lane l gets, as element e, byte l % 8 of the lane that reads row k =
 * 8 (l / 16) + e: lane 8 (k / 4) + k % 4, or the fourth after it for columns 8 to 15. (The guide gives no lanes; these
 * are what others measured on a gfx1201, for bytes as Mesa's lowering has them.) An inactive lane gives zeros. */
HK_INLINE int32_t load_transposed(Wave *w, const Op *op, HkData data) {
#if HK_LANES == 32
    uint64_t exec = hk_exec(w);
    int rows = data == HK_B128 ? 4 : 2;
    uint32_t old[4 * HK_LANES] __attribute__((aligned(64))), result[4 * HK_LANES] __attribute__((aligned(64)));
    uint32_t *d = hk_row(w, op->dst);
    memcpy(old, d, sizeof(uint32_t) * HK_LANES * (size_t)rows);
    int32_t fault = hk_global_load(w, op, data);
    if (fault) return fault;
    uint8_t pieces[HK_LANES][16] = {{0}};
    HK_FOR_LANES(l, exec) {
        for (int r = 0; r < rows; r++) memcpy(pieces[l] + 4 * r, d + HK_LANES * r + l, 4);
    }
    for (unsigned l = 0; l < HK_LANES; l++) {
        uint8_t column[16];
        for (unsigned e = 0; e < 8; e++)
            if (data == HK_B128)
                memcpy(column + 2 * e, pieces[(l & ~7u) + e] + 2 * (l % 8), 2);
            else {
                unsigned k = 8 * (l / 16) + e;
                column[e] = pieces[8 * (k / 4) + k % 4 + 4 * (l % 16 / 8)][l % 8];
            }
        for (int r = 0; r < rows; r++) memcpy(result + HK_LANES * r + l, column + 4 * r, 4);
    }
    memcpy(d, old, sizeof(uint32_t) * HK_LANES * (size_t)rows);
    for (int r = 0; r < rows; r++) hk_row_blend(d + HK_LANES * r, result + HK_LANES * r, exec);
    return 0;
#else
    return hk_fault(w, op, HK_FAULT_UNSUPPORTED, -1, 0, (uint32_t)data, 0);
#endif
}

HK_EXPORT int32_t hk_global_load_tr_b128(Wave *w, const Op *op);
HK_EXPORT int32_t hk_global_load_tr_b64(Wave *w, const Op *op);
int32_t hk_global_load_tr_b128(Wave *w, const Op *op) { return load_transposed(w, op, HK_B128); }
int32_t hk_global_load_tr_b64(Wave *w, const Op *op) { return load_transposed(w, op, HK_B64); }
