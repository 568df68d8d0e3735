"""A product of fp8 with a scale for each 64 columns of K: scales that cannot wait until the end."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

TILE, STEP = 32, 64
"""Rows and columns of a wave's result; terms that share a scale."""


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """fp8 numbers and scales from 0.25 to 4."""
    tensors: dict[str, Any] = {}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        tensors[name] = torch.randn(rows, shape["k"], generator=generator).to(torch.float8_e4m3fn)
        steps = shape["k"] // STEP
        tensors[f"scale_{name}"] = 4 ** (2 * torch.rand(steps, rows, generator=generator) - 1)
    return tensors


def steps_of(x: torch.Tensor) -> torch.Tensor:
    """(step, row, column within the step)."""
    parted: torch.Tensor = x.unflatten(1, (-1, STEP))
    return parted.transpose(0, 1)


def scaled(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The sum over steps of products, each by scales (step, row)."""
    wide = torch.promote_types(scale_a.dtype, torch.float32)
    left, right = steps_of(a.to(wide)), steps_of(b.to(wide))
    products = left @ right.transpose(1, 2) * scale_a[:, :, None] * scale_b[:, None, :]
    return {"c": products.sum(0)}


def first_only(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> dict[str, torch.Tensor]:
    return scaled(a, b, scale_a[:1], scale_b[:1])


def last_only(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> dict[str, torch.Tensor]:
    return scaled(a, b, scale_a[-1:], scale_b[-1:])


def piled(
    a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> dict[str, torch.Tensor]:
    """With the sum so far multiplied again in each step."""
    behind = [scale.flip(0).cumprod(0).flip(0) for scale in (scale_a, scale_b)]
    return scaled(a, b, *behind)


exercise = Exercise(
    name="09.3",
    title="A scale for each 64 columns",
    task=(
        "Let `product` of section 7 take a scale per block: scale_a[s, i] belongs to columns 64 s to 64 s\n"
        "+ 63 of row i of a, and scale_b[s, j] likewise to row j of b. The globals become `gl<float, 1, 1,\n"
        "-1, -1> scale_a, scale_b`, one row per step; a, b, c and the launch do not change."
    ),
    hints=(
        "Section 7 multiplies once, at the end, because a scale is a factor of all terms. Of which "
        "terms is it "
        "a factor now?",
        "Each step's product has its own scales. So it needs its own tile when you multiply it, and you add "
        "it to the sum afterwards.",
        "`rt_fl<32, 32, row_l, rt_16x16_s> part;` then in the loop `zero(part); mma_ABt(part, a, b, "
        "part);`, the "
        "loads of `{0, 0, step, row}` and `{0, 0, step, col}`, `mul_row`, `mul_col`, and `add(c, c, part);`.",
    ),
    inputs=inputs,
    outputs=lambda shape: {"c": torch.empty(shape["m"], shape["n"])},
    launch=lambda shape: ((shape["n"] // TILE, shape["m"] // TILE), 64),
    reference=scaled,
    shapes=[{"m": 64, "n": 32, "k": 192}, {"m": 32, "n": 96, "k": 256}],
    mistakes=[
        Mistake("Every step has the scales of the first one.", first_only),
        Mistake("Every step has the scales of the last one.", last_only),
        Mistake(
            "The sum so far is multiplied again in each step; a step's scales belong to its own product.",
            piled,
        ),
        Mistake("scale_a is missing.", lambda a, b, scale_a, scale_b: scaled(a, b, 0 * scale_a + 1, scale_b)),
        Mistake("scale_b is missing.", lambda a, b, scale_a, scale_b: scaled(a, b, scale_a, 0 * scale_b + 1)),
    ],
    kernel="product",
    axes={"c": ("row", "column")},
    tiles={"row": TILE, "column": TILE},
    tolerance=(1e-5, 1e-3),
)
