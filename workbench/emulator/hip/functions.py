"""HIP calls about a kernel: its attributes and occupancy."""

from __future__ import annotations

from workbench.emulator.hip import devices, structures
from workbench.emulator.hip.calls import (
    HANDLE,
    INT,
    POINTER,
    SIZE,
    UINT,
    HipError,
    call,
)
from workbench.emulator.hip.code import Function
from workbench.emulator.hip.modules import function_of
from workbench.emulator.node.limits import MAX_WORK_ITEMS, groups_per_unit, static_shared


@call("hipFuncGetAttributes", arguments=(POINTER, HANDLE))
def _get_attributes(result: int, handle: int) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    function = function_of(handle)
    values = _attributes(function)
    record = structures.FuncAttributes.from_address(result)
    for name, *_ in structures.FuncAttributes._fields_:
        setattr(record, name, values.get(name, 0))


def _attributes(function: Function) -> dict[str, int]:
    kernel = function.kernel
    lds = function.device.product.target.lds_bytes
    version = devices.version_of(function.device.product.target)
    return {
        "localSizeBytes": kernel.private_segment_size,
        "maxDynamicSharedSizeBytes": lds - static_shared(kernel),
        "maxThreadsPerBlock": min(MAX_WORK_ITEMS, kernel.max_workgroup_size or 1024),
        "numRegs": kernel.vgpr_count,
        "sharedSizeBytes": static_shared(kernel),
        "binaryVersion": version,
        "ptxVersion": version,
    }


@call("hipFuncGetAttribute", arguments=(POINTER, INT, HANDLE))
def _get_attribute(result: int, attribute: int, handle: int) -> None:
    if not handle:
        raise HipError(structures.INVALID_HANDLE)
    values = _attributes(function_of(handle))
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
    function = function_of(handle)
    numbers = structures.enum("hipFunction_attribute")
    if attribute == numbers["HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"]:
        most = function.device.product.target.lds_bytes - static_shared(function.kernel)
        return None if 0 <= value <= most else structures.INVALID_VALUE
    is_carveout = attribute == numbers["HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT"]
    return None if is_carveout else structures.INVALID_VALUE


@call("hipFuncSetCacheConfig", "hipFuncSetSharedMemConfig", arguments=(HANDLE, INT))
def _set_function_config(handle: int, value: int) -> None:
    function_of(handle)


@call("hipKernelNameRef", arguments=(HANDLE,), result=POINTER)
def _name_ref(handle: int) -> int:
    return devices.c_string(function_of(handle).kernel.name)


@call("hipKernelNameRefByPtr", arguments=(HANDLE, HANDLE), result=POINTER)
def _name_ref_by_pointer(handle: int, stream: int) -> int:
    return devices.c_string(function_of(handle).kernel.name)


def groups_per_cu(function: Function, block: int, dynamic_shared: int) -> int:
    if not 0 < block <= MAX_WORK_ITEMS:
        raise HipError(structures.INVALID_VALUE)
    return groups_per_unit(function.kernel, block, dynamic_shared, function.device.product.target)


@call(
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
    "hipOccupancyMaxActiveBlocksPerMultiprocessor",
    arguments=(POINTER, HANDLE, INT, SIZE),
)
def _active_blocks(result: int, handle: int, block: int, dynamic_shared: int) -> None:
    function = function_of(handle)
    structures.store(result, INT, 0)
    if block > MAX_WORK_ITEMS:
        return
    units = function.device.product.target.multiprocessor_units
    structures.store(result, INT, groups_per_cu(function, block, dynamic_shared) * units)


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
    function = function_of(handle)
    most = _attributes(function)["maxThreadsPerBlock"]
    if 0 < limit < most:
        most = limit
    best, best_waves = 0, 0
    wave = function.kernel.wave_size
    for size in range(wave, most + 1, wave):
        waves = groups_per_cu(function, size, dynamic_shared) * size
        if waves >= best_waves and waves > 0:
            best, best_waves = size, waves
    if best == 0:
        raise HipError(structures.LAUNCH_OUT_OF_RESOURCES)
    structures.store(block, INT, best)
    structures.store(grid, INT, best_waves // best * function.device.product.compute_units)


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
    function = function_of(handle)
    if blocks < 1:
        raise HipError(structures.INVALID_VALUE)
    left = function.device.product.target.lds_bytes // blocks - static_shared(function.kernel)
    structures.store(result, SIZE, max(0, left))
