"""The emulated node: its devices, the code loaded on them, and one launch from its checks to its outcome."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from types import FrameType

from workbench import errors, targets
from workbench.codeobject import CodeObject, KernelInfo
from workbench.codeobject.elf import MAX_ARGUMENT_BYTES
from workbench.codeobject.names import demangle, first_names, short_name
from workbench.emulator.native import abi
from workbench.emulator.node import console, dispatch, faults, limits, scheduling
from workbench.emulator.node.allocations import Allocation, Memory, MemoryKind
from workbench.emulator.node.clock import Clock
from workbench.emulator.node.defaults import launch_defaults
from workbench.emulator.node.dispatch import Dispatch, Geometry, Outcome
from workbench.emulator.node.faults import GRID_STATE
from workbench.emulator.node.loaded import LoadedCode
from workbench.emulator.node.observer import Observer
from workbench.emulator.node.request import Request
from workbench.emulator.node.services import Served, Services
from workbench.events import hub
from workbench.launches import COUNTED, ForeignLaunch, LaunchOptions, LaunchRecord
from workbench.progress import counted
from workbench.targets import Product, default_product

# The argument block begins this far after the dispatch packet and is followed by as many zeros; the ABI
# aligns it to at most 64.
_ARGUMENT_OFFSET = 256
_ZEROS = bytes(_ARGUMENT_OFFSET)
# Between them is the target of multigrid_sync_arg, a hidden argument of cooperative launches, as ROCm's
# device libraries lay it out (ockl/src/cg.cl): the barrier and the numbers of several devices, all 0; two
# words in which work-groups arrive at the grid's barrier; the number of work-groups. At the start of a launch
# no work-group has arrived.
_GRID_STATE_OFFSET = 128
_GRID_STATE = struct.Struct("<QIIQQIII")
_NO_BINARY = 209
# The pointer of hip/device/heap.h, the bytes in front of the heap's blocks, and HIP's default for its size.
_HEAP = "hipkittens_heap"
_HEAP_HEAD = 1024
_HEAP_BYTES = 8 << 20
_INVALID_IMAGE = 200
# Number of launch shapes that are remembered for a code object.
_FORMS = 256
# The compiler appends this to a managed variable's name to name its storage.
_MANAGED = ".managed"


_PACKAGE = __name__.partition(".")[0]
_first: str | None = None
_alone = False


def show_first(name: str, *, alone: bool) -> None:
    """Makes an emulated device number 0 of this process, once; before any is used.

    Args:
        name: name, as from `device_name`.
        alone: True to hide the others, which else follow in their order.
    """
    global _first, _alone
    if _first is None:
        _first, _alone = name, alone


def device_name(product: Product) -> str:
    """Name of an emulated product: its target's name if it represents the target, otherwise its own."""
    if product is default_product(product.arch):
        return f"emulated:{product.arch}"
    return f"emulated:{product.name.lower()}"


def products() -> tuple[Product, ...]:
    """The products that are emulated, in the order of the devices' ordinals."""
    known = targets.PRODUCTS + targets.PARTIAL_PRODUCTS
    first = tuple(product for product in known if device_name(product) == _first)
    return first if _alone else first + tuple(product for product in known if product not in first)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.options = LaunchOptions()
        self.records: list[LaunchRecord] | None = None
        self.names_buffers = False
        self.foreign: Callable[[ForeignLaunch], None] | None = None


