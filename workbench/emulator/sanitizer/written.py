"""Record of the bytes of device memory that were ever written, for the sanitizer and memory from hipMalloc.

Copies and fills are noted as ranges when they happen. The first sanitized launch turns them into one bit per
byte, which native/observe/sanitizer/written.c reads and sets. The writes of a launch that is not sanitized
are not seen: every byte that was allocated before it then counts as written.
"""

from __future__ import annotations

import mmap

import numpy as np

from workbench.emulator.native.abi import CData, ffi

_MAP_NORESERVE = 0x4000


class Written:
    """Bytes of one allocation that were written since it was allocated.

    Args:
        base, size: address and bytes of the allocation.
        unseen: number of unobserved launches on the device before the allocation.
    """

    __slots__ = ("_bits", "_ranges", "base", "size", "unseen")

    def __init__(self, base: int, size: int, unseen: int) -> None:
        self.base = base
        self.size = size
        self.unseen = unseen
        self._ranges: list[tuple[int, int]] = []
        self._bits: mmap.mmap | None = None

    def mark(self, address: int, size: int) -> None:
        """Marks [address, address + size), as far as it is inside, as written."""
        low = max(address - self.base, 0)
        high = min(address + size - self.base, self.size)
        if low >= high:
            return
        if self._bits is not None:
            _set_bits(self._bits, low, high)
        elif self._ranges and self._ranges[-1][0] <= low <= self._ranges[-1][1]:
            # The next part of a copy in pieces.
            self._ranges[-1] = (self._ranges[-1][0], max(high, self._ranges[-1][1]))
        else:
            self._ranges.append((low, high))

    def table_entry(self) -> tuple[int, int, CData]:
        """Fields of the `SanMemory` that native code reads, and whose bits it sets."""
        if self._bits is None:
            # Unwritten pages stay the system's zero page.
            size = self.size // 8 + 16
            self._bits = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
            for low, high in self._ranges:
                _set_bits(self._bits, low, high)
            self._ranges.clear()
        return self.base, self.base + self.size, ffi.from_buffer("uint8_t[]", self._bits)


def _set_bits(bits: mmap.mmap, low: int, high: int) -> None:
    """Set the bits [low, high)."""
    first, last = low // 8, (high - 1) // 8
    head, tail = 0xFF << low % 8 & 0xFF, 0xFF >> 7 - (high - 1) % 8
    if first == last:
        bits[first] |= head & tail
        return
    bits[first] |= head
    bits[last] |= tail
    if last - first > 1:
        np.frombuffer(bits, np.uint8)[first + 1 : last] = 0xFF
