/* LDS: writers and readers of each dword since the barriers, and undefined contents.
 *
 * Two accesses of different waves are ordered by a barrier between them, or because one wave has read a write of the
 * other (order.c).
 */
#include "observe/sanitizer/state.h"
#include "observe/sanitizer/waits.h"

/* Four dwords that were written together, and since then used together only, share one cell: the first one's cell, its
 * `quick` and its read numbers apply to all. This separates them. */
static void part(SanGroup *sg, uint64_t dword) {
    sg->together[dword / 4] = 0;
    for (uint64_t n = dword + 1; n < dword + 4; n++) {
        sg->lds[n] = sg->lds[dword];
        sg->quick[n] = sg->quick[dword];
        for (uint32_t i = 0; i < sg->wave_count; i++)
            sg->lds_reads[i * sg->lds_dwords + n] = sg->lds_reads[i * sg->lds_dwords + dword];
    }
}

/* Gives each dword of an access its own cell. */
static void part_all(SanGroup *sg, uint64_t offset, uint32_t bytes) {
    for (uint64_t dword = offset / 16 * 4; dword * 4 < offset + bytes && dword + 4 <= sg->lds_dwords; dword += 4)
        if (sg->together[dword / 4]) part(sg, dword);
}

/* Number of cells of an access of whole dwords, starting at that of its first dword; 0: it needs the full check. */
HK_INLINE uint32_t cells_of(SanGroup *sg, uint64_t offset, uint32_t bytes) {
    if (((offset | bytes) & 3) || offset + bytes > 4ull * sg->lds_dwords) return 0;
    if (bytes == 16 && !(offset & 15)) return sg->together[offset / 16] ? 1 : 4;
    part_all(sg, offset, bytes);
    return bytes / 4;
}

/* Bits of `quick` that say that a wave may read, or write, without a check. */
HK_INLINE uint64_t reads_quickly(uint32_t wave) { return HK_WAVES <= 16 || wave < 16 ? 1ull << wave : 0; }
HK_INLINE uint64_t writes_quickly(uint32_t wave) { return reads_quickly(wave) << 16; }

/* True if an access can have no new finding: this wave has made the same one since the last barrier, without a finding,
 * and no other wave has accessed the dword in between. */
HK_INLINE int nothing_new(const SanGroup *sg, uint64_t dword, uint64_t bit) {
    uint64_t wanted = (uint64_t)sg->epoch << 32 | bit;
    return bit && (sg->quick[dword] & (0xffffffff00000000ull | bit)) == wanted;
}

/* What of this wave's copies is complete at a write. An arrival that a counter of copies counts comes behind those
 * before it, and at the end of a copy of a tile behind that one. */
HK_INLINE void note_copied(const SanWave *sw, LdsWrite *write) {
#if HK_COPIES
    write->copied[0] = sw->apart[COUNTS_ASYNC].done;
    write->copied[1] = sw->apart[COUNTS_TENSOR].done;
    if ((write->how & 4) && (write->how & COPIES))
        write->copied[write->how & SAN_UNDER_WAY_ASYNC ? 0 : 1] = write->number;
#else
    (void)sw, (void)write;
#endif
}

/* Reads of whole dwords whose cells need no check. */
HK_INLINE int quick_read(const SanWave *sw, uint64_t offset, uint32_t cells) {
    for (uint64_t dword = offset / 4; dword < offset / 4 + cells; dword++)
        if (!nothing_new(sw->group, dword, reads_quickly(sw->index))) return 0;
    return 1;
}

/* The same for writes: only the cell's record of the newest write changes. */
HK_INLINE int quick_write(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t cells, uint32_t how, uint32_t number) {
    SanGroup *sg = sw->group;
    for (uint64_t dword = offset / 4; dword < offset / 4 + cells; dword++) {
        const LdsCell *c = &sg->lds[dword];
        if (!nothing_new(sg, dword, writes_quickly(sw->index)) || c->write.how != how) return 0;
    }
    for (uint64_t dword = offset / 4; dword < offset / 4 + cells; dword++) {
        LdsCell *c = &sg->lds[dword];
        c->write.number = number;
        c->write.done = sw->vm_done;
        c->write.global = sw->vm_issued;
        note_copied(sw, &c->write);
        c->write.pc = (uint32_t)o->op.pc;
        c->write.undefined = 0;
    }
    return 1;
}