class EmulatedDevice:
    """One emulated GPU.

    Attributes:
        ordinal: number among the node's devices.
        name: name, such as "emulated:gfx950".
        product: the emulated product.
        heap_bytes: size of the heap for malloc in kernels.
    """

    def __init__(self, node: Node, ordinal: int, product: Product) -> None:
        self.node = node
        self.ordinal = ordinal
        self.product = product
        self.name = device_name(product)
        self.heap_bytes = _HEAP_BYTES
        self._argument_block: Allocation | None = None
        self._heap: Allocation | None = None

    def resize_heap(self, size: int) -> bool:
        """Set the heap's size to `size` bytes; False if code that uses it was already loaded."""
        if self._heap is not None:
            return False
        self.heap_bytes = size
        return True

    def _heap_address(self) -> int:
        """Address of the heap, made for the first code that uses it; it begins as hip/device/heap.h says."""
        if self._heap is None:
            size = max(self.heap_bytes, _HEAP_HEAD)
            self._heap = self.node.memory.allocate(
                size, MemoryKind.HEAP, self.ordinal, capacity=self.product.hbm_bytes
            )
            (ctypes.c_uint64 * 2).from_address(self._heap.base)[:] = [_HEAP_HEAD, size]
        return self._heap.base

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
        if code_object.target != self.product.arch and self.product.arch in code_object.targets:
            code_object = CodeObject(code_object.data, self.product.arch)
        if code_object.target != self.product.arch:
            raise errors.DeviceError(
                f"the code object is for {code_object.processor}, and the device {self.product.full_name} "
                f"(emulated) runs {self.product.arch}: compile with arch={self.product.arch!r}, or choose "
                "the device that fits.",
                _NO_BINARY,
            )
        image = self.node.memory.allocate(
            max(code_object.image_size, 1),
            MemoryKind.CODE,
            self.ordinal,
            capacity=self.product.hbm_bytes,
            label=first_names(code_object.kernels, lambda name: short_name(demangle(name))),
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
        """Copy a code object to its place, and set the variables that the device itself maintains."""
        content = code_object.load(image.base)
        ctypes.memmove(image.base, (ctypes.c_char * len(content)).from_buffer(content), len(content))
        loaded = LoadedCode(code_object, self.ordinal, image)
        variable = code_object.variable(console.SYMBOL)
        if variable is not None and variable.size == 8:
            ctypes.c_uint64.from_address(image.base + variable.address).value = self.node.services.console()
            loaded.prints = True
        variable = code_object.variable(console.HOSTCALLS_SYMBOL)
        if variable is not None and variable.size == 8:
            buffer = self.node.services.hostcalls()
            ctypes.c_uint64.from_address(image.base + variable.address).value = buffer.address
            loaded.asks = True
        variable = code_object.variable(_HEAP)
        if variable is not None and variable.size == 8:
            ctypes.c_uint64.from_address(image.base + variable.address).value = self._heap_address()
        # Code accesses a managed variable through a pointer; a program that registers its variables sets it.
        for name in code_object.symbols.ending(_MANAGED):
            pointer = code_object.variable(name.removesuffix(_MANAGED))
            storage = code_object.variable(name)
            if pointer is not None and pointer.size == 8 and storage is not None:
                ctypes.c_uint64.from_address(image.base + pointer.address).value = (
                    image.base + storage.address
                )
        return loaded

    def _choose(self, data: bytes) -> CodeObject:
        try:
            return CodeObject.from_bytes(data, self.product.arch)
        except errors.CodeObjectError as error:
            code = _INVALID_IMAGE if data[:4] == b"\x7fELF" or len(data) < 64 else _NO_BINARY
            raise errors.DeviceError(str(error), code) from error

    def unload(self, loaded: LoadedCode) -> None:
        """Remove a code object from device memory; waits for a running launch."""
        with self.node.launch_lock:
            self.node.memory.free(loaded.image)

    def check(self, kernel: KernelInfo, geometry: Geometry, dynamic_shared: int) -> None:
        """Checks that the device can run a launch of this shape.

        Raises:
            LaunchError: the launch does not fit; the message says what is too large and what would fit.
        """
        limits.check(kernel, geometry, dynamic_shared, self.product.target)

    def launch(
        self,
        loaded: LoadedCode,
        kernel_name: str,
        geometry: Geometry,
        dynamic_shared: int,
        arguments: bytes,
        cooperative: bool = False,
    ) -> LaunchRecord:
        """Run a kernel to its end.

        Args:
            arguments: bytes of the explicit arguments, padded with zeros if they are short, since ROCm leaves
                the rest unchanged; hidden arguments are filled in here.
            cooperative: True if its work-groups may wait for each other.

        Raises:
            LaunchError: a bad shape, too much shared memory, too many argument bytes.
            UnsupportedInstruction: the kernel has an instruction that is not implemented; nothing ran.
            KernelFault: the kernel faulted; includes KernelTimeout and KernelDeadlock.
            KernelInterrupt: the launch was interrupted and has stopped.
        """
        requested = options = self.node.options()
        defaults = launch_defaults()
        schedule = None if options.sanitize else defaults.schedule
        clock, timed = self.node.clock, None
        # Neither a tape's blocks nor a schedule's are those that the clock knows.
        if self.product.memory_latency_ns is None:
            clock.unmodelled += 1
        elif clock.active and options.tape is None and schedule is None:
            shape = geometry.groups, geometry.block, dynamic_shared
            timed = clock.launch(loaded, kernel_name, shape, arguments, options)
            options = timed.options
        counter = self.node.counter
        if counter is not None and requested.observed and not requested.sanitize:
            counter = None
        if counter is not None:
            options = replace(options, count=True, profile=True, traffic=COUNTED.traffic, steps=COUNTED.steps)
        approximation = options.approximate or defaults.approximation
        if approximation is not None:
            approximation = approximation.for_kernel(kernel_name)
        # The sanitizer checks the order itself, and a tape records what each instruction changes.
        late = None if options.sanitize or options.tape is not None else options.late or defaults.lateness
        request = Request(
            loaded,
            kernel_name,
            geometry,
            dynamic_shared,
            arguments,
            cooperative,
            options,
            approximation,
            None if schedule is not None else late,
            schedule.for_kernel(kernel_name) if schedule is not None else None,
            defaults,
        )
        scene, record, outcome = self._execute(request)
        if counter is not None:
            counter(record, loaded.code_object, clock.form(arguments)[1])
        if timed is not None:
            record = timed.ended(record, outcome.counts, requested)
        if counter is not None:
            record = record.asked_by(requested)
        self.node.keep(record)
        self.node.ended()
        for note in record.notes:
            _warn(note, errors.SharedMemoryOverrun)
        if outcome.past is not None and not options.sanitize:
            _warn(faults.past(scene, outcome.past), errors.TensorOverrun)
        return record

    def _execute(self, request: Request) -> tuple[faults.Scene, LaunchRecord, Outcome]:
        """Runs a kernel to its end, with what its options ask for in the record; raises as `launch`."""
        loaded = request.loaded
        timeout = request.options.timeout
        timeout = request.defaults.timeout if timeout is None else timeout or None
        started = time.monotonic()
        form = self._form(request)
        translating = time.monotonic() - started
        scene = form.scene
        if len(request.arguments) > form.own_bytes:
            limits.check_arguments(scene.kernel, request.arguments)
        with self.node.launch_lock:
            served = self.node.services.for_launch(loaded, form.kinds, form.description.wave_size)
            prepared = self._prepare(form, request, served)
            if request.schedule is not None:
                scheduling.prepare(prepared, request, form.scene)
            observer = Observer(request, prepared, self.node.memory)
            try:
                outcome, assertions = _run(prepared, observer, served, timeout, form.name)
            except dispatch.Interrupted as stopped:
                raise faults.interruption(scene, stopped.outcome) from None
            record = form.record.but(
                wall_seconds=outcome.seconds,
                translation_seconds=translating,
                findings=observer.findings(scene),
                notes=(faults.overrun(scene, outcome.overrun),) if outcome.overrun is not None else (),
            )
            fault = _fault(scene, outcome.fault or observer.fault, assertions, record)
            self.node.tell(record, loaded.code_object, fault)
            if fault is None and outcome.deadlocked:
                fault = faults.deadlock(scene, outcome)
            if fault is None and outcome.timed_out:
                hint = "If it is not an endless loop, raise the limit: timeout= or HIPKITTENS_TIMEOUT."
                waits = faults.waits(scene, outcome)
                fault = faults.timeout(scene, outcome.stopped_at, timeout or 0.0, hint, waits)
            if fault is not None:
                fault.code = loaded.code_object.digest
                self.node.stopped += 1
                self.node.ended()
                raise fault
        return scene, observer.completed(record, outcome), outcome

    def _form(self, request: Request) -> _Form:
        """The part of a launch that similar launches share, built and checked for the first of them."""
        key = request.form
        form: _Form | None = request.loaded.forms.get(key)
        if form is None:
            form = self._new_form(request)
            if len(request.loaded.forms) >= _FORMS:
                request.loaded.forms.clear()
            request.loaded.forms[key] = form
        return form

    def _new_form(self, request: Request) -> _Form:
        loaded, geometry, dynamic_shared = request.loaded, request.geometry, request.dynamic_shared
        kernel = loaded.code_object.kernels[request.kernel]
        self.check(kernel, geometry, dynamic_shared)
        if request.is_exact and not self.product.target.matrix_arithmetic:
            raise errors.DeviceError(
                f"numerics is 'exact', but the exact rounding of matrix cores of {self.product.arch} is not "
                "known; use 'fast' there, or a device with exact numerics: emulated:gfx942, emulated:gfx950."
            )
        limits.check_argument_bytes(kernel, max(kernel.kernarg_size, kernel.own_bytes))
        translation = loaded.translation(
            request.kernel,
            sanitize=request.options.sanitize,
            single=request.is_single,
            exact=request.is_exact,
            approximate=request.approximation is not None,
            late=request.lateness is not None or request.schedule is not None,
            scheduled=request.schedule is not None,
        )
        shared = limits.static_shared(kernel) + dynamic_shared
        scene = faults.Scene(
            kernel=kernel,
            blocks=translation.blocks,
            geometry=geometry,
            memory=self.node.memory,
            device=self.ordinal,
            shared_bytes=shared,
            shared_given=self.product.target.lds_given(shared),
            scratch_bytes=dispatch.scratch_bytes(kernel),
            source_of=loaded.source_of,
            variable_at=loaded.variable_at,
            shared_arrays=loaded.shared_arrays,
            variable_of=loaded.variable_of,
            has_data=loaded.has_data,
            cooperative=request.cooperative,
        )
        description = dispatch.describe(
            translation=translation,
            kernel=kernel,
            geometry=geometry,
            shared_bytes=shared,
            code_base=loaded.base,
            target=self.product.arch,
            profile=request.profile,
            xcds=self.product.xcds,
            units=self.product.units_per_xcd,
            resident=self.product.compute_units
            * limits.groups_per_unit(kernel, geometry.block_size, dynamic_shared, self.product.target),
        )
        services = {GRID_STATE: self._arguments().base + _GRID_STATE_OFFSET} if request.cooperative else {}
        record = LaunchRecord(request.kernel, geometry.groups, geometry.block, dynamic_shared, self.name, 0.0)
        return _Form(scene, description, record, services)

    def _prepare(self, form: _Form, request: Request, served: Served) -> Dispatch:
        """Puts a launch's arguments into device memory and describes it for the C side."""
        block = form.block(request.arguments, served)
        packet, kernarg = self._place_arguments(form, block, request.loaded)
        descriptor = form.scene.kernel.descriptor
        if descriptor.kernarg_preload_length or not form.registers:
            form.registers = dispatch.user_sgprs(
                descriptor,
                kernarg=kernarg,
                packet=packet,
                arguments=block,
                private_bytes=form.scene.scratch_bytes,
            )
        return self._prepared(form, request, served, form.registers)

    def _prepared(
        self, form: _Form, request: Request, served: Served, registers: tuple[int, ...]
    ) -> Dispatch:
        """Describes a launch whose arguments are in memory for the C side."""
        return dispatch.prepare(
            form.description,
            registers=registers,
            allocations=self.node.memory.table(self.ordinal, request.options.sanitize),
            hostcalls=served.hostcalls,
            serve=served.callback,
            exact_shared=request.exact_shared,
            approximation=request.approximation,
            lateness=request.lateness,
        )

    def _arguments(self) -> Allocation:
        """The block for a launch's packet and arguments, allocated at the first launch."""
        if self._argument_block is None:
            self._argument_block = self.node.memory.allocate(
                _ARGUMENT_OFFSET + MAX_ARGUMENT_BYTES + _ARGUMENT_OFFSET,
                MemoryKind.INTERNAL,
                self.ordinal,
            )
        return self._argument_block

    def _place_arguments(self, form: _Form, block: bytes, loaded: LoadedCode) -> tuple[int, int]:
        """Addresses of the dispatch packet and of the argument block, both written into device memory."""
        place = self._arguments()
        packet, kernarg = place.base, place.base + _ARGUMENT_OFFSET
        if not form.packet:
            scene = form.scene
            described = dispatch.dispatch_packet(
                scene.geometry,
                scene.scratch_bytes,
                scene.shared_bytes,
                loaded.base + scene.kernel.descriptor_address,
                kernarg,
            )
            state = _GRID_STATE.pack(0, 0, 0, 0, 0, 0, 0, scene.geometry.group_count & 0xFFFFFFFF)
            form.packet = (described.ljust(_GRID_STATE_OFFSET, b"\0") + state).ljust(_ARGUMENT_OFFSET, b"\0")
        content = b"".join((form.packet, block, _ZEROS))
        ctypes.memmove(packet, content, len(content))
        return packet, kernarg


class _Form:
    """The part that launches of one kernel in one shape share; it is checked once.

    Args:
        scene: facts for the messages of faults.
        description: description for the C side.
        record: record of a launch that has taken no time.
        services: values of hidden arguments by kind, the same in each launch.

    Attributes:
        name: the kernel's name, as people read it.
        kinds: kinds of the kernel's arguments.
        own_bytes: bytes of the arguments that the caller passes and the kernel gets.
        registers: the SGPRs that a wave started with in the last launch; those that hold no arguments are the
            same in the next.
        packet: bytes in front of the arguments, the same in each launch; empty before the first.
    """

    def __init__(
        self,
        scene: faults.Scene,
        description: dispatch.Description,
        record: LaunchRecord,
        services: Mapping[str, int],
    ) -> None:
        self.scene = scene
        self.description = description
        self.record = record
        kernel = scene.kernel
        self.name = kernel.short_name
        self.kinds = frozenset(arg.value_kind for arg in kernel.args)
        self.own_bytes = min(kernel.own_bytes, kernel.kernarg_size)
        self.registers: tuple[int, ...] = ()
        self.packet = b""
        self._services = services
        self._hidden = dispatch.argument_block(kernel, b"", scene.geometry, record.dynamic_shared, services)

    def block(self, arguments: bytes, served: Served) -> bytes:
        """The whole argument block, from the bytes of the kernel's own arguments."""
        if len(arguments) == self.own_bytes and not served.arguments:
            return arguments + self._hidden[len(arguments) :]
        kernel, geometry = self.scene.kernel, self.scene.geometry
        services = {**self._services, **served.arguments}
        return dispatch.argument_block(kernel, arguments, geometry, self.record.dynamic_shared, services)


class _Telling:
    """Reports the progress and the end of a launch: to a bar if a person is watching, and to listeners.

    Most launches end before there is anything to report.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._total = 0
        self._stack: ExitStack | None = None
        self._show: dispatch.Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._show is None:
            self._stack = ExitStack()
            self._show = self._stack.enter_context(counted(f"{self._name}, work-groups"))
        self._total = total
        self._show(done, total)
        hub.progress(self._name, done, total)

    def end(self) -> None:
        """Removes the bar."""
        if self._stack is not None:
            self._stack.close()
            hub.progress(self._name, self._total, self._total)


def _run(
    prepared: Dispatch, observer: Observer, served: Served, timeout: float | None, name: str
) -> tuple[Outcome, list[console.Assertion]]:
    """Runs a launch and prints its output, however it ends; returns its outcome and failed assertions."""
    outcome = None
    tell = _Telling(name)
    try:
        outcome = dispatch.run(
            prepared,
            timeout=timeout,
            threads=1 if observer.one_thread or served.one_thread or prepared.launch.schedule else None,
            traffic=observer.traffic,
            progress=tell,
        )
    finally:
        tell.end()
        report = outcome.fault if outcome is not None else None
        is_trap = report is not None and report.fault.kind == abi.FAULT_TRAP
        assertions = served.show(int(report.group) if report is not None and is_trap else None)
    served.check()
    return outcome, assertions


def _warn(text: str, category: type[Warning]) -> None:
    """Warns of an access that hardware allows, at the line that made the launch."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _fault(
    scene: faults.Scene,
    report: abi.CData | None,
    assertions: list[console.Assertion],
    record: LaunchRecord,
) -> errors.KernelFault | None:
    """The error that ended a launch, with the sanitizer's findings until then; None if it ended well."""
    if report is None:
        return None
    fault = faults.exception(scene, report, assertions)
    fault.findings = record.findings
    return fault


