"""The shape of a problem: parameters by name, and the values that each may take."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import UsageError

Shape = Mapping[str, Any]
"""A problem by parameter name, integers or texts: `{"rows": 4096, "cols": 2048, "dtype": "bf16"}`."""


def shape_text(shape: Shape) -> str:
    """A shape as text, such as "rows=4096, cols=2048": every parameter by name, or "" if there is none."""
    return ", ".join(f"{key}={value}" for key, value in shape.items())


@dataclass(frozen=True)
class Range:
    """A shape parameter that takes the values low, low + step, ..., at most high (both inclusive).

    Attributes:
        low, high, step: the supported values; if a kernel needs a multiple of its tile, step is the tile.
        default: the value if a caller passes none; None means `low`.
        doc: one line for the slider's tool tip and the docs.
    """

    low: int
    high: int
    step: int = 1
    default: int | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        numbers = (self.low, self.high, self.step)
        if not all(isinstance(n, int) for n in numbers) or self.low > self.high or self.step < 1:
            raise UsageError(
                f"Range({self.low!r}, {self.high!r}, {self.step!r}); expected integers low, high and step "
                "with low <= high and step >= 1, such as Range(128, 8192, 128)"
            )
        _check_default(self)

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return self.low <= value <= self.high and (value - self.low) % self.step == 0

    @property
    def first(self) -> int:
        """The value if none is given."""
        return self.low if self.default is None else self.default

    def __str__(self) -> str:
        by = f" in steps of {self.step}" if self.step != 1 else ""
        return f"{self.low} to {self.high}{by}"


@dataclass(frozen=True)
class Choice:
    """A shape parameter that takes one of a few values: integers, or texts such as `"bf16"`.

    A choice of 0 and 1 is a flag: it also takes False and True.

    Attributes:
        values: the supported values.
        default: the value if a caller passes none; None means the first of `values`.
        doc: one line for the selector's tool tip and the docs.
    """

    values: Sequence[int] | Sequence[str]
    default: int | str | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence) or not self.values:
            raise UsageError(
                f"Choice({self.values!r}); expected a sequence of one value or more, such as "
                "Choice(('bf16', 'fp16'))"
            )
        _check_default(self)

    def __contains__(self, value: object) -> bool:
        is_flag = {0, 1}.issuperset(self.values)
        return value in tuple(self.values) and (is_flag or not isinstance(value, bool))

    @property
    def first(self) -> int | str:
        """The value if none is given."""
        return self.values[0] if self.default is None else self.default

    def __str__(self) -> str:
        return "one of " + ", ".join(str(v) for v in self.values)


Parameter = Range | Choice


def _check_default(parameter: Parameter) -> None:
    if parameter.first not in parameter:
        raise UsageError(
            f"the default {parameter.default!r} is not a value of {parameter!r}; expected {parameter}"
        )


def plain(value: Any) -> Any:
    """A NumPy or symbolic integer as Python's int, NumPy's booleans as Python's; anything else unchanged."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    try:
        return int(operator.index(value))
    except TypeError:
        return value
