"""Ping-pong with loads that have one more turn to arrive."""

from __future__ import annotations

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises import products as base

LOADS = 4
"""Loads of each of eight waves per step: 32 KB at 16 bytes per lane."""

exercise = Exercise(
    name="06.2",
    title="A turn more to arrive",
    task=(
        "Let section 5's ping-pong start its loads three steps ahead, not two, so that a load has one more\n"
        "turn to arrive. K may be any number of steps. The launch has eight waves, and shared memory for\n"
        "five steps, which is as many as you may need."
    ),
    hints=(
        "Two numbers in the kernel count steps: how many loads may be left in flight, and how many slots "
        "there are. Both follow from when a step is started and when it is read for the last time.",
        "The upper waves are one cluster behind. What any wave reads in turn t may be overwritten from "
        "memory cluster t + 2 on. With loads three steps ahead, whose slot does step t + 3 go to?",
        "Five slots: step % 5. Start steps 0, 1 and 2 first and wait until two of them are left. In turn t "
        "start t + 3 and leave the loads of two steps in flight; near the end those of one, then none.",
    ),
    inputs=base.inputs,
    outputs=base.outputs,
    launch=base.launch(8, 5),
    reference=base.reference,
    shapes=[base.problem(128, 128, 7), base.problem(128, 256, 2), base.problem(256, 128, 12)],
    mistakes=[
        Mistake("The last step is left out.", base.without_last),
        Mistake("The first step is left out.", base.without_first),
    ],
    kernel="multiply",
    axes=base.AXES,
    tiles=base.TILES,
    limits=[
        Limit(
            "{found} waits left fewer than two steps' loads in flight, and {most} are enough: a load has no "
            "turn more than before.",
            base.waits_for_most(2 * LOADS),
            # Waits of the last two steps, and the compiler's before the first and after the last.
            lambda shape: 6 * base.waves(shape, 8),
        )
    ],
)
