"""HIP calls about devices: their number, properties, the current one; contexts; errors."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_uint16
from functools import cache
from typing import Any

import numpy as np

from workbench.emulator.hip import structures
from workbench.emulator.hip.calls import (
    HANDLE,
    INT,
    POINTER,
    SIZE,
    U64,
    UINT,
    HipError,
    call,
    function_address,
    report_faults,
    thread,
)
from workbench.emulator.hip.error_texts import error_texts
from workbench.emulator.hip.streams import check_no_capture, outside_captures
from workbench.emulator.node.device import EmulatedDevice, device_name, node
from workbench.emulator.node.dispatch import DYNAMIC_STACK_BYTES
from workbench.emulator.node.limits import MAX_GRID_BLOCKS, MAX_WORK_ITEMS
from workbench.targets import Product, Target
from workbench.targets.driver import PCI_IDS

_CONTEXT_HANDLE = 0x1000
_STACK_LIMIT, _HEAP_LIMIT = 0, 2
# hipDeviceSchedule* and the other flags of a device.
_SCHEDULE_SPIN, _SCHEDULE_MASK, _MAP_HOST, _RESIZE_LOCAL_MEMORY = 1, 7, 8, 16
_flags: dict[int, int] = {}
_BUS_ID_BYTES = 13
_BANKS_OF_FOUR_BYTES = 1
# hipFuncCache_t and hipSharedMemConfig.
_CACHE_CONFIGS, _BANK_CONFIGS = range(4), range(3)


def device(ordinal: int) -> EmulatedDevice:
    """A device by ordinal; hipErrorInvalidDevice if there is none."""
    if not 0 <= ordinal < len(node().devices):
        raise HipError(structures.INVALID_DEVICE)
    return node().devices[ordinal]


def current() -> EmulatedDevice:
    """The calling thread's device."""
    return device(thread().device)


def version_of(target: Target) -> int:
    """Ten times the major version and the minor one: 94 for gfx942, 120 for gfx1201."""
    return 10 * int(target.name[3:-2]) + int(target.name[-2], 16)


def properties(product: Product, ordinal: int) -> dict[str, Any]:
    """hipDeviceProp_t's fields by name; those not named are zero."""
    unit = product.target
    waves = product.waves_per_unit
    # Dwords, as AMD's HIP 7.2.4 counts them on gfx90a, gfx942 and gfx950; HIP 6.4 answers 65,536.
    registers = unit.simds * unit.vgprs * unit.wave_size * unit.multiprocessor_units
    return {
        "name": product.full_name.encode(),
        # Programs recognise an emulated device by this prefix (pyutils.cuh).
        "uuid": device_name(product).upper().encode().ljust(16, b"\0"),
        "totalGlobalMem": product.hbm_bytes,
        "sharedMemPerBlock": unit.lds_bytes,
        "regsPerBlock": registers,
        "warpSize": unit.wave_size,
        "memPitch": 2**31 - 1,
        "maxThreadsPerBlock": MAX_WORK_ITEMS,
        "maxThreadsDim": (MAX_WORK_ITEMS,) * 3,
        "maxGridSize": MAX_GRID_BLOCKS,
        "clockRate": product.clock_hz // 1000,
        "totalConstMem": 2**31 - 1,
        "major": version_of(unit) // 10,
        "minor": version_of(unit) % 10,
        "textureAlignment": 256,
        "texturePitchAlignment": 256,
        "surfaceAlignment": 256,
        "multiProcessorCount": product.compute_units // unit.multiprocessor_units,
        "canMapHostMemory": 1,
        "concurrentKernels": 1,
        "ECCEnabled": 1,
        "pciBusID": ordinal + 1,
        "asyncEngineCount": 8,
        "deviceOverlap": 1,
        "unifiedAddressing": 1,
        # Two transfers a clock on every pin of the bus.
        "memoryClockRate": product.hbm_bytes_per_second * 8 // product.hbm_bus_bits // 2 // 1000,
        "memoryBusWidth": product.hbm_bus_bits,
        "l2CacheSize": product.l2_bytes_per_xcd,
        "persistingL2CacheMaxSize": product.l2_bytes_per_xcd,
        "streamPrioritiesSupported": 1,
        "globalL1CacheSupported": 1,
        "localL1CacheSupported": 1,
        "ipcEventSupported": 1,
        "maxThreadsPerMultiProcessor": unit.wave_size * waves * unit.multiprocessor_units,
        "sharedMemPerMultiprocessor": unit.lds_bytes,
        "regsPerMultiprocessor": registers,
        "managedMemory": 1,
        "hostNativeAtomicSupported": 1,
        "concurrentManagedAccess": 1,
        "cooperativeLaunch": 1,
        "sharedMemPerBlockOptin": unit.lds_bytes,
        "maxBlocksPerMultiProcessor": waves * unit.multiprocessor_units,
        "hostRegisterSupported": 1,
        "memoryPoolsSupported": 1,
        "gcnArchName": (unit.name + unit.features).encode(),
        "maxSharedMemoryPerMultiProcessor": unit.lds_bytes,
        "clockInstructionRate": 100_000,
        "arch": structures.DEVICE_ARCH,
        "isLargeBar": 1,
    }


