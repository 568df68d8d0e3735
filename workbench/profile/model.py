"""A timing model of a launch: compute units cycle by cycle, and lower bounds from each unit's work.

Every figure from it is modelled. If the emulated device recorded the paths of the waves of some work-groups,
`profile.simulation` runs them on a compute unit and distributes the rounds over the chip. The result, at the
clock that the GPU sustains under the load (`profile.clock`), is the time of the kernel, but never less than
each unit would need for its share of the work if it never waited:

    share = ceil(work-groups / CUs) / work-groups           of what follows falls on the busiest CU
    simds = min(4, waves of a work-group * work-groups that the CU holds)
    mfma  = share * MFMA cycles / simds                     by instruction, codeobject/instructions/matrix.py
    valu  = share * (turn * VALU + transcendental) / simds  64 lanes on 16-lane SIMDs
    salu  = share * (SALU + branches)                       one a cycle of a CU
    lds   = share * max(LDS cycles, LDS bytes / bytes a cycle)   with bank conflicts
    vmem  = share * vector memory instructions * cycles of the address unit
    l1    = share * requested bytes / bytes a cycle of a CU
    wave  = rounds * (issue, matrix cores and loads waited for by a wave, `profile.flow`)
            rounds = work-groups of the CU / work-groups that it holds at once
            a load takes as long as from the Infinity Cache; LDS, its latency after serving the
            work-group's waves in turn; times of a unit: `targets.Timing`
    l2    = requested bytes / L2 bandwidth                  of the whole GPU
    hbm   = compulsory bytes / memory bandwidth             of the whole GPU

`hbm` counts every argument's bytes once, but no more than were requested. Without recorded paths the longest
of these is the time. Dispatch and drain are added either way (`launch.DISPATCH_SECONDS`).

Nothing here is fitted to the times of kernels with which `tests/benchmarks/model_error.py` compares it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.codeobject.instructions import Access, Space
from workbench.origin import NEVER_COMPARED, Expected, Figure, Origin
from workbench.profile.clock import settled_clock, sustained_clock
from workbench.profile.expected import regime
from workbench.profile.flow import walk
from workbench.profile.launch import DISPATCH_SECONDS
from workbench.profile.machine import memory_latency_cycles
from workbench.profile.simulation.chip import ChipRun, levels_everywhere, levels_of, simulate_chip
from workbench.profile.simulation.program import FROM_L2, Adjust, Levels
from workbench.profile.simulation.unit import REASONS
from workbench.targets import LINE_BYTES, Product

if TYPE_CHECKING:
    from workbench.codeobject import Instruction
    from workbench.codeobject.instructions import Memory
    from workbench.codeobject.occupancy import Occupancy
    from workbench.profile.counters import Tally
    from workbench.runtime import LaunchRecord

_FAR = (Space.GLOBAL, Space.FLAT, Space.BUFFER)
"""Levels of memory behind L1 and L2 for vector memory instructions."""


def vector_cycles(tally: Tally, machine: Product) -> int:
    """Cycles that the vector ALUs are busy with a launch's instructions, all waves together."""
    timing = machine.target.timing
    return int(timing.turn * tally.count("valu") + timing.transcendental * tally.count("trans"))


def lds_cycles(device: Mapping[str, int], machine: Product) -> float:
    """Cycles that LDS serves the accesses of a launch, by banks or by bytes, whichever takes longer."""
    moved = device.get("lds_bytes_read", 0) + device.get("lds_bytes_written", 0)
    return max(device.get("lds_cycles", 0), moved / machine.target.lds_bytes_per_clock)


def lds_service_cycles(device: Mapping[str, int], sent: int, waves: int, machine: Product) -> float:
    """Cycles for which LDS is busy with one instruction and those of the work-group's other waves with it.

    The waves of a work-group meet at barriers, so they come to LDS together and are served in turn.

    Args:
        device: address-dependent counts of the launch.
        sent: LDS instructions of the launch.
        waves: waves of a work-group.
    """
    return lds_cycles(device, machine) / max(sent, 1) * waves


