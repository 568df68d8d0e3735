"""Cases of the collection's functions, and the random tensors in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.targets import target


@dataclass(frozen=True)
class Case:
    """Arguments by name, including outputs, and the expected outputs.

    `expected` is in float64 or of integers; equal where `exact` names the output.
    """

    arguments: Mapping[str, Any]
    expected: Mapping[str, torch.Tensor]
    rtol: float = 1.6e-2
    atol: float = 1e-2
    exact: frozenset[str] = frozenset()
    returned: Any = None
    """The function's return value, if it runs on the host."""


@dataclass
class Draw:
    """Random tensors for a target."""

    arch: str
    generator: torch.Generator = field(default_factory=torch.Generator)

    @property
    def fp8(self) -> torch.dtype:
        """The e4m3 that the target computes in."""
        return target(self.arch).fp8_encoding.e4m3.dtype

    def normal(self, *dims: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.randn(*dims, generator=self.generator).to(dtype)

    def uniform(self, *dims: int) -> torch.Tensor:
        """float32 from 0.5 to 1.5: scales."""
        return torch.rand(*dims, generator=self.generator) + 0.5

    def integers(self, low: int, high: int, *dims: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
        return torch.randint(low, high, dims, generator=self.generator).to(dtype)


def empty(*dims: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """An output filled with NaN, or the smallest integer, so that unwritten elements are visible."""
    if dtype.is_floating_point and dtype.itemsize > 1:
        return torch.full(dims, float("nan"), dtype=dtype)
    return torch.full(dims, 0x7F if dtype.itemsize == 1 else torch.iinfo(dtype).min, dtype=torch.int64).to(
        dtype
    )


Make = Callable[[Draw], Case]
