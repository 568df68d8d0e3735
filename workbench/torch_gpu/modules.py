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
from workbench.kernel import Kernel, Module
from workbench.kernel.host_module import made_tensors, tensors
from workbench.runtime import Device
from workbench.torch_gpu.clock import Clock

_SECTION = b".hip_fatbin"
_LAUNCHING = ("__call__", "__init__")
"""Functions with such a name that a class writes itself."""
_seen: dict[str, tuple[ModuleType, Path]] = {}
"""Modules with device code by their names, and their files: Python imports each once in a process."""


@contextlib.contextmanager
def reached(device: Device, clock: Clock) -> Iterator[None]:
    """While it lasts, functions of modules with device code launch on `device`, with the memory of their
    arguments; those that were imported inside of an earlier `with` block too."""
    load = importlib.machinery.ExtensionFileLoader.exec_module
    changed: list[tuple[ModuleType | type, str, Any]] = []

    def change(module: ModuleType, file: Path) -> None:
        kernels = cache(lambda: _kernels(file, device.arch))
        for owner, name, value in list(_functions(module)):
            static = isinstance(value, staticmethod)
            made = _on_device(value.__func__ if static else value, device, clock, kernels)
            changed.append((owner, name, value))
            setattr(owner, name, staticmethod(made) if static else made)

    def imported(loader: importlib.machinery.ExtensionFileLoader, module: ModuleType) -> None:
        load(loader, module)
        file = Path(loader.path)
        if _SECTION in file.read_bytes():
            _seen[module.__name__] = module, file
            change(module, file)

    # What they launch by is there before they are.
    with device.hip(), mock.patch.object(importlib.machinery.ExtensionFileLoader, "exec_module", imported):
        for module, file in _seen.values():
            change(module, file)
        try:
            yield
        finally:
            for owner, name, value in changed:
                setattr(owner, name, value)


def _functions(owner: ModuleType | type) -> Iterator[tuple[ModuleType | type, str, Any]]:
    """Functions of a module, of those inside it and of its classes: where each is, its name, and itself."""
    own = owner.__module__ if isinstance(owner, type) else owner.__name__
    for name, value in vars(owner).items():
        if isinstance(value, ModuleType):
            if value.__name__ == f"{own}.{name}":
                yield from _functions(value)
        elif isinstance(value, type):
            if value.__module__ == own:
                yield from _functions(value)
        elif callable(value) and (not name.startswith("__") or name in _LAUNCHING):
            yield owner, name, value


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
    function: Callable[..., Any], device: Device, clock: Clock, kernels: Callable[[], Mapping[str, Kernel]]
) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with clock.passing((call, _form((args, kwargs))), kernels) as (options, records):
            with device.host_code(lambda: tensors((args, kwargs)), options) as told, made_tensors(device):
                result = function(*args, **kwargs)
            records.append(told)
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
