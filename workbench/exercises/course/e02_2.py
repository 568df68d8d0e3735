"""A larger tile: half the bytes."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake, matrices
from workbench.exercises.costs import counter
from workbench.operators import Shape

TILE = 64


def bytes_read(shape: Shape) -> int:
    """Each tile of c reads its rows of a and b once; arguments take at most 256 bytes per wave."""
    waves = int(shape["m"]) // TILE * (int(shape["n"]) // TILE)
    return waves * (2 * TILE * int(shape["k"]) * 2 + 256)


def exchanged(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    if len(a) != len(b):
        return {}
    tiles = (a @ b.T).unflatten(1, (-1, TILE)).unflatten(0, (-1, TILE))
    return {"c": tiles.transpose(0, 2).reshape(len(a), len(a))}


def half_the_steps(a: torch.Tensor, b: torch.Tensor) -> dict[str, torch.Tensor]:
    a, b = (operand.unflatten(1, (-1, 32))[:, ::2].flatten(1) for operand in (a, b))
    return {"c": a @ b.T}


exercise = Exercise(
    name="02.2",
    title="A larger tile",
    task=(
        "Let a wave of `gemm_direct` compute 64 x 64 of c = a bᵀ, and read each row of a and b that it\n"
        "needs only once. The arguments are still a, b, c; the grid is (n / 64, m / 64). m and n are\n"
        "multiples of 64, and k is a multiple of 32."
    ),
    hints=(
        "The types say how large a tile is. Which of the three tiles grows in which direction?",
        "Coordinates count tiles: with a tile of 64 rows, row 1 begins at element 64. The step along K "
        "does not change.",
        "`rt_bf<64, 32, row_l, rt_16x32_s> a, b;` and `rt_fl<64, 64, row_l, rt_16x16_s> c;` are all that "
        "changes.",
    ),
    inputs=matrices.inputs,
    outputs=matrices.outputs,
    launch=lambda shape: ((shape["n"] // TILE, shape["m"] // TILE), 64),
    reference=lambda a, b: {"c": a @ b.T},
    shapes=[matrices.problem(128, 128, 96), matrices.problem(64, 192, 96)],
    mistakes=[
        Mistake("The last step along K is missing.", lambda a, b: {"c": a[:, :-32] @ b[:, :-32].T}),
        Mistake(
            "Every other step along K is left out: the tile is as deep as before.",
            half_the_steps,
        ),
        Mistake(
            "Tiles of c are in each other's places: rows of tiles and columns of tiles are exchanged.",
            exchanged,
        ),
    ],
    limits=[
        Limit(
            "{found} bytes were read, and {most} are enough. A wave reads rows of a or b more than once.",
            counter("bytes_read"),
            bytes_read,
        )
    ],
    kernel="gemm_direct",
    axes=matrices.AXES,
    tiles={"row": TILE, "column": TILE},
)
