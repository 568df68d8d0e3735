"""Maps by name: what they compute, and how exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from tile_batches import Check, close, equal, same_values, torch_dtype


@dataclass(frozen=True)
class Map:
    """A map of one tile or vector, or of two.

    Attributes:
        call: the statement; d is the result, x and y are arguments, p is the absolute value of x.
        of: the result in float64, by the values of x and of `second`.
        ulps: units in the last place that it may be off; 0 leaves any NaN and zero, None wants the same bits.
        second: what the second argument is.
    """

    call: str
    of: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ulps: float | None = 0
    second: str = "y"

    def check(self, dtype: str, arch: str) -> Check:
        if self.ulps is None:
            return equal
        return close(self.ulps, least(dtype, arch)) if self.ulps else same_values


def least(dtype: str, arch: str) -> float:
    """The smallest step of a type, for what is rounded below its normal numbers."""
    kind = torch.finfo(torch_dtype(dtype, arch))
    return kind.smallest_normal * kind.eps


Function = Callable[..., torch.Tensor]

UNARY: dict[str, tuple[Function, float]] = {
    "neg": (torch.neg, 0),
    "abs": (torch.abs, 0),
    "relu": (torch.relu, 0),
    "copy": (lambda x: x, 0),
    "exp2": (torch.exp2, 1),
    "rcp": (torch.reciprocal, 1),
    "exp": (torch.exp, 1),
}
"""Maps of one argument with what they compute and the units in the last place that they may be off: one
where it is an instruction or function that the documentation gives one. In smaller types than float that is
at most the other rounding of what is near the middle of two numbers."""

OF_POSITIVE: dict[str, Function] = {
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "log": torch.log,
}
"""The same of positive arguments, all with one unit."""

CONSTANTS = {"zero": 0.0, "one": 1.0, "pos_infty": float("inf"), "neg_infty": float("-inf")}

BINARY: dict[str, Function] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "div": torch.div,
}
"""Maps of two arguments: IEEE's, so without an error but the rounding."""

VALUE = 1.25
"""What the second argument is where it is one value and not a tile."""


def _maps() -> dict[str, Map]:
    maps = {}
    for name, (one, ulps) in UNARY.items():
        maps[name] = Map(f"{name}(d, x);", lambda x, _, f=one: f(x), ulps)
    for name, one in OF_POSITIVE.items():
        maps[name] = Map(f"{name}(d, p);", lambda x, _, f=one: f(x.abs()), 1)
    for name, value in CONSTANTS.items():
        maps[name] = Map(f"{name}(d);", lambda x, _, v=value: torch.full_like(x, v), None)
    for name, two in BINARY.items():
        maps[name] = Map(f"{name}(d, x, y);", two)
        maps[f"{name}-value"] = Map(
            f"copy(d, x); {name}(d, d, value);", lambda x, _, f=two: f(x, torch.full_like(x, VALUE))
        )
    return maps


MAPS = _maps()
"""Maps of tiles and of vectors."""


def value_of(dtype: str) -> str:
    """Declares the second argument that is one value."""
    return f"[[maybe_unused]] const auto value = base_types::constants<{dtype}>::of({VALUE}f);"
