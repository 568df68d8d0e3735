"""Indices that an operator reads from a tensor: each is checked against the axis that it chooses from.

A kernel does not check them: a label after the last column reads a neighbour's logit. On the emulated device,
every index is checked before the launch, and the first bad one is named. On a GPU that would wait for the
device; there `torch._assert_async` checks on the device, as PyTorch's own kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import ArgumentError
from workbench.operators.layouts import axes_of, size_of


@dataclass(frozen=True)
class Index:
    """The range of values for a tensor of integers, and the axis that they index.

    Attributes:
        axis: the axis that they index, as `Definition.tensors` writes axes; from its size on they are too
            large.
        none: value that means "no index", such as -1, or the name of the argument that has it.
        below: everything less than this means "no index".
        read: `(tensors) -> mask`, if the operator does not read all of them.
    """

    axis: str
    none: int | str | None = None
    below: int | None = None
    read: Callable[[Mapping[str, Any]], Any] | None = None

    def bad(self, tensor: Any, bound: int, arguments: Mapping[str, Any]) -> Any:
        """A mask of the elements that mean "no index"."""
        bad = (tensor < 0) | (tensor >= bound)
        none = arguments[self.none] if isinstance(self.none, str) else self.none
        if none is not None:
            bad &= tensor != none
        if self.below is not None:
            bad &= tensor >= self.below
        return bad if self.read is None else bad & self.read(arguments)


def check(
    name: str,
    indexes: Mapping[str, Index],
    tensors: Mapping[str, str],
    shape: Mapping[str, Any],
    arguments: Mapping[str, Any],
) -> None:
    """Checks every index that an operator will read.

    Raises:
        ArgumentError: one is out of range; it says which element of which tensor.
    """
    sizes = None
    for which, index in indexes.items():
        tensor = arguments.get(which)
        if tensor is None or tensor.numel() == 0:
            continue
        sizes = axes_of(tensors, shape, arguments)[0] if sizes is None else sizes
        bound = size_of(index.axis, sizes)
        if bound is None:
            continue
        bad = index.bad(tensor, int(bound), arguments)
        if tensor.is_cuda:
            import torch

            torch._assert_async(~bad.any(), f"{name}: {which} has an index out of range")
        elif bool(bad.any()):
            place = tuple(bad.nonzero()[0].tolist())
            at = ", ".join(map(str, place))
            also = "" if index.none is None else f", or {index.none} for none"
            also = also if index.below is None else f", or less than {index.below} for none"
            raise ArgumentError(
                f"{name}: {which}[{at}] is {int(tensor[place])}; expected an index from 0 to "
                f"{int(bound) - 1} ({index.axis} is {int(bound)}){also}"
            )
