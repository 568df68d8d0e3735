"""Launches that an emulated device counts, as their times are modelled from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.codeobject import Instruction
from workbench.codeobject.occupancy import Occupancy
from workbench.launches import FEW_LINES, LaunchOptions, Replayed, StepOptions, TrafficOptions
from workbench.operators.launch_target import Target
from workbench.profile import partial
from workbench.profile.counters import Tally, tally
from workbench.profile.grid_fit import remarks
from workbench.profile.machine import hierarchy, machine
from workbench.profile.model import CountedLaunch
from workbench.profile.operands import live_share
from workbench.profile.sampled import estimated_counters
from workbench.runtime import Device, LaunchRecord
from workbench.targets import LINE_BYTES, Product, is_timed
from workbench.targets import target as target_record

_COUNTS = "how often each instruction ran (wb.profile reads counters by rocprofv3)"

_WATCHED = 1 << 24
"""Maximum number of elements of a tensor whose writers are recorded, 4 bytes each."""


def counted(target: Target, *, warm: bool = False) -> CountedLaunch:
    """One launch on an emulated device, counted as far as its time needs it.

    Address-dependent counts come from some of the work-groups (`profile.sampled`), and only some work-groups
    of a large launch on its own tensors run (`profile.partial`).

    Args:
        target: one launch.
        warm: True to also count the caches when the launch is repeated.

    Raises:
        DeviceError: the device is a GPU, which does not count this way.
    """
    target.device.check_observes(_COUNTS)
    record, at_once = _run_in_part(target)
    launch = _added_up(target, record, at_once, warm=warm)
    release(record)
    return launch


def counted_whole(target: Target, record: LaunchRecord, *, warm: bool = False) -> CountedLaunch:
    """A complete launch, in the form of `counted`; its record must be released.

    Args:
        target: one launch.
        record: its record, requested by `launches.TIMED`.
        warm: as for `counted`.
    """
    return _added_up(target, record, 0, warm=warm)


@dataclass(frozen=True)
class Exactly:
    """One launch with every counter enabled, including those of the caches.

    Attributes:
        record, sums: the whole launch.
        timed: the same in the form of `counted`, so that a profile's time is that of `time`; None on a device
            of which no times are modelled.
        remarks: how the grid does not fit the tensors (`grid_fit`).
    """

    record: LaunchRecord
    sums: Tally
    timed: CountedLaunch | None
    remarks: tuple[str, ...] = ()


def counted_exactly(target: Target) -> Exactly:
    """One launch on an emulated device with every counter enabled, which takes longer than `counted`.

    Raises:
        DeviceError: the device is a GPU, which does not count this way.
    """
    target.device.check_observes(_COUNTS)
    if not is_timed(target_record(target.kernel.arch)):
        return _counted_alone(target)

    def run(also: tuple[int, ...] | None) -> LaunchRecord:
        steps = _steps(target, also)
        traffic = TrafficOptions(tensors=_WATCHED)
        return target.run(LaunchOptions(count=True, profile=True, traffic=traffic, steps=steps))

    record = run(() if _may_run_in_part(target) else None)
    if record.steps is None or record.steps.executed.all():
        timed = counted_whole(target, record)
    else:
        release(record)
        timed = counted(target)
        record = run(None)
    sums = exact_tally(target, record)
    fit = remarks(record)
    release(record)
    return Exactly(record, sums, timed, fit)


def _counted_alone(target: Target) -> Exactly:
    """One launch on a device of which neither times nor caches are modelled."""
    record = target.run(LaunchOptions(count=True, profile=True, traffic=TrafficOptions(tensors=_WATCHED)))
    sums = exact_tally(target, record, caches=False)
    fit = remarks(record)
    release(record)
    return Exactly(record, sums, None, fit)


def exact_tally(target: Target, record: LaunchRecord, *, caches: bool = True) -> Tally:
    """The sums of a complete launch.

    Args:
        target: one launch.
        record: its record.
        caches: True to include the caches' counts, if its traffic was recorded.
    """
    lanes = target.kernel.info.wave_size
    sums = tally(target.kernel.arch, record, _instructions(target, record), lanes)
    if caches and record.traffic is not None:
        sums.replayed = _replay(target, record)
    return sums


def counting_key(device: Device) -> tuple[Any, ...]:
    """A key that is equal for emulated devices with equal counts; each measured GPU has its own."""
    if not device.observes:
        return (device.name,)
    return (device.arch, device.numerics, hierarchy(machine_of(device)))


def machine_of(device: Device) -> Product:
    """The GPU whose constants a device's times are modelled with."""
    return machine(str(device.properties.get("name", "")), device.arch)


