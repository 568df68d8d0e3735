"""Modelled times of launches that programs made themselves, for the clock of HIP events."""

from __future__ import annotations

from functools import lru_cache

from workbench.kernel import Module
from workbench.launches import LaunchRecord, LaunchTimes
from workbench.profile.launch import QUANTITIES
from workbench.profile.timing import launch_times
from workbench.runtime import device


class _Model:
    """See `launches.LaunchModel`."""

    gap = QUANTITIES["events"].seconds
    graph_gap = QUANTITIES["graph"].seconds

    def times(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        kernels = _module(code).kernels.values()
        kernel = next(kernel for kernel in kernels if kernel.info.name == record.kernel)
        return launch_times(kernel, device(record.device), record, argument_bytes)


@lru_cache(maxsize=8)
def _module(code: bytes) -> Module:
    return Module(code, name="program")


MODEL = _Model()
