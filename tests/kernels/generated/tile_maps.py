"""Maps by name, with their references and tolerances."""

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
        ulps: units in the last place that it may be off; 0 accepts any NaN or zero, None needs equal bits.
        second: what the second argument is.
        off: additional absolute error: a difference of larger numbers has few digits near its zeros.
    """

    call: str
    of: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ulps: float | None = 0
    second: str = "y"
    off: float = 0.0

    def check(self, dtype: str, arch: str) -> Check:
        if self.ulps is None:
            return equal
        # Elsewhere the error of the last rounding exceeds those before it.
        ulps = self.ulps if dtype == "float" else min(self.ulps, 1)
        return close(ulps, max(self.off, least(dtype, arch))) if ulps else same_values


def least(dtype: str, arch: str) -> float:
    """The smallest step of a type, for numbers rounded below its normal range."""
    kind = torch.finfo(torch_dtype(dtype, arch))
    return kind.smallest_normal * kind.eps


Function = Callable[..., torch.Tensor]


def dgelu(x: torch.Tensor) -> torch.Tensor:
    """Derivative of gelu's approximation by tanh, by autograd."""
    leaf = x.double().requires_grad_()
    gelu = torch.nn.functional.gelu(leaf, approximate="tanh")
    (slope,) = torch.autograd.grad(gelu.sum(), leaf)
    return slope.to(x.dtype)


UNARY: dict[str, tuple[Function, float]] = {
    "neg": (torch.neg, 0),
    "abs": (torch.abs, 0),
    "relu": (torch.relu, 0),
    "copy": (lambda x: x, 0),
    "exp2": (torch.exp2, 1),
    "rcp": (torch.reciprocal, 1),
    "exp": (torch.exp, 1),
    "sigmoid": (torch.sigmoid, 8),
    "silu": (torch.nn.functional.silu, 8),
    "gelu": (lambda x: -x * torch.special.erfc(-x * 0.5**0.5) / -2, 24),
    "gelu_tanh": (lambda x: x * torch.sigmoid((8 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)), 24),
    "dgelu": (dgelu, 24),
    "tanh": (torch.tanh, 3),
    "erf": (torch.erf, 2),
    "softplus": (lambda x: torch.log1p(x.exp()), 8),
    "sin": (torch.sin, 2),
    "cos": (torch.cos, 2),
    "floor": (torch.floor, 0),
    "ceil": (torch.ceil, 0),
    "round": (torch.round, 0),
}
"""Maps of one argument with what they compute and the units in the last place that they may be off in float,
as the documentation says of arguments below 5. In smaller types that is at most the other rounding of what is
near the middle of two numbers."""

OFF = {"dgelu": 2.0**-20}
"""Additional errors of maps of one argument."""

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
"""Maps of two arguments: IEEE operations, whose only error is the rounding."""

LAMBDAS: dict[str, tuple[str, Function]] = {
    "clamp": (
        "clamp(d, x, base_types::constants<T>::of(-0.5f), base_types::constants<T>::of(0.75f));",
        lambda x, _: x.clamp(-0.5, 0.75),
    ),
    "map": ("map(d, x, [](float v) { return v > 0.0f ? 2.0f * v : v; });", lambda x, _: x + x.relu()),
    "map-two": (
        "map(d, x, y, [](float v, float w) { return v < w ? w : -v; });",
        lambda x, y: torch.where(x < y, y, -x),
    ),
    "map-three": (
        "map(d, x, y, p, [](float v, float w, float z) { return v < w ? z : w; });",
        lambda x, y: torch.where(x < y, x.abs(), y),
    ),
}
"""Exact maps by a function in the call."""

VALUE = 1.25
"""The second argument, if it is one value and not a tile."""


def _maps() -> dict[str, Map]:
    maps = {}
    for name, (function, ulps) in UNARY.items():
        maps[name] = Map(f"{name}(d, x);", lambda x, _, f=function: f(x), ulps, off=OFF.get(name, 0.0))
    for name, function in OF_POSITIVE.items():
        maps[name] = Map(f"{name}(d, p);", lambda x, _, f=function: f(x.abs()), 1)
    for name, (call, of) in LAMBDAS.items():
        maps[name] = Map(call, of)
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
