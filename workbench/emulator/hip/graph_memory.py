"""Memory that a graph allocates and frees while it runs: its address is known from the start.

The address is reserved when the node is made, so that other nodes may refer to it; the memory exists from the
run of the allocation node until a free, by a node or by a call outside the graph.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass

from workbench.emulator.hip import memory, streams, structures
from workbench.emulator.hip.calls import INT, POINTER, U64, HipError, call
from workbench.emulator.hip.devices import device
from workbench.emulator.hip.graph_nodes import NodeKind
from workbench.emulator.node.allocations import MemoryKind
from workbench.emulator.node.device import node

# hipGraphMemAttributeType
_USED_CURRENT, _USED_HIGH, _RESERVED_CURRENT, _RESERVED_HIGH = range(4)
_ALIGNMENT = 4096

_live: dict[int, GraphAllocation] = {}
_high: collections.Counter[int] = collections.Counter()


@dataclass(eq=False, frozen=True)
class GraphAllocation:
    """The memory that an allocation node allocates.

    Attributes:
        address: address of the memory, the same in every run.
        size: size in bytes.
        device: ordinal of the device.
    """

    address: int
    size: int
    device: int

    @staticmethod
    def reserved(size: int, ordinal: int) -> GraphAllocation:
        """An allocation with its own address; hipErrorInvalidValue for no bytes."""
        if size <= 0:
            raise HipError(structures.INVALID_VALUE)
        device(ordinal)
        return GraphAllocation(node().memory.reserve(size, _ALIGNMENT), size, ordinal)

    def run(self) -> None:
        """Allocate it; hipErrorInvalidValue if it is still allocated from an earlier run."""
        if self.address in _live:
            raise HipError(structures.INVALID_VALUE)
        capacity = device(self.device).product.hbm_bytes
        node().memory.allocate(self.size, MemoryKind.DEVICE, self.device, capacity=capacity, at=self.address)
        _live[self.address] = self
        _high[self.device] = max(_high[self.device], _used(self.device))

    def run_anew(self) -> None:
        """Allocate it, after freeing what an earlier run has left."""
        if self.address in _live:
            memory.free(self.address)
        self.run()


def _used(ordinal: int) -> int:
    return sum(allocation.size for allocation in _live.values() if allocation.device == ordinal)


def _freed(address: int) -> None:
    _live.pop(address, None)


memory.freed_listeners.append(_freed)


def allocate_in_capture(result: int, size: int, ordinal: int, stream: int) -> None:
    """Record an allocation on a stream that is being captured, and return its address."""
    allocation = GraphAllocation.reserved(size, ordinal)
    streams.submit(stream, NodeKind.MEM_ALLOC, allocation.run, allocation)
    structures.store(result, POINTER, allocation.address)


@call("hipDeviceGetGraphMemAttribute", arguments=(INT, INT, POINTER))
def _get_attribute(ordinal: int, attribute: int, result: int) -> None:
    device(ordinal)
    # Freed memory is returned at once, so reserved and used bytes are equal.
    if attribute in (_USED_CURRENT, _RESERVED_CURRENT):
        structures.store(result, U64, _used(ordinal))
    elif attribute in (_USED_HIGH, _RESERVED_HIGH):
        structures.store(result, U64, _high[ordinal])
    else:
        raise HipError(structures.INVALID_VALUE)


@call("hipDeviceSetGraphMemAttribute", arguments=(INT, INT, POINTER))
def _set_attribute(ordinal: int, attribute: int, value: int) -> None:
    device(ordinal)
    # Only high watermarks can be set, which restarts them.
    if attribute not in (_USED_HIGH, _RESERVED_HIGH) or not value or U64.from_address(value).value:
        raise HipError(structures.INVALID_VALUE)
    _high[ordinal] = _used(ordinal)
