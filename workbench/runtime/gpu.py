"""GPUs behind AMD's libamdhip64: found by the kernel driver's list, timed by HIP events."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from workbench import paths
from workbench.errors import DeviceError
from workbench.launches import BufferLabel, ForeignLaunch, LaunchOptions, LaunchRecord
from workbench.origin import Figure, Origin
from workbench.runtime.backend import (
    Buffers,
    DeviceMemory,
    Invocation,
    KernelTime,
    Node,
    TensorMemory,
    Watcher,
)
from workbench.runtime.hip import Hip
from workbench.runtime.host_copies import HostCopies

_NO_LIBRARY = (
    "no libamdhip64.so found: is ROCm installed? Set ROCM_PATH to its folder, or use an emulated device, "
    'such as wb.device("emulated:gfx950").'
)


@cache
def gpus() -> tuple[Node, ...]:
    """The AMD GPUs that HIP would list, from the driver's topology; empty without ROCm's HIP library.

    HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES are followed if they list ordinals.
    """
    if not os.access(paths.SYSTEM / "dev/kfd", os.R_OK | os.W_OK) or find_library() is None:
        return ()
    archs = []
    with contextlib.suppress(OSError):
        nodes = (paths.SYSTEM / "sys/class/kfd/kfd/topology/nodes").iterdir()
        for node in sorted(nodes, key=lambda path: int(path.name)):
            with contextlib.suppress(OSError):
                match = re.search(r"^gfx_target_version (\d+)$", (node / "properties").read_text(), re.M)
                version = int(match[1]) if match else 0
                if version:
                    major, minor, step = version // 10000, version // 100 % 100, version % 100
                    archs.append(f"gfx{major}{minor:x}{step:x}")
    for variable in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        text = os.environ.get(variable)
        if text is not None:
            items = [item.strip() for item in text.split(",") if item.strip()]
            if all(item.isdecimal() for item in items):
                archs = [archs[int(item)] for item in items if int(item) < len(archs)]
    return tuple(Node(f"gpu:{ordinal}", arch, ordinal) for ordinal, arch in enumerate(archs))


@cache
def find_library() -> str | None:
    """Path or name of AMD's libamdhip64; None if there is none."""
    roots = [os.environ.get("ROCM_PATH"), os.environ.get("ROCM_HOME"), str(paths.rocm_dir())]
    for root in filter(None, roots):
        path = Path(root) / "lib" / "libamdhip64.so"
        if path.exists():
            return str(path)
    with contextlib.suppress(Exception):
        from rocm_sdk import find_libraries  # type: ignore[import-not-found,unused-ignore]

        return str(find_libraries("amdhip64")[0])
    return ctypes.util.find_library("amdhip64")


@cache
def stand_in() -> str:
    """The software that plays this process's GPUs beneath AMD's libraries; "" if there is a real driver.

    AMD's rocjitsu is a preloaded library; AMD's runtime takes a model of a GPU from HSA_MODEL_LIB (ROCR's
    libhsakmt). Any other is recognised because the kernel's driver, amdkfd, registers a character device
    "kfd" (kfd_chardev.c), which /proc/devices lists, in containers too.
    """
    model = os.environ.get("HSA_MODEL_LIB")
    if model:
        return f"the model {model}"
    with contextlib.suppress(OSError):
        if "rocjitsu" in (paths.SYSTEM / "proc/self/maps").read_text(errors="replace"):
            return "AMD's rocjitsu"
    with contextlib.suppress(OSError):
        if "kfd" not in (paths.SYSTEM / "proc/devices").read_text().split():
            return "software that answers as the kernel's driver does"
    return ""


WHEEL = "pip install torch --index-url https://download.pytorch.org/whl/rocm7.1"
"""Installs PyTorch for ROCm, in a release with gfx942 and gfx950; pytorch.org/get-started has others."""


@cache
def torch_without_rocm() -> str:
    """Version of a PyTorch without memory on AMD's GPUs; "" if it was built for ROCm."""
    import torch

    return "" if torch.version.hip is not None else str(torch.__version__)


@cache
def _say_copies(device: str) -> None:
    warnings.warn(
        f"PyTorch {torch_without_rocm()} is built without ROCm, so tensors are copied to {device} for each "
        f"launch and back; tensors on the GPU need PyTorch's wheel for ROCm: {WHEEL}",
        stacklevel=2,
    )


_lasting: ContextVar[HostCopies | None] = ContextVar("lasting", default=None)


