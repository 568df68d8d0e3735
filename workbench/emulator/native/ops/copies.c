/* Copies between memory and LDS that pass no register (gfx1250): asynchronous ones of each lane's bytes, and those of a
 * tensor's tile that a descriptor describes; and the barriers in LDS that announce them.
 *
 * They are done at once: what waits for asynccnt, tensorcnt or a barrier's phase finds them complete.
 *
 * Sources: LLVM, IntrinsicsAMDGPU.td and AMDGPUUsage ("Memory Model GFX125x"); AMD's CDNA5 ISA guide, 10.8 and 10.11,
 * as others quote it; Triton's TDMUtility.cpp, which fills descriptors as the guide says. HipKittens' headers of June
 * 2026 fill two fields otherwise (docs/compatibility.md).
 */
#include "ops/copies.h"
#include "ops/addresses.h"
#include "ops/lds.h"
#include "run/waiting.h"

/* Asynchronous copies. Op fields: dst the row of LDS addresses, imm[0] the bytes of a lane; the rest as in flat.c. The
 * immediate offset is added to both addresses. */
static int32_t copy_lanes(Wave *w, const Op *op, int to_lds) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t bytes = op->imm[0], offset = (uint32_t)op->offset;
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    if (hk_check_addresses(w, op, &a, bytes, !to_lds)) return 1;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64)));
    const uint32_t *row = hk_lds_wrap(hk_row(w, op->dst), &offset, exec, wrapped);
    HkLdsLanes lanes = hk_check_lds_row(w, op, row, offset, exec, bytes, to_lds ? HK_LDS_WRITE : HK_LDS_READ);
    if (lanes.fault) return 1;
    if (w->group->profile && to_lds)
        w->group->counters->direct_to_lds_bytes += (uint64_t)__builtin_popcountll(lanes.exec) * bytes;
    HK_FOR_LANES(lane, exec) {
        uint8_t *memory = (uint8_t *)(uintptr_t)hk_address(&a, lane), *place = w->lds + offset + row[lane];
        int exists = (int)(lanes.exec >> lane & 1);
        if (to_lds && exists)
            memcpy(place, memory, bytes);
        else if (!to_lds && exists)
            memcpy(memory, place, bytes);
        else if (!to_lds)
            memset(memory, 0, bytes);
    }
    return 0;
}

HK_EXPORT int32_t hk_async_to_lds(Wave *w, const Op *op);
int32_t hk_async_to_lds(Wave *w, const Op *op) { return copy_lanes(w, op, 1); }

HK_EXPORT int32_t hk_async_from_lds(Wave *w, const Op *op);
int32_t hk_async_from_lds(Wave *w, const Op *op) { return copy_lanes(w, op, 0); }

/* Barriers in LDS: 64 bits with the arrivals that are pending, less one, in 15:0, the phase in 31:16, and the pending
 * count with which a phase begins in 47:32. The last arrival of a phase counts the phase down. */
static uint64_t arrived(uint64_t barrier, uint64_t arrivals) {
    uint64_t pending = barrier & 0xffff, phase = barrier >> 16 & 0xffff, first = barrier >> 32 & 0xffff;
    for (; arrivals > pending; pending = first) {
        arrivals -= pending + 1;
        phase = (phase - 1) & 0xffff;
    }
    pending -= arrivals;
    return (barrier & ~0xffffffffull) | phase << 16 | pending;
}

static uint64_t arrive_at(uint8_t *place, uint64_t arrivals) {
    uint64_t before = hk_get64(place);
    hk_put64(place, arrived(before, arrivals));
    return before;
}

/* Op fields: src0 the row of LDS addresses; src1 two rows of numbers of arrivals, or none: one for each lane; dst two
 * rows for the states before, or none. */
