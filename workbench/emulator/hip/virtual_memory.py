"""HIP calls about virtual memory: reserved addresses, separately created memory, and maps between them.

Memory is a file without a name, so the same bytes may be mapped at several places and outlive each mapping,
and other processes get it by its descriptor.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from dataclasses import dataclass, field

from workbench import errors
from workbench.emulator.hip import structures
from workbench.emulator.hip.calls import HANDLE, INT, POINTER, SIZE, U64, HipError, call
from workbench.emulator.hip.devices import current, device
from workbench.emulator.node.allocations import Allocation
from workbench.emulator.node.device import node

_PINNED, _ON_DEVICE = 1, 1
_NO_HANDLE, _DESCRIPTOR = 0, 1
"""hipMemAllocationHandleType."""
_FILE_NAME = "hipMemCreate"
_LEAST_ADDRESS = 1 << 20
"""Above every file descriptor, and below every program's data."""
_NO_ACCESS, _READ, _READ_WRITE = 0, 1, 3
# hipMemAllocationGranularity_flags: the driver's smallest mapping, and the largest page that it maps at once.
_GRANULARITIES = (4096, 2 << 20)
_GRANULARITY = _GRANULARITIES[0]


@dataclass(eq=False)
class _Physical:
    """Physical memory of a device; it is freed when no handle and no mapping refers to it.

    Attributes:
        file: file descriptor of its bytes.
        size: size in bytes.
        device: ordinal of the device.
        kind: hipMemAllocationHandleType for export.
        handles: number of handles that the program holds.
        mappings: its mapped ranges.
    """

    file: int
    size: int
    device: int
    kind: int
    handles: int = 1
    mappings: list[Allocation] = field(default_factory=list)

    def release_if_unused(self) -> None:
        if not self.handles and not self.mappings:
            _memories.remove(self)
            os.close(self.file)
            node().memory.give_back(self.size, self.device)


_handles = itertools.count(0x4000000, 0x10)
_by_handle: dict[int, _Physical] = {}
_memories: set[_Physical] = set()


def _memory(handle: int) -> _Physical:
    if handle not in _by_handle:
        raise HipError(structures.INVALID_VALUE)
    return _by_handle[handle]


def _properties(address: int) -> structures.MemAllocationProp:
    if not address:
        raise HipError(structures.INVALID_VALUE)
    record = structures.MemAllocationProp.from_address(address)
    if record.type != _PINNED or record.location.type != _ON_DEVICE:
        raise HipError(structures.INVALID_VALUE)
    device(record.location.id)
    return record


def _check_multiple(*values: int) -> None:
    if any(value % _GRANULARITY for value in values):
        raise HipError(structures.INVALID_VALUE)


def _touching(address: int, size: int) -> list[tuple[_Physical, Allocation]]:
    """The mappings that have bytes in a range of addresses."""
    return [
        (physical, mapping)
        for physical in _memories
        for mapping in physical.mappings
        if mapping.base < address + size and address < mapping.end
    ]


def _mappings(address: int, size: int) -> list[tuple[_Physical, Allocation]]:
    """The mappings that make up a range of addresses; hipErrorInvalidValue if the range has gaps."""
    mappings = _touching(address, size)
    inside = all(address <= mapping.base and mapping.end <= address + size for _, mapping in mappings)
    if not mappings or not inside or sum(mapping.size for _, mapping in mappings) != size:
        raise HipError(structures.INVALID_VALUE)
    return mappings


@call("hipMemGetAllocationGranularity", arguments=(POINTER, POINTER, INT))
def _granularity(result: int, properties: int, option: int) -> None:
    _properties(properties)
    if option not in range(len(_GRANULARITIES)):
        raise HipError(structures.INVALID_VALUE)
    structures.store(result, SIZE, _GRANULARITIES[option])


