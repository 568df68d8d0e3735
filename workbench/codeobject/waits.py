"""Waits: the counters in the field of an s_waitcnt, and the wait states of an s_nop."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from workbench import targets
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Control, Flow, Space, Trait
from workbench.targets import Request, WaitCounter
from workbench.targets.waits import GFX9_WAIT, GFX9_WAITS

_NO_COUNTERS: Mapping[str, int] = MappingProxyType({})
_VECTOR = (Space.GLOBAL, Space.BUFFER, Space.SCRATCH)


class Waits(NamedTuple):
    """The counts of gfx9's s_waitcnt as assemblers print them; None for a counter that it leaves alone."""

    vmcnt: int | None
    expcnt: int | None
    lgkmcnt: int | None


NO_WAIT = {counter.name: counter.no_wait(GFX9_WAIT) for counter in GFX9_WAITS}
"""The counts of gfx9's s_waitcnt if it waits for nothing."""


def waits(field: int) -> Waits:
    """The counts in the 16-bit field of gfx9's s_waitcnt; all ones of a count wait for nothing."""
    return Waits(**{counter.name: counter.count(GFX9_WAIT, field) for counter in GFX9_WAITS})


def left_after(instruction: Instruction) -> Mapping[str, int]:
    """Requests that may be left after a wait, by the counters that it waits for; empty for any other one."""
    if instruction.record.control is not Control.WAIT:
        return _NO_COUNTERS
    return targets.waits_of(instruction.form.target).left(
        instruction.form.opcode, instruction.words[0] & 0xFFFF
    )


def requests_left(instruction: Instruction, request: Request) -> int | None:
    """Requests of a kind that may be left after an instruction; None if it does not wait for such."""
    if instruction.record.control is not Control.WAIT:
        return None
    counter = counter_of(instruction, request)
    return None if counter is None else left_after(instruction).get(counter.name)


def counter_of(instruction: Instruction, request: Request) -> WaitCounter | None:
    """The counter of a kind of requests on an instruction's target; None if it has no such requests."""
    return targets.waits_of(instruction.form.target).of(request)


def requests_of(instruction: Instruction) -> tuple[Request, ...]:
    """What an instruction requests that a wait can wait for."""
    record = instruction.record
    if Trait.ASYNCHRONOUS in record.traits:
        return (Request.ASYNC,)
    if Trait.COPIES_TILES in record.traits:
        return (Request.TENSOR,)
    memory = record.memory
    if memory is None:
        # Profilers count s_endpgm as a message; nothing arrives after it.
        is_message = record.pipeline == "message" and record.flow is not Flow.END
        return (Request.MESSAGE,) if is_message else ()
    if memory.space in (Space.SCALAR, Space.SCALAR_BUFFER):
        return (Request.SCALAR,)
    vector = Request.STORE if memory.access is Access.STORE else Request.LOAD
    if memory.space is Space.FLAT:
        # A flat address may turn out to be in the LDS.
        return vector, Request.LDS
    return (vector,) if memory.space in _VECTOR else (Request.LDS,)


def counters_of(instruction: Instruction) -> tuple[str, ...]:
    """Names of the counters that go up when an instruction is issued."""
    counters = (counter_of(instruction, request) for request in requests_of(instruction))
    return tuple(dict.fromkeys(counter.name for counter in counters if counter is not None))


def wait_states(instruction: Instruction) -> int:
    """Wait states that an instruction takes: one, or as many as an s_nop says."""
    if instruction.record.control is not Control.IDLE:
        return 1
    return (int(instruction.src[0].value or 0) & 15) + 1
