"""GPUs behind AMD's libamdhip64: found by the kernel driver's list, timed by HIP events."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from workbench.errors import DeviceError
from workbench.launches import BufferLabel, LaunchOptions, LaunchRecord
from workbench.origin import Figure, Origin
from workbench.runtime.backend import Buffers, DeviceMemory, Invocation, Node, TensorMemory, Watcher
from workbench.runtime.hip import Hip

_KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
_NO_LIBRARY = (
    "no libamdhip64.so found: is ROCm installed? Set ROCM_PATH to its folder, or use an emulated device, "
    'such as wb.device("emulated:gfx950").'
)


@cache
def gpus() -> tuple[Node, ...]:
    """The AMD GPUs that HIP would list, from the driver's topology; none without ROCm's HIP library.

    HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES are followed where they list ordinals.
    """
    if not os.access("/dev/kfd", os.R_OK | os.W_OK) or find_library() is None:
        return ()
    archs = []
    with contextlib.suppress(OSError):
        for node in sorted(_KFD_NODES.iterdir(), key=lambda path: int(path.name)):
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
    """Path or name of AMD's libamdhip64; None where there is none."""
    roots = [os.environ.get("ROCM_PATH"), os.environ.get("ROCM_HOME"), "/opt/rocm"]
    for root in filter(None, roots):
        path = Path(root) / "lib" / "libamdhip64.so"
        if path.exists():
            return str(path)
    with contextlib.suppress(Exception):
        from rocm_sdk import find_libraries  # type: ignore[import-not-found,unused-ignore]

        return str(find_libraries("amdhip64")[0])
    return ctypes.util.find_library("amdhip64")


class GpuBackend:
    """The machine's own GPUs."""

    title = "AMD's HIP library"
    device_title = "a GPU"
    origin = Origin.MEASURED
    observes = False
    label = ""

    def nodes(self) -> tuple[Node, ...]:
        return gpus()

    def describe(self) -> str:
        return f"AMD's, {find_library()}"

    def load(self) -> Mapping[str, str]:
        path = find_library()
        if path is None:
            raise DeviceError(_NO_LIBRARY)
        try:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise DeviceError(f"{path} does not load: {error}. Is the ROCm installation whole?") from error
        return {"amdhip64": path}

    def build(self) -> None:
        """AMD's library is built."""

    def check_reached(self, device_count: int) -> None:
        """Whatever HIP library hip-python reaches on a machine with GPUs is AMD's."""

    def failure(self) -> BaseException | None:
        return None

    def properties(self, node: Node, names: Sequence[str]) -> dict[str, Any]:
        hip = Hip(self, node.name)
        record = hip.call("hipGetDeviceProperties", node.ordinal)
        return {name: getattr(record, name) for name in names}

    def torch_device(self, node: Node) -> str:
        return f"cuda:{node.ordinal}"

    def has_memory(self, address: int) -> bool:
        # Tensors on a GPU are in memory that PyTorch asked HIP for.
        return False

    def memory(self, hip: Hip) -> DeviceMemory:
        free, total = hip.call("hipMemGetInfo")
        return DeviceMemory(int(total) - int(free), int(total), None)

    def interrupts_held(self) -> contextlib.AbstractContextManager[None]:
        # AMD's library leaves signals alone.
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def host_code(
        self, hip: Hip, buffers: Callable[[], Buffers], options: LaunchOptions | None, granularity: int
    ) -> Iterator[list[LaunchRecord]]:
        yield []

    def launch(self, hip: Hip, invocation: Invocation, call: Callable[[], None]) -> LaunchRecord:
        if invocation.options.observed:
            raise DeviceError(
                f"{invocation.device} is a GPU, which reports the time of a launch and nothing else that "
                "LaunchOptions ask for. Launch on an emulated device, or read counters with wb.profile."
            )
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
            elapsed=Figure(float(milliseconds) * 1e3, "us", Origin.MEASURED, source),
        )

    def lent(
        self, buffers: Buffers, labels: Mapping[int, BufferLabel], granularity: int
    ) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def tensor_allocator(self, address: int) -> int:
        return address

    def tensor_memory(self) -> TensorMemory:
        return TensorMemory(0, 0)

    def forget_most_tensor_memory(self) -> None:
        pass

    def lending(
        self, buffers: Callable[[bool], Buffers], granularity: Callable[[], int]
    ) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def watching(self, watcher: Watcher) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def enter_program(
        self, node: Node, write: Callable[[str, bool], None], libraries: Mapping[str, Path] | None
    ) -> None:
        os.environ.setdefault("HIP_VISIBLE_DEVICES", str(node.ordinal))
        self.load()
