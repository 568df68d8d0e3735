"""One compute unit, cycle by cycle: inputs and results of the simulation in C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import WorkbenchError
from workbench.launches import WaveSteps
from workbench.profile.simulation.native import ffi, library, number
from workbench.profile.simulation.program import Program
from workbench.targets import LINE_BYTES, MI300X, Product

MEASURED_CLOCK_HZ = int(MI300X.clock_hz)
"""Clock at which latencies beyond L2, which has the fabric's clock, were measured in cycles."""

SLACK_CYCLES = 2000
"""Assumed time for which a unit may save up its share of a bandwidth, about two round trips to memory."""

_PARTS = [(part + 0.5) / number("PARTS") for part in range(number("PARTS"))]
SLOWEST = [
    [NormalDist().inv_cdf(part ** (1 / max(lines, 1))) for part in _PARTS]
    for lines in range(number("MOST_LINES") + 1)
]
"""[lines, parts] Standard deviations by which the slowest of so many lines is later than one on average, in
equally likely parts: latencies vary as normal variates."""

DISPATCH_CYCLES = 1
"""Cycles between the starts of two waves on a die: each of its four shader engines starts one every four
cycles, as published thread traces of an MI350X show (`targets.sources.TRACES`)."""

KINDS = (
    *("VALU", "MFMA", "SALU", "SMEM", "LDS", "LOAD", "STORE", "BRANCH", "WAIT", "BARRIER", "IDLE"),
    *("PRIORITY", "END", "OTHER"),
)
"""Kinds of instructions by their number in unit.h."""

REASONS: Mapping[str, str] = {
    "NONE": "issues",
    "WAIT_MEMORY": "waits for a load from memory",
    "WAIT_LDS": "waits for LDS",
    "WAIT_SCALAR": "waits for a scalar load",
    "AT_BARRIER": "waits for others at a barrier",
    "LDS_PORT": "LDS' queue is full",
    "MEMORY_QUEUE": "the queue of vector memory is full",
    "MATRIX_BUSY": "the matrix core is busy",
    "VECTOR_BUSY": "the vector ALU is busy",
    "DEPENDENCE": "needs a result that is in flight",
    "ISSUE": "another wave issues",
    "FETCH": "the instruction is being fetched",
    "IDLING": "s_nop or s_sleep",
}
"""Why a wave stalls, by the names in unit.h and in their order."""

assert all(number(name) == i for i, name in enumerate(KINDS))
assert number("KINDS") == len(KINDS)
assert number("REASONS") == len(REASONS)

SPAN = np.dtype(
    [
        ("start", "f8"), ("cycles", "f4"), ("op", "i4"), ("cause", "i4"), ("wave", "u4"), ("reason", "u1"),
        ("kind", "u1"), ("padding", "u2"), ("more", "u4"),
    ]
)  # fmt: skip
WAVE_STALL = np.dtype([("wave", "u4"), ("op", "u4"), ("reason", "u1"), ("cycles", "f4")])
"""Cycles for which one wave stalled before an instruction for a reason."""

MOST_WAVE_STALLS = 1 << 24
"""Maximum of waves times instructions times reasons for which stalls are recorded by wave."""

_SAME_NAMES = (
    *("turn", "lds_bus", "lds_issue", "lds_address", "lds_fill", "lds_queue", "shared_port"),
    *("l1_narrow", "l1_wide", "memory_queue", "in_flight"),
)
"""Fields that have the same name in `targets.Timing` and SimMachine."""

_CHASED = ("lds_latency", "scalar_hit", "atomic_latency")
"""The same for latencies. They are measured by chasing pointers, from one load to the next, which includes
the turn of the wait between them."""

assert SPAN.itemsize == ffi.sizeof("SimSpan")


@dataclass(frozen=True)
class UnitWave:
    """One wave's life.

    Attributes:
        group: position of its work-group among those that were run.
        wave: index of the wave in its work-group.
        simd: SIMD on which it ran.
        start, end: cycles.
        busy, stalled: cycles in which it issued, and all others; together its life.
    """

    group: int
    wave: int
    simd: int
    start: float
    end: float
    busy: float
    stalled: float