def _instructions(target: Target, record: LaunchRecord) -> dict[int, Instruction]:
    module = target.kernel.module
    return {address: module.instruction(address) for address in record.counts or {}}


def _replay(target: Target, record: LaunchRecord, limit: int | None = None) -> Replayed:
    assert record.traffic is not None
    fits = _occupancy(target, record)
    return record.traffic.replay(hierarchy(machine_of(target.device)), fits.groups_per_cu, limit=limit)


def _repeated(target: Target, record: LaunchRecord, once: Replayed, argument_bytes: int) -> Replayed:
    """The caches' counts when the launch is repeated.

    For a launch that ran in part, the Infinity Cache has the corresponding part of its size, since it needs
    room for the rest.
    """
    assert record.traffic is not None
    caches, fits = hierarchy(machine_of(target.device)), _occupancy(target, record)
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
    traffic, caches, fits = record.traffic, hierarchy(machine_of(target.device)), _occupancy(target, record)
    return partial.Rounds.from_steps(
        record.steps, at_once, lambda first: traffic.replay(caches, fits.groups_per_cu, first=first)
    )


def release(record: LaunchRecord) -> None:
    """Frees what a launch recorded outside Python."""
    for recorded in (record.traffic, record.steps):
        if recorded is not None:
            recorded.release()


def _run_in_part(target: Target) -> tuple[LaunchRecord, int]:
    """A launch of which only some work-groups are profiled; of a large one, only some run.

    Also returns the number of work-groups that the GPU holds at once, if only some ran.
    """
    alone = _may_run_in_part(target)
    units = machine_of(target.device).compute_units

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
    """The paths of some work-groups; of a large launch only they run, and `also`, unless that is None."""
    units = machine_of(target.device).compute_units
    return StepOptions(alone_from=partial.ROUNDS * units if also is not None else None, also=also or ())


def _rounds(target: Target) -> int:
    """Rounds of work-groups of a large launch to run: two if its tensors exceed the Infinity Cache."""
    return 2 if argument_bytes_of(target) > machine_of(target.device).infinity_cache_bytes else 1


def _added_up(target: Target, record: LaunchRecord, at_once: int, *, warm: bool) -> CountedLaunch:
    """A launch that `_run_in_part` ran, or a complete one, with the counts for modelling its time."""
    argument_bytes = argument_bytes_of(target)
    instructions = _instructions(target, record)
    part = partial.Part.from_record(record)
    record = part.whole(record, estimated_counters(record, instructions, part.counts))
    sums = tally(target.kernel.arch, record, instructions)
    if record.traffic is not None and at_once and _rounds(target) > 1 and part.counts is not None:
        in_rounds = _in_rounds(target, record, at_once)
        sums.replayed, sums.repeated = in_rounds.cold(), in_rounds.warm() if warm else None
    elif record.traffic is not None:
        once = _replay(target, record, FEW_LINES)
        sums.replayed = part.replayed(once, argument_bytes)
        if warm:
            again = _repeated(target, record, once, argument_bytes)
            sums.repeated = part.replayed(again, argument_bytes)
    return CountedLaunch(
        sums,
        record,
        _occupancy(target, record),
        machine_of(target.device),
        argument_bytes,
        _instructions(target, record),
        live_operands(target),
    )


def argument_bytes_of(target: Target) -> int:
    """Bytes of all tensors of the last launch, each once."""
    return target.kernel.last.argument_bytes if target.kernel.last is not None else 0


def _occupancy(target: Target, record: LaunchRecord) -> Occupancy:
    x, y, z = record.block
    return target.kernel.occupancy(x * y * z, record.dynamic_shared)


def live_operands(target: Target) -> float:
    """Part of the elements of the last launch's tensors that is not zero.

    Tensors that it writes do not count: after a partial run they contain what was in that memory before.
    """
    last = target.kernel.last
    if last is None:
        return 1.0
    written = {tensor.data_ptr() for tensor in target.results}
    arguments = (*last.args, *last.kwargs.values())
    return live_share(v for v in arguments if not hasattr(v, "data_ptr") or v.data_ptr() not in written)
