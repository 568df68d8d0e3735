"""Runs one kernel launch: the initial state that the kernel descriptor asks for, threads, limits, interrupts.

native/run/dispatch.c does the work; this side prepares what it needs, calls it from one thread per core (the
GIL is released there), and checks a few times a second for the time limit or an interrupt.
"""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from workbench import errors, targets
from workbench.approximation import Approximation
from workbench.codeobject import KernelArg, KernelDescriptor, KernelInfo
from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.observe import lds_conflicts
from workbench.emulator.native.observe.traffic import TrafficRecorder
from workbench.emulator.node import helpers, interrupts
from workbench.lateness import Lateness
from workbench.launches import Dim
from workbench.toolchain import cpu

# Initial contents of registers, LDS and scratch: a NaN in every float format and an invalid pointer, to
# expose kernels that read what they never wrote.
POISON = 0xFFFB_FFFB
# Buffer resource of a wave's scratch (ops/buffer.c knows it by its base): swizzled, indexed by the lane, all
# of the 32-bit offsets in range.
_PRIVATE_BUFFER = 1 << 47 | 1 << 63 | 0xFFFFFFFF << 64 | (1 << 23 | 3 << 21) << 96
_WORKER, _MACHINE, _LAUNCH = map(ffi.typeof, ("Worker *", "Machine *", "Launch *"))
_COUNTS = ffi.typeof("uint64_t[]")
_COUNTERS = [name for name, _ in ffi.typeof("Counters").fields]
_NOTHING = dict.fromkeys(_COUNTERS, 0)
_NO_GROUP = 2**64 - 1
_TURN_BLOCKS = 1024
_TURN_ROUNDS = 256
PROGRESS_SECONDS = 0.5
"""Seconds between two reports of progress, and before the first."""

# After a fault, earlier work-groups get this long to end or to fault themselves, so that the reported fault
# does not depend on the number of threads.
_FAULT_GRACE_SECONDS = 1.0
# The launching thread looks for an interrupt this often while it waits for the others.
_LOOK_SECONDS = 0.02
# Limit of what all threads hold at once if work-groups wait for each other: more than a device's registers
# and LDS.
_RESIDENT_BYTES = 1 << 32
# Limits, in bytes and number, of the work-groups that one thread starts besides those without visible waits.
_COMPANY_BYTES = 1 << 29
_MOST_COMPANY = 64
DYNAMIC_STACK_BYTES = 16384


@dataclass(frozen=True)
class Pace:
    """Times of the driver's turns.

    Attributes:
        first_slice: nanoseconds of the first turn. The calling thread begins alone: a launch that ends within
            this time does not pay for starting threads.
        slice: nanoseconds of later turns.
        deadlock: seconds for which everything must be stuck: enough time for another thread of the host to
            write.
    """

    first_slice: int = 300_000
    slice: int = 30_000_000
    deadlock: float = 2.0


PACE = Pace()


class TranslatedKernel(Protocol):
    """A translated kernel, with what is needed to run it."""

    @property
    def entry(self) -> int: ...
    @property
    def functions(self) -> Any: ...
    @property
    def places(self) -> tuple[Any, Any]: ...
    @property
    def row_count(self) -> int: ...
    @property
    def poisoned(self) -> bytes | None: ...
    @property
    def blocks(self) -> Any: ...


