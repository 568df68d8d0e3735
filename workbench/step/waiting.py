"""Requests of a wave that nothing has waited for, which the target's wait counters count on hardware.

The emulated device answers each at once. A GPU answers later; a request that no wait has waited for may
still be in flight, and its result must not be read (CDNA3 and CDNA4 ISA guides, S_WAITCNT).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.codeobject import Instruction
from workbench.codeobject.waits import counters_of, left_after
from workbench.targets import Request, WaitCounters

_REQUESTS = frozenset(Request) - {Request.EXPORT}
"""What kernels request: exports are those of graphics shaders."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Upper bound of one counter.

    Attributes:
        counter: the ISA's name: "vmcnt".
        instructions: instructions whose requests may be in flight, the latest last.
    """

    counter: str
    instructions: tuple[Instruction, ...]

    @property
    def count(self) -> int:
        return len(self.instructions)


def waiting(before: Iterator[Instruction], waits: WaitCounters) -> tuple[Waiting, ...]:
    """Requests that may be in flight, by counter.

    Args:
        waits: the target's counters.
        before: instructions that the wave has run, the latest first.
    """
    counters = [counter.name for counter in waits if counter.requests & _REQUESTS]
    pending: dict[str, list[Instruction]] = {counter: [] for counter in counters}
    left: dict[str, int | None] = dict.fromkeys(counters)
    for instruction in before:
        for counter in counters_of(instruction):
            bound = left[counter]
            if bound is None or len(pending[counter]) < bound:
                pending[counter].append(instruction)
        waited = left_after(instruction)
        for counter in counters:
            bound = waited.get(counter)
            if bound is not None:
                # The wait bounds the requests before it; those issued since count against the bound.
                limit = left[counter]
                total = len(pending[counter]) + bound
                left[counter] = total if limit is None else min(limit, total)
        if all(bound is not None and len(pending[counter]) >= bound for counter, bound in left.items()):
            break
    return tuple(Waiting(counter, tuple(reversed(pending[counter]))) for counter in counters)