HK_EXPORT int32_t hk_barrier_arrive(Wave *w, const Op *op);
int32_t hk_barrier_arrive(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    if (w->group->watch != NULL) hk_watch_unknown(w);
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64))), offset = (uint32_t)op->offset;
    const uint32_t *row = hk_lds_wrap(hk_row(w, op->src0), &offset, exec, wrapped);
    HK_FOR_LANES(lane, exec) {
        if ((row[lane] + offset) & 7)
            return hk_fault(w, op, HK_FAULT_ALIGNMENT, (int32_t)lane, HK_SHARED_APERTURE | (row[lane] + offset), 8, 1);
    }
    HkLdsLanes lanes = hk_check_lds_row(w, op, row, offset, exec, 8, HK_LDS_WRITE);
    if (lanes.fault) return 1;
    HK_FOR_LANES(lane, exec) {
        uint64_t before = 0, arrivals = 1;
        if (op->src1 != HK_NO_REGISTER)
            arrivals = hk_row(w, op->src1)[lane] | (uint64_t)hk_row(w, op->src1 + 1u)[lane] << 32;
        if (lanes.exec >> lane & 1) before = arrive_at(w->lds + offset + row[lane], arrivals & 0xffff);
        if (op->dst == HK_NO_REGISTER) continue;
        hk_row(w, op->dst)[lane] = (uint32_t)before;
        hk_row(w, op->dst + 1u)[lane] = (uint32_t)(before >> 32);
    }
    return 0;
}

/* Copies of a tensor's tile. */
enum { DIMENSIONS = 5, MOST_INDICES = 16 };

typedef struct Tile {
    uint64_t memory; /* address of the tile's first element */
    uint32_t lds;
    uint32_t size;               /* bytes of an element */
    uint32_t tile[DIMENSIONS];   /* elements of the tile; 1 of a dimension that it lacks */
    uint32_t tensor[DIMENSIONS]; /* elements that exist, from the tile's first on */
    uint64_t stride[DIMENSIONS]; /* elements from one index to the next; 1 of dimension 0 */
    uint32_t pad_after, pad;     /* bytes after which a gap comes, and of the gap; 0: no gaps */
    uint32_t indices;            /* number of rows that a list names; 0: the tile's own rows */
    uint32_t index[MOST_INDICES];
    uint32_t times; /* the copy is repeated, with these steps */
    uint64_t memory_step;
    uint32_t lds_step;
    int arrives; /* nonzero: a barrier at `barrier` is told at the end */
    uint32_t barrier;
    uint64_t wrong; /* HK_TENSOR_*: what is wrong with the descriptor; else 0 */
    HkVisit visit;  /* called instead of moving anything, with `data`; NULL: the tile is copied */
    void *data;
} Tile;

/* `width` bits of a descriptor from bit `first`. */
static uint64_t bits(const uint32_t *words, unsigned first, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i += 32)
        value |= (uint64_t)(uint32_t)(words[(first + i) / 32] >> (first & 31) |
                                      ((first & 31) ? (uint64_t)words[(first + i) / 32 + 1] << (32 - (first & 31)) : 0))
                 << i;
    return value & (~0ull >> (64 - width));
}

