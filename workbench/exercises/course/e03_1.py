"""A transpose through shared memory, four floats per lane at a time, without a bank conflict."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import counter

exercise = Exercise(
    name="03.1",
    title="Four floats a lane",
    task=(
        "Write `turn(const float4 *x, float4 *out)`: out is the transpose of x, both 32 x 32 floats. Two\n"
        "waves write x to shared memory by `float4`, 8 of them per row, and read columns back. No access\n"
        "may conflict, neither the writes nor the reads."
    ),
    hints=(
        "Each lane reads one float at a time, from four rows. It writes four floats at once, and those must "
        "stay together, at a multiple of 16 bytes. A swizzle may move groups of four.",
        "An exclusive or of the column with a multiple of 4 moves whole groups of four. Which bits of the "
        "row should it take? Lanes that read a column together read rows four apart.",
        "`col ^ (row / 4 % 8 * 4)` puts the eight groups of rows into eight different groups of banks.",
    ),
    inputs=lambda shape, generator: {"x": torch.randn(32, 32, generator=generator)},
    outputs=lambda shape: {"out": torch.empty(32, 32)},
    launch=lambda shape: (1, 128),
    reference=lambda x: {"out": x.T},
    shapes=[{"n": 32}],
    mistakes=[
        Mistake("out is x: nothing was turned.", lambda x: {"out": x}),
        Mistake(
            "Groups of four are in the right place, and not turned themselves.",
            lambda x: {
                "out": x.unflatten(1, (8, 4)).unflatten(0, (8, 4)).permute(2, 1, 0, 3).reshape(32, 32)
            },
        ),
    ],
    limits=[
        Limit(
            "lanes wait for each other's banks, {found} cycles in the write or in the read.",
            counter("SQ_LDS_BANK_CONFLICT"),
            lambda shape: 0,
        )
    ],
    kernel="turn",
    axes={"out": ("row", "column")},
    tiles={"row": 4, "column": 4},
)
