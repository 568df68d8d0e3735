"""A step of training for weights that are stored twice: in float32, and in bf16 for the kernels."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

COLS = 512
RATE = 2.0**-6


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Weights around 1, and steps of a few thousandths: less than bf16 resolves there."""
    size = (shape["rows"], COLS)
    master = 1 + 0.25 * torch.randn(size, generator=generator)
    grad = 0.25 * torch.randn(size, generator=generator)
    return {"master": master, "grad": grad.to(torch.bfloat16), "rate": RATE}


def stepped(master: torch.Tensor, by: torch.Tensor) -> dict[str, torch.Tensor]:
    """Both copies after a step."""
    return {"updated": master - by, "weight": master - by}


def reference(master: torch.Tensor, grad: torch.Tensor, rate: float) -> dict[str, torch.Tensor]:
    return stepped(master, rate * grad)


exercise = Exercise(
    name="14.1",
    title="A step with master weights",
    task=(
        "Write `update`: updated = master - rate * grad in float32, and weight, the same rounded to bf16.\n"
        "Its globals are `gl<float, 1, 1, -1, 512> master, updated; gl<bf16, 1, 1, -1, 512> grad, weight;\n"
        "float rate`. A wave takes a row, and a work-group has four waves."
    ),
    hints=(
        "Which of the two copies has the digits that a small step needs? Do all arithmetic on that one.",
        "Load master into an `rt_fl` and grad into an `rt_bf` of the same shape (notebook 8, section 3), and "
        "convert the latter to floats with `copy`. Round only what you store as weight, again with `copy`.",
        "`mul(step, step, g.rate); sub(master, master, step);`, then `store(g.updated, master, ...)`, "
        "`copy(narrow, master)` and `store(g.weight, narrow, ...)`.",
    ),
    inputs=inputs,
    outputs=lambda shape: {
        "updated": torch.empty(shape["rows"], COLS),
        "weight": torch.empty(shape["rows"], COLS, dtype=torch.bfloat16),
    },
    launch=lambda shape: (shape["rows"] // 4, 256),
    reference=reference,
    shapes=[{"rows": 8}, {"rows": 40}],
    mistakes=[
        Mistake(
            "updated was rounded to bf16 on its way: steps smaller than its digits are lost for good.",
            lambda master, grad, rate: {"updated": (master - rate * grad).to(torch.bfloat16)},
        ),
        Mistake(
            "The step goes uphill: a gradient says where the loss grows.",
            lambda master, grad, rate: stepped(master, -rate * grad),
        ),
        Mistake(
            "The gradient is taken whole, whatever the rate is.",
            lambda master, grad, rate: stepped(master, grad),
        ),
        Mistake(
            "weight is what master was before the step.",
            lambda master, grad, rate: {"weight": master},
        ),
    ],
    kernel="update",
    axes={"updated": ("row", "column"), "weight": ("row", "column")},
)
