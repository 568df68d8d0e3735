"""`torch.profiler` under `torch_as_gpu`: the device's kernels with their modelled times, beside PyTorch's
work.

PyTorch's own part of it, Kineto, has no events of a GPU here; the emulated device's clock adds them to
tables. They are not in Kineto's trace files.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

import torch
from torch.autograd import DeviceType, ProfilerState  # type: ignore[attr-defined]
from torch.autograd.profiler import profile
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity

from workbench.codeobject.names import demangle
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.runtime.backend import KernelTime

_ACTIVITIES = {ProfilerActivity.CPU, ProfilerActivity.CUDA}


@contextlib.contextmanager
def kernels_profiled(device: Device) -> Iterator[None]:
    """In this context, PyTorch's profilers list the kernels of a device, with modelled times."""

    def created(create: Callable[..., None]) -> Callable[..., None]:
        @wraps(create)
        def init(profiler: Any, *args: Any, **options: Any) -> None:
            # With the events that it has here, PyTorch refuses to profile only a GPU.
            profiler._hipkittens_alone = not options.get("use_cpu", True)
            create(profiler, *args, **{**options, "use_cpu": True})
            if getattr(profiler, "use_device", None) == "cuda":
                # Otherwise it would time its own functions with events of a GPU that does not exist.
                profiler.profiler_kind = ProfilerState.KINETO

        return init

    def started(start: Callable[[Any], None]) -> Callable[[Any], None]:
        @wraps(start)
        def begin(profiler: Any) -> None:
            if profiler.use_device == "cuda":
                profiler._hipkittens_before = device.kernel_times()
            start(profiler)

        return begin

    def stopped(stop: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(stop)
        def end(profiler: Any, *reason: Any) -> Any:
            result = stop(profiler, *reason)
            before = getattr(profiler, "_hipkittens_before", None)
            if before is not None:
                profiler._hipkittens_kernels = _kernel_events(before, device.kernel_times())
            return result

        return end

    def parsed(parse: Callable[..., list[FunctionEvent]]) -> Callable[..., list[FunctionEvent]]:
        @wraps(parse)
        def with_kernels(profiler: Any, *args: Any, **options: Any) -> list[FunctionEvent]:
            events = [] if profiler._hipkittens_alone else parse(profiler, *args, **options)
            return [*events, *getattr(profiler, "_hipkittens_kernels", ())]

        return with_kernels

    methods = {
        "__init__": created,
        "_start_trace": started,
        "__exit__": stopped,
        "_parse_kineto_results": parsed,
    }
    with Patches() as patches:
        for name, change in methods.items():
            patches.replace(profile, name, change(getattr(profile, name)))
        for owner in (torch.profiler, torch.profiler.profiler):
            patches.replace(owner, "supported_activities", lambda: set(_ACTIVITIES))
        yield


def _kernel_events(
    before: Mapping[str, KernelTime], after: Mapping[str, KernelTime]
) -> tuple[FunctionEvent, ...]:
    """One event per launch, in sequence: each takes the mean time of the kernel's launches."""
    events: list[FunctionEvent] = []
    start = 0.0
    for symbol, times in after.items():
        earlier = before.get(symbol, KernelTime(0, 0.0))
        launches = times.launches - earlier.launches
        for _ in range(launches):
            end = start + (times.seconds - earlier.seconds) / launches * 1e6
            events.append(
                FunctionEvent(
                    id=-1,
                    name=demangle(symbol),
                    thread=0,
                    start_us=start,
                    end_us=end,
                    input_shapes=[],
                    stack=[],
                    use_device="cuda",
                    device_type=DeviceType.CUDA,
                    device_index=0,
                )
            )
            start = end
    return tuple(events)


__all__ = ["kernels_profiled"]
