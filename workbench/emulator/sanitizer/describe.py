"""Records for the sanitizer of each instruction: registers read and written, kind, memory access."""

from __future__ import annotations

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Combines, Control, Keeps, Registers, Trait
from workbench.codeobject.waits import requests_left
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.ops import Rows
from workbench.emulator.sanitizer.describe_memory import apart, scalar_memory, tile_copy, vector_memory
from workbench.emulator.sanitizer.describe_vector import matrix_instruction, vector_instruction
from workbench.emulator.sanitizer.op_fields import CARRIES, set_results, set_scalar_source
from workbench.emulator.semantics.control import WORK_GROUP_BARRIER, barrier_number
from workbench.targets import Request

_BIT_RULES = {
    Combines.BITS: abi.SAN_BITS_ANY,
    Combines.AND: abi.SAN_BITS_AND,
    Combines.OR: abi.SAN_BITS_OR,
    Combines.AND_NOT: abi.SAN_BITS_ANDN2,
    Combines.CHOICE: abi.SAN_BITS_SELECT,
}


def describe(instruction: Instruction, rows: Rows) -> CData | None:
    """The record of an instruction; None if the sanitizer ignores it."""
    record = ffi.new("SanOp *")
    record.op.pc = instruction.address
    isa_record = instruction.record
    if isa_record.control is Control.WAIT:
        record.kind = abi.SAN_WAIT
        record.imm = _wait(instruction, Request.LOAD, Request.LDS, Request.SCALAR, Request.STORE)
        record.op.imm[0] = _wait(instruction, Request.ASYNC, Request.TENSOR)
        record.flags = apart(instruction)
    elif isa_record.control is Control.SIGNAL:
        if barrier_number(instruction) != WORK_GROUP_BARRIER:
            return None  # ops/barriers.c records it, which knows the number that M0 has
        record.kind = abi.SAN_ARRIVES
    elif instruction.format == "SOPP":
        return _program(record, instruction, rows.mask_words)
    elif instruction.format == "SMEM" and isa_record.memory is not None:
        return scalar_memory(record, instruction, isa_record.memory)
    elif Trait.COPIES_TILES in isa_record.traits:
        return tile_copy(record, instruction, rows)
    elif isa_record.memory is not None:
        return vector_memory(record, instruction, isa_record.memory, rows)
    elif isa_record.matrix is not None:
        matrix_instruction(record, instruction, isa_record.matrix, rows)
    elif instruction.form.is_vector:
        vector_instruction(record, instruction, rows)
    else:
        _scalar(record, instruction, rows.mask_words)
    return record


def _wait(instruction: Instruction, *kinds: Request) -> int:
    """Requests of each kind that a wait leaves, a byte each."""
    left = [requests_left(instruction, kind) for kind in kinds]
    counts = (abi.SAN_NOT_WAITED if count is None else count for count in left)
    return sum(count << 8 * place for place, count in enumerate(counts))


def _program(record: CData, instruction: Instruction, mask_words: int) -> CData | None:
    reads = instruction.record.reads
    if Registers.SCC in reads:
        record.ssrc[0], record.ssrc_count[0] = abi.SAN_SCC, 1
    elif Registers.VCC in reads:
        record.ssrc[0], record.ssrc_count[0] = abi.VCC, mask_words
    else:
        return None
    record.kind = abi.SAN_BRANCH
    return record


def _scalar(record: CData, instruction: Instruction, mask_words: int) -> None:
    isa_record = instruction.record
    sources = instruction.src
    for position, operand in enumerate(sources):
        set_scalar_source(record, position, operand, mask_words)
    set_results(record, instruction.dst, None)
    if Registers.SCC in isa_record.reads:
        set_scalar_source(record, 3, registers.SCC, mask_words)
    if isa_record.keeps is Keeps.VALUE:
        set_scalar_source(record, 2, instruction.dst[0], mask_words)
    if isa_record.pipeline == "branch":
        record.kind = abi.SAN_BRANCH
        return
    if Registers.SCC in isa_record.writes:
        record.flags |= abi.SAN_WRITES_SCC
    if Trait.CANCELS in isa_record.traits and sources[0].kind == "s" and sources[0] == sources[1]:
        record.flags |= abi.SAN_SAME
    record.kind = abi.SAN_SCALAR
    if isa_record.combines in CARRIES:
        record.kind = abi.SAN_WORDS
        record.flags |= CARRIES[isa_record.combines]
    if isa_record.combines not in _BIT_RULES:
        return
    record.kind = abi.SAN_SCALAR_BITS
    if isa_record.combines is Combines.CHOICE and any(operand.kind == "imm" for operand in sources):
        # With a constant on one side, the result counts as defined where the condition is.
        record.ssrc_count[0] = record.ssrc_count[1] = 0
    if Registers.EXEC in isa_record.reads:
        record.ssrc[1], record.ssrc_count[1] = registers.EXEC, mask_words
    if Registers.EXEC in isa_record.writes or any(
        o.kind == "s" and o.index == abi.EXEC for o in instruction.dst
    ):
        record.flags |= abi.SAN_TO_EXEC
    record.flags |= _BIT_RULES[isa_record.combines] << 24
