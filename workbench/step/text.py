"""The place of a stepper as plain text, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.codeobject import printer

if TYPE_CHECKING:
    from workbench.step.stepper import Changed, Stepper

AROUND = 3
"""Lines of source and of machine code on each side."""
MOST = 8
"""Of registers that changed, and of variables."""


def text(stepper: Stepper) -> str:
    """Where the wave is, source and machine code around it, what changed, what is waited for and held."""
    return "\n".join(_lines(stepper))


def _lines(s: Stepper) -> Iterator[str]:
    cut = "; the tape was full then" if s.tape.cut and s.ended else ""
    yield (
        f"{s.kernel.name} on {s.record.device}: wave {s.wave} of work-group {s.group}, "
        f"{s.position:,} of {s.length:,} instructions run{cut}"
    )
    yield from source_around(s)
    yield ""
    yield from code_around(s)
    yield ""
    for each in s.changed[:MOST]:
        yield f"changed  {said(each)}"
    if len(s.changed) > MOST:
        yield f"         and {len(s.changed) - MOST} more"
    for access in s.accesses:
        what = access.kind.name.lower().replace("_", " ")
        banks = f", {access.conflicts} cycles of bank conflicts" if access.banks else ""
        yield f"access   {what} of {access.bytes} bytes by {len(access.addresses)} lanes{banks}"
    waits = ", ".join(f"{each.counter} {each.count}" for each in s.outstanding)
    yield f"waiting  {waits}"
    for variable in list(s.variables.values())[:MOST]:
        value = "a tile: .tile() has it" if variable.is_tile else number(variable.value)
        yield f"holds    {variable.name} = {value} ({variable.place})"
    yield "waves    " + "; ".join(
        f"{each.wave} {each.state}" + (f", line {each.line}" if each.line else "") for each in s.waves
    )


def source_around(s: Stepper) -> Iterator[str]:
    """Lines of the source around the next instruction's."""
    source = s.kernel.source
    if source is None or s.line is None:
        return
    lines, first = source.splitlines(), s.kernel.module.first_line
    for line in range(max(first, s.line - AROUND), min(first + len(lines), s.line + AROUND + 1)):
        yield f"{'->' if line == s.line else '  '} {line:4}  {lines[line - first]}"


def code_around(s: Stepper) -> Iterator[str]:
    """Machine code around the next instruction, in address order."""
    addresses = [address for block in s.tape.blocks for address in block]
    addresses.sort()
    here = s.address
    place = addresses.index(here) if here is not None else len(addresses)
    next_ones = {each.address for each in s.instructions}
    for address in addresses[max(0, place - AROUND) : place + AROUND + 1]:
        mark = "->" if address in next_ones else "  "
        yield f"{mark} {address:#08x}  {printer.text(s.kernel.module.instruction(address))}"


def said(change: Changed) -> str:
    """A change in words."""
    if isinstance(change.after, int):
        return f"{change.name}: {change.before:#x} to {change.after:#x}"
    if change.lanes:
        floats = change.after.view(np.float32)
        return f"{change.name} of {change.lanes} lanes: {few(change.after)} (as floats {few(floats)})"
    return change.name


def few(numbers: Sequence[Any]) -> str:
    """The first of several numbers."""
    return (
        ", ".join(f"{each:.4g}" if isinstance(each, np.floating) else f"{each:#x}" for each in numbers[:4])
        + ", …"
    )


def number(value: Any) -> str:
    """A variable's value, briefly."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {number(each)}" for name, each in list(value.items())[:4]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(number, value[:4])) + (", …]" if len(value) > 4 else "]")
    if isinstance(value, np.ndarray):
        return "by lane " + ", ".join(f"{each:.4g}" for each in value[:4].tolist()) + ", …"
    return "?" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
