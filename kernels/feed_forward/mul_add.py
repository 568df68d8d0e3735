"""out = a x + b, element by element."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range
from workbench_kernels.families import elementwise, scalars

NAME = "feed_forward/mul_add"
SOURCE = """#include "families/elementwise.cuh"
using namespace kittens;
using namespace kittens::families;
__global__ __launch_bounds__(256) void
mul_add(const ELEMENT *x, const ELEMENT *a, const ELEMENT *b, ELEMENT *out, size_t size) {
    elementwise::multiply_add<ELEMENT, ONE_A, ONE_B>(x, a, b, out, elementwise::index(), size);
}
"""


def reference(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a and b have x's shape, or one element."""
    return a * x + b


def shape_of(**arguments: Any) -> dict[str, Any]:
    x = arguments["x"]
    if x.numel() < 2:
        raise ShapeError(f"{NAME}: x is {tuple(x.shape)}; expected two elements or more")
    shape = {"size": x.numel(), "dtype": elementwise.dtype_of(NAME, "x", x)}
    for name in ("a", "b"):
        tensor = arguments[name]
        scalar = tensor.numel() == 1 and tensor.dim() == 1
        if tensor.dtype != x.dtype or not (scalar or tensor.shape == x.shape):
            raise ShapeError(
                f"{NAME}: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected "
                f"{tuple(x.shape)} or (1,) {x.dtype}"
            )
        shape[f"one_{name}"] = int(tensor.shape != x.shape)
    return shape


spec = KernelSpec(
    name=NAME,
    doc="a x + b of bf16 or fp16, rounded once; a and b have one element for each of x, or one for all of x.",
    source=SOURCE,
    entry="mul_add",
    parameters={
        "size": Range(2, 1 << 30, default=4096, doc="elements of x"),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
        "one_a": Choice((0, 1), doc="whether a has one element"),
        "one_b": Choice((0, 1), doc="whether b has one element"),
    },
    shapes=[{"size": 4096}, {"size": 1003, "one_a": 1}],
    inputs=lambda shape, generator: {
        name: torch.randn(1 if shape.get(f"one_{name}") else shape["size"], generator=generator).to(
            scalars.HALVES[shape["dtype"]]
        )
        for name in ("x", "a", "b")
    },
    outputs=lambda shape, tensors: {"out": (tensors["x"].shape, tensors["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "ELEMENT": scalars.C_TYPES[shape["dtype"]],
        "ONE_A": shape["one_a"],
        "ONE_B": shape["one_b"],
    },
    launch=lambda shape, arch: elementwise.launch(shape["size"]),
    arguments=lambda shape, tensors: {**tensors, "size": shape["size"]},
    flops=lambda shape: 2 * shape["size"],
    bytes=lambda shape: 2 * (4 - shape["one_a"] - shape["one_b"]) * shape["size"],
    tensors={
        "x out": "dtype[...]",
        "a b": "dtype[...]",
    },
    notes={
        "a": "factors: as many elements as x, or one",
        "b": "summands: as many elements as x, or one",
        "x": "the input",
    },
)
