"""Lane-wise helpers of IEEE-754 division, which kernels compute from a reciprocal and refinement."""

from __future__ import annotations

from workbench.emulator.semantics.float_patterns import FLOATS
from workbench.emulator.semantics.registry import lanes
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.lane_calls import call_lanes, call_lanes_with_mask


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
