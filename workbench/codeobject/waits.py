"""Waits: the counters in the field of an s_waitcnt, and the wait states of an s_nop."""

from __future__ import annotations

from typing import NamedTuple

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Control


class Waits(NamedTuple):
    """Requests of each kind that may still be under way after an s_waitcnt; None if it waits for none."""

    vmcnt: int | None
    expcnt: int | None
    lgkmcnt: int | None


NO_WAIT = {"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
"""The counts of an s_waitcnt that waits for nothing."""


def waits(field: int) -> Waits:
    """The counts in an s_waitcnt's 16-bit field; all ones of a count wait for nothing.

    vmcnt has six bits, 3:0 and 15:14, expcnt three, 6:4, lgkmcnt four, 11:8 (CDNA3 ISA guide).
    """
    vmcnt, expcnt, lgkmcnt = field >> 10 & 0x30 | field & 15, field >> 4 & 7, field >> 8 & 15
    counts = {"vmcnt": vmcnt, "expcnt": expcnt, "lgkmcnt": lgkmcnt}
    return Waits(**{name: None if count == NO_WAIT[name] else count for name, count in counts.items()})


def waits_of(instruction: Instruction) -> Waits:
    """The counters that an s_waitcnt waits for; empty for any other instruction."""
    if instruction.record.control is not Control.WAIT:
        return Waits(None, None, None)
    return waits(instruction.words[0])


def wait_states(instruction: Instruction) -> int:
    """Wait states that an instruction takes: one, or as many as an s_nop says."""
    if instruction.record.control is not Control.IDLE:
        return 1
    return (int(instruction.src[0].value or 0) & 15) + 1
