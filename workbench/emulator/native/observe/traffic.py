"""What a launch asks of the memory hierarchy, as traffic.h records it on request.

Counts by instruction are exact. Whether a cache had a line depends on when others asked for it, which the
emulated device does not know: it runs waves one after another. So the lines that each wave touches are kept
in order, and `Traffic.replay` lets the waves that a GPU would hold at once go through a model of its caches
in step (native/observe/caches.c). The outcome does not depend on this computer's threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject import Instruction
from workbench.emulator.native import native_library
from workbench.errors import LaunchError, UsageError

LIMIT = 1 << 23
"""Lines kept of a launch, 8 bytes each, on each of its threads; beyond it fewer sets are sampled."""

MAX_SAMPLING = 8
LINE_BYTES = 128
READ_BYTES, WRITE_BYTES = 128, 64
"""Bytes of a request of L1 to L2: a line to read, half a line to write."""

_ATOMIC, _READ_PAST_L1 = 2, 3


@dataclass(frozen=True, slots=True)
class Watched:
    """Memory whose writers are to be known: `count` elements of `element` bytes from address `base`."""

    base: int
    element: int
    count: int


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """What is to be recorded beside the counts by instruction.

    Attributes:
        lines: the lines that each wave touches, for `Traffic.replay`.
        watched: memory of which it is kept which work-group wrote each element.
        limit: lines that are kept; beyond it only those of some sets.
    """

    lines: bool = True
    watched: tuple[Watched, ...] = ()
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Site:
    """What one instruction did, all of its executions together.

    Attributes:
        lds_cycles, lds_bank_conflict: LDS cycles, and those of them that bank conflicts cost.
        lds_bytes: that lanes read from or wrote to LDS.
        bytes: that lanes asked of or sent to global memory.
        accesses: distinct 64-byte pieces of each execution, summed.
        line_bytes: bytes of the distinct 128-byte lines of each execution, summed.
    """

    lds_cycles: int = 0
    lds_bank_conflict: int = 0
    lds_bytes: int = 0
    bytes: int = 0
    accesses: int = 0
    line_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Sizes of the modelled caches.

    Attributes:
        xcds, units: dies, and compute units of each.
        l1_bytes: of a compute unit's vector cache.
        l2_bytes: of a die's L2.
        mall_bytes: of the Infinity Cache that all dies share.
        l1_ways, l2_ways, mall_ways: of each; lines have 128 bytes.
    """

    xcds: int
    units: int
    l1_bytes: int
    l2_bytes: int
    mall_bytes: int
    l1_ways: int = 16
    l2_ways: int = 16
    mall_ways: int = 16


class _Owners(Structure):
    """native/observe/traffic.h's HkOwners."""

    _fields_ = (("base", c_uint64), ("end", c_uint64), ("element", c_uint64), ("owner", c_void_p))


class _Traffic(Structure):
    """native/observe/traffic.h's HkTraffic."""

    _fields_ = (
        ("text", c_uint64),
        ("site_count", c_uint64),
        ("sites", c_void_p),
        ("kinds", c_void_p),
        ("streams", c_void_p),
        ("events", c_uint64),
        ("limit", c_uint64),
        ("sampling", c_uint32),
        ("keep_lines", c_uint32),
        ("failed", c_uint64),
        ("owners", c_void_p),
        ("owner_count", c_uint64),
    )


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """What the modelled caches of one die did.

    Attributes:
        l1_reads, l1_read_hits: lines that loads asked of L1.
        l2_reads, l2_writes, l2_atomics: requests to L2: of a line to read, of 64 bytes to write.
        l2_hits, l2_misses: of all requests.
        l2_read_hits: of the reads.
        fabric_reads: of 128 bytes, from L2 to the Infinity Cache.
        fabric_writes_32, fabric_writes_64: of that many bytes.
        mall_read_hits, mall_read_misses: reads that the Infinity Cache had, and those that went to HBM.
        memory_bytes_written: from the Infinity Cache to HBM, what is left in it at the end included.
    """

    l1_reads: int = 0
    l1_read_hits: int = 0
    l2_reads: int = 0
    l2_writes: int = 0
    l2_atomics: int = 0
    l2_hits: int = 0
    l2_misses: int = 0
    l2_read_hits: int = 0
    fabric_reads: int = 0
    fabric_writes_32: int = 0
    fabric_writes_64: int = 0
    mall_read_hits: int = 0
    mall_read_misses: int = 0
    memory_bytes_written: int = 0

    @property
    def l2_requests(self) -> int:
        return self.l2_hits + self.l2_misses

    @property
    def l2_hit_rate(self) -> float | None:
        """0 to 1; None where nothing was asked of L2."""
        return self.l2_hits / self.l2_requests if self.l2_requests else None

    @classmethod
    def total(cls, parts: Iterable[CacheCounts]) -> CacheCounts:
        """Of several dies together."""
        found = list(parts)
        return cls(**{f.name: sum(getattr(p, f.name) for p in found) for f in fields(cls)})


