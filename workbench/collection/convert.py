"""Conversion of the bf16 tensors that the port takes in place of narrow types to those types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.collection.kinds import describe
from workbench.collection.record import Call
from workbench.dtypes import DataType, of_torch
from workbench.errors import ArgumentError
from workbench.targets import target

if TYPE_CHECKING:
    import torch


def rows_or_columns(name: str, of: str = "x") -> _RowsOrColumns:
    """Checks a number that is rows for the port's binding and columns for its page; all rows are done."""
    return _RowsOrColumns(name, of)


class _RowsOrColumns:
    def __init__(self, name: str, of: str) -> None:
        self.name, self.of = name, of

    def __call__(self, call: Call) -> None:
        cols = call[self.of].shape[-1]
        rows = call[self.of].numel() // max(cols, 1)
        if call[self.name] not in (rows, cols):
            raise ArgumentError(
                f"{self.name} is {call[self.name]}; expected the {rows} rows of {self.of} "
                f"{tuple(call[self.of].shape)}, or its {cols} columns"
            )


def integers(name: str, call: Call) -> torch.Tensor:
    """An argument as int8: int8 is returned unchanged; floats must be whole numbers from -128 to 127.

    Raises:
        ArgumentError: an element is not a whole number in this range.
    """
    import torch

    tensor: torch.Tensor = call[name]
    if not tensor.dtype.is_floating_point or tensor.dtype.itemsize == 1:
        return tensor
    rounded = tensor.to(torch.int8)
    if not torch.equal(rounded.to(tensor.dtype), tensor):
        raise ArgumentError(
            f"{name} is {describe(tensor)} with numbers that int8 does not hold; expected int8, fp8, "
            "or whole numbers from -128 to 127"
        )
    return rounded


def is_fp8(tensor: torch.Tensor) -> bool:
    """True for a tensor of 8-bit floats in either encoding."""
    data_type = of_torch(tensor.dtype)
    return data_type is not None and data_type.encoding is not None


def _own_fp8(call: Call) -> DataType:
    formats = target(call.arch).fp8
    if formats is None:
        raise ArgumentError(f"{call.arch} has no instructions on fp8")
    return formats.e4m3


def own_fp8(call: Call) -> str:
    """The e4m3 that the call's target computes in, "e4m3fn" or "e4m3fnuz"."""
    return _own_fp8(call).name


def as_fp8(name: str) -> Callable[[Call], torch.Tensor]:
    """An argument of bytes as the target's fp8; an fp8 argument is returned unchanged."""

    def argument(call: Call) -> torch.Tensor:
        import torch

        tensor: torch.Tensor = call[name]
        return tensor.view(_own_fp8(call).dtype) if tensor.dtype == torch.uint8 else tensor

    return argument


def described_by(call: Call, name: str, expected: Any, why: str, *, count: int | None = None) -> None:
    """Raises ArgumentError if an argument (of a tensor, the first `count`) differs from what others imply."""
    value = call[name] if count is None else call[name][:count].tolist()
    if value != expected:
        raise ArgumentError(f"{name} is {value}; expected {expected}, {why}")


def sizes_match(names: Mapping[str, str]) -> Callable[[Call], None]:
    """Checks that the numbers by these names are the sizes of the arguments' kinds by those."""

    def check(call: Call) -> None:
        for name, size in names.items():
            if call[name] != call.sizes[size]:
                raise ArgumentError(f"{name} is {call[name]}; the tensors say {call.sizes[size]}")

    return check


def strides(of: str, names: str) -> Callable[[Call], None]:
    """Checks that the numbers by these names are a tensor's strides."""

    def check(call: Call) -> None:
        tensor = call[of]
        for name, size, stride in zip(names.split(), tensor.shape, tensor.stride(), strict=True):
            if call[name] != stride and size > 1:
                raise ArgumentError(
                    f"{name} is {call[name]}; expected {stride}, as {of} {describe(tensor)} has it; for "
                    "other strides pass a view that has them"
                )

    return check


def blocks_of_weights(scale: torch.Tensor, weights: torch.Tensor, columns: int = 128) -> torch.Tensor:
    """Float scales of weights (N, K) as the operators take them.

    Scales by row, (N, K / columns), are transposed, which copies scales but no weights; scales by square, and
    powers of two, are returned unchanged.
    """
    if not scale.dtype.is_floating_point:
        return scale
    n, k = weights.shape[-2:]
    of_rows = tuple(scale.shape[-2:]) == (n, -(-k // columns))
    return scale.mT.contiguous() if of_rows else scale


def ones(weights: torch.Tensor) -> torch.Tensor:
    """A scale of one for each row of weights."""
    import torch

    return torch.ones(weights.shape[:-1], dtype=torch.float32, device=weights.device)


def powers_of_one(scale: torch.Tensor | None, packed: torch.Tensor) -> torch.Tensor:
    """The e8m0 scales of packed fp4; ones if there are none."""
    import torch

    if scale is not None:
        return scale
    dims = (*packed.shape[:-1], packed.shape[-1] // 16)
    return torch.full(dims, 127, dtype=torch.uint8, device=packed.device)


def single(value: float | torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A number as a float matrix of one element, on the device of `like`; a tensor is returned unchanged."""
    import torch

    if isinstance(value, torch.Tensor):
        return value
    return torch.full((1, 1), value, dtype=torch.float32, device=like.device)


def with_scales(packed: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    """bf16 that holds fp4 numbers, times floats for each 32 columns of a row, in bf16 again."""
    if scale is None or packed.dtype.itemsize == 1:
        return packed
    factors = scale.float().repeat_interleave(32, -1)[..., : packed.shape[-1]]
    return (packed.float() * factors).to(packed.dtype)
