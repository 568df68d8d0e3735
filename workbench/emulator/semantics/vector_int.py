"""Lane-wise integer arithmetic: sums, carries, products, minimum and maximum, sums of differences."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.semantics.vector_bits import funnel, operand_halves, put_halves
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_I32, V_I64, halves, join
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.operands import fetch, prepare, put

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


for _letter, _sign in (("i", "s"), ("u", "u")):
    _kind = f"{_letter}32"
    for _first, _second in (("min", "max"), ("max", "min")):

        @lanes(f"v_{_first}{_second}_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}")
        def extremes(
            block: BlockTranslator,
            a: Value,
            b: Value,
            c: Value,
            names: tuple[str, str] = (f"{_sign}{_first}", f"{_sign}{_second}"),
        ) -> Value:
            return block.emitter.intrinsic(names[1], block.emitter.intrinsic(names[0], a, b), c)


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
    borrow = carry.zext(32)
    difference = first - borrow
    out = a.cmp("ult", b) | first.cmp("ult", borrow)
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
    c = operand_halves(block, third, "u64")
    low, carry_low = a * b + c[0], None
    carry_low = low.cmp("ult", c[0]).zext(32)
    # The product's upper half is at most 2**32 - 2, so that the carry from below fits into it.
    upper = mul_hi_u32(block, a, b) + carry_low
    high = upper + c[1]
    carry = high.cmp("ult", upper)
    if block.clamp:
        low, high = carry.select(-1, low), carry.select(-1, high)
    put_halves(block, result, low, high)
    put(block, carry_out, "mask", carry)


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
    low, high = halves(a)
    windows = [low, *(funnel(block, high, low, block.emitter.const(V_I32, 8 * n)) for n in (1, 2, 3))]
    return [_bytes_difference(block, window, b, masked) for window in windows]


for _name, _masked in (("v_qsad_pk_u16_u8", False), ("v_mqsad_pk_u16_u8", True)):

    @lanes(_name, "b64 <- b64 b32 b64")
    def qsad(block: BlockTranslator, a: Value, b: Value, c: Value, masked: bool = _masked) -> Value:
        low, high = halves(c)
        words: list[Value] = []
        for number, total in enumerate(_quad_sad(block, a, b, masked)):
            source = (low, high)[number // 2]
            source = source.lshr(16) if number % 2 else source & 0xFFFF
            total = total + source
            if block.clamp:
                total = block.emitter.intrinsic("umin", total, 0xFFFF)
            words.append(total & 0xFFFF)
        return join(words[0] | words[1].shl(16), words[2] | words[3].shl(16))


def _mqsad_u32(block: BlockTranslator, instruction: Instruction) -> None:
    first, second, third = instruction.src
    prepare(block, ((first, "b64"), (second, "b32"), (third, "b32")))
    run = block.open_run()
    sums = _quad_sad(block, block.quad(first, "b64"), block.dword(second), True)
    added = [_accumulate(block, total, block.dword(third, word)) for word, total in enumerate(sums)]
    row = block.row_of(instruction.dst[0])
    for word, value in enumerate(added):
        run.set_row(row + word, value)


register("v_mqsad_u32_u8", _mqsad_u32)
