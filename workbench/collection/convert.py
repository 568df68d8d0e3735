"""What the port takes in place of narrow types, as those types: bf16 tensors that hold such values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.collection.kinds import describe
from workbench.collection.record import Given
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch


def rows_or_columns(name: str, of: str = "x") -> _RowsOrColumns:
    """Checks a number that is rows for the port's binding and columns for its page; all rows are done."""
    return _RowsOrColumns(name, of)


class _RowsOrColumns:
    def __init__(self, name: str, of: str) -> None:
        self.name, self.of = name, of

    def __call__(self, given: Given) -> None:
        cols = given[self.of].shape[-1]
        rows = given[self.of].numel() // max(cols, 1)
        if given[self.name] not in (rows, cols):
            raise ArgumentError(
                f"{self.name} is {given[self.name]}; expected the {rows} rows of {self.of} "
                f"{tuple(given[self.of].shape)}, or its {cols} columns"
            )


def integers(name: str, given: Given) -> torch.Tensor:
    """An argument as int8: as it is, or rounded floats that are all whole and from -128 to 127.

    Raises:
        ArgumentError: it holds another number.
    """
    import torch

    tensor: torch.Tensor = given[name]
    if not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 1:
        return tensor
    made = tensor.to(torch.int8)
    if not torch.equal(made.to(tensor.dtype), tensor):
        raise ArgumentError(
            f"{name} is {describe(tensor)} with numbers that int8 does not hold; expected int8, fp8, "
            "or whole numbers from -128 to 127"
        )
    return made


def described_by(given: Given, name: str, wanted: Any, why: str, *, count: int | None = None) -> None:
    """Raises ArgumentError where an argument is not what others make it; of a tensor the first `count`."""
    value = given[name] if count is None else given[name][:count].tolist()
    if value != wanted:
        raise ArgumentError(f"{name} is {value}; expected {wanted}, {why}")


def strides(of: str, names: str) -> Callable[[Given], None]:
    """Checks that the numbers by these names are a tensor's strides."""

    def check(given: Given) -> None:
        tensor = given[of]
        for name, size, stride in zip(names.split(), tensor.shape, tensor.stride(), strict=True):
            if given[name] != stride and size > 1:
                raise ArgumentError(
                    f"{name} is {given[name]}; expected {stride}, as {of} {describe(tensor)} has it; for "
                    "other strides pass a view that has them"
                )

    return check
