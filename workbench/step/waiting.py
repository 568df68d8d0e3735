"""Requests of a wave that nothing has waited for, which vmcnt and lgkmcnt count on hardware.

The emulated device answers each at once. A GPU answers later; a request that no s_waitcnt has waited for may
still be in flight, and its result must not be read (CDNA3 and CDNA4 ISA guides, S_WAITCNT).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.codeobject import Instruction
from workbench.codeobject.instructions import Space
from workbench.codeobject.waits import waits_of

COUNTERS = ("vmcnt", "lgkmcnt")
_VECTOR = (Space.GLOBAL, Space.BUFFER, Space.SCRATCH)


def counted_by(instruction: Instruction) -> tuple[str, ...]:
    """The counters that go up when an instruction is issued."""
    memory = instruction.record.memory
    if memory is None:
        return ("lgkmcnt",) if instruction.record.pipeline == "message" else ()
    if memory.space is Space.FLAT:
        # A flat address may turn out to be in the LDS.
        return COUNTERS
    return ("vmcnt",) if memory.space in _VECTOR else ("lgkmcnt",)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Upper bound of one counter.

    Attributes:
        counter: "vmcnt" or "lgkmcnt".
        instructions: instructions whose requests may be in flight, the latest last.
    """

    counter: str
    instructions: tuple[Instruction, ...]

    @property
    def count(self) -> int:
        return len(self.instructions)


def waiting(before: Iterator[Instruction]) -> tuple[Waiting, ...]:
    """Requests that may be in flight, by counter.

    Args:
        before: instructions that the wave has run, the latest first.
    """
    pending: dict[str, list[Instruction]] = {counter: [] for counter in COUNTERS}
    left: dict[str, int | None] = dict.fromkeys(COUNTERS)
    for instruction in before:
        for counter in counted_by(instruction):
            bound = left[counter]
            if bound is None or len(pending[counter]) < bound:
                pending[counter].append(instruction)
        waited = waits_of(instruction)._asdict()
        for counter in COUNTERS:
            bound = waited[counter]
            if bound is not None:
                # The wait bounds the requests before it; those issued since count against the bound.
                limit = left[counter]
                total = len(pending[counter]) + bound
                left[counter] = total if limit is None else min(limit, total)
        if all(bound is not None and len(pending[counter]) >= bound for counter, bound in left.items()):
            break
    return tuple(Waiting(counter, tuple(reversed(pending[counter]))) for counter in COUNTERS)
