"""Costs of a profiled launch that limits of exercises refer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Access

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.profile.results import ProfileResult


def is_atomic(instruction: Instruction) -> bool:
    """True for atomics in memory or LDS."""
    memory = instruction.record.memory
    return memory is not None and memory.access is Access.ATOMIC


def counter(name: str) -> Callable[[ProfileResult], float]:
    """A counter of the launch."""
    return lambda profile: profile.counters[name].value


def executed(matches: Callable[[Instruction], bool]) -> Callable[..., float]:
    """Number of executed wave instructions for which `matches` holds."""

    def count(profile: ProfileResult) -> float:
        whole = profile.complete
        assert whole.kernel is not None
        assert whole.instructions is not None
        code = whole.kernel.module.instruction
        return sum(
            times
            for address, times in (whole.instructions.executions or {}).items()
            if matches(code(address))
        )

    return count
