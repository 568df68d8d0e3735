"""LayerNorm of rows: inputs, outputs, reference and launch."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import KernelSpec
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import rowwise
from workbench_kernels.references.normalization import layer_norm


def reference(
    x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """(x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last dimension."""
    return layer_norm(x, weight, bias, eps)


def shape_of(
    x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> dict[str, Any]:
    """Shape of a call; every dimension of x but the last counts as rows."""
    shape = rowwise.shape_of("layernorm", x)
    rowwise.check_columns("layernorm", x, weight=weight, bias=bias)
    return shape


spec = KernelSpec(
    name="normalization/layernorm",
    doc="Layer norm of each row: minus its mean, divided by its standard deviation, times a weight and plus "
    "a bias for each column, both optional; sums in float.",
    source=rowwise.source("layernorm", "normalize<ROW_T, ROW_COLS, true>"),
    entry="layernorm",
    parameters=rowwise.parameters(rowwise.HELD, 4096),
    shapes=[
        {"rows": 1024, "cols": 128},
        {"rows": 16, "cols": 4096, "dtype": "fp16"},
        {"rows": 65, "cols": 129, "dtype": "fp32"},
        {"rows": 3, "cols": 8193},
        {"rows": 2, "cols": 32768},
    ],
    inputs=lambda shape, generator: {
        # Means far from zero, where a variance from sums of squares would lose its digits.
        "x": rowwise.spread_rows(shape, generator) + 5,
        "weight": rowwise.near_one(shape, generator),
        "bias": rowwise.near_one(shape, generator) - 1,
    },
    outputs=lambda shape, inputs: {"out": (inputs["x"].shape, inputs["x"].dtype)},
    reference=reference,
    shape_of=shape_of,
    define=rowwise.define,
    launch=rowwise.launch(),
    tunables=rowwise.TUNABLES,
    arguments=lambda shape, tensors: {
        **rowwise.flat(tensors, "x", "residual", "out", "residual_out"),
        **{name: tensors[name] for name in ("weight", "bias", "eps")},
        **{"p": 0.0, "seed": 0},
    },
    backward="normalization/layernorm_backward",
    flops=lambda shape: 7 * shape["rows"] * shape["cols"],
    bytes=lambda shape: rowwise.size_of(shape) * (2 * shape["rows"] + 2) * shape["cols"],
    published=rowwise.published(
        "Normalization: LayerNorm (D=128)",
        128,
        {
            4096: {"HipKittens (port)": 9.6, "PyTorch": 22.7, "AITER CK": 6.7},
            16384: {"HipKittens (port)": 14.8, "PyTorch": 36.4, "AITER CK": 10.2},
            65536: {"HipKittens (port)": 32.3, "PyTorch": 96.5, "AITER CK": 25.6},
        },
    ),
    tensors={
        "x out": "dtype[..., cols]",
        "weight bias": "dtype[cols]",
    },
    targets=LIBRARY_TARGETS,
)
