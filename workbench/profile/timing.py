"""Times of kernels: measured on a GPU, modelled for an emulated one."""

from __future__ import annotations

import statistics
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.codeobject import Instruction
from workbench.codeobject.occupancy import Occupancy
from workbench.display import Plotted
from workbench.errors import DeviceError, UsageError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module, resolve_device, torch_device
from workbench.launches import FEW_LINES, LaunchOptions, LaunchTimes, Replayed, StepOptions, TrafficOptions
from workbench.operators import KernelSpec, Published, Shape, shape_text, spec_of
from workbench.operators.launch_target import Part, Target, resolve
from workbench.origin import Figure, Origin
from workbench.profile import partial
from workbench.profile.counters import Tally, tally
from workbench.profile.expected import expected
from workbench.profile.grid_fit import remarks
from workbench.profile.launch import QUANTITIES
from workbench.profile.machine import hierarchy, machine
from workbench.profile.model import TimeModel, memory_bytes, model_time
from workbench.profile.operands import live_share
from workbench.profile.sampled import estimated_counters
from workbench.progress import track
from workbench.runtime import Device, LaunchRecord
from workbench.targets import LINE_BYTES, Product

CACHE_CLEAR_BYTES = 512 << 20
"""Written between two measured runs, so that none finds its data in a cache: twice the Infinity Cache."""

MIN_RUNS, MAX_RUNS = 20, 2000
WARM_UP_RUNS = 10
MAX_SECONDS = 10.0
STABLE = 0.005
"""Measuring stops when half the median's 95% interval is below this part of the median."""


@dataclass(frozen=True)
class TimeResult(Plotted):
    """Time of one launch.

    Attributes:
        name, device: what ran where.
        shape: the problem; empty where no spec says it.
        median: of the runs, in microseconds, by events around each launch; for an emulated device the model's
            kernel time, what a profiler would report (`quantity` says which).
        low, high: 10% and 90% quantiles of the runs; equal to `median` where modelled.
        runs: measured runs; 0 where modelled.
        warm: the caches were as the run before had left them; else cleared before each.
        work: "flops" and "bytes" of the problem, as far as known.
        model: the model's breakdown; None where measured.
        wall: host time of the emulated launch that gave the counts, in seconds; None where measured.
        code: `Module.digest` of what ran; "" where that is not known.
        steps: of an operator of several launches, each of them; `median` is their sum.
        figure: the model's breakdown, or the measured quantiles.
    """

    name: str
    device: str
    shape: Shape
    median: Figure
    low: Figure
    high: Figure
    runs: int
    work: Mapping[str, int] = field(default_factory=dict)
    model: TimeModel | None = None
    wall: Figure | None = None
    code: str = ""
    steps: tuple[TimeResult, ...] = ()
    warm: bool = False

    @property
    def origin(self) -> Origin:
        """Measured on a GPU, modelled on an emulated device."""
        return self.median.origin

    @property
    def quantity(self) -> str:
        """The definition of `median`: kernel time where modelled, time between events where measured."""
        return QUANTITIES["kernel" if self.origin is Origin.MODELLED else "events"].what

    @property
    def events(self) -> Figure | None:
        """Time that events around the launch would give, as in most published tables; None where measured."""
        if self.origin is not Origin.MODELLED:
            return None
        launches = max(1, len(self.steps))
        return replace(self.median, value=self.median.value + launches * QUANTITIES["events"].seconds * 1e6)

    @property
    def rate(self) -> Figure | None:
        """TFLOP/s, where the work is known; of the same origin as the time."""
        return self._per_second("flops", "TFLOP/s", 1e12)

    @property
    def bandwidth(self) -> Figure | None:
        """TB/s of compulsory traffic, where the work is known; of the same origin as the time."""
        return self._per_second("bytes", "TB/s", 1e12)

    def _per_second(self, key: str, unit: str, scale: float) -> Figure | None:
        if not self.work.get(key):
            return None
        value = self.work[key] / (self.median.value * 1e-6) / scale
        return replace(self.median, value=value, unit=unit)

    def __str__(self) -> str:
        size = shape_text(self.shape)
        text = f"{self.name}{f' ({size})' if size else ''} on {self.device}: {self.median}"
        if self.events is not None:
            text += f", by events around a launch {self.events.value:.4g} us"
        if self.runs:
            text += f", 10% to 90% of {self.runs} runs {self.low.value:.4g} to {self.high.value:.4g} us"
        if self.warm:
            text += ", caches as the launch before left them"
        for figure in (self.rate, self.bandwidth):
            if figure is not None:
                text += f", {figure.value:.4g} {figure.unit}"
        if self.model is not None:
            text += f"; {self.model.longest}"
        return "\n  ".join((text, *map(str, self.steps)))

    __repr__ = __str__


