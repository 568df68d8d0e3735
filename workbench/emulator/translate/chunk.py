"""A chunk, the 16 lanes of a register row that generated code handles at once: its LLVM types."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emulator.translate.ir import LANES, Type, Value, floating, integer

V_I1 = integer(1, LANES)
V_I16 = integer(16, LANES)
V_I32 = integer(32, LANES)
V_I64 = integer(64, LANES)
V_F16 = floating(16, LANES)
V_F32 = floating(32, LANES)
V_F64 = floating(64, LANES)

KINDS: Mapping[str, tuple[Type, int]] = {
    **dict.fromkeys(("b32", "i32", "u32"), (V_I32, 1)),
    **dict.fromkeys(("b16", "i16", "u16", "bf16"), (V_I16, 1)),
    **dict.fromkeys(("b64", "i64", "u64"), (V_I64, 2)),
    "f16": (V_F16, 1),
    "f32": (V_F32, 1),
    "f64": (V_F64, 2),
    **{kind: (integer(16, 2 * LANES), 1) for kind in ("v2b16", "v2i16", "v2u16", "v2bf16")},
    "v2f16": (floating(16, 2 * LANES), 1),
}
"""Register kinds of instruction signatures: LLVM type of a chunk, and dwords per lane."""


def join(low: Value, high: Value) -> Value:
    """64-bit lanes from their halves."""
    order = [index for lane in range(LANES) for index in (lane, lane + LANES)]
    return low.emitter.shuffle(low, high, order).bitcast(V_I64)


def halves(value: Value) -> tuple[Value, Value]:
    """The low and high dwords of 64-bit lanes."""
    parts = value.bitcast(integer(32, 2 * LANES))
    low = value.emitter.shuffle(parts, None, list(range(0, 2 * LANES, 2)))
    return low, value.emitter.shuffle(parts, None, list(range(1, 2 * LANES, 2)))
