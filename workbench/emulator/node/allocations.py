"""Memory of the emulated node: its allocations to the byte, and the nearest one to an address outside.

Device allocations lie in one reserved range of the process, far apart from each other, and an address is
reused only when the range is used up, so that accesses through a pointer to freed memory are noticed. Host
memory counts from the moment that it is registered until it is unregistered.
"""

from __future__ import annotations

import array
import bisect
import collections
import ctypes
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np

from workbench import bounds, cache, errors
from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.node.storages import ROUNDED, Rows, Storages
from workbench.emulator.sanitizer.written import Written
from workbench.launches import DWORD, BufferLabel
from workbench.live_tensors import is_address, tensor_text, tensors_at

ALIGNMENT = 256
_PAGE = mmap.PAGESIZE
# Unmapped distance between two allocations: more than vector code may read past an end, and enough that an
# index off by a row or two does not reach the next allocation.
_GUARD = 16 * _PAGE
# Python 3.13 defines the first of them; no Python defines the second.
_MAP_NORESERVE = 0x40 if sys.platform == "darwin" else 0x4000
_MAP_FIXED = 0x10
# Unused distance on both sides of memory that is mapped separately.
_APART = 1 << 30
_PLACED_HOST = 1 << 44
_PLACED_ARENA = 1 << 45
_LARGEST_RESERVATION = 1 << 40
_SMALLEST_RESERVATION = 1 << 32
_REMEMBERED = 512
_TABLES = 64
_LONGEST_TEXT = 1 << 16
_INVALID_VALUE = 1
_OUT_OF_MEMORY = 2


Lent = tuple[tuple[int, int, int, int], ...]
"""Memory that kernels may touch for a while: first byte, end, flags, where reads end, as `abi` has them."""

_FIELDS = 5
"""Numbers of a row of `Memory.table`, an `Allocation` of `abi`."""


class MemoryKind(Enum):
    """Kinds of allocations, in the words of error messages."""

    DEVICE = "device allocation"
    HOST = "pinned host allocation"
    MANAGED = "managed allocation"
    REGISTERED = "host buffer"
    CODE = "code object image"
    INTERNAL = "kernel argument block"
    CONSOLE = "buffer of printf"
    HOSTCALL = "buffer of hostcalls"
    MAPPED = "mapping of virtual memory"
    HEAP = "heap of malloc in kernels"
    TENSOR = "tensor of PyTorch"


_HOST_KINDS = frozenset(
    (
        MemoryKind.HOST,
        MemoryKind.MANAGED,
        MemoryKind.REGISTERED,
        MemoryKind.CONSOLE,
        MemoryKind.HOSTCALL,
    )
)
"""Kinds that the host may write while a kernel runs; not what it lends to a launch, as if it were device
memory."""

_FIRST_PLACED = {MemoryKind.REGISTERED: 0, MemoryKind.INTERNAL: 1}
"""Kinds that the models of caches see in creation order, with the rank of each, 0 first."""


