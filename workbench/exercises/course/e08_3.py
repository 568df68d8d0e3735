"""The gradient of a norm's weight: a sum over rows, in the same order each time."""

from __future__ import annotations

from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

WAVES = 4


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """dy; x around 1, so that a missing row shows; and the factors of its rows."""
    rows, cols = shape["rows"], shape["cols"]
    x = 1 + torch.randn(rows, cols, generator=generator)
    dy = 1 + torch.randn(rows, cols, generator=generator)
    return {"dy": dy, "x": x, "r": 0.5 + torch.rand(rows, generator=generator), "rows": rows, "cols": cols}


def terms(dy: torch.Tensor, x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    return dy * x * r[:, None]


exercise = Exercise(
    name="08.3",
    title="A weight's gradient without atomics",
    task=(
        "Write `weight_gradient(const float *dy, const float *x, const float *r, float *dw, int rows, int\n"
        "cols)`: dw[c] is the sum over all rows of dy x r, with a number r for each row. A group of 256\n"
        "threads takes 64 columns: each of its 4 waves adds up every fourth row, and shared memory joins\n"
        "the four sums. cols is a multiple of 64, rows may be any number. Use no atomics: two runs must\n"
        "agree to the bit."
    ),
    hints=(
        "Thread i belongs to wave i / 64 and to column i % 64 of the work-group's columns. Which rows does "
        "its wave take, and what is the address of its column in a row?",
        "After its loop, each thread has its own sum. Four threads, one of each wave, have sums of the "
        "same column. They meet in an array of shared memory, 4 x 64, with a barrier between writing "
        "and reading.",
        "`for (int row = wave; row < rows; row += 4) sum += dy[row * cols + col] * x[row * cols + col] * "
        "r[row];` then `held[wave][lane] = sum; __syncthreads();` and wave 0 adds "
        "held[0][lane] to held[3][lane].",
    ),
    inputs=inputs,
    outputs=lambda shape: {"dw": torch.empty(shape["cols"])},
    launch=lambda shape: (shape["cols"] // 64, 64 * WAVES),
    reference=lambda dy, x, r: {"dw": terms(dy, x, r).sum(0)},
    shapes=[{"rows": 16, "cols": 128}, {"rows": 33, "cols": 64}, {"rows": 3, "cols": 192}],
    mistakes=[
        Mistake("The factor r of each row is missing.", lambda dy, x, r: {"dw": (dy * x).sum(0)}),
        Mistake(
            "dw is a mean over rows; the sum was asked for.", lambda dy, x, r: {"dw": terms(dy, x, r).mean(0)}
        ),
        Mistake(
            "Only the first wave's rows are in the sum: what the other three added up is left out.",
            lambda dy, x, r: {"dw": terms(dy, x, r)[::WAVES].sum(0)},
        ),
        Mistake(
            "Rows that do not fill a step of four waves are left out.",
            lambda dy, x, r: {"dw": terms(dy, x, r)[: len(x) // WAVES * WAVES].sum(0)},
        ),
        Mistake("The last row is left out.", lambda dy, x, r: {"dw": terms(dy, x, r)[:-1].sum(0)}),
    ],
    kernel="weight_gradient",
    axes={"dw": ("column",)},
    tiles={"column": 64},
)
