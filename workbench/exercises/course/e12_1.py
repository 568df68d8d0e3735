"""A softmax by rows, from Triton to tiles."""

from __future__ import annotations

import math

import torch

from workbench.exercises import Exercise, Mistake, rows

exercise = Exercise(
    name="12.1",
    title="From Triton to tiles",
    task=(
        "Write `softmax` in tiles, as the Triton program above it computes it: out = softmax(x) by rows.\n"
        "Its globals have x and out (any number of rows, 1024 columns of bf16). Each wave takes a row; a\n"
        "work-group has 4 waves."
    ),
    hints=(
        "`tl.max(x, 0)` and `tl.sum(x, 0)` are over everything that the program holds. Which functions of "
        "tiles work on a row?",
        "Subtract the maximum of each row before you take the powers, and divide them by their sum. Each is "
        "one number per row. `exp2` is the hardware's power, `exp` that of the formula.",
        "`row_max(m, x)`, `sub_row(x, x, m)`, `exp(x, x)`, `row_sum(l, x)`, `div_row(x, x, l)`, with m and l "
        "of the type `decltype(x)::col_vec`.",
    ),
    inputs=lambda shape, generator: {
        # Beyond 88 a power overflows a float.
        "x": (100 + 2 * torch.randn(shape["rows"], rows.COLS, generator=generator)).to(torch.bfloat16)
    },
    outputs=lambda shape: {"out": rows.room(shape)},
    launch=rows.launch,
    reference=lambda x: {"out": torch.softmax(x, -1)},
    shapes=[{"rows": 8}, {"rows": 60}],
    mistakes=[
        Mistake(
            "The powers are those of 2, not of e.", lambda x: {"out": torch.softmax(math.log(2) * x, -1)}
        ),
        Mistake(
            "The powers are not divided by their sum.",
            lambda x: {"out": torch.exp(x - x.amax(-1, keepdim=True))},
        ),
        Mistake(
            "x is divided by its sum: no power was taken.", lambda x: {"out": x / x.sum(-1, keepdim=True)}
        ),
    ],
    kernel="softmax",
    axes={"out": ("row", "column")},
    tiles=rows.TILES,
)
