"""The chip around the compute units: work-groups over dies and units, rounds and tails, and bandwidth.

Work-groups go to the dies in turn and there to the first compute unit with room. Those whose waves took the
same path take the same time, so one unit is simulated for each such kind (`unit.run_unit`), full of its
work-groups. The rest is extrapolated: a further round takes as long as the last simulated one, and the time
of a work-group of another length lies between those of the next shorter and the next longer kind.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.launches import Steps, WaveSteps
from workbench.profile.simulation.program import FROM_L2, Adjust, Levels, Program, program
from workbench.profile.simulation.unit import (
    DISPATCH_CYCLES,
    REASONS,
    UnitRun,
    machine_record,
    run_unit,
)
from workbench.targets import Product

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction
    from workbench.codeobject.occupancy import Occupancy

STEP_BUDGET = 3_000_000
"""Steps (basic blocks and costs) to simulate per kind of work-group at most, about a second's work."""

MOST_KINDS = 12
ROUNDS = 3
"""Rounds of resident work-groups to simulate; the last represents all that follow."""

MOST_PLACED = 1 << 15
"""Maximum number of work-groups of a die that are placed one by one; of more, a sample represents all."""

Traffic = Mapping[int, Levels]


@dataclass(frozen=True)
class Kind:
    """Work-groups that took the same path.

    Attributes:
        groups: recorded work-groups, which are simulated.
        executed: basic blocks that each ran.
    """

    groups: tuple[int, ...]
    executed: float


@dataclass(frozen=True)
class Mix:
    """Each work-group as parts of two kinds: its own, or the next shorter and the next longer one.

    Attributes:
        shorter, longer: [work-groups] numbers of the kinds.
        of_shorter, of_longer: [work-groups] parts of each, which together ran as many blocks.
    """

    shorter: npt.NDArray[np.int64]
    longer: npt.NDArray[np.int64]
    of_shorter: npt.NDArray[np.float64]
    of_longer: npt.NDArray[np.float64]

    def per_group(self, values: Sequence[float]) -> npt.NDArray[np.float64]:
        """[work-groups] a value that is known of each kind."""
        by_kind = np.asarray(values, dtype=np.float64)
        shares: npt.NDArray[np.float64] = self.of_shorter * by_kind[self.shorter]
        return shares + self.of_longer * by_kind[self.longer]

    def counts(self, kinds: int) -> npt.NDArray[np.float64]:
        """[kinds] number of work-groups that count as each."""
        totals = np.zeros(kinds)
        np.add.at(totals, self.shorter, self.of_shorter)
        np.add.at(totals, self.longer, self.of_longer)
        return totals


@dataclass(frozen=True)
class ChipRun:
    """The simulation of a launch on the chip.

    Attributes:
        cycles: cycles of the engine's clock, from the first wave's start to the last one's end.
        clock_hz: the clock.
        units: compute units that had work.
        unit: the simulated unit of the kind with most of the work.
        kinds: number of different paths.
        steps: number of simulated instructions.
        memory: cycles that the launch needs of L1, L2, Infinity Cache and HBM at their full bandwidth.
    """

    cycles: float
    clock_hz: float
    units: int
    unit: UnitRun = field(repr=False)
    kinds: int
    steps: int
    memory: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)

    @property
    def shares(self) -> dict[str, float]:
        """Fractions of the lives of the simulated unit's waves: "issue", and each of `REASONS` to wait."""
        lives = sum(wave.end - wave.start for wave in self.unit.waves) or 1.0
        stood = {
            name: float(cycles) / lives
            for name, cycles in zip(REASONS, self.unit.stalls.sum(axis=0), strict=True)
            if cycles > 0
        }
        return {"issue": sum(wave.busy for wave in self.unit.waves) / lives, **stood}

    @property
    def seconds(self) -> float:
        return self.cycles / self.clock_hz

    def charged(self, counts: Mapping[int, int]) -> dict[int, float]:
        """Cycles of all waves of the launch by the instruction that they were spent on, waits for it too.

        Args:
            counts: see `stalls`.
        """
        turn = sum(wave.busy for wave in self.unit.waves) / (self.unit.issued.sum() or 1.0)
        spent: dict[int, float] = {}
        issued: dict[int, float] = {}
        for address, times, cycles in zip(
            self.unit.program.addresses,
            self.unit.issued.tolist(),
            self.unit.charged.tolist(),
            strict=True,
        ):
            issued[address] = issued.get(address, 0.0) + times
            spent[address] = spent.get(address, 0.0) + times * turn + cycles
        return {a: spent[a] * counts.get(a, 0) / times for a, times in issued.items() if times}

    def stalls(self, counts: Mapping[int, int]) -> dict[int, dict[str, float]]:
        """Cycles for which all waves of the launch stall before each instruction, by address and reason.

        Args:
            counts: executions of each instruction in the launch, by address: the simulated unit's stalls are
                scaled to all others.
        """
        issued: dict[int, float] = {}
        stood: dict[int, npt.NDArray[np.float64]] = {}
        for address, times, cycles in zip(
            self.unit.program.addresses, self.unit.issued, self.unit.stalls, strict=True
        ):
            issued[address] = issued.get(address, 0.0) + float(times)
            stood[address] = stood.get(address, np.zeros(len(REASONS))) + cycles
        return {
            address: {
                name: float(value) * counts.get(address, 0) / issued[address]
                for name, value in zip(REASONS, cycles, strict=True)
                if value > 0
            }
            for address, cycles in stood.items()
            if issued[address] > 0 and cycles.any()
        }


