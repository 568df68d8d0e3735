"""`wb.triton`: makes Triton run on the workbench's devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from workbench.errors import WorkbenchError
from workbench.kernel import resolve_device
from workbench.runtime import Device


class Triton:
    """Triton's kernels on an emulated device; on a GPU Triton's own driver stays.

        with wb.triton():
            kernel[grid](x, y, n, BLOCK=1024)       # CPU tensors

        wb.triton.activate()                        # for the rest of the process

    Inside, launches are the workbench's own: in the history, with its errors, for `wb.time`, `wb.profile` and
    `wb.sanitize`, and Triton's autotuner takes modelled time.
    """

    def __call__(
        self, device: Device | str | None = None, *, cuda_means_cpu: bool = False
    ) -> AbstractContextManager[Device]:
        """Triton on `device` inside of a `with` block.

        Args:
            device: a device or its name; the default one where it is None.
            cuda_means_cpu: for libraries that say `device="cuda"`: tensors that are asked for there are made
                in the emulated device's memory, and `torch.cuda` answers for it.

        Raises:
            DeviceError: there is no such device.
            WorkbenchError: inside of `with`, Triton is not installed.
        """
        return self._inside(resolve_device(device), cuda_means_cpu)

    @contextlib.contextmanager
    def _inside(self, device: Device, cuda_means_cpu: bool) -> Iterator[Device]:
        with contextlib.ExitStack() as stack:
            self._enter(stack, device, cuda_means_cpu)
            yield device

    def activate(self, device: Device | str | None = None, *, cuda_means_cpu: bool = False) -> Device:
        """The same for the rest of the process, or until the next `activate`."""
        chosen = resolve_device(device)
        self._active.close()
        self._enter(self._active, chosen, cuda_means_cpu)
        return chosen

    def deactivate(self) -> None:
        """Ends what `activate` began."""
        self._active.close()

    def __init__(self) -> None:
        self._active = contextlib.ExitStack()

    def _enter(self, stack: contextlib.ExitStack, device: Device, cuda_means_cpu: bool) -> None:
        runtime, testing = _triton()
        if device.torch_device != "cpu":
            return
        from workbench.triton_driver.benchmark import modelled
        from workbench.triton_driver.driver import Driver

        before = runtime.driver._active
        stack.callback(setattr, runtime.driver, "_active", before)
        runtime.driver.set_active(Driver(device))
        for name in ("do_bench", "do_bench_cudagraph"):
            stack.enter_context(mock.patch.object(testing, name, modelled))
        if cuda_means_cpu:
            from workbench.triton_driver.cuda import cuda_is_cpu

            stack.enter_context(cuda_is_cpu(device))

    def __repr__(self) -> str:
        return "<wb.triton: with wb.triton(): ..., or wb.triton.activate()>"


def _triton() -> tuple[Any, Any]:
    try:
        from triton import runtime, testing
    except ImportError as error:
        raise WorkbenchError(
            f"Triton cannot be imported ({error}); install it: pip install 'hipkittens-workbench[triton]'"
        ) from None
    return runtime, testing


triton = Triton()
"""Triton on the workbench's devices."""
