"""RMSNorm of a sum: inputs, outputs, reference and launch."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import KernelSpec
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import rms_norm


def reference(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMSNorm of x + residual over the last dimension, and the sum itself."""
    return rms_norm(x + residual, weight, eps), x + residual


def shape_of(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("fused_add_rmsnorm", x, residual=residual)
    rowwise.check_columns("fused_add_rmsnorm", x, weight=weight)
    return shape


spec = KernelSpec(
    name="normalization/fused_add_rmsnorm",
    doc="x + residual, and the RMS norm of each row: divided by its root mean square, times a weight for "
    "each column.",
    source=rowwise.source("fused_add_rmsnorm", "normalize<ROW_T, ROW_COLS, false>"),
    entry="fused_add_rmsnorm",
    parameters=rowwise.parameters(rowwise.HELD, 4096),
    shapes=[
        {"rows": 128, "cols": 4096},
        {"rows": 5, "cols": 8192, "dtype": "fp16"},
        {"rows": 65, "cols": 129, "dtype": "fp32"},
        {"rows": 2, "cols": 20000},
    ],
    inputs=lambda shape, generator: {
        "x": rowwise.random(shape, generator),
        "residual": rowwise.random(shape, generator),
        "weight": rowwise.near_one(shape, generator),
    },
    outputs=lambda shape, inputs: dict.fromkeys(
        ("out", "residual_out"), (inputs["x"].shape, inputs["x"].dtype)
    ),
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "residual", "out", "residual_out"),
        **{"weight": tensors["weight"], "bias": None, "eps": tensors["eps"], "p": 0.0, "seed": 0},
    },
    backward="normalization/fused_add_rmsnorm_backward",
    flops=lambda shape: 5 * shape["rows"] * shape["cols"] + 4 * shape["rows"],
    bytes=lambda shape: rowwise.size_of(shape) * (4 * shape["rows"] + 1) * shape["cols"],
    published=rowwise.published(
        "Normalization: Fused Add+RMSNorm (D=128)",
        128,
        {
            4096: {"HipKittens (port)": 10.2, "PyTorch": 67.6, "AITER Triton": 31.9},
            16384: {"HipKittens (port)": 14.6, "PyTorch": 78.8, "AITER Triton": 61.6},
            65536: {"HipKittens (port)": 29.2, "PyTorch": 160.5, "AITER Triton": 180.0},
        },
    ),
    tensors={
        "x residual out residual_out": "dtype[..., cols]",
        "weight": "dtype[cols]",
    },
    notes={
        "residual": "added to x",
    },
)
