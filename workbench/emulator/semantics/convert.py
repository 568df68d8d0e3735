"""Lane-wise conversions between number formats: saturation, NaN rules, rounding.

Float to integer conversions truncate, saturate, and give zero for NaN. Small formats (fp8, bf8, fp6, fp4)
are converted by C functions (native/ops/convert.c), whose tables say what each format is on each target.
"""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.semantics.executed import CHANGED
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.semantics.vector_rounding import rounded
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_F64, V_I32
from workbench.emulator.translate.ir import Type, Value
from workbench.emulator.translate.lane_calls import call_lanes, call_on_rows, lane_rows, row_address
from workbench.emulator.translate.operands import fetch, prepare
from workbench.targets import target


def saturated(block: BlockTranslator, a: Value, bits: int, signed: bool) -> Value:
    """A float truncated to an integer of 32-bit lanes: the nearest one of `bits` bits, zero for NaN."""
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0.0, 2.0**bits)
    too_large = a.cmp("oge", high)
    # Bounds that a float holds exactly: values below the range, and NaN, are replaced before, those above it
    # afterwards.
    a = a.cmp("ogt", low).select(a, low)
    inside = too_large.select(0.0, a)
    whole = block.emitter.convert("fptosi" if signed else "fptoui", inside, V_I32)
    return too_large.select(int(high) - 1, whole)


def _no_nan(a: Value, result: Value) -> Value:
    """The result, or zero where the source is NaN and the range has negative numbers."""
    return a.is_nan().select(0, result)


def _integer32(block: BlockTranslator, a: Value, signed: bool) -> Value:
    result = saturated(block, a, 32, signed)
    return _no_nan(a, result) if signed else result


def _from_integer(a: Value, type: Type, signed: bool) -> Value:
    return a.emitter.convert("sitofp" if signed else "uitofp", a, type)


# Between 32-bit integers and floats

for _float, _type in (("f32", V_F32), ("f64", V_F64)):
    for _integer, _signed in (("i32", True), ("u32", False)):

        @lanes(f"v_cvt_{_integer}_{_float}", f"{_integer} <- {_float}")
        def to_integer(block: BlockTranslator, a: Value, signed: bool = _signed) -> Value:
            return _integer32(block, a, signed)

        @lanes(f"v_cvt_{_float}_{_integer}", f"{_float} <- {_integer}")
        def from_integer(
            block: BlockTranslator, a: Value, signed: bool = _signed, type: Type = _type
        ) -> Value:
            return _from_integer(a, type, signed)


for _integer, _signed in (("i16", True), ("u16", False)):

    @lanes(f"v_cvt_{_integer}_f16", f"{_integer} <- f16")
    def half_to_integer(block: BlockTranslator, a: Value, signed: bool = _signed) -> Value:
        return _no_nan(a.fpext(32), saturated(block, a.fpext(32), 16, signed)).trunc(16)

    @lanes(f"v_cvt_f16_{_integer}", f"f16 <- {_integer}")
    def half_from_integer(block: BlockTranslator, a: Value, signed: bool = _signed) -> Value:
        # 16-bit numbers are exact in single precision.
        wide = a.sext(32) if signed else a.zext(32)
        return _from_integer(wide, V_F32, signed).fptrunc(16)


@lanes("v_cvt_i32_i16", "i32 <- i16")
def i32_i16(block: BlockTranslator, a: Value) -> Value:
    return a.sext(32)


@lanes("v_cvt_u32_u16", "u32 <- u16")
def u32_u16(block: BlockTranslator, a: Value) -> Value:
    return a.zext(32)


@lanes("v_cvt_rpi_i32_f32", "i32 <- f32")
def rpi(block: BlockTranslator, a: Value) -> Value:
    return _integer32(block, rounded(block, "floor", a + 0.5), True)


@lanes("v_cvt_flr_i32_f32", "i32 <- f32")
def flr(block: BlockTranslator, a: Value) -> Value:
    return _integer32(block, rounded(block, "floor", a), True)


@lanes("v_cvt_off_f32_i4", "f32 <- b32")
def off_i4(block: BlockTranslator, a: Value) -> Value:
    return _from_integer(a.shl(28).ashr(28), V_F32, True) * 0.0625


