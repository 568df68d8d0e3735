"""Packed 16-bit integers, mixed-precision multiply-add and dot products (VOP3P and their VOP2 forms)."""

from __future__ import annotations

from typing import Any

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.semantics.convert import bf16_above, small_format
from workbench.emulator.semantics.executed import CHANGED
from workbench.emulator.semantics.registry import packed, register
from workbench.emulator.semantics.vector_float import fma
from workbench.emulator.semantics.vector_int import mad_16
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import KINDS, V_F32
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes
from workbench.emulator.translate.operands import (
    fetch,
    finish_float,
    flush_source,
    packed_half,
    prepare,
    put,
    put_packed,
)
from workbench.emulator.translate.options import Unsupported

# Integers

for _letter, _sign in (("i", "s"), ("u", "u")):
    _kind = f"{_letter}16"

    @packed(f"v_pk_add_{_kind}", f"{_kind} <- {_kind} {_kind}")
    def pk_add(block: BlockTranslator, a: Value, b: Value, sign: str = _sign) -> Value:
        return block.emitter.intrinsic(f"{sign}add.sat", a, b) if block.clamp else a + b

    @packed(f"v_pk_sub_{_kind}", f"{_kind} <- {_kind} {_kind}")
    def pk_sub(block: BlockTranslator, a: Value, b: Value, sign: str = _sign) -> Value:
        return block.emitter.intrinsic(f"{sign}sub.sat", a, b) if block.clamp else a - b

    @packed(f"v_pk_mad_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}")
    def pk_mad(block: BlockTranslator, a: Value, b: Value, c: Value, signed: bool = _sign == "s") -> Value:
        return mad_16(block, a, b, c, signed)

    for _name in ("min", "max"):

        @packed(f"v_pk_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def pk_extreme(block: BlockTranslator, a: Value, b: Value, name: str = f"{_sign}{_name}") -> Value:
            return block.emitter.intrinsic(name, a, b)


_PACKED: dict[str, Any] = {
    "v_pk_mul_lo_u16": lambda a, b: a * b,
    "v_pk_lshlrev_b16": lambda a, b: b.shl(a & 15),
    "v_pk_lshrrev_b16": lambda a, b: b.lshr(a & 15),
    "v_pk_ashrrev_i16": lambda a, b: b.ashr(a & 15),
}
for _name, _meaning in _PACKED.items():

    @packed(_name, "u16 <- u16 u16")
    def pk_integer(block: BlockTranslator, a: Value, b: Value, meaning: Any = _meaning) -> Value:
        return meaning(a, b)  # type: ignore[no-any-return]


def _pk_fmac_f16(block: BlockTranslator, instruction: Instruction) -> None:
    """VOP2 form without op_sel: the halves of both sources and of the destination."""
    type = KINDS["v2f16"][0]
    prepare(block, tuple((operand, "b32") for operand in instruction.src))
    run = block.open_run()
    result = instruction.dst[0]
    first, second = (
        fetch(block, operand, "b32", position).bitcast(type)
        for position, operand in enumerate(instruction.src)
    )
    old = run.row(block.row_of(result)).bitcast(type)
    values = [flush_source(block, value) for value in (first, second, old)]
    put_packed(block, result, fma(block, *values))


register("v_pk_fmac_f16", _pk_fmac_f16)


def _pk_mov(block: BlockTranslator, instruction: Instruction) -> None:
    """v_pk_mov_b32: each result dword is a half of its source pair, chosen by op_sel."""
    prepare(block, tuple((operand, "b64") for operand in instruction.src))
    run = block.open_run()
    op_sel = instruction.modifiers.get("op_sel", 0)
    values = []
    for position, operand in enumerate(instruction.src):
        word = op_sel >> position & 1
        values.append(block.dword(operand, 0 if operand.kind in ("imm", "simm") else word))
    row = block.row_of(instruction.dst[0])
    for word, value in enumerate(values):
        run.set_row(row + word, value)


register("v_pk_mov_b32", _pk_mov)


# Mixed precision


def _mixed(block: BlockTranslator, operand: Operand, position: int, kind: str) -> Value:
    """A source of v_fma_mix: an f32, or by op_sel_hi the half of it that op_sel names, as an f16 or bf16."""
    modifiers = block.instruction.modifiers
    if modifiers.get("op_sel_hi", 0) >> position & 1:
        value = block.dword(operand, 0, False, kind)
        if modifiers.get("op_sel", 0) >> position & 1:
            value = value.lshr(16)
        if kind == "bf16":
            value = value.shl(16).bitcast(KINDS["f32"][0])
        else:
            value = flush_source(block, value.trunc(16).bitcast(KINDS["f16"][0])).fpext(32)
    else:
        value = flush_source(block, block.dword(operand, 0, True, "f32"))
    # In this encoding neg_hi means the absolute value.
    if operand.abs or modifiers.get("neg_hi", 0) >> position & 1:
        value = value.fabs()
    if operand.neg or modifiers.get("neg_lo", 0) >> position & 1:
        value = -value
    return value


def _fma_mix(opcodes: str, half: int | None, fused: bool, kind: str = "f16") -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        prepare(block, tuple((operand, "b32") for operand in instruction.src))
        run = block.open_run()
        a, b, c = (_mixed(block, operand, position, kind) for position, operand in enumerate(instruction.src))
        total = fma(block, a, b, c) if fused else a * b + c
        row = block.row_of(instruction.dst[0])
        if half is None:
            run.set_row(row, finish_float(block, total))
            return
        if kind == "bf16":
            bits = bf16_above(finish_float(block, total)).lshr(16)
        else:
            bits = finish_float(block, total.fptrunc(16)).bits().zext(32)
        old = run.row(row)
        run.set_row(row, (old & 0xFFFF) | bits.shl(16) if half else (old & 0xFFFF0000) | bits)

    register(opcodes, handle)


_fma_mix("v_fma_mix_f32", None, True)
_fma_mix("v_fma_mixlo_f16", 0, True)
_fma_mix("v_fma_mixhi_f16", 1, True)
_fma_mix("v_fma_mix_f32_bf16", None, True, "bf16")
_fma_mix("v_fma_mixlo_bf16", 0, True, "bf16")
_fma_mix("v_fma_mixhi_bf16", 1, True, "bf16")
_fma_mix("v_mad_mix_f32", None, False)
_fma_mix("v_mad_mixlo_f16", 0, False)
_fma_mix("v_mad_mixhi_f16", 1, False)


# Dot products


def _halves(block: BlockTranslator, operand: Operand, position: int, kind: str) -> tuple[Value, Value]:
    """The two 16-bit elements of a source: op_sel and neg of VOP3P, DPP of VOP2."""
    if block.instruction.format == "VOP3P":
        low, high = (packed_half(block, operand, kind, position, half) for half in (False, True))
        return low, high
    whole = fetch(block, operand, "b32", position)
    type = KINDS[kind][0]
    return whole.trunc(16).bitcast(type), whole.lshr(16).trunc(16).bitcast(type)


def _as_single(value: Value) -> Value:
    return value.fpext(32) if value.type.is_float else value.zext(32).shl(16).bitcast(V_F32)


def _accumulator(block: BlockTranslator, instruction: Instruction, as_float: bool) -> Value:
    """The third source, or the destination of the two-operand forms."""
    if len(instruction.src) < 3:
        value = block.open_run().row(block.row_of(instruction.dst[0]), as_float)
    else:
        operand = instruction.src[2]
        value = block.dword(operand, 0, as_float, "f32" if as_float else "i32")
        if as_float:
            modifiers = instruction.modifiers
            if operand.abs:
                value = value.fabs()
            if operand.neg or modifiers.get("neg_lo", 0) >> 2 & 1:
                value = -value
    return flush_source(block, value) if as_float else value


def _dot2_float(opcodes: str, kind: str, products_first: bool) -> None:
    """f32 sum of two products; the order of the additions is the ISA guide's."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        prepare(block, tuple((operand, "b32") for operand in instruction.src))
        run = block.open_run()
        left, right = (
            [_as_single(value) for value in _halves(block, operand, position, kind)]
            for position, operand in enumerate(instruction.src[:2])
        )
        total = _accumulator(block, instruction, True)
        products = [x * y for x, y in zip(left, right, strict=True)]
        total = products[0] + products[1] + total if products_first else total + products[0] + products[1]
        run.set_row(block.row_of(instruction.dst[0]), finish_float(block, total))

    register(opcodes, handle)


_dot2_float("v_dot2_f32_f16 v_dot2c_f32_f16 v_dot2acc_f32_f16 v_dual_dot2acc_f32_f16", "f16", False)
_dot2_float("v_dot2_f32_bf16", "bf16", True)
_dot2_float(f"v_dot2c_f32_bf16 v_dual_dot2acc_f32_bf16 {CHANGED}v_dot2_f32_bf16", "bf16", False)


def _dot4_float(first: str, second: str) -> None:
    """f32 sum of four products of 8-bit floats, one after the other."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        prepare(block, tuple((operand, "b32") for operand in instruction.src))
        run = block.open_run()
        left, right = (
            [
                call_lanes(block, f"hk_f32_from_{small_format(block, name)}_x16", V_F32, byte)
                for byte in _elements(fetch(block, operand, "b32", position), 8, False)
            ]
            for position, (operand, name) in enumerate(zip(instruction.src[:2], (first, second), strict=True))
        )
        modifiers = instruction.modifiers
        total = block.dword(instruction.src[2], 0, True, "f32")
        total = total.fabs() if modifiers.get("neg_hi", 0) & 4 else total
        total = -total if modifiers.get("neg_lo", 0) & 4 else total
        for x, y in zip(left, right, strict=True):
            total = total + x * y
        run.set_row(block.row_of(instruction.dst[0]), finish_float(block, total))

    register(f"v_dot4_f32_{first}_{second}", handle)


def _dot2_half(kind: str) -> None:
    """A 16-bit sum of two products, rounded after each (AMD's pseudocode, which adds to a 16-bit number)."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        first, second, addend = instruction.src
        prepare(block, ((first, "b32"), (second, "b32"), (addend, "b16")))
        block.open_run()

        def single(bits: Value) -> Value:
            if kind == "f16":
                return bits.trunc(16).bitcast(KINDS["f16"][0]).fpext(32)
            return bits.shl(16).bitcast(V_F32)

        left, right = (fetch(block, operand, "b32", n) for n, operand in enumerate((first, second)))
        bits = fetch(block, addend, "b16", 2).zext(32)
        for place in (0, 16):
            x, y = (single(side.lshr(place) & 0xFFFF) for side in (left, right))
            total = block.emitter.intrinsic("fma", x, y, single(bits))
            rounded = total.fptrunc(16).bits().zext(32) if kind == "f16" else bf16_above(total).lshr(16)
            bits = rounded & 0xFFFF
        put(block, instruction.dst[0], "b16", bits.trunc(16), True)

    register(f"v_dot2_{kind}_{kind}", handle)


_dot2_half("f16")
_dot2_half("bf16")

for _first in ("fp8", "bf8"):
    for _second in ("fp8", "bf8"):
        _dot4_float(_first, _second)


def _elements(value: Value, bits: int, signed: bool) -> list[Value]:
    """The 32 / bits elements of a dword, extended to 32 bits."""
    result = []
    for place in range(0, 32, bits):
        up = 32 - bits - place
        moved = value.shl(up) if up else value
        result.append(moved.ashr(32 - bits) if signed else moved.lshr(32 - bits))
    return result


def _dot_integer(opcodes: str, bits: int, signed: bool, *, by_modifier: bool = False) -> None:
    """Register a dot product; with `by_modifier` neg_lo says which factors are signed, and sums are."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        sources = instruction.src
        prepare(block, tuple((operand, "b32") for operand in sources))
        run = block.open_run()
        modifiers = instruction.modifiers
        signs = [signed, signed]
        if by_modifier:
            signs = [bool(modifiers.get("neg_lo", 0) >> n & 1) for n in (0, 1)]
        elif modifiers.get("neg_lo") or modifiers.get("neg_hi"):
            raise Unsupported("neg_lo or neg_hi on an integer dot product")
        if bits == 16 and instruction.format == "VOP3P":
            # op_sel chooses halves; the packed fetch puts them in place.
            left, right = (
                [packed_half(block, operand, "i16", position, high) for high in (False, True)]
                for position, operand in enumerate(sources[:2])
            )
            left, right = ([v.sext(32) if signed else v.zext(32) for v in side] for side in (left, right))
        else:
            left, right = (
                _elements(fetch(block, operand, "b32", position), bits, signs[position])
                for position, operand in enumerate(sources[:2])
            )
        total = _accumulator(block, instruction, False)
        if block.clamp:
            total = _saturated_sum(block, left, right, total, signed)
        else:
            for x, y in zip(left, right, strict=True):
                total = total + x * y
        run.set_row(block.row_of(instruction.dst[0]), total)

    register(opcodes, handle)


def _saturated_sum(
    block: BlockTranslator, left: list[Value], right: list[Value], start: Value, signed: bool
) -> Value:
    """The exact sum of products, then the nearest 32-bit number."""
    e = block.emitter

    def wide(value: Value) -> Value:
        return value.sext(64) if signed else value.zext(64)

    total = wide(start)
    for x, y in zip(left, right, strict=True):
        total = total + wide(x * y)
    if signed:
        total = e.intrinsic("smax", e.intrinsic("smin", total, 0x7FFFFFFF), -0x80000000)
    else:
        total = e.intrinsic("umin", total, 0xFFFFFFFF)
    return total.trunc(32)


_dot_integer("v_dot2_i32_i16 v_dot2c_i32_i16", 16, True)
_dot_integer("v_dot2_u32_u16", 16, False)
_dot_integer("v_dot4_i32_i8 v_dot4c_i32_i8", 8, True)
_dot_integer("v_dot4_u32_u8", 8, False)
_dot_integer("v_dot8_i32_i4 v_dot8c_i32_i4", 4, True)
_dot_integer("v_dot8_u32_u4", 4, False)
_dot_integer("v_dot4_i32_iu8", 8, True, by_modifier=True)
_dot_integer("v_dot8_i32_iu4", 4, True, by_modifier=True)