class SweepResult(Plotted, Sequence[TimeResult]):
    """Times over several shapes.

    Attributes:
        name: kernel or spec.
        published: figures of others for the same kernel.
        figure: time, or rate where the work is known, over shapes, with published figures.
    """

    def __init__(self, name: str, results: Sequence[TimeResult], published: Sequence[Published]) -> None:
        self.name = name
        self._results = tuple(results)
        self.published = tuple(published)

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        selected = self._results[index]
        return SweepResult(self.name, selected, self.published) if isinstance(index, slice) else selected

    def __iter__(self) -> Iterator[TimeResult]:
        return iter(self._results)

    def __repr__(self) -> str:
        return "\n".join(str(r) for r in self._results)


def time(
    target: KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    warm: bool = False,
    **kwargs: Any,
) -> TimeResult:
    """Times one launch.

    On a GPU it measures with HIP events around each run: it warms up, writes 512 MB between runs to clear the
    caches, and repeats until the median is stable or 10 s have passed. On an emulated device it counts one
    launch and models the time (`profile.model`); the result says "modelled" and how far off it may be.
    `TimeResult.quantity` tells events from a profiler's kernel time, which is some microseconds less.

    Args:
        target: a KernelSpec or its name; `kernel[grid, block]`, followed by its arguments; a kernel (or a
            module with one) with `spec`; a kernel that you launched before, to repeat that launch; or any
            function that launches kernels, with its arguments: it is called once, and its launches repeat.
        spec: run the kernel with this spec's launch and inputs.
        shape: the problem size of a spec; its default if it is None and you pass no tensors.
        seed: seed of a spec's inputs.
        device: a device or its name.
        warm: leave the caches as the previous run left them, as most published benchmark loops do; each of
            several launches in a row finds what it left itself.

    Raises:
        UsageError: `target` is none of these.
    """
    prepared = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    return time_target(prepared, warm=warm)


def time_target(target: Target, *, warm: bool = False) -> TimeResult:
    """Time of a prepared launch."""
    details = {"shape": target.shape, "device": target.device.name}
    with hub.failures("time", target.name, **details), hub.muted():
        if target.device.origin is Origin.MEASURED:
            result = _measure(target, warm)
        else:
            result = sum_of_steps(target, [_model(launch, warm) for launch in target.each()])
    hub.publish("time", result.name, light(result))
    return result


def time_on(
    devices: Iterable[Device | str], spec: KernelSpec | str, *, shape: Shape | None = None
) -> list[TimeResult]:
    """Times of an operator on several devices, in their order.

    Emulated GPUs that differ in clocks, power and HBM alone count the same: a launch is counted once for all
    of them, and then modelled for each.

    Args:
        devices: where.
        spec: an operator, or its name.
        shape: the problem size; the operator's default if it is None.
    """
    resolved = [resolve_device(device) for device in devices]
    kinds: dict[Any, list[Device]] = {}
    for device in dict.fromkeys(resolved):
        kinds.setdefault(counting(device), []).append(device)
    by_device: dict[Device, TimeResult] = {}
    for alike in kinds.values():
        target = resolve(spec, shape=shape, device=alike[0])
        if len(alike) == 1:
            by_device[alike[0]] = time_target(target)
            continue
        steps: list[list[TimeResult]] = []
        with hub.failures("time", target.name, shape=target.shape, device=alike[0].name), hub.muted():
            for launch in target.each():
                # Before the next launch: the model looks at the tensors of the last one.
                counts = counted(launch)
                steps.append([_of_counts(replace(launch, device=device), *counts, False) for device in alike])
        for device, times in zip(alike, zip(*steps, strict=True), strict=True):
            by_device[device] = sum_of_steps(replace(target, device=device), times)
            hub.publish("time", target.name, light(by_device[device]))
    return [by_device[device] for device in resolved]


