"""Backward pass of RMSNorm."""

from __future__ import annotations

from typing import Any

import torch

from workbench_kernels.families import normalization, rowwise
from workbench_kernels.references.normalization import rms_norm


def reference(
    dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, ...]:
    """Gradients of x and weight from that of RMSNorm's result."""
    return normalization.gradients(lambda x, w: rms_norm(x, w, eps), dout, x, weight)


def shape_of(dout: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("rmsnorm_backward", x, dout=dout)
    rowwise.check_columns("rmsnorm_backward", x, weight=weight)
    return {**shape, "weight": 1, "drops": 0}


spec = normalization.backward(
    "rmsnorm_backward",
    centered=False,
    reference=reference,
    shape_of=shape_of,
    arguments=lambda tensors: {**{name: tensors[name] for name in ("dout", "dx")}, "h": tensors["x"]},
    inputs=lambda shape, generator: {
        "dout": rowwise.random(shape, generator),
        "x": rowwise.spread_rows(shape, generator),
        "weight": rowwise.near_one(shape, generator),
    },
    results=["dx"],
    shapes=[
        {"rows": 70, "cols": 1024},
        {"rows": 65, "cols": 129, "dtype": "fp32"},
        {"rows": 5, "cols": 9000, "dtype": "fp16"},
    ],
)
