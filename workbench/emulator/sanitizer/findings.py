"""The sanitizer's findings in words: reports of native/observe/sanitizer, with source places."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from workbench.codeobject import printer
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Space
from workbench.codeobject.names import demangle
from workbench.emulator.native import abi, native_library
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.node.allocations import Allocation
from workbench.emulator.node.faults import Scene, beyond_shared, group_id, past_end, what_happened
from workbench.emulator.sanitizer.hazard_roles import unit_name
from workbench.emulator.sanitizer.hazard_rules import SEARCHED
from workbench.emulator.sanitizer.hazard_rules_gfx11 import ALL_RULES, V_NOP
from workbench.emulator.sanitizer.written import Written
from workbench.errors import LaunchError
from workbench.launches import AFTER_RACE, READS_OUTSIDE, RawFinding
from workbench.targets import Request, waits_of

_ROOM = 1024
_SHADOW_BYTES = 1 << 31
_NO_ADDRESS = 2**64 - 1
_PC = (1 << abi.SAN_ORIGIN_WHAT) - 1

CLASSES: dict[int, str] = {
    abi.SAN_FOUND_WAIT_VECTOR: "missing wait",
    abi.SAN_FOUND_WAIT_LGKM: "missing wait",
    abi.SAN_FOUND_WAIT_SCALAR: "missing wait",
    abi.SAN_FOUND_WAIT_LDS: "missing wait",
    abi.SAN_FOUND_PUBLISH_LDS: "missing wait",
    abi.SAN_FOUND_OVERWRITE_LDS: "missing wait",
    abi.SAN_FOUND_RACE_LDS: "race",
    abi.SAN_FOUND_RACE_GLOBAL: "race",
    abi.SAN_FOUND_UNDEFINED_STORE: "uninitialised",
    abi.SAN_FOUND_UNDEFINED_BRANCH: "uninitialised",
    abi.SAN_FOUND_UNDEFINED_ADDRESS: "uninitialised",
    abi.SAN_FOUND_RANGE: "note",
    abi.SAN_FOUND_DROPPED: "note",
    abi.SAN_FOUND_LANE_OFF: "note",
    abi.SAN_FOUND_WRAPS: "out of bounds",
    abi.SAN_FOUND_ALIGNMENT: "misaligned",
    abi.SAN_FOUND_HAZARD: "hazard",
    abi.SAN_FOUND_BARRIER: "missed barrier",
    abi.SAN_FOUND_HEAP: "out of bounds",
    abi.SAN_FOUND_FAULT: "out of bounds",
    abi.SAN_FOUND_OVERRUN: "out of bounds",
    abi.SAN_FOUND_OBJECT: "out of bounds",
    abi.SAN_FOUND_PAST: "out of bounds",
}
"""Class of finding for each kind of report."""

_WITHOUT_ADDRESS = (
    abi.SAN_FOUND_WAIT_VECTOR,
    abi.SAN_FOUND_WAIT_LGKM,
    abi.SAN_FOUND_WAIT_SCALAR,
    abi.SAN_FOUND_UNDEFINED_BRANCH,
    abi.SAN_FOUND_UNDEFINED_ADDRESS,
    abi.SAN_FOUND_HAZARD,
    abi.SAN_FOUND_BARRIER,
    abi.SAN_FOUND_DROPPED,
    abi.SAN_FOUND_LANE_OFF,
    abi.SAN_FOUND_WRAPS,
)

_FOLLOWED = (abi.SAN_FOUND_UNDEFINED_STORE, abi.SAN_FOUND_UNDEFINED_BRANCH, abi.SAN_FOUND_UNDEFINED_ADDRESS)

_UNORDERED = (abi.SAN_FOUND_RACE_LDS, abi.SAN_FOUND_PUBLISH_LDS, abi.SAN_FOUND_WAIT_LDS)


class Shadow:
    """Sanitizer state of one launch.

    Args:
        groups: work-groups of the launch.
        memories: device memory with a record of its written bytes, by address.
        heap: heap of malloc in kernels.
        variables: begin and end of each variable in the code object, by address.
        wave_size: lanes of the kernel's waves.

    Attributes:
        lost_writes: True if there was a write that could not be followed; valid after `take`.
        fault: first access that would have ended a launch without the sanitizer, None without one; valid
            after `take`.
    """

    def __init__(
        self,
        groups: int,
        memories: Sequence[Written] = (),
        heap: Allocation | None = None,
        variables: Sequence[tuple[int, int]] = (),
        *,
        wave_size: int,
    ) -> None:
        self._library = native_library(wave_size)
        self.lost_writes = False
        self.fault: CData | None = None
        self.pointer: CData = ffi.NULL
        self.pointer = self._library.hk_san_new(groups, _SHADOW_BYTES)
        if not self.pointer:
            raise LaunchError(f"no memory for the sanitizer's state of {groups} work-groups.")
        if memories:
            self._memories = ffi.new("SanMemory[]", [memory.table_entry() for memory in memories])
            self._library.hk_san_watch(self.pointer, self._memories, len(self._memories))
        if variables:
            self._variables = ffi.new("SanObject[]", variables)
            self._library.hk_san_know(self.pointer, self._variables, len(self._variables))
        if heap is not None:
            self._library.hk_san_watch_heap(self.pointer, heap.base, heap.end)

    def take(self, scene: Scene) -> tuple[RawFinding, ...]:
        """Takes the findings, by address of the instruction, and frees the state."""
        reports = ffi.new("SanReport[]", _ROOM)
        count = self._library.hk_san_take(self.pointer, reports, _ROOM)
        self.lost_writes = bool(self._library.hk_san_lost_writes(self.pointer))
        self.free()
        faults = (r for r in reports[0:count] if r.kind == abi.SAN_FOUND_FAULT)
        first = next(faults, None)
        self.fault = _fault_report(first) if first is not None else None
        # A value computed from an undefined one names its origin.
        origins = {int(r.other_pc) & _PC for r in reports[0:count] if r.kind in _FOLLOWED}
        selected = (
            r
            for r in reports[0:count]
            if r.kind != abi.SAN_FOUND_WITHIN
            and (r.kind != abi.SAN_FOUND_LANE_OFF or int(r.pc) not in origins)
        )
        within = {int(r.pc) for r in reports[0:count] if r.kind == abi.SAN_FOUND_WITHIN}
        racing = {int(pc) for r in reports[0:count] if r.kind in _UNORDERED for pc in (r.pc, r.other_pc)}
        ordered = sorted(selected, key=lambda report: (report.pc, report.kind))
        return tuple(_finding(scene, r, _category(scene, r, within), racing) for r in ordered)

    def __del__(self) -> None:
        # An interrupted launch has no findings.
        self.free()

    def free(self) -> None:
        """Free its memory; may be called again."""
        if self.pointer:
            self._library.hk_san_free(self.pointer)
            self.pointer = ffi.NULL


def _fault_report(report: CData) -> CData:
    """The driver's report of a fatal fault, made from a fault that did not end the launch."""
    detail = int(report.detail)
    fault = {
        "kind": detail >> abi.SAN_FAULT_KIND,
        "lane": report.lane,
        "address": report.address,
        "size": detail & abi.SAN_FAULT_SIZE,
        "is_write": bool(detail & abi.SAN_FAULT_WRITES),
    }
    where = {"group": report.group, "pc": report.pc, "has_pc": 1, "wave": report.wave}
    return ffi.new("FaultReport *", {"fault": fault, **where})


