"""A tensor in another dtype, rounded to nearest."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range
from workbench_kernels.families import elementwise, scalars

NAME = "gated_delta/cast"
SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void cast(const FROM *x, TO *out, size_t size) {
    elementwise::each(out, size, [](float value) { return value; }, x);
}
"""


def reference(x: torch.Tensor, to: str = "bf16") -> torch.Tensor:
    """`to` is "bf16", "fp16" or "fp32"."""
    return x.to(scalars.FLOATS[to])


def shape_of(x: torch.Tensor, to: str = "bf16") -> dict[str, Any]:
    names = {dtype: name for name, dtype in scalars.FLOATS.items()}
    if x.dtype not in names or x.numel() * x.dim() == 0 or to not in scalars.FLOATS:
        raise ShapeError(
            f"{NAME}: x is {tuple(x.shape)} {x.dtype}, to {to!r}; expected rows of one of "
            f"{', '.join(scalars.FLOATS)}, and another as the result"
        )
    return {"size": x.numel(), "dtype": names[x.dtype], "to": to}


spec = KernelSpec(
    name=NAME,
    doc="Conversion between bf16, fp16 and fp32, rounded to nearest even.",
    source=SOURCE,
    entry="cast",
    parameters={
        "size": Range(1, 1 << 30, default=4096, doc="elements"),
        "dtype": Choice(tuple(scalars.FLOATS), default="fp32", doc="element type of x"),
        "to": Choice(tuple(scalars.FLOATS), doc="element type of the result"),
    },
    shapes=[{"size": 4096}, {"size": 1003, "dtype": "bf16", "to": "fp32"}],
    inputs=lambda shape, generator: {
        "x": torch.randn(shape["size"], generator=generator).to(scalars.FLOATS[shape["dtype"]]),
        "to": shape["to"],
    },
    outputs=lambda shape, tensors: {"out": (tensors["x"].shape, scalars.FLOATS[shape["to"]])},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "FROM": scalars.QUALIFIED[shape["dtype"]],
        "TO": scalars.QUALIFIED[shape["to"]],
    },
    launch=lambda shape, arch: elementwise.launch(shape["size"]),
    arguments=lambda shape, tensors: {"x": tensors["x"], "out": tensors["out"], "size": shape["size"]},
    bytes=lambda shape: (
        shape["size"] * (scalars.FLOATS[shape["dtype"]].itemsize + scalars.FLOATS[shape["to"]].itemsize)
    ),
    tensors={
        "x": "dtype[...]",
        "out": "to[...]",
    },
)
