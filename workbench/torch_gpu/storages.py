"""Storages of PyTorch's tensors, as the device's memory."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from workbench.kernel.host_module import tensors
from workbench.live_tensors import granularity, live_tensors
from workbench.runtime import Device


class Kept:
    """Storages of all tensors seen so far, without keeping them alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, list[tuple[int, int]]]] = {}

    def memory_of(self, tensor: Any) -> list[tuple[int, int]]:
        """(address, bytes) of a tensor's memory on this computer, which is known from now on."""
        memory = tensors(tensor)
        if memory:
            reference = StorageWeakRef(tensor.untyped_storage())
            self._known[reference.cdata] = reference, memory
        return memory

    def memory(self, values: Any) -> list[tuple[int, int]]:
        """Memory of all known live storages; tensors among the call's arguments become known."""
        for value in tree_leaves(values):
            if isinstance(value, torch.Tensor):
                self.memory_of(value)
        # A freed storage's memory may have been reused.
        self._known = {key: entry for key, entry in self._known.items() if not entry[0].expired()}
        return [block for _, memory in self._known.values() for block in memory]


@contextlib.contextmanager
def tensors_reached(device: Device) -> Iterator[None]:
    """In this context, launches by foreign code reach the memory of every tensor.

    The device tracks PyTorch's allocations, and this context adds those from before. Memory that PyTorch did
    not allocate, such as NumPy's and that of files, is searched when a launch first gets its address.
    """
    others = Kept()

    def look() -> None:
        for tensor in live_tensors():
            if not device.has_tensor(tensor.untyped_storage().data_ptr()):
                others.memory_of(tensor)

    with _listed(device) as is_listed:
        look()

        def buffers(is_strange: bool) -> list[tuple[int, int]]:
            if is_strange or not is_listed:
                look()
            return others.memory(())

        with device.lending(buffers, granularity):
            yield


@contextlib.contextmanager
def _listed(device: Device) -> Iterator[bool]:
    """In this context, the device tracks PyTorch's allocations; yields False if this PyTorch forbids it."""
    name = "libc10.dylib" if sys.platform == "darwin" else "libc10.so"
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / name))
        get, put = library._ZN3c1015GetCPUAllocatorEv, library._ZN3c1015SetCPUAllocatorEPNS_9AllocatorEh
    except (OSError, AttributeError):
        yield False
        return
    get.argtypes, get.restype = (), ctypes.c_void_p
    put.argtypes, put.restype = (ctypes.c_void_p, ctypes.c_uint8), None
    before = get()
    allocator = device.tensor_allocator(before)
    put(allocator or before, 0)
    try:
        yield allocator == get()
    finally:
        put(before, 0)


__all__ = ["Kept", "tensors_reached"]
