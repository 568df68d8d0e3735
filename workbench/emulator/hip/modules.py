"""HIP calls about modules and libraries, and the kernels and variables in them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from workbench import errors
from workbench.codeobject.names import first_names
from workbench.emulator.hip import devices, structures
from workbench.emulator.hip.calls import (
    HANDLE,
    POINTER,
    SIZE,
    UINT,
    HipError,
    call,
)
from workbench.emulator.hip.code import Function, global_variable, read_image
from workbench.emulator.hip.programs import registered_function
from workbench.emulator.node.device import node
from workbench.emulator.node.loaded import LoadedCode


@dataclass(eq=False)
class _Module:
    loaded: LoadedCode
    functions: dict[str, int] = field(default_factory=dict)


_handles = itertools.count(0x1000000, 0x10)
_modules: dict[int, _Module] = {}
_functions: dict[int, Function] = {}


def _add_module(result: int, data: bytes) -> None:
    loaded = devices.current().load(data)
    handle = next(_handles)
    _modules[handle] = _Module(loaded)
    structures.store(result, HANDLE, handle)


def _module(handle: int) -> _Module:
    if handle not in _modules:
        raise HipError(structures.INVALID_HANDLE)
    return _modules[handle]


def function_of(handle: int) -> Function:
    """A kernel by its handle, or by the host function that represents it in a compiled program."""
    function = _functions.get(handle)
    if function is not None:
        return function
    return registered_function(handle)


@call("hipModuleLoadData", "hipModuleLoadFatBinary", arguments=(POINTER, POINTER))
def _load_data(result: int, image: int) -> None:
    if not image:
        raise HipError(structures.INVALID_VALUE)
    _add_module(result, read_image(image))


@call("hipModuleLoadDataEx", arguments=(POINTER, POINTER, UINT, POINTER, POINTER))
def _load_data_ex(result: int, image: int, count: int, options: int, values: int) -> None:
    _load_data(result, image)


@call("hipModuleLoad", arguments=(POINTER, POINTER))
def _load_file(result: int, name: int) -> None:
    _add_module(result, Path(structures.text_at(name)).read_bytes())


@call("hipModuleUnload", arguments=(HANDLE,))
def _unload(handle: int) -> None:
    module = _module(handle)
    del _modules[handle]
    for function in module.functions.values():
        _functions.pop(function, None)
    node().devices[module.loaded.device].unload(module.loaded)


@call("hipModuleGetFunction", arguments=(POINTER, HANDLE, POINTER))
def _get_function(result: int, handle: int, name: int) -> None:
    module = _module(handle)
    symbol = structures.text_at(name)
    if not symbol:
        raise HipError(structures.INVALID_VALUE)
    kernel = module.loaded.code_object.kernels.get(symbol)
    if kernel is None:
        names = first_names(module.loaded.code_object.kernels) or "none"
        raise errors.DeviceError(
            f"no kernel {symbol!r} in the code object; its kernels are: {names}.", structures.NOT_FOUND
        )
    if symbol not in module.functions:
        function = module.functions[symbol] = next(_handles)
        _functions[function] = Function(module.loaded, kernel)
    structures.store(result, HANDLE, module.functions[symbol])


@call("hipModuleGetFunctionCount", arguments=(POINTER, HANDLE))
def _function_count(result: int, handle: int) -> None:
    structures.store(result, UINT, len(_module(handle).loaded.code_object.kernels))


@call("hipModuleGetGlobal", arguments=(POINTER, POINTER, HANDLE, POINTER))
def _get_global(address: int, size: int, handle: int, name: int) -> None:
    variable = global_variable(_module(handle).loaded, structures.text_at(name))
    structures.store_if(address, POINTER, variable[0])
    structures.store_if(size, SIZE, variable[1])


@call("hipLibraryLoadData", arguments=(POINTER, POINTER, POINTER, POINTER, UINT, POINTER, POINTER, UINT))
def _library_data(
    result: int, image: int, options: int, values: int, count: int, names: int, library: int, number: int
) -> None:
    # The module belongs to the current device.
    _add_module(result, read_image(image))


@call("hipLibraryLoadFromFile", arguments=(POINTER, POINTER, POINTER, POINTER, UINT, POINTER, POINTER, UINT))
def _library_file(
    result: int, name: int, options: int, values: int, count: int, names: int, library: int, number: int
) -> None:
    _load_file(result, name)


@call("hipLibraryUnload", arguments=(HANDLE,))
def _library_unload(handle: int) -> None:
    _unload(handle)


@call("hipLibraryGetKernel", arguments=(POINTER, HANDLE, POINTER))
def _library_kernel(result: int, handle: int, name: int) -> None:
    _get_function(result, handle, name)


@call("hipLibraryGetKernelCount", arguments=(POINTER, HANDLE))
def _library_kernel_count(result: int, handle: int) -> None:
    _function_count(result, handle)


@call("hipLibraryGetGlobal", arguments=(POINTER, POINTER, HANDLE, POINTER))
def _library_global(address: int, size: int, handle: int, name: int) -> None:
    _get_global(address, size, handle, name)


@call("hipKernelGetFunction", arguments=(POINTER, HANDLE))
def _kernel_function(result: int, handle: int) -> None:
    function_of(handle)
    structures.store(result, HANDLE, handle)


@call("hipKernelGetName", arguments=(POINTER, HANDLE))
def _kernel_name(result: int, handle: int) -> None:
    structures.store(result, POINTER, devices.c_string(function_of(handle).kernel.name))
