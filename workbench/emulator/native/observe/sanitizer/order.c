/* Order between waves that follows from reading each other's writes.
 *
 * A wave reads what another one has written by an atomic, or by a store with a scope. Once it has waited for the read,
 * everything that was complete at the write is ordered before its next access; the same holds for a wave that polls
 * LDS, and for one that waited for a named barrier, which the signals that completed it precede. An access is complete
 * as defined by the memory model in LLVM's AMDGPUUsage for each target:
 *  - LDS accesses of a wave are in order among each other, so a flag in LDS follows all of them; a flag in global
 * memory follows those that a wait on lgkmcnt covered.
 *  - Accesses to global memory within a work-group are in order, because its waves share an L1.
 *  - Loads to LDS are ordered by vmcnt only.
 *  - Between work-groups, which may be on different dies, a wait on vmcnt is needed. On gfx942 and gfx950, writes
 * without a scope must also have been written back by buffer_wbl2 sc1 (gfx90a has one L2), and loads without a scope
 * must come after a buffer_inv sc1 that follows the read. A release of another work-group counts if it came before the
 * one that was read, whichever flag it was for.
 */
#include "observe/sanitizer/state.h"
#include "observe/sanitizer/waits.h"
#include "run/group.h"

#include <stdlib.h>

HK_INLINE void at_least(uint32_t *known, uint32_t number) {
    if (number > *known) *known = number;
}

static void add_order(SanOrder *to, const SanOrder *from) {
    at_least(&to->lgkm, from->lgkm);
    at_least(&to->to_lds, from->to_lds);
    at_least(&to->global, from->global);
    for (unsigned i = 0; HK_COPIES && i < 2; i++) at_least(&to->copied[i], from->copied[i]);
}

static void add_known(SanKnown *to, const SanKnown *from) {
    for (unsigned i = 0; i < HK_WAVES; i++) {
        add_order(&to->of[i], &from->of[i]);
        at_least(&to->complete[i], from->complete[i]);
        at_least(&to->visible[i], from->visible[i]);
    }
    at_least(&to->seen, from->seen);
    at_least(&to->acquired, from->acquired);
    at_least(&to->seen_near, from->seen_near);
    at_least(&to->acquired_near, from->acquired_near);
}

int san_is_near(const Wave *w, uint32_t group) {
    const HkCluster *cluster = w->group->cluster;
    return cluster != NULL && hk_cluster_of(((SanWave *)w->san)->group->san->launch, group) == cluster;
}

/* Records what this wave learns about a wave of its work-group by reading a flag. */
static void learn(SanWave *sw, uint32_t wave, const SanOrder *order) {
    SanWave *other = &sw->group->waves[wave];
    add_order(&sw->learned.of[wave], order);
    add_known(&sw->learned, &other->known);
    at_least(&sw->learned.complete[wave], order->to_lds);
    sw->group->san->synced = 1;
}

static void learn_of_all(SanWave *sw, uint32_t writers, uint32_t newest, const SanOrder *order) {
    for (writers &= ~(1u << sw->index); writers; writers &= writers - 1) {
        uint32_t wave = (uint32_t)__builtin_ctz(writers);
        learn(sw, wave, wave == newest ? order : &sw->group->waves[wave].release);
    }
}

void san_lds_learn(SanWave *sw, const LdsCell *c, uint32_t number) {
    /* A load to LDS is no flag; an arrival at a barrier that copies precede is one. */
    if (c->write.writer == 255 || (c->write.how & 6) == 2) return;
    SanOrder order = {.lgkm = c->write.number, .to_lds = c->write.done, .global = c->write.global};
#if HK_COPIES
    memcpy(order.copied, c->write.copied, sizeof order.copied);
#endif
    learn_of_all(sw, c->write.atomics | 1u << c->write.writer, c->write.atomics ? NOBODY : c->write.writer, &order);
    for (unsigned i = 0; HK_COPIES && i < 2; i++) at_least(&sw->learned.of[c->write.writer].copied[i], order.copied[i]);
    sw->learned_lgkm = number;
}

void san_release(SanWave *sw, uint32_t lgkm) {
    sw->release =
        (SanOrder){lgkm, sw->vm_done, sw->vm_issued, {sw->apart[COUNTS_ASYNC].done, sw->apart[COUNTS_TENSOR].done}};
}

void san_release_copies(SanWave *sw, uint32_t async, uint32_t tensor) {
    sw->release = (SanOrder){sw->lgkm_done, sw->vm_done, sw->vm_issued, {async, tensor}};
}

