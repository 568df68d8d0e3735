"""The sanitizer's static analysis of a kernel's code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Lanes
from workbench.emulator.sanitizer import flags, hazards, objects
from workbench.emulator.sanitizer.flags import FlagLoads
from workbench.emulator.sanitizer.hazards import Hazards


@dataclass(frozen=True)
class Analysis:
    """Facts about each instruction that hold on every path through a kernel.

    Attributes:
        hazards: pairs of instructions to follow through the run.
        flag_loads: loads that intentionally read what other waves write at the same time.
        lane_stores: registers of which v_writelane writes lanes, as compilers do that keep scalars there.
        objects: code object addresses that accesses of variables add an index to, by the accesses' addresses.
    """

    hazards: Hazards = field(default_factory=Hazards)
    flag_loads: FlagLoads = field(default_factory=FlagLoads)
    lane_stores: frozenset[Operand] = frozenset()
    objects: Mapping[int, int] = field(default_factory=dict)


def analyse(
    blocks: Sequence[Sequence[Instruction]],
    successors: Callable[[int], Iterable[int]],
    target: str,
    lanes: int,
) -> Analysis:
    """Analyses every path through a kernel.

    Args:
        blocks: the kernel's basic blocks.
        successors: blocks that may follow a block, by index; none after an indirect jump.
        target: the target.
        lanes: lanes of a wave.
    """
    writelanes = (
        instruction for block in blocks for instruction in block if instruction.record.lanes is Lanes.WRITE
    )
    return Analysis(
        hazards.find(blocks, successors, target, lanes),
        flags.find(blocks, successors),
        frozenset(instruction.dst[0] for instruction in writelanes),
        objects.find(blocks, successors),
    )
