"""Maps each byte of a kernel's shared memory to the `__shared__` variable of the source.

Code objects do not contain this map: their symbols have no shared memory, and clang's DWARF describes such a
variable without a location. So the addresses are computed by LLVM's rule (AMDGPULowerModuleLDS,
OptimizedStructLayout): variables by decreasing alignment, then decreasing size, then name; smaller ones fill
the gaps. If several sets of variables could add up to the kernel's size, only variables with the same address
in all of them are reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from elftools.dwarf.die import DIE

from workbench.codeobject.variables import size_of

_LEAST_ALIGNMENTS = ((9, 16), (5, 8), (3, 4), (2, 2))
"""(size, alignment) in bytes: LLVM aligns variables of at least this size to at least this alignment."""
_PLACED = {"DW_AT_location", "DW_AT_const_value", "DW_AT_declaration"}
_MOST_VARIABLES = 10
_PARTS = ("DW_TAG_member", "DW_TAG_inheritance")


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
    natural: int
    """Alignment of the scalars and vectors that its type is made of."""


def shared_arrays(function: DIE, total: int) -> tuple[SharedArray, ...]:
    """The arrays of a kernel by address, if their addresses are certain.

    Args:
        function: DWARF's description of the kernel.
        total: bytes of shared memory that it requests.
    """
    # Local arrays in registers look alike, and an unused shared one has no address.
    variables = [variable for candidate in _functions(function) for variable in _first_variables(candidate)]
    if len(variables) > _MOST_VARIABLES:
        return ()
    possible = [
        combination
        for count in range(1, len(variables) + 1)
        for combination in itertools.combinations(variables, count)
        if _may_take(combination, total)
    ]
    placed = [_placed(combination) for combination in possible]
    return (
        tuple(candidate for candidate in placed[0] if all(candidate in others for others in placed))
        if placed
        else ()
    )


def _may_take(variables: Sequence[_Declared], total: int) -> bool:
    """True if these may be all variables of a kernel with `total` bytes, which LLVM puts into a structure."""
    last = _placed(variables)[-1]
    return _up(last.first + last.size, max(variable.natural for variable in variables)) == total


def _functions(function: DIE) -> list[DIE]:
    """A function and the functions that are inlined into it, each once."""
    functions = {function.offset: function}

    def collect(die: DIE) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_inlined_subroutine":
                origin = child.get_DIE_from_attribute("DW_AT_abstract_origin")
                functions.setdefault(origin.offset, origin)
            collect(child)

    collect(function)
    return list(functions.values())


def _first_variables(function: DIE) -> list[_Declared]:
    """The variables without a location at the beginning of a function's description."""
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
    return _Declared(f"_ZZ{of}E{_counted(name)}", name, int(line.value), size, alignment, _natural(die))


def _natural(die: DIE) -> int:
    """The largest alignment among the parts of the type of a variable, a member or a base class."""
    while "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if {"DW_AT_GNU_vector", "DW_AT_byte_size"} <= set(die.attributes) or die.tag == "DW_TAG_pointer_type":
            break
    parts = [_natural(part) for part in die.iter_children() if part.tag in _PARTS]
    size = die.attributes.get("DW_AT_byte_size")
    return max(parts) if parts else int(size.value) if size is not None else 1


def _alignments(die: DIE) -> Iterator[int]:
    """Values of `alignas` on a variable, on its type and on its elements, in bytes."""
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


def _placed(variables: Iterable[_Declared]) -> list[SharedArray]:
    """The variables at the addresses that LLVM assigns to them, in order."""
    remaining = sorted(variables, key=lambda v: (-v.alignment, -v.size, v.symbol))
    at, placed = 0, list[SharedArray]()
    while remaining:
        # The variable with the largest alignment among those that leave the smallest gap.
        at = _up(at, min(v.alignment for v in remaining))
        variable = next(v for v in remaining if at % v.alignment == 0)
        remaining.remove(variable)
        placed.append(SharedArray(at, variable.size, variable.name, variable.line))
        at += variable.size
    return placed


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
