/* Reports of the sanitizer: one of each kind per instruction, with a count. */
#include "observe/sanitizer/state.h"

int san_found(Wave *w, uint32_t kind, const Op *op, uint64_t other_pc, int32_t lane, uint64_t address, uint64_t detail,
              uint64_t other_group, uint32_t other_wave) {
    SanWave *sw = w->san;
    San *s = sw->group->san;
    s->report_total++;
    SanReport *last = s->last_report;
    if (last != NULL && last->pc == op->pc && last->kind == kind) {
        last->count++;
        return 1;
    }
    uint64_t place = ((op->pc << 8 | kind) * 0x9e3779b97f4a7c15ull) >> 32;
    uint16_t *slot;
    while (*(slot = &s->report_slots[place++ % REPORT_SLOTS]) != 0) {
        SanReport *r = &s->reports[*slot - 1];
        if (r->pc == op->pc && r->kind == kind) {
            s->last_report = r;
            r->count++;
            return 1;
        }
    }
    if (s->report_count == REPORTS) return 0;
    *slot = (uint16_t)(s->report_count + 1);
    s->reports[s->report_count++] = (SanReport){
        .pc = op->pc,
        .other_pc = other_pc,
        .address = address,
        .group = w->group->index,
        .other_group = other_group,
        .count = 1,
        .detail = detail,
        .kind = kind,
        .wave = w->index,
        .other_wave = other_wave,
        .lane = lane,
    };
    return 1;
}

HK_EXPORT uint64_t hk_san_take(San *s, SanReport *reports, uint64_t room) {
    uint64_t count = s->report_count < room ? s->report_count : room;
    memcpy(reports, s->reports, count * sizeof *reports);
    return count;
}
