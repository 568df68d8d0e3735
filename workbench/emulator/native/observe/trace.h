/* Single memory accesses of a launch: each lane's address, and how the LDS served it.
 *
 * Recorded only if a launch requests it; such a launch is profiled and runs on one worker.
 */
#ifndef HK_TRACE_H
#define HK_TRACE_H

#include "run/wave.h"

/* A new record, with `at` not filled in yet; NULL if no trace is requested or there is no room. */
HkAccess *hk_trace(Wave *w, const Op *op, uint32_t kind, uint64_t exec, uint32_t bytes);

#endif
