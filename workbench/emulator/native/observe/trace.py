"""The memory accesses of a launch one by one, as trace.h records them on request."""

from __future__ import annotations

import ctypes
from ctypes import Structure, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from enum import IntEnum

from workbench.emulator.native.abi import LANES
from workbench.errors import LaunchError

PHASES = 16
ROOM = 1 << 15
"""Accesses that one launch can record, each of a whole wave."""


class AccessKind(IntEnum):
    """What an access did; native/observe/trace.h has the same numbers."""

    LDS_READ = 1
    LDS_WRITE = 2
    GLOBAL_READ = 3
    GLOBAL_WRITE = 4
    TO_LDS = 5
    """The LDS side of a load straight to LDS; its global side is a GLOBAL_READ of the same instruction."""


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


@dataclass(frozen=True, slots=True)
class Phase:
    """Lanes that the LDS serves together.

    Attributes:
        lanes: all of the group, active or not, ascending.
        cycles: that it took; those beyond the first are bank conflicts. 0 where no lane was active.
        conflicting_banks: banks that took more than one.
    """

    lanes: tuple[int, ...]
    cycles: int
    conflicting_banks: frozenset[int] = frozenset()

    @property
    def conflicts(self) -> int:
        return max(0, self.cycles - 1)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction of one wave; an instruction with two addresses is two accesses.

    Attributes:
        kind: what it did.
        pc: code object address of the instruction.
        group: linear index of the work-group.
        wave: of the wave in its work-group.
        bytes: of a lane.
        addresses: by active lane, ascending: device address, or byte offset in the work-group's LDS.
        banks: LDS banks of 4 bytes that serve it; 0 where none do (global memory, loads straight to LDS).
        phases: in order; empty likewise.
    """

    kind: AccessKind
    pc: int
    group: int
    wave: int
    bytes: int
    addresses: dict[int, int]
    banks: int = 0
    phases: tuple[Phase, ...] = ()

    @property
    def conflicts(self) -> int:
        """What SQ_LDS_BANK_CONFLICT counts of it: cycles beyond the first of each phase."""
        return sum(phase.conflicts for phase in self.phases)


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
