"""A device, the code loaded on it, and launches: the workbench's view of HIP."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from workbench.errors import DeviceError, LaunchError, WorkbenchError
from workbench.launches import DWORD, BufferLabel, Dim, ForeignLaunch, LaunchOptions, LaunchRecord
from workbench.numerics import EXACT
from workbench.origin import Origin
from workbench.progress import hidden
from workbench.runtime.backend import (
    Backend,
    Buffers,
    DeviceMemory,
    Invocation,
    KernelTime,
    Node,
    TensorMemory,
)
from workbench.runtime.hip import Hip, HipLaunchError, used

_PARAM_BUFFER_POINTER, _PARAM_BUFFER_SIZE, _PARAM_END = 1, 2, 3
_EXTRA = struct.Struct("=6Q")
_EXTRA_SPACE = bytes(_EXTRA.size)
_PROPERTIES = (
    "name",
    "gcnArchName",
    "totalGlobalMem",
    "sharedMemPerBlock",
    "maxSharedMemoryPerMultiProcessor",
    "regsPerBlock",
    "warpSize",
    "maxThreadsPerBlock",
    "maxThreadsPerMultiProcessor",
    "clockRate",
    "memoryClockRate",
    "memoryBusWidth",
    "multiProcessorCount",
    "l2CacheSize",
    "major",
    "minor",
    "pciBusID",
)


def in_background(build: Callable[[], object]) -> None:
    """Begin to build something in advance. It shows nothing and leaves errors to whoever needs the result."""

    def quietly() -> None:
        with contextlib.suppress(WorkbenchError, OSError), hidden():
            build()

    threading.Thread(target=quietly, name="build", daemon=True).start()


class Device:
    """A device that kernels run on; its HIP library is loaded when you first use it.

    Attributes:
        name: "gpu:0", "emulated:gfx950" or "emulated:gfx950,numerics=exact".
        arch: its target, such as "gfx950".
        product: the product that it emulates, such as "MI355X"; "" for a GPU: see `properties`.
        numerics: "fast" or "exact" on an emulated device (`workbench.numerics`); "" on a GPU.
        backend: back end that runs its kernels.
    """

    def __init__(self, node: Node, backend: Backend) -> None:
        self.name = f"{node.name},numerics={EXACT}" if node.numerics == EXACT else node.name
        self.numerics = node.numerics
        self._plain = LaunchOptions(numerics=node.numerics or None)
        self.arch = node.arch
        self.product = node.product
        self.backend = backend
        self._node = node

    @property
    def origin(self) -> Origin:
        """Origin of its times: measured on a GPU, emulated if software plays one beneath AMD's libraries,
        modelled for an emulated device."""
        return self.backend.origin

    @property
    def in_use(self) -> bool:
        """True if this process uses its HIP library already."""
        return used() is self.backend

    @property
    def observes(self) -> bool:
        """True if its launches provide the observations in `LaunchOptions`, beyond their time."""
        return self.backend.observes

    def check_observes(self, event: str) -> None:
        """Raises an error unless the device's launches can be observed.

        Args:
            event: what the caller wants to observe, such as "which work-group writes where".

        Raises:
            DeviceError
        """
        if not self.observes:
            raise DeviceError(
                f"{self.name} is {self.backend.device_title}, which does not report {event}; use an emulated "
                f'device: device="emulated:{self.arch}", in a process that uses no GPU'
            )

    @property
    def torch_device(self) -> str:
        """PyTorch's name of where its tensors live: "cuda:0" for a GPU, "cpu" for an emulated device, and for
        a GPU where PyTorch has no ROCm: a launch copies them."""
        return self.backend.torch_device(self._node)

    @cached_property
    def properties(self) -> dict[str, Any]:
        """hipDeviceProp_t's fields by name: sizes in bytes, clocks in kHz.

        Raises:
            DeviceError: a GPU's, in a process that uses the emulator.
        """
        values = self.backend.properties(self._node, _PROPERTIES)
        return {name: v.decode() if isinstance(v, bytes) else v for name, v in values.items()}

    @property
    def ordinal(self) -> int:
        """Its number for HIP."""
        return self._node.ordinal

    def has_memory(self, address: int) -> bool:
        """True for an address in a range that only HIP's own allocations use, no tensor of PyTorch's."""
        return self.backend.has_memory(address)

    @property
    def label(self) -> str:
        """Its name for people: "AMD Instinct MI355X (emulated)"."""
        name = str(self.properties.get("name") or self.name)
        return f"{name} ({self.backend.label})" if self.backend.label else name

    def load(self, code: bytes) -> LoadedModule:
        """Put compiled code on the device.

        Args:
            code: an AMDGPU ELF, or a HIP fat binary.

        Raises:
            DeviceError: the code is damaged or not for this device.
        """
        with self.hip() as hip:
            _unload_dropped(hip)
            return LoadedModule(self, hip.call("hipModuleLoadData", code), code)

    def synchronize(self) -> None:
        """Wait for everything on the device.

        Raises:
            DeviceError: something on it failed.
        """
        with self.hip() as hip:
            hip.call("hipDeviceSynchronize")

    def memory(self) -> DeviceMemory:
        """Used and total bytes of its memory."""
        with self.hip() as hip:
            return self.backend.memory(hip)

    def build(self, *, partial: bool = False) -> None:
        """Builds everything that the first launch on a computer would build, and shows progress.

        Args:
            partial: see `Backend.build`.

        Raises:
            CompilerNotFound, ToolchainError
        """
        self.backend.build(partial=partial)

    def build_later(self) -> None:
        """Begin to build, in the background, what the first launch on a computer would build."""
        in_background(self.build)

    def hip(self) -> AbstractContextManager[Hip]:
        """HIP's functions, with this device current for the calling thread in this context."""
        return _Current(self._functions, self.backend, self._node.ordinal)

    @cached_property
    def _functions(self) -> Hip:
        return Hip(self.backend, self.name)

    @contextlib.contextmanager
    def host_code(
        self,
        buffers: Callable[[], Buffers],
        options: LaunchOptions | None = None,
        granularity: int = DWORD,
    ) -> Iterator[list[LaunchRecord]]:
        """Context around compiled host code whose launches go to this device.

        Args:
            buffers: (address, bytes) of host memory that the code may pass to a kernel; called only if that
                has to count as the device's.
            options: observations of its launches; None for none.
            granularity: the buffers' allocator's sizes are multiples of this many bytes, see
                `Function.launch`.

        Returns:
            records of its launches, in order; empty without `options`, and on a GPU.

        Raises:
            WorkbenchError: a launch failed and the device knows the cause.
            KeyboardInterrupt: a launch was interrupted.
        """
        launch_options = self._options(options) if options is not None or self.numerics == EXACT else None
        with (
            self.hip() as hip,
            self.backend.host_code(hip, buffers, launch_options, granularity) as records,
        ):
            yield records if options is not None else []

    def _options(self, options: LaunchOptions | None) -> LaunchOptions:
        """A launch's options, with the device's numerics if they specify none."""
        if options is None:
            return self._plain
        return options if options.numerics else replace(options, numerics=self._plain.numerics)

    def lent(
        self,
        buffers: Buffers,
        labels: Mapping[int, BufferLabel] | None = None,
        granularity: int = DWORD,
    ) -> AbstractContextManager[None]:
        """In this context, kernels may access this host memory, given as (address, bytes).

        Args:
            labels: description of each buffer, by address.
            granularity: the buffers' allocator's sizes are multiples of this many bytes, see
                `Function.launch`.
        """
        return self.backend.lent(buffers, labels or {}, granularity)

    def tensor_allocator(self, address: int) -> int:
        """Address of a c10::Allocator for CPU tensors that the device tracks, for PyTorch to use instead of
        its own; 0 if one already exists for another allocator.

        Args:
            address: address of PyTorch's own allocator, which it wraps.
        """
        return self.backend.tensor_allocator(address)

    def has_tensor(self, address: int) -> bool:
        """True if an allocation of `tensor_allocator` begins at this address."""
        return self.backend.has_tensor(address)

    def tensor_memory(self) -> TensorMemory:
        """Bytes of the tensors from `tensor_allocator`."""
        return self.backend.tensor_memory()

    def forget_most_tensor_memory(self) -> None:
        """Makes `tensor_memory` track the maximum from now on."""
        self.backend.forget_most_tensor_memory()

    def lending(
        self, buffers: Callable[[bool], Buffers], granularity: Callable[[], int]
    ) -> AbstractContextManager[None]:
        """Inside this context, launches by foreign code, such as a library that ctypes loaded, reach the
        memory of `tensor_allocator` and further host memory, and new threads use this device.

        Args:
            buffers: returns (address, bytes) of the further memory at each such launch; it is called again
                with True if an argument is an unknown address in this process.
            granularity: the buffers' allocator's sizes are multiples of this many bytes, see
                `Function.launch`.
        """
        return self.backend.lending(buffers, granularity)

    @contextlib.contextmanager
    def keeping_copies(self) -> Iterator[None]:
        """In this context, copies of this thread's launches stay on the device for the next ones.

        For consecutive launches whose tensors nobody else reads before the end, when they are written back.
        This matters only if `torch_device` of a GPU is "cpu"; otherwise nothing is copied.
        """
        with self.hip() as hip, self.backend.keeping_copies(hip):
            yield

    def forget_copies(self, buffers: Buffers) -> None:
        """Drops the copies of memory, as (address, bytes), that is about to be freed: `keeping_copies` would
        write them back to it."""
        self.backend.forget_copies(buffers)

    def kernel_times(self) -> Mapping[str, KernelTime]:
        """Launches of each kernel and their modelled time since the first call, by its symbol.

        Raises:
            WorkbenchError: a time could not be modelled.
        """
        return self.backend.kernel_times(self._node)

    def foreign_launches(self, take: Callable[[ForeignLaunch], None]) -> AbstractContextManager[None]:
        """In this context, `take` gets the launches that code other than the workbench's makes through HIP on
        this thread, in order, each when it has ended; none on a GPU."""
        return self.backend.foreign_launches(take)

    def make_first(self) -> None:
        """Makes an emulated device number 0 of this process; see `registry.make_first`."""
        self.backend.make_first(self._node)

    def enter_program(
        self, write: Callable[[str, bool], None], libraries: Mapping[str, Path] | None = None
    ) -> None:
        """Makes it device 0 of this process, into which a HIP program is about to be loaded.

        Args:
            write: shows a text, on standard error if its second argument says so.
            libraries: paths of HIP's libraries by name, if the process has already loaded them.
        """
        self.backend.enter_program(self._node, write, libraries)

    def __repr__(self) -> str:
        return f"<Device {self.name}: {self.product or 'GPU'}, {self.arch}>"