def counting(device: Device) -> tuple[Any, ...]:
    """A key that is equal for emulated devices with equal counts; each measured GPU has its own."""
    if device.origin is Origin.MEASURED:
        return (device.name,)
    return (device.arch, device.numerics, hierarchy(_machine_of(device)))


def light(result: TimeResult) -> TimeResult:
    """A result without its simulated waves, to be remembered or sent."""
    model = replace(result.model, simulation=None) if result.model is not None else None
    return replace(result, model=model, steps=tuple(map(light, result.steps)))


def sweep(
    target: KernelSpec | str,
    shapes: Sequence[Shape] | None = None,
    *,
    seed: int = 0,
    device: Device | str | None = None,
    each: Callable[[TimeResult], None] | None = None,
) -> SweepResult:
    """Times over shapes of a spec, its own where none are given.

    Args:
        target: a spec, or its name.
        shapes: problems by parameter name; a missing parameter takes its default.
        seed, device: as for `time`.
        each: called with each result as it comes, for live figures.

    Raises:
        ShapeError: the kernel does not support one of the shapes.
        UnknownKernel: no kernel has that name.
        UsageError: `target` is no spec, or there are no shapes.
    """
    spec = spec_of(target, "sweep")
    problems = spec.shapes if shapes is None else shapes
    if not isinstance(problems, Sequence) or isinstance(problems, str) or not problems:
        raise UsageError(f"sweep: shapes is {problems!r}; expected a list of at least one shape")
    results = []
    for problem in track(problems, f"time {spec.name}", total=len(problems)):
        results.append(time(spec, shape=problem, seed=seed, device=device))
        hub.publish("progress", spec.name, {"done": len(results), "total": len(problems)})
        if each is not None:
            each(results[-1])
    result = SweepResult(spec.name, results, spec.published)
    hub.publish("sweep", spec.name, result)
    return result


def _instructions(target: Target, record: LaunchRecord) -> dict[int, Instruction]:
    module = target.kernel.module
    return {address: module.instruction(address) for address in record.counts or {}}


def _replay(target: Target, record: LaunchRecord, limit: int | None = None) -> Replayed:
    assert record.traffic is not None
    fits = _occupancy(target, record)
    return record.traffic.replay(hierarchy(_machine(target)), fits.groups_per_cu, limit=limit)


def _repeated(target: Target, record: LaunchRecord, once: Replayed, argument_bytes: int) -> Replayed:
    """The caches' counts when the launch is repeated.

    Of a launch that ran in part the Infinity Cache has the part that this is of all that it moves: it has to
    have as much room for the rest.
    """
    assert record.traffic is not None
    caches, fits = hierarchy(_machine(target)), _occupancy(target, record)
    total = once.total
    if record.steps is not None and not record.steps.is_whole and argument_bytes:
        moved = total.mall_read_misses * LINE_BYTES + total.memory_bytes_written
        share = min(1.0, moved / argument_bytes)
        caches = replace(caches, mall_bytes=max(1, round(caches.mall_bytes * share)))
    return record.traffic.replay(caches, fits.groups_per_cu, rounds=2)


def _in_rounds(target: Target, record: LaunchRecord, at_once: int) -> partial.Rounds:
    """The caches' counts in the two rounds of a launch that ran."""
    assert record.traffic is not None
    assert record.steps is not None
    traffic, caches, fits = record.traffic, hierarchy(_machine(target)), _occupancy(target, record)
    return partial.Rounds.of(
        record.steps, at_once, lambda first: traffic.replay(caches, fits.groups_per_cu, first=first)
    )


def _release(record: LaunchRecord) -> None:
    for recorded in (record.traffic, record.steps):
        if recorded is not None:
            recorded.release()


