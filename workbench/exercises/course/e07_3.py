"""The variance of numbers far from 0: the formula decides how many digits are left."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

FAR = 8192.0
"""The mean of each row. Squares of numbers near it are rounded to multiples of 8 in float."""


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Rows with as many numbers above the mean as below, all equally far: 0.25, 0.5 or 1."""
    rows, n = shape["rows"], shape["n"]
    signs = torch.stack([torch.randperm(n, generator=generator) % 2 * 2.0 - 1 for _ in range(rows)])
    apart = 2.0 ** -torch.randint(0, 3, (rows, 1), generator=generator)
    return {"x": FAR + apart * signs, "n": n}


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x.var(1, unbiased=False)}


exercise = Exercise(
    name="07.3",
    title="A variance that keeps its digits",
    task=(
        "Write `variance(const float *x, float *out, int n)`: out[row] is the variance of row `row` of x,\n"
        "the mean of (x - mean)^2. A wave of 64 threads takes one row, n is a multiple of 64. The numbers\n"
        "are near 8192, at most 1 from their mean."
    ),
    hints=(
        "8192 squared is 2 to the power of 26. A float has 24 bits. What is the smallest step between two "
        "floats of that size?",
        "Subtract first, square afterwards: x - mean is small, and exact when the two are near each other. "
        "That takes the mean, so a loop before the loop.",
        "Each lane adds up its elements, `for (int far = 32; far; far /= 2) sum += __shfl_xor(sum, far);` "
        "gives every lane the sum of all 64. Divide by n, then loop again over "
        "(x[i] - mean) * (x[i] - mean).",
    ),
    inputs=inputs,
    outputs=lambda shape: {"out": torch.empty(shape["rows"])},
    launch=lambda shape: (shape["rows"], 64),
    reference=reference,
    shapes=[{"rows": 4, "n": 256}, {"rows": 16, "n": 1024}],
    mistakes=[
        Mistake(
            "Every variance is 0: the squares of such numbers are rounded to multiples of 8, and their mean "
            "less the square of the mean has no digit left.",
            lambda x: {"out": torch.zeros_like(x[:, 0])},
        ),
        Mistake(
            "The sum of squares is divided by n - 1; the mean of n squares was asked for.",
            lambda x: {"out": x.var(1, unbiased=True)},
        ),
        Mistake(
            "That is the standard deviation, the root of the variance.",
            lambda x: {"out": x.std(1, unbiased=False)},
        ),
        Mistake(
            "The sum of squares is not divided by anything.",
            lambda x: {"out": x.var(1, unbiased=False) * x.shape[1]},
        ),
    ],
    kernel="variance",
    axes={"out": ("row",)},
)