@call("hipMemAddressReserve", arguments=(POINTER, SIZE, SIZE, POINTER, U64))
def _reserve(result: int, size: int, alignment: int, hint: int, flags: int) -> None:
    # The requested address is a hint.
    if not result or not size or flags or alignment & (alignment - 1):
        raise HipError(structures.INVALID_VALUE)
    _check_multiple(size)
    structures.store(result, POINTER, node().memory.reserve(size, max(alignment, _GRANULARITIES[1])))


@call("hipMemAddressFree", arguments=(POINTER, SIZE))
def _free_addresses(address: int, size: int) -> None:
    memory = node().memory
    if memory.reservation(address) != (address, size):
        raise HipError(structures.INVALID_VALUE)
    if _touching(address, size):
        raise HipError(structures.INVALID_VALUE)
    memory.unreserve(address)


@call("hipMemCreate", arguments=(POINTER, SIZE, POINTER, U64))
def _create(result: int, size: int, properties: int, flags: int) -> None:
    record = _properties(properties)
    if not result or not size or flags:
        raise HipError(structures.INVALID_VALUE)
    _check_multiple(size)
    if record.requestedHandleType not in (_NO_HANDLE, _DESCRIPTOR):
        raise _refused(record.requestedHandleType)
    ordinal = record.location.id
    node().memory.claim(size, ordinal, device(ordinal).product.hbm_bytes)
    file = os.memfd_create(_FILE_NAME)
    os.truncate(file, size)
    structures.store(result, HANDLE, _held(_Physical(file, size, ordinal, record.requestedHandleType)))


def _held(physical: _Physical) -> int:
    """A new handle of memory, already counted among its handles."""
    handle = next(_handles)
    _by_handle[handle] = physical
    _memories.add(physical)
    return handle


def _refused(kind: int) -> errors.DeviceError:
    return errors.DeviceError(
        f"memory is shared by file descriptors (hipMemHandleTypePosixFileDescriptor, {_DESCRIPTOR}); "
        f"handles of type {kind} belong to other systems",
        structures.NOT_SUPPORTED,
    )


@call("hipMemExportToShareableHandle", arguments=(POINTER, HANDLE, INT, U64))
def _export(result: int, handle: int, kind: int, flags: int) -> None:
    physical = _memory(handle)
    if not result or flags:
        raise HipError(structures.INVALID_VALUE)
    if kind != _DESCRIPTOR:
        raise _refused(kind)
    # The descriptor belongs to the program, which closes it.
    structures.store(result, INT, os.dup(physical.file))


@call("hipMemImportFromShareableHandle", arguments=(POINTER, POINTER, INT))
def _import(result: int, descriptor: int, kind: int) -> None:
    if not result:
        raise HipError(structures.INVALID_VALUE)
    if kind != _DESCRIPTOR:
        raise _refused(kind)
    # HIP before 7.1 takes the descriptor's address, later ones the descriptor itself.
    number = descriptor if descriptor < _LEAST_ADDRESS else INT.from_address(descriptor).value
    try:
        named, status = os.readlink(f"/proc/self/fd/{number}"), os.fstat(number)
    except OSError:
        raise errors.DeviceError(
            f"hipMemImportFromShareableHandle: {number} is not an open file descriptor of this process",
            structures.INVALID_VALUE,
        ) from None
    if named.split()[0] != f"/memfd:{_FILE_NAME}":
        raise errors.DeviceError(
            f"hipMemImportFromShareableHandle: file descriptor {number} is of {named}; expected one that "
            "hipMemExportToShareableHandle of an emulated device gave",
            structures.INVALID_VALUE,
        )
    physical = next((p for p in _memories if os.path.sameopenfile(p.file, number)), None)
    if physical is None:
        of = current()
        node().memory.claim(status.st_size, of.ordinal, of.product.hbm_bytes)
        physical = _Physical(os.dup(number), status.st_size, of.ordinal, _DESCRIPTOR)
    else:
        physical.handles += 1
    structures.store(result, HANDLE, _held(physical))


