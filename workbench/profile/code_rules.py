"""Rules about single instructions: slow ones, narrow accesses, and the code that divisions compile to."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Registers, Space, Trait, roles
from workbench.codeobject.registers import unnamed
from workbench.profile.facts import STALLED, Facts, Look, Seen, counted, percent
from workbench.profile.loop_rules import few_lanes
from workbench.profile.loops import goes_to, is_load, registers
from workbench.profile.what_if import Change

_DWORD = 4
_TOGETHER = 4
"""Loads of a dword that one of 16 bytes replaces."""


def slow(
    is_slow: Callable[[Instruction], bool],
    name: str,
    remedy: str,
    gone: Callable[[Instruction], bool] = lambda _: False,
) -> Look:
    """Vector instructions that take several turns each: modelled with one turn each, or without them."""

    def look(facts: Facts) -> Seen | None:
        mine = facts.ran(is_slow)
        share = facts.spent_on(mine)
        if share < STALLED:
            return None
        without = frozenset(a for a in mine if gone(facts.code[a]))
        change = Change(plain=frozenset(mine) - without, without=without)
        evidence = {name: counted(sum(mine.values())), "they take": percent(share)}
        return Seen(evidence, change, remedy, facts.dearest(mine))

    return look


def is_transcendental(instruction: Instruction) -> bool:
    return Trait.TRANSCENDENTAL in instruction.record.traits and not roles.is_double(instruction)


def is_product(instruction: Instruction) -> bool:
    """True for products of 32-bit integers, which take as long as transcendental functions."""
    return instruction.record.pipeline == "trans" and Trait.WIDE_INTEGER in instruction.record.traits


def is_double(instruction: Instruction) -> bool:
    return roles.is_double(instruction) and instruction.record.matrix is None


def is_conversion(instruction: Instruction) -> bool:
    return Trait.CONVERTS in instruction.record.traits


def divided(sequence: roles.Sequence, name: str, remedy: str, *, integer: bool) -> Look:
    """The sequences that the compiler makes of divisions, modelled as one instruction each.

    Args:
        sequence: the instruction sequence that replaces a division.
        name: name of the counted operation.
        remedy: the remedy.
        integer: True for integer divisions, which use a special reciprocal instruction.
    """

    def look(facts: Facts) -> Seen | None:
        if integer and not any(map(roles.integer_reciprocal, facts.code.values())):
            return None
        for loop in facts.loops:
            ends = [row for row, instruction in enumerate(loop.code) if sequence.ends(instruction)]
            begins = [instruction for instruction in loop.code if sequence.begins(instruction)]
            if not ends or not begins:
                continue
            candidates = {
                i.address for i in loop.code[: ends[-1] + 1] if i.record.pipeline in ("valu", "trans")
            }
            all_of_it = [i for i in loop.follows_from(begins.__contains__) if i.address in candidates]
            share = facts.spent_on(instruction.address for instruction in all_of_it)
            if share < STALLED:
                continue
            stays = [instruction for instruction in all_of_it if sequence.kept(instruction)]
            gone = frozenset(i.address for i in all_of_it if i not in stays)
            change = Change(without=gone, plain=frozenset(instruction.address for instruction in stays))
            evidence = {f"{name} a {{turn}}": counted(len(stays)), "they take": percent(share)}
            return Seen(evidence, change, remedy, begins[0].address, facts.is_over_k(loop))
        return None

    return look


def divergence(facts: Facts) -> Seen | None:
    """Lanes that are inactive while others of their wave work."""
    return few_lanes(facts) or _both_sides(facts)


def _both_sides(facts: Facts) -> Seen | None:
    """Branches of which waves take both sides, with some lanes inactive on each."""
    listed = sorted(a for a, n in facts.counts.items() if n and a in facts.code)
    for row, address in enumerate(listed):
        if not roles.saves_exec(facts.code[address]):
            continue
        # The other side is the code from here until EXEC is restored; it runs in every wave.
        rest = itertools.takewhile(lambda a: not _restores(facts.code[a]), listed[row + 1 :])
        other = frozenset(a for a in rest if facts.counts[a] >= facts.counts[address])
        share = facts.spent_on(other)
        if share >= STALLED:
            evidence = {"one side of the branch takes": percent(share)}
            remedy = (
                "Let whole waves go one way (a condition of threadIdx.x / 64), or compute both sides without "
                "a branch."
            )
            return Seen(evidence, Change(without=other), remedy, address)
    return None


def _restores(instruction: Instruction) -> bool:
    return roles.restores_exec(instruction) and bool(
        registers([unnamed(instruction.form.target)[Registers.EXEC]]) & registers(instruction.dst)
    )


def narrow_loads(facts: Facts) -> Seen | None:
    """Loads of at most 4 bytes per lane, four neighbours of which could be one."""
    loads = facts.ran(is_load)
    narrow = _narrow(facts)
    executed = sum(loads[instruction.address] for instruction in narrow)
    if len(narrow) < _TOGETHER or executed < 0.5 * sum(loads.values()):
        return None
    evidence = {"loads of 4 bytes a lane or less": counted(executed), "loads": counted(sum(loads.values()))}
    remedy = "Load 16 bytes a lane at once (float4, or a tile's own loads)."
    return Seen(evidence, Change(merged=_merged(narrow)), remedy, narrow[0].address)


def narrow_lds(facts: Facts) -> Seen | None:
    """Reads of a dword per lane from LDS in a loop, four of which could be one."""
    share = sum(facts.stalled(reason)[0] for reason in ("WAIT_LDS", "LDS_PORT"))
    for loop in facts.loops:
        reads = [
            instruction
            for instruction in loop.code
            if goes_to(instruction, (Space.LDS,), Access.LOAD) and _is_narrow(instruction)
        ]
        if share >= STALLED and len(reads) >= _TOGETHER:
            evidence = {"reads of a dword a lane, a {turn}": counted(len(reads)), "waits": percent(share)}
            remedy = "Read 16 bytes a lane at once (ds_read_b128: float4, or a tile's own loads)."
            change = Change(merged=_merged(reads))
            return Seen(evidence, change, remedy, reads[0].address, facts.is_over_k(loop))
    return None


def queue(facts: Facts) -> Seen | None:
    """The queue of vector memory is full of loads that could be fewer and wider."""
    narrow = _narrow(facts)
    share, worst = facts.stalled("MEMORY_QUEUE")
    if share < STALLED or len(narrow) < _TOGETHER:
        return None
    evidence = {"waits for the queue": percent(share)}
    return Seen(evidence, Change(merged=_merged(narrow)), "Wider accesses: 16 bytes a lane.", worst)


def _narrow(facts: Facts) -> list[Instruction]:
    """Loads of a dword per lane whose addresses depend on no other load, so that neighbours can be joined."""
    loads = facts.ran(lambda i: is_load(i) and _is_narrow(i))
    decided = facts.decided_by_loads
    return [facts.code[address] for address in sorted(loads) if address not in decided]


def _is_narrow(instruction: Instruction) -> bool:
    memory = instruction.record.memory
    to_lds = memory is None or memory.to_lds or instruction.modifiers.get("lds")
    return not to_lds and memory is not None and memory.bytes <= _DWORD


def _merged(loads: Sequence[Instruction]) -> tuple[tuple[int, ...], ...]:
    """Loads in groups of four, by address; a remainder is left out."""
    fours = (loads[i : i + _TOGETHER] for i in range(0, len(loads) - _TOGETHER + 1, _TOGETHER))
    return tuple(tuple(instruction.address for instruction in four) for four in fours)
