"""Rounds of smoothing through shared memory: two barriers in a loop."""

from __future__ import annotations

from collections.abc import Callable

import torch

from workbench.exercises import Exercise, Mistake

GROUP = 256
"""Elements, and threads, of a work-group."""


def rounds_of(
    x: torch.Tensor, rounds: int, pad: Callable[[torch.Tensor], torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The mean of three neighbours again and again; `pad` puts one more at each end of a group's elements."""
    held = x.reshape(-1, GROUP)
    for _ in range(rounds):
        wide = pad(held)
        held = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3
    return {"out": held.flatten()}


def around(held: torch.Tensor) -> torch.Tensor:
    return torch.cat([held[:, -1:], held, held[:, :1]], 1)


def reference(x: torch.Tensor, rounds: int) -> dict[str, torch.Tensor]:
    return rounds_of(x, rounds, around)


def one_less(x: torch.Tensor, rounds: int) -> dict[str, torch.Tensor]:
    return rounds_of(x, rounds - 1, around)


def repeated(x: torch.Tensor, rounds: int) -> dict[str, torch.Tensor]:
    return rounds_of(x, rounds, lambda held: torch.cat([held[:, :1], held, held[:, -1:]], 1))


def zeros(x: torch.Tensor, rounds: int) -> dict[str, torch.Tensor]:
    return rounds_of(x, rounds, lambda held: torch.nn.functional.pad(held, (1, 1)))


exercise = Exercise(
    name="07.1",
    title="Two barriers in a loop",
    task=(
        "Write `smooth(const float *x, float *out, int rounds)` for groups of 256 threads and elements.\n"
        "In each round an element becomes the mean of itself and its two neighbours, as they were before.\n"
        "Element 0 and element 255 of a group are neighbours. Go through shared memory. Begin with\n"
        "`first_try`, which lacks something."
    ),
    hints=(
        "Follow two waves through two rounds of `first_try`. Wave 0 leaves the barrier first and comes round "
        "to the top of the loop. What does it write there, and who may not have read it yet?",
        "Each round needs two guarantees: all writes come before the reads of this round, and all reads "
        "come before the writes of the next one. One barrier gives you one of them.",
        "Put a second `__syncthreads()` at the end of the loop's body. Or use two arrays, "
        "`held[round % 2]`, and one barrier: then the next round writes to an array that this one does not "
        "read.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["groups"] * GROUP, generator=generator),
        "rounds": shape["rounds"],
    },
    outputs=lambda shape: {"out": torch.empty(shape["groups"] * GROUP)},
    launch=lambda shape: (shape["groups"], GROUP),
    reference=reference,
    shapes=[{"groups": 2, "rounds": 3}, {"groups": 1, "rounds": 1}, {"groups": 3, "rounds": 8}],
    mistakes=[
        Mistake("There is one round too few.", one_less),
        Mistake(
            "The ends of a group are their own neighbours; elements 0 and 255 should be each other's.",
            repeated,
        ),
        Mistake("Beyond the ends of a group there are zeros; its ends should be neighbours.", zeros),
    ],
    kernel="smooth",
    axes={"out": ("element",)},
    tiles={"element": GROUP},
)