class _Current:
    """See `Device.hip`; a class, since a launch enters and leaves it."""

    def __init__(self, hip: Hip, backend: Backend, ordinal: int) -> None:
        self._hip, self._backend, self._ordinal = hip, backend, ordinal
        self._held = backend.interrupts_held()

    def __enter__(self) -> Hip:
        hip = self._hip
        self._held.__enter__()
        try:
            self._before = self._backend.current_device(hip)
            if self._before != self._ordinal:
                hip.call("hipSetDevice", self._ordinal)
        except BaseException as error:
            self._held.__exit__(type(error), error, error.__traceback__)
            raise
        return hip

    def __exit__(self, *error: Any) -> None:
        try:
            if self._before != self._ordinal:
                self._hip.api.hipSetDevice(self._before)
        finally:
            self._held.__exit__(*error)


class LoadedModule:
    """Code on a device; it is unloaded with the last reference to it and its functions."""

    def __init__(self, device: Device, handle: Any, code: bytes) -> None:
        self.device = device
        self._handle = handle
        # HIP may read it as long as the module is loaded.
        self._code = code

    def function(self, name: str) -> Function:
        """A kernel by its symbol name.

        Raises:
            DeviceError: no such kernel.
        """
        with self.device.hip() as hip:
            return Function(self, name, hip.call("hipModuleGetFunction", self._handle, name.encode()))

    def variable(self, name: str) -> Variable:
        """A `__device__` variable by its symbol name.

        Raises:
            DeviceError: no such variable.
        """
        with self.device.hip() as hip:
            address, size = hip.call("hipModuleGetGlobal", self._handle, name.encode())
            return Variable(self, int(address), size)

    def __del__(self) -> None:
        # The last reference may be dropped while any lock is held, so HIP is called later, from one of our
        # calls.
        _dropped.append(self._handle)


