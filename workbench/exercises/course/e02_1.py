"""Bias and ReLU where the result is still in registers."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake, matrices
from workbench.operators import Shape


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """With a bias as large as the products, without which a mistake would not show."""
    bias = shape["k"] ** 0.5 * torch.randn(shape["n"], generator=generator)
    return {**matrices.inputs(shape, generator), "bias": bias.to(torch.bfloat16)}


exercise = Exercise(
    name="02.1",
    title="An epilogue",
    task=(
        "Let `gemm_direct` compute c = relu(a bᵀ + bias): add `gl<bf16, 1, 1, 1, -1> bias`, one number for\n"
        "each column of c, after c in the globals. m, n and k are multiples of 32, and m may differ from n;\n"
        "a wave computes 32 x 32 of c."
    ),
    hints=(
        "When the loop ends, the wave holds its whole tile of c in registers. Nothing has to be read again.",
        "One number per column is a `row_vec` of the tile. Load it as bf16, and convert it to float.",
        "You need an `rv` of either type: `decltype(c)::row_vec` for floats, and `copy` converts. "
        "`load(stored, g.bias, {0, 0, 0, col})`, `add_col(c, c, bias)`, `relu(c, c)`, then the store.",
    ),
    inputs=inputs,
    outputs=matrices.outputs,
    launch=lambda shape: ((shape["n"] // 32, shape["m"] // 32), 64),
    reference=lambda a, b, bias: {"c": torch.relu(a @ b.T + bias)},
    shapes=[matrices.problem(64, 64, 64), matrices.problem(96, 160, 96)],
    mistakes=[
        Mistake(
            "The bias goes along the rows of c; it has a number for each column.",
            lambda a, b, bias: {"c": torch.relu(a @ b.T + bias[:, None])} if len(a) == len(b) else {},
        ),
        Mistake("ReLU comes before the bias.", lambda a, b, bias: {"c": torch.relu(a @ b.T) + bias}),
        Mistake("c has no ReLU.", lambda a, b, bias: {"c": a @ b.T + bias}),
        Mistake("c has no bias.", lambda a, b: {"c": torch.relu(a @ b.T)}),
        Mistake(
            "Every tile adds the bias of the first 32 columns.",
            lambda a, b, bias: {"c": torch.relu(a @ b.T + bias[:32].repeat(len(b) // 32))},
        ),
    ],
    kernel="gemm_direct",
    axes=matrices.AXES,
    tiles={"row": 32, "column": 32},
)