UNITS: Mapping[str, str] = {
    "mfma": "matrix cores",
    "valu": "vector ALUs",
    "salu": "scalar ALU",
    "lds": "LDS",
    "vmem": "memory address unit",
    "l1": "L1 cache bandwidth",
    "wave": "one wave, step by step",
    "l2": "L2 bandwidth",
    "infinity": "Infinity Cache bandwidth",
    "hbm": "HBM bandwidth",
}
"""Description of each unit of a breakdown."""

BESIDE_UNITS: Mapping[str, str] = {
    "waiting": "waits beyond the longest",
    "launch": "launch overhead",
}
"""Description of the parts of a breakdown in which no unit works."""

BOUND_SHARE = 0.7
"""A kernel that keeps no unit busy for this fraction of its time is bound by what its waves wait for."""


@dataclass(frozen=True)
class TimeModel:
    """A modelled time and its parts.

    Attributes:
        seconds: launch overhead plus the longest part.
        parts: seconds for which each unit is busy, by the keys of `UNITS`; "wave" if nothing was simulated.
        overhead: seconds of launch overhead.
        occupancy: waves that fit.
        machine: the constants used.
        wave: seconds of an average wave by activity: "issue" (and waiting for the matrix core), "memory" and
            "lds" (waiting for loads).
        error: expected error of the time.
        clock_hz: engine clock of the computation.
        activity: share of the kernel's cycles (0 to 1) in which the units of the whole chip are busy: "mfma",
            "valu", "lds", "hbm"; and "units", the share of the compute units that have work.
        waits: main reason why simulated waves stall, one of `simulation.unit.REASONS`; "" without a
            simulation.
        simulation: the simulated chip that the time is from; None if the launch's paths were not recorded, so
            that the time is that of the longest part.
        width: bytes that a lane moves in a vector memory instruction, on average; 0 if unknown.
        warm: the launch is a repetition.
    """

    seconds: float
    parts: Mapping[str, float]
    overhead: float
    occupancy: Occupancy
    machine: Product
    wave: Mapping[str, float] = field(default_factory=dict)
    error: Expected = NEVER_COMPARED
    clock_hz: float = 0.0
    activity: Mapping[str, float] = field(default_factory=dict)
    waits: str = ""
    simulation: ChipRun | None = field(default=None, repr=False, compare=False)
    width: float = 0.0
    warm: bool = False

    @property
    def regime(self) -> str:
        """The regime that determines its error, a key of `profile.expected.REGIMES`."""
        return regime(self.bound, self.seconds, self.width, warm=self.warm)

    @property
    def cycles(self) -> float:
        """Simulated engine cycles of the kernel, without the launch; 0 if nothing was simulated."""
        return self.simulation.cycles if self.simulation is not None else 0.0

    @property
    def bound(self) -> str:
        """The limiting part: "launch" if that is longer than the work and than the waits beyond it.

        Otherwise the key of the longest part, or, for a simulated launch whose longest part is much shorter
        than its time, the main reason in `REASONS` why its waves stall.
        """
        key = max(self.parts, key=lambda part: self.parts[part])
        if self.overhead > max(self.parts[key], self.waiting):
            return "launch"
        work = self.seconds - self.overhead
        return self.waits if self.waits and self.parts[key] < BOUND_SHARE * work else key

    @property
    def bound_text(self) -> str:
        """`bound` in words."""
        return {**UNITS, **REASONS}.get(self.bound, "launch overhead")

    @property
    def source(self) -> str:
        return f"timing model of {self.machine.name}"

    @property
    def time(self) -> Figure:
        """Kernel time, as a profiler reports it."""
        return self._figure(self.seconds)

    def _figure(self, seconds: float) -> Figure:
        return Figure(seconds * 1e6, "us", Origin.MODELLED, self.source, self.error)

    @property
    def waiting(self) -> float:
        """Seconds beyond launch and longest part, when even the busiest unit idles because waves stall."""
        return max(0.0, self.seconds - self.overhead - max(self.parts.values()))

    @property
    def breakdown(self) -> dict[str, Figure]:
        """Microseconds by unit, longest first, then "waiting" and "launch".

        Units are busy at the same time, so the first, "waiting" and "launch" together are the whole time.
        """
        order = sorted(self.parts, key=lambda part: -self.parts[part])
        figures = {p: self._figure(self.parts[p]) for p in order}
        return {**figures, "waiting": self._figure(self.waiting), "launch": self._figure(self.overhead)}

    @property
    def longest(self) -> str:
        """Launch overhead, the three longest parts and the wait beyond them, as text."""
        top = sorted(self.parts, key=lambda part: -self.parts[part])[:3]
        parts = ", ".join(f"{UNITS.get(p, p)} {self.parts[p] * 1e6:.3g} us" for p in top)
        text = f"launch {self.overhead * 1e6:.3g} us, longest {parts}"
        if self.waiting > 0:
            reason = f" ({REASONS[self.waits]})" if self.waits in REASONS else ""
            text += f"; beyond the longest, waves wait for {self.waiting * 1e6:.3g} us{reason}"
        return text

    def __str__(self) -> str:
        return f"{self.time}: {self.longest}"