class GpuBackend:
    """The machine's own GPUs."""

    title = "AMD's HIP library"
    device_title = "a GPU"
    observes = False

    @property
    def origin(self) -> Origin:
        return Origin.EMULATED if stand_in() else Origin.MEASURED

    @property
    def label(self) -> str:
        return "emulated" if stand_in() else ""

    def nodes(self) -> tuple[Node, ...]:
        return gpus()

    def describe(self) -> str:
        beneath = f", on {stand_in()}" if stand_in() else ""
        return f"AMD's, {find_library()}{beneath}"

    def load(self) -> Mapping[str, str]:
        path = find_library()
        if path is None:
            raise DeviceError(_NO_LIBRARY)
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise DeviceError(f"{path} does not load: {error}. Is the ROCm installation whole?") from error
        return {"amdhip64": path}

    def build(self, *, partial: bool = False) -> None:
        """Does nothing: AMD's library is already built."""

    def check_reached(self, device_count: int) -> None:
        """Whatever HIP library hip-python reaches on a machine with GPUs is AMD's."""

    def failure(self) -> BaseException | None:
        return None

    def properties(self, node: Node, names: Sequence[str]) -> dict[str, Any]:
        hip = Hip(self, node.name)
        record = hip.call("hipGetDeviceProperties", node.ordinal)
        return {name: getattr(record, name) for name in names}

    def torch_device(self, node: Node) -> str:
        return "cpu" if torch_without_rocm() else f"cuda:{node.ordinal}"

    def has_memory(self, address: int) -> bool:
        # Tensors on a GPU are in memory that PyTorch asked HIP for.
        return False

    def memory(self, hip: Hip) -> DeviceMemory:
        free, total = hip.call("hipMemGetInfo")
        return DeviceMemory(int(total) - int(free), int(total), None)

    def current_device(self, hip: Hip) -> int:
        return int(hip.call("hipGetDevice"))

    def interrupts_held(self) -> contextlib.AbstractContextManager[None]:
        # AMD's library does not touch signals.
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def host_code(
        self, hip: Hip, buffers: Callable[[], Buffers], options: LaunchOptions | None, granularity: int
    ) -> Iterator[list[LaunchRecord]]:
        yield []

    def launch(self, hip: Hip, invocation: Invocation, call: Callable[[bytes], None]) -> LaunchRecord:
        if invocation.options.observed:
            raise DeviceError(
                f"{invocation.device} is a GPU, which reports the time of a launch and nothing else that "
                "LaunchOptions ask for. Launch on an emulated device, or read counters with wb.profile."
            )
        with self._addresses(hip, invocation) as kernargs:
            return self._timed(hip, invocation, lambda: call(kernargs))

    @contextlib.contextmanager
    def _addresses(self, hip: Hip, invocation: Invocation) -> Iterator[bytes]:
        """The argument block for the GPU: with addresses of copies, if PyTorch's tensors are on the host."""
        if not invocation.buffers or not torch_without_rocm():
            yield invocation.kernargs
            return
        _say_copies(invocation.device)
        lasting = _lasting.get()
        with contextlib.nullcontext(lasting) if lasting is not None else HostCopies(hip) as copies:
            copies.take(invocation.buffers)
            yield copies.relocated(invocation.kernargs, invocation.buffers, invocation.labels)

    @contextlib.contextmanager
    def keeping_copies(self, hip: Hip) -> Iterator[None]:
        with HostCopies(hip) as copies:
            token = _lasting.set(copies)
            try:
                yield
            finally:
                _lasting.reset(token)

    def forget_copies(self, buffers: Buffers) -> None:
        copies = _lasting.get()
        if copies is not None:
            copies.forget(buffers)

    def _timed(self, hip: Hip, invocation: Invocation, call: Callable[[], None]) -> LaunchRecord:
        start, stop = hip.call("hipEventCreate"), hip.call("hipEventCreate")
        try:
            began = time.perf_counter()
            hip.call("hipEventRecord", start, None)
            call()
            hip.call("hipEventRecord", stop, None)
            hip.call("hipEventSynchronize", stop, action=f"running {invocation.kernel}")
            seconds = time.perf_counter() - began
            milliseconds = hip.call("hipEventElapsedTime", start, stop)
        finally:
            hip.api.hipEventDestroy(start)
            hip.api.hipEventDestroy(stop)
        source = f"HIP events, {invocation.device}"
        return LaunchRecord(
            kernel=invocation.kernel,
            grid=invocation.grid,
            block=invocation.block,
            dynamic_shared=invocation.dynamic_shared,
            device=invocation.device,
            wall_seconds=seconds,
            elapsed=Figure(float(milliseconds) * 1e3, "us", self.origin, source),
        )

    def lent(
        self, buffers: Buffers, labels: Mapping[int, BufferLabel], granularity: int
    ) -> contextlib.AbstractContextManager[None]:
        if buffers and torch_without_rocm():
            raise DeviceError(
                f"PyTorch {torch_without_rocm()} is built without ROCm: a GPU reaches its tensors as a "
                "launch's arguments alone, which are copied for the call, and none that are lent. Use an "
                f"emulated device, or tensors of PyTorch's wheel for ROCm: {WHEEL}"
            )
        return contextlib.nullcontext()

    def tensor_allocator(self, address: int) -> int:
        return address

    def has_tensor(self, address: int) -> bool:
        return True

    def tensor_memory(self) -> TensorMemory:
        return TensorMemory(0, 0)

    def forget_most_tensor_memory(self) -> None:
        pass

    def lending(
        self, buffers: Callable[[bool], Buffers], granularity: Callable[[], int]
    ) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def foreign_launches(
        self, take: Callable[[ForeignLaunch], None]
    ) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def watching(self, watcher: Watcher) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def kernel_times(self, node: Node) -> Mapping[str, KernelTime]:
        return {}

    def make_first(self, node: Node) -> None:
        pass

    def enter_program(
        self, node: Node, write: Callable[[str, bool], None], libraries: Mapping[str, Path] | None
    ) -> None:
        os.environ.setdefault("HIP_VISIBLE_DEVICES", str(node.ordinal))
        self.load()
