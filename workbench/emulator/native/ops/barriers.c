/* What S_BARRIER_SIGNAL_ISFIRST and S_GET_BARRIER_STATE say about the work-group's barrier. */
#include "run/lanes.h"

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
