"""Constants as bit patterns: against struct, and the ISA's rules for literals."""

from __future__ import annotations

import struct

import pytest

from workbench.codeobject.instruction import INLINE_FLOATS, LITERAL, Operand
from workbench.errors import CodeObjectError


def _constant(code: int) -> Operand:
    value = INLINE_FLOATS.get(code, code - 128 if code <= 192 else 192 - code)
    return Operand("imm", code, 1, value)


@pytest.mark.parametrize("code", [240, 241, 242, 243, 244, 245, 246, 247])
@pytest.mark.parametrize(("type_", "pattern"), [("f16", "<e"), ("f32", "<f"), ("f64", "<d")])
def test_inline_float_takes_the_operands_precision(code: int, type_: str, pattern: str) -> None:
    packed = int.from_bytes(struct.pack(pattern, INLINE_FLOATS[code]), "little")
    assert _constant(code).bits(type_) == packed
    # Untyped and integer operands use the float of their own width (LLVM prints 0x3c00 for 1.0 in i16).
    assert _constant(code).bits("b" + type_[1:]) == packed
    assert _constant(code).bits("u" + type_[1:]) == packed


def test_inline_float_in_bf16_is_the_high_half_of_the_single() -> None:
    assert _constant(242).bits("bf16") == 0x3F80
    assert _constant(242).bits("v2bf16") == 0x3F80
    assert _constant(248).bits("bf16") == 0x3E22


@pytest.mark.parametrize(
    ("type_", "bits"), [("f16", 0x3118), ("f32", 0x3E22F983), ("f64", 0x3FC45F306DC9C882)]
)
def test_inverse_two_pi_has_the_isa_guides_patterns(type_: str, bits: int) -> None:
    assert _constant(248).bits(type_) == bits


@pytest.mark.parametrize("code", [128, 129, 192, 193, 208])
def test_inline_integer_is_sign_extended_in_every_type(code: int) -> None:
    operand = _constant(code)
    for type_, width in (("i32", 32), ("f32", 32), ("f64", 64), ("b64", 64), ("u16", 16), ("v2f16", 32)):
        assert operand.bits(type_) == operand.value % (1 << width)


def test_packed_constants() -> None:
    constant = _constant(242)
    assert constant.bits("v2f16") == 0x3C00
    assert constant.bits("v2f32") == 0x3F8000003F800000
    assert _constant(193).bits("v2f32") == 0xFFFFFFFFFFFFFFFF


def test_literals_in_64_bit_operands() -> None:
    literal = Operand("imm", LITERAL, 2, 0x80000001)
    assert literal.bits("f64") == 0x8000000100000000
    assert literal.bits("i64") == 0xFFFFFFFF80000001
    assert literal.bits("u64") == literal.bits("b64") == 0x80000001
    assert literal.bits("b32") == 0x80000001
    assert literal.bits("f16") == 1


def test_no_constant_and_unknown_type_are_refused() -> None:
    with pytest.raises(CodeObjectError, match="'v' has no bit pattern"):
        Operand("v", 3, 1).bits("b32")
    with pytest.raises(CodeObjectError, match="unknown operand type 'f8'"):
        _constant(242).bits("f8")