_UNANSWERED = (
    *("AmdSpecificEnd", "ClockInstructionRate", "CudaCompatibleEnd", "Luid", "MaxSurface1DLayered"),
    *("MaxSurface2D", "MaxSurface2DLayered", "MaxSurface3D", "MaxSurfaceCubemap", "MaxSurfaceCubemapLayered"),
    *("MaxTexture1DLayered", "MaxTexture2DGather", "MaxTexture2DLayered", "MaxTexture2DLinear"),
    *("MaxTexture2DMipmap", "MaxTexture3DAlt", "MaxTextureCubemapLayered", "MaxThreadsDim"),
    *("SingleToDoublePrecisionPerfRatio", "TccDriver", "VendorSpecificBegin"),
)
"""Attributes that hipDeviceGetAttribute does not answer in ROCm 7 (clr/hipamd/src/hip_device_runtime.cpp)."""


@cache
def attributes(ordinal: int) -> dict[int, int]:
    """hipDeviceGetAttribute's answers by attribute number."""
    product = node().devices[ordinal].product
    device_properties = properties(product, ordinal)
    # Most attributes are a property under another name.
    by_property = {
        "hipDeviceAttributeEccEnabled": "ECCEnabled",
        "hipDeviceAttributeAsyncEngineCount": "asyncEngineCount",
        "hipDeviceAttributeCanMapHostMemory": "canMapHostMemory",
        "hipDeviceAttributeClockRate": "clockRate",
        "hipDeviceAttributeConcurrentKernels": "concurrentKernels",
        "hipDeviceAttributeConcurrentManagedAccess": "concurrentManagedAccess",
        "hipDeviceAttributeCooperativeLaunch": "cooperativeLaunch",
        "hipDeviceAttributeHostNativeAtomicSupported": "hostNativeAtomicSupported",
        "hipDeviceAttributeDeviceOverlap": "deviceOverlap",
        "hipDeviceAttributeGlobalL1CacheSupported": "globalL1CacheSupported",
        "hipDeviceAttributeL2CacheSize": "l2CacheSize",
        "hipDeviceAttributeLocalL1CacheSupported": "localL1CacheSupported",
        "hipDeviceAttributePersistingL2CacheMaxSize": "persistingL2CacheMaxSize",
        "hipDeviceAttributeStreamPrioritiesSupported": "streamPrioritiesSupported",
        "hipDeviceAttributeSurfaceAlignment": "surfaceAlignment",
        "hipDeviceAttributeComputeCapabilityMajor": "major",
        "hipDeviceAttributeComputeCapabilityMinor": "minor",
        "hipDeviceAttributeManagedMemory": "managedMemory",
        "hipDeviceAttributeMaxBlocksPerMultiProcessor": "maxBlocksPerMultiProcessor",
        "hipDeviceAttributeMaxThreadsPerBlock": "maxThreadsPerBlock",
        "hipDeviceAttributeMaxThreadsPerMultiProcessor": "maxThreadsPerMultiProcessor",
        "hipDeviceAttributeMaxPitch": "memPitch",
        "hipDeviceAttributeMemoryBusWidth": "memoryBusWidth",
        "hipDeviceAttributeMemoryClockRate": "memoryClockRate",
        "hipDeviceAttributeMultiprocessorCount": "multiProcessorCount",
        "hipDeviceAttributePhysicalMultiProcessorCount": "multiProcessorCount",
        "hipDeviceAttributePciBusId": "pciBusID",
        "hipDeviceAttributeMaxRegistersPerBlock": "regsPerBlock",
        "hipDeviceAttributeMaxRegistersPerMultiprocessor": "regsPerMultiprocessor",
        "hipDeviceAttributeMaxSharedMemoryPerBlock": "sharedMemPerBlock",
        "hipDeviceAttributeSharedMemPerBlockOptin": "sharedMemPerBlockOptin",
        "hipDeviceAttributeSharedMemPerMultiprocessor": "sharedMemPerMultiprocessor",
        "hipDeviceAttributeMaxSharedMemoryPerMultiprocessor": "maxSharedMemoryPerMultiProcessor",
        "hipDeviceAttributeTextureAlignment": "textureAlignment",
        "hipDeviceAttributeTexturePitchAlignment": "texturePitchAlignment",
        "hipDeviceAttributeTotalConstantMemory": "totalConstMem",
        "hipDeviceAttributeTotalGlobalMem": "totalGlobalMem",
        "hipDeviceAttributeUnifiedAddressing": "unifiedAddressing",
        "hipDeviceAttributeWarpSize": "warpSize",
        "hipDeviceAttributeHostRegisterSupported": "hostRegisterSupported",
        "hipDeviceAttributeIsLargeBar": "isLargeBar",
        "hipDeviceAttributeMemoryPoolsSupported": "memoryPoolsSupported",
    }
    values = {name: device_properties[field] for name, field in by_property.items()}
    for index, axis in enumerate("XYZ"):
        values[f"hipDeviceAttributeMaxBlockDim{axis}"] = MAX_WORK_ITEMS
        values[f"hipDeviceAttributeMaxGridDim{axis}"] = MAX_GRID_BLOCKS[index]
    values["hipDeviceAttributeFineGrainSupport"] = 1
    values["hipDeviceAttributeVirtualMemoryManagementSupported"] = 1
    values["hipDeviceAttributeCanUseStreamWaitValue"] = 1
    values["hipDeviceAttributeNumberOfXccs"] = product.xcds
    values["hipDeviceAttributePciChipId"], _ = PCI_IDS.get(product.name, (0, 0))
    values["hipDeviceAttributeWallClockRate"] = 100_000
    values["hipDeviceAttributeMaxAvailableVgprsPerThread"] = 512
    numbers = structures.enum("hipDeviceAttribute_t")
    # By number, since some have two names.
    unanswered = {numbers.get(f"hipDeviceAttribute{name}") for name in _UNANSWERED}
    zero = {
        number: 0 for name, number in numbers.items() if "Unused" not in name and number not in unanswered
    }
    # The result is an int, whatever the property's width.
    return zero | {numbers[name]: min(value, 2**31 - 1) for name, value in values.items()}


