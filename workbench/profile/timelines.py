"""The simulated timeline of a launch: the waves of a compute unit from cycle to cycle.

Each wave has a lane, grouped by SIMD, with spans: an instruction from its issue on, or a stall with its
reason and what it waits for. All of it is modelled (`profile.simulation`); the work-groups and their waves'
instructions are those that the emulated device recorded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.display import Presented
from workbench.errors import UsageError, WorkbenchError
from workbench.kernel import Kernel, Launcher, Module
from workbench.operators import KernelSpec, Shape
from workbench.operators.launch_target import resolve
from workbench.origin import NEVER_COMPARED, Expected
from workbench.profile.counting import counted
from workbench.profile.simulation.chip import ChipRun
from workbench.profile.simulation.unit import KINDS, REASONS
from workbench.profile.timing import modelled
from workbench.runtime import Device

SPANS = 200_000
"""Maximum number of spans of a timeline by default."""

_REASONS = tuple(REASONS)
_FIRST_LANE = 2
"""Number of the first wave's thread in a trace: 0 is the idle task, 1 the whole kernel."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One wave of a timeline.

    Attributes:
        group: index of its work-group among those of the unit.
        wave: index of the wave in its work-group.
        simd: SIMD that runs it.
        start, end: cycles of its start and end.
    """

    group: int
    wave: int
    simd: int
    start: float
    end: float

    @property
    def name(self) -> str:
        """The lane's name: SIMD, work-group and wave."""
        return f"SIMD {self.simd}, work-group {self.group}, wave {self.wave}"


@dataclass(frozen=True, slots=True)
class Span:
    """An instruction or a stall of a wave.

    Attributes:
        lane: index into `Timeline.lanes`.
        start, cycles: start and duration in cycles; an instruction lasts as long as it occupies its unit.
        kind: class of the instruction that issues or stalls: one of `simulation.unit.KINDS`.
        reason: "" if it issues, else one of `simulation.unit.REASONS`.
        address: address of the instruction.
        waits_for: for a wait, the address of the load that ends it; for a barrier, the lane that arrives
            last; else None.
    """

    lane: int
    start: float
    cycles: float
    kind: str
    reason: str
    address: int
    waits_for: int | None


@dataclass(frozen=True)
class Timeline(Presented):
    """A compute unit's waves over time.

    Attributes:
        name, device: names of the kernel and the device.
        clock_hz: engine clock; one cycle is 1 / clock_hz seconds.
        cycles: cycles until the last of the simulated waves ended.
        lanes: waves, SIMD by SIMD.
        spans: spans in the order of their ends.
        lost: number of spans that did not fit.
        code: mnemonics of the instructions by address.
        kernel: the kernel.
        error: expected error of modelled times of such kernels.
    """

    name: str
    device: str
    clock_hz: float
    cycles: float
    lanes: tuple[Lane, ...] = field(repr=False)
    spans: tuple[Span, ...] = field(repr=False)
    lost: int
    code: Mapping[int, str] = field(repr=False)
    kernel: Kernel = field(repr=False)
    error: Expected = NEVER_COMPARED

    @property
    def provenance(self) -> str:
        """Origin and expected error of its times, as text."""
        return f"modelled, {self.error.short}"

    def stalls(self) -> dict[str, float]:
        """Cycles of stalls by reason, all lanes together, the longest first."""
        cycles: dict[str, float] = {}
        for span in self.spans:
            if span.reason:
                cycles[span.reason] = cycles.get(span.reason, 0.0) + span.cycles
        return dict(sorted(cycles.items(), key=lambda item: -item[1]))

    def places(self, span: Span) -> tuple[tuple[str, int], ...]:
        """Source file and line of a span's instruction, as `Module.places_of` has them."""
        return self.kernel.module.places_of(span.address)

    def beside(self, *others: Timeline) -> Timelines:
        """This timeline and others, shown one under the other on one scale."""
        return Timelines((self, *others))

    def to_perfetto(self, path: str | Path) -> Path:
        """Writes a trace that Perfetto (ui.perfetto.dev) opens; a nanosecond there is a cycle.

        Perfetto has no time between two nanoseconds: at the clock's own scale it would round starts and
        lengths, and drop spans that then overlap. An instruction ends where the wave's next span begins, as
        slices of a track may not overlap. The compute unit is a process, which Perfetto opens unfolded if
        there is no other; its first thread has the kernel's name, scale and expected error, the other threads
        are one wave each.

        Args:
            path: path of the file, JSON in the Trace Event Format.
        """
        file = Path(path)
        trace = {"displayTimeUnit": "ns", "otherData": self._about, "traceEvents": list(self._events())}
        file.write_text(json.dumps(trace))
        return file

    @property
    def _about(self) -> dict[str, Any]:
        return {
            "kernel": self.name,
            "device": self.device,
            "clock_hz": self.clock_hz,
            "times": self.provenance,
        }

    def _events(self) -> Iterator[dict[str, Any]]:
        scale = f"a nanosecond here is a cycle of {1e9 / self.clock_hz:.3g} ns"
        yield from _named("process_name", 1, f"{self.name} on {self.device}")
        yield from _named("thread_name", 1, "kernel")
        yield {
            **{"ph": "X", "pid": 1, "tid": 1, "ts": 0.0, "dur": self.cycles / 1000, "cat": "kernel"},
            **{"name": f"{self.name}: {scale}, {self.provenance}", "args": self._about},
        }
        for number, lane in enumerate(self.lanes):
            yield from _named("thread_name", number + _FIRST_LANE, lane.name)
        lines = {
            address: "{}:{}".format(*places[0])
            for address in self.code
            if (places := self.kernel.module.places_of(address))
        }
        until: dict[int, float] = {}
        for span in sorted(self.spans, key=lambda span: -span.start):
            cycles = min(span.cycles, until.get(span.lane, math.inf) - span.start)
            until[span.lane] = span.start
            arguments: dict[str, Any] = {"address": hex(span.address), "cycles": span.cycles}
            if span.address in lines:
                arguments["source"] = lines[span.address]
            if span.waits_for is not None and span.reason == "AT_BARRIER":
                arguments["waits for"] = self.lanes[span.waits_for].name
            elif span.waits_for is not None:
                arguments["waits for"] = f"{self.code[span.waits_for]} at {span.waits_for:#x}"
            yield {
                "ph": "X",
                "pid": 1,
                "tid": span.lane + _FIRST_LANE,
                "ts": span.start / 1000,
                "dur": cycles / 1000,
                "name": REASONS[span.reason] if span.reason else self.code[span.address],
                "cat": "stall" if span.reason else span.kind.lower(),
                "args": arguments,
            }

    def __str__(self) -> str:
        life = sum(lane.end - lane.start for lane in self.lanes) or 1.0
        shares = ", ".join(f"{REASONS[k]} {100 * v / life:.0f} %" for k, v in list(self.stalls().items())[:4])
        lost = f", {self.lost:,} more spans for which there was no room" if self.lost else ""
        return (
            f"{self.name} on {self.device}: {len(self.lanes)} waves of a compute unit over "
            f"{self.cycles:,.0f} cycles at {self.clock_hz / 1e6:,.0f} MHz ({self.provenance}), "
            f"{len(self.spans):,} spans{lost}; {shares}"
        )

    __repr__ = __str__


