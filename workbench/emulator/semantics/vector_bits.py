"""Lane-wise instructions on bits: logic, counting, shifts, fields and bytes."""

from __future__ import annotations

from typing import Any

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_I32, join
from workbench.emulator.translate.ir import LANES, Value, integer
from workbench.emulator.translate.operands import fetch, prepare, put

# Logic

_LOGIC: dict[str, tuple[int, Any]] = {
    "v_not_b32": (1, lambda a: ~a),
    "v_and_b32": (2, lambda a, b: a & b),
    "v_or_b32": (2, lambda a, b: a | b),
    "v_xor_b32": (2, lambda a, b: a ^ b),
    "v_xnor_b32": (2, lambda a, b: ~(a ^ b)),
    "v_and_or_b32": (3, lambda a, b, c: (a & b) | c),
    "v_or3_b32": (3, lambda a, b, c: a | b | c),
    "v_xor3_b32": (3, lambda a, b, c: a ^ b ^ c),
    "v_bfi_b32": (3, lambda a, b, c: (a & b) | (~a & c)),
}
for _name, (_count, _meaning) in _LOGIC.items():

    @lanes(_name, "b32 <- " + "b32 " * _count)
    def logic(block: BlockTranslator, *sources: Value, meaning: Any = _meaning) -> Value:
        return meaning(*sources)  # type: ignore[no-any-return]


for _name in ("v_not_b16", "v_and_b16", "v_or_b16", "v_xor_b16"):
    _count, _meaning = _LOGIC[_name.replace("b16", "b32")]

    @lanes(_name, "b16 <- " + "b16 " * _count)
    def logic16(block: BlockTranslator, *sources: Value, meaning: Any = _meaning) -> Value:
        return meaning(*sources)  # type: ignore[no-any-return]


def truth_table(block: BlockTranslator, table: int, a: Value, b: Value, c: Value) -> Value:
    """Any function of three bits: bit (a << 2 | b << 1 | c) of the table."""
    if a.type is V_I32 and "avx512f" in block.options.host:
        # VPTERNLOGD counts its table in the same order.
        function, text = "@llvm.x86.avx512.pternlog.d.512", V_I32.text
        ternary = block.emitter.call(
            f"declare {text} {function}({text}, {text}, {text}, i32)",
            V_I32,
            function,
            f"{text} {a.name}, {text} {b.name}, {text} {c.name}, i32 {table}",
        )
        assert ternary is not None
        return ternary
    result: Value | None = None
    for row in range(8):
        if not table >> row & 1:
            continue
        term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        result = term if result is None else result | term
    return result if result is not None else block.emitter.const(a.type, 0)


def _table(block: BlockTranslator) -> int:
    return block.instruction.modifiers.get("bitop3", 0)


@lanes("v_bitop3_b32", "b32 <- b32 b32 b32")
def bitop3_b32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return truth_table(block, _table(block), a, b, c)


@lanes("v_dual_bitop2_b32", "b32 <- b32 b32")
def bitop2_b32(block: BlockTranslator, a: Value, b: Value) -> Value:
    """A half of a dual instruction: the table of v_bitop3_b32 where its third source is 0."""
    return truth_table(block, _table(block), a, b, block.emitter.const(a.type, 0))


@lanes("v_bitop3_b16", "b16 <- b16 b16 b16", keep_high=True)
def bitop3_b16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return truth_table(block, _table(block), a, b, c)


