"""Devices, the code loaded on them, and launches: what the rest of the workbench knows of HIP."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from workbench import errors
from workbench.launches import Dim, LaunchOptions, LaunchRecord
from workbench.origin import Figure, Origin
from workbench.runtime import library
from workbench.runtime.library import Kind

_HOST_REGISTER_DEFAULT = 0
_ALREADY_REGISTERED = 712
# hipError_t values that say that a launch's shape or resources do not fit.
_LAUNCH_CODES = (9, 701, 720)
_PARAM_BUFFER_POINTER, _PARAM_BUFFER_SIZE, _PARAM_END = 1, 2, 3
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


class Device:
    """A device that kernels run on. Its HIP library is loaded when it is first used, not when it is named.

    Attributes:
        name: "gpu:0" or "emulated:gfx950".
        arch: its target, such as "gfx950".
        emulated: whether it is emulated on this computer's processor.
    """

    def __init__(self, name: str, arch: str, ordinal: int, emulated: bool) -> None:
        self.name = name
        self.arch = arch
        self.emulated = emulated
        self._ordinal = ordinal

    @property
    def origin(self) -> Origin:
        """Where its times come from: measured on a GPU, modelled for an emulated device."""
        return Origin.MODELLED if self.emulated else Origin.MEASURED

    @cached_property
    def properties(self) -> dict[str, Any]:
        """hipDeviceProp_t's fields by name: sizes in bytes, clocks in kHz.

        Raises:
            DeviceError: a GPU's, in a process that uses the emulator.
        """
        if self.emulated:
            # The same that HIP reports, without loading a library that the process may not want.
            from workbench.emulator.hip.devices import properties
            from workbench.emulator.node.device import products

            known: dict[str, Any] = properties(products()[self._ordinal], self._ordinal)
            return {name: _text(known[name]) for name in _PROPERTIES}
        hip = self._hip()
        try:
            record = self._check("hipGetDeviceProperties", hip.hipGetDeviceProperties(self._ordinal))
        except TypeError:
            # hip-python before 7.14 fills a record that it is given.
            record = hip.hipDeviceProp_t()
            self._check("hipGetDeviceProperties", hip.hipGetDeviceProperties(record, self._ordinal))
        return {name: _text(getattr(record, name)) for name in _PROPERTIES}

    def load(self, code: bytes) -> LoadedModule:
        """Put compiled code on the device.

        Args:
            code: an AMDGPU ELF, or a HIP fat binary.

        Raises:
            DeviceError: the code is damaged or not for this device.
        """
        with self._current() as hip:
            _unload_dropped(hip)
            module = self._check("hipModuleLoadData", hip.hipModuleLoadData(code))
            return LoadedModule(self, module, code)

    def synchronize(self) -> None:
        """Wait for everything on the device.

        Raises:
            DeviceError: something on it failed.
        """
        with self._current() as hip:
            self._check("hipDeviceSynchronize", hip.hipDeviceSynchronize())

    def memory(self) -> tuple[int, int]:
        """(free, total) bytes of the device's memory."""
        with self._current() as hip:
            free, total = self._check("hipMemGetInfo", hip.hipMemGetInfo())
            return int(free), int(total)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """While it lasts, HIP calls of this thread by compiled code go to this device."""
        with self._current():
            yield

    @contextlib.contextmanager
    def registered(self, buffers: Sequence[tuple[int, int]]) -> Iterator[None]:
        """While it lasts, (address, bytes) ranges of host memory count as an emulated device's."""
        with self._current() as hip, _emulated_launch, _registered(self, hip, buffers):
            yield

    def _hip(self) -> Any:
        return library.hip(Kind.EMULATED if self.emulated else Kind.GPU)

    @contextlib.contextmanager
    def _current(self) -> Iterator[Any]:
        """The hip module with this device current for the calling thread."""
        hip = self._hip()
        with _interrupts_held(self.emulated):
            before = self._check("hipGetDevice", hip.hipGetDevice())
            self._check("hipSetDevice", hip.hipSetDevice(self._ordinal))
            try:
                yield hip
            finally:
                hip.hipSetDevice(before)

    def _check(self, what: str, answer: tuple[Any, ...]) -> Any:
        """A HIP call's result; its exception where it failed.

        The emulator keeps the exception behind an error; it says more than the error's number.
        """
        status, *values = answer
        if int(status) != 0:
            if self.emulated:
                from workbench.emulator.hip import take_exception

                behind = take_exception()
                if isinstance(behind, errors.WorkbenchError | KeyboardInterrupt):
                    raise behind
                if behind is not None:
                    raise errors.DeviceError(
                        f"{what} on {self.name} failed: {behind!r}", int(status)
                    ) from behind
            raise _error(f"{what} on {self.name} failed: {status.name}", int(status))
        return values[0] if len(values) == 1 else tuple(values)

    def __repr__(self) -> str:
        return f"<Device {self.name} ({self.arch})>"


