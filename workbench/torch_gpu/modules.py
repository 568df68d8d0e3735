"""Compiled modules that Python imports: calls of their functions see CPU tensors as the device's memory."""

from __future__ import annotations

import contextlib
import importlib.machinery
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch

from workbench.codeobject.bundle import bundle_entries, fat_binary_of_host, plain_target
from workbench.kernel import Kernel, Module, gradients, host_module
from workbench.kernel.host_module import exceptions_of, functions_of, made_tensors, tensors, wrap_function
from workbench.runtime import Device
from workbench.torch_gpu import graphs
from workbench.torch_gpu.clock import Clock
from workbench.torch_gpu.kept import Kept

_SECTION = b".hip_fatbin"
_seen: dict[str, tuple[ModuleType, Path]] = {}
"""Modules with device code by their names, and their files: Python imports each once in a process."""


@contextlib.contextmanager
def reached(device: Device, clock: Clock) -> Iterator[None]:
    """While it lasts, functions of modules with device code launch on `device`, with the memory of their
    arguments and of what they saw or made before; those imported inside of an earlier `with` block too.
    PyTorch's gradients do so as well, as they may come from a module's code."""
    load = importlib.machinery.ExtensionFileLoader.exec_module
    changed: list[tuple[ModuleType | type, str, Any]] = []
    kept = Kept()
    of_modules: dict[str, Callable[[], Mapping[str, Kernel]]] = {}

    def change(module: ModuleType, file: Path) -> None:
        kernels = of_modules[module.__name__] = cache(lambda: _kernels(file, device.arch))
        for owner, name, value in list(functions_of(module)):
            changed.append((owner, name, value))
            wrap_function(
                owner, name, lambda function: graphs.part(_on_device(function, device, clock, kernels, kept))
            )

    def see(module: ModuleType, file: Path) -> None:
        if _SECTION in file.read_bytes():
            _seen[module.__name__] = module, file
            change(module, file)

    def imported(loader: importlib.machinery.ExtensionFileLoader, module: ModuleType) -> None:
        load(loader, module)
        see(module, Path(loader.path))

    def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        def every_kernel() -> Mapping[str, Kernel]:
            return {name: each for kernels in of_modules.values() for name, each in kernels().items()}

        # What a graph has in it is not seen, so its time is no other's.
        inside = _on_device(function, device, clock, every_kernel, kept, form=lambda _: object())

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (inside if _seen else function)(*args, **kwargs)

        return call

    def backward(function: str, module: str) -> None:
        if module not in _seen:
            refuse(function, module)

    refuse = gradients.unreached
    # What they launch by is there before they are.
    with (
        device.hip(),
        mock.patch.object(importlib.machinery.ExtensionFileLoader, "exec_module", imported),
        mock.patch.object(host_module, "imported", see),
        mock.patch.object(gradients, "unreached", backward),
        mock.patch.object(torch.autograd, "backward", gradient(torch.autograd.backward)),
        mock.patch.object(torch.autograd, "grad", gradient(torch.autograd.grad)),
    ):
        for module, file in _seen.values():
            change(module, file)
        try:
            yield
        finally:
            for owner, name, value in changed:
                setattr(owner, name, value)


def _kernels(file: Path, arch: str) -> Mapping[str, Kernel]:
    """Kernels by symbol, of each source that the file was linked from."""
    data = fat_binary_of_host(file.read_bytes())
    codes = [
        data[at : at + size]
        for triple, at, size in bundle_entries(data)
        if size and plain_target(triple.rpartition("--")[2]) == arch
    ]
    modules = [Module(code, name=file.name) for code in codes]
    return {kernel.info.name: kernel for module in modules for kernel in module.kernels.values()}


def _on_device(
    function: Callable[..., Any],
    device: Device,
    clock: Clock,
    kernels: Callable[[], Mapping[str, Kernel]],
    kept: Kept,
    form: Callable[[Any], Hashable] | None = None,
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        def memory() -> list[tuple[int, int]]:
            return tensors((args, kwargs)) + kept.memory((args, kwargs))

        with clock.passing((call, (form or _form)((args, kwargs))), kernels) as (options, records):
            with (
                device.host_code(memory, options) as told,
                made_tensors(device, kept.memory_of),
                exceptions_of(function),
            ):
                result = function(*args, **kwargs)
            records.append(told)
            if told and form is not None:
                graphs.refuse(told[0].kernel)
        return result

    return call


def _form(value: Any) -> Hashable:
    """Of arguments what decides how long a call takes: shapes, types and numbers, not what is in tensors."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return type(value).__name__, tuple(value.shape), str(value.dtype)
    if isinstance(value, Mapping):
        return tuple((key, _form(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_form, value))
    if isinstance(value, bool | int | float | str | torch.dtype):
        return value
    # What an object of a module's own class holds is not seen, so each is another one.
    return type(value).__name__, id(value) if type(value).__module__ in _seen else 0
