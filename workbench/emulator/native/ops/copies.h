/* What a copy of a tensor's tile touches, for those who look at it before it runs. */
#ifndef HK_COPIES_H
#define HK_COPIES_H

#include "run/lanes.h"

/* Called for each run of bytes that follow each other in memory and in LDS; `memory` is 0 where the tensor has none,
 * and zeros are loaded. Returns 0 to stop. */
typedef int (*HkVisit)(void *data, uint64_t memory, uint32_t lds, uint32_t bytes);

/* Visits the runs of a copy in the order of LDS, with nothing moved, checked or counted. Returns nonzero, with the
 * address of the barrier, if the copy arrives at one at its end. A descriptor that is wrong has no runs. */
int hk_visit_tile(Wave *w, const Op *op, int to_lds, HkVisit visit, void *data, uint32_t *barrier);

#endif
