"""Maps by name: what they compute, and how exactly."""

from __future__ import annotations

from collections.abc import Callable

import torch
from tile_batches import Check, close, same_values, torch_dtype

Function = Callable[..., torch.Tensor]

UNARY: dict[str, tuple[Function, float]] = {
    "neg": (torch.neg, 0),
    "abs": (torch.abs, 0),
    "relu": (torch.relu, 0),
    "copy": (lambda x: x, 0),
    "exp2": (torch.exp2, 1),
    "log2": (torch.log2, 1),
    "sqrt": (torch.sqrt, 1),
    "rsqrt": (torch.rsqrt, 1),
    "rcp": (torch.reciprocal, 1),
    "exp": (torch.exp, 1),
    "log": (torch.log, 1),
}
"""Maps of one argument with what they compute and the units in the last place that they may be off: one
where it is an instruction or function that the documentation gives one. In smaller types than float that is
at most the other rounding of what is near the middle of two numbers."""

OF_POSITIVE = {"log", "log2", "sqrt", "rsqrt"}

CONSTANTS = {"zero": 0.0, "one": 1.0, "pos_infty": float("inf"), "neg_infty": float("-inf")}

BINARY: dict[str, tuple[Function, float]] = {
    "add": (torch.add, 0),
    "sub": (torch.sub, 0),
    "mul": (torch.mul, 0),
    "max": (torch.maximum, 0),
    "min": (torch.minimum, 0),
    "div": (torch.div, 0),
}
"""Maps of two arguments: IEEE's, so without an error but the rounding."""

TERNARY: dict[str, Function] = {
    "fma_AxBtC": lambda a, b, c: a * b + c,
    "fma_AxCtB": lambda a, b, c: a * c + b,
}


def least(dtype: str, arch: str) -> float:
    """The smallest step of a type, for what is rounded below its normal numbers."""
    kind = torch.finfo(torch_dtype(dtype, arch))
    return kind.smallest_normal * kind.eps


def tolerance(ulps: float, dtype: str, arch: str) -> Check:
    return close(ulps, least(dtype, arch)) if ulps else same_values
