"""Profiles of launches: counted and modelled on an emulated device, measured by rocprofv3 on a GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench import targets
from workbench.errors import ProfilerError
from workbench.events import hub
from workbench.operators import KernelSpec, Shape
from workbench.operators.launch_target import Target, resolve
from workbench.origin import Figure, Origin
from workbench.profile.counters import COUNTERS, collect
from workbench.profile.counting import argument_bytes_of, counted_exactly
from workbench.profile.findings import Advice
from workbench.profile.instructions import InstructionProfile, remember
from workbench.profile.instructions import counted as counted_instructions
from workbench.profile.instructions import measured as measured_instructions
from workbench.profile.issue import issue_cycles
from workbench.profile.machine import machine, untimed
from workbench.profile.metrics import (
    GPU_COUNTERS,
)
from workbench.profile.results import Line, ProfileResult, StepsProfile, keep_whole
from workbench.profile.rocprof import collect as run_rocprof
from workbench.profile.time_range import time_range
from workbench.profile.timing import modelled
from workbench.profile.waits import wait_counters
from workbench.profile.what_if import Again

if TYPE_CHECKING:
    from workbench.kernel import Kernel, Launcher, Module, Resources
    from workbench.runtime import Device, LaunchRecord

SPANS = 100_000
"""Maximum number of spans of the timeline that a profile keeps."""


def advice(
    target: ProfileResult | StepsProfile | KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    **kwargs: Any,
) -> Advice:
    """Finds worthwhile changes to a launch: each finding has its evidence, its line and the modelled gain.

    Args:
        target: a result of `profile`, or something to launch, as for `time`.
        args, spec, shape, seed, device, kwargs: see `time`.

    Raises:
        UsageError: `target` cannot be launched.
        DeviceError: the device is a GPU, whose launches the model cannot repeat.
    """
    if isinstance(target, ProfileResult | StepsProfile):
        return target.advice
    prepared = resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device)
    prepared.device.check_observes("what each instruction costs")
    return profile_target(prepared).advice


def profile(
    target: KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    counters: Sequence[str] | None = None,
    thread_trace: bool = False,
    pc_sampling: bool | str = False,
    **kwargs: Any,
) -> ProfileResult | StepsProfile:
    """Counts a launch's events under rocprof's names; for an operator of several launches, those of each.

    Arguments as for `time`.

    An emulated device counts while the launch runs. On a GPU, rocprofv3 replays the launch in a child
    process, in as many passes as the counters need (`profile.rocprof`).

    Args:
        counters: names of counters. None means those of `metrics.GPU_COUNTERS` on a GPU, and all on an
            emulated device. `.missing` lists those that an emulated device cannot count.
        thread_trace: on a GPU, also collect the cycles of every instruction (`rocprofv3 --att`) in
            `.rocprof.instructions`. An emulated device always counts every instruction.
        pc_sampling: on a GPU, sample the instructions at which waves are: "stochastic" (also True) or
            "host_trap".

    Raises:
        UsageError: `target` cannot be launched, or there is no such sampling method.
        ProfilerError: rocprofv3 is missing, has no permission, rejected a counter or took too long.
    """
    return profile_target(
        resolve(target, args, kwargs, spec=spec, shape=shape, seed=seed, device=device),
        counters,
        thread_trace=thread_trace,
        pc_sampling=pc_sampling,
    )


def profile_target(
    target: Target,
    counters: Sequence[str] | None = None,
    *,
    thread_trace: bool = False,
    pc_sampling: bool | str = False,
) -> ProfileResult | StepsProfile:
    """Counters of a prepared launch; see `profile`."""
    results = [_profiled(launch, counters, thread_trace, pc_sampling) for launch in target.launches()]
    return results[0] if len(results) == 1 else StepsProfile(target, results)


def _profiled(
    target: Target,
    counters: Sequence[str] | None,
    thread_trace: bool,
    pc_sampling: bool | str,
) -> ProfileResult:
    details = {"shape": target.shape, "device": target.device.name}
    with hub.failures("profile", target.name, **details), hub.muted():
        if target.device.observes:
            result = _counted(target, counters)
        else:
            result = _measured(target, counters, thread_trace, pc_sampling)
    # The hub stores many of these; counts of every instruction would be most of their size.
    remember(target.kernel, result.instructions)
    keep_whole(result)
    # Figures compare times, so a launch without one is in none of them; logs say that it was counted.
    if result.has_time:
        hub.publish("profile", result.name, result.compact())
    else:
        hub.publish("counted", result.name, {**details, "reason": untimed(result.machine)})
    return result


def _counted(target: Target, names: Sequence[str] | None) -> ProfileResult:
    launch = counted_exactly(target)
    record = launch.record
    model, sums = None, launch.sums
    if launch.timed is not None:
        model = modelled(target, launch.timed, spans=SPANS)
        sums = replace(sums, simulated=wait_counters(model, sums, record.counts or {}))
    figures = collect(sums, target.device.name)
    missing: tuple[str, ...] = ()
    if names is not None:
        missing = tuple(name for name in names if name not in figures)
        figures = {name: figures[name] for name in names if name in figures}
    costs = counted_instructions(target.kernel, record, model.simulation if model is not None else None)
    code = target.kernel.without_launches()
    again = None
    if launch.timed is not None and model is not None:
        instructions = {address: code.module.instruction(address) for address in record.counts or {}}
        timed = replace(launch.timed, instructions=instructions)
        again = Again(timed, model, model.error, code.module.places_of)
    resources = _resources(target, record)
    product = model.machine if model is not None else targets.default_product(target.kernel.arch)
    argument_bytes = argument_bytes_of(target)
    bounds = None
    if model is None:
        groups, at_once = math.prod(record.grid), resources.occupancy.groups_per_cu
        bounds = time_range(sums, product, groups, at_once, argument_bytes)
    return ProfileResult(
        name=target.name,
        device=target.device.name,
        shape=target.shape,
        counters=figures,
        classes=sums.classes,
        lines=_by_line(target, costs) if costs is not None else {},
        model=model,
        work=target.work,
        record=record,
        resources=resources,
        machine=product,
        argument_bytes=argument_bytes,
        time_range=bounds,
        missing=missing,
        instructions=costs,
        caches=sums.replayed,
        remarks=launch.remarks,
        code=target.kernel.module.digest,
        again=again,
        kernel=code,
    )


def _measured(
    target: Target,
    names: Sequence[str] | None,
    thread_trace: bool = False,
    pc_sampling: bool | str = False,
) -> ProfileResult:
    result = run_rocprof(
        target,
        GPU_COUNTERS if names is None else names,
        thread_trace=thread_trace,
        pc_sampling=pc_sampling,
        skip_rejected=names is None,
    )
    units = {c.name: c.unit for c in COUNTERS}
    source = f"rocprofv3, {target.device.name}"
    last = target.kernel.last
    if last is None:
        raise ProfilerError(f"{target.name}: the launch left no record")
    return ProfileResult(
        name=target.name,
        device=target.device.name,
        shape=target.shape,
        counters={
            name: Figure(value, units.get(name, ""), Origin.MEASURED, source)
            for name, value in result.counters.items()
        },
        classes={},
        lines={},
        model=None,
        work=target.work,
        record=last.record,
        resources=_resources(target, last.record),
        machine=machine(str(target.device.properties.get("name", "")), target.device.arch),
        argument_bytes=argument_bytes_of(target),
        missing=tuple(result.rejected),
        rocprof=result,
        instructions=measured_instructions(result.instructions),
        code=target.kernel.module.digest,
    )


def _resources(target: Target, record: LaunchRecord) -> Resources:
    x, y, z = record.block
    return target.kernel.resources_at(x * y * z, record.dynamic_shared)


def _by_line(target: Target, costs: InstructionProfile) -> dict[tuple[str, int], Line]:
    module, unit = target.kernel.module, targets.target(target.kernel.arch)
    lines: dict[tuple[str, int], Line] = {}
    for address, count in (costs.executions or {}).items():
        places = module.places_of(address)
        if not places:
            continue
        line = lines.setdefault(places[-1], Line())
        instruction = module.instruction(address)
        kind = instruction.record.pipeline
        line.classes[kind] = line.classes.get(kind, 0) + count
        if targets.is_timed(unit):
            line.issue_cycles += count * issue_cycles(instruction, unit.timing)
        for key, value in costs.values[address].items():
            line.values[key] = line.values.get(key, 0) + value
    return lines
