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
from workbench.emulator.sanitizer.hazard_roles import Roles, roles_of
from workbench.emulator.sanitizer.hazard_rules import RULES, TARGETS


@dataclass(frozen=True)
class Hazard:
    """Two instructions that are too close on some path through the code.

    Attributes:
        rule: index of the rule in RULES.
        producer, consumer: addresses of the first and the second instruction.
        required: required wait states between them.
        unit: the shared register, numbered as for `unit_name`.
    """

    rule: int
    producer: int
    consumer: int
    required: int
    unit: int


@dataclass
class Hazards:
    """Hazards that `find` returns, in the form that code is generated from.

    Attributes:
        pairs: every pair, once.
        by_producer, by_consumer: indices into `pairs`, by address.
        offsets: wait states of the block before an instruction, by address, for the addresses above.
        lengths: wait states of each block, by the address of its last instruction.
    """

    pairs: list[Hazard] = field(default_factory=list)
    by_producer: dict[int, list[int]] = field(default_factory=dict)
    by_consumer: dict[int, list[int]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
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


@cache
def _rules(target: str) -> Mapping[tuple[str, str], tuple[int, ...]]:
    table: dict[tuple[str, str], list[int]] = {}
    for number, rule in enumerate(RULES):
        if target in rule.counts:
            for pair in itertools.product(rule.producers, rule.consumers):
                table.setdefault(pair, []).append(number)
    return {pair: tuple(numbers) for pair, numbers in table.items()}


def find(
    blocks: Sequence[Sequence[Instruction]],
    successors: Callable[[int], Iterable[int]],
    target: str,
) -> Hazards:
    """Every pair of instructions that is too close on some path through the code.

    Args:
        blocks: a kernel's basic blocks.
        successors: blocks that may follow a block, by index; none after an indirect jump.
    """
    if target not in TARGETS:
        return Hazards()
    walk = _Walk(blocks, target)
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

    def __init__(self, blocks: Sequence[Sequence[Instruction]], target: str) -> None:
        self._blocks = blocks
        self._target = target
        self._rules = _rules(target)
        self._roles: list[list[Roles]] = [[roles_of(i) for i in block] for block in blocks]
        self._leaving: dict[int, _Pending] = {}
        self._found: dict[tuple[int, int, int], Hazard] = {}

    def block(self, index: int, entering: _Pending) -> _Pending:
        """Process a block; returns what is pending at its end."""
        previous = self._leaving.get(index)
        # By unit: class, first instruction, and its time on the block's own clock.
        pending: dict[int, list[tuple[str, _Producer, int]]] = {}
        for (unit, kind, producer), distance in entering.items():
            pending.setdefault(unit, []).append((kind, producer, -distance))
        now = 0
        for instruction, roles in zip(self._blocks[index], self._roles[index], strict=True):
            if previous is not None and now >= _HORIZON:
                return previous
            for role, unit in roles.consumes:
                if unit in pending:
                    self._meet(instruction, roles, role, unit, pending[unit], now)
            now += roles.states
            for unit in roles.writes:
                pending.pop(unit, None)
            if roles.produces:
                producer = _Producer(instruction.address, instruction.opcode, roles.passes, roles.span)
                for kind, unit in roles.produces:
                    pending.setdefault(unit, []).append((kind, producer, now))
        leaving: _Pending = {}
        for unit, entries in pending.items():
            for kind, producer, then in entries:
                distance = now - then
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
                required = RULES[number].states(self._target, producer.passes)
                if now - then < required:
                    key = number, producer.address, instruction.address
                    self._found.setdefault(
                        key, Hazard(number, producer.address, instruction.address, required, unit)
                    )

    def result(self) -> Hazards:
        hazards = Hazards()

        # If an instruction breaks several rules with another, the one with the most wait states is enough,
        # and a rule of the guides hides those of the compiler alone.
        def weight(hazard: Hazard) -> tuple[bool, int]:
            return not RULES[hazard.rule].is_note, hazard.required

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
            now = 0
            for instruction, instruction_roles in zip(block, roles, strict=True):
                hazards.offsets[instruction.address] = now
                now += instruction_roles.states
            hazards.lengths[block[-1].address] = now
        return hazards
