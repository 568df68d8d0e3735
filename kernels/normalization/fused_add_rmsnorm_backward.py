"""Backward of RMSNorm of a sum."""

from __future__ import annotations

from typing import Any

import torch

from workbench_kernels.families import normalization, rowwise
from workbench_kernels.references.normalization import rms_norm


def reference(
    dout: torch.Tensor,
    dresidual_out: torch.Tensor,
    residual_out: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, ...]:
    """Gradients of x, residual and weight from those of RMSNorm's result and of the sum."""
    dh, dweight = normalization.gradients(lambda h, w: rms_norm(h, w, eps), dout, residual_out, weight)
    return dh + dresidual_out, dh + dresidual_out, dweight


def shape_of(
    dout: torch.Tensor,
    dresidual_out: torch.Tensor,
    residual_out: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-5,
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    name = "fused_add_rmsnorm_backward"
    shape = rowwise.shape_of(
        name, residual_out, called="residual_out", dout=dout, dresidual_out=dresidual_out
    )
    rowwise.check_columns(name, residual_out, weight=weight)
    return {**shape, "weight": 1, "drops": 0}


spec = normalization.backward(
    "fused_add_rmsnorm_backward",
    centered=False,
    reference=reference,
    shape_of=shape_of,
    arguments=lambda tensors: {
        **{name: tensors[name] for name in ("dout", "dresidual_out", "dx", "dresidual")},
        "h": tensors["residual_out"],
    },
    inputs=lambda shape, generator: {
        **{name: rowwise.random(shape, generator) for name in ("dout", "dresidual_out")},
        "residual_out": rowwise.spread_rows(shape, generator),
        "weight": rowwise.near_one(shape, generator),
    },
    results=["dx", "dresidual"],
    shapes=[{"rows": 20, "cols": 4096}, {"rows": 65, "cols": 130, "dtype": "fp32"}],
)
