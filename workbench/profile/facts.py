"""The view of a profile that the rules of `profile.rules` read, and the type of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from workbench.codeobject.instructions import Trait
from workbench.origin import Expected, Figure, Origin
from workbench.profile.loops import InnerLoop, inner_loops
from workbench.profile.simulation.unit import REASONS
from workbench.profile.stalls import wait_causes
from workbench.profile.what_if import Change

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.codeobject.instruction import Instruction
    from workbench.kernel import Resources
    from workbench.launches import Replayed
    from workbench.profile.instructions import InstructionProfile
    from workbench.profile.model import TimeModel
    from workbench.profile.what_if import Again
    from workbench.runtime import LaunchRecord
    from workbench.targets import Product


MANY_TURNS = 4
"""Minimum number of iterations per wave that makes a loop worth changing."""


class Profiled(Protocol):
    """The part of a profile (`profiler.ProfileResult`) that rules read."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> TimeModel | None: ...
    @property
    def has_time(self) -> bool: ...
    @property
    def again(self) -> Again | None: ...
    @property
    def record(self) -> LaunchRecord: ...
    @property
    def counters(self) -> Mapping[str, Figure]: ...
    @property
    def instructions(self) -> InstructionProfile | None: ...
    @property
    def resources(self) -> Resources: ...
    @property
    def machine(self) -> Product: ...
    @property
    def shape(self) -> Mapping[str, object]: ...
    @property
    def argument_bytes(self) -> int: ...
    @property
    def work(self) -> Mapping[str, int]: ...
    @property
    def caches(self) -> Replayed | None: ...


@dataclass(frozen=True)
class Seen:
    """A rule's observation.

    Attributes:
        evidence: figures by description, each with its origin.
        change: the change whose gain is modelled.
        what: the remedy in words.
        address: address of the instruction concerned; None for the launch as a whole.
        over_k: True if it is about a loop over the K of a matrix product, for `loop_words`.
    """

    evidence: dict[str, Figure]
    change: Change
    what: str
    address: int | None = None
    over_k: bool = False


Look = Callable[["Facts"], Seen | None]
"""A rule's function: its observation in a profile, or None."""


def loop_words(text: str, *, over_k: bool) -> str:
    """A rule's text with its `{loop}` and `{turn}` as readers of that kernel call them."""
    step = "step along K" if over_k else "turn"
    return text.format(loop="loop over K" if over_k else "loop", turn=step)


STALLED = 0.15
"""Fraction of the waves' time that a reason must take before a rule looks at it."""