@dataclass(frozen=True)
class UnitRun:
    """The simulation of a compute unit.

    Attributes:
        program: program to whose instructions the indices refer.
        cycles: cycles until the last wave ended.
        group_ends: [work-groups] when each ended.
        waves: lives of the waves; those of a work-group follow each other.
        stalls: [instructions, reasons] cycles for which waves stalled before each instruction, all waves
            together.
        wave_stalls: of the type `WAVE_STALL`, the same by wave; empty unless spans were requested.
        charged: [instructions] the same cycles at their cause: a wait at the load that it ended with, a
            dependence at the instruction that wrote the register, a busy unit at the one that kept it busy.
        issued: [instructions] number of times that each was issued.
        busy: cycles that the units of a kind were busy, SIMDs added up.
        memory_busy: cycles of L1, and of the unit's shares of L2, Infinity Cache and HBM.
        spans: of the type `SPAN`, in order of their ends; empty unless requested.
        lost_spans: spans for which there was no room.
    """

    program: Program = field(repr=False)
    cycles: float
    group_ends: npt.NDArray[np.float64] = field(repr=False)
    waves: tuple[UnitWave, ...] = field(repr=False)
    stalls: npt.NDArray[np.float64] = field(repr=False)
    issued: npt.NDArray[np.float64] = field(repr=False)
    busy: Mapping[str, float]
    memory_busy: tuple[float, ...]
    spans: npt.NDArray[np.void] = field(repr=False)
    lost_spans: int = 0
    charged: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    wave_stalls: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, WAVE_STALL), repr=False)


def machine_record(
    product: Product, clock_hz: float, active: int, *, evicted: float = 0.0, fresh: bool = False
) -> dict[str, object]:
    """SimMachine of a compute unit while `active` units of the GPU request as much as it does.

    Args:
        product: the GPU.
        clock_hz: its engine clock.
        active: units that have work.
        evicted: lines that the Infinity Cache writes back to HBM for each line that enters it, read or
            written: it keeps written lines until another line needs their place.
        fresh: no launch used the memory shortly before.
    """
    timing = product.target.timing
    turn = int(timing.turn)

    def share(bytes_per_second: float) -> float:
        return LINE_BYTES / (bytes_per_second / active) * clock_hz

    def beyond(nanoseconds: float) -> float:
        """Cycles by which a latency exceeds L2's: that part does not follow the engine's clock."""
        return max(0.0, nanoseconds * 1e-9 - timing.l2_latency / MEASURED_CLOCK_HZ) * clock_hz

    def spread(nanoseconds: float | None) -> float:
        return (nanoseconds or 0.0) * 1e-9 * clock_hz

    infinity_latency = beyond(product.memory_latency_ns or product.hbm_latency_ns)
    hbm_latency = beyond(product.hbm_latency_ns)

    dies = min(product.xcds, active)
    assert product.l2_bytes_per_clock_per_xcd is not None, product.name
    l2 = product.l2_bytes_per_clock_per_xcd * product.l2_read / 100 * dies * clock_hz
    hbm = share(product.hbm_bytes_per_second * (product.hbm_fresh_read if fresh else product.hbm_read) / 100)
    infinity = share(product.infinity_cache_achievable)
    write = product.hbm_fresh_write if fresh else product.hbm_write
    written_back = evicted * share(product.hbm_bytes_per_second * write / 100)
    return {
        **{name: int(getattr(timing, name)) for name in _SAME_NAMES},
        **{name: getattr(timing, name) - turn for name in _CHASED},
        "taken": int(timing.taken_branch),
        "wave_start": int(timing.wave_start),
        # Nothing that a launch reads is in L2 when it starts; the host writes its arguments to memory anew.
        "scalar_first": timing.scalar_miss + infinity_latency - turn,
        "scalar_entry": timing.scalar_miss + hbm_latency - turn,
        "level_latency": [
            timing.l1_latency - turn,
            timing.l2_latency - turn,
            timing.l2_latency + infinity_latency - turn,
            timing.l2_latency + hbm_latency - turn,
        ],
        "level_cycles": [int(timing.l1_line), share(l2), infinity, hbm + written_back],
        "write_cycles": written_back,
        "slack": SLACK_CYCLES,
        "hbm_queue": product.hbm_queue_ns * 1e-9 * clock_hz,
        "slowest": SLOWEST,
        "level_spread": [0.0, 0.0, spread(product.memory_spread_ns), spread(product.hbm_spread_ns)],
        "atomic_cycles": timing.atomic * LINE_BYTES * active / (product.l2_bytes_per_clock_per_xcd * dies),
        "fetch_miss": int(timing.instruction_miss),
        "fetch_lines": timing.instruction_cache // LINE_BYTES,
        "fetch_ways": int(timing.instruction_ways),
    }


