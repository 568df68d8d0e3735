"""Shared parts of exercises on the product of two matrices: c = a bᵀ, one tile per wave."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import Shape

AXES = {"c": ("row", "column")}


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    """a of (m, k), b of (n, k)."""

    def normal(rows: int) -> torch.Tensor:
        return torch.randn(rows, shape["k"], generator=generator).to(torch.bfloat16)

    return {"a": normal(shape["m"]), "b": normal(shape["n"])}


def outputs(shape: Shape) -> dict[str, torch.Tensor]:
    """An empty c of (m, n)."""
    return {"c": torch.empty(shape["m"], shape["n"], dtype=torch.bfloat16)}


def problem(m: int, n: int, k: int) -> Shape:
    """A shape from its numbers."""
    return {"m": m, "n": n, "k": k}
