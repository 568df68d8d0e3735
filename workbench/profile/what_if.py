"""Modelled time of a launch under a hypothetical change, with the same waves.

The paths of the waves stay as recorded; only their costs change. So a gain is modelled, with the model's
error, and it is a bound if a change would require other instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.codeobject.instructions import Access, Flow, Space
from workbench.errors import UsageError
from workbench.launches import Replayed, WaveSteps
from workbench.origin import Expected
from workbench.profile.issue import lds_bytes_a_cycle
from workbench.profile.model import CountedLaunch, TimeModel, memory_bytes, model_time
from workbench.profile.sampled import lds_counters
from workbench.targets import LINE_BYTES

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.codeobject.occupancy import Occupancy
    from workbench.launches import Steps
    from workbench.profile.counters import Tally
    from workbench.profile.simulation.program import Adjust
    from workbench.targets import Target


_WAYS = ("read", "written")
_COUNTED = {
    **dict.fromkeys((Space.GLOBAL, Space.FLAT, Space.BUFFER), "global"),
    Space.LDS: "lds",
    Space.SCRATCH: "scratch",
}
"""Prefix of the device's byte counters for each memory."""

_DWORD = 4
TURNS = 4
"""Iterations of a loop that unrolling puts into one."""

_SPREAD_WITH: Mapping[str, tuple[str, ...]] = {
    "chip": ("mfma", "valu", "salu", "lds", "vmem", "l1"),
    "unit": ("mfma", "valu"),
    "waves": (),
}
"""Units whose work is spread with the waves, by where these are spread; memory's never is."""


