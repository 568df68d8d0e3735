"""PyTorch tensors of this process by address, for kernels that get addresses as numbers.

Python's garbage collector knows each tensor that Python holds; going through them takes tens of milliseconds.
"""

from __future__ import annotations

import bisect
import contextlib
import gc
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from workbench import bounds
from workbench.launches import DWORD

_BLOCK = 512
"""Granularity of PyTorch's GPU allocations in bytes: kMinBlockSize of its CUDACachingAllocator."""
_LOWEST, _END = 1 << 22, 1 << 57
"""Numbers below the first are sizes, strides or flags; from the second on, no process has addresses."""


def granularity() -> int:
    """Bytes to a multiple of which PyTorch's allocations are rounded; with HIPKITTENS_BOUNDS=exact, a dword.

    Raises:
        UsageError: HIPKITTENS_BOUNDS is neither "hardware" nor "exact".
    """
    return DWORD if bounds.is_exact(bounds.TENSORS) else _BLOCK


def is_address(number: int) -> bool:
    """True if a number may be the address of a tensor's memory."""
    return _LOWEST <= number < _END


def extent(tensor: Any) -> int:
    """Elements from a tensor's first to its last in memory, both included."""
    count: int = tensor.numel()
    if not count or tensor.is_contiguous():
        return count
    last: int = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return last + 1


def tensors_at(addresses: Iterable[int]) -> dict[int, Any]:
    """The live CPU tensors that addresses point into; of several at one address, the largest."""
    ordered = sorted({address for address in addresses if is_address(address)})
    if not ordered:
        return {}
    sizes: dict[int, int] = {}
    tensors: dict[int, Any] = {}
    for tensor in live_tensors():
        start, size = tensor.data_ptr(), extent(tensor) * tensor.element_size()
        for address in ordered[bisect.bisect_left(ordered, start) :]:
            if address >= start + size:
                break
            if size > sizes.get(address, 0):
                sizes[address], tensors[address] = size, tensor
    return tensors


def live_tensors() -> Iterator[Any]:
    """The CPU tensors with memory that Python holds."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    kinds = {torch.Tensor, *_subclasses(torch.Tensor)}
    # type() and not isinstance(): some objects answer the latter with their own code.
    for tensor in [item for item in gc.get_objects() if type(item) in kinds]:
        if not tensor.is_cpu or tensor.layout is not torch.strided:
            continue
        # A tensor of PyTorch's own tracing has no memory: it has no storage, or one on the device "meta",
        # of whose address PyTorch warns.
        with contextlib.suppress(RuntimeError):
            if tensor.untyped_storage().device.type != "meta":
                tensor.data_ptr()
                yield tensor


def _subclasses(kind: type) -> Iterator[type]:
    subclasses: list[type] = kind.__subclasses__()
    for below in subclasses:
        yield below
        yield from _subclasses(below)


def tensor_text(tensor: Any) -> str:
    """A tensor in a few words: "float32 tensor 64x64", and for a view its strides: ", strides 80, 1"."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = "x".join(map(str, tensor.shape)) or "of one value"
    strides = "" if tensor.is_contiguous() else f", strides {', '.join(map(str, tensor.stride()))}"
    return f"{dtype} tensor {shape}{strides}"
