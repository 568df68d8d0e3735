"""Modelled times of launches that programs made themselves, for the clock of HIP events."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from workbench.codeobject.names import instance_name
from workbench.kernel import Kernel, Module
from workbench.launches import LaunchRecord, LaunchTimes
from workbench.operators.launch_target import Part, Target
from workbench.profile.counting import counted_whole, release
from workbench.profile.launch import QUANTITIES
from workbench.profile.model import memory_bytes
from workbench.profile.timing import modelled
from workbench.runtime import Device, device


class _Model:
    """See `launches.LaunchModel`."""

    gap = QUANTITIES["events"].seconds
    graph_gap = QUANTITIES["graph"].seconds

    def times(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        where = device(record.device)
        module = _module(code, where.arch)
        info = module.code_object.kernels[record.kernel]
        kernel = Kernel(module, info, instance_name(info.demangled))
        return launch_times(kernel, where, record, argument_bytes)


def launch_times(kernel: Kernel, device: Device, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
    """Modelled time of a launch that a program made itself.

    Args:
        kernel: what ran.
        device: an emulated one, where it ran.
        record: what the launch told, asked by `TIMED`; it is used up.
        argument_bytes: of the memory that its arguments point into, of which it may need but a part.
    """
    target = Target(kernel.name, device, (Part("", kernel, lambda _: record),), {}, {})
    launch = counted_whole(target, record, warm=True)
    moved = memory_bytes(launch.tally)
    launch = replace(launch, argument_bytes=min(argument_bytes, moved))
    cold, warm = (modelled(target, launch, warm=warm) for warm in (False, True))
    release(record)
    return LaunchTimes(cold.seconds, warm.seconds, cold.overhead, cold.activity.get("units", 1.0), moved)


@lru_cache(maxsize=8)
def _module(code: bytes, arch: str) -> Module:
    return Module(code, name="program", arch=arch)


MODEL = _Model()
