"""Turns a launch's fault into an exception that says where and why in the kernel's own terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench import errors
from workbench.codeobject import Instruction, KernelInfo, Symbol, printer
from workbench.codeobject.names import demangle
from workbench.codeobject.shared import SharedArray
from workbench.emulator.native import abi
from workbench.emulator.node import hostcall
from workbench.emulator.node.allocations import Memory
from workbench.emulator.node.console import Assertion
from workbench.emulator.node.dispatch import Geometry, Outcome
from workbench.live_tensors import tensor_text, tensors_at

_NEAR = 4096
"""Distance from an allocation, in bytes, up to which an address is taken for an index error."""

GRID_STATE = "hidden_multigrid_sync_arg"
"""The hidden argument that points to the barrier of a grid; 0 unless the launch is cooperative."""

_GRID_STATE_BYTES = 48
_MOST_PIECES = 6

SourceOf = Callable[[int], tuple[str, int, int] | None]
SharedArrays = Callable[[str, int], tuple[SharedArray, ...]]
VariableOf = Callable[[int], Symbol | None]
VariableAt = Callable[[str, int, int], tuple[str, int] | None]


@dataclass(frozen=True)
class Scene:
    """Facts about a launch at the fault of one of its waves.

    Attributes:
        kernel: facts about the kernel.
        blocks: basic blocks of the kernel, each with `address` and `instructions`.
        geometry: shape of the launch.
        memory, device: the node's memory and the device's ordinal, to look up addresses.
        shared_bytes, scratch_bytes: LDS of a work-group and scratch of a lane, in bytes.
        shared_given: bytes of LDS that hardware allocates to the work-group, in its granularity.
        source_of: returns the source position of a code object address, from debug information.
        variable_at: returns name and line of the variable in a register or scratch at a code object address,
            from debug information.
        shared_arrays: returns the variables in the shared memory of a kernel with this many bytes, from debug
            information.
        variable_of: returns the code object's variable that contains a device address.
        has_data: returns True if the code object may have data at an address, even without a name.
        cooperative: True if work-groups may wait for each other.
    """

    kernel: KernelInfo
    blocks: Any
    geometry: Geometry
    memory: Memory
    device: int
    shared_bytes: int
    scratch_bytes: int
    source_of: SourceOf
    variable_at: VariableAt
    shared_given: int = 0
    shared_arrays: SharedArrays = lambda kernel, total: ()
    variable_of: VariableOf = lambda address: None
    has_data: Callable[[int], bool] = lambda address: False
    cooperative: bool = False

    @cached_property
    def _instructions(self) -> dict[int, Instruction]:
        return {
            instruction.address: instruction for block in self.blocks for instruction in block.instructions
        }

    def instruction(self, address: int) -> Instruction | None:
        return self._instructions.get(address)

    def shared_at(self, byte: int) -> str:
        """The variable at a byte of shared memory, " ('tile' of line 3, byte 12)"; "" if not known.

        Dynamic shared memory, which has no names in a code object, begins after the variables.
        """
        total = self.kernel.descriptor.group_segment_fixed_size
        if 0 < total <= byte < self.shared_bytes:
            return f" (dynamic shared memory, byte {byte - total})"
        for variable in self.shared_arrays(self.kernel.name, total):
            if variable.first <= byte < variable.first + variable.size:
                return f" ('{variable.name}' of line {variable.line}, byte {byte - variable.first})"
        return ""

    def who(self, address: int | None) -> str:
        """Kernel and source line, for the beginning of a message."""
        source = self.source_of(address) if address is not None else None
        line = f" at {source[0]}:{source[1]}" if source else ""
        return f"kernel {self.kernel.short_name}{line}"

    def instruction_at(self, address: int | None) -> str:
        """Instruction and where it is, for the end of a message."""
        if address is None:
            return "unknown instruction"
        instruction = self.instruction(address)
        text = f"`{printer.text(instruction)}` " if instruction else ""
        return f"{text}at code address {address:#x}"


def group_id(geometry: Geometry, index: int) -> tuple[int, int, int]:
    """Coordinates of a work-group from its linear index, x fastest."""
    x, y, _ = geometry.groups
    return index % x, index // x % y, index // (x * y)


_CLASSES: dict[int, type[errors.KernelFault]] = {
    abi.FAULT_ADDRESS: errors.AddressFault,
    abi.FAULT_READ_ONLY: errors.AddressFault,
    abi.FAULT_ALIGNMENT: errors.AddressFault,
    abi.FAULT_LDS: errors.SharedMemoryFault,
    abi.FAULT_SCRATCH: errors.ScratchFault,
    abi.FAULT_TRAP: errors.TrapFault,
    abi.FAULT_HALT: errors.TrapFault,
    abi.FAULT_JUMP: errors.JumpFault,
    abi.FAULT_END: errors.EndFault,
    abi.FAULT_UNSUPPORTED: errors.TrapFault,
    abi.FAULT_SERVICE: errors.TrapFault,
    abi.FAULT_MASK: errors.TrapFault,
    abi.FAULT_TENSOR: errors.TrapFault,
}


def exception(scene: Scene, report: abi.CData, assertions: Sequence[Assertion] = ()) -> errors.KernelFault:
    """The typed exception for a fault report; assertions that failed explain a trap."""
    fault = report.fault
    kind = int(fault.kind)
    if kind == abi.FAULT_TRAP:
        mine = [a for a in assertions if a.group == int(report.group)]
        if mine:
            return _assertion(scene, report, mine)
    address = _address(scene, report)
    cause = what_happened(scene, report)
    who = _work_item(scene, report)
    error = _CLASSES.get(kind, errors.KernelFault)(
        f"{scene.who(address)}: {who} {cause} ({scene.instruction_at(address)}).",
        cause=cause,
        kernel=scene.kernel.name,
        address=address,
        source=scene.source_of(address) if address is not None else None,
        workgroup=group_id(scene.geometry, int(report.group)),
        wave=int(report.wave),
        lane=int(fault.lane) if fault.lane >= 0 else None,
    )
    if isinstance(error, errors.AddressFault):
        error.memory_address = int(fault.address)
    return error


def _assertion(scene: Scene, report: abi.CData, failed: Sequence[Assertion]) -> errors.AssertionFault:
    """The exception for assertions of one work-group, from the first work-item's."""
    first = failed[0]
    wave, lane = divmod(first.item, scene.kernel.wave_size)
    x, y, _ = scene.geometry.block
    item = (first.item % x, first.item // x % y, first.item // (x * y))
    group = group_id(scene.geometry, first.group)
    more = f" (and of {len(failed) - 1} more in this block)" if len(failed) > 1 else ""
    cause = (
        f"assertion `{first.condition}` failed in {first.function} for thread {item} of block {group}{more}"
    )
    return errors.AssertionFault(
        f"kernel {scene.kernel.short_name} at {first.file}:{first.line}: {cause}.",
        cause=cause,
        kernel=scene.kernel.name,
        address=_address(scene, report),
        source=(first.file, first.line, 0),
        workgroup=group,
        wave=wave,
        lane=lane,
    )


def timeout(
    scene: Scene, report: abi.CData | None, seconds: float, remedy: str, waiting: str = ""
) -> errors.KernelTimeout:
    """The exception for a launch that ran past its time limit; `waiting` is the text of `waits`."""
    event = f"stopped after its time limit of {seconds:g} s"
    if report is None:
        return errors.KernelTimeout(f"{scene.who(None)}: {event}. {remedy}", kernel=scene.kernel.name)
    address = int(scene.blocks[report.block].address) if report.block >= 0 else None
    group = group_id(scene.geometry, int(report.group))
    at_barriers = _waiting(scene, report)
    event += f"; wave {report.wave} in work-group {group} was in the block that begins with "
    event += scene.instruction_at(address) + (f" ({at_barriers})" if at_barriers else "")
    event += f"; {waiting}" if waiting else ""
    return errors.KernelTimeout(
        f"{scene.who(address)}: {event}. {remedy}",
        cause=f"{event}. {remedy}",
        kernel=scene.kernel.name,
        address=address,
        source=scene.source_of(address) if address is not None else None,
        workgroup=group,
        wave=int(report.wave),
    )


_PLACES = 3
"""Places of waiting that a message names."""


def deadlock(scene: Scene, outcome: Outcome) -> errors.KernelDeadlock:
    """The exception for a launch whose work-groups waited for memory that nothing could change any more."""
    first = outcome.waits[0] if outcome.waits else None
    address = first.pc if first is not None else None
    if outcome.begun < scene.geometry.group_count:
        remedy = (
            "Launch no more than the device holds at once "
            "(hipOccupancyMaxActiveBlocksPerMultiprocessor times its compute units), or let work-groups wait "
            "only for earlier ones."
        )
    else:
        remedy = (
            "All work-groups have started: look for the one that should have written there. No other kernel "
            "runs at the same time."
        )
    cause = f"deadlock: no work-group can continue; {waits(scene, outcome)}. {remedy}"
    return errors.KernelDeadlock(
        f"{scene.who(address)}: {cause}",
        cause=cause,
        kernel=scene.kernel.name,
        address=address,
        source=scene.source_of(address) if address is not None else None,
        workgroup=group_id(scene.geometry, first.group) if first is not None else None,
        wave=first.wave if first is not None else None,
    )


def waits(scene: Scene, outcome: Outcome) -> str:
    """Waiting work-groups, memory and line of each wait, and groups that never started; "" for none."""
    if not outcome.waits:
        return ""
    places: dict[tuple[int, int, int, int], list[int]] = {}
    for wait in outcome.waits:
        pc = wait.pc if wait.bytes else int(scene.blocks[wait.block].address)
        places.setdefault((pc, wait.address, wait.bytes, wait.value), []).append(wait.group)
    most = sorted(places.items(), key=lambda item: (-len(item[1]), item[1]))
    parts = [
        f"{_groups(scene, groups)} {'waits' if len(groups) == 1 else 'wait'} {_for_what(scene, *place)}"
        for place, groups in most[:_PLACES]
    ]
    others = sum(len(groups) for _, groups in most[_PLACES:])
    if others:
        parts.append(f"{others} more wait at {len(most) - _PLACES} other places")
    total = scene.geometry.group_count
    if outcome.begun < total:
        never = range(outcome.begun, total)
        parts.append(
            f"{_groups(scene, never)} never started: the device holds {outcome.resident} of them at once"
        )
    return "; ".join(parts)


def _groups(scene: Scene, indices: Sequence[int]) -> str:
    """ "work-group 7" or "all 304 work-groups, 0 to 303": by number in one dimension, or by coordinates."""
    _, y, z = scene.geometry.groups

    def name(index: int) -> str:
        return str(index if y == z == 1 else group_id(scene.geometry, index))

    first, last = indices[0], indices[-1]
    if len(indices) == 1:
        return f"work-group {name(first)}"
    between = "" if last - first + 1 == len(indices) else ", not all,"
    return f"{len(indices)} work-groups from {name(first)} to {name(last)}{between}"


def _for_what(scene: Scene, pc: int, address: int, size: int, value: int) -> str:
    source = scene.source_of(pc)
    where = f"at {source[0]}:{source[1]}" if source else f"at code address {pc:#x}"
    if not size:
        return where
    held_bytes = min(size, 8)
    holds = f"{'which hold' if size == held_bytes else 'of which the first 8 hold'} {value}"
    if held_bytes in (4, 8) and value >= 1 << 31:
        holds += f" ({value:#x})"
    return f"{where} for {size} byte{'' if size == 1 else 's'} {_location(scene, address)}, {holds}"


def _location(scene: Scene, address: int) -> str:
    """Location of memory that a kernel may access, in words."""
    if address & abi.APERTURE_MASK == abi.SHARED_APERTURE:
        byte = address & ~abi.APERTURE_MASK
        return f"of shared memory at byte {byte}{scene.shared_at(byte)}"
    variable = scene.variable_of(address)
    allocation = scene.memory.find(address)
    if variable is not None:
        return f"at {address:#x}, in variable '{demangle(variable.name)}'"
    if allocation is None:
        return f"at {address:#x}"
    return f"at {address:#x}, byte {address - allocation.base} of {allocation.describe()}"


def interruption(scene: Scene, outcome: Outcome) -> errors.KernelInterrupt:
    """The exception for a launch that a person stopped: what ran, where it was, and its progress."""
    report = outcome.stopped_at
    address = int(scene.blocks[report.block].address) if report is not None and report.block >= 0 else None
    total = scene.geometry.group_count
    lines = [
        f"{scene.who(address)} was interrupted after {outcome.seconds:.1f} s",
        f"{outcome.groups_done:,} of {total:,} work-groups had ended ({outcome.groups_done / total:.0%})",
    ]
    if report is not None:
        group = group_id(scene.geometry, int(report.group))
        at_barriers = _waiting(scene, report)
        where = f"wave {report.wave} in work-group {group} was in the block that begins with"
        lines.append(f"{where} {scene.instruction_at(address)}{f' ({at_barriers})' if at_barriers else ''}")
    if waiting := waits(scene, outcome):
        lines.append(waiting)
    lines.append("work-groups that ended have written their results; the rest of the outputs is unchanged")
    return errors.KernelInterrupt("\n".join(lines))


def _address(scene: Scene, report: abi.CData) -> int | None:
    if report.has_pc:
        return int(report.pc)
    if report.fault.kind == abi.FAULT_SERVICE:
        # The block in which the wave waits for the response; the request was sent before.
        return int(scene.blocks[report.block].address) if 0 <= report.block < len(scene.blocks) else None
    if 0 <= report.block < len(scene.blocks):
        instructions = scene.blocks[report.block].instructions
        # A jump is the last instruction of its block.
        return int(instructions[-1].address) if instructions else None
    return None


def _work_item(scene: Scene, report: abi.CData) -> str:
    """Such as "lane 3 of wave 0 in work-group (0, 0, 0)"."""
    lane = int(report.fault.lane)
    subject = f"lane {lane} of wave {report.wave}" if lane >= 0 else f"wave {report.wave}"
    return f"{subject} in work-group {group_id(scene.geometry, int(report.group))}"


def what_happened(scene: Scene, report: abi.CData) -> str:
    """The fault without who did it where: "read 4 bytes at ..."."""
    fault = report.fault
    verb = "wrote" if fault.is_write else "read"
    size = f"{fault.size} byte{'' if fault.size == 1 else 's'}"
    match fault.kind:
        case abi.FAULT_ADDRESS:
            service = _missing_service(int(fault.address))
            if service:
                return service
            where = scene.memory.whereabouts(fault.address, fault.size, scene.device)
            address = int(fault.address)
            there = _tensor_there(scene, address) or _no_grid(scene, address)
            return f"{verb} {size} at {address:#x}, {where}{there}"
        case abi.FAULT_READ_ONLY:
            return f"wrote {size} at {fault.address:#x}, in memory that is read-only"
        case abi.FAULT_ALIGNMENT:
            return f"{verb} at {fault.address:#x}, which is not a multiple of {fault.size}"
        case abi.FAULT_LDS:
            return (
                f"{verb} {size} of shared memory at byte {_signed(fault.address)}, "
                f"outside the work-group's {scene.shared_bytes} bytes"
            )
        case abi.FAULT_SCRATCH:
            return (
                f"{verb} {size} of scratch at byte {_signed(fault.address)}, "
                f"outside the lane's {scene.scratch_bytes} bytes"
            )
        case abi.FAULT_TRAP:
            reason = " (a failed assertion or __builtin_trap)" if fault.address == 2 else ""
            return f"executed trap {fault.address}{reason}"
        case abi.FAULT_MASK:
            lanes = fault.size | fault.is_write << 32
            return _wrong_mask(int(fault.address), lanes, scene.kernel.wave_size)
        case abi.FAULT_HALT:
            return "halted itself"
        case abi.FAULT_JUMP:
            return f"jumped to {fault.address:#x}, where no instruction of the code object begins"
        case abi.FAULT_END:
            return (
                "ran past the end of its function, which has no s_endpgm and no return there: the "
                "compiler considered this path impossible, as after __builtin_unreachable(), an endless loop "
                "without effects, or a missing return. A GPU executes whatever follows"
            )
        case abi.FAULT_UNSUPPORTED:
            return "reached a form of an instruction that the emulated device does not execute"
        case abi.FAULT_TENSOR:
            return _TENSORS[int(fault.address)]
        case abi.FAULT_SERVICE:
            return _refused_service(_signed(int(fault.address)))
    return f"met fault {fault.kind}"


_TENSORS = {
    abi.TENSOR_TYPE: "has a tensor descriptor whose type, bits 127:126 of the first group, is not 2: set "
    "it to 2",
    abi.TENSOR_RESERVED: "has a tensor descriptor with bits of the first group set that belong to the "
    "hardware, 29:2 or 125:121: clear them",
    abi.TENSOR_CLUSTER: "has a tensor descriptor whose bits 15:0 of the second group name work-groups that "
    "its cluster does not have, or not the work-group itself: outside of clusters clear them, and else have each "
    "work-group that they name do the same copy",
}


def beyond_shared(scene: Scene, fault: abi.CData) -> str:
    """An access beyond a kernel's shared memory, and its effect on hardware.

    For example "read 4 bytes of shared memory at byte 256, up to 4 bytes past the end of the kernel's 256
    bytes; hardware rounds them up to 1,280, so that it gets what another kernel left there".
    """
    size, total, address = int(fault.size), scene.shared_bytes, int(fault.address)
    allocated = scene.shared_given
    # Offsets are added in 32 bits: a huge offset is a negative one.
    at = address - 2**32 if 2**31 <= address < 2**32 else address
    place = f"{-at:,} bytes before the start" if at < 0 else f"up to {at + size - total:,} bytes past the end"
    if address + size <= allocated:
        outcome = "the write harms nothing" if fault.is_write else "it gets what another kernel left there"
        effect = f"hardware rounds them up to {allocated:,}, so that {outcome}"
    else:
        effect = f"no memory is there, so that {'the write is dropped' if fault.is_write else 'it gets 0'}"
    verb = "wrote" if fault.is_write else "read"
    count = f"{size} byte{'' if size == 1 else 's'}"
    return f"{verb} {count} of shared memory at byte {at}, {place} of the kernel's {total:,} bytes; {effect}"


def overrun(scene: Scene, report: abi.CData) -> str:
    """Description of accesses beyond shared memory in a launch without the sanitizer, from an `HkOverrun`."""
    address = int(report.pc)
    group = group_id(scene.geometry, int(report.group))
    who = f"lane {report.first.lane} of wave {report.wave} in work-group {group}"
    others = f"; {report.count:,} such accesses in all" if report.count > 1 else ""
    return (
        f"{scene.who(address)}: {who} {beyond_shared(scene, report.first)} "
        f"({scene.instruction_at(address)}){others}. "
        "A GPU does not stop there; HIPKITTENS_SHARED_BOUNDS=exact does, and wb.sanitize lists every place."
    )


def past_end(scene: Scene, base: int, bytes_past: int, is_write: bool) -> str:
    """Describes an access past the end of memory, in the allocator's padding, and its effect on hardware.

    Args:
        base: base address of the memory.
        bytes_past: bytes from the memory's end to the end of the access.
    """
    allocation = scene.memory.find(base)
    where = "" if allocation is None else f" of {allocation.describe_at(allocation.end + bytes_past - 1)}"
    verb, effect = (
        ("wrote", f"rounds up to {abi.STORAGE_BLOCK} bytes, so that the write harms nothing")
        if is_write
        else ("read", "cuts tensors from larger memory, so that it gets what lies there")
    )
    return (
        f"{verb} {bytes_past} byte{'' if bytes_past == 1 else 's'} past the end{where}; on a GPU PyTorch's "
        f"allocator {effect}"
    )


def past(scene: Scene, report: abi.CData) -> str:
    """Message about accesses past the end of tensors in a launch without the sanitizer, from an `HkPast`."""
    base = int(report.base)
    allocation = scene.memory.find(base)
    bytes_past = int(report.end) - (base if allocation is None else allocation.end)
    return (
        f"{scene.who(None)} {past_end(scene, base, bytes_past, bool(report.is_write))}. "
        "HIPKITTENS_BOUNDS=exact stops there, and wb.sanitize lists every place."
    )


def _tensor_there(scene: Scene, address: int) -> str:
    """The live tensor that contains an address which no launch may access, and how to make it accessible.

    Not for addresses near an allocation: an index error is not meant for another tensor.
    """
    if scene.memory.is_near(address, _NEAR):
        return ""
    tensor = tensors_at([address]).get(address)
    if tensor is None:
        return ""
    return (
        f"; a {tensor_text(tensor)} of this process lies there: if the kernel has its address, put "
        "`with wb.lend(tensor):` around the launch"
    )


def _no_grid(scene: Scene, address: int) -> str:
    """Explanation for a grid group in a launch that is not cooperative; "" for any other fault."""
    uses_grid = any(arg.value_kind == GRID_STATE for arg in scene.kernel.args)
    if scene.cooperative or not uses_grid or address >= _GRID_STATE_BYTES:
        return ""
    return (
        "; sync() of a grid group uses what lies there, and only a cooperative launch has it: is_valid() is "
        "false here. Launch with hipLaunchCooperativeKernel, from Python with kernel.cooperative[grid, block]"
    )


def _missing_service(address: int) -> str:
    """Explanation for a fault through a hidden argument whose service an emulated device lacks; else ""."""
    if address & abi.APERTURE_MASK == abi.HEAP_APERTURE:
        return _NO_HEAP
    return ""


_NO_HEAP = (
    "called malloc or free of ROCm's device libraries, which find no heap for kernels: "
    "allocate with hipMalloc before the launch, or compile with the workbench's headers"
)


def _refused_service(service: int) -> str:
    """Explanation for a hostcall that an emulated device does not serve."""
    match service:
        case hostcall.DEVICE_MEMORY:
            return _NO_HEAP
        case hostcall.FUNCTION_CALL:
            return (
                "called a function of the host (hostcall service 1), which an emulated device does not do: "
                "leave the results in memory and call it after the launch"
            )
        case hostcall.SANITIZER:
            return (
                "reported to ROCm's address sanitizer (hostcall service 4), which an emulated device "
                "does not have: compile without -fsanitize=address and use wb.sanitize"
            )
    return (
        f"made a hostcall of service {service}, which ROCm does not define; an emulated device serves printf "
        "and assert"
    )


def _waiting(scene: Scene, report: abi.CData) -> str:
    """Which waves wait at which barrier, and which have ended."""
    places: dict[int, list[int]] = {}
    ended = []
    for index in range(report.wave_count):
        wave = report.waves[index]
        if wave.state in (abi.WAVE_WAITING, abi.WAVE_AWAITING):
            places.setdefault(int(wave.pc), []).append(index)
        elif wave.state == abi.WAVE_ENDED:
            ended.append(index)
    parts = []
    for address, waves in places.items():
        source = scene.source_of(address)
        where = f"{source[0]}:{source[1]}" if source else f"code address {address:#x}"
        parts.append(f"{_waves(waves)} {'waits' if len(waves) == 1 else 'wait'} at {where}")
    if parts and ended:
        parts.append(f"{_waves(ended)} {'has' if len(ended) == 1 else 'have'} ended")
    return ", ".join(parts)


def _wrong_mask(mask: int, lanes: int, wave_size: int) -> str:
    """Explanation for lanes that called a function with a wrong mask; bit i is lane i."""
    missing, strange = mask & ~lanes, lanes & ~mask
    half = "; a wave has 64 lanes, so CUDA's 0xffffffff names half of them" if wave_size == 64 else ""
    wrong = []
    if missing:
        wrong.append(f"{_lanes(missing)} of the mask {'do' if missing.bit_count() > 1 else 'does'} not")
    if strange:
        wrong.append(f"{_lanes(strange)} {'are' if strange.bit_count() > 1 else 'is'} not in the mask")
    return (
        f"called a function with the lane mask {mask:#x}, but the lanes that execute this call with it are "
        f"{_lanes(lanes)} ({lanes:#x}): {', and '.join(wrong)}. ROCm's headers trap here: pass exactly the "
        "lanes that take part, such as ~0ull outside of branches, or a __ballot(condition) from before "
        f"`if (condition)`{half}"
    )


def _lanes(mask: int) -> str:
    """ "lane 3" or "lanes 0-31, 40"; "32 lanes, from 1 to 63" if there are many pieces."""
    indices = [index for index in range(abi.MAX_LANES) if mask >> index & 1]
    text = _ranges(indices)
    if text.count(",") > _MOST_PIECES:
        return f"{len(indices)} lanes, from {indices[0]} to {indices[-1]}"
    return f"lane{'' if len(indices) == 1 else 's'} {text}"


def _waves(indices: list[int]) -> str:
    """ "wave 3" or "waves 0-2, 5"."""
    return f"wave{'' if len(indices) == 1 else 's'} {_ranges(indices)}"


def _ranges(indices: list[int]) -> str:
    """Numbers in order as "0-2, 5"."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
