"""A loop that is unrolled by two, and an odd number of steps."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Mistake
from workbench.exercises import products as base


def one_more(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    """With the step that the slot after the last one's still holds, of four slots."""
    steps = a.shape[1] // base.STEP
    right = base.reference(a, b)["c"]
    if steps % 2 == 0 or steps < 4:
        return {"c": right}
    old = slice((steps - 4) * base.STEP, (steps - 3) * base.STEP)
    return {"c": right + a[:, old] @ b[:, old].T}


exercise = Exercise(
    name="06.3",
    title="An odd number of steps",
    task=(
        "The loop of section 7's interleave goes by pairs of steps, so K must be an even number of them.\n"
        "Let it take any number of steps, even one. The launch has four waves, and shared memory for four\n"
        "steps."
    ),
    hints=(
        "Why does the loop go by pairs? A register has no address, so the number of the buffer in "
        "registers must be known to the compiler.",
        "With an odd number, which of the two halves of the last pair exists? What must the other half "
        "not do?",
        "The number of steps is the same for all waves, so a condition around the second half of a pair "
        "may hold its barrier too: `if (step < steps) { ... }` around `mix` and `end_stage`. Check which "
        "of the first loads exist when there are only one or two steps.",
    ),
    inputs=base.inputs,
    outputs=base.outputs,
    launch=base.launch(4, 4),
    reference=base.reference,
    shapes=[base.problem(128, 128, 5), base.problem(128, 256, 1), base.problem(256, 128, 8)],
    mistakes=[
        Mistake(
            "One step too many: where the number of steps is odd, an old step that shared memory still "
            "holds is added once more.",
            one_more,
        ),
        Mistake("The last step is left out where the number of steps is odd.", base.without_last),
    ],
    kernel="multiply",
    axes=base.AXES,
    tiles=base.TILES,
)
