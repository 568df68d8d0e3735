/* Waits: whether a register that is read or written has its load under way.
 *
 * Waits are counted like the compiler must count them: vector memory in order; LDS in order as long as no scalar load
 * is under way; with both, only a wait for zero says anything (LLVM AMDGPUUsage, "Memory model gfx942"; CDNA3 ISA
 * guide, "Data dependency resolution").
 */
#ifndef HK_SANITIZER_WAITS_H
#define HK_SANITIZER_WAITS_H

#include "observe/sanitizer/state.h"

HK_INLINE void wait_for(SanWave *sw, uint32_t imm) {
    uint32_t vm = imm & 255, lgkm = imm >> 8 & 255;
    int flat = sw->last_flat > sw->lgkm_done;
    if (vm != SAN_NOT_WAITED && (vm == 0 || !flat)) {
        uint32_t done = sw->vm_issued > vm ? sw->vm_issued - vm : 0;
        if (done > sw->vm_done) sw->vm_done = done;
    }
    if (lgkm != SAN_NOT_WAITED && (lgkm == 0 || !(flat || sw->last_scalar > sw->lgkm_done))) {
        uint32_t done = sw->lgkm_issued > lgkm ? sw->lgkm_issued - lgkm : 0;
        if (done > sw->lgkm_done) sw->lgkm_done = done;
    }
    if (sw->learned_vm | sw->learned_lgkm | sw->written_back_vm) san_settle(sw);
}

/* A row is read or written; `own` names the counter within which accesses stay in order. */
HK_INLINE void check_row(Wave *w, SanWave *sw, const SanOp *o, uint32_t row, int own) {
    if (row >= sw->group->rows) return;
    if (__builtin_expect(sw->vm_wait[row] > sw->vm_done, 0) && own != 1) {
        san_found(w, SAN_FOUND_WAIT_VECTOR, &o->op, sw->vm_pc[row], -1, row, row, 0, 0);
        sw->vm_wait[row] = 0;
    }
    if (__builtin_expect(sw->lgkm_wait[row] > sw->lgkm_done, 0) && own != 2) {
        san_found(w, SAN_FOUND_WAIT_LGKM, &o->op, sw->lgkm_pc[row], -1, row, row, 0, 0);
        sw->lgkm_wait[row] = 0;
    }
}

HK_INLINE void check_scalar(Wave *w, SanWave *sw, const SanOp *o, uint32_t index) {
    if (__builtin_expect(sw->scalar_wait[index] > sw->lgkm_done, 0)) {
        san_found(w, SAN_FOUND_WAIT_SCALAR, &o->op, sw->scalar_pc[index], -1, index, index, 0, 0);
        sw->scalar_wait[index] = 0;
    }
}

HK_INLINE void check_waits(Wave *w, SanWave *sw, const SanOp *o, int own) {
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->src_count[i]; n++) check_row(w, sw, o, o->src[i] + n, 0);
    for (uint32_t n = 0; n < o->dst_count; n++) check_row(w, sw, o, o->dst + n, own);
    if (sw->last_scalar <= sw->lgkm_done) return;
    for (int i = 0; i < SAN_SOURCES; i++)
        for (uint32_t n = 0; n < o->ssrc_count[i]; n++) check_scalar(w, sw, o, o->ssrc[i] + n);
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0; n < o->sdst_count[i]; n++) check_scalar(w, sw, o, o->sdst[i] + n);
}

#endif
