"""mxfp4: a power of two for each 32 numbers, and the nearest of eight magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from workbench.exercises import Exercise, Mistake
from workbench.operators import Shape

BLOCK = 32
TOP = 2
"""The exponent of 6 = 1.5 * 2^2, the largest number of e2m1."""


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """Blocks of sizes from 2^-6 to 2^6; the numbers have few digits, so that some lie between two of e2m1."""
    sizes = 2.0 ** torch.randint(-6, 7, (shape["blocks"], 1), generator=generator)
    x = torch.randn(shape["blocks"], BLOCK, generator=generator)
    return {"x": (8 * x).round() / 8 * sizes, "blocks": shape["blocks"]}


def to_even(x: torch.Tensor) -> torch.Tensor:
    return x.round()


def to_larger(x: torch.Tensor) -> torch.Tensor:
    return (x + 0.5).floor()


def rounded(
    x: torch.Tensor,
    top: int = TOP,
    up: bool = False,
    nearest: Callable[[torch.Tensor], torch.Tensor] = to_even,
    largest: float = 6,
) -> dict[str, torch.Tensor]:
    """x through e2m1 and back, and the bytes of the powers."""
    exponent = x.abs().amax(1, keepdim=True).log2()
    power = (exponent.ceil() if up else exponent.floor()) - top
    size = (x / 2**power).abs()
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0)).to(x.dtype)
    values = (nearest(size / step) * step).clamp(max=largest) * x.sign() * 2**power
    return {"out": values, "powers": (power[:, 0] + 127).to(torch.uint8)}


exercise = Exercise(
    name="09.2",
    title="Blocks of mxfp4",
    task=(
        "Write `mx_round(const float *x, float *out, unsigned char *powers, int blocks)`: each thread takes\n"
        "a block of 32 numbers. Its power p is the exponent of the block's largest magnitude, minus 2:\n"
        "p = floor(log2(largest |x|)) - 2. powers gets the byte p + 127. out gets the value that is left of\n"
        "each number: x / 2^p, rounded to the nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6 with its sign (ties to\n"
        "the even code, above 6 to 6), times 2^p. blocks may be any number; a work-group has 64 threads."
    ),
    hints=(
        "Write two loops over the block: one finds the largest magnitude, one rounds. Where in the bits of "
        "a float is its exponent, and which number is added to it there?",
        "Between 0 and 2 the numbers are 0.5 apart, between 2 and 4 they are 1 apart, above 4 they "
        "are 2 apart. "
        "So divide the magnitude by its step, round to a whole number, and multiply by the step.",
        "`const int power = ilogbf(largest) - 2;` and `const float size = fabsf(ldexpf(x[i], -power));`. "
        "`rintf(size / step) * step` rounds ties to even, which is the even code here. Then `fminf(..., 6)`, "
        "`copysignf` and `ldexpf(..., power)`.",
    ),
    inputs=inputs,
    outputs=lambda shape: {
        "out": torch.empty(shape["blocks"], BLOCK),
        "powers": torch.empty(shape["blocks"], dtype=torch.uint8),
    },
    launch=lambda shape: (-(-shape["blocks"] // 64), 64),
    reference=lambda x: rounded(x),
    shapes=[{"blocks": 64}, {"blocks": 100}],
    mistakes=[
        Mistake(
            "The power is the exponent of the largest size itself; it should land on 4 to 8, not on 1 to 2.",
            lambda x: rounded(x, top=0),
        ),
        Mistake(
            "The exponent is rounded up; it should be that of the power of two below the largest size.",
            lambda x: rounded(x, up=True),
        ),
        Mistake("Numbers above 6 become 8, which e2m1 does not have.", lambda x: rounded(x, largest=8)),
        Mistake(
            "Ties are rounded up in size; of two that are equally near the even code was asked for.",
            lambda x: rounded(x, nearest=to_larger),
        ),
        Mistake(
            "Numbers are cut off, not rounded to the nearest.", lambda x: rounded(x, nearest=torch.floor)
        ),
        Mistake(
            "powers has p itself; a byte of e8m0 has p + 127.",
            lambda x: {"powers": (rounded(x)["powers"].to(torch.int16) - 127).to(torch.uint8)},
        ),
    ],
    kernel="mx_round",
    axes={"out": ("block", "number"), "powers": ("block",)},
    tiles={"block": 64},
)