@dataclass(frozen=True)
class Facts:
    """A profile in the form that rules read."""

    profile: Profiled = field(repr=False)

    @cached_property
    def model(self) -> TimeModel:
        assert self.profile.model is not None
        return self.profile.model

    @cached_property
    def code(self) -> dict[int, Instruction]:
        """Instructions that ran, by address."""
        assert self.profile.again is not None
        return dict(self.profile.again.launch.instructions)

    @cached_property
    def counts(self) -> dict[int, int]:
        """Number of executions, by instruction address."""
        return dict(self.profile.record.counts or {})

    @cached_property
    def loops(self) -> list[InnerLoop]:
        """The innermost loops, those with the most iterations first."""
        loops = inner_loops(self.code, self.counts)
        return sorted(
            (loop for loop in loops if loop.turns >= MANY_TURNS * self.waves), key=lambda o: -o.turns
        )

    @cached_property
    def decided_by_loads(self) -> set[int]:
        """Loads whose address depends on another load's result, from iteration to iteration of a loop."""
        ran = tuple(self.code[a] for a in sorted(self.counts) if self.counts[a] and a in self.code)
        loads = InnerLoop(ran, 1).decided_by_loads(turns=1)
        return loads.union(*(loop.decided_by_loads() for loop in self.loops))

    def is_over_k(self, loop: InnerLoop) -> bool:
        """True if a loop adds up products over the K of a matrix product.

        An operator's shape says whether there is a K. Without one, matrix instructions do that are alone:
        attention, whose loop is over keys, has exponentials among them.
        """
        if self.profile.shape:
            return {"n", "k"} <= set(self.profile.shape) and any(map(_adds_products, loop.code))
        matrix = any(i.record.matrix is not None for i in loop.code)
        return matrix and not any(Trait.TRANSCENDENTAL in i.record.traits for i in loop.code)

    @cached_property
    def has_k(self) -> bool:
        """True if the launch adds up products over the K of a matrix product."""
        ran = tuple(self.code[a] for a in sorted(self.counts) if self.counts[a] and a in self.code)
        # A short K may be a loop without turns.
        loops = [InnerLoop(ran, 1)] if self.profile.shape else self.loops
        return any(map(self.is_over_k, loops))

    @property
    def waves(self) -> int:
        """Waves of the launch."""
        return self.groups * -(-math.prod(self.profile.record.block) // self.profile.machine.target.wave_size)

    @cached_property
    def spent(self) -> dict[int, float]:
        """Share of all waves' time spent on each instruction, by address (`simulation.ChipRun.charged`)."""
        run = self.model.simulation
        if run is None:
            return {}
        cycles = run.charged(self.counts)
        whole = sum(cycles.values()) or 1.0
        return {address: share / whole for address, share in cycles.items()}

    def dearest(self, addresses: Iterable[int]) -> int:
        """The instruction, of some, that took the most time."""
        return max(sorted(addresses), key=lambda address: self.spent.get(address, 0.0))

    @property
    def waves_at_once(self) -> int:
        """Waves that a compute unit has at a time."""
        of_unit = -(-self.groups // int(self.profile.machine.compute_units))
        return min(self.profile.resources.occupancy.groups_per_cu, of_unit) * self.waves // self.groups

    @property
    def blocks(self) -> Sequence[Sequence[int]]:
        """Addresses of the basic blocks that ran."""
        return self.profile.record.steps.blocks if self.profile.record.steps is not None else ()

    def spent_on(self, addresses: Iterable[int]) -> float:
        """Fraction of the waves' time that was spent on some instructions."""
        return sum(self.spent.get(address, 0.0) for address in addresses)

    @cached_property
    def waited_for(self) -> dict[int, list[int]]:
        """Loads by the waits that ended with them."""
        run = self.model.simulation
        return {at: loads for (at, _), loads in wait_causes(run.unit).items()} if run is not None else {}

    @cached_property
    def stalls(self) -> dict[str, dict[int, float]]:
        """Share of all waves' time by stall reason and by the instruction before which waves stalled."""
        run = self.model.simulation
        if run is None:
            return {}
        life = sum(wave.end - wave.start for wave in run.unit.waves) or 1.0
        shares: dict[str, dict[int, float]] = {name: {} for name in REASONS}
        for number, name in enumerate(REASONS):
            for index in np.flatnonzero(run.unit.stalls[:, number]):
                address = run.unit.program.addresses[index]
                share = float(run.unit.stalls[index, number]) / life
                shares[name][address] = shares[name].get(address, 0.0) + share
        return shares

    def stalled(self, reason: str) -> tuple[float, int | None]:
        """Fraction of the waves' time that a reason took, and the instruction before which it was longest."""
        by_address = self.stalls.get(reason, {})
        return sum(by_address.values()), max(by_address, key=lambda a: by_address[a], default=None)

    def ran(self, matches: Callable[[Instruction], bool]) -> dict[int, int]:
        """Executions of the chosen instructions by address."""
        return {a: n for a, n in self.counts.items() if n and a in self.code and matches(self.code[a])}

    def costs(self, key: str) -> dict[int, float]:
        """A measure of the instructions (`profile.instructions`), by address; zeros are absent."""
        costs = self.profile.instructions
        return {a: v[key] for a, v in costs.values.items() if v.get(key)} if costs is not None else {}

    def counter(self, name: str) -> float:
        """A counter's value; 0 if it is missing."""
        figure = self.profile.counters.get(name)
        return figure.value if figure is not None else 0.0

    @property
    def groups(self) -> int:
        x, y, z = self.profile.record.grid
        return x * y * z


def _adds_products(instruction: Instruction) -> bool:
    arithmetic = instruction.record.arithmetic
    if instruction.record.matrix is not None:
        return True
    return arithmetic is not None and arithmetic.kind == "FMA"


def counted(value: float, unit: str = "") -> Figure:
    """A figure of the emulated device's counters."""
    return Figure(value, unit, Origin.COUNTED, "emulated device")


def modelled(value: float, unit: str = "", error: Expected | None = None) -> Figure:
    """A figure of the timing model; for a time, with its expected error."""
    return Figure(value, unit, Origin.MODELLED, "timing model", error)


def percent(share: float) -> Figure:
    """A share of the waves' time."""
    return modelled(round(100 * share, 1), "% of the waves' time")
