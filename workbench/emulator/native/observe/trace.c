/* See trace.h. */
#include "observe/trace.h"

HkAccess *hk_trace(Wave *w, const Op *op, uint32_t kind, uint64_t exec, uint32_t bytes) {
    HkTrace *t = w->group->trace;
    if (t == NULL || t->count++ >= t->room) return NULL;
    HkAccess *a = &t->records[t->count - 1];
    memset(a, 0, offsetof(HkAccess, at));
    a->pc = op->pc;
    a->group = w->group->index;
    a->exec = exec;
    a->wave = w->index;
    a->kind = kind;
    a->bytes = bytes;
    return a;
}
