"""Rows to fp8 with a scale for each, even for rows of zeros."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

COLS = 512
LARGEST = 448.0
LEAST = 1e-10
"""The smallest magnitude for which there is a scale."""


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Rows of different sizes; the largest value of each is negative, and the first row is zeros."""
    rows = shape["rows"]
    x = torch.randn(rows, COLS, generator=generator) * torch.arange(rows)[:, None]
    x[:, 100] = -x.abs().amax(1) * 1.25
    return {"x": x.to(torch.bfloat16)}


def by(x: torch.Tensor, size: torch.Tensor, largest: float = LARGEST) -> dict[str, torch.Tensor]:
    """x with scales that map `size` to `largest`."""
    scale = size.clamp(min=LEAST) / largest
    numbers = (x / scale).clamp(-LARGEST, LARGEST).float().to(torch.float8_e4m3fn)
    return {"out": numbers.to(x.dtype), "scales": scale.expand(len(x), 1)}


def sizes(x: torch.Tensor) -> torch.Tensor:
    return x.abs().amax(1, keepdim=True)


def inverse(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"scales": 1 / by(x, sizes(x))["scales"]}


exercise = Exercise(
    name="09.1",
    title="Rows to fp8, even rows of zeros",
    task=(
        "Let `quantize` of section 6 take rows of zeros: the scale is that of a magnitude of at least\n"
        "1e-10, scale = max(largest |x| of the row, 1e-10) / 448, out = x / scale. Globals and launch do\n"
        "not change: x, out, scales; four waves per work-group, each with one row."
    ),
    hints=(
        "What does section 6's kernel divide by in a row of zeros? Follow 0 / 0 to what is stored.",
        "Raise the magnitude to 1e-10 before you divide it by 448, so that a row of zeros has a scale that "
        "is small and not 0.",
        "`max(scale, scale, 1e-10f);` raises every element of a vector that is less. It belongs between "
        "`row_max` and the multiplication by 1 / 448.",
    ),
    inputs=inputs,
    outputs=lambda shape: {
        "out": torch.empty(shape["rows"], COLS, dtype=torch.float8_e4m3fn),
        "scales": torch.empty(shape["rows"], 1),
    },
    launch=lambda shape: (shape["rows"] // 4, 256),
    reference=lambda x: by(x, sizes(x)),
    shapes=[{"rows": 4}, {"rows": 24}],
    mistakes=[
        Mistake(
            "The scale is made for the largest value; the largest size was asked for, and it may be "
            "negative.",
            lambda x: by(x, x.amax(1, keepdim=True)),
        ),
        Mistake("All rows have the scale of the largest.", lambda x: by(x, sizes(x).amax().reshape(1, 1))),
        Mistake(
            "The largest size lands on 240, the largest number of the other encoding of e4m3; here "
            "it is 448.",
            lambda x: by(x, sizes(x), 240.0),
        ),
        Mistake(
            "The largest size lands on 1: out is divided by the size, not by the scale.",
            lambda x: {"out": by(x, sizes(x), 1.0)["out"]},
        ),
        Mistake("scales has what x was multiplied by, 1 / scale; the scale was asked for.", inverse),
    ],
    kernel="quantize",
    axes={"out": ("row", "column"), "scales": ("row", "of one")},
    # fp8 numbers are rounded to nearest; a scale is a float.
    tolerance=(1e-6, 1e-17),
)