/* True if the newest writes of the cells are ordered before this wave's next access: they are its own, or were made
 * before a barrier that the writer passed after waiting for them. */
HK_INLINE int follows_writes(const SanWave *sw, const LdsCell *cells, uint32_t count) {
    const SanGroup *sg = sw->group;
    uint32_t me = sw->index, writer = 255, done[2] = {0, 0};
    for (uint32_t n = 0; n < count; n++) {
        const LdsWrite *c = &cells[n].write;
        if (c->writer == me) {
            if ((c->how & 2) && c->number > done_of(sw, c->how)) return 0;
        } else if (c->writer != 255) {
            if (c->writer != writer) {
                const SanWave *other = &sg->waves[writer = c->writer];
                done[0] = other->lgkm_published;
                done[1] = other->vm_published;
            }
            uint32_t known =
                HK_COPIES && (c->how & COPIES) ? published_of(&sg->waves[writer], c->how) : done[c->how >> 1 & 1];
            if (c->epoch == sg->epoch || c->number > known) return 0;
        }
    }
    return 1;
}

/* Reads of whole dwords without a finding; returns 0, with nothing done, if they need the full check. */
HK_INLINE int plain_read(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t count, uint32_t number) {
    SanGroup *sg = sw->group;
    uint32_t me = sw->index, epoch = sg->epoch;
    LdsCell *cells = &sg->lds[offset / 4];
    uint64_t *quick = &sg->quick[offset / 4];
    uint32_t *numbers = &sg->lds_reads[me * sg->lds_dwords + offset / 4];
    for (uint32_t n = 0; n < count; n++)
        if (cells[n].write.undefined || (cells[n].read_epoch == epoch && cells[n].read_mask != 15)) return 0;
    if (!follows_writes(sw, cells, count)) return 0;
    for (uint32_t n = 0; n < count; n++) {
        LdsCell *c = &cells[n];
        c->readers = (WaveMask)((c->read_epoch == epoch ? c->readers : 0u) | 1u << me);
        c->read_mask = 15;
        c->read_epoch = epoch;
        c->read_pc = (uint32_t)o->op.pc;
        numbers[n] = number;
        uint64_t kept = quick[n] >> 32 == epoch ? quick[n] & (0xffffull | writes_quickly(me)) : 0;
        quick[n] = (uint64_t)epoch << 32 | kept | reads_quickly(me);
    }
    return 1;
}

/* Writes of whole dwords that no other wave has used since the last barrier; 0 as above. */
HK_INLINE int plain_write(SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, uint32_t count, uint32_t how,
                          uint32_t number) {
    SanGroup *sg = sw->group;
    if (how & 4) return 0;
    uint32_t me = sw->index, epoch = sg->epoch, read = 0;
    LdsCell *cells = &sg->lds[offset / 4];
    uint64_t *quick = &sg->quick[offset / 4];
    for (uint32_t n = 0; n < count; n++) {
        if (cells[n].read_epoch != epoch) continue;
        if (cells[n].readers & ~(1u << me)) return 0;
        read = 1;
    }
    if (!follows_writes(sw, cells, count)) return 0;
    if (bytes == 16 && count == 4 && !(offset & 15) && !read) {
        sg->together[offset / 16] = 1;
        count = 1;
    }
    LdsWrite now = {
        .epoch = epoch,
        .pc = (uint32_t)o->op.pc,
        .number = number,
        .done = sw->vm_done,
        .global = sw->vm_issued,
        .writer = (uint8_t)me,
        .mask = 15,
        .how = (uint8_t)how,
    };
    note_copied(sw, &now);
    for (uint32_t n = 0; n < count; n++) {
        cells[n].write = now;
        quick[n] = (uint64_t)epoch << 32 | writes_quickly(me);
    }
    return 1;
}

static void note_write(const SanWave *sw, const SanOp *o, LdsCell *c, uint8_t mask, uint32_t how, uint32_t number) {
    uint32_t me = sw->index, epoch = sw->group->epoch;
    how &= ~ACCESS_FLAG;
    int mine = c->write.writer == me && c->write.epoch == epoch;
    c->write.undefined &= (uint8_t)~mask;
    c->write.atomics = how & 4 ? (WaveMask)(c->write.atomics | 1u << me) : 0;
    /* Other waves' atomics may swap places with this one, but not with the plain write before it. */
    if (mine && (how & 4) && !(c->write.how & 4)) return;
    c->write.mask = mine && c->write.how == how ? c->write.mask | mask : mask;
    c->write.writer = (uint8_t)me;
    c->write.epoch = epoch;
    c->write.number = number;
    c->write.pc = (uint32_t)o->op.pc;
    c->write.how = (uint8_t)how;
    c->write.done = sw->vm_done;
    c->write.global = sw->vm_issued;
    note_copied(sw, &c->write);
}

