/* Accesses whose effect comes late: what a wave has issued, and what its waits have not yet asked for (late.c).
 *
 * Code translated for it (translate/options.py) hands its memory instructions and waits to the functions that it calls
 * here; other launches have none of it.
 */
#ifndef HK_RUN_LATE_H
#define HK_RUN_LATE_H

#include "run/wave.h"

/* Runs a memory instruction, whose effect comes now or later; nonzero after a fault, as the operation. */
HK_EXPORT int32_t hk_late_native(Wave *w, const SanOp *o, NativeFn operation);
/* s_waitcnt: what it waits for has had its effect. */
HK_EXPORT int32_t hk_late_wait(Wave *w, const SanOp *o);
/* Some time passes: where a seed decides, some of what is under way has its effect. */
HK_EXPORT int32_t hk_late_pass(Wave *w, const Op *op);

/* The driver's side: bytes for `waves`, 0 for a launch whose loads come at once; the state in which a wave begins; all
 * that is under way has its effect, nonzero after a fault. */
size_t hk_late_bytes(const Launch *l, uint32_t waves);
void hk_late_start(const Launch *l, Wave *w, void *memory);
int32_t hk_late_finish(Wave *w);

#endif
