"""Three buffers: a wait that leaves a step's loads in flight."""

from __future__ import annotations

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises import products as base

LOADS = 8
"""Loads of each of four waves per step: 32 KB at 16 bytes per lane."""

exercise = Exercise(
    name="06.1",
    title="Three buffers",
    task=(
        "Give section 4's `multiply` a third buffer, so that two steps are in flight while a third is\n"
        "computed. In the loop, wait for the step that you need, and leave the loads of the next one in\n"
        "flight. K may be any number of steps, even one. The launch has four waves, and shared memory for\n"
        "three steps."
    ),
    hints=(
        "Write down, for step s, which slot you compute with, which one is in flight, and which one is free "
        "to load into. When did the last wave read the free one?",
        "`group<4>::loads_per_tile<shared>` is the number of loads that a wave starts for a tile. "
        "`wait_vmcnt<n>` waits until n are left; loads arrive in the order in which they were started. "
        "How many are there after those of the last step?",
        "Start steps 0 and 1 before the loop, if they exist. In the loop: wait until only the loads of "
        "step + 1 are left (or none, in the last step), barrier, start step + 2 into slot (step + 2) % 3, "
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
            "{found} waits left less than one step's loads in flight, and {most} are enough: there is a "
            "third buffer, but nobody gains by it.",
            base.waits_for_most(LOADS),
            # Waits of the last step, and the compiler's before the first and after the last.
            lambda shape: 3 * base.waves(shape, 4),
        )
    ],
)
