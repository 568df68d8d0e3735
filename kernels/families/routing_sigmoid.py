"""One expert for each token by a sigmoid: the arguments that are accepted and refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench_kernels.families import gemm
from workbench_kernels.references.routing import top_k


def reference(x: torch.Tensor, w: torch.Tensor, shared: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest sigmoid of each row of x w and its column; the first column if floats are equal.

    x is tokens x K, w is K x experts. Experts shared by all tokens follow, with a weight of 1.
    """
    values, indices, _ = top_k(torch.sigmoid((x @ w).float()), 1, "none", shared)
    return indices, values.to(x.dtype)


def inputs(shape: Mapping[str, Any], generator: torch.Generator, spread: float = 1.0) -> dict[str, Any]:
    """Random tokens and weights whose products are multiples of 2^-8: equal, or different in float too.

    `spread` is the products' standard deviation: with 4, the largest sigmoid of many rows rounds to 1.
    """
    root = 2.0 ** round(math.log2(shape["k"]) / 2)

    def drawn(rows: int, cols: int, scale: float) -> torch.Tensor:
        return (torch.randn(rows, cols, generator=generator).mul(4).round() / 4 * scale).bfloat16()

    return {
        "x": drawn(shape["m"], shape["k"], 1.0),
        "w": drawn(shape["k"], shape["n"], spread / root),
        "shared": shape["shared"],
    }


def shape_of(x: torch.Tensor, w: torch.Tensor, shared: int = 0) -> dict[str, Any]:
    """Shape of a call."""
    if x.dtype != torch.bfloat16:
        raise ShapeError(f"routing_sigmoid_top1: x is {x.dtype}; expected torch.bfloat16")
    if x.dim() != 2 or w.dim() != 2 or w.dtype != x.dtype or x.shape[1] != w.shape[0]:
        raise ShapeError(
            f"routing_sigmoid_top1: x is {tuple(x.shape)}, w is {tuple(w.shape)} {w.dtype}; expected tokens"
            " x K and K x experts of torch.bfloat16"
        )
    return {"m": x.shape[0], "n": w.shape[1], "k": x.shape[1], "shared": shared}


def product(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The matrix product's shape."""
    return {**shape, "batch": 1}


def check(shape: Mapping[str, Any], arch: str) -> None:
    gemm.whole_words(shape, {"k": 8, "n": 8})
