/* Undefined values in registers: lanes of vector registers, bits of scalars.
 *
 * They are tracked, and reported only when they are stored to global memory, decide a branch or EXEC, or are used as an
 * address.
 */
#include "observe/sanitizer/state.h"

#include "ops/crosslane.h"

static uint64_t scalar_pair(const SanWave *sw, uint32_t index, uint32_t count) {
    return (uint64_t)sw->scalar_undefined[index] | (count > 1 ? (uint64_t)sw->scalar_undefined[index + 1] << 32 : 0);
}

static void set_scalars(SanWave *sw, const SanOp *o, uint32_t undefined) {
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) sw->scalar_undefined[o->sdst[i] + n] = undefined;
}

static void set_scalar_lanes(SanWave *sw, const SanOp *o, uint64_t undefined) {
    for (int i = 0; i < 2; i++) {
        if (o->sdst_count[i] == 0) continue;
        sw->scalar_undefined[o->sdst[i]] = (uint32_t)undefined;
        if (o->sdst_count[i] > 1) sw->scalar_undefined[o->sdst[i] + 1] = (uint32_t)(undefined >> 32);
    }
}

uint64_t san_origin(const SanWave *sw, const SanOp *o, int first, int last, uint64_t lanes) {
    uint64_t here = o->op.pc, origin;
    for (int i = first; i <= last; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++)
            if (undefined_row(sw, o->src[i] + n) & lanes) {
                origin = sw->origin[o->src[i] + n];
                return origin ? origin : here | (o->src[i] + n + 1ull) << SAN_ORIGIN_WHAT;
            }
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->ssrc_count[i]; n++)
            if (sw->scalar_undefined[o->ssrc[i] + n]) {
                origin = sw->scalar_origin[o->ssrc[i] + n];
                return origin ? origin : here | (SAN_ORIGIN_SCALAR + o->ssrc[i] + n + 1ull) << SAN_ORIGIN_WHAT;
            }
    return here;
}

void san_mark(SanWave *sw, const SanOp *o, uint64_t origin) {
    for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) sw->origin[o->dst + n] = origin;
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) sw->scalar_origin[o->sdst[i] + n] = origin;
    if (o->flags & SAN_WRITES_SCC) sw->scalar_origin[SAN_SCC] = origin;
}

/* Marks the results undefined if the sources are; called before the results are set. */
static void pass_on(SanWave *sw, const SanOp *o, uint64_t lanes) {
    san_mark(sw, o, san_origin(sw, o, 0, SAN_SOURCES - 1, lanes));
}

static void undefined_branch(Wave *w, const SanOp *o, uint64_t lanes) {
    const SanWave *sw = w->san;
    san_found(w, SAN_FOUND_UNDEFINED_BRANCH, &o->op, san_origin(sw, o, 0, SAN_SOURCES - 1, lanes ? lanes : ~0ull),
              lanes ? (int32_t)hk_first_lane(lanes) : -1, 0, 0, 0, 0);
}

/* Lanes of a vector result that undefined scalar sources affect. */
static uint64_t scalar_lanes(const SanWave *sw, const SanOp *o, uint64_t *mask) {
    uint64_t u = 0;
    int last = -1;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (o->ssrc_count[i]) last = i;
    for (int i = 0; i <= last; i++) {
        if (i == last && (o->flags & SAN_MASK_SOURCE))
            *mask = scalar_pair(sw, o->ssrc[i], o->ssrc_count[i]);
        else if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i]))
            u = ~0ull;
    }
    return u;
}

