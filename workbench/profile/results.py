"""Results of profiles: counters, time, metrics and advice of a launch, or of an operator's launches."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.codeobject import printer
from workbench.display import Plotted, Shown
from workbench.errors import ProfilerError, UsageError
from workbench.operators import Shape, shape_text
from workbench.operators.launch_target import Target
from workbench.origin import Figure, Origin
from workbench.profile.counters import COUNTED_NOTE, NOTE, table_lines, visible
from workbench.profile.findings import Advice, advise, summed
from workbench.profile.instructions import InstructionProfile
from workbench.profile.machine import untimed
from workbench.profile.metrics import (
    ROOFS,
    TIME,
    WAVES_PER_SIMD,
    Measurement,
    derive,
)
from workbench.profile.model import TimeModel
from workbench.profile.rocprof import RocprofResult, export
from workbench.profile.stalls import Branch, stall_tree, wait_causes
from workbench.profile.time_range import TimeRange
from workbench.profile.timelines import Timeline, timeline_of
from workbench.profile.timing import TimeResult, sum_of_steps
from workbench.profile.what_if import Again, change_of
from workbench.targets import Product, is_timed

if TYPE_CHECKING:
    from workbench.kernel import Kernel, Resources
    from workbench.launches import Replayed
    from workbench.runtime import LaunchRecord

WHOLE = 4
"""Number of latest profiles that stay complete, since steps of thousands of waves are large."""

_whole: deque[ProfileResult] = deque(maxlen=WHOLE)


def keep_whole(result: ProfileResult) -> None:
    """Keeps a complete profile alive until `WHOLE` newer ones replace it."""
    _whole.append(result)


def waits_of(kernel: Kernel) -> dict[int, int]:
    """For each wait in a kernel's latest profile, the load that it waits for longest; empty without one."""
    for result in reversed(_whole):
        same = result.kernel is not None and result.kernel.name == kernel.name
        if not same or result.code != kernel.module.digest:
            continue
        if result.model is not None and result.model.simulation is not None:
            causes = wait_causes(result.model.simulation.unit)
            return {address: loads[0] for (address, _), loads in causes.items()}
    return {}


