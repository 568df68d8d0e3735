"""What the sanitizer found in a launch, in words: native/observe/sanitize.c's reports with places."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import Structure, c_int32, c_uint32, c_uint64
from typing import TYPE_CHECKING

from workbench.emulator.native import native_library
from workbench.emulator.sanitizer.hazards import RULES, unit_name
from workbench.emulator.sanitizer.written import SanMemory, Written
from workbench.errors import LaunchError
from workbench.launches import RawFinding

if TYPE_CHECKING:
    from workbench.emulator.node.faults import Scene

_ROOM = 1024
_SHADOW_BYTES = 1 << 31
_NO_ADDRESS = 2**64 - 1
# What an overwritten access was, in a report's detail.
_VECTOR, _READ, _OWN_READ, _OWN_WRITE = 2, 4, 8, 16

(
    WAIT_VECTOR,
    WAIT_LGKM,
    WAIT_SCALAR,
    WAIT_LDS,
    PUBLISH_LDS,
    OVERWRITE_LDS,
    RACE_LDS,
    RACE_GLOBAL,
    UNDEFINED_STORE,
    UNDEFINED_BRANCH,
    UNDEFINED_ADDRESS,
    RANGE,
    ALIGNMENT,
    HAZARD,
) = range(1, 15)

CLASSES: dict[int, str] = {
    **dict.fromkeys((WAIT_VECTOR, WAIT_LGKM, WAIT_SCALAR, WAIT_LDS), "missing wait"),
    **dict.fromkeys((PUBLISH_LDS, OVERWRITE_LDS), "missing wait"),
    **dict.fromkeys((RACE_LDS, RACE_GLOBAL), "race"),
    **dict.fromkeys((UNDEFINED_STORE, UNDEFINED_BRANCH, UNDEFINED_ADDRESS), "uninitialised"),
    RANGE: "out of bounds",
    ALIGNMENT: "misaligned",
    HAZARD: "hazard",
}
"""What each kind of report is an instance of."""


class SanReport(Structure):
    """native/observe/sanitize.h's SanReport."""

    _fields_ = (
        ("pc", c_uint64),
        ("other_pc", c_uint64),
        ("address", c_uint64),
        ("group", c_uint64),
        ("other_group", c_uint64),
        ("count", c_uint64),
        ("detail", c_uint64),
        ("kind", c_uint32),
        ("wave", c_uint32),
        ("other_wave", c_uint32),
        ("lane", c_int32),
    )


class Shadow:
    """The sanitizer's state of one launch.

    Args:
        groups: work-groups of the launch.
        memories: device memory of which it is known what was written, by address.

    Attributes:
        lost_writes: whether something was written that could not be followed; known after `take`.
    """

    def __init__(self, groups: int, memories: Sequence[Written] = ()) -> None:
        self._library = native_library()
        self._library.hk_san_new.restype = ctypes.c_void_p
        self._library.hk_san_take.restype = c_uint64
        self._library.hk_san_lost_writes.restype = ctypes.c_int32
        self.lost_writes = False
        self.pointer: int | None = None
        self.pointer = self._library.hk_san_new(c_uint64(groups), c_uint64(_SHADOW_BYTES))
        if not self.pointer:
            raise LaunchError(f"no memory for the sanitizer's state of {groups} work-groups.")
        if memories:
            self._memories = (SanMemory * len(memories))(*(memory.table_entry() for memory in memories))
            self._library.hk_san_watch(
                ctypes.c_void_p(self.pointer), self._memories, c_uint64(len(self._memories))
            )

    def take(self, scene: Scene) -> tuple[RawFinding, ...]:
        """What was found, by address of the instruction; frees the state."""
        reports = (SanReport * _ROOM)()
        count = self._library.hk_san_take(ctypes.c_void_p(self.pointer), reports, c_uint64(_ROOM))
        self.lost_writes = bool(self._library.hk_san_lost_writes(ctypes.c_void_p(self.pointer)))
        self.free()
        found = sorted(reports[:count], key=lambda report: (int(report.pc), int(report.kind)))
        return tuple(_finding(scene, report) for report in found)

    def __del__(self) -> None:
        # A launch that was interrupted takes nothing.
        self.free()

    def free(self) -> None:
        """Give its memory back; may be called again."""
        if self.pointer:
            self._library.hk_san_free(ctypes.c_void_p(self.pointer))
            self.pointer = None


def _finding(scene: Scene, report: SanReport) -> RawFinding:
    from workbench.emulator.node.faults import group_id

    other = int(report.other_pc)
    has_address = report.kind not in (
        WAIT_VECTOR,
        WAIT_LGKM,
        WAIT_SCALAR,
        UNDEFINED_BRANCH,
        UNDEFINED_ADDRESS,
        HAZARD,
    )
    return RawFinding(
        category=CLASSES[report.kind],
        message=_message(scene, report),
        pc=int(report.pc),
        other_pc=None if other == _NO_ADDRESS else other,
        workgroup=group_id(scene.geometry, int(report.group)),
        wave=int(report.wave),
        lane=int(report.lane) if report.lane >= 0 else None,
        address=int(report.address) if has_address else None,
        count=int(report.count),
    )


def _place(scene: Scene, address: int) -> str:
    source = scene.source_of(address)
    where = f" (line {source[1]})" if source else ""
    return f"`{_text(scene, address)}`{where}"


def _text(scene: Scene, address: int) -> str:
    instruction = scene.instruction(address)
    return instruction.text().strip() if instruction else f"{address:#x}"