def _interrupts_held(emulated: bool) -> contextlib.AbstractContextManager[None]:
    """Ctrl-C waits while Python is behind HIP's calls; AMD's library leaves signals alone."""
    if not emulated:
        return contextlib.nullcontext()
    from workbench.emulator.node import interrupts

    return interrupts.held()


def _error(message: str, code: int) -> errors.WorkbenchError:
    if code in _LAUNCH_CODES:
        return errors.LaunchError(
            f"{message}: the device cannot take this grid, block or shared memory size."
        )
    return errors.DeviceError(f"{message}.", code)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


class LoadedModule:
    """Code on a device; it leaves the device when the last reference to it and to its functions goes."""

    def __init__(self, device: Device, handle: Any, code: bytes) -> None:
        self.device = device
        self._handle = handle
        self._code = code
        self._functions: dict[str, Function] = {}

    def function(self, name: str) -> Function:
        """A kernel by its symbol name.

        Raises:
            DeviceError: no such kernel.
        """
        with self.device._current() as hip:
            handle = self.device._check(
                "hipModuleGetFunction", hip.hipModuleGetFunction(self._handle, name.encode())
            )
            return Function(self, name, handle)

    def __del__(self) -> None:
        # Whoever drops the last reference may hold any lock: HIP is told later, from a call of our own.
        _dropped.append(self._handle)


_dropped: collections.deque[Any] = collections.deque()


def _unload_dropped(hip: Any) -> None:
    while _dropped:
        hip.hipModuleUnload(_dropped.popleft())


# Emulated launches register the caller's host memory with HIP and take it back afterwards; two at once could
# take it from each other.
_emulated_launch = threading.RLock()


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
        buffers: Sequence[tuple[int, int]] = (),
        labels: Mapping[int, str] | None = None,
        options: LaunchOptions | None = None,
    ) -> LaunchRecord:
        """Run the kernel once and wait for its end.

        Args:
            grid: work-groups.
            block: work-items of a work-group.
            dynamic_shared: bytes of LDS beyond the kernel's own.
            kernargs: the argument block, hidden arguments left out.
            buffers: (address, bytes) of host memory that counts as device memory while an emulated device
                runs the kernel; a GPU is not told of it.
            labels: what a buffer is, by address, in the words of an error message.
            options: counting, profiling, time limit.

        Raises:
            LaunchError: a shape or a size that the device or the kernel cannot take.
            UnsupportedInstruction: an emulated device does not execute the kernel; nothing has run.
            KernelFault: the kernel was stopped; only an emulated device says why.
            DeviceError: a HIP call failed.
            KeyboardInterrupt: the launch was interrupted; an emulated device has stopped.
        """
        device = self.module.device
        if len(grid) != 3 or len(block) != 3:
            raise errors.LaunchError(
                f"kernel {self.name}: grid {grid} and block {block}; three dimensions each are wanted."
            )
        for what, dims in (("grid", grid), ("block", block)):
            if not all(0 < size < 2**32 for size in dims):
                raise errors.LaunchError(
                    f"kernel {self.name}: {what} {tuple(dims)}: every dimension must be from 1 to 2**32 - 1."
                )
        if not 0 <= dynamic_shared < 2**32:
            raise errors.LaunchError(
                f"kernel {self.name}: {dynamic_shared} bytes of dynamic shared memory; 0 or more are wanted."
            )
        chosen = options or LaunchOptions()
        if device.emulated:
            return self._launch_emulated(grid, block, dynamic_shared, kernargs, buffers, labels or {}, chosen)
        return self._launch_gpu(grid, block, dynamic_shared, kernargs)

    def _call(self, hip: Any, grid: Dim, block: Dim, dynamic_shared: int, kernargs: bytes) -> None:
        content = ctypes.create_string_buffer(kernargs, max(len(kernargs), 1))
        size = ctypes.c_size_t(len(kernargs))
        extra = (ctypes.c_void_p * 5)(
            _PARAM_BUFFER_POINTER,
            ctypes.addressof(content),
            _PARAM_BUFFER_SIZE,
            ctypes.addressof(size),
            _PARAM_END,
        )
        answer = hip.hipModuleLaunchKernel(
            self._handle, *grid, *block, dynamic_shared, None, None, ctypes.addressof(extra)
        )
        self.module.device._check(f"the launch of {self.name}", answer)

    def _launch_emulated(
        self,
        grid: Dim,
        block: Dim,
        dynamic_shared: int,
        kernargs: bytes,
        buffers: Sequence[tuple[int, int]],
        labels: Mapping[int, str],
        options: LaunchOptions,
    ) -> LaunchRecord:
        from workbench.emulator.node import device as emulated

        device = self.module.device
        with (
            device._current() as hip,
            _emulated_launch,
            _registered(device, hip, buffers),
            emulated.node().memory.labelled(labels),
            emulated.node().observe(options) as records,
        ):
            started = time.perf_counter()
            self._call(hip, grid, block, dynamic_shared, kernargs)
            seconds = time.perf_counter() - started
        return replace(records[-1], wall_seconds=seconds)

    def _launch_gpu(self, grid: Dim, block: Dim, dynamic_shared: int, kernargs: bytes) -> LaunchRecord:
        device = self.module.device
        with device._current() as hip:
            start = device._check("hipEventCreate", hip.hipEventCreate())
            stop = device._check("hipEventCreate", hip.hipEventCreate())
            try:
                began = time.perf_counter()
                device._check("hipEventRecord", hip.hipEventRecord(start, None))
                self._call(hip, grid, block, dynamic_shared, kernargs)
                device._check("hipEventRecord", hip.hipEventRecord(stop, None))
                device._check(f"running {self.name}", hip.hipEventSynchronize(stop))
                seconds = time.perf_counter() - began
                milliseconds = device._check("hipEventElapsedTime", hip.hipEventElapsedTime(start, stop))
            finally:
                hip.hipEventDestroy(start)
                hip.hipEventDestroy(stop)
        elapsed = Figure(float(milliseconds) * 1e3, "us", Origin.MEASURED, f"HIP events, {device.name}")
        return LaunchRecord(self.name, grid, block, dynamic_shared, device.name, seconds, elapsed)