@dataclass
class Line:
    """Instructions and costs of one source line.

    Attributes:
        classes: wave instructions by class (`codeobject.instructions.PIPELINES`).
        issue_cycles: cycles that they occupy their pipeline, summed over waves; modelled (`profile.model`).
        values: value of each measure of `ProfileResult.instructions`, by its key.
    """

    classes: dict[str, int] = field(default_factory=dict)
    issue_cycles: int = 0
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileResult(Plotted):
    """The profile of a launch.

    Attributes:
        name, device: names of the kernel and the device.
        shape: the problem's shape; empty without a spec.
        counters: figures by rocprof's names (lower-case names for counters that rocprof does not have);
            counters that were not collected are absent.
        classes: wave instructions by class (`codeobject.instructions.PIPELINES`); empty on a GPU.
        lines: instructions and issue cycles by `(file, line)`; those of an inlined header function count for
            the line of the module's source that called it, a wait for its own line. Empty without debug info,
            and on a GPU.
        model: the timing model's result; None on a GPU, and on an emulated device without modelled times.
        work: "flops" and "bytes" of the problem, if known.
        record: record of the launch.
        resources: registers, LDS and occupancy of the kernel at this launch.
        machine: constants of the GPU, emulated or not.
        time_range: the range of its time, on an emulated device without modelled times; else None.
        argument_bytes: bytes of all tensors among the arguments, each counted once.
        missing: requested counters that are not available.
        rocprof: rocprofv3's results; None on an emulated device.
        instructions: costs of single instructions; None if they were not requested from a GPU.
        caches: counts of the modelled caches of each XCD; None on a GPU.
        remarks: remarks on a grid that does not fit the tensors, one sentence each (`grid_fit`).
        code: `Module.digest` of the code that ran.
        again: the launch, for modelling it again (`what_if`); None on a GPU.
        kernel: the code that ran, without a last launch, which would keep its tensors alive. None on a GPU.
        whole: weak reference to the complete result, if this one lacks its largest parts; None if this one is
            complete.
        figure: counters and the time's breakdown.
    """

    name: str
    device: str
    shape: Shape
    counters: Mapping[str, Figure]
    classes: Mapping[str, int]
    lines: Mapping[tuple[str, int], Line] = field(repr=False)
    model: TimeModel | None
    work: Mapping[str, int]
    record: LaunchRecord = field(repr=False)
    resources: Resources
    machine: Product = field(repr=False)
    argument_bytes: int = 0
    missing: tuple[str, ...] = ()
    rocprof: RocprofResult | None = field(default=None, repr=False)
    instructions: InstructionProfile | None = field(default=None, repr=False)
    caches: Replayed | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()
    code: str = ""
    again: Again | None = field(default=None, repr=False, compare=False)
    kernel: Kernel | None = field(default=None, repr=False, compare=False)
    time_range: TimeRange | None = None
    whole: weakref.ref[ProfileResult] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The launch itself belongs to this process.
        return {**self.__dict__, "again": None, "whole": None}

    def compact(self) -> ProfileResult:
        """The same without counts of every instruction, for storing many; it finds the rest here."""
        return replace(
            self,
            lines={},
            instructions=None,
            again=None,
            model=_without_spans(self.model),
            record=replace(self.record, counts=None, traffic=None, steps=None),
            whole=weakref.ref(self),
        )

    @property
    def complete(self) -> ProfileResult:
        """This profile with everything that was counted, if it still exists."""
        whole = self.whole() if self.whole is not None else None
        return whole if whole is not None else self

    def what_if(self, *, without: Collection[int] = (), **changes: float | bool | None) -> TimeModel:
        """The time that the launch would take if something about it were different, modelled.

        Args:
            without: addresses of instructions to leave out.
            changes: fields of `profile.what_if.Change`: `bank_conflicts=0`, `l2_hit=1.0`, `waves_per_simd=2`,
                `clock=2.1e9`, ...

        Raises:
            UsageError: an unknown change, a value out of range, or a profile of a GPU.
        """
        again = self.complete.again
        if again is None:
            raise UsageError(
                f"{self.name}: what_if needs a profile with counted instructions, which this one lacks; "
                "profile on an emulated device"
            )
        return again.model(change_of(without, **changes))

    @property
    def advice(self) -> Advice:
        """Advice on the launch, each finding with its evidence and its modelled gain."""
        return self.complete._advice

    @cached_property
    def _advice(self) -> Advice:
        return advise(self)

    @property
    def timeline(self) -> Timeline | None:
        """The timeline of a compute unit's waves; None if nothing was simulated."""
        whole = self.complete
        model, kernel = whole.model, whole.kernel
        if model is None or kernel is None or (run := model.simulation) is None or not len(run.unit.spans):
            return None
        return timeline_of(run, self.name, self.device, kernel, model.error)

    @property
    def stalls(self) -> Branch | None:
        """The launch's time as a tree from the chip to the instruction; None if nothing was simulated."""
        return self._stalls(by_wave=False)

    @property
    def wave_stalls(self) -> Branch | None:
        """`stalls` with levels for the SIMDs and waves of the simulated compute unit."""
        return self._stalls(by_wave=True)

    def _stalls(self, *, by_wave: bool) -> Branch | None:
        whole = self.complete
        if whole.model is None:
            return None
        module = whole.kernel.module if whole.kernel is not None else None
        if module is None:
            return stall_tree(whole.model, by_wave=by_wave)
        return stall_tree(
            whole.model,
            module.places_of,
            lambda address: printer.text(module.instruction(address)),
            by_wave=by_wave,
        )

    @property
    def of_roof(self) -> Measurement | None:
        """The roof of the roofline that the launch comes closest to; None if no rate is known."""
        rates = [m for name in ROOFS if (m := self.metrics[name]).share is not None]
        return max(rates, key=lambda m: m.share or 0.0, default=None)

    def __getitem__(self, name: str) -> Figure:
        return self.counters[name]

    @property
    def time(self) -> Figure:
        """Microseconds: modelled on an emulated device, measured by rocprofv3 on a GPU.

        Raises:
            ProfilerError: there is none; `has_time` says so before.
        """
        if not self.has_time:
            raise ProfilerError(f"{self.name}: {self.untimed}")
        if self.model is not None:
            return self.model.time
        if self.rocprof is not None and self.rocprof.median is not None:
            return Figure(self.rocprof.median, "us", Origin.MEASURED, f"rocprofv3, {self.device}")
        if self.record.elapsed is not None:
            return self.record.elapsed
        raise ProfilerError(f"{self.name}: this profile on {self.device} has no time")

    @property
    def has_time(self) -> bool:
        """False for a launch on an emulated device whose times are not modelled: it is counted alone."""
        return self.model is not None or self.rocprof is not None or is_timed(self.machine.target)

    @property
    def untimed(self) -> str:
        """Why there is no time, and the range in which it lies, in words."""
        words = untimed(self.machine)
        return words if self.time_range is None else f"{words}; {self.time_range}"

    @cached_property
    def metrics(self) -> Mapping[str, Measurement]:
        """Derived metrics by name (`profile.metrics.METRICS`); those not collected have no figure."""
        counters = {
            **self.counters,
            **({TIME: self.time} if self.has_time else {}),
            WAVES_PER_SIMD: Figure(
                self.resources.occupancy.waves_per_simd, "waves/SIMD", Origin.COUNTED, "code object"
            ),
        }
        if self.argument_bytes:
            counters["argument_bytes"] = Figure(
                self.argument_bytes, "bytes", Origin.COUNTED, "arguments of the launch, each byte once"
            )
        return derive(counters, self.machine)

    def to_rocprof_csv(self, folder: str | Path, name: str = "") -> list[Path]:
        """Writes counters and kernel trace in rocprofv3's CSV layout; see `profile.rocprof.export.write`."""
        return export.write(folder, self.record, self.resources, self.counters, self.time, self.machine, name)

    def __str__(self) -> str:
        size = shape_text(self.shape)
        time = (self.model or self.time) if self.has_time else self.untimed
        head = f"{self.name}{f' ({size})' if size else ''} on {self.device}: {time}"
        rows = table_lines(self.counters)
        rows += [f"  {m}" for m in self.metrics.values() if self.has_time or m.figure is not None]
        rows += [f"  {remark}" for remark in self.remarks]
        if self.missing:
            rows.append(f"  not collected: {', '.join(self.missing)}")
        if self.rocprof is not None:
            rows.append(f"  (measured by rocprofv3; commands and files in {self.rocprof.folder})")
        else:
            rows.append(f"  ({NOTE if self.has_time else COUNTED_NOTE})")
        return "\n".join([head, *rows])

    __repr__ = __str__

    @property
    def shown(self) -> list[tuple[str, Figure]]:
        """Counters worth a line."""
        return visible(self.counters)

    @property
    def timing(self) -> TimeResult:
        """The same launch in the form of a result of `time`."""
        return TimeResult(
            self.name,
            self.device,
            self.shape,
            self.time,
            self.time,
            self.time,
            0,
            self.work,
            self.model,
            code=self.code,
        )


