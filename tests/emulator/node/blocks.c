/* Basic blocks written by hand, for tests of the driver that must not depend on the translator.
 *
 * s[0:1] holds the address of an output buffer of dwords, as a kernel's argument pointer would.
 */
#include "run/wave.h"

#include <stdatomic.h>

#define OUT(w) ((uint32_t *)(uintptr_t)hk_s64(w, 0))

/* out[global item] = v0 of the lane, exec-masked; then the end. 2-D and 3-D shapes count x fastest. */
HK_EXPORT int32_t test_store_ids(Wave *w) {
    const Group *g = w->group;
    for (unsigned lane = 0; lane < 64; lane++)
        if (hk_exec(w) >> lane & 1) OUT(w)[g->index * 1024 + w->index * 64 + lane] = w->v[lane];
    return HK_END;
}

/* out[group * 16 + wave] = SGPR 2 + wave-independent state, to see work-group ids in SGPRs 2, 3, 4. */
HK_EXPORT int32_t test_store_group(Wave *w) {
    uint32_t *out = OUT(w) + w->group->index * 4;
    out[0] = w->s[2];
    out[1] = w->s[3];
    out[2] = w->s[4];
    out[3] = w->lanes;
    return HK_END;
}

/* The same for ids in ttmp9 and ttmp7. */
HK_EXPORT int32_t test_store_architected_group(Wave *w) {
    uint32_t *out = OUT(w) + w->group->index * 4;
    out[0] = w->s[117];
    out[1] = w->s[115] & 0xffff;
    out[2] = w->s[115] >> 16;
    out[3] = w->lanes;
    return HK_END;
}

/* Four blocks: every wave writes LDS, meets at a barrier, reads its neighbour's word, stores it. */
HK_EXPORT int32_t test_barrier_0(Wave *w) {
    ((uint32_t *)w->lds)[w->index] = 100 + w->index;
    w->block = 1;
    return HK_BARRIER;
}
HK_EXPORT int32_t test_barrier_1(Wave *w) {
    uint32_t next = (w->index + 1) % w->group->wave_count;
    OUT(w)[w->group->index * 16 + w->index] = ((uint32_t *)w->lds)[next];
    return HK_END;
}

/* The odd waves leave before the barrier. */
HK_EXPORT int32_t test_missed_barrier(Wave *w) {
    if (w->index & 1) return HK_END;
    w->block = 1;
    return HK_BARRIER;
}

/* Wave 0 waits, a block at a time, for what the last wave of its work-group writes. */
HK_EXPORT int32_t test_spin_wave(Wave *w) {
    volatile uint32_t *flag = (uint32_t *)w->lds;
    if (w->index == w->group->wave_count - 1) {
        *flag = 1;
        return HK_END;
    }
    return *flag == 1 ? HK_END : 0;
}

/* Work-group 0 waits for the last work-group. */
HK_EXPORT int32_t test_spin_group(Wave *w) {
    _Atomic uint32_t *flag = (_Atomic uint32_t *)OUT(w);
    if (w->group->index == w->group->grid[0] - 1) {
        atomic_store(flag, 1);
        return HK_END;
    }
    return atomic_load(flag) == 1 ? HK_END : 0;
}

HK_EXPORT int32_t test_endless(Wave *w) { return 0; }

/* Work-groups from the third on read wild memory; the others take a while. */
HK_EXPORT int32_t test_fault(Wave *w) {
    static const Op op = {.pc = 0x1010};
    if (w->group->index < 3) {
        if (++w->s[20] < POISON_PLUS) return 0;
        return HK_END;
    }
    if (hk_check(w, &op, 0x10 + w->group->index, 4, 0, 7) == NULL) return HK_FAULT;
    return HK_END;
}

HK_EXPORT int32_t test_jump(Wave *w) {
    w->target = w->code_base + 0x2000;
    return HK_JUMP;
}
HK_EXPORT int32_t test_jump_target(Wave *w) {
    OUT(w)[0] = 77;
    return HK_END;
}
HK_EXPORT int32_t test_jump_wild(Wave *w) {
    w->target = 0x123456;
    return HK_JUMP;
}

/* Loops as often as its work-group's index says, to count blocks. */
HK_EXPORT int32_t test_loop(Wave *w) {
    uint32_t turns = w->s[30] == 0xfffbfffbu ? 0 : w->s[30];
    w->s[30] = turns + 1;
    return turns < w->group->index ? 0 : 1;
}
HK_EXPORT int32_t test_end(Wave *w) { return HK_END; }
