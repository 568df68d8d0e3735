"""Cumulative sums within chunks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, Range
from workbench_kernels.families import delta_chunks as family
from workbench_kernels.families import scalars
from workbench_kernels.references.delta_chunks import cumulative_sums


def shape_of(
    x: torch.Tensor, cu_seqlens: torch.Tensor | None, chunk: int, scale: float, reverse: bool
) -> dict[str, Any]:
    """Shape of a call; dimensions after (B, T) count as columns."""
    if x.dim() < 2 or x.dtype not in scalars.WIDE:
        raise ShapeError(f"chunk_cumsum: x is {tuple(x.shape)} {x.dtype}; expected (B, T, ..) torch.float32")
    sequences = family.sequences_of("chunk_cumsum", x.shape[0], cu_seqlens)
    return {
        **{"batch": x.shape[0], "tokens": x.shape[1], "cols": math.prod(x.shape[2:])},
        **{"sequences": sequences, "chunk": chunk},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    tokens = shape["tokens"]
    return {
        "x": torch.randn(shape["batch"], tokens, shape["cols"], generator=generator),
        "cu_seqlens": family.random_starts(shape, generator),
        **{"chunk": shape["chunk"], "scale": 0.7 if tokens % 3 else 1.0, "reverse": tokens % 2 == 0},
    }


spec = KernelSpec(
    name="gated_delta/chunk_cumsum",
    doc="Cumulative sums of x (B, T, ..) over the tokens of each chunk, forward or reverse, multiplied by a "
    "factor.",
    source=family.SOURCE,
    parameters={
        **{name: family.PARAMETERS[name] for name in ("batch", "tokens", "sequences", "chunk")},
        "cols": Range(1, 1 << 16, default=32, doc="elements of a token"),
    },
    shapes=[
        {"tokens": 130, "cols": 8},
        {"batch": 2, "sequences": 2, "tokens": 33, "cols": 70, "chunk": 32},
        {"tokens": 70, "sequences": 5, "cols": 3, "chunk": 16},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {"sums": (tensors["x"].shape, torch.float32)},
    reference=cumulative_sums,
    shape_of=shape_of,
    check=family.check,
    steps=(family.SUMS.step("sums"),),
    flops=lambda shape: 2 * shape["batch"] * shape["tokens"] * shape["cols"],
    bytes=lambda shape: 8 * shape["batch"] * shape["tokens"] * shape["cols"],
    tensors={
        "x sums": "fp32[batch, tokens, ...]",
        "cu_seqlens": "int32[sequences+1]",
    },
    indexes={
        "cu_seqlens": Index("tokens+1"),
    },
    notes={
        "scale": "factor of the sums",
    },
)
