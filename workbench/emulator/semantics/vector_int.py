"""Lane-wise integer instructions: moves, logic, shifts, arithmetic, carries, fields, sums of differences."""

from __future__ import annotations

from typing import Any

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.translate.block import V_I32, V_I64, BlockTranslator
from workbench.emulator.translate.ir import LANES, Value, integer
from workbench.emulator.translate.operands import fetch, prepare, put

# Moves


@lanes("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "b32 <- b32")
def mov(block: BlockTranslator, a: Value) -> Value:
    return a


def _move_64(block: BlockTranslator, instruction: Instruction) -> None:
    """v_mov_b64: two dword moves, which keep registers whole; DPP patterns move both alike."""
    source, result = instruction.src[0], instruction.dst[0]
    prepare(block, ((source, "b64"),))
    block.open_run()
    if instruction.form.is_dpp or source.kind not in ("v", "a", "s", "imm"):
        put(block, result, "b64", fetch(block, source, "b64", 0))
        return
    values = [block.dword(source, word, kind="b64") for word in (0, 1)]
    row = block.row_of(result)
    for word, value in enumerate(values):
        block.set_row(row + word, value)


register("v_mov_b64", _move_64)


def _swap(block: BlockTranslator, instruction: Instruction) -> None:
    first, second = (block.row_of(operand) for operand in (*instruction.dst, *instruction.src)[:2])
    block.open_run()
    one, other = block.row(first), block.row(second)
    block.set_row(first, other)
    block.set_row(second, one)


register("v_swap_b32", _swap)


@lanes("v_cndmask_b32", "b32 <- b32 b32 mask")
def cndmask(block: BlockTranslator, a: Value, b: Value, mask: Value) -> Value:
    return mask.select(b, a)


# Logic

_LOGIC: dict[str, tuple[int, Any]] = {
    "v_not_b32": (1, lambda a: ~a),
    "v_and_b32": (2, lambda a, b: a & b),
    "v_or_b32": (2, lambda a, b: a | b),
    "v_xor_b32": (2, lambda a, b: a ^ b),
    "v_xnor_b32": (2, lambda a, b: ~(a ^ b)),
    "v_and_or_b32": (3, lambda a, b, c: (a & b) | c),
    "v_or3_b32": (3, lambda a, b, c: a | b | c),
    "v_bfi_b32": (3, lambda a, b, c: (a & b) | (~a & c)),
}
for _name, (_count, _meaning) in _LOGIC.items():

    @lanes(_name, "b32 <- " + "b32 " * _count)
    def logic(block: BlockTranslator, *sources: Value, meaning: Any = _meaning) -> Value:
        return meaning(*sources)  # type: ignore[no-any-return]


def truth_table(block: BlockTranslator, table: int, a: Value, b: Value, c: Value) -> Value:
    """Any function of three bits: bit (a << 2 | b << 1 | c) of the table."""
    if a.type is V_I32 and "avx512f" in block.options.host:
        # VPTERNLOGD counts its table in the same order.
        function, text = "@llvm.x86.avx512.pternlog.d.512", V_I32.text
        found = block.emitter.call(
            f"declare {text} {function}({text}, {text}, {text}, i32)",
            V_I32,
            function,
            f"{text} {a.name}, {text} {b.name}, {text} {c.name}, i32 {table}",
        )
        assert found is not None
        return found
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


@lanes("v_bitop3_b16", "b16 <- b16 b16 b16", keep_high=True)
def bitop3_b16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return truth_table(block, _table(block), a, b, c)


@lanes("v_bfrev_b32", "b32 <- b32")
def reverse(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("bitreverse", a)


# Counting


def _scan(block: BlockTranslator, a: Value, intrinsic: str) -> Value:
    function = f"@llvm.{intrinsic}.{a.type.suffix}"
    found = block.emitter.call(
        f"declare {a.type.text} {function}({a.type.text}, i1)",
        a.type,
        function,
        f"{a.type.text} {a.name}, i1 false",
    )
    assert found is not None
    return a.eq(0).select(-1, found)


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
    lane = block.lane_ids()
    low = lane.cmp("ult", 32).select(block.emitter.const(V_I32, 1).shl(lane & 31) - 1, -1)
    return block.emitter.intrinsic("ctpop", a & low) + b


@lanes("v_mbcnt_hi_u32_b32", "u32 <- b32 u32")
def mbcnt_hi(block: BlockTranslator, a: Value, b: Value) -> Value:
    lane = block.lane_ids()
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


def _halves(block: BlockTranslator, operand: Operand, kind: str) -> tuple[Value, Value]:
    return block.dword(operand, 0, kind=kind), block.dword(operand, 1, kind=kind)


def _put_halves(block: BlockTranslator, operand: Operand, low: Value, high: Value) -> None:
    row = block.row_of(operand)
    block.set_row(row, low)
    block.set_row(row + 1, high)


def _shift_64(opcode: str, name: str, kind: str) -> None:
    """64-bit shifts: address arithmetic shifts by constants, which needs no 64-bit lanes."""

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        first, second = instruction.src
        amount = _constant(first)
        prepare(block, ((first, "b32"), (second, kind)))
        block.open_run()
        if amount is not None and amount & 63:
            low, high = shift_halves(block, name, *_halves(block, second, kind), amount & 63)
            _put_halves(block, instruction.dst[0], low, high)
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
    low, high = _halves(block, first, "u64")
    if amount & 7:
        low, high = shift_halves(block, "shl", low, high, amount & 7)
    _put_halves(block, instruction.dst[0], *add_halves((low, high), _halves(block, third, "u64")))


def add_halves(a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
    """A 64-bit sum from halves."""
    low = a[0] + b[0]
    return low, a[1] + b[1] + low.cmp("ult", a[0]).zext(32)


register("v_lshl_add_u64", _lshl_add_64)


@lanes("v_alignbit_b32", "b32 <- b32 b32 b32")
def alignbit(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _funnel(block, a, b, c & 31)


@lanes("v_alignbyte_b32", "b32 <- b32 b32 b32")
def alignbyte(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _funnel(block, a, b, (c & 3).shl(3))


def _funnel(block: BlockTranslator, high: Value, low: Value, amount: Value) -> Value:
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
    both = block.join(b, a)
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
        found = e.call(
            f"declare {text} {function}({text}, {text})",
            bytes_type,
            function,
            f"{text} {value.name}, {text} {index.name}",
        )
        assert found is not None
        return found

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


# Arithmetic


def _add(block: BlockTranslator, a: Value, b: Value, signed: bool = False) -> Value:
    if block.clamp:
        return block.emitter.intrinsic("sadd.sat" if signed else "uadd.sat", a, b)
    return a + b


def _sub(block: BlockTranslator, a: Value, b: Value, signed: bool = False) -> Value:
    if block.clamp:
        return block.emitter.intrinsic("ssub.sat" if signed else "usub.sat", a, b)
    return a - b


for _bits in (32, 16):

    @lanes(f"v_add_u{_bits}", f"u{_bits} <- u{_bits} u{_bits}")
    def add(block: BlockTranslator, a: Value, b: Value) -> Value:
        return _add(block, a, b)

    @lanes(f"v_sub_u{_bits}", f"u{_bits} <- u{_bits} u{_bits}")
    def sub(block: BlockTranslator, a: Value, b: Value) -> Value:
        return _sub(block, a, b)

    @lanes(f"v_subrev_u{_bits}", f"u{_bits} <- u{_bits} u{_bits}")
    def subrev(block: BlockTranslator, a: Value, b: Value) -> Value:
        return _sub(block, b, a)

    @lanes(f"v_add_i{_bits}", f"i{_bits} <- i{_bits} i{_bits}", keep_high=True)
    def add_signed(block: BlockTranslator, a: Value, b: Value) -> Value:
        return _add(block, a, b, True)

    @lanes(f"v_sub_i{_bits}", f"i{_bits} <- i{_bits} i{_bits}", keep_high=True)
    def sub_signed(block: BlockTranslator, a: Value, b: Value) -> Value:
        return _sub(block, a, b, True)

    for _name, _predicate in (("min", "lt"), ("max", "gt")):
        for _letter, _sign in (("i", "s"), ("u", "u")):
            _kind = f"{_letter}{_bits}"

            @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
            def extreme(block: BlockTranslator, a: Value, b: Value, name: str = f"{_sign}{_name}") -> Value:
                return block.emitter.intrinsic(name, a, b)

            @lanes(f"v_{_name}3_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
            def extreme3(
                block: BlockTranslator, a: Value, b: Value, c: Value, name: str = f"{_sign}{_name}"
            ) -> Value:
                return block.emitter.intrinsic(name, block.emitter.intrinsic(name, a, b), c)

    for _letter, _sign in (("i", "s"), ("u", "u")):
        _kind = f"{_letter}{_bits}"

        @lanes(f"v_med3_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
        def med3(block: BlockTranslator, a: Value, b: Value, c: Value, sign: str = _sign) -> Value:
            e = block.emitter
            low, high = e.intrinsic(f"{sign}min", a, b), e.intrinsic(f"{sign}max", a, b)
            return e.intrinsic(f"{sign}max", low, e.intrinsic(f"{sign}min", high, c))


@lanes("v_add_co_u32", "u32 mask <- u32 u32")
def add_co(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    total = a + b
    carry = total.cmp("ult", a)
    return carry.select(-1, total) if block.clamp else total, carry


@lanes("v_addc_co_u32", "u32 mask <- u32 u32 mask")
def addc_co(block: BlockTranslator, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    first = a + b
    total = first + carry.zext(32)
    out = first.cmp("ult", a) | total.cmp("ult", first)
    return out.select(-1, total) if block.clamp else total, out


def _borrow(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    borrow = a.cmp("ult", b)
    difference = a - b
    return borrow.select(0, difference) if block.clamp else difference, borrow


@lanes("v_sub_co_u32", "u32 mask <- u32 u32")
def sub_co(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    return _borrow(block, a, b)


@lanes("v_subrev_co_u32", "u32 mask <- u32 u32")
def subrev_co(block: BlockTranslator, a: Value, b: Value) -> tuple[Value, Value]:
    return _borrow(block, b, a)


def _borrow_in(block: BlockTranslator, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    first = a - b
    one = carry.zext(32)
    difference = first - one
    out = a.cmp("ult", b) | first.cmp("ult", one)
    return out.select(0, difference) if block.clamp else difference, out


@lanes("v_subb_co_u32", "u32 mask <- u32 u32 mask")
def subb_co(block: BlockTranslator, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    return _borrow_in(block, a, b, carry)


@lanes("v_subbrev_co_u32", "u32 mask <- u32 u32 mask")
def subbrev_co(block: BlockTranslator, a: Value, b: Value, carry: Value) -> tuple[Value, Value]:
    return _borrow_in(block, b, a, carry)


@lanes("v_add3_u32", "u32 <- u32 u32 u32")
def add3(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return a + b + c


@lanes("v_xad_u32", "u32 <- u32 u32 u32")
def xad(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return (a ^ b) + c


@lanes("v_mul_lo_u32", "u32 <- u32 u32")
def mul_lo(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@lanes("v_mul_hi_u32", "u32 <- u32 u32")
def mul_hi_u32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a.zext(64) * b.zext(64)).lshr(32).trunc(32)


@lanes("v_mul_hi_i32", "i32 <- i32 i32")
def mul_hi_i32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (a.sext(64) * b.sext(64)).lshr(32).trunc(32)


@lanes("v_mul_lo_u16", "u16 <- u16 u16")
def mul_lo_u16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


def _signed24(value: Value) -> Value:
    return value.shl(8).ashr(8)


def _unsigned24(value: Value) -> Value:
    return value & 0xFFFFFF


def _wide_saturated(block: BlockTranslator, total: Value, signed: bool) -> Value:
    """The low dword of a 64-bit sum, or the nearest 32-bit number with clamp."""
    if not block.clamp:
        return total.trunc(32)
    if signed:
        total = block.emitter.intrinsic("smin", total, 0x7FFFFFFF)
        return block.emitter.intrinsic("smax", total, -0x80000000).trunc(32)
    return block.emitter.intrinsic("umin", total, 0xFFFFFFFF).trunc(32)


@lanes("v_mul_i32_i24", "i32 <- i32 i32")
def mul_i24(block: BlockTranslator, a: Value, b: Value) -> Value:
    a, b = _signed24(a), _signed24(b)
    return _wide_saturated(block, a.sext(64) * b.sext(64), True) if block.clamp else a * b


@lanes("v_mul_u32_u24", "u32 <- u32 u32")
def mul_u24(block: BlockTranslator, a: Value, b: Value) -> Value:
    a, b = _unsigned24(a), _unsigned24(b)
    return _wide_saturated(block, a.zext(64) * b.zext(64), False) if block.clamp else a * b


@lanes("v_mul_hi_i32_i24", "i32 <- i32 i32")
def mul_hi_i24(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (_signed24(a).sext(64) * _signed24(b).sext(64)).lshr(32).trunc(32)


@lanes("v_mul_hi_u32_u24", "u32 <- u32 u32")
def mul_hi_u24(block: BlockTranslator, a: Value, b: Value) -> Value:
    return (_unsigned24(a).zext(64) * _unsigned24(b).zext(64)).lshr(32).trunc(32)


@lanes("v_mad_i32_i24", "i32 <- i32 i32 i32")
def mad_i24(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    a, b = _signed24(a), _signed24(b)
    if block.clamp:
        return _wide_saturated(block, a.sext(64) * b.sext(64) + c.sext(64), True)
    return a * b + c


@lanes("v_mad_u32_u24", "u32 <- u32 u32 u32")
def mad_u24(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    a, b = _unsigned24(a), _unsigned24(b)
    if block.clamp:
        return _wide_saturated(block, a.zext(64) * b.zext(64) + c.zext(64), False)
    return a * b + c


@lanes("v_mad_u32_u16", "u32 <- u16 u16 u32")
def mad_u32_u16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    product = a.zext(32) * b.zext(32)
    return block.emitter.intrinsic("uadd.sat", product, c) if block.clamp else product + c


@lanes("v_mad_i32_i16", "i32 <- i16 i16 i32")
def mad_i32_i16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    product = a.sext(32) * b.sext(32)
    return block.emitter.intrinsic("sadd.sat", product, c) if block.clamp else product + c


def mad_16(block: BlockTranslator, a: Value, b: Value, c: Value, signed: bool) -> Value:
    """a * b + c of 16-bit elements, saturated with clamp."""
    if not block.clamp:
        return a * b + c
    if signed:
        wide = a.sext(32) * b.sext(32) + c.sext(32)
        wide = block.emitter.intrinsic("smin", wide, 0x7FFF)
        return block.emitter.intrinsic("smax", wide, -0x8000).trunc(16)
    # 65535 * 65535 + 65535 is still below 2**32.
    wide = a.zext(32) * b.zext(32) + c.zext(32)
    return block.emitter.intrinsic("umin", wide, 0xFFFF).trunc(16)


@lanes("v_mad_u16", "u16 <- u16 u16 u16", keep_high=True)
def mad_u16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return mad_16(block, a, b, c, False)


@lanes("v_mad_i16", "i16 <- i16 i16 i16", keep_high=True)
def mad_i16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return mad_16(block, a, b, c, True)


@lanes("v_mad_legacy_u16", "u16 <- u16 u16 u16")
def mad_legacy_u16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return mad_16(block, a, b, c, False)


@lanes("v_mad_legacy_i16", "i16 <- i16 i16 i16")
def mad_legacy_i16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return mad_16(block, a, b, c, True)


def _mad_u64(block: BlockTranslator, instruction: Instruction) -> None:
    result, carry_out = instruction.dst
    first, second, third = instruction.src
    prepare(block, ((first, "u32"), (second, "u32"), (third, "u64")))
    block.prepare_mask_write(carry_out.index)
    block.open_run()
    a, b = fetch(block, first, "u32", 0), fetch(block, second, "u32", 1)
    c = _halves(block, third, "u64")
    low, carry_low = a * b + c[0], None
    carry_low = low.cmp("ult", c[0]).zext(32)
    # The product's upper half is at most 2**32 - 2, so that the carry from below fits into it.
    upper = mul_hi_u32(block, a, b) + carry_low
    high = upper + c[1]
    carry = high.cmp("ult", upper)
    if block.clamp:
        low, high = carry.select(-1, low), carry.select(-1, high)
    _put_halves(block, result, low, high)
    block.set_mask(carry_out.index, carry)


register("v_mad_u64_u32", _mad_u64)


@lanes("v_mad_i64_i32", "i64 mask <- i32 i32 i64")
def mad_i64(block: BlockTranslator, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    product = a.sext(64) * b.sext(64)
    total = product + c
    overflow = ((product ^ total) & (c ^ total)).cmp("slt", 0)
    # The carry is bit 64 of the sum of the two numbers extended with their signs.
    carry = overflow ^ total.cmp("slt", 0)
    if block.clamp:
        limit = product.cmp("slt", 0).select(1 << 63, (1 << 63) - 1, V_I64)
        total = overflow.select(limit, total)
    return total, carry


@lanes("v_prng_b32", "b32 <- b32")
def prng(block: BlockTranslator, a: Value) -> Value:
    return next_random(a)


def next_random(a: Value) -> Value:
    """One step of the pseudo-random sequence that stochastic rounding uses."""
    return a.shl(1) ^ (a.ashr(31) & 197)


@lanes("v_ashr_pk_i8_i32", "b16 <- i32 i32 i32", keep_high=True)
def ashr_pk_i8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _shift_pack(block, a, b, c, -128, 127)


@lanes("v_ashr_pk_u8_i32", "b16 <- i32 i32 i32", keep_high=True)
def ashr_pk_u8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _shift_pack(block, a, b, c, 0, 255)


def _shift_pack(block: BlockTranslator, a: Value, b: Value, c: Value, low: int, high: int) -> Value:
    amount = c & 31
    first, second = (
        block.emitter.intrinsic("smax", block.emitter.intrinsic("smin", value.ashr(amount), high), low) & 255
        for value in (a, b)
    )
    return (first | second.shl(8)).trunc(16)


# Sums of absolute differences


def _difference(block: BlockTranslator, a: Value, b: Value) -> Value:
    e = block.emitter
    return e.intrinsic("umax", a, b) - e.intrinsic("umin", a, b)


def _bytes_difference(block: BlockTranslator, a: Value, b: Value, masked: bool) -> Value:
    """Sum of |a - b| over the four bytes; masked leaves out bytes where b is zero."""
    total: Value | None = None
    for place in range(4):
        x, y = (value.lshr(8 * place) & 255 for value in (a, b))
        part = _difference(block, x, y)
        if masked:
            part = y.eq(0).select(0, part)
        total = part if total is None else total + part
    assert total is not None
    return total


def _accumulate(block: BlockTranslator, a: Value, b: Value) -> Value:
    return block.emitter.intrinsic("uadd.sat", a, b) if block.clamp else a + b


@lanes("v_sad_u8", "u32 <- u32 u32 u32")
def sad_u8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _accumulate(block, _bytes_difference(block, a, b, False), c)


@lanes("v_msad_u8", "u32 <- u32 u32 u32")
def msad_u8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _accumulate(block, _bytes_difference(block, a, b, True), c)


@lanes("v_sad_hi_u8", "u32 <- u32 u32 u32")
def sad_hi_u8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _accumulate(block, _bytes_difference(block, a, b, False).shl(16), c)


@lanes("v_sad_u16", "u32 <- u32 u32 u32")
def sad_u16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    low = _difference(block, a & 0xFFFF, b & 0xFFFF)
    return _accumulate(block, low + _difference(block, a.lshr(16), b.lshr(16)), c)


@lanes("v_sad_u32", "u32 <- u32 u32 u32")
def sad_u32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _accumulate(block, _difference(block, a, b), c)


def _quad_sad(block: BlockTranslator, a: Value, b: Value, masked: bool) -> list[Value]:
    """The four sums of b against a's bytes 0..3, 1..4, 2..5 and 3..6."""
    low, high = block.halves(a)
    windows = [low, *(_funnel(block, high, low, block.emitter.const(V_I32, 8 * n)) for n in (1, 2, 3))]
    return [_bytes_difference(block, window, b, masked) for window in windows]


for _name, _masked in (("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)):

    @lanes(_name, "b64 <- b64 b32 b64")
    def qsad(block: BlockTranslator, a: Value, b: Value, c: Value, masked: bool = _masked) -> Value:
        low, high = block.halves(c)
        words: list[Value] = []
        for number, total in enumerate(_quad_sad(block, a, b, masked)):
            source = (low, high)[number // 2]
            source = source.lshr(16) if number % 2 else source & 0xFFFF
            total = total + source
            if block.clamp:
                total = block.emitter.intrinsic("umin", total, 0xFFFF)
            words.append(total & 0xFFFF)
        return block.join(words[0] | words[1].shl(16), words[2] | words[3].shl(16))


def _mqsad_u32(block: BlockTranslator, instruction: Instruction) -> None:
    first, second, third = instruction.src
    prepare(block, ((first, "b64"), (second, "b32"), (third, "b32")))
    block.open_run()
    sums = _quad_sad(block, block.quad(first, "b64"), block.dword(second), True)
    added = [_accumulate(block, total, block.dword(third, word)) for word, total in enumerate(sums)]
    row = block.row_of(instruction.dst[0])
    for word, value in enumerate(added):
        block.set_row(row + word, value)


register("v_mqsad_u32_u8", _mqsad_u32)


# Lanes to and from scalar registers


def _readlane(block: BlockTranslator, instruction: Instruction) -> None:
    row = block.row_of(instruction.src[0])
    lane = block.scalar(instruction.src[1]) & 63
    if block.is_row_written(row):
        block.close_run()
    block.set_register(instruction.dst[0].index, block.scalar_row_lane(row, lane))


def _writelane(block: BlockTranslator, instruction: Instruction) -> None:
    row = block.row_of(instruction.dst[0])
    value = block.scalar(instruction.src[0])
    lane = block.scalar(instruction.src[1]) & 63
    block.set_scalar_row_lane(row, lane, value)


def _readfirstlane(block: BlockTranslator, instruction: Instruction) -> None:
    operand = instruction.src[0]
    if operand.kind not in ("v", "a"):
        # A scalar source reads as itself.
        block.set_register(instruction.dst[0].index, block.scalar(operand))
        return
    row = block.row_of(operand)
    if block.is_row_written(row):
        block.close_run()
    mask = block.exec()
    emitter = block.emitter
    # With no lane on, lane 0 is read: setting bit 63 when empty would read lane 63, so the zero is replaced.
    found = emitter.call(
        "declare i64 @llvm.cttz.i64(i64, i1)", mask.type, "@llvm.cttz.i64", f"i64 {mask.name}, i1 false"
    )
    assert found is not None
    lane = (found & 63).trunc(32)
    block.set_register(instruction.dst[0].index, block.scalar_row_lane(row, lane))


register("v_readlane_b32", _readlane)
register("v_writelane_b32", _writelane)
register("v_readfirstlane_b32", _readfirstlane)