def _named(event_name: str, thread: int, name: str) -> Iterator[dict[str, Any]]:
    """The trace's events that name a process or a thread; viewers put threads in the order of their index."""
    event = {"ph": "M", "pid": 1, "tid": thread}
    yield {**event, "name": event_name, "args": {"name": name}}
    if event_name == "thread_name":
        yield {**event, "name": "thread_sort_index", "args": {"sort_index": thread}}


class Timelines(Presented, Sequence[Timeline]):
    """Timelines that are shown one under the other on one scale."""

    def __init__(self, timelines: Sequence[Timeline]) -> None:
        for line in timelines:
            if not isinstance(line, Timeline):
                raise UsageError(
                    f"beside: got a {type(line).__name__}; expected what `wb.timeline(...)` gives"
                )
        self._timelines = tuple(timelines)

    def __len__(self) -> int:
        return len(self._timelines)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._timelines[index]

    def __repr__(self) -> str:
        return "\n".join(map(str, self._timelines))


def timeline(
    target: KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    spans: int = SPANS,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    **kwargs: Any,
) -> Timeline:
    """Simulates the timeline of one compute unit in a launch.

    Args:
        target, args, spec, shape, seed, device, kwargs: see `time`.
        spans: maximum number of spans to keep; each wave instruction is one, and each stall.

    Raises:
        UsageError: `target` cannot be launched, or is an operator of several launches.
        DeviceError: the device is a GPU, which does not report the instructions of its waves.
        WorkbenchError: nothing was simulated.
    """
    prepared = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    prepared.device.check_observes("what each wave does from cycle to cycle")
    kernel = prepared.kernel
    model = modelled(prepared, counted(prepared), spans=spans)
    run = model.simulation
    if run is None:
        raise WorkbenchError(f"{prepared.name}: the launch recorded no wave, so it has no timeline")
    return timeline_of(run, prepared.name, prepared.device.name, kernel, model.error)


def timeline_of(run: ChipRun, name: str, device: str, kernel: Kernel, error: Expected) -> Timeline:
    """The timeline of a simulation that kept its spans; `error` is the expected error of its times."""
    unit = run.unit
    order = sorted(range(len(unit.waves)), key=lambda i: (unit.waves[i].simd, unit.waves[i].start, i))
    place = {wave: lane for lane, wave in enumerate(order)}
    lanes = tuple(Lane(w.group, w.wave, w.simd, w.start, w.end) for w in (unit.waves[wave] for wave in order))
    listed = unit.program.addresses
    spans = []
    for start, cycles, op, cause, wave, reason, kind in zip(
        *(unit.spans[name].tolist() for name in ("start", "cycles", "op", "cause", "wave", "reason", "kind")),
        strict=True,
    ):
        waits_for = None
        if cause >= 0:
            waits_for = place[cause] if _REASONS[reason] == "AT_BARRIER" else listed[cause]
        why = _REASONS[reason] if reason else ""
        spans.append(Span(place[wave], start, cycles, KINDS[kind], why, listed[op], waits_for))
    code = dict(zip(listed, unit.program.mnemonics, strict=True))
    return Timeline(
        name, device, run.clock_hz, unit.cycles, lanes, tuple(spans), unit.lost_spans, code, kernel, error
    )