for _byte in range(4):

    @lanes(f"v_cvt_f32_ubyte{_byte}", "f32 <- u32")
    def ubyte(block: BlockTranslator, a: Value, byte: int = _byte) -> Value:
        return _from_integer(a.lshr(8 * byte) & 255, V_F32, False)


def _byte_placed(block: BlockTranslator, a: Value, b: Value, old: Value) -> Value:
    byte = saturated(block, a, 8, False)
    shift = (b & 3).shl(3)
    return (old & ~block.emitter.const(V_I32, 255).shl(shift)) | byte.shl(shift)


@lanes("v_cvt_pk_u8_f32", "b32 <- f32 b32 b32")
def pk_u8(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _byte_placed(block, a, b, c)


@lanes("v_cvt_pkaccum_u8_f32", "b32 <- f32 b32 old")
def pkaccum_u8(block: BlockTranslator, a: Value, b: Value, old: Value) -> Value:
    return _byte_placed(block, a, b, old)


# Between floats


@lanes("v_cvt_f16_f32", "f16 <- f32")
def f16_f32(block: BlockTranslator, a: Value) -> Value:
    return a.fptrunc(16)


@lanes("v_cvt_f32_f16", "f32 <- f16")
def f32_f16(block: BlockTranslator, a: Value) -> Value:
    return a.fpext(32)


@lanes("v_cvt_f32_f64", "f32 <- f64")
def f32_f64(block: BlockTranslator, a: Value) -> Value:
    return a.fptrunc(32)


@lanes("v_cvt_f64_f32", "f64 <- f32")
def f64_f32(block: BlockTranslator, a: Value) -> Value:
    return a.fpext(64)


@lanes("v_cvt_f32_bf16", "f32 <- bf16")
def f32_bf16(block: BlockTranslator, a: Value) -> Value:
    return a.zext(32).shl(16).bitcast(V_F32)


def bf16_above(a: Value) -> Value:
    """An f32 rounded to bf16, to nearest even, in an i32's upper half over undefined bits; NaN stays NaN."""
    bits = a.bits()
    rounded_up = bits + 0x7FFF + (bits.lshr(16) & 1)
    return a.is_nan().select(bits | 0x400000, rounded_up)


def pack(low: Value, high: Value) -> Value:
    """A dword from two 16-bit numbers in the low halves of dwords."""
    return low | high.shl(16)


@lanes("v_cvt_pk_bf16_f32", "b32 <- f32 f32")
def pk_bf16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return bf16_above(a).lshr(16) | (bf16_above(b) & 0xFFFF0000)


@lanes("v_cvt_pk_f16_f32", "b32 <- f32 f32")
def pk_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    block.emitter.rounding = None  # to nearest, whatever the mode is
    return pack(*(value.fptrunc(16).bits().zext(32) for value in (a, b)))


def half_towards_zero(a: Value) -> Value:
    """An f32 rounded to f16 towards zero, in the low half of an i32."""
    nearest = a.fptrunc(16)
    too_large = nearest.fpext(32).fabs().cmp("ogt", a.fabs())
    bits = nearest.bits().zext(32)
    # One step towards zero is one less in the bit pattern, even from infinity to the largest number.
    return bits - too_large.zext(32)


@lanes("v_cvt_pkrtz_f16_f32", "b32 <- f32 f32")
def pkrtz(block: BlockTranslator, a: Value, b: Value) -> Value:
    block.emitter.rounding = None
    return pack(half_towards_zero(a), half_towards_zero(b))


# Normalised and packed integers


def _normalised(block: BlockTranslator, a: Value, signed: bool) -> Value:
    """An f32 in [-1, 1] (or [0, 1]) as a 16-bit fraction, rounded to nearest even, in an i32's low half."""
    scaled = rounded(block, "roundeven", a * (32767.0 if signed else 65535.0))
    wide = _integer32(block, scaled, True)
    e = block.emitter
    low, high = (-32767, 32767) if signed else (0, 65535)
    return e.intrinsic("smax", e.intrinsic("smin", wide, high), low) & 0xFFFF


for _letter, _signed in (("i", True), ("u", False)):

    @lanes(f"v_cvt_pknorm_{_letter}16_f32", "b32 <- f32 f32")
    def pknorm_f32(block: BlockTranslator, a: Value, b: Value, signed: bool = _signed) -> Value:
        return pack(_normalised(block, a, signed), _normalised(block, b, signed))

    @lanes(f"v_cvt_pknorm_{_letter}16_f16", "b32 <- f16 f16")
    def pknorm_f16(block: BlockTranslator, a: Value, b: Value, signed: bool = _signed) -> Value:
        return pack(_normalised(block, a.fpext(32), signed), _normalised(block, b.fpext(32), signed))

    @lanes(f"v_cvt_norm_{_letter}16_f16", f"{_letter}16 <- f16")
    def norm_f16(block: BlockTranslator, a: Value, signed: bool = _signed) -> Value:
        return _normalised(block, a.fpext(32), signed).trunc(16)


@lanes("v_cvt_pk_u16_u32", "b32 <- u32 u32")
def pk_u16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return pack(*(block.emitter.intrinsic("umin", value, 0xFFFF) for value in (a, b)))


@lanes("v_cvt_pk_i16_i32", "b32 <- i32 i32")
def pk_i16(block: BlockTranslator, a: Value, b: Value) -> Value:
    e = block.emitter
    low, high = (e.intrinsic("smax", e.intrinsic("smin", value, 32767), -32768) for value in (a, b))
    return pack(low & 0xFFFF, high)


for _letter in ("i", "u"):

    @lanes(f"v_cvt_pk_{_letter}16_f32", "b32 <- f32 f32")
    def pk_integers(block: BlockTranslator, a: Value, b: Value, signed: bool = _letter == "i") -> Value:
        """Towards zero; 0 for NaN, and the nearest number that there is."""
        e = block.emitter
        numbers = (_integer32(block, value, signed) for value in (a, b))
        if signed:
            low, high = (e.intrinsic("smax", e.intrinsic("smin", n, 32767), -32768) for n in numbers)
        else:
            low, high = (e.intrinsic("umin", n, 65535) for n in numbers)
        return pack(low & 0xFFFF, high)


# fp8 and bf8


def small_format(block: BlockTranslator, name: str) -> str:
    """The C function's name for a format in this target's encoding. On gfx1250, clamp selects the fp8 without a
    sign (LLVM's intrinsics of e5m3)."""
    if name == "fp8" and block.clamp and target(block.options.target).clamp_selects_e5m3:
        return "fp8_e5m3"
    return f"{name}_{target(block.options.target).fp8_encoding.name}"


def saturates(block: BlockTranslator) -> Value:
    """Whether numbers beyond a small format become its largest, for the C functions that convert to it."""
    clamps = block.clamp and not target(block.options.target).clamp_selects_e5m3
    return block.emitter.const(V_I32, int(clamps or block.mode.overflow_saturates))


def selected(block: BlockTranslator, instruction: Instruction, a: Value, unit: int) -> Value:
    """The byte or word (in the low bits) that op_sel, an SDWA select or, on later targets, byte_sel or the
    half of a register names."""
    modifiers = instruction.modifiers
    if instruction.src[0].half is not None or "byte_sel" in modifiers:
        shift = 8 * modifiers.get("byte_sel", 0) if unit == 8 else 16 * (instruction.src[0].half or 0)
    elif instruction.form.is_sdwa:
        select = modifiers.get("src0_sel", 6)
        if unit == 8:
            shift = 8 * select if select < 4 else 16 * (select - 4) if select < 6 else 0
        else:
            shift = 16 if select == 5 else 0
    else:
        # op_sel bits 0 and 1 are the byte's number in the encodings that have them.
        op_sel = modifiers.get("op_sel", 0)
        shift = 8 * (op_sel & 3) if unit == 8 else 16 * (op_sel & 1)
    return a.lshr(shift) if shift else a


def _from_small(name: str, count: int) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        source, result = instruction.src[0], instruction.dst[0]
        prepare(block, ((source, "b32"),))
        run = block.open_run()
        dword = fetch(block, source, "u32", 0) if instruction.form.is_dpp else block.dword(source)
        packed = selected(block, instruction, dword, 8 * count)
        row = block.row_of(result)
        function = f"hk_f32_from_{small_format(block, name)}_x16"
        for n in range(count):
            byte = packed.lshr(8 * n) & 255 if n else packed & 255
            run.set_row(row + n, call_lanes(block, function, V_F32, byte))

    opcode = f"v_cvt_{'pk_' if count == 2 else ''}f32_{name}"
    register(f"{opcode} {CHANGED}{opcode}", handle)


for _name in ("fp8", "bf8"):
    _from_small(_name, 1)
    _from_small(_name, 2)


def _into_word(block: BlockTranslator, instruction: Instruction, value: Value) -> None:
    """Write 16 bits to the half of the destination that op_sel bit 3 names; the other half stays."""
    row = block.row_of(instruction.dst[0])
    run = block.open_run()
    old = run.row(row)
    if instruction.modifiers.get("op_sel", 0) & 8:
        run.set_row(row, (old & 0xFFFF) | value.shl(16))
    else:
        run.set_row(row, (old & 0xFFFF0000) | (value & 0xFFFF))


def into_byte(block: BlockTranslator, instruction: Instruction, value: Value) -> None:
    """Write 8 bits to the byte of the destination that op_sel bits 3:2 name; the others stay."""
    shift = 8 * (instruction.modifiers.get("op_sel", 0) >> 2 & 3)
    row = block.row_of(instruction.dst[0])
    placed = (value & 255).shl(shift) if shift else value & 255
    run = block.open_run()
    run.set_row(row, (run.row(row) & ~(255 << shift)) | placed)


def _pack_small(name: str) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        first, second = instruction.src[:2]
        prepare(block, ((first, "f32"), (second, "f32")))
        block.open_run()
        function = f"hk_{small_format(block, name)}_from_f32_x16"
        saturating = saturates(block)
        low, high = (
            call_lanes(block, function, V_I32, fetch(block, operand, "f32", position), saturating)
            for position, operand in enumerate((first, second))
        )
        _into_word(block, instruction, low | high.shl(8))

    register(f"v_cvt_pk_{name}_f32", handle)

    def handle_stochastic(block: BlockTranslator, instruction: Instruction) -> None:
        first, second = instruction.src[:2]
        prepare(block, ((first, "f32"), (second, "b32")))
        block.open_run()
        function = f"hk_{small_format(block, name)}_stochastic_x16"
        value = fetch(block, first, "f32", 0)
        random = fetch(block, second, "b32", 1)
        byte = call_lanes(block, function, V_I32, value, random, saturates(block))
        into_byte(block, instruction, byte)

    register(f"v_cvt_sr_{name}_f32", handle_stochastic)


for _name in ("fp8", "bf8"):
    _pack_small(_name)


def _stochastic_16(name: str) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        first, second = instruction.src[:2]
        prepare(block, ((first, "f32"), (second, "b32")))
        block.open_run()
        value = fetch(block, first, "f32", 0)
        word = call_lanes(block, f"hk_{name}_stochastic_x16", V_I32, value, fetch(block, second, "b32", 1))
        _into_word(block, instruction, word)

    register(f"v_cvt_sr_{name}_f32", handle)


_stochastic_16("f16")
_stochastic_16("bf16")


# Scaled conversions of gfx950 and gfx1250

_SMALL = {name: getattr(abi, f"SMALL_{name.upper()}") for name in ("fp8", "bf8", "fp6", "bf6", "fp4")}
_LARGE = {name: getattr(abi, f"LARGE_{name.upper()}") for name in ("f32", "f16", "bf16")}


def _scaled(
    opcode: str, small: str, large: str, count: int, narrow: bool, stochastic: bool, interleaved: bool = False
) -> None:
    """Register v_cvt_scalef32_*: count numbers to (narrow) or from a small format, divided or multiplied by
    the power of two in the last source's exponent."""
    how = (
        _SMALL[small] << abi.SCALED_SMALL
        | _LARGE[large] << abi.SCALED_LARGE
        | narrow << abi.SCALED_NARROW
        | stochastic << abi.SCALED_STOCHASTIC
        | count << abi.SCALED_COUNT
        | interleaved << abi.SCALED_INTERLEAVED
    )

    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        sources = list(instruction.src)
        scale = sources.pop()
        random = sources.pop() if stochastic else None
        op_sel = instruction.modifiers.get("op_sel", 0)
        place, first_half, high = 0, 0, 0
        if count <= 2:
            bits = count * (4 if small == "fp4" else 8)
            if narrow:
                # op_sel bits 3:2 name the byte, bit 3 the word, of the destination.
                place = 16 * (op_sel >> 3 & 1) if bits == 16 else 8 * (op_sel >> 2 & 3)
                first_half = op_sel & 1 if count == 1 and large != "f32" else 0
            else:
                # Bits 1:0 name the byte, bit 0 the word, of the source; bit 3 the half of a 16-bit result.
                place = 16 * (op_sel & 1) if bits == 16 else 8 * (op_sel & 3)
                high = op_sel >> 3 & 1
        kinds = [(operand, "b32") for operand in instruction.src]
        prepare(block, tuple(kinds))
        block.open_run()
        pointers = []
        # Separate singles (two f32 sources) go to two rows of a buffer, like a register pair.
        if narrow and large == "f32" and count <= 2 and len(sources) == count:
            pointers = [
                lane_rows(block, [fetch(block, operand, "f32", n) for n, operand in enumerate(sources)])
            ] * 2
        else:
            for n, operand in enumerate(sources):
                if operand.width > 1:
                    pointers.append(row_address(block, operand))
                else:
                    value = block.dword(operand)
                    if operand.neg or operand.abs:
                        value = _signs(value, operand, large)
                    pointers.append(lane_rows(block, [value.lshr(16) if first_half and n == 0 else value]))
            pointers = (pointers * 2)[:2]
        factors = lane_rows(block, [fetch(block, scale, "f32", len(instruction.src) - 1)])
        seeds = lane_rows(block, [fetch(block, random, "b32", 1)]) if random is not None else factors
        call_on_rows(
            block,
            "hk_convert_scaled",
            instruction.dst[0],
            [*pointers, factors, seeds],
            how | place << abi.SCALED_PLACE | high << abi.SCALED_HIGH,
        )

    register(opcode, handle)


def _signs(value: Value, operand: Operand, large: str) -> Value:
    """abs and neg of both halves of a dword, or of a single."""
    sign = 0x80008000 if large != "f32" else 0x80000000
    if operand.abs:
        value = value & (sign ^ 0xFFFFFFFF)
    return value ^ sign if operand.neg else value


for _small in _SMALL:
    for _large in _LARGE:
        if _small in ("fp8", "bf8"):
            _scaled(f"v_cvt_scalef32_pk_{_small}_{_large}", _small, _large, 2, True, False)
            _scaled(f"v_cvt_scalef32_sr_{_small}_{_large}", _small, _large, 1, True, True)
            _scaled(f"v_cvt_scalef32_pk_{_large}_{_small}", _small, _large, 2, False, False)
            if _large != "bf16":
                _scaled(f"v_cvt_scalef32_{_large}_{_small}", _small, _large, 1, False, False)
        elif _small == "fp4":
            _scaled(f"v_cvt_scalef32_pk_fp4_{_large}", _small, _large, 2, True, False)
            _scaled(f"v_cvt_scalef32_sr_pk_fp4_{_large}", _small, _large, 2, True, True)
            _scaled(f"v_cvt_scalef32_pk_{_large}_fp4", _small, _large, 2, False, False)
        else:
            _scaled(f"v_cvt_scalef32_sr_pk32_{_small}_{_large}", _small, _large, 32, True, True)
            _scaled(f"v_cvt_scalef32_pk32_{_large}_{_small}", _small, _large, 32, False, False)
            if _large == "f32":
                _scaled(f"v_cvt_scalef32_2xpk16_{_small}_f32", _small, _large, 32, True, False, True)
            else:
                _scaled(f"v_cvt_scalef32_pk32_{_small}_{_large}", _small, _large, 32, True, False)
        # gfx1250's.
        _count = 16 if _small in ("fp6", "bf6") else 8
        _scaled(f"v_cvt_scalef32_pk{_count}_{_small}_{_large}", _small, _large, _count, True, False)
        _scaled(f"v_cvt_scalef32_sr_pk{_count}_{_small}_{_large}", _small, _large, _count, True, True)
