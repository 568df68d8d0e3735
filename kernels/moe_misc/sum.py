"""Sums of the results of a token's experts, optionally weighted."""

from __future__ import annotations

from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range
from workbench_kernels.families import routing
from workbench_kernels.references.routing import sum_of_experts


def shape_of(rows: torch.Tensor, top_k: int, weights: torch.Tensor | None = None) -> dict[str, Any]:
    """Shape of a call."""
    if rows.dim() != 2 or rows.dtype != torch.bfloat16 or top_k < 1 or rows.shape[0] % top_k:
        raise ShapeError(
            f"sum: rows is {tuple(rows.shape)} {rows.dtype} with top_k {top_k}; expected top_k rows for "
            "each token, of torch.bfloat16"
        )
    if weights is not None and (
        weights.dim() == 0 or weights.numel() != rows.shape[0] or weights.dtype != torch.float32
    ):
        raise ShapeError(
            f"sum: weights is {tuple(weights.shape)} {weights.dtype}; expected {rows.shape[0]} of "
            "torch.float32"
        )
    return {
        **{"tokens": rows.shape[0] // top_k, "top_k": top_k, "cols": rows.shape[1]},
        "weighted": int(weights is not None),
    }


spec = KernelSpec(
    name="moe_misc/sum",
    doc="Sums of the rows of each token's experts, top_k consecutive rows each, optionally weighted; bf16, "
    "sums in float.",
    source=routing.source("sum_arguments", sum="sum_rows"),
    entry="sum",
    launch=lambda shape, arch: Launch((-(-shape["cols"] // 256), shape["tokens"]), 256),
    parameters={
        "tokens": Range(1, 65535, default=1024, doc="tokens"),
        "top_k": Range(1, 64, default=8, doc="rows of a token"),
        "cols": Range(1, 1 << 18, default=1024, doc="length of a row"),
        "weighted": Choice((0, 1), doc="whether rows have weights"),
    },
    shapes=[{"tokens": 33, "top_k": 3, "cols": 300, "weighted": 1}],
    inputs=lambda shape, generator: {
        "rows": torch.randn(shape["tokens"] * shape["top_k"], shape["cols"], generator=generator).bfloat16(),
        "top_k": shape["top_k"],
        **(
            {"weights": torch.rand(shape["tokens"] * shape["top_k"], generator=generator)}
            if shape["weighted"]
            else {}
        ),
    },
    outputs=lambda shape, tensors: {"out": ((shape["tokens"], shape["cols"]), torch.bfloat16)},
    reference=sum_of_experts,
    shape_of=shape_of,
    backward="moe_misc/sum_backward",
    arguments=lambda shape, tensors: {
        **{"rows": tensors["rows"], "weights": tensors.get("weights"), "out": tensors["out"]},
        **{name: shape[name] for name in ("tokens", "top_k", "cols")},
    },
    flops=lambda shape: 2 * shape["tokens"] * shape["top_k"] * shape["cols"],
    bytes=lambda shape: 2 * shape["tokens"] * shape["cols"] * (shape["top_k"] + 1),
    tensors={
        "rows": "bf16[tokens*top_k, cols]",
        "weights": "fp32[tokens*top_k] | fp32[tokens, top_k]",
        "out": "bf16[tokens, cols]",
    },
)
