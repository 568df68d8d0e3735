/* Path of each wave: its basic blocks in order, and the cost of each memory instruction in them.
 *
 * Steps are recorded on request, for the work-groups asked for; for the others only a hash of their waves' paths is
 * kept, which identifies work-groups with the same paths. The machine model (workbench/profile/simulation) replays the
 * steps.
 */
#ifndef HK_STEPS_H
#define HK_STEPS_H

#include "run/wave.h"

#define HK_STEP_PLACE(s) ((uint32_t)(s) & 0xfffff)
#define HK_STEP_LDS(s) ((uint32_t)((s) >> 20) & 0xfff)
#define HK_STEP_LINES(s) ((uint32_t)((s) >> 32) & 0x1ff)
#define HK_STEP_TURNS(s) ((uint32_t)((s) >> 41) & 0x1ff)
#define HK_STEP_BYTES(s) ((uint32_t)((s) >> 50) & 0x1ff)
#define HK_MOST_STEPS (1u << 22) /* limit per wave; later steps are dropped */

struct HkWay {
    struct HkWay *next;
    uint64_t group;
    uint32_t wave;
    uint32_t keep; /* zero: only the hash is recorded */
    uint64_t *steps;
    uint64_t count, room;
    uint64_t block_at; /* index in `steps` at which the current block begins */
    uint64_t blocks;   /* total number of blocks */
    uint64_t hash;
    uint32_t cut; /* nonzero: steps are missing, because of memory or HK_MOST_STEPS */
    uint32_t reserved;
};

void hk_steps_start(HkSteps *s, Group *g, Wave *waves);
void hk_steps_end(HkSteps *s, const Group *g, Wave *waves);
void hk_steps_put(HkWay *way, uint64_t step);
/* Adds the cost of a memory instruction of the current block, and its L1 turns; parts of one instruction add up. */
void hk_steps_cost(Wave *w, const Op *op, uint32_t lds_cycles, uint32_t lines, uint32_t turns, uint32_t bytes);

static inline void hk_steps_block(HkWay *way, int32_t block) {
    way->hash = (way->hash ^ (uint32_t)block) * 0x9e3779b97f4a7c15ull;
    way->hash ^= way->hash >> 29;
    way->blocks++;
    if (way->keep != 1) return;
    hk_steps_put(way, (uint32_t)block);
    way->block_at = way->count;
}

#endif
