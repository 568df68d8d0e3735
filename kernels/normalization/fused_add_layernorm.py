"""LayerNorm of a sum with dropout: inputs, outputs, reference and launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import layer_norm
from workbench_kernels.references.philox import dropout


def reference(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    p: float = 0.0,
    seed: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """LayerNorm of dropout(x) + residual over the last dimension, and the sum itself.

    Dropout takes Philox numbers by row and column; `references.philox.keep_mask` returns its mask.
    """
    total = (dropout(x, p, seed) if p > 0 else x) + residual
    return layer_norm(total, weight, bias, eps), total


def shape_of(
    x: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
    p: float = 0.0,
    seed: int = 0,
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("fused_add_layernorm", x, residual=residual)
    rowwise.check_columns("fused_add_layernorm", x, weight=weight, bias=bias)
    if not 0 <= p < 1:
        raise ShapeError(f"fused_add_layernorm: p is {p}; expected a probability below 1")
    return {**shape, "drops": int(p > 0)}


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {**rowwise.define(shape, arch), "ROW_DROPS": "true" if shape["drops"] else "false"}


spec = KernelSpec(
    name="normalization/fused_add_layernorm",
    doc="dropout(x) + residual, and the layer norm of each row: minus its mean, divided by its standard "
    "deviation, times a weight and plus a bias for each column.",
    source=rowwise.source("fused_add_layernorm", "normalize<ROW_T, ROW_COLS, true, ROW_DROPS>"),
    entry="fused_add_layernorm",
    parameters={
        **rowwise.parameters(rowwise.HELD, 2048),
        "drops": Choice((0, 1), doc="whether there is dropout"),
    },
    shapes=[
        {"rows": 64, "cols": 2048, "drops": 1},
        {"rows": 16, "cols": 4096, "dtype": "fp16"},
        {"rows": 65, "cols": 130, "dtype": "fp32", "drops": 1},
        {"rows": 3, "cols": 8194, "drops": 1},
    ],
    inputs=lambda shape, generator: {
        "x": rowwise.spread_rows(shape, generator),
        "residual": rowwise.spread_rows(shape, generator),
        "weight": rowwise.near_one(shape, generator),
        "bias": rowwise.near_one(shape, generator) - 1,
        **({"p": 0.1, "seed": 0x123456789} if shape["drops"] else {}),
    },
    outputs=lambda shape, inputs: dict.fromkeys(
        ("out", "residual_out"), (inputs["x"].shape, inputs["x"].dtype)
    ),
    reference=reference,
    shape_of=shape_of,
    define=define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "residual", "out", "residual_out"),
        **{name: tensors[name] for name in ("weight", "bias", "eps", "p", "seed")},
    },
    backward="normalization/fused_add_layernorm_backward",
    flops=lambda shape: 8 * shape["rows"] * shape["cols"],
    bytes=lambda shape: rowwise.size_of(shape) * (4 * shape["rows"] + 2) * shape["cols"],
    tensors={
        "x residual out residual_out": "dtype[..., cols]",
        "weight bias": "dtype[cols]",
    },
    notes={
        "residual": "added to x",
    },
)
