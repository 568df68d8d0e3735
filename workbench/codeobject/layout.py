"""Sections and segments of an ELF file: their offsets and sizes, without their contents."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from workbench.errors import CodeObjectError

_NULL, NOBITS, _NOTE = 0, 8, 7
_LOAD, _NOTES = 1, 4
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")


class Section(NamedTuple):
    """A section; sizes and offsets in bytes."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    entry_size: int


class Segment(NamedTuple):
    """A part of the file that is loaded."""

    address: int
    file_offset: int
    file_size: int
    memory_size: int
    executable: bool


class Layout:
    """Headers of a 64-bit little-endian ELF file.

    Raises:
        CodeObjectError: they, or what they describe, end outside the file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._segments_at, self._sections_at = struct.unpack_from("<QQ", data, 32)
        sizes = struct.unpack_from("<HHHHH", data, 54)
        self._segment_size, self._segment_count, self._section_size, self._section_count, self._names = sizes

    def _rows(self, row: struct.Struct, start: int, size: int, count: int) -> Iterator[tuple[int, ...]]:
        if count and (size < row.size or start + size * count > len(self._data)):
            raise CodeObjectError("the code object is cut off or damaged: its headers end outside the file.")
        return (row.unpack_from(self._data, start + number * size) for number in range(count))

    @cached_property
    def _segment_rows(self) -> list[tuple[int, ...]]:
        return list(self._rows(_SEGMENT, self._segments_at, self._segment_size, self._segment_count))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections in their order; others refer to them by number."""
        rows = list(self._rows(_SECTION, self._sections_at, self._section_size, self._section_count))
        if not rows:
            return ()
        if self._names >= len(rows):
            raise CodeObjectError("the code object is damaged: its sections have no names.")
        start, size = rows[self._names][4:6]
        names = self._data[start : start + size]
        sections = tuple(
            Section(_text_at(names, name), kind, flags, address, offset, size, link, entry)
            for name, kind, flags, address, offset, size, link, _, _, entry in rows
        )
        for section in sections:
            if section.type not in (_NULL, NOBITS) and section.offset + section.size > len(self._data):
                raise CodeObjectError(
                    f"the code object is cut off: section {section.name or 'without a name'} ends outside it."
                )
        return sections

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((section for section in self.sections if section.name == name), None)

    def content(self, section: Section) -> bytes:
        """A section's bytes.

        Raises:
            CodeObjectError: it has no bytes in the file.
        """
        if section.type == NOBITS:
            raise CodeObjectError(f"the code object is damaged: section {section.name} has no bytes.")
        return self._data[section.offset : section.offset + section.size]

    @cached_property
    def segments(self) -> list[Segment]:
        """The PT_LOAD segments, in the order of the program headers."""
        return [
            Segment(address, offset, file_size, memory_size, bool(flags & 1))
            for kind, flags, offset, address, _, file_size, memory_size, _ in self._segment_rows
            if kind == _LOAD
        ]

    @property
    def note_segments(self) -> list[tuple[int, int]]:
        """Offset and size of segments of notes."""
        return [(row[2], row[5]) for row in self._segment_rows if row[0] == _NOTES]

    @property
    def note_sections(self) -> list[tuple[int, int]]:
        """Offset and size of sections of notes."""
        return [(section.offset, section.size) for section in self.sections if section.type == _NOTE]


def _text_at(strings: bytes, start: int) -> str:
    end = strings.find(b"\0", start)
    if end < 0:
        raise CodeObjectError("the code object is damaged: a section's name ends outside their strings.")
    return strings[start:end].decode("utf-8", "surrogateescape")
