"""HIP calls about code: modules, kernels, launches, and what compiled host programs register."""

from __future__ import annotations

import ctypes
import itertools
import struct
from ctypes import c_char, c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from workbench import errors
from workbench.codeobject import KernelInfo, occupancy
from workbench.codeobject.bundle import BUNDLE_MAGIC
from workbench.emulator.hip import devices, streams, structures
from workbench.emulator.hip.calls import (
    HANDLE,
    INT,
    POINTER,
    SIZE,
    U64,
    UINT,
    HipError,
    call,
    launch_failed,
    thread,
)
from workbench.emulator.hip.graph_nodes import NodeKind
from workbench.emulator.hip.memory import copy
from workbench.emulator.native import abi
from workbench.emulator.node.device import EmulatedDevice, node
from workbench.emulator.node.dispatch import Geometry
from workbench.emulator.node.limits import MAX_WORK_ITEMS, static_shared
from workbench.emulator.node.loaded import LoadedCode
from workbench.emulator.node.memory import Allocation, MemoryKind, host_access

_LARGEST_IMAGE = 1 << 32


@dataclass(eq=False)
class _Module:
    loaded: LoadedCode
    functions: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class _Function:
    loaded: LoadedCode
    kernel: KernelInfo

    @property
    def device(self) -> EmulatedDevice:
        return node().devices[self.loaded.device]


_handles = itertools.count(0x1000000, 0x10)
_modules: dict[int, _Module] = {}
_functions: dict[int, _Function] = {}


def read_image(address: int) -> bytes:
    """The code object or fat binary at an address, whose length only its own headers tell.

    Raises:
        DeviceError: (hipErrorInvalidImage) it is neither, or ends outside this process's memory.
    """
    _need(address, 64)
    head = ctypes.string_at(address, 64)
    if head.startswith(b"\x7fELF"):
        sections = struct.unpack_from("<Q", head, 40)[0]
        entry_size, count = struct.unpack_from("<HH", head, 58)
        size = sections + entry_size * count
    elif head.startswith(BUNDLE_MAGIC):
        count = struct.unpack_from("<Q", head, len(BUNDLE_MAGIC))[0]
        position = len(BUNDLE_MAGIC) + 8
        size = position
        for _ in range(min(count, 4096)):
            _need(address, position + 24)
            offset, length, name = struct.unpack("<QQQ", ctypes.string_at(address + position, 24))
            position += 24 + name
            size = max(size, offset + length, position)
    else:
        raise errors.DeviceError(
            f"no code object: it begins with {head[:8]!r}; wanted an AMDGPU ELF or a HIP fat binary.",
            structures.INVALID_IMAGE,
        )
    _need(address, size)
    return ctypes.string_at(address, size)


def _need(address: int, size: int) -> None:
    readable = 0 < size < _LARGEST_IMAGE and host_access(address, size) & abi.ALLOCATION_READ
    if not readable:
        raise errors.DeviceError(
            f"the code object claims {size} bytes, which is more than there is: it is damaged or cut off.",
            structures.INVALID_IMAGE,
        )


def _add_module(result: int, data: bytes) -> None:
    loaded = devices.current().load(data)
    handle = next(_handles)
    _modules[handle] = _Module(loaded)
    structures.store(result, HANDLE, handle)


def _module(handle: int) -> _Module:
    if handle not in _modules:
        raise HipError(structures.INVALID_HANDLE)
    return _modules[handle]


def _function(handle: int) -> _Function:
    """A kernel by its handle, or by the host function that stands for it in a compiled program."""
    found = _functions.get(handle)
    if found is not None:
        return found
    return _registered_function(handle)


@call("hipModuleLoadData", "hipModuleLoadFatBinary", arguments=(POINTER, POINTER))
def _load_data(result: int, image: int) -> None:
    _add_module(result, read_image(image))


@call("hipModuleLoadDataEx", arguments=(POINTER, POINTER, UINT, POINTER, POINTER))
def _load_data_ex(result: int, image: int, count: int, options: int, values: int) -> None:
    _add_module(result, read_image(image))


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
    kernel = module.loaded.code_object.kernels.get(symbol)
    if kernel is None:
        known = ", ".join(module.loaded.code_object.kernels) or "none"
        raise errors.DeviceError(
            f"no kernel {symbol!r} in the code object; its kernels are: {known}.", structures.NOT_FOUND
        )
    if symbol not in module.functions:
        function = module.functions[symbol] = next(_handles)
        _functions[function] = _Function(module.loaded, kernel)
    structures.store(result, HANDLE, module.functions[symbol])


