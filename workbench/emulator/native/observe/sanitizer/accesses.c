/* Memory instructions: their addresses, their data, and their effect on registers and counters. */
#include "observe/sanitizer/state.h"
#include "observe/sanitizer/waits.h"

#include "ops/addresses.h"
#include "ops/buffer.h"

static void check_address(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t u = undefined_rows(sw, o->src[0], o->src_count[0]) & exec;
    if (o->space == SAN_SMEM) u = 0;
    int uniform = 0;
    for (int i = 0; i < SAN_SOURCES; i++) uniform |= scalar_any(sw, o->ssrc[i], o->ssrc_count[i]);
    if (u || (uniform && (exec || o->space == SAN_SMEM)))
        san_found(w, SAN_FOUND_UNDEFINED_ADDRESS, &o->op, san_origin(sw, o, 0, 0, u),
                  u ? (int32_t)hk_first_lane(u) : -1, 0, 0, 0, 0);
}

static void check_data(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint64_t address) {
    uint64_t u = 0;
    for (int i = 1; i < SAN_SOURCES; i++) u |= undefined_rows(sw, o->src[i], o->src_count[i]);
    u &= exec;
    if (u)
        san_found(w, SAN_FOUND_UNDEFINED_STORE, &o->op, san_origin(sw, o, 1, SAN_SOURCES - 1, u),
                  (int32_t)hk_first_lane(u), address, 0, 0, 0);
}

/* Range of a resource that does not clamp, as a compiler makes it from a bare pointer: everything that a signed offset
 * can reach. Exceeding it is not a mistake. */
#define UNBOUNDED 0x7ffffffeu

static void check_range(Wave *w, const SanOp *o, const HkResource *r) {
    if (r->stride || r->swizzle || r->records == 0 || r->records >= UNBOUNDED) return;
    const Allocation *a = hk_find_allocation(w->group->machine, r->base);
    if (a != NULL && r->base + r->records > a->end)
        san_found(w, SAN_FOUND_RANGE, &o->op, ~0ull, -1, r->base, r->base + r->records - a->end, 0, 0);
}

/* The offsets of register and instruction are added without wrapping, so a negative register offset is out of range
 * whatever the instruction's is. Programs use all ones to mask a lane. */
static void check_wraps(Wave *w, const SanOp *o, const HkResource *r, uint64_t out) {
    const Op *op = &o->op;
    if (!(op->flags & HK_BUFFER_OFFEN) || (op->flags & HK_BUFFER_IDXEN)) return;
    const uint32_t *row = hk_row(w, op->src0);
    HK_FOR_LANES(lane, out) {
        uint32_t offset = row[lane], sum = offset + (uint32_t)op->offset;
        uint64_t end = (uint64_t)sum + hk_buffer_scalar_offset(w, op) + o->bytes;
        if (offset == ~0u || sum >= offset || end > r->records) continue;
        san_found(w, SAN_FOUND_WRAPS, op, ~0ull, (int32_t)lane, offset, (uint32_t)op->offset, 0, 0);
    }
}

/* Undefined data is stored to a dword of scratch, or loaded from it. */
static void scratch_store(SanWave *sw, const SanOp *o, uint64_t dword, uint64_t bit, int undefined) {
    sw->scratch[dword] = (sw->scratch[dword] & ~bit) | (undefined ? bit : 0);
    if (undefined) sw->scratch_origin[dword] = san_origin(sw, o, 1, 1, bit);
}

static void scratch_load(SanWave *sw, const SanOp *o, uint64_t dword) {
    uint64_t origin = sw->scratch_origin[dword], what = dword < SAN_ORIGIN_SCALAR ? dword + 1 : 0;
    san_mark(sw, o, origin ? origin : o->op.pc | what << SAN_ORIGIN_WHAT);
}

static void scratch_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    const Op *op = &o->op;
    uint32_t uniform = (uint32_t)op->offset + (op->ssrc0 == HK_NO_REGISTER ? 0 : w->s[op->ssrc0]);
    uint32_t rows = (o->bytes + 3u) / 4u;
    HK_FOR_LANES(lane, exec) {
        uint64_t dword = (uniform + (op->src0 == HK_NO_REGISTER ? 0 : hk_row(w, op->src0)[lane])) / 4;
        uint64_t bit = 1ull << lane;
        for (uint32_t n = 0; n < rows && dword + n < sw->scratch_dwords; n++) {
            if (o->flags & SAN_STORE) {
                int undefined = n < o->src_count[1] && (undefined_row(sw, o->src[1] + n) & bit);
                scratch_store(sw, o, dword + n, bit, undefined);
            } else {
                uint64_t undefined = sw->scratch[dword + n] & bit;
                set_rows(sw, o->dst + n, 1, bit, undefined);
                if (undefined) scratch_load(sw, o, dword + n);
            }
        }
    }
}