@dataclass(eq=False, slots=True)
class Allocation:
    """A range of bytes that kernels may access.

    Attributes:
        base, size: address and size in bytes.
        kind: type of the memory.
        device: ordinal of the device that it belongs to; None: every device reaches it.
        readable, writable: True if kernels may read, write it.
        hip_flags: HIP flags of the allocation.
        label: a name for messages, such as the code object's kernels; `element`: see `BufferLabel`.
        uses: number of registrations of a host range.
        granularity: the allocator's sizes are multiples of this many bytes: kernels without the sanitizer may
            read up to the next multiple.
        reach: bytes from the base that reads may access, for memory of the allocator of `Memory.storages`;
            else 0. Kernels may also write there, up to a multiple of the granularity, and sanitized launches
            continue, since every such access is reported.
        written: record of the written bytes, for memory that a program allocated on a device; else None.
        number: serial number; later allocations have larger numbers.
    """

    base: int
    size: int
    kind: MemoryKind
    device: int | None
    readable: bool = True
    writable: bool = True
    hip_flags: int = 0
    label: str = ""
    element: int = 0
    uses: int = 1
    granularity: int = DWORD
    reach: int = 0
    written: Written | None = None
    number: int = field(default_factory=itertools.count().__next__)

    @property
    def end(self) -> int:
        return self.base + self.size

    @property
    def read_end(self) -> int:
        """End of the readable range: of the granule, or of the last page if nothing is mapped behind it."""
        if self.reach:
            return self.base + self.reach
        aligned_end, page = self.base + _up(self.size, self.granularity), _up(self.end, _PAGE)
        if aligned_end <= page or host_access(page, aligned_end - page) & abi.ALLOCATION_READ:
            return aligned_end
        return page

    def row(self, exact: bool) -> tuple[int, int, int, int]:
        """Its base, end, access and end of reads for `Memory.table`, which each launch asks for.

        Args:
            exact: reads end with the last byte, whatever the granularity.
        """
        end = self.base + self.size
        if self.reach:
            return self.base, end, ROUNDED, self.read_end
        access = abi.ALLOCATION_READ | (abi.ALLOCATION_WRITE if self.writable else 0)
        is_whole = exact or self.size % self.granularity == 0
        return self.base, end, access, end if is_whole else self.read_end

    def describe(self) -> str:
        """The allocation in words: "a 400-byte host buffer", "argument 'x' (float32 tensor 100)"."""
        if self.kind is MemoryKind.REGISTERED and self.label:
            return f"{self.label}, {self.size} bytes"
        name = f" ({self.label})" if self.label else ""
        return f"a {self.size}-byte {self.kind.value}{name}"

    def describe_at(self, address: int) -> str:
        """The allocation, and the element at an address: "...: element 1000 of 1000 (0 to 999)".

        Host memory without a label is named by the live tensor that begins there.
        """
        words, element = self.describe(), self.element
        if self.kind in (MemoryKind.REGISTERED, MemoryKind.TENSOR) and not self.label:
            tensor = tensors_at([self.base]).get(self.base)
            if tensor is not None:
                words += f" ({tensor_text(tensor)})"
                element = tensor.element_size() if tensor.data_ptr() == self.base else 0
        if not element:
            return words
        index, count = (address - self.base) // element, self.size // element
        return f"{words}: element {index} of {count} (0 to {count - 1})"

    def renamed(self, label: BufferLabel, granularity: int) -> tuple[BufferLabel, int]:
        """Sets another name and granularity; returns the previous ones."""
        before = BufferLabel(self.label, self.element), self.granularity
        (self.label, self.element), self.granularity = label, granularity
        return before


def usable_memory() -> int:
    """Bytes that device allocations may take together: HIPKITTENS_MEMORY, or else four fifths of the memory
    of the computer or of this process's control group.

    Raises:
        UsageError: HIPKITTENS_MEMORY is not a size.
    """
    limit = cache.size_from_environment("HIPKITTENS_MEMORY")
    if limit is not None:
        return limit
    total = os.sysconf("SC_PHYS_PAGES") * _PAGE
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            total = min(total, int((Path("/sys/fs/cgroup") / name).read_text()))
        except (OSError, ValueError):
            continue
    return total * 4 // 5


