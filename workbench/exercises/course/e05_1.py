"""Wide loads: sixteen bytes per lane, and a remainder that does not fill a load."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import executed
from workbench.operators import Shape
from workbench.profile.loops import is_load

EIGHT = 8
"""Number of halves in 16 bytes."""


def reference(x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x + y}


def whole_eights(x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
    """The output of a kernel that forgets the remainder: its elements stay NaN."""
    right = x + y
    right[x.numel() // EIGHT * EIGHT :] = float("nan")
    return {"out": right}


def most(shape: Shape) -> float:
    """Twice the whole loads of both inputs, and for the remainder eight single loads of each."""
    return float(2 * 2 * shape["n"] / (64 * EIGHT) + 2 * EIGHT)


exercise = Exercise(
    name="05.1",
    title="Sixteen bytes at a time",
    task=(
        "Write `add(x, y, out, n)`: out = x + y for n numbers of type _Float16, for any n.\n"
        "Each work-group of 256 lanes takes 2048 numbers. A lane loads 16 bytes at once wherever there are\n"
        "16 bytes left."
    ),
    hints=(
        "A lane that takes eight scattered numbers needs eight loads. Which eight numbers should it take?",
        "`using eight = _Float16 __attribute__((ext_vector_type(8)))` is one load and one store. The last "
        "numbers may be fewer than eight.",
        "Lane i of all lanes takes numbers 8 i to 8 i + 7. If 8 i + 8 is at most n, add them as an "
        "`eight`; otherwise add those below n one by one.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["n"], generator=generator).half(),
        "y": torch.randn(shape["n"], generator=generator).half(),
        **shape,
    },
    outputs=lambda shape: {"out": torch.empty(shape["n"], dtype=torch.float16)},
    launch=lambda shape: (-(-shape["n"] // 2048), 256),
    reference=reference,
    shapes=[{"n": 2048}, {"n": 1003}, {"n": 20000}],
    mistakes=[
        Mistake("The rest is left out: numbers behind the last whole eight are not written.", whole_eights),
    ],
    kernel="add",
    axes={"out": ("element",)},
    tiles={"element": 2048},
    limits=[
        Limit(
            "{found} load instructions ran, and {most} are enough. A lane loads less than 16 bytes at once.",
            executed(is_load),
            most,
        )
    ],
)
