"""Basic blocks of a kernel's code, the edges between them, and its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Flow


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: first and last row, and the number of loops around it."""

    first: int
    last: int
    depth: int


class Graph:
    """Basic blocks of straight code, and the edges between them.

    Attributes:
        count: rows.
        starts, ends: first and last row of each block.
        successors: blocks that follow each.

    Args:
        instructions: instructions in address order; a row is an index into it.
    """

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        row_of = {instruction.address: row for row, instruction in enumerate(instructions)}
        targets: dict[int, int] = {}
        leaders = {0} if instructions else set()
        for row, instruction in enumerate(instructions):
            if instruction.record.pipeline != "branch" and not _ends(instruction):
                continue
            leaders.add(row + 1)
            for operand in instruction.src:
                if operand.kind == "label" and operand.value in row_of:
                    targets[row] = row_of[int(operand.value)]
                    leaders.add(targets[row])
        leaders.discard(len(instructions))
        self.count = len(instructions)
        self.starts = sorted(leaders)
        index = {row: block for block, row in enumerate(self.starts)}
        self.ends = [*(start - 1 for start in self.starts[1:]), len(instructions) - 1]
        self.successors: list[list[int]] = []
        for block, last in enumerate(self.ends):
            following = []
            if last in targets:
                following.append(index[targets[last]])
            if block + 1 < len(self.starts) and instructions[last].record.flow.goes_on:
                following.append(block + 1)
            self.successors.append(following)

    def loops(self) -> list[Loop]:
        """Loops by their backward edges, as ranges of rows; edges to one head are one loop."""
        spans: dict[int, int] = {}
        for block, following in enumerate(self.successors):
            for target in following:
                if target <= block:
                    first = self.starts[target]
                    spans[first] = max(spans.get(first, 0), self.ends[block])
        ordered = sorted(spans.items(), key=lambda span: (span[0], -span[1]))
        return [
            Loop(first, last, sum(f <= first and last <= e and (f, e) != (first, last) for f, e in ordered))
            for first, last in ordered
        ]


def _ends(instruction: Instruction) -> bool:
    return instruction.record.flow in (Flow.END, Flow.TRAP)
