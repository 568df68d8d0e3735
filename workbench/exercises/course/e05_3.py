"""Data that is read once and kept in registers."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import counter

COLS = 512


def _standard(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": (x - mean) / variance.sqrt()}


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _standard(x, x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False))


def one_less(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _standard(x, x.mean(-1, keepdim=True), x.var(-1, keepdim=True))


def around_zero(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _standard(x, x.mean(-1, keepdim=True), (x * x).mean(-1, keepdim=True))


def not_moved(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return _standard(x, torch.zeros_like(x[:, :1]), x.var(-1, keepdim=True, unbiased=False))


exercise = Exercise(
    name="05.3",
    title="Read once",
    task=(
        "Write `standard(x, out)`: out is each row of x (rows x 512 floats) minus its mean, divided by its\n"
        "standard deviation (the square root of the mean of the squared differences from the mean).\n"
        "A work-group has four waves, each wave takes one row, and each number is read from memory once."
    ),
    hints=(
        "Three things need the row: the mean, the variance and the result. Where can it stay in between?",
        "A wave has 64 lanes, so each lane has eight numbers of the row. An array stays in registers if the "
        "compiler knows all its indices.",
        "`float held[8]`, filled by one loop over i from `x[row * 512 + i * 64 + lane]`. The mean is the "
        "sum over lanes divided by 512; then a second loop over `held` for the variance, a third for `out`.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["rows"], COLS, generator=generator) + 0.7,
    },
    outputs=lambda shape: {"out": torch.empty(shape["rows"], COLS)},
    launch=lambda shape: (shape["rows"] // 4, 256),
    reference=reference,
    shapes=[{"rows": 4}, {"rows": 64}],
    mistakes=[
        Mistake("The variance divides by 511; the task divides by 512.", one_less),
        Mistake("The variance is the mean of the squares: the mean is not subtracted first.", around_zero),
        Mistake("The mean is missing in the result.", not_moved),
    ],
    kernel="standard",
    axes={"out": ("row", "column")},
    tiles={"row": 4},
    limits=[
        Limit(
            "lanes read {found} bytes from memory, and {most} are enough. Numbers are read more than once.",
            counter("bytes_read"),
            # Arguments of the kernel are loaded too, 16 bytes and more per wave.
            lambda shape: shape["rows"] * (COLS * 4 + 256),
        )
    ],
)
