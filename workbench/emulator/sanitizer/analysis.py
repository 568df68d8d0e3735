"""What the sanitizer knows of a kernel's code before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from workbench.codeobject.instruction import Instruction
from workbench.emulator.sanitizer import flags, hazards
from workbench.emulator.sanitizer.flags import FlagLoads
from workbench.emulator.sanitizer.hazards import Hazards


@dataclass(frozen=True)
class Analysis:
    """What was found on the ways through a kernel.

    Attributes:
        hazards: pairs of instructions to follow through the run.
        flag_loads: loads that read what other waves write meanwhile.
    """

    hazards: Hazards = field(default_factory=Hazards)
    flag_loads: FlagLoads = field(default_factory=FlagLoads)


def analyse(
    blocks: Sequence[Sequence[Instruction]],
    successors: Callable[[int], Iterable[int]],
    target: str,
) -> Analysis:
    """Looks at every way through a kernel.

    Args:
        blocks: its basic blocks.
        successors: blocks that may follow a block, by index; none after an indirect jump.
    """
    return Analysis(hazards.find(blocks, successors, target), flags.find(blocks, successors))
