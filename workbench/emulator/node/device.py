"""The emulated node: its devices, the code loaded on them, and one launch from its checks to its outcome."""

from __future__ import annotations

import ctypes
import json
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench import errors
from workbench.codeobject import CodeObject, KernelInfo, occupancy
from workbench.emulator.native import abi
from workbench.emulator.native.observe.trace import Access, Trace
from workbench.emulator.native.observe.traffic import Traffic, TrafficOptions, line_kinds
from workbench.emulator.node import console, dispatch, faults, hostcall
from workbench.emulator.node.dispatch import Dim, Geometry, TranslatedKernel
from workbench.emulator.node.memory import Allocation, Memory, MemoryKind
from workbench.emulator.sanitizer.findings import RawFinding, Shadow

MAX_WORK_ITEMS = 1024
# A wave's scratch is at most 2**13 times 256 dwords (COMPUTE_TMPRING_SIZE.WAVESIZE).
MAX_SCRATCH_BYTES = 2**13 * 256 * 4 // 64
MAX_GRID_BLOCKS = (2**31 - 1, 65536, 65536)
_DEFAULT_TIMEOUT_SECONDS = 600.0
_ARGUMENT_BYTES = 65536
_NO_BINARY = 209
# The counter of hip_cooperative_groups.h, which a launch that was stopped leaves half way.
_GRID_BARRIER = "hipkittens_grid_barrier"
_INVALID_IMAGE = 200
# What the compiler appends to the name of a managed variable for its storage.
_MANAGED = ".managed"


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device is, from devices.json: sizes in bytes, clock in MHz, bandwidth in bytes a second."""

    name: str
    arch: str
    features: str
    compute_units: int
    simds_per_cu: int
    max_waves_per_simd: int
    xcds: int
    clock_mhz: int
    hbm_bytes: int
    hbm_bandwidth_bytes_per_second: int
    memory_bus_bits: int
    l2_bytes_per_xcd: int
    lds_bytes: int
    vgpr_file_bytes_per_cu: int


_only: str | None = None


def show_only(arch: str) -> None:
    """Let this process have just the emulated device of a target, as number 0; before any is used."""
    global _only
    _only = arch
    device_facts.cache_clear()


@cache
def device_facts() -> tuple[DeviceFacts, ...]:
    """The emulated devices' facts, by ordinal."""
    data = json.loads((Path(__file__).with_name("devices.json")).read_text())
    every = (
        DeviceFacts(**{name: entry["value"] for name, entry in device.items()}) for device in data["devices"]
    )
    return tuple(facts for facts in every if _only in (None, facts.arch))


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """What a launch is to do beside running.

    Attributes:
        count: keep the executions of every instruction.
        profile: keep the address-dependent counters too; slower.
        timeout: seconds; None: HIPKITTENS_TIMEOUT, else 600 s.
        sanitize: look for what hardware hides (emulator/sanitize.py); slower, on one thread.
        trace: keep every memory access (emulator/trace.py); slower, on one thread.
        traffic: record what is asked of memory, by instruction and line (emulator/traffic.py); slower.
    """

    count: bool = False
    profile: bool = False
    timeout: float | None = None
    sanitize: bool = False
    trace: bool = False
    traffic: TrafficOptions | None = None


@dataclass(frozen=True)
class LaunchResult:
    """What a launch on an emulated device was and left behind.

    Attributes:
        kernel: its symbol name.
        geometry: its shape.
        dynamic_shared: bytes of LDS beyond the kernel's own.
        device: ordinal.
        seconds: wall time of the run, on this computer.
        counts: executions by waves of each instruction, by code object address; None unless asked for.
        counters: address-dependent counters by the names of layout.Counters; None unless asked for.
        findings: the sanitizer's, by address of the instruction.
        accesses: every memory access in order; empty unless asked for.
        traffic: what was asked of memory; None unless asked for.
    """

    kernel: str
    geometry: Geometry
    dynamic_shared: int
    device: int
    seconds: float
    counts: dict[int, int] | None
    counters: dict[str, int] | None
    findings: tuple[RawFinding, ...] = ()
    accesses: tuple[Access, ...] = ()
    traffic: Traffic | None = None