void san_vector(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t mask = 0, u = scalar_lanes(sw, o, &mask);
    if (o->flags & SAN_SELECT) {
        uint64_t all = ~0ull;
        int sources = 0;
        for (int i = 0; i < SAN_SOURCES; i++) {
            if (o->src_count[i] == 0) continue;
            sources++;
            all &= undefined_rows(sw, o->src[i], o->src_count[i]);
        }
        u = sources && !(o->imm & 1) ? all & (o->ssrc_count[0] > 0 && !(o->flags & SAN_MASK_SOURCE) ? u : ~0ull) : 0;
    } else {
        for (int i = 0; i < SAN_SOURCES; i++) {
            uint64_t v = undefined_rows(sw, o->src[i], o->src_count[i]);
            if (i == 0 && (o->flags & SAN_CROSS)) v = (v & exec) == exec ? exec : 0;
            u |= v;
        }
        if (o->flags & SAN_KEEP) u |= undefined_rows(sw, o->dst, o->dst_count);
    }
    if (o->flags & SAN_SAME) u = 0;
    u |= mask;
    if (u & exec) pass_on(sw, o, u & exec);
    if (o->flags & SAN_DPP) {
        /* Inactive lanes keep their old value. */
        for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) {
            uint64_t *d = &sw->undefined[o->dst + n];
            *d &= u | ~exec;
        }
    } else
        set_rows(sw, o->dst, o->dst_count, exec, u);
    if (o->flags & SAN_TO_EXEC) {
        if (u & exec) undefined_branch(w, o, u & exec);
    }
    if (o->sdst_count[0]) set_scalar_lanes(sw, o, u & exec);
}

/* Undefined bits that a dword of a 64-bit result takes from a source: those of the same dword, and of the other dword
 * if it affects this one. */
static uint64_t carried(const SanOp *o, uint32_t word, uint32_t count, uint64_t low, uint64_t high) {
    if (count < 2) return low;
    if (o->flags & SAN_CARRY) return word == 0 ? low : low | high;
    return word == 0 ? low & high : high;
}

static void carry_words(SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t results[2] = {0, 0};
    for (uint32_t n = 0; n < 2; n++)
        for (int i = 0; i < SAN_SOURCES; i++) {
            if (o->src_count[i])
                results[n] |=
                    carried(o, n, o->src_count[i], undefined_row(sw, o->src[i]), undefined_row(sw, o->src[i] + 1u));
            if (o->ssrc_count[i]) {
                uint64_t low = sw->scalar_undefined[o->ssrc[i]] ? ~0ull : 0;
                uint64_t high = o->ssrc_count[i] > 1 && sw->scalar_undefined[o->ssrc[i] + 1] ? ~0ull : 0;
                results[n] |= carried(o, n, o->ssrc_count[i], low, high);
            }
        }
    if (results[0] | results[1]) pass_on(sw, o, exec);
    for (uint32_t n = 0; n < o->dst_count && n < 2; n++) set_rows(sw, o->dst + n, 1, exec, results[n]);
    if (o->dst_count)
        set_scalar_lanes(sw, o, results[1] & exec);
    else
        for (uint32_t n = 0; n < o->sdst_count[0] && n < 2; n++)
            sw->scalar_undefined[o->sdst[0] + n] = results[n] ? ~0u : 0;
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = results[0] | results[1] ? ~0u : 0;
}

void san_words(SanWave *sw, const SanOp *o, uint64_t exec) {
    if (o->flags & (SAN_CARRY | SAN_CARRY_DOWN)) {
        carry_words(sw, o, exec);
        return;
    }
    uint64_t results[8] = {0};
    uint32_t count = o->dst_count < 8 ? o->dst_count : 8;
    for (uint32_t n = 0; n < count; n++)
        for (int i = 0; i < SAN_SOURCES; i++) {
            /* imm: for each source, the dwords that each half of the result reads. */
            uint32_t word = n < 2 ? o->imm >> (2 * i + n) & 1 : n;
            if (o->flags & SAN_KEEP) word = n;
            if (o->src_count[i]) results[n] |= undefined_row(sw, o->src[i] + (word < o->src_count[i] ? word : 0u));
            if (o->ssrc_count[i] && sw->scalar_undefined[o->ssrc[i] + (word < o->ssrc_count[i] ? word : 0u)])
                results[n] = ~0ull;
        }
    uint64_t all = 0;
    for (uint32_t n = 0; n < count; n++) all |= results[n];
    if (all & exec) pass_on(sw, o, all & exec);
    for (uint32_t n = 0; n < count; n++) set_rows(sw, o->dst + n, 1, exec, results[n]);
}