void san_lds_access(Wave *w, SanWave *sw, const SanOp *o, uint64_t offset, uint32_t bytes, unsigned lane, int is_write,
                    int source, uint32_t how, uint32_t number, uint32_t *undefined) {
    SanGroup *sg = sw->group;
    uint64_t end = offset + bytes;
    uint32_t me = sw->index;
    *undefined = 0;
    part_all(sg, offset, bytes);
    for (uint64_t dword = offset / 4; dword * 4 < end && dword < sg->lds_dwords; dword++) {
        LdsCell *c = &sg->lds[dword];
        uint64_t before = sw->group->san->report_total;
        uint32_t first = dword * 4 < offset ? (uint32_t)(offset & 3) : 0;
        uint32_t last = dword * 4 + 4 > end ? (uint32_t)(end - dword * 4) : 4;
        uint8_t mask = (uint8_t)((15u >> (4 - (last - first))) << first);
        int atomic = (how & ACCESS_FLAG) || ((how & 4) && (c->write.how & 4));
        if (c->write.writer != 255 && (c->write.mask & mask) && !atomic) {
            if (c->write.writer != me) {
                SanWave *other = &sg->waves[c->write.writer];
                const SanOrder *known = &sw->known.of[c->write.writer];
                int synced = c->write.number <= ordered_of(known, c->write.how);
                if (c->write.epoch == sg->epoch) {
                    if (!synced && !(is_write && san_same_in_lds(w, o, source, offset, lane)))
                        san_found(w, SAN_FOUND_RACE_LDS, &o->op, c->write.pc, (int32_t)lane, dword * 4,
                                  is_write ? 2 : 0, w->group->index, c->write.writer);
                } else {
                    uint32_t known = published_of(other, c->write.how), passed = passed_of(other, c->write.how);
                    if (c->write.number > known && !synced &&
                        !(is_write && san_same_in_lds(w, o, source, offset, lane))) {
                        /* Behind the signal of the barrier, and before the wait for it. */
                        int is_apart = c->write.number > passed;
                        uint32_t kind = is_write ? SAN_FOUND_OVERWRITE_LDS : SAN_FOUND_PUBLISH_LDS;
                        uint32_t detail = is_apart ? (is_write ? 2 : 0) : c->write.how & (3 | COPIES);
                        san_found(w, is_apart ? SAN_FOUND_RACE_LDS : kind, &o->op, c->write.pc, (int32_t)lane,
                                  dword * 4, detail, w->group->index, c->write.writer);
                    }
                }
            } else if ((c->write.how & 2) && c->write.number > done_of(sw, c->write.how) &&
                       (!(how & 2) || ((how ^ c->write.how) & COPIES) || (HK_COPIES && !is_write)))
                /* Loads of one counter write in order; nothing else is in order with them. */
                san_found(w, SAN_FOUND_WAIT_LDS, &o->op, c->write.pc, (int32_t)lane, dword * 4,
                          c->write.how & (3 | COPIES), 0, 0);
            else if ((how & 2) && !(c->write.how & 2) && c->write.number > sw->lgkm_done)
                san_found(w, is_write ? SAN_FOUND_OVERWRITE_LDS : SAN_FOUND_WAIT_LDS, &o->op, c->write.pc,
                          (int32_t)lane, dword * 4, is_write ? SAN_UNDER_WAY_OWN_WRITE : SAN_UNDER_WAY_LGKM,
                          w->group->index, me);
        }
        if (is_write) {
            uint32_t others = c->readers & ~(1u << me);
            if (c->read_epoch != sg->epoch || !(c->read_mask & mask)) others = 0;
            for (; others; others &= others - 1) {
                uint32_t other = (uint32_t)__builtin_ctz(others);
                if (sg->lds_reads[other * sg->lds_dwords + dword] <= sw->known.of[other].lgkm) continue;
                san_found(w, SAN_FOUND_RACE_LDS, &o->op, c->read_pc, (int32_t)lane, dword * 4, 1, w->group->index,
                          other);
                break;
            }
            note_write(sw, o, c, mask, how, number);
            int whole = mask == 15 && !(how & 4) && before == sg->san->report_total;
            sg->quick[dword] = whole ? (uint64_t)sg->epoch << 32 | writes_quickly(me) : 0;
        } else {
            if (c->write.undefined & mask) *undefined |= 1u << (dword - offset / 4 < 4 ? dword - offset / 4 : 3);
            if (how & ACCESS_FLAG) continue;
            if (c->read_epoch != sg->epoch || (c->readers != (1u << me) && c->read_mask != mask)) {
                c->readers = 0;
                c->read_mask = 0;
            }
            c->readers |= (WaveMask)(1u << me);
            c->read_mask |= mask;
            c->read_epoch = sg->epoch;
            c->read_pc = (uint32_t)o->op.pc;
            sg->lds_reads[me * sg->lds_dwords + dword] = number;
            uint64_t q = sg->quick[dword];
            /* Another wave may repeat its write without a check only until this read. */
            q = q >> 32 == sg->epoch ? q & (0xffffffff0000ffffull | writes_quickly(me)) : (uint64_t)sg->epoch << 32;
            if (mask == 15 && c->write.undefined == 0 && before == sg->san->report_total) q |= reads_quickly(me);
            sg->quick[dword] = q;
        }
    }
}

