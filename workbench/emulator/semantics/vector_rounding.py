"""Lane-wise rounding of floats to whole numbers, their mantissa and exponent, scaling by powers of two."""

from __future__ import annotations

from workbench.emulator.semantics.float_patterns import BIAS, FLOATS, MANTISSA, exponent_mask, quiet
from workbench.emulator.semantics.registry import lanes
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_F64
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes


def rounded(block: BlockTranslator, name: str, a: Value) -> Value:
    """trunc, ceil, floor or roundeven; halves go through single precision, which holds them exactly."""
    if a.type.bits == 16 and "avx512fp16" not in block.options.host:
        return block.emitter.intrinsic(name, a.fpext(32)).fptrunc(16)
    return block.emitter.intrinsic(name, a)


def fract(block: BlockTranslator, a: Value) -> Value:
    """a - floor(a), kept below one; NaN for infinities."""
    largest = {16: 0x3BFF, 32: 0x3F7FFFFF, 64: 0x3FEFFFFFFFFFFFFF}[a.type.bits]
    result = a - rounded(block, "floor", a)
    below = result.cmp("oge", 1.0)
    return below.select(block.emitter.const(a.type, largest), result)


for _kind in FLOATS:
    for _name, _intrinsic in (
        ("trunc", "trunc"),
        ("ceil", "ceil"),
        ("floor", "floor"),
        ("rndne", "roundeven"),
    ):

        @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind}")
        def round_lanes(block: BlockTranslator, a: Value, intrinsic: str = _intrinsic) -> Value:
            return rounded(block, intrinsic, a)

    @lanes(f"v_fract_{_kind}", f"{_kind} <- {_kind}")
    def fract_lanes(block: BlockTranslator, a: Value) -> Value:
        return fract(block, a)


def _normalised(block: BlockTranslator, a: Value) -> tuple[Value, Value]:
    """(pattern, exponent field) of the float scaled to make denormals normal; the field reflects that."""
    bits = a.type.bits
    mantissa = MANTISSA[bits]
    scale = float(1 << (mantissa + 1))
    pattern = a.bits()
    denormal = (pattern & exponent_mask(bits)).eq(0)
    scaled = denormal.select((a * scale).bits(), pattern)
    exponent = scaled.lshr(mantissa) & (exponent_mask(bits) >> mantissa)
    exponent = exponent - denormal.select(mantissa + 1, 0, scaled.type)
    return scaled, exponent


def frexp_exponent(block: BlockTranslator, a: Value) -> Value:
    """The exponent for a mantissa in [0.5, 1); 0 for zero, infinities and NaN."""
    bits = a.type.bits
    _, exponent = _normalised(block, a)
    magnitude = a.bits() & ((1 << (bits - 1)) - 1)
    special = magnitude.eq(0) | magnitude.cmp("uge", exponent_mask(bits))
    return special.select(0, exponent - (BIAS[bits] - 1))


def frexp_mantissa(block: BlockTranslator, a: Value) -> Value:
    """The mantissa in [0.5, 1) with the sign; zero, infinities and NaN unchanged."""
    bits = a.type.bits
    scaled, _ = _normalised(block, a)
    pattern = a.bits()
    magnitude = pattern & ((1 << (bits - 1)) - 1)
    special = magnitude.eq(0) | magnitude.cmp("uge", exponent_mask(bits))
    half = (BIAS[bits] - 1) << MANTISSA[bits]
    result = (scaled & ~exponent_mask(bits)) | half
    return special.select(pattern, result).bitcast(a.type)


@lanes("v_frexp_exp_i32_f32", "i32 <- f32")
def frexp_exp_f32(block: BlockTranslator, a: Value) -> Value:
    return frexp_exponent(block, a)


@lanes("v_frexp_exp_i32_f64", "i32 <- f64")
def frexp_exp_f64(block: BlockTranslator, a: Value) -> Value:
    return frexp_exponent(block, a).trunc(32)


@lanes("v_frexp_exp_i16_f16", "i16 <- f16")
def frexp_exp_f16(block: BlockTranslator, a: Value) -> Value:
    return frexp_exponent(block, a)


for _kind in FLOATS:

    @lanes(f"v_frexp_mant_{_kind}", f"{_kind} <- {_kind}")
    def frexp_mant(block: BlockTranslator, a: Value) -> Value:
        return frexp_mantissa(block, a)


def scaled_f32(block: BlockTranslator, a: Value, exponent: Value) -> Value:
    """ldexp of single precision through double precision, which holds every scaled value before rounding."""
    e = block.emitter
    n = e.intrinsic("smax", e.intrinsic("smin", exponent, 400), -400).sext(64)
    factor = (n + 1023).shl(52).bitcast(V_F64)
    # 24 bits of mantissa times a power of two are exact in double precision: one rounding, at the end.
    result = (a.fpext(64) * factor).fptrunc(32)
    return a.is_nan().select(quiet(a), result)


@lanes("v_ldexp_f32", "f32 <- f32 i32")
def ldexp_f32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return scaled_f32(block, a, b)


@lanes("v_ldexp_f16", "f16 <- f16 i16")
def ldexp_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    e = block.emitter
    # Single precision holds 11 bits times any power of two that matters.
    n = e.intrinsic("smax", e.intrinsic("smin", b.sext(32), 60), -60)
    factor = (n + 127).shl(23).bitcast(V_F32)
    return (a.fpext(32) * factor).fptrunc(16)


@lanes("v_ldexp_f64", "f64 <- f64 i32")
def ldexp_f64(block: BlockTranslator, a: Value, b: Value) -> Value:
    result = call_lanes(block, "hk_ldexp_f64x16", V_F64, a, b)
    return result