Watcher = Callable[[LaunchRecord, CodeObject, errors.KernelFault | None], None]
"""Receives a launch's record with the sanitizer's findings, its code, and the fault that ended it."""

Counter = Callable[[LaunchRecord, CodeObject, int], None]
"""Receives a record with what `COUNTED` requests, its code, and the bytes that its arguments point to."""


class _Observed:
    """See `Node.observe`; a class, since a launch enters and leaves it."""

    def __init__(self, thread: _Thread, options: LaunchOptions, names_buffers: bool) -> None:
        self._thread, self._options, self._names_buffers = thread, options, names_buffers

    def __enter__(self) -> list[LaunchRecord]:
        thread = self._thread
        self._before = thread.options, thread.records, thread.names_buffers
        records: list[LaunchRecord] = []
        thread.options, thread.records, thread.names_buffers = self._options, records, self._names_buffers
        return records

    def __exit__(self, *_: object) -> None:
        thread = self._thread
        thread.options, thread.records, thread.names_buffers = self._before


class Node:
    """The emulated devices and their memory, in one address range.

    Attributes:
        watchers: while there are any, every launch is sanitized and reported to them.
        counter: receives the record of each launch that has no other observer; or None.
        after_launch: called when a launch has ended; or None.
        launches: number of launches that have ended in this process.
        stopped: number of launches that a fault ended.
        clock: clock of HIP events.
        loan: called with the argument bytes of a launch by foreign code, which names no buffers; returns a
            context that lends the memory. None: nothing is lent.
    """

    def __init__(self) -> None:
        self.memory = Memory()
        # Held while a kernel runs; calls that free memory which kernels use wait for it.
        self.launch_lock = threading.RLock()
        self.thread = _Thread()
        self.watchers: list[Watcher] = []
        self.counter: Counter | None = None
        self.after_launch: Callable[[], None] | None = None
        self.launches = 0
        self.stopped = 0
        self.loan: Callable[[bytes], AbstractContextManager[None]] | None = None
        self.services = Services(self.memory)
        self.clock = Clock(self.memory, products())
        self.devices = tuple(EmulatedDevice(self, n, product) for n, product in enumerate(products()))

    def forked(self) -> None:
        """In a child process: its threads hold no lock, even if the parent was launching.

        The child has its own copy of memory, which is consistent because a fork waits for its lock.
        """
        self.memory.lock.release()
        self.launches = self.stopped = 0
        self.launch_lock = threading.RLock()
        self.clock.forked()

    def options(self) -> LaunchOptions:
        """Options of the calling thread's next launch."""
        options = self.thread.options
        return replace(options, sanitize=True) if self.watchers and not options.sanitize else options

    def observe(
        self, options: LaunchOptions, *, names_buffers: bool = False
    ) -> AbstractContextManager[list[LaunchRecord]]:
        """In this context, this thread's launches run with `options`; their records are appended in order.

        Args:
            names_buffers: True if the caller has lent all host memory that the kernel may access.
        """
        return _Observed(self.thread, options, names_buffers)

    def memory_at(self, address: int) -> Allocation | None:
        """The allocation at an address that HIP's queries report, including a tensor's memory if foreign
        launches may access it."""
        allocation = self.memory.find(address)
        return self.memory.storage_at(address) if allocation is None and self.loan is not None else allocation

    def loan_to_foreign_code(self, arguments: bytes) -> AbstractContextManager[None] | None:
        """Context of any launch: lends the memory that foreign code may have passed to it; None for nothing.

        Args:
            arguments: the kernel's own arguments.
        """
        return None if self.loan is None or self.thread.names_buffers else self.loan(arguments)

    @contextmanager
    def foreign_launches(self, take: Callable[[ForeignLaunch], None]) -> Iterator[None]:
        """In this context, `take` gets this thread's launches by foreign code, each when it has ended."""
        before, self.thread.foreign = self.thread.foreign, take
        try:
            yield
        finally:
            self.thread.foreign = before

    def tell_foreign(self, launch: Callable[[], ForeignLaunch]) -> None:
        """Passes a launch that has ended to the observer of this thread's launches by foreign code."""
        if self.thread.foreign is not None and not self.thread.names_buffers:
            self.thread.foreign(launch())

    def keep(self, record: LaunchRecord) -> None:
        """Pass a launch's record to the observer of this thread."""
        if self.thread.records is not None:
            self.thread.records.append(record)

    def ended(self) -> None:
        """Notes that a launch has ended, with complete records."""
        if self.after_launch is not None:
            self.after_launch()

    def tell(self, record: LaunchRecord, code: CodeObject, fault: errors.KernelFault | None) -> None:
        """Count a launch that has ended, and notify the watchers."""
        self.launches += 1
        for watcher in tuple(self.watchers):
            watcher(record, code, fault)


@cache
def node() -> Node:
    """The emulated node of this process."""
    instance = Node()
    lock = instance.memory.lock
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=instance.forked)
    return instance


__all__ = ["EmulatedDevice", "Node", "device_name", "node", "products", "show_first"]
