"""`wb.triton`: makes Triton run on the workbench's devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.kernel import resolve_device
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.triton_driver.kernel_costs import Spent, listener


class Triton:
    """Runs Triton's kernels on an emulated device; on a GPU, Triton's own driver stays.

        with wb.triton():
            kernel[grid](x, y, n, BLOCK=1024)       # CPU tensors

        wb.triton.activate()                        # for the rest of the process

    Inside, launches are the workbench's own: they appear in the history, raise its errors, and work with
    `wb.time`, `wb.profile` and `wb.sanitize`. Triton's autotuner compares modelled times. `wb.triton.spent`
    shows where this computer's time goes.
    """

    def __call__(
        self,
        device: Device | str | None = None,
        *,
        cuda_means_cpu: bool = False,
        inductor: bool = False,
    ) -> AbstractContextManager[Device]:
        """Triton on `device` inside a `with` block.

        Args:
            device: a device or its name; None for the default device.
            cuda_means_cpu: for libraries with `device="cuda"`: such tensors are allocated in the emulated
                device's memory, and `torch.cuda` describes this device.
            inductor: functions of CPU tensors that `torch.compile` compiles launch inductor's Triton kernels;
                compiled functions do not outlive the block.

        Raises:
            DeviceError: there is no such device.
            UsageError: inside `with`, for inductor and cuda_means_cpu: tensors that claim to be on CUDA are
                not traced.
            WorkbenchError: inside `with`, Triton is not installed.
        """
        return self._inside(resolve_device(device), cuda_means_cpu, inductor)

    @contextlib.contextmanager
    def _inside(self, device: Device, cuda_means_cpu: bool, inductor: bool) -> Iterator[Device]:
        with Patches() as patches:
            self._enter(patches, device, cuda_means_cpu, inductor)
            yield device

    def activate(
        self,
        device: Device | str | None = None,
        *,
        cuda_means_cpu: bool = False,
        inductor: bool = False,
    ) -> Device:
        """The same for the rest of the process, or until the next `activate`."""
        where = resolve_device(device)
        self._active.close()
        self._enter(self._active, where, cuda_means_cpu, inductor)
        return where

    def deactivate(self) -> None:
        """Undoes `activate`."""
        self._active.close()

    @property
    def spent(self) -> Spent:
        """Time by kernel since the newest `with wb.triton()` or `activate`.

        It has Triton's compiler, the translation of machine code, and the run. On a GPU it stays empty.
        """
        return self._spent

    def __init__(self) -> None:
        self._active = Patches()
        self._spent = Spent()

    def _enter(self, patches: Patches, device: Device, cuda_means_cpu: bool, inductor: bool) -> None:
        if cuda_means_cpu and inductor:
            raise UsageError(
                "wb.triton: inductor and cuda_means_cpu are given; expected one: inductor takes CPU tensors"
            )
        runtime, testing, knobs = _triton()
        if not device.observes:
            return
        from workbench.triton_driver.benchmark import modelled
        from workbench.triton_driver.driver import Driver

        self._spent = spent = Spent()
        heard = listener(spent, knobs.compilation.listener)
        patches.replace(knobs.compilation, "listener", heard)
        before = runtime.driver._active
        patches.callback(setattr, runtime.driver, "_active", before)
        runtime.driver.set_active(Driver(device, spent))
        for name in ("do_bench", "do_bench_cudagraph"):
            patches.replace(testing, name, modelled)
        if cuda_means_cpu:
            from workbench.triton_driver.cuda import cuda_is_cpu

            patches.enter_context(cuda_is_cpu(device))
        if inductor:
            from workbench.triton_driver.inductor import inductor_is_triton

            patches.enter_context(inductor_is_triton(device))

    def __repr__(self) -> str:
        return "<wb.triton: with wb.triton(): ..., or wb.triton.activate()>"


def _triton() -> tuple[Any, Any, Any]:
    try:
        from triton import knobs, runtime, testing
    except ImportError as error:
        raise WorkbenchError(
            f"Triton cannot be imported ({error}); install it: pip install 'hipkittens-workbench[triton]'"
        ) from None
    return runtime, testing, knobs


triton = Triton()
"""Triton on the workbench's devices."""
