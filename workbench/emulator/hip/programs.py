"""HIP calls of compiled host programs: fat binaries, kernels and variables that they register.

clang's host code registers a fat binary, its kernels by the address of a host function, and its variables by
the address of a host shadow. A device loads the binary at first use.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char
from dataclasses import dataclass, field

from workbench import errors
from workbench.emulator.hip import devices, streams, structures
from workbench.emulator.hip.calls import (
    DIM3,
    HANDLE,
    INT,
    POINTER,
    SIZE,
    UINT,
    HipError,
    call,
    dim3,
    thread,
)
from workbench.emulator.hip.code import Function, global_variable, read_image
from workbench.emulator.hip.graph_nodes import NodeKind
from workbench.emulator.hip.memory import copy
from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import EmulatedDevice, node
from workbench.emulator.node.loaded import LoadedCode


@dataclass(eq=False)
class _FatBinary:
    data: bytes
    loaded: dict[int, LoadedCode] = field(default_factory=dict)
    managed: list[tuple[str, Allocation]] = field(default_factory=list)

    def on(self, device: EmulatedDevice) -> LoadedCode:
        code = self.loaded.get(device.ordinal)
        if code is None:
            code = self.loaded[device.ordinal] = device.load(self.data)
            for name, allocation in self.managed:
                # Device code accesses a managed variable through a pointer named after it.
                address, _ = global_variable(code, name)
                ctypes.c_uint64.from_address(address).value = allocation.base
        return code


_fat_binaries: dict[int, tuple[_FatBinary, ctypes.Array[c_char]]] = {}
# By the address of the host's stand-in: kernels of one name may be in many binaries, and a library's
# registrations under an address end with it.
_functions: dict[int, tuple[_FatBinary, str]] = {}
_variables: dict[int, tuple[_FatBinary, str]] = {}


def _fat_binary(handle: int) -> _FatBinary:
    if handle not in _fat_binaries:
        raise HipError(structures.INVALID_HANDLE)
    return _fat_binaries[handle][0]


def registered_function(host: int) -> Function:
    if host not in _functions:
        raise HipError(structures.INVALID_DEVICE_FUNCTION)
    binary, name = _functions[host]
    loaded = binary.on(devices.current())
    if name not in loaded.code_object.kernels:
        raise HipError(structures.INVALID_DEVICE_FUNCTION)
    return Function(loaded, loaded.code_object.kernels[name])


@call("__hipRegisterFatBinary", arguments=(POINTER,), result=POINTER)
def _register_fat_binary(address: int) -> int:
    wrapper = structures.FatBinaryWrapper.from_address(address)
    if wrapper.magic != structures.FAT_BINARY_MAGIC or not wrapper.binary:
        raise errors.DeviceError(
            f"a HIP fat binary has magic {wrapper.magic:#x}; expected {structures.FAT_BINARY_MAGIC:#x}.",
            structures.INVALID_IMAGE,
        )
    # The handle is a pointer that the caller keeps and may dereference; it points to eight zero bytes.
    anchor = ctypes.create_string_buffer(8)
    handle = ctypes.addressof(anchor)
    _fat_binaries[handle] = (_FatBinary(read_image(wrapper.binary)), anchor)
    return handle


@call("__hipUnregisterFatBinary", arguments=(POINTER,), result=None)
def _unregister_fat_binary(handle: int) -> None:
    binary, _ = _fat_binaries.pop(handle, (None, None))
    if binary is not None:
        for registered in (_functions, _variables):
            for host in [host for host, (of, _) in registered.items() if of is binary]:
                del registered[host]
        for loaded in binary.loaded.values():
            node().devices[loaded.device].unload(loaded)
        with node().launch_lock:
            for _, allocation in binary.managed:
                node().memory.free(allocation)


@call(
    "__hipRegisterFunction",
    arguments=(POINTER, POINTER, POINTER, POINTER, UINT, POINTER, POINTER, POINTER, POINTER, POINTER),
)
def _register_function(
    handle: int,
    host: int,
    device_function: int,
    device_name: int,
    limit: int,
    tid: int,
    bid: int,
    block: int,
    grid: int,
    wave: int,
) -> None:
    _functions[host] = _fat_binary(handle), structures.text_at(device_name)


@call(
    "__hipRegisterVar",
    arguments=(POINTER, POINTER, POINTER, POINTER, INT, SIZE, INT, INT),
    result=None,
)
def _register_variable(
    handle: int, host: int, host_name: int, device_name: int, extern: int, size: int, const: int, other: int
) -> None:
    _variables[host] = _fat_binary(handle), structures.text_at(device_name)


@call("__hipRegisterManagedVar", arguments=(POINTER, POINTER, POINTER, POINTER, SIZE, UINT), result=None)
def _register_managed(handle: int, pointer: int, initial: int, name: int, size: int, align: int) -> None:
    allocation = node().memory.allocate(size, MemoryKind.MANAGED, None, label=structures.text_at(name))
    if initial:
        ctypes.memmove(allocation.base, initial, size)
    structures.store(pointer, POINTER, allocation.base)
    _fat_binary(handle).managed.append((structures.text_at(name), allocation))


@call("__hipPushCallConfiguration", arguments=(*DIM3, *DIM3, SIZE, HANDLE))
def _push_configuration(
    grid_xy: int, grid_z: int, block_xy: int, block_z: int, dynamic_shared: int, stream: int
) -> None:
    thread().configurations.append((dim3(grid_xy, grid_z), dim3(block_xy, block_z), dynamic_shared, stream))


@call("__hipPopCallConfiguration", arguments=(POINTER, POINTER, POINTER, POINTER))
def _pop_configuration(grid: int, block: int, dynamic_shared: int, stream: int) -> None:
    if not thread().configurations:
        raise HipError(structures.MISSING_CONFIGURATION)
    dims_grid, dims_block, shared, handle = thread().configurations.pop()
    for address, dims in ((grid, dims_grid), (block, dims_block)):
        record = structures.Dim3.from_address(address)
        record.x, record.y, record.z = dims
    structures.store(dynamic_shared, SIZE, shared)
    structures.store(stream, HANDLE, handle)


def _symbol(host: int) -> tuple[int, int]:
    """Device address and size of a registered variable on the current device."""
    if host not in _variables:
        raise HipError(structures.INVALID_SYMBOL)
    binary, name = _variables[host]
    return global_variable(binary.on(devices.current()), name)


@call("hipGetSymbolAddress", arguments=(POINTER, POINTER))
def _symbol_address(result: int, host: int) -> None:
    structures.store(result, POINTER, _symbol(host)[0])


@call("hipGetSymbolSize", arguments=(POINTER, POINTER))
def _symbol_size(result: int, host: int) -> None:
    structures.store(result, SIZE, _symbol(host)[1])


def symbol_range(host: int, size: int, offset: int) -> int:
    """Device address of bytes of a registered variable; hipErrorInvalidValue if it is smaller."""
    address, length = _symbol(host)
    if offset + size > length:
        raise HipError(structures.INVALID_VALUE)
    return address + offset


def _copy_symbol(host: int, other: int, size: int, offset: int, write: bool) -> None:
    place = symbol_range(host, size, offset)
    copy(place if write else other, other if write else place, size)


@call("hipMemcpyToSymbol", "hipMemcpyToSymbol_spt", arguments=(POINTER, POINTER, SIZE, SIZE, INT))
def _to_symbol(host: int, source: int, size: int, offset: int, kind: int) -> None:
    _copy_symbol(host, source, size, offset, write=True)


@call(
    "hipMemcpyToSymbolAsync",
    "hipMemcpyToSymbolAsync_spt",
    arguments=(POINTER, POINTER, SIZE, SIZE, INT, HANDLE),
)
def _to_symbol_async(host: int, source: int, size: int, offset: int, kind: int, stream: int) -> None:
    streams.submit(stream, NodeKind.MEMCPY, lambda: _copy_symbol(host, source, size, offset, write=True))


@call("hipMemcpyFromSymbol", "hipMemcpyFromSymbol_spt", arguments=(POINTER, POINTER, SIZE, SIZE, INT))
def _from_symbol(target: int, host: int, size: int, offset: int, kind: int) -> None:
    _copy_symbol(host, target, size, offset, write=False)


@call(
    "hipMemcpyFromSymbolAsync",
    "hipMemcpyFromSymbolAsync_spt",
    arguments=(POINTER, POINTER, SIZE, SIZE, INT, HANDLE),
)
def _from_symbol_async(target: int, host: int, size: int, offset: int, kind: int, stream: int) -> None:
    streams.submit(stream, NodeKind.MEMCPY, lambda: _copy_symbol(host, target, size, offset, write=False))


@call("hipGetFuncBySymbol", arguments=(POINTER, POINTER))
def _function_by_symbol(result: int, host: int) -> None:
    registered_function(host)
    structures.store(result, HANDLE, host)