void san_scalar_bits(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint32_t how = o->flags >> 24;
    uint64_t u[2] = {0, 0};
    int is_exec[2] = {0, 0}, count = 0;
    for (int i = 0; i < SAN_SOURCES && count < 2; i++) {
        if (o->ssrc_count[i] == 0 || o->ssrc[i] == SAN_SCC) continue;
        u[count] = scalar_pair(sw, o->ssrc[i], o->ssrc_count[i]);
        is_exec[count++] = o->ssrc[i] == HK_EXEC && o->ssrc_count[i] == HK_MASK_DWORDS;
    }
    uint64_t result;
    switch (how) {
    case SAN_BITS_AND:
        result = is_exec[0] ? u[1] & exec : is_exec[1] ? u[0] & exec : u[0] | u[1];
        break;
    case SAN_BITS_OR:
        result = is_exec[0] ? u[1] & ~exec : is_exec[1] ? u[0] & ~exec : u[0] | u[1];
        break;
    case SAN_BITS_ANDN2:
        result = is_exec[0] ? u[1] & exec : is_exec[1] ? u[0] & ~exec : u[0] | u[1];
        break;
    case SAN_BITS_SELECT:
        result = count > 1 ? u[0] & u[1] : 0;
        if (sw->scalar_undefined[SAN_SCC]) result = ~0ull;
        break;
    default:
        result = u[0] | u[1];
    }
    if (o->flags & SAN_SAME) result = 0;
    if (o->flags & SAN_TO_EXEC) {
        if (result) undefined_branch(w, o, result);
        result = 0;
    }
    if (result) pass_on(sw, o, ~0ull);
    set_scalar_lanes(sw, o, result);
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = result ? ~0u : 0;
}

void san_scalar(SanWave *sw, const SanOp *o) {
    uint32_t u = 0;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i])) u = ~0u;
    if (o->flags & SAN_SAME) u = 0;
    if (u) pass_on(sw, o, ~0ull);
    set_scalars(sw, o, u);
    if (o->flags & SAN_WRITES_SCC) sw->scalar_undefined[SAN_SCC] = u;
}

static uint64_t fold(uint64_t lanes, unsigned columns) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < HK_LANES; shift += columns) result |= lanes >> shift;
    return result & HK_ALL_LANES >> (HK_LANES - columns);
}

/* Row i of A is in the lanes congruent to i modulo the columns, column j of B and D likewise; D's rows are spread over
 * registers (ops/matrix.h). With several blocks, only whole registers are tracked. */
void san_matrix(SanWave *sw, const SanOp *o) {
    uint64_t a = undefined_rows(sw, o->src[0], o->src_count[0]), b = undefined_rows(sw, o->src[1], o->src_count[1]);
    if ((a | b) == 0 && o->src_count[2] == 0) {
        set_rows(sw, o->dst, o->dst_count, HK_ALL_LANES, 0);
        return;
    }
    unsigned columns = o->columns;
    uint64_t rows_a = 0, column_lanes = 0;
    if (columns == 0) {
        if (a == HK_ALL_LANES || b == HK_ALL_LANES) column_lanes = HK_ALL_LANES;
    } else {
        rows_a = fold(a, columns);
        uint64_t c = fold(b, columns);
        for (unsigned shift = 0; shift < HK_LANES; shift += columns) column_lanes |= c << shift;
    }
    uint64_t results[32];
    for (uint32_t r = 0; r < o->dst_count && r < 32; r++) {
        uint64_t u = column_lanes;
        if (rows_a)
            for (unsigned g = 0; g < HK_LANES / columns; g++) {
                unsigned row = columns == 16 ? 4 * g + (r & 3) : 8 * (r / 4) + 4 * g + (r & 3);
                uint64_t lanes = ((1ull << columns) - 1) << (g * columns);
                if (rows_a >> row & 1) u |= lanes;
            }
        if (o->src_count[2]) u |= undefined_row(sw, o->src[2] + (r < o->src_count[2] ? r : 0));
        results[r] = u;
    }
    uint64_t all = 0;
    for (uint32_t r = 0; r < o->dst_count && r < 32; r++) all |= results[r];
    if (all) pass_on(sw, o, ~0ull);
    for (uint32_t r = 0; r < o->dst_count && r < 32; r++) set_rows(sw, o->dst + r, 1, HK_ALL_LANES, results[r]);
}

/* Lanes that swap with a disabled lane; `distance` is 16 or 32. */
static uint64_t swap_alone(uint64_t exec, unsigned distance) {
    uint64_t low = distance == 16 ? 0x0000ffff0000ffffull : 0x00000000ffffffffull;
    return exec & ~((exec & low) << distance | (exec >> distance & low));
}

