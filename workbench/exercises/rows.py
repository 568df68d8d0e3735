"""Shared parts of exercises on the rows of a matrix: one wave per row of 1024 columns."""

from __future__ import annotations

from typing import Any

import torch

from workbench.operators import Shape

COLS = 1024
"""Columns, which a tile's type fixes."""

WAVES = 4
"""Rows of a work-group, each with its own wave."""

EPS = 1e-5

TILES = {"row": WAVES}


def normal(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """A matrix of (rows, COLS)."""
    return torch.randn(shape["rows"], COLS, generator=generator).to(torch.bfloat16)


def room(shape: Shape) -> torch.Tensor:
    """An output tensor of (rows, COLS)."""
    return torch.empty(shape["rows"], COLS, dtype=torch.bfloat16)


def launch(shape: Shape) -> tuple[Any, Any]:
    """One wave per row, four waves per work-group."""
    return shape["rows"] // WAVES, WAVES * 64


def rms(x: torch.Tensor, eps: float = EPS) -> torch.Tensor:
    """Rows divided by their root mean square."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
