"""Random tensors that fit a GPU's memory but not this computer's; tests of kernels fill caches with them."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import torch

from workbench.patches import Patches

_BLOCK = 1 << 26
"""Bytes of random numbers that such a tensor repeats; a multiple of every system's pages."""
_NORESERVE = 0x4000
"""Linux' MAP_NORESERVE, which Python's mmap has only since 3.13."""
_FIXED = 0x10


def most_bytes() -> int:
    """Size limit of a tensor whose random numbers are all drawn: half of this computer's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@contextlib.contextmanager
def random_tensors_fit() -> Iterator[None]:
    """In this context, `torch.rand` and `torch.randn` of more than `most_bytes` repeat a block of numbers.

    The tensor's pages are those of the block until something is written there: it can be read, written and
    freed like any other, as far as the written pages fit.
    """
    with Patches() as patches:
        # Elsewhere memory cannot be mapped like this.
        if sys.platform == "linux":
            for name in ("rand", "randn"):
                patches.replace(torch, name, _repeating(getattr(torch, name)))
        yield


def _repeating(draw: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @wraps(draw)
    def drawn(*size: Any, **options: Any) -> torch.Tensor:
        shape = (
            size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size or options.get("size", ())
        )
        dtype = options.get("dtype") or torch.get_default_dtype()
        traced = torch._C._len_torch_dispatch_stack() > 0 or options.get("out") is not None
        if traced or math.prod(shape) * dtype.itemsize <= most_bytes():
            return draw(*size, **options)
        numbers = {name: value for name, value in options.items() if name not in ("size", "requires_grad")}
        tensor = _repeated(draw(_BLOCK // dtype.itemsize, **numbers), math.prod(shape)).view(*shape)
        return tensor.requires_grad_(options.get("requires_grad", False))

    return drawn


def _repeated(block: torch.Tensor, count: int) -> torch.Tensor:
    """This many elements, from a block of `_BLOCK` bytes repeated; each page is copied when written."""
    size = -(-count * block.element_size() // _BLOCK) * _BLOCK
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def mapped(address: int | None, length: int, protection: int, flags: int, file: int) -> int:
        result = libc.mmap(address, length, protection, flags | mmap.MAP_PRIVATE | _NORESERVE, file, 0)
        if result in (None, ctypes.c_void_p(-1).value):
            number = ctypes.get_errno()
            raise MemoryError(f"a tensor of {size:,} bytes: {os.strerror(number)}")
        return int(result)

    file = os.memfd_create("hipkittens-random")
    try:
        os.write(file, block.view(torch.uint8).numpy().tobytes())
        address = mapped(None, size, 0, mmap.MAP_ANONYMOUS, -1)
        memory = (ctypes.c_char * size).from_address(address)
        weakref.finalize(memory, libc.munmap, address, size)
        for start in range(address, address + size, _BLOCK):
            mapped(start, _BLOCK, mmap.PROT_READ | mmap.PROT_WRITE, _FIXED, file)
    finally:
        os.close(file)
    return torch.frombuffer(memory, dtype=block.dtype, count=count)


__all__ = ["most_bytes", "random_tensors_fit"]
