/* The memory accesses of a launch one by one: each lane's address, and how the LDS served it.
 *
 * Recorded only if a launch asks for it; such a launch is profiled and runs on one worker.
 */
#ifndef HK_TRACE_H
#define HK_TRACE_H

#include "run/wave.h"

/* A new record, with `at` still undefined; NULL if none is wanted or no room is left. */
HkAccess *hk_trace(Wave *w, const Op *op, uint32_t kind, uint64_t exec, uint32_t bytes);

#endif