def _run_in_part(target: Target) -> tuple[LaunchRecord, int]:
    """A launch of which only some work-groups are profiled, and of a large one only some run.

    With it, how many work-groups the GPU holds at once, where only some ran.
    """
    alone = _may_run_in_part(target)
    units = _machine(target).compute_units

    def run(also: tuple[int, ...] | None) -> LaunchRecord:
        traffic = TrafficOptions(limit=FEW_LINES)
        return target.run(LaunchOptions(count=True, traffic=traffic, steps=_steps(target, also)))

    record = run(() if alone else None)
    if record.steps is None or record.steps.executed.all():
        return record, 0
    # The launch determines how many work-groups the GPU holds at once.
    at_once = units * _occupancy(target, record).groups_per_cu
    record = run(partial.further_groups(record.grid, at_once, rounds=_rounds(target)))
    if record.steps is not None and not partial.follows(record.steps, record.grid):
        record = run(None)
    return record, at_once


def _may_run_in_part(target: Target) -> bool:
    return target.fresh and partial.may_be_partial(target.kernel.instructions)


def _steps(target: Target, also: tuple[int, ...] | None) -> StepOptions:
    """The ways of some work-groups; of a large launch they alone run, and `also`, unless that is None."""
    units = _machine(target).compute_units
    return StepOptions(alone_from=partial.ROUNDS * units if also is not None else None, also=also or ())


def _rounds(target: Target) -> int:
    """Rounds of work-groups that run of a large launch: two where its tensors exceed the Infinity Cache."""
    return 2 if argument_bytes_of(target) > _machine(target).infinity_cache_bytes else 1


def _sums_in_part(
    target: Target, record: LaunchRecord, at_once: int, *, warm: bool = False
) -> tuple[LaunchRecord, Tally]:
    """A launch that `_run_in_part` ran, or a whole one, with the counts that its time is modelled from."""
    argument_bytes = argument_bytes_of(target)
    instructions = _instructions(target, record)
    part = partial.Part.of(record)
    record = part.whole(record, estimated_counters(record, instructions, part.counts))
    sums = tally(target.kernel.arch, record, instructions)
    if record.traffic is None:
        return record, sums
    if at_once and _rounds(target) > 1 and part.counts is not None:
        in_rounds = _in_rounds(target, record, at_once)
        sums.replayed, sums.repeated = in_rounds.cold(), in_rounds.warm() if warm else None
    else:
        once = _replay(target, record, FEW_LINES)
        sums.replayed = part.replayed(once, argument_bytes)
        if warm:
            again = _repeated(target, record, once, argument_bytes)
            sums.repeated = part.replayed(again, argument_bytes)
    return record, sums


def counted(target: Target, *, warm: bool = False) -> tuple[LaunchRecord, Tally]:
    """One launch on an emulated device, counted as far as its time needs it.

    What depends on addresses comes from some of the work-groups (`profile.sampled`), and of a large launch on
    tensors of its own only some work-groups run (`profile.partial`).

    Args:
        warm: what the caches do when the launch is repeated, too.

    Raises:
        DeviceError: the device is a GPU, which does not count this way.
    """
    target.device.check_observes(_COUNTS)
    record, sums = _sums_in_part(target, *_run_in_part(target), warm=warm)
    _release(record)
    return record, sums


_COUNTS = "how often each instruction ran (wb.profile reads counters by rocprofv3)"


@dataclass(frozen=True)
class Exactly:
    """One launch with every counter on, those of the caches too.

    Attributes:
        record, sums: the whole launch.
        timed, timed_sums: the same as `counted` has it, so that a profile's time is that of `time`.
        remarks: how the grid does not fit the tensors (`grid_fit`).
    """

    record: LaunchRecord
    sums: Tally
    timed: LaunchRecord
    timed_sums: Tally
    remarks: tuple[str, ...] = ()


_WATCHED = 1 << 24
"""Elements up to which it is kept who writes a tensor, 4 bytes each."""


def counted_exactly(target: Target) -> Exactly:
    """One launch on an emulated device with every counter on, which takes longer than `counted`.

    Raises:
        DeviceError: the device is a GPU, which does not count this way.
    """
    target.device.check_observes(_COUNTS)

    def run(also: tuple[int, ...] | None) -> LaunchRecord:
        steps = _steps(target, also)
        traffic = TrafficOptions(tensors=_WATCHED)
        return target.run(LaunchOptions(count=True, profile=True, traffic=traffic, steps=steps))

    record = run(() if _may_run_in_part(target) else None)
    if record.steps is None or record.steps.executed.all():
        timed, timed_sums = _sums_in_part(target, record, 0)
    else:
        _release(record)
        timed, timed_sums = counted(target)
        record = run(None)
    sums = tally(target.kernel.arch, record, _instructions(target, record))
    if record.traffic is not None:
        sums.replayed = _replay(target, record)
    fit = remarks(record)
    _release(record)
    return Exactly(record, sums, timed, timed_sums, fit)


