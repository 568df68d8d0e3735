"""The measurement behind the Run buttons."""

from __future__ import annotations

from workbench.operators import KernelSpec, Shape
from workbench.operators.launch_target import resolve
from workbench.profile.profiler import profile_target
from workbench.profile.results import ProfileResult, StepsProfile
from workbench.profile.timing import TimeResult, time_target


def measure_launch(spec: KernelSpec, shape: Shape, device: str) -> ProfileResult | StepsProfile | TimeResult:
    """One launch: profiled on a device that counts anyway, timed on any other."""
    target = resolve(spec, shape=shape, device=device)
    return profile_target(target) if target.device.observes else time_target(target)
