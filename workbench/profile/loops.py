"""Loops of executed code, with the data dependences in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.codeobject.graph import Graph
from workbench.codeobject.instructions import Access, Flow, Space
from workbench.codeobject.registers import read, stored, written

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction, Operand

VECTOR_MEMORY = (Space.GLOBAL, Space.FLAT, Space.BUFFER)

Register = tuple[str, int]


def registers(operands: Iterable[Operand]) -> set[Register]:
    """Single registers, as kind and number."""
    return {(o.kind, o.index + k) for o in operands for k in range(max(1, o.width))}


def goes_to(instruction: Instruction, spaces: Collection[Space], *accesses: Access) -> bool:
    """True if the instruction makes one of these kinds of access to one of these memories."""
    memory = instruction.record.memory
    return memory is not None and memory.space in spaces and memory.access in accesses


def is_load(instruction: Instruction) -> bool:
    """True if the instruction loads from memory to vector registers or to LDS."""
    return goes_to(instruction, VECTOR_MEMORY, Access.LOAD)


@dataclass(frozen=True)
class InnerLoop:
    """A loop without inner loops.

    Attributes:
        code: its instructions, in order.
        turns: iterations, summed over all waves.
    """

    code: tuple[Instruction, ...] = field(repr=False)
    turns: int

    @property
    def addresses(self) -> frozenset[int]:
        return frozenset(instruction.address for instruction in self.code)

    @property
    def changed(self) -> set[Register]:
        """Registers that an iteration writes."""
        return set().union(*(registers(written(instruction)) for instruction in self.code))

    def branches(self) -> int:
        """Number of jumps in the loop."""
        return sum(instruction.record.flow not in (Flow.NEXT, Flow.END) for instruction in self.code)

    def is_same_each_turn(self, access: Instruction) -> bool:
        """True if an access goes to the same address in every iteration."""
        places = registers(read(access)) - registers(_sent(access)) - _MASKS
        return not places & self.changed

    def decided_by_loads(self, turns: int = 2) -> set[int]:
        """Loads whose address depends on a load of this or an earlier iteration."""
        return {
            instruction.address
            for instruction, tainted in self._tainted(is_load, turns=turns)
            if is_load(instruction) and registers(read(instruction)) - registers(_sent(instruction)) & tainted
        }

    def follows_from(self, source: Callable[[Instruction], bool]) -> list[Instruction]:
        """Instructions that `source` selects and those that use their results, in one iteration."""
        return [
            instruction
            for instruction, tainted in self._tainted(source, turns=1)
            if source(instruction) or registers(read(instruction)) & tainted
        ]

    def _tainted(
        self, source: Callable[[Instruction], bool], *, turns: int = 2
    ) -> list[tuple[Instruction, set[Register]]]:
        """Instructions of the last of several iterations, each with registers that depend on a source."""
        tainted: set[Register] = set()
        pairs = []
        for turn in range(turns):
            for instruction in self.code:
                if turn == turns - 1:
                    pairs.append((instruction, set(tainted) - _MASKS))
                results = registers(written(instruction))
                if source(instruction) or registers(read(instruction)) & tainted - _MASKS:
                    tainted |= results
                else:
                    tainted -= results
        return pairs


_MASKS = {("s", 126), ("s", 127)}
"""EXEC, which every vector instruction reads."""


def _sent(access: Instruction) -> tuple[Operand, ...]:
    memory = access.record.memory
    return stored(access) if memory is not None and memory.access in (Access.STORE, Access.ATOMIC) else ()


def inner_loops(code: Mapping[int, Instruction], counts: Mapping[int, int]) -> list[InnerLoop]:
    """The innermost loops of code that ran.

    Args:
        code: instructions by address.
        counts: executions.
    """
    listed: Sequence[Instruction] = [code[address] for address in sorted(code) if counts.get(address)]
    loops = Graph(listed).loops()
    inner = [
        loop
        for loop in loops
        if not any(
            loop.first <= o.first and o.last <= loop.last and (o.first, o.last) != (loop.first, loop.last)
            for o in loops
        )
    ]
    return [
        InnerLoop(tuple(listed[loop.first : loop.last + 1]), counts[listed[loop.last].address])
        for loop in inner
    ]


def among(addresses: Collection[int], loop: InnerLoop) -> frozenset[int]:
    """The addresses that lie in a loop."""
    return loop.addresses & set(addresses)
