"""HIP calls about memory pools: stream-ordered allocation.

Work is done when its call returns, so freed memory is free at once and a pool retains none: it has reserved
exactly the memory in use.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from workbench.emulator.hip import graph_memory, memory, streams, structures
from workbench.emulator.hip.calls import HANDLE, INT, POINTER, SIZE, U64, HipError, call
from workbench.emulator.hip.devices import device
from workbench.emulator.node.allocations import MemoryKind
from workbench.emulator.node.device import node

# hipMemPoolAttr
_RELEASE_THRESHOLD = 4
_RESERVED_CURRENT, _RESERVED_HIGH, _USED_CURRENT, _USED_HIGH = 5, 6, 7, 8
_REUSE = (1, 2, 3)
# hipMemAllocationType, hipMemLocationType, hipMemAccessFlags
_PINNED, _MANAGED = 1, 2
_ON_DEVICE = 1
_READ_WRITE, _NO_ACCESS = 3, 0


@dataclass(eq=False)
class _Pool:
    device: int
    kind: MemoryKind = MemoryKind.DEVICE
    most: int = 0
    attributes: dict[int, int] = field(default_factory=lambda: {**dict.fromkeys(_REUSE, 1), 4: 0})
    used: int = 0
    high: int = 0


_handles = itertools.count(0x3000000, 0x10)
_pools: dict[int, _Pool] = {}
_defaults: dict[int, int] = {}
_current: dict[int, int] = {}
_owners: dict[int, tuple[_Pool, int]] = {}
"""The pool and the size of each of their allocations, by address."""


def _pool(handle: int) -> _Pool:
    if handle not in _pools:
        raise HipError(structures.INVALID_VALUE)
    return _pools[handle]


def _default(ordinal: int) -> int:
    """Handle of a device's own pool."""
    device(ordinal)
    if ordinal not in _defaults:
        _defaults[ordinal] = next(_handles)
        _pools[_defaults[ordinal]] = _Pool(ordinal)
    return _defaults[ordinal]


def _of_device(ordinal: int) -> int:
    """Handle of the pool that hipMallocAsync takes memory from."""
    default = _default(ordinal)
    return _current.get(ordinal, default)


def _take(result: int, size: int, pool: _Pool, stream: int) -> None:
    structures.store(result, POINTER, 0)
    if streams.stream(stream).capture is not None:
        graph_memory.allocate_in_capture(result, size, pool.device, stream)
        return
    if pool.most and pool.used + size > pool.most:
        raise HipError(structures.OUT_OF_MEMORY)
    address = memory.allocate(size, pool.kind, on=pool.device)
    if address:
        _owners[address] = pool, size
        pool.used += size
        pool.high = max(pool.high, pool.used)
    structures.store(result, POINTER, address)


def _given_back(address: int) -> None:
    """Note that memory was freed, by any call."""
    pool, size = _owners.pop(address, (None, 0))
    if pool is not None:
        pool.used -= size


memory.freed_listeners.append(_given_back)


@call("hipMallocAsync", arguments=(POINTER, SIZE, HANDLE))
def _malloc_async(result: int, size: int, stream: int) -> None:
    ordinal = streams.stream(stream).device
    _take(result, size, _pool(_of_device(ordinal)), stream)


@call("hipMallocFromPoolAsync", arguments=(POINTER, SIZE, HANDLE, HANDLE))
def _malloc_from_pool(result: int, size: int, pool: int, stream: int) -> None:
    _take(result, size, _pool(pool), stream)


@call("hipMemPoolCreate", arguments=(POINTER, POINTER))
@streams.outside_captures
def _create(result: int, properties: int) -> None:
    if not properties:
        raise HipError(structures.INVALID_VALUE)
    record = structures.MemPoolProps.from_address(properties)
    if record.allocType not in (_PINNED, _MANAGED) or record.location.type != _ON_DEVICE:
        raise HipError(structures.INVALID_VALUE)
    if record.handleTypes:
        # Handles for other processes.
        raise HipError(structures.NOT_SUPPORTED)
    device(record.location.id)
    kind = MemoryKind.MANAGED if record.allocType == _MANAGED else MemoryKind.DEVICE
    handle = next(_handles)
    structures.store(result, HANDLE, handle)
    _pools[handle] = _Pool(record.location.id, kind, record.maxSize)


