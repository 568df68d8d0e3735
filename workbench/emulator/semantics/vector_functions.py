"""Lane-wise transcendental functions, reciprocals and roots; the sides of cube maps.

Transcendental functions are within one unit in the last place of the true value, and with few exceptions
exactly rounded; on request they err as hardware may (`_erring`). Most are C (native/ops/math.c). The
exponential, which attention and softmax wait for, is part of the run, because a call has to put all registers
in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import accuracy_of
from workbench.emulator.native import abi
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32, V_F64, V_I32
from workbench.emulator.translate.ir import Value, floating
from workbench.emulator.translate.lane_calls import approximate, call_lanes
from workbench.emulator.translate.operands import finish_float

# Instruction stem to the C function's, and its number for results with errors.
_FUNCTIONS = {
    "log": ("log2", abi.LOG2),
    "rsq": ("rsqrt", abi.RECIPROCAL_ROOT),
    "sin": ("sin2pi", abi.SIN),
    "cos": ("cos2pi", abi.COS),
}


def _erring(block: BlockTranslator, function: int, kind: int, a: Value, result: Value) -> Value:
    """The result, with an error that hardware may make if the translation requests it."""
    accuracy = accuracy_of(block.instruction.opcode) if block.options.approximate else None
    return result if accuracy is None else approximate(block, function, kind, accuracy.ulps, a, result)


def _half(block: BlockTranslator, function: int, wide: Value, result: Value) -> Value:
    """A half-precision result from one of single precision: an error below one unit of the latter rounds to
    within one unit of half precision."""
    rounded = result.fptrunc(16)
    if not block.options.approximate:
        return rounded
    return _erring(block, function, abi.HALF, wide, rounded.fpext(32)).fptrunc(16)


for _name, (_function, _number) in _FUNCTIONS.items():

    @lanes(f"v_{_name}_f32", "f32 <- f32")
    def transcendental(
        block: BlockTranslator, a: Value, function: str = _function, number: int = _number
    ) -> Value:
        return _erring(block, number, abi.SINGLE, a, call_lanes(block, f"hk_{function}_f32x16", V_F32, a))

    @lanes(f"v_{_name}_f16", "f16 <- f16")
    def transcendental_f16(
        block: BlockTranslator, a: Value, function: str = _function, number: int = _number
    ) -> Value:
        wide = a.fpext(32)
        return _half(block, number, wide, call_lanes(block, f"hk_{function}_f32x16", V_F32, wide))


_EXP2 = tuple(
    float.fromhex(text)
    for text in (
        "0x1.44138ap-13",
        "0x1.5f0890p-10",
        "0x1.3b2a54p-7",
        "0x1.c6af6cp-5",
        "0x1.ebfbe0p-3",
        "0x1.62e430p-1",
    )
)
"""(2**f - 1) / f on [-0.5, 0.5], the highest power first."""


def _exp2(block: BlockTranslator, x: Value) -> Value:
    """2**x, whatever the rounding mode."""
    emitter = block.emitter
    rounding, emitter.rounding = emitter.rounding, None
    # Beyond these bounds the result is 0 or infinity anyway; comparisons are false for NaN, which is
    # preserved.
    x = x.cmp("ogt", 160.0).select(160.0, x)
    x = x.cmp("olt", -200.0).select(-200.0, x)
    whole = emitter.intrinsic("rint", x)
    f = x - whole
    result = emitter.const(V_F32, _EXP2[0])
    for coefficient in (*_EXP2[1:], 1.0):
        result = emitter.intrinsic("fma", result, f, coefficient)
    if "avx512f" in block.options.host:
        function, type = "@llvm.x86.avx512.mask.scalef.ps.512", V_F32.text
        scaled = emitter.call(
            f"declare {type} {function}({type}, {type}, {type}, i16, i32)",
            V_F32,
            function,
            f"{type} {result.name}, {type} {whole.name}, {type} zeroinitializer, i16 -1, i32 4",
        )
        assert scaled is not None
        result = scaled
    else:
        # Two exact steps up, or one exact and one that rounds a denormal.
        number = emitter.convert("fptosi", x.eq(x).select(whole, 0.0), V_I32)
        half = number.ashr(1)
        for step in (half, number - half):
            result = result * (step + 127).shl(23).bitcast(V_F32)
    emitter.rounding = rounding
    return result


@lanes("v_exp_f32 v_exp_legacy_f32", "f32 <- f32")
def exp_f32(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.EXP2, abi.SINGLE, a, _exp2(block, a))


@lanes("v_exp_f16", "f16 <- f16")
def exp_f16(block: BlockTranslator, a: Value) -> Value:
    wide = a.fpext(32)
    return _half(block, abi.EXP2, wide, _exp2(block, wide))


@lanes("v_log_legacy_f32", "f32 <- f32")
def log_legacy(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.LOG2, abi.SINGLE, a, call_lanes(block, "hk_log2_f32x16", V_F32, a))


# v_rcp_iflag differs from v_rcp only in the exceptions it can raise.
@lanes("v_rcp_f32 v_rcp_iflag_f32", "f32 <- f32")
def rcp_f32(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.RECIPROCAL, abi.SINGLE, a, block.emitter.const(a.type, 1.0) / a)


@lanes("v_rcp_f64", "f64 <- f64")
def rcp_f64(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.RECIPROCAL, abi.DOUBLE, a, block.emitter.const(a.type, 1.0) / a)


@lanes("v_rcp_f16", "f16 <- f16")
def rcp_f16(block: BlockTranslator, a: Value) -> Value:
    wide = a.fpext(32)
    return _half(block, abi.RECIPROCAL, wide, block.emitter.const(wide.type, 1.0) / wide)


@lanes("v_sqrt_f32", "f32 <- f32")
def sqrt_f32(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.ROOT, abi.SINGLE, a, block.emitter.intrinsic("sqrt", a))


@lanes("v_sqrt_f64", "f64 <- f64")
def sqrt_f64(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.ROOT, abi.DOUBLE, a, block.emitter.intrinsic("sqrt", a))


def _called(function: str) -> Callable[[BlockTranslator, Value], Value]:
    return lambda block, a: call_lanes(block, f"hk_{function}_f32x16", V_F32, a)


FUNCTIONS_F32: Mapping[str, Callable[[BlockTranslator, Value], Value]] = {
    **{name: _called(function) for name, (function, _) in _FUNCTIONS.items()},
    "exp": _exp2,
    "rcp": lambda block, a: block.emitter.const(a.type, 1.0) / a,
    "sqrt": lambda block, a: block.emitter.intrinsic("sqrt", a),
}
"""The functions of single precision by the stem of their instruction's name."""