def kinds_of(steps: Steps, polls: Collection[int] = ()) -> tuple[tuple[Kind, ...], Mix]:
    """The kinds of work-groups, at most `MOST_KINDS`, and the mixture of kinds for each work-group.

    A path without its own kind lies between two kinds by the number of blocks that it ran. One that is
    shorter or longer than all of them counts as that fraction or multiple of the nearest. In code that polls
    how much longer it is says nothing (`without_polls`), so it counts as the longest kind.

    Args:
        steps: the paths.
        polls: as for `without_polls`.
    """
    executed = _executed_without_polls(steps, polls)
    by_hash: dict[int, list[int]] = {}
    for group in steps.groups:
        by_hash.setdefault(int(steps.hashes[group]), []).append(group)
    recorded = sorted(by_hash.values(), key=lambda groups: float(executed[groups[0]]))
    while len(recorded) > MOST_KINDS:
        blocks = [float(executed[groups[0]]) for groups in recorded]
        nearest = min(range(len(recorded) - 1), key=lambda i: blocks[i + 1] - blocks[i])
        # The longest stays, since the launch may end with it.
        recorded.pop(nearest + 1 if nearest + 2 < len(recorded) else nearest)
    sizes = np.array([float(executed[groups[0]]) for groups in recorded])
    longer = np.searchsorted(sizes, executed).clip(0, len(sizes) - 1)
    shorter = np.where(sizes[longer] <= executed, longer, (longer - 1).clip(0))
    gap = sizes[longer] - sizes[shorter]
    of_longer = np.divide(executed - sizes[shorter], gap, out=np.zeros_like(executed), where=gap > 0)
    of_shorter = np.where(gap > 0, 1 - of_longer, executed / sizes[shorter])
    for number, groups in enumerate(recorded):
        same_way = steps.hashes == steps.hashes[groups[0]]
        shorter[same_way], of_shorter[same_way], of_longer[same_way] = number, 1.0, 0.0
    kinds = tuple(Kind(tuple(groups), size) for groups, size in zip(recorded, sizes.tolist(), strict=True))
    return kinds, Mix(shorter, longer, of_shorter, of_longer)


@dataclass(frozen=True)
class _Pace:
    """Throughput of a full compute unit on work-groups of one kind.

    Attributes:
        run: the simulation.
        groups: work-groups simulated.
        resident: work-groups at once.
        interval: cycles between the ends of two work-groups once the unit is full.
    """

    run: UnitRun
    groups: int
    resident: int
    interval: float

    def cycles(self, groups: float) -> float:
        """Cycles until this many work-groups of a unit are done."""
        ends = np.sort(self.run.group_ends)
        if groups <= self.groups:
            return float(ends[max(0, int(np.ceil(groups)) - 1)])
        return self.run.cycles + (groups - self.groups) * self.interval


def without_polls(wave: WaveSteps, polls: Collection[int]) -> WaveSteps:
    """A wave's path in which it polls once for what it waits for.

    How often a wave went round while it waited for another work-group depends on the order in which the
    emulated device ran them, which says nothing about a GPU.

    Args:
        wave: its path.
        polls: blocks that load what others may change; the loop is such a block, or two with such a one.
    """
    if not polls:
        return wave
    block = wave.steps["block"]
    is_poll = np.isin(block, list(polls))
    again = np.zeros(len(block), dtype=bool)
    again[1:] |= (block[1:] == block[:-1]) & is_poll[1:]
    again[2:] |= (block[2:] == block[:-2]) & (is_poll[2:] | is_poll[1:-1])
    return replace(wave, steps=wave.steps[~again]) if again.any() else wave


def _executed_without_polls(steps: Steps, polls: Collection[int]) -> npt.NDArray[np.float64]:
    """[work-groups] basic blocks that each ran, polling once; at most as many as the longest recorded one."""
    executed: npt.NDArray[np.float64] = steps.executed.astype(np.float64)
    if not polls:
        return executed
    for group in steps.groups:
        for wave in steps.waves_of(group):
            executed[group] -= len(wave.steps) - len(without_polls(wave, polls).steps)
    return executed.clip(max=executed[list(steps.groups)].max())


