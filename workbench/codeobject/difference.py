"""Two versions of a kernel's machine code, aligned: added, removed and renamed instructions.

Instructions are aligned by everything that a register allocator does not choose (opcode, modifiers,
constants, widths of registers) along the shortest edit path between the sequences (Myers 1986). Aligned pairs
are then visited block by block with a map from old registers to new ones: a definition enters it, a use must
agree with it. So `v_add_f32 v0, v1, v2` and `v_add_f32 v7, v4, v3` are equal if v1 corresponds to v4 and v2
to v3, and otherwise differ. A value without a visible definition gets its register at its first use.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workbench.codeobject import registers
from workbench.codeobject.graph import Graph
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Keeps

MOST_EDITS = 1500
"""Edit limit: codes with more differences have little in common, and the middle is shown as replaced."""

FIXED_SCALARS = 102
"""First scalar operand number with a fixed meaning: VCC, M0, EXEC and so on."""

Register = tuple[str, int]


class Edit(StrEnum):
    """The change between a row of the old listing and its counterpart in the new one."""

    SAME = "same"
    RENAMED = "renamed"
    """The same except for the registers that hold its values."""
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Row:
    """A step from the old code to the new one; changed operands take two steps, removed and added.

    Attributes:
        edit: type of the edit.
        before, after: row of the old and of the new code; None if there is none.
    """

    edit: Edit
    before: int | None
    after: int | None


def difference(before: Sequence[Instruction], after: Sequence[Instruction]) -> list[Row]:
    """The way from one version of a kernel to another, in order."""
    aligned = align([_key(i) for i in before], [_key(i) for i in after])
    names = _Renaming(before, after)
    rows: list[Row] = []
    for old, new in aligned:
        if old is None or new is None:
            names.forget(old, new)
            rows.append(Row(Edit.ADDED if old is None else Edit.REMOVED, old, new))
        else:
            edit = names.follow(old, new)
            if edit is None:
                rows += [Row(Edit.REMOVED, old, None), Row(Edit.ADDED, None, new)]
            else:
                rows.append(Row(edit, old, new))
    return rows


def _is_free(operand: Operand) -> bool:
    """True for a register that the register allocator chose."""
    return operand.kind in ("v", "a") or (operand.kind == "s" and operand.index < FIXED_SCALARS)


def _key(instruction: Instruction) -> Hashable:
    """Everything in an instruction that no register allocator chooses; branch targets move with the code."""

    def fixed_part(operand: Operand) -> Hashable:
        if _is_free(operand):
            return (operand.kind, operand.width, operand.neg, operand.abs, operand.sext)
        return ("label",) if operand.kind == "label" else operand

    operands = (tuple(map(fixed_part, instruction.dst)), tuple(map(fixed_part, instruction.src)))
    return (instruction.opcode, operands, tuple(sorted(instruction.modifiers.items())))


class _Renaming:
    """Map from old to new registers with the same value, updated through the blocks of the new code."""

    def __init__(self, before: Sequence[Instruction], after: Sequence[Instruction]) -> None:
        self._before, self._after = before, after
        graph = Graph(after)
        self._block_at = {row: block for block, row in enumerate(graph.starts)}
        self._block_ends = {row: block for block, row in enumerate(graph.ends)}
        self._predecessors: list[list[int]] = [[] for _ in graph.starts]
        for block, following in enumerate(graph.successors):
            for target in following:
                self._predecessors[target].append(block)
        self._left: dict[int, dict[Register, Register]] = {}
        self._new: dict[Register, Register] = {}
        self._old: dict[Register, Register] = {}

    def follow(self, old: int, new: int) -> Edit | None:
        """The edit between two aligned rows, same or renamed; None if they differ in more than names."""
        self._enter(new)
        before, after = self._before[old], self._after[new]
        read = list(zip(before.src, after.src, strict=True))
        read += zip(_kept(before), _kept(after), strict=True)
        # All sources are compared, even after a difference: each use tells where a value is.
        agrees = sum(not self._reads(a, b) for a, b in read) == 0
        for a, b in zip(before.dst, after.dst, strict=True):
            for x, y in zip(_parts(a), _parts(b), strict=True):
                self._bind(x, y)
        self._leave(new)
        if not agrees:
            return None
        same = before.dst == after.dst and all(
            a == b or a.kind == b.kind == "label" for a, b in zip(before.src, after.src, strict=True)
        )
        return Edit.SAME if same else Edit.RENAMED

    def forget(self, old: int | None, new: int | None) -> None:
        """Forgets the registers that a row without counterpart writes."""
        if old is not None:
            for operand in self._before[old].dst:
                for register in _parts(operand):
                    self._old.pop(self._new.pop(register, ("", 0)), None)
        if new is not None:
            self._enter(new)
            for operand in self._after[new].dst:
                for register in _parts(operand):
                    self._new.pop(self._old.pop(register, ("", 0)), None)
            self._leave(new)

    def _enter(self, new: int) -> None:
        """Mapping at a block's first row: the part that all visited predecessors agree on."""
        block = self._block_at.get(new)
        if block is None or block == 0:
            return
        renamings = [self._left[p] for p in self._predecessors[block] if p in self._left]
        first = renamings[0] if renamings else {}
        self._new = {k: v for k, v in first.items() if all(other.get(k) == v for other in renamings[1:])}
        self._old = {v: k for k, v in self._new.items()}

    def _leave(self, new: int) -> None:
        block = self._block_ends.get(new)
        if block is not None:
            self._left[block] = dict(self._new)

    def _reads(self, before: Operand, after: Operand) -> bool:
        if not _is_free(before):
            return True
        agrees = True
        for old, new in zip(_parts(before), _parts(after), strict=True):
            renamed = self._new.get(old)
            if renamed is None and new not in self._old:
                self._bind(old, new)
            elif renamed != new:
                agrees = False
        return agrees

    def _bind(self, old: Register, new: Register) -> None:
        self._old.pop(self._new.pop(old, ("", 0)), None)
        self._new.pop(self._old.pop(new, ("", 0)), None)
        self._new[old] = new
        self._old[new] = old


