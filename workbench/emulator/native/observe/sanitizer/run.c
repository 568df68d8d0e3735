/* Runs of instructions from generated code, and wait states between pairs of instructions. */
#include "observe/sanitizer/waits.h"

/* Checks the second instruction of a pair that needs wait states in between. */
static void hazard(Wave *w, const SanWave *sw, const SanOp *o) {
    uint64_t mark = sw->marks[o->imm % SAN_MARKS], now = sw->states + o->flags;
    if (mark == 0 || now - mark >= o->bytes) return;
    uint64_t detail = (now - mark) | (uint64_t)o->bytes << 8 | (uint64_t)o->reserved << 16;
    san_found(w, SAN_FOUND_HAZARD, &o->op, o->op.imm[0], -1, o->op.imm[1], detail, 0, 0);
}

HK_EXPORT void hk_san_run(Wave *w, const SanOp *ops, uint32_t count) {
    SanWave *sw = w->san;
    if (sw == NULL) return;
    uint64_t exec = hk_exec(w);
    for (uint32_t i = 0; i < count; i++) {
        const SanOp *o = &ops[i];
        int own = 0;
        if (o->kind == SAN_MEMORY) own = o->space == SAN_LDS || o->space == SAN_LDS_LANES ? 2 : 1;
        if (o->kind != SAN_WAIT && (sw->vm_issued != sw->vm_done || sw->lgkm_issued != sw->lgkm_done ||
                                    sw->scalar_issued != sw->scalar_done[0]))
            check_waits(w, sw, o, own);
        switch (o->kind) {
        case SAN_VECTOR:
            san_vector(w, sw, o, exec);
            break;
        case SAN_SCALAR:
            san_scalar(sw, o);
            break;
        case SAN_SCALAR_BITS:
            san_scalar_bits(w, sw, o, exec);
            break;
        case SAN_WAIT:
            wait_for(sw, o);
            break;
        case SAN_MEMORY:
            san_memory(w, sw, o, exec);
            break;
        case SAN_CACHE:
            san_cache(w, sw, o);
            break;
        case SAN_BRANCH:
            san_branch(w, sw, o);
            break;
        case SAN_MATRIX:
            san_matrix(sw, o);
            break;
        case SAN_READ_LANE:
            san_read_lane(w, sw, o, exec);
            break;
        case SAN_WRITE_LANE:
            san_write_lane(w, sw, o);
            break;
        case SAN_SHUFFLE:
            san_shuffle(w, sw, o, exec);
            break;
        case SAN_WORDS:
            san_words(sw, o, exec);
            break;
        case SAN_MARK:
            sw->marks[o->imm % SAN_MARKS] = sw->states + o->flags;
            break;
        case SAN_CLEAR:
            sw->marks[o->imm % SAN_MARKS] = 0;
            break;
        case SAN_HAZARD:
            hazard(w, sw, o);
            break;
        case SAN_ARRIVES:
            arrive(sw);
            break;
        case SAN_STATES:
            sw->states += o->imm;
            break;
        default:
            break;
        }
    }
}