@dataclass(frozen=True)
class CountedLaunch:
    """A launch counted by an emulated device, from which its time is modelled.

    Attributes:
        tally: the launch added up, device counters included.
        record: record of the launch; its waves are simulated cycle by cycle if their paths were recorded.
        occupancy: waves of this kernel and launch that fit a SIMD.
        machine: the GPU's constants.
        argument_bytes: bytes of all tensors among the launch's arguments, each once.
        instructions: instructions of the code by address, for the simulation.
        live: fraction of the operands that is not zero; zeros switch nothing, so the clock stays higher.
    """

    tally: Tally = field(repr=False)
    record: LaunchRecord = field(repr=False)
    occupancy: Occupancy
    machine: Product = field(repr=False)
    argument_bytes: int
    instructions: Mapping[int, Instruction] = field(default_factory=dict, repr=False)
    live: float = 1.0


def model_time(
    launch: CountedLaunch,
    *,
    clock_hz: float | None = None,
    spans: int = 0,
    warm: bool = False,
    in_turn: bool = False,
    adjust: Adjust | None = None,
) -> TimeModel:
    """The modelled time of a counted launch.

    Args:
        launch: the counted launch.
        clock_hz: engine clock; None for the one that the GPU sustains under this load (`profile.clock`), or
            without a simulation its peak.
        spans: maximum number of spans of the timeline to keep.
        warm: the launch repeats one that left the Infinity Cache as `Tally.repeated` found it.
        in_turn: the caches were not cleared by writing but by launches with other operands, as AITER's tuner
            does: their lines were only read, and need no write-back; and no launch used this one's memory
            shortly before.
        adjust: changes of instructions (`profile.what_if`).
    """
    if warm:
        launch = replace(launch, tally=replace(launch.tally, replayed=launch.tally.repeated))
    machine, tally = launch.machine, launch.tally
    if launch.record.steps is None:
        return _bound(launch, clock_hz or machine.clock_hz)
    simulation = _Simulation.from_launch(launch, spans, adjust, warm=warm, in_turn=in_turn)
    if clock_hz is not None:
        return simulation.at(clock_hz)

    models: dict[float, TimeModel] = {}

    def allowed(clock: float) -> float:
        models[clock] = simulation.at(clock)
        return sustained_clock(machine, models[clock].activity, kind=_matrix_type(tally), bits=launch.live)

    return models[settled_clock(machine.clock_hz, allowed)]


