"""Three buffers: a wait that leaves a step's loads under way."""

from __future__ import annotations

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises import products as base

LOADS = 8
"""Loads of each of four waves per step: 32 KB in 16 bytes a lane."""

exercise = Exercise(
    name="06.1",
    title="Three buffers",
    task=(
        "Give section 4's `multiply` a third buffer, so that two steps are on their way while a third is\n"
        "computed. In the loop, wait for the step that is needed and leave the loads of the next one under\n"
        "way. K is any number of steps, also one. Four waves; shared memory is there for three steps."
    ),
    hints=(
        "Write down for step s which slot is computed with, which one is on its way, and which one is free "
        "to be loaded. When did the last wave read the free one?",
        "`group<4>::loads_per_tile<shared>` is how many loads a wave starts for a tile. "
        "`wait_vmcnt<n>` waits until n are left; loads arrive in the order in which they were started. "
        "How many are behind the last step?",
        "Start steps 0 and 1 before the loop, where they are there. In the loop: wait until only step + 1's "
        "loads are left (or none, in the last step), barrier, start step + 2 into slot (step + 2) % 3, "
        "read slot step % 3.",
    ),
    inputs=base.inputs,
    outputs=base.outputs,
    launch=base.launch(4, 3),
    reference=base.reference,
    shapes=[base.problem(128, 128, 5), base.problem(128, 256, 1), base.problem(256, 128, 10)],
    mistakes=[
        Mistake("The last step is left out.", base.without_last),
        Mistake("The first step is left out.", base.without_first),
    ],
    kernel="multiply",
    axes=base.AXES,
    tiles=base.TILES,
    limits=[
        Limit(
            "{found} waits left less than one step's loads under way, and {most} are enough: the third "
            "buffer is there, and nobody gains by it.",
            base.waits_for_most(LOADS),
            # Waits of the last step, and the compiler's before the first and after the last.
            lambda shape: 3 * base.waves(shape, 4),
        )
    ],
)