@call("hipMemPoolDestroy", arguments=(HANDLE,))
@streams.outside_captures
def _destroy(handle: int) -> None:
    _pool(handle)
    if handle in _defaults.values():
        raise HipError(structures.INVALID_VALUE)
    # A device whose pool is destroyed returns to its default pool; allocations live until they are freed.
    del _pools[handle]
    for ordinal in [o for o, current in _current.items() if current == handle]:
        del _current[ordinal]


@call("hipMemPoolTrimTo", arguments=(HANDLE, SIZE))
def _trim(handle: int, keep: int) -> None:
    # No freed memory is kept.
    _pool(handle)


@call("hipMemPoolSetAttribute", arguments=(HANDLE, INT, POINTER))
def _set_attribute(handle: int, attribute: int, value: int) -> None:
    pool, type_ = _pool(handle), _type_of(attribute)
    if not value:
        raise HipError(structures.INVALID_VALUE)
    setting = int(type_.from_address(value).value)
    if attribute in pool.attributes:
        pool.attributes[attribute] = setting
    elif attribute in (_RESERVED_HIGH, _USED_HIGH) and setting == 0:
        # A high watermark restarts at the bytes in use.
        pool.high = pool.used
    else:
        raise HipError(structures.INVALID_VALUE)


@call("hipMemPoolGetAttribute", arguments=(HANDLE, INT, POINTER))
def _get_attribute(handle: int, attribute: int, result: int) -> None:
    pool, type_ = _pool(handle), _type_of(attribute)
    watermarks = {
        _RESERVED_CURRENT: pool.used,
        _USED_CURRENT: pool.used,
        _RESERVED_HIGH: pool.high,
        _USED_HIGH: pool.high,
    }
    structures.store(result, type_, {**pool.attributes, **watermarks}[attribute])


def _type_of(attribute: int) -> Any:
    if attribute in _REUSE:
        return INT
    if _RELEASE_THRESHOLD <= attribute <= _USED_HIGH:
        return U64
    raise HipError(structures.INVALID_VALUE)


@call("hipMemPoolSetAccess", arguments=(HANDLE, POINTER, SIZE))
def _set_access(handle: int, descriptions: int, count: int) -> None:
    pool = _pool(handle)
    if count and not descriptions:
        raise HipError(structures.INVALID_VALUE)
    for entry in (structures.MemAccessDesc * count).from_address(descriptions) if count else ():
        if entry.location.type != _ON_DEVICE:
            raise HipError(structures.INVALID_VALUE)
        device(entry.location.id)
        if entry.location.id == pool.device and entry.flags == _NO_ACCESS:
            raise HipError(structures.INVALID_VALUE)
        if entry.location.id != pool.device and entry.flags != _NO_ACCESS:
            # As hipDeviceCanAccessPeer says, no device can access another's memory.
            raise HipError(structures.INVALID_DEVICE)


@call("hipMemPoolGetAccess", arguments=(POINTER, HANDLE, POINTER))
def _get_access(result: int, handle: int, location: int) -> None:
    pool = _pool(handle)
    if not location:
        raise HipError(structures.INVALID_VALUE)
    where = structures.MemLocation.from_address(location)
    if where.type != _ON_DEVICE:
        raise HipError(structures.INVALID_VALUE)
    device(where.id)
    reaches = where.id == pool.device or pool.kind is MemoryKind.MANAGED
    structures.store(result, INT, _READ_WRITE if reaches else _NO_ACCESS)


@call("hipDeviceGetDefaultMemPool", arguments=(POINTER, INT))
def _default_pool(result: int, ordinal: int) -> None:
    structures.store(result, HANDLE, _default(ordinal))


def _check_device(ordinal: int) -> None:
    if not 0 <= ordinal < len(node().devices):
        raise HipError(structures.INVALID_VALUE)


@call("hipDeviceGetMemPool", arguments=(POINTER, INT))
def _device_pool(result: int, ordinal: int) -> None:
    _check_device(ordinal)
    structures.store(result, HANDLE, _of_device(ordinal))


@call("hipDeviceSetMemPool", arguments=(INT, HANDLE))
@streams.outside_captures
def _set_device_pool(ordinal: int, handle: int) -> None:
    _check_device(ordinal)
    if _pool(handle).device != ordinal:
        raise HipError(structures.INVALID_DEVICE)
    _current[ordinal] = handle


@call("hipDeviceGraphMemTrim", arguments=(INT,))
def _graph_trim(ordinal: int) -> None:
    # Graphs keep no freed memory.
    device(ordinal)


__all__: list[str] = []