/* Addresses of the active lanes that access global memory; returns the mask of those lanes. */
static uint64_t addresses(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint64_t *at) {
    HkAddresses a;
    if (o->space == SAN_BUFFER) {
        HkResource r = hk_resource(w, &o->op);
        HkBuffer b;
        check_range(w, o, &r);
        uint32_t rows = (o->bytes + 3u) / 4u;
        hk_buffer_addresses(w, &o->op, &r, exec, rows, o->bytes < 4 ? o->bytes : 4, &b);
        if (b.out) check_wraps(w, o, &r, b.out);
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

/* Checks a lane of a flat access that addresses LDS or scratch. */
static void flat_lane(Wave *w, SanWave *sw, const SanOp *o, uint64_t address, unsigned lane, int is_write) {
    uint64_t offset = address & ~HK_APERTURE_MASK, bit = 1ull << lane;
    uint32_t rows = (o->bytes + 3u) / 4u, undefined = 0;
    int stores = (o->flags & SAN_STORE) != 0;
    uint32_t words = stores ? data_words(sw, o->src[1], o->src_count[1], lane) : 0;
    if ((address & HK_APERTURE_MASK) == HK_SHARED_APERTURE) {
        uint32_t number = sw->lgkm_issued + 1;
        if ((o->flags & SAN_LOAD) && (o->flags & (SAN_ATOMIC | SAN_POLLS))) san_lds_flag(sw, offset, number);
        san_lds_access(w, sw, o, offset, o->bytes, lane, is_write, 1, san_lds_how(o), number, &undefined);
        if (words) san_lds_undefine(sw, offset, o->bytes, words, san_origin(sw, o, 1, 1, bit));
        if (undefined) san_mark(sw, o, o->op.pc);
    } else {
        for (uint32_t n = 0; n < rows && offset / 4 + n < sw->scratch_dwords; n++) {
            uint64_t dword = offset / 4 + n;
            if (stores)
                scratch_store(sw, o, dword, bit, words >> n & 1);
            else if (sw->scratch[dword] & bit) {
                undefined |= 1u << n;
                scratch_load(sw, o, dword);
            }
        }
    }
    if (o->flags & SAN_LOAD)
        for (uint32_t n = 0; n < rows && n < o->dst_count; n++)
            set_rows(sw, o->dst + n, 1, bit, undefined >> n & 1 ? bit : 0);
}

/* Effect of a flat access on LDS reads in flight, and on its own LDS reads. */
static void flat_reads(Wave *w, SanWave *sw, const SanOp *o, uint64_t elsewhere, const uint64_t *at) {
    uint32_t places[HK_LANES] = {0};
    uint64_t lanes = 0;
    HK_FOR_LANES(lane, elsewhere) {
        if ((at[lane] & HK_APERTURE_MASK) != HK_SHARED_APERTURE) continue;
        places[lane] = (uint32_t)(at[lane] & ~HK_APERTURE_MASK);
        lanes |= 1ull << lane;
    }
    if (o->flags & SAN_STORE) san_check_reads(w, sw, o, 1, lanes, places, o->bytes);
    if ((o->flags & SAN_LOAD) && !(o->flags & SAN_ATOMIC)) san_note_read(sw, o, lanes, places, 0);
}

/* Adds an access to those that its counter does not order. */
static void stray(SanStrays *strays, uint32_t number) {
    if (strays->count++ == 0) strays->first = number;
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
        lanes = san_inside(w, o, lanes, at);
        san_global_lanes(w, sw, o, lanes, at);
        if ((o->flags & SAN_ATOMIC) && elsewhere) san_release(sw, sw->lgkm_issued + 1);
        if (o->flags & SAN_LOAD) set_rows(sw, o->dst, o->dst_count, exec, 0);
        if (sw->group->san->memory_count) {
            san_follow_memory(w, sw, o, lanes, at, undefined);
            if (o->flags & SAN_LOAD)
                for (uint32_t n = 0; n < 4 && n < o->dst_count; n++)
                    set_rows(sw, o->dst + n, 1, undefined[n], undefined[n]);
            if (undefined[0] | undefined[1] | undefined[2] | undefined[3]) san_mark(sw, o, (uint32_t)o->op.pc);
        }
        HK_FOR_LANES(lane, elsewhere) flat_lane(w, sw, o, at[lane], lane, is_write);
    }
    sw->vm_issued++;
    /* From gfx10 on, both counters that a flat access goes up in come down in order (LLVM, GCNSubtarget,
     * hasFlatLgkmVMemCountInOrder). */
    if (o->flags & SAN_APART) {
        count_apart(sw, o->flags & SAN_LOAD ? COUNTS_LOADS : COUNTS_STORES);
        if (o->space == SAN_FLAT) sw->lgkm_issued++;
    } else if (elsewhere) {
        stray(&sw->vm_strays, sw->vm_issued);
        stray(&sw->lgkm_strays, ++sw->lgkm_issued);
    }
    if (elsewhere) flat_reads(w, sw, o, elsewhere, at);
    if (exec == 0) return;
    if (o->flags & SAN_TO_LDS) {
        uint32_t m0 = w->s[HK_M0] & w->group->machine->lds_address_mask;
        uint32_t width = o->bytes < 4 ? 4 : o->bytes, step = o->bytes <= 4 ? 4 : 16, unused, places[HK_LANES];
        for (uint32_t lane = 0; lane < HK_LANES; lane++) places[lane] = m0 + (uint32_t)o->op.offset + lane * step;
        uint64_t beyond = exec & ~hk_lanes_below(w->lds_size, places[0], step, width);
        if (beyond != 0) {
            unsigned first = hk_first_lane(beyond);
            san_found(w, SAN_FOUND_DROPPED, &o->op, ~0ull, (int32_t)first, places[first], w->lds_size, 0, 0);
            exec &= hk_lanes_below(w->group->lds_end, places[0], step, width);
            if (exec == 0) return;
        }
        san_check_reads(w, sw, o, 1, exec, places, width);
        HK_FOR_LANES(lane, exec) {
            uint64_t to = places[lane];
            uint32_t words = 0;
            san_lds_access(w, sw, o, to, width, lane, 1, 1, 2, sw->vm_issued, &unused);
            for (uint32_t n = 0; n < 4; n++) words |= (uint32_t)(undefined[n] >> lane & 1) << n;
            if (words) san_lds_undefine(sw, to, width, words, (uint32_t)o->op.pc);
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

/* Handles a load from global memory; bytes past a buffer resource's range are not read. */
static void scalar_load(Wave *w, SanWave *sw, const SanOp *o) {
    const Op *op = &o->op;
    if (op->ssrc0 == HK_NO_REGISTER) return;
    uint64_t base = hk_s64(w, op->ssrc0), bytes = 4ull * o->sdst_count[0];
    uint64_t offset = (uint64_t)(int64_t)op->offset + (op->ssrc1 == HK_NO_REGISTER ? 0 : w->s[op->ssrc1]);
    if (o->flags & SAN_RESOURCE) {
        int wide = (op->flags & HK_WIDE_RESOURCE) != 0;
        uint64_t records = wide ? hk_wide_records(w->s + op->ssrc0) : w->s[op->ssrc0 + 2];
        base &= wide ? 0x1ffffffffffffffull : 0xffffffffffffull;
        if (offset >= records) return;
        if (bytes > records - offset) bytes = records - offset;
    }
    uint64_t address = (base + offset) & ~3ull;
    san_check_past(w, o, address, (uint32_t)bytes, 0, -1);
    san_global_scalar(w, sw, o, address, (uint32_t)bytes);
    if (sw->group->san->memory_count) san_unwritten_scalars(sw, o, address);
}

void san_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    sw->access = o;
    if (o->space != SAN_LDS_LANES) check_address(w, sw, o, exec);
#if HK_COPIES
    if (o->space != SAN_LDS && (o->flags & (SAN_ASYNC | SAN_TENSOR))) {
        san_copy(w, sw, o, exec);
        return;
    }
#endif
    if (o->space == SAN_SMEM) {
        sw->scalar_issued++;
        for (uint32_t n = 0; n < o->sdst_count[0]; n++) {
            sw->scalar_undefined[o->sdst[0] + n] = 0;
            sw->scalar_wait[o->sdst[0] + n] = sw->scalar_issued << 1 | (o->sdst_count[0] > 1);
            sw->scalar_pc[o->sdst[0] + n] = (uint32_t)o->op.pc;
        }
        if (o->flags & SAN_STORE)
            sw->group->san->lost_writes = 1;
        else
            scalar_load(w, sw, o);
    } else if (o->space == SAN_LDS)
        san_lds_memory(w, sw, o, exec);
    else if (o->space == SAN_LDS_LANES) {
        if (o->flags & (SAN_INDEXED | SAN_PATTERN))
            san_gather(w, sw, o, exec);
        else
            san_shuffle(w, sw, o, exec);
        sw->lgkm_issued++;
        if (exec && o->dst < sw->group->rows) {
            sw->lgkm_wait[o->dst] = sw->lgkm_issued;
            sw->lgkm_pc[o->dst] = (uint32_t)o->op.pc;
        }
    } else
        vector_memory(w, sw, o, exec);
}