def argument_bytes_of(target: Target) -> int:
    """Bytes of all tensors of the last launch, each once."""
    return target.kernel.last.argument_bytes if target.kernel.last is not None else 0


def _occupancy(target: Target, record: LaunchRecord) -> Occupancy:
    x, y, z = record.block
    return target.kernel.occupancy(x * y * z, record.dynamic_shared)


def _machine(target: Target) -> Product:
    return _machine_of(target.device)


def _machine_of(device: Device) -> Product:
    return machine(str(device.properties.get("name", "")), device.arch)


def launch_times(kernel: Kernel, device: Device, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
    """Modelled time of a launch that a program made itself.

    Args:
        kernel: what ran.
        device: an emulated one, where it ran.
        record: what the launch told, asked by `TIMED`; it is used up.
        argument_bytes: of the memory that its arguments point into, of which it may need but a part.
    """
    target = Target(kernel.name, device, (Part("", kernel, lambda _: record),), {}, {})
    whole, sums = _sums_in_part(target, record, 0, warm=True)
    moved = memory_bytes(sums)
    cold, warm = (
        modelled(target, whole, sums, warm=warm, argument_bytes=min(argument_bytes, moved))
        for warm in (False, True)
    )
    _release(record)
    return LaunchTimes(cold.seconds, warm.seconds, cold.overhead, cold.activity.get("units", 1.0), moved)


def live_operands(target: Target) -> float:
    """Part of the elements of the last launch's tensors that is not zero.

    Those that it writes do not count: of a launch that ran in part they have what lay in that memory before.
    """
    last = target.kernel.last
    if last is None:
        return 1.0
    written = {tensor.data_ptr() for tensor in target.results}
    arguments = (*last.args, *last.kwargs.values())
    return live_share(v for v in arguments if not hasattr(v, "data_ptr") or v.data_ptr() not in written)


def modelled(
    target: Target,
    record: LaunchRecord,
    sums: Tally,
    *,
    spans: int = 0,
    warm: bool = False,
    in_turn: bool = False,
    argument_bytes: int | None = None,
) -> TimeModel:
    """The model's time of a counted launch.

    Args:
        spans: of the simulated timeline that are kept at most.
        warm: of a launch that is repeated without clearing the caches.
        in_turn: of one among launches with other operands.
        argument_bytes: of all its tensors; None: of the last launch's.
    """
    model = model_time(
        sums,
        record,
        _occupancy(target, record),
        _machine(target),
        argument_bytes=argument_bytes_of(target) if argument_bytes is None else argument_bytes,
        instructions=_instructions(target, record),
        live=live_operands(target),
        spans=spans,
        warm=warm,
        in_turn=in_turn,
    )
    return replace(model, error=expected(target.spec, model.regime))


def _model(target: Target, warm: bool) -> TimeResult:
    return _of_counts(target, *counted(target, warm=warm), warm)


def _of_counts(target: Target, record: LaunchRecord, sums: Tally, warm: bool) -> TimeResult:
    """The time of a counted launch on the target's device, or on one that counts alike."""
    model = modelled(target, record, sums, warm=warm)
    wall = Figure(record.wall_seconds, "s", Origin.MEASURED, "this computer's clock, emulation")
    return TimeResult(
        target.name,
        target.device.name,
        target.shape,
        model.time,
        model.time,
        model.time,
        0,
        target.work,
        model,
        wall,
        target.kernel.module.digest,
        warm=warm,
    )


def sum_of_steps(target: Target, steps: Sequence[TimeResult]) -> TimeResult:
    """The time of a target from those of its launches, one after the other: the only one, or their sum."""
    if len(steps) == 1:
        return steps[0]

    def total(figures: Sequence[Figure]) -> Figure:
        return replace(figures[0], value=sum(figure.value for figure in figures))

    walls = [step.wall for step in steps if step.wall is not None]
    return TimeResult(
        target.name,
        target.device.name,
        target.shape,
        total([step.median for step in steps]),
        total([step.low for step in steps]),
        total([step.high for step in steps]),
        steps[0].runs,
        target.work,
        wall=total(walls) if walls else None,
        code=target.code,
        steps=tuple(steps),
        warm=steps[0].warm,
    )


def _measure(target: Target, warm: bool) -> TimeResult:
    clear = _cache_clearer(target.device) if not warm else lambda: None
    for _ in range(WARM_UP_RUNS):
        for part in target.parts:
            part.run(None)
    # The caches are cleared before the first step alone: the others find what it has left there.
    samples: list[list[float]] = []
    until = clock.monotonic() + MAX_SECONDS
    for _ in track(range(MAX_RUNS), f"time {target.name}"):
        clear()
        samples.append([_elapsed(part.run(None), target.device) for part in target.parts])
        done = clock.monotonic() > until or is_stable([sum(run) for run in samples])
        if len(samples) >= MIN_RUNS and done:
            break
    if len(target.parts) == 1:
        return _of_samples(target, [run[0] for run in samples], warm)
    steps = [_of_samples(part, [run[i] for run in samples], warm) for i, part in enumerate(target.each())]
    return replace(_of_samples(target, [sum(run) for run in samples], warm), steps=tuple(steps))


def measure_call(call: Callable[[], Any], name: str, device: Device) -> TimeResult:
    """Time of anything that works on PyTorch's current stream of a GPU, such as PyTorch's own operators.

    Measured as `time` measures kernels: warm-up, caches cleared before each run, events around it, until the
    median is stable or 10 s have passed.

    Raises:
        DeviceError: the device is no GPU.
    """
    import torch

    if device.origin is not Origin.MEASURED:
        raise DeviceError(
            f"{name} runs on a GPU only, and {device.name} is emulated; choose a GPU to time it"
        )
    clear = _cache_clearer(device)
    for _ in range(WARM_UP_RUNS):
        call()
    samples: list[float] = []
    until = clock.monotonic() + MAX_SECONDS
    while len(samples) < MAX_RUNS:
        clear()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        samples.append(1e3 * begin.elapsed_time(end))
        if len(samples) >= MIN_RUNS and (clock.monotonic() > until or is_stable(samples)):
            break
    deciles = statistics.quantiles(samples, n=10)
    median, low, high = (
        Figure(microseconds, "us", Origin.MEASURED, f"HIP events, {device.name}")
        for microseconds in (statistics.median(samples), deciles[0], deciles[-1])
    )
    return TimeResult(name, device.name, {}, median, low, high, len(samples))


def _elapsed(record: LaunchRecord, device: Device) -> float:
    if record.elapsed is None:
        raise DeviceError(f"{device.name} gave no event time for {record.kernel}")
    return record.elapsed.value


def _of_samples(target: Target, samples: Sequence[float], warm: bool) -> TimeResult:
    deciles = statistics.quantiles(samples, n=10)
    source = f"HIP events, {target.device.name}"

    def figure(value: float) -> Figure:
        return Figure(value, "us", Origin.MEASURED, source)

    return TimeResult(
        target.name,
        target.device.name,
        target.shape,
        figure(statistics.median(samples)),
        figure(deciles[0]),
        figure(deciles[-1]),
        len(samples),
        target.work,
        code=target.code,
        warm=warm,
    )


def is_stable(samples: Sequence[float]) -> bool:
    """True if the median is known to `STABLE`: half the distance of the ranks n/2 +- 0.98 sqrt(n) around it.

    These ranks bound the median with 95% confidence (binomial distribution of ranks, normal approximation).
    """
    ordered = sorted(samples)
    n = len(ordered)
    half = 0.98 * n**0.5
    low, high = max(0, int(n / 2 - half)), min(n - 1, int(n / 2 + half))
    return (ordered[high] - ordered[low]) / 2 <= STABLE * ordered[n // 2]


def _cache_clearer(device: Device) -> Callable[[], None]:
    import torch

    buffer = torch.empty(CACHE_CLEAR_BYTES, dtype=torch.int8, device=torch_device(device))

    def clear() -> None:
        buffer.zero_()
        torch.cuda.synchronize(buffer.device)

    return clear