@dataclass(eq=False)
class LoadedCode:
    """A code object on a device."""

    code_object: CodeObject
    device: int
    image: Allocation
    translations: dict[str, TranslatedKernel] = field(default_factory=dict)
    prints: bool = False
    grid_barrier: int = 0
    _addresses: dict[str, list[list[int]]] = field(default_factory=dict)
    _kinds: dict[str, npt.NDArray[np.uint8]] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """Device address of the code object's virtual address 0."""
        return self.image.base

    def translation(self, kernel: str, sanitize: bool = False) -> TranslatedKernel:
        """The kernel as native code, which tells the sanitizer what it does where that is asked for.

        Raises:
            UnsupportedInstruction: it has an instruction that the emulated device does not execute.
        """
        key = f"{kernel} sanitized" if sanitize else kernel
        found = self.translations.get(key)
        if found is None:
            from workbench.emulator.translate.translator import translate

            found = self.translations[key] = translate(self.code_object, kernel, sanitize=sanitize)
        return found

    def by_instruction(self, kernel: str, counts: npt.NDArray[np.uint64]) -> dict[int, int]:
        """Executions of each instruction, from those of a kernel's blocks."""
        blocks = self._addresses.get(kernel)
        if blocks is None:
            blocks = self._addresses[kernel] = [
                [instruction.address for instruction in block.instructions]
                for block in self.translation(kernel).blocks
            ]
        result: dict[int, int] = {}
        for addresses, count in zip(blocks, counts.tolist(), strict=True):
            for address in addresses:
                result[address] = result.get(address, 0) + count
        return result

    def line_kinds(self, kernel: str) -> npt.NDArray[np.uint8]:
        """What a kernel's instructions do with the lines that they touch."""
        found = self._kinds.get(kernel)
        if found is None:
            text = self.code_object.text
            instructions = (i for block in self.translation(kernel).blocks for i in block.instructions)
            found = self._kinds[kernel] = line_kinds(instructions, text.address, len(text.data))
        return found

    @cached_property
    def printf_formats(self) -> dict[int, str]:
        """Formats of a printf that goes through a buffer, by their hash."""
        return hostcall.printf_formats(self.code_object.metadata.get("amdhsa.printf"))

    @cached_property
    def _debug(self) -> Any:
        from workbench.codeobject.debug import DebugInfo

        return DebugInfo(self.code_object)

    def source_of(self, address: int) -> tuple[str, int, int] | None:
        """Source position of a code object address; None without debug information."""
        try:
            found: tuple[str, int, int] | None = self._debug.place_of(address)
        except errors.CodeObjectError:
            return None
        return found


class _Thread(threading.local):
    def __init__(self) -> None:
        self.options = LaunchOptions()
        self.results: list[LaunchResult] | None = None


