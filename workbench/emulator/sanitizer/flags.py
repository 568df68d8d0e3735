"""Loads that intentionally read other waves' concurrent writes: of a flag, or before a compare-and-swap.

The ISA has the same instruction for a plain load and for an atomic load of LDS, and on gfx90a of global
memory too, so only the use of the value distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Access, Flow, Registers, Space

_LONGEST = 4
"""Maximum number of blocks of a loop that only waits."""

Unit = tuple[str, int]

_SPACES = (Space.LDS, Space.GLOBAL, Space.FLAT, Space.BUFFER, Space.SCALAR, Space.SCALAR_BUFFER)


@dataclass(frozen=True)
class FlagLoads:
    """Loads that may read what another wave writes at the same time, by address.

    Attributes:
        polls: a loop continues until their value changes.
        expected: a compare-and-swap then expects the value that they read, and fails if it has changed.
    """

    polls: frozenset[int] = frozenset()
    expected: frozenset[int] = frozenset()


def find(blocks: Sequence[Sequence[Instruction]], successors: Callable[[int], Iterable[int]]) -> FlagLoads:
    """The loads of a kernel that poll a flag, and those whose value a compare-and-swap expects.

    A load, or an atomic that returns, polls if a short loop continues until its value changes and does
    nothing else: the address stays the same. So does a load in front of the loop, where compilers put the
    first iteration.

    Args:
        blocks: a kernel's basic blocks.
        successors: blocks that may follow a block, by index.
    """
    graph = _Graph(blocks, successors)
    return FlagLoads(
        polls=frozenset(load.address for load in _polling(graph)),
        expected=frozenset(load.address for load in _expected(graph)),
    )


class _Graph:
    """Blocks with the paths between them."""

    def __init__(
        self, blocks: Sequence[Sequence[Instruction]], successors: Callable[[int], Iterable[int]]
    ) -> None:
        self.blocks = blocks
        self.after = [tuple(successors(index)) for index in range(len(blocks))]
        self.before: list[list[int]] = [[] for _ in blocks]
        for index, following in enumerate(self.after):
            for successor in following:
                self.before[successor].append(index)

    def cycle(self, index: int) -> set[int]:
        """Blocks on the short paths from a block back to itself."""
        members: set[int] = set()
        ways: list[tuple[int, ...]] = [(index,)]
        for _ in range(_LONGEST):
            members.update(block for way in ways if index in self.after[way[-1]] for block in way)
            ways = [
                (*way, successor) for way in ways for successor in self.after[way[-1]] if successor not in way
            ]
        return members

    def sources(
        self, start: int, place: int, units: Iterable[Unit], within: set[int] | None, moves_only: bool
    ) -> Iterator[Instruction]:
        """Loads that supply `units` registers, before the instruction at a position in a block.

        Args:
            within: the blocks to search; None for all.
            moves_only: True to follow only moves, not computed values.
        """
        waiting: list[tuple[int, int, frozenset[Unit]]] = [(start, place, frozenset(units))]
        seen: dict[int, frozenset[Unit]] = {}
        while waiting:
            index, end, needed = waiting.pop()
            for instruction in reversed(self.blocks[index][:end]):
                written = _written(instruction)
                if needed.isdisjoint(written):
                    continue
                needed -= written
                if _is_load(instruction):
                    yield instruction
                elif not moves_only or _is_move(instruction):
                    needed |= _read(instruction)
            for previous in self.before[index]:
                visited = seen.get(previous, frozenset())
                if needed - visited and (within is None or previous in within):
                    seen[previous] = visited | needed
                    waiting.append((previous, len(self.blocks[previous]), seen[previous]))


def _polling(graph: _Graph) -> Iterator[Instruction]:
    for index, block in enumerate(graph.blocks):
        last = block[-1]
        if last.record.flow is not Flow.CONDITIONAL:
            continue
        cycle = graph.cycle(index)
        if not cycle:
            continue
        changed = {unit for member in cycle for i in graph.blocks[member] for unit in _written(i)}
        for load in graph.sources(index, len(block) - 1, _read(last), cycle, moves_only=False):
            if not changed.isdisjoint(_read(load)):
                continue
            yield load
            yield from _first_turn(graph, load, cycle)


def _first_turn(graph: _Graph, load: Instruction, cycle: set[int]) -> Iterator[Instruction]:
    """Similar loads that decide whether a loop is entered."""
    near = {block for member in cycle for block in graph.before[member]} - cycle
    near |= {block for member in near for block in graph.before[member]} - cycle
    for index in near:
        block = graph.blocks[index]
        if block[-1].record.flow is not Flow.CONDITIONAL:
            continue
        for other in graph.sources(index, len(block) - 1, _read(block[-1]), set(), moves_only=False):
            if other.opcode == load.opcode:
                yield other


def _expected(graph: _Graph) -> Iterator[Instruction]:
    for index, block in enumerate(graph.blocks):
        for place, instruction in enumerate(block):
            memory = instruction.record.memory
            if memory is not None and memory.compares:
                yield from graph.sources(index, place, _compared(instruction), None, moves_only=True)


def _compared(instruction: Instruction) -> Iterable[Unit]:
    """Registers of a compare-and-swap's expected value: data0 in LDS, otherwise the data's second half."""
    memory = instruction.record.memory
    assert memory is not None
    if memory.space is Space.LDS:
        return _units(instruction.src[1:2])
    data = _units(instruction.src[:1] if instruction.form.is_buffer else instruction.src[1:2])
    return data[len(data) // 2 :]


def _units(operands: Iterable[Operand]) -> list[Unit]:
    return [(operand.kind, operand.index + n) for operand in operands for n in range(operand.width)]


def _read(instruction: Instruction) -> frozenset[Unit]:
    """Registers that it computes with; EXEC does not count if it only selects lanes."""
    for_lanes = instruction.record.pipeline not in ("salu", "branch")
    operands, exec_ = registers.read(instruction), registers.unnamed(instruction.form.target)[Registers.EXEC]
    return frozenset(_units(o for o in operands if not (for_lanes and o == exec_)))


def _written(instruction: Instruction) -> frozenset[Unit]:
    return frozenset(_units(registers.written(instruction)))


def _is_load(instruction: Instruction) -> bool:
    memory = instruction.record.memory
    return (
        memory is not None
        and memory.space in _SPACES
        and (memory.access is Access.LOAD or (memory.access is Access.ATOMIC and bool(instruction.dst)))
        and memory.bytes in (4, 8)
        and memory.addresses < 2
        and not (memory.to_lds or memory.transposed)
    )


def _is_move(instruction: Instruction) -> bool:
    return instruction.record.memory is None and len(instruction.src) == 1 and len(instruction.dst) == 1


__all__ = ["FlagLoads", "find"]