static void read_descriptor(const Wave *w, const Op *op, int to_lds, Tile *t) {
    /* A word more than each group has, so that a field may end with its last bit. */
    uint32_t zero[4] = {0}, first[5] = {0}, second[9] = {0}, third[5] = {0}, fourth[5] = {0};
    memcpy(first, &w->s[op->ssrc0], 16);
    memcpy(second, &w->s[op->ssrc1], 32);
    memcpy(third, op->ssrc2 == HK_NO_REGISTER ? zero : &w->s[op->ssrc2], 16);
    memcpy(fourth, op->sdst == HK_NO_REGISTER ? zero : &w->s[op->sdst], 16);
    memset(t, 0, sizeof *t);
    int gathers = (int)bits(first, 31, 1), repeats = (int)bits(second, 19, 1) && !gathers;
    if (bits(first, 126, 2) != 2) t->wrong = HK_TENSOR_TYPE;
    if (bits(first, 2, 28) != 0 || bits(first, 121, 5) != 0) t->wrong = HK_TENSOR_RESERVED;
    /* Each work-group that the mask names does the same copy, to its own LDS (waiting for the others, which the order of
     * their accesses does not show). */
    uint32_t mask = (uint32_t)bits(second, 0, 16), size = w->group->cluster != NULL ? w->group->cluster_size : 0;
    if (to_lds && mask != 0 && (mask >> size != 0 || !(mask >> w->group->cluster_rank & 1)))
        t->wrong = HK_TENSOR_CLUSTER;
    if (t->wrong) return;
    t->memory = bits(first, 64, 57);
    t->lds = first[1];
    t->size = 1u << bits(second, 16, 2);
    t->tensor[0] = (uint32_t)bits(second, 48, 32);
    t->tensor[1] = (uint32_t)bits(second, 80, 32);
    t->tile[0] = (uint32_t)bits(second, 112, 16);
    t->tile[1] = (uint32_t)bits(second, 128, 16);
    t->tile[2] = gathers ? 0 : (uint32_t)bits(second, 144, 16);
    t->stride[0] = 1;
    t->stride[1] = bits(second, 160, 48);
    t->stride[2] = bits(second, 208, 48);
    t->times = 1;
    t->arrives = (int)bits(second, 18, 1);
    t->barrier = (uint32_t)bits(second, 32, 16) << 3;
    if (to_lds && bits(second, 20, 1)) {
        t->pad_after = 8u << bits(second, 22, 3);
        t->pad = 4 * ((uint32_t)bits(second, 25, 7) + 1);
    }
    if (gathers) {
        unsigned width = bits(first, 30, 1) ? 32 : 16, most = 256 / width;
        t->indices = t->tile[1] < most ? t->tile[1] : most;
        for (uint32_t i = 0; i < t->indices; i++)
            t->index[i] = (uint32_t)bits(i < most / 2 ? third : fourth, i % (most / 2) * width, width);
    } else {
        t->tensor[2] = third[0];
        if (repeats) {
            t->times = (uint32_t)bits(third, 112, 8) + 1;
            t->lds_step = third[1] * t->size;
            t->memory_step = bits(third, 64, 48) * t->size;
        } else {
            t->tensor[3] = third[1];
            t->stride[3] = bits(third, 64, 48);
            t->tile[3] = (uint32_t)bits(third, 112, 16);
            t->stride[4] = bits(fourth, 0, 48);
            t->tensor[4] = (uint32_t)bits(fourth, 48, 32);
            t->tile[4] = (uint32_t)bits(fourth, 80, 16);
        }
    }
    for (int d = 1; d < DIMENSIONS; d++)
        if (t->tile[d] == 0) {
            t->tile[d] = 1;
            t->tensor[d] = 1;
        }
}

/* Where the next byte goes in LDS, and how many came since the last gap. */
typedef struct Place {
    uint32_t lds, since;
} Place;

/* Moves `bytes` that follow each other in memory; of a load without memory, zeros. */
static int move(Wave *w, const Op *op, const Tile *t, Place *p, uint8_t *memory, uint32_t bytes, int to_lds) {
    while (bytes > 0) {
        uint32_t part = bytes;
        if (t->pad && t->pad_after - p->since < part) part = t->pad_after - p->since;
        if (t->visit == NULL && !hk_check_lds(w, op, p->lds, part, to_lds, -1)) return 0;
        uint8_t *lds = t->visit == NULL && hk_has_lds(w, p->lds, part) ? w->lds + p->lds : NULL;
        if (t->visit != NULL) {
            if (!t->visit(t->data, (uintptr_t)memory, p->lds, part)) return 0;
        } else if (to_lds && lds != NULL) {
            if (memory != NULL)
                memcpy(lds, memory, part);
            else
                memset(lds, 0, part);
        } else if (!to_lds && memory != NULL) {
            if (lds != NULL)
                memcpy(memory, lds, part);
            else
                memset(memory, 0, part);
        }
        if (memory != NULL) memory += part;
        bytes -= part;
        p->lds += part;
        p->since += part;
        if (t->pad && p->since == t->pad_after) {
            p->since = 0;
            p->lds += t->pad;
        }
    }
    return 1;
}

