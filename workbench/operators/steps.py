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
        name: short, such as "main" or "reduce"; `time` and `profile` call it so.
        entry: name of the kernel in the source, as `Module[...]` takes it, or a function `(shape) -> name`.
        launch: `(shape, arch) -> Launch`.
        arguments: `(shape, tensors) -> {parameter or member name: value}`, where `tensors` holds inputs,
            outputs and workspace by name. By default those of them that the kernel has a parameter or a
            member for.
        define: `(shape, arch) -> {macro: value}`, beside the operator's.
        source: as the operator's, which holds where it is None.
        when: `(shape, arch) -> bool`: whether the step is needed at all; always where it is None.
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
"""Dimensions, dtype, and for a tensor that begins with one value, this value."""