_dropped: collections.deque[Any] = collections.deque()


def _unload_dropped(hip: Hip) -> None:
    while _dropped:
        hip.api.hipModuleUnload(_dropped.popleft())


class Variable:
    """A variable in a device's memory.

    Attributes:
        address: address on the device.
        size: bytes.
    """

    def __init__(self, module: LoadedModule, address: int, size: int) -> None:
        self.module = module
        self.address = address
        self.size = size

    def read(self) -> bytes:
        """The bytes of the variable."""
        content = ctypes.create_string_buffer(self.size)
        self._copy(ctypes.addressof(content), self.address)
        return content.raw

    def write(self, content: bytes) -> None:
        """Writes bytes to the variable, as many as it has."""
        assert len(content) == self.size
        buffer = ctypes.create_string_buffer(content, self.size)
        self._copy(self.address, ctypes.addressof(buffer))

    def _copy(self, to: int, source: int) -> None:
        with self.module.device.hip() as hip:
            hip.call("hipMemcpy", to, source, self.size, hip.api.hipMemcpyKind.hipMemcpyDefault)


class Function:
    """A kernel on a device."""

    def __init__(self, module: LoadedModule, name: str, handle: Any) -> None:
        self.module = module
        self.name = name
        self._handle = handle

    def launch(
        self,
        grid: Dim,
        block: Dim,
        dynamic_shared: int,
        kernargs: bytes,
        *,
        buffers: Buffers = (),
        labels: Mapping[int, BufferLabel] | None = None,
        granularity: int = DWORD,
        options: LaunchOptions | None = None,
        cooperative: Sequence[int] | None = None,
    ) -> LaunchRecord:
        """Run the kernel once and wait for its end.

        Args:
            grid: work-groups in x, y, z.
            block: work-items of a work-group in x, y, z.
            dynamic_shared: bytes of LDS in addition to the kernel's static LDS.
            kernargs: the argument block, without hidden arguments.
            buffers: (address, bytes) of memory that the kernel uses. Host memory counts as device memory
                while an emulated device runs the kernel; for a GPU it is copied there and back if PyTorch has
                no ROCm. GPU memory needs no such treatment.
            labels: description of each buffer by address, for error messages.
            granularity: the buffers' allocator's sizes are multiples of this many bytes: an emulated device
                without the sanitizer lets a kernel read up to the next multiple.
            options: observations of the launch, and its time limit.
            cooperative: offsets of the arguments in `kernargs` for a cooperative launch, whose work-groups
                may wait for each other and so must fit on the device at once; None for an ordinary launch.

        Raises:
            LaunchError: the device or the kernel does not support the shape or a size.
            UnsupportedInstruction: the emulated device does not implement an instruction of the kernel;
                nothing ran.
            KernelFault: the kernel was stopped; only an emulated device gives the cause.
            DeviceError: a HIP call failed, or the device cannot make the requested observations.
            KeyboardInterrupt: the launch was interrupted; an emulated device has stopped.
        """
        _check_shape(self.name, grid, block, dynamic_shared)
        device = self.module.device
        invocation = Invocation(
            kernel=self.name,
            device=device.name,
            grid=grid,
            block=block,
            dynamic_shared=dynamic_shared,
            buffers=buffers,
            kernargs=kernargs,
            labels=labels or {},
            granularity=granularity,
            options=device._options(options),
        )
        with device.hip() as hip:
            call = (
                partial(self._call, hip, invocation)
                if cooperative is None
                else partial(self._call_cooperative, hip, invocation, cooperative)
            )
            try:
                return device.backend.launch(hip, invocation, call)
            except HipLaunchError as error:
                raise LaunchError(f"{error} {_shape_text(invocation)}") from error

    def _call(self, hip: Hip, invocation: Invocation, kernargs: bytes) -> None:
        # HIP's `extra`, the size that it points to, and the arguments, one after the other.
        block = ctypes.create_string_buffer(_EXTRA_SPACE + kernargs)
        extra = ctypes.addressof(block)
        size, content = extra + _EXTRA.size - 8, extra + _EXTRA.size
        words = _PARAM_BUFFER_POINTER, content, _PARAM_BUFFER_SIZE, size, _PARAM_END, len(kernargs)
        _EXTRA.pack_into(block, 0, *words)
        hip.call(
            "hipModuleLaunchKernel",
            self._handle,
            *invocation.grid,
            *invocation.block,
            invocation.dynamic_shared,
            None,
            None,
            extra,
            action=f"the launch of {self.name}",
        )

    def _call_cooperative(
        self, hip: Hip, invocation: Invocation, offsets: Sequence[int], kernargs: bytes
    ) -> None:
        # This HIP call takes a pointer to each argument.
        block = ctypes.create_string_buffer(kernargs)
        first = ctypes.addressof(block)
        pointers = (ctypes.c_void_p * max(len(offsets), 1))(*(first + offset for offset in offsets))
        hip.call(
            "hipModuleLaunchCooperativeKernel",
            self._handle,
            *invocation.grid,
            *invocation.block,
            invocation.dynamic_shared,
            None,
            ctypes.addressof(pointers),
            action=f"the cooperative launch of {self.name}",
        )


def _shape_text(invocation: Invocation) -> str:
    """The shape for an error of HIP, which does not name what does not fit."""
    return (
        f"It was launched with grid {tuple(invocation.grid)}, block {tuple(invocation.block)} and "
        f"{invocation.dynamic_shared} bytes of dynamic shared memory."
    )


def _check_shape(kernel: str, grid: Dim, block: Dim, dynamic_shared: int) -> None:
    if len(grid) != 3 or len(block) != 3:
        raise LaunchError(f"kernel {kernel}: grid {grid} and block {block}; expected three dimensions each.")
    for kind, dims in (("grid", grid), ("block", block)):
        if min(dims) < 1 or max(dims) >= 2**32:
            raise LaunchError(
                f"kernel {kernel}: {kind} {tuple(dims)}: every dimension must be from 1 to 2**32 - 1."
            )
    if not 0 <= dynamic_shared < 2**32:
        raise LaunchError(
            f"kernel {kernel}: {dynamic_shared} bytes of dynamic shared memory; expected 0 or more."
        )
