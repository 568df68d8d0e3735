"""A Triton driver for an emulated device, implemented by the workbench."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from triton import runtime
from triton.backends.amd.driver import HIPDriver
from triton.backends.compiler import GPUTarget

from workbench import targets
from workbench.errors import DeviceError, EmptyGrid
from workbench.kernel import Kernel, Launch, by_file, load
from workbench.runtime import Device
from workbench.triton_driver import arguments, descriptors
from workbench.triton_driver.benchmark import quietly_modelled

if TYPE_CHECKING:
    import torch

    from workbench.triton_driver.kernel_costs import Spent

_USER = 4
"""Frames from a launch to the line that made it: between them `kernel[grid]` and Triton's `run`."""


class Utils:
    """Queries of a device by Triton's launcher and its autotuner."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def get_device_properties(self, _ordinal: int) -> dict[str, Any]:
        """HIP's properties by the names of Triton's own driver; sizes in bytes, and clocks in kHz."""
        properties = self._device.properties
        return {
            "max_shared_mem": int(properties["sharedMemPerBlock"]),
            "max_num_regs": int(properties["regsPerBlock"]),
            "multiprocessor_count": int(properties["multiProcessorCount"]),
            "sm_clock_rate": int(properties["clockRate"]),
            "mem_clock_rate": int(properties["memoryClockRate"]),
            "mem_bus_width": int(properties["memoryBusWidth"]),
            "arch": str(properties["gcnArchName"]),
            "warpSize": int(properties["warpSize"]),
            "max_threads_per_sm": int(properties["maxThreadsPerMultiProcessor"]),
            "cooperativeLaunch": 1,
        }

    def load_binary(self, name: str, code: bytes, _shared: int, _ordinal: int) -> tuple[Any, ...]:
        """The module, the kernel, its registers, its spills and the work-items that a work-group may have."""
        kernel = load(code)[name]
        used = kernel.resources
        return (
            kernel.module,
            kernel,
            used.total_vgprs,
            used.vgpr_spills + used.sgpr_spills,
            kernel.info.max_workgroup_size,
        )


class Launcher:
    """Launches one kernel that Triton compiled.

    Args:
        source: source of Triton's compilation, with the parameters.
        metadata: metadata of the compiled kernel.
    """

    def __init__(self, source: Any, metadata: Any) -> None:
        self._signature = tuple(source.signature.values())
        names = getattr(source.fn, "arg_names", None) or list(map(str, source.signature))
        self._tiles = descriptors.tiles(metadata)
        self._parameters = tuple(arguments.parameters(names, self._signature, bool(self._tiles)))
        function = getattr(source.fn, "fn", None)
        self._file = Path(function.__code__.co_filename).name if function is not None else ""
        self._block = metadata.num_warps * metadata.warp_size
        self._shared = metadata.shared
        self._device = runtime.driver.active.device

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        _stream: int,
        kernel: Kernel,
        _packed_metadata: Any,
        launch_metadata: Any,
        enter: Callable[[Any], Any] | None,
        leave: Callable[[Any], Any] | None,
        *values: Any,
    ) -> None:
        if 0 in (x, y, z):
            # Triton's own driver skips it silently; HIP calls a grid of 0 an error (hipErrorInvalidValue).
            warnings.warn(
                f"{kernel.name}: its grid is {(x, y, z)}, so Triton launches nothing and writes no output; "
                "expected at least one program in each direction",
                EmptyGrid,
                stacklevel=_USER,
            )
            return
        if "plan" not in vars(kernel):
            plan = arguments.plan(kernel.name, kernel.info, kernel.arch, self._parameters)
            vars(kernel)["plan"] = plan
            # Triton's cache identifies code by its text: the file that it was compiled from may be another
            # cell's.
            debug = kernel.module.debug
            kernel.module.own_file = Path(debug.source if debug is not None else self._file).name
        passed = list(arguments.values(self._signature, values, iter(self._tiles)))
        passed += [None] * (len(kernel.plan.parameters) - len(passed))
        dynamic = max(self._shared - kernel.resources.lds, 0)
        if enter is not None:
            enter(launch_metadata)
        by_file.note(self._file, kernel)
        record = kernel.launch(Launch((x, y, z), self._block, dynamic), passed, {}, device=self._device)
        # The launcher outlives the driver that created it.
        runtime.driver.active.spent.launched(kernel.name, record)
        if leave is not None:
            leave(launch_metadata)


class Driver(HIPDriver):  # type: ignore[misc]  # Triton has no types
    """Triton's driver of an emulated device. Plain CPU tensors are the device's memory.

    Args:
        device: an emulated device.
        spent: receives the time of each launch.
    """

    # Not HIPDriver's constructor: that compiles an extension against a HIP runtime and asks PyTorch for a
    # GPU.
    def __init__(self, device: Device, spent: Spent) -> None:
        if not device.observes:
            raise DeviceError(f"{device.name} is a GPU, which Triton's own driver serves")
        self.device = device
        self.spent = spent
        self.utils = Utils(device)
        self.launcher_cls = Launcher

    @staticmethod
    def is_active() -> bool:
        return True

    def get_current_device(self) -> int:
        # Triton identifies compiled code by it, so each device has its own number.
        return self.device.ordinal

    def set_current_device(self, _ordinal: int) -> None:
        """There is one device."""

    def get_current_stream(self, _ordinal: int | None = None) -> int:
        return 0

    def get_device_capability(self, _ordinal: int | None = None) -> tuple[int, int]:
        digits = self.device.arch.removeprefix("gfx")
        return int(digits[:-2]), int(digits[-2])

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("hip", self.device.arch, int(targets.target(self.device.arch).wave_size))

    def get_active_torch_device(self) -> torch.device:
        import torch

        # With `cuda_means_cpu`, tensors claim to be on the GPU, and programs compare with it.
        return torch.empty(0).device

    def get_device_interface(self) -> Any:
        """The part of `torch.cuda` that Triton's own code needs: a launch has ended when it returns."""
        return SimpleNamespace(
            current_device=lambda: 0,
            set_device=lambda _: None,
            synchronize=lambda *_: None,
            get_device_capability=self.get_device_capability,
        )

    def get_benchmarker(self) -> Callable[..., Any]:
        """The autotuner's benchmark: it only compares, so there is no warning that times are modelled."""
        return quietly_modelled

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        import torch

        return torch.empty(0)

    def clear_cache(self, _cache: Any) -> None:
        """The model's caches are cold."""