def _pace(
    code: Program,
    steps: Steps,
    kind: Kind,
    machine: Mapping[str, object],
    resident: int,
    groups: int,
    dispatch: float,
    spans: int,
) -> _Pace:
    listed = [[without_polls(wave, code.polls) for wave in steps.waves_of(group)] for group in kind.groups]
    size = max(1, sum(len(wave.steps) for wave in listed[0]))
    most = max(resident, min(resident * ROUNDS, STEP_BUDGET // size))
    count = min(groups, most)
    taken: list[Sequence[WaveSteps]] = [listed[i % len(listed)] for i in range(count)]
    run = run_unit(code, taken, machine, resident, dispatch=dispatch, spans=spans)
    ends = np.sort(run.group_ends)
    full = min(resident, count)
    before = float(ends[count - 1 - full]) if count > full else 0.0
    # The last round competes only with its own loads: the cycles of memory for a work-group remain.
    interval = max((float(ends[-1]) - before) / full, max(run.memory_busy) / count)
    return _Pace(run, count, full, interval)


def simulate_chip(
    steps: Steps,
    instructions: Mapping[int, Instruction],
    occupancy: Occupancy,
    product: Product,
    clock_hz: float,
    traffic: Traffic,
    *,
    evicted: float = 0.0,
    fresh: bool = False,
    spans: int = 0,
    adjust: Adjust | None = None,
) -> ChipRun:
    """Runs a launch in which the paths of some work-groups were recorded.

    Args:
        steps: the paths.
        instructions: of the code, by address.
        occupancy: work-groups that fit a unit.
        product: the GPU.
        clock_hz: its engine clock.
        traffic: levels of the memory hierarchy that serve a vector memory instruction, by address.
        evicted: lines that go from the Infinity Cache to HBM for each line that enters it.
        fresh: no launch used the memory shortly before.
        spans: of the timeline that are kept at most.
        adjust: changes of instructions.
    """
    code = program(steps.blocks, instructions, steps.text, product.target, traffic, adjust)
    units = min(steps.group_total, int(product.compute_units))
    machine = machine_record(product, clock_hz, units, evicted=evicted, fresh=fresh)
    kinds, mix = kinds_of(steps, code.polls)
    counts = mix.counts(len(kinds))
    per_unit = -(-steps.group_total // units)
    resident = min(occupancy.groups_per_cu, per_unit)
    main = int(np.argmax(counts * [kind.executed for kind in kinds]))
    # A die starts waves on all its units in turn.
    dispatch = float(DISPATCH_CYCLES * -(-units // min(int(product.xcds), units)))
    paces = [
        _pace(code, steps, kind, machine, resident, per_unit, dispatch, spans if i == main else 0)
        for i, kind in enumerate(kinds)
    ]
    cycles = paces[0].cycles(per_unit) if len(kinds) == 1 else _placed(mix, paces, product, resident)
    return ChipRun(
        cycles,
        clock_hz,
        units,
        paces[main].run,
        len(kinds),
        int(sum(pace.run.issued.sum() for pace in paces)),
        tuple(np.sum(list(map(_memory_of, paces, counts / units)), axis=0).tolist()),
    )


def _memory_of(pace: _Pace, groups: float) -> npt.NDArray[np.float64]:
    """Cycles of the levels of memory for this many work-groups."""
    return np.array(pace.run.memory_busy) / pace.groups * groups


def _placed(mix: Mix, paces: Sequence[_Pace], product: Product, resident: int) -> float:
    """Cycles until the last work-group has ended; each takes as long as among others of its kind."""
    lasting = mix.per_group([pace.interval * pace.resident for pace in paces])
    xcds, units = int(product.xcds), int(product.units_per_xcd)
    latest = 0.0
    for die in range(min(xcds, len(lasting))):
        mine = lasting[die::xcds]
        stride = max(1, -(-len(mine) // MOST_PLACED))
        places = [0.0] * min(units * resident, len(mine))
        for cycles in mine[::stride].tolist():
            heapq.heapreplace(places, places[0] + cycles * stride)
        latest = max(latest, *places)
    return latest


def levels_of(served: Sequence[int]) -> Levels:
    """Shares of the levels from the lines that each served."""
    l1, l2, infinity, hbm = (count / sum(served) for count in served)
    return (l1, l2, infinity, hbm)


def levels_everywhere(l1: float, l2: float, infinity: float) -> Levels:
    """Shares of the levels from the hit rates of each."""
    rest = (1 - l1) * (1 - l2)
    return (l1, (1 - l1) * l2, rest * infinity, rest * (1 - infinity))


__all__ = ["FROM_L2", "ChipRun", "Kind", "Mix", "kinds_of", "levels_everywhere", "levels_of", "simulate_chip"]
