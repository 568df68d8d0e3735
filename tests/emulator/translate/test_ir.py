"""Text of LLVM IR."""

from __future__ import annotations

import struct

import pytest

from workbench.emulator.translate.ir import constant_text, floating, integer


@pytest.mark.parametrize("order", [1, -1])
def test_numbers_that_are_equal_in_python_stay_apart(order: int) -> None:
    # A width that nothing else here uses, so that both orders start with an empty cache.
    type = floating(32, 7 if order == 1 else 9)
    first, second = (constant_text(type, value) for value in (1.0, 1)[::order])
    assert first != second
    positive, negative = (constant_text(type, value) for value in (0.0, -0.0)[::order])
    assert positive != negative


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -2.5, float("inf"), 2.0**-24])
def test_floats_are_written_as_their_bits(value: float) -> None:
    double = struct.unpack("<Q", struct.pack("<d", value))[0]
    assert constant_text(floating(32), value) == f"0x{double:016X}"
    assert constant_text(floating(64, 4), value) == f"splat (double 0x{double:016X})"
    half = struct.unpack("<H", struct.pack("<e", value))[0]
    assert constant_text(floating(16), value) == f"0xH{half:04X}"


def test_integers_are_written_by_their_width() -> None:
    assert constant_text(integer(32), -1) == "4294967295"
    assert constant_text(integer(16, 16), 1 << 16 | 3) == "splat (i16 3)"
    assert constant_text(floating(32), 1) == "bitcast (i32 1 to float)"