@call("hipModuleGetFunctionCount", arguments=(POINTER, HANDLE))
def _function_count(result: int, handle: int) -> None:
    structures.store(result, UINT, len(_module(handle).loaded.code_object.kernels))


@call("hipModuleGetGlobal", arguments=(POINTER, POINTER, HANDLE, POINTER))
def _get_global(address: int, size: int, handle: int, name: int) -> None:
    found = _global(_module(handle).loaded, structures.text_at(name))
    structures.store_if(address, POINTER, found[0])
    structures.store_if(size, SIZE, found[1])


def _global(loaded: LoadedCode, name: str) -> tuple[int, int]:
    symbol = loaded.code_object.variable(name)
    if symbol is None:
        raise errors.DeviceError(f"no variable {name!r} in the code object.", structures.NOT_FOUND)
    return loaded.base + symbol.address, symbol.size


# Libraries: code objects that are not bound to a device, and kernels that are not bound to one.


@call("hipLibraryLoadData", arguments=(POINTER, POINTER, POINTER, POINTER, UINT, POINTER, POINTER, UINT))
def _library_data(
    result: int, image: int, options: int, values: int, count: int, names: int, library: int, number: int
) -> None:
    # It is a module of the device that is current.
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
    _function(handle)
    structures.store(result, HANDLE, handle)


@call("hipKernelGetName", arguments=(POINTER, HANDLE))
def _kernel_name(result: int, handle: int) -> None:
    structures.store(result, POINTER, devices.c_string(_function(handle).kernel.name))


# Attributes


@call("hipFuncGetAttributes", arguments=(POINTER, HANDLE))
def _get_attributes(result: int, handle: int) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    function = _function(handle)
    values = _attributes(function)
    record = structures.FuncAttributes.from_address(result)
    for name, *_ in structures.FuncAttributes._fields_:
        setattr(record, name, values.get(name, 0))


def _attributes(function: _Function) -> dict[str, int]:
    kernel = function.kernel
    lds = function.device.facts.target.lds_bytes
    return {
        "localSizeBytes": kernel.private_segment_size,
        "maxDynamicSharedSizeBytes": lds - static_shared(kernel),
        "maxThreadsPerBlock": min(MAX_WORK_ITEMS, kernel.max_workgroup_size or 1024),
        "numRegs": kernel.vgpr_count,
        "sharedSizeBytes": static_shared(kernel),
        "binaryVersion": 90,
        "ptxVersion": 90,
    }


@call("hipFuncGetAttribute", arguments=(POINTER, INT, HANDLE))
def _get_attribute(result: int, attribute: int, handle: int) -> None:
    values = _attributes(_function(handle))
    numbers = structures.enum("hipFunction_attribute")
    answers = {
        "HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK": "maxThreadsPerBlock",
        "HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": "sharedSizeBytes",
        "HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES": "constSizeBytes",
        "HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES": "localSizeBytes",
        "HIP_FUNC_ATTRIBUTE_NUM_REGS": "numRegs",
        "HIP_FUNC_ATTRIBUTE_PTX_VERSION": "ptxVersion",
        "HIP_FUNC_ATTRIBUTE_BINARY_VERSION": "binaryVersion",
        "HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA": "cacheModeCA",
        "HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": "maxDynamicSharedSizeBytes",
        "HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT": "preferredShmemCarveout",
    }
    for name, value in answers.items():
        if numbers[name] == attribute:
            structures.store(result, INT, values.get(value, 0))
            return
    raise HipError(structures.INVALID_VALUE)


@call("hipFuncSetAttribute", arguments=(HANDLE, INT, INT))
def _set_attribute(handle: int, attribute: int, value: int) -> int | None:
    function = _function(handle)
    numbers = structures.enum("hipFunction_attribute")
    if attribute == numbers["HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"]:
        most = function.device.facts.target.lds_bytes - static_shared(function.kernel)
        return None if 0 <= value <= most else structures.INVALID_VALUE
    known = attribute == numbers["HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT"]
    return None if known else structures.INVALID_VALUE


@call("hipFuncSetCacheConfig", "hipFuncSetSharedMemConfig", arguments=(HANDLE, INT))
def _set_function_config(handle: int, value: int) -> None:
    _function(handle)


