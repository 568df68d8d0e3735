"""Which `__shared__` variable of the source is at which byte of a kernel's shared memory.

Code objects do not say: their symbols have no shared memory, and clang's DWARF describes such a variable
without a place. So the places are computed as LLVM gives them (AMDGPULowerModuleLDS, OptimizedStructLayout):
variables by falling alignment, then falling size, then name. Where that leaves gaps LLVM has a choice, and
where several choices of variables may have the kernel's size they are not known: then nothing is said.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from elftools.dwarf.die import DIE

from workbench.codeobject.variables import size_of

_LEAST_ALIGNMENTS = ((9, 16), (5, 8), (3, 4), (2, 2))
"""LLVM aligns variables of so many bytes and more to so many."""
_PLACED = {"DW_AT_location", "DW_AT_const_value", "DW_AT_declaration"}
_MOST_VARIABLES = 10


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A variable in shared memory: bytes [first, first + size), and its declaration."""

    first: int
    size: int
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class _Declared:
    symbol: str
    name: str
    line: int
    size: int
    alignment: int


def shared_arrays(function: DIE, total: int) -> tuple[SharedArray, ...]:
    """The arrays of a kernel by address; empty where it is not certain which are where.

    Args:
        function: DWARF's description of the kernel.
        total: bytes of shared memory that it asks for.
    """
    # Local arrays that are in registers look alike, and a shared one that nothing uses has no place.
    variables = [variable for each in _functions(function) for variable in _first_variables(each)]
    if len(variables) > _MOST_VARIABLES:
        return ()
    possible = [
        chosen
        for count in range(1, len(variables) + 1)
        for chosen in itertools.combinations(variables, count)
        if _may_take(chosen, total)
    ]
    return _placed(possible[0]) if len(possible) == 1 else ()


def _may_take(variables: Sequence[_Declared], total: int) -> bool:
    """Whether these variables may be all of a kernel with `total` bytes: gaps are LLVM's choice."""
    most = 0
    for variable in _in_order(variables):
        most = -(-most // variable.alignment) * variable.alignment + variable.size
    widest = max(variable.alignment for variable in variables)
    return sum(variable.size for variable in variables) <= total <= -(-most // widest) * widest


def _functions(function: DIE) -> list[DIE]:
    """A function and those that are inlined into it, each once."""
    found = {function.offset: function}

    def collect(die: DIE) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_inlined_subroutine":
                origin = child.get_DIE_from_attribute("DW_AT_abstract_origin")
                found.setdefault(origin.offset, origin)
            collect(child)

    collect(function)
    return list(found.values())


def _first_variables(function: DIE) -> list[_Declared]:
    """The variables without a place that a function's description begins with."""
    return [declared for die in _leading(function) if (declared := _declared(function, die)) is not None]


def _leading(function: DIE) -> Iterator[DIE]:
    for child in function.iter_children():
        if child.tag == "DW_TAG_variable" and not _PLACED & set(child.attributes):
            yield child
        elif not str(child.tag).startswith("DW_TAG_template"):
            return


def _declared(function: DIE, die: DIE) -> _Declared | None:
    name, line, size = _text(die, "DW_AT_name"), die.attributes.get("DW_AT_decl_line"), size_of(die)
    if not name or line is None or not size:
        return None
    of = _text(function, "DW_AT_linkage_name").removeprefix("_Z") or _counted(_text(function, "DW_AT_name"))
    least = next((alignment for count, alignment in _LEAST_ALIGNMENTS if size >= count), 1)
    alignment = max(least, *_alignments(die))
    return _Declared(f"_ZZ{of}E{_counted(name)}", name, int(line.value), size, alignment)


def _alignments(die: DIE) -> Iterator[int]:
    """What `alignas` asks for: of a variable, of its type and of its elements."""
    yield 1
    while True:
        if "DW_AT_alignment" in die.attributes:
            yield int(die.attributes["DW_AT_alignment"].value)
        if "DW_AT_type" not in die.attributes:
            return
        die = die.get_DIE_from_attribute("DW_AT_type")


def _counted(name: str) -> str:
    return f"{len(name)}{name}"


def _text(die: DIE, attribute: str) -> str:
    value = die.attributes.get(attribute)
    return str(value.value.decode(errors="replace")) if value is not None else ""


def _in_order(variables: Iterable[_Declared]) -> list[_Declared]:
    return sorted(variables, key=lambda v: (-v.alignment, -v.size, v.symbol))


def _placed(variables: Iterable[_Declared]) -> tuple[SharedArray, ...]:
    """The variables one behind the other; none where that leaves a gap."""
    at, placed = 0, list[SharedArray]()
    for variable in _in_order(variables):
        if at % variable.alignment:
            return ()
        placed.append(SharedArray(at, variable.size, variable.name, variable.line))
        at += variable.size
    return tuple(placed)
