"""Symbols of a code object, read on demand: a hand-written library has hundreds of thousands.

Most of them are labels, which are only in `.symtab`. The symbols that others may need (kernels, their
descriptors, exported variables) are in the small `.dynsym`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.codeobject.damage import damage_reported
from workbench.codeobject.layout import Layout, Section
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
_SECTIONS = (2, 11)
"""ELF's types of section SHT_SYMTAB and SHT_DYNSYM."""
_STRINGS = 3
"""ELF's type of section SHT_STRTAB."""
UNDEFINED, _ABSOLUTE = 0, 0xFFF1
"""Section numbers of symbols that are not in the image: SHN_UNDEF and SHN_ABS."""
_KINDS = {1: "object", 2: "function", 3: "section"}
"""By st_info's type; every other is a "notype"."""


class Symbol(NamedTuple):
    """A symbol: virtual address and size in bytes; kind is "function", "object", "notype" or "section"."""

    name: str
    address: int
    size: int
    kind: str


class Symbols:
    """A section of symbols with its strings; the null symbol is number 0.

    Raises:
        CodeObjectError: they end outside the file.
    """

    def __init__(self, layout: Layout, section: Section | None) -> None:
        self._layout = layout
        self._section = section if section is not None and section.type in _SECTIONS else None
        self._strings_section = None
        if self._section is not None:
            link = self._section.link
            if link >= len(layout.sections) or layout.sections[link].type != _STRINGS:
                raise CodeObjectError(f"the code object is damaged: {self._section.name} has no strings.")
            self._strings_section = layout.sections[link]

    @cached_property
    def rows(self) -> npt.NDArray[np.void]:
        """The symbol table as an array, one row per symbol."""
        content = self._layout.content(self._section) if self._section is not None else b""
        return np.frombuffer(content, _ROW, len(content) // _ROW.itemsize)

    @cached_property
    def _strings(self) -> bytes:
        return self._layout.content(self._strings_section) if self._strings_section is not None else b""

    @cached_property
    def placed(self) -> npt.NDArray[np.void]:
        """Rows of symbols that have a name and are in the image."""
        rows = self.rows
        placed: npt.NDArray[np.void] = rows[
            (rows["name"] != 0) & ~np.isin(rows["section"], (UNDEFINED, _ABSOLUTE))
        ]
        return placed

    def name(self, offset: int) -> str:
        """A name, by its offset in a row."""
        end = self._strings.find(b"\0", offset)
        if end < 0:
            raise CodeObjectError("the code object is damaged: a symbol's name ends outside its strings.")
        return self._strings[offset:end].decode("utf-8", "surrogateescape")

    def may_have(self, ending: str) -> bool:
        """True if a name in the table may end like this; linkers let names share their endings."""
        return ending.encode("utf-8", "surrogateescape") + b"\0" in self._strings

    def of_kind(self, kind: str) -> Iterator[Symbol]:
        types = [number for number, name in _KINDS.items() if name == kind]
        return self._symbols(self.placed[np.isin(self.placed["info"] & 15, types)])

    def __iter__(self) -> Iterator[Symbol]:
        return self._symbols(self.placed)

    def _symbols(self, rows: npt.NDArray[np.void]) -> Iterator[Symbol]:
        for name, info, _, _, address, size in rows.tolist():
            yield Symbol(self.name(name), address, size, _KINDS.get(info & 15, "notype"))


class SymbolTable(Mapping[str, Symbol]):
    """Symbols by name. Raises CodeObjectError when it reaches damage in the file."""

    def __init__(self, layout: Layout) -> None:
        # .symtab last: it is the more complete of the two, and may be stripped.
        self._tables = tuple(Symbols(layout, layout.section(name)) for name in (".dynsym", ".symtab"))
        self._of_kinds: dict[str, tuple[Symbol, ...]] = {}

    @cached_property
    def _exported(self) -> dict[str, Symbol]:
        with damage_reported("the code object"):
            return {symbol.name: symbol for symbol in self._tables[0]}

    @cached_property
    def _all(self) -> dict[str, Symbol]:
        with damage_reported("the code object"):
            return {symbol.name: symbol for table in self._tables for symbol in table}

    def of_kind(self, kind: str) -> tuple[Symbol, ...]:
        """The symbols of a kind other than "notype", which is for all purposes; reads only their names."""
        symbols = self._of_kinds.get(kind)
        if symbols is None:
            with damage_reported("the code object"):
                by_name = {s.name: s for table in self._tables for s in table.of_kind(kind)}
            symbols = self._of_kinds[kind] = tuple(by_name.values())
        return symbols

    def ending(self, text: str) -> list[str]:
        """Names that end with a text."""
        if not any(table.may_have(text) for table in self._tables):
            return []
        return [name for name in self if name.endswith(text)]

    def __getitem__(self, name: str) -> Symbol:
        # An exported name has one meaning: further symbols with the name are local.
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
