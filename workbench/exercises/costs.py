"""What limits of exercises count in a profiled launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Access

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.profile.results import ProfileResult


def is_atomic(instruction: Instruction) -> bool:
    """In memory or LDS."""
    memory = instruction.record.memory
    return memory is not None and memory.access is Access.ATOMIC


def counter(name: str) -> Callable[[ProfileResult], float]:
    """A counter of the launch."""
    return lambda profile: profile.counters[name].value


def executed(chosen: Callable[[Instruction], bool]) -> Callable[..., float]:
    """How many wave instructions ran of which `chosen` holds."""

    def count(profile: ProfileResult) -> float:
        whole = profile.complete
        assert whole.kernel is not None
        assert whole.instructions is not None
        code = whole.kernel.module.instruction
        return sum(
            times for address, times in (whole.instructions.executions or {}).items() if chosen(code(address))
        )

    return count
