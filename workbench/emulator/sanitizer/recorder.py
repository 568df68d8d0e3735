"""What the sanitizer is told of each instruction: registers read and written, its kind, where it accesses.

Only code that is translated for sanitizing has these records. They are handed to native/observe/sanitizer in
runs: a run ends before an instruction whose addresses or lanes must be looked up in registers, before EXEC
changes, and at the end of its block.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.native.ops import NATIVE, Rows
from workbench.emulator.native.ops.matrix import DENSE, SMALL, SPARSE
from workbench.emulator.sanitizer.hazards import Hazards, wait_states
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.translate.block import BlockTranslator, Unsupported
from workbench.emulator.translate.operands import is_dpp, is_sdwa
from workbench.errors import UnsupportedInstruction


class Recorder:
    """Collects a block's records and puts the calls that hand them over into its code."""

    def __init__(self, translator: BlockTranslator, rows: Rows, hazards: Hazards) -> None:
        self._translator = translator
        self._rows = rows
        self._hazards = hazards
        self._pending: list[bytes] = []

    def before(self, instruction: Instruction) -> None:
        """Record an instruction; call after `begin`, before its own code is made."""
        try:
            record = describe(instruction, self._rows)
        except (Unsupported, UnsupportedInstruction):
            return  # the translation is about to be refused for the same reason
        if self._hazards.found:
            self._pending += hazard_records(instruction, self._hazards)
        if record is not None:
            self._pending.append(bytes(ffi.buffer(record)))
        if instruction.opcode in ENDS_BLOCK or (record is not None and _needs_state(instruction, record)):
            self.hand_over()

    def hand_over(self) -> None:
        """Call the sanitizer with what has been recorded."""
        if not self._pending:
            return
        block = self._translator
        block.close_run()
        block.flush()
        data = b"".join(self._pending)
        words = struct.unpack(f"<{len(data) // 4}I", data)
        name = f"@{block.name}_san{len(block.constants)}"
        text = ", ".join(f"i32 {word}" for word in words)
        block.constants.append(f"{name} = private constant [{len(words)} x i32] [{text}], align 8")
        block.emitter.call(
            "declare void @hk_san_run(ptr, ptr, i32)",
            None,
            "@hk_san_run",
            f"ptr %wave, ptr {name}, i32 {len(self._pending)}",
        )
        self._pending.clear()


def hazard_records(instruction: Instruction, hazards: Hazards) -> Iterator[bytes]:
    """What follows the pairs of `hazards` through the run: checks first, then what begins here."""
    address = instruction.address
    offset = hazards.offsets.get(address, 0)
    for number in hazards.by_consumer.get(address, ()):
        hazard = hazards.found[number]
        op = {"pc": address, "imm": (hazard.producer, hazard.unit)}
        yield _record(
            op=op, kind=abi.SAN_HAZARD, imm=number, flags=offset, reserved=hazard.rule, bytes=hazard.wanted
        )
    for number in hazards.by_producer.get(address, ()):
        yield _record(kind=abi.SAN_MARK, imm=number, flags=offset + wait_states(instruction))
    if address in hazards.lengths:
        yield _record(kind=abi.SAN_STATES, imm=hazards.lengths[address])


def _record(**fields: Any) -> bytes:
    return bytes(ffi.buffer(ffi.new("SanOp *", fields)))


def _needs_state(instruction: Instruction, record: CData) -> bool:
    """Whether the record can only be looked at right before its instruction."""
    if record.kind == abi.SAN_MEMORY or record.flags & abi.SAN_TO_EXEC:
        return True
    if record.kind in (abi.SAN_READ_LANE, abi.SAN_WRITE_LANE) and record.imm == abi.SAN_IN_REGISTER:
        return True
    return any(o.kind == "s" and o.index >= abi.EXEC - 1 for o in instruction.dst)


def describe(instruction: Instruction, rows: Rows) -> CData | None:
    """The record of an instruction; None for one that the sanitizer has no interest in."""
    record = ffi.new("SanOp *")
    record.op.pc = instruction.address
    format = instruction.format
    opcode = instruction.opcode
    if opcode == "s_waitcnt":
        record.kind = abi.SAN_WAIT
        record.imm = _wait(int(instruction.src[0].value or 0))
    elif format == "SOPP":
        return _program(record, instruction)
    elif format == "SMEM":
        return _scalar_memory(record, instruction)
    elif format.startswith("SOP"):
        _scalar(record, instruction)
    elif opcode in DENSE or opcode in SMALL or opcode in SPARSE:
        _matrix(record, instruction, rows)
    elif format.startswith(("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")):
        return _memory(record, instruction, rows)
    elif format.startswith("VOP"):
        _vector(record, instruction, rows)
    else:
        return None
    return record


