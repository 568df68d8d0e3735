/* Accesses with a late effect: those that a wave has issued and not yet waited for (late.c).
 *
 * Code translated for late loads (translate/options.py) passes its memory instructions and waits to these functions;
 * code of other launches does not call them.
 */
#ifndef HK_RUN_LATE_H
#define HK_RUN_LATE_H

#include "run/wave.h"

/* Runs a memory instruction, which takes effect now or later; nonzero after a fault, as the operation returns. */
HK_EXPORT int32_t hk_late_native(Wave *w, const SanOp *o, NativeFn operation);
/* The same for a scalar load, in code translated for a schedule. */
HK_EXPORT int32_t hk_late_scalar(Wave *w, const Op *op, NativeFn operation);
/* s_waitcnt: the accesses that it waits for take effect. */
HK_EXPORT int32_t hk_late_wait(Wave *w, const SanOp *o);
/* Time passes: with HK_LATE_DRAWN, some accesses in flight take effect. */
HK_EXPORT int32_t hk_late_pass(Wave *w, const Op *op);

/* For the driver: bytes for `waves`, 0 for a launch without late loads; a wave's initial state; and a function that
 * lets all accesses in flight take effect, nonzero after a fault. */
size_t hk_late_bytes(const Launch *l, uint32_t waves);
void hk_late_start(const Launch *l, Wave *w, void *memory);
int32_t hk_late_finish(Wave *w);
/* For the driver: a schedule stops the wave, so those accesses take effect that are not to be late. */
int32_t hk_late_stop(Wave *w);

#endif
