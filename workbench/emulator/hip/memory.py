"""HIP calls about memory: allocation, registration, copies, fills, attributes of pointers.

Every copy and fill is done when its call returns, the asynchronous ones too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from workbench.emulator.hip import structures
from workbench.emulator.hip.calls import BOOL, HANDLE, INT, POINTER, SIZE, UINT, HipError, call, thread
from workbench.emulator.hip.devices import context_of, device
from workbench.emulator.hip.graph_nodes import NodeKind
from workbench.emulator.hip.streams import check_no_capture, one_command, outside_captures, stream, submit
from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import node

_HOST_KINDS = (MemoryKind.HOST, MemoryKind.MANAGED)
_PITCH = 256
# hipMemAttachGlobal and hipMemAttachHost.
_ATTACHMENTS = (1, 2)


freed_listeners: list[Callable[[int], None]] = []
"""Called with the address of memory that was freed."""


def allocate(size: int, kind: MemoryKind, flags: int = 0, on: int | None = None) -> int:
    """Address of fresh memory of the current device, or of device `on`; 0 for no bytes, as HIP has it."""
    if size == 0:
        return 0
    owner = (thread().device if on is None else on) if kind is MemoryKind.DEVICE else None
    capacity = device(owner).product.hbm_bytes if owner is not None else None
    return node().memory.allocate(size, kind, owner, capacity=capacity, hip_flags=flags).base


def free(address: int, kinds: tuple[MemoryKind, ...] = (MemoryKind.DEVICE,)) -> None:
    """Free the allocation at an address, of one of these kinds; nothing for NULL."""
    if not address:
        return
    with node().launch_lock:
        allocation = node().memory.at(address)
        if allocation is None or allocation.kind not in kinds:
            raise HipError(structures.INVALID_VALUE)
        node().memory.free(allocation)
        for listener in freed_listeners:
            listener(address)


def check_range(address: int, size: int) -> None:
    """Raises HipError unless a copy may access [address, address + size).

    Host memory that was never registered is the caller's responsibility; a range near device memory must lie
    inside one allocation.
    """
    if size == 0:
        return
    if not address:
        raise HipError(structures.INVALID_VALUE)
    allocation = node().memory.find(address)
    while allocation is not None and allocation.kind is MemoryKind.MAPPED and address + size > allocation.end:
        # The range may end in one of the following mappings.
        size -= allocation.end - address
        address = allocation.end if allocation.readable else 0
        allocation = node().memory.find(address)
    if allocation is not None:
        too_long = allocation.kind is not MemoryKind.REGISTERED and address + size > allocation.end
        if too_long or not allocation.readable:
            raise HipError(structures.INVALID_VALUE)
    elif not address or node().memory.in_arena(address):
        raise HipError(structures.INVALID_VALUE)


def copy(target: int, source: int, size: int, kind: int = structures.MEMCPY_DEFAULT) -> None:
    """memmove between any two places that check_range allows."""
    if kind not in (*range(5), structures.DEVICE_TO_DEVICE_NO_CU):
        raise HipError(structures.INVALID_MEMCPY_DIRECTION)
    check_range(target, size)
    check_range(source, size)
    if size:
        ctypes.memmove(target, source, size)
        node().memory.note_written(target, size)
        if node().clock.active:
            node().clock.moved(target, source, size)


@call("hipMalloc", arguments=(POINTER, SIZE))
@outside_captures
def _malloc(result: int, size: int) -> None:
    structures.store(result, POINTER, 0)
    structures.store(result, POINTER, allocate(size, MemoryKind.DEVICE))


@call("hipExtMallocWithFlags", arguments=(POINTER, SIZE, UINT))
@outside_captures
def _ext_malloc(result: int, size: int, flags: int) -> None:
    structures.store(result, POINTER, allocate(size, MemoryKind.DEVICE, flags))


@call("hipMallocManaged", arguments=(POINTER, SIZE, UINT))
@outside_captures
def _malloc_managed(result: int, size: int, flags: int) -> None:
    if not size or flags not in _ATTACHMENTS:
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, POINTER, allocate(size, MemoryKind.MANAGED, flags))


@call("hipMallocPitch", arguments=(POINTER, POINTER, SIZE, SIZE))
@outside_captures
def _malloc_pitch(result: int, pitch: int, width: int, height: int) -> None:
    row = -(-width // _PITCH) * _PITCH
    structures.store(pitch, SIZE, row)
    structures.store(result, POINTER, allocate(row * height, MemoryKind.DEVICE))


@call("hipMemAllocPitch", arguments=(POINTER, POINTER, SIZE, SIZE, UINT))
@outside_captures
def _alloc_pitch(result: int, pitch: int, width: int, height: int, element: int) -> None:
    if element not in (4, 8, 16):
        raise HipError(structures.INVALID_VALUE)
    _malloc_pitch(result, pitch, width, height)


@call("hipHostMalloc", "hipHostAlloc", "hipExtHostAlloc", arguments=(POINTER, SIZE, UINT))
@outside_captures
def _host_malloc(result: int, size: int, flags: int) -> None:
    structures.store(result, POINTER, allocate(size, MemoryKind.HOST, flags))


@call("hipMallocHost", "hipMemAllocHost", arguments=(POINTER, SIZE))
@outside_captures
def _malloc_host(result: int, size: int) -> None:
    structures.store(result, POINTER, allocate(size, MemoryKind.HOST))


@call("hipFree", arguments=(POINTER,))
@outside_captures
def _hip_free(address: int) -> None:
    free(address, (MemoryKind.DEVICE, MemoryKind.MANAGED, MemoryKind.HOST))


@call("hipFreeAsync", arguments=(POINTER, HANDLE))
def _free_async(address: int, stream: int) -> None:
    # HIP 6.4 refuses the null pointer, 7.2 does not.
    if address:
        kinds = (MemoryKind.DEVICE, MemoryKind.MANAGED)
        submit(stream, NodeKind.MEM_FREE, lambda: free(address, kinds), address)


@call("hipHostFree", "hipFreeHost", arguments=(POINTER,))
@outside_captures
def _host_free(address: int) -> None:
    free(address, _HOST_KINDS)


@call("hipHostRegister", arguments=(POINTER, SIZE, UINT))
def _host_register(address: int, size: int, flags: int) -> int | None:
    if not address or not size:
        raise HipError(structures.INVALID_VALUE)
    allocation = node().memory.register(address, size, hip_flags=flags)
    return structures.HOST_MEMORY_ALREADY_REGISTERED if allocation is None else None


@call("hipHostUnregister", arguments=(POINTER,))
def _host_unregister(address: int) -> None:
    if not address:
        raise HipError(structures.INVALID_VALUE)
    with node().launch_lock:
        allocation = node().memory.at(address)
        if allocation is None or allocation.kind is not MemoryKind.REGISTERED:
            raise HipError(structures.HOST_MEMORY_NOT_REGISTERED)
        node().memory.unregister(allocation)


@call("hipHostGetDevicePointer", arguments=(POINTER, POINTER, UINT))
def _host_device_pointer(result: int, address: int, flags: int) -> None:
    allocation = node().memory.find(address)
    if allocation is None or allocation.kind is MemoryKind.DEVICE:
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, POINTER, address)


@call("hipHostGetFlags", arguments=(POINTER, POINTER))
def _host_flags(result: int, address: int) -> None:
    allocation = node().memory.find(address)
    if allocation is None or allocation.kind is MemoryKind.DEVICE:
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, UINT, allocation.hip_flags)


def _memory_type(allocation: Allocation | None) -> int:
    if allocation is None:
        return structures.MEMORY_UNREGISTERED
    if allocation.kind in (MemoryKind.HOST, MemoryKind.REGISTERED):
        return structures.MEMORY_HOST
    return structures.MEMORY_MANAGED if allocation.kind is MemoryKind.MANAGED else structures.MEMORY_DEVICE


@call("hipPointerGetAttributes", arguments=(POINTER, POINTER))
def _pointer_attributes(result: int, address: int) -> None:
    if not result:
        # HIP 7 returns the same as CUDA since 11 (HIP's page hip-7-changes.rst).
        return
    allocation = node().memory_at(address)
    type_ = _memory_type(allocation)
    record = structures.PointerAttributes.from_address(result)
    record.type = type_
    record.device = (allocation.device or 0) if allocation is not None else -1
    record.devicePointer = address if allocation is not None else None
    record.hostPointer = address if type_ in (structures.MEMORY_HOST, structures.MEMORY_MANAGED) else None
    record.isManaged = type_ == structures.MEMORY_MANAGED
    record.allocationFlags = allocation.hip_flags if allocation is not None else 0


@call("hipPointerGetAttribute", arguments=(POINTER, INT, POINTER))
def _pointer_attribute(result: int, attribute: int, address: int) -> None:
    allocation = node().memory_at(address)
    if allocation is None:
        raise HipError(structures.INVALID_VALUE)
    numbers = structures.enum("hipPointer_attribute")
    if attribute not in numbers.values():
        raise HipError(structures.INVALID_VALUE)
    on_host = _memory_type(allocation) in (structures.MEMORY_HOST, structures.MEMORY_MANAGED)
    if attribute == numbers["HIP_POINTER_ATTRIBUTE_HOST_POINTER"] and not on_host:
        structures.store(result, POINTER, 0)
        raise HipError(structures.INVALID_VALUE)
    values = {
        "HIP_POINTER_ATTRIBUTE_CONTEXT": (POINTER, context_of(allocation.device or 0)),
        # Every copy is done when its call returns.
        "HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS": (BOOL, True),
        "HIP_POINTER_ATTRIBUTE_MEMORY_TYPE": (UINT, _memory_type(allocation)),
        "HIP_POINTER_ATTRIBUTE_DEVICE_POINTER": (POINTER, address),
        "HIP_POINTER_ATTRIBUTE_HOST_POINTER": (POINTER, address),
        "HIP_POINTER_ATTRIBUTE_IS_MANAGED": (UINT, allocation.kind is MemoryKind.MANAGED),
        "HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL": (INT, allocation.device or 0),
        "HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR": (POINTER, allocation.base),
        "HIP_POINTER_ATTRIBUTE_RANGE_SIZE": (SIZE, allocation.size),
        "HIP_POINTER_ATTRIBUTE_MAPPED": (UINT, 1),
        "HIP_POINTER_ATTRIBUTE_BUFFER_ID": (SIZE, allocation.base),
    }
    for name, (type_, value) in values.items():
        if numbers[name] == attribute:
            structures.store(result, type_, value)
            return
    raise HipError(structures.NOT_SUPPORTED)


_KEPT = ("HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS",)


@call("hipPointerSetAttribute", arguments=(POINTER, INT, POINTER))
def _set_pointer_attribute(value: int, attribute: int, address: int) -> None:
    # Every copy is done when its call returns, as SYNC_MEMOPS requires; no other attribute can be set.
    numbers = structures.enum("hipPointer_attribute")
    if not value or attribute not in [numbers[name] for name in _KEPT] or node().memory.find(address) is None:
        raise HipError(structures.INVALID_VALUE)


@call("hipDrvPointerGetAttributes", arguments=(UINT, POINTER, POINTER, POINTER))
def _pointer_attribute_list(count: int, attributes: int, results: int, address: int) -> None:
    if not count or not attributes or not results:
        raise HipError(structures.INVALID_VALUE)
    asked = list((INT * count).from_address(attributes))
    for attribute, result in zip(asked, (POINTER * count).from_address(results), strict=True):
        try:
            _pointer_attribute(result, attribute, address)
        except HipError:
            # For an unknown attribute or pointer, HIP writes zero and returns success.
            structures.store(result, INT, 0)


@call("hipMemGetAddressRange", arguments=(POINTER, POINTER, POINTER))
def _address_range(base: int, size: int, address: int) -> None:
    allocation = node().memory_at(address)
    if allocation is None:
        raise HipError(structures.NOT_FOUND)
    structures.store_if(base, POINTER, allocation.base)
    structures.store_if(size, SIZE, allocation.size)


@call("hipMemPtrGetInfo", arguments=(POINTER, POINTER))
def _pointer_size(address: int, size: int) -> None:
    allocation = node().memory.at(address)
    if allocation is None:
        raise HipError(structures.INVALID_VALUE)
    structures.store(size, SIZE, allocation.size)


@call("hipMemcpy", "hipMemcpy_spt", arguments=(POINTER, POINTER, SIZE, INT))
def _memcpy(target: int, source: int, size: int, kind: int) -> None:
    check_no_capture(structures.STREAM_CAPTURE_IMPLICIT)
    copy(target, source, size, kind)


@call(
    "hipMemcpyAsync",
    "hipMemcpyAsync_spt",
    "hipMemcpyWithStream",
    arguments=(POINTER, POINTER, SIZE, INT, HANDLE),
)
def _memcpy_async(target: int, source: int, size: int, kind: int, stream: int) -> None:
    submit(stream, NodeKind.MEMCPY, lambda: copy(target, source, size, kind))


@call("hipMemcpyHtoD", "hipMemcpyDtoH", "hipMemcpyDtoD", arguments=(POINTER, POINTER, SIZE))
def _memcpy_driver(target: int, source: int, size: int) -> None:
    copy(target, source, size)


@call(
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemcpyDtoDAsync",
    arguments=(POINTER, POINTER, SIZE, HANDLE),
)
def _memcpy_driver_async(target: int, source: int, size: int, stream: int) -> None:
    submit(stream, NodeKind.MEMCPY, lambda: copy(target, source, size))


@call("hipMemcpyPeer", arguments=(POINTER, INT, POINTER, INT, SIZE))
def _memcpy_peer(target: int, target_device: int, source: int, source_device: int, size: int) -> None:
    device(target_device)
    device(source_device)
    copy(target, source, size)


@call("hipMemcpyPeerAsync", arguments=(POINTER, INT, POINTER, INT, SIZE, HANDLE))
def _memcpy_peer_async(
    target: int, target_device: int, source: int, source_device: int, size: int, stream: int
) -> None:
    device(target_device)
    device(source_device)
    submit(stream, NodeKind.MEMCPY, lambda: copy(target, source, size))


def _copy_rows(target: int, tpitch: int, source: int, spitch: int, width: int, height: int) -> None:
    if not width or not height:
        return
    if width > tpitch or width > spitch:
        raise HipError(structures.INVALID_PITCH)
    check_range(target, tpitch * (height - 1) + width)
    check_range(source, spitch * (height - 1) + width)
    for row in range(height):
        ctypes.memmove(target + row * tpitch, source + row * spitch, width)
        node().memory.note_written(target + row * tpitch, width)
    if node().clock.active:
        node().clock.moved(target, source, width * height)


@call(
    "hipMemcpy2D",
    "hipMemcpy2D_spt",
    arguments=(POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT),
)
def _memcpy_2d(
    target: int, tpitch: int, source: int, spitch: int, width: int, height: int, kind: int
) -> None:
    _copy_rows(target, tpitch, source, spitch, width, height)


@call(
    "hipMemcpy2DAsync",
    "hipMemcpy2DAsync_spt",
    arguments=(POINTER, SIZE, POINTER, SIZE, SIZE, SIZE, INT, HANDLE),
)
def _memcpy_2d_async(
    target: int, tpitch: int, source: int, spitch: int, width: int, height: int, kind: int, stream: int
) -> None:
    submit(stream, NodeKind.MEMCPY, lambda: _copy_rows(target, tpitch, source, spitch, width, height))


def copy_3d(record: structures.Memcpy3D) -> None:
    """Copy a box of bytes between pitched memory."""
    if record.srcArray or record.dstArray:
        raise HipError(structures.NOT_SUPPORTED)
    extent, source, target = record.extent, record.srcPtr, record.dstPtr
    if min(source.pitch, target.pitch) < extent.width:
        raise HipError(structures.INVALID_PITCH)
    with one_command():
        for depth in range(extent.depth):
            places = []
            for pointer, position in ((target, record.dstPos), (source, record.srcPos)):
                rows = (position.z + depth) * pointer.ysize + position.y
                places.append(pointer.ptr + rows * pointer.pitch + position.x)
            _copy_rows(places[0], target.pitch, places[1], source.pitch, extent.width, extent.height)


def memcpy_3d_at(address: int) -> structures.Memcpy3D:
    """The parameters of a 3-D copy, kept apart from the caller's memory."""
    if not address:
        raise HipError(structures.INVALID_VALUE)
    return structures.Memcpy3D.from_buffer_copy(structures.Memcpy3D.from_address(address))


