"""What a launch asks of the memory hierarchy, as traffic.h records it on request.

Counts by instruction are exact. Whether a cache had a line depends on when others asked for it, which the
emulated device does not know: it runs waves one after another. So the lines that each wave touches are kept
in order, and `replay` lets the waves that a GPU would hold at once go through a model of its caches in step
(native/observe/caches.c). The outcome does not depend on this computer's threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import POINTER, Structure, c_uint32, c_uint64, c_void_p
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject import Instruction
from workbench.emulator.native import native_library
from workbench.errors import LaunchError, UsageError
from workbench.launches import CacheCounts, Hierarchy, Replayed, Site, TrafficOptions

MAX_SAMPLING = 8
LINE_BYTES = 128
READ_BYTES, WRITE_BYTES = 128, 64
"""Bytes of a request of L1 to L2: a line to read, half a line to write."""

_ATOMIC, _READ_PAST_L1 = 2, 3


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


class TrafficRecorder:
    """Records what one launch asks of memory: its `Traffic`."""

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
        if not self._sites:
            return {}
        sums = np.sum(self._sites, axis=0)
        return {
            self._text + 4 * int(index): Site(*(int(value) for value in sums[index]))
            for index in np.flatnonzero(sums.any(axis=1))
        }

    def writers(self, index: int = 0) -> npt.NDArray[np.int64]:
        return self._owner_arrays[index].astype(np.int64) - 1

    def replay(
        self, hierarchy: Hierarchy, groups_per_unit: int, order: Sequence[int] | None = None
    ) -> Replayed:
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
        for recorder in self._recorders:
            self._library.hk_traffic_release_streams(ctypes.byref(recorder))
        self._released = True

    def __del__(self) -> None:
        if getattr(self, "_recorders", None) and not self._released:
            self.release()