def _category(scene: Scene, report: CData, within: Container[int]) -> str:
    """Class of finding for a report.

    Args:
        within: instructions that have accessed the variable that they should access.
    """
    if report.kind == abi.SAN_FOUND_OBJECT:
        # Compilers turn `b[i - 16]` into an address before b, which may be in another variable.
        is_sure = int(report.pc) in within or not scene.has_data(int(report.address))
        return CLASSES[report.kind] if is_sure else "note"
    if report.kind == abi.SAN_FOUND_HAZARD and ALL_RULES[int(report.detail) >> 16].is_note:
        return "note"
    if report.kind == abi.SAN_FOUND_FAULT and int(report.detail) >> abi.SAN_FAULT_KIND == abi.FAULT_ALIGNMENT:
        return "misaligned"
    return CLASSES[report.kind]


def _finding(scene: Scene, report: CData, category: str, racing: Container[int]) -> RawFinding:
    """A report in words.

    Args:
        racing: instructions that access shared memory out of order with others.
    """
    other = int(report.other_pc)
    has_address = report.kind not in _WITHOUT_ADDRESS
    follows = report.kind in _FOLLOWED and other & _PC in racing
    return RawFinding(
        category=category,
        message=_message(scene, report),
        pc=int(report.pc),
        other_pc=None if other == _NO_ADDRESS else other & _PC,
        workgroup=group_id(scene.geometry, int(report.group)),
        wave=int(report.wave),
        lane=int(report.lane) if report.lane >= 0 else None,
        address=int(report.address) if has_address else None,
        count=int(report.count),
        kind=AFTER_RACE if follows else f"{_kind(report)} {_narrower(scene, report)}",
    )


