"""Code objects as HIP's calls see them: the end of an image, its kernels, its variables."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

from workbench import errors
from workbench.codeobject import KernelInfo, compressed
from workbench.codeobject.bundle import BUNDLE_MAGIC
from workbench.emulator.hip import structures
from workbench.emulator.native import abi
from workbench.emulator.node.allocations import host_access
from workbench.emulator.node.device import EmulatedDevice, node
from workbench.emulator.node.loaded import LoadedCode

_LARGEST_IMAGE = 1 << 32


def read_image(address: int) -> bytes:
    """The code object or fat binary at an address, whose length only its own headers tell.

    Raises:
        DeviceError: (hipErrorInvalidImage) it is neither, or ends outside this process's memory.
    """
    _need(address, 64)
    head = ctypes.string_at(address, 64)
    if head.startswith(b"\x7fELF"):
        sections = struct.unpack_from("<Q", head, 40)[0]
        entry_size, count = struct.unpack_from("<HH", head, 58)
        size = sections + entry_size * count
    elif head.startswith(compressed.MAGIC):
        try:
            size = compressed.size_of(head)
        except errors.CodeObjectError as error:
            raise errors.DeviceError(str(error), structures.INVALID_IMAGE) from None
    elif head.startswith(BUNDLE_MAGIC):
        count = struct.unpack_from("<Q", head, len(BUNDLE_MAGIC))[0]
        position = len(BUNDLE_MAGIC) + 8
        size = position
        for _ in range(min(count, 4096)):
            _need(address, position + 24)
            offset, length, name = struct.unpack("<QQQ", ctypes.string_at(address + position, 24))
            position += 24 + name
            size = max(size, offset + length, position)
    else:
        raise errors.DeviceError(
            f"not a code object: it begins with {head[:8]!r}; expected an AMDGPU ELF or a HIP fat binary.",
            structures.INVALID_IMAGE,
        )
    _need(address, size)
    return ctypes.string_at(address, size)


def _need(address: int, size: int) -> None:
    readable = 0 < size < _LARGEST_IMAGE and host_access(address, size) & abi.ALLOCATION_READ
    if not readable:
        raise errors.DeviceError(
            f"the code object claims {size} bytes, which is more than there is: it is damaged or cut off.",
            structures.INVALID_IMAGE,
        )


@dataclass(eq=False)
class Function:
    """A kernel on the device that its code object is loaded on."""

    loaded: LoadedCode
    kernel: KernelInfo

    @property
    def device(self) -> EmulatedDevice:
        return node().devices[self.loaded.device]


def global_variable(loaded: LoadedCode, name: str) -> tuple[int, int]:
    """Device address and size of a variable.

    Raises:
        DeviceError: (hipErrorNotFound) there is no variable of that name.
    """
    symbol = loaded.code_object.variable(name)
    if symbol is None:
        raise errors.DeviceError(f"no variable {name!r} in the code object.", structures.NOT_FOUND)
    return loaded.base + symbol.address, symbol.size
