"""Records for the sanitizer of memory instructions."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Lanes, Memory, Space, Trait
from workbench.codeobject.waits import counter_of
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.ops import NATIVE, OpFields, Rows
from workbench.emulator.sanitizer.op_fields import set_results, set_scalar_source, set_vector_source
from workbench.targets import Request
from workbench.targets import target as target_record

_SPACES = {
    Space.LDS: abi.SAN_LDS,
    Space.GLOBAL: abi.SAN_GLOBAL,
    Space.FLAT: abi.SAN_FLAT,
    Space.SCRATCH: abi.SAN_SCRATCH,
    Space.BUFFER: abi.SAN_BUFFER,
    Space.LANES: abi.SAN_LDS_LANES,
    Space.GWS: abi.SAN_LDS,
}
_DWORD = 4
_TAKES = {Lanes.GATHER: abi.SAN_INDEXED, Lanes.SWIZZLE: abi.SAN_PATTERN}
_ACCESSES = {Access.LOAD: abi.SAN_LOAD, Access.STORE: abi.SAN_STORE, Access.ATOMIC: abi.SAN_ATOMIC}


def vector_memory(record: CData, instruction: Instruction, memory: Memory, rows: Rows) -> CData | None:
    """The record of a vector memory instruction; None if the sanitizer ignores it."""
    record.kind = abi.SAN_MEMORY
    record.space = _SPACES[memory.space]
    native = NATIVE.get(instruction.opcode)
    if native is not None and copies(instruction):
        return _copy(record, instruction, native.encode(instruction, rows), rows)
    if native is None:
        if memory.access is Access.NONE:
            return cache_control(record, instruction)
        if memory.space is Space.BUFFER:
            record.flags = abi.SAN_PLAIN_ADDRESS
            return record
        return None
    record.op = ffi.from_buffer("Op *", native.encode(instruction, rows).record(instruction.address))[0]
    record.bytes = memory.bytes or _DWORD
    set_results(record, instruction.dst, rows)
    _memory_operands(record, instruction, rows)
    if memory.space is Space.LANES:
        record.flags = _TAKES.get(instruction.record.lanes, 0)
        return record
    record.flags |= _ACCESSES[memory.access] | apart(instruction)
    record.flags |= abi.SAN_ASYNC if Trait.ASYNCHRONOUS in instruction.record.traits else 0
    if memory.access is Access.ATOMIC and record.dst_count:
        record.flags |= abi.SAN_LOAD
    if memory.space is Space.LDS:
        _lds(record, memory)
        return record
    modifiers = instruction.modifiers
    if memory.to_lds or modifiers.get("lds"):
        record.flags |= abi.SAN_TO_LDS
        set_scalar_source(record, 4, registers.M0)
    if memory.access is Access.ATOMIC and memory.exchanges:
        record.flags |= abi.SAN_REPLACES
    if memory.space is not Space.SCRATCH and memory.access is not Access.ATOMIC:
        record.flags |= _scope(modifiers)
    if not memory.bytes:
        record.flags |= abi.SAN_PLAIN_ADDRESS
    return record


def copies(instruction: Instruction) -> bool:
    """True if an instruction copies between memory and LDS by a counter of its own."""
    memory, traits = instruction.record.memory, instruction.record.traits
    is_lanes = memory is not None and memory.space is Space.GLOBAL and Trait.ASYNCHRONOUS in traits
    return is_lanes or Trait.COPIES_TILES in traits


def tile_copy(record: CData, instruction: Instruction, rows: Rows) -> CData:
    """The record of a copy of a tensor's tile."""
    return _copy(record, instruction, NATIVE[instruction.opcode].encode(instruction, rows), rows)


def _copy(record: CData, instruction: Instruction, fields: OpFields, rows: Rows) -> CData:
    """The record of a copy: source 0 is the address in memory, source 2 that in LDS."""
    record.kind, record.space = abi.SAN_MEMORY, abi.SAN_GLOBAL
    record.op = ffi.from_buffer("Op *", fields.record(instruction.address))[0]
    is_load = fields.function in ("hk_async_to_lds", "hk_tensor_to_lds")
    record.flags = abi.SAN_LOAD | abi.SAN_TO_LDS if is_load else abi.SAN_STORE
    record.flags |= apart(instruction)
    for position, operand in enumerate(instruction.src):
        set_scalar_source(record, position, operand)
    if Trait.COPIES_TILES in instruction.record.traits:
        record.flags |= abi.SAN_TENSOR
        return record
    record.flags |= abi.SAN_ASYNC
    record.bytes = fields.imm[0]
    written, read, *_ = instruction.src
    set_vector_source(record, 0, read if is_load else written, rows)
    set_vector_source(record, 2, written if is_load else read, rows)
    return record


