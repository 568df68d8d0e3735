"""Bounds of a launch's time on targets whose units are not simulated.

Little is published about the latencies of these targets, so there is no time, but a range. The least time
is what the busiest unit needs at its peak rate: no launch with cleared caches is faster. The most is
the bound of Brent's theorem: the work of all units without any overlap, and in each round of work-groups
one wave whose instructions wait for one another, with the latencies of `targets.timing.CHAIN`. Those are
mostly assumed. Waves of different length and contention are left out, so it is an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.origin import Figure, Origin
from workbench.profile.counters import Tally
from workbench.targets import CHAIN, Product

_RATES = {"IU8": "I8"}
"""Types of WMMA's inputs under other names than the rates'."""


@dataclass(frozen=True)
class TimeRange:
    """The range in which a launch's time is expected, from cleared caches.

    Attributes:
        least, most: in microseconds, both modelled; `most` is assumed (see this module).
        units: microseconds that each unit needs at its peak rate, by name.
        chain: microseconds that the waits within waves take in `most`.
    """

    least: Figure
    most: Figure
    units: Mapping[str, float] = field(default_factory=dict)
    chain: float = 0.0

    @property
    def bound(self) -> str:
        """The unit that needs `least`."""
        return max(self.units, key=lambda unit: self.units[unit])

    def __str__(self) -> str:
        return (
            f"at least {self.least.value:.3g} us ({self.bound} at its peak rate), at most about "
            f"{self.most.value:.3g} us (assumed: nothing overlaps, and latencies that nobody published)"
        )


def time_range(
    sums: Tally, machine: Product, groups: int, groups_per_unit: int, argument_bytes: int
) -> TimeRange:
    """The range of a launch.

    Args:
        sums: its counts.
        machine: the GPU.
        groups: work-groups of the launch.
        groups_per_unit: work-groups that a compute unit holds at once.
        argument_bytes: bytes of all tensors, each once.
    """
    target, clock, units = machine.target, int(machine.clock_hz), int(machine.compute_units)
    lanes_of_simds = int(target.simds) * units
    matrix = sum(sums.matrix_counts.values())
    vector = sums.count("valu", "trans", "mfma") - matrix
    rates = {kind: int(target.matrix_rates.get(_RATES.get(kind, kind), 0)) for kind in sums.matrix_ops}
    matrix_clocks = sum(ops / rates[kind] for kind, ops in sums.matrix_ops.items() if rates[kind]) / units
    moved = sum(
        sums.device.get(f"global_bytes_{way}", 0) + sums.device.get(f"scalar_bytes_{way}", 0)
        for way in ("read", "written")
    )
    lds = sums.device.get("lds_bytes_read", 0) + sums.device.get("lds_bytes_written", 0)
    memory = int(machine.hbm_bytes_per_second)
    seconds = {
        "vector ALU": vector / lanes_of_simds / clock,
        "matrix units": matrix_clocks / clock,
        "LDS": lds / target.lds_bytes_per_clock / units / clock,
        "memory": min(moved, argument_bytes or moved) / memory,
    }
    least = max(seconds.values())
    # What a wave waits if none of its instructions overlaps another.
    doubles = sum(count for (_, type_), count in sums.arithmetic.items() if type_ == "F64")
    cycles = (
        int(CHAIN.vector) * (sums.count("valu", "mfma") - doubles)
        + int(CHAIN.transcendental) * sums.count("trans")
        + int(CHAIN.double) * doubles
        + int(CHAIN.matrix) * matrix
        + int(CHAIN.scalar) * sums.count("salu", "internal", "message")
        + int(CHAIN.branch) * sums.count("branch")
        + int(CHAIN.lds) * sums.count("lds")
    )
    slow = clock * int(CHAIN.clock) / 100
    requests = sum(
        count for kind, count in sums.classes.items() if kind == "smem" or kind.startswith(("vmem", "flat"))
    )
    of_a_wave = (cycles / slow + requests * int(CHAIN.memory) * 1e-9) / max(1, sums.waves)
    rounds = -(-groups // (units * max(1, groups_per_unit)))
    chain = rounds * of_a_wave
    work = sum(needed * clock / slow for unit, needed in seconds.items() if unit != "memory")
    most = work + moved / memory * 100 / int(CHAIN.bandwidth) + chain

    def figure(value: float, source: str) -> Figure:
        return Figure(value * 1e6, "us", Origin.MODELLED, source)

    return TimeRange(
        figure(least, f"peak rates of {machine.name}, in docs/targets.md"),
        figure(most, f"assumed latencies of {machine.name}"),
        {unit: 1e6 * needed for unit, needed in seconds.items()},
        1e6 * chain,
    )
