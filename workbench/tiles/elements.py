"""Elements that identify themselves: numbers written as values that every element type has exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.dtypes import BF16, FP16, FP32
from workbench.errors import UsageError
from workbench.targets import target

if TYPE_CHECKING:
    import torch

_BASE = 56
"""Elements are identified by digits of this base, one launch for each digit; narrow types hold no more."""


def _digits() -> torch.Tensor:
    """Numbers that every element type has exactly: (1 + m / 4) * 2**e for m from 0 to 3, e from -6 to 7."""
    import torch

    digit = torch.arange(_BASE)
    return (1 + digit % 4 / 4) * 2.0 ** (digit // 4 - 6)


def torch_dtype(element: str, arch: str) -> torch.dtype:
    """PyTorch's type for an element type of the library.

    Raises:
        UsageError: there is none, or the tile library is not for this target.
    """
    fp8 = target(arch).fp8_encoding
    types = {data_type.cpp: data_type for data_type in (FP32, BF16, FP16, fp8.e4m3, fp8.e5m2)}
    if element not in types:
        raise UsageError(f"the layout of {element} cannot be drawn; expected one of {', '.join(types)}")
    return types[element].dtype


class Numbers:
    """Element numbers to and from tensors, digit by digit."""

    def __init__(self, count: int) -> None:
        self.passes = 1
        while _BASE**self.passes < count:
            self.passes += 1

    def put(self, numbers: torch.Tensor, turn: int, dtype: torch.dtype) -> torch.Tensor:
        """The values for digit `turn` of each number."""
        return _digits()[numbers // _BASE**turn % _BASE].to(dtype)

    @staticmethod
    def take(turns: Sequence[torch.Tensor]) -> torch.Tensor:
        """Numbers from all digits; -1 if a value is not a digit, such as unwritten memory."""
        import torch

        digits = _digits()
        result = torch.zeros(turns[0].shape, dtype=torch.int64)
        for turn, values in enumerate(turns):
            wide = values.float()
            place = torch.searchsorted(digits, wide.contiguous()).clamp(max=_BASE - 1)
            exact = digits[place] == wide
            result = torch.where(exact & (result >= 0), result + place * _BASE**turn, -1)
        return result
