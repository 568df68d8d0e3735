"""Symbols of a code object, of which a hand-written library has hundreds of thousands: read where one asks.

Most of those are labels, in `.symtab` alone. What others may ask for (kernels, their descriptors, exported
variables) is in the small `.dynsym`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from elftools.elf.elffile import ELFFile

from workbench.codeobject.damage import damage_reported
from workbench.errors import CodeObjectError

_ROW = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("address", "<u8"),
        ("size", "<u8"),
    ]
)
_NO_SECTION = (0, 0xFFF1)
"""SHN_UNDEF and SHN_ABS: the symbol is nowhere in the image."""
_KINDS = {1: "object", 2: "function", 3: "section"}
"""By st_info's type; every other is a "notype"."""


class Symbol(NamedTuple):
    """A symbol: virtual address and size in bytes; kind is "function", "object", "notype" or "section"."""

    name: str
    address: int
    size: int
    kind: str


class _Table:
    """One section of symbols with its strings."""

    def __init__(self, data: bytes, elf: ELFFile, name: str) -> None:
        self.rows: npt.NDArray[np.void] = np.empty(0, _ROW)
        self.strings = b""
        section = elf.get_section_by_name(name)
        if section is None or section["sh_type"] not in ("SHT_SYMTAB", "SHT_DYNSYM"):
            return
        start, size = section["sh_offset"], section["sh_size"]
        strings = elf.get_section(section["sh_link"])
        first, length = strings["sh_offset"], strings["sh_size"]
        if max(start + size, first + length) > len(data) or section["sh_entsize"] != _ROW.itemsize:
            raise CodeObjectError(f"the code object is damaged: its symbols ({name}) end outside the file.")
        rows = np.frombuffer(data, _ROW, size // _ROW.itemsize, start)
        self.rows = rows[(rows["name"] != 0) & ~np.isin(rows["section"], _NO_SECTION)]
        self.strings = data[first : first + length]

    def may_have(self, ending: str) -> bool:
        """Whether a name in it may end so; linkers let names share their ends."""
        return len(self.rows) > 0 and ending.encode("utf-8", "surrogateescape") + b"\0" in self.strings

    def of_kind(self, kind: str) -> Iterator[Symbol]:
        types = [number for number, name in _KINDS.items() if name == kind]
        return self._symbols(self.rows[np.isin(self.rows["info"] & 15, types)])

    def __iter__(self) -> Iterator[Symbol]:
        return self._symbols(self.rows)

    def _symbols(self, rows: npt.NDArray[np.void]) -> Iterator[Symbol]:
        for name, info, _, _, address, size in rows.tolist():
            end = self.strings.find(b"\0", name)
            if end < 0:
                raise CodeObjectError("the code object is damaged: a symbol's name ends outside its strings.")
            text = self.strings[name:end].decode("utf-8", "surrogateescape")
            yield Symbol(text, address, size, _KINDS.get(info & 15, "notype"))


class SymbolTable(Mapping[str, Symbol]):
    """Symbols by name. Raises CodeObjectError where the file is damaged, when it comes upon it."""

    def __init__(self, data: bytes, elf: ELFFile) -> None:
        # .symtab last: it is the fuller of the two, and may be stripped.
        self._tables = tuple(_Table(data, elf, name) for name in (".dynsym", ".symtab"))

    @cached_property
    def _exported(self) -> dict[str, Symbol]:
        with damage_reported("the code object"):
            return {symbol.name: symbol for symbol in self._tables[0]}

    @cached_property
    def _all(self) -> dict[str, Symbol]:
        with damage_reported("the code object"):
            return {symbol.name: symbol for table in self._tables for symbol in table}

    def of_kind(self, kind: str) -> tuple[Symbol, ...]:
        """The symbols of a kind, but for all-purpose "notype"; the names of others are not read."""
        with damage_reported("the code object"):
            return tuple({s.name: s for table in self._tables for s in table.of_kind(kind)}.values())

    def ending(self, text: str) -> list[str]:
        """Names that end with a text."""
        if not any(table.may_have(text) for table in self._tables):
            return []
        return [name for name in self if name.endswith(text)]

    def __getitem__(self, name: str) -> Symbol:
        # What is exported has one meaning: of several symbols of a name the others are local ones.
        symbol = self._exported.get(name)
        if symbol is not None:
            return symbol
        if not self._tables[1].may_have(name):
            raise KeyError(name)
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