def run_unit(
    program: Program,
    groups: Sequence[Sequence[WaveSteps]],
    machine: Mapping[str, object],
    resident: int,
    *,
    dispatch: float = DISPATCH_CYCLES,
    spans: int = 0,
) -> UnitRun:
    """Runs work-groups on a compute unit.

    Args:
        program: the code.
        groups: steps of the waves of each work-group, in the order of dispatch.
        machine: from `machine_record`.
        resident: work-groups that it holds at once.
        dispatch: cycles between the starts of two waves.
        spans: spans that are kept at most.

    Raises:
        WorkbenchError: not enough memory, or waves that wait for one another forever.
    """
    waves = max(len(group) for group in groups)
    # Keeps the arrays of steps alive while C reads them.
    _kept, ways = _ways(groups, waves)
    count = len(program.ops)
    ends = np.zeros(len(groups))
    stalls = np.zeros((count, len(REASONS)))
    issued = np.zeros(count)
    charged = np.zeros(count)
    room = np.zeros(spans, dtype=SPAN)
    results = ffi.new("SimWaveResult[]", len(groups) * waves)
    by_wave = _room_by_wave(len(groups) * waves, count) if spans else None
    record, ops = ffi.new("SimMachine *", dict(machine)), program.records
    first = ffi.new("uint32_t[]", program.first)
    run = ffi.new(
        "SimRun *",
        {
            "machine": record,
            "ops": ops,
            "op_count": count,
            "block_count": len(program.first) - 1,
            "block_first": first,
            "ways": ways,
            "group_count": len(groups),
            "waves": waves,
            "scalar_lines": program.scalar_lines,
            "resident": min(resident, len(groups)),
            "dispatch": dispatch,
            "group_end": ffi.cast("double *", ends.ctypes.data),
            "results": results,
            "stalls": ffi.cast("double *", stalls.ctypes.data),
            "wave_stalls": ffi.cast("float *", by_wave.ctypes.data) if by_wave is not None else ffi.NULL,
            "charged": ffi.cast("double *", charged.ctypes.data),
            "issued": ffi.cast("double *", issued.ctypes.data),
            "spans": ffi.cast("SimSpan *", room.ctypes.data) if spans else ffi.NULL,
            "span_room": spans,
        },
    )
    library().sim_run(run)
    if run.failed:
        why = "there was no memory" if run.failed == 1 else "waves wait for one another forever"
        raise WorkbenchError(
            f"the simulation of a compute unit did not end: {why}. Report the kernel; "
            "`wb.profile` counts it without the simulation."
        )
    lives = (results[i * waves + k] for i, group in enumerate(groups) for k in range(len(group)))
    return UnitRun(
        program,
        run.cycles,
        ends,
        tuple(UnitWave(w.group, w.wave, w.simd, w.start, w.end, w.busy, w.stalled) for w in lives),
        stalls,
        issued,
        {name: run.busy[i] for i, name in enumerate(KINDS)},
        tuple(run.memory_busy),
        room[: min(spans, run.span_count)],
        max(0, int(run.span_count) - spans),
        charged=charged,
        wave_stalls=_by_wave(by_wave, len(groups), waves, [len(group) for group in groups]),
    )


def _ways(groups: Sequence[Sequence[WaveSteps]], waves: int) -> tuple[list[npt.NDArray[np.void]], Any]:
    """The steps of all waves as arrays, and their places: `waves` for each group."""
    ways, arrays = ffi.new("SimWay[]", len(groups) * waves), []
    for i, group in enumerate(groups):
        for k, wave in enumerate(group):
            arrays.append(steps := np.ascontiguousarray(wave.steps))
            ways[i * waves + k] = (ffi.cast("SimStep *", steps.ctypes.data), len(steps))
    return arrays, ways


def _room_by_wave(waves: int, ops: int) -> npt.NDArray[np.float32] | None:
    size = (waves, ops, len(REASONS))
    return np.zeros(size, dtype=np.float32) if np.prod(size) <= MOST_WAVE_STALLS else None


def _by_wave(
    stood: npt.NDArray[np.float32] | None, groups: int, waves: int, sizes: Sequence[int]
) -> npt.NDArray[np.void]:
    """Nonzero stalls by the waves' indices in `UnitRun.waves`."""
    if stood is None:
        return np.zeros(0, WAVE_STALL)
    there = np.concatenate([i * waves + np.arange(sizes[i]) for i in range(groups)])
    stood = stood[there]
    wave, op, reason = np.nonzero(stood)
    waits = np.zeros(len(wave), WAVE_STALL)
    waits["wave"], waits["op"], waits["reason"], waits["cycles"] = wave, op, reason, stood[wave, op, reason]
    return waits