def _kind(report: CData) -> str:
    is_read = report.kind == abi.SAN_FOUND_FAULT and not _fault_report(report).fault.is_write
    return READS_OUTSIDE if is_read else str(report.kind)


def _narrower(scene: Scene, report: CData) -> str:
    """Key that separates reports of one kind by their cause, wherever they are in the code."""
    match report.kind:
        case abi.SAN_FOUND_HAZARD:
            return ALL_RULES[int(report.detail) >> 16].name
        case abi.SAN_FOUND_RACE_GLOBAL | abi.SAN_FOUND_PAST:
            return _memory(scene, report, offset=False)
        case abi.SAN_FOUND_FAULT:
            fault = _fault_report(report).fault
            where = scene.memory.whereabouts(fault.address, fault.size, scene.device)
            return f"{fault.is_write} {re.sub('[0-9]+', '', where)}"
    return ""


def _where(scene: Scene, address: int) -> str:
    source = scene.source_of(address)
    where = f" (line {source[1]})" if source else ""
    return f"`{_text(scene, address)}`{where}"


def _text(scene: Scene, address: int) -> str:
    instruction = scene.instruction(address)
    return printer.text(instruction) if instruction else f"{address:#x}"


def _register(scene: Scene, row: int) -> str:
    offset = scene.kernel.descriptor.accum_offset
    return f"a{row - offset}" if offset and row >= offset else f"v{row}"


_ORDER = ("reads what {} wrote", "writes what {} read", "writes what {} wrote")


def _race(scene: Scene, report: CData, where: str) -> str:
    other = f"wave {report.other_wave}"
    same_group = report.other_group == report.group
    if not same_group:
        other += f" of work-group {group_id(scene.geometry, int(report.other_group))}"
    if same_group:
        remedy = "put __syncthreads() (s_barrier) between them"
    else:
        remedy = "work-groups of a launch are not ordered: use an atomic, or two launches"
        if scene.geometry.cluster_of(scene.kernel) != (1, 1, 1):
            remedy += ", or in a cluster its barrier, behind a wait for the store and before a global_inv"
    return (
        f"race in {where}: wave {report.wave} {_ORDER[report.detail].format(other)} at "
        f"{_where(scene, int(report.other_pc))}, with no barrier or atomic between them; {remedy}"
    )


def _wait(scene: Scene, request: Request, count: int | None = None) -> str:
    """The wait for a kind of requests, as the kernel's target writes it."""
    counter = waits_of(scene.kernel.descriptor.target).of(request)
    assert counter is not None, request
    return counter.wait(count)


def _request(detail: int) -> Request:
    """The kind of an access to LDS that is under way, by SAN_UNDER_WAY_*."""
    if detail & abi.SAN_UNDER_WAY_ASYNC:
        return Request.ASYNC
    if detail & abi.SAN_UNDER_WAY_TENSOR:
        return Request.TENSOR
    return Request.LOAD if detail & abi.SAN_UNDER_WAY_VECTOR else Request.LDS


def _shared(scene: Scene, report: CData) -> str:
    address = int(report.address)
    return f"shared memory at byte {address}{scene.shared_at(address)}"


