"""Traffic of a launch in the memory hierarchy, as traffic.c records it on request.

Counts by instruction are exact. Whether a cache has a line depends on when other waves asked for it, which
the emulated device does not know: it runs waves one after another. So it records in order the lines that each
wave touches, and `replay` passes the waves that a GPU would hold at once through a model of its caches, in
step (native/observe/caches.c). The outcome does not depend on this computer's threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject import Instruction
from workbench.codeobject.instructions import Access, Control, Space
from workbench.codeobject.waits import requests_left
from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.errors import LaunchError, UsageError
from workbench.launches import CacheCounts, Hierarchy, Replayed, Site, TrafficOptions
from workbench.targets import LINE_BYTES, Request

READ_BYTES, WRITE_BYTES = LINE_BYTES, LINE_BYTES // 2
"""Bytes of a request of L1 to L2: a line to read, half a line to write."""


_SITE_FIELDS = [name for name, _ in ffi.typeof("HkSite").fields]


def line_kinds(instructions: Iterable[Instruction], text: int, size: int) -> npt.NDArray[np.uint8]:
    """The kind of cache line access of each instruction, in the form of HkTraffic's field `kinds`.

    Args:
        instructions: instructions of the kernel.
        text, size: address and bytes of the code object's code.
    """
    kinds = np.zeros(size // 4 + 1, dtype=np.uint8)
    at_once = False
    for instruction in instructions:
        memory = instruction.record.memory
        if memory is None or memory.space not in (Space.FLAT, Space.GLOBAL, Space.BUFFER):
            at_once = at_once and not _waits(instruction)
            continue
        kind = abi.LINE_AT_ONCE if at_once else 0
        if memory.access is Access.ATOMIC:
            kind |= abi.LINE_ATOMIC
        elif memory.access is Access.LOAD and instruction.modifiers.get("sc1"):
            kind |= abi.LINE_READ_PAST_L1
        kinds[(instruction.address - text) // 4] = kind
        at_once = True
    return kinds


def _waits(instruction: Instruction) -> bool:
    """True if other waves get a turn at an instruction: a wait for memory, a barrier, a branch."""
    record = instruction.record
    return (
        requests_left(instruction, Request.LOAD) is not None
        or record.control is Control.BARRIER
        or record.pipeline == "branch"
    )


class TrafficRecorder:
    """Records the memory requests of one launch: its `Traffic`."""

    def __init__(
        self, options: TrafficOptions, text: int, kinds: npt.NDArray[np.uint8], group_total: int, waves: int
    ) -> None:
        self.group_total = group_total
        self.waves = waves
        self.watched = options.watched
        self._options = options
        self._text = text
        self._kinds = kinds
        self._recorders: list[CData] = []
        self._library = native_library()
        self._sites: list[npt.NDArray[np.uint64]] = []
        self._owner_arrays = [np.zeros(w.count, dtype=np.uint32) for w in options.watched]
        self._owners = ffi.new(
            "HkOwners[]",
            [
                (w.base, w.base + w.element * w.count, w.element, ffi.from_buffer("uint32_t[]", array))
                for w, array in zip(options.watched, self._owner_arrays, strict=True)
            ],
        )
        self._released = not options.lines

    def recorder(self) -> CData:
        """A further thread's recorder, as Worker.traffic points to it."""
        sites = np.zeros((len(self._kinds), len(_SITE_FIELDS)), dtype=np.uint64)
        recorder = ffi.new(
            "HkTraffic *",
            {
                "text": self._text,
                "site_count": len(sites),
                "sites": ffi.cast("HkSite *", sites.ctypes.data),
                "kinds": ffi.from_buffer("uint8_t[]", self._kinds),
                "limit": self._options.limit,
                "keep_lines": self._options.lines,
                "owners": self._owners,
                "owner_count": len(self._owner_arrays),
            },
        )
        self._sites.append(sites)
        self._recorders.append(recorder)
        return recorder

    def sites(self) -> dict[int, Site]:
        if not self._sites:
            return {}
        sums = np.sum(self._sites, axis=0)
        return {
            self._text + 4 * int(index): Site(**dict(zip(_SITE_FIELDS, map(int, sums[index]), strict=True)))
            for index in np.flatnonzero(sums.any(axis=1))
        }

    def writers(self, index: int = 0) -> npt.NDArray[np.int64]:
        return self._owner_arrays[index].astype(np.int64) - 1

    def replay(
        self,
        hierarchy: Hierarchy,
        groups_per_unit: int,
        order: Sequence[int] | None = None,
        rounds: int = 1,
        first: int | None = None,
        limit: int | None = None,
    ) -> Replayed:
        if self._released:
            raise UsageError(
                "the recorded lines of this launch were released: launch again with "
                "LaunchOptions(traffic=TrafficOptions()), and replay before release()"
            )
        if any(recorder.failed for recorder in self._recorders):
            raise LaunchError(
                f"no memory to keep {self._options.limit:,} lines of the launch: record with a lower "
                "TrafficOptions.limit, or launch a smaller problem"
            )
        ordered = None
        if order is not None and first is not None:
            raise UsageError(f"order and first={first} are given; expected one of them")
        if order is not None:
            ordered = np.asarray(order, dtype=np.uint64)
            if not np.array_equal(np.sort(ordered), np.arange(self.group_total, dtype=np.uint64)):
                raise UsageError(
                    f"order has {len(ordered)} entries; expected each of {self.group_total} work-groups once"
                )
        sampling = self._sampling(limit)
        counts = ffi.new("HkCacheCounts[]", hierarchy.xcds)
        levels = np.zeros((len(self._kinds), abi.LEVELS), dtype=np.uint64)
        recorders = ffi.new("HkTraffic *[]", self._recorders)
        replay = {
            "recorders": recorders,
            "recorder_count": len(self._recorders),
            "group_total": self.group_total if first is None else min(first, self.group_total),
            "order": ffi.from_buffer("uint64_t[]", ordered) if ordered is not None else ffi.NULL,
            "waves": self.waves,
            "groups_per_unit": max(1, groups_per_unit),
            "sampling": sampling,
            "rounds": rounds,
            "counts": counts,
            "levels": ffi.cast("uint64_t *", levels.ctypes.data),
            "site_count": len(self._kinds),
            **asdict(hierarchy),
        }
        if not self._library.hk_replay(ffi.new("HkReplay *", replay)):
            raise LaunchError(
                "no memory for the model of the caches: close other programs, or launch a smaller problem"
            )
        return Replayed(
            tuple(
                CacheCounts(*(int(getattr(c, f.name)) << sampling for f in fields(CacheCounts)))
                for c in counts
            ),
            sampling,
            {
                self._text + 4 * int(site): tuple(map(int, levels[site]))
                for site in np.flatnonzero(levels.any(axis=1))
            },
        )

    def _sampling(self, limit: int | None) -> int:
        """The finest sampling whose events stay within the limit: the same for any number of threads."""
        most = min(self._options.limit, limit or self._options.limit)
        count = self._library.hk_traffic_events
        least = max((int(r.sampling) for r in self._recorders), default=0)
        for sampling in range(least, abi.MAX_SAMPLING):
            if sum(count(r, sampling) for r in self._recorders) <= most:
                return sampling
        return max(least, abi.MAX_SAMPLING)

    def release(self) -> None:
        for recorder in self._recorders:
            self._library.hk_traffic_release_streams(recorder)
        self._released = True
        self._owner_arrays, self.watched = [], ()

    def __getstate__(self) -> dict[str, Any]:
        # The lines are in the C side's memory: a copy has only the counts, as after release().
        return {
            "group_total": self.group_total,
            "waves": self.waves,
            "_text": self._text,
            "_sites": [np.sum(self._sites, axis=0)] if self._sites else [],
            "_owner_arrays": self._owner_arrays,
            "watched": self.watched,
            "_recorders": [],
            "_released": True,
        }

    def __del__(self) -> None:
        if getattr(self, "_recorders", None) and not self._released:
            self.release()
