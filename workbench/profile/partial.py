"""Launches too large to run completely: some work-groups run, and represent those with the same path.

The first round of work-groups that a GPU would hold at once runs, one line of work-groups along each axis of
the grid, and some all over it. If the tensors do not fit the Infinity Cache, the second round runs, too: each
later round finds as much of the previous one there as the second finds of the first. If the path of a
work-group depends on at most one axis, the others follow from these; if not, the whole launch has to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.codeobject.instructions import Access, Flow, Space
from workbench.launches import CacheCounts, Dim, Replayed, StepOptions, Steps
from workbench.targets import LINE_BYTES

if TYPE_CHECKING:
    from workbench.codeobject import Instruction
    from workbench.runtime import LaunchRecord

ROUNDS = 4
"""A launch with at least this many rounds of work-groups does not run completely."""

LONGEST_LINE = 4096
SCATTERED = 32
"""Number of work-groups all over the grid that run as a test of the lines."""


def may_be_partial(instructions: Iterable[Instruction]) -> bool:
    """True if work-groups of a kernel certainly do not wait for one another.

    That is, it calls no function and has no atomics in memory.
    """
    for instruction in instructions:
        memory = instruction.record.memory
        if instruction.record.flow in (Flow.CALL, Flow.JUMP, Flow.INDIRECT_CALL):
            return False
        if memory is not None and memory.access is Access.ATOMIC and memory.space is not Space.LDS:
            return False
    return True


def _lines(grid: Dim) -> list[npt.NDArray[np.int64]]:
    """Work-groups along each axis, from the first."""
    steps = (1, grid[0], grid[0] * grid[1])
    return [np.arange(size, dtype=np.int64) * step for size, step in zip(grid, steps, strict=True)]


def further_groups(grid: Dim, at_once: int, *, rounds: int = 1) -> tuple[int, ...] | None:
    """Work-groups to run in addition to the recorded ones; None for all of them.

    Args:
        grid: grid of the launch.
        at_once: work-groups that the GPU holds at once.
        rounds: number of such rounds to run.
    """
    total = int(np.prod(grid))
    if total < ROUNDS * at_once:
        return None
    lines = _lines(grid)
    if sum(map(len, lines)) > min(LONGEST_LINE, total // 2):
        # A grid with one axis is its own line: its work-groups must be the same everywhere.
        lines = []
    scattered = StepOptions(SCATTERED).chosen(total)
    return tuple(sorted({*range(rounds * at_once), *scattered, *(int(g) for line in lines for g in line)}))


def follows(steps: Steps, grid: Dim) -> bool:
    """True if the paths of all work-groups follow from those that ran; fills them in."""
    ran = np.flatnonzero(steps.executed)
    if len(ran) == steps.group_total:
        return True
    if len(np.unique(steps.hashes[ran])) == 1:
        source = np.full(steps.group_total, ran[0])
        return _fill(steps, ran, source)
    everywhere = np.arange(steps.group_total)
    before = 1
    for size, line in zip(grid, _lines(grid), strict=True):
        source = line[everywhere // before % size]
        before *= size
        if np.all(steps.executed[line]) and np.array_equal(steps.hashes[source][ran], steps.hashes[ran]):
            return _fill(steps, ran, source)
    return False


def _fill(steps: Steps, ran: npt.NDArray[np.int64], source: npt.NDArray[np.int64]) -> bool:
    hashes, executed = steps.hashes[source], steps.executed[source]
    steps.hashes[:], steps.executed[:] = hashes, executed
    return True


def _whole_counts(steps: Steps) -> dict[int, int]:
    """Executions of each instruction in the whole launch, from the recorded work-groups.

    Paths that were not recorded count as the recorded one of the nearest length.
    """
    recorded: dict[int, int] = {}
    for group in steps.groups:
        recorded.setdefault(int(steps.hashes[group]), group)
    listed = list(recorded.values())
    sizes = np.array([float(steps.executed[group]) for group in listed])
    totals = np.zeros(len(steps.blocks))
    ways, where, count = np.unique(steps.hashes, return_index=True, return_counts=True)
    for way, first, groups in zip(ways.tolist(), where.tolist(), count.tolist(), strict=True):
        size = float(steps.executed[first])
        group = recorded.get(way, listed[int(np.abs(sizes - size).argmin())])
        block_counts = np.zeros(len(steps.blocks))
        for wave in steps.waves_of(group):
            block = wave.steps["block"]
            block_counts += np.bincount(block[block >= 0], minlength=len(block_counts))
        totals += block_counts * groups * size / float(steps.executed[group])
    counts: dict[int, int] = {}
    for addresses, executed in zip(steps.blocks, np.rint(totals).astype(np.int64).tolist(), strict=True):
        for address in addresses:
            counts[address] = counts.get(address, 0) + executed
    return counts


@dataclass(frozen=True)
class Part:
    """The part of a launch that ran.

    Attributes:
        counts: executions of each instruction in the whole launch; None if all of it ran.
        share: fraction of the executed instructions that ran.
    """

    counts: dict[int, int] | None = None
    share: float = 1.0

    @classmethod
    def from_record(cls, record: LaunchRecord) -> Part:
        """From a launch with counts and steps, the latter filled in by `follows`."""
        if record.steps is None or record.counts is None or record.steps.is_whole:
            return cls()
        counts = _whole_counts(record.steps)
        return cls(counts, sum(record.counts.values()) / max(1, sum(counts.values())))

    def whole(self, record: LaunchRecord, counters: Mapping[str, int]) -> LaunchRecord:
        """The record with the counts of the whole launch, and these counters."""
        return replace(record, counts=self.counts or record.counts, counters=dict(counters))

    def replayed(self, part: Replayed, argument_bytes: int) -> Replayed:
        """The caches' counts for the whole launch, extrapolated from this part.

        Reads from HBM are at most the bytes of the arguments: the rest would come from the Infinity Cache.
        """
        if self.counts is None:
            return part
        dies = [
            CacheCounts(*(round(getattr(die, field.name) / self.share) for field in fields(CacheCounts)))
            for die in part.dies
        ]
        read = sum(die.mall_read_misses for die in dies)
        most = max(argument_bytes // LINE_BYTES, sum(die.mall_read_misses for die in part.dies))
        from_memory = min(1.0, most / max(1, read))
        levels = {
            address: (l1, l2, infinity + round(hbm * (1 - from_memory)), round(hbm * from_memory))
            for address, (l1, l2, infinity, hbm) in part.levels.items()
        }
        return Replayed(tuple(_less_from_memory(die, from_memory) for die in dies), part.sampling, levels)


@dataclass(frozen=True)
class Rounds:
    """The caches' counts in a launch's first and second rounds of work-groups.

    Attributes:
        first, second: counts of each round.
        blocks: basic blocks that the first round, the second round and the whole launch ran.
    """

    first: Replayed
    second: Replayed
    blocks: tuple[float, float, float]

    @classmethod
    def from_steps(cls, steps: Steps, at_once: int, replay: Callable[[int], Replayed]) -> Rounds:
        """From a launch whose first two rounds ran.

        Args:
            steps: steps of all its work-groups, filled in by `follows`.
            at_once: work-groups of a round.
            replay: returns the caches' counts for a number of first work-groups.
        """
        first, both = replay(at_once), replay(2 * at_once)
        executed = steps.executed.astype(np.float64)
        sizes = (executed[:at_once].sum(), executed[at_once : 2 * at_once].sum(), executed.sum())
        return cls(first, _sum(both, first, -1.0), (float(sizes[0]), float(sizes[1]), float(sizes[2])))

    def cold(self) -> Replayed:
        """The whole launch: all later rounds are like the second."""
        first, second, whole = self.blocks
        return _sum(self.first, self.second, (whole - first) / second)

    def warm(self) -> Replayed:
        """The same in a loop: the first round also finds what a previous round left."""
        _, second, whole = self.blocks
        return _sum(self.second, self.second, whole / second - 1.0)


def _sum(first: Replayed, other: Replayed, times: float) -> Replayed:
    """One plus a multiple of the other, count by count."""
    names = [field.name for field in fields(CacheCounts)]
    dies = [
        CacheCounts(*(max(0, round(getattr(a, name) + times * getattr(b, name))) for name in names))
        for a, b in zip(first.dies, other.dies, strict=True)
    ]
    none = (0, 0, 0, 0)
    levels = {
        address: tuple(
            max(0, round(a + times * b))
            for a, b in zip(first.levels.get(address, none), other.levels.get(address, none), strict=True)
        )
        for address in {*first.levels, *other.levels}
    }
    return Replayed(tuple(dies), first.sampling, {a: served for a, served in levels.items() if any(served)})


def _less_from_memory(die: CacheCounts, from_memory: float) -> CacheCounts:
    misses = round(die.mall_read_misses * from_memory)
    hits = die.mall_read_hits + die.mall_read_misses - misses
    return replace(die, mall_read_misses=misses, mall_read_hits=hits)
