/* What S_BARRIER_SIGNAL_ISFIRST and S_GET_BARRIER_STATE say about the work-group's barrier; named barriers, and the
 * barrier of a cluster, for which one signal of each work-group counts.
 *
 * A named barrier has members and is complete when it has as many signals. A wave waits for the one that it has joined,
 * and does not wait without one (AMD's ISA guide, as HipKittens' header for gfx1250 quotes it). M0 may have the number
 * in bits 4:0, and in 22:16, unless it is 0, the number of members (LLVM's lowering of named barriers).
 */
#include "observe/sanitizer/sanitizer.h"
#include "run/waiting.h"

/* Waves that have signalled since the barrier was last complete. */
static uint32_t hk_signals(const Wave *w) {
    const Wave *waves = w - w->index;
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->group->wave_count; i++)
        count += waves[i].state == HK_WAVE_WAITING || waves[i].signalled == HK_SIGNAL_GIVEN;
    return count;
}

HK_EXPORT int32_t hk_barrier_signal_first(Wave *w, const Op *op);
int32_t hk_barrier_signal_first(Wave *w, const Op *op) {
    (void)op;
    w->scc = hk_signals(w) == 0;
    w->signalled = HK_SIGNAL_GIVEN;
    return 0;
}

HK_EXPORT int32_t hk_barrier_state(Wave *w, const Op *op);
int32_t hk_barrier_state(Wave *w, const Op *op) {
    w->s[op->sdst] = hk_signals(w) << 16 | w->group->wave_count << 4 | 1;
    return 0;
}

int hk_barrier_passed(Wave *w) {
    const Group *g = w->group;
    if (w->awaits == HK_AWAITS_NAMED) {
        uint32_t completions = g->named[w->named].completions;
        int passed = completions != w->named_passed;
        w->named_passed = completions;
        if (passed && w->san != NULL) hk_san_named_pass(w, w->named);
        return passed;
    }
    /* One wave signals for its work-group, and may do so again before another one of it has waited: each completion
     * lets a wave pass once, and none is lost. */
    uint32_t completions = (uint32_t)(__atomic_load_n(&g->cluster->barrier, __ATOMIC_ACQUIRE) >> 32);
    int passed = completions != w->cluster_passed;
    if (passed && w->san != NULL) hk_san_cluster_pass(w, w->cluster_passed);
    w->cluster_passed += (uint32_t)passed;
    return passed;
}

void hk_watch_barrier(Wave *w) {
    if (w->awaits == HK_AWAITS_CLUSTER)
        hk_watch_range(w, w->pc, (uint64_t)(uintptr_t)&w->group->cluster->barrier, sizeof(uint64_t), 1);
    else
        hk_watch_range(w, w->pc, (uint64_t)(uintptr_t)&w->group->named[w->named], sizeof(HkNamedBarrier), 1);
}

/* Outside of a cluster, its barrier has no effect. flags: bit 0, SCC becomes whether this is the first signal. */
HK_EXPORT int32_t hk_cluster_signal(Wave *w, const Op *op);
int32_t hk_cluster_signal(Wave *w, const Op *op) {
    const Group *g = w->group;
    uint64_t old = 0;
    if (g->cluster != NULL) {
        uint64_t *barrier = &g->cluster->barrier;
        old = __atomic_load_n(barrier, __ATOMIC_RELAXED);
        uint64_t changed;
        do {
            int complete = (uint32_t)old + 1 >= g->cluster_size;
            changed = complete ? ((old >> 32) + 1) << 32 : old + 1;
        } while (!__atomic_compare_exchange_n(barrier, &old, changed, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
        if (w->san != NULL) hk_san_cluster_signal(w, (uint32_t)(old >> 32));
    }
    if (op->flags & 1) w->scc = g->cluster != NULL && (uint32_t)old == 0;
    return 0;
}

/* flags: bit 0, a named barrier, else the cluster's. Sets Wave.awaits to 0 if the wave need not wait. */
HK_EXPORT int32_t hk_barrier_await(Wave *w, const Op *op);
int32_t hk_barrier_await(Wave *w, const Op *op) {
    int is_named = op->flags & 1, exists = is_named ? w->named != 0 : w->group->cluster != NULL;
    w->awaits = is_named ? HK_AWAITS_NAMED : HK_AWAITS_CLUSTER;
    if (!exists || hk_barrier_passed(w)) w->awaits = 0;
    return 0;
}

/* Number of a named barrier: a constant in imm[0], or of M0. */
static uint32_t hk_named(const Wave *w, const Op *op) { return (op->flags & 1 ? w->s[HK_M0] : op->imm[0]) & 31; }

/* S_BARRIER_INIT, S_BARRIER_JOIN, S_BARRIER_SIGNAL and S_BARRIER_SIGNAL_ISFIRST of named barriers. flags: bit 0, M0 has
 * the number; for signals, bit 1, SCC becomes whether this is the first one. Number 0 is no barrier. */
HK_EXPORT int32_t hk_named_init(Wave *w, const Op *op);
HK_EXPORT int32_t hk_named_join(Wave *w, const Op *op);
HK_EXPORT int32_t hk_named_signal(Wave *w, const Op *op);
HK_EXPORT int32_t hk_named_state(Wave *w, const Op *op);
int32_t hk_named_init(Wave *w, const Op *op) {
    HkNamedBarrier *b = &w->group->named[hk_named(w, op)];
    uint32_t members = w->s[HK_M0] >> 16 & 127;
    if (members != 0) b->members = members;
    b->signals = 0;
    if (w->san != NULL) hk_san_named_init(w, hk_named(w, op));
    return 0;
}

int32_t hk_named_join(Wave *w, const Op *op) {
    w->named = hk_named(w, op);
    w->named_passed = w->group->named[w->named].completions;
    return 0;
}

int32_t hk_named_signal(Wave *w, const Op *op) {
    uint32_t number = hk_named(w, op), members = op->flags & 1 ? w->s[HK_M0] >> 16 & 127 : 0;
    HkNamedBarrier *b = &w->group->named[number];
    if (op->flags & 2) w->scc = number != 0 && b->signals == 0;
    if (number == 0) return 0;
    if (members != 0) b->members = members;
    int is_complete = ++b->signals >= b->members;
    if (is_complete) {
        b->signals = 0;
        b->completions++;
    }
    if (w->san != NULL) hk_san_named_signal(w, number, is_complete);
    return 0;
}

int32_t hk_named_state(Wave *w, const Op *op) {
    const HkNamedBarrier *b = &w->group->named[hk_named(w, op)];
    w->s[op->sdst] = b->signals << 16 | b->members << 4 | 1;
    return 0;
}

/* Fields of IB_STS2: imm[0] 0, whether the work-group is in a cluster; 1, its number there. */
HK_EXPORT int32_t hk_cluster_field(Wave *w, const Op *op);
int32_t hk_cluster_field(Wave *w, const Op *op) {
    w->s[op->sdst] = op->imm[0] ? w->group->cluster_rank : w->group->cluster != NULL;
    return 0;
}