class EmulatedDevice:
    """One emulated GPU."""

    def __init__(self, node: Node, ordinal: int, facts: DeviceFacts) -> None:
        self.node = node
        self.ordinal = ordinal
        self.facts = facts
        self._argument_block: Allocation | None = None

    def load(self, data: bytes) -> LoadedCode:
        """Put a code object into device memory.

        Args:
            data: an AMDGPU ELF, or a HIP fat binary with one for this device.

        Raises:
            DeviceError: (hipErrorNoBinaryForGpu) it is for other targets; (hipErrorInvalidImage) it is
                damaged.
        """
        try:
            code_object = CodeObject.from_bytes(data)
        except errors.CodeObjectError:
            code_object = self._choose(data)
        if code_object.target != self.facts.arch:
            raise errors.DeviceError(
                f"the code object is for {code_object.target}, and the device {self.facts.name} (emulated) "
                f"runs {self.facts.arch}: compile with arch={self.facts.arch!r}, or choose the device that "
                "fits.",
                _NO_BINARY,
            )
        names = ", ".join(k.short_name for k in code_object.kernels.values())
        image = self.node.memory.allocate(
            max(code_object.image_size, 1),
            MemoryKind.CODE,
            self.ordinal,
            capacity=self.facts.hbm_bytes,
            label=names,
        )
        try:
            return self._fill(image, code_object)
        except errors.CodeObjectError as error:
            self.node.memory.free(image)
            raise errors.DeviceError(str(error), _INVALID_IMAGE) from error
        except BaseException:
            self.node.memory.free(image)
            raise

    def _fill(self, image: Allocation, code_object: CodeObject) -> LoadedCode:
        """Copy a code object to its place, and set the variables that the device itself looks after."""
        content = code_object.load(image.base)
        ctypes.memmove(image.base, (ctypes.c_char * len(content)).from_buffer(content), len(content))
        loaded = LoadedCode(code_object, self.ordinal, image)
        variable = code_object.variable(console.SYMBOL)
        if variable is not None and variable.size == 8:
            ctypes.c_uint64.from_address(image.base + variable.address).value = self.node.console()
            loaded.prints = True
        barrier = code_object.variable(_GRID_BARRIER)
        if barrier is not None and barrier.size == 4:
            loaded.grid_barrier = image.base + barrier.address
        # Code reaches a managed variable through a pointer; a program that registers its variables sets it.
        for name in code_object.symbols:
            if not name.endswith(_MANAGED):
                continue
            pointer = code_object.variable(name.removesuffix(_MANAGED))
            storage = code_object.variable(name)
            if pointer is not None and pointer.size == 8 and storage is not None:
                ctypes.c_uint64.from_address(image.base + pointer.address).value = (
                    image.base + storage.address
                )
        return loaded

    def _choose(self, data: bytes) -> CodeObject:
        try:
            return CodeObject.from_bytes(data, self.facts.arch)
        except errors.CodeObjectError as error:
            code = _INVALID_IMAGE if data[:4] == b"\x7fELF" or len(data) < 64 else _NO_BINARY
            raise errors.DeviceError(str(error), code) from error

    def unload(self, loaded: LoadedCode) -> None:
        """Take a code object out of device memory; waits for a launch under way."""
        with self.node.launch_lock:
            self.node.memory.free(loaded.image)

    def check(self, kernel: KernelInfo, geometry: Geometry, dynamic_shared: int) -> None:
        """Whether the device can take a launch of this shape.

        Raises:
            LaunchError: it cannot; the message says what is too large and what would fit.
        """
        name = kernel.short_name
        for what, dims in (("grid", geometry.groups), ("block", geometry.block)):
            if min(dims) < 1:
                raise errors.LaunchError(f"kernel {name}: {what} {dims}: every dimension must be at least 1.")
        limit = min(MAX_WORK_ITEMS, kernel.max_workgroup_size or MAX_WORK_ITEMS)
        if geometry.block_size > limit:
            why = (
                f"it was compiled for at most {limit} (__launch_bounds__)"
                if limit < MAX_WORK_ITEMS
                else "a work-group has at most 1024"
            )
            raise errors.LaunchError(
                f"kernel {name}: block {geometry.block} has {geometry.block_size} work-items, and {why}; "
                "use a smaller block."
            )
        if any(b > m for b, m in zip(geometry.groups, MAX_GRID_BLOCKS, strict=True)) or any(
            i >= 2**32 for i in geometry.items
        ):
            raise errors.LaunchError(
                f"kernel {name}: grid {geometry.groups} of blocks {geometry.block} is too large: at most "
                f"{MAX_GRID_BLOCKS} blocks and 2**32 - 1 work-items in a dimension."
            )
        required = kernel.required_workgroup_size
        if required is not None and required != geometry.block:
            raise errors.LaunchError(
                f"kernel {name}: it was compiled for blocks of exactly {required}, and {geometry.block} came."
            )
        registers = kernel.descriptor.vgpr_count
        most = abi.LANES * occupancy.waves_of_registers(registers)
        if geometry.block_size > most:
            raise errors.LaunchError(
                f"kernel {name}: block {geometry.block} has {geometry.block_size} work-items of {registers} "
                f"vector registers, and a compute unit has room for {most} of them; use a smaller block, and "
                "compile with __launch_bounds__ so that the compiler knows it."
            )
        scratch = dispatch.scratch_bytes(kernel)
        if scratch > MAX_SCRATCH_BYTES + dispatch.DYNAMIC_STACK_BYTES:
            raise errors.LaunchError(
                f"kernel {name}: {scratch} bytes of private memory a work-item, and at most "
                f"{MAX_SCRATCH_BYTES} are possible; use smaller local arrays."
            )
        if dynamic_shared < 0:
            raise errors.LaunchError(
                f"kernel {name}: {dynamic_shared} bytes of dynamic shared memory; 0 or more are wanted."
            )
        total = static_shared(kernel) + dynamic_shared
        if total > self.facts.lds_bytes:
            raise errors.LaunchError(
                f"kernel {name}: {total} bytes of shared memory ({static_shared(kernel)} static + "
                f"{dynamic_shared} dynamic), and a work-group of {self.facts.arch} has at most "
                f"{self.facts.lds_bytes}; use smaller tiles or fewer buffers."
            )

    def launch(
        self,
        loaded: LoadedCode,
        kernel_name: str,
        geometry: Geometry,
        dynamic_shared: int,
        arguments: bytes,
    ) -> LaunchResult:
        """Run a kernel to its end.

        Args:
            arguments: the bytes of the kernel's own arguments; hidden ones are filled in here.

        Raises:
            LaunchError: a bad shape, too much shared memory, too few argument bytes.
            UnsupportedInstruction: before anything ran.
            KernelFault: what the kernel did wrong, or KernelTimeout.
            KeyboardInterrupt: the launch was interrupted and has stopped.
        """
        kernel = loaded.code_object.kernels[kernel_name]
        self.check(kernel, geometry, dynamic_shared)
        wanted = max((a.offset + a.size for a in kernel.args if not a.hidden), default=0)
        if len(arguments) < wanted:
            raise errors.LaunchError(
                f"kernel {kernel.short_name}: {len(arguments)} bytes of arguments came, its parameters take "
                f"{wanted}."
            )
        options = self.node.thread.options
        if self.node.watchers and not options.sanitize:
            options = replace(options, sanitize=True)
        translation = loaded.translation(kernel_name, options.sanitize)
        shared = static_shared(kernel) + dynamic_shared
        scratch = dispatch.scratch_bytes(kernel)
        with self.node.launch_lock:
            if loaded.grid_barrier:
                ctypes.c_uint32.from_address(loaded.grid_barrier).value = 0
            services, listener = self.node.services(kernel)
            block = dispatch.argument_block(kernel, arguments, geometry, dynamic_shared, services)
            packet, kernarg = self._place_arguments(block, geometry, scratch, shared, loaded, kernel)
            prepared = dispatch.prepare(
                translation=translation,
                kernel=kernel,
                geometry=geometry,
                shared_bytes=shared,
                code_base=loaded.base,
                registers=dispatch.user_sgprs(
                    kernel.descriptor,
                    kernarg=kernarg,
                    packet=packet,
                    arguments=block,
                    private_bytes=scratch,
                ),
                allocations=self.node.memory.table(self.ordinal),
                target=self.facts.arch,
                profile=options.profile or options.trace or options.traffic is not None,
                xcds=self.facts.xcds,
                units=self.facts.compute_units // self.facts.xcds,
                hostcalls=listener.buffer if listener is not None else (0, 0),
                serve=listener.callback if listener is not None else None,
            )
            timeout = time_limit(options.timeout)
            shadow = None
            if options.sanitize:
                shadow = Shadow(geometry.group_count, self.node.memory.watched(self.ordinal))
            else:
                self.node.memory.note_unseen(self.ordinal)
            if shadow is not None:
                prepared.launch.san = shadow.pointer
                prepared.keep.append(shadow)
            traffic = self._traffic(options.traffic, loaded, kernel_name, geometry)
            trace = Trace() if options.trace else None
            if trace is not None:
                prepared.launch.trace = trace.pointer
                prepared.keep.append(trace)
            # The sanitizer's state is one for all work-groups, and so is a trace; and nothing says which
            # work-group has printed into a buffer.
            alone = shadow or trace or (loaded.printf_formats and hostcall.PRINTF_ARGUMENT in services)
            outcome = None
            try:
                outcome = dispatch.run(
                    prepared, timeout=timeout, threads=1 if alone else None, traffic=traffic
                )
            finally:
                text, assertions = console.drain(self.node.console()) if loaded.prints else ("", [])
                if text:
                    console.writer(text, False)
                report = outcome.fault if outcome is not None else None
                is_trap = report is not None and report.fault.kind == abi.FAULT_TRAP
                trapped = int(report.group) if report is not None and is_trap else None
                assertions += self._show_printed(loaded, services, listener, trapped)
            if listener is not None and listener.error is not None:
                raise listener.error
            scene = faults.Scene(
                kernel=kernel,
                blocks=translation.blocks,
                geometry=geometry,
                memory=self.node.memory,
                device=self.ordinal,
                shared_bytes=shared,
                scratch_bytes=scratch,
                source_of=loaded.source_of,
            )
            findings: tuple[RawFinding, ...] = ()
            if shadow is not None:
                findings = shadow.take(scene)
                if shadow.lost_writes:
                    self.node.memory.note_unseen(self.ordinal)
            fault = None
            if outcome.fault is not None:
                fault = faults.exception(scene, outcome.fault, assertions)
                fault.findings = findings
            for watcher in tuple(self.node.watchers):
                watcher(loaded, kernel, findings, fault)
            if fault is not None:
                raise fault
            if outcome.timed_out:
                raise faults.timeout(
                    scene,
                    outcome.stopped_at,
                    timeout or 0.0,
                    "If it is no endless loop, raise the limit: timeout= or HIPKITTENS_TIMEOUT.",
                )
        result = LaunchResult(
            kernel=kernel_name,
            geometry=geometry,
            dynamic_shared=dynamic_shared,
            device=self.ordinal,
            seconds=outcome.seconds,
            counts=loaded.by_instruction(kernel_name, outcome.counts) if options.count else None,
            counters=outcome.counters if options.profile or options.trace else None,
            findings=findings,
            accesses=trace.take() if trace is not None else (),
            traffic=traffic,
        )
        if self.node.thread.results is not None:
            self.node.thread.results.append(result)
        return result

    def _show_printed(
        self,
        loaded: LoadedCode,
        services: Mapping[str, int],
        listener: hostcall.Listener | None,
        trapped: int | None,
    ) -> list[console.Assertion]:
        """Show what a launch has printed through ROCm's own ways; the assertions that failed in it.

        Args:
            trapped: work-group whose trap ended the launch: an exception is about to say what its assertions
                say.
        """
        assertions = []
        if hostcall.PRINTF_ARGUMENT in services:
            address = services[hostcall.PRINTF_ARGUMENT]
            for text, to_stderr in hostcall.drain_printf(
                address, loaded.printf_formats, self.node.memory.text_at
            ):
                console.writer(text, to_stderr)
        if listener is not None:
            printed, lost = listener.take()
            for entry in printed:
                if entry.assertion is not None:
                    assertions.append(entry.assertion)
                if entry.assertion is None or entry.group != trapped:
                    console.writer(entry.text, entry.to_stderr)
            if lost:
                console.writer(console.LOST, False)
        return assertions

    def _traffic(
        self, options: TrafficOptions | None, loaded: LoadedCode, kernel: str, geometry: Geometry
    ) -> Traffic | None:
        if options is None:
            return None
        return Traffic(
            options,
            loaded.code_object.text.address,
            loaded.line_kinds(kernel),
            geometry.group_count,
            -(-geometry.block_size // abi.LANES),
        )

    def _place_arguments(
        self,
        block: bytes,
        geometry: Geometry,
        scratch: int,
        shared: int,
        loaded: LoadedCode,
        kernel: KernelInfo,
    ) -> tuple[int, int]:
        """Addresses of the dispatch packet and of the argument block, both written into device memory."""
        if self._argument_block is None:
            self._argument_block = self.node.memory.allocate(
                _ARGUMENT_BYTES, MemoryKind.INTERNAL, self.ordinal
            )
        place = self._argument_block
        if dispatch.DISPATCH_PACKET_BYTES + len(block) > place.size:
            raise errors.LaunchError(
                f"kernel {kernel.short_name}: {len(block)} bytes of arguments; at most "
                f"{place.size - dispatch.DISPATCH_PACKET_BYTES} are possible."
            )
        packet, kernarg = place.base, place.base + ARGUMENT_OFFSET
        content = dispatch.dispatch_packet(
            geometry, scratch, shared, loaded.base + kernel.descriptor_address, kernarg
        )
        ctypes.memset(place.base, 0, ARGUMENT_OFFSET + len(block) + ARGUMENT_OFFSET)
        ctypes.memmove(packet, content, len(content))
        ctypes.memmove(kernarg, block, len(block))
        return packet, kernarg


# The argument block lies this far behind the dispatch packet; the ABI wants it aligned to 64 at most.
ARGUMENT_OFFSET = 256


def static_shared(kernel: KernelInfo) -> int:
    """LDS bytes that the kernel itself declares."""
    return max(kernel.group_segment_size, kernel.descriptor.group_segment_fixed_size)


def time_limit(chosen: float | None) -> float | None:
    """Seconds that a launch may take: what was chosen, else HIPKITTENS_TIMEOUT, else 600; 0 means no limit.

    Raises:
        UsageError: HIPKITTENS_TIMEOUT is no number.
    """
    if chosen is None:
        text = os.environ.get("HIPKITTENS_TIMEOUT")
        try:
            chosen = float(text) if text else _DEFAULT_TIMEOUT_SECONDS
        except ValueError:
            chosen = math.nan
        if not chosen >= 0:
            raise errors.UsageError(
                f"HIPKITTENS_TIMEOUT is {text!r}: a number of seconds is wanted, or 0 for no limit."
            )
    return chosen or None


Watcher = Callable[[LoadedCode, KernelInfo, tuple[RawFinding, ...], errors.KernelFault | None], None]
"""Told of what the sanitizer found in a launch, and of the fault that ended it."""


class Node:
    """The emulated devices and the memory that they share an address range in.

    Attributes:
        watchers: while there are any, every launch is sanitized and they are told of it.
    """

    def __init__(self) -> None:
        self.memory = Memory()
        # Held while a kernel runs; whatever takes memory away from kernels waits for it.
        self.launch_lock = threading.RLock()
        self.thread = _Thread()
        self.watchers: list[Watcher] = []
        self._console = 0
        self._printf = 0
        self._hostcalls: hostcall.Buffer | None = None
        self.devices = tuple(
            EmulatedDevice(self, ordinal, facts) for ordinal, facts in enumerate(device_facts())
        )

    def console(self) -> int:
        """Address of the buffer that kernels print into; one serves all, as one kernel runs at once."""
        with self.launch_lock:
            if not self._console:
                self._console = self.memory.map_apart(console.BYTES, MemoryKind.CONSOLE).base
                console.prepare(self._console)
            return self._console

    def services(self, kernel: KernelInfo) -> tuple[dict[str, int], hostcall.Listener | None]:
        """What a kernel's hidden arguments ask the host for: their values by kind; who answers hostcalls."""
        wanted = {arg.value_kind for arg in kernel.args}
        services: dict[str, int] = {}
        listener = None
        with self.launch_lock:
            if hostcall.PRINTF_ARGUMENT in wanted:
                if not self._printf:
                    self._printf = self.memory.map_apart(hostcall.PRINTF_BYTES, MemoryKind.CONSOLE).base
                hostcall.prepare_printf(self._printf)
                services[hostcall.PRINTF_ARGUMENT] = self._printf
            if hostcall.ARGUMENT in wanted:
                waves = dispatch.thread_count() * dispatch.MOST_RESIDENT * abi.MAX_WAVES
                if self._hostcalls is None or self._hostcalls.packets < waves:
                    self._hostcalls = hostcall.Buffer(self.memory, waves)
                # Waves that were stopped have kept their packets, and kernels can write here what they like.
                self._hostcalls.empty()
                services[hostcall.ARGUMENT] = self._hostcalls.address
                listener = hostcall.Listener(self._hostcalls)
        return services, listener

    @contextmanager
    def observe(self, options: LaunchOptions) -> Iterator[list[LaunchResult]]:
        """Launches of this thread inside the block run with `options`; their results come in order."""
        before = self.thread.options, self.thread.results
        results: list[LaunchResult] = []
        self.thread.options, self.thread.results = options, results
        try:
            yield results
        finally:
            self.thread.options, self.thread.results = before


@cache
def node() -> Node:
    """The emulated node of this process."""
    return Node()


__all__ = [
    "Dim",
    "EmulatedDevice",
    "Geometry",
    "LaunchOptions",
    "LaunchResult",
    "LoadedCode",
    "Node",
    "device_facts",
    "node",
]
