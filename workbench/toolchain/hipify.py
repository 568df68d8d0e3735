"""CUDA C++ as HIP C++: names replaced, line by line, and a list of remaining work.

A text is changed without being understood: assumptions about warps of 32 lanes stay, and are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.toolchain import cuda_names
from workbench.toolchain.mistakes.cell_text import Cell

_INCLUDE = re.compile(r"^([ \t]*#[ \t]*include[ \t]*[<\"])([^<>\"\n]+)(?=[>\"])", re.MULTILINE)
_NAME = re.compile(r"(?<![\w.])(?:cub(?=\s*::)|[A-Za-z_]\w*)")
# Marks of device code; nvcc includes its runtime's header before every source, hipcc does not.
_DEVICE_CODE = re.compile(r"\b__(?:global|device|host|shared|constant|managed|launch_bounds)__|<<<")
RUNTIME_INCLUDE = f"#include <{cuda_names.RUNTIME_HEADER}>\n"
"""First line of a source with device code that relied on nvcc for this header."""
_DEFINED = re.compile(r"(#[ \t]*ifn?def[ \t]+|\bdefined[ \t]*\(?[ \t]*)__CUDA_ARCH__\b")
_WIDENED = "its mask has 64 lanes now, as a wave does: check that nothing assumes warps of 32"
_SYNC = re.compile(
    r"\b__(?:shfl(?:_up|_down|_xor)?|any|all|ballot|match_any|match_all|reduce_\w+)_sync\s*(?=\()"
)
_ASM = re.compile(r"\b(?:asm|__asm__)\b[\s\w]*(?=\()")
_OWN = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)|^[ \t]*(?:[\w:*&<>]+[ \t]+)+[*&]?(\w+)\s*\([^;{}()]*\)\s*\{",
    re.MULTILINE,
)
_OF_32 = re.compile(
    r"\b(?:threadIdx\.x|tid|lane\w*|\w*[iI]d\w*|thread\w*)\s*(?:(?:[%/]\s*32|&\s*(?:31|0x1[fF])|>>\s*5)\b)"
)


@dataclass(frozen=True, slots=True)
class Leftover:
    """A piece of CUDA code that must be ported by hand.

    Attributes:
        line: line from 1.
        text: the code at this line.
        why: description of the problem, and the remedy.
    """

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: `{self.text}`: {self.why}"


@dataclass(frozen=True)
class HipifyResult:
    """A source translated to HIP's names.

    Attributes:
        source: the text; its lines match the original's, after RUNTIME_INCLUDE if that was added.
        names: replaced names and headers: HIP's by CUDA's.
        leftovers: code to port by hand, by line of the original.
        includes_runtime: True if RUNTIME_INCLUDE was added.
    """

    source: str
    names: dict[str, str]
    leftovers: tuple[Leftover, ...] = ()
    includes_runtime: bool = False

    def __str__(self) -> str:
        names = f"{len(self.names)} name{'' if len(self.names) == 1 else 's'} exchanged"
        added = f", {cuda_names.RUNTIME_HEADER} included" if self.includes_runtime else ""
        head = f"hipify: {names}{added}, {len(self.leftovers)} left to do"
        return "\n".join([head, *map(str, self.leftovers)])

    def __repr__(self) -> str:
        return f"<HipifyResult: {str(self).partition(chr(10))[0].removeprefix('hipify: ')}>"


def hipify(source: str, first_line: int = 1) -> HipifyResult:
    """Gives CUDA C++ HIP's names: headers, types, functions and constants, including those of libraries.

    Comments and texts stay. The names are those of PyTorch's hipify, and some more. If device code includes
    no header of the runtime, because nvcc does it, a first line includes HIP's.

    Args:
        source: the C++ text.
        first_line: number of its first line.

    Returns:
        the new text, and what has no counterpart: PTX, wmma, textures, and masks and indices for 32 lanes. A
        wave of these GPUs has 64 lanes.

    Raises:
        UsageError: the source is not a text.
    """
    if not isinstance(source, str):
        raise UsageError(f"hipify: got a {type(source).__name__}; expected the C++ text")
    cell = Cell(source, first_line)
    changes: dict[int, tuple[int, str]] = {}
    names: dict[str, str] = {}
    leftovers = list(_absent(cell))
    needs_runtime = _DEVICE_CODE.search(cell.code) is not None
    for match in _INCLUDE.finditer(source):
        name = match[2]
        if cell.code[match.start(1) : match.end(1) - 1] != match[1][:-1]:
            continue  # in a comment
        new = cuda_names.header(name)
        needs_runtime &= (new or name) != cuda_names.RUNTIME_HEADER
        if new is not None and new != name:
            changes[match.start(2)] = match.end(2), new
            names[name] = new
        elif name in cuda_names.ABSENT_HEADERS:
            leftovers.append(_leftover(cell, match.start(2), name, cuda_names.ABSENT_HEADERS[name]))
    declared = {name for match in _OWN.finditer(cell.code) for name in match.groups() if name}
    for match in _NAME.finditer(cell.code):
        name = match[0]
        if name in declared:
            continue
        new = "hipcub" if name == "cub" else cuda_names.counterpart(name)
        if new is None or any(start <= match.start() < end for start, (end, _) in changes.items()):
            continue
        changes[match.start()] = match.end(), new
        if name not in names and name != "cub" and cuda_names.is_guess(name):
            why = f"became {new} by the pattern of similar names, which no table lists: check that HIP has it"
            leftovers.append(_leftover(cell, match.start(), name, why))
        names[name] = new
    for match in _DEFINED.finditer(cell.code):
        changes[match.end() - len("__CUDA_ARCH__")] = match.end(), "__HIP_DEVICE_COMPILE__"
        names["__CUDA_ARCH__"] = "__HIP_DEVICE_COMPILE__"
    for start, end in _masks(cell, leftovers):
        changes[start] = end, cuda_names.FULL_MASK
    for start, (end, new) in sorted(changes.items(), reverse=True):
        source = source[:start] + new + source[end:]
    if needs_runtime:
        source = RUNTIME_INCLUDE + source
    left = tuple(sorted(dict.fromkeys(leftovers), key=lambda leftover: leftover.line))
    return HipifyResult(source, names, left, needs_runtime)


def _absent(cell: Cell) -> Iterator[Leftover]:
    asked = {match.end() for match in _DEFINED.finditer(cell.code)}
    for absent in cuda_names.ABSENT:
        for match in absent.pattern.finditer(cell.code):
            if match.end() not in asked:
                yield _leftover(cell, match.start(), match[0], absent.why)
    for match in _ASM.finditer(cell.code):
        why = cuda_names.ptx(cell, match.end())
        if why:
            yield _leftover(cell, match.start(), match[0].strip(), why)
    for match in _OF_32.finditer(cell.code):
        why = "counts in warps of 32 lanes; a wave has 64 (warpSize)"
        yield _leftover(cell, match.start(), match[0], why)


def _masks(cell: Cell, leftovers: list[Leftover]) -> Iterator[tuple[int, int]]:
    """Spans of 32-lane masks that mean all lanes: as an argument, or at the definition of its name."""
    for match in _SYNC.finditer(cell.code):
        spans = cell.split(match.end())
        if not spans:
            continue
        mask, name = spans[0], match[0].strip()
        if cuda_names.FULL_MASK_OF_32.fullmatch(mask.text):
            yield mask.start, mask.end
            leftovers.append(_leftover(cell, match.start(), name, _WIDENED))
            continue
        full = cuda_names.FULL_MASK_OF_32.pattern
        defined = re.search(
            rf"^[ \t]*#[ \t]*define[ \t]+{re.escape(mask.text)}[ \t]+({full})[ \t]*$", cell.code, re.MULTILINE
        )
        if defined:
            yield defined.span(1)
            why = _WIDENED
        else:
            why = f"its mask `{mask.text}` needs 64 bits (unsigned long long), one for each lane of a wave"
        leftovers.append(_leftover(cell, match.start(), name, why))


def _leftover(cell: Cell, offset: int, text: str, why: str) -> Leftover:
    return Leftover(cell.line_and_column(offset)[0], " ".join(text.split()), why)


__all__ = ["RUNTIME_INCLUDE", "HipifyResult", "Leftover", "hipify"]
