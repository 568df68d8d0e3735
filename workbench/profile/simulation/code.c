/* The instruction cache: the cycle at which the next instruction arrives. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

int sim_prepare_fetch(Unit *u) {
    const SimRun *r = u->run;
    uint32_t lines = 0, last = ~0u;
    for (uint32_t i = 0; i < r->op_count; i++) {
        uint32_t line = r->ops[i].place / 32;
        lines += line != last;
        last = line;
    }
    u->code_fits = lines <= u->m->fetch_lines;
    u->last_line = ~0u;
    u->fetched = calloc((size_t)u->m->fetch_lines + 1, sizeof *u->fetched);
    return u->fetched != NULL;
}

/* Cycles until an instruction arrives; 0 if its line is in the cache. */
double sim_fetch(Unit *u, uint32_t place) {
    uint32_t line = place / 32;
    if (u->code_fits || line == u->last_line) return 0;
    u->last_line = line;
    uint32_t ways = u->m->fetch_ways, sets = u->m->fetch_lines / ways;
    uint32_t *set = u->fetched + (size_t)(line % sets) * ways, i = 0;
    while (i < ways && set[i] != line + 1) i++;
    int hit = i < ways;
    if (!hit) i = ways - 1;
    memmove(set + 1, set, i * sizeof *set);
    set[0] = line + 1;
    return hit ? 0 : u->m->fetch_miss;
}
