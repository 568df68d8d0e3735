"""Emulated devices behind the emulator's libamdhip64: launches report their effects, and why they failed.

Only this module imports the emulator, and it is imported when a device is first requested.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

# Python's own clock: a script's `time` may show modelled time.
from time import perf_counter
from typing import Any

from workbench.emulator import hip as emulator
from workbench.emulator import native
from workbench.emulator.hip.calls import failure_listeners, heard, raised, say_dropped, thread
from workbench.emulator.hip.devices import properties
from workbench.emulator.node import clock, console, interrupts
from workbench.emulator.node.allocations import usable_memory
from workbench.emulator.node.device import device_name, node, products, show_first
from workbench.errors import DeviceError, WorkbenchError
from workbench.launches import BufferLabel, ForeignLaunch, LaunchModel, LaunchOptions, LaunchRecord
from workbench.numerics import FAST, VARIABLE
from workbench.origin import Origin
from workbench.runtime import reports, tally
from workbench.runtime.backend import (
    Buffers,
    DeviceMemory,
    Invocation,
    KernelTime,
    Node,
    TensorMemory,
    Watcher,
    merged,
)
from workbench.runtime.hip import Hip
from workbench.targets import PARTIAL, TARGETS, product


def launch_model() -> LaunchModel:
    """The model of launch times; it is above this layer, and takes a second to load."""
    loaded: LaunchModel = import_module("workbench.profile.launched").MODEL
    return loaded


clock.model = launch_model


class EmulatedBackend:
    """The devices that this computer's processor emulates."""

    title = "the emulated device's HIP library"
    device_title = "an emulated device"
    origin = Origin.MODELLED
    observes = True
    label = "emulated"

    def __init__(self) -> None:
        # Launches lend the device the caller's host memory and take it back afterwards; two at once could
        # take it from each other.
        self._lock = threading.RLock()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        # The parent's launching thread does not exist here to release it.
        self._lock = threading.RLock()

    def nodes(self) -> tuple[Node, ...]:
        return tuple(
            Node(device_name(product), product.arch, ordinal, product.name, FAST)
            for ordinal, product in enumerate(products())
        )

    def describe(self) -> str:
        return "the workbench's own, on emulated devices"

    def load(self) -> Mapping[str, str]:
        # Checked here too: behind the C API an exception is only a number.
        usable_memory()
        paths = {name: str(library.path) for name, library in emulator.load_all().items()}
        _report_where_asked()
        return paths

    def build(self, *, partial: bool = False) -> None:
        emulator.build_all()
        built = (*TARGETS, *PARTIAL) if partial else TARGETS
        for lanes in sorted({size for target in built for size in target.wave_sizes}):
            native.build(lanes)

    def check_reached(self, device_count: int) -> None:
        if device_count != len(products()) or not emulator.was_called("hipGetDeviceCount"):
            raise DeviceError(
                "hip-python was used in this process before the workbench, on another HIP library, and "
                "cannot change: restart the kernel (or the program) and import workbench first."
            )

    def failure(self) -> BaseException | None:
        error = emulator.take_exception()
        raised(error)
        return error

    def properties(self, node: Node, names: Sequence[str]) -> dict[str, Any]:
        # The value that HIP reports, without loading a library that the process may not want.
        values = properties(product(node.product), node.ordinal)
        return {name: values[name] for name in names}

    def torch_device(self, node: Node) -> str:
        return "cpu"

    def has_memory(self, address: int) -> bool:
        return node().memory.in_arena(address)

    def memory(self, hip: Hip) -> DeviceMemory:
        # hipMemGetInfo's free bytes include the limit, so they do not give the used bytes.
        _, total = hip.call("hipMemGetInfo")
        memory = node().memory
        return DeviceMemory(memory.used, int(total), min(memory.limit, int(total)))

    def current_device(self, hip: Hip) -> int:
        # What hipGetDevice returns, without a call from Python through C into Python.
        return thread().device

    def interrupts_held(self) -> contextlib.AbstractContextManager[None]:
        return interrupts.held()

    def lent(
        self, buffers: Buffers, labels: Mapping[int, BufferLabel], granularity: int
    ) -> contextlib.AbstractContextManager[None]:
        return node().memory.lent(merged(buffers), labels, granularity)

    def tensor_allocator(self, address: int) -> int:
        return node().memory.storages.allocator(address)

    def has_tensor(self, address: int) -> bool:
        return node().memory.storages.at(address)[0] > 0

    def tensor_memory(self) -> TensorMemory:
        storages = node().memory.storages
        return TensorMemory(storages.used, storages.most_used)

    def forget_most_tensor_memory(self) -> None:
        node().memory.storages.forget_most()

    @contextlib.contextmanager
    def lending(self, buffers: Callable[[bool], Buffers], granularity: Callable[[], int]) -> Iterator[None]:
        memory, before = node().memory, node().loan

        @contextlib.contextmanager
        def loan(arguments: bytes) -> Iterator[None]:
            step = granularity()
            with memory.reaching_storages(step), memory.lent(merged(buffers(False)), {}, step):
                if not memory.has_unknown_address(arguments):
                    yield
                    return
                with memory.lent(merged(buffers(True)), {}, step):
                    yield

        node().loan = loan
        try:
            with emulator.threads_begin_here():
                yield
        finally:
            node().loan = before

    def foreign_launches(
        self, take: Callable[[ForeignLaunch], None]
    ) -> contextlib.AbstractContextManager[None]:
        return node().foreign_launches(take)

    @contextlib.contextmanager
    def host_code(
        self, hip: Hip, buffers: Callable[[], Buffers], options: LaunchOptions | None, granularity: int
    ) -> Iterator[list[LaunchRecord]]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._lock)
            stack.enter_context(emulator.threads_begin_here())
            stack.enter_context(heard())
            stack.enter_context(node().memory.lent(merged(buffers()), {}, granularity))
            observed = stack.enter_context(node().observe(options)) if options is not None else []
            emulator.take_exception()
            emulator.take_launch_failure()
            try:
                yield observed
            except Exception as error:
                behind = emulator.take_launch_failure() or emulator.take_exception()
                raised(behind)
                if isinstance(behind, WorkbenchError | KeyboardInterrupt):
                    raise behind from error
                raise
            # A launch failed, even if nobody asked for its result.
            failure = emulator.take_launch_failure()
            if failure is not None:
                raised(failure)
                raise failure

    def launch(self, hip: Hip, invocation: Invocation, call: Callable[[bytes], None]) -> LaunchRecord:
        with (
            self._lock,
            node().memory.lent(merged(invocation.buffers), invocation.labels, invocation.granularity),
            node().observe(invocation.options, names_buffers=True) as records,
        ):
            started = perf_counter()
            call(invocation.kernargs)
            seconds = perf_counter() - started
        return records[-1].but(wall_seconds=seconds)

    def keeping_copies(self, hip: Hip) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def forget_copies(self, buffers: Buffers) -> None:
        pass

    @contextlib.contextmanager
    def watching(self, watcher: Watcher) -> Iterator[None]:
        watchers = node().watchers
        watchers.append(watcher)
        try:
            yield
        finally:
            watchers.remove(watcher)

    def make_first(self, node: Node) -> None:
        show_first(node.name, alone=False)

    def enter_program(
        self, node: Node, write: Callable[[str, bool], None], libraries: Mapping[str, Path] | None
    ) -> None:
        show_first(node.name, alone=True)
        os.environ[VARIABLE] = node.numerics
        emulator.load_all(libraries)
        _report_where_asked()
        console.writer = write
        failure_listeners.append(lambda error: write(f"hipkittens: {error}\n", True))

    def kernel_times(self, of: Node) -> Mapping[str, KernelTime]:
        _time_kernels()
        clock.label(product(of.product))
        times = node().clock
        times.settle()
        return {
            name: KernelTime(launches, times.kernel_seconds[name])
            for name, launches in times.kernel_launches.items()
        }


_RELEASES = (5, 6, 7)
"""Releases of ROCm, by the number that ends its libraries' SONAMEs."""


def drop_in_libraries() -> dict[str, Path]:
    """The HIP libraries by the names that programs ask for; built unless the cache has them.

    Raises:
        ToolchainError: they could not be built.
    """
    files: dict[str, Path] = {}
    for name, path in emulator.build_all().items():
        files[f"lib{name}.so"] = path
        sonames = [f"lib{name}.so.{release}" for release in _RELEASES]
        files |= {soname: emulator.build_alias(path, soname) for soname in sonames}
    return files


@functools.cache
def _time_kernels() -> None:
    """Starts the clock, as if there were an event that can be timed."""
    node().clock.event_made()


@functools.cache
def _report_where_asked() -> None:
    """Sets up once what this process reports: why launches failed, and counts and findings if its environment
    requests them.

    Call it after loading the libraries, so that they are closed last at the end of the process.
    """
    say_dropped(lambda text: emulator.load().handle.hkhip_last_words(text))
    tally.keep(node(), clock.loaded_model)
    reporter = reports.reporter()
    if reporter is not None:
        node().watchers.append(reporter)
