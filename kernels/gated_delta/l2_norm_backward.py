"""Backward of rows divided by their lengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import KernelSpec
from workbench_kernels.families import rowwise


def reference(y: torch.Tensor, rstd: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """rstd (dy - y sum(dy y)) of each row, where y and rstd are the results of `l2_norm`."""
    wide = torch.promote_types(y.dtype, torch.float32)
    dot = (dy.to(wide) * y.to(wide)).sum(-1, keepdim=True)
    return (rstd[..., None] * (dy.to(wide) - y.to(wide) * dot)).to(y.dtype)


def shape_of(y: torch.Tensor, rstd: torch.Tensor, dy: torch.Tensor) -> dict[str, Any]:
    shape = rowwise.shape_of("l2_norm_backward", y, called="y", dy=dy)
    is_one_of_many = rstd.dim() == 0 and y.dim() > 1
    if rstd.numel() != math.prod(y.shape[:-1]) or is_one_of_many or not rstd.dtype.is_floating_point:
        raise ShapeError(
            f"l2_norm_backward: rstd is {tuple(rstd.shape)} {rstd.dtype}; expected a float32 for each row "
            f"of y {tuple(y.shape)}"
        )
    return shape


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    x = rowwise.spread_rows(shape, generator)
    rstd = torch.rsqrt((x.float() ** 2).sum(-1) + 1e-6)
    return {
        "y": (x.float() * rstd[:, None]).to(x.dtype),
        "rstd": rstd,
        "dy": rowwise.random(shape, generator),
    }


spec = KernelSpec(
    name="gated_delta/l2_norm_backward",
    doc="Gradient of the input of `l2_norm` from the gradient of its result: dx = rstd (dy - y sum(dy y)).",
    source=rowwise.source("l2_norm_backward", "l2_normalize_backward<ROW_T, ROW_COLS>"),
    entry="l2_norm_backward",
    parameters=rowwise.parameters(rowwise.HELD, 128),
    shapes=[{"rows": 513, "cols": 128}, {"rows": 50, "cols": 100, "dtype": "fp32"}],
    inputs=inputs,
    outputs=lambda shape, tensors: {"dx": (tensors["y"].shape, tensors["y"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    arguments=lambda shape, tensors: {**rowwise.flat(tensors, "y", "dy", "dx"), "rstd": tensors["rstd"]},
    flops=lambda shape: 5 * shape["rows"] * shape["cols"],
    bytes=lambda shape: shape["rows"] * (3 * rowwise.size_of(shape) * shape["cols"] + 4),
    tensors={
        "y dy dx": "dtype[..., cols]",
        "rstd": "fp32[...]",
    },
)
