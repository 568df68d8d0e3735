/* The memory accesses of a launch one by one: which lane went where, and how the LDS served it.
 *
 * Recorded only where a launch asks for it; such a launch is profiled and runs on one worker.
 */
#ifndef HK_TRACE_H
#define HK_TRACE_H

#include "run/wave.h"

/* A record to fill, with `at` still undefined; NULL where none is wanted or no room is left. */
HkAccess *hk_trace(Wave *w, const Op *op, uint32_t kind, uint64_t exec, uint32_t bytes);

#endif
