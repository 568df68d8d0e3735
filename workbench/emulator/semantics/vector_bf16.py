"""Arithmetic of bf16 as gfx1250 has it: packed sums and products, functions; and the hyperbolic tangent.

AMD's pseudocode of these instructions is not at hand. Assumed: results are those of exact arithmetic rounded
once, to nearest even, and denormals stay; functions are those of single precision, rounded.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.emulator.semantics.convert import bf16_above
from workbench.emulator.semantics.registry import lanes, packed
from workbench.emulator.semantics.vector_float import sum_to_odd
from workbench.emulator.semantics.vector_functions import FUNCTIONS_F32
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32
from workbench.emulator.translate.ir import Value, floating
from workbench.emulator.translate.lane_calls import call_lanes


def _wide(value: Value) -> Value:
    """f32 of bf16 patterns."""
    return value.zext(32).shl(16).bitcast(floating(32, value.type.lanes))


def _narrow(value: Value) -> Value:
    return bf16_above(value).lshr(16).trunc(16)


def _saturated(block: BlockTranslator, value: Value) -> Value:
    if not block.clamp:
        return value
    low = value.cmp("ogt", 0.0).select(value, 0.0)
    return low.cmp("ogt", 1.0).select(1.0, low)


def _packed(name: str, sources: int, meaning: Callable[..., Value]) -> None:
    @packed(f"v_pk_{name}_bf16", "bf16 <- " + "bf16 " * sources)
    def arithmetic(block: BlockTranslator, *values: Value) -> Value:
        return _narrow(_saturated(block, meaning(block, *map(_wide, values))))


def _fma(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    # The product of two numbers with 8 bits each is exact.
    return sum_to_odd((a * b).fpext(64), c.fpext(64))


def _extreme(name: str) -> Callable[..., Value]:
    return lambda block, a, b: block.emitter.intrinsic(f"{name}num", a, b)


_packed("add", 2, lambda block, a, b: sum_to_odd(a.fpext(64), b.fpext(64)))
_packed("mul", 2, lambda block, a, b: a * b)
_packed("fma", 3, _fma)
_packed("min_num", 2, _extreme("min"))
_packed("max_num", 2, _extreme("max"))


def tangent(block: BlockTranslator, a: Value) -> Value:
    """The hyperbolic tangent of f32."""
    return call_lanes(block, "hk_tanh_f32x16", V_F32, a)


@lanes("v_tanh_f32", "f32 <- f32")
def tanh_f32(block: BlockTranslator, a: Value) -> Value:
    return tangent(block, a)


@lanes("v_tanh_f16", "f16 <- f16")
def tanh_f16(block: BlockTranslator, a: Value) -> Value:
    return tangent(block, a.fpext(32)).fptrunc(16)


def _function(name: str, meaning: Callable[[BlockTranslator, Value], Value]) -> None:
    @lanes(f"v_{name}_bf16", "bf16 <- bf16", keep_high=True)
    def function(block: BlockTranslator, a: Value) -> Value:
        return _narrow(meaning(block, _wide(a)))


for _name, _meaning in {**FUNCTIONS_F32, "tanh": tangent}.items():
    _function(_name, _meaning)