@call("hipKernelNameRef", arguments=(HANDLE,), result=POINTER)
def _name_ref(handle: int) -> int:
    return devices.c_string(_function(handle).kernel.name)


@call("hipKernelNameRefByPtr", arguments=(HANDLE, HANDLE), result=POINTER)
def _name_ref_by_pointer(handle: int, stream: int) -> int:
    return devices.c_string(_function(handle).kernel.name)


# Occupancy


def _groups_per_cu(function: _Function, block: int, dynamic_shared: int) -> int:
    kernel = function.kernel
    if not 0 < block <= MAX_WORK_ITEMS:
        raise HipError(structures.INVALID_VALUE)
    try:
        return occupancy.occupancy(
            function.device.facts.arch,
            vgprs=kernel.descriptor.vgpr_count,
            sgprs=kernel.sgpr_count,
            lds=static_shared(kernel) + dynamic_shared,
            block=block,
        ).groups_per_cu
    except errors.WorkbenchError:
        return 0


@call(
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
    "hipOccupancyMaxActiveBlocksPerMultiprocessor",
    arguments=(POINTER, HANDLE, INT, SIZE),
)
def _active_blocks(result: int, handle: int, block: int, dynamic_shared: int) -> None:
    structures.store(result, INT, _groups_per_cu(_function(handle), block, dynamic_shared))


@call(
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    arguments=(POINTER, HANDLE, INT, SIZE, UINT),
)
def _active_blocks_flags(result: int, handle: int, block: int, dynamic_shared: int, flags: int) -> None:
    _active_blocks(result, handle, block, dynamic_shared)


