"""Compiled modules that Python imports: their functions take CPU tensors for the device's memory."""

from __future__ import annotations

import contextlib
import importlib.machinery
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket, _Ops

from workbench.kernel import gradients, host_module
from workbench.kernel.host_module import (
    exceptions_of,
    functions_of,
    made_tensors,
    tensors,
    wrapped_function,
)
from workbench.kernel.made_tensors import OF_PYTORCH, is_watched
from workbench.launches import LaunchOptions
from workbench.live_tensors import granularity
from workbench.patches import Patches
from workbench.runtime import Device
from workbench.torch_gpu import graphs
from workbench.torch_gpu.storages import Kept, tensors_reached

_SECTION = b".hip_fatbin"
_seen: dict[str, ModuleType] = {}
"""Modules with device code by their names: Python imports each once in a process."""
_libraries: set[str] = set()
"""Libraries with device code that `torch.ops.load_library` has loaded, by their paths."""


@contextlib.contextmanager
def reached(device: Device) -> Iterator[None]:
    """In this context, functions of modules with device code launch on `device`.

    This includes modules imported in an earlier block. The functions reach the memory of their
    arguments and of tensors that they saw or made before. So do PyTorch's gradients, since they may come from
    a module's code, and operators that are not PyTorch's.
    """
    load = importlib.machinery.ExtensionFileLoader.exec_module
    reachable = Kept()
    patches = Patches()

    def launching(function: Callable[..., Any]) -> Callable[..., Any]:
        return graphs.part(_on_device(function, device, reachable))

    def change(module: ModuleType) -> None:
        for owner, name, function in list(functions_of(module)):
            patches.replace(owner, name, wrapped_function(function, launching))

    def see(module: ModuleType, file: Path) -> None:
        if _SECTION in file.read_bytes():
            _seen[module.__name__] = module
            change(module)

    def imported(loader: importlib.machinery.ExtensionFileLoader, module: ModuleType) -> None:
        load(loader, module)
        see(module, Path(loader.path))

    def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
        inside = _on_device(function, device, reachable, recorded=False)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return (inside if _seen or _libraries else function)(*args, **kwargs)

        return call

    def library(loaded: Callable[..., None]) -> Callable[..., None]:
        @wraps(loaded)
        def load_library(namespace: Any, path: Any) -> None:
            loaded(namespace, path)
            if Path(path).is_file() and _SECTION in Path(path).read_bytes():
                _libraries.add(str(path))

        return load_library

    def operator(call: Callable[..., Any]) -> Callable[..., Any]:
        inside = launching(call)

        @wraps(call)
        def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            launches = (_seen or _libraries) and str(self).partition(".")[0] not in OF_PYTORCH
            return (inside if launches and not is_watched() else call)(self, *args, **kwargs)

        return called

    def backward(function: str, module: str) -> None:
        if module not in _seen:
            refuse(function, module)

    refuse = gradients.unreached
    # HIP is loaded before they are.
    with device.hip(), tensors_reached(device), patches:
        patches.replace(importlib.machinery.ExtensionFileLoader, "exec_module", imported)
        patches.replace(host_module, "imported", see)
        patches.replace(gradients, "unreached", backward)
        patches.replace(_Ops, "load_library", library(_Ops.load_library))
        for kind in (OpOverload, OpOverloadPacket):
            patches.replace(kind, "__call__", operator(kind.__call__))
        for name in ("backward", "grad"):
            patches.replace(torch.autograd, name, gradient(getattr(torch.autograd, name)))
        for module in _seen.values():
            change(module)
        yield


def _on_device(
    function: Callable[..., Any], device: Device, reachable: Kept, *, recorded: bool = True
) -> Callable[..., Any]:
    """The function, with its kernels on the device.

    Args:
        recorded: True if a recording graph includes its launches.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        def memory() -> list[tuple[int, int]]:
            return tensors((args, kwargs)) + reachable.memory((args, kwargs))

        rounded = granularity()
        with (
            device.host_code(memory, None if recorded else LaunchOptions(), rounded) as records,
            made_tensors(device, reachable.memory_of, rounded),
            exceptions_of(function),
        ):
            result = function(*args, **kwargs)
        if records:
            graphs.refuse(records[0].kernel)
        return result

    return call