static SanFlag *flag_of(San *s, uint64_t dword, int make) {
    if (s->flag_capacity == 0 && !make) return NULL;
    if ((s->flag_count + 1) * 2 > s->flag_capacity && make) {
        SanFlag *old = s->flags;
        uint64_t before = s->flag_capacity, capacity = before ? before * 4 : 256;
        SanFlag *new = s->memory_left < capacity * sizeof *new ? NULL : calloc(capacity, sizeof *new);
        if (new == NULL) return NULL;
        s->memory_left -= capacity * sizeof *new;
        s->flags = new;
        s->flag_capacity = capacity;
        for (uint64_t i = 0; i < before; i++)
            if (old[i].dword) *flag_of(s, old[i].dword, 0) = old[i];
        free(old);
    }
    uint64_t i = (dword * 0x9e3779b97f4a7c15ull) >> 20 & (s->flag_capacity - 1);
    while (s->flags[i].dword && s->flags[i].dword != dword) i = (i + 1) & (s->flag_capacity - 1);
    return &s->flags[i];
}

void san_global_learn(const Wave *w, SanWave *sw, uint64_t address, uint32_t scope, uint32_t number) {
    const SanFlag *f = flag_of(sw->group->san, address >> 2, 0);
    if (f == NULL || f->dword == 0) return;
    if (f->group == (uint32_t)w->group->index) learn_of_all(sw, f->writers | 1u << f->wave, f->wave, &f->order);
    if (f->scope == SCOPE_DEVICE && scope == SCOPE_DEVICE) at_least(&sw->learned.seen, f->time);
    if (san_is_near(w, f->group)) at_least(&sw->learned.seen_near, f->time);
    sw->learned_vm = number;
}

/* Writes of the work-group's waves that are complete, or visible to other dies, as far as this wave knows. `waited`:
 * the other waves must have waited for theirs before the last barrier. */
static void reach(const Wave *w, const SanWave *sw, SanRelease *r, int waited) {
    const SanGroup *sg = sw->group;
    for (uint32_t i = 0; i < sg->wave_count; i++) {
        const SanWave *other = &sg->waves[i];
        r->complete[i] = sw->known.complete[i];
        at_least(&r->complete[i], i == sw->index ? sw->vm_done : waited ? other->vm_published : other->vm_passed);
        r->visible[i] = sw->known.visible[i];
        if (w->group->machine->dies == 1) at_least(&r->visible[i], r->complete[i]);
    }
}

static void release_group(const Wave *w, const SanWave *sw, int waited) {
    San *s = sw->group->san;
    SanReleases **releases = &s->releases[w->group->index];
    if (*releases == NULL) *releases = calloc(1, sizeof **releases);
    if (*releases == NULL) return;
    SanReleases *all = *releases;
    SanRelease now = {.time = ++s->time};
    reach(w, sw, &now, waited);
    const SanRelease *last = &all->newest[(all->count + RELEASES - 1) % RELEASES];
    size_t numbers = sizeof now - offsetof(SanRelease, complete);
    if (all->count && memcmp(last->complete, now.complete, numbers) == 0) return;
    all->newest[all->count++ % RELEASES] = now;
}

void san_release_global(const Wave *w, SanWave *sw, const uint64_t *at, uint64_t lanes, uint32_t scope, int is_atomic) {
    San *s = sw->group->san;
    uint32_t group = (uint32_t)w->group->index;
    uint64_t last = 0;
    s->synced = 1;
    san_release(sw, sw->lgkm_done);
    if (scope == SCOPE_DEVICE || w->group->cluster != NULL) release_group(w, sw, 0);
    HK_FOR_LANES(lane, lanes) {
        if (at[lane] >> 2 == last) continue;
        last = at[lane] >> 2;
        SanFlag *f = flag_of(s, last, 1);
        if (f == NULL) return;
        int goes_on = is_atomic && f->dword && f->group == group;
        WaveMask writers = (WaveMask)((goes_on ? f->writers : 0u) | 1u << sw->index);
        if (f->dword == 0) s->flag_count++;
        *f = (SanFlag){last, group, s->time, writers, (uint8_t)sw->index, (uint8_t)scope, sw->release};
    }
}

void san_settle(SanWave *sw) {
    if (sw->written_back_vm && sw->written_back_vm <= sw->vm_done) {
        for (unsigned i = 0; i < HK_WAVES; i++) at_least(&sw->known.visible[i], sw->written_back[i]);
        sw->written_back_vm = 0;
    }
    if (sw->learned_vm > sw->vm_done || sw->learned_lgkm > sw->lgkm_done) return;
    if (sw->learned_vm | sw->learned_lgkm) {
        add_known(&sw->known, &sw->learned);
        memset(&sw->learned, 0, sizeof sw->learned);
        sw->learned_vm = sw->learned_lgkm = 0;
    }
}