@call("hipMemRelease", arguments=(HANDLE,))
def _release(handle: int) -> None:
    physical = _memory(handle)
    physical.handles -= 1
    # A handle may be retained several times (hipMemRetainAllocationHandle), and memory may have several
    # handles (imports).
    if physical.handles < sum(other is physical for other in _by_handle.values()):
        del _by_handle[handle]
    physical.release_if_unused()


@call("hipMemRetainAllocationHandle", arguments=(POINTER, POINTER))
def _retain(result: int, address: int) -> None:
    for handle, physical in _by_handle.items():
        if any(mapping.base <= address < mapping.end for mapping in physical.mappings):
            physical.handles += 1
            structures.store(result, HANDLE, handle)
            return
    raise HipError(structures.INVALID_VALUE)


@call("hipMemGetAllocationPropertiesFromHandle", arguments=(POINTER, HANDLE))
def _properties_of(result: int, handle: int) -> None:
    physical = _memory(handle)
    if not result:
        raise HipError(structures.INVALID_VALUE)
    where = structures.MemLocation(_ON_DEVICE, physical.device)
    record = structures.MemAllocationProp(type=_PINNED, requestedHandleType=physical.kind, location=where)
    ctypes.memmove(result, ctypes.addressof(record), ctypes.sizeof(record))


@call("hipMemMap", arguments=(POINTER, SIZE, SIZE, HANDLE, U64))
def _map(address: int, size: int, offset: int, handle: int, flags: int) -> None:
    physical, memory = _memory(handle), node().memory
    reserved = memory.reservation(address)
    if not size or flags or offset or size != physical.size or reserved is None:
        raise HipError(structures.INVALID_VALUE)
    _check_multiple(address)
    base, length = reserved
    if _touching(address, size) or address + size > base + length:
        raise HipError(structures.INVALID_VALUE)
    physical.mappings.append(memory.map_file(address, size, physical.file, physical.device))


@call("hipMemUnmap", arguments=(POINTER, SIZE))
def _unmap(address: int, size: int) -> None:
    with node().launch_lock:
        for physical, mapping in _mappings(address, size):
            node().memory.unmap(mapping)
            physical.mappings.remove(mapping)
            physical.release_if_unused()


@call("hipMemSetAccess", arguments=(POINTER, SIZE, POINTER, SIZE))
def _set_access(address: int, size: int, descriptions: int, count: int) -> None:
    if not count or not descriptions:
        raise HipError(structures.INVALID_VALUE)
    mappings = _mappings(address, size)
    for entry in (structures.MemAccessDesc * count).from_address(descriptions):
        if entry.location.type != _ON_DEVICE or entry.flags not in (_NO_ACCESS, _READ, _READ_WRITE):
            raise HipError(structures.INVALID_VALUE)
        device(entry.location.id)
        for physical, mapping in mappings:
            if entry.location.id == physical.device:
                may_read, may_write = entry.flags != _NO_ACCESS, entry.flags == _READ_WRITE
                node().memory.protect(mapping, readable=may_read, writable=may_write)
            elif entry.flags != _NO_ACCESS:
                # As hipDeviceCanAccessPeer says, no device can access another's memory.
                raise HipError(structures.INVALID_DEVICE)


@call("hipMemGetAccess", arguments=(POINTER, POINTER, POINTER))
def _get_access(result: int, location: int, address: int) -> None:
    allocation = node().memory.find(address)
    if not location or allocation is None:
        raise HipError(structures.INVALID_VALUE)
    where = structures.MemLocation.from_address(location)
    if where.type != _ON_DEVICE:
        raise HipError(structures.INVALID_VALUE)
    device(where.id)
    reaches = where.id == allocation.device and allocation.readable
    access = (_READ_WRITE if allocation.writable else _READ) if reaches else _NO_ACCESS
    structures.store(result, U64, access)


__all__: list[str] = []
