"""CUDA in a source for HIP: what the compiler refuses, said with HIP's names; one record each."""

from __future__ import annotations

import re

from workbench.toolchain import cuda_names
from workbench.toolchain.mistakes.cell_text import Span
from workbench.toolchain.mistakes.said import Change, Explanation, Mistake, Said

_ALL = "; --hipify in a cell, or wb.hipify, exchanges all such names"
_UNKNOWN = re.compile(
    r"(?:unknown type name|use of undeclared identifier|no template named|expected namespace name"
    r"|no member named|use of undeclared template|unknown class name|no type named)\b"
)


def _header(said: Said) -> Explanation | None:
    found = re.match(r"'([^']+)' file not found", said.message)
    name = found[1] if found else ""
    why, new = cuda_names.ABSENT_HEADERS.get(name), cuda_names.header(name)
    if why:
        return Explanation(why, _in_line(said, name))
    if not new or new == name:
        return None
    at = _in_line(said, name)
    message = f"`{name}` is a header of CUDA's: HIP's is `#include <{new}>`{_ALL}"
    return Explanation(message, at, (Change(at, new),) if at else ())


def _in_line(said: Said, text: str) -> Span | None:
    """Where a text stands in the line that the error is at."""
    line = said.error.cell_line
    start, column = said.cell.offset(line, 1), said.cell.line(line).find(text)
    if start is None or column < 0:
        return None
    return Span(start + column, start + column + len(text), text)


def _name(said: Said) -> Explanation | None:
    at = said.at
    found = re.compile(r"\w+").match(said.cell.code, at) if at is not None else None
    if found is None:
        return None
    span = Span(*found.span(), found[0])
    new = "hipcub" if found[0] == "cub" else cuda_names.counterpart(found[0])
    if new:
        message = f"`{found[0]}` is CUDA's name: HIP's is `{new}`{_ALL}"
        return Explanation(message, span, (Change(span, new),))
    return _absent(said, span)


def _absent(said: Said, span: Span) -> Explanation | None:
    row, _ = said.cell.place(span.start)
    begin = said.cell.offset(row, 1) or 0
    end = begin + len(said.cell.line(row))
    for absent in cuda_names.ABSENT:
        for found in absent.pattern.finditer(said.cell.code, begin, end):
            if found.start() <= span.start < found.end():
                return Explanation(f"`{span.text}`: {absent.why}", span)
    return None


def _assembly(said: Said) -> Explanation | None:
    if said.at is None:
        return None
    opened = None
    for found in re.finditer(r"\b(?:asm|__asm__)\b[\s\w]*\(", said.cell.code):
        end = said.cell.closing(found.end() - 1)
        if found.start() <= said.at <= (end if end is not None else found.end()):
            opened = found
    if opened is None:
        return None
    why = cuda_names.ptx(said.cell, opened.end() - 1)
    at = Span(opened.start(), opened.end() - 1, opened[0][:-1].strip())
    return Explanation(why, at) if why else None


# Bits of the integers that a mask may wrongly be, as clang prints their types.
_BITS = {"bool": 8, "char": 8, "short": 16, "int": 32, "__int128": 128}


def _mask_width(said: Said, text: str) -> str:
    """What a mask has instead, by the type in the compiler's sentence; "" where it names none."""
    named = re.search(r"requirement '[^']*\b(?:sizeof\(|is_integral<)([\w ]+)[)>]", said.error.message)
    if named is None:
        return ""
    bits = _BITS.get(re.sub(r"\b(?:un)?signed ", "", named[1]))
    return f"; `{text}` is of type {named[1]}" + (f" and has {bits}" if bits else "")


def _mask(said: Said) -> Explanation | None:
    mask = said.operand(0)
    message = "a wave has 64 lanes, a warp 32: the mask has 64 bits, one for each lane"
    if said.call is None or mask is None:
        return Explanation(message)
    message += _mask_width(said, mask.text)
    if cuda_names.FULL_MASK_OF_32.fullmatch(mask.text):
        message = f"{message}: all lanes are {cuda_names.FULL_MASK}"
        return Explanation(message, mask, (Change(mask, cuda_names.FULL_MASK),))
    return Explanation(message, mask)


CUDA = (
    Mistake("A header of CUDA's", re.compile(r"'[^']+' file not found"), _header, "rest"),
    Mistake("A name of CUDA's", _UNKNOWN, _name),
    Mistake(
        "Assembly of NVIDIA's (PTX)",
        re.compile(
            r"invalid (?:output|input) constraint|invalid instruction|unknown token in expression"
            r"|unexpected token|not a valid operand|invalid operand|unknown directive|expected relocatable"
        ),
        _assembly,
        "line",
    ),
    Mistake(
        "A mask for warps of 32 lanes", re.compile(r"mask must be a 64-bit integer", re.IGNORECASE), _mask
    ),
)
