"""Dependencies that hardware does not wait for: pairs of instructions that need wait states between them.

A wait state is one instruction of the wave issued in between; `s_nop N` counts as N + 1. Compilers insert
them for instructions that they choose, but not for inline assembly. `find` looks for pairs that are too close
on some path through the code by the rules of `hazard_rules`; the sanitizer tracks these while the kernel
runs, so that only executed paths are reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.sanitizer import hazard_roles, hazard_roles_gfx11, hazard_rules_gfx11
from workbench.emulator.sanitizer.hazard_roles import Roles
from workbench.emulator.sanitizer.hazard_rules import TARGETS
from workbench.emulator.sanitizer.hazard_rules_gfx11 import ALL_RULES


@dataclass(frozen=True)
class Hazard:
    """Two instructions that are too close on some path through the code.

    Attributes:
        rule: index of the rule in ALL_RULES.
        producer, consumer: addresses of the first and the second instruction.
        required: required wait states between them.
        unit: the shared register, numbered as for `unit_name`.
        kind: the class of the first one's access.
    """

    rule: int
    producer: int
    consumer: int
    required: int
    unit: int
    kind: str = ""


@dataclass
class Hazards:
    """Hazards that `find` returns, in the form that code is generated from.

    Attributes:
        pairs: every pair, once.
        by_producer, by_consumer: indices into `pairs`, by address.
        by_clearing: the same, of instructions that wait for the first of a pair.
        offsets: wait states of the block before an instruction, by address, for the addresses above.
        states: wait states of an instruction, by address.
        lengths: wait states of each block, by the address of its last instruction.
    """

    pairs: list[Hazard] = field(default_factory=list)
    by_producer: dict[int, list[int]] = field(default_factory=dict)
    by_consumer: dict[int, list[int]] = field(default_factory=dict)
    by_clearing: dict[int, list[int]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    states: dict[int, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)


MOST: int = abi.SAN_MARKS
"""Pairs of a kernel that are followed while it runs."""


@dataclass(frozen=True, slots=True)
class _Producer:
    """The first instruction of a pair, with the registers of its result if it is a matrix instruction."""

    address: int
    opcode: str
    passes: int
    span: tuple[int, int]


_HORIZON = 20

# Pairs that are not old enough yet: by unit, class and first instruction, the wait states since.
_Pending = dict[tuple[int, str, _Producer], int]


# What a class of accesses that no distance ends is pending from.
_ANY = _Producer(0, "", 0, (-1, 0))


@cache
def _rules(target: str, lanes: int) -> Mapping[tuple[str, str], tuple[int, ...]]:
    table: dict[tuple[str, str], list[int]] = {}
    for number, rule in enumerate(ALL_RULES):
        if target in rule.counts and rule.lanes in (0, lanes):
            for pair in itertools.product(rule.producers, rule.consumers):
                table.setdefault(pair, []).append(number)
    return {pair: tuple(numbers) for pair, numbers in table.items()}


def find(
    blocks: Sequence[Sequence[Instruction]],
    successors: Callable[[int], Iterable[int]],
    target: str,
    lanes: int,
) -> Hazards:
    """Every pair of instructions that is too close on some path through the code.

    Args:
        blocks: a kernel's basic blocks.
        successors: blocks that may follow a block, by index; none after an indirect jump.
        target: the target; no pairs are known of one that no rule names.
        lanes: lanes of a wave.
    """
    if target not in TARGETS and target not in hazard_rules_gfx11.TARGETS:
        return Hazards()
    walk = _Walk(blocks, target, lanes)
    entering: dict[int, _Pending] = {index: {} for index in range(len(blocks))}
    waiting = list(range(len(blocks)))
    queued = set(waiting)
    while waiting:
        index = waiting.pop()
        queued.discard(index)
        leaving = walk.block(index, entering[index])
        for successor in successors(index):
            distances = entering[successor]
            changed = False
            for key, distance in leaving.items():
                if distances.get(key, _HORIZON) > distance:
                    distances[key] = distance
                    changed = True
            if changed and successor not in queued:
                waiting.append(successor)
                queued.add(successor)
    return walk.result()


class _Walk:
    """Follows the blocks and collects hazards."""

    def __init__(self, blocks: Sequence[Sequence[Instruction]], target: str, lanes: int) -> None:
        self._blocks = blocks
        self._target = target
        self._rules = _rules(target, lanes)
        # On later targets some accesses last, so that a long block does not end what entered it.
        self._has_lasting = target not in TARGETS
        roles_of = hazard_roles_gfx11.roles_of if self._has_lasting else hazard_roles.roles_of
        self._roles: list[list[Roles]] = [[roles_of(i) for i in block] for block in blocks]
        self._leaving: dict[int, _Pending] = {}
        self._found: dict[tuple[int, int, int], Hazard] = {}

    def block(self, index: int, entering: _Pending) -> _Pending:
        """Process a block; returns what is pending at its end."""
        previous = self._leaving.get(index)
        # By unit: class, first instruction, and its time on the block's own clock.
        pending: dict[int, list[tuple[str, _Producer, int]]] = {}
        for (unit, kind, producer), distance in entering.items():
            pending.setdefault(unit, []).append((kind, producer, -distance if producer is not _ANY else 0))
        now = 0
        for instruction, roles in zip(self._blocks[index], self._roles[index], strict=True):
            if previous is not None and now >= _HORIZON and not self._has_lasting:
                return previous
            for role, unit in roles.consumes:
                if unit in pending:
                    self._meet(instruction, roles, role, unit, pending[unit], now)
            now += roles.states
            if roles.clears:
                for unit, entries in list(pending.items()):
                    pending[unit] = [entry for entry in entries if entry[0] not in roles.clears]
            produces = roles.produces
            if roles.follows:
                produces = produces + [
                    then for (kind, unit), then in roles.follows if (kind, _ANY, 0) in pending.get(unit, ())
                ]
            for unit in roles.writes:
                pending.pop(unit, None)
            if produces:
                producer = _Producer(instruction.address, instruction.opcode, roles.passes, roles.span)
                for kind, unit in produces:
                    pending.setdefault(unit, []).append((kind, producer, now))
            for kind, unit in roles.lasts:
                if unit not in pending:
                    pending[unit] = [(kind, _ANY, 0)]
        leaving: _Pending = {}
        for unit, entries in pending.items():
            for kind, producer, then in entries:
                distance = 0 if producer is _ANY else now - then
                if distance < _HORIZON:
                    key = unit, kind, producer
                    leaving[key] = min(distance, leaving.get(key, distance))
        if now >= _HORIZON:
            self._leaving[index] = leaving
        return leaving

    def _meet(
        self,
        instruction: Instruction,
        roles: Roles,
        role: str,
        unit: int,
        entries: list[tuple[str, _Producer, int]],
        now: int,
    ) -> None:
        for kind, producer, then in entries:
            if (role, unit) in roles.forwarded and producer.opcode == instruction.opcode:
                continue
            numbers = self._rules.get((kind, role), ())
            if role.endswith(" c"):
                same = producer.span == roles.c_span and producer.opcode == instruction.opcode
                numbers += self._rules.get((kind, f"{role} {'same' if same else 'overlap'}"), ())
            for number in numbers:
                required = ALL_RULES[number].states(self._target, producer.passes)
                if now - then < required:
                    key = number, producer.address, instruction.address
                    self._found.setdefault(
                        key, Hazard(number, producer.address, instruction.address, required, unit, kind)
                    )

    def result(self) -> Hazards:
        hazards = Hazards()

        # If an instruction breaks several rules with another, the one with the most wait states is enough,
        # and a rule of the guides hides those of the compiler alone.
        def weight(hazard: Hazard) -> tuple[bool, int]:
            return not ALL_RULES[hazard.rule].is_note, hazard.required

        most: dict[tuple[int, int], Hazard] = {}
        for hazard in self._found.values():
            pair = hazard.producer, hazard.consumer
            if pair not in most or weight(most[pair]) < weight(hazard):
                most[pair] = hazard
        hazards.pairs = sorted(most.values(), key=lambda hazard: (hazard.consumer, hazard.producer))[:MOST]
        for number, hazard in enumerate(hazards.pairs):
            hazards.by_producer.setdefault(hazard.producer, []).append(number)
            hazards.by_consumer.setdefault(hazard.consumer, []).append(number)
        if not hazards.pairs:
            return hazards
        for block, roles in zip(self._blocks, self._roles, strict=True):
            # Not 0, which stands for a first instruction that has not run.
            now = 1
            for instruction, instruction_roles in zip(block, roles, strict=True):
                hazards.offsets[instruction.address] = now
                hazards.states[instruction.address] = instruction_roles.states
                cleared = [
                    number
                    for number, hazard in enumerate(hazards.pairs)
                    if hazard.kind in instruction_roles.clears
                ]
                if cleared:
                    hazards.by_clearing[instruction.address] = cleared
                now += instruction_roles.states
            hazards.lengths[block[-1].address] = now - 1
        return hazards
