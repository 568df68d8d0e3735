"""Tolerances of results against their references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from workbench.dtypes import TYPES
from workbench.errors import UsageError


@dataclass(frozen=True)
class Tolerance:
    """Bounds of an element-wise comparison: |got - wanted| <= atol + rtol * |wanted|.

    Attributes:
        share: probability that an element is outside anyway: a quantized number may lie so near to the middle
            of two that the last bit of a sum decides.
    """

    rtol: float
    atol: float
    share: float = 0.0

    def __post_init__(self) -> None:
        # Written as the condition that must hold, since a comparison with nan is never true.
        bounds = (self.rtol, self.atol)
        if not (all(isinstance(b, Real) and b >= 0 for b in bounds) and 0 <= self.share <= 1):
            raise UsageError(f"{self}; expected rtol and atol of 0 or more, and a share from 0 to 1")


Bounds = Tolerance | tuple[float, float]
"""A `Tolerance`, or its rtol and atol."""


@dataclass(frozen=True)
class FlashRule:
    """The FlashAttention rule for an output that its usual form does not fit.

    Attributes:
        reason: why, one sentence; results show it.
        factor: permitted multiple of PyTorch's error; None if the rule does not apply.
        by_row: True if the elements of a row (the last dimension) share one error: the allowance for bad luck
            then counts rows instead of elements, and the result shows the reason if few rows make it larger.
    """

    reason: str
    factor: float | None = None
    by_row: bool = False


TOLERANCES: Mapping[str, Tolerance] = {
    data_type.torch[0]: Tolerance(*data_type.bounds) for data_type in TYPES if data_type.bounds is not None
}
"""Bounds of the element-wise check by the output's dtype; for a missing dtype (integers), values must be
equal.

The relative bounds are PyTorch's own (torch.testing.assert_close) in 64 bits and bfloat16, ten times those in
32 bits and float16, and a unit in the last place in 8 bits; the absolute ones leave room for cancellation in
sums of values around one.
"""
