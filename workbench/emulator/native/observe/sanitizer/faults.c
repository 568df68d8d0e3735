/* Accesses out of bounds: a launch without the sanitizer ends at the first one; a sanitized launch skips the access and
 * continues, to find all of them. A lane that loads gets 0.
 *
 * An operation checks all of its lanes before it moves any data, so it can run again without the faulting lane.
 */
#include "observe/sanitizer/state.h"

static uint64_t fault_detail(int32_t kind, uint32_t size, int is_write) {
    return (uint64_t)kind << SAN_FAULT_KIND | (is_write ? SAN_FAULT_WRITES : 0) | size;
}

void hk_san_overrun(Wave *w, const Op *op, uint64_t offset, uint32_t size, int is_write, int32_t lane) {
    san_found(w, SAN_FOUND_OVERRUN, op, ~0ull, lane, offset, fault_detail(HK_FAULT_LDS, size, is_write), 0, 0);
}

/* True if the launch can continue. It cannot after an access through the hidden argument of a missing service, which is
 * no bug of the kernel. */
static int goes_on(const Fault *f) {
    switch (f->kind) {
    case HK_FAULT_ADDRESS:
        return (f->address & HK_APERTURE_MASK) != HK_HEAP_APERTURE;
    case HK_FAULT_LDS:
    case HK_FAULT_SCRATCH:
    case HK_FAULT_ALIGNMENT:
    case HK_FAULT_READ_ONLY:
        return 1;
    default:
        return 0;
    }
}

/* Sets the result of the faulting access to 0: that of its lane, or the whole result of a scalar load. */
static void clear_result(Wave *w, const Op *op, int32_t lane) {
    const SanWave *sw = w->san;
    const SanOp *o = sw->access;
    if (o == NULL || o->op.pc != op->pc || !(o->flags & SAN_LOAD)) return;
    if (lane < 0)
        for (uint32_t n = 0; n < o->sdst_count[0]; n++) w->s[o->sdst[0] + n] = 0;
    else
        for (uint32_t n = 0; n < o->dst_count && o->dst + n < sw->group->rows; n++) hk_row(w, o->dst + n)[lane] = 0;
}

static int32_t leave_out(Wave *w, const Op *op, NativeFn operation) {
    uint64_t exec = hk_exec(w), lanes = exec, left_out = 0;
    int32_t result = 1;
    const SanOp *access = ((const SanWave *)w->san)->access;
    if (access != NULL && access->op.pc == op->pc && (access->flags & SAN_EXPECTS)) {
        /* The value that a compare-and-swap expects is loaded as a dword, even for a half or a byte at the end of
         * memory. */
        w->reads_dwords = 1;
        result = operation(w, op);
    }
    while (result != 0 && goes_on(&w->fault)) {
        const Fault f = w->fault;
        uint64_t detail = fault_detail(f.kind, f.size, f.is_write != 0);
        if (!san_found(w, SAN_FOUND_FAULT, op, ~0ull, f.lane, f.address, detail, 0, 0)) break;
        if (f.lane < 0) {
            clear_result(w, op, -1);
            result = 0;
            break;
        }
        left_out |= 1ull << f.lane;
        lanes &= ~left_out;
        hk_set_exec(w, lanes);
        result = operation(w, op);
    }
    w->reads_dwords = 0;
    hk_set_exec(w, exec);
    HK_FOR_LANES(lane, left_out) clear_result(w, op, (int32_t)lane);
    return result;
}

HK_EXPORT int32_t hk_san_native(Wave *w, const Op *op, NativeFn operation) {
    int32_t result = operation(w, op);
    return __builtin_expect(result == 0 || w->san == NULL, 1) ? result : leave_out(w, op, operation);
}