@call("hipInit", arguments=(UINT,))
def _init(flags: int) -> int | None:
    return structures.INVALID_VALUE if flags else None


@call("hipDriverGetVersion", "hipRuntimeGetVersion", arguments=(POINTER,))
def _version(result: int) -> None:
    structures.store(result, INT, structures.VERSION)


@call("hipGetDeviceCount", arguments=(POINTER,))
def _device_count(result: int) -> None:
    structures.store(result, INT, len(node().devices))


@call("hipGetDevice", arguments=(POINTER,))
def _get_device(result: int) -> None:
    structures.store(result, INT, thread().device)


@call("hipSetDevice", arguments=(INT,))
def _set_device(ordinal: int) -> None:
    device(ordinal)
    thread().device = ordinal


@call("hipSetValidDevices", arguments=(POINTER, INT))
def _set_valid_devices(ordinals: int, count: int) -> None:
    for ordinal in (INT * count).from_address(ordinals) if count else ():
        device(ordinal)


@call("hipDeviceGet", arguments=(POINTER, INT))
def _device_get(result: int, ordinal: int) -> None:
    device(ordinal)
    structures.store(result, INT, ordinal)


@call("hipGetDeviceFlags", arguments=(POINTER,))
def _get_device_flags(result: int) -> None:
    structures.store(result, UINT, _flags.get(thread().device, _SCHEDULE_SPIN))


