"""Times of kernels: measured on a GPU, modelled for an emulated one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.display import Plotted
from workbench.errors import DeviceError, UsageError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module, resolve_device
from workbench.operators import KernelSpec, Published, Shape, shape_text, spec_of
from workbench.operators.launch_target import Target, resolve
from workbench.origin import Figure, Origin
from workbench.profile.counting import counted, counting_key, machine_of
from workbench.profile.expected import expected
from workbench.profile.launch import QUANTITIES
from workbench.profile.measuring import measure, quantiles
from workbench.profile.model import CountedLaunch, TimeModel, model_time
from workbench.progress import track
from workbench.runtime import Device, LaunchRecord
from workbench.runtime.gpu import WHEEL


@dataclass(frozen=True)
class TimeResult(Plotted):
    """Time of one launch.

    Attributes:
        name, device: names of the kernel or operator and of the device.
        shape: the problem; empty without a spec.
        median: median of the runs, in microseconds, by events around each launch; for an emulated device the
            model's kernel time, as a profiler would report it (`quantity` says which).
        low, high: 10% and 90% quantiles of the runs; equal to `median` if modelled.
        runs: number of measured runs; 0 if modelled.
        warm: True if each run found the caches as the previous one left them; False if they were cleared.
        work: "flops" and "bytes" of the problem, if known.
        model: the model's breakdown; None if measured.
        wall: host time of the emulated launch that gave the counts, in seconds; None if measured.
        code: `Module.digest` of the code that ran; "" if unknown.
        steps: the launches of an operator with several; `median` is their sum.
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
        """The definition of `median`: kernel time if modelled, time between events if measured."""
        return QUANTITIES["kernel" if self.origin is Origin.MODELLED else "events"].description

    @property
    def events(self) -> Figure | None:
        """Time that events around the launch would show, as in most published tables; None if measured."""
        if self.origin is not Origin.MODELLED:
            return None
        launches = max(1, len(self.steps))
        return replace(self.median, value=self.median.value + launches * QUANTITIES["events"].seconds * 1e6)

    @property
    def rate(self) -> Figure | None:
        """TFLOP/s, if the work is known; of the same origin as the time."""
        return self._per_second("flops", "TFLOP/s", 1e12)

    @property
    def bandwidth(self) -> Figure | None:
        """TB/s of compulsory traffic, if the work is known; of the same origin as the time."""
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
        published: others' figures for the same kernel.
        figure: time, or rate if the work is known, over shapes, with published figures.
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
    `TimeResult.quantity` distinguishes events from a profiler's kernel time, which is some microseconds less.

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
        if not target.device.observes:
            result = _measure(target, warm)
        else:
            result = sum_of_steps(
                target, [_of_counts(launch, counted(launch, warm=warm), warm) for launch in target.launches()]
            )
    hub.publish("time", result.name, compact(result))
    return result


def time_on(
    devices: Iterable[Device | str], spec: KernelSpec | str, *, shape: Shape | None = None
) -> list[TimeResult]:
    """Times of an operator on several devices, in their order.

    Emulated GPUs that differ only in clocks, power and HBM count the same: a launch is counted once for all
    of them, and then modelled for each.

    Args:
        devices: the devices.
        spec: an operator, or its name.
        shape: the problem size; the operator's default if it is None.
    """
    resolved = [resolve_device(device) for device in devices]
    kinds: dict[Any, list[Device]] = {}
    for device in dict.fromkeys(resolved):
        kinds.setdefault(counting_key(device), []).append(device)
    by_device: dict[Device, TimeResult] = {}
    for alike in kinds.values():
        target = resolve(spec, shape=shape, device=alike[0])
        if len(alike) == 1:
            by_device[alike[0]] = time_target(target)
            continue
        steps: list[list[TimeResult]] = []
        with hub.failures("time", target.name, shape=target.shape, device=alike[0].name), hub.muted():
            for launch in target.launches():
                # Before the next launch: the model looks at the tensors of the last one.
                counts = counted(launch)
                steps.append(
                    [
                        _of_counts(
                            replace(launch, device=device), replace(counts, machine=machine_of(device)), False
                        )
                        for device in alike
                    ]
                )
        for device, times in zip(alike, zip(*steps, strict=True), strict=True):
            by_device[device] = sum_of_steps(replace(target, device=device), times)
            hub.publish("time", target.name, compact(by_device[device]))
    return [by_device[device] for device in resolved]


