"""A profile as the rules of `profile.rules` read it, and what a rule answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from workbench.origin import Expected, Figure, Origin
from workbench.profile.simulation.unit import REASONS
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


class Profiled(Protocol):
    """What rules read of a profile (`profiler.ProfileResult`)."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> TimeModel | None: ...
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
    def argument_bytes(self) -> int: ...
    @property
    def work(self) -> Mapping[str, int]: ...
    @property
    def caches(self) -> Replayed | None: ...


@dataclass(frozen=True)
class Seen:
    """What a rule saw.

    Attributes:
        evidence: figures by what they are, each with its origin.
        change: whose gain is to be modelled.
        what: to do, in words.
        address: of the instruction that it is about; None for the launch as a whole.
    """

    evidence: dict[str, Figure]
    change: Change
    what: str
    address: int | None = None


@dataclass(frozen=True)
class Facts:
    """A profile as rules read it."""

    profile: Profiled = field(repr=False)

    @cached_property
    def model(self) -> TimeModel:
        assert self.profile.model is not None
        return self.profile.model

    @cached_property
    def code(self) -> dict[int, Instruction]:
        """Instructions that ran, by address."""
        assert self.profile.again is not None
        return dict(self.profile.again.instructions)

    @cached_property
    def counts(self) -> dict[int, int]:
        """Executions by address."""
        return dict(self.profile.record.counts or {})

    @cached_property
    def stalls(self) -> dict[str, dict[int, float]]:
        """Of each reason, the part of all waves' time that passed before each instruction."""
        run = self.model.simulation
        if run is None:
            return {}
        life = sum(wave.end - wave.start for wave in run.unit.waves) or 1.0
        found: dict[str, dict[int, float]] = {name: {} for name in REASONS}
        for number, name in enumerate(REASONS):
            for index in np.flatnonzero(run.unit.stalls[:, number]):
                address = run.unit.program.addresses[index]
                share = float(run.unit.stalls[index, number]) / life
                found[name][address] = found[name].get(address, 0.0) + share
        return found

    def stalled(self, reason: str) -> tuple[float, int | None]:
        """Part of the waves' time that a reason took, and the instruction before which most of it passed."""
        by_address = self.stalls.get(reason, {})
        return sum(by_address.values()), max(by_address, key=lambda a: by_address[a], default=None)

    def ran(self, chosen: Callable[[Instruction], bool]) -> dict[int, int]:
        """Executions of the chosen instructions by address."""
        return {a: n for a, n in self.counts.items() if n and a in self.code and chosen(self.code[a])}

    def costs(self, key: str) -> dict[int, float]:
        """A measure of the instructions (`profile.instructions`), by address; zeros are absent."""
        known = self.profile.instructions
        return {a: v[key] for a, v in known.values.items() if v.get(key)} if known is not None else {}

    def counter(self, name: str) -> float:
        """A counter's value; 0 where it is not there."""
        figure = self.profile.counters.get(name)
        return figure.value if figure is not None else 0.0

    @property
    def groups(self) -> int:
        x, y, z = self.profile.record.grid
        return x * y * z


def counted(value: float, unit: str = "") -> Figure:
    """A figure of the emulated device's counters."""
    return Figure(value, unit, Origin.COUNTED, "emulated device")


def modelled(value: float, unit: str = "", error: Expected | None = None) -> Figure:
    """A figure of the timing model; of a time, with how far it may be off."""
    return Figure(value, unit, Origin.MODELLED, "timing model", error)


def percent(share: float) -> Figure:
    """A share of the waves' time."""
    return modelled(round(100 * share, 1), "% of the waves' time")
