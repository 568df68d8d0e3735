"""Finds entries of DWARF without reading those between them.

To find the beginning of the next entry, pyelftools reads an entry with all its attributes, so it would read
every function and type of the tile library before a kernel. Here an entry's abbreviation says how long it is,
and pyelftools reads only the entries that are needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from elftools.dwarf.die import DIE

_SIZES = {
    0: ("flag_present", "implicit_const"),
    1: ("data1", "ref1", "flag", "strx1", "addrx1"),
    2: ("data2", "ref2", "strx2", "addrx2"),
    3: ("strx3", "addrx3"),
    4: ("data4", "ref4", "strx4", "addrx4", "ref_sup4"),
    8: ("data8", "ref8", "ref_sig8", "ref_sup8"),
    16: ("data16",),
}
_NUMBER, _TEXT, _BLOCK = -1, -2, -3
_VARIABLE = {
    _NUMBER: ("sdata", "udata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx"),
    _TEXT: ("string",),
    _BLOCK: ("exprloc", "block"),
}
_LENGTHS = {
    f"DW_FORM_{form}": n for group in (_SIZES, _VARIABLE) for n, forms in group.items() for form in forms
}
_OFFSETS = frozenset(
    f"DW_FORM_{form}" for form in ("strp", "line_strp", "sec_offset", "ref_addr", "strp_sup")
)
_COUNTED = {"DW_FORM_block1": 1, "DW_FORM_block2": 2, "DW_FORM_block4": 4}
_CODE = frozenset({"DW_AT_low_pc", "DW_AT_ranges"})


class Entries:
    """The entries of a compilation unit, by their offsets.

    Attributes:
        tags: tag of each entry, such as "DW_TAG_subprogram".
        parents: offset of each entry's parent; the first entry has none.
        with_code: offsets of the entries that have code addresses.
    """

    def __init__(self, unit: Any) -> None:
        """Raises KeyError or IndexError if the unit is damaged."""
        self._unit = unit
        self._children: dict[int, list[int]] = {}
        self._plans: dict[int, tuple[str, bool, bool, list[int]]] = {}
        self.tags: dict[int, str] = {}
        self.parents: dict[int, int] = {}
        self.with_code: list[int] = []
        self._scan(unit.dwarfinfo.debug_info_sec.stream.getvalue())

    def entry(self, offset: int) -> DIE:
        """The entry at an offset, read by pyelftools."""
        die: DIE = self._unit.get_DIE_from_refaddr(offset)
        return die

    def parent(self, die: DIE) -> DIE | None:
        """The parent of an entry."""
        offset = self.parents.get(die.offset)
        return None if offset is None else self.entry(offset)

    def children(self, die: DIE, tags: Collection[str]) -> Iterator[DIE]:
        """Children of an entry that have one of these tags, in order."""
        for offset in self._children.get(die.offset, ()):
            if self.tags[offset] in tags:
                yield self.entry(offset)

    def _scan(self, data: bytes) -> None:
        at, end = self._unit.cu_die_offset, self._unit.cu_offset + self._unit.size
        outer: list[int] = []
        while at < end:
            start = at
            code, at = _number(data, at)
            if not code:
                if not outer:
                    return
                outer.pop()
                continue
            tag, has_children, has_code, lengths = self._plans.get(code) or self._plan(code)
            self.tags[start] = tag
            if outer:
                self.parents[start] = outer[-1]
                self._children.setdefault(outer[-1], []).append(start)
            if has_code:
                self.with_code.append(start)
            if has_children:
                outer.append(start)
            for length in lengths:
                at = at + length if length >= 0 else _behind(data, at, length)

    def _plan(self, code: int) -> tuple[str, bool, bool, list[int]]:
        """An abbreviation's tag, whether entries are nested in it, whether it has code, and its lengths."""
        declared = self._unit.get_abbrev_table().get_abbrev(code)
        lengths: list[int] = []
        names = set()
        for name, form in declared.iter_attr_specs():
            names.add(name)
            length = self._length(form)
            if lengths and min(length, lengths[-1]) >= 0:
                lengths[-1] += length
            else:
                lengths.append(length)
        plan = (declared["tag"], declared.has_children(), not _CODE.isdisjoint(names), lengths)
        self._plans[code] = plan
        return plan

    def _length(self, form: str) -> int:
        """Bytes of a form, or a function that counts them."""
        if form == "DW_FORM_addr":
            return int(self._unit["address_size"])
        if form in _OFFSETS:
            return int(self._unit.structs.dwarf_format) // 8
        return -10 - _COUNTED[form] if form in _COUNTED else _LENGTHS[form]


def _behind(data: bytes, at: int, length: int) -> int:
    """Offset after an attribute of variable length."""
    if length == _TEXT:
        return data.index(0, at) + 1
    if length <= -10:
        width = -10 - length
        return at + width + int.from_bytes(data[at : at + width], "little")
    number, at = _number(data, at)
    return at + number if length == _BLOCK else at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where it ends; for a negative number only the latter is right."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