def _overwrite(scene: Scene, report: CData) -> str:
    detail = int(report.detail)
    access = _where(scene, int(report.other_pc))
    own = detail & (abi.SAN_UNDER_WAY_OWN_READ | abi.SAN_UNDER_WAY_OWN_WRITE)
    direction = "read" if detail & (abi.SAN_UNDER_WAY_READ | abi.SAN_UNDER_WAY_OWN_READ) else "write"
    request = _request(detail)
    if own:
        what = "a load to LDS" if request is Request.LDS else "a write"
        return (
            f"missing wait: {what} overwrites {_shared(scene, report)} while the same wave's "
            f"{direction} {access} may still be in flight; nothing keeps the two in order: put an "
            f"{_wait(scene, request)} between them"
        )
    return (
        f"missing wait: {_shared(scene, report)} is written after a barrier that wave "
        f"{report.other_wave} passed before its {direction} {access} had to be complete; put "
        f"{_wait(scene, request)} before the barrier"
    )


def _hazard(scene: Scene, report: CData) -> str:
    detail = int(report.detail)
    there, needed, rule = detail & 255, detail >> 8 & 255, ALL_RULES[detail >> 16]
    name = unit_name(int(report.address))
    register = f"register {name}: " if name else ""
    missing = needed - there
    nops = " and ".join(f"s_nop {min(16, missing - done) - 1}" for done in range(0, missing, 16))
    pair = f"{register}{rule.after} ({_where(scene, int(report.other_pc))}), then {rule.before}"
    if rule.remedy and needed >= SEARCHED:
        return f"hazard: {pair}; hardware does not wait: put {rule.remedy} between them"
    if rule.remedy:
        return (
            f"hazard: {pair}, which needs {needed} vector instructions in between and has {there}; hardware "
            f"does not wait: put {f'{missing} times ' if missing > 1 and rule.remedy == V_NOP else ''}"
            f"{rule.remedy} between them"
        )
    if rule.is_note:
        return (
            f"hazard: {pair}, before which LLVM puts {needed} wait states where this code has {there}; AMD's "
            f"instruction set guides do not ask for them. To do as the compiler does, put {nops} between them"
        )
    return (
        f"hazard: {pair}, which needs {needed} wait states in between and has {there}; hardware does not "
        f"wait: put {nops}, or as many other instructions, between them"
    )


def _memory(scene: Scene, report: CData, offset: bool = True) -> str:
    """Allocation at the address of a report: " (argument 'x' (float32 tensor 64), byte 12, ...)"."""
    allocation = scene.memory.find(int(report.address))
    if allocation is None:
        return ""
    byte = int(report.address) - allocation.base
    place = f", byte {byte}" if offset else ""
    if offset and allocation.element:
        place += f", element {byte // allocation.element}"
    return f" ({allocation.describe().removeprefix('a ')}{place})"


def _variable(scene: Scene, origin: int, address: int, from_scratch: bool) -> str:
    """The declaration of what an instruction found unwritten, if debug information has it."""
    if origin == 0:
        return ""
    if from_scratch:
        place = ("scratch", 4 * (origin - 1))
    elif origin > abi.SAN_ORIGIN_SCALAR:
        place = ("s", origin - 1 - abi.SAN_ORIGIN_SCALAR)
    else:
        name = _register(scene, origin - 1)
        place = (name[0], int(name[1:]))
    variable = scene.variable_at(*place, address)
    return f"'{variable[0]}' (declared at line {variable[1]})" if variable else ""


def _origin(scene: Scene, report: CData) -> str:
    """Origin of an uninitialised value, and the remedy, in words."""
    origin = int(report.other_pc) & _PC
    instruction = scene.instruction(origin)
    if instruction is None:
        return ""
    memory = instruction.record.memory
    from_scratch = memory is not None and memory.access is Access.LOAD
    register = int(report.other_pc) >> abi.SAN_ORIGIN_WHAT
    variable = _variable(scene, register, origin, bool(from_scratch))
    is_read = memory is not None and memory.space is Space.LANES and register
    if memory is None or origin == report.pc or memory.access is Access.STORE or is_read:
        first = "" if origin == report.pc else f", first used by {_where(scene, origin)}"
        place = f"{variable}, which" if variable else "a register that"
        return f"; it comes from {place} was never written{first}: initialise the variable"
    if memory.space is Space.LANES:
        return (
            f"; it comes from a lane that is off: {_where(scene, origin)}. HIP leaves the result of __shfl "
            "undefined there: let all lanes that are read from take part"
        )
    if memory.space is Space.LDS:
        return (
            f"; it comes from shared memory: {_where(scene, origin)}. Initialise what this load reads before "
            "the barrier, with values that are initialised themselves"
        )
    if memory.space in (Space.SCRATCH, Space.FLAT):
        place = "a local array or variable" if memory.space is Space.SCRATCH else "uninitialised memory"
        return (
            f"; it comes from {variable or place}: {_where(scene, origin)}. Initialise every element that is "
            "read"
        )
    return (
        f"; it comes from uninitialised device memory: {_where(scene, origin)}. Memory from hipMalloc holds "
        "anything: fill it with hipMemset, hipMemcpy or a kernel first"
    )


