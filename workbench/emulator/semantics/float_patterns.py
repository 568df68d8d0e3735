"""The fields of floats' bit patterns, and NaN."""

from __future__ import annotations

from workbench.emulator.translate.ir import Value

FLOATS = ("f16", "f32", "f64")
MANTISSA = {16: 10, 32: 23, 64: 52}
BIAS = {16: 15, 32: 127, 64: 1023}


def exponent_mask(bits: int) -> int:
    """The exponent field of a float's pattern; also the pattern of infinity."""
    return ((1 << (bits - 1 - MANTISSA[bits])) - 1) << MANTISSA[bits]


def quiet(value: Value) -> Value:
    """A NaN made quiet, with its sign and payload."""
    type = value.type
    return (value.bits() | (1 << (MANTISSA[type.bits] - 1))).bitcast(type)


def is_signalling(value: Value) -> Value:
    """i1 per lane: the float is a signalling NaN."""
    bits = value.type.bits
    magnitude = value.bits() & ((1 << (bits - 1)) - 1)
    return magnitude.cmp("ugt", exponent_mask(bits)) & magnitude.cmp(
        "ult", exponent_mask(bits) | 1 << (MANTISSA[bits] - 1)
    )
