"""Loads that follow each other have all read their addresses before the data of the first one comes.

An instruction reads its address registers when it is issued; data comes back tens of cycles later for LDS,
hundreds for memory (CDNA3 and CDNA4 ISA guides, "Data dependency resolution"). Two loads in one piece of
inline assembly whose output may share a register with their address (no `&`) are right on hardware for that
reason. Here a load is done at once, so a load whose address an earlier one overwrites is done before that
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Access, Control, Flow, Registers, Trait

Loaded = frozenset[tuple[str, int]]


def loads_registers(instruction: Instruction) -> bool:
    """True if an instruction loads vector registers from memory or LDS."""
    memory = instruction.record.memory
    return (
        memory is not None
        and memory.access is Access.LOAD
        and any(operand.kind in "va" for operand in instruction.dst)
    )


def follow_at_once(first: Instruction, second: Instruction) -> bool:
    """True if both are loads; a block is not cut between them."""
    return loads_registers(first) and loads_registers(second)


def by_arrival(block: Sequence[Instruction]) -> Iterator[tuple[Instruction, Sequence[Instruction]]]:
    """The instructions of a block in the order of their effects.

    Each comes with the instructions that are issued before its effect, in the order of the code: just itself
    or, for a group of reordered loads, all of them with the first and none with the others.
    """
    for is_load, group in groupby(block, loads_registers):
        instructions = list(group)
        ordered = _ordered(instructions) if is_load else instructions
        if ordered == instructions:
            yield from ((instruction, (instruction,)) for instruction in instructions)
        else:
            yield ordered[0], instructions
            yield from ((instruction, ()) for instruction in ordered[1:])


def one_by_one(block: Sequence[Instruction]) -> Iterator[list[Instruction]]:
    """Splits a block into blocks of one instruction.

    Reordered loads stay together, and so do instructions whose register numbers M0 offsets, including those
    that start and end this mode: the translation of each depends on it.
    """
    piece: list[Instruction] = []
    indexed = False
    for instruction, issued in by_arrival(block):
        piece += issued if len(issued) > 1 else [instruction] if issued else []
        if Trait.INDEXES in instruction.record.traits:
            indexed = bool(instruction.record.writes & Registers.M0)
        if piece and not indexed:
            yield piece
            piece = []
    if piece:
        yield piece


def has_late_effect(instruction: Instruction) -> bool:
    """True if an instruction accesses memory or LDS."""
    return instruction.record.memory is not None or Trait.COPIES_TILES in instruction.record.traits


def can_stop_before(instruction: Instruction) -> bool:
    """True if a schedule can have a wave stop before an instruction: an access, a wait, or its end."""
    record = instruction.record
    return has_late_effect(instruction) or record.control is Control.WAIT or record.flow is Flow.END


def at_stops(block: Sequence[Instruction]) -> Iterator[list[Instruction]]:
    """Splits a block before each instruction at which a wave can stop.

    Loads that follow each other stay together, and so do instructions whose register numbers M0 offsets.
    """
    piece: list[Instruction] = []
    indexed = False
    for instruction in block:
        if (
            piece
            and not indexed
            and can_stop_before(instruction)
            and not follow_at_once(piece[-1], instruction)
        ):
            yield piece
            piece = []
        piece.append(instruction)
        if Trait.INDEXES in instruction.record.traits:
            indexed = bool(instruction.record.writes & Registers.M0)
    if piece:
        yield piece


def _ordered(loads: list[Instruction]) -> list[Instruction]:
    """Loads in an order in which none is done after an earlier one has overwritten its address.

    The same order if there is no such order, as for two that load the same register.
    """
    sources = [_registers(load.src) for load in loads]
    results = [_registers(load.dst) for load in loads]
    written: set[tuple[str, int]] = set()
    for source, result in zip(sources, results, strict=True):
        if not written.isdisjoint(source):
            break
        written |= result
    else:
        return loads

    def comes_first(at: int, other: int) -> bool:
        """True if load `at` must run before load `other`."""
        overwritten = results[other] & (sources[at] | (results[at] if at < other else frozenset()))
        return bool(overwritten)

    order: list[int] = []
    pending = list(range(len(loads)))
    while pending:
        free = (n for n in pending if not any(m != n and comes_first(m, n) for m in pending))
        if (following := next(free, None)) is None:
            return loads
        pending.remove(following)
        order.append(following)
    return [loads[n] for n in order]


def _registers(operands: Sequence[Operand]) -> Loaded:
    return frozenset(
        (operand.kind, operand.index + n)
        for operand in operands
        if operand.kind in "va"
        for n in range(operand.width)
    )
