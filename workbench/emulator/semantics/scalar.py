"""Scalar ALU: SOP1, SOP2, SOPC and SOPK instructions on SGPRs and SCC."""

from __future__ import annotations

from typing import Any

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.semantics.registry import scalar, straight
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import I32, I64, Value


def _amount(amount: Value, width: int) -> Value:
    """A shift amount reduced to the width, in the width's type."""
    amount = amount & (width - 1)
    return amount.zext(64) if width == 64 else amount


# Moves

for _width in (32, 64):
    _b = f"b{_width}"

    @scalar(f"s_mov_{_b}", f"{_b} <- {_b}")
    def mov(block: BlockTranslator, a: Value) -> Value:
        return a

    @scalar(f"s_cmov_{_b}", f"{_b} <- {_b} old")
    def cmov(block: BlockTranslator, a: Value, old: Value) -> Value:
        return block.scalars.scc().select(a, old)

    @scalar(f"s_cselect_{_b}", f"{_b} <- {_b} {_b}")
    def cselect(block: BlockTranslator, a: Value, b: Value) -> Value:
        return block.scalars.scc().select(a, b)

    # Logic

    @scalar(f"s_not_{_b}", f"{_b} <- {_b}", scc="nonzero")
    def invert(block: BlockTranslator, a: Value) -> Value:
        return ~a

    @scalar(f"s_wqm_{_b}", f"{_b} <- {_b}", scc="nonzero")
    def whole_quad(block: BlockTranslator, a: Value) -> Value:
        return _quads(a) * 15

    @scalar(f"s_brev_{_b}", f"{_b} <- {_b}")
    def reverse(block: BlockTranslator, a: Value) -> Value:
        return block.emitter.intrinsic("bitreverse", a)

    @scalar(f"s_bfm_{_b}", f"{_b} <- b32 b32")
    def field_mask(block: BlockTranslator, size: Value, shift: Value, width: int = _width) -> Value:
        lowest_bit = block.emitter.const(I64 if width == 64 else I32, 1)
        return (lowest_bit.shl(_amount(size, width)) - 1).shl(_amount(shift, width))

    @scalar(f"s_lshl_{_b}", f"{_b} <- {_b} b32", scc="nonzero")
    def shift_left(block: BlockTranslator, a: Value, b: Value, width: int = _width) -> Value:
        return a.shl(_amount(b, width))

    @scalar(f"s_lshr_{_b}", f"{_b} <- {_b} b32", scc="nonzero")
    def shift_right(block: BlockTranslator, a: Value, b: Value, width: int = _width) -> Value:
        return a.lshr(_amount(b, width))

    @scalar(f"s_ashr_i{_width}", f"i{_width} <- i{_width} b32", scc="nonzero")
    def shift_arithmetic(block: BlockTranslator, a: Value, b: Value, width: int = _width) -> Value:
        return a.ashr(_amount(b, width))

    # Counting

    def _count(block: BlockTranslator, a: Value, intrinsic: str) -> Value:
        value = block.emitter.intrinsic(intrinsic, a)
        return value.trunc(32) if value.type is I64 else value

    def _scan(block: BlockTranslator, a: Value, intrinsic: str) -> Value:
        """Position of the first one from an end of the value; -1 if there is none."""
        function = f"@llvm.{intrinsic}.{a.type.suffix}"
        count = block.emitter.call(
            f"declare {a.type.text} {function}({a.type.text}, i1)",
            a.type,
            function,
            f"{a.type.text} {a.name}, i1 false",
        )
        assert count is not None
        position = count.trunc(32) if count.type is I64 else count
        return a.eq(0).select(block.emitter.const(I32, -1), position)

    @scalar(f"s_bcnt0_i32_{_b}", f"i32 <- {_b}", scc="nonzero")
    def count_zeros(block: BlockTranslator, a: Value) -> Value:
        return _count(block, ~a, "ctpop")

    @scalar(f"s_bcnt1_i32_{_b}", f"i32 <- {_b}", scc="nonzero")
    def count_ones(block: BlockTranslator, a: Value) -> Value:
        return _count(block, a, "ctpop")

    @scalar(f"s_ff0_i32_{_b}", f"i32 <- {_b}")
    def first_zero(block: BlockTranslator, a: Value) -> Value:
        return _scan(block, ~a, "cttz")

    @scalar(f"s_ff1_i32_{_b}", f"i32 <- {_b}")
    def first_one(block: BlockTranslator, a: Value) -> Value:
        return _scan(block, a, "cttz")

    @scalar(f"s_flbit_i32_{_b}", f"i32 <- {_b}")
    def leading_bit(block: BlockTranslator, a: Value) -> Value:
        return _scan(block, a, "ctlz")

    @scalar("s_flbit_i32" if _width == 32 else "s_flbit_i32_i64", f"i32 <- i{_width}")
    def leading_sign(block: BlockTranslator, a: Value, width: int = _width) -> Value:
        return _scan(block, a ^ a.ashr(width - 1), "ctlz")

    @scalar(f"s_bitset0_{_b}", f"{_b} <- b32 old")
    def clear_bit(block: BlockTranslator, bit: Value, old: Value, width: int = _width) -> Value:
        lowest_bit = block.emitter.const(old.type, 1)
        return old & ~lowest_bit.shl(_amount(bit, width))

    @scalar(f"s_bitset1_{_b}", f"{_b} <- b32 old")
    def set_bit(block: BlockTranslator, bit: Value, old: Value, width: int = _width) -> Value:
        return old | block.emitter.const(old.type, 1).shl(_amount(bit, width))

    @scalar(f"s_bitcmp0_{_b}", f"<- {_b} b32", scc="only")
    def is_bit_clear(block: BlockTranslator, a: Value, bit: Value, width: int = _width) -> Value:
        return (a.lshr(_amount(bit, width)) & 1).eq(0)

    @scalar(f"s_bitcmp1_{_b}", f"<- {_b} b32", scc="only")
    def is_bit_set(block: BlockTranslator, a: Value, bit: Value, width: int = _width) -> Value:
        return (a.lshr(_amount(bit, width)) & 1).ne(0)

    @scalar(f"s_quadmask_{_b}", f"{_b} <- {_b}", scc="nonzero")
    def quad_mask(block: BlockTranslator, a: Value, width: int = _width) -> Value:
        # Bit 0 of each group of four; then the groups are moved together, halving their distance.
        value = _quads(a)
        masks = {
            32: (0x03030303, 0x000F000F, 0xFF),
            64: (0x0303030303030303, 0x000F000F000F000F, 0x000000FF000000FF),
        }
        for shift, mask in zip((3, 6, 12), masks[width], strict=True):
            value = (value | value.lshr(shift)) & mask
        return (value | value.lshr(24)) & 0xFFFF if width == 64 else value

    for _name, _text in {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }.items():

        @scalar(f"s_{_name}_{_b}", f"{_b} <- {_b} {_b}", scc="nonzero")
        def logic(block: BlockTranslator, a: Value, b: Value, text: Any = _text) -> Value:
            return text(a, b)  # type: ignore[no-any-return]

    @scalar(f"s_bfe_u{_width}", f"u{_width} <- u{_width} b32", scc="nonzero")
    def field_unsigned(block: BlockTranslator, a: Value, b: Value, width: int = _width) -> Value:
        shifted = a.lshr(_amount(b, width))
        size = b.lshr(16) & 127
        whole = size.cmp("uge", width)
        mask = block.emitter.const(a.type, 1).shl(_amount(size, width)) - 1
        return whole.select(shifted, shifted & mask)

    @scalar(f"s_bfe_i{_width}", f"i{_width} <- i{_width} b32", scc="nonzero")
    def field_signed(block: BlockTranslator, a: Value, b: Value, width: int = _width) -> Value:
        shifted = a.ashr(_amount(b, width))
        size = b.lshr(16) & 127
        up = _amount(block.emitter.const(I32, width) - size, width)
        extended = shifted.shl(up).ashr(up)
        whole = size.cmp("uge", width)
        return size.eq(0).select(0, whole.select(shifted, extended))