def apart(instruction: Instruction) -> int:
    """SAN_APART for a target that counts stores apart from loads."""
    return (
        0
        if counter_of(instruction, Request.LOAD) is counter_of(instruction, Request.STORE)
        else abi.SAN_APART
    )


_GROUP, _DEVICE = 1, 2
"""Scopes of gfx12 instructions in place of CDNA's bits: SCOPE_SE, and SCOPE_DEV, above which is SCOPE_SYS."""


def _scope(modifiers: Mapping[str, int]) -> int:
    """The scope of a load or store: from sc0 and sc1; on gfx90a from glc, which loads of any scope have."""
    scope = modifiers.get("scope", 0)
    if scope >= _DEVICE or modifiers.get("sc1") or modifiers.get("glc"):
        return abi.SAN_SYNC | abi.SAN_DEVICE
    return abi.SAN_SYNC if scope == _GROUP or modifiers.get("sc0") else 0


def cache_control(record: CData, instruction: Instruction) -> CData | None:
    """The record of an instruction that writes back or invalidates a cache for other compute units."""
    traits, modifiers = instruction.record.traits, instruction.modifiers
    is_wide = bool(modifiers.get("sc1")) or modifiers.get("scope", 0) >= _DEVICE
    # gfx90a's have no scope: invalidations are for the device, buffer_wbl2 for the whole system.
    if Trait.INVALIDATES in traits and (is_wide or not instruction.form.modifiers):
        record.imm = abi.SAN_INVALIDATES
    elif Trait.INVALIDATES in traits and modifiers.get("scope") == _GROUP:
        # Work-groups of a cluster share all but the first cache (LLVM's memory model of gfx1250).
        record.imm = abi.SAN_INVALIDATES_NEAR
    elif Trait.WRITES_BACK in traits and is_wide:
        record.imm = abi.SAN_WRITES_BACK
    else:
        return None
    record.kind = abi.SAN_CACHE
    record.flags = apart(instruction)
    return record


def _memory_operands(record: CData, instruction: Instruction, rows: Rows) -> None:
    """Source 0 is the address, the others data."""
    sources = instruction.src
    is_buffer = instruction.form.is_buffer
    address = sources[-3] if is_buffer else sources[0] if sources else None
    position = 1
    for number, operand in enumerate(sources):
        if operand is address:
            set_vector_source(record, 0, operand, rows)
        elif operand.kind in ("v", "a"):
            set_vector_source(record, position, operand, rows)
            position += 1
        set_scalar_source(record, number, operand)


def _lds(record: CData, memory: Memory) -> None:
    if memory.addresses == 2 and memory.access is not Access.ATOMIC:
        record.flags |= abi.SAN_TWO
    elif memory.addresses != 1:
        record.flags |= abi.SAN_PLAIN_ADDRESS
    if memory.transposed:
        record.flags |= abi.SAN_TRANSPOSED


def scalar_memory(record: CData, instruction: Instruction, memory: Memory) -> CData | None:
    """The record of a scalar memory instruction; None if the sanitizer ignores it."""
    if memory.access in (Access.STORE, Access.ATOMIC):
        record.kind, record.space, record.flags = abi.SAN_MEMORY, abi.SAN_SMEM, abi.SAN_STORE
        set_scalar_source(record, 0, instruction.src[1])
        return record
    if not instruction.dst:
        return None
    record.kind, record.space, record.flags = abi.SAN_MEMORY, abi.SAN_SMEM, abi.SAN_LOAD
    record.op.ssrc0 = record.op.ssrc1 = abi.NO_REGISTER
    if memory.access is Access.LOAD:
        base, *others = instruction.src
        record.op.ssrc0 = base.index
        record.op.offset = instruction.modifiers.get("offset", 0)
        if memory.space is Space.SCALAR_BUFFER:
            record.flags |= abi.SAN_RESOURCE
            record.op.flags = (
                abi.WIDE_RESOURCE if target_record(instruction.form.target).has_wide_resources else 0
            )
        for operand in others:
            if operand.kind == "s":
                record.op.ssrc1 = operand.index
            elif operand.kind in ("imm", "simm"):
                record.op.offset += int(operand.value or 0)
    for position, operand in enumerate(instruction.src):
        set_scalar_source(record, position, operand)
    set_results(record, instruction.dst, None)
    return record
