"""Tensors that kernels reach only by their addresses, while they are lent."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import TYPE_CHECKING

from workbench.errors import ArgumentError
from workbench.kernel.devices import Place, kind_of, place_of, resolve_device
from workbench.kernel.scalars import described, is_tensor
from workbench.launches import BufferLabel
from workbench.live_tensors import tensor_text
from workbench.runtime import Device

if TYPE_CHECKING:
    import torch

_loans: set[Loan] = set()
"""Loans that have not ended; the set keeps their tensors alive."""


class Loan:
    """A loan of tensors to kernels, from `lend`; it lasts until `end`, or until its `with` block ends.

    Attributes:
        tensors: the tensors on loan.
    """

    def __init__(self, tensors: tuple[torch.Tensor, ...], device: Device) -> None:
        self.tensors = tensors
        self._stack = contextlib.ExitStack()
        if device.torch_device == "cpu":
            storages = [tensor.untyped_storage() for tensor in tensors]
            buffers = [(storage.data_ptr(), storage.nbytes()) for storage in storages if storage.nbytes()]
            labels = {s.data_ptr(): _label(t) for s, t in zip(storages, tensors, strict=True)}
            self._stack.enter_context(device.lent(buffers, labels))
        _loans.add(self)

    def end(self) -> None:
        """Ends the loan: kernels no longer reach the tensors. Does nothing if it has already ended."""
        self._stack.close()
        _loans.discard(self)

    def __enter__(self) -> Loan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        state = "lent" if self in _loans else "no longer lent"
        return f"<Loan of {', '.join(map(tensor_text, self.tensors))}: {state}>"


def lend(*tensors: torch.Tensor, device: Device | str | None = None) -> Loan:
    """Lets kernels reach tensors whose addresses they have, although no launch gets the tensors.

        with wb.lend(weights, state):
            module["step"][grid, block](blob, n)      # blob holds weights.data_ptr() and state.data_ptr()

    A launch reaches the tensors among its arguments, and live ones whose `data_ptr()` is an argument, in a
    struct, or in a tensor of at most 65,536 64-bit integers. Lend any others: addresses in
    bytes, behind pointers in other pointers' memory, or kept by a kernel from an earlier launch. Without
    `with`, the loan lasts until you call its `end()`; it keeps the tensors alive.

    Args:
        tensors: tensors of any shape and strides, on the CPU for an emulated device; the whole storage of
            each is lent.
        device: a device or its name; None for the default device. All emulated devices of the process reach
            the tensors. On a GPU, kernels reach every tensor, and nothing changes.

    Returns:
        the loan, which has begun.

    Raises:
        ArgumentError: an argument is not a tensor, or is not in the device's memory.
        DeviceError: there is no such device, or a tensor's memory cannot be read.
    """
    target_device = resolve_device(device)
    place = place_of(target_device)
    for number, tensor in enumerate(tensors):
        _check(number, tensor, place)
    return Loan(tensors, target_device)


def _check(number: int, tensor: object, place: Place) -> None:
    if not is_tensor(tensor):
        hint = "; wrap the array with torch.from_numpy" if type(tensor).__module__ == "numpy" else ""
        raise ArgumentError(f"lend: tensor {number} is {described(tensor)}; expected a torch tensor{hint}")
    if kind_of(tensor) != place.type:
        raise ArgumentError(
            f"lend: tensor {number} is on {kind_of(tensor)}; expected one on {place.type}, where "
            f"{place.device} has its memory"
        )


def _label(tensor: torch.Tensor) -> BufferLabel:
    return BufferLabel(f"lent {tensor_text(tensor)}", 0 if tensor.storage_offset() else tensor.element_size())


__all__ = ["Loan", "lend"]
