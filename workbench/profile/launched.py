"""Modelled times of launches that programs made themselves, for the clock of HIP events."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from workbench.kernel import Kernel
from workbench.kernel.foreign import kernel_of
from workbench.launches import LaunchRecord, LaunchTimes
from workbench.operators.launch_target import Part, Target
from workbench.origin import Figure
from workbench.profile.counters import Tally, collect
from workbench.profile.counting import counted_whole, exact_tally, release
from workbench.profile.launch import QUANTITIES
from workbench.profile.model import TimeModel, memory_bytes
from workbench.profile.timing import modelled
from workbench.profile.waits import wait_counters
from workbench.runtime import Device, device
from workbench.targets import product


class _Model:
    """The model of launches; see `launches.LaunchModel`."""

    gap = QUANTITIES["events"].seconds
    graph_gap = QUANTITIES["graph"].seconds

    def __init__(self) -> None:
        # For launches that executed and accessed the same: programs repeat most of their launches.
        self._counted: dict[Hashable, Mapping[str, Figure]] = {}

    def times(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        return launch_times(_kernel(code, record), device(record.device), record, argument_bytes)

    def counters(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> Mapping[str, Figure]:
        assert record.counts is not None
        shape = record.kernel, record.device, record.grid, record.block, record.dynamic_shared, argument_bytes
        key = hash(code), shape, tuple(record.counts.items()), tuple(record.counters.items())
        figures = self._counted.get(key)
        if figures is None:
            if len(self._counted) >= _MOST_COUNTED:
                self._counted.clear()
            sums, model = launch_sums(_kernel(code, record), device(record.device), record, argument_bytes)
            if model is not None:
                sums = replace(sums, simulated=wait_counters(model, sums, record.counts))
            figures = self._counted[key] = collect(sums, record.device)
        return figures


def _kernel(code: bytes, record: LaunchRecord) -> Kernel:
    return kernel_of(code, record.kernel, device(record.device).arch)


_MOST_COUNTED = 1 << 10


def launch_times(kernel: Kernel, device: Device, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
    """Modelled time of a launch by a program.

    Args:
        kernel: kernel of the launch.
        device: emulated device of the launch.
        record: record with the options of `TIMED`; the call consumes it.
        argument_bytes: bytes of the memory that its arguments point to; the kernel may need only part of it.
    """
    target = _target(kernel, device, record)
    launch = counted_whole(target, record, warm=True)
    moved = memory_bytes(launch.tally)
    launch = replace(launch, argument_bytes=min(argument_bytes, moved))
    cold, warm = (modelled(target, launch, warm=warm) for warm in (False, True))
    release(record)
    return LaunchTimes(cold.seconds, warm.seconds, cold.overhead, cold.activity.get("units", 1.0), moved)


def launch_sums(
    kernel: Kernel, device: Device, record: LaunchRecord, argument_bytes: int
) -> tuple[Tally, TimeModel | None]:
    """Totals of a launch by a program, and its modelled time; None if the device has no model.

    Args:
        kernel, device, argument_bytes: see `launch_times`.
        record: record with the options of `COUNTED`; it remains usable for modelling the time.
    """
    target = _target(kernel, device, record)
    if product(str(device.properties.get("name", ""))).memory_latency_ns is None:
        return exact_tally(target, record, caches=False), None
    sums = exact_tally(target, record)
    launch = counted_whole(target, record)
    launch = replace(launch, argument_bytes=min(argument_bytes, memory_bytes(launch.tally)))
    return sums, modelled(target, launch)


def _target(kernel: Kernel, device: Device, record: LaunchRecord) -> Target:
    """A past launch, in the form of one that is still to come."""
    return Target(kernel.name, device, (Part("", kernel, lambda _: record),), {}, {})


MODEL = _Model()
