"""Parts of LLVM's text of an instruction that are the same for all targets: registers, constants, masks."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.codeobject.instruction import (
    INLINE_FLOATS,
    INVERSE_TWO_PI,
    LITERAL,
    Operand,
    float_bits,
)

SPECIAL_NAMES: Mapping[int, str] = {
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
"""Names of source operands beside registers and constants, by their code."""

SCALAR_NAMES: Mapping[int, tuple[str, str]] = {
    106: ("vcc_lo", "vcc"),
    107: ("vcc_hi", ""),
    124: ("m0", ""),
    125: ("null", "null"),
    126: ("exec_lo", "exec"),
    127: ("exec_hi", ""),
}
"""Names of scalar registers, numbered as on gfx9: of one alone, and of the pair that it begins."""


def range_text(letter: str, index: int, width: int) -> str:
    """A register or a range of them."""
    return f"{letter}{index}" if width == 1 else f"{letter}[{index}:{index + width - 1}]"


def _is_inline_int(value: int, bits: int) -> bool:
    signed = value - (1 << bits) if value >> (bits - 1) & 1 else value
    return -16 <= signed <= 64


def _inline_patterns(kind: str) -> frozenset[int]:
    return frozenset(float_bits(value, kind) for value in INLINE_FLOATS.values())


_PATTERNS = {kind: _inline_patterns(kind) for kind in ("f16", "bf16", "f32", "f64")}


def _literal(value: int, type_: str) -> str:
    """A literal, marked `lit()` where an inline constant has the same value."""
    low = value & 0xFFFF
    bits, inline = value, False
    if type_ in ("f16", "f16whole"):
        inline = _is_inline_int(low, 16) or low in _PATTERNS["f16"]
        bits = low if type_ == "f16" else value
    elif type_ == "bf16":
        inline = _is_inline_int(low, 16) or low in _PATTERNS["bf16"]
    elif type_ == "v2f16splat":
        both = low == value >> 16
        inline = _is_inline_int(value, 32) or (both and (low <= 64 or low in _PATTERNS["f16"]))
    elif type_ == "v2b16":
        inline = False
    elif type_.startswith("v2"):
        inline = _is_inline_int(value, 32) or value in _PATTERNS[type_.removeprefix("v2")]
    elif type_ == "i16":
        inline = _is_inline_int(low, 16) or value in _PATTERNS["f32"]
        bits = low
    elif type_ == "f64":
        inline = value << 32 in _PATTERNS["f64"] or value == 0
    elif type_ == "b64":
        inline = value <= 64
    else:
        inline = _is_inline_int(value, 32) or value in _PATTERNS["f32"]
    return f"lit({value:#x})" if inline else f"{bits:#x}"


def wide_literal_text(value: int, is_float: bool, is_source: bool) -> str:
    """A literal of 64 bits; `is_source` unless the opcode always has it."""
    if is_source and value in _PATTERNS["f64"]:
        number = next(n for n in INLINE_FLOATS.values() if float_bits(n, "f64") == value)
        return "0.15915494309189532" if number == INVERSE_TWO_PI else repr(number)
    if value >> 32 == 0:
        return f"lit64({value:#x})"
    if is_float and not value & 0xFFFFFFFF:
        return f"{value >> 32:#x}"
    return f"{value:#x}"


def constant_text(operand: Operand, type_: str) -> str:
    """A constant or literal of a source operand that prints it as `type_` says (isa/enumerate.py)."""
    value = operand.value
    if type_ == "v2b16" and operand.index == LITERAL and _is_inline_int(int(value or 0), 32):
        return immediate_text(int(value or 0))
    if operand.index == LITERAL:
        return _literal(int(value or 0), type_)
    if isinstance(value, float):
        if type_ == "i16":
            return f"{float_bits(value, 'f16'):#x}"
        if type_ == "v2b16":
            return f"{float_bits(value, 'f32'):#x}"
        if value == INVERSE_TWO_PI:
            return "0.15915494309189532" if type_ in ("f64", "b64") else "0.15915494"
        return repr(value)
    return str(value)


def immediate_text(value: int) -> str:
    """A 32-bit immediate that is not a source operand: as the inline constant of that value, if any."""
    signed = value - (1 << 32) if value >> 31 else value
    if -16 <= signed <= 64:
        return str(signed)
    for number in INLINE_FLOATS.values():
        if value == float_bits(number, "f32"):
            return "0.15915494" if number == INVERSE_TWO_PI else repr(number)
    return f"{value:#x}"


def number_text(value: int) -> str:
    """A plain number: decimal where it could be an inline constant, else hexadecimal."""
    return str(value) if -16 <= value <= 64 else f"{value:#x}"


def bits_text(mask: int, count: int) -> str:
    """The lowest bits of a mask as a list, bit 0 first."""
    return "[" + ",".join(str(mask >> i & 1) for i in range(count)) + "]"


def swizzle_text(code: int) -> str:
    """The offset of a ds_swizzle_b32."""
    if not code:
        return ""
    if code & 0xFF00 == 0x8000:
        lanes = ",".join(str(code >> 2 * i & 3) for i in range(4))
        return f"offset:swizzle(QUAD_PERM,{lanes})"
    if code >= 0xE000:
        return f"offset:swizzle(FFT,{code & 31})"
    if code >= 0xC000:
        return f"offset:swizzle(ROTATE,{code >> 10 & 1},{code >> 5 & 31})"
    if code & 0x8000:
        return f"offset:{code}"
    and_mask, or_mask, xor_mask = code & 31, code >> 5 & 31, code >> 10 & 31
    if and_mask == 31 and or_mask == 0 and xor_mask and xor_mask & (xor_mask - 1) == 0:
        return f"offset:swizzle(SWAP,{xor_mask})"
    if and_mask == 31 and or_mask == 0 and xor_mask and xor_mask & (xor_mask + 1) == 0:
        return f"offset:swizzle(REVERSE,{xor_mask + 1})"
    group = 32 - and_mask
    if group > 1 and group & (group - 1) == 0 and or_mask < group and xor_mask == 0:
        return f"offset:swizzle(BROADCAST,{group},{or_mask})"
    mask = "".join(
        ("p" if not xor_mask >> i & 1 else "i")
        if and_mask >> i & 1 and not or_mask >> i & 1
        else str((or_mask >> i ^ xor_mask >> i) & 1)
        for i in reversed(range(5))
    )
    return f'offset:swizzle(BITMASK_PERM,"{mask}")'
