"""Locations of source variables while a kernel runs: registers and scratch, by DWARF's location lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.die import DIE
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.locationlists import LocationExpr, LocationParser

# DWARF numbers of registers of a wave of 64 lanes: first number, how many, kind and index of the first
# (LLVM AMDGPUUsage, "Register Identifier").
_REGISTERS = ((32, 64, "s", 0), (1088, 42, "s", 64), (2560, 256, "v", 0), (3072, 256, "a", 0))
_SCOPES = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine", "DW_TAG_lexical_block", "DW_TAG_namespace")


@dataclass(frozen=True, slots=True)
class Located:
    """A variable in a place, for the code in [low, high).

    Attributes:
        place: "v", "a" or "s" for registers, or "scratch".
        first, size: register number and 1, or byte offset and size in bytes.
        name, line: name and line of its declaration.
        entry: offset of its declaration in the debug information, for `DebugInfo.type_of`.
    """

    low: int
    high: int
    place: str
    first: int
    size: int
    name: str
    line: int
    entry: int


def located(dwarf: Any, units: Iterable[Any], ranges: Any) -> Iterator[Located]:
    """Every variable and parameter that has its own place.

    Args:
        dwarf, units: pyelftools' debug information and its compilation units.
        ranges: yields the pieces of code of a DIE.
    """
    for unit in units:
        lists = LocationParser(dwarf.location_lists())
        expressions = DWARFExprParser(unit.structs)
        top = unit.get_top_DIE()
        yield from _below(top, (), lists, expressions, ranges)


def _below(die: DIE, scope: Any, lists: Any, expressions: Any, ranges: Any) -> Iterator[Located]:
    for child in die.iter_children():
        if child.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
            yield from _located(child, scope, lists, expressions)
        elif child.tag in _SCOPES:
            yield from _below(child, tuple(ranges(child)) or scope, lists, expressions, ranges)


def _located(die: DIE, scope: Any, lists: Any, expressions: Any) -> Iterator[Located]:
    location = die.attributes.get("DW_AT_location")
    if location is None:
        return
    declared = die
    if "DW_AT_abstract_origin" in die.attributes:
        declared = die.get_DIE_from_attribute("DW_AT_abstract_origin")
    name = declared.attributes.get("DW_AT_name")
    line = declared.attributes.get("DW_AT_decl_line")
    if name is None or line is None:
        return
    entries = lists.parse_from_attribute(location, die.cu["version"], die)
    if isinstance(entries, LocationExpr):
        pieces = [(low, high, entries.loc_expr) for low, high in scope]
    else:
        pieces = list(_entries(die, entries))
    for low, high, expression in pieces:
        place = _location(expressions.parse_expr(expression))
        if place is not None:
            kind, first = place
            size = size_of(declared) if kind == "scratch" else 1
            text = name.value.decode(errors="replace")
            yield Located(low, high, kind, first, size, text, line.value, declared.offset)


def _entries(die: DIE, entries: Iterable[Any]) -> Iterator[tuple[int, int, Any]]:
    top = die.cu.get_top_DIE().attributes
    base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
    for entry in entries:
        if hasattr(entry, "base_address"):
            base = entry.base_address
        elif hasattr(entry, "loc_expr"):
            start = 0 if getattr(entry, "is_absolute", False) else base
            yield start + entry.begin_offset, start + entry.end_offset, entry.loc_expr


def _location(operations: list[Any]) -> tuple[str, int] | None:
    """A register or a byte of scratch; an address space follows, and a computed value has no place."""
    if not operations or operations[-1].op_name == "DW_OP_stack_value":
        return None
    first = operations[0]
    if first.op_name == "DW_OP_fbreg":
        return "scratch", first.args[0]
    if first.op_name in ("DW_OP_regx", "DW_OP_bregx") and not any(first.args[1:]):
        for start, count, kind, index in _REGISTERS:
            if start <= first.args[0] < start + count:
                return kind, first.args[0] - start + index
    return None


def size_of(die: DIE) -> int:
    """Bytes of a variable's type; an array's elements times their number."""
    count = 1
    while "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag == "DW_TAG_array_type":
            for child in die.iter_children():
                number = child.attributes.get("DW_AT_count")
                count *= number.value if number is not None else 1
        elif "DW_AT_byte_size" in die.attributes:
            return count * int(die.attributes["DW_AT_byte_size"].value)
    return 0
