"""Scalar ALU of gfx11.5 and later on floats: sums, products, extremes, conversions.

They flush denormals as the MODE register says, as vector instructions do; modes that round otherwise than to
nearest are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.semantics.compare import CONSTANT, FLOAT_PREDICATES
from workbench.emulator.semantics.convert import half_towards_zero, pack
from workbench.emulator.semantics.registry import straight
from workbench.emulator.semantics.vector_extremes import minimum, propagating
from workbench.emulator.semantics.vector_float import fma
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import I32, LANES, Value, floating
from workbench.emulator.translate.operands import flush, flush_result
from workbench.emulator.translate.options import Unsupported

F32, V_F16 = floating(32), floating(16, LANES)

Meaning = Callable[..., Value]


def _check_mode(block: BlockTranslator, bits: int = 32) -> None:
    mode = block.mode
    if mode.round32 if bits == 32 else mode.round64:
        raise Unsupported("a scalar float in a mode that rounds otherwise than to nearest")


def _float(block: BlockTranslator, operand: Operand, bits: int) -> Value:
    value = block.scalar(operand, f"f{bits}")
    return _seen(block, value.bitcast(F32) if bits == 32 else _half(block, value))


def _seen(block: BlockTranslator, value: Value) -> Value:
    """A source as the instruction sees it."""
    keeps = (block.mode.denormal32 if value.type.bits == 32 else block.mode.denormal64) & 1
    return value if keeps else flush(value)


def _half(block: BlockTranslator, value: Value) -> Value:
    """A half in a register, as vectors have it: LLVM calls functions for arithmetic of a single one."""
    return block.emitter.splat(value.trunc(16)).bitcast(V_F16)


def _first(block: BlockTranslator, value: Value) -> Value:
    return block.emitter.extract(value, 0) if value.type.lanes else value


def _floats(block: BlockTranslator, instruction: Instruction, count: int, bits: int = 32) -> list[Value]:
    _check_mode(block, bits)
    sources = [_float(block, operand, bits) for operand in instruction.src[:count]]
    if len(sources) < count:
        # The result is the addend, too.
        sources.append(_float(block, instruction.dst[0], bits))
    return sources


def _set_float(block: BlockTranslator, instruction: Instruction, result: Value) -> None:
    """The high half of a register is 0 after a result of 16 bits."""
    bits = _first(block, flush_result(block, result).bits())
    block.set_register(instruction.dst[0].index, bits.zext(32) if bits.type.bits < 32 else bits)


def _arithmetic(opcodes: str, count: int, meaning: Meaning) -> None:
    """Register operations under names without their type, for single and for half precision."""
    for bits in (32, 16):

        @straight(" ".join(f"{opcode}_f{bits}" for opcode in opcodes.split()))
        def handle(block: BlockTranslator, instruction: Instruction, bits: int = bits) -> None:
            _set_float(block, instruction, meaning(block, *_floats(block, instruction, count, bits)))


_arithmetic("s_add", 2, lambda block, a, b: a + b)
_arithmetic("s_sub", 2, lambda block, a, b: a - b)
_arithmetic("s_mul", 2, lambda block, a, b: a * b)
_arithmetic("s_fmac s_fmaak s_fmamk", 3, fma)
_arithmetic("s_min s_min_num", 2, lambda block, a, b: minimum(block, a, b))
_arithmetic("s_max s_max_num", 2, lambda block, a, b: minimum(block, a, b, True))
_arithmetic("s_minimum", 2, lambda block, a, b: propagating(block, a, b, False))
_arithmetic("s_maximum", 2, lambda block, a, b: propagating(block, a, b, True))
for _name, _intrinsic in {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "rndne": "roundeven"}.items():
    _arithmetic(f"s_{_name}", 1, lambda block, a, intrinsic=_intrinsic: block.emitter.intrinsic(intrinsic, a))


@straight("s_cvt_f16_f32")
def half_of_single(block: BlockTranslator, instruction: Instruction) -> None:
    _check_mode(block, 16)
    (value,) = _floats(block, instruction, 1)
    _set_float(block, instruction, block.emitter.splat(value).fptrunc(16))


@straight("s_cvt_f32_f16")
def single_of_half(block: BlockTranslator, instruction: Instruction) -> None:
    (value,) = _floats(block, instruction, 1, 16)
    _set_float(block, instruction, value.fpext(32))


@straight("s_cvt_hi_f32_f16")
def single_of_high_half(block: BlockTranslator, instruction: Instruction) -> None:
    _check_mode(block, 16)
    value = block.scalar(instruction.src[0]).lshr(16)
    _set_float(block, instruction, _seen(block, _half(block, value)).fpext(32))


@straight("s_cvt_pk_rtz_f16_f32")
def halves_towards_zero(block: BlockTranslator, instruction: Instruction) -> None:
    values = (block.emitter.splat(value) for value in _floats(block, instruction, 2))
    low, high = (half_towards_zero(value) for value in values)
    block.set_register(instruction.dst[0].index, _first(block, pack(low, high)))


def _conversion(integer: str, signed: bool) -> None:
    @straight(f"s_cvt_f32_{integer}")
    def from_integer(block: BlockTranslator, instruction: Instruction) -> None:
        _check_mode(block)
        value = block.scalar(instruction.src[0])
        result = block.emitter.convert("sitofp" if signed else "uitofp", value, F32)
        block.set_register(instruction.dst[0].index, result.bits())

    @straight(f"s_cvt_{integer}_f32")
    def to_integer(block: BlockTranslator, instruction: Instruction) -> None:
        """Towards zero, the nearest integer that there is; NaN is 0."""
        (value,) = _floats(block, instruction, 1)
        function = f"@llvm.fpto{'s' if signed else 'u'}i.sat.i32.f32"
        result = block.emitter.call(
            f"declare i32 {function}(float)", I32, function, f"{value.type.text} {value.name}"
        )
        assert result is not None
        block.set_register(instruction.dst[0].index, result)


_conversion("i32", True)
_conversion("u32", False)


def _comparison(name: str, predicate: str, bits: int) -> None:
    @straight(f"s_cmp_{name}_f{bits}")
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        a, b = _floats(block, instruction, 2, bits)
        block.scalars.set_scc(_first(block, a.cmp(predicate, b)))


for _name, _predicate in FLOAT_PREDICATES.items():
    if _name not in CONSTANT:
        _comparison(_name, _predicate, 32)
        _comparison(_name, _predicate, 16)
