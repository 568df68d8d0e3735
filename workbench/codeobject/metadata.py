"""Metadata of a code object: what its compilers wrote about its kernels, in one note or in many.

LLVM writes one note a file. A file that was linked of several objects has one of each: Tensile's libraries
have one a kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack
from elftools.elf.elffile import ELFFile

from workbench.errors import CodeObjectError

_NAME = b"AMDGPU\0"
_METADATA = 32
"""NT_AMDGPU_METADATA."""


def read_metadata(data: bytes, elf: ELFFile) -> dict[str, Any]:
    """The records of all metadata notes as one: lists are joined; of anything else the first is taken.

    Raises:
        CodeObjectError: there is none, or it is no map. Whatever else damage makes a parser raise.
    """
    # Loaders look at segments; a file may come without.
    in_segments = [(s["p_offset"], s["p_filesz"]) for s in elf.iter_segments("PT_NOTE")]
    descriptions = [d for place in in_segments for d in _metadata_notes(data, *place)]
    if not descriptions:
        in_sections = [(s["sh_offset"], s["sh_size"]) for s in elf.iter_sections("SHT_NOTE")]
        descriptions = [d for place in in_sections for d in _metadata_notes(data, *place)]
    if not descriptions:
        raise CodeObjectError("the code object has no AMDGPU metadata note, so its kernels are not known.")
    merged: dict[str, Any] = {}
    for description in descriptions:
        record = msgpack.unpackb(description, strict_map_key=False)
        if not isinstance(record, dict):
            raise CodeObjectError("the code object is damaged: its metadata is not a map.")
        for key, value in record.items():
            # A version is a list too, and the same in every note.
            if key in merged and isinstance(value, list) and key != "amdhsa.version":
                merged[key] += value
            else:
                merged.setdefault(key, value)
    return merged


def _metadata_notes(data: bytes, start: int, size: int) -> Iterator[bytes]:
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


__all__ = ["read_metadata"]