def compact(result: TimeResult) -> TimeResult:
    """A result without its simulated waves, to be stored or sent."""
    model = replace(result.model, simulation=None) if result.model is not None else None
    return replace(result, model=model, steps=tuple(map(compact, result.steps)))


def sweep(
    target: KernelSpec | str,
    shapes: Sequence[Shape] | None = None,
    *,
    seed: int = 0,
    device: Device | str | None = None,
    each: Callable[[TimeResult], None] | None = None,
) -> SweepResult:
    """Times over shapes of a spec; by default its own shapes.

    Args:
        target: a spec, or its name.
        shapes: problems by parameter name; a missing parameter takes its default.
        seed, device: as for `time`.
        each: called with each result as it comes, for live figures.

    Raises:
        ShapeError: the kernel does not support one of the shapes.
        UnknownKernel: no kernel has that name.
        UsageError: `target` is not a spec, or there are no shapes.
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


def modelled(
    target: Target, launch: CountedLaunch, *, spans: int = 0, warm: bool = False, in_turn: bool = False
) -> TimeModel:
    """The model's time of a counted launch, with its expected error.

    Args:
        target: the launched target.
        launch: its counts.
        spans, warm, in_turn: as for `model_time`.
    """
    model = model_time(launch, spans=spans, warm=warm, in_turn=in_turn)
    return replace(model, error=expected(target.spec, model.regime))


def _of_counts(target: Target, launch: CountedLaunch, warm: bool) -> TimeResult:
    """The time of a counted launch on the target's device, or on one that counts alike."""
    model = modelled(target, launch, warm=warm)
    wall = Figure(launch.record.wall_seconds, "s", Origin.MEASURED, "this computer's clock, emulation")
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
    device = target.device
    samples = measure(
        lambda: [_elapsed(part.run(None), device) for part in target.parts], target.name, device, warm=warm
    )
    whole = _of_samples(target, [sum(sample) for sample in samples], warm)
    if len(target.parts) == 1:
        return whole
    steps = [
        _of_samples(launch, [sample[i] for sample in samples], warm)
        for i, launch in enumerate(target.launches())
    ]
    return replace(whole, steps=tuple(steps))


def measure_call(call: Callable[[], Any], name: str, device: Device) -> TimeResult:
    """Time of anything that works on PyTorch's current stream of a GPU, such as PyTorch's own operators.

    Measured as `time` measures kernels: warm-up, caches cleared before each run, events around it, until the
    median is stable or 10 s have passed.

    Raises:
        DeviceError: the device is not a GPU.
    """
    import torch

    if device.observes:
        raise DeviceError(
            f"{name} runs on a GPU only, and {device.name} is emulated; choose a GPU to time it"
        )
    if device.torch_device == "cpu":
        raise DeviceError(
            f"{name} runs on {device.name} with a PyTorch for ROCm, and PyTorch here has none: {WHEEL}"
        )

    def run() -> tuple[float]:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return (1e3 * begin.elapsed_time(end),)

    samples = [microseconds for (microseconds,) in measure(run, name, device)]
    return TimeResult(name, device.name, {}, *quantiles(samples, device), len(samples))


def _elapsed(record: LaunchRecord, device: Device) -> float:
    if record.elapsed is None:
        raise DeviceError(f"{device.name} gave no event time for {record.kernel}")
    return record.elapsed.value


def _of_samples(target: Target, samples: Sequence[float], warm: bool) -> TimeResult:
    return TimeResult(
        target.name,
        target.device.name,
        target.shape,
        *quantiles(samples, target.device),
        len(samples),
        target.work,
        code=target.code,
        warm=warm,
    )
