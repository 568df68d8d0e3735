/* BUFFER_ loads and stores, and BUFFER_LOAD to LDS.
 *
 * Op fields: src0 the address rows, dst or src1 the data rows, ssrc0 the resource, ssrc1 the scalar offset
 * (imm[0] where it is a constant), offset the immediate, flags HK_BUFFER_*; imm[1] the data kind of
 * a load to LDS.
 *
 * Range checks as in the ISA guides: in a raw buffer the offset is out of range from num_records less the scalar offset
 * on, in a structured one the index from num_records on; each dword of a wide access is checked separately. Tensile's
 * edges rely on it (_UseSgprForGRO), although LLVM's intrinsics say that the check leaves the scalar offset out. No
 * guide says what a scalar offset beyond num_records does: taken as out of range. Reads out of range give 0, and writes
 * are dropped. Accesses in range are then checked against the allocations like any other.
 */
#include "ops/buffer.h"
#include "ops/matrix_tiles.h"
#include "run/waiting.h"

/* Const_element_size is fixed on these targets: the resource has no field for it. */
#define HK_ELEMENT_SIZE 4u

static void hk_general_addresses(const Wave *w, const Op *op, const HkResource *r, uint64_t exec, uint32_t count,
                                 uint32_t size, HkBuffer *b) {
    int offen = (op->flags & HK_BUFFER_OFFEN) != 0, idxen = (op->flags & HK_BUFFER_IDXEN) != 0;
    const uint32_t *index_row = idxen ? hk_row(w, op->src0) : NULL;
    const uint32_t *offset_row = offen ? hk_row(w, op->src0) + (idxen ? HK_LANES : 0) : NULL;
    int structured = idxen && r->stride != 0, unchecked = r->add_tid && !idxen;
    uint64_t scalar = hk_buffer_scalar_offset(w, op), start = r->base + scalar;
    uint64_t safe = 0;
    HkAddresses *a = &b->address;
    a->wide = 1;
    a->lo = ~0ull;
    a->hi = 0;
    a->exec = 0;
    HK_FOR_LANES(lane, exec) {
        uint64_t index = (uint64_t)(idxen ? index_row[lane] : 0) + (r->add_tid ? lane : 0);
        uint64_t offset = (uint64_t)(offen ? offset_row[lane] : 0) + (uint32_t)op->offset;
        uint32_t in_range = count;
        if (structured) {
            if (index >= r->records) in_range = 0;
        } else if (!unchecked) {
            while (in_range > 0 && scalar + offset + (uint64_t)(in_range - 1) * size >= r->records) in_range--;
        }
        uint64_t place;
        if (r->swizzle) {
            uint64_t index_high = index / r->index_stride, index_low = index % r->index_stride;
            place = (index_high * r->stride + offset / HK_ELEMENT_SIZE * HK_ELEMENT_SIZE) * r->index_stride +
                    index_low * HK_ELEMENT_SIZE + offset % HK_ELEMENT_SIZE;
        } else
            place = index * r->stride + offset;
        uint64_t address = start + place;
        a->at[lane] = address;
        b->components[lane] = (uint8_t)in_range;
        if (in_range != count) {
            b->out |= 1ull << lane;
            continue;
        }
        if (a->exec == 0) safe = address;
        a->exec |= 1ull << lane;
        if (address < a->lo) a->lo = address;
        if (address > a->hi) a->hi = address;
    }
    for (unsigned lane = 0; lane < HK_LANES; lane++)
        if (!(exec >> lane & 1)) a->at[lane] = safe;
}

void hk_buffer_addresses(const Wave *w, const Op *op, const HkResource *r, uint64_t exec, uint32_t count, uint32_t size,
                         HkBuffer *b) {
    b->out = 0;
    if (!r->swizzle && !r->add_tid && !(op->flags & HK_BUFFER_IDXEN) && (op->flags & HK_BUFFER_OFFEN)) {
        const uint32_t *row = hk_row(w, op->src0);
        HkSpan32 span = hk_span32(row, exec);
        uint64_t uniform = (uint64_t)hk_buffer_scalar_offset(w, op) + (uint32_t)op->offset;
        if (uniform + span.hi + (uint64_t)(count - 1) * size < r->records) {
            HkAddresses *a = &b->address;
            uint64_t start = r->base + uniform;
            a->wide = 0;
            a->base = (uint8_t *)(uintptr_t)start;
            a->offsets = hk_safe32(row, exec, a->safe);
            a->lo = start + span.lo;
            a->hi = start + span.hi;
            a->exec = exec;
            return;
        }
    }
    hk_general_addresses(w, op, r, exec, count, size, b);
}

HK_INLINE uint32_t hk_component_bytes(HkData data) {
    uint32_t bytes = hk_data_bytes(data);
    return bytes < 4 ? bytes : 4;
}

/* A swizzled record's elements are not contiguous in memory, so an access to several elements is split. */
HK_INLINE int hk_is_split(const HkResource *r, HkData data) { return r->swizzle && hk_data_rows(data) > 1; }

/* Address of dword `c` of a lane's data; in a swizzled buffer each dword has its own address computation. */
static uint64_t hk_component_address(const HkResource *r, const HkBuffer *b, unsigned lane, uint32_t c) {
    uint64_t step = r->swizzle ? (uint64_t)HK_ELEMENT_SIZE * r->index_stride : 4;
    return b->address.at[lane] + c * step;
}

