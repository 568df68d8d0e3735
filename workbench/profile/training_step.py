"""A profile of a training step: every launch with its module, pass and modelled time.

In the forward pass, a launch belongs to the module that is running; in the backward pass, to the module that
ran when PyTorch made the current node of the graph, which nodes show by their sequence numbers. On tensors of
"meta" nothing is launched, but calls are still collected, so any model can be forecast.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules import module as hooks

from workbench.display import Shown
from workbench.errors import UsageError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, recording, resolve_device
from workbench.kernel.launch import LastLaunch
from workbench.operators import kernels
from workbench.operators.call_events import Called, listening
from workbench.operators.parameters import Shape, shape_text
from workbench.origin import Expected, Figure
from workbench.profile.counting import counting_key
from workbench.profile.profiler import profile
from workbench.profile.results import ProfileResult, StepsProfile
from workbench.profile.timing import TimeResult, compact, time, time_on
from workbench.progress import track
from workbench.runtime import Device
from workbench.targets import PRODUCTS

GPUS = tuple(sorted(product.name for product in PRODUCTS if product.target.tiles))
OUTSIDE = "(no module)"
PHASES = ("forward", "recomputed", "backward")


@dataclass(frozen=True)
class Call:
    """One call of an operator, or one launch of a kernel outside any operator.

    Attributes:
        module: path of the module; "(no module)" outside all modules.
        phase: "forward", "backward", or "recomputed": forward again in the backward pass, by checkpointing.
        operator: name of the operator, or of the kernel.
        shape: shape of the operator; grid and block of a kernel.
        launches: number of launches; 0 on "meta".
    """

    module: str
    phase: str
    operator: str
    shape: Shape
    launches: int
    _again: tuple[Kernel, LastLaunch] | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for calls with equal times."""
        return (self.operator, *self.shape.items())

    @property
    def layer(self) -> str:
        """The module's path with * for the numbers of layers."""
        return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", self.module)


@dataclass(frozen=True)
class Row:
    """Calls of one operator at one shape, from the same module of all layers in one pass.

    Attributes:
        module, phase, operator, shape: as in `Call`; the module has * for layer numbers.
        calls: number of calls.
        time: total time in microseconds.
        share: share of the time of the step's kernels, 0 to 1.
        bound: limit of the time, as in `TimeModel.bound`; for several launches, that of the longest.
    """

    module: str
    phase: str
    operator: str
    shape: Shape
    calls: int
    time: Figure
    share: float
    bound: str


