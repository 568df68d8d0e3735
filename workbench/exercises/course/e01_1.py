"""A residual, added before the norm in the same kernel."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake, rows
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    weight = 1 + 0.1 * torch.randn(rows.COLS, generator=generator)
    return {
        "x": rows.normal(shape, generator),
        "residual": rows.normal(shape, generator),
        "weight": weight.to(torch.bfloat16),
        "eps": rows.EPS,
    }


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    return {"sum": rows.room(shape), "out": rows.room(shape)}


def reference(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    # The sum is rounded once; the norm and the next layer see the same numbers.
    total = (x + residual).to(torch.bfloat16).to(x.dtype)
    return {"sum": total, "out": rows.rms(total) * weight}


def without(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": rows.rms(x) * weight}


def behind(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": rows.rms(x) * weight + residual}


def of_sums(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> dict[str, torch.Tensor]:
    total = x + residual
    return {"out": total * torch.rsqrt(total.square().sum(-1, keepdim=True) + rows.EPS) * weight}


def no_weight(x: torch.Tensor, residual: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": rows.rms(x + residual)}


exercise = Exercise(
    name="01.1",
    title="A residual before the norm",
    task=(
        "Write `add_rmsnorm`: sum = x + residual, out = rmsnorm(sum) * weight, in one kernel.\n"
        "Its globals have x, residual, sum, out (any number of rows, 1024 columns), weight and eps.\n"
        "Each wave takes a row; a work-group has 4 waves."
    ),
    hints=(
        "Where in `rmsnorm` is x complete as floats, and not used yet? The residual belongs there.",
        "Load the residual into a tile of its own and convert it to floats, as for x. The sum goes to "
        "memory as bf16, and the norm should see what the next layer sees: the rounded sum.",
        "After `copy(x, stored)`: load the residual, `copy` it to a tile of floats, `add(x, x, other)`, "
        "`copy(stored, x)`, `store(g.sum, stored, {0, 0, row, 0})`, `copy(x, stored)`. The rest stays as it "
        "is.",
    ),
    inputs=inputs,
    outputs=outputs,
    launch=rows.launch,
    reference=reference,
    shapes=[{"rows": 8}, {"rows": 60}],
    mistakes=[
        Mistake("out is the norm of x alone: the residual is not in it.", without),
        Mistake("The residual is added behind the norm; it belongs before it.", behind),
        Mistake("Rows are divided by the root of their sum of squares, not of the mean.", of_sums),
        Mistake("out is not multiplied by the weight.", no_weight),
        Mistake("sum is x: the residual was not added to what is stored.", lambda x: {"sum": x}),
    ],
    kernel="add_rmsnorm",
    axes={"sum": ("row", "column"), "out": ("row", "column")},
    tiles=rows.TILES,
)
