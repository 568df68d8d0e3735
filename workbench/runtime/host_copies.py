"""Copies on a GPU of the host memory that its kernels use, for a PyTorch without memory on GPUs."""

from __future__ import annotations

import contextlib
import ctypes
import struct
from collections.abc import Mapping
from types import TracebackType

import numpy as np

from workbench.errors import DeviceError
from workbench.launches import BufferLabel
from workbench.runtime.backend import Buffers, merged
from workbench.runtime.hip import Hip

_WORD = struct.Struct("<Q")


class HostCopies:
    """Host memory with its copies on a GPU, which are written back when its `with` block ends well.

    Args:
        hip: HIP for the GPU, which is current in the calling thread.
    """

    def __init__(self, hip: Hip) -> None:
        self._hip = hip
        self._copies: dict[tuple[int, int], int] = {}

    def take(self, buffers: Buffers) -> None:
        """Copies host memory, given as (address, bytes), to the GPU, unless it is already there.

        Raises:
            DeviceError: the GPU has no room for it.
        """
        for base, size in merged(buffers):
            if size <= 0 or (base, size) in self._copies:
                continue
            # Another extent of the same tensor: two copies would not see each other's changes.
            for other in [(at, n) for at, n in self._copies if at < base + size and base < at + n]:
                self._write_back(*other)
                self._free(*other)
            action = f"making room for a copy of {size:,} bytes"
            self._copies[base, size] = copy = int(self._hip.call("hipMalloc", size, action=action))
            self._copy(copy, base, size)

    def forget(self, buffers: Buffers) -> None:
        """Frees the copies of memory, given as (address, bytes), that its owner is about to free.

        They are not written back: the memory may belong to something else by then.
        """
        for base, size in buffers:
            for other in [(at, n) for at, n in self._copies if at < base + size and base < at + n]:
                self._free(*other)

    def relocated(self, kernargs: bytes, buffers: Buffers, labels: Mapping[int, BufferLabel]) -> bytes:
        """The arguments of a launch, with host addresses replaced by those of the copies.

        Args:
            kernargs: the argument block; addresses are at multiples of 8 bytes.
            buffers: memory that the launch uses and that has been copied.
            labels: description of each buffer, by address.

        Raises:
            DeviceError: memory is not among the arguments, but behind an address in other memory.
        """
        block = bytearray(kernargs)
        unreached = {(base, size) for base, size in merged(buffers) if size > 0}
        for offset in range(0, len(block) - _WORD.size + 1, _WORD.size):
            (address,) = _WORD.unpack_from(block, offset)
            for (base, size), copy in self._copies.items():
                if base <= address < base + size:
                    _WORD.pack_into(block, offset, copy + address - base)
                    unreached.discard((base, size))
        for base, size in sorted(unreached):
            label = labels[base].text if base in labels else f"{size:,} bytes of the host's memory"
            raise DeviceError(
                f"{label}: a kernel on a GPU finds it by its address in other memory, which copies made for "
                "the call do not follow; use an emulated device, or PyTorch's wheel for ROCm and tensors on "
                "the GPU"
            )
        return bytes(block)

    def _copy(self, to: int, source: int, size: int) -> None:
        self._hip.call("hipMemcpy", to, source, size, self._hip.api.hipMemcpyKind.hipMemcpyDefault)

    def _write_back(self, base: int, size: int) -> None:
        content = np.empty(size, np.uint8)
        self._copy(content.ctypes.data, self._copies[base, size], size)
        memory = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(base))
        # Memory that a kernel only reads may be write-protected, as a mapped file is.
        if not np.array_equal(memory, content):
            memory[:] = content

    def _free(self, base: int, size: int) -> None:
        self._hip.api.hipFree(self._copies.pop((base, size)))

    def __enter__(self) -> HostCopies:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.ExitStack() as stack:
            for buffer in list(self._copies):
                stack.callback(self._free, *buffer)
            if error is None:
                for buffer in self._copies:
                    self._write_back(*buffer)


__all__ = ["HostCopies"]
