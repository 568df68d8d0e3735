"""The memory accesses of a launch one by one, as trace.c records them on request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.errors import LaunchError
from workbench.launches import Access, AccessKind, Phase

ROOM = 1 << 15
"""Number of accesses that one launch can record, each of a whole wave."""


_KINDS = {getattr(abi, f"TRACE_{kind.name}"): kind for kind in AccessKind}


def _bits(mask: int) -> tuple[int, ...]:
    """Numbers of the bits that are set: lanes or banks."""
    return tuple(bit for bit in range(64) if mask >> bit & 1)


def _access(record: CData) -> Access:
    return Access(
        kind=_KINDS[record.kind],
        pc=record.pc,
        group=record.group,
        wave=record.wave,
        bytes=record.bytes,
        addresses={lane: record.at[lane] for lane in _bits(record.exec)},
        banks=record.banks,
        phases=tuple(
            Phase(
                _bits(record.phase_lanes[p]),
                record.phase_cycles[p],
                frozenset(_bits(record.phase_conflicts[p])),
            )
            for p in range(record.phases)
        ),
        measured=bool(record.measured),
    )


class Trace(Sequence[Access]):
    """Buffer for the accesses of one launch, read on demand; accesses beyond its capacity are dropped."""

    def __init__(self, room: int = ROOM) -> None:
        # Pages in which no access was stored take no memory.
        self._memory = np.zeros(room * ffi.sizeof("HkAccess"), dtype=np.uint8)
        self._records = ffi.from_buffer("HkAccess[]", self._memory)
        self._trace = ffi.new("HkTrace *", {"records": self._records, "room": room})

    @property
    def pointer(self) -> CData:
        """The C structure for `Launch.trace`."""
        return self._trace

    def take(self) -> tuple[Access, ...]:
        """The accesses in the order in which they were made.

        Raises:
            LaunchError: there were more accesses than the buffer holds.
        """
        if self._trace.count > self._trace.room:
            raise LaunchError(
                f"the launch made {self._trace.count:,} memory accesses, and a trace holds "
                f"{self._trace.room:,}; trace fewer work-groups or a smaller problem."
            )
        return tuple(self)

    def __len__(self) -> int:
        return int(min(self._trace.count, self._trace.room))

    @overload
    def __getitem__(self, at: int) -> Access: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Access]: ...
    def __getitem__(self, at: int | slice) -> Access | Sequence[Access]:
        indices = range(len(self))[at]
        return _access(self._records[indices]) if isinstance(indices, int) else [self[i] for i in indices]
