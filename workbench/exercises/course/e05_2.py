"""Coalesced loads: neighbouring lanes read neighbouring addresses."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import counter
from workbench.operators import Shape

LINE = 128
"""Bytes of a line of the caches."""


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x.sum(-1)}


def of_first_lane(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x[:, ::64].sum(-1)}


def of_first_columns(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x[:, :64].sum(-1)}


def whole_turns(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x[:, : x.shape[1] // 64 * 64].sum(-1)}


def most(shape: Shape) -> float:
    """Twice the lines that x has, and one for each row: rows begin anywhere in a line."""
    return float(2 * shape["rows"] * (shape["cols"] * 4 / LINE + 1))


exercise = Exercise(
    name="05.2",
    title="Neighbours read neighbours",
    task=(
        "Write `sums(x, out, rows, cols)`: out[r] is the sum of row r of x, which has rows x cols floats;\n"
        "both may be any number. A work-group has four waves, and each wave takes one row. No load may\n"
        "touch more lines of memory than its bytes need."
    ),
    hints=(
        "Take one load instruction of a wave, and write down the addresses of lanes 0, 1 and 2. How many "
        "bytes lie between them?",
        "A lane does not need a contiguous piece of the row. It may take every 64th number, if a sum over "
        "the lanes comes last.",
        "`for (int c = lane; c < cols; c += 64)` adds up a lane's share; then "
        "`for (int far = 32; far; far /= 2) sum += __shfl_xor(sum, far);` adds up the lanes. Waves whose "
        "row is past the last one return first.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["rows"], shape["cols"], generator=generator) + 0.5,
        **shape,
    },
    outputs=lambda shape: {"out": torch.empty(shape["rows"])},
    launch=lambda shape: (-(-shape["rows"] // 4), 256),
    reference=reference,
    shapes=[{"rows": 8, "cols": 256}, {"rows": 10, "cols": 200}, {"rows": 30, "cols": 1024}],
    mistakes=[
        Mistake("Each sum is that of one lane: the lanes are not added up.", of_first_lane),
        Mistake("Only the first 64 numbers of each row are added up.", of_first_columns),
        Mistake("The last numbers of a row, fewer than 64, are left out.", whole_turns),
    ],
    kernel="sums",
    axes={"out": ("row",)},
    tiles={"row": 4},
    limits=[
        Limit(
            "loads touched {found} lines of 128 bytes, and {most} are enough. Lanes beside each other read "
            "numbers that are not neighbours.",
            counter("lines_128B_read"),
            most,
        )
    ],
)
