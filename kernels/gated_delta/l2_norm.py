"""Rows divided by their lengths."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import KernelSpec
from workbench_kernels.families import rowwise


def reference(x: torch.Tensor, eps: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """x rstd and rstd = 1 / sqrt(sum(x^2) + eps) of each row, in float32 at least."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    rstd = torch.rsqrt((wide * wide).sum(-1) + eps)
    return (wide * rstd[..., None]).to(x.dtype), rstd


def outputs(shape: Any, tensors: Any) -> dict[str, Any]:
    x = tensors["x"]
    return {"y": (x.shape, x.dtype), "rstd": (x.shape[:-1], torch.float32)}


spec = KernelSpec(
    name="gated_delta/l2_norm",
    doc="Rows divided by their lengths, and the reciprocals of these: y = x rstd, rstd = 1 / sqrt(sum(x²) + "
    "eps).",
    source=rowwise.source("l2_norm", "l2_normalize<ROW_T, ROW_COLS>"),
    entry="l2_norm",
    parameters=rowwise.parameters(rowwise.HELD, 128),
    shapes=[
        {"rows": 513, "cols": 128},
        {"rows": 50, "cols": 100, "dtype": "fp32"},
        {"rows": 3, "cols": 5000, "dtype": "fp16"},
    ],
    inputs=lambda shape, generator: {"x": rowwise.random(shape, generator)},
    outputs=outputs,
    reference=reference,
    shape_of=lambda x, eps: rowwise.shape_of("l2_norm", x),
    define=rowwise.define,
    launch=rowwise.launch(),
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "y"),
        **{"rstd": tensors["rstd"], "eps": tensors["eps"]},
    },
    flops=lambda shape: 3 * shape["rows"] * shape["cols"],
    bytes=lambda shape: shape["rows"] * (2 * rowwise.size_of(shape) * shape["cols"] + 4),
    hard_inputs={
        "a row of zeros": lambda shape, generator: {"x": 0 * rowwise.random(shape, generator)},
    },
    tensors={
        "x y": "dtype[..., cols]",
        "rstd": "fp32[...]",
    },
)
