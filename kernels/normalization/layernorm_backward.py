"""Backward pass of LayerNorm."""

from __future__ import annotations

from typing import Any

import torch

from workbench_kernels.families import normalization, rowwise


def reference(
    dout: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, ...]:
    """Gradients of x, weight and bias from that of LayerNorm's result; missing weight and bias count as 1 and
    0."""
    return normalization.of_layer_norm(dout, x, weight, bias, eps)


def shape_of(
    dout: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("layernorm_backward", x, dout=dout)
    rowwise.check_columns("layernorm_backward", x, weight=weight, bias=bias)
    return {**shape, "weight": int(weight is not None), "bias": int(bias is not None), "drops": 0}


spec = normalization.backward(
    "layernorm_backward",
    centered=True,
    reference=reference,
    shape_of=shape_of,
    arguments=lambda tensors: {**{name: tensors[name] for name in ("dout", "dx")}, "h": tensors["x"]},
    inputs=lambda shape, generator: {
        "dout": rowwise.random(shape, generator),
        "x": rowwise.spread_rows(shape, generator) + 5,
        **{which: rowwise.near_one(shape, generator) for which in ("weight", "bias") if shape[which]},
    },
    results=["dx"],
    shapes=[
        {"rows": 70, "cols": 1024},
        {"rows": 65, "cols": 129, "dtype": "fp32", "bias": 0},
        {"rows": 5, "cols": 9000, "dtype": "fp16"},
        {"rows": 1100, "cols": 64, "weight": 0, "bias": 0},
    ],
)