@dataclass(frozen=True)
class _Simulation:
    """The simulation of a launch, which can run at different clocks.

    Attributes:
        launch: what was counted; its bytes are those that memory has to move at least.
        traffic, evicted, width: `traffic_of`, `evicted_lines`, `access_width` of it.
        spans, adjust, warm, in_turn: as for `model_time`.
    """

    launch: CountedLaunch
    traffic: Mapping[int, Levels]
    evicted: float
    width: float
    spans: int
    adjust: Adjust | None
    warm: bool
    in_turn: bool

    @classmethod
    def from_launch(
        cls, launch: CountedLaunch, spans: int, adjust: Adjust | None, *, warm: bool, in_turn: bool
    ) -> _Simulation:
        tally, instructions, counts = launch.tally, launch.instructions, launch.record.counts or {}
        if warm:
            launch = replace(launch, argument_bytes=min(launch.argument_bytes, memory_bytes(tally)))
        streamed = streamed_parts(tally, counts, instructions)
        return cls(
            launch,
            traffic_of(tally, instructions),
            evicted_lines(tally, launch.machine, clean=warm or in_turn, streamed=streamed),
            access_width(counts, instructions),
            spans,
            adjust,
            warm,
            in_turn,
        )

    def at(self, clock: float) -> TimeModel:
        """The time at an engine clock, in Hz."""
        launch, machine = self.launch, self.launch.machine
        assert launch.record.steps is not None
        parts = _bound(launch, clock)
        run = simulate_chip(
            *(launch.record.steps, launch.instructions, launch.occupancy, machine, clock, self.traffic),
            evicted=self.evicted,
            fresh=self.in_turn,
            spans=self.spans,
            adjust=self.adjust,
        )
        # Lower bounds of any schedule: the busiest units' work, and all bytes that HBM moves.
        least = max(seconds for name, seconds in parts.parts.items() if name != "wave")
        seconds = max(run.seconds, least)
        shares = run.shares
        return replace(
            parts,
            parts=_simulated_parts(parts.parts, run),
            wave={
                name: run.seconds * sum(shares.get(reason, 0.0) for reason in of)
                for name, of in _OF_A_WAVE.items()
            },
            seconds=DISPATCH_SECONDS + seconds,
            activity=activity_of(launch.tally, machine, seconds * clock, clock, run),
            waits=max(_WAITS & shares.keys(), key=lambda name: shares[name], default=""),
            simulation=run,
            width=self.width,
            warm=self.warm,
        )


_WAITS = frozenset(REASONS) - {"NONE", "ISSUE", "IDLING"}
_OF_A_WAVE: Mapping[str, tuple[str, ...]] = {
    "issue": ("issue", "MATRIX_BUSY", "VECTOR_BUSY", "DEPENDENCE", "ISSUE"),
    "memory": ("WAIT_MEMORY", "WAIT_SCALAR", "MEMORY_QUEUE"),
    "lds": ("WAIT_LDS", "LDS_PORT"),
}
"""States of a simulated wave for `TimeModel.wave`; "issue" includes "waiting for the matrix core"."""


def _simulated_parts(parts: Mapping[str, float], run: ChipRun) -> dict[str, float]:
    """Seconds for which each unit is busy, with memory's minimum instead of a single wave's waits."""
    _, l2, infinity, hbm = (cycles / run.clock_hz for cycles in run.memory)
    levels = {"l2": l2, "infinity": infinity, "hbm": hbm}
    units = {name: seconds for name, seconds in parts.items() if name != "wave"}
    return {**units, **{name: max(units.get(name, 0.0), seconds) for name, seconds in levels.items()}}


def _matrix_type(tally: Tally) -> str:
    """The input type of most matrix operations; empty without any."""
    return max(tally.matrix_ops, key=lambda kind: tally.matrix_ops[kind], default="")


