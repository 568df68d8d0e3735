"""Backward of the selection of each token's best experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch
from workbench.targets import WAVE
from workbench_kernels.families import routing_topk as family
from workbench_kernels.families import scalars
from workbench_kernels.moe_routing import topk as forward

SOURCE = """#include "families/routing.cuh"
using namespace kittens;
using namespace kittens::families::routing;
__global__ __launch_bounds__(256) void best_backward(const top_backward_arguments<TOP_T> g) {
    top_backward<TOP_T, score::TOP_SCORE>(g);
}
"""


def reference(
    dvalues: torch.Tensor,
    x: torch.Tensor,
    values: torch.Tensor,
    indices: torch.Tensor,
    k: int,
    score: str = "none",
    shared: int = 0,
) -> torch.Tensor:
    """dvalues through the scores, in the selected columns: y (dy - sum(y dy)) of a softmax y, y (1 - y) dy of
    a sigmoid."""
    wide = torch.promote_types(x.dtype, torch.float32)
    grad, y = dvalues[:, :k].to(wide), values[:, :k].to(wide)
    if score == "softmax":
        grad = y * (grad - (y * grad).sum(-1, keepdim=True))
    elif score == "sigmoid":
        grad = y * (1 - y) * grad
    dx = torch.zeros(x.shape, dtype=wide, device=x.device)
    return dx.scatter(1, indices[:, :k].long(), grad).to(x.dtype)


def shape_of(
    dvalues: torch.Tensor, x: torch.Tensor, values: torch.Tensor, indices: torch.Tensor, **settings: Any
) -> dict[str, Any]:
    """Shape of a call."""
    shape = family.shape_of(x, **settings)
    dims = (shape["rows"], shape["k"] + shape["shared"])
    for name, tensor, dtype in (
        ("dvalues", dvalues, x.dtype),
        ("values", values, x.dtype),
        ("indices", indices, torch.int32),
    ):
        if tuple(tensor.shape) != dims or tensor.dtype != dtype:
            raise ShapeError(
                f"topk_backward: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected {dims} {dtype}"
            )
    return shape


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Results of the forward pass on random logits, and a gradient of these results."""
    tensors = forward.spec.inputs(shape, generator)
    values, indices, _ = forward.spec.reference(**tensors)
    return {
        "dvalues": torch.randn(values.shape, generator=generator).to(values.dtype),
        "x": tensors["x"],
        "values": values,
        "indices": indices,
        **{name: shape[name] for name in ("k", "score", "shared")},
    }


spec = KernelSpec(
    name="moe_routing/topk_backward",
    doc="Gradient of the logits from the gradients of the scores of the k selected experts; zero for all "
    "others.",
    source=SOURCE,
    entry="best_backward",
    launch=lambda shape, arch: Launch(-(-shape["rows"] // 4), 4 * WAVE),
    define=lambda shape, arch: {"TOP_T": scalars.C_TYPES[shape["dtype"]], "TOP_SCORE": shape["score"]},
    check=family.check,
    parameters=forward.spec.parameters,
    shapes=forward.spec.shapes,
    inputs=inputs,
    outputs=lambda shape, tensors: {"dx": (tensors["x"].shape, tensors["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("values", "indices", "dvalues", "dx")},
        **{name: shape[name] for name in ("rows", "experts", "k", "shared")},
    },
    bytes=lambda shape: (
        shape["rows"]
        * (
            family.TYPES[shape["dtype"]].itemsize * (shape["experts"] + 2 * (shape["k"] + shape["shared"]))
            + 4 * (shape["k"] + shape["shared"])
        )
    ),
    tensors={
        "dvalues": "dtype[rows, k+shared]",
        "x": "dtype[rows, experts]",
        "values": "dtype[rows, k+shared]",
        "indices": "int32[rows, k+shared]",
        "dx": "dtype[rows, experts]",
    },
    notes={
        "x": "logits of experts; only the shape is used",
        "values": "scores of the selected experts, as `moe_topk` returns them",
        "indices": "the selected experts",
    },
)
