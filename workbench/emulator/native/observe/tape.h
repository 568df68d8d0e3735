/* Record of one work-group's waves, for a person who steps through them.
 *
 * Such a launch runs code with one instruction per block. After each instruction, the tape records the changes in the
 * wave's registers and on-chip memory as the exclusive or of before and after: applying it moves the state forward or
 * backward.
 */
#ifndef HK_TAPE_H
#define HK_TAPE_H

#include "run/wave.h"

/* Called before and after a block of a wave runs. */
void hk_tape_before(HkTape *t, Wave *w);
void hk_tape_after(HkTape *t, Wave *w, int32_t block);
/* Accesses of the wave that ran last took effect after its last block. */
void hk_tape_late(HkTape *t, Wave *w);
/* Called when the work-group ends. */
void hk_tape_end(HkTape *t, const Group *g, const Wave *waves);

#endif