@call("hipSetDeviceFlags", arguments=(UINT,))
def _set_device_flags(flags: int) -> None:
    schedule = flags & _SCHEDULE_MASK
    if flags & ~(_SCHEDULE_MASK | _MAP_HOST | _RESIZE_LOCAL_MEMORY) or schedule.bit_count() > 1:
        raise HipError(structures.INVALID_VALUE)
    _flags[thread().device] = schedule


@call("hipGetDevicePropertiesR0600", arguments=(POINTER, INT))
def _get_properties(result: int, ordinal: int) -> None:
    _store_properties(result, ordinal, structures.DeviceProp)


# Headers since ROCm 6 define a macro of this name; a caller of the function itself was compiled before.
@call("hipGetDevicePropertiesR0000", "hipGetDeviceProperties", arguments=(POINTER, INT))
def _get_properties_before_6(result: int, ordinal: int) -> None:
    _store_properties(result, ordinal, structures.DevicePropBefore6)


def _store_properties(result: int, ordinal: int, layout: type[ctypes.Structure]) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    product = device(ordinal).product
    ctypes.memset(result, 0, ctypes.sizeof(layout))
    record: Any = layout.from_address(result)
    # The number has the digits of the name, of which the last two are hexadecimal.
    values = {
        **properties(product, ordinal),
        "gcnArch": 100 * int(product.arch[3:-2]) + 10 * int(product.arch[-2], 16) + int(product.arch[-1], 16),
    }
    names = {name for name, *_ in layout._fields_}
    for name, value in values.items():
        if name not in names:
            continue
        if isinstance(value, tuple):
            getattr(record, name)[:] = value
        elif name == "uuid":
            record.uuid[:] = value
        else:
            setattr(record, name, value)


@call("hipDeviceGetAttribute", arguments=(POINTER, INT, INT))
def _get_attribute(result: int, attribute: int, ordinal: int) -> None:
    device(ordinal)
    values = attributes(ordinal)
    if attribute not in values:
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, INT, values[attribute])


@call("hipDeviceGetName", arguments=(POINTER, INT, INT))
def _get_name(result: int, length: int, ordinal: int) -> None:
    _store_text(result, length, device(ordinal).product.full_name)


@call("hipDeviceGetPCIBusId", arguments=(POINTER, INT, INT))
def _get_pci_bus_id(result: int, length: int, ordinal: int) -> None:
    device(ordinal)
    _store_text(result, length, f"0000:{ordinal + 1:02x}:00.0")
    if length < _BUS_ID_BYTES:
        raise HipError(structures.INVALID_VALUE)


@call("hipDeviceGetByPCIBusId", arguments=(POINTER, POINTER))
def _get_by_pci_bus_id(result: int, text: int) -> None:
    bus_id = structures.text_at(text)
    for ordinal in range(len(node().devices)):
        if bus_id == f"0000:{ordinal + 1:02x}:00.0":
            structures.store(result, INT, ordinal)
            return
    raise HipError(structures.INVALID_VALUE)


def _store_text(result: int, length: int, text: str) -> None:
    if not result or length <= 0:
        raise HipError(structures.INVALID_VALUE)
    content = text.encode()[: length - 1] + b"\0"
    ctypes.memmove(result, content, len(content))


@call("hipDeviceGetUuid", arguments=(POINTER, INT))
def _get_uuid(result: int, ordinal: int) -> None:
    content = properties(device(ordinal).product, ordinal)["uuid"]
    if not result:
        raise HipError(structures.INVALID_VALUE)
    ctypes.memmove(result, content, 16)


@call("hipDeviceComputeCapability", arguments=(POINTER, POINTER, INT))
def _compute_capability(major: int, minor: int, ordinal: int) -> None:
    device_properties = properties(device(ordinal).product, ordinal)
    structures.store(major, INT, device_properties["major"])
    structures.store(minor, INT, device_properties["minor"])


@call("hipDeviceTotalMem", arguments=(POINTER, INT))
def _total_memory(result: int, ordinal: int) -> None:
    structures.store(result, SIZE, device(ordinal).product.hbm_bytes)


