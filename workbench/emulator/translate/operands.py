"""Operands and results of vector instructions: reading and writing them, for any operation.

This is the one place for what every lane-wise instruction shares: register kinds, source modifiers (abs, neg,
sext), op_sel, SDWA selects, DPP lane patterns, denormal flushing, output modifiers, clamp, and how 16-bit
results share a dword. Semantics see typed values and return typed values.
"""

from __future__ import annotations

from workbench.codeobject.decoder_gfx11 import decodes
from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import (
    KINDS,
    V_F16,
    V_F32,
    V_F64,
    V_I1,
    V_I16,
    V_I32,
    V_I64,
    join,
)
from workbench.emulator.translate.ir import I16, I64, LANES, Value, floating, integer
from workbench.emulator.translate.options import Unsupported

_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
_SDWA_DWORD = 6


def prepare(block: BlockTranslator, operands: tuple[tuple[Operand, str], ...]) -> None:
    """End the open run if an operand needs what its body writes; called before anything is fetched."""
    instruction = block.instruction
    for operand, kind in operands:
        if kind == "mask":
            if operand.kind == "s":
                block.prepare_mask(operand.index)
        elif operand.kind == "s":
            block.prepare_scalar(operand.index, max(operand.width, KINDS[kind][1] if kind in KINDS else 1))
        elif operand.kind == "special" and operand.index == 251:
            block.prepare_scalar(abi.VCC, block.function.mask_words)
    if instruction.form.is_dpp and _crosses_rows(instruction.modifiers.get("dpp_ctrl", 0)):
        operand = instruction.src[0]
        for word in range(operand.width):
            if block.writes_row(block.row_of(operand) + word):
                block.close_run()


def fetch(block: BlockTranslator, operand: Operand, kind: str, position: int) -> Value:
    """A source operand as a value of its kind, modifiers applied.

    Args:
        position: index of the source (0, 1, 2), for op_sel, SDWA and DPP.
    """
    if kind == "mask":
        if operand.kind != "s":
            raise Unsupported("a lane mask that is not in scalar registers")
        if block.is_null(operand.index):
            return block.emitter.const(V_I1, 0)
        return block.open_run().mask(operand.index)
    instruction = block.instruction
    modifiers = instruction.modifiers
    type, words = KINDS[kind]
    if words == 2:
        value = (
            _dpp_quad(block, operand, kind)
            if position == 0 and instruction.form.is_dpp
            else block.quad(operand, kind)
        )
    elif position == 0 and instruction.form.is_dpp:
        value = _dpp(block, instruction, operand, 0).bitcast(V_F32 if kind == "f32" else V_I32)
        if operand.half:
            value = value.lshr(16)
    elif position < 2 and instruction.form.is_sdwa:
        value = _select(block, operand, modifiers.get(f"src{position}_sel", _SDWA_DWORD), kind)
    else:
        value = block.dword(operand, 0, kind == "f32", kind)
        if (
            type.bits == 16
            and operand.kind not in ("imm", "simm")
            and (modifiers.get("op_sel", 0) >> position & 1 or operand.half)
        ):
            value = value.lshr(16)
    if type.bits == 16:
        value = _narrow(block, value).bitcast(type)
    if value.type.is_float or kind.startswith("b"):
        # An untyped operand's modifiers change its sign bit, as in v_cndmask_b32.
        value = modified(block, value, operand)
        if value.type.is_float:
            value = flush_source(block, value)
    elif operand.neg or operand.abs:
        raise Unsupported("a source modifier on an integer operand")
    return value


def _narrow(block: BlockTranslator, value: Value) -> Value:
    """The low 16 bits of each dword."""
    return value.trunc(16)


def modified(block: BlockTranslator, value: Value, operand: Operand) -> Value:
    """abs, then neg, of a float given as a float or (bf16) as its pattern."""
    if not (operand.abs or operand.neg):
        return value
    if value.type.is_float:
        if operand.abs:
            value = value.fabs()
        return -value if operand.neg else value
    sign = 1 << (value.type.bits - 1)
    if operand.abs:
        value = value & (sign - 1)
    return value ^ sign if operand.neg else value


def _select(block: BlockTranslator, operand: Operand, select: int, kind: str) -> Value:
    """An SDWA source: a byte, a word or the whole, zero- or sign-extended to 32 bits."""
    if select == _SDWA_DWORD:
        return block.dword(operand, 0, kind == "f32", kind)
    value = block.dword(operand, 0, False, kind)
    if select < 4:
        up = 24 - 8 * select
        down = 24
    else:
        up = 16 if select == 4 else 0
        down = 16
    if operand.sext:
        value = value.shl(up).ashr(down) if up else value.ashr(down)
    else:
        value = value.shl(up).lshr(down) if up else value.lshr(down)
    return value.bitcast(V_F32) if kind == "f32" else value