class Memory:
    """Every allocation of the emulated node. Safe to call from several threads.

    Attributes:
        lock: guards changes of the tables.
        storages: storages of PyTorch's tensors, which launches inside `reaching_storages` reach.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._arena = _reserve()
        self._arena_base = ctypes.addressof(ctypes.c_char.from_buffer(self._arena))
        self._arena_end = self._arena_base + len(self._arena)
        self._cursor = self._arena_base
        self._apart: list[mmap.mmap] = []
        self._bases: list[int] = []
        self._allocations: list[Allocation] = []
        self._freed: collections.deque[Allocation] = collections.deque(maxlen=_REMEMBERED)
        # Tables of the memory that kernels may access, by device, exactness and lent memory; emptied when
        # other memory changes.
        self._tables: dict[tuple[int, bool, Lent], CData] = {}
        self._fixed: dict[tuple[int, bool], _Fixed] = {}
        self._lent: dict[int, Allocation] = {}
        self._epoch = 0
        self._heaps: dict[int | None, Allocation] = {}
        self.storages = Storages()
        self._reached = _Reached()
        self._joined: tuple[CData, Rows, CData] | None = None
        self.limit = usable_memory()
        self.used = 0
        self._used_by: collections.Counter[int | None] = collections.Counter()
        self._unseen: collections.Counter[int | None] = collections.Counter()
        # Reserved address ranges where memory may be mapped: sizes by start.
        self._reserved: dict[int, int] = {}

    def allocate(
        self,
        size: int,
        kind: MemoryKind,
        device: int | None,
        *,
        capacity: int | None = None,
        hip_flags: int = 0,
        label: str = "",
        at: int | None = None,
    ) -> Allocation:
        """`size` zero bytes, aligned to 256.

        Args:
            at: reserved addresses to place them at.
            capacity: bytes that `device` may have in all.

        Raises:
            DeviceError: (hipErrorOutOfMemory) the device's capacity, this computer's memory or the reserved
                range is used up.
        """
        with self.lock:
            self.claim(size, device, capacity)
            try:
                base = self._find_room(size) if at is None else at
            except errors.DeviceError:
                self.give_back(size, device)
                raise
            allocation = Allocation(base, size, kind, device, hip_flags=hip_flags, label=label)
            if kind is MemoryKind.DEVICE:
                allocation.granularity = bounds.allocation_granularity()
                allocation.written = Written(base, size, self._unseen[device])
            self._insert(allocation)
            return allocation

    def claim(self, size: int, device: int | None, capacity: int | None = None) -> None:
        """Count `size` bytes as used.

        Raises:
            DeviceError: (hipErrorOutOfMemory) the device's capacity or this computer's memory is used up.
        """
        with self.lock:
            if capacity is not None and self._used_by[device] + size > capacity:
                raise _out_of_memory(
                    f"{size} bytes do not fit: the device has {capacity}, {self._used_by[device]} are used"
                )
            if self.used + size > self.limit:
                raise _out_of_memory(
                    f"{size} bytes do not fit into this computer's memory: {self.used} of {self.limit} bytes "
                    "are used (HIPKITTENS_MEMORY sets the limit)"
                )
            self.used += size
            self._used_by[device] += size

    def give_back(self, size: int, device: int | None) -> None:
        """Count `size` claimed bytes as free again."""
        with self.lock:
            self.used -= size
            self._used_by[device] -= size

    def reserve(self, size: int, alignment: int) -> int:
        """Start of `size` bytes of addresses with nothing behind them, a multiple of `alignment`.

        Raises:
            DeviceError: (hipErrorOutOfMemory) the reserved range of the process is used up.
        """
        with self.lock:
            base = self._find_room(size, alignment)
            self._reserved[base] = size
            return base

    def unreserve(self, base: int) -> None:
        """Release reserved addresses if nothing is mapped there any more."""
        with self.lock:
            del self._reserved[base]

    def reservation(self, address: int) -> tuple[int, int] | None:
        """Start and size of the reservation that holds an address."""
        with self.lock:
            matches = ((base, size) for base, size in self._reserved.items() if base <= address < base + size)
            return next(matches, None)

    def map_file(self, base: int, size: int, file: int, device: int) -> Allocation:
        """Put a file's first `size` bytes at reserved addresses; kernels may not touch them yet."""
        _map_at(base, size, mmap.MAP_SHARED, file)
        allocation = Allocation(base, size, MemoryKind.MAPPED, device, readable=False, writable=False)
        with self.lock:
            self._insert(allocation)
        return allocation

    def unmap(self, allocation: Allocation) -> None:
        """Remove what `map_file` put there; its addresses stay reserved."""
        with self.lock:
            self._remove(allocation)
            _map_at(
                allocation.base, allocation.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE, -1
            )

    def protect(self, allocation: Allocation, *, readable: bool, writable: bool) -> None:
        """Let kernels read and write a mapping, or not."""
        with self.lock:
            allocation.readable, allocation.writable = readable, writable
            self._changed()

    def map_apart(self, size: int, kind: MemoryKind) -> Allocation:
        """`size` zero bytes that stay, far from device allocations: no wild index into those ends here."""
        mapped = mmap.mmap(
            -1, size + 2 * _APART, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        )
        self._apart.append(mapped)
        base = ctypes.addressof(ctypes.c_char.from_buffer(mapped)) + _APART
        allocation = Allocation(base, size, kind, None)
        with self.lock:
            self._insert(allocation)
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Give an allocation's memory back; its addresses fault from now on."""
        with self.lock:
            self._remove(allocation)
            self.give_back(allocation.size, allocation.device)
            self._freed.append(allocation)
            self._discard(allocation)

    def register(self, base: int, size: int, *, hip_flags: int = 0) -> Allocation | None:
        """Let kernels access host memory. None if part of the range already belongs to another allocation.

        Raises:
            DeviceError: (hipErrorInvalidValue) a part of the range is not readable memory of this process.
        """
        with self.lock:
            existing = self.at(base)
            if existing is not None and existing.kind is MemoryKind.REGISTERED and existing.size == size:
                existing.uses += 1
                return existing
            if self._overlaps(base, size):
                return None
            allocation = self._host_memory(base, size)
            allocation.hip_flags = hip_flags
            self._insert(allocation)
            return allocation

    def _overlaps(self, base: int, size: int) -> bool:
        """True if a byte of the range belongs to an allocation."""
        position = bisect.bisect_right(self._bases, base)
        if position > 0:
            before = self._allocations[position - 1]
            if base < before.base + before.size:
                return True
        return position < len(self._bases) and self._bases[position] < base + size

    def _host_memory(self, base: int, size: int) -> Allocation:
        access = host_access(base, size)
        if not access & abi.ALLOCATION_READ:
            raise errors.DeviceError(
                f"[{base:#x}, {base + size:#x}) is not readable memory of this process", _INVALID_VALUE
            )
        writable = bool(access & abi.ALLOCATION_WRITE)
        return Allocation(base, size, MemoryKind.REGISTERED, None, writable=writable)

    def lent(
        self, buffers: Sequence[tuple[int, int]], labels: Mapping[int, BufferLabel], granularity: int = DWORD
    ) -> AbstractContextManager[None]:
        """In this context, kernels may access host memory; ranges that are already allocations stay as they
        are.

        Args:
            buffers: (address, bytes) without overlaps.
            labels: names of buffers by address, for messages in this context.
            granularity: granularity of the lent memory, see `Allocation`; also of labelled ranges that are
                allocations already.

        Raises:
            DeviceError: (hipErrorInvalidValue) one is not readable memory of this process.
        """
        return _Lent(self, buffers, labels, granularity)

    def _lend(
        self,
        buffers: Sequence[tuple[int, int]],
        labels: Mapping[int, BufferLabel],
        granularity: int,
        lent: list[Allocation],
        named: list[tuple[Allocation, BufferLabel, int]],
    ) -> None:
        """Begins `lent`: notes the lent memory, and the previous labels of ranges that are allocations."""
        with self.lock:
            try:
                for base, size in buffers:
                    if self._overlaps(base, size):
                        existing = self.at(base)
                        if existing is not None and existing.kind is MemoryKind.REGISTERED and base in labels:
                            named.append((existing, *existing.renamed(labels[base], granularity)))
                        continue
                    allocation = self._host_memory(base, size)
                    allocation.granularity = granularity
                    if granularity == abi.STORAGE_BLOCK:
                        bytes_there, reach = self.storages.at(base)
                        allocation.reach = reach if bytes_there == size else 0
                    if base in labels:
                        allocation.label, allocation.element = labels[base]
                    lent.append(allocation)
                    self._lent[allocation.number] = allocation
                    self._place_in_order(allocation)
            except BaseException:
                self._take_back(lent, named)
                raise
            if named:
                self._changed()

    def _take_back(
        self, lent: Sequence[Allocation], named: Sequence[tuple[Allocation, BufferLabel, int]]
    ) -> None:
        """Ends `lent`; the lock is held."""
        for loan in lent:
            # Whoever registered it in the meantime continues with it.
            loan.uses -= 1
            del self._lent[loan.number]
            if loan.uses == 0:
                self._take_from_order(loan)
            else:
                self._changed()
        for allocation, label, before in named:
            allocation.renamed(label, before)
        if named:
            self._changed()

    @contextmanager
    def reaching_storages(self, granularity: int) -> Iterator[None]:
        """In this context, launches of this thread reach all of `storages`.

        Args:
            granularity: granularity of the storages, see `Allocation`.
        """
        reached = self._reached
        before, reached.granularity = reached.granularity, granularity
        try:
            yield
        finally:
            reached.granularity = before

    def has_unknown_address(self, arguments: bytes) -> bool:
        """True if one of a launch's arguments is an address in this process that is neither in an allocation
        nor at the end of one."""
        words = array.array("Q", arguments[: len(arguments) // 8 * 8])
        unknown = (w for w in words if is_address(w) and self.find(w) is None and self.find(w - 1) is None)
        return any(host_access(word, 1) for word in unknown)

    def storage_at(self, address: int) -> Allocation | None:
        """The memory of a tensor in which an address lies, as an allocation; None if it is in none."""
        rows = self.storages.rows(self._reached.granularity or DWORD)
        position = int(np.searchsorted(rows[:, 0], address, "right")) - 1
        if position < 0 or address >= rows[position, 1]:
            return None
        base, end = map(int, rows[position, :2])
        return Allocation(base, end - base, MemoryKind.TENSOR, None)

    def adopt(self, allocation: Allocation) -> bool:
        """Lets kernels access memory that the caller has mapped; False if it overlaps another allocation."""
        with self.lock:
            if self._overlaps(allocation.base, allocation.size):
                return False
            self._insert(allocation)
            return True

    def abandon(self, allocation: Allocation) -> None:
        """Ends `adopt`; messages about later accesses say that the memory was freed."""
        with self.lock:
            self._remove(allocation)
            self._freed.append(allocation)

    def unregister(self, allocation: Allocation) -> None:
        """End one registration of a host range."""
        with self.lock:
            allocation.uses -= 1
            if allocation.uses == 0:
                self._remove(allocation)

    @property
    def epoch(self) -> int | None:
        """A number that changes whenever allocations change; None while memory is lent."""
        return None if self._lent or self._reached.granularity else self._epoch

    def find(self, address: int) -> Allocation | None:
        """The allocation that holds the byte at `address`."""
        with self.lock:
            position = bisect.bisect_right(self._bases, address) - 1
            if position >= 0 and address < self._allocations[position].end:
                return self._allocations[position]
        return self.storage_at(address) if self._reached.granularity else None

    def is_near(self, address: int, distance: int) -> bool:
        """True if an allocation has a byte within `distance` bytes of an address."""
        with self._storages_lent(), self.lock:
            position = bisect.bisect_right(self._bases, address)
            beside = self._allocations[max(0, position - 1) : position + 1]
            return any(a.base - distance <= address < a.end + distance for a in beside)

    def at(self, base: int) -> Allocation | None:
        """The allocation that begins at `base`."""
        with self.lock:
            position = bisect.bisect_left(self._bases, base)
            if position < len(self._bases) and self._bases[position] == base:
                return self._allocations[position]
            return None

    def text_at(self, address: int) -> str | None:
        """The zero-terminated text at a device address; None if there is no allocation."""
        with self.lock:
            allocation = self.find(address)
            if allocation is None:
                return None
            content = ctypes.string_at(address, min(allocation.end - address, _LONGEST_TEXT))
        return content.partition(b"\0")[0].decode("utf-8", "surrogateescape")

    def note_written(self, address: int, size: int) -> None:
        """Notes that a copy or a fill from outside has written [address, address + size)."""
        allocation = self.find(address)
        if allocation is not None and allocation.written is not None:
            allocation.written.mark(address, size)

    def note_unseen(self, device: int) -> None:
        """Notes that a kernel which may write anywhere, unwatched, is about to run on a device."""
        self._unseen[device] += 1

    def watched(self, device: int) -> list[Written]:
        """Allocations of a device for which all writes are known, by address."""
        with self.lock:
            return [
                a.written
                for a in self._allocations
                if a.written is not None and a.device == device and a.written.unseen == self._unseen[device]
            ]

    def heap(self, device: int) -> Allocation | None:
        """The heap of malloc in a device's kernels, if code that uses it was loaded."""
        with self.lock:
            return self._heaps.get(device)

    def in_arena(self, address: int) -> bool:
        """True if an address lies in the range of device allocations."""
        return self._arena_base <= address < self._arena_end

    def device_bytes(self, device: int) -> int:
        """Bytes allocated on a device."""
        return self._used_by[device]

    def table(self, device: int, exact: bool = False) -> CData:
        """Array of `Allocation`: what a kernel on `device` may touch, sorted by address. Not to be changed;
        kept by the caller while a kernel runs.

        Args:
            exact: reads end with the last byte of an allocation, whatever its granularity.
        """
        with self.lock:
            lent = [a.row(exact) for a in self._lent.values()]
            key = device, exact, tuple(lent)
            table = self._tables.get(key)
            if table is None:
                fixed = self._fixed_rows(device, exact)
                placed = fixed.placed([(0, a.number, a.base, a.size) for a in self._lent.values() if a.size])
                rows = fixed.rows[:]
                for base, at in fixed.moving.items():
                    rows[_FIELDS * at + _FIELDS - 1] = placed[base]
                # Backwards, so that earlier offsets stay valid.
                for row in sorted(lent, reverse=True):
                    if row[1] > row[0]:
                        at = _FIELDS * bisect.bisect_left(fixed.bases, row[0])
                        rows[at:at] = array.array("Q", (*row, placed[row[0]]))
                if len(self._tables) >= _TABLES:
                    self._tables.clear()
                table = self._tables[key] = ffi.from_buffer("Allocation[]", rows)
            granularity = self._reached.granularity
            if granularity is None:
                return table
            is_rounded = granularity == abi.STORAGE_BLOCK
            return self._with_storages(table, 1 if exact and not is_rounded else granularity)

    def _with_storages(self, table: CData, granularity: int) -> CData:
        """A table that also has `storages`, except those that it has already."""
        storages = self.storages.rows(granularity)
        if self._joined is None or self._joined[0] is not table or self._joined[1] is not storages:
            rows = np.frombuffer(ffi.buffer(table), np.uint64).reshape(-1, _FIELDS)
            after = np.searchsorted(rows[:, 0], storages[:, 1])
            ends = np.concatenate(([0], rows[:, 1])).astype(np.uint64)
            joined = np.concatenate((rows, storages[ends[after] <= storages[:, 0]]))
            joined = joined[np.argsort(joined[:, 0])]
            self._joined = table, storages, ffi.from_buffer("Allocation[]", joined)
        return self._joined[2]

    def _storages_lent(self) -> AbstractContextManager[None]:
        """For searches nearby: the memory that this thread's launches reach, in the form of lent memory."""
        granularity = self._reached.granularity
        if granularity is None:
            return nullcontext()
        return self.lent(self.storages.blocks(), {}, granularity)

    def _fixed_rows(self, device: int, exact: bool) -> _Fixed:
        """Rows of memory that every kernel may access, without memory lent to a launch."""
        cached = self._fixed.get((device, exact))
        if cached is not None:
            return cached
        rows, moving, order = array.array("Q"), {}, []
        bases: list[int] = []
        for a in self._allocations:
            if a.number in self._lent or a.device not in (None, device) or not a.size or not a.readable:
                continue
            base, end, flags, read_end = a.row(exact)
            flags |= abi.ALLOCATION_HOST if a.kind in _HOST_KINDS else 0
            inside = self._arena_base <= a.base < self._arena_end
            if a.kind in _FIRST_PLACED or not inside:
                order.append((_FIRST_PLACED.get(a.kind, len(_FIRST_PLACED)), a.number, a.base, a.size))
            if a.kind is MemoryKind.MAPPED and rows and (rows[-4], rows[-3]) == (a.base, flags):
                # One access may touch two adjacent mappings.
                rows[-4] = rows[-2] = a.end
                continue
            if order and order[-1][2] == a.base:
                moving[a.base] = len(bases)
            bases.append(a.base)
            # A program's own memory ends where its last page does, for writes too.
            if a.kind is MemoryKind.DEVICE and a.granularity > DWORD:
                end = read_end
            rows.extend((base, end, flags, read_end, max(0, _PLACED_ARENA + a.base - self._arena_base)))
        fixed = self._fixed[device, exact] = _Fixed(rows, bases, moving, order)
        return fixed

    def whereabouts(self, address: int, size: int, device: int) -> str:
        """Position of an access outside every allocation, relative to the nearest one."""
        with self._storages_lent(), self.lock:
            here = self.find(address)
            if here is not None:
                if here.device not in (None, device):
                    return f"inside {here.describe()} of another device"
                if not here.readable:
                    return f"inside {here.describe()} to which hipMemSetAccess gave no access"
                over = address + size - here.end
                if over > 0:
                    return f"{over} bytes past the end of {here.describe_at(address)}"
                return f"inside {here.describe_at(address)}"
            for old in reversed(self._freed):
                if old.base <= address < old.end:
                    return f"at byte {address - old.base} of {old.describe()} that was freed"
            reserved = self.reservation(address)
            if reserved is not None:
                base, length = reserved
                place = f"at byte {address - base} of {length} bytes of reserved addresses"
                return f"{place}, where nothing is mapped"
            position = bisect.bisect_right(self._bases, address)
            choices = []
            if position > 0:
                before = self._allocations[position - 1]
                choices.append((address - before.end, "past the end of", before, 1))
            if position < len(self._allocations):
                after = self._allocations[position]
                choices.append((after.base - address, "before the start of", after, 0))
            if not choices:
                return "and nothing is allocated"
            distance, words, near, past = min(choices, key=lambda choice: choice[0])
            if distance > _LARGEST_RESERVATION:
                return "far from every allocation"
            # The first byte past the end is "1 byte past the end".
            count = distance + past
            return f"{count} byte{'' if count == 1 else 's'} {words} {near.describe_at(address)}"

    def _find_room(self, size: int, alignment: int = _PAGE) -> int:
        span = max(size, 1)
        base = _up(self._cursor, alignment)
        if base + span + _GUARD <= self._arena_end:
            self._cursor = _up(base + span + _GUARD, _PAGE)
            return base
        # The range is used up: take the first gap between the remaining allocations.
        base = _up(self._arena_base, alignment)
        taken = [(a.base, a.size) for a in self._allocations if self.in_arena(a.base)]
        for start, length in sorted([*taken, *self._reserved.items()]):
            if start - base >= span + _GUARD:
                return base
            base = max(base, _up(start + length + _GUARD, alignment))
        if self._arena_end - base >= span + _GUARD:
            return base
        raise _out_of_memory(f"{size} bytes do not fit between the allocations in the reserved address range")

    def _discard(self, allocation: Allocation) -> None:
        """Hand the pages back to the system; they are zero when they are next used."""
        offset = allocation.base - self._arena_base
        length = _up(max(allocation.size, 1), _PAGE)
        self._arena.madvise(mmap.MADV_DONTNEED, offset, length)

    def _insert(self, allocation: Allocation) -> None:
        self._place_in_order(allocation)
        if allocation.kind is MemoryKind.HEAP:
            self._heaps[allocation.device] = allocation
        self._changed()

    def _place_in_order(self, allocation: Allocation) -> None:
        position = bisect.bisect_left(self._bases, allocation.base)
        self._bases.insert(position, allocation.base)
        self._allocations.insert(position, allocation)

    def _remove(self, allocation: Allocation) -> None:
        self._take_from_order(allocation)
        if self._heaps.get(allocation.device) is allocation:
            del self._heaps[allocation.device]
        self._changed()

    def _take_from_order(self, allocation: Allocation) -> None:
        position = bisect.bisect_left(self._bases, allocation.base)
        # Freed ranges of no bytes may share an address.
        while self._allocations[position] is not allocation:
            position += 1
        del self._bases[position], self._allocations[position]

    def _changed(self) -> None:
        """Starts a new epoch after a change of allocations that are not lent."""
        self._epoch += 1
        self._tables.clear()
        self._fixed.clear()


class _Reached(threading.local):
    """State of a thread: the granularity with which its launches reach storages; None if they do not."""

    granularity: int | None = None


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Rows of `Memory.table` that stay the same from one launch to the next.

    The models of caches see host memory, such as tensors, and argument blocks in the order of their creation,
    which is the same in every process; they are placed as PyTorch's allocator does on a GPU: 1 MiB or more at
    multiples of 2 MiB, the rest at multiples of 512 bytes. Other memory keeps its address in the node's own
    range.

    Attributes:
        rows: fields of `Allocation`, consecutively, by address.
        bases: address of each row.
        moving: by address, the index of each row whose place depends on the lent memory.
        order: entries in that order: rank of the kind, number, address, bytes.
    """

    rows: array.array[int]
    bases: list[int]
    moving: dict[int, int]
    order: list[tuple[int, int, int, int]]

    def placed(self, lent: Sequence[tuple[int, int, int, int]]) -> dict[int, int]:
        """Address in the cache models for each allocation of `order` and `lent`, by its real address."""
        addresses, free = {}, _PLACED_HOST
        for _, _, base, size in sorted([*self.order, *lent]):
            addresses[base] = free = _up(free, 1 << 21 if size >= 1 << 20 else 512)
            free += size
        return addresses


class _Lent:
    """See `Memory.lent`; a class, since a launch enters and leaves it."""

    def __init__(
        self,
        memory: Memory,
        buffers: Sequence[tuple[int, int]],
        labels: Mapping[int, BufferLabel],
        granularity: int,
    ) -> None:
        self._memory = memory
        self._what = buffers, labels, granularity
        self._own: list[Allocation] = []
        self._named: list[tuple[Allocation, BufferLabel, int]] = []

    def __enter__(self) -> None:
        self._memory._lend(*self._what, self._own, self._named)

    def __exit__(self, *_: object) -> None:
        with self._memory.lock:
            self._memory._take_back(self._own, self._named)


def host_access(base: int, size: int) -> int:
    """abi.ALLOCATION_READ and _WRITE as far as they hold for every page of a host range."""
    return int(native_library().hk_host_access(base, size))


def _out_of_memory(message: str) -> errors.DeviceError:
    return errors.DeviceError(message, _OUT_OF_MEMORY)


def _up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def _map_at(base: int, size: int, flags: int, file: int) -> None:
    """mmap at one of our addresses, replacing what was there."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    arguments = (ctypes.c_void_p(base), ctypes.c_size_t(size), protection, flags | _MAP_FIXED, file)
    if libc.mmap(*arguments, ctypes.c_long(0)) != base:
        raise _out_of_memory(f"{size} bytes could not be mapped: {os.strerror(ctypes.get_errno())}")


def _reserve() -> mmap.mmap:
    size = _LARGEST_RESERVATION
    while True:
        try:
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
        except (OSError, OverflowError) as error:
            size //= 2
            if size < _SMALLEST_RESERVATION:
                raise _out_of_memory(
                    f"this process may not reserve {size} bytes of address space: {error}"
                ) from error