@lanes("v_sqrt_f16", "f16 <- f16")
def sqrt_f16(block: BlockTranslator, a: Value) -> Value:
    wide = a.fpext(32)
    return _half(block, abi.ROOT, wide, block.emitter.intrinsic("sqrt", wide))


@lanes("v_rsq_f64", "f64 <- f64")
def rsq_f64(block: BlockTranslator, a: Value) -> Value:
    return _erring(block, abi.RECIPROCAL_ROOT, abi.DOUBLE, a, call_lanes(block, "hk_rsqrt_f64x16", V_F64, a))


@lanes("v_trig_preop_f64", "f64 <- f64 b32")
def trig_preop(block: BlockTranslator, a: Value, b: Value) -> Value:
    return call_lanes(block, "hk_trig_preop_f64x16", V_F64, a, b)


# Cube maps


def _cube(block: BlockTranslator, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """Conditions that select the major axis: (z is, else y is)."""
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


# Functions of one scalar, whatever EXEC says (RDNA4 ISA guide, "Pseudo-scalar transcendental ALU").


def _pseudo_scalar(name: str, meaning: Callable[[BlockTranslator, Value], Value], bits: int) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        operand = instruction.src[0]
        block.close_run()
        value = block.scalar(operand, f"f{bits}").trunc(bits) if bits < 32 else block.scalar(operand, "f32")
        value = value.bitcast(floating(bits))
        value = value.fabs() if operand.abs else value
        value = -value if operand.neg else value
        result = finish_float(block, meaning(block, block.emitter.splat(value))).bits()
        first = block.emitter.extract(result, 0)
        block.set_register(instruction.dst[0].index, first if bits == 32 else first.zext(32))

    register(f"v_s_{name}_f{bits}", handle)


for _name, (_function, _number) in _FUNCTIONS.items():
    if _name in ("log", "rsq"):
        _arguments = {"function": _function, "number": _number}
        _pseudo_scalar(_name, partial(transcendental, **_arguments), 32)
        _pseudo_scalar(_name, partial(transcendental_f16, **_arguments), 16)
for _name, _single, _half_meaning in (
    ("exp", exp_f32, exp_f16),
    ("rcp", rcp_f32, rcp_f16),
    ("sqrt", sqrt_f32, sqrt_f16),
):
    _pseudo_scalar(_name, _single, 32)
    _pseudo_scalar(_name, _half_meaning, 16)
