"""A shared tile that fits the operands of a matrix instruction."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import counter

exercise = Exercise(
    name="03.2",
    title="A tile that fits",
    task=(
        "Write `gram`: out = x xᵀ for x of 64 x 64 bf16, in one wave and through shared memory, with\n"
        "operands of the type `rt_bf<64, 64, row_l, rt_16x32_s>`. Its globals are\n"
        "`gl<bf16, 1, 1, 64, 64> x` and `gl<float, 1, 1, 64, 64> out`. The launch has 8192 bytes of LDS.\n"
        "No load may conflict."
    ),
    hints=(
        "Begin with `product` of this notebook, without its loop. Its operand has another type: which lane "
        "holds what in this one?",
        '`wb.view_layout("st_bf<64, 64, ...>", access="load", register="rt_bf<64, 64, row_l, rt_16x32_s>")` '
        "says which shapes conflict. Results of 16 x 16 belong to operands of 16 x 32.",
        "`st_bf<64, 64, st_16x32_s>` was made for lanes that hold 16 bytes in rows of 32. The result is "
        "`rt_fl<64, 64, col_l, rt_16x16_s>`.",
    ),
    inputs=lambda shape, generator: {"x": torch.randn(64, 64, generator=generator).to(torch.bfloat16)},
    outputs=lambda shape: {"out": torch.empty(64, 64)},
    launch=lambda shape: (1, 64, 8192),
    reference=lambda x: {"out": x @ x.T},
    shapes=[{"n": 64}],
    mistakes=[
        Mistake("out is xᵀ x: columns were multiplied, not rows.", lambda x: {"out": x.T @ x}),
        Mistake("out is x x: the second operand is not transposed.", lambda x: {"out": x @ x}),
    ],
    limits=[
        Limit(
            "lanes wait {found} cycles for banks: the shared tile was made for another operand.",
            counter("SQ_LDS_BANK_CONFLICT"),
            lambda shape: 0,
        )
    ],
    kernel="gram",
    axes={"out": ("row", "column")},
    tiles={"row": 16, "column": 16},
)