@call("hipMemcpy3D", "hipMemcpy3D_spt", arguments=(POINTER,))
def _memcpy_3d(parameters: int) -> None:
    copy_3d(memcpy_3d_at(parameters))


@call("hipMemcpy3DAsync", "hipMemcpy3DAsync_spt", arguments=(POINTER, HANDLE))
def _memcpy_3d_async(parameters: int, stream: int) -> None:
    record = memcpy_3d_at(parameters)
    submit(stream, NodeKind.MEMCPY, lambda: copy_3d(record))


@call("hipMalloc3D", arguments=(POINTER, structures.Extent))
@outside_captures
def _malloc_3d(result: int, extent: structures.Extent) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    row = -(-extent.width // _PITCH) * _PITCH
    base = allocate(row * extent.height * extent.depth, MemoryKind.DEVICE)
    pointer = structures.PitchedPointer.from_address(result)
    pointer.ptr, pointer.pitch, pointer.xsize, pointer.ysize = base, row, extent.width, extent.height


def fill(target: int, pattern: bytes, count: int) -> None:
    """Write a pattern `count` times."""
    if not count:
        return
    check_range(target, count * len(pattern))
    if node().memory.find(target) is None:
        raise HipError(structures.INVALID_VALUE)
    node().memory.note_written(target, count * len(pattern))
    if node().clock.active:
        node().clock.filled(target, count * len(pattern))
    if len(set(pattern)) == 1:
        ctypes.memset(target, pattern[0], count * len(pattern))
        return
    # By doubling: each copy is as long as the part already filled.
    total = count * len(pattern)
    ctypes.memmove(target, pattern, len(pattern))
    done = len(pattern)
    while done < total:
        step = min(done, total - done)
        ctypes.memmove(target + done, target, step)
        done += step


@call("hipMemset", "hipMemset_spt", "hipMemsetD8", arguments=(POINTER, INT, SIZE))
def _memset(target: int, value: int, size: int) -> None:
    check_no_capture(structures.STREAM_CAPTURE_IMPLICIT)
    fill(target, bytes([value & 0xFF]), size)


@call("hipMemsetAsync", "hipMemsetAsync_spt", "hipMemsetD8Async", arguments=(POINTER, INT, SIZE, HANDLE))
def _memset_async(target: int, value: int, size: int, stream: int) -> None:
    submit(stream, NodeKind.MEMSET, lambda: fill(target, bytes([value & 0xFF]), size))


@call("hipMemsetD16", arguments=(POINTER, INT, SIZE))
def _memset_16(target: int, value: int, count: int) -> None:
    fill(target, (value & 0xFFFF).to_bytes(2, "little"), count)


@call("hipMemsetD16Async", arguments=(POINTER, INT, SIZE, HANDLE))
def _memset_16_async(target: int, value: int, count: int, stream: int) -> None:
    submit(stream, NodeKind.MEMSET, lambda: _memset_16(target, value, count))


@call("hipMemsetD32", arguments=(POINTER, INT, SIZE))
def _memset_32(target: int, value: int, count: int) -> None:
    fill(target, (value & 0xFFFFFFFF).to_bytes(4, "little"), count)


@call("hipMemsetD32Async", arguments=(POINTER, INT, SIZE, HANDLE))
def _memset_32_async(target: int, value: int, count: int, stream: int) -> None:
    submit(stream, NodeKind.MEMSET, lambda: _memset_32(target, value, count))


@call("hipMemset2D", "hipMemset2D_spt", arguments=(POINTER, SIZE, INT, SIZE, SIZE))
def _memset_2d(target: int, pitch: int, value: int, width: int, height: int) -> None:
    if width > pitch:
        raise HipError(structures.INVALID_VALUE)
    with one_command():
        for row in range(height):
            fill(target + row * pitch, bytes([value & 0xFF]), width)


@call("hipMemset2DAsync", "hipMemset2DAsync_spt", arguments=(POINTER, SIZE, INT, SIZE, SIZE, HANDLE))
def _memset_2d_async(target: int, pitch: int, value: int, width: int, height: int, stream: int) -> None:
    submit(stream, NodeKind.MEMSET, lambda: _memset_2d(target, pitch, value, width, height))


def fill_3d(pointer: structures.PitchedPointer, value: int, extent: structures.Extent) -> None:
    """Set the bytes of a box in pitched memory."""
    with one_command():
        for depth in range(extent.depth):
            start = pointer.ptr + depth * pointer.ysize * pointer.pitch
            _memset_2d(start, pointer.pitch, value, extent.width, extent.height)


@call("hipMemset3D", "hipMemset3D_spt", arguments=(structures.PitchedPointer, INT, structures.Extent))
def _memset_3d(pointer: structures.PitchedPointer, value: int, extent: structures.Extent) -> None:
    fill_3d(pointer, value, extent)


@call(
    "hipMemset3DAsync",
    "hipMemset3DAsync_spt",
    arguments=(structures.PitchedPointer, INT, structures.Extent, HANDLE),
)
def _memset_3d_async(
    pointer: structures.PitchedPointer, value: int, extent: structures.Extent, stream: int
) -> None:
    # The arguments live only during this call.
    where = structures.PitchedPointer.from_buffer_copy(pointer)
    size = structures.Extent.from_buffer_copy(extent)
    submit(stream, NodeKind.MEMSET, lambda: fill_3d(where, value, size))


def _memcpy_2d_at(address: int) -> Callable[[], None]:
    """The copy that a hip_Memcpy2D describes."""
    if not address:
        raise HipError(structures.INVALID_VALUE)
    record = structures.Memcpy2D.from_buffer_copy(structures.Memcpy2D.from_address(address))
    places = []
    for side in ("src", "dst"):
        pitch = getattr(record, f"{side}Pitch") or record.WidthInBytes
        start = getattr(record, f"{side}Y") * pitch + getattr(record, f"{side}XInBytes")
        places.append((_side(record, side) + start, pitch))
    (source, spitch), (target, tpitch) = places
    return lambda: _copy_rows(target, tpitch, source, spitch, record.WidthInBytes, record.Height)


def _side(record: structures.Memcpy2D | structures.Memcpy3DDriver, side: str) -> int:
    """Address of one side of a copy that a driver's structure describes."""
    type_ = getattr(record, f"{side}MemoryType")
    if type_ == structures.MEMORY_ARRAY:
        raise HipError(structures.NOT_SUPPORTED)
    return int(getattr(record, f"{side}Host" if type_ == structures.MEMORY_HOST else f"{side}Device"))


@call("hipMemcpyParam2D", "hipDrvMemcpy2DUnaligned", arguments=(POINTER,))
def _memcpy_parameters(parameters: int) -> None:
    _memcpy_2d_at(parameters)()


@call("hipMemcpyParam2DAsync", arguments=(POINTER, HANDLE))
def _memcpy_parameters_async(parameters: int, stream: int) -> None:
    submit(stream, NodeKind.MEMCPY, _memcpy_2d_at(parameters))


def _memcpy_driver_3d_at(address: int) -> Callable[[], None]:
    """The copy that a HIP_MEMCPY3D describes."""
    if not address:
        raise HipError(structures.INVALID_VALUE)
    request = structures.Memcpy3DDriver.from_address(address)
    record = structures.Memcpy3D(
        extent=structures.Extent(request.WidthInBytes, request.Height, request.Depth)
    )
    for side in ("src", "dst"):
        pitch = getattr(request, f"{side}Pitch") or request.WidthInBytes
        rows = getattr(request, f"{side}Height") or request.Height
        pointer = structures.PitchedPointer(_side(request, side), pitch, pitch, rows)
        axes = (getattr(request, f"{side}{axis}") for axis in ("XInBytes", "Y", "Z"))
        setattr(record, f"{side}Ptr", pointer)
        setattr(record, f"{side}Pos", structures.Position(*axes))
    return lambda: copy_3d(record)


@call("hipDrvMemcpy3D", arguments=(POINTER,))
def _memcpy_driver_3d(parameters: int) -> None:
    _memcpy_driver_3d_at(parameters)()


@call("hipDrvMemcpy3DAsync", arguments=(POINTER, HANDLE))
def _memcpy_driver_3d_async(parameters: int, stream: int) -> None:
    submit(stream, NodeKind.MEMCPY, _memcpy_driver_3d_at(parameters))


def _fill_rows(target: int, pitch: int, value: int, size: int, width: int, height: int) -> None:
    """Set `width` elements of `size` bytes in each of `height` rows."""
    if width * size > pitch:
        raise HipError(structures.INVALID_VALUE)
    pattern = (value & (256**size - 1)).to_bytes(size, "little")
    with one_command():
        for row in range(height):
            fill(target + row * pitch, pattern, width)


def _register_fills() -> None:
    """hipMemsetD2D8, 16 and 32: pointer, pitch in bytes, value, elements, rows."""
    for bits in (8, 16, 32):

        def now(target: int, pitch: int, value: int, width: int, height: int, size: int = bits // 8) -> None:
            _fill_rows(target, pitch, value, size, width, height)

        def later(
            target: int, pitch: int, value: int, width: int, height: int, stream: int, size: int = bits // 8
        ) -> None:
            submit(stream, NodeKind.MEMSET, lambda: _fill_rows(target, pitch, value, size, width, height))

        call(f"hipMemsetD2D{bits}", arguments=(POINTER, SIZE, UINT, SIZE, SIZE))(now)
        call(f"hipMemsetD2D{bits}Async", arguments=(POINTER, SIZE, UINT, SIZE, SIZE, HANDLE))(later)


_register_fills()


@call("hipStreamAttachMemAsync", arguments=(HANDLE, POINTER, SIZE, UINT))
def _attach(handle: int, address: int, size: int, flags: int) -> None:
    stream(handle)
    check_range(address, size)


# hipMemRangeAttribute: read mostly, preferred location, accessed by, last prefetch, coherency.
_READ_MOSTLY, _COHERENCY = 1, 100
_RANGE_ATTRIBUTES = (_READ_MOSTLY, 2, 3, 4, _COHERENCY)
_INVALID_DEVICE_ID = -2


@call("hipMemRangeGetAttribute", arguments=(POINTER, SIZE, INT, POINTER, SIZE))
def _range_attribute(result: int, size: int, attribute: int, address: int, count: int) -> None:
    check_range(address, count)
    allocation = node().memory.find(address)
    managed = allocation is not None and allocation.kind is MemoryKind.MANAGED
    if attribute not in _RANGE_ATTRIBUTES or not managed or not size or size % 4:
        raise HipError(structures.INVALID_VALUE)
    # Advice is accepted and ignored: there is one memory, so nothing is preferred or prefetched.
    value = 0 if attribute in (_READ_MOSTLY, _COHERENCY) else _INVALID_DEVICE_ID
    for offset in range(0, size, 4):
        structures.store(result + offset, INT, value)


# hipMemoryAdvise: mostly read, preferred location, accessed by, coarse grain; each set and unset.
_READ_MOSTLY_ADVICE = (1, 2)
_ADVICE = (*_READ_MOSTLY_ADVICE, 3, 4, 5, 6, 100, 101)
_CPU_DEVICE = -1


def _check_managed(address: int, size: int) -> None:
    if not size:
        raise HipError(structures.INVALID_VALUE)
    check_range(address, size)


@call("hipMemPrefetchAsync", arguments=(POINTER, SIZE, INT, HANDLE))
def _prefetch(address: int, size: int, ordinal: int, stream: int) -> None:
    _check_managed(address, size)
    if ordinal != _CPU_DEVICE:
        device(ordinal)


@call("hipMemAdvise", arguments=(POINTER, SIZE, INT, INT))
@outside_captures
def _advise(address: int, size: int, advice: int, ordinal: int) -> None:
    _check_managed(address, size)
    # Which memory is mostly read concerns every device.
    if ordinal != _CPU_DEVICE and advice not in _READ_MOSTLY_ADVICE:
        device(ordinal)
    if advice not in _ADVICE:
        raise HipError(structures.INVALID_VALUE)
