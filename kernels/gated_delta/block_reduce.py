"""Maximum or sum of each 256 consecutive elements: the first step of a reduction."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range
from workbench.targets import WAVE

NAME = "gated_delta/block_reduce"
BLOCK = 256
SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void block_reduce(const float *x, float *out, int size) {
    elementwise::reduce_blocks<base_ops::OPERATION>(x, out, size, NOTHING);
}
"""


def reference(x: torch.Tensor, operation: str = "max") -> torch.Tensor:
    """The maximum ("max") or sum ("sum") of each 256 elements of x (N); the last block may be shorter."""
    parts = x.split(BLOCK)
    return torch.stack([part.max() if operation == "max" else part.sum() for part in parts])


def shape_of(x: torch.Tensor, operation: str = "max") -> dict[str, Any]:
    if x.dtype != torch.float32 or x.dim() != 1 or x.numel() == 0:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)} {x.dtype}; expected a vector of torch.float32")
    return {"size": x.numel(), "operation": operation}


def blocks(size: int) -> int:
    return -(-size // BLOCK)


spec = KernelSpec(
    name=NAME,
    doc="Maximum or sum of each 256 consecutive elements of a float32 vector.",
    source=SOURCE,
    entry="block_reduce",
    parameters={
        "size": Range(1, 1 << 30, default=4096, doc="elements"),
        "operation": Choice(("max", "sum"), doc="reduction of 256 elements"),
    },
    shapes=[{"size": 4096}, {"size": 1003, "operation": "sum"}],
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["size"], generator=generator),
        "operation": shape["operation"],
    },
    outputs=lambda shape, tensors: {"out": ((blocks(shape["size"]),), torch.float32)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "OPERATION": shape["operation"],
        "NOTHING": "0.0f" if shape["operation"] == "sum" else "-__builtin_inff()",
    },
    launch=lambda shape, arch: Launch(grid=-(-blocks(shape["size"]) // 4), block=4 * WAVE),
    arguments=lambda shape, tensors: {"x": tensors["x"], "out": tensors["out"], "size": shape["size"]},
    flops=lambda shape: shape["size"],
    bytes=lambda shape: 4 * (shape["size"] + blocks(shape["size"])),
    tensors={
        "x": "fp32[size]",
        "out": "fp32[ceil(size/256)]",
    },
)