def _heap(scene: Scene, report: CData) -> str:
    """An access to malloc's memory outside its allocations."""
    detail = int(report.detail)
    kind, size = detail >> abi.SAN_HEAP_WHAT & 0xFF, detail >> abi.SAN_HEAP_SIZE
    distance = detail & ((1 << abi.SAN_HEAP_WHAT) - 1)
    count = f"{distance} byte{'' if distance == 1 else 's'}"
    instruction = scene.instruction(int(report.pc))
    memory = instruction.record.memory if instruction else None
    does = "writes" if memory is not None and memory.access is not Access.LOAD else "reads"
    match kind:
        case abi.SAN_HEAP_PAST:
            place = (
                f"up to {count} past the end of a block of {size} bytes that malloc gave: ask for more bytes"
            )
        case abi.SAN_HEAP_BEFORE:
            place = f"{count} before the start of a block that malloc gave, where it keeps the block's size"
        case abi.SAN_HEAP_FREED:
            place = f"at byte {distance} of a block that was freed: free it after its last use"
        case _:
            place = "in the kernels' heap where malloc has given nothing"
    return f"a lane {does} {place}"


def _outside(scene: Scene, report: CData) -> str:
    """An access through a variable's address outside of the variable."""
    address, variable = int(report.address), scene.variable_of(int(report.detail))
    if variable is None:
        return "an access outside of a variable of the code object"
    past = address - (int(report.detail) + variable.size) + 1
    if past > 0:
        place = f"{past} byte{'' if past == 1 else 's'} past the end"
    else:
        before = int(report.detail) - address
        place = f"{before} bytes before the start" if before > 0 else "across the end"
    other = scene.variable_of(address)
    there = f", in '{demangle(other.name)}'" if other is not None and other is not variable else ""
    instruction = scene.instruction(int(report.pc))
    does = "reads" if instruction is not None and _accesses(instruction) is Access.LOAD else "writes"
    name = demangle(variable.name)
    return f"a lane {does} {place} of the variable '{name}' of {variable.size} bytes{there}: check its index"


def _lane_off(scene: Scene, report: CData) -> str:
    """The sentence for an instruction that reads a register of an inactive lane."""
    instruction = scene.instruction(int(report.pc))
    opcode = instruction.opcode if instruction is not None else "the instruction"
    gets = (
        "gets 0 on this target, and anything on others"
        if instruction is not None and instruction.record.memory is not None
        else "gets what is left there of the register, which may have held another value since"
    )
    return (
        f"{opcode} reads from lane {int(report.detail)}, which is off (EXEC), and {gets}: read it where that "
        "lane takes part, before the branch"
    )


def _wraps(scene: Scene, report: CData) -> str:
    """A buffer offset that is in range only if it wraps at 32 bits."""
    offset, added = int(report.address), int(report.detail)
    instruction = scene.instruction(int(report.pc))
    is_load = instruction is not None and _accesses(instruction) is Access.LOAD
    return (
        f"the buffer offset wraps: {offset - 2**32} in the register and {added} in the instruction make "
        f"{offset + added - 2**32}, which is in range, but hardware does not wrap at 32 bits and takes "
        f"{offset:#x} + {added} for out of range: {'it loads 0' if is_load else 'nothing is written'}. Keep "
        "the offset in the register from being negative; compilers fold the constant into the instruction"
    )


def _accesses(instruction: Instruction) -> Access | None:
    memory = instruction.record.memory
    return memory.access if memory is not None else None