class StepProfile(Shown):
    """The launches of a training step on one device; `with profile_step() as step:` fills it.

    PyTorch's own computations, such as the optimizer and embeddings, are left out.

    Attributes:
        calls: calls in order.
        device: name of the device whose times are modelled.
    """

    _beside: tuple[StepProfile, ...] = ()
    """The same step on GPUs that count alike, including this one: a call is launched once for all of them."""

    def __init__(self, calls: Iterable[Call], device: str) -> None:
        self.calls = list(calls)
        self.device = device
        self._known: dict[tuple[Any, ...], TimeResult] = {}

    @cached_property
    def times(self) -> Mapping[tuple[Any, ...], TimeResult]:
        """The time of each different call, by `Call.key`: measured on a GPU, otherwise modelled.

        Each is launched again, large ones only in part.
        """
        first = {call.key: call for call in self.calls}
        results = {key: self.time_of(first[key]) for key in track(list(first), "times of a step's launches")}
        if results:
            hub.publish("step", self.device, self._light(results))
        return results

    def _light(self, times: Mapping[tuple[Any, ...], TimeResult]) -> StepProfile:
        """The same without tensors of launches and simulated waves, to be stored or sent."""
        copy = StepProfile([replace(call, _again=None) for call in self.calls], self.device)
        vars(copy)["times"] = {key: compact(time) for key, time in times.items()}
        return copy

    def time_of(self, call: Call) -> TimeResult:
        """The time of one call, launched again; for an operator on "meta", once for GPUs that count alike."""
        if call.operator in kernels and call._again is None:
            if call.key not in self._known:
                beside = self._beside or (self,)
                times = time_on([step.device for step in beside], call.operator, shape=call.shape)
                for step, result in zip(beside, times, strict=True):
                    step._known[call.key] = result
            return self._known[call.key]
        if call._again is None:
            raise UsageError(f"{call.operator} was launched by another process; read .times there first")
        kernel, launched = call._again
        return time(Launcher(kernel, launched.launch), *launched.args, **launched.kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the tensors of launches: their times are computed before."""
        calls = [replace(call, _again=None) for call in self.calls]
        times = {"times": dict(self.times)} if calls else {}
        return {"calls": calls, "device": self.device, "_known": {}, **times}

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Calls grouped by kind, the longest first."""
        grouped: dict[tuple[Any, ...], list[Call]] = {}
        for call in self.calls:
            grouped.setdefault((call.layer, call.phase, call.key), []).append(call)
        whole = self.total.value or 1.0
        rows = []
        for calls in grouped.values():
            result, first = self.times[calls[0].key], calls[0]
            spent = _times(result.median, len(calls))
            rows.append(
                Row(
                    *(first.layer, first.phase, first.operator, first.shape, len(calls), spent),
                    *(spent.value / whole, bound_of(result)),
                )
            )
        return tuple(sorted(rows, key=lambda row: -row.time.value))

    @cached_property
    def total(self) -> Figure:
        """Microseconds of all launches, one after the other."""
        if not self.calls:
            raise UsageError(
                "profile_step: nothing was launched; expected a step on the kernels within `with`"
            )
        return _sum([self.times[call.key].median for call in self.calls])

    def by_operator(self) -> dict[str, float]:
        """Microseconds by operator, the longest first."""
        return self._summed(lambda row: row.operator)

    def by_module(self) -> dict[str, float]:
        """Microseconds by module, with * for the numbers of layers, the longest first."""
        return self._summed(lambda row: row.module)

    def _summed(self, key: Callable[[Row], str]) -> dict[str, float]:
        sums: dict[str, float] = {}
        for row in self.rows:
            sums[key(row)] = sums.get(key(row), 0.0) + row.time.value
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def on(self, device: str) -> StepProfile:
        """The same calls with the times of another GPU, such as "MI300X".

        Kernels outside operators keep the times of the device that they ran on.
        """
        return StepProfile(self.calls, device if ":" in device else f"emulated:{device}")

    def forecast(self, gpus: Iterable[str] = GPUS) -> dict[str, StepProfile]:
        """The step on each GPU; those of one target that count alike launch its calls once, together."""
        steps = {gpu: self.on(gpu) for gpu in gpus}
        alike = {gpu: counting_key(resolve_device(step.device)) for gpu, step in steps.items()}
        for gpu, step in steps.items():
            step._beside = tuple(steps[other] for other in steps if alike[other] == alike[gpu])
        return steps

    def profile(self, row: Row) -> ProfileResult | StepsProfile:
        """Counters, line by line, of a row's operator at its shape.

        Raises:
            UsageError: the row's kernel does not belong to an operator; `wb.profile` takes its launch.
        """
        if row.operator not in kernels:
            raise UsageError(
                f"{row.operator} does not belong to an operator; profile its launch with wb.profile"
            )
        return profile(kernels[row.operator], shape=row.shape, device=self.device)

    def to_perfetto(self, path: str | Path) -> Path:
        """Writes a trace that Perfetto (ui.perfetto.dev) opens: modules within modules, operators below.

        Args:
            path: path of the file, JSON in the Trace Event Format; a microsecond there is a microsecond on
                the GPU.
        """
        file = Path(path)
        about = {"device": self.device, "times": str(self.total)}
        events = [
            {
                "ph": "M",
                "pid": 1,
                "tid": 1,
                "name": "process_name",
                "args": {"name": f"step on {self.device}"},
            },
            {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "modules and operators"}},
            *self._slices(),
        ]
        trace = {"displayTimeUnit": "ns", "otherData": about, "traceEvents": events}
        file.write_text(json.dumps(trace))
        return file

    def _slices(self) -> Iterator[dict[str, Any]]:
        """Nested slices: one for each run of calls that share a part of their path."""
        begun: list[tuple[str, float]] = []
        now = 0.0

        def ended(keep: int) -> Iterator[dict[str, Any]]:
            while len(begun) > keep:
                name, start = begun.pop()
                yield {"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": now - start, "name": name}

        for call in self.calls:
            path = [call.phase, *call.module.split(".")]
            same = 0
            while same < min(len(path), len(begun)) and begun[same][0] == path[same]:
                same += 1
            yield from ended(same)
            begun += [(name, now) for name in path[same:]]
            result = self.times[call.key]
            details = {"shape": shape_text(call.shape), "bound": bound_of(result), "time": str(result.median)}
            spent = result.median.value
            yield {
                **{"ph": "X", "pid": 1, "tid": 1, "ts": now, "dur": spent, "name": call.operator},
                **{"cat": call.phase, "args": details},
            }
            now += spent
        yield from ended(0)

    def __str__(self) -> str:
        lines = [f"{len(self.calls)} calls on {self.device}: {self.total}"]
        for row in self.rows:
            lines.append(
                f"{row.share:6.1%} {row.time.value:10.1f} us  {row.calls:4} x {row.operator:36} "
                f"{row.phase:10} {row.module}  {row.bound}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def bound_of(result: TimeResult) -> str:
    """The limiting part of a time, for several launches of the longest; "" if it was measured."""
    longest = max(result.steps or (result,), key=lambda part: part.median.value)
    return longest.model.bound if longest.model is not None else ""


def _sum(figures: list[Figure]) -> Figure:
    """The sum of figures of one origin; its error is as if all of them erred in the same direction."""
    whole, first = sum(f.value for f in figures), figures[0]
    errors = [(f.value, f.error) for f in figures if f.value and f.error is not None]
    error = None
    if errors:
        unknown = next((e for _, e in errors if not e.rows), None)
        error = unknown or Expected(
            min(e.rows for _, e in errors),
            sum(value * e.median for value, e in errors) / whole,
            whole / sum(value / e.low for value, e in errors),
            whole / sum(value / e.high for value, e in errors),
            "times as uncertain as the least known of its calls",
        )
    return Figure(whole, first.unit, first.origin, first.source, error)


def _dims(dims: tuple[int, int, int]) -> str:
    return " x ".join(map(str, dims))


def _times(figure: Figure, count: int) -> Figure:
    return replace(figure, value=figure.value * count)


class _Gathering:
    """Tracks the running module, and in the backward pass the module whose gradient is computed."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._running: list[str] = []
        # Sequence numbers of autograd's nodes from which a module was running.
        self._since: list[int] = [-1]
        self._module: list[str] = [OUTSIDE]

    def enter(self, module: torch.nn.Module, _: Any) -> None:
        if id(module) not in self._names:
            # The outermost module is the model, whose path is a prefix of all others.
            outermost = type(module).__name__
            self._names |= {id(child): path or outermost for path, child in module.named_modules()}
        self._running.append(self._names[id(module)])
        self._note()

    def leave(self, module: torch.nn.Module, *_: Any) -> None:
        if self._running:
            self._running.pop()
        self._note()

    def _note(self) -> None:
        self._since.append(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]
        self._module.append(self._running[-1] if self._running else OUTSIDE)

    def place(self) -> tuple[str, str]:
        """Module and phase of the running operator."""
        node = torch._C._current_autograd_node()
        if self._running:
            return self._running[-1], "forward" if node is None else "recomputed"
        if node is None:
            return OUTSIDE, "forward"
        at = bisect.bisect_right(self._since, node._sequence_nr()) - 1
        return self._module[at], "backward"


@contextlib.contextmanager
def profile_step(device: Device | str | None = None) -> Iterator[StepProfile]:
    """Records the launches of a training step inside a `with` block, by module, pass and operator.

        with wb.profile_step("MI355X") as step:
            model(input_ids=ids, labels=labels).loss.backward()
        print(step)                    # time, share and bound of each
        step.by_module(); step.forecast(); step.to_perfetto("step.json")

    With a model on "meta", nothing is launched: you can record a step of any size.

    Args:
        device: device whose times are modelled, as in `wb.device`, or a GPU's name; None for the default
            device. The step itself runs where its tensors are.
    """
    name = f"emulated:{device}" if isinstance(device, str) and device in GPUS else device
    step = StepProfile([], resolve_device(name).name)
    gathering = _Gathering()
    calls: list[tuple[int, Called, str, str]] = []
    launched = _Launched(gathering)
    with contextlib.ExitStack() as stack:
        stack.enter_context(recording(launched))
        stack.enter_context(listening(lambda call: calls.append((len(launched), call, *gathering.place()))))
        stack.callback(hooks.register_module_forward_pre_hook(gathering.enter).remove)
        stack.callback(hooks.register_module_forward_hook(gathering.leave, always_call=True).remove)
        # One thread: recorded launches are known by thread.
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        yield step
    step.calls.extend(_calls(calls, launched))


class _Launched(list[tuple[Kernel, LastLaunch]]):
    """Launches, with module and phase of each."""

    def __init__(self, gathering: _Gathering) -> None:
        super().__init__()
        self.places: list[tuple[str, str]] = []
        self._gathering = gathering

    def append(self, launch: tuple[Kernel, LastLaunch]) -> None:
        super().append(launch)
        self.places.append(self._gathering.place())


def _calls(calls: list[tuple[int, Called, str, str]], launched: _Launched) -> Iterator[Call]:
    """Calls of operators, and launches between them that do not belong to one."""

    def others(until: int) -> Iterator[Call]:
        for i in range(done, until):
            kernel, last = launched[i]
            size = {"grid": _dims(last.launch.grid), "block": _dims(last.launch.block)}
            yield Call(*launched.places[i], kernel.name, size, 1, (kernel, last))

    done = 0
    for before, call, module, phase in calls:
        yield from others(before)
        yield Call(module, phase, call.operator, call.shape, call.launches)
        done = before + call.launches
    yield from others(len(launched))
