"""The memory accesses of a launch one by one, as trace.h records them on request."""

from __future__ import annotations

import ctypes
from ctypes import Structure, c_uint32, c_uint64, c_void_p

from workbench.emulator.native.abi import LANES
from workbench.errors import LaunchError
from workbench.launches import Access, AccessKind, Phase

PHASES = 16
ROOM = 1 << 15
"""Accesses that one launch can record, each of a whole wave."""


class _Access(Structure):
    """native/observe/trace.h's HkAccess."""

    _fields_ = (
        ("pc", c_uint64),
        ("group", c_uint64),
        ("exec", c_uint64),
        ("wave", c_uint32),
        ("kind", c_uint32),
        ("bytes", c_uint32),
        ("banks", c_uint32),
        ("phases", c_uint32),
        ("reserved", c_uint32),
        ("phase_lanes", c_uint64 * PHASES),
        ("phase_conflicts", c_uint64 * PHASES),
        ("phase_cycles", c_uint32 * PHASES),
        ("at", c_uint64 * LANES),
    )


class _Trace(Structure):
    """native/observe/trace.h's HkTrace."""

    _fields_ = (("records", c_void_p), ("room", c_uint64), ("count", c_uint64))


def _bits(mask: int) -> tuple[int, ...]:
    """Numbers of the bits that are set: lanes or banks."""
    return tuple(bit for bit in range(64) if mask >> bit & 1)


def _access(record: _Access) -> Access:
    return Access(
        kind=AccessKind(record.kind),
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
    )


class Trace:
    """Where one launch records its accesses."""

    def __init__(self, room: int = ROOM) -> None:
        self._records = (_Access * room)()
        self._trace = _Trace(ctypes.addressof(self._records), room, 0)

    @property
    def pointer(self) -> int:
        """Of the structure that Launch.trace points to."""
        return ctypes.addressof(self._trace)

    def take(self) -> tuple[Access, ...]:
        """The accesses in the order in which they were made.

        Raises:
            LaunchError: there were more than there was room for.
        """
        if self._trace.count > self._trace.room:
            raise LaunchError(
                f"the launch made {self._trace.count:,} memory accesses, and a trace holds "
                f"{self._trace.room:,}; trace fewer work-groups or a smaller problem."
            )
        return tuple(_access(record) for record in self._records[: self._trace.count])
