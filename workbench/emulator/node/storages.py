"""Memory of PyTorch's CPU tensors, as listed by an allocator in place of its own (native/run/storages.c).

Kernels that a program launches itself reach all of it, as on a GPU; `Memory.table` has it only for them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.emulator.native import abi, function_address, native_library
from workbench.emulator.native.abi import ffi

Rows = npt.NDArray[np.uint64]
"""[n, 5] fields of `Allocation` in abi.h, by address."""

ROUNDED = abi.ALLOCATION_READ | abi.ALLOCATION_WRITE | abi.ALLOCATION_ROUNDED
"""Flags of memory that the allocator has rounded up, all of which kernels reach."""
_PLACED = 1 << 46
"""Address of the first storage in the models of caches, above all other memory."""
_PLACED_LARGE, _PLACED_SMALL = 1 << 21, 512
"""Alignment of addresses, for `_HUGE` bytes or more, and for less."""
_HUGE = 1 << 20


class Storages:
    """Records the allocator's allocations."""

    def __init__(self) -> None:
        self._rows: tuple[tuple[int, int], Rows] | None = None

    @staticmethod
    def allocator(address: int) -> int:
        """Address of a c10::Allocator that wraps the one at an address and lists its allocations; 0 if a
        wrapper of another allocator exists."""
        # Tensors are freed by its functions until the process has ended: the library stays loaded.
        assert function_address("hk_storages_allocator") is not None
        return int(native_library().hk_storages_allocator(address))

    @property
    def used(self) -> int:
        """Bytes of all of it, rounded up as a GPU's allocator does."""
        return int(self._state().bytes)

    @property
    def most_used(self) -> int:
        """The largest `used` since the process began, or since `forget_most`."""
        return int(self._state().most)

    @staticmethod
    def forget_most() -> None:
        """Begins a new `most_used`."""
        native_library().hk_storages_forget_most()

    @staticmethod
    def at(address: int) -> tuple[int, int]:
        """Bytes of the block at an address, and bytes that reads may access; zeros if none begins there."""
        storage = ffi.new("HkStorage *")
        native_library().hk_storage_at(address, storage)
        return int(storage.bytes), int(storage.reach)

    def rows(self, granularity: int) -> Rows:
        """All of it, as kernels may access it.

        Args:
            granularity: see `Allocation`.
        """
        key = int(self._state().changes), granularity
        if self._rows is None or self._rows[0] != key:
            self._rows = key, self._new_rows(granularity)
        return self._rows[1]

    def blocks(self) -> list[tuple[int, int]]:
        """(address, bytes) of all of it."""
        return [(base, end - base) for base, end in self.rows(1)[:, :2].tolist()]

    @staticmethod
    def _state() -> abi.CData:
        state = ffi.new("HkStorages *")
        native_library().hk_storages_state(state)
        return state

    def _new_rows(self, granularity: int) -> Rows:
        room = int(self._state().count)
        records = np.empty((room, 4), np.uint64)
        count = native_library().hk_storages_list(ffi.from_buffer("HkStorage[]", records), room)
        records = _latest(records[:count])
        records = records[np.argsort(records[:, 2])]
        base, size, _, reach = records.T
        rows = np.empty((len(records), 5), np.uint64)
        rows[:, 0], rows[:, 1] = base, base + size
        is_rounded = granularity == abi.STORAGE_BLOCK
        rows[:, 2] = ROUNDED if is_rounded else abi.ALLOCATION_READ | abi.ALLOCATION_WRITE
        rows[:, 3] = base + (reach if is_rounded else _up(size, granularity))
        rows[:, 4] = _placed(size.tolist())
        return rows[np.argsort(rows[:, 0])]


def _latest(records: Rows) -> Rows:
    """Pieces of memory by address, without overlaps.

    Memory that PyTorch freed without the allocator's own deleter is still listed; later storages may be
    there.

    Args:
        records: [n, 4] fields of `HkStorage`.
    """
    records = records[(records[:, 1] > 0).nonzero()]
    while True:
        records = records[np.argsort(records[:, 0])]
        (pairs,) = (records[:-1, 0] + records[:-1, 1] > records[1:, 0]).nonzero()
        if not len(pairs):
            return records
        older = np.where(records[pairs, 2] < records[pairs + 1, 2], pairs, pairs + 1)
        records = np.delete(records, older, axis=0)


def _up(size: Rows, multiple: int) -> Rows:
    return (size + np.uint64(multiple - 1)) // np.uint64(multiple) * np.uint64(multiple)


def _placed(sizes: list[int]) -> list[int]:
    """Addresses of pieces in the models of caches, in order: the same in every process."""
    places, free = [], _PLACED
    for size in sizes:
        multiple = _PLACED_LARGE if size >= _HUGE else _PLACED_SMALL
        free = -(-free // multiple) * multiple
        places.append(free)
        free += size
    return places


__all__ = ["Storages"]