# Denormals, clamp, output modifiers


def _denormal_mode(block: BlockTranslator, bits: int) -> int:
    return block.mode.denormal32 if bits == 32 else block.mode.denormal64


def flush(value: Value) -> Value:
    """Denormals replaced by zeros of their sign."""
    type = value.type
    exponent = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}[type.bits]
    bits = value.bits()
    tiny = (bits & exponent).eq(0)
    return tiny.select(bits & (1 << (type.bits - 1)), bits).bitcast(type)


def flush_source(block: BlockTranslator, value: Value) -> Value:
    """A source as the instruction sees it: denormals flushed as the MODE register says."""
    keeps = not block.follows_mode or _denormal_mode(block, value.type.bits) & 1
    return value if keeps else flush(value)


def flush_result(block: BlockTranslator, value: Value) -> Value:
    """A result as it is written: denormals flushed as the MODE register says."""
    return value if _denormal_mode(block, value.type.bits) & 2 else flush(value)


def finish_float(block: BlockTranslator, value: Value) -> Value:
    """A float result after denormal flushing, output modifier and clamp."""
    value = flush_result(block, value)
    omod = block.instruction.modifiers.get("omod", 0)
    # The hardware ignores output modifiers in IEEE mode and where it keeps denormals.
    if omod and not block.mode.ieee and not _denormal_mode(block, value.type.bits) & 2:
        value = flush(value * (2.0, 4.0, 0.5)[omod - 1])
        value = value.eq(0.0).select(0.0, value)
    return saturate(block, value) if block.clamp else value


def saturate(block: BlockTranslator, value: Value) -> Value:
    """Clamp to [0, 1]; NaN gives 0 with dx10_clamp, and NaN without."""
    low = value.cmp("ogt" if block.mode.dx10_clamp else "ugt", 0.0).select(value, 0.0)
    return low.cmp("ogt", 1.0).select(1.0, low)


# Results


def put(block: BlockTranslator, operand: Operand, kind: str, value: Value, keep_high: bool = False) -> None:
    """Write a result of a kind.

    Args:
        keep_high: True if a 16-bit result preserves the other half of its dword; otherwise it clears it.
    """
    run = block.open_run()
    if kind == "mask":
        if not block.is_null(operand.index):
            run.set_mask(operand.index, value)
        return
    type, words = KINDS[kind]
    if type.is_float and value.type.is_float:
        value = finish_float(block, value)
    row = block.row_of(operand)
    if words == 2:
        run.set_wide(row, value)
        return
    instruction = block.instruction
    sdwa = instruction.form.is_sdwa and instruction.modifiers.get("dst_sel", _SDWA_DWORD)
    if type.bits == 16 and type.lanes == LANES:
        wide = value.bits().zext(32)
        in_op_sel = instruction.format in ("VOP3", "VOP3P") and instruction.modifiers.get("op_sel", 0) & 8
        if in_op_sel or operand.half:
            run.set_row(row, (run.row(row) & 0xFFFF) | wide.shl(16))
            return
        if (keep_high or operand.half is not None) and not instruction.form.is_sdwa:
            run.set_row(row, (run.row(row) & 0xFFFF0000) | wide)
            return
        value = wide
    elif type.bits == 16:
        value = value.bitcast(V_I32)
    if sdwa is not False and sdwa != _SDWA_DWORD:
        value = _inserted(block, row, value.bits(), int(sdwa))
    run.set_row(row, value)


def _inserted(block: BlockTranslator, row: int, value: Value, select: int) -> Value:
    """An SDWA result in its byte or word, the rest by dst_unused: 0 zero, 1 sign extension, 2 kept."""
    unused = block.instruction.modifiers.get("dst_unused", 0)
    width = 8 if select < 4 else 16
    shift = 8 * select if select < 4 else 16 * (select - 4)
    mask = (1 << width) - 1
    if unused == 1:
        up = 32 - width
        extended = value.shl(up).ashr(up)
        return extended.shl(shift) if shift else extended
    placed = value & mask
    if shift:
        placed = placed.shl(shift)
    if unused == 2:
        return (block.open_run().row(row) & ~(mask << shift)) | placed
    return placed


# DPP