@lanes("v_bfrev_b32", "b32 <- b32")
def reverse(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("bitreverse", a)


# Counting


def _scan(block: BlockTranslator, a: Value, intrinsic: str) -> Value:
    function = f"@llvm.{intrinsic}.{a.type.suffix}"
    position = block.emitter.call(
        f"declare {a.type.text} {function}({a.type.text}, i1)",
        a.type,
        function,
        f"{a.type.text} {a.name}, i1 false",
    )
    assert position is not None
    return a.eq(0).select(-1, position)


@lanes("v_ffbh_u32", "i32 <- b32")
def ffbh_u32(block: BlockTranslator, a: Value) -> Value:
    return _scan(block, a, "ctlz")


@lanes("v_ffbl_b32", "i32 <- b32")
def ffbl(block: BlockTranslator, a: Value) -> Value:
    return _scan(block, a, "cttz")


@lanes("v_ffbh_i32", "i32 <- i32")
def ffbh_i32(block: BlockTranslator, a: Value) -> Value:
    return _scan(block, a ^ a.ashr(31), "ctlz")


@lanes("v_bcnt_u32_b32", "u32 <- b32 u32")
def bit_count(block: BlockTranslator, a: Value, b: Value) -> Value:
    return block.emitter.intrinsic("ctpop", a) + b


@lanes("v_mbcnt_lo_u32_b32", "u32 <- b32 u32")
def mbcnt_lo(block: BlockTranslator, a: Value, b: Value) -> Value:
    lane = block.open_run().lane_ids()
    low = lane.cmp("ult", 32).select(block.emitter.const(V_I32, 1).shl(lane & 31) - 1, -1)
    return block.emitter.intrinsic("ctpop", a & low) + b


@lanes("v_mbcnt_hi_u32_b32", "u32 <- b32 u32")
def mbcnt_hi(block: BlockTranslator, a: Value, b: Value) -> Value:
    lane = block.open_run().lane_ids()
    high = lane.cmp("uge", 32).select(block.emitter.const(V_I32, 1).shl(lane & 31) - 1, 0)
    return block.emitter.intrinsic("ctpop", a & high) + b


# Shifts


@lanes("v_lshlrev_b32", "b32 <- b32 b32")
def lshlrev(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.shl(a & 31)


@lanes("v_lshrrev_b32", "b32 <- b32 b32")
def lshrrev(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.lshr(a & 31)


@lanes("v_ashrrev_i32", "i32 <- b32 i32")
def ashrrev(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.ashr(a & 31)


@lanes("v_lshlrev_b16", "b16 <- b16 b16")
def lshlrev_16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.shl(a & 15)


@lanes("v_lshrrev_b16", "b16 <- b16 b16")
def lshrrev_16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.lshr(a & 15)


@lanes("v_ashrrev_i16", "i16 <- b16 i16")
def ashrrev_16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return b.ashr(a & 15)


def shift_halves(
    block: BlockTranslator, name: str, low: Value, high: Value, amount: int
) -> tuple[Value, Value]:
    """A 64-bit shift (shl, lshr or ashr) by a constant, on the halves of the number."""
    far, near = amount >= 32, amount & 31
    if name == "shl":
        if far:
            return block.emitter.const(V_I32, 0), low.shl(near) if near else low
        return low.shl(near), block.emitter.intrinsic("fshl", high, low, near)
    fill = block.emitter.const(V_I32, 0) if name == "lshr" else high.ashr(31)
    shift = Value.lshr if name == "lshr" else Value.ashr
    if far:
        return shift(high, near) if near else high, fill
    return block.emitter.intrinsic("fshr", high, low, near), shift(high, near)


def _constant(operand: Operand) -> int | None:
    return operand.bits("b32") if operand.kind in ("imm", "simm") else None


def operand_halves(block: BlockTranslator, operand: Operand, kind: str) -> tuple[Value, Value]:
    """Low and high dwords of a 64-bit source, without modifiers."""
    return block.dword(operand, 0, kind=kind), block.dword(operand, 1, kind=kind)


def put_halves(block: BlockTranslator, operand: Operand, low: Value, high: Value) -> None:
    """Write a 64-bit result given as dwords."""
    row = block.row_of(operand)
    block.open_run().set_row(row, low)
    block.open_run().set_row(row + 1, high)


def _shift_64(opcode: str, name: str, kind: str) -> None:
    """64-bit shifts: address arithmetic shifts by constants, which needs no 64-bit lanes."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        first, second = instruction.src
        amount = _constant(first)
        prepare(block, ((first, "b32"), (second, kind)))
        block.open_run()
        if amount is not None and amount & 63:
            low, high = shift_halves(block, name, *operand_halves(block, second, kind), amount & 63)
            put_halves(block, instruction.dst[0], low, high)
            return
        value, count = fetch(block, second, kind, 1), (fetch(block, first, "b32", 0) & 63).zext(64)
        put(block, instruction.dst[0], kind, getattr(value, name)(count))

    register(opcode, handle)


_shift_64("v_lshlrev_b64", "shl", "b64")
_shift_64("v_lshrrev_b64", "lshr", "b64")
_shift_64("v_ashrrev_i64", "ashr", "i64")


@lanes("v_lshl_or_b32", "b32 <- b32 b32 b32")
def lshl_or(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return a.shl(b & 31) | c


@lanes("v_lshl_add_u32", "u32 <- u32 u32 u32")
def lshl_add(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return a.shl(b & 31) + c


@lanes("v_add_lshl_u32", "u32 <- u32 u32 u32")
def add_lshl(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return (a + b).shl(c & 31)


def _lshl_add_64(block: BlockTranslator, instruction: Instruction) -> None:
    first, second, third = instruction.src
    amount = _constant(second)
    prepare(block, ((first, "u64"), (second, "b32"), (third, "u64")))
    block.open_run()
    if amount is None:
        count = (fetch(block, second, "u32", 1) & 7).zext(64)
        total = fetch(block, first, "u64", 0).shl(count) + fetch(block, third, "u64", 2)
        put(block, instruction.dst[0], "u64", total)
        return
    low, high = operand_halves(block, first, "u64")
    if amount & 7:
        low, high = shift_halves(block, "shl", low, high, amount & 7)
    put_halves(block, instruction.dst[0], *add_halves((low, high), operand_halves(block, third, "u64")))


def add_halves(a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
    """A 64-bit sum from halves."""
    low = a[0] + b[0]
    return low, a[1] + b[1] + low.cmp("ult", a[0]).zext(32)


register("v_lshl_add_u64", _lshl_add_64)


@lanes("v_alignbit_b32", "b32 <- b32 b32 b32")
def alignbit(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return funnel(block, a, b, c & 31)


@lanes("v_alignbyte_b32", "b32 <- b32 b32 b32")
def alignbyte(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return funnel(block, a, b, (c & 3).shl(3))


def funnel(block: BlockTranslator, high: Value, low: Value, amount: Value) -> Value:
    """The low dword of {high, low} shifted right by 0 to 31."""
    return block.emitter.intrinsic("fshr", high, low, amount)


# Bit fields and bytes


@lanes("v_bfe_u32", "u32 <- u32 b32 b32")
def bfe_u32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    mask = block.emitter.const(V_I32, 1).shl(c & 31) - 1
    return a.lshr(b & 31) & mask


@lanes("v_bfe_i32", "i32 <- i32 b32 b32")
def bfe_i32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    size = c & 31
    up = (32 - size) & 31
    extended = a.ashr(b & 31).shl(up).ashr(up)
    return size.eq(0).select(0, extended)


@lanes("v_bfm_b32", "b32 <- b32 b32")
def bfm(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (block.emitter.const(V_I32, 1).shl(a & 31) - 1).shl(b & 31)


@lanes("v_perm_b32", "b32 <- b32 b32 b32")
def perm(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """Each selector byte names a byte of {a, b}, a sign, zero (12) or 0xff (13 and above)."""
    if "avx512bw" in block.options.host:
        return _perm_bytes(block, a, b, c)
    both = join(b, a)
    result: Value | None = None
    for place in range(4):
        select = c.lshr(8 * place) & 255
        byte = both.lshr((select & 7).shl(3).zext(64)).trunc(32) & 255
        # 8..11 name the signs of bytes 1, 3, 5, 7.
        sign_at = (select & 3).shl(4) + 15
        sign = (0 - (both.lshr(sign_at.zext(64)).trunc(32) & 1)) & 255
        constant = select.eq(12).select(0, 255, V_I32)
        value = select.cmp("ult", 8).select(byte, select.cmp("ult", 12).select(sign, constant))
        value = value.shl(8 * place) if place else value
        result = value if result is None else result | value
    assert result is not None
    return result


def _perm_bytes(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """v_perm_b32 on bytes: VPSHUFB moves bytes within four dwords at once."""
    e = block.emitter
    bytes_type = integer(8, 4 * LANES)
    select = c.bitcast(bytes_type)
    # First byte of each dword in its group of 16.
    text = ", ".join(f"i8 {n % 16 & ~3}" for n in range(4 * LANES))
    base = Value(e, f"<{text}>", bytes_type)

    def shuffled(value: Value, index: Value) -> Value:
        function = "@llvm.x86.avx512.pshuf.b.512"
        text = bytes_type.text
        moved = e.call(
            f"declare {text} {function}({text}, {text})",
            bytes_type,
            function,
            f"{text} {value.name}, {text} {index.name}",
        )
        assert moved is not None
        return moved

    high, low = a.bitcast(bytes_type), b.bitcast(bytes_type)
    place = (select & 3) | base
    result = (select & 4).ne(0).select(shuffled(high, place), shuffled(low, place))
    # 8..11: the signs of bytes 1, 3, 5, 7 of the eight.
    odd = (select & 1).shl(1) | 1 | base
    sign = (select & 2).ne(0).select(shuffled(high, odd), shuffled(low, odd)).ashr(7)
    result = select.cmp("ugt", 7).select(sign, result)
    result = select.eq(12).select(0, result)
    return select.cmp("ugt", 12).select(-1, result).bitcast(V_I32)


@lanes("v_pack_b32_f16", "b32 <- f16 f16")
def pack_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a.bits().zext(32) | b.bits().zext(32).shl(16)


@lanes("v_lerp_u8", "u32 <- u32 u32 u32")
def lerp(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    ones = c & 0x01010101
    even = 0x00FF00FF

    def average(shift: int) -> Value:
        x, y, z = (value.lshr(shift) & even if shift else value & even for value in (a, b, ones))
        return (x + y + z).lshr(1) & even

    return average(0) | average(8).shl(8)


@lanes("v_sat_pk_u8_i16", "b32 <- b32")
def sat_pk(block: BlockTranslator, a: Value) -> Value:
    def saturated(value: Value) -> Value:
        value = value.cmp("slt", 0).select(0, value)
        return value.cmp("sgt", 255).select(255, value)

    return saturated(a.shl(16).ashr(16)) | saturated(a.ashr(16)).shl(8)