void san_shuffle(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    uint64_t u = 0, alone = o->imm ? swap_alone(exec, o->imm) : 0;
    if (alone) {
        unsigned lane = hk_first_lane(alone);
        san_found(w, SAN_FOUND_LANE_OFF, &o->op, ~0ull, (int32_t)lane, 0, lane ^ o->imm, 0, 0);
    }
    int all = 1;
    for (int i = 0; i < SAN_SOURCES; i++) {
        uint64_t v = undefined_rows(sw, o->src[i], o->src_count[i]);
        int whole = (v & exec) == exec;
        if (o->src_count[i] && whole) u = ~0ull;
        if (o->src_count[i] && !whole) all = 0;
    }
    if ((o->flags & SAN_KEEP) && !all) u = 0;
    if (u) pass_on(sw, o, exec);
    set_rows(sw, o->dst, o->dst_count, exec, u);
    /* A swap writes its source, too. */
    if (o->flags & SAN_KEEP) set_rows(sw, o->src[0], o->src_count[0], exec, u);
}

/* A lane reads another lane's data. For a disabled lane the ISA gives 0, which is defined if the program uses the
 * instruction itself (DS_SWIZZLE); but DS_BPERMUTE is what __shfl compiles to, and HIP leaves that result undefined. */
void san_gather(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    int by_address = (o->flags & SAN_INDEXED) != 0;
    const uint32_t *address = hk_row(w, o->src[0]);
    uint64_t given = undefined_row(sw, o->src[by_address]) & exec, taken = 0, off = 0;
    unsigned last = 0;
    HK_FOR_LANES(lane, exec) {
        unsigned from = by_address ? hk_bpermute_source(address[lane] + (uint32_t)o->op.offset)
                                   : hk_swizzle_source((uint32_t)o->op.offset & 0xffff, lane);
        taken |= (given >> from & 1) << lane;
        if (!by_address || exec >> from & 1) continue;
        off |= 1ull << lane;
        last = from;
    }
    if (off) {
        san_found(w, SAN_FOUND_LANE_OFF, &o->op, ~0ull, (int32_t)(63 - __builtin_clzll(off)), 0, last, 0, 0);
        san_mark(sw, o, (uint32_t)o->op.pc);
    } else if (taken)
        pass_on(sw, o, given);
    set_rows(sw, o->dst, 1, exec, taken | off);
}

void san_read_lane(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    unsigned lane = o->imm;
    if (lane == SAN_FIRST_ACTIVE)
        lane = exec ? hk_first_lane(exec) : 0;
    else if (lane == SAN_IN_REGISTER)
        lane = w->s[o->ssrc[0]] % HK_LANES;
    if (exec && !(exec >> lane & 1) && !(o->flags & SAN_SPILLS))
        san_found(w, SAN_FOUND_LANE_OFF, &o->op, ~0ull, -1, 0, lane, 0, 0);
    int u = (int)(undefined_row(sw, o->src[0]) >> lane & 1);
    if (u) pass_on(sw, o, 1ull << lane);
    set_scalars(sw, o, u ? ~0u : 0);
}

void san_write_lane(Wave *w, SanWave *sw, const SanOp *o) {
    unsigned lane = o->imm == SAN_IN_REGISTER ? w->s[o->ssrc[1]] % HK_LANES : o->imm % HK_LANES;
    uint64_t bit = 1ull << lane;
    /* A scalar that is undefined in part is a mask, and those lanes are off; spilled, it is followed as a whole. */
    int u = o->ssrc_count[0] && sw->scalar_undefined[o->ssrc[0]] == ~0u;
    if (u) pass_on(sw, o, ~0ull);
    set_rows(sw, o->dst, o->dst_count, bit, u ? bit : 0);
}

void san_branch(Wave *w, SanWave *sw, const SanOp *o) {
    int decided = 1;
    for (int i = 0; i < SAN_SOURCES; i++)
        if (scalar_any(sw, o->ssrc[i], o->ssrc_count[i])) {
            decided = 0;
        }
    if (!decided) undefined_branch(w, o, 0);
    set_scalars(sw, o, 0); /* the return address of a call */
}