void san_lds_undefine(SanWave *sw, uint64_t offset, uint32_t bytes, uint32_t words, uint64_t origin) {
    sw->group->lds_origin = origin;
    part_all(sw->group, offset, bytes);
    for (uint32_t n = 0; n * 4 < bytes; n++) {
        uint64_t dword = offset / 4 + n;
        if (!(words >> n & 1) || dword >= sw->group->lds_dwords) continue;
        sw->group->lds[dword].write.undefined = 15;
        sw->group->quick[dword] = 0;
    }
}

uint32_t san_lds_how(const SanOp *o) {
    return 1u | (o->flags & SAN_ATOMIC ? 4u : 0u) | (o->flags & (SAN_POLLS | SAN_EXPECTS) ? ACCESS_FLAG : 0u);
}

void san_lds_flag(SanWave *sw, uint64_t offset, uint32_t number) {
    part_all(sw->group, offset, 4);
    if (offset / 4 < sw->group->lds_dwords) san_lds_learn(sw, &sw->group->lds[offset / 4], number);
}

static uint32_t lds_alignment(const SanOp *o) {
    if (o->flags & SAN_TRANSPOSED) return 8;
    return o->bytes == 8 ? 8 : o->bytes >= 12 ? 16 : 1;
}

static void lds_addresses(const Wave *w, const SanOp *o, uint32_t offset, uint32_t *at) {
    const uint32_t *row = o->src_count[0] ? hk_row(w, o->src[0]) : NULL;
    for (uint32_t lane = 0; lane < HK_LANES; lane++)
        at[lane] = (row != NULL ? row[lane] : (w->s[HK_M0] & 0xffff) + 4 * lane) + offset;
}

/* Whether a lane's address lies between two dwords. Compilers merge accesses of bytes and halves into one of 8 or 16
 * bytes, which LDS serves at any address; elements of whole dwords they merge only as far as these are aligned. */
static int is_between_dwords(const Wave *w, const SanOp *o, uint64_t exec, uint32_t offset) {
    uint32_t at[HK_LANES], low = 0;
    lds_addresses(w, o, offset, at);
    HK_FOR_LANES(lane, exec) low |= at[lane];
    return (low & 3) != 0;
}