def _wait(value: int) -> int:
    """vmcnt | lgkmcnt << 8 of s_waitcnt's field on gfx9; the greatest count waits for nothing."""
    vector = value & 15 | value >> 10 & 0x30
    other = value >> 8 & 15
    return (abi.SAN_NOT_WAITED if vector == 63 else vector) | (
        abi.SAN_NOT_WAITED if other == 15 else other
    ) << 8


def _program(record: CData, instruction: Instruction) -> CData | None:
    opcode = instruction.opcode
    if opcode in ("s_cbranch_scc0", "s_cbranch_scc1"):
        record.kind = abi.SAN_BRANCH
        record.ssrc[0], record.ssrc_count[0] = abi.SAN_SCC, 1
    elif opcode in ("s_cbranch_vccz", "s_cbranch_vccnz"):
        record.kind = abi.SAN_BRANCH
        record.ssrc[0], record.ssrc_count[0] = abi.VCC, 2
    else:
        return None
    return record


def _set_scalar_source(record: CData, position: int, operand: Operand) -> None:
    if position >= abi.SAN_SOURCES:
        return
    if operand.kind == "s":
        record.ssrc[position] = operand.index
        record.ssrc_count[position] = min(operand.width, 128 - operand.index)
    elif operand.kind == "special" and operand.index == 251:
        record.ssrc[position], record.ssrc_count[position] = abi.VCC, 2
    elif operand.kind == "special" and operand.index == 253:
        record.ssrc[position], record.ssrc_count[position] = abi.SAN_SCC, 1


def _set_vector_source(record: CData, position: int, operand: Operand, rows: Rows) -> None:
    if position < abi.SAN_SOURCES and operand.kind in ("v", "a"):
        record.src[position] = rows.row(operand)
        record.src_count[position] = operand.width


def _set_results(record: CData, operands: Sequence[Operand], rows: Rows | None) -> None:
    scalars = 0
    for operand in operands:
        if operand.kind == "s" and scalars < 2:
            record.sdst[scalars] = operand.index
            record.sdst_count[scalars] = min(operand.width, 128 - operand.index)
            scalars += 1
        elif operand.kind in ("v", "a") and rows is not None and not record.dst_count:
            record.dst = rows.row(operand)
            record.dst_count = operand.width


# ---- Scalar instructions ---------------------------------------------------------------------------------

_BIT_OPERATION = re.compile(
    r"s_(and|or|xor|andn1|andn2|orn1|orn2|nand|nor|xnor|not|mov|cselect|cmov)"
    r"(_saveexec|_wrexec)?_b(32|64)$"
)
_BIT_RULES = {
    "and": abi.SAN_BITS_AND,
    "nand": abi.SAN_BITS_AND,
    "andn1": abi.SAN_BITS_AND,
    "or": abi.SAN_BITS_OR,
    "nor": abi.SAN_BITS_OR,
    "orn1": abi.SAN_BITS_OR,
    "andn2": abi.SAN_BITS_ANDN2,
    "cselect": abi.SAN_BITS_SELECT,
}
# 64-bit results of which one dword often comes from registers whose other half nobody wrote.
_CARRIES = {
    **dict.fromkeys(
        ("v_mad_u64_u32", "v_mad_i64_i32", "v_lshl_add_u64", "v_lshlrev_b64", "s_lshl_b64"), abi.SAN_CARRY
    ),
    **dict.fromkeys(("v_lshrrev_b64", "v_ashrrev_i64", "s_lshr_b64", "s_ashr_i64"), abi.SAN_CARRY_DOWN),
}
_READS_SCC = ("s_cselect", "s_addc", "s_subb", "s_cmov")
_KEEPS_SCC = re.compile(
    r"s_(mov|cmov|cselect|mul|mulk|mul_hi|sext|brev|bfm|pack|ff0|ff1|flbit|bitset|bitreplicate|getpc|setpc|"
    r"swappc|call|getreg|setreg|rfe|movk|cmovk|movrel|set_gpr)"
)
_READS_RESULT = ("s_addk", "s_mulk", "s_bitset", "s_cmov")


def _scalar(record: CData, instruction: Instruction) -> None:
    opcode = instruction.opcode
    for position, operand in enumerate(instruction.src):
        _set_scalar_source(record, position, operand)
    _set_results(record, instruction.dst, None)
    if opcode.startswith("s_setreg"):
        record.sdst_count[0] = 0
    if opcode.startswith(_READS_SCC):
        _set_scalar_source(record, 3, Operand("special", 253, 1))
    if opcode.startswith(_READS_RESULT) and instruction.dst:
        _set_scalar_source(record, 2, instruction.dst[0])
    if opcode in ("s_setpc_b64", "s_swappc_b64", "s_call_b64"):
        record.kind = abi.SAN_BRANCH
        return
    if not _KEEPS_SCC.match(opcode):
        record.flags |= abi.SAN_WRITES_SCC
    sources = instruction.src
    if len(sources) == 2 and sources[0].kind == "s" and sources[0] == sources[1]:
        record.flags |= abi.SAN_SAME if opcode.startswith(("s_xor", "s_sub", "s_andn2", "s_cmp")) else 0
    record.kind = abi.SAN_SCALAR
    if opcode in _CARRIES:
        record.kind = abi.SAN_WORDS
        record.flags |= _CARRIES[opcode]
    operation = _BIT_OPERATION.match(opcode)
    if operation is None:
        return
    record.kind = abi.SAN_SCALAR_BITS
    name, to_exec, _ = operation.groups()
    rule = _BIT_RULES.get(name, abi.SAN_BITS_ANY)
    if name == "cselect" and any(operand.kind == "imm" for operand in sources):
        # A constant on one side: the result is taken to be defined as far as the condition is.
        record.ssrc_count[0] = record.ssrc_count[1] = 0
    if to_exec:
        _set_scalar_source(record, 1, Operand("s", abi.EXEC, 2))
    if to_exec or any(o.kind == "s" and o.index == abi.EXEC for o in instruction.dst):
        record.flags |= abi.SAN_TO_EXEC
    record.flags |= rule << 24


_SCALAR_WRITES = ("s_store", "s_buffer_store", "s_scratch_store", "s_atomic", "s_buffer_atomic")


def _scalar_memory(record: CData, instruction: Instruction) -> CData | None:
    if instruction.opcode.startswith(_SCALAR_WRITES):
        record.kind, record.space, record.flags = abi.SAN_MEMORY, abi.SAN_SMEM, abi.SAN_STORE
        _set_scalar_source(record, 0, instruction.src[1])
        return record
    if not instruction.dst:
        return None
    record.kind, record.space, record.flags = abi.SAN_MEMORY, abi.SAN_SMEM, abi.SAN_LOAD
    record.op.ssrc0 = record.op.ssrc1 = abi.NO_REGISTER
    if instruction.opcode.startswith(("s_load", "s_buffer_load")) and instruction.src[0].kind == "s":
        base, *others = instruction.src
        record.op.ssrc0 = base.index
        record.op.offset = instruction.modifiers.get("offset", 0)
        record.flags |= abi.SAN_RESOURCE if instruction.opcode.startswith("s_buffer") else 0
        for operand in others:
            if operand.kind == "s":
                record.op.ssrc1 = operand.index
            elif operand.kind in ("imm", "simm"):
                record.op.offset += int(operand.value or 0)
    for position, operand in enumerate(instruction.src):
        _set_scalar_source(record, position, operand)
    _set_results(record, instruction.dst, None)
    return record


# ---- Matrix instructions ---------------------------------------------------------------------------------


def _matrix(record: CData, instruction: Instruction, rows: Rows) -> None:
    opcode = instruction.opcode
    record.kind = abi.SAN_MATRIX
    _set_results(record, instruction.dst, rows)
    for position, operand in enumerate(instruction.src):
        _set_vector_source(record, position, operand, rows)
        _set_scalar_source(record, position, operand)
    if opcode in SPARSE:
        a, b, indices = instruction.src[-3:]
        for position, operand in enumerate((a, b, instruction.dst[0], indices)):
            _set_vector_source(record, position, operand, rows)
    shape = DENSE.get(opcode) or SMALL.get(opcode) or SPARSE[opcode]
    simple = shape.blocks == 1 and shape.m in (16, 32) and shape.type_d != "f64"
    record.columns = shape.m if simple else 0


# ---- Vector instructions ---------------------------------------------------------------------------------

_KEEP = ("v_fmac", "v_mac", "v_pk_fmac", "v_dot2c", "v_dot4c", "v_dot8c")
# Of what these put together, parts are left out by a mask, a selector, or the reader of the result.
_SELECTS = (
    "v_cndmask",
    "v_perm",
    "v_align",
    "v_bfi",
    "v_cvt_pk",
    "v_cvt_sr",
    "v_cvt_scalef32",
    "v_pack",
    "v_pk_mov",
)
_CARRY_IN = ("v_cndmask", "v_addc", "v_subb", "v_subbrev")
_WORDS = ("v_mov_b64", "v_pk_fma_f32", "v_pk_mul_f32", "v_pk_add_f32")


def _vector(record: CData, instruction: Instruction, rows: Rows) -> None:
    opcode = instruction.opcode
    sources = instruction.src
    if opcode in ("v_readlane_b32", "v_readfirstlane_b32"):
        _read_lane(record, instruction, rows)
        return
    if opcode == "v_writelane_b32":
        _write_lane(record, instruction, rows)
        return
    if opcode == "v_swap_b32" or opcode.startswith("v_permlane"):
        first, second = (*instruction.dst, *sources)[:2]
        record.kind, record.flags = abi.SAN_SHUFFLE, abi.SAN_KEEP
        _set_results(record, (first,), rows)
        _set_vector_source(record, 0, second, rows)
        _set_vector_source(record, 1, first, rows)
        return
    record.kind = abi.SAN_VECTOR
    _set_results(record, instruction.dst, rows)
    for position, operand in enumerate(sources):
        _set_vector_source(record, position, operand, rows)
        _set_scalar_source(record, position, operand)
    if opcode.startswith(_CARRY_IN):
        record.flags |= abi.SAN_MASK_SOURCE
        if len(sources) < 3:
            _set_scalar_source(record, 3, Operand("s", abi.VCC, 2))
    if opcode.startswith("v_div_fmas"):
        record.flags |= abi.SAN_MASK_SOURCE
        _set_scalar_source(record, 3, Operand("s", abi.VCC, 2))
    if opcode.startswith("v_cmp") and not instruction.dst:
        _set_results(record, (Operand("s", abi.VCC, 2),), rows)
    if opcode.startswith("v_cmpx"):
        record.flags |= abi.SAN_TO_EXEC
    if opcode.startswith(_KEEP):
        record.flags |= abi.SAN_KEEP
    if is_dpp(instruction):
        record.flags |= abi.SAN_CROSS
        modifiers = instruction.modifiers
        whole = modifiers.get("row_mask", 0) == modifiers.get("bank_mask", 0) == 15
        if not (whole and modifiers.get("bound_ctrl")):
            record.flags |= abi.SAN_DPP
    elif opcode in _CARRIES:
        record.kind = abi.SAN_WORDS
        record.flags |= _CARRIES[opcode]
    elif opcode in _WORDS and not is_sdwa(instruction):
        record.kind = abi.SAN_WORDS
        modifiers = instruction.modifiers
        if opcode == "v_mov_b64":
            record.flags |= abi.SAN_KEEP
        for position in range(len(sources)):
            low = modifiers.get("op_sel", 0) >> position & 1
            high = modifiers.get("op_sel_hi", 0) >> position & 1
            record.imm |= (low | high << 1) << 2 * position
    elif opcode.startswith(_SELECTS):
        record.flags |= abi.SAN_SELECT
        record.imm = int(any(operand.kind in ("imm", "simm") for operand in sources[:2]))
    same = len(sources) >= 2 and sources[0].kind in ("v", "a") and sources[0] == sources[1]
    if same and opcode.startswith(("v_xor", "v_sub_u", "v_sub_co", "v_sub_i")):
        record.flags |= abi.SAN_SAME


def _read_lane(record: CData, instruction: Instruction, rows: Rows) -> None:
    record.kind = abi.SAN_READ_LANE
    _set_results(record, instruction.dst, rows)
    _set_vector_source(record, 0, instruction.src[0], rows)
    record.imm = abi.SAN_FIRST_ACTIVE
    if instruction.opcode == "v_readlane_b32":
        lane = instruction.src[1]
        record.imm = abi.SAN_IN_REGISTER if lane.kind == "s" else int(lane.value or 0) & 63
        _set_scalar_source(record, 0, lane)


def _write_lane(record: CData, instruction: Instruction, rows: Rows) -> None:
    record.kind = abi.SAN_WRITE_LANE
    _set_results(record, instruction.dst, rows)
    value, lane = instruction.src[:2]
    _set_scalar_source(record, 0, value)
    _set_scalar_source(record, 1, lane)
    record.imm = abi.SAN_IN_REGISTER if lane.kind == "s" else int(lane.value or 0) & 63


# ---- Memory ----------------------------------------------------------------------------------------------

_SPACES = (
    ("ds_", abi.SAN_LDS),
    ("global_", abi.SAN_GLOBAL),
    ("flat_", abi.SAN_FLAT),
    ("scratch_", abi.SAN_SCRATCH),
    ("buffer_", abi.SAN_BUFFER),
    ("tbuffer_", abi.SAN_BUFFER),
)
_LANES = ("ds_bpermute", "ds_permute", "ds_swizzle")
_WIDTHS = (
    (re.compile(r"_dwordx4|_b128|b96_tr"), 16),
    (re.compile(r"_dwordx3|_b96"), 12),
    (re.compile(r"_dwordx2|_b64|_x2$|_f64|_u64|_i64"), 8),
    (re.compile(r"byte|_[ui]8|_b8"), 1),
    (re.compile(r"short|_[ui]16|_b16(_d16_hi)?$"), 2),
)


@cache
def _bytes(opcode: str) -> int:
    """Bytes of memory that a lane accesses, at each address."""
    if "_tr_" in opcode:
        return 12 if "b96" in opcode else 8
    if "atomic" in opcode or (opcode.startswith("ds_") and not opcode.startswith(("ds_read", "ds_write"))):
        return 8 if re.search(r"_x2$|64$", opcode) else 4
    return next((size for pattern, size in _WIDTHS if pattern.search(opcode)), 4)


def _memory(record: CData, instruction: Instruction, rows: Rows) -> CData | None:
    opcode = instruction.opcode
    record.kind = abi.SAN_MEMORY
    record.space = next((space for prefix, space in _SPACES if opcode.startswith(prefix)), abi.SAN_GLOBAL)
    native = NATIVE.get(opcode)
    if native is None:
        if opcode.startswith(("buffer_inv", "buffer_wb")):
            record.flags = abi.SAN_PLAIN_ADDRESS
            return record
        return None
    record.op = ffi.from_buffer("Op *", native.encode(instruction, rows).record(instruction.address))[0]
    record.bytes = _bytes(opcode)
    _set_results(record, instruction.dst, rows)
    _memory_operands(record, instruction, rows)
    modifiers = instruction.modifiers
    if opcode.startswith(_LANES):
        record.space = abi.SAN_LDS_LANES
        return record
    if "_load_lds_" in opcode or modifiers.get("lds"):
        record.flags |= abi.SAN_TO_LDS
        _set_scalar_source(record, 4, Operand("s", abi.M0, 1))
    if record.space == abi.SAN_LDS:
        _lds(record, opcode)
        return record
    if "atomic" in opcode:
        record.flags |= abi.SAN_REPLACES if "swap" in opcode else 0
        record.flags |= abi.SAN_ATOMIC | (abi.SAN_LOAD if record.dst_count else 0)
    else:
        record.flags |= abi.SAN_STORE if "_store_" in opcode else abi.SAN_LOAD
    if record.space in (abi.SAN_GLOBAL, abi.SAN_FLAT, abi.SAN_BUFFER) and modifiers.get("sc1"):
        record.flags |= abi.SAN_SYNC
    if "format" in opcode:
        record.flags |= abi.SAN_PLAIN_ADDRESS
    return record


def _memory_operands(record: CData, instruction: Instruction, rows: Rows) -> None:
    """Source 0 is the address, the others data."""
    sources = instruction.src
    is_buffer = instruction.format.startswith(("MUBUF", "MTBUF"))
    address = sources[-3] if is_buffer else sources[0] if sources else None
    position = 1
    for number, operand in enumerate(sources):
        if operand is address:
            _set_vector_source(record, 0, operand, rows)
        elif operand.kind in ("v", "a"):
            _set_vector_source(record, position, operand, rows)
            position += 1
        _set_scalar_source(record, number, operand)
    if instruction.opcode.startswith("buffer_atomic") and instruction.dst:
        _set_vector_source(record, position, instruction.dst[0], rows)


def _lds(record: CData, opcode: str) -> None:
    if opcode.startswith("ds_read"):
        record.flags |= abi.SAN_LOAD
    elif opcode.startswith("ds_write"):
        record.flags |= abi.SAN_STORE
    else:
        record.flags |= abi.SAN_ATOMIC
    if opcode.startswith(("ds_read2", "ds_write2")):
        record.flags |= abi.SAN_TWO
    if "_tr_" in opcode:
        record.flags |= abi.SAN_TRANSPOSED
    if "addtid" in opcode or opcode.startswith(("ds_append", "ds_consume", "ds_wrxchg2", "ds_gws", "ds_nop")):
        record.flags |= abi.SAN_PLAIN_ADDRESS


__all__ = ["Recorder", "describe"]
