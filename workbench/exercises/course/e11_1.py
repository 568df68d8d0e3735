"""Wide loads: as many bytes with an eighth of the instructions."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Limit, Mistake
from workbench.exercises.costs import counter
from workbench.operators import Shape

LANES, EACH = 256, 8


def waves(shape: Shape) -> int:
    groups = -(-int(shape["n"]) // (LANES * EACH))
    return groups * LANES // 64


exercise = Exercise(
    name="11.1",
    title="Wide loads",
    task=(
        "Write `scale(const bf16 *x, bf16 *out, float factor, int n)`: out = factor * x, for any n that is\n"
        "a multiple of 8. A work-group has 256 lanes, a lane takes 8 neighbours, and no wave may take more\n"
        "than one load instruction and one store for them."
    ),
    hints=(
        "A lane can load up to 16 bytes per instruction. How does the compiler know that it may load 8 "
        "neighbours at once?",
        "A type of 16 bytes tells it so: a vector of eight 16-bit numbers, or `uint4`. Convert the elements "
        "in registers.",
        "`typedef short bf16x8 __attribute__((ext_vector_type(8)));` and "
        "`*reinterpret_cast<const bf16x8 *>(x + i)` with `i = 8 * (blockIdx.x * 256 + threadIdx.x)`; a bf16 "
        "is the upper half of a float. Lanes with i >= n do nothing.",
    ),
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["n"], generator=generator).to(torch.bfloat16),
        "factor": 3.0,
        **shape,
    },
    outputs=lambda shape: {"out": torch.empty(shape["n"], dtype=torch.bfloat16)},
    launch=lambda shape: (-(-shape["n"] // (LANES * EACH)), LANES),
    reference=lambda x, factor: {"out": factor * x},
    shapes=[{"n": 4096}, {"n": 5000}],
    mistakes=[
        Mistake("The factor is added, not multiplied.", lambda x, factor: {"out": factor + x}),
        Mistake("out is x: the factor is not used.", lambda x: {"out": x}),
    ],
    limits=[
        Limit(
            "{found} loads ran, and {most} are enough. A wave takes several loads where one is enough.",
            counter("SQ_INSTS_VMEM_RD"),
            waves,
        ),
        Limit(
            "{found} stores ran, and {most} are enough. A wave takes several stores where one is enough.",
            counter("SQ_INSTS_VMEM_WR"),
            waves,
        ),
    ],
    kernel="scale",
    axes={"out": ("element",)},
    tiles={"element": LANES * EACH},
)