class Geometry(NamedTuple):
    """Shape of a launch: work-groups and work-items of a work-group; `items` is less than their product only
    if the last work-groups are partial. `cluster`: work-groups of a cluster, unless the kernel was compiled
    for others."""

    groups: Dim
    block: Dim
    items: Dim
    cluster: Dim = (1, 1, 1)

    @classmethod
    def of_blocks(cls, groups: Dim, block: Dim) -> Geometry:
        return cls(groups, block, (groups[0] * block[0], groups[1] * block[1], groups[2] * block[2]))

    @classmethod
    def of_items(cls, items: Dim, block: Dim) -> Geometry:
        x, y, z = (-(-i // b) for i, b in zip(items, block, strict=True))
        return cls((x, y, z), block, items)

    @property
    def group_count(self) -> int:
        return self.groups[0] * self.groups[1] * self.groups[2]

    @property
    def block_size(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    def cluster_of(self, kernel: KernelInfo) -> Dim:
        """Work-groups of a cluster: the kernel's own before the launch's (clr, hipamd/src/hip_module.cpp)."""
        compiled = kernel.cluster_dims
        return self.cluster if compiled == (1, 1, 1) else compiled

    def waves(self, wave_size: int) -> int:
        """Waves of a work-group, of `wave_size` lanes each."""
        return -(-self.block_size // wave_size)


@dataclass(frozen=True, slots=True)
class Wait:
    """The memory that a waiting work-group polls.

    Attributes:
        group: linear index of the work-group.
        wave, block: the wave that polls, and the block where it continues.
        pc: code object address of the load or atomic.
        address, bytes: device address and size of the memory that it polls; 0 bytes if unknown.
        value: up to the first 8 of these bytes.
        is_stuck: True if only a change of that memory lets it continue.
    """

    group: int
    wave: int
    block: int
    pc: int
    address: int
    bytes: int
    value: int
    is_stuck: bool


@dataclass(slots=True)
class Outcome:
    """Results of a launch: counts, faults and records.

    Attributes:
        counts: [blocks] executions of each basic block, by waves.
        counters: address-dependent counts by the names of abi.h's Counters; all zero without profiling.
        seconds: wall time in seconds.
        fault: the `FaultReport` of the faulting work-group with the lowest index; None without a fault.
        overrun: the `HkOverrun` of the lowest work-group that exceeded its LDS; None without one.
        past: the `HkPast` of the access furthest beyond memory that its allocator rounded up; None without
            one.
        timed_out: True if the time limit ended it; `stopped_at` then has the position of a wave.
        held: number of work-groups that had not ended when it was stopped.
        deadlocked: True if it was ended because no work-group could proceed.
        waits: waits of the work-groups that had not ended, by work-group number.
        launch, workers: records of the C side for rare queries.
    """

    counts: npt.NDArray[np.uint64]
    counters: dict[str, int]
    seconds: float
    fault: CData | None = None
    timed_out: bool = False
    stopped_at: CData | None = None
    held: int = 0
    deadlocked: bool = False
    waits: tuple[Wait, ...] = ()
    overrun: CData | None = None
    past: CData | None = None
    launch: CData = field(kw_only=True)
    workers: Sequence[CData] = field(kw_only=True)

    @property
    def begun(self) -> int:
        """Work-groups that had started; with one thread the first ones of the grid."""
        return _begun(self.launch, self.workers)

    @property
    def groups_done(self) -> int:
        """Work-groups that had ended."""
        return max(0, self.begun - self.held)

    @property
    def resident(self) -> int:
        """Work-groups that the device holds at once."""
        return int(self.launch.max_resident)

    @property
    def turns(self) -> int:
        """Turns of work-groups, each from one switch of a thread to the next."""
        return sum(int(worker.turns) for worker in self.workers)


class Interrupted(KeyboardInterrupt):
    """A launch was interrupted and has stopped.

    Attributes:
        outcome: results until then; `stopped_at` has the position of a wave.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


Progress = Callable[[int, int], None]
"""Called with the number of work-groups that have ended, and of all, a few times a second."""


def thread_count() -> int:
    """Threads that run work-groups: HIPKITTENS_THREADS, or else the cores that this process may use.

    Raises:
        UsageError: HIPKITTENS_THREADS is not a positive number.
    """
    setting = os.environ.get("HIPKITTENS_THREADS")
    if not setting:
        return cpu.usable_cores()
    if not setting.isdecimal() or int(setting) == 0:
        raise errors.UsageError(
            f"HIPKITTENS_THREADS is {setting!r}: expected a positive number of threads, or leave it unset."
        )
    return int(setting)


def hidden_arguments(
    args: tuple[KernelArg, ...],
    geometry: Geometry,
    dynamic_shared: int,
    services: Mapping[str, int] | None = None,
) -> dict[KernelArg, int]:
    """Values of a kernel's hidden arguments (LLVM AMDGPUUsage, "Kernel argument metadata").

    The device heap is an address with nothing behind it, so that its use is recognised; everything else that
    the emulated device lacks is zero, which device code takes to mean "missing".

    Args:
        services: values that the node provides, by kind: hidden_hostcall_buffer, hidden_printf_buffer.
    """
    values = {
        **(services or {}),
        "hidden_heap_v1": abi.HEAP_APERTURE,
        "hidden_dynamic_lds_size": dynamic_shared,
        "hidden_private_base": abi.PRIVATE_APERTURE >> 32,
        "hidden_shared_base": abi.SHARED_APERTURE >> 32,
        "hidden_grid_dims": 3 if geometry.items[2] > 1 else 2 if geometry.items[1] > 1 else 1,
    }
    for axis, items, block in zip("xyz", geometry.items, geometry.block, strict=True):
        values[f"hidden_block_count_{axis}"] = items // block
        values[f"hidden_group_size_{axis}"] = block
        values[f"hidden_remainder_{axis}"] = items % block
        values[f"hidden_global_offset_{axis}"] = 0
    return {arg: values.get(arg.value_kind, 0) for arg in args if arg.hidden}


def argument_block(
    kernel: KernelInfo,
    arguments: bytes,
    geometry: Geometry,
    dynamic_shared: int,
    services: Mapping[str, int] | None = None,
) -> bytes:
    """The kernel's whole argument segment: the caller's bytes, cut at its end, and the hidden arguments."""
    block = bytearray(arguments[: kernel.kernarg_size].ljust(kernel.kernarg_size, b"\0"))
    for arg, value in hidden_arguments(kernel.args, geometry, dynamic_shared, services).items():
        if arg.offset + arg.size <= len(block):
            block[arg.offset : arg.offset + arg.size] = value.to_bytes(arg.size, "little")
    return bytes(block)


def dispatch_packet(
    geometry: Geometry, private_bytes: int, shared_bytes: int, kernel_object: int, kernarg: int
) -> bytes:
    """An hsa_kernel_dispatch_packet_t, which device code reads for its launch shape."""
    dimensions = 3 if geometry.items[2] > 1 else 2 if geometry.items[1] > 1 else 1
    kernel_dispatch_type = 2
    return struct.pack(
        "<6HIIIIIQQQQ",
        kernel_dispatch_type,
        dimensions,
        *geometry.block,
        0,
        *(value & 0xFFFFFFFF for value in geometry.items),
        private_bytes,
        shared_bytes,
        kernel_object,
        kernarg,
        0,
        0,
    )


def user_sgprs(
    descriptor: KernelDescriptor,
    *,
    kernarg: int,
    packet: int,
    arguments: bytes,
    private_bytes: int,
    queue: int = 0,
) -> tuple[int, ...]:
    """The SGPRs that a wave starts with, in the descriptor's order (LLVM AMDGPUUsage, "Initial kernel
    execution state"), kernel arguments that are preloaded last."""
    result: list[int] = []

    def add(enabled: bool, value: int, dwords: int) -> None:
        if enabled:
            result.extend((value >> 32 * i) & 0xFFFFFFFF for i in range(dwords))

    add(descriptor.enable_private_segment_buffer, _PRIVATE_BUFFER, 4)
    add(descriptor.enable_dispatch_ptr, packet, 2)
    add(descriptor.enable_queue_ptr, queue, 2)
    add(descriptor.enable_kernarg_ptr, kernarg, 2)
    add(descriptor.enable_dispatch_id, 0, 2)
    add(descriptor.enable_flat_scratch_init, 0, 2)
    add(descriptor.enable_private_segment_size, private_bytes, 1)
    start = descriptor.kernarg_preload_offset * 4
    preloaded = arguments[start : start + descriptor.kernarg_preload_length * 4]
    padded = preloaded.ljust(descriptor.kernarg_preload_length * 4, b"\0")
    result.extend(struct.unpack(f"<{descriptor.kernarg_preload_length}I", padded))
    # Hardware loads as many as the count says, regardless of the enable bits.
    count = descriptor.user_sgpr_count
    if not count and len(result) > abi.MAX_USER_SGPRS:
        raise errors.CodeObjectError(
            f"the kernel descriptor asks for {len(result)} user SGPRs, at most {abi.MAX_USER_SGPRS} are "
            "possible: the code object is damaged. Recompile it."
        )
    return tuple((result + [0] * count)[:count] if count else result)


def scratch_bytes(kernel: KernelInfo) -> int:
    """Scratch bytes per lane."""
    fixed = max(kernel.private_segment_size, kernel.descriptor.private_segment_fixed_size)
    return fixed + (DYNAMIC_STACK_BYTES if kernel.uses_dynamic_stack else 0)


@dataclass(slots=True)
class Dispatch:
    """One prepared launch.

    Attributes:
        launch: the C side's description, a `Launch`.
        description: the part that it shares with other launches of its kind.
        keep: objects that must live as long as the launch.
    """

    launch: CData
    description: Description
    keep: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Description:
    """Description for the C side that all launches of one kernel in one shape share.

    Attributes:
        launch: a `Launch` without machine, registers and hostcalls.
        machine: a `Machine` without memory.
        block_count: basic blocks of the kernel.
        wave_size: lanes of its waves, which decide the native library that runs it.
        keep: objects that must live as long as both.
        is_long: True if the last launch of the kind took longer than the first slice, which the calling
            thread runs alone; the next launch then has all threads from the start.
    """

    launch: CData
    machine: CData
    block_count: int
    wave_size: int
    keep: list[Any]
    is_long: bool = False


def describe(
    *,
    translation: TranslatedKernel,
    kernel: KernelInfo,
    geometry: Geometry,
    shared_bytes: int,
    code_base: int,
    target: str,
    profile: int,
    xcds: int = 8,
    units: int = 32,
    resident: int = 1 << 16,
) -> Description:
    """Fill in the part of the C side's description of a launch that is the same for the next one.

    Args:
        shared_bytes: static and dynamic LDS together.
        xcds, units: dies that work-groups go to in turn, and compute units of each, for the hardware
            registers XCC_ID and HW_ID.
        resident: work-groups that the device holds at once.
    """
    descriptor = kernel.descriptor
    unit = targets.target(target)
    rows = max(translation.row_count, descriptor.vgpr_count, 1)
    scratch = scratch_bytes(kernel)
    lanes = geometry.waves(kernel.wave_size) * kernel.wave_size
    group_bytes = (rows + scratch // 4) * lanes * 4 + shared_bytes
    addresses, indices = translation.places
    # Lanes beyond the last work-item stay as they are, and other lanes may read them.
    is_full = geometry.items == tuple(g * b for g, b in zip(geometry.groups, geometry.block, strict=True))
    poisoned = None
    if translation.poisoned is not None and is_full and geometry.block_size % kernel.wave_size == 0:
        poisoned = ffi.from_buffer("uint8_t[]", translation.poisoned.ljust(rows, b"\0"))
    machine = ffi.new(
        "Machine *",
        {
            "lds_address_mask": unit.lds_address_mask,
            "lds_rules": lds_conflicts.rules(target),
            "dies": xcds,
        },
    )
    launch = ffi.new(
        "Launch *",
        {
            **_initial_state(descriptor, unit),
            "functions": ffi.cast("BlockFn *", translation.functions.ctypes.data),
            "block_addresses": ffi.from_buffer("uint64_t[]", addresses),
            "block_indices": ffi.from_buffer("int32_t[]", indices),
            "block_count": len(addresses),
            "entry": translation.entry,
            "code_base": code_base,
            "groups": geometry.groups,
            "items": geometry.items,
            "group_size": geometry.block,
            "row_count": rows,
            "poisoned": poisoned if poisoned is not None else ffi.NULL,
            "lds_size": shared_bytes,
            "lds_end": unit.lds_given(shared_bytes),
            "scratch_size": scratch,
            "profile": profile,
            "turn_blocks": _TURN_BLOCKS,
            "turn_rounds": _TURN_ROUNDS,
            "max_resident": max(1, min(resident, _RESIDENT_BYTES // max(1, group_bytes))),
            "max_company": max(1, min(_MOST_COMPANY, _COMPANY_BYTES // max(1, group_bytes))),
            "group_total": geometry.group_count,
            "workers": 1,
            "last_group": _NO_GROUP,
            "xcds": xcds,
            "units": units,
            "cluster": geometry.cluster_of(kernel),
        },
    )
    return Description(
        launch,
        machine,
        len(translation.blocks),
        kernel.wave_size,
        [addresses, indices, translation, poisoned],
    )


def prepare(
    description: Description,
    *,
    registers: Sequence[int],
    allocations: CData,
    hostcalls: tuple[int, int] = (0, 0),
    serve: Any = None,
    exact_shared: bool = False,
    approximation: Approximation | None = None,
    lateness: Lateness | None = None,
) -> Dispatch:
    """Prepares a launch from the description of its kind.

    Args:
        registers: the SGPRs that a wave starts with.
        hostcalls, serve: address and size of the hostcall buffer, and the function that answers it, as
            Launch.serve.
        exact_shared: True if an access beyond the kernel's shared memory is a fault.
        approximation: errors of transcendental instructions, if the translation supports them.
        lateness: when loads complete, if the translation supports it.
    """
    machine = ffi.new(_MACHINE, description.machine[0])
    machine.allocations, machine.allocation_count = allocations, len(allocations)
    machine.hostcalls, machine.hostcalls_bytes = hostcalls
    if approximation is not None:
        machine.approximate_seed = approximation.seed
        machine.approximate_first, machine.approximate_end = approximation.first, approximation.end
    if lateness is not None:
        machine.late = abi.LATE_LAST if lateness.seed is None else abi.LATE_DRAWN
        machine.late_seed = lateness.seed or 0
    launch = ffi.new(_LAUNCH, description.launch[0])
    launch.machine = machine
    if exact_shared:
        machine.exact_lds, launch.lds_end = 1, launch.lds_size
    launch.user_sgpr_count = len(registers)
    launch.user_sgpr[0 : len(registers)] = registers
    if serve is not None:
        launch.serve = serve
    size = math.prod(launch.cluster)
    clusters = ffi.new("HkCluster[]", launch.group_total // size) if size > 1 else None
    if clusters is not None:
        launch.clusters = clusters
    return Dispatch(launch, description, [machine, allocations, serve, clusters])


def _initial_state(descriptor: KernelDescriptor, unit: targets.Target) -> dict[str, Any]:
    """Fields of `Launch` that say what a wave's registers hold when it starts."""
    mode = descriptor.float_mode | descriptor.dx10_clamp << 8 | descriptor.ieee_mode << 9
    return {
        "flat_scratch": abi.PRIVATE_APERTURE,
        "mode": mode | descriptor.fp16_overflow << 23,
        "enable_group_id": (
            descriptor.enable_workgroup_id_x
            | descriptor.enable_workgroup_id_y << 1
            | descriptor.enable_workgroup_id_z << 2
        ),
        "enable_group_info": descriptor.enable_workgroup_info,
        "architected_group_ids": unit.architected_group_ids,
        # Later targets keep the wave's scratch in a register of its own (architected flat scratch).
        "enable_wave_offset": not unit.architected_flat_scratch and descriptor.enable_private_segment,
        "item_id_mode": descriptor.workitem_id_mode,
        "packed_item_ids": 1,
        "poison": POISON,
    }


def run(
    dispatch: Dispatch,
    *,
    timeout: float | None = None,
    threads: int | None = None,
    traffic: TrafficRecorder | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run a launch to its end, its first fault, its time limit or an interrupt.

    Args:
        traffic: records the memory traffic of the launch.
        progress: receives the progress of a long launch.
        timeout: time limit in seconds; None for no limit.
        threads: number of threads that run work-groups; by default `thread_count()`.

    Raises:
        Interrupted: the launch was interrupted; every thread has stopped.
        LaunchError: there is not enough memory for the registers of a single work-group.
    """
    running = _Running(dispatch, threads, timeout, traffic, progress)
    try:
        with interrupts.heard() as running.interrupted:
            running.work()
    except KeyboardInterrupt:
        running.stop()
        raise Interrupted(running.outcome()) from None
    finally:
        running.stop()
    return running.outcome()


class _Running:
    """A running launch: its threads, and what ends it early.

    Attributes:
        interrupted: raises an interrupt that has come.
    """

    interrupted = staticmethod(interrupts.deliver)
    _told = 0.0
    _held: int | None = None
    _seconds = 0.0
    _fault_seen: float | None = None
    _timed_out = False
    _deadlock_seen: float | None = None
    _deadlocked = False
    _waits: tuple[Wait, ...] = ()
    _all_ended = False

    def __init__(
        self,
        dispatch: Dispatch,
        threads: int | None,
        timeout: float | None,
        traffic: TrafficRecorder | None,
        progress: Progress | None,
    ) -> None:
        self._launch = dispatch.launch
        self._timeout = timeout
        self._threads = threads
        self._description = dispatch.description
        self._counts: list[npt.NDArray[np.uint64]] = []
        self._traffic = traffic
        # Those of the others follow when they are needed, which most launches never reach.
        self._workers = [self._worker()]
        self._helpers: list[helpers.Helper] = []
        self._progress = progress
        self._library = native_library(dispatch.description.wave_size)
        self._started = time.monotonic()

    def _worker(self) -> CData:
        counts = np.zeros(self._description.block_count, dtype=np.uint64)
        self._counts.append(counts)
        worker = ffi.new(_WORKER)
        worker.launch = self._launch
        worker.counts = ffi.from_buffer(_COUNTS, counts)
        if self._traffic is not None:
            worker.traffic = self._traffic.recorder()
        return worker

    def work(self) -> None:
        """Run work-groups on all threads until none is left or the launch is stopped."""
        first, kind = self._workers[0], self._description
        if kind.is_long:
            self._begin_help()
        began = time.monotonic()
        result = self._turn(first, PACE.first_slice)
        if result == abi.RUN_AGAIN:
            self._look()
            self._begin_help()
            while (result := self._turn(first, PACE.slice)) == abi.RUN_AGAIN:
                self._look()
        for helper in self._helpers:
            while not helper.wait(_LOOK_SECONDS):
                self._look()
        self._all_ended = result == abi.RUN_DONE and not self._launch.stop
        spent = (time.monotonic() - began) * len(self._workers)
        kind.is_long = spent > PACE.first_slice * 1e-9

    def _begin_help(self) -> None:
        """Lets other threads run work-groups, too, as far as there are cores and work-groups."""
        launch = self._launch
        if launch.share:
            return
        capacity = min(int(launch.group_total), int(launch.max_resident))
        # While Python shuts down it starts no threads: the existing ones do all the work.
        with suppress(RuntimeError):
            for _ in range(1, min(self._threads or thread_count(), capacity)):
                self._helpers.append(helpers.taken())
        # Set before any of them starts: each may take a first work-group, and counts for a deadlock.
        launch.workers = 1 + len(self._helpers)
        launch.share = -(-capacity // launch.workers)
        for helper in self._helpers:
            worker = self._worker()
            self._workers.append(worker)
            helper.start(self._library, worker, PACE.slice)

    def _turn(self, worker: CData, nanoseconds: int) -> int:
        """One of abi.RUN_*."""
        return int(self._library.hk_run(worker, nanoseconds))

    def _look(self) -> None:
        """Stop the launch if it was interrupted, took too long, or faulted; report its progress."""
        self.interrupted()
        now = time.monotonic()
        if self._progress is not None and now - max(self._told, self._started) > PROGRESS_SECONDS:
            self._told = now
            done = max(0, _begun(self._launch, self._workers) - self._in_progress())
            self._progress(done, int(self._launch.group_total))
        if self._timeout is not None and now - self._started > self._timeout:
            self._timed_out = True
            self._launch.stop = 1
        self._look_for_deadlock(now)
        if self._launch.last_group != _NO_GROUP:
            self._fault_seen = self._fault_seen or now
            if now - self._fault_seen > _FAULT_GRACE_SECONDS:
                self._launch.stop = 1

    def _look_for_deadlock(self, now: float) -> None:
        """Stop the launch if all its work-groups have been stuck for a while, time for the host to write."""
        flags = self._library.hk_deadlock(self._launch)
        if not flags or flags & abi.ALLOCATION_HOST or self._launch.last_group != _NO_GROUP:
            self._deadlock_seen = None
            return
        self._deadlock_seen = self._deadlock_seen or now
        if now - self._deadlock_seen >= PACE.deadlock:
            self._deadlocked = not self._timed_out
            self._launch.stop = 1

    def _in_progress(self) -> int:
        """Work-groups that have begun and not ended, by the workers' counts."""
        return sum(int(worker.resident_count) for worker in self._workers)

    def stop(self) -> None:
        """End all threads and free their resources; counts and reports stay."""
        if self._held is not None:
            return
        if not self._all_ended:
            self._launch.stop = 1
            # The first worker belongs to this thread, which may have been interrupted between its turns.
            self._turn(self._workers[0], 0)
            _join(self._helpers)
        # Each only once, even if an interrupt comes in between and this is called again.
        while self._helpers:
            helpers.given_back(self._helpers.pop())
        self._held = 0 if self._all_ended else self._in_progress()
        if self._launch.stop:
            self._waits = self._waiting()
        for worker in self._workers:
            self._library.hk_release(worker)
        self._seconds = time.monotonic() - self._started

    def _waiting(self) -> tuple[Wait, ...]:
        """The waits of all work-groups, once every thread has stopped."""
        waits: list[Wait] = []
        for worker in self._workers:
            room = int(worker.parked_count)
            records = ffi.new("HkWait[]", room)
            self._library.hk_waits(worker, records, room)
            waits += (
                Wait(
                    group=int(record.group),
                    wave=int(record.wave),
                    block=int(record.block),
                    pc=int(record.pc),
                    address=int(record.address),
                    bytes=int(record.bytes),
                    value=int(record.value),
                    is_stuck=bool(record.is_stuck),
                )
                for record in records
            )
        return tuple(sorted(waits, key=lambda wait: wait.group))

    def outcome(self) -> Outcome:
        """The launch's results; call it after the last work-group.

        Raises:
            LaunchError: not enough memory for the registers of one work-group.
        """
        if any(worker.out_of_memory for worker in self._workers):
            raise errors.LaunchError(
                f"no memory for the registers of a work-group: {self._launch.row_count} registers and "
                f"{self._launch.scratch_size} bytes of scratch a lane; close other programs or make the "
                "kernel smaller."
            )
        workers = self._workers
        is_plain = not any(w.report.wave_count or w.overrun.count or w.past.end for w in workers)
        fault, stopped_at = (None, None) if is_plain else _reports(workers)
        return Outcome(
            counts=self._counts[0] if len(workers) == 1 else reduce(np.add, self._counts),
            counters=_sum([w.counters for w in workers]) if self._launch.profile else dict(_NOTHING),
            seconds=self._seconds,
            fault=fault,
            timed_out=self._timed_out and fault is None,
            stopped_at=stopped_at,
            held=self._held or 0,
            deadlocked=self._deadlocked and fault is None,
            waits=self._waits,
            overrun=None if is_plain else _overrun(workers),
            past=None if is_plain else _past(workers),
            launch=self._launch,
            workers=workers,
        )


def _begun(launch: CData, workers: Sequence[CData]) -> int:
    """Work-groups that have started."""
    total = int(launch.group_total)
    reserved = sum(
        max(0, min(total, int(worker.reserved_end)) - min(total, int(worker.next_reserved)))
        for worker in workers
    )
    return min(int(launch.next_group), total) - reserved


def _reports(workers: Sequence[CData]) -> tuple[CData | None, CData | None]:
    """The report of the first fault, and of the first place where a wave was stopped."""
    reports = [report for worker in workers if (report := worker.report).wave_count]
    if not reports:
        return None, None
    reports.sort(key=lambda report: int(report.group))
    fault = next((r for r in reports if r.fault.kind != abi.FAULT_NONE), None)
    stopped_at = next((r for r in reports if r.fault.kind == abi.FAULT_NONE), None)
    return _copied(fault), _copied(stopped_at)


def _overrun(workers: Sequence[CData]) -> CData | None:
    """The first access beyond the LDS, with the count of all."""
    overruns = [overrun for worker in workers if (overrun := worker.overrun).count]
    if not overruns:
        return None
    first = ffi.new("HkOverrun *", min(overruns, key=lambda o: int(o.group)))
    first.count = sum(int(o.count) for o in overruns)
    return first


def _past(workers: Sequence[CData]) -> CData | None:
    """The access furthest beyond rounded memory; a write takes precedence over a read."""
    records = [past for worker in workers if (past := worker.past).end]
    furthest = max(records, key=lambda past: (int(past.is_write), int(past.end)), default=None)
    return ffi.new("HkPast *", furthest) if furthest is not None else None


def _sum(of_workers: list[CData]) -> dict[str, int]:
    """Counters of all workers."""
    first, *others = of_workers
    total = {name: getattr(first, name) for name in _COUNTERS}
    for counters in others:
        for name in _COUNTERS:
            total[name] += getattr(counters, name)
    return total


def _copied(report: CData | None) -> CData | None:
    """A `FaultReport` that outlives its worker."""
    return ffi.new("FaultReport *", report) if report is not None else None


def _join(busy: list[helpers.Helper]) -> None:
    """Wait for threads that are about to end, despite interrupts: what they use is freed next."""
    interrupt: BaseException | None = None
    for helper in busy:
        ended = False
        while not ended:
            try:
                ended = helper.wait(_LOOK_SECONDS)
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt
