"""Records for the sanitizer of vector and matrix instructions."""

from __future__ import annotations

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Combines, Keeps, Lanes, Matrix, Registers, Trait
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData
from workbench.emulator.native.ops import Rows
from workbench.emulator.sanitizer.op_fields import CARRIES, set_results, set_scalar_source, set_vector_source
from workbench.targets import target


def matrix_instruction(record: CData, instruction: Instruction, shape: Matrix, rows: Rows) -> None:
    """Fill the record of a matrix instruction."""
    record.kind = abi.SAN_MATRIX
    set_results(record, instruction.dst, rows)
    for position, operand in enumerate(instruction.src):
        set_vector_source(record, position, operand, rows)
        set_scalar_source(record, position, operand, rows.mask_words)
    if shape.sparse:
        a, b, indices = instruction.src[-3:]
        for position, operand in enumerate((a, b, instruction.dst[0], indices)):
            set_vector_source(record, position, operand, rows)
    # The places of rows and columns are MFMA's; of WMMA, whole registers are followed.
    is_mfma = target(rows.target).matrix_passes is not None
    simple = is_mfma and shape.blocks == 1 and shape.m in (16, 32) and shape.type_d != "f64"
    record.columns = shape.m if simple else 0


def vector_instruction(record: CData, instruction: Instruction, rows: Rows) -> None:
    """Fill the record of another vector instruction."""
    sources, isa_record = instruction.src, instruction.record
    if isa_record.lanes is Lanes.READ:
        _read_lane(record, instruction, rows)
        return
    if isa_record.lanes is Lanes.WRITE:
        _write_lane(record, instruction, rows)
        return
    if Trait.EXCHANGES in isa_record.traits:
        first, second = (*instruction.dst, *sources)[:2]
        record.kind, record.flags = abi.SAN_SHUFFLE, abi.SAN_KEEP
        record.imm = isa_record.swap_distance
        set_results(record, (first,), rows)
        set_vector_source(record, 0, second, rows)
        set_vector_source(record, 1, first, rows)
        return
    record.kind = abi.SAN_VECTOR
    set_results(record, instruction.dst, rows)
    for position, operand in enumerate(sources):
        set_vector_source(record, position, operand, rows)
        set_scalar_source(record, position, operand, rows.mask_words)
    if Trait.MASK_SOURCE in isa_record.traits:
        record.flags |= abi.SAN_MASK_SOURCE
    if Registers.VCC in isa_record.reads:
        record.ssrc[3], record.ssrc_count[3] = registers.VCC, rows.mask_words
    if Registers.EXEC in isa_record.writes:
        record.flags |= abi.SAN_TO_EXEC
    if isa_record.keeps is Keeps.VALUE:
        record.flags |= abi.SAN_KEEP
    if instruction.form.is_dpp:
        record.flags |= abi.SAN_CROSS
        if registers.leaves_lanes(instruction):
            record.flags |= abi.SAN_DPP
    else:
        _combine(record, instruction)
    same = len(sources) >= 2 and sources[0].kind in ("v", "a") and sources[0] == sources[1]
    if same and Trait.CANCELS in isa_record.traits:
        record.flags |= abi.SAN_SAME


def _combine(record: CData, instruction: Instruction) -> None:
    """Records which parts of the sources the result depends on."""
    combines, modifiers = instruction.record.combines, instruction.modifiers
    if combines in CARRIES:
        record.kind = abi.SAN_WORDS
        record.flags |= CARRIES[combines]
    elif combines is Combines.DWORDS and not instruction.form.is_sdwa:
        record.kind = abi.SAN_WORDS
        if "op_sel_hi" not in modifiers:
            record.flags |= abi.SAN_KEEP
        for position in range(len(instruction.src)):
            low = modifiers.get("op_sel", 0) >> position & 1
            high = modifiers.get("op_sel_hi", 0) >> position & 1
            record.imm |= (low | high << 1) << 2 * position
    elif combines is Combines.PARTS:
        record.flags |= abi.SAN_SELECT
        record.imm = int(any(operand.kind in ("imm", "simm") for operand in instruction.src[:2]))


def _read_lane(record: CData, instruction: Instruction, rows: Rows) -> None:
    record.kind = abi.SAN_READ_LANE
    set_results(record, instruction.dst, rows)
    set_vector_source(record, 0, instruction.src[0], rows)
    record.imm = abi.SAN_FIRST_ACTIVE
    if len(instruction.src) > 1:
        lane = instruction.src[1]
        record.imm = abi.SAN_IN_REGISTER if lane.kind == "s" else int(lane.value or 0) % rows.wave_size
        set_scalar_source(record, 0, lane, rows.mask_words)


def _write_lane(record: CData, instruction: Instruction, rows: Rows) -> None:
    record.kind = abi.SAN_WRITE_LANE
    set_results(record, instruction.dst, rows)
    value, lane = instruction.src[:2]
    set_scalar_source(record, 0, value, rows.mask_words)
    set_scalar_source(record, 1, lane, rows.mask_words)
    record.imm = abi.SAN_IN_REGISTER if lane.kind == "s" else int(lane.value or 0) % rows.wave_size