@dataclass(frozen=True)
class Change:
    """A hypothetical change of a launch; the default changes nothing.

    Attributes:
        bank_conflicts: remaining share of the bank conflicts: 0 for none.
        coalesced: every vector memory instruction touches as few lines as its bytes need.
        l1_hit, l2_hit: hit rates of the caches, 0 to 1.
        waves_per_simd: number of waves that fit on a SIMD.
        clock: engine clock in Hz.
        without: addresses of instructions to leave out.
        launch: True to count dispatch and drain.
        spread: remaining share of the kernel's cycles if its work were spread evenly.
        over: where the work is uneven: "chip", compute units stay empty; "unit", the SIMDs of a unit differ;
            "waves", the waves differ.
        merged: groups of loads; the first load of each does the work of all.
        ahead: waits that let this many more requests stay in flight, as (address, requests).
        moved: waits to move, as (address, address before which they then are).
        unrolled: loop instructions that execute once in `TURNS` iterations.
        plain: vector instructions that then take a single issue turn.
        independent: instructions whose results are ready in half the time, as with two independent chains.
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
    over: str = "chip"
    merged: tuple[tuple[int, ...], ...] = ()
    ahead: frozenset[tuple[int, int]] = frozenset()
    moved: frozenset[tuple[int, int]] = frozenset()
    unrolled: frozenset[int] = frozenset()
    plain: frozenset[int] = frozenset()
    independent: frozenset[int] = frozenset()

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
    """Recorded paths with other costs, or without some instructions."""

    def __init__(
        self, steps: Steps, change: Change, instructions: Mapping[int, Instruction], target: Target
    ) -> None:
        self._steps, self._change = steps, change
        # By place; accesses that LDS does not serve have no cycles there, whatever this says.
        self._lds_bytes = {
            (address - steps.text) // 4: lds_bytes_a_cycle(instruction, target) or math.inf
            for address, instruction in instructions.items()
        }
        self.group_total, self.waves, self.text = steps.group_total, steps.waves, steps.text
        self.groups, self.hashes, self.executed = steps.groups, steps.hashes, steps.executed
        self.is_whole = steps.is_whole
        # A wave always ends.
        gone = {
            a for a in change.without if a in instructions and instructions[a].record.flow is not Flow.END
        }
        # An access that is merged into a load leaves its cost there.
        self._into = {
            (address - steps.text) // 4: (loads[0] - steps.text) // 4
            for loads in change.merged
            for address in loads[1:]
        }
        away = gone | {address for loads in change.merged for address in loads[1:]}
        blocks = [tuple(a for a in _moved(block, change.moved) if a not in away) for block in steps.blocks]
        self._shorter: dict[int, int] = {}
        for number, block in enumerate(tuple(blocks)):
            if change.unrolled & set(block):
                self._shorter[number] = len(blocks)
                blocks.append(tuple(a for a in block if a not in change.unrolled))
        self.blocks = tuple(blocks)
        self._gone = np.array([(address - steps.text) // 4 for address in gone], dtype=np.int64)

    def waves_of(self, group: int) -> tuple[WaveSteps, ...]:
        return tuple(replace(wave, steps=self._changed(wave.steps)) for wave in self._steps.waves_of(group))

    def _changed(self, steps: np.ndarray) -> np.ndarray:
        changed: np.ndarray = steps.copy()
        cost = changed["block"] < 0
        if self._change.bank_conflicts < 1:
            # Exact for a full wave; a lower bound for a part of one, whose lanes may be in more phases.
            served = cost & (changed["lds_cycles"] > 0)
            places, which = np.unique(changed["place"][served], return_inverse=True)
            rates = np.array([self._lds_bytes[place] for place in places.tolist()])
            least = np.ceil(changed["bytes"][served] / rates[which])
            lost = np.maximum(changed["lds_cycles"][served] - least, 0)
            changed["lds_cycles"][served] = np.ceil(least + self._change.bank_conflicts * lost)
        if self._change.coalesced:
            lines = np.minimum(
                changed["lines"], np.maximum(1, -(-changed["bytes"].astype(np.int64) // LINE_BYTES))
            )
            changed["lines"] = np.where(cost & (changed["lines"] > 0), lines, changed["lines"])
        if self._into:
            changed = self._merged(changed)
            cost = changed["block"] < 0
        for block, shorter in self._shorter.items():
            turns = np.flatnonzero(changed["block"] == block)
            changed["block"][turns[np.arange(len(turns)) % TURNS != TURNS - 1]] = shorter
        if len(self._gone):
            changed = changed[~(cost & np.isin(changed["place"], self._gone))]
        return changed

    def _merged(self, steps: np.ndarray) -> np.ndarray:
        """Costs of merged loads, at the first of them."""
        stays, last = np.ones(len(steps), dtype=bool), dict[int, int]()
        heads = set(self._into.values())
        of_loads = np.isin(steps["place"], [*heads, *self._into]) & (steps["block"] < 0)
        for i in np.flatnonzero(of_loads).tolist():
            place = int(steps["place"][i])
            if place in heads:
                last[place] = i
            elif (head := last.get(self._into[place])) is not None:
                stays[i] = False
                for name in ("lds_cycles", "lines", "turns", "bytes"):
                    total = int(steps[name][head]) + int(steps[name][i])
                    steps[name][head] = min(total, np.iinfo(steps[name].dtype).max)
        return steps[stays]

    def release(self) -> None:
        """Does nothing: there are no resources to free."""


def _moved(block: Sequence[int], moved: Collection[tuple[int, int]]) -> list[int]:
    """A block with its waits moved as the change says."""
    listed = list(block)
    for wait, before in moved:
        if wait in listed and before in listed:
            listed.remove(wait)
            listed.insert(listed.index(before), wait)
    return listed


def _same_waves(change: Change) -> bool:
    """True if the change leaves the waves as they were, so that no new simulation is needed."""
    return replace(change, launch=True, spread=1.0, over="chip") == Change()


@dataclass(frozen=True)
class Again:
    """A counted launch that can be modelled again.

    Attributes:
        launch: counts of the launch.
        base: modelled time without a change.
        error: expected error of the time.
        places: returns the source files and lines of an address, the module's own last.
    """

    launch: CountedLaunch
    base: TimeModel = field(repr=False)
    error: Expected
    places: Callable[[int], Sequence[tuple[str, int]]] = field(repr=False)

    def model(self, change: Change) -> TimeModel:
        """The time with a change."""
        model = self.base if _same_waves(change) else self._simulated(change)
        base = self.base.seconds - self.base.overhead
        # However waves are spread, each unit still has its work to do, and memory its bytes to move.
        with_waves = _SPREAD_WITH[change.over]
        evenly = change.spread if change.over != "chip" else self._part_of_busiest()
        parts = [
            seconds * (evenly if name in with_waves else 1.0)
            for name, seconds in model.parts.items()
            if name != "wave"
        ]
        least = max(parts) if change.spread < 1 else 0.0
        # Removed accesses move nothing; better served ones move the bytes that were requested.
        gone = self._less(change.without) if change.without else self.launch.tally
        memory = self._least_memory(model if change.without else self.base, gone.device)
        work = max((model.seconds - model.overhead) * change.spread, min(base, max(least, memory)))
        seconds = work + (model.overhead if change.launch else 0.0)
        return replace(model, error=self.error, seconds=seconds)

    def _simulated(self, change: Change) -> TimeModel:
        record, tally = self.launch.record, self._tally(change)
        other = change.without | change.unrolled | change.moved or change.coalesced or change.merged
        if record.steps is not None and (other or change.bank_conflicts < 1):
            steps = _ChangedSteps(record.steps, change, self.launch.instructions, self.launch.machine.target)
            record = replace(record, steps=steps)
            if change.bank_conflicts < 1:
                served = lds_counters(steps, record.counts or {}, self.launch.instructions)
                tally = replace(tally, device={**tally.device, "lds_cycles": served["lds_cycles"]})
        return model_time(
            replace(self.launch, tally=tally, record=record, occupancy=self._occupancy(change)),
            clock_hz=change.clock,
            adjust=self._adjusted(change),
        )

    def _part_of_busiest(self) -> float:
        """The work of a compute unit if all were alike, relative to that of the one with most work-groups."""
        of_unit = math.prod(self.launch.record.grid) / self.launch.machine.compute_units
        return float(of_unit / math.ceil(of_unit))

    def _least_memory(self, model: TimeModel, device: Mapping[str, int]) -> float:
        """Seconds that memory needs for the bytes that lanes requested, at the rate of the launch.

        A line may be moved for a few of its bytes, and bytes may be requested repeatedly; no change of a
        kernel avoids the first request.
        """
        if self.launch.tally.replayed is None:
            return model.parts["hbm"]
        total = self.launch.tally.replayed.total
        asked = sum(device.get(f"{kind}_bytes_{way}", 0) for kind in ("global", "scalar") for way in _WAYS)
        beyond = LINE_BYTES * (total.mall_read_hits + total.mall_read_misses)
        beyond += 64 * total.fabric_writes_64 + 32 * total.fabric_writes_32
        moved = {"hbm": memory_bytes(self.launch.tally), "infinity": beyond}
        return max(
            model.parts.get(level, 0.0) * min(1.0, asked / moved[level]) if moved[level] else 0.0
            for level in moved
        )

    def _bytes_of(self, loads: Sequence[int]) -> int:
        """Bytes that loads bring to a lane, together."""
        memories = (self.launch.instructions[a].record.memory for a in loads if a in self.launch.instructions)
        return sum(memory.bytes for memory in memories if memory is not None)

    def _adjusted(self, change: Change) -> Adjust | None:
        """A function that applies a change to single instructions; None if it changes none."""
        ahead, timing = dict(change.ahead), self.launch.machine.target.timing
        wide = {loads[0] for loads in change.merged if self._bytes_of(loads) > _DWORD}
        fewer = max((len(loads) for loads in change.merged), default=1)
        if not (ahead or change.merged or change.plain or change.independent):
            return None

        def adjust(instruction: Instruction, op: dict[str, Any]) -> dict[str, Any]:
            address = instruction.address
            for count in ("memory_left", "local_left"):
                if op[count] >= 0:
                    op = {**op, count: op[count] // fewer + ahead.get(address, 0)}
            if address in wide:
                op = {**op, "cycles": max(op["cycles"], timing.l1_wide) if op["cycles"] else 0}
            if address in change.plain:
                op = {**op, "cycles": timing.turn, "latency": timing.turn, "forwarded": timing.turn}
            if address in change.independent:
                op = {**op, "latency": max(op["cycles"], op["latency"] // 2)}
            return op

        return adjust

    def _occupancy(self, change: Change) -> Occupancy:
        if change.waves_per_simd is None:
            return self.launch.occupancy
        now = self.launch.occupancy
        groups = round(now.groups_per_cu * change.waves_per_simd / now.waves_per_simd)
        return replace(now, waves_per_simd=change.waves_per_simd, groups_per_cu=max(1, groups))

    def _tally(self, change: Change) -> Tally:
        tally = self.launch.tally
        if without := change.without | {a for loads in change.merged for a in loads[1:]}:
            tally = self._less(without)
        if change.plain:
            moved = sum(self._executions(a) for a in change.plain & self._transcendental())
            classes = tally.classes
            slow, plain = classes.get("trans", 0) - moved, classes.get("valu", 0) + moved
            tally = replace(tally, classes={**classes, "trans": slow, "valu": plain})
        if tally.replayed is not None and (change.l1_hit is not None or change.l2_hit is not None):
            total = tally.replayed.total
            if change.l1_hit is not None:
                total = replace(total, l1_read_hits=round(total.l1_reads * change.l1_hit))
            if change.l2_hit is not None:
                total = replace(total, l2_read_hits=round(total.l2_reads * change.l2_hit))
            tally = replace(tally, replayed=Replayed((total,), tally.replayed.sampling))
        return tally

    def _executions(self, address: int) -> int:
        return (self.launch.record.counts or {}).get(address, 0)

    def _transcendental(self) -> set[int]:
        return {a for a, i in self.launch.instructions.items() if i.record.pipeline == "trans"}

    def _less(self, without: Collection[int]) -> Tally:
        """The sums without some instructions, as far as the units' busy times follow from them."""
        classes, cycles = dict(self.launch.tally.classes), self.launch.tally.matrix_cycles
        device = dict(self.launch.tally.device)
        for address in without:
            count, instruction = self._executions(address), self.launch.instructions.get(address)
            if instruction is None:
                continue
            classes[instruction.record.pipeline] = classes.get(instruction.record.pipeline, 0) - count
            if instruction.record.matrix is not None:
                cycles -= count * instruction.record.matrix.cycles_with(instruction.modifiers)
            if (memory := instruction.record.memory) is not None and memory.space in _COUNTED:
                way = "read" if memory.access is Access.LOAD else "written"
                bytes_each, lds_each = self._costs.get(address, (0.0, 0.0))
                for name, amount in (
                    (f"{_COUNTED[memory.space]}_bytes_{way}", bytes_each),
                    ("lds_cycles", lds_each),
                ):
                    if name in device:
                        device[name] = max(0, round(device[name] - count * amount))
        return replace(self.launch.tally, classes=classes, matrix_cycles=cycles, device=device)

    @cached_property
    def _costs(self) -> dict[int, tuple[float, float]]:
        """Average bytes and LDS cycles of an execution, by address, if waves were recorded."""
        steps = self.launch.record.steps
        if steps is None:
            return {}
        waves = [wave.steps for group in steps.groups for wave in steps.waves_of(group)]
        if not waves:
            return {}
        costs = np.concatenate([steps_of_wave[steps_of_wave["block"] < 0] for steps_of_wave in waves])
        places, which = np.unique(costs["place"], return_inverse=True)
        times = np.bincount(which)
        averages = [np.bincount(which, weights=costs[name]) / times for name in ("bytes", "lds_cycles")]
        return {
            steps.text + 4 * place: (moved, served)
            for place, moved, served in zip(
                places.tolist(), *(column.tolist() for column in averages), strict=True
            )
        }


def change_of(without: Collection[int] = (), **changes: float | bool | None) -> Change:
    """A change from keyword arguments.

    Raises:
        UsageError: a field is unknown, or its value out of range.
    """
    names = {name for name in Change.__dataclass_fields__ if name != "without"}
    if unknown := set(changes) - names:
        raise UsageError(
            f"what_if: unknown {', '.join(sorted(unknown))}; expected {', '.join(sorted(names))} or without"
        )
    return Change(**changes, without=frozenset(without))  # type: ignore[arg-type]
