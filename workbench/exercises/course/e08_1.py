"""The gradient of a softmax: each logit acts by its own weight, and on all weights by the denominator."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

COLS = 512


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """y of logits that prefer some columns, and gradients around 1."""
    logits = 2 * torch.randn(shape["rows"], COLS, generator=generator)
    dy = 1 + torch.randn(shape["rows"], COLS, generator=generator)
    return {"y": torch.softmax(logits, -1).to(torch.bfloat16), "dy": dy.to(torch.bfloat16)}


def reference(y: torch.Tensor, dy: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"dx": y * (dy - (y * dy).sum(-1, keepdim=True))}


exercise = Exercise(
    name="08.1",
    title="The gradient of a softmax",
    task=(
        "Write `softmax_backward` in tiles: it takes y = softmax(x), along rows, and dy, and computes dx.\n"
        "Its globals are `gl<bf16, 1, 1, -1, 512> y, dy, dx`; a wave takes a row, and a work-group has four\n"
        "waves. The cell of section 3 has all that you need."
    ),
    hints=(
        "A logit raises its own weight, and lowers all weights by way of the denominator. Differentiate "
        "y[i] = e[i] / sum(e) by x[j], once for i = j and once for i different from j.",
        "dy[i]/dx[j] = y[i] (1 if i = j else 0) - y[i] y[j]. Multiply by dy[i] and add over i: what remains "
        "is one number for the whole row, which is subtracted from each dy[j].",
        "The number is the sum of y dy along the row. `mul(product, y, dy); row_sum(sum, product);` then "
        "`sub_row(dy, dy, sum); mul(dy, dy, y);` and store.",
    ),
    inputs=inputs,
    outputs=lambda shape: {"dx": torch.empty(shape["rows"], COLS, dtype=torch.bfloat16)},
    launch=lambda shape: (shape["rows"] // 4, 256),
    reference=reference,
    shapes=[{"rows": 8}, {"rows": 40}],
    mistakes=[
        Mistake(
            "dx is y times dy: what a logit does to all weights by way of the denominator is missing.",
            lambda y, dy: {"dx": y * dy},
        ),
        Mistake(
            "From dy its own sum is subtracted; each term of that sum wants its weight y.",
            lambda y, dy: {"dx": y * (dy - dy.sum(-1, keepdim=True))},
        ),
        Mistake(
            "You subtract a mean from dy; it needs a sum: the weights y already add up to 1.",
            lambda y, dy: {"dx": y * (dy - (y * dy).mean(-1, keepdim=True))},
        ),
        Mistake(
            "The difference lacks its factor: a logit whose weight is 0 cannot matter.",
            lambda y, dy: {"dx": dy - (y * dy).sum(-1, keepdim=True)},
        ),
    ],
    kernel="softmax_backward",
    axes={"dx": ("row", "column")},
    # Weights of 512 columns are small, so the bound for bf16 would accept anything.
    tolerance=(0.01, 1e-6),
)
