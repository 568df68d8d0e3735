"""A spec as a function: its signature, its docstring, its results as a named tuple."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from workbench.errors import UsageError
from workbench.operators.description import describe, results_of
from workbench.operators.spec import KernelSpec


@dataclass(frozen=True)
class Habits:
    """Tensors that users may have in either of two layouts.

    Attributes:
        native: layout that the operator reads: b batch, n tokens, h heads, d dim.
        takes, gives: names of the inputs and of the outputs with this layout.
    """

    native: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]


LAYOUTS = ("bnhd", "bhnd")

HABITS = {
    "attention/forward": Habits("bnhd", ("q", "k", "v"), ("out",)),
    "attention/backward": Habits("bnhd", ("q", "k", "v", "out", "dout"), ("dq", "dk", "dv")),
    "rotary/rope": Habits("bhnd", ("x",), ("out",)),
    "rotary/rope_backward": Habits("bhnd", ("dout",), ("dx",)),
}
"""Operators with a `layout` as their last argument."""


def signature(spec: KernelSpec) -> inspect.Signature:
    """The function's signature: the spec's, and further arguments of the function."""
    base = spec.signature.replace(return_annotation=returned(spec))
    habits = HABITS.get(spec.name)
    if habits is None:
        return base
    more = inspect.Parameter("layout", inspect.Parameter.KEYWORD_ONLY, default=habits.native, annotation=str)
    return base.replace(parameters=[*base.parameters.values(), more])


def result_name(function: str) -> str:
    """The named tuple of a function's results: "RmsNormResult"."""
    return "".join(part.title() for part in function.split("_")) + "Result"


@cache
def returned(spec: KernelSpec) -> type:
    """A tensor, or the named tuple of an operator with several results."""
    names = results_of(spec)
    if len(names) == 1:
        return torch.Tensor
    return namedtuple(result_name(describe(spec).function), names, module="workbench.ops")


def docstring(spec: KernelSpec) -> str:
    """The description, with further arguments of the function."""
    text = describe(spec).text
    if (habits := HABITS.get(spec.name)) is None:
        return text
    other = next(layout for layout in LAYOUTS if layout != habits.native)
    names = ", ".join((*habits.takes, *habits.gives))
    more = (
        f'    layout: "{habits.native}" as above, or "{other}": tokens and heads change places, as views, of'
    )
    return text.replace("\n\nReturns:", f"\n{more}\n        {names}.\n\nReturns:", 1)


def function(spec: KernelSpec) -> Callable[..., Any]:
    """The spec as a function with its name."""
    kind, habits = returned(spec), HABITS.get(spec.name)

    def call(*args: Any, **kwargs: Any) -> Any:
        results = spec(*args, **kwargs)
        return kind(**results) if isinstance(results, dict) else results

    def call_either_way(*args: Any, layout: str = "", **kwargs: Any) -> Any:
        assert habits is not None
        if layout not in ("", *LAYOUTS):
            choices = " or ".join(map(repr, LAYOUTS))
            raise UsageError(f"{wrapper.__name__}: layout is {layout!r}; expected {choices}")
        if layout in ("", habits.native):
            return call(*args, **kwargs)
        inputs = spec.bind(*args, **{k: v for k, v in kwargs.items() if k in spec.signature.parameters})
        rest = {k: v for k, v in kwargs.items() if k not in inputs}
        results = call(**_turned(inputs, habits.takes), **_turned(rest, habits.gives))
        if isinstance(results, torch.Tensor):
            return results.transpose(1, 2)
        return kind(**_turned(results._asdict(), habits.gives))

    wrapper: Any = call if habits is None else call_either_way
    wrapper.__name__ = wrapper.__qualname__ = describe(spec).function
    wrapper.__module__ = "workbench.ops"
    wrapper.__doc__ = docstring(spec)
    wrapper.__signature__ = signature(spec)
    wrapper.__annotations__ = {
        **{name: p.annotation for name, p in wrapper.__signature__.parameters.items()},
        "return": kind,
    }
    wrapper.spec = spec
    return wrapper  # type: ignore[no-any-return]


def _turned(tensors: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Tensors by name, with tokens and heads swapped in those among `names`."""
    return {
        name: value.transpose(1, 2) if name in names and isinstance(value, torch.Tensor) else value
        for name, value in tensors.items()
    }