class StepsProfile(Shown, Sequence[ProfileResult]):
    """Profiles of an operator's launches, in order, with their total.

    Attributes:
        name, device: names of the operator and the device.
        shape: the problem's shape.
        work: "flops" and "bytes" of the problem, if known.
        has_time: False on an emulated device whose times are not modelled.
    """

    def __init__(self, target: Target, results: Sequence[ProfileResult]) -> None:
        self.name = target.name
        self.device = target.device.name
        self.shape = target.shape
        self.work = target.work
        self._results = tuple(results)
        self.has_time = all(result.has_time for result in results)
        self._timing = sum_of_steps(target, [result.timing for result in results]) if self.has_time else None

    @property
    def timing(self) -> TimeResult:
        """The same launches as a result of `time`: the sum, and each launch in `.steps`.

        Raises:
            ProfilerError: there is no time; `has_time` says so before.
        """
        if self._timing is None:
            raise ProfilerError(f"{self.name}: {untimed(self._results[0].machine)}")
        return self._timing

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    @property
    def time(self) -> Figure:
        """Microseconds of all launches, one after the other."""
        return self.timing.median

    @property
    def advice(self) -> Advice:
        """Advice on the launches, with gains relative to all of them together."""
        timed = [(result.advice, result.time.value) for result in self._results]
        return summed(self.name, timed)

    @property
    def counters(self) -> Mapping[str, Figure]:
        """Sums over the launches, for counters that all of them have."""
        first, *others = (result.counters for result in self._results)
        return {
            name: replace(figure, value=figure.value + sum(other[name].value for other in others))
            for name, figure in first.items()
            if all(name in other for other in others)
        }

    def __repr__(self) -> str:
        time = self.time if self.has_time else untimed(self._results[0].machine)
        return "\n".join((f"{self.name}: {time}", *map(str, self._results)))


def _without_spans(model: TimeModel | None) -> TimeModel | None:
    if model is None or model.simulation is None:
        return model
    run = model.simulation
    unit = replace(run.unit, spans=run.unit.spans[:0].copy())
    return replace(model, simulation=replace(run, unit=unit))