@call("hipMemGetInfo", arguments=(POINTER, POINTER))
def _memory_info(free: int, total: int) -> None:
    whole = current().product.hbm_bytes
    used = node().memory.device_bytes(thread().device)
    structures.store_if(free, SIZE, max(0, min(whole - used, node().memory.limit - node().memory.used)))
    structures.store_if(total, SIZE, whole)


@call("hipDeviceSynchronize", "hipCtxSynchronize")
def _synchronize() -> None:
    check_no_capture(structures.STREAM_CAPTURE_UNSUPPORTED)
    if node().clock.active:
        node().clock.wait_for_stream(None)
    # A launch ends before its call returns; only another thread's can be running.
    with node().launch_lock:
        report_faults()


@call("hipDeviceReset", "hipProfilerStart", "hipProfilerStop")
def _nothing() -> None:
    return None


@call("hipDeviceGetLimit", arguments=(POINTER, INT))
def _get_limit(result: int, limit: int) -> None:
    values = {_STACK_LIMIT: DYNAMIC_STACK_BYTES, _HEAP_LIMIT: current().heap_bytes}
    if limit not in values:
        raise HipError(_unknown_limit(limit))
    structures.store(result, SIZE, values[limit])


def _unknown_limit(limit: int) -> int:
    is_limit = 0 <= limit < structures.enum("hipLimit_t")["hipLimitRange"]
    return structures.UNSUPPORTED_LIMIT if is_limit else structures.INVALID_VALUE


@call("hipDeviceSetLimit", arguments=(INT, SIZE))
def _set_limit(limit: int, value: int) -> int | None:
    if limit == _HEAP_LIMIT:
        return None if current().resize_heap(value) else structures.INVALID_VALUE
    return None if limit == _STACK_LIMIT else _unknown_limit(limit)


@call("hipDeviceGetCacheConfig", "hipCtxGetCacheConfig", arguments=(POINTER,))
def _get_cache_config(result: int) -> None:
    structures.store(result, INT, 0)


@call("hipDeviceGetSharedMemConfig", "hipCtxGetSharedMemConfig", arguments=(POINTER,))
def _get_shared_config(result: int) -> None:
    structures.store(result, INT, _BANKS_OF_FOUR_BYTES)


@call("hipDeviceSetCacheConfig", "hipCtxSetCacheConfig", arguments=(INT,))
@outside_captures
def _set_cache_config(value: int) -> None:
    if value not in _CACHE_CONFIGS:
        raise HipError(structures.INVALID_VALUE)


@call("hipDeviceSetSharedMemConfig", "hipCtxSetSharedMemConfig", arguments=(INT,))
@outside_captures
def _set_shared_config(value: int) -> None:
    if value not in _BANK_CONFIGS:
        raise HipError(structures.INVALID_VALUE)


@call("hipDeviceGetStreamPriorityRange", arguments=(POINTER, POINTER))
def _priority_range(least: int, greatest: int) -> None:
    structures.store_if(least, INT, 1)
    structures.store_if(greatest, INT, -1)


@call("hipDeviceCanAccessPeer", arguments=(POINTER, INT, INT))
def _can_access_peer(result: int, ordinal: int, peer: int) -> None:
    device(ordinal)
    device(peer)
    structures.store(result, INT, 0)


@call("hipDeviceEnablePeerAccess", arguments=(INT, UINT))
def _enable_peer(peer: int, flags: int) -> int:
    device(peer)
    return structures.INVALID_DEVICE


@call("hipDeviceDisablePeerAccess", arguments=(INT,))
def _disable_peer(peer: int) -> int:
    device(peer)
    return structures.INVALID_DEVICE if peer == thread().device else structures.PEER_ACCESS_NOT_ENABLED


# hipDeviceP2PAttr: performance rank, access, native atomics, arrays.
_P2P_ATTRIBUTES = range(4)


@call("hipDeviceGetP2PAttribute", arguments=(POINTER, INT, INT, INT))
def _p2p_attribute(result: int, attribute: int, source: int, target: int) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    device(source)
    device(target)
    if attribute not in _P2P_ATTRIBUTES or source == target:
        raise HipError(
            structures.INVALID_VALUE if attribute not in _P2P_ATTRIBUTES else structures.INVALID_DEVICE
        )
    # No device can access another's memory.
    structures.store(result, INT, 0)