def _message(scene: Scene, report: CData) -> str:
    other = int(report.other_pc)
    detail = int(report.detail)
    match report.kind:
        case abi.SAN_FOUND_WAIT_VECTOR | abi.SAN_FOUND_WAIT_LGKM:
            request = Request.LOAD if report.kind == abi.SAN_FOUND_WAIT_VECTOR else Request.LDS
            return (
                f"missing wait: {_register(scene, detail)} is used while its load {_where(scene, other)} may "
                f"still be in flight; expected an {_wait(scene, request)} between them"
            )
        case abi.SAN_FOUND_WAIT_SCALAR:
            return (
                f"missing wait: scalar register {detail} is used while its load {_where(scene, other)} may "
                "still be in flight; scalar loads return in any order: put "
                f"{_wait(scene, Request.SCALAR, 0)} between them"
            )
        case abi.SAN_FOUND_WAIT_LDS:
            request = _request(detail)
            write = "write" if request is Request.LDS else "load to LDS"
            return (
                f"missing wait: {_shared(scene, report)} is used while the {write} "
                f"{_where(scene, other)} of the same wave may still be in flight; expected an "
                f"{_wait(scene, request)} between them"
            )
        case abi.SAN_FOUND_PUBLISH_LDS:
            request = _request(detail)
            return (
                f"missing wait: shared memory is read after a barrier that wave {report.other_wave} "
                f"passed before its write {_where(scene, other)} had to be complete; put "
                f"{_wait(scene, request)} before the barrier"
            )
        case abi.SAN_FOUND_OVERWRITE_LDS:
            return _overwrite(scene, report)
        case abi.SAN_FOUND_RACE_LDS:
            return _race(scene, report, _shared(scene, report))
        case abi.SAN_FOUND_RACE_GLOBAL:
            return _race(scene, report, f"global memory{_memory(scene, report)}")
        case abi.SAN_FOUND_UNDEFINED_STORE:
            if detail:
                return "an atomic changes uninitialised device memory; fill it with hipMemset first"
            where = _memory(scene, report)
            return f"an uninitialised value is stored to global memory{where}" + _origin(scene, report)
        case abi.SAN_FOUND_UNDEFINED_BRANCH:
            return "an uninitialised value decides a branch, or which lanes go on" + _origin(scene, report)
        case abi.SAN_FOUND_UNDEFINED_ADDRESS:
            return "an uninitialised value is an address" + _origin(scene, report)
        case abi.SAN_FOUND_RANGE:
            return (
                f"the buffer resource reaches {detail} bytes past the end of its allocation"
                f"{_memory(scene, report, offset=False)}: it does not clamp accesses there; give "
                "make_srsrc the allocation's size"
            )
        case abi.SAN_FOUND_DROPPED:
            return (
                f"a load to LDS goes to byte {int(report.address)}, beyond the work-group's {detail} bytes, "
                "and has no effect there; right where that is meant to mask it"
            )
        case abi.SAN_FOUND_PAST:
            is_write = bool(detail & abi.SAN_FAULT_WRITES)
            return past_end(scene, int(report.address), detail & abi.SAN_FAULT_SIZE, is_write)
        case abi.SAN_FOUND_OBJECT:
            return _outside(scene, report)
        case abi.SAN_FOUND_LANE_OFF:
            return _lane_off(scene, report)
        case abi.SAN_FOUND_WRAPS:
            return _wraps(scene, report)
        case abi.SAN_FOUND_ALIGNMENT:
            return f"{_shared(scene, report)} is accessed by an instruction that needs a multiple of {detail}"
        case abi.SAN_FOUND_HAZARD:
            return _hazard(scene, report)
        case abi.SAN_FOUND_BARRIER:
            waves = "a wave that has" if detail == 1 else f"{detail} waves that have"
            return (
                f"the barrier is passed without {waves} ended: s_barrier does not wait for them, but "
                "__syncthreads() needs every thread of the block; leave the kernel after the last barrier"
            )
        case abi.SAN_FOUND_HEAP:
            return _heap(scene, report)
        case abi.SAN_FOUND_OVERRUN:
            return f"a lane {beyond_shared(scene, _fault_report(report).fault)}: check the index"
        case abi.SAN_FOUND_FAULT:
            return what_happened(scene, _fault_report(report))
    raise AssertionError(report.kind)


__all__ = ["CLASSES", "Shadow"]