static int move_row(Wave *w, const Op *op, const Tile *t, Place *p, uint64_t address, int exists, int to_lds) {
    uint32_t inside = !exists ? 0 : t->tile[0] < t->tensor[0] ? t->tile[0] : t->tensor[0];
    uint32_t bytes = inside * t->size, rest = (t->tile[0] - inside) * t->size;
    uint8_t *memory = NULL;
    if (t->visit != NULL)
        memory = (uint8_t *)(uintptr_t)address;
    else if (bytes > 0 && (memory = hk_check(w, op, address, bytes, !to_lds, -1)) == NULL)
        return 0;
    if (w->group->profile && t->visit == NULL) {
        Counters *c = w->group->counters;
        *(to_lds ? &c->global_bytes_read : &c->global_bytes_written) += bytes;
        *(to_lds ? &c->lds_bytes_written : &c->lds_bytes_read) += bytes + (to_lds ? rest : 0);
        if (to_lds) c->direct_to_lds_bytes += bytes;
    }
    return (bytes == 0 || move(w, op, t, p, memory, bytes, to_lds)) &&
           (rest == 0 || move(w, op, t, p, NULL, rest, to_lds));
}

/* Moves or visits all rows of a tile; returns 0 where it had to stop. */
static int move_rows(Wave *w, const Op *op, const Tile *t, int to_lds) {
    for (uint32_t time = 0; time < t->times; time++) {
        Place p = {t->lds + time * t->lds_step, 0};
        uint64_t start = t->memory + time * t->memory_step;
        for (uint32_t i = 0; i < t->indices; i++)
            if (!move_row(w, op, t, &p, start + t->size * t->stride[1] * t->index[i], t->index[i] < t->tensor[1],
                          to_lds))
                return 0;
        if (t->indices > 0) continue;
        for (uint32_t e = 0; e < t->tile[4]; e++)
            for (uint32_t d = 0; d < t->tile[3]; d++)
                for (uint32_t z = 0; z < t->tile[2]; z++)
                    for (uint32_t y = 0; y < t->tile[1]; y++) {
                        int exists = y < t->tensor[1] && z < t->tensor[2] && d < t->tensor[3] && e < t->tensor[4];
                        uint64_t index = y * t->stride[1] + z * t->stride[2] + d * t->stride[3] + e * t->stride[4];
                        if (!move_row(w, op, t, &p, start + t->size * index, exists, to_lds)) return 0;
                    }
    }
    return 1;
}

int hk_visit_tile(Wave *w, const Op *op, int to_lds, HkVisit visit, void *data, uint32_t *barrier) {
    Tile t;
    if ((w->s[op->ssrc0] & 3) == 0) return 0;
    read_descriptor(w, op, to_lds, &t);
    if (t.wrong || t.tile[0] == 0) return 0;
    t.visit = visit;
    t.data = data;
    *barrier = t.barrier;
    return move_rows(w, op, &t, to_lds) && t.arrives;
}

static int32_t copy_tile(Wave *w, const Op *op, int to_lds) {
    Tile t;
    if ((w->s[op->ssrc0] & 3) == 0) return 0; /* a count of 0: nothing happens, not even an arrival */
    read_descriptor(w, op, to_lds, &t);
    if (t.wrong) return hk_fault(w, op, HK_FAULT_TENSOR, -1, t.wrong, 0, !to_lds);
    if (t.tile[0] == 0) return 0;
    if (w->group->watch != NULL) hk_watch_unknown(w);
    if (!move_rows(w, op, &t, to_lds)) return 1;
    if (t.arrives) {
        if (!hk_check_lds(w, op, t.barrier, 8, 1, -1)) return 1;
        if (hk_has_lds(w, t.barrier, 8)) arrive_at(w->lds + t.barrier, 1);
    }
    return 0;
}

/* Op fields: ssrc0, ssrc1, ssrc2 and sdst the first registers of the descriptor's four groups; the last two may be
 * absent. EXEC is ignored. */
HK_EXPORT int32_t hk_tensor_to_lds(Wave *w, const Op *op);
int32_t hk_tensor_to_lds(Wave *w, const Op *op) { return copy_tile(w, op, 1); }

HK_EXPORT int32_t hk_tensor_from_lds(Wave *w, const Op *op);
int32_t hk_tensor_from_lds(Wave *w, const Op *op) { return copy_tile(w, op, 0); }

