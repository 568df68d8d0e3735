"""Common parts of the operators of `elementwise.cuh`: element types and launches."""

from __future__ import annotations

import torch

from workbench.errors import ShapeError
from workbench.operators import Launch
from workbench_kernels.families import scalars

LENGTH = 8
"""Consecutive elements per lane."""


def launch(elements: int) -> Launch:
    """A lane for each `LENGTH` elements."""
    return Launch(grid=-(-elements // (256 * LENGTH)), block=256)


def dtype_of(operator: str, name: str, tensor: torch.Tensor) -> str:
    """Name of a tensor's dtype."""
    for dtype_name, dtype in scalars.HALVES.items():
        if tensor.dtype == dtype:
            return dtype_name
    raise ShapeError(f"{operator}: {name} is {tensor.dtype}; expected torch.bfloat16 or torch.float16")


def like(operator: str, name: str, tensor: torch.Tensor, dims: tuple[int, ...], dtype: torch.dtype) -> None:
    """Refuses a tensor of another shape or dtype."""
    if tuple(tensor.shape) != dims or tensor.dtype != dtype:
        raise ShapeError(
            f"{operator}: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected {dims} {dtype}"
        )
