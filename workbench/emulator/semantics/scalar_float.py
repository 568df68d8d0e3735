"""Scalar ALU of gfx11.5 and later on single-precision floats: sums, products, extremes, conversions.

They follow the MODE register as vector instructions do; modes that no compiler sets here, other than rounding
to nearest and keeping denormals, are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.codeobject.instruction import Instruction
from workbench.emulator.semantics.compare import CONSTANT, FLOAT_PREDICATES
from workbench.emulator.semantics.registry import straight
from workbench.emulator.semantics.vector_extremes import minimum, propagating
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import I32, Value, floating
from workbench.emulator.translate.options import Unsupported

F32 = floating(32)

Meaning = Callable[..., Value]


def _check_mode(block: BlockTranslator) -> None:
    mode = block.mode
    if mode.round32 or mode.denormal32 != 3:
        raise Unsupported("a scalar float in a mode that rounds or flushes otherwise than by default")


def _floats(block: BlockTranslator, instruction: Instruction, count: int) -> list[Value]:
    _check_mode(block)
    sources = [block.scalar(operand, "f32").bitcast(F32) for operand in instruction.src[:count]]
    if len(sources) < count:
        # The result is the addend, too.
        sources.append(block.scalar(instruction.dst[0], "f32").bitcast(F32))
    return sources


def _arithmetic(opcodes: str, count: int, meaning: Meaning) -> None:
    @straight(opcodes)
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        result = meaning(block, *_floats(block, instruction, count))
        block.set_register(instruction.dst[0].index, result.bits())


_arithmetic("s_add_f32", 2, lambda block, a, b: a + b)
_arithmetic("s_sub_f32", 2, lambda block, a, b: a - b)
_arithmetic("s_mul_f32", 2, lambda block, a, b: a * b)
_arithmetic("s_fmac_f32 s_fmaak_f32 s_fmamk_f32", 3, lambda block, *abc: block.emitter.intrinsic("fma", *abc))
_arithmetic("s_min_num_f32", 2, lambda block, a, b: minimum(block, a, b))
_arithmetic("s_max_num_f32", 2, lambda block, a, b: minimum(block, a, b, True))
_arithmetic("s_minimum_f32", 2, lambda block, a, b: propagating(block, a, b, False))
_arithmetic("s_maximum_f32", 2, lambda block, a, b: propagating(block, a, b, True))
for _name, _intrinsic in {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "rndne": "roundeven"}.items():
    _arithmetic(
        f"s_{_name}_f32", 1, lambda block, a, intrinsic=_intrinsic: block.emitter.intrinsic(intrinsic, a)
    )


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


def _comparison(name: str, predicate: str) -> None:
    @straight(f"s_cmp_{name}_f32")
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        a, b = _floats(block, instruction, 2)
        block.scalars.set_scc(a.cmp(predicate, b))


for _name, _predicate in FLOAT_PREDICATES.items():
    if _name not in CONSTANT:
        _comparison(_name, _predicate)