/* Loads that transpose: 32 lanes read a matrix of 16 by 16 elements, of 6 and 4 bits one of 16 by 32 (8 bytes of a
 * lane hold 16 elements of 4 bits). Which lane gets which element: AMD's emulator rocjitsu, ds_transpose.h; with 16
 * bits also V_WMMA's layout, for which they are made. A lane that is not active contributes zeros.
 *
 * Op fields: src0 the addresses and dst the first row of the result, imm[0] the bits of an element; ssrc0 and offset
 * as in flat.c. */
enum { MOST_BYTES = 16 };

/* The element of `width` bits at number `i`. */
static uint32_t element(const uint8_t *piece, unsigned width, unsigned i) {
    unsigned bit = i * width;
    uint32_t value = piece[bit / 8] | (bit / 8 + 1 < MOST_BYTES ? (uint32_t)piece[bit / 8 + 1] << 8 : 0);
    return value >> bit % 8 & ((1u << width) - 1);
}

/* The lane whose piece has element `e` of the result of lane `l`, and the element's number there. */
static void source(unsigned width, unsigned l, unsigned e, unsigned *lane, unsigned *number) {
    switch (width) {
    case 16: /* 8 by 8 elements in 8 lanes */
        *lane = (l & ~7u) + e;
        *number = l & 7;
        break;
    case 8: /* four rows of eight columns in four lanes; the other columns in the next four lanes */
        *lane = (l & 16) + 8 * (e / 4) + (l >> 3 & 1) * 4 + e % 4;
        *number = l & 7;
        break;
    case 6: /* sixteen rows, four of each eight lanes */
        *lane = 8 * (e / 4) + e % 4 + 4 * (l / 16);
        *number = l % 16;
        break;
    default: /* eight rows of sixteen columns in eight lanes */
        *lane = 16 * (e / 8) + (l >> 4) * 8 + e % 8;
        *number = l % 16;
    }
}

static int32_t put_transposed(Wave *w, const Op *op, uint8_t pieces[HK_LANES][MOST_BYTES], uint64_t exec) {
    unsigned width = op->imm[0], count = width == 16 || width == 8 ? 8 : 16, rows = (count * width + 31) / 32;
    uint32_t result[4][HK_LANES];
    memset(result, 0, sizeof result);
    for (unsigned l = 0; l < HK_LANES; l++)
        for (unsigned e = 0; e < count; e++) {
            unsigned lane, number, bit = e * width;
            source(width, l, e, &lane, &number);
            uint64_t value = (uint64_t)element(pieces[lane], width, number) << bit % 32;
            result[bit / 32][l] |= (uint32_t)value;
            if (value >> 32) result[bit / 32 + 1][l] |= (uint32_t)(value >> 32);
        }
    for (unsigned r = 0; r < rows; r++) hk_row_blend(hk_row(w, op->dst + r), result[r], exec);
    return 0;
}

static uint32_t piece_bytes(const Op *op) { return op->imm[0] == 16 ? 16 : op->imm[0] == 6 ? 12 : 8; }

HK_EXPORT int32_t hk_lds_load_tr(Wave *w, const Op *op);
int32_t hk_lds_load_tr(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64))), offset = (uint32_t)op->offset, bytes = piece_bytes(op);
    const uint32_t *row = hk_lds_wrap(hk_row(w, op->src0), &offset, exec, wrapped);
    HkLdsLanes lanes = hk_check_lds_row(w, op, row, offset, exec, bytes, HK_LDS_TRANSPOSE);
    if (lanes.fault) return 1;
    uint8_t pieces[HK_LANES][MOST_BYTES] = {0};
    HK_FOR_LANES(lane, lanes.exec) { memcpy(pieces[lane], w->lds + offset + row[lane], bytes); }
    return put_transposed(w, op, pieces, exec);
}

HK_EXPORT int32_t hk_global_load_tr(Wave *w, const Op *op);
int32_t hk_global_load_tr(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    uint32_t bytes = piece_bytes(op);
    HkAddresses a;
    hk_global_addresses(w, op, exec, &a);
    if (hk_check_addresses(w, op, &a, bytes, 0)) return 1;
    uint8_t pieces[HK_LANES][MOST_BYTES] = {0};
    HK_FOR_LANES(lane, exec) { memcpy(pieces[lane], (const void *)(uintptr_t)hk_address(&a, lane), bytes); }
    return put_transposed(w, op, pieces, exec);
}