void san_cache(const Wave *w, SanWave *sw, const SanOp *o) {
    uint32_t what = o->imm;
    sw->group->san->synced = 1;
    sw->vm_issued++;
    if (o->flags & SAN_APART) count_apart(sw, what & SAN_WRITES_BACK ? COUNTS_STORES : COUNTS_LOADS);
    if (what & SAN_INVALIDATES) at_least(&sw->known.acquired, sw->known.seen);
    if (what & (SAN_INVALIDATES | SAN_INVALIDATES_NEAR)) at_least(&sw->known.acquired_near, sw->known.seen_near);
    if (!(what & SAN_WRITES_BACK)) return;
    for (uint32_t i = 0; i < sw->group->wave_count; i++) {
        const SanWave *other = &sw->group->waves[i];
        sw->written_back[i] = i == sw->index ? sw->vm_issued : other->vm_passed;
        at_least(&sw->written_back[i], sw->known.of[i].global);
    }
    sw->written_back_vm = sw->vm_issued;
}

void san_order_barrier(SanGroup *sg) {
    SanKnown all = {0};
    for (uint32_t i = 0; i < sg->wave_count; i++) {
        san_settle(&sg->waves[i]);
        add_known(&all, &sg->waves[i].known);
    }
    for (uint32_t i = 0; i < sg->wave_count; i++) sg->waves[i].known = all;
}

static SanNamed *named_barrier(SanGroup *sg, uint32_t number) {
    SanNamed *b = &sg->named[number % NAMED_BARRIERS];
    if (!(sg->named_used >> number & 1)) memset(b, 0, sizeof *b);
    sg->named_used |= 1u << number;
    return b;
}

void hk_san_named_init(const Wave *w, uint32_t number) {
    memset(&named_barrier(((SanWave *)w->san)->group, number)->signalled, 0, sizeof(SanKnown));
}

/* The signal of a barrier is a release: it covers what the wave has waited for, as a flag in global memory does. */
static void add_signal(SanKnown *to, SanWave *sw) {
    san_settle(sw);
    const SanApart *async = &sw->apart[COUNTS_ASYNC], *tensor = &sw->apart[COUNTS_TENSOR];
    SanOrder order = {sw->lgkm_done, sw->vm_done, sw->vm_issued, {async->done, tensor->done}};
    add_known(to, &sw->known);
    add_order(&to->of[sw->index], &order);
    at_least(&to->complete[sw->index], sw->vm_done);
    sw->group->san->synced = 1;
}

void hk_san_named_signal(const Wave *w, uint32_t number, int is_complete) {
    SanNamed *b = named_barrier(((SanWave *)w->san)->group, number);
    add_signal(&b->signalled, w->san);
    if (!is_complete) return;
    add_known(&b->complete, &b->signalled);
    memset(&b->signalled, 0, sizeof b->signalled);
}

void hk_san_named_pass(const Wave *w, uint32_t number) {
    SanWave *sw = w->san;
    add_known(&sw->known, &named_barrier(sw->group, number)->complete);
}

void hk_san_cluster_signal(const Wave *w, uint32_t completed) {
    SanWave *sw = w->san;
    add_signal(&sw->group->cluster[completed & 1], sw);
    release_group(w, sw, 1);
    at_least(&w->group->cluster->released[completed & 1], sw->group->san->time);
}

void hk_san_cluster_pass(const Wave *w, uint32_t completed) {
    SanWave *sw = w->san;
    add_known(&sw->known, &sw->group->cluster[completed & 1]);
    at_least(&sw->known.seen_near, w->group->cluster->released[completed & 1]);
}

int san_ordered(const Wave *w, const SanWave *sw, uint32_t group, uint32_t wave, uint32_t number, int needs_visible,
                int needs_acquire) {
    const San *s = sw->group->san;
    const SanKnown *known = &sw->known;
    uint32_t until = needs_acquire ? known->acquired : known->seen;
    if (group == (uint32_t)w->group->index && number <= known->of[wave].global) return 1;
    if (san_is_near(w, group)) {
        at_least(&until, needs_acquire ? known->acquired_near : known->seen_near);
        needs_visible = 0;
    }
    const SanReleases *all = s->releases[group];
    if (all == NULL || until == 0) return 0;
    uint64_t first = all->count > RELEASES ? all->count - RELEASES : 0;
    for (uint64_t i = first; i < all->count; i++) {
        const SanRelease *r = &all->newest[i % RELEASES];
        /* One of the dropped releases may have come in time. */
        int is_in_time = r->time <= until || (i == first && first > 0);
        if (is_in_time && number <= (needs_visible ? r->visible[wave] : r->complete[wave])) return 1;
    }
    return 0;
}

void san_order_free(San *s) {
    for (uint64_t i = 0; s->releases != NULL && i < s->groups; i++) free(s->releases[i]);
    free(s->releases);
    free(s->flags);
}
