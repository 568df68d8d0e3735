"""LayerNorm: the mean is subtracted first."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake, rows
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Rows with a mean that matters, and every other row so small that epsilon matters too."""
    x = 2 + torch.randn(shape["rows"], rows.COLS, generator=generator)
    x[1::2] *= 1e-3
    return {"x": x.to(torch.bfloat16), "eps": rows.EPS}


def centred(x: torch.Tensor) -> torch.Tensor:
    return x - x.mean(-1, keepdim=True)


def unsquared(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """The variance as if the mean were 0."""
    return {"out": centred(x) * torch.rsqrt(x.square().mean(-1, keepdim=True) + rows.EPS)}


exercise = Exercise(
    name="01.2",
    title="LayerNorm",
    task=(
        "Write `layernorm`: out = (x - mean) / sqrt(variance + eps), by rows, without weight and bias.\n"
        "Its globals have x and out (any number of rows, 1024 columns) and eps; the variance is the mean\n"
        "of (x - mean) squared. Each wave takes a row; a work-group has 4 waves."
    ),
    hints=(
        "LayerNorm is RMSNorm of numbers whose mean is 0. What has to happen to x before the squares?",
        "`row_sum` gives one number per row, as a `decltype(x)::col_vec`. The mean is such a number.",
        "`row_sum(mean, x)`, `mul(mean, mean, 1.0f / COLS)`, `sub_row(x, x, mean)`; then the squares, as in "
        "`rmsnorm`, without the weight.",
    ),
    inputs=inputs,
    outputs=lambda shape: {"out": rows.room(shape)},
    launch=rows.launch,
    reference=lambda x: {"out": rows.rms(centred(x))},
    shapes=[{"rows": 8}, {"rows": 60}],
    mistakes=[
        Mistake("The mean is still in it: this is RMSNorm.", lambda x: {"out": rows.rms(x)}),
        Mistake("The variance is that of numbers from which the mean was not subtracted.", unsquared),
        Mistake(
            "eps is missing: rows of small numbers come out too large.",
            lambda x: {"out": rows.rms(centred(x), 0)},
        ),
        Mistake("out has the mean subtracted, and is not divided.", lambda x: {"out": centred(x)}),
    ],
    kernel="layernorm",
    axes={"out": ("row", "column")},
    tiles=rows.TILES,
)
