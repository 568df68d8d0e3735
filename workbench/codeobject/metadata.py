"""Metadata of a code object: facts about its kernels from the compiler, in one note or in many.

LLVM writes one note per file. A file that was linked from several objects has one from each: Tensile's
libraries have one per kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgpack

from workbench.codeobject.layout import Layout
from workbench.errors import CodeObjectError

_NAME = b"AMDGPU\0"
_METADATA = 32
"""ELF's NT_AMDGPU_METADATA, a type of note."""
_KERNELS = "amdhsa.kernels"


@dataclass(frozen=True)
class Metadata:
    """All metadata of a file.

    Attributes:
        common: metadata of the file without the kernels. Lists of several notes are joined; for other values
            the first counts.
        kernels: records of kernels by the symbol of their descriptor, still packed: `unpacked` reads one.
    """

    common: dict[str, Any] = field(default_factory=dict)
    kernels: dict[str, bytes] = field(default_factory=dict)

    def add(self, note: bytes) -> None:
        """Take what one note says.

        Raises:
            CodeObjectError: it is not a map. On damage, anything that msgpack raises.
        """
        unpacker = msgpack.Unpacker(strict_map_key=False, max_buffer_size=0)
        unpacker.feed(note)
        try:
            length = unpacker.read_map_header()
        except ValueError:
            raise CodeObjectError("the code object is damaged: its metadata is not a map.") from None
        for _ in range(length):
            key = unpacker.unpack()
            if key == _KERNELS:
                self._add_kernels(note, unpacker)
                continue
            value = unpacker.unpack()
            # A version is a list too, and must be equal in all notes.
            if isinstance(self.common.get(key), list) and isinstance(value, list) and key != "amdhsa.version":
                self.common[key] += value
            else:
                self.common.setdefault(key, value)

    def _add_kernels(self, note: bytes, unpacker: msgpack.Unpacker) -> None:
        for _ in range(unpacker.read_array_header()):
            start, symbol = unpacker.tell(), None
            for _ in range(unpacker.read_map_header()):
                if unpacker.unpack() == ".symbol":
                    symbol = unpacker.unpack()
                else:
                    unpacker.skip()
            if not isinstance(symbol, str):
                raise CodeObjectError(f"the code object is damaged: a kernel's .symbol is {symbol!r}.")
            self.kernels[symbol] = note[start : unpacker.tell()]


def unpacked(record: bytes) -> dict[str, Any]:
    """A kernel's record. Raises what msgpack raises on damage."""
    content: dict[str, Any] = msgpack.unpackb(record, strict_map_key=False)
    return content


def read_metadata(data: bytes, layout: Layout) -> Metadata:
    """Reads all metadata notes of a file and merges them.

    Raises:
        CodeObjectError: there is none, or it is not a map. On damage, anything that a parser raises.
    """
    # Loaders read segments; a file may have no sections.
    notes = [note for place in layout.note_segments for note in _notes(data, *place)]
    if not notes:
        notes = [note for place in layout.note_sections for note in _notes(data, *place)]
    if not notes:
        raise CodeObjectError("the code object has no AMDGPU metadata note, so its kernels are not known.")
    metadata = Metadata()
    for note in notes:
        metadata.add(note)
    return metadata


def _notes(data: bytes, start: int, size: int) -> Iterator[bytes]:
    """Descriptions of the notes of metadata in a part of the file."""
    end = start + size
    if end > len(data):
        raise CodeObjectError("the code object is cut off: its notes end outside the file.")
    while start + 12 <= end:
        name_size, length, kind = struct.unpack_from("<III", data, start)
        name = start + 12
        description = name + -(-name_size // 4) * 4
        start = description + -(-length // 4) * 4
        if description + length > end:
            raise CodeObjectError("the code object is damaged: a note ends outside its section.")
        if kind == _METADATA and data[name : name + name_size] == _NAME:
            yield data[description : description + length]