def _quads(a: Value) -> Value:
    """Bit 0 of each group of four bits: whether any of the four is set."""
    ones = 0x11111111 if a.type is I32 else 0x1111111111111111
    pairs = a | a.lshr(1)
    return (pairs | pairs.lshr(2)) & ones


@scalar("s_movk_i32", "i32 <- i32")
def movk(block: BlockTranslator, a: Value) -> Value:
    return _signed16(a)


@scalar("s_cmovk_i32", "i32 <- i32 old")
def cmovk(block: BlockTranslator, a: Value, old: Value) -> Value:
    return block.scalars.scc().select(_signed16(a), old)


def _signed16(a: Value) -> Value:
    return a.shl(16).ashr(16)


@scalar("s_bitreplicate_b64_b32", "b64 <- b32")
def replicate(block: BlockTranslator, a: Value) -> Value:
    # Spread the bits to every second place, halving the distance, then double each.
    value = a.zext(64)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        value = (value | value.shl(shift)) & mask
    return value | value.shl(1)


@scalar("s_sext_i32_i8", "i32 <- i32")
def sext8(block: BlockTranslator, a: Value) -> Value:
    return a.shl(24).ashr(24)


@scalar("s_sext_i32_i16", "i32 <- i32")
def sext16(block: BlockTranslator, a: Value) -> Value:
    return _signed16(a)


