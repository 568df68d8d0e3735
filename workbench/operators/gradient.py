"""Gradients made of calls of other operators: those of a product are two products in other layouts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch


class Call(Protocol):
    """Calls an operator of the library by name; returns its output, or a dict of outputs."""

    def __call__(self, operator: str, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True)
class Gradient:
    """The derivative of an operator, computed by other operators.

    Attributes:
        by: names of the operators that `rule` may call.
        rule: `(call, wanted, **known) -> {input: its gradient}`. `wanted` has the names of the inputs whose
            gradients are requested; nothing else needs to be computed. The names of the further parameters
            say which inputs, outputs and `d<output>` the rule takes: no other tensor is saved from the
            forward pass. Tensors of `d<output>` are contiguous.
    """

    by: tuple[str, ...]
    rule: Callable[..., Mapping[str, torch.Tensor]]

    @cached_property
    def takes(self) -> tuple[str, ...]:
        """Names of the inputs, outputs and `d<output>` that the rule has parameters for."""
        return tuple(inspect.signature(self.rule).parameters)[2:]

    def __str__(self) -> str:
        return ", ".join(self.by)
