"""The time of a launch as a tree from the chip to the instruction.

The chip's time consists of the launch and the kernel; the kernel's time, of compute units with and without
work; the time with work, of issue and stalls of their waves; and each stall reason's time is split by line
and by instruction. If all of a reason belongs to one source line, such as the call of a whole schedule, the
lines of headers inlined there form a level in between. With SIMDs and waves above the reasons, the tree
distinguishes them too. Every branch has its share of the whole, so its parts add up to it. All of it is
modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.display import Shown
from workbench.profile.simulation.unit import REASONS

if TYPE_CHECKING:
    from workbench.profile.model import TimeModel
    from workbench.profile.simulation.unit import UnitRun

Places = Callable[[int], Sequence[tuple[str, int]]]

LEAST = 0.01
"""Branches with a smaller share of their parent are merged into one."""


@dataclass(frozen=True)
class Branch(Shown):
    """A part of a launch's time.

    Attributes:
        name: name of the branch.
        share: share of the launch's time, 0 to 1.
        parts: parts of the branch, the largest first; empty at a leaf.
        reason: one of `simulation.unit.REASONS`; "" above the reasons.
        place: source file and line; None above lines, and without debug info.
        inlined: file and line of the code that was inlined there; equal to `place` if none was.
        address: address of the instruction; None above instructions.
        waits_for: loads that end the wait, each as its address and its place; the load with the longest wait
            comes first.
    """

    name: str
    share: float
    parts: tuple[Branch, ...] = field(default=(), repr=False)
    reason: str = ""
    place: tuple[str, int] | None = None
    address: int | None = None
    waits_for: tuple[tuple[int, tuple[str, int] | None], ...] = ()
    inlined: tuple[str, int] | None = None

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Branch]]:
        """This branch and all below it, with their depths, from the top."""
        yield depth, self
        for part in self.parts:
            yield from part.walk(depth + 1)

    def __str__(self) -> str:
        return "\n".join(
            f"{100 * branch.share:6.1f} %  {'  ' * depth}{branch.name}"
            + (f"  at {branch.address:#x}" if branch.address is not None else "")
            for depth, branch in self.walk()
        )


@dataclass(frozen=True)
class _Words:
    """Names of addresses: source files and lines, and the instruction's text."""

    places: Places | None
    text: Callable[[int], str] | None
    causes: dict[tuple[int, str], list[int]]

    def place(self, address: int) -> tuple[str, int] | None:
        return self._at(address, -1)

    def _at(self, address: int, which: int) -> tuple[str, int] | None:
        places = self.places(address) if self.places is not None else ()
        return places[which] if places else None

    def leaf(self, address: int, reason: str, share: float) -> Branch:
        name = self.text(address) if self.text is not None else hex(address)
        loads = tuple((load, self.place(load)) for load in self.causes.get((address, reason), ()))
        place = self.place(address)
        return Branch(
            *(name, share),
            reason=reason,
            place=place,
            address=address,
            waits_for=loads,
            inlined=self._at(address, 0),
        )


def stall_tree(
    model: TimeModel,
    places: Places | None = None,
    text: Callable[[int], str] | None = None,
    *,
    by_wave: bool = False,
) -> Branch | None:
    """The tree of a modelled launch; None if nothing was simulated.

    Args:
        places: source files and lines of an address, the module's own last.
        text: an instruction as text; its address if there is none.
        by_wave: with the levels of SIMD and wave between the compute unit and the reasons; None if the
            simulation did not distinguish waves.
    """
    run = model.simulation
    if run is None or not run.unit.waves or (by_wave and not len(run.unit.wave_stalls)):
        return None
    kernel = 1 - min(1.0, model.overhead / model.seconds)
    working = min(1.0, model.activity.get("units", 1.0))
    inside = kernel * working
    words = _Words(places, text, wait_causes(run.unit))
    inner = _simds(run.unit, inside, words) if by_wave else _of_unit(run.unit, inside, words)
    parts = [
        Branch("launch: dispatch and drain", 1 - kernel),
        Branch("compute units without work", kernel * (1 - working)),
        Branch("waves of a compute unit", inside, inner),
    ]
    return Branch("chip", 1.0, _largest(parts))


def _of_unit(unit: UnitRun, inside: float, words: _Words) -> tuple[Branch, ...]:
    """Branches of all of a unit's waves: issuing, and each reason for stalling."""
    life = sum(wave.end - wave.start for wave in unit.waves) or 1.0
    ops, reasons = np.nonzero(unit.stalls)
    return _reasons(unit, ops, reasons, unit.stalls[ops, reasons] / life * inside, inside, words)


