"""Lane-wise floating point: arithmetic, fused multiply-add, extremes, rounding, scaling, division helpers,
transcendental functions.

Results are rounded once, to nearest even. The IEEE-754 operations are LLVM instructions; the transcendental
ones are C functions (native/ops/math.c) within one unit in the last place of the true value.
"""

from __future__ import annotations

from typing import Any

from workbench.emulator.semantics.registry import lanes, packed, packed_floats
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_F64
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes, call_lanes_with_mask
from workbench.emulator.translate.operands import flush, flush_result

FLOATS = ("f16", "f32", "f64")
_MANTISSA = {16: 10, 32: 23, 64: 52}
_BIAS = {16: 15, 32: 127, 64: 1023}


def exponent_mask(bits: int) -> int:
    """The exponent field of a float's pattern; also the pattern of infinity."""
    return ((1 << (bits - 1 - _MANTISSA[bits])) - 1) << _MANTISSA[bits]


def quiet(value: Value) -> Value:
    """A NaN made quiet, its sign and payload kept."""
    type = value.type
    return (value.bits() | (1 << (_MANTISSA[type.bits] - 1))).bitcast(type)


def is_signalling(value: Value) -> Value:
    """Whether a float is a signalling NaN."""
    bits = value.type.bits
    magnitude = value.bits() & ((1 << (bits - 1)) - 1)
    return magnitude.cmp("ugt", exponent_mask(bits)) & magnitude.cmp(
        "ult", exponent_mask(bits) | 1 << (_MANTISSA[bits] - 1)
    )


# Arithmetic