_CHOSEN_BY = (
    *("major", "minor", "totalGlobalMem", "sharedMemPerBlock", "maxThreadsPerBlock", "totalConstMem"),
    *(
        "multiProcessorCount",
        "maxThreadsPerMultiProcessor",
        "memoryClockRate",
        "memoryBusWidth",
        "l2CacheSize",
    ),
    *("regsPerBlock", "maxSharedMemoryPerMultiProcessor", "warpSize"),
)
"""Fields that hipChooseDevice compares, as in ROCm's clr/hipamd/src/hip_device_runtime.cpp."""


@call("hipChooseDeviceR0600", arguments=(POINTER, POINTER))
def _choose_device(result: int, request: int) -> None:
    _store_choice(result, request, structures.DeviceProp)


@call("hipChooseDeviceR0000", "hipChooseDevice", arguments=(POINTER, POINTER))
def _choose_device_before_6(result: int, request: int) -> None:
    _store_choice(result, request, structures.DevicePropBefore6)


def _store_choice(result: int, request: int, layout: type[ctypes.Structure]) -> None:
    """The first device that satisfies every nonzero field; number 0 if there is none."""
    if not result or not request:
        raise HipError(structures.INVALID_VALUE)
    request_record = layout.from_address(request)
    least = {name: value for name in _CHOSEN_BY if (value := getattr(request_record, name))}

    def fits(ordinal: int) -> bool:
        has = properties(node().devices[ordinal].product, ordinal)
        return all(has[name] >= value for name, value in least.items())

    structures.store(result, INT, next(filter(fits, range(len(node().devices))), 0))


# A device has one context, and its handle identifies the device.


def context_of(ordinal: int) -> int:
    """The handle of a device's context."""
    return _CONTEXT_HANDLE + ordinal


@call("hipDevicePrimaryCtxRetain", arguments=(POINTER, INT))
def _retain_context(result: int, ordinal: int) -> None:
    device(ordinal)
    structures.store(result, HANDLE, context_of(ordinal))


@call("hipDevicePrimaryCtxRelease", "hipDevicePrimaryCtxReset", arguments=(INT,))
def _release_context(ordinal: int) -> None:
    device(ordinal)


@call("hipDevicePrimaryCtxGetState", arguments=(INT, POINTER, POINTER))
def _context_state(ordinal: int, flags: int, active: int) -> None:
    device(ordinal)
    structures.store_if(flags, UINT, 0)
    structures.store_if(active, INT, 1)


@call("hipCtxCreate", arguments=(POINTER, UINT, INT))
def _create_context(result: int, flags: int, ordinal: int) -> None:
    device(ordinal)
    thread().device = ordinal
    structures.store(result, HANDLE, context_of(ordinal))


@call("hipCtxDestroy", arguments=(HANDLE,))
def _destroy_context(context: int) -> None:
    _device_of(context)


@call("hipCtxGetCurrent", arguments=(POINTER,))
def _get_context(result: int) -> None:
    structures.store(result, HANDLE, context_of(thread().device))


@call("hipCtxSetCurrent", "hipCtxPushCurrent", arguments=(HANDLE,))
def _set_context(context: int) -> None:
    if context:
        thread().device = _device_of(context)


@call("hipCtxPopCurrent", arguments=(POINTER,))
def _pop_context(result: int) -> None:
    structures.store_if(result, HANDLE, context_of(thread().device))


@call("hipCtxGetApiVersion", arguments=(HANDLE, POINTER))
def _context_version(context: int, result: int) -> None:
    _device_of(context)
    structures.store(result, INT, structures.VERSION)


@call("hipCtxGetFlags", arguments=(POINTER,))
def _context_flags(result: int) -> None:
    structures.store(result, UINT, 0)


@call("hipDevicePrimaryCtxSetFlags", arguments=(INT, UINT))
def _set_context_flags(ordinal: int, flags: int) -> None:
    device(ordinal)


@call("hipCtxEnablePeerAccess", arguments=(HANDLE, UINT))
def _context_enable_peer(context: int, flags: int) -> int:
    return _enable_peer(_device_of(context), flags)


@call("hipCtxDisablePeerAccess", arguments=(HANDLE,))
def _context_disable_peer(context: int) -> int:
    return _disable_peer(_device_of(context))


