"""The element-wise functions of the gated delta rule."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Range
from workbench_kernels.families import scalars

NAMES = ("exp", "exp2", "log", "log2", "safe_exp", "softplus", "sigmoid", "silu")


def reference(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """`NAMES` of x; logarithms are of |x| + 0.001, and safe_exp is exp(x), or 0 where x is positive."""
    positive = x.abs() + 0.001
    safe = torch.where(x <= 0, x, torch.full_like(x, -torch.inf)).exp()
    functional = torch.nn.functional
    return (
        *(x.exp(), x.exp2(), positive.log(), positive.log2(), safe),
        *(functional.softplus(x), x.sigmoid(), functional.silu(x)),
    )


def shape_of(x: torch.Tensor) -> dict[str, Any]:
    """Shape of a call."""
    if x.dtype not in scalars.WIDE or x.dim() == 0 or x.numel() == 0:
        raise ShapeError(f"elementary: x is {tuple(x.shape)} {x.dtype}; expected a vector of torch.float32")
    return {"size": x.numel()}


spec = KernelSpec(
    name="gated_delta/elementary",
    doc="exp, exp2, log and log2 of |x| + 0.001, exp where x is not positive, softplus, sigmoid and silu.",
    source="""#include "families/delta_gates.cuh"
using namespace kittens::families;
__global__ __launch_bounds__(delta_gates::THREADS) void
elementary(const delta_gates::elementary g) { g.run(); }
""",
    entry="elementary",
    parameters={"size": Range(1, 1 << 28, default=4096, doc="elements of x")},
    shapes=[{"size": 4096}, {"size": 1003}],
    inputs=lambda shape, generator: {"x": 3 * torch.randn(shape["size"], generator=generator)},
    outputs=lambda shape, tensors: dict.fromkeys(NAMES, (tensors["x"].shape, torch.float32)),
    reference=reference,
    shape_of=shape_of,
    launch=lambda shape, arch: Launch(-(-shape["size"] // 256), 256),
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in NAMES},
        **{"x": tensors["x"].contiguous(), "count": shape["size"]},
    },
    flops=lambda shape: 40 * shape["size"],
    bytes=lambda shape: 36 * shape["size"],
    tensors={
        "x exp exp2 log log2 safe_exp softplus sigmoid silu": "fp32[...]",
    },
)