def _crosses_rows(control: int) -> bool:
    return control in (0x130, 0x134, 0x138, 0x13C, 0x142, 0x143)


def _row_pattern(instruction: Instruction) -> list[int]:
    """Source lane in the row for each lane of the row; -1 if there is none."""
    lanes, modifiers = range(LANES), instruction.modifiers
    if (selects := modifiers.get("dpp8")) is not None:
        return [(lane & 8) | selects >> 3 * (lane & 7) & 7 for lane in lanes]
    control = modifiers.get("dpp_ctrl", 0)
    if control <= 0xFF:
        return [(lane & ~3) | control >> 2 * (lane & 3) & 3 for lane in lanes]
    amount = control & 15
    family = control & 0x1F0
    if family == 0x100 and amount:
        return [lane + amount if lane + amount < LANES else -1 for lane in lanes]
    if family == 0x110 and amount:
        return [lane - amount if lane >= amount else -1 for lane in lanes]
    if family == 0x120 and amount:
        return [(lane - amount) % LANES for lane in lanes]
    if control == 0x140:
        return [LANES - 1 - lane for lane in lanes]
    if control == 0x141:
        return [(lane & 8) | 7 - (lane & 7) for lane in lanes]
    if family == 0x150:
        return [amount] * LANES
    if family == 0x160 and decodes(instruction.form.target):
        return [lane ^ amount for lane in lanes]
    raise Unsupported(f"DPP control {control:#x}")


def _wave_pattern(control: int, wave_size: int) -> list[int]:
    """Source lane in the wave for each lane; -1 if there is none."""
    lanes = range(wave_size)
    if control == 0x130:
        return [lane + 1 if lane < wave_size - 1 else -1 for lane in lanes]
    if control == 0x134:
        return [(lane + 1) % wave_size for lane in lanes]
    if control == 0x138:
        return [lane - 1 for lane in lanes]
    if control == 0x13C:
        return [(lane - 1) % wave_size for lane in lanes]
    if control == 0x142:
        return [(lane & 0x30) - 1 for lane in lanes]
    return [31 if lane > 31 else -1 for lane in lanes]


def _lane_mask(block: BlockTranslator, lanes: list[bool]) -> Value:
    text = ", ".join(f"i1 {int(on)}" for on in lanes)
    return Value(block.emitter, f"<{text}>", integer(1, len(lanes)))


def _dpp(block: BlockTranslator, instruction: Instruction, operand: Operand, word: int) -> Value:
    """The first source after its lane pattern; sets which lanes the instruction writes.

    A lane whose source is outside its row or is off in EXEC reads zero with bound_ctrl, and is not written
    without it. row_mask and bank_mask choose which rows and groups of four lanes are written at all.
    """
    modifiers = instruction.modifiers
    control = modifiers.get("dpp_ctrl", 0)
    emitter = block.emitter
    if _crosses_rows(control):
        value, valid = _wave_move(block, operand, word, control)
    else:
        pattern = _row_pattern(instruction)
        run = block.open_run()
        source = run.row(block.row_of(operand) + word)
        if len(set(pattern)) == 1:
            # Several broadcasts of one loaded row become separate loads, for which LLVM 22 aborts the process
            # ("Node is not in map"). With a frozen row it does not.
            source = emitter.freeze(source)
        value = emitter.shuffle(source, None, [max(lane, 0) for lane in pattern])
        valid = emitter.shuffle(run.exec, None, [max(lane, 0) for lane in pattern])
        if modifiers.get("fi", 0):
            # Lanes that EXEC disables are read too.
            valid = _lane_mask(block, [lane >= 0 for lane in pattern])
        elif -1 in pattern:
            valid = valid & _lane_mask(block, [lane >= 0 for lane in pattern])
    if modifiers.get("bound_ctrl", 0) or "dpp8" in modifiers:
        value = valid.select(value, 0)
    else:
        block.disable_lanes(valid)
    if word == 0 and "dpp8" not in modifiers:
        _row_and_bank_masks(block, modifiers.get("row_mask", 0), modifiers.get("bank_mask", 0))
    return value


