"""Launches of an operator that needs several, and the tensors between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.kernel import Launch
from workbench.operators.parameters import Shape

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Step:
    """One launch of an operator.

    Attributes:
        name: short name in `time` and `profile`, such as "main" or "reduce".
        entry: name of the kernel in the source, as `Module[...]` takes it, or a function `(shape) -> name`.
        launch: `(shape, arch) -> Launch`.
        arguments: `(shape, tensors) -> {parameter or member name: value}`, where `tensors` holds inputs,
            outputs and workspace by name. By default those for which the kernel has a parameter or a member.
        define: `(shape, arch) -> {macro: value}`, in addition to the operator's.
        source: as for the operator; None for the operator's source.
        when: `(shape, arch) -> bool`: whether the step is needed; None for always.
    """

    name: str
    entry: str | Callable[[Shape], str]
    launch: Callable[[Shape, str], Launch]
    arguments: Callable[[Shape, Mapping[str, Any]], Mapping[str, Any]] | None = None
    define: Callable[[Shape, str], Mapping[str, object]] | None = None
    source: str | None = None
    when: Callable[[Shape, str], bool] | None = None

    def entry_name(self, shape: Shape) -> str:
        """Name of the kernel for `shape`."""
        return self.entry if isinstance(self.entry, str) else self.entry(shape)


Space = tuple[Any, "torch.dtype"] | tuple[Any, "torch.dtype", float]
"""Dimensions, dtype, and the initial value if the tensor has one."""