static void lds_one(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec, uint32_t offset, uint32_t first_row,
                    int source) {
    const uint32_t *row = o->src_count[0] ? hk_row(w, o->src[0]) : NULL;
    uint32_t rows = (o->bytes + 3u) / 4u, alignment = lds_alignment(o);
    int is_write = (o->flags & (SAN_STORE | SAN_ATOMIC)) != 0;
    int is_strict = (o->flags & (SAN_TRANSPOSED | SAN_ATOMIC)) != 0;
    uint32_t how = san_lds_how(o), number = sw->lgkm_issued + 1;
    if (HK_COPIES && (o->flags & SAN_ASYNC)) {
        /* An arrival at a barrier in LDS that asynccnt counts. */
        how = (how & ~1u) | 2 | SAN_UNDER_WAY_ASYNC;
        number = sw->apart[COUNTS_ASYNC].issued + 1;
    }
    int learns = (o->flags & SAN_POLLS) || ((o->flags & SAN_ATOMIC) && (o->flags & SAN_LOAD));
    uint64_t result[4] = {0};
    int is_data_undefined = (o->flags & SAN_STORE) && undefined_rows(sw, o->src[source], o->src_count[source]) != 0;
    if ((o->flags & SAN_STORE) && (sw->group->reads_passed || san_copies_out(sw))) {
        uint32_t at[HK_LANES];
        lds_addresses(w, o, offset, at);
        san_check_reads(w, sw, o, source, exec, at, o->bytes);
    }
    HK_FOR_LANES(lane, exec) {
        uint64_t at = (uint32_t)((row != NULL ? row[lane] : (w->s[HK_M0] & 0xffff) + 4 * lane) + offset);
        uint32_t undefined;
        if (at & (alignment - 1)) {
            if (!is_strict && is_between_dwords(w, o, exec, offset))
                alignment = 1;
            else
                san_found(w, SAN_FOUND_ALIGNMENT, &o->op, ~0ull, (int32_t)lane, at, alignment, 0, 0);
        }
        if (learns) san_lds_flag(sw, at, number);
        uint32_t cells = cells_of(sw->group, at, o->bytes);
        if (!is_write) {
            if (cells && !(how & ACCESS_FLAG) && (quick_read(sw, at, cells) || plain_read(sw, o, at, cells, number)))
                continue;
            san_lds_access(w, sw, o, at, o->bytes, lane, 0, source, how, number, &undefined);
            for (uint32_t n = 0; n < 4; n++) result[n] |= (uint64_t)(undefined >> n & 1) << lane;
            continue;
        }
        if (cells && !is_data_undefined &&
            (quick_write(sw, o, at, cells, how, number) || plain_write(sw, o, at, o->bytes, cells, how, number)))
            continue;
        san_lds_access(w, sw, o, at, o->bytes, lane, 1, source, how, number, &undefined);
        if (is_data_undefined) {
            uint32_t words = data_words(sw, o->src[source], o->src_count[source], lane);
            if (words) san_lds_undefine(sw, at, o->bytes, words, san_origin(sw, o, source, source, 1ull << lane));
        }
    }
    if (o->flags & SAN_TRANSPOSED)
        set_rows(sw, first_row, o->dst_count, exec, 0);
    else if (o->dst_count)
        for (uint32_t n = 0; n < rows && n < 4; n++) set_rows(sw, first_row + n, 1, exec, result[n]);
    if (result[0] | result[1] | result[2] | result[3])
        san_mark(sw, o, sw->group->lds_origin ? sw->group->lds_origin : (uint32_t)o->op.pc);
}

void san_lds_memory(Wave *w, SanWave *sw, const SanOp *o, uint64_t exec) {
    if (!(o->flags & SAN_PLAIN_ADDRESS)) {
        /* The destination may also hold the address, so both reads are handled before it changes. */
        uint32_t rows = (o->bytes + 3u) / 4u;
        lds_one(w, sw, o, exec, (uint32_t)o->op.offset, o->dst, 1);
        if (o->flags & SAN_TWO) lds_one(w, sw, o, exec, o->op.imm[0], o->dst + rows, 2);
    } else
        set_rows(sw, o->dst, o->dst_count, exec, 0);
    if (HK_COPIES && (o->flags & SAN_ASYNC)) {
        sw->vm_issued++;
        count_apart(sw, COUNTS_ASYNC);
        san_release_copies(sw, sw->apart[COUNTS_ASYNC].issued, sw->apart[COUNTS_TENSOR].done);
        return;
    }
    sw->lgkm_issued++;
    if (o->flags & SAN_ATOMIC) san_release(sw, sw->lgkm_issued);
    if (exec == 0) return;
    if ((o->flags & SAN_LOAD) && !(o->flags & (SAN_ATOMIC | SAN_PLAIN_ADDRESS))) {
        uint32_t at[HK_LANES];
        lds_addresses(w, o, (uint32_t)o->op.offset, at);
        san_note_read(sw, o, exec, at, o->flags & SAN_TWO ? o->op.imm[0] - (uint32_t)o->op.offset : 0);
    }
    for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) {
        sw->lgkm_wait[o->dst + n] = sw->lgkm_issued;
        sw->lgkm_pc[o->dst + n] = (uint32_t)o->op.pc;
        sw->vm_wait[o->dst + n] = 0;
    }
}