class _CacheCounts(Structure):
    """native/observe/caches.c's HkCacheCounts."""

    _fields_ = tuple((field.name, c_uint64) for field in fields(CacheCounts))


class _Replay(Structure):
    """native/observe/caches.c's HkReplay."""

    _fields_ = (
        ("recorders", c_void_p),
        ("recorder_count", c_uint64),
        ("group_total", c_uint64),
        ("order", c_void_p),
        ("waves", c_uint32),
        ("xcds", c_uint32),
        ("units", c_uint32),
        ("groups_per_unit", c_uint32),
        ("sampling", c_uint32),
        ("l1_ways", c_uint32),
        ("l2_ways", c_uint32),
        ("mall_ways", c_uint32),
        ("l1_bytes", c_uint64),
        ("l2_bytes", c_uint64),
        ("mall_bytes", c_uint64),
        ("counts", POINTER(_CacheCounts)),
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """Outcome of a replay.

    Attributes:
        dies: what each die's caches did; multiplied by 2**`sampling` where only some sets were replayed.
        sampling: one set in 2**`sampling` was replayed; 0: all.
    """

    dies: tuple[CacheCounts, ...]
    sampling: int

    @property
    def total(self) -> CacheCounts:
        return CacheCounts.total(self.dies)


def line_kinds(instructions: Iterable[Instruction], text: int, size: int) -> npt.NDArray[np.uint8]:
    """What each instruction does with the lines that it touches, as traffic.h's `kinds` wants it.

    Args:
        instructions: of the kernel.
        text, size: address and bytes of the code object's code.
    """
    kinds = np.zeros(size // 4 + 1, dtype=np.uint8)
    for instruction in instructions:
        if instruction.format not in ("FLAT", "GLOBAL", "MUBUF", "MTBUF"):
            continue
        if "_atomic_" in instruction.opcode:
            kinds[(instruction.address - text) // 4] = _ATOMIC
        elif "_load" in instruction.opcode and instruction.modifiers.get("sc1"):
            kinds[(instruction.address - text) // 4] = _READ_PAST_L1
    return kinds


class Traffic:
    """What one launch asked of memory.

    Attributes:
        group_total, waves: work-groups of the launch, and waves of one.
    """

    def __init__(
        self, options: TrafficOptions, text: int, kinds: npt.NDArray[np.uint8], group_total: int, waves: int
    ) -> None:
        self.group_total = group_total
        self.waves = waves
        self._options = options
        self._text = text
        self._kinds = kinds
        self._recorders: list[_Traffic] = []
        self._library = native_library()
        self._sites: list[npt.NDArray[np.uint64]] = []
        self._owner_arrays = [np.zeros(w.count, dtype=np.uint32) for w in options.watched]
        self._owners = (_Owners * max(1, len(options.watched)))(
            *(
                _Owners(w.base, w.base + w.element * w.count, w.element, array.ctypes.data)
                for w, array in zip(options.watched, self._owner_arrays, strict=True)
            )
        )
        self._released = not options.lines

    def recorder(self) -> int:
        """A further thread's recorder, as Worker.traffic points to it."""
        sites = np.zeros((len(self._kinds), len(fields(Site))), dtype=np.uint64)
        recorder = _Traffic(
            text=self._text,
            site_count=len(sites),
            sites=sites.ctypes.data,
            kinds=self._kinds.ctypes.data,
            limit=self._options.limit,
            keep_lines=self._options.lines,
            owners=ctypes.addressof(self._owners),
            owner_count=len(self._owner_arrays),
        )
        self._sites.append(sites)
        self._recorders.append(recorder)
        return ctypes.addressof(recorder)

    def sites(self) -> dict[int, Site]:
        """What each instruction did, by its code object address; those that did nothing are absent."""
        if not self._sites:
            return {}
        sums = np.sum(self._sites, axis=0)
        return {
            self._text + 4 * int(index): Site(*(int(value) for value in sums[index]))
            for index in np.flatnonzero(sums.any(axis=1))
        }

    def writers(self, index: int = 0) -> npt.NDArray[np.int64]:
        """[elements] the work-group that wrote each element of `TrafficOptions.watched[index]`; -1: none.

        Where several did, the highest.
        """
        return self._owner_arrays[index].astype(np.int64) - 1

    def replay(
        self, hierarchy: Hierarchy, groups_per_unit: int, order: Sequence[int] | None = None
    ) -> Replayed:
        """Sends what the waves touched through a model of a GPU's caches.

        Args:
            hierarchy: the caches.
            groups_per_unit: work-groups that a compute unit holds at once.
            order: work-groups in the order in which they are dispatched; by number where it is None.

        Raises:
            UsageError: the lines were not kept or have been released; `order` is no permutation.
            LaunchError: there was not enough memory.
        """
        if self._released:
            raise UsageError(
                "the lines of this launch are not there any more: launch again with "
                "LaunchOptions(traffic=TrafficOptions()), and replay before release()"
            )
        if any(recorder.failed for recorder in self._recorders):
            raise LaunchError(
                f"no memory to keep {self._options.limit:,} lines of the launch: record with a lower "
                "TrafficOptions.limit, or launch a smaller problem"
            )
        given: Any = None
        if order is not None:
            given = np.asarray(order, dtype=np.uint64)
            if not np.array_equal(np.sort(given), np.arange(self.group_total, dtype=np.uint64)):
                raise UsageError(
                    f"order has {len(given)} entries; wanted each of the {self.group_total} work-groups once"
                )
        sampling = self._sampling()
        counts = (_CacheCounts * hierarchy.xcds)()
        recorders = (c_void_p * max(1, len(self._recorders)))(*(ctypes.addressof(r) for r in self._recorders))
        replay = _Replay(
            recorders=ctypes.addressof(recorders),
            recorder_count=len(self._recorders),
            group_total=self.group_total,
            order=given.ctypes.data if given is not None else None,
            waves=self.waves,
            xcds=hierarchy.xcds,
            units=hierarchy.units,
            groups_per_unit=max(1, groups_per_unit),
            sampling=sampling,
            l1_ways=hierarchy.l1_ways,
            l2_ways=hierarchy.l2_ways,
            mall_ways=hierarchy.mall_ways,
            l1_bytes=hierarchy.l1_bytes,
            l2_bytes=hierarchy.l2_bytes,
            mall_bytes=hierarchy.mall_bytes,
            counts=counts,
        )
        if not self._library.hk_replay(ctypes.byref(replay)):
            raise LaunchError(
                "no memory for the model of the caches: close other programs, or launch a smaller problem"
            )
        return Replayed(
            tuple(
                CacheCounts(*(int(getattr(c, f.name)) << sampling for f in fields(CacheCounts)))
                for c in counts
            ),
            sampling,
        )

    def _sampling(self) -> int:
        """The finest sampling whose events are no more than the limit: the same for any number of threads."""
        count = self._library.hk_traffic_events
        count.restype = c_uint64
        least = max((int(r.sampling) for r in self._recorders), default=0)
        for sampling in range(least, MAX_SAMPLING):
            if sum(count(ctypes.byref(r), sampling) for r in self._recorders) <= self._options.limit:
                return sampling
        return max(least, MAX_SAMPLING)

    def release(self) -> None:
        """Frees the lines; the counts by instruction stay."""
        for recorder in self._recorders:
            self._library.hk_traffic_release_streams(ctypes.byref(recorder))
        self._released = True

    def __del__(self) -> None:
        if getattr(self, "_recorders", None) and not self._released:
            self.release()
