"""Cycles for which an instruction occupies its pipeline, from the target's timing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Access, Lanes, Space, Trait
from workbench.targets import conflict_rule

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.targets import Target, Timing


def issue_cycles(instruction: Instruction, timing: Timing) -> int:
    """Cycles that one wave instruction occupies its pipeline; its result may take longer (`Timing` has both).

    For an MFMA, its passes; for transcendental instructions, others at a quarter of the rate and v_permlane*,
    the figure of the timing; one turn for all others.
    """
    record = instruction.record
    if record.matrix is not None:
        return record.matrix.cycles_with(instruction.modifiers)
    if record.pipeline == "trans":
        is_short = Trait.TRANSCENDENTAL in record.traits and result_width(instruction) == 1
        return int(timing.transcendental if is_short else timing.quarter_rate)
    if record.pipeline == "valu" and record.lanes is Lanes.PERMUTE:
        return int(timing.permute)
    return int(timing.turn)


def lds_bytes_a_cycle(instruction: Instruction, target: Target) -> int:
    """Bytes per cycle at which LDS serves an instruction without bank conflicts; 0 if it does not use LDS."""
    memory = instruction.record.memory
    if memory is None or memory.space is not Space.LDS or not memory.bytes:
        return 0
    kind = "transpose" if memory.transposed else "read" if memory.access is Access.LOAD else "write"
    rule = conflict_rule(target.name, kind, 4 * -(-memory.bytes // 4))
    return memory.bytes * len(rule.phases[0]) if rule is not None else 0


def result_width(instruction: Instruction) -> int:
    """Registers of an instruction's widest vector result; 0 without one."""
    return max((o.width for o in instruction.dst if o.kind in ("v", "a")), default=0)