@call("hipCtxGetDevice", arguments=(POINTER,))
def _context_device(result: int) -> None:
    structures.store(result, INT, thread().device)


def _device_of(context: int) -> int:
    ordinal = context - _CONTEXT_HANDLE
    if not 0 <= ordinal < len(node().devices):
        raise HipError(structures.INVALID_CONTEXT)
    return ordinal


# Errors


# The thread's last error until it is queried, even if later calls succeed (HIP's page hip-7-changes.rst).
@call("hipGetLastError", records=False)
def _last_error() -> int:
    code, thread().last_error = thread().last_error, structures.SUCCESS
    return code


# The result of the thread's last call, as hipGetLastError returned it before HIP 7.
@call("hipExtGetLastError", records=False)
def _last_code() -> int:
    code, thread().last_code = thread().last_code, structures.SUCCESS
    return code


@call("hipPeekAtLastError", records=False)
def _peek_error() -> int:
    return thread().last_error


@cache
def _c_string(text: str) -> ctypes.Array[Any]:
    return ctypes.create_string_buffer(text.encode())


def c_string(text: str) -> int:
    """Address of a C string that stays."""
    return ctypes.addressof(_c_string(text))


@call("hipGetErrorName", arguments=(INT,), result=POINTER)
def _error_name(code: int) -> int:
    return c_string(structures.error_names().get(code, "hipErrorUnknown"))


@call("hipGetErrorString", arguments=(INT,), result=POINTER)
def _error_string(code: int) -> int:
    return c_string(error_texts().get(code, "unknown error"))


@call("hipDrvGetErrorName", arguments=(INT, POINTER))
def _drv_error_name(code: int, result: int) -> int | None:
    name = structures.error_names().get(code)
    structures.store(result, POINTER, c_string(name) if name else 0)
    return None if name else structures.INVALID_VALUE


@call("hipDrvGetErrorString", arguments=(INT, POINTER))
def _drv_error_string(code: int, result: int) -> int | None:
    exists = code in structures.error_names()
    structures.store(result, POINTER, _error_string(code) if exists else 0)
    return None if exists else structures.INVALID_VALUE


# hipDriverProcAddressQueryResult
_SYMBOL_FOUND, _SYMBOL_NOT_FOUND = 0, 1


_RELEASE_6 = 600
"""Version that hipGetProcAddress gets from programs that know hipDeviceProp_tR0600."""


@call("hipGetProcAddress", "hipGetProcAddress_spt", arguments=(POINTER, POINTER, INT, U64, POINTER))
def _proc_address(name: int, result: int, version: int, flags: int, status: int) -> int | None:
    text = structures.text_at(name)
    if version >= _RELEASE_6 and text in ("hipGetDeviceProperties", "hipChooseDevice"):
        text += "R0600"
    address = function_address(text)
    structures.store(result, POINTER, address)
    structures.store_if(status, INT, _SYMBOL_FOUND if address else _SYMBOL_NOT_FOUND)
    return None if address else structures.NOT_FOUND


@call("hipGetDriverEntryPoint", "hipGetDriverEntryPoint_spt", arguments=(POINTER, POINTER, U64, POINTER))
def _entry_point(name: int, result: int, flags: int, status: int) -> int | None:
    return _proc_address(name, result, _RELEASE_6, flags, status)


@call("hipApiName", "hipGetCmdName", arguments=(UINT,), result=POINTER)
def _api_name(number: int) -> int:
    return c_string("unknown")


# There are no precompiled headers.
@call("__hipGetPCH", arguments=(POINTER, POINTER), result=None)
def _precompiled_header(header: int, size: int) -> None:
    structures.store(header, POINTER, 0)
    structures.store(size, UINT, 0)


@call("amd_dbgapi_get_build_name", "amd_dbgapi_get_git_hash", result=POINTER)
def _build_text() -> int:
    return c_string("hipkittens")


@call("amd_dbgapi_get_build_id", result=SIZE)
def _build_id() -> int:
    return 0


@call("__gnu_f2h_ieee", arguments=(c_float,), result=c_uint16)
def _half_of_float(value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).astype(np.float16).view(np.uint16))


@call("__gnu_h2f_ieee", arguments=(c_uint16,), result=c_float)
def _float_of_half(bits: int) -> float:
    return float(np.uint16(bits).view(np.float16))