def merged(buffers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(address, bytes) ranges with overlapping ones joined: views of one tensor are one piece of memory."""
    result: list[tuple[int, int]] = []
    for base, size in sorted(b for b in buffers if b[1] > 0):
        if result and base < result[-1][0] + result[-1][1]:
            first, length = result[-1]
            result[-1] = (first, max(length, base + size - first))
        else:
            result.append((base, size))
    return result


@contextlib.contextmanager
def _registered(device: Device, hip: Any, buffers: Sequence[tuple[int, int]]) -> Iterator[None]:
    done: list[int] = []
    try:
        for base, size in merged(buffers):
            answer = hip.hipHostRegister(base, size, _HOST_REGISTER_DEFAULT)
            if int(answer[0]) == _ALREADY_REGISTERED:
                # The caller registered it, or it came from hipHostMalloc: it counts as it is.
                hip.hipGetLastError()
                continue
            device._check("hipHostRegister", answer)
            done.append(base)
        yield
    finally:
        for base in done:
            hip.hipHostUnregister(base)


def devices() -> list[Device]:
    """The devices of this machine: its GPUs, then the emulated ones."""
    return list(_all())


_devices: tuple[Device, ...] | None = None
_devices_lock = threading.Lock()


def _all() -> tuple[Device, ...]:
    from workbench.emulator.node.device import device_name, products

    global _devices
    with _devices_lock:
        if _devices is None:
            real = [Device(f"gpu:{gpu.ordinal}", gpu.arch, gpu.ordinal, False) for gpu in library.gpus()]
            emulated = [
                Device(device_name(product), product.arch, ordinal, True)
                for ordinal, product in enumerate(products())
            ]
            _devices = (*real, *emulated)
        return _devices


def device(name: str | None = None) -> Device:
    """A device by name.

    Args:
        name: "gpu:0", "emulated:gfx950" or the product behind it, "emulated:MI355X", any other of
            `targets.PRODUCTS`, or "gpu" or "emulated" for the first of the kind; None: HIPKITTENS_DEVICE,
            else the first GPU, else emulated gfx950. A process that uses one HIP library already gets a
            device of that one where none is named.

    Raises:
        DeviceError: there is no such device.
    """
    from workbench.emulator.node.device import device_name, products

    wanted = name or os.environ.get("HIPKITTENS_DEVICE")
    known = _all()
    if not wanted:
        used = library.used()
        fits = [d for d in known if used is None or d.emulated == (used is Kind.EMULATED)]
        return fits[0]
    plain = str(wanted).strip().lower()
    by_product = {product.name.lower(): device_name(product) for product in products()}
    asked = (
        by_product.get(plain.removeprefix("emulated:"), wanted) if plain.startswith("emulated:") else wanted
    )
    for found in known:
        if asked in (found.name, found.name.split(":")[0]):
            return found
    origin = "" if name else " (from HIPKITTENS_DEVICE)"
    close = next((d.name for d in known if plain in (d.name, d.arch)), by_product.get(plain))
    hint = f"; did you mean {close}?" if close else "."
    raise errors.DeviceError(
        f"no device {wanted!r}{origin} here; there are: {', '.join(d.name for d in known)}{hint}"
        + ("" if any(not d.emulated for d in known) else " No AMD GPU with ROCm was found.")
    )