/* Lanes that are partly or wholly out of range, or have dwords that are not contiguous. */
static int32_t hk_buffer_slow(Wave *w, const Op *op, const HkResource *r, HkBuffer *b, HkData data, uint32_t *rows,
                              uint64_t exec, int is_write) {
    uint32_t count = (uint32_t)hk_data_rows(data), size = hk_component_bytes(data);
    hk_watch_unknown(w);
    HK_FOR_LANES(lane, exec) {
        for (uint32_t c = 0; c < b->components[lane]; c++)
            if (hk_check(w, op, hk_component_address(r, b, lane, c), size, is_write, (int32_t)lane) == NULL) return 1;
    }
    static const uint8_t zero[4];
    HK_FOR_LANES(lane, exec) {
        for (uint32_t c = 0; c < count; c++) {
            int inside = c < b->components[lane];
            uint8_t *p = (uint8_t *)(uintptr_t)hk_component_address(r, b, lane, c);
            uint32_t *reg = rows + c * HK_LANES + lane;
            HkData one = count > 1 ? HK_B32 : data;
            if (!is_write)
                *reg = hk_loaded(one, inside ? p : zero);
            else if (inside)
                hk_put_small(one, p, *reg);
        }
    }
    if (w->group->profile) {
        HkAddresses whole = b->address;
        whole.exec = 0;
        HK_FOR_LANES(lane, exec) {
            if (b->components[lane] == count) whole.exec |= 1ull << lane;
        }
        if (whole.exec != 0) hk_count_global(w, op, &whole, hk_data_bytes(data), is_write);
    }
    return 0;
}

HK_INLINE int32_t hk_buffer_access(Wave *w, const Op *op, HkData data, int is_write) {
    hk_tiles_stay_awake();
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkResource r = hk_resource(w, op);
    if (__builtin_expect(hk_is_private(&r), 0)) {
        /* Base and scalar offset count bytes of the wave's scratch, in which the dwords of the lanes are interleaved.
         */
        uint32_t start = (uint32_t)r.base + hk_buffer_scalar_offset(w, op);
        uint32_t uniform = start / HK_LANES + (uint32_t)op->offset;
        return hk_scratch_move(w, op, data, uniform, op->flags & HK_BUFFER_OFFEN ? hk_row(w, op->src0) : NULL,
                               is_write);
    }
    HkBuffer b;
    uint32_t *rows = hk_row(w, is_write ? op->src1 : op->dst);
    hk_buffer_addresses(w, op, &r, exec, (uint32_t)hk_data_rows(data), hk_component_bytes(data), &b);
    if (b.out != 0 || hk_is_split(&r, data)) return hk_buffer_slow(w, op, &r, &b, data, rows, exec, is_write);
    HkAddresses *a = &b.address;
    if (hk_check_addresses(w, op, a, hk_data_bytes(data), is_write)) return 1;
    if (is_write) {
        if (a->wide)
            hk_scatter(data, rows, 1, NULL, a->at, exec);
        else
            hk_scatter(data, rows, 0, a->base, a->offsets, exec);
    } else {
        if (a->wide)
            hk_gather_masked(data, rows, 1, NULL, a->at, exec);
        else
            hk_gather_masked(data, rows, 0, a->base, a->offsets, exec);
    }
    return 0;
}

#define HK_DEFINE_BUFFER_LOAD(name, data)                                                                              \
    HK_EXPORT int32_t hk_buffer_load_##name(Wave *w, const Op *op) { return hk_buffer_access(w, op, data, 0); }
#define HK_DEFINE_BUFFER_STORE(name, data)                                                                             \
    HK_EXPORT int32_t hk_buffer_store_##name(Wave *w, const Op *op) { return hk_buffer_access(w, op, data, 1); }

HK_LOADS(HK_DEFINE_BUFFER_LOAD)
HK_STORES(HK_DEFINE_BUFFER_STORE)

HK_EXPORT int32_t hk_buffer_load_lds(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkData data = (HkData)op->imm[1];
    uint32_t count = (uint32_t)hk_data_rows(data), size = hk_component_bytes(data);
    HkResource r = hk_resource(w, op);
    HkBuffer b;
    hk_buffer_addresses(w, op, &r, exec, count, size, &b);
    if (hk_is_split(&r, data)) return hk_fault(w, op, HK_FAULT_UNSUPPORTED, -1, b.address.lo, hk_data_bytes(data), 0);
    HkAddresses *a = &b.address;
    if (a->exec != 0 && hk_check_addresses(w, op, a, hk_data_bytes(data), 0)) return 1;
    uint64_t at[HK_LANES];
    for (unsigned l = 0; l < HK_LANES; l++) at[l] = hk_address(a, l);
    /* A lane that straddles the end of the buffer: the dwords in range, then zeros. */
    uint8_t partial[HK_LANES][16];
    uint64_t nothing = 0;
    if (b.out != 0) hk_watch_unknown(w);
    HK_FOR_LANES(lane, b.out) {
        uint32_t bytes = b.components[lane] * size;
        if (bytes == 0) {
            nothing |= 1ull << lane;
            continue;
        }
        if (hk_check(w, op, at[lane], bytes, 0, (int32_t)lane) == NULL) return 1;
        memset(partial[lane], 0, 16);
        memcpy(partial[lane], (const void *)(uintptr_t)at[lane], bytes);
        at[lane] = (uint64_t)(uintptr_t)partial[lane];
    }
    return hk_to_lds(w, op, data, at, exec, nothing);
}
