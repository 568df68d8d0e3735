"""Split of a fused QKV, with rotation of q and k: arguments and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import rotary


def shape_of(
    qkv: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    heads: int,
    positions: torch.Tensor | None = None,
    interleaved: bool = False,
) -> dict[str, Any]:
    """Shape of a call."""
    if qkv.dim() != 3 or not 0 < heads < qkv.shape[1] or (qkv.shape[1] - heads) % 2:
        raise ShapeError(
            f"fused_qkv_split_qk_rope: qkv is {tuple(qkv.shape)} with {heads} heads of queries; expected "
            "tokens x heads x dim with as many heads of keys as of values"
        )
    shape = rotary.shape_of(
        "fused_qkv_split_qk_rope", as_heads(qkv), cos, sin, positions, interleaved, called="qkv"
    )
    return {**shape, "queries": heads}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses heads other than queries plus equal numbers of keys and values."""
    rotary.check(shape, arch)
    rest = shape["heads"] - shape["queries"]
    if rest <= 0 or rest % 2:
        raise ShapeError(
            f"fused_qkv_split_qk_rope: {shape['heads']} heads with {shape['queries']} of queries; expected "
            "the rest to be as many heads of keys as of values"
        )


def as_heads(tensor: torch.Tensor) -> torch.Tensor:
    """Tokens x heads x dim in the kernel's layout, batch x heads x tokens x dim."""
    return tensor.transpose(0, 1)[None]