def fma(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """a * b + c rounded once."""
    if a.type.bits == 16 and "avx512fp16" not in block.options.host and not block.mode.round64:
        return _fma_f16(block, a, b, c)
    return block.emitter.intrinsic("fma", a, b, c)


def _fma_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """Without half-precision hardware: the product is exact in single precision and the sum, rounded to odd
    in double precision, rounds to half as the exact sum would."""
    product = (a.fpext(32) * b.fpext(32)).fpext(64)
    addend = c.fpext(64)
    total = product + addend
    # The rounding error of the sum (Knuth), exact.
    part = total - product
    error = (product - (total - part)) + (addend - part)
    bits = total.bits()
    # Where the sum was inexact and its last bit is even, step towards the exact sum.
    inexact = error.cmp("one", 0.0) & (bits & 1).eq(0)
    towards_zero = (error.bits() ^ bits).cmp("slt", 0)
    stepped = towards_zero.select(bits - 1, bits + 1)
    odd = inexact.select(stepped, bits).bitcast(total.type)
    # Single precision has enough bits left to stay odd-rounded: the truncated ones are joined to the last.
    pattern = odd.bits()
    kept = pattern & ~0x1FFFFFFF
    sticky = (pattern & 0x1FFFFFFF).ne(0).zext(64).shl(29)
    return (kept | sticky).bitcast(total.type).fptrunc(32).fptrunc(16)


_ARITHMETIC: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
}
for _kind in FLOATS:
    for _name, _meaning in _ARITHMETIC.items():
        if _kind == "f64" and _name in ("sub", "subrev"):
            continue

        @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def arithmetic(block: BlockTranslator, a: Value, b: Value, meaning: Any = _meaning) -> Value:
            return meaning(a, b)  # type: ignore[no-any-return]

    @lanes(f"v_fma_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
    def fma_lanes(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return fma(block, a, b, c)

    @lanes(f"v_fmac_{_kind}", f"{_kind} <- {_kind} {_kind} old", keep_high=True)
    def fmac(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return fma(block, a, b, c)


@lanes("v_fmaak_f32", "f32 <- f32 f32 f32")
def fmaak(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@lanes("v_fmamk_f32", "f32 <- f32 f32 f32")
def fmamk(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@lanes("v_fma_legacy_f16", "f16 <- f16 f16 f16")
def fma_legacy_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


def _mad_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    """Multiply, round, add, round, with denormals flushed everywhere: this unit of gfx90a has none."""
    return flush(flush(flush(a) * flush(b)) + flush(c))


@lanes("v_mad_f32 v_madak_f32 v_madmk_f32", "f32 <- f32 f32 f32")
def mad_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _mad_f32(block, a, b, c)


@lanes("v_mac_f32", "f32 <- f32 f32 old")
def mac_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _mad_f32(block, a, b, c)


@lanes("v_mad_legacy_f32", "f32 <- f32 f32 f32")
def mad_legacy_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    zero = flush(a).eq(0.0) | flush(b).eq(0.0)
    return zero.select(flush(c), _mad_f32(block, a, b, c))


@lanes("v_mad_f16", "f16 <- f16 f16 f16", keep_high=True)
def mad_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mad_legacy_f16", "f16 <- f16 f16 f16")
def mad_legacy_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mac_f16", "f16 <- f16 f16 old", keep_high=True)
def mac_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_madak_f16 v_madmk_f16", "f16 <- f16 f16 f16", keep_high=True)
def mad_constant_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return flush_result(block, a * b) + c


@lanes("v_mul_legacy_f32", "f32 <- f32 f32")
def mul_legacy(block: BlockTranslator, a: Value, b: Value) -> Value:
    zero = a.eq(0.0) | b.eq(0.0)
    return zero.select(0.0, a * b)


# Extremes


def minimum(block: BlockTranslator, a: Value, b: Value, largest: bool = False) -> Value:
    """v_min (v_max): a number wins over NaN, and -0 is less than +0; in IEEE mode a signalling NaN wins,
    quieted."""
    host = block.options.host
    if a.type is V_F32 and block.mode.ieee and "avx512dq" in host:
        # VRANGEPS has these very rules: selector 0 minimum or 1 maximum, sign from the result.
        function = "@llvm.x86.avx512.mask.range.ps.512"
        text = V_F32.text
        result = block.emitter.call(
            f"declare {text} {function}({text}, {text}, i32, {text}, i16, i32)",
            V_F32,
            function,
            f"{text} {a.name}, {text} {b.name}, i32 {5 if largest else 4}, {text} {a.name}, i16 -1, i32 4",
        )
        assert result is not None
        return result
    type = a.type
    better = a.cmp("ogt" if largest else "olt", b).select(a, b)
    # Equal numbers differ at most in the sign of zero.
    left, right = a.bits(), b.bits()
    merged = (left & right if largest else left | right).bitcast(type)
    result = a.eq(b).select(merged, better)
    result = b.is_nan().select(a, result)
    result = result.is_nan().select(quiet(result), result)
    if not block.mode.ieee:
        return result
    result = is_signalling(b).select(quiet(b), result)
    return is_signalling(a).select(quiet(a), result)


def maximum(block: BlockTranslator, a: Value, b: Value) -> Value:
    """v_max."""
    return minimum(block, a, b, True)


def propagating(block: BlockTranslator, a: Value, b: Value, largest: bool) -> Value:
    """v_minimum, v_maximum: NaN wins."""
    type = a.type
    better = a.cmp("ogt" if largest else "olt", b).select(a, b)
    left, right = a.bits(), b.bits()
    merged = (left & right if largest else left | right).bitcast(type)
    result = a.eq(b).select(merged, better)
    result = b.is_nan().select(quiet(b), result)
    return a.is_nan().select(quiet(a), result)


for _kind in FLOATS:
    for _name, _largest in (("min", False), ("max", True)):

        @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def extreme(block: BlockTranslator, a: Value, b: Value, largest: bool = _largest) -> Value:
            return minimum(block, a, b, largest)

        if _kind == "f64":
            continue

        @lanes(f"v_{_name}3_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
        def extreme3(block: BlockTranslator, a: Value, b: Value, c: Value, largest: bool = _largest) -> Value:
            return minimum(block, minimum(block, a, b, largest), c, largest)

    if _kind != "f64":

        @lanes(f"v_med3_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
        def med3(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
            low, high = minimum(block, a, b), maximum(block, a, b)
            middle = maximum(block, low, minimum(block, high, c))
            any_nan = a.cmp("uno", b) | c.is_nan()
            return any_nan.select(minimum(block, low, c), middle)


@lanes("v_minimum3_f32", "f32 <- f32 f32 f32")
def minimum3(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, False), c, False)


@lanes("v_maximum3_f32", "f32 <- f32 f32 f32")
def maximum3(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, True), c, True)


# Rounding and taking apart


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
    """(pattern, exponent field) of the float scaled so that denormals are normal; the field counts that."""
    bits = a.type.bits
    mantissa = _MANTISSA[bits]
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
    return special.select(0, exponent - (_BIAS[bits] - 1))


def frexp_mantissa(block: BlockTranslator, a: Value) -> Value:
    """The mantissa in [0.5, 1) with the sign; zero, infinities and NaN as they are."""
    bits = a.type.bits
    scaled, _ = _normalised(block, a)
    pattern = a.bits()
    magnitude = pattern & ((1 << (bits - 1)) - 1)
    special = magnitude.eq(0) | magnitude.cmp("uge", exponent_mask(bits))
    half = (_BIAS[bits] - 1) << _MANTISSA[bits]
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


# Division helpers


def _div_scale(block: BlockTranslator, *sources: Value) -> tuple[Value, Value]:
    type = sources[0].type
    value, mask = call_lanes_with_mask(block, f"hk_div_scale_f{type.bits}x16", type, *sources)
    return value, mask


@lanes("v_div_scale_f32", "f32 mask <- f32 f32 f32")
def div_scale_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    return _div_scale(block, a, b, c)


@lanes("v_div_scale_f64", "f64 mask <- f64 f64 f64")
def div_scale_f64(block: BlockTranslator, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    return _div_scale(block, a, b, c)


def _div_fmas(block: BlockTranslator, a: Value, b: Value, c: Value, mask: Value) -> Value:
    return call_lanes(block, f"hk_div_fmas_f{a.type.bits}x16", a.type, a, b, c, mask.zext(32))


@lanes("v_div_fmas_f32", "f32 <- f32 f32 f32 mask")
def div_fmas_f32(block: BlockTranslator, a: Value, b: Value, c: Value, mask: Value) -> Value:
    return _div_fmas(block, a, b, c, mask)


@lanes("v_div_fmas_f64", "f64 <- f64 f64 f64 mask")
def div_fmas_f64(block: BlockTranslator, a: Value, b: Value, c: Value, mask: Value) -> Value:
    return _div_fmas(block, a, b, c, mask)


def _fixup(block: BlockTranslator, quotient: Value, s1: Value, s2: Value) -> Value:
    """v_div_fixup: the quotient s2 / s1 with its special cases."""
    if quotient.type.bits == 16:
        # Single precision holds every half, and has room for every quotient.
        wide = (value.fpext(32) for value in (quotient, s1, s2))
        return call_lanes(block, "hk_div_fixup_f16x16", V_F32, *wide).fptrunc(16)
    return call_lanes(block, f"hk_div_fixup_f{quotient.type.bits}x16", quotient.type, quotient, s1, s2)


for _kind in FLOATS:

    @lanes(f"v_div_fixup_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
    def div_fixup(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return _fixup(block, a, b, c)


@lanes("v_div_fixup_legacy_f16", "f16 <- f16 f16 f16")
def div_fixup_legacy(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return _fixup(block, a, b, c)


# Transcendental functions

# Instruction stem to the C function's; v_rcp_iflag differs from v_rcp only in the exceptions it can raise.
_FUNCTIONS = {
    "exp": "exp2",
    "log": "log2",
    "rsq": "rsqrt",
    "sin": "sin2pi",
    "cos": "cos2pi",
}
for _name, _function in _FUNCTIONS.items():

    @lanes(f"v_{_name}_f32", "f32 <- f32")
    def transcendental(block: BlockTranslator, a: Value, function: str = _function) -> Value:
        return call_lanes(block, f"hk_{function}_f32x16", V_F32, a)

    @lanes(f"v_{_name}_f16", "f16 <- f16")
    def transcendental_f16(block: BlockTranslator, a: Value, function: str = _function) -> Value:
        # A result within one unit of single precision rounds to within one of half precision.
        return call_lanes(block, f"hk_{function}_f32x16", V_F32, a.fpext(32)).fptrunc(16)


@lanes("v_exp_legacy_f32", "f32 <- f32")
def exp_legacy(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_exp2_f32x16", V_F32, a)


@lanes("v_log_legacy_f32", "f32 <- f32")
def log_legacy(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_log2_f32x16", V_F32, a)


@lanes("v_rcp_f32 v_rcp_iflag_f32", "f32 <- f32")
def rcp_f32(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.const(a.type, 1.0) / a


@lanes("v_rcp_f64", "f64 <- f64")
def rcp_f64(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.const(a.type, 1.0) / a


@lanes("v_rcp_f16", "f16 <- f16")
def rcp_f16(block: BlockTranslator, a: Value) -> Value:
    wide = a.fpext(32)
    return (block.emitter.const(wide.type, 1.0) / wide).fptrunc(16)


@lanes("v_sqrt_f32", "f32 <- f32")
def sqrt_f32(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a)


@lanes("v_sqrt_f64", "f64 <- f64")
def sqrt_f64(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a)


@lanes("v_sqrt_f16", "f16 <- f16")
def sqrt_f16(block: BlockTranslator, a: Value) -> Value:
    return block.emitter.intrinsic("sqrt", a.fpext(32)).fptrunc(16)


@lanes("v_rsq_f64", "f64 <- f64")
def rsq_f64(block: BlockTranslator, a: Value) -> Value:
    return call_lanes(block, "hk_rsqrt_f64x16", V_F64, a)


@lanes("v_trig_preop_f64", "f64 <- f64 b32")
def trig_preop(block: BlockTranslator, a: Value, b: Value) -> Value:
    return call_lanes(block, "hk_trig_preop_f64x16", V_F64, a, b)


# Cube maps


def _cube(block: BlockTranslator, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """Which axis is the major one: (z is, else y is)."""
    ax, ay, az = x.fabs(), y.fabs(), z.fabs()
    return az.cmp("oge", ax) & az.cmp("oge", ay), ay.cmp("oge", ax)


@lanes("v_cubeid_f32", "f32 <- f32 f32 f32")
def cubeid(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    sides = [
        value.cmp("olt", 0.0).select(first + 1, first, V_F32)
        for value, first in ((x, 0.0), (y, 2.0), (z, 4.0))
    ]
    return z_major.select(sides[2], y_major.select(sides[1], sides[0]))


@lanes("v_cubesc_f32", "f32 <- f32 f32 f32")
def cubesc(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    on_z = z.cmp("olt", 0.0).select(-x, x)
    on_x = x.cmp("olt", 0.0).select(z, -z)
    return z_major.select(on_z, y_major.select(x, on_x))


@lanes("v_cubetc_f32", "f32 <- f32 f32 f32")
def cubetc(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    on_y = y.cmp("olt", 0.0).select(-z, z)
    return z_major.select(-y, y_major.select(on_y, -y))


@lanes("v_cubema_f32", "f32 <- f32 f32 f32")
def cubema(block: BlockTranslator, x: Value, y: Value, z: Value) -> Value:
    z_major, y_major = _cube(block, x, y, z)
    return z_major.select(z, y_major.select(y, x)) * 2.0


# Packed


@packed_floats("v_pk_add_f32")
def pk_add_f32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a + b


@packed_floats("v_pk_mul_f32")
def pk_mul_f32(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@packed_floats("v_pk_fma_f32")
def pk_fma_f32(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@packed("v_pk_add_f16", "f16 <- f16 f16")
def pk_add_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a + b


@packed("v_pk_mul_f16", "f16 <- f16 f16")
def pk_mul_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return a * b


@packed("v_pk_fma_f16", "f16 <- f16 f16 f16")
def pk_fma_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return fma(block, a, b, c)


@packed("v_pk_min_f16", "f16 <- f16 f16")
def pk_min_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return minimum(block, a, b)


@packed("v_pk_max_f16", "f16 <- f16 f16")
def pk_max_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return maximum(block, a, b)


@packed("v_pk_minimum3_f16", "f16 <- f16 f16 f16")
def pk_minimum3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, False), c, False)


@packed("v_pk_maximum3_f16", "f16 <- f16 f16 f16")
def pk_maximum3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, True), c, True)