@call(
    "hipModuleOccupancyMaxPotentialBlockSize",
    "hipOccupancyMaxPotentialBlockSize",
    arguments=(POINTER, POINTER, HANDLE, SIZE, INT),
)
def _potential_block(grid: int, block: int, handle: int, dynamic_shared: int, limit: int) -> None:
    function = _function(handle)
    most = _attributes(function)["maxThreadsPerBlock"]
    if 0 < limit < most:
        most = limit
    best, best_waves = 0, 0
    for size in range(64, most + 1, 64):
        waves = _groups_per_cu(function, size, dynamic_shared) * size
        if waves >= best_waves and waves > 0:
            best, best_waves = size, waves
    if best == 0:
        raise HipError(structures.LAUNCH_OUT_OF_RESOURCES)
    structures.store(block, INT, best)
    structures.store(grid, INT, best_waves // best * function.device.facts.compute_units)


@call(
    "hipModuleOccupancyMaxPotentialBlockSizeWithFlags",
    arguments=(POINTER, POINTER, HANDLE, SIZE, INT, UINT),
)
def _potential_block_flags(
    grid: int, block: int, handle: int, dynamic_shared: int, limit: int, flags: int
) -> None:
    _potential_block(grid, block, handle, dynamic_shared, limit)


@call("hipOccupancyAvailableDynamicSMemPerBlock", arguments=(POINTER, HANDLE, INT, INT))
def _available_shared(result: int, handle: int, blocks: int, block: int) -> None:
    function = _function(handle)
    if blocks < 1:
        raise HipError(structures.INVALID_VALUE)
    left = function.device.facts.target.lds_bytes // blocks - static_shared(function.kernel)
    structures.store(result, SIZE, max(0, left))


# Launches


def gather_arguments(kernel: KernelInfo, parameters: int, extra: int) -> bytes:
    """A kernel's argument bytes, from an array of pointers to each or from one buffer."""
    own = [arg for arg in kernel.args if not arg.hidden]
    if extra:
        if parameters:
            raise HipError(structures.INVALID_VALUE)
        return _buffer_of(extra)
    if not own:
        return b""
    if not parameters:
        raise errors.DeviceError(
            f"kernel {kernel.short_name} has {len(own)} parameters, and no arguments came.",
            structures.INVALID_VALUE,
        )
    content = bytearray(max(arg.offset + arg.size for arg in own))
    pointers = (c_void_p * len(own)).from_address(parameters)
    for arg, pointer in zip(own, pointers, strict=True):
        if not pointer:
            raise HipError(structures.INVALID_VALUE)
        content[arg.offset : arg.offset + arg.size] = ctypes.string_at(pointer, arg.size)
    return bytes(content)


def _buffer_of(extra: int) -> bytes:
    pointer, size = 0, 0
    words = (c_void_p * 16).from_address(extra)
    for index in range(0, 16, 2):
        key = words[index] or 0
        if key == structures.PARAM_END:
            return ctypes.string_at(pointer, size) if pointer else b""
        value = words[index + 1] or 0
        if key == structures.PARAM_BUFFER_POINTER:
            pointer = value
        elif key == structures.PARAM_BUFFER_SIZE and value:
            size = SIZE.from_address(value).value
        else:
            break
    raise HipError(structures.INVALID_VALUE)


def launch(
    handle: int, geometry: Geometry, dynamic_shared: int, stream: int, parameters: int, extra: int
) -> None:
    """Run a kernel to its end; on a stream that is being captured, record it."""
    try:
        function = _function(handle)
        arguments = gather_arguments(function.kernel, parameters, extra)
        work = KernelWork(handle, function, geometry, dynamic_shared, arguments)
        streams.submit(stream, NodeKind.KERNEL, work.run, work)
    except BaseException as error:
        if not isinstance(error, HipError):
            launch_failed(error)
        raise


@dataclass(frozen=True, eq=False)
class KernelWork:
    """A kernel with everything that a launch of it needs.

    Attributes:
        handle: by which the program names the kernel.
        arguments: the bytes of its own arguments.
    """

    handle: int
    function: _Function
    geometry: Geometry
    dynamic_shared: int
    arguments: bytes

    def run(self) -> None:
        """Launch it."""
        function = self.function
        function.device.launch(
            function.loaded, function.kernel.name, self.geometry, self.dynamic_shared, self.arguments
        )


def kernel_work(record: structures.KernelNodeParams) -> KernelWork:
    """The launch that a graph's kernel node stands for."""
    function = _function(record.func)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    arguments = gather_arguments(function.kernel, record.kernelParams, record.extra)
    geometry = Geometry.of_blocks(grid, block)
    function.device.check(function.kernel, geometry, record.sharedMemBytes)
    return KernelWork(record.func, function, geometry, record.sharedMemBytes, arguments)


@call(
    "hipModuleLaunchKernel",
    arguments=(HANDLE, UINT, UINT, UINT, UINT, UINT, UINT, UINT, HANDLE, POINTER, POINTER),
)
def _module_launch(
    handle: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    dynamic_shared: int,
    stream: int,
    parameters: int,
    extra: int,
) -> None:
    geometry = Geometry.of_blocks((gx, gy, gz), (bx, by, bz))
    launch(handle, geometry, dynamic_shared, stream, parameters, extra)


@call(
    "hipExtModuleLaunchKernel",
    "hipHccModuleLaunchKernel",
    arguments=(
        *(HANDLE, UINT, UINT, UINT, UINT, UINT, UINT, SIZE, HANDLE, POINTER, POINTER),
        *(HANDLE, HANDLE, UINT),
    ),
)
def _ext_module_launch(
    handle: int,
    ix: int,
    iy: int,
    iz: int,
    bx: int,
    by: int,
    bz: int,
    dynamic_shared: int,
    stream: int,
    parameters: int,
    extra: int,
    start: int,
    stop: int,
    flags: int,
) -> None:
    if 0 in (bx, by, bz):
        raise HipError(structures.INVALID_CONFIGURATION)
    streams.record(start)
    geometry = Geometry.of_items((ix, iy, iz), (bx, by, bz))
    launch(handle, geometry, dynamic_shared, stream, parameters, extra)
    streams.record(stop)


@call(
    "hipModuleLaunchCooperativeKernel",
    arguments=(HANDLE, UINT, UINT, UINT, UINT, UINT, UINT, UINT, HANDLE, POINTER),
)
def _module_launch_cooperative(
    handle: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    dynamic_shared: int,
    stream: int,
    parameters: int,
) -> None:
    geometry = Geometry.of_blocks((gx, gy, gz), (bx, by, bz))
    _check_cooperative(handle, geometry, dynamic_shared)
    launch(handle, geometry, dynamic_shared, stream, parameters, 0)


def _check_cooperative(handle: int, geometry: Geometry, dynamic_shared: int) -> None:
    function = _function(handle)
    fits = _groups_per_cu(function, geometry.block_size, dynamic_shared) * function.device.facts.compute_units
    if geometry.group_count > fits:
        raise HipError(structures.COOPERATIVE_LAUNCH_TOO_LARGE)


# A dim3 passed by value takes two integer registers on x86-64 and on AArch64: x and y, then z.
_DIM3 = (U64, U64)


def _dim3(xy: int, z: int) -> tuple[int, int, int]:
    return xy & 0xFFFFFFFF, xy >> 32, z & 0xFFFFFFFF


@call(
    "hipLaunchKernel",
    "hipLaunchKernel_spt",
    arguments=(HANDLE, *_DIM3, *_DIM3, POINTER, SIZE, HANDLE),
)
def _launch_kernel(
    handle: int,
    grid_xy: int,
    grid_z: int,
    block_xy: int,
    block_z: int,
    parameters: int,
    dynamic_shared: int,
    stream: int,
) -> None:
    geometry = Geometry.of_blocks(_dim3(grid_xy, grid_z), _dim3(block_xy, block_z))
    launch(handle, geometry, dynamic_shared, stream, parameters, 0)


@call("hipLaunchKernelExC", arguments=(POINTER, HANDLE, POINTER))
def _launch_kernel_config(config: int, handle: int, parameters: int) -> None:
    if not config:
        raise HipError(structures.INVALID_VALUE)
    record = structures.LaunchConfig.from_address(config)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    geometry = Geometry.of_blocks(grid, block)
    launch(handle, geometry, record.dynamicSmemBytes, record.stream, parameters, 0)


@call("hipDrvLaunchKernelEx", arguments=(POINTER, HANDLE, POINTER, POINTER))
def _driver_launch_config(config: int, handle: int, parameters: int, extra: int) -> None:
    if not config:
        raise HipError(structures.INVALID_VALUE)
    record = structures.DriverLaunchConfig.from_address(config)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    launch(handle, Geometry.of_blocks(grid, block), record.sharedMemBytes, record.hStream, parameters, extra)


@call(
    "hipExtLaunchKernel",
    arguments=(HANDLE, *_DIM3, *_DIM3, POINTER, SIZE, HANDLE, HANDLE, HANDLE, INT),
)
def _ext_launch_kernel(
    handle: int,
    grid_xy: int,
    grid_z: int,
    block_xy: int,
    block_z: int,
    parameters: int,
    dynamic_shared: int,
    stream: int,
    start: int,
    stop: int,
    flags: int,
) -> None:
    streams.record(start)
    _launch_kernel(handle, grid_xy, grid_z, block_xy, block_z, parameters, dynamic_shared, stream)
    streams.record(stop)


@call(
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernel_spt",
    arguments=(HANDLE, *_DIM3, *_DIM3, POINTER, UINT, HANDLE),
)
def _launch_cooperative(
    handle: int,
    grid_xy: int,
    grid_z: int,
    block_xy: int,
    block_z: int,
    parameters: int,
    dynamic_shared: int,
    stream: int,
) -> None:
    geometry = Geometry.of_blocks(_dim3(grid_xy, grid_z), _dim3(block_xy, block_z))
    _check_cooperative(handle, geometry, dynamic_shared)
    launch(handle, geometry, dynamic_shared, stream, parameters, 0)


# Compiled host programs: clang's host code registers a fat binary, its kernels by the address of a host
# function, and its variables by the address of a host shadow. A device loads the binary at first use.


@dataclass(eq=False)
class _FatBinary:
    data: bytes
    loaded: dict[int, LoadedCode] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    variables: dict[int, str] = field(default_factory=dict)
    managed: list[tuple[str, Allocation]] = field(default_factory=list)

    def on(self, device: EmulatedDevice) -> LoadedCode:
        found = self.loaded.get(device.ordinal)
        if found is None:
            found = self.loaded[device.ordinal] = device.load(self.data)
            for name, allocation in self.managed:
                # Device code reaches a managed variable through a pointer named after it.
                address, _ = _global(found, name)
                ctypes.c_uint64.from_address(address).value = allocation.base
        return found


_fat_binaries: dict[int, tuple[_FatBinary, ctypes.Array[c_char]]] = {}


def _fat_binary(handle: int) -> _FatBinary:
    if handle not in _fat_binaries:
        raise HipError(structures.INVALID_HANDLE)
    return _fat_binaries[handle][0]


def _registered_function(host: int) -> _Function:
    for binary, _ in _fat_binaries.values():
        name = binary.functions.get(host)
        if name is not None:
            loaded = binary.on(devices.current())
            if name not in loaded.code_object.kernels:
                break
            return _Function(loaded, loaded.code_object.kernels[name])
    raise HipError(structures.INVALID_DEVICE_FUNCTION)


@call("__hipRegisterFatBinary", arguments=(POINTER,), result=POINTER)
def _register_fat_binary(address: int) -> int:
    wrapper = structures.FatBinaryWrapper.from_address(address)
    if wrapper.magic != structures.FAT_BINARY_MAGIC or not wrapper.binary:
        raise errors.DeviceError(
            f"a HIP fat binary with magic {wrapper.magic:#x}; {structures.FAT_BINARY_MAGIC:#x} is wanted.",
            structures.INVALID_IMAGE,
        )
    # The handle is a pointer that the caller keeps and may look at; it points to eight zero bytes.
    anchor = ctypes.create_string_buffer(8)
    handle = ctypes.addressof(anchor)
    _fat_binaries[handle] = (_FatBinary(read_image(wrapper.binary)), anchor)
    return handle


@call("__hipUnregisterFatBinary", arguments=(POINTER,), result=None)
def _unregister_fat_binary(handle: int) -> None:
    binary, _ = _fat_binaries.pop(handle, (None, None))
    if binary is not None:
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
    _fat_binary(handle).functions[host] = structures.text_at(device_name)


@call(
    "__hipRegisterVar",
    arguments=(POINTER, POINTER, POINTER, POINTER, INT, SIZE, INT, INT),
    result=None,
)
def _register_variable(
    handle: int, host: int, host_name: int, device_name: int, extern: int, size: int, const: int, other: int
) -> None:
    _fat_binary(handle).variables[host] = structures.text_at(device_name)


@call("__hipRegisterManagedVar", arguments=(POINTER, POINTER, POINTER, POINTER, SIZE, UINT), result=None)
def _register_managed(handle: int, pointer: int, initial: int, name: int, size: int, align: int) -> None:
    allocation = node().memory.allocate(size, MemoryKind.MANAGED, None, label=structures.text_at(name))
    if initial:
        ctypes.memmove(allocation.base, initial, size)
    structures.store(pointer, POINTER, allocation.base)
    _fat_binary(handle).managed.append((structures.text_at(name), allocation))


@call("__hipPushCallConfiguration", arguments=(*_DIM3, *_DIM3, SIZE, HANDLE))
def _push_configuration(
    grid_xy: int, grid_z: int, block_xy: int, block_z: int, dynamic_shared: int, stream: int
) -> None:
    thread.configurations.append((_dim3(grid_xy, grid_z), _dim3(block_xy, block_z), dynamic_shared, stream))


@call("__hipPopCallConfiguration", arguments=(POINTER, POINTER, POINTER, POINTER))
def _pop_configuration(grid: int, block: int, dynamic_shared: int, stream: int) -> None:
    if not thread.configurations:
        raise HipError(structures.MISSING_CONFIGURATION)
    dims_grid, dims_block, shared, handle = thread.configurations.pop()
    for address, dims in ((grid, dims_grid), (block, dims_block)):
        record = structures.Dim3.from_address(address)
        record.x, record.y, record.z = dims
    structures.store(dynamic_shared, SIZE, shared)
    structures.store(stream, HANDLE, handle)


def _symbol(host: int) -> tuple[int, int]:
    """Device address and size of a registered variable on the current device."""
    for binary, _ in _fat_binaries.values():
        name = binary.variables.get(host)
        if name is not None:
            return _global(binary.on(devices.current()), name)
    raise HipError(structures.INVALID_SYMBOL)


@call("hipGetSymbolAddress", arguments=(POINTER, POINTER))
def _symbol_address(result: int, host: int) -> None:
    structures.store(result, POINTER, _symbol(host)[0])


@call("hipGetSymbolSize", arguments=(POINTER, POINTER))
def _symbol_size(result: int, host: int) -> None:
    structures.store(result, SIZE, _symbol(host)[1])


def _copy_symbol(host: int, other: int, size: int, offset: int, write: bool) -> None:
    address, length = _symbol(host)
    if offset + size > length:
        raise HipError(structures.INVALID_VALUE)
    place = address + offset
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
    _registered_function(host)
    structures.store(result, HANDLE, host)
