"""Difference of two tensors, element by element: |x - y| or (x - y) squared."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range
from workbench_kernels.families import elementwise

NAME = "gated_delta/difference"
SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void difference(const float *x, const float *y, float *out, size_t size) {
    const auto apart = [](float a, float b) { return SQUARED ? (a - b) * (a - b) : __builtin_fabsf(a - b); };
    elementwise::each(out, size, apart, x, y);
}
"""


def reference(x: torch.Tensor, y: torch.Tensor, squared: bool = False) -> torch.Tensor:
    """|x - y| or (x - y)^2 of tensors of one shape."""
    return (x - y) ** 2 if squared else (x - y).abs()


def shape_of(x: torch.Tensor, y: torch.Tensor, squared: bool = False) -> dict[str, Any]:
    if x.dtype != torch.float32 or x.numel() == 0:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)} {x.dtype}; expected elements of torch.float32")
    elementwise.like(NAME, "y", y, tuple(x.shape), x.dtype)
    return {"size": x.numel(), "squared": int(squared)}


spec = KernelSpec(
    name=NAME,
    doc="|x - y| or (x - y) squared of float32, for comparison of results with references.",
    source=SOURCE,
    entry="difference",
    parameters={
        "size": Range(1, 1 << 30, default=4096, doc="elements"),
        "squared": Choice((0, 1), doc="whether differences are squared"),
    },
    shapes=[{"size": 4096}, {"size": 1003, "squared": 1}],
    inputs=lambda shape, generator: {
        **{name: torch.randn(shape["size"], generator=generator) for name in ("x", "y")},
        "squared": bool(shape["squared"]),
    },
    outputs=lambda shape, tensors: {"out": (tensors["x"].shape, torch.float32)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {"SQUARED": shape["squared"]},
    launch=lambda shape, arch: elementwise.launch(shape["size"]),
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "y", "out")},
        "size": shape["size"],
    },
    flops=lambda shape: 2 * shape["size"],
    bytes=lambda shape: 12 * shape["size"],
    tensors={
        "x y out": "fp32[...]",
    },
    notes={
        "y": "subtracted from x",
    },
)
