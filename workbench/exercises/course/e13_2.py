"""The same bits each time: a sum whose order does not depend on which wave is first."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import executed, is_atomic

LANES = 256


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x.sum()[None]}


def _of_lanes(x: torch.Tensor, lanes: slice) -> dict[str, torch.Tensor]:
    """The sum of the numbers of some lanes."""
    room = torch.cat([x, x.new_zeros(-x.numel() % LANES)])
    return {"out": room.reshape(-1, LANES)[:, lanes].sum()[None]}


def of_first_wave(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _of_lanes(x, slice(64))


def of_first_lane(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _of_lanes(x, slice(1))


exercise = Exercise(
    name="13.2",
    title="The same bits each time",
    task=(
        "Write `total(x, out, n)`: out[0] is the sum of n floats, by one work-group of 256 lanes. On a GPU\n"
        "it must give the same bits in each run, so no two waves may add to the same place: no atomics."
    ),
    hints=(
        "A sum in another order rounds differently. Which parts of your kernel fix the order, and where does "
        "the faster wave decide it?",
        "Let each wave write its sum to its own place in shared memory. One lane adds up the four when all "
        "of them are there. How does it know that they are?",
        "`__shared__ float of_wave[4]`; lane 0 of each wave writes its wave's sum (by `__shfl_xor`), then "
        "`__syncthreads()`, then one lane adds the four from first to last.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["n"], generator=generator) + 0.5,
        **shape,
    },
    outputs=lambda shape: {"out": torch.empty(1)},
    launch=lambda shape: (1, LANES),
    reference=reference,
    shapes=[{"n": 1000}, {"n": 256}, {"n": 5000}],
    mistakes=[
        Mistake("The sum is that of the first wave: the other three are not added.", of_first_wave),
        Mistake("The sum is that of one lane: the lanes are not added up.", of_first_lane),
    ],
    kernel="total",
    axes={"out": ("place",)},
    limits=[
        Limit(
            "{found} atomic additions ran. Whichever wave comes first is added first, and on a GPU that "
            "differs from run to run.",
            executed(is_atomic),
            lambda shape: 0,
        )
    ],
)
