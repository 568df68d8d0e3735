"""The position of a stepper as plain text, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.codeobject import Instruction, printer
from workbench.kernel import Kernel
from workbench.launches import Access, LaunchRecord, Tape
from workbench.step.variables import Variable
from workbench.step.waiting import Waiting

AROUND = 3
"""Number of lines of source and of machine code on each side."""
MOST_LETTERS = 48
"""Maximum number of characters of a struct's members to show."""
MOST = 8
"""Maximum number of changed registers, and of variables, to show."""


class Changed(NamedTuple):
    """A register, or memory on the chip, that an instruction has changed.

    Attributes:
        name: name, such as "v12", "a3", "s4", "exec_lo", "lds[0x40:0x80]".
        lanes: number of lanes that changed; 0 if it has no lanes.
        before, after: 32-bit numbers: a single one, one for each lane, or 16 of memory.
    """

    name: str
    lanes: int
    before: Any
    after: Any


class WaveState(NamedTuple):
    """The position of a wave.

    Attributes:
        wave: number of the wave.
        state: "here" for the wave that the stepper follows, else "ready", "at a barrier" or "ended".
        address, line: place of its next instruction; None if it has ended, or if the line is unknown.
        done: number of instructions that it has run.
    """

    wave: int
    state: str
    address: int | None
    line: int | None
    done: int


class Standing(Protocol):
    """The attributes of a stepper from which the text is made."""

    kernel: Kernel
    record: LaunchRecord
    tape: Tape
    group: int

    @property
    def wave(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def line(self) -> int | None: ...
    @property
    def instructions(self) -> tuple[Instruction, ...]: ...
    @property
    def changed(self) -> tuple[Changed, ...]: ...
    @property
    def accesses(self) -> tuple[Access, ...]: ...
    @property
    def outstanding(self) -> tuple[Waiting, ...]: ...
    @property
    def variables(self) -> dict[str, Variable]: ...
    @property
    def waves(self) -> tuple[WaveState, ...]: ...


def text(stepper: Standing) -> str:
    """The wave's position with source and machine code around it, changes, pending waits and variables."""
    return "\n".join(_lines(stepper))


def _lines(s: Standing) -> Iterator[str]:
    cut = "; the tape was full then" if s.tape.cut and s.ended else ""
    yield (
        f"{s.kernel.name} on {s.record.device}: wave {s.wave} of work-group {s.group}, "
        f"{s.position:,} of {s.length:,} instructions run{cut}"
    )
    yield from source_around(s)
    yield ""
    yield from code_around(s)
    yield ""
    for change in s.changed[:MOST]:
        yield f"changed  {said(change)}"
    if len(s.changed) > MOST:
        yield f"         and {len(s.changed) - MOST} more"
    for access in s.accesses:
        access_kind = access.kind.name.lower().replace("_", " ")
        banks = f", {access.conflicts} cycles of bank conflicts" if access.banks else ""
        yield f"access   {access_kind} of {access.bytes} bytes by {len(access.addresses)} lanes{banks}"
    waits = ", ".join(f"{entry.counter} {entry.count}" for entry in s.outstanding)
    yield f"waiting  {waits}"
    for variable in list(s.variables.values())[:MOST]:
        value = "a tile: .tile() has it" if variable.is_tile else number(variable.value)
        yield f"holds    {variable.name} = {value} ({variable.place})"
    yield "waves    " + "; ".join(
        f"{entry.wave} {entry.state}" + (f", line {entry.line}" if entry.line else "") for entry in s.waves
    )


def source_around(s: Standing) -> Iterator[str]:
    """Lines of the source around the next instruction's."""
    source = s.kernel.source
    if source is None or s.line is None:
        return
    lines, first = source.splitlines(), s.kernel.module.first_line
    for line in range(max(first, s.line - AROUND), min(first + len(lines), s.line + AROUND + 1)):
        yield f"{'->' if line == s.line else '  '} {line:4}  {lines[line - first]}"


def code_around(s: Standing) -> Iterator[str]:
    """Machine code around the next instruction, in address order."""
    addresses = [address for block in s.tape.blocks for address in block]
    addresses.sort()
    next_ones = [instruction.address for instruction in s.instructions]
    place = addresses.index(next_ones[0]) if next_ones else len(addresses)
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
        ", ".join(
            f"{value:.4g}" if isinstance(value, np.floating) else f"{value:#x}" for value in numbers[:4]
        )
        + ", …"
    )


def number(value: Any) -> str:
    """A variable's value, briefly."""
    if isinstance(value, dict):
        parts = ", ".join(f"{name}: {number(value)}" for name, value in value.items())
        return (
            "{"
            + (parts if len(parts) <= MOST_LETTERS else parts[:MOST_LETTERS].rpartition(",")[0] + ", …")
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(number, value[:4])) + (", …]" if len(value) > 4 else "]")
    if isinstance(value, np.ndarray):
        return "by lane " + ", ".join(f"{value:.4g}" for value in value[:4].tolist()) + ", …"
    return "?" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