def _row_and_bank_masks(block: BlockTranslator, row_mask: int, bank_mask: int) -> None:
    if bank_mask != 15:
        block.disable_lanes(_lane_mask(block, [bool(bank_mask >> lane // 4 & 1) for lane in range(LANES)]))
    if row_mask != 15:
        emitter = block.emitter
        chunk = block.open_run().chunk_offset().lshr(6)
        bit = emitter.const(I64, row_mask).lshr(chunk).trunc(1)
        block.disable_lanes(emitter.splat(bit))


def _wave_move(block: BlockTranslator, operand: Operand, word: int, control: int) -> tuple[Value, Value]:
    """Lanes from anywhere in the wave: moved before the loop, from the row's value at that point."""
    emitter, function = block.emitter, block.function
    row, wave_size = block.row_of(operand) + word, function.wave_size
    pattern = _wave_pattern(control, wave_size)
    places = [max(lane, 0) for lane in pattern]
    run = block.open_run()
    values, masks = function.new_buffer(function.row_bytes), function.new_buffer(wave_size // 8)
    run.in_preheader()
    rows = emitter.offset(function.rows_base(), row * function.row_bytes)
    source = emitter.load(integer(32, wave_size), rows, 64)
    emitter.store(emitter.shuffle(source, None, places), values, 64)
    active = emitter.shuffle(block.exec().bitcast(integer(1, wave_size)), None, places)
    active = active & _lane_mask(block, [lane >= 0 for lane in pattern])
    emitter.store(active.bitcast(function.mask_type), masks, 64)
    run.in_body()
    offset = run.chunk_offset()
    value = emitter.load(V_I32, emitter.offset(values, offset), 64)
    valid = emitter.load(I16, emitter.offset(masks, offset.lshr(5)), 2).bitcast(V_I1)
    return value, valid


def _dpp_quad(block: BlockTranslator, operand: Operand, kind: str) -> Value:
    instruction = block.instruction
    low = _dpp(block, instruction, operand, 0)
    high = _dpp(block, instruction, operand, 1)
    return join(low, high).bitcast(V_F64 if kind == "f64" else V_I64)


# Packed operands


def fetch_packed(block: BlockTranslator, operand: Operand, kind: str, position: int) -> Value:
    """Two 16-bit elements per lane, as a vector of 32 in the order low, high of each lane.

    op_sel and op_sel_hi choose the half that each result half sees, neg_lo and neg_hi change its sign.
    """
    modifiers = block.instruction.modifiers
    type = floating(16, 2 * LANES) if kind == "f16" else integer(16, 2 * LANES)
    value = block.dword(operand, 0, False, f"v2{kind}").bitcast(integer(16, 2 * LANES))
    low = modifiers.get("op_sel", 0) >> position & 1
    high = modifiers.get("op_sel_hi", 0) >> position & 1
    if (low, high) != (0, 1):
        order = [2 * lane + half for lane in range(LANES) for half in (low, high)]
        value = block.emitter.shuffle(value, None, order)
    signs = [modifiers.get(name, 0) >> position & 1 for name in ("neg_lo", "neg_hi")]
    if any(signs):
        if kind not in _FLOATS:
            raise Unsupported("neg_lo or neg_hi on an integer operand")
        pattern = signs[0] << 15 | signs[1] << 31
        value = (value.bitcast(V_I32) ^ pattern).bitcast(integer(16, 2 * LANES))
    value = value.bitcast(type)
    return flush_source(block, value) if kind == "f16" else value


def packed_half(block: BlockTranslator, operand: Operand, kind: str, position: int, high: bool) -> Value:
    """One 16-bit element per lane, for instructions that use the halves separately."""
    value = fetch_packed(block, operand, kind, position)
    return block.emitter.shuffle(value, None, list(range(int(high), 2 * LANES, 2)))


def packed_dword(block: BlockTranslator, operand: Operand, position: int, high: bool) -> Value:
    """The f32 that the low or high result of v_pk_*_f32 sees, modifiers applied."""
    modifiers = block.instruction.modifiers
    word = modifiers.get("op_sel_hi" if high else "op_sel", 0) >> position & 1
    if operand.kind in ("imm", "simm"):
        word = 0
    value = block.dword(operand, word, True, "f32")
    if modifiers.get("neg_hi" if high else "neg_lo", 0) >> position & 1:
        value = -value
    return flush_source(block, value)


def put_packed(block: BlockTranslator, operand: Operand, value: Value) -> None:
    """Write two 16-bit elements per lane."""
    if value.type.is_float:
        value = finish_float(block, value)
    block.open_run().set_row(block.row_of(operand), value.bitcast(V_I32))


__all__ = [
    "V_F16",
    "V_I16",
    "fetch",
    "fetch_packed",
    "finish_float",
    "flush",
    "flush_result",
    "flush_source",
    "packed_dword",
    "packed_half",
    "prepare",
    "put",
    "put_packed",
    "saturate",
]