def _register(scene: Scene, row: int) -> str:
    offset = scene.kernel.descriptor.accum_offset
    return f"a{row - offset}" if offset and row >= offset else f"v{row}"


_ORDER = ("reads what {} wrote", "writes what {} read", "writes what {} wrote")


def _race(scene: Scene, report: SanReport, where: str) -> str:
    from workbench.emulator.node.faults import group_id

    other = f"wave {report.other_wave}"
    same_group = report.other_group == report.group
    if not same_group:
        other += f" of work-group {group_id(scene.geometry, int(report.other_group))}"
    remedy = (
        "put __syncthreads() (s_barrier) between them"
        if same_group
        else "work-groups of a launch are not ordered: use an atomic, or two launches"
    )
    return (
        f"race in {where}: wave {report.wave} {_ORDER[report.detail].format(other)} at "
        f"{_place(scene, int(report.other_pc))}, with no barrier or atomic between them; {remedy}"
    )


def _overwrite(scene: Scene, report: SanReport) -> str:
    detail = int(report.detail)
    access = _place(scene, int(report.other_pc))
    what = "read" if detail in (_READ, _OWN_READ) else "write"
    if detail in (_OWN_READ, _OWN_WRITE):
        return (
            f"missing wait: shared memory at byte {report.address} is loaded over while the same wave's "
            f"{what} {access} is not known to be done; a load to LDS does not wait for it: an s_waitcnt "
            "lgkmcnt is wanted between them"
        )
    counter = "vmcnt" if detail == _VECTOR else "lgkmcnt"
    return (
        f"missing wait: shared memory is written at byte {report.address} after a barrier that wave "
        f"{report.other_wave} passed before its {what} {access} was known to be done; s_waitcnt {counter} is "
        "wanted before the barrier"
    )


def _hazard(scene: Scene, report: SanReport) -> str:
    detail = int(report.detail)
    there, wanted, rule = detail & 255, detail >> 8 & 255, RULES[detail >> 16]
    name = unit_name(int(report.address))
    register = f"register {name}: " if name else ""
    missing = wanted - there
    nops = " and ".join(f"s_nop {min(16, missing - done) - 1}" for done in range(0, missing, 16))
    return (
        f"hazard: {register}{rule.after} ({_place(scene, int(report.other_pc))}), then {rule.before}, which "
        f"needs {wanted} wait states in between and has {there}; hardware does not wait: put {nops}, or as "
        "many other instructions, between them"
    )


def _memory(scene: Scene, report: SanReport, offset: bool = True) -> str:
    """Which allocation the address of a report is in: " (argument 'x' (float32 tensor 64), byte 12)"."""
    found = scene.memory.find(int(report.address))
    if found is None:
        return ""
    place = f", byte {int(report.address) - found.base}" if offset else ""
    return f" ({found.describe().removeprefix('a ')}{place})"


def _origin(scene: Scene, load: int) -> str:
    """Where a wave has read memory that nobody wrote, if it has."""
    if load == _NO_ADDRESS:
        return ""
    return (
        f"; before, the wave read device memory that nobody wrote: {_place(scene, load)}. Memory from "
        "hipMalloc holds anything: fill it with hipMemset, hipMemcpy or a kernel first"
    )


def _message(scene: Scene, report: SanReport) -> str:
    other = int(report.other_pc)
    detail = int(report.detail)
    match report.kind:
        case 1 | 2:
            counter = "vmcnt" if report.kind == WAIT_VECTOR else "lgkmcnt"
            return (
                f"missing wait: {_register(scene, detail)} is used before its load {_place(scene, other)} is "
                f"known to be done; an s_waitcnt {counter} is wanted between them"
            )
        case 3:
            return (
                f"missing wait: scalar register {detail} is used before its load {_place(scene, other)} is "
                "known to be done; scalar loads return in any order: s_waitcnt lgkmcnt(0) is wanted between "
                "them"
            )
        case 4:
            return (
                f"missing wait: shared memory at byte {report.address} is used while the load to LDS "
                f"{_place(scene, other)} of the same wave is under way; an s_waitcnt vmcnt is wanted between "
                "them"
            )
        case 5:
            counter = "vmcnt" if detail & 2 else "lgkmcnt"
            return (
                f"missing wait: shared memory is read after a barrier that wave {report.other_wave} "
                f"passed before its write {_place(scene, other)} was known to be done; s_waitcnt {counter} "
                "is wanted before the barrier"
            )
        case 6:
            return _overwrite(scene, report)
        case 7:
            return _race(scene, report, f"shared memory at byte {report.address}")
        case 8:
            return _race(scene, report, f"global memory{_memory(scene, report)}")
        case 9:
            if detail:
                return "an atomic changes device memory that nobody wrote; fill it with hipMemset first"
            where = _memory(scene, report)
            return f"an uninitialised value is stored to global memory{where}" + _origin(scene, other)
        case 10:
            return "an uninitialised value decides a branch, or which lanes go on" + _origin(scene, other)
        case 11:
            return "an uninitialised value is an address" + _origin(scene, other)
        case 12:
            return (
                f"the buffer resource reaches {detail} bytes past the end of its allocation"
                f"{_memory(scene, report, offset=False)}: hardware does not check beyond the resource's "
                "range; give make_srsrc the allocation's size"
            )
        case 13:
            return (
                f"shared memory at byte {report.address} is accessed by an instruction that wants a multiple "
                f"of {detail}"
            )
        case 14:
            return _hazard(scene, report)
    raise AssertionError(report.kind)


__all__ = ["CLASSES", "Shadow"]
