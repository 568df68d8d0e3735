"""Backward of LayerNorm of a sum with dropout."""

from __future__ import annotations

from typing import Any

import torch

from workbench_kernels.families import normalization, rowwise
from workbench_kernels.references.philox import dropout


def reference(
    dout: torch.Tensor,
    dresidual_out: torch.Tensor,
    residual_out: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    p: float = 0.0,
    seed: int = 0,
) -> tuple[torch.Tensor, ...]:
    """Gradients of x, residual, weight and bias from those of LayerNorm's result and of the sum."""
    dh, *columns = normalization.of_layer_norm(dout, residual_out, weight, bias, eps)
    dh = dh + dresidual_out
    return dropout(dh, p, seed) if p > 0 else dh, dh, *columns


def shape_of(
    dout: torch.Tensor,
    dresidual_out: torch.Tensor,
    residual_out: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    p: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    name = "fused_add_layernorm_backward"
    shape = rowwise.shape_of(
        name, residual_out, called="residual_out", dout=dout, dresidual_out=dresidual_out
    )
    rowwise.check_columns(name, residual_out, weight=weight, bias=bias)
    return {**shape, "weight": int(weight is not None), "bias": int(bias is not None), "drops": int(p > 0)}


spec = normalization.backward(
    "fused_add_layernorm_backward",
    centered=True,
    reference=reference,
    shape_of=shape_of,
    arguments=lambda tensors: {
        **{name: tensors[name] for name in ("dout", "dresidual_out", "dx", "dresidual", "p", "seed")},
        "h": tensors["residual_out"],
    },
    inputs=lambda shape, generator: {
        **{name: rowwise.random(shape, generator) for name in ("dout", "dresidual_out")},
        "residual_out": rowwise.spread_rows(shape, generator),
        **{which: rowwise.near_one(shape, generator) for which in ("weight", "bias") if shape[which]},
        **({"p": 0.1, "seed": 77} if shape["drops"] else {}),
    },
    results=["dx", "dresidual"],
    shapes=[{"rows": 270, "cols": 1200, "drops": 1}, {"rows": 65, "cols": 130, "dtype": "fp32"}],
)