def _simds(unit: UnitRun, inside: float, words: _Words) -> tuple[Branch, ...]:
    """The unit's SIMDs with their waves, each with its issue and stalls."""
    life = sum(wave.end - wave.start for wave in unit.waves) or 1.0
    stood = unit.wave_stalls
    ends = np.searchsorted(stood["wave"], np.arange(len(unit.waves) + 1))
    simds: dict[int, list[Branch]] = {}
    for number, wave in enumerate(unit.waves):
        waits = stood[ends[number] : ends[number + 1]]
        share = (wave.end - wave.start) / life * inside
        cycles = waits["cycles"].astype(np.float64) / life * inside
        parts = _reasons(unit, waits["op"], waits["reason"], cycles, share, words)
        name = f"wave {wave.wave} of work-group {wave.group}"
        simds.setdefault(wave.simd, []).append(Branch(name, share, parts))
    return tuple(
        Branch(f"SIMD {simd}", sum(wave.share for wave in waves), tuple(waves))
        for simd, waves in sorted(simds.items())
    )


def _reasons(
    unit: UnitRun,
    ops: npt.NDArray[np.integer],
    reasons: npt.NDArray[np.integer],
    shares: npt.NDArray[np.float64],
    inside: float,
    words: _Words,
) -> tuple[Branch, ...]:
    """Issuing, and each reason with its lines and instructions; together `inside`."""
    names = list(REASONS)
    leaves: dict[str, list[Branch]] = {}
    for op, reason, share in zip(ops.tolist(), reasons.tolist(), shares.tolist(), strict=True):
        leaf = words.leaf(unit.program.addresses[op], names[reason], share)
        leaves.setdefault(names[reason], []).append(leaf)
    branches = [
        Branch(REASONS[reason], sum(leaf.share for leaf in group), _by_line(group), reason)
        for reason, group in leaves.items()
    ]
    issue = Branch("issues", max(0.0, inside - sum(branch.share for branch in branches)))
    return _largest([issue, *branches])


def wait_causes(unit: UnitRun) -> dict[tuple[int, str], list[int]]:
    """By (address of a wait, reason): addresses of the loads that it ended with, the longest waits' first.

    Empty if the simulation kept no spans.
    """
    listed = unit.program.addresses
    names = list(REASONS)
    cycles: dict[tuple[int, str], dict[int, float]] = {}
    waits = unit.spans[(unit.spans["cause"] >= 0) & (unit.spans["reason"] != names.index("AT_BARRIER"))]
    for op, reason, cause, spent in zip(
        *(waits[name].tolist() for name in ("op", "reason", "cause", "cycles")), strict=True
    ):
        loads = cycles.setdefault((listed[op], names[reason]), {})
        loads[listed[cause]] = loads.get(listed[cause], 0.0) + spent
    return {key: sorted(loads, key=lambda a: -loads[a]) for key, loads in cycles.items()}


def _by_line(leaves: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of lines, with their instructions; only of instructions if no line is known."""
    lines: dict[tuple[str, int] | None, list[Branch]] = {}
    for leaf in leaves:
        lines.setdefault(leaf.place, []).append(leaf)
    branches = []
    for place, group in lines.items():
        name = f"line {place[1]}" if place is not None else "no line known"
        share = sum(leaf.share for leaf in group)
        parts = _by_header(group) if len(lines) == 1 else _largest(group)
        branches.append(Branch(name, share, parts, group[0].reason, place))
    return _largest(branches)


def _by_header(leaves: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of the lines of headers that were inlined at one line; instructions if there is only one."""
    headers: dict[tuple[str, int] | None, list[Branch]] = {}
    for leaf in leaves:
        headers.setdefault(leaf.inlined, []).append(leaf)
    if len(headers) == 1:
        return _largest(leaves)
    branches = []
    for inlined, group in headers.items():
        file, number = inlined or ("", 0)
        name = f"{PurePath(file).name}, line {number}" if file else "no line known"
        parts, share = _largest(group), sum(leaf.share for leaf in group)
        branches.append(Branch(name, share, parts, group[0].reason, group[0].place, inlined=inlined))
    return _largest(branches)


def _largest(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """The largest first; small ones are merged into one branch, so that the sum stays the same."""
    ordered = sorted((branch for branch in branches if branch.share > 0), key=lambda branch: -branch.share)
    least = LEAST * sum(branch.share for branch in ordered)
    small = [branch for branch in ordered if branch.share < least]
    if len(small) < 2:
        return tuple(ordered)
    rest = replace(small[0], name=f"{len(small)} others", share=sum(branch.share for branch in small))
    rest = replace(rest, parts=(), place=None, address=None, waits_for=(), inlined=None)
    return (*ordered[: -len(small)], rest)
