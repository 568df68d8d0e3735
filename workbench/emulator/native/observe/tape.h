/* Record of one work-group's waves, for a person who steps through it.
 *
 * Such a launch runs code whose blocks are single instructions. After each, the tape records changes in the wave's
 * registers and in its memory on the chip, as the exclusive or of before and after: applied again it leads forward, and
 * backward.
 */
#ifndef HK_TAPE_H
#define HK_TAPE_H

#include "run/wave.h"

/* Before a block of a wave runs, and after. */
void hk_tape_before(HkTape *t, Wave *w);
void hk_tape_after(HkTape *t, Wave *w, int32_t block);
/* When the work-group is over. */
void hk_tape_end(HkTape *t, const Group *g, const Wave *waves);

#endif
