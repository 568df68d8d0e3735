/* Waits: detects registers that are read or written with a load in flight.
 *
 * vmcnt counts vector memory down in order, and lgkmcnt the LDS (LLVM AMDGPUUsage, "Memory model gfx942"; CDNA3 ISA
 * guide, "Data dependency resolution"). Accesses that return in any order are counted besides: scalar loads in lgkmcnt,
 * flat accesses to LDS or scratch in both. With a counter at n or below, an access is certainly done if no set of
 * accesses that may then be in flight contains it. If an access of the ordered kind is in flight, so are all ordered
 * accesses after it; if these are more than n, it is done, regardless of the unordered ones. An unordered access can be
 * the only one in flight, so it is done only if the counter is below its own count, which is 1, or 2 for a scalar load
 * of more than a dword (CDNA3 ISA guide, "Scalar memory operations", dependency checking). A wait says separately what
 * it leaves of each kind, since later targets count LDS and scalar loads in counters of their own.
 *
 * Where stores have a counter of their own (storecnt of RDNA4), and copies between memory and LDS (asynccnt and
 * tensorcnt of gfx1250), vector memory keeps one numbering of all accesses, and each counter remembers which of them
 * are its own (SanApart). Loads alone bring registers; an access counts as complete for others once it and all before
 * it are.
 */
#ifndef HK_SANITIZER_WAITS_H
#define HK_SANITIZER_WAITS_H

#include "observe/sanitizer/state.h"

/* A wait until a counter, with `issued` accesses so far, is at `count` or below. Numbers complete in order, so those
 * after an unordered access wait for it. */
HK_INLINE void wait_in_order(uint32_t count, uint32_t issued, SanStrays *strays, uint32_t *done) {
    uint32_t under_way = count + strays->count, proven = issued > under_way ? issued - under_way : 0;
    if (count == 0) {
        proven = issued;
        strays->count = 0;
    } else if (strays->count && proven >= strays->first)
        proven = strays->first - 1;
    if (proven > *done) *done = proven;
}

/* Derives what is complete of all vector memory from what is complete by each counter. */
HK_INLINE void settle_apart(SanWave *sw) {
    uint32_t next[COUNTERS], first = sw->vm_issued + 1;
    for (uint32_t i = 0; i < COUNTERS; i++) {
        const SanApart *a = &sw->apart[i];
        next[i] = a->done == a->issued ? sw->vm_issued + 1 : a->numbers[a->done % COUNTED];
        if (next[i] < first) first = next[i];
    }
    sw->vm_loaded = next[COUNTS_LOADS] - 1;
    sw->vm_done = first - 1;
}

/* Counts access `vm_issued` by one of COUNTS_*. */
HK_INLINE void count_apart(SanWave *sw, int counter) {
    SanApart *a = &sw->apart[counter];
    a->numbers[a->issued++ % COUNTED] = sw->vm_issued;
    if (a->issued - a->done < COUNTED) return;
    a->done++;
    settle_apart(sw);
}

HK_INLINE void wait_apart(SanWave *sw, uint32_t imm, uint32_t copies) {
    uint32_t left[COUNTERS] = {imm & 255, imm >> 24, copies & 255, copies >> 8 & 255};
    for (uint32_t i = 0; i < COUNTERS; i++) {
        SanApart *a = &sw->apart[i];
        if (left[i] == SAN_NOT_WAITED || a->issued - a->done <= left[i]) continue;
        a->done = a->issued - left[i];
    }
    settle_apart(sw);
}

HK_INLINE void wait_for(SanWave *sw, const SanOp *o) {
    uint32_t vm = o->imm & 255, lgkm = o->imm >> 8 & 255, scalar = o->imm >> 16 & 255;
    if (o->flags & SAN_APART)
        wait_apart(sw, o->imm, o->op.imm[0]);
    else if (vm != SAN_NOT_WAITED) {
        wait_in_order(vm, sw->vm_issued, &sw->vm_strays, &sw->vm_done);
        sw->vm_loaded = sw->vm_done;
    }
    if (lgkm != SAN_NOT_WAITED) wait_in_order(lgkm, sw->lgkm_issued, &sw->lgkm_strays, &sw->lgkm_done);
    for (uint32_t wide = 0; wide < 2; wide++)
        if (scalar <= wide) sw->scalar_done[wide] = sw->scalar_issued;
    if (sw->learned_vm | sw->learned_lgkm | sw->written_back_vm) san_settle(sw);
}

/* A row is read or written; `own` is the counter within which the instruction's own accesses stay in order. */
HK_INLINE void check_row(Wave *w, SanWave *sw, const SanOp *o, uint32_t row, int own) {
    if (row >= sw->group->rows) return;
    if (__builtin_expect(sw->vm_wait[row] > sw->vm_loaded, 0) && own != 1) {
        san_found(w, SAN_FOUND_WAIT_VECTOR, &o->op, sw->vm_pc[row], -1, row, row, 0, 0);
        sw->vm_wait[row] = 0;
    }
    if (__builtin_expect(sw->lgkm_wait[row] > sw->lgkm_done, 0) && own != 2) {
        san_found(w, SAN_FOUND_WAIT_LGKM, &o->op, sw->lgkm_pc[row], -1, row, row, 0, 0);
        sw->lgkm_wait[row] = 0;
    }
}

HK_INLINE void check_scalar(Wave *w, SanWave *sw, const SanOp *o, uint32_t index) {
    uint32_t wait = sw->scalar_wait[index];
    if (__builtin_expect(wait >> 1 > sw->scalar_done[wait & 1], 0)) {
        san_found(w, SAN_FOUND_WAIT_SCALAR, &o->op, sw->scalar_pc[index], -1, index, index, 0, 0);
        sw->scalar_wait[index] = 0;
    }
}

HK_INLINE void check_waits(Wave *w, SanWave *sw, const SanOp *o, int own) {
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++) check_row(w, sw, o, o->src[i] + n, 0);
    for (uint32_t n = 0; n < o->dst_count; n++) check_row(w, sw, o, o->dst + n, own);
    if (sw->scalar_issued == sw->scalar_done[0]) return;
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->ssrc_count[i]; n++) check_scalar(w, sw, o, o->ssrc[i] + n);
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) check_scalar(w, sw, o, o->sdst[i] + n);
}

#endif