def _parts(operand: Operand) -> list[Register]:
    if not _is_free(operand):
        return []
    return [(operand.kind, operand.index + i) for i in range(operand.width)]


def _kept(instruction: Instruction) -> list[Operand]:
    """Destinations that keep part of their value, so that they are read as well."""
    return list(instruction.dst) if registers.kept(instruction) is not Keeps.NOTHING else []


def align(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int | None, int | None]]:
    """Pairs of equal items in order, and items without a counterpart; in a gap, those of `before` first."""
    shortest = min(len(before), len(after))
    head = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    middle = _shortest(before[head : len(before) - tail], after[head : len(after) - tail])
    pairs: list[tuple[int | None, int | None]] = [(i, i) for i in range(head)]
    pairs += [(None if a is None else a + head, None if b is None else b + head) for a, b in middle]
    pairs += zip(range(len(before) - tail, len(before)), range(len(after) - tail, len(after)), strict=True)
    return pairs


def _shortest(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int | None, int | None]]:
    n, m = len(before), len(after)
    # For each number of edits e, the furthest row of `before` on the diagonals -e, -e + 2, ..., e.
    trace: list[list[int]] = []
    for edits in range(min(n + m, MOST_EDITS) + 1):
        reached = []
        for i in range(edits + 1):
            x = _from(trace, edits, i)[0] if edits else 0
            y = x - (2 * i - edits)
            while x < n and y < m and before[x] == after[y]:
                x, y = x + 1, y + 1
            reached.append(x)
            if x >= n and y >= m:
                trace.append(reached)
                return _walk_back(trace, n, m)
        trace.append(reached)
    return [*((i, None) for i in range(n)), *((None, i) for i in range(m))]


def _from(trace: list[list[int]], edits: int, i: int) -> tuple[int, bool]:
    """Start of the i-th diagonal after one more edit; True if that edit is an addition."""
    last = trace[edits - 1]
    down = i == 0 or (i != edits and last[i - 1] < last[i])
    # The diagonal above has the index i among those with one edit less; the one below has i - 1.
    return (last[i], True) if down else (last[i - 1] + 1, False)


def _walk_back(trace: list[list[int]], n: int, m: int) -> list[tuple[int | None, int | None]]:
    pairs: list[tuple[int | None, int | None]] = []
    x, y = n, m
    for edits in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        start, down = _from(trace, edits, (diagonal + edits) // 2) if edits else (0, False)
        while x > start:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        if edits and down:
            y -= 1
            pairs.append((None, y))
        elif edits:
            x -= 1
            pairs.append((x, None))
    return pairs[::-1]
