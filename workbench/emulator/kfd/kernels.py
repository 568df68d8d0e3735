"""Kernels by the address of their descriptor, as a dispatch packet names them.

A runtime loads a code object itself, so the device sees only what is in memory. Where the runtime has shown
the whole file, its names and lines are known; else an ELF is made from the descriptor and the code in memory.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

import msgpack
import numpy as np

from workbench import errors
from workbench.codeobject import CodeObject, KernelDescriptor
from workbench.emulator.node.allocations import Allocation, Memory, MemoryKind
from workbench.emulator.node.loaded import LoadedCode
from workbench.targets import Target

_PAGE = 4096
_HEADER = 64
_FIRST = 0x1000
_LARGEST_CODE = 1 << 18
_MOST_FILE_BYTES = 1 << 30
_UNKNOWN_ARGUMENTS = 256
_END = 0xBF810000
"""s_endpgm, without which no kernel of a CDNA target ends."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel in memory.

    Attributes:
        loaded: its code object.
        name: its symbol.
        descriptor: its descriptor's bytes when it was found.
    """

    loaded: LoadedCode
    name: str
    descriptor: bytes


class Kernels:
    """Kernels of the memory of one program."""

    def __init__(self, memory: Memory, target: Target) -> None:
        self._memory = memory
        self._target = target
        self._files: dict[bytes, None] = {}
        self._codes: dict[tuple[int, bytes], tuple[LoadedCode, dict[int, str]]] = {}
        self._known: dict[int, Kernel] = {}

    def add_file(self, data: bytes) -> None:
        """Notes a code object that the runtime is about to load; the oldest make room for it."""
        self._files.pop(data, None)
        self._files[data] = None
        while len(self._files) > 1 and sum(map(len, self._files)) > _MOST_FILE_BYTES:
            del self._files[next(iter(self._files))]

    def forget(self, base: int, size: int) -> None:
        """Forgets what was in memory that is unmapped."""
        self._known = {a: kernel for a, kernel in self._known.items() if not base <= a < base + size}
        self._codes = {key: code for key, code in self._codes.items() if not base <= key[0] < base + size}

    def at(self, address: int) -> Kernel:
        """The kernel whose descriptor is at a device address.

        Raises:
            DeviceError: there is no kernel.
            CodeObjectError: what is there is damaged.
        """
        region = self._memory.find(address)
        if region is None or address + _HEADER > region.end:
            where = self._memory.whereabouts(address, _HEADER, 0)
            raise errors.DeviceError(f"a dispatch packet names the kernel at {address:#x}, {where}", 0)
        descriptor = ctypes.string_at(address, _HEADER)
        kernel = self._known.get(address)
        if kernel is None or kernel.descriptor != descriptor:
            kernel = self._known[address] = self._in_file(region, address, descriptor) or self._alone(
                region, address, descriptor
            )
        return kernel

    def _in_file(self, region: Allocation, address: int, descriptor: bytes) -> Kernel | None:
        """The kernel, if its code object begins in front of it and is one of the files."""
        # A kernel's descriptor is as far from the start of its code object in memory as in the file.
        first = max(region.base, address - max(map(len, self._files), default=0))
        for base in range(address & -_PAGE, first - 1, -_PAGE):
            head = ctypes.string_at(base, _HEADER)
            # The last of equal headers: a program's other code objects may differ only further on.
            for data in reversed(self._files) if head.startswith(b"\x7fELF") else ():
                if data.startswith(head) and (kernel := self._in_code(base, data, address, descriptor)):
                    return kernel
        return None

    def _in_code(self, base: int, data: bytes, address: int, descriptor: bytes) -> Kernel | None:
        code = self._codes.get((base, data))
        if code is None:
            code_object = CodeObject.from_bytes(data)
            if code_object.target != self._target.name and self._target.name in code_object.targets:
                code_object = CodeObject(code_object.data, self._target.name)
            loaded = LoadedCode(code_object, 0, Allocation(base, code_object.image_size, MemoryKind.CODE, 0))
            names = {
                base + symbol.address: symbol.name.removesuffix(".kd")
                for symbol in code_object.symbols.of_kind("object")
                if symbol.name.endswith(".kd")
            }
            code = self._codes[base, data] = loaded, names
        loaded, names = code
        name = names.get(address)
        if name is None or not _same(loaded, address - base, descriptor):
            return None
        return Kernel(loaded, name, descriptor)

    def _alone(self, region: Allocation, address: int, descriptor: bytes) -> Kernel:
        """The kernel, from its descriptor and its code alone."""
        fields = KernelDescriptor.from_bytes(descriptor, self._target.name)
        entry = address + fields.entry_offset
        place = self._memory.find(entry)
        if place is not region:
            raise errors.DeviceError(f"the kernel at {address:#x} has its code at {entry:#x}, elsewhere", 0)
        size = min(region.end - entry, _LARGEST_CODE) & ~3
        words = np.frombuffer(ctypes.string_at(entry, size), np.uint32)
        ends = np.flatnonzero(words == _END)
        if not len(ends):
            raise errors.DeviceError(f"the kernel at {address:#x} has no end within {size} bytes", 0)
        end = entry + 4 * (int(ends[-1]) + 1)
        low = min(address, entry) & -_PAGE
        content = ctypes.string_at(low, max(end, address + _HEADER) - low)
        name = f"kernel_{address:x}"
        record = {
            ".name": name,
            ".symbol": f"{name}.kd",
            ".kernarg_segment_size": fields.kernarg_size or _UNKNOWN_ARGUMENTS,
            ".group_segment_fixed_size": fields.group_segment_fixed_size,
            ".private_segment_fixed_size": fields.private_segment_fixed_size,
        }
        image = _elf(self._target, name, record, content, address - low, entry - low, end - low)
        code_object = CodeObject.from_bytes(image)
        allocation = Allocation(low - _FIRST, _FIRST + len(content), MemoryKind.CODE, 0)
        return Kernel(LoadedCode(code_object, 0, allocation), name, descriptor)


def _same(loaded: LoadedCode, offset: int, descriptor: bytes) -> bool:
    """True if a code object has this descriptor at an offset of its image."""
    return any(
        segment.address <= offset < segment.address + segment.file_size
        and loaded.code_object.data[segment.file_offset + offset - segment.address :][:_HEADER] == descriptor
        for segment in loaded.code_object.layout.segments
    )


def _elf(
    target: Target,
    name: str,
    record: dict[str, object],
    content: bytes,
    descriptor: int,
    entry: int,
    end: int,
) -> bytes:
    """An ELF with one kernel.

    Args:
        content: memory with descriptor and code, which is at address _FIRST of the image.
        descriptor, entry, end: offsets in it of the descriptor, the first instruction and behind the last.
    """
    metadata = msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": [record]})
    note = struct.pack("<III", 7, len(metadata), 32) + b"AMDGPU\0\0" + metadata + bytes(-len(metadata) % 4)
    strings = f"\0{name}.kd\0{name}\0.text\0.note\0.symtab\0.strtab\0".encode()
    first, size = _FIRST + entry, end - entry
    symbols = bytes(24) + struct.pack(
        "<IBBHQQ", strings.index(f"\0{name}\0".encode()) + 1, 0x12, 0, 1, first, size
    )
    symbols += struct.pack("<IBBHQQ", 1, 0x11, 0, 1, _FIRST + descriptor, _HEADER)
    image = bytearray(_FIRST) + content
    rows = [(0,) * 10, (strings.index(b".text"), 1, 6, first, first, size, 0, 0, 256, 0)]
    for section, kind, flags, part, link, row_size in (
        (b".note", 7, 2, note, 0, 0),
        (b".symtab", 2, 0, symbols, 4, 24),
        (b".strtab", 3, 0, strings, 0, 0),
    ):
        image += bytes(-len(image) % 8)
        place = len(image), len(part)
        rows.append((strings.index(section), kind, flags, 0, *place, link, bool(link), 8, row_size))
        image += part
    image += bytes(-len(image) % 8)
    table = len(image)
    image += b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)
    machine = next(number for number, processor in target.processors.items() if processor == target.name)
    flags = machine | 1 << 8 | 1 << 10
    image[:64] = struct.pack(
        "<4s5B7xHHIQQQI6H", b"\x7fELF", 2, 1, 1, 64, 3, 3, 224, 1, 0, 64, table, flags, 64, 56, 1, 64, 5, 4
    )
    loaded = _FIRST + len(content)
    image[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, loaded, loaded, _PAGE)
    return bytes(image)


__all__ = ["Kernel", "Kernels"]
