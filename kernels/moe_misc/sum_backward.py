"""Backward of the sums of the results of a token's experts."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec, Launch, Tolerance
from workbench_kernels.families import routing
from workbench_kernels.moe_misc import sum as forward


def reference(
    dout: torch.Tensor, rows: torch.Tensor, top_k: int, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """weights * dout of each row's token, and the sums of rows * dout, empty without weights."""
    wide = torch.promote_types(rows.dtype, torch.float32)
    spread = dout.to(wide).repeat_interleave(top_k, 0)
    if weights is None:
        return spread, rows.new_empty(0, dtype=wide)
    return spread * weights.reshape(-1, 1), (spread * rows.to(wide)).sum(-1).view_as(weights)


def shape_of(dout: torch.Tensor, **arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    shape = forward.shape_of(**arguments)
    expected = (shape["tokens"], shape["cols"])
    if tuple(dout.shape) != expected or dout.dtype != torch.bfloat16:
        raise ShapeError(
            f"sum_backward: dout is {tuple(dout.shape)} {dout.dtype}; expected {expected} torch.bfloat16"
        )
    return shape


def inputs(shape: Any, generator: torch.Generator) -> dict[str, Any]:
    dout = torch.randn(shape["tokens"], shape["cols"], generator=generator).bfloat16()
    return {"dout": dout, **forward.spec.inputs(shape, generator)}


def outputs(shape: Any, tensors: Any) -> dict[str, Any]:
    weights = tensors.get("weights")
    return {
        "drows": (tensors["rows"].shape, torch.bfloat16),
        "dweights": ((0,) if weights is None else weights.shape, torch.float32),
    }


spec = KernelSpec(
    name="moe_misc/sum_backward",
    doc="Gradients of the rows of each token's experts and of their weights, from the gradients of their "
    "sums; sums in float, bit-identical from run to run.",
    source=routing.source("sum_backward_arguments", sum_gradients="sum_backward"),
    entry="sum_gradients",
    launch=lambda shape, arch: Launch(shape["tokens"] * shape["top_k"], 256),
    parameters=forward.spec.parameters,
    shapes=[{"tokens": 33, "top_k": 3, "cols": 300, "weighted": 1}],
    inputs=inputs,
    outputs=outputs,
    reference=reference,
    shape_of=shape_of,
    arguments=lambda shape, tensors: {
        **{name: tensors.get(name) for name in ("dout", "rows", "weights", "drows")},
        "dweights": tensors["dweights"] if shape["weighted"] else None,
        **{name: shape[name] for name in ("top_k", "cols")},
    },
    # Sums of one product per column of a row.
    tolerances={"dweights": lambda shape: Tolerance(1e-5, 1e-5 * shape["cols"] ** 0.5)},
    flops=lambda shape: 3 * shape["tokens"] * shape["top_k"] * shape["cols"],
    bytes=lambda shape: 2 * shape["tokens"] * shape["cols"] * (1 + shape["top_k"] * (1 + shape["weighted"])),
    tensors={
        "dout": "bf16[tokens, cols]",
        "rows drows": "bf16[tokens*top_k, cols]",
        "weights": "fp32[tokens*top_k] | fp32[tokens, top_k]",
        "dweights": "fp32[tokens*top_k] | fp32[tokens, top_k] | fp32[none]",
    },
)