def activity_of(
    tally: Tally, machine: Product, cycles: float, clock_hz: float, run: ChipRun
) -> dict[str, float]:
    """Shares of the kernel's cycles in which the units of the whole chip are busy."""
    simds = machine.target.simds * machine.compute_units
    return {
        "mfma": min(1.0, tally.matrix_cycles / simds / cycles),
        "valu": min(1.0, vector_cycles(tally, machine) / simds / cycles),
        "lds": min(1.0, lds_cycles(tally.device, machine) / machine.compute_units / cycles),
        "hbm": min(1.0, memory_bytes(tally) / machine.hbm_bytes_per_second * clock_hz / cycles),
        "units": run.units / machine.compute_units,
    }


def memory_bytes(tally: Tally) -> int:
    """Bytes between the Infinity Cache and HBM; 0 if the caches were not modelled."""
    if tally.replayed is None:
        return 0
    total = tally.replayed.total
    return total.mall_read_misses * LINE_BYTES + total.memory_bytes_written


def evicted_lines(
    tally: Tally, machine: Product, *, clean: bool = False, streamed: tuple[float, float] = (0.0, 0.0)
) -> float:
    """Lines that the Infinity Cache writes back to HBM for each line that a launch brings into it.

    It keeps written lines until another line takes their place. A benchmark that clears the caches by writing
    to memory, as `wb.time` does on a GPU, leaves it full of such lines: each of the launch's first lines
    evicts one, until the launch has filled the cache; later lines evict the launch's own, of which only
    written ones go back. In a loop that writes nothing else (`clean`) it is full of such launches' lines from
    the start.

    Args:
        tally: the launch.
        machine: the GPU.
        clean: nothing was written in between.
        streamed: fractions of the reads from HBM, and of the writes, that non-temporal instructions make
            (`streamed_parts`). They evict nothing, and their writes go on to HBM.
    """
    brought = float(memory_bytes(tally))
    if tally.replayed is None or not brought:
        return 0.0
    written = float(tally.replayed.total.memory_bytes_written)
    if clean:
        return written / brought
    passing = streamed[1] * written
    lasting = brought - passing - streamed[0] * (brought - written)
    held = min(lasting, float(machine.infinity_cache_bytes))
    write_share = (written - passing) / lasting if lasting else 0.0
    return (held + (lasting - held) * write_share + passing) / brought


def _far_instructions(
    counts: Mapping[int, int], instructions: Mapping[int, Instruction]
) -> Iterator[tuple[Instruction, Memory, int]]:
    """Executed vector memory instructions other than LDS, with their type of access and executions."""
    for address, count in counts.items():
        instruction = instructions.get(address)
        memory = instruction.record.memory if instruction is not None else None
        if count and instruction is not None and memory is not None and memory.space in _FAR:
            yield instruction, memory, count


def access_width(counts: Mapping[int, int], instructions: Mapping[int, Instruction]) -> float:
    """Bytes that a lane moves in a vector memory instruction, on average over the executions."""
    moves = [
        (count * memory.bytes, count)
        for _, memory, count in _far_instructions(counts, instructions)
        if memory.access is not Access.NONE
    ]
    return sum(moved for moved, _ in moves) / (sum(count for _, count in moves) or 1)


def streamed_parts(
    tally: Tally, counts: Mapping[int, int], instructions: Mapping[int, Instruction]
) -> tuple[float, float]:
    """Fractions of a launch's reads from HBM, and of its writes, that non-temporal instructions make.

    A cache evicts their lines first ("nt" means streaming, in LLVM's guide to the target), so they take the
    same place one after the other.

    Args:
        tally: the launch.
        counts: executions by waves, by address.
        instructions: by address.
    """
    read, written = [0.0, 0.0], [0.0, 0.0]
    for instruction, memory, count in _far_instructions(counts, instructions):
        streams = bool(instruction.modifiers.get("nt"))
        if memory.access is Access.LOAD:
            served = tally.replayed.levels.get(instruction.address) if tally.replayed is not None else None
            read[streams] += served[-1] if served else 0
        elif memory.access is Access.STORE:
            written[streams] += count * memory.bytes
    return read[1] / (sum(read) or 1.0), written[1] / (sum(written) or 1.0)


