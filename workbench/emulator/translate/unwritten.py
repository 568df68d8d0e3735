"""Register rows that a kernel may read before it has written them: only these must start with poison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Flow, Keeps, Lanes, Registers, Trait
from workbench.codeobject.registers import EXEC, kept, read, written
from workbench.emulator.native.ops import Rows

_ELSEWHERE = (Flow.CALL, Flow.JUMP, Flow.INDIRECT_CALL)
_OTHER_REGISTERS = Trait.INDEXES | Trait.EXCHANGES


def rows_read_first(
    blocks: Sequence[Sequence[Instruction]],
    followed_by: Callable[[int], Iterable[int]],
    entry: int,
    rows: Rows,
) -> frozenset[int] | None:
    """Rows that a wave whose lanes are all on may read before it has written them.

    A write counts if it sets all bits of all lanes. EXEC decides that, so nothing is known of kernels that
    change it; nor of those with calls, jumps to addresses, or registers by an index.

    Args:
        followed_by: blocks that may run after a block, by index.
        entry: index of the block where a wave starts.

    Returns:
        the rows; None if nothing is known.
    """
    if any(_hides_rows(instruction) for block in blocks for instruction in block):
        return None
    reads, overwritten = zip(*(_rows_of(block, rows) for block in blocks), strict=True)
    before = list(reads)
    leading: list[list[int]] = [[] for _ in blocks]
    for index in range(len(blocks)):
        for following in followed_by(index):
            leading[following].append(index)
    queue = set(range(len(blocks)))
    while queue:
        following = queue.pop()
        for index in leading[following]:
            more = before[index] | (before[following] & ~overwritten[index])
            if more != before[index]:
                before[index] = more
                queue.add(index)
    return frozenset(row for row in range(before[entry].bit_length()) if before[entry] >> row & 1)


def _hides_rows(instruction: Instruction) -> bool:
    """True if an instruction changes EXEC, leaves the blocks, or makes others use other rows."""
    record = instruction.record
    if record.flow in _ELSEWHERE or Trait.INDEXES in record.traits:
        return True
    if instruction.format == "SOP1" and Registers.M0 in record.reads:
        # s_movreld: the register that it writes may be EXEC.
        return True
    return any(
        operand.kind == "s" and operand.index <= EXEC + 1 and operand.index + operand.width > EXEC
        for operand in written(instruction)
    )


def _rows_of(block: Sequence[Instruction], rows: Rows) -> tuple[int, int]:
    """Bit masks of the rows that a block reads before it writes them, and of those that it overwrites."""
    reads = overwritten = 0
    for instruction in block:
        reads |= _bits(read(instruction), rows) & ~overwritten
        if _OTHER_REGISTERS & instruction.record.traits:
            reads |= _bits((*instruction.dst, *instruction.src), rows) & ~overwritten
        elif kept(instruction) is Keeps.NOTHING and instruction.record.lanes is not Lanes.WRITE:
            overwritten |= _bits(written(instruction), rows)
    return reads, overwritten


def _bits(operands: Iterable[Operand], rows: Rows) -> int:
    result = 0
    for operand in operands:
        if operand.kind in ("v", "a"):
            result |= ((1 << operand.width) - 1) << rows.row(operand)
    return result


__all__ = ["rows_read_first"]
