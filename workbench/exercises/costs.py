"""What limits of exercises count in a profiled launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.profile.results import ProfileResult

LOADS = ("global_load", "buffer_load", "flat_load")
"""Beginnings of the mnemonics of vector memory's loads."""


def counter(name: str) -> Callable[[ProfileResult], float]:
    """A counter of the launch."""
    return lambda profile: profile.counters[name].value


def executed(*beginnings: str, where: Callable[[Instruction], bool] = lambda _: True) -> Callable[..., float]:
    """How many wave instructions ran whose mnemonic begins with one of these, and of which `where` holds."""

    def count(profile: ProfileResult) -> float:
        whole = profile.complete
        assert whole.kernel is not None
        assert whole.instructions is not None
        code = whole.kernel.module.instruction
        return sum(
            times
            for address, times in (whole.instructions.executions or {}).items()
            if code(address).mnemonic.startswith(beginnings) and where(code(address))
        )

    return count
