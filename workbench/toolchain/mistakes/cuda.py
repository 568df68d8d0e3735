"""CUDA in a source for HIP: the compiler's errors, explained with HIP's names; one record each."""

from __future__ import annotations

import ctypes
import re

from workbench.toolchain import cuda_names
from workbench.toolchain.mistakes.cell_text import Span
from workbench.toolchain.mistakes.error_context import Change, ErrorContext, Explanation, Mistake

_ALL = "; --hipify in a cell, or wb.hipify, replaces all such names"
_UNKNOWN = re.compile(
    r"(?:unknown type name|use of undeclared identifier|no template named|expected namespace name"
    r"|no member named|use of undeclared template|unknown class name|no type named)\b"
)


def _header(context: ErrorContext) -> Explanation | None:
    match = re.match(r"'([^']+)' file not found", context.message)
    name = match[1] if match else ""
    why, new = cuda_names.ABSENT_HEADERS.get(name), cuda_names.header(name)
    if why:
        return Explanation(why, _in_line(context, name))
    if not new or new == name:
        return None
    at = _in_line(context, name)
    message = f"`{name}` is a header of CUDA's: HIP's is `#include <{new}>`{_ALL}"
    return Explanation(message, at, (Change(at, new),) if at else ())


def _in_line(context: ErrorContext, text: str) -> Span | None:
    """Span of a text in the line of the error."""
    line = context.error.cell_line
    start, column = context.cell.offset(line, 1), context.cell.line(line).find(text)
    if start is None or column < 0:
        return None
    return Span(start + column, start + column + len(text), text)


def _name(context: ErrorContext) -> Explanation | None:
    at = context.at
    match = re.compile(r"\w+").match(context.cell.code, at) if at is not None else None
    if match is None:
        return None
    span = Span(*match.span(), match[0])
    new = "hipcub" if match[0] == "cub" else cuda_names.counterpart(match[0])
    if new:
        message = f"`{match[0]}` is CUDA's name: HIP's is `{new}`{_ALL}"
        return Explanation(message, span, (Change(span, new),))
    return _absent(context, span)


def _absent(context: ErrorContext, span: Span) -> Explanation | None:
    row, _ = context.cell.line_and_column(span.start)
    begin = context.cell.offset(row, 1) or 0
    end = begin + len(context.cell.line(row))
    for absent in cuda_names.ABSENT:
        for match in absent.pattern.finditer(context.cell.code, begin, end):
            if match.start() <= span.start < match.end():
                return Explanation(f"`{span.text}`: {absent.why}", span)
    return None


def _assembly(context: ErrorContext) -> Explanation | None:
    if context.at is None:
        return None
    opened = None
    for match in re.finditer(r"\b(?:asm|__asm__)\b[\s\w]*\(", context.cell.code):
        end = context.cell.closing(match.end() - 1)
        if match.start() <= context.at <= (end if end is not None else match.end()):
            opened = match
    if opened is None:
        return None
    why = cuda_names.ptx(context.cell, opened.end() - 1)
    at = Span(opened.start(), opened.end() - 1, opened[0][:-1].strip())
    return Explanation(why, at) if why else None


def _mask_width(said: ErrorContext, text: str) -> str:
    """Type and width of a mask, by the type in the compiler's message; "" if it names none."""
    named = re.search(r"requirement '[^']*\b(?:sizeof\(|is_integral<)([\w ]+)[)>]", said.error.message)
    if named is None:
        return ""
    # Narrower ones have the same sizes here and on the device.
    ctype = getattr(ctypes, "c_" + re.sub(r"\b(?:un)?signed ", "", named[1]), None)
    bits = 8 * ctypes.sizeof(ctype) if ctype else 128 if named[1].endswith("__int128") else None
    return f"; `{text}` is of type {named[1]}" + (f" and has {bits}" if bits else "")


def _mask(context: ErrorContext) -> Explanation | None:
    mask = context.operand(0)
    message = "a wave has 64 lanes, a warp 32: the mask has 64 bits, one for each lane"
    if context.call is None or mask is None:
        return Explanation(message)
    message += _mask_width(context, mask.text)
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
