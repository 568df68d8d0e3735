"""What a launch would take if something about it were different: the same waves, modelled again.

The ways of the waves stay those that were recorded; what is changed is what they meet. So a gain is the
model's, with the model's error, and a bound where a change would bring other instructions with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import UsageError
from workbench.launches import Replayed, WaveSteps
from workbench.origin import Expected
from workbench.profile.issue import lds_bytes_a_cycle
from workbench.profile.model import TimeModel, model_time
from workbench.profile.sampled import lds_counters
from workbench.targets import LINE_BYTES

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.codeobject.occupancy import Occupancy
    from workbench.launches import Steps
    from workbench.profile.counters import Tally
    from workbench.runtime import LaunchRecord
    from workbench.targets import Product, Target


@dataclass(frozen=True)
class Change:
    """What is to be different; nothing where it is left alone.

    Attributes:
        bank_conflicts: part of the bank conflicts that stays: 0 for none.
        coalesced: every vector memory instruction touches as few lines as its bytes need.
        l1_hit, l2_hit: hit rates of the caches, 0 to 1.
        waves_per_simd: waves that a SIMD holds.
        clock: engine clock in Hz.
        without: addresses of instructions that are not there.
        launch: whether dispatch and drain count.
        spread: part of the kernel's cycles that is left, were its work-groups spread evenly over the chip.
    """

    bank_conflicts: float = 1.0
    coalesced: bool = False
    l1_hit: float | None = None
    l2_hit: float | None = None
    waves_per_simd: float | None = None
    clock: float | None = None
    without: frozenset[int] = frozenset()
    launch: bool = True
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("bank_conflicts", "l1_hit", "l2_hit", "spread"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"what_if: {name} is {value!r}; expected a share, 0 to 1")
        for name in ("waves_per_simd", "clock"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise UsageError(f"what_if: {name} is {value!r}; expected more than 0")


class _ChangedSteps:
    """Recorded ways with other costs, or without some instructions; otherwise as they were."""

    def __init__(
        self, steps: Steps, change: Change, instructions: Mapping[int, Instruction], target: Target
    ) -> None:
        self._steps, self._change = steps, change
        # By place; what LDS does not serve has no cycles there, whatever stands here.
        self._lds_bytes = {
            (address - steps.text) // 4: lds_bytes_a_cycle(instruction, target) or math.inf
            for address, instruction in instructions.items()
        }
        self.group_total, self.waves, self.text = steps.group_total, steps.waves, steps.text
        self.groups, self.hashes, self.executed = steps.groups, steps.hashes, steps.executed
        self.is_whole = steps.is_whole
        self.blocks = tuple(
            tuple(address for address in block if address not in change.without) for block in steps.blocks
        )
        self._gone = np.array([(address - steps.text) // 4 for address in change.without], dtype=np.int64)

    def of(self, group: int) -> tuple[WaveSteps, ...]:
        return tuple(replace(wave, steps=self._changed(wave.steps)) for wave in self._steps.of(group))

    def _changed(self, steps: np.ndarray) -> np.ndarray:
        found: np.ndarray = steps.copy()
        cost = found["block"] < 0
        if self._change.bank_conflicts < 1:
            # Exact of a whole wave; of a part of one, whose lanes may be in more phases, a lower bound.
            served = cost & (found["lds_cycles"] > 0)
            places, which = np.unique(found["place"][served], return_inverse=True)
            rates = np.array([self._lds_bytes[place] for place in places.tolist()])
            least = np.ceil(found["bytes"][served] / rates[which])
            lost = np.maximum(found["lds_cycles"][served] - least, 0)
            found["lds_cycles"][served] = np.ceil(least + self._change.bank_conflicts * lost)
        if self._change.coalesced:
            lines = np.minimum(
                found["lines"], np.maximum(1, -(-found["bytes"].astype(np.int64) // LINE_BYTES))
            )
            found["lines"] = np.where(cost & (found["lines"] > 0), lines, found["lines"])
        if len(self._gone):
            found = found[~(cost & np.isin(found["place"], self._gone))]
        return found

    def release(self) -> None:
        """Nothing is held."""


def _same_waves(change: Change) -> bool:
    """Whether the waves go as they went: what is left of a change needs no new simulation."""
    return replace(change, launch=True, spread=1.0) == Change()


@dataclass(frozen=True)
class Again:
    """A counted launch, kept so that it can be modelled again.

    Attributes:
        tally, record, occupancy, machine, argument_bytes, instructions: what `model_time` takes.
        base: the time without a change.
        error: how far its time may be off.
        places: source files and lines of an address, the module's own last.
        live: part of the operands that is not zero.
    """

    tally: Tally = field(repr=False)
    record: LaunchRecord = field(repr=False)
    occupancy: Occupancy
    machine: Product = field(repr=False)
    argument_bytes: int
    instructions: Mapping[int, Instruction] = field(repr=False)
    base: TimeModel = field(repr=False)
    error: Expected
    places: Callable[[int], Sequence[tuple[str, int]]] = field(repr=False)
    live: float = 1.0

    def model(self, change: Change) -> TimeModel:
        """The time with a change."""
        found = self.base if _same_waves(change) else self._simulated(change)
        # No spreading moves fewer bytes: what the memory needs stays.
        work = max((found.seconds - found.overhead) * change.spread, found.parts["hbm"])
        seconds = work + (found.overhead if change.launch else 0.0)
        return replace(found, error=self.error, seconds=seconds)

    def _simulated(self, change: Change) -> TimeModel:
        record, tally = self.record, self._tally(change)
        if record.steps is not None and (change.without or change.coalesced or change.bank_conflicts < 1):
            steps = _ChangedSteps(record.steps, change, self.instructions, self.machine.target)
            record = replace(record, steps=steps)
            if change.bank_conflicts < 1:
                served = lds_counters(steps, record.counts or {}, self.instructions)
                tally = replace(tally, device={**tally.device, "lds_cycles": served["lds_cycles"]})
        return model_time(
            tally,
            record,
            self._occupancy(change),
            self.machine,
            argument_bytes=self.argument_bytes,
            instructions=self.instructions,
            clock_hz=change.clock,
            live=self.live,
        )

    def _occupancy(self, change: Change) -> Occupancy:
        if change.waves_per_simd is None:
            return self.occupancy
        now = self.occupancy
        groups = round(now.groups_per_cu * change.waves_per_simd / now.waves_per_simd)
        return replace(now, waves_per_simd=change.waves_per_simd, groups_per_cu=max(1, groups))

    def _tally(self, change: Change) -> Tally:
        tally = self.tally
        if change.without:
            tally = self._less(change.without)
        if tally.replayed is not None and (change.l1_hit is not None or change.l2_hit is not None):
            total = tally.replayed.total
            if change.l1_hit is not None:
                total = replace(total, l1_read_hits=round(total.l1_reads * change.l1_hit))
            if change.l2_hit is not None:
                total = replace(total, l2_read_hits=round(total.l2_reads * change.l2_hit))
            tally = replace(tally, replayed=Replayed((total,), tally.replayed.sampling))
        return tally

    def _less(self, without: Collection[int]) -> Tally:
        """The sums without some instructions, as far as the units' busy times follow from them."""
        classes, cycles = dict(self.tally.classes), self.tally.matrix_cycles
        for address in without:
            count, instruction = (self.record.counts or {}).get(address, 0), self.instructions.get(address)
            if instruction is None:
                continue
            classes[instruction.record.pipeline] = classes.get(instruction.record.pipeline, 0) - count
            if instruction.record.matrix is not None:
                cycles -= count * instruction.record.matrix.cycles_with(instruction.modifiers)
        return replace(self.tally, classes=classes, matrix_cycles=cycles)


def change_of(without: Collection[int] = (), **changes: float | bool | None) -> Change:
    """A change from keyword arguments.

    Raises:
        UsageError: one is not known, or out of its range.
    """
    known = {name for name in Change.__dataclass_fields__ if name != "without"}
    if unknown := set(changes) - known:
        raise UsageError(
            f"what_if: {', '.join(sorted(unknown))}: expected some of {', '.join(sorted(known))}, without"
        )
    return Change(**changes, without=frozenset(without))  # type: ignore[arg-type]
