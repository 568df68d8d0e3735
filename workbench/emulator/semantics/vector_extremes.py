"""Lane-wise and packed minimum, maximum and median of floats."""

from __future__ import annotations

from workbench.emulator.semantics.float_patterns import FLOATS, is_signalling, quiet
from workbench.emulator.semantics.registry import lanes, packed
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.chunk import V_F32
from workbench.emulator.translate.ir import Value


def minimum(block: BlockTranslator, a: Value, b: Value, largest: bool = False) -> Value:
    """v_min (v_max): a number wins over NaN, and -0 is less than +0; in IEEE mode a signalling NaN wins,
    quieted."""
    host = block.options.host
    if a.type is V_F32 and block.mode.ieee and "avx512dq" in host:
        # VRANGEPS has the same rules: selector 0 minimum or 1 maximum, sign from the result.
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
    """The meaning of v_max."""
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
        # The later names are those of IEEE 754's minimumNumber: as outside IEEE mode, a number wins always.
        @lanes(f"v_{_name}_{_kind} v_{_name}_num_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def extreme(block: BlockTranslator, a: Value, b: Value, largest: bool = _largest) -> Value:
            return minimum(block, a, b, largest)

        if _kind == "f64":
            continue

        signature = f"{_kind} <- {_kind} {_kind} {_kind}"

        @lanes(f"v_{_name}3_{_kind} v_{_name}3_num_{_kind}", signature, keep_high=True)
        def extreme3(block: BlockTranslator, a: Value, b: Value, c: Value, largest: bool = _largest) -> Value:
            return minimum(block, minimum(block, a, b, largest), c, largest)

    if _kind != "f64":

        @lanes(f"v_med3_{_kind} v_med3_num_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}", keep_high=True)
        def med3(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
            low, high = minimum(block, a, b), maximum(block, a, b)
            middle = maximum(block, low, minimum(block, high, c))
            any_nan = a.cmp("uno", b) | c.is_nan()
            return any_nan.select(minimum(block, low, c), middle)


for _kind in ("f16", "f32"):

    @lanes(f"v_minmax_num_{_kind} v_minmax_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}")
    def minmax(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return maximum(block, minimum(block, a, b), c)

    @lanes(f"v_maxmin_num_{_kind} v_maxmin_{_kind}", f"{_kind} <- {_kind} {_kind} {_kind}")
    def maxmin(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return minimum(block, maximum(block, a, b), c)


for _kind in FLOATS:
    for _name, _largest in (("minimum", False), ("maximum", True)):

        @lanes(f"v_{_name}_{_kind}", f"{_kind} <- {_kind} {_kind}")
        def propagating_lanes(block: BlockTranslator, a: Value, b: Value, largest: bool = _largest) -> Value:
            return propagating(block, a, b, largest)


def _three(name: str, kind: str, first: bool, second: bool) -> None:
    @lanes(f"v_{name}_{kind}", f"{kind} <- {kind} {kind} {kind}")
    def meaning(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
        return propagating(block, propagating(block, a, b, first), c, second)


for _kind in ("f16", "f32"):
    # Whether the first and the second step take the larger number.
    _three("minimum3", _kind, False, False)
    _three("maximum3", _kind, True, True)
    _three("minimummaximum", _kind, False, True)
    _three("maximumminimum", _kind, True, False)


@packed("v_pk_min_f16 v_pk_min_num_f16", "f16 <- f16 f16")
def pk_min_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return minimum(block, a, b)


@packed("v_pk_max_f16 v_pk_max_num_f16", "f16 <- f16 f16")
def pk_max_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return maximum(block, a, b)


@packed("v_pk_min3_num_f16", "f16 <- f16 f16 f16")
def pk_min3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return minimum(block, minimum(block, a, b), c)


@packed("v_pk_max3_num_f16", "f16 <- f16 f16 f16")
def pk_max3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return maximum(block, maximum(block, a, b), c)


@packed("v_pk_minimum_f16", "f16 <- f16 f16")
def pk_minimum_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return propagating(block, a, b, False)


@packed("v_pk_maximum_f16", "f16 <- f16 f16")
def pk_maximum_f16(block: BlockTranslator, a: Value, b: Value) -> Value:
    return propagating(block, a, b, True)


@packed("v_pk_minimum3_f16", "f16 <- f16 f16 f16")
def pk_minimum3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, False), c, False)


@packed("v_pk_maximum3_f16", "f16 <- f16 f16 f16")
def pk_maximum3_f16(block: BlockTranslator, a: Value, b: Value, c: Value) -> Value:
    return propagating(block, propagating(block, a, b, True), c, True)
