"""Modelled times of launches that programs made themselves, for the clock of HIP events."""

from __future__ import annotations

from functools import lru_cache

from workbench.codeobject.names import instance_name
from workbench.kernel import Kernel, Module
from workbench.launches import LaunchRecord, LaunchTimes
from workbench.profile.launch import QUANTITIES
from workbench.profile.timing import launch_times
from workbench.runtime import device


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


@lru_cache(maxsize=8)
def _module(code: bytes, arch: str) -> Module:
    return Module(code, name="program", arch=arch)


MODEL = _Model()
