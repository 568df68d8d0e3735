"""A kernel for a GPU of any size: the grid does not follow from the problem."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import executed
from workbench.operators import Shape
from workbench.profile.loops import is_load

GROUPS, LANES = 16, 256


def reference(x: torch.Tensor, factor: float) -> dict[str, torch.Tensor]:
    return {"out": factor * x}


def one_turn(x: torch.Tensor, factor: float) -> dict[str, torch.Tensor]:
    """The output of a kernel without a loop: the other elements stay NaN."""
    right = factor * x
    right[GROUPS * LANES :] = float("nan")
    return {"out": right}


def most(shape: Shape) -> float:
    """One load for each 64 numbers, and one more per wave and iteration for its edge."""
    return float(2 * (shape["n"] / 64 + GROUPS * LANES / 64))


exercise = Exercise(
    name="13.1",
    title="A grid for any GPU",
    task=(
        "An MI355X has 256 compute units, an MI300X 304. Write `scale(x, out, factor, n)`: out = factor *\n"
        "x for n floats, whatever the grid: the check launches 16 work-groups of 256 lanes for any n. Load\n"
        "each number once."
    ),
    hints=(
        "With 4096 lanes and 10,000 numbers some lanes have two numbers and some have three. Which ones, "
        "if lanes of a wave are to read neighbours?",
        "After each number, a lane advances by as many numbers as there are lanes in the whole grid.",
        "`gridDim.x * blockDim.x` is the number of lanes: `for (int i = blockIdx.x * blockDim.x + "
        "threadIdx.x; i < n; i += ...)`.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["n"], generator=generator),
        "factor": 3.0,
        **shape,
    },
    outputs=lambda shape: {"out": torch.empty(shape["n"])},
    launch=lambda shape: (GROUPS, LANES),
    reference=reference,
    shapes=[{"n": 10000}, {"n": 100}, {"n": 20000}],
    mistakes=[
        Mistake("Each lane takes one number: what is behind the grid's lanes is not written.", one_turn),
    ],
    kernel="scale",
    axes={"out": ("element",)},
    limits=[
        Limit(
            "{found} load instructions ran, and {most} are enough. Lanes load numbers that others load too.",
            executed(is_load),
            most,
        )
    ],
)