def traffic_of(tally: Tally, instructions: Mapping[int, Instruction]) -> dict[int, Levels]:
    """Levels of memory that serve each vector memory instruction, by the model of the caches."""
    if tally.replayed is None:
        return {}
    total = tally.replayed.total

    def rate(hits: int, all_: int) -> float:
        return hits / all_ if all_ else 0.0

    l1 = rate(total.l1_read_hits, total.l1_reads)
    l2 = rate(total.l2_read_hits, total.l2_reads)
    infinity = rate(total.mall_read_hits, total.mall_read_hits + total.mall_read_misses)
    loads = levels_everywhere(l1, l2, infinity)
    sent = 64 * (total.l2_writes + total.l2_atomics)
    stored = min(1.0, rate(total.memory_bytes_written, sent))
    # Lines that L2 writes back stay in the Infinity Cache until other lines take their place.
    cached = min(1.0, rate(64 * total.fabric_writes_64 + 32 * total.fabric_writes_32, sent)) - stored
    levels: dict[int, Levels] = {}
    for address, instruction in instructions.items():
        memory = instruction.record.memory
        if memory is None or memory.space not in _FAR:
            continue
        served = tally.replayed.levels.get(address)
        if memory.access is Access.LOAD:
            levels[address] = levels_of(served) if served is not None else loads
        elif memory.access is Access.ATOMIC and served is not None:
            # A line that L2 fetches for it goes back as often.
            levels[address] = levels_of(served)
        elif memory.access is not Access.NONE:
            levels[address] = (0.0, 1.0 - stored - max(0.0, cached), max(0.0, cached), stored)
        else:
            levels[address] = FROM_L2
    return levels


def _bound(launch: CountedLaunch, clock_hz: float) -> TimeModel:
    """The longest of the units' times if none of them ever waited."""
    tally, occupancy, machine = launch.tally, launch.occupancy, launch.machine
    groups = math.prod(launch.record.grid)
    waves = tally.waves // groups
    per_cu = -(-groups // machine.compute_units)
    share = per_cu / groups
    simds = min(machine.target.simds, waves * min(per_cu, occupancy.groups_per_cu))
    device = tally.device
    requested = (
        device.get("global_bytes_read", 0)
        + device.get("global_bytes_written", 0)
        + device.get("scalar_bytes_read", 0)
    )
    memory = tally.count(
        "vmem_load", "vmem_store", "vmem_atomic", "vmem_other", "flat_load", "flat_store", "flat_atomic"
    )
    rounds = -(-per_cu // occupancy.groups_per_cu)
    timing = machine.target.timing
    wave = walk(
        tally.blocks,
        tally.waves,
        timing,
        memory_latency=memory_latency_cycles(machine),
        lds_cycles=lds_service_cycles(device, tally.count("lds"), waves, machine),
    )
    cycles = {
        "mfma": share * tally.matrix_cycles / simds,
        "valu": share * vector_cycles(tally, machine) / simds,
        "salu": share * tally.count("salu", "branch"),
        "lds": share * lds_cycles(device, machine),
        "vmem": share * timing.vmem_address * memory,
        "l1": share * requested / timing.l1_bytes_per_cycle,
        "wave": rounds * wave.total,
    }
    parts = {name: value / clock_hz for name, value in cycles.items()}
    parts["l2"] = requested / machine.l2_bytes_per_second * machine.clock_hz / clock_hz
    parts["hbm"] = min(requested, launch.argument_bytes) / machine.hbm_bytes_per_second
    return TimeModel(
        DISPATCH_SECONDS + max(parts.values()),
        parts,
        DISPATCH_SECONDS,
        occupancy,
        machine,
        {
            name: rounds * value / clock_hz
            for name, value in (("issue", wave.issue), ("memory", wave.memory), ("lds", wave.lds))
        },
        clock_hz=clock_hz,
    )