@scalar("s_abs_i32", "i32 <- i32", scc="nonzero")
def absolute(block: BlockTranslator, a: Value) -> Value:
    return a.cmp("slt", 0).select(0 - a, a)


@scalar("s_absdiff_i32", "i32 <- i32 i32", scc="nonzero")
def absolute_difference(block: BlockTranslator, a: Value, b: Value) -> Value:
    difference = a - b
    return difference.cmp("slt", 0).select(0 - difference, difference)


@scalar("s_pack_ll_b32_b16", "b32 <- b32 b32")
def pack_ll(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a & 0xFFFF) | b.shl(16)


@scalar("s_pack_lh_b32_b16", "b32 <- b32 b32")
def pack_lh(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a & 0xFFFF) | (b & 0xFFFF0000)


@scalar("s_pack_hl_b32_b16", "b32 <- b32 b32")
def pack_hl(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a.lshr(16) | b.shl(16)


@scalar("s_pack_hh_b32_b16", "b32 <- b32 b32")
def pack_hh(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a.lshr(16) | (b & 0xFFFF0000)


# Arithmetic


@scalar("s_add_u32", "u32 <- u32 u32", scc="pair")
def add_u32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    result = a + b
    return result, result.cmp("ult", a)


@scalar("s_sub_u32", "u32 <- u32 u32", scc="pair")
def sub_u32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    return a - b, a.cmp("ult", b)


@scalar("s_addc_u32", "u32 <- u32 u32", scc="pair")
def addc_u32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    total = a.zext(64) + b.zext(64) + block.scalars.scc().zext(64)
    return total.trunc(32), total.lshr(32).trunc(1)


@scalar("s_subb_u32", "u32 <- u32 u32", scc="pair")
def subb_u32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    total = a.zext(64) - b.zext(64) - block.scalars.scc().zext(64)
    return total.trunc(32), total.lshr(63).trunc(1)


def _add_overflows(a: Value, b: Value, result: Value) -> Value:
    return ((a ^ result) & (b ^ result)).cmp("slt", 0)


@scalar("s_add_i32", "i32 <- i32 i32", scc="pair")
def add_i32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    result = a + b
    return result, _add_overflows(a, b, result)


@scalar("s_sub_i32", "i32 <- i32 i32", scc="pair")
def sub_i32(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    result = a - b
    return result, ((a ^ b) & (a ^ result)).cmp("slt", 0)


@scalar("s_addk_i32", "i32 <- i32 old", scc="pair")
def addk(block: BlockTranslator, a: Value, old: Value) -> tuple[Value, Value]:
    constant = _signed16(a)
    result = old + constant
    return result, _add_overflows(old, constant, result)


@scalar("s_mulk_i32", "i32 <- i32 old")
def mulk(block: BlockTranslator, a: Value, old: Value) -> Value:
    return old * _signed16(a)


@scalar("s_mul_i32", "i32 <- i32 i32")
def mul_i32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@scalar("s_mul_u64", "u64 <- u64 u64")
def mul_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@scalar("s_add_nc_u64", "u64 <- u64 u64")
def add_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a + b


@scalar("s_sub_nc_u64", "u64 <- u64 u64")
def sub_u64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a - b


@scalar("s_mul_hi_u32", "u32 <- u32 u32")
def mul_hi_u32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a.zext(64) * b.zext(64)).lshr(32).trunc(32)


@scalar("s_mul_hi_i32", "i32 <- i32 i32")
def mul_hi_i32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a.sext(64) * b.sext(64)).lshr(32).trunc(32)


for _shift in (1, 2, 3, 4):

    @scalar(f"s_lshl{_shift}_add_u32", "u32 <- u32 u32", scc="pair")
    def shift_add(block: BlockTranslator, a: Value, b: Value, shift: int = _shift) -> tuple[Value, Value]:
        total = a.zext(64).shl(shift) + b.zext(64)
        return total.trunc(32), total.lshr(32).ne(0)


for _name, _signed in (("min", "slt"), ("max", "sgt")):
    for _letter in ("i", "u"):

        @scalar(f"s_{_name}_{_letter}32", f"{_letter}32 <- {_letter}32 {_letter}32", scc="pair")
        def extreme(
            block: BlockTranslator,
            a: Value,
            b: Value,
            predicate: str = _signed if _letter == "i" else _signed.replace("s", "u", 1),
            or_equal: bool = _name == "max",
        ) -> tuple[Value, Value]:
            first = a.cmp(predicate.replace("gt", "ge") if or_equal else predicate, b)
            return first.select(a, b), first


# Comparisons

_PREDICATES = {"eq": "eq", "lg": "ne", "gt": "gt", "ge": "ge", "lt": "lt", "le": "le"}


def _predicate(name: str, letter: str) -> str:
    text = _PREDICATES[name]
    return text if name in ("eq", "lg") else ("s" if letter == "i" else "u") + text


for _name in _PREDICATES:
    for _letter in ("i", "u"):

        @scalar(f"s_cmp_{_name}_{_letter}32", "<- b32 b32", scc="only")
        def compare(
            block: BlockTranslator, a: Value, b: Value, predicate: str = _predicate(_name, _letter)
        ) -> Value:
            return a.cmp(predicate, b)

        @scalar(f"s_cmpk_{_name}_{_letter}32", "<- b32 b32", scc="only")
        def compare_constant(
            block: BlockTranslator,
            a: Value,
            b: Value,
            predicate: str = _predicate(_name, _letter),
            signed: bool = _letter == "i",
        ) -> Value:
            return a.cmp(predicate, _signed16(b) if signed else b & 0xFFFF)


@scalar("s_cmp_eq_u64", "<- b64 b64", scc="only")
def compare_eq_64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a.eq(b)


@scalar("s_cmp_lg_u64", "<- b64 b64", scc="only")
def compare_lg_64(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a.ne(b)


# EXEC


def _mask_operands(block: BlockTranslator, instruction: Instruction) -> tuple[Value, Value]:
    """The source and EXEC, of as many registers as the result."""
    words = instruction.dst[0].width
    return block.scalar(instruction.src[0], f"b{32 * words}"), block.register(abi.EXEC, words)


_LATER = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
"""gfx9's names, and those of targets whose waves may have 32 lanes."""

for _name, _text in {
    "and": lambda a, x: a & x,
    "or": lambda a, x: a | x,
    "xor": lambda a, x: a ^ x,
    "andn2": lambda a, x: a & ~x,
    "orn2": lambda a, x: a | ~x,
    "nand": lambda a, x: ~(a & x),
    "nor": lambda a, x: ~(a | x),
    "xnor": lambda a, x: ~(a ^ x),
    "andn1": lambda a, x: ~a & x,
    "orn1": lambda a, x: ~a | x,
}.items():

    def _save_exec(block: BlockTranslator, instruction: Instruction, text: Any = _text) -> None:
        source, old = _mask_operands(block, instruction)
        new = text(source, old)
        block.set_register(abi.EXEC, new)
        block.set_register(instruction.dst[0].index, old)
        block.scalars.set_scc(new.ne(0))

    straight(f"s_{_name}_saveexec_b64")(_save_exec)
    straight(f"s_{_LATER.get(_name, _name)}_saveexec_b32")(_save_exec)


for _name, _text in {"andn1": lambda a, x: ~a & x, "andn2": lambda a, x: a & ~x}.items():

    def _write_exec(block: BlockTranslator, instruction: Instruction, text: Any = _text) -> None:
        new = text(*_mask_operands(block, instruction))
        block.set_register(abi.EXEC, new)
        block.set_register(instruction.dst[0].index, new)
        block.scalars.set_scc(new.ne(0))

    straight(f"s_{_name}_wrexec_b64")(_write_exec)
    straight(f"s_{_LATER[_name]}_wrexec_b32")(_write_exec)
