"""Lane-wise instructions against exact arithmetic on single lanes: every instruction, special operands, every
kind of execution mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from alu_reference import BF16, F16, F32, F64, FORMATS, convert, signed, to_integer

SEED = 20260


@dataclass(frozen=True)
class Case:
    """An instruction on v2, v4, v6 (pairs where 64 bits wide) with its result in v10 (and a mask in s[8:9]).

    `meaning` gets one lane's sources as unsigned integers of their kinds' widths, and the destination's old
    value with `old`; it returns the result, or (result, carry).
    """

    text: str
    result: str
    sources: str
    meaning: Callable[..., object]
    keep: bool = False
    old: bool = False
    mask: int = 0  # register of a mask result
    mask_in: int = 0  # register of a mask source

    @property
    def kinds(self) -> list[str]:
        return self.sources.split()


CASES: list[Case] = []
REGISTERS = ("v2", "v4", "v6")


def register_name(position: int, kind: str) -> str:
    first = 2 + 2 * position
    return f"v[{first}:{first + 1}]" if kind.endswith("64") else f"v{first}"


def add(
    opcode: str, result: str, sources: str, meaning: Callable[..., object], tail: str = "", **more
) -> None:
    kinds = sources.split()
    destination = "v[10:11]" if result.endswith("64") else "v10"
    operands = [destination]
    if more.get("mask"):
        operands.append(f"s[{more['mask']}:{more['mask'] + 1}]" if more["mask"] != 106 else "vcc")
    operands += [register_name(position, kind) for position, kind in enumerate(kinds)]
    if more.get("mask_in") and "div_fmas" not in opcode:
        operands.append("vcc" if more["mask_in"] == 106 else f"s[{more['mask_in']}:{more['mask_in'] + 1}]")
    CASES.append(Case(f"{opcode} {', '.join(operands)}{tail}", result, sources, meaning, **more))


def compare_case(opcode: str, kind: str, meaning: Callable[..., object], second: str = "") -> None:
    a, b = register_name(0, kind), register_name(1, second or kind)
    CASES.append(Case(f"{opcode} s[8:9], {a}, {b}", "", f"{kind} {second or kind}", meaning, mask=8))


# Integers

M32 = 0xFFFFFFFF
M64 = (1 << 64) - 1


def bits_reversed(a: int) -> int:
    return int(f"{a:032b}"[::-1], 2)


def leading(a: int) -> int:
    return 32 - a.bit_length() if a else -1


def trailing(a: int) -> int:
    return (a & -a).bit_length() - 1 if a else -1


def sign_run(a: int) -> int:
    return leading(a ^ (M32 if a >> 31 else 0))


def clamp(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


add("v_mov_b32_e32", "b32", "b32", lambda a: a)
add("v_mov_b64_e32", "b64", "b64", lambda a: a)
add("v_not_b32_e32", "b32", "b32", lambda a: ~a)
add("v_bfrev_b32_e32", "b32", "b32", bits_reversed)
add("v_ffbh_u32_e32", "b32", "b32", leading)
add("v_ffbl_b32_e32", "b32", "b32", trailing)
add("v_ffbh_i32_e32", "b32", "b32", sign_run)
add("v_and_b32_e32", "b32", "b32 b32", lambda a, b: a & b)
add("v_or_b32_e32", "b32", "b32 b32", lambda a, b: a | b)
add("v_xor_b32_e32", "b32", "b32 b32", lambda a, b: a ^ b)
add("v_xnor_b32_e32", "b32", "b32 b32", lambda a, b: ~(a ^ b))
add("v_and_or_b32", "b32", "b32 b32 b32", lambda a, b, c: a & b | c)
add("v_or3_b32", "b32", "b32 b32 b32", lambda a, b, c: a | b | c)
add("v_bfi_b32", "b32", "b32 b32 b32", lambda a, b, c: a & b | ~a & c)
add("v_lshlrev_b32_e32", "b32", "b32 b32", lambda a, b: b << (a & 31))
add("v_lshrrev_b32_e32", "b32", "b32 b32", lambda a, b: b >> (a & 31))
add("v_ashrrev_i32_e32", "b32", "b32 b32", lambda a, b: signed(b, 32) >> (a & 31))
add("v_lshlrev_b16_e32", "b16", "b16 b16", lambda a, b: b << (a & 15))
add("v_lshrrev_b16_e32", "b16", "b16 b16", lambda a, b: b >> (a & 15))
add("v_ashrrev_i16_e32", "b16", "b16 b16", lambda a, b: signed(b, 16) >> (a & 15))
add("v_lshlrev_b64", "b64", "b32 b64", lambda a, b: b << (a & 63))
add("v_lshrrev_b64", "b64", "b32 b64", lambda a, b: b >> (a & 63))
add("v_ashrrev_i64", "b64", "b32 b64", lambda a, b: signed(b, 64) >> (a & 63))
add("v_lshl_or_b32", "b32", "b32 b32 b32", lambda a, b, c: a << (b & 31) | c)
add("v_lshl_add_u32", "b32", "b32 b32 b32", lambda a, b, c: (a << (b & 31)) + c)
add("v_add_lshl_u32", "b32", "b32 b32 b32", lambda a, b, c: (a + b & M32) << (c & 31))
add("v_lshl_add_u64", "b64", "b64 b32 b64", lambda a, b, c: (a << (b & 7)) + c)
add("v_alignbit_b32", "b32", "b32 b32 b32", lambda a, b, c: (a << 32 | b) >> (c & 31))
add("v_alignbyte_b32", "b32", "b32 b32 b32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3))
add("v_bfe_u32", "b32", "b32 b32 b32", lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1))
add(
    "v_bfe_i32",
    "b32",
    "b32 b32 b32",
    lambda a, b, c: signed(signed(a, 32) >> (b & 31), c & 31) if c & 31 else 0,
)
add("v_bfm_b32", "b32", "b32 b32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31))
add("v_bcnt_u32_b32", "b32", "b32 b32", lambda a, b: a.bit_count() + b)
add("v_add_u32_e32", "b32", "u32 u32", lambda a, b: a + b)
add("v_add_u32_e64", "b32", "u32 u32", lambda a, b: min(a + b, M32), " clamp")
add("v_sub_u32_e32", "b32", "u32 u32", lambda a, b: a - b)
add("v_sub_u32_e64", "b32", "u32 u32", lambda a, b: max(a - b, 0), " clamp")
add("v_subrev_u32_e32", "b32", "u32 u32", lambda a, b: b - a)
add("v_add_u16_e32", "b16", "u16 u16", lambda a, b: a + b)
add("v_sub_u16_e32", "b16", "u16 u16", lambda a, b: a - b)
add("v_subrev_u16_e32", "b16", "u16 u16", lambda a, b: b - a)
add("v_mul_lo_u16_e32", "b16", "u16 u16", lambda a, b: a * b)
add("v_add_i32", "b32", "i32 i32", lambda a, b: a + b)
add(
    "v_add_i32",
    "b32",
    "i32 i32",
    lambda a, b: clamp(signed(a, 32) + signed(b, 32), -(1 << 31), (1 << 31) - 1),
    " clamp",
)
add("v_sub_i32", "b32", "i32 i32", lambda a, b: a - b)
add("v_add_i16", "b16", "i16 i16", lambda a, b: a + b, keep=True)
add("v_sub_i16", "b16", "i16 i16", lambda a, b: a - b, keep=True)
add("v_add3_u32", "b32", "b32 b32 b32", lambda a, b, c: a + b + c)
add("v_xad_u32", "b32", "b32 b32 b32", lambda a, b, c: (a ^ b) + c)
add("v_mul_lo_u32", "b32", "b32 b32", lambda a, b: a * b)
add("v_mul_hi_u32", "b32", "b32 b32", lambda a, b: a * b >> 32)
add("v_mul_hi_i32", "b32", "b32 b32", lambda a, b: signed(a, 32) * signed(b, 32) >> 32)
add("v_mul_i32_i24_e32", "b32", "b32 b32", lambda a, b: signed(a, 24) * signed(b, 24))
add("v_mul_u32_u24_e32", "b32", "b32 b32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
add("v_mul_hi_i32_i24_e32", "b32", "b32 b32", lambda a, b: signed(a, 24) * signed(b, 24) >> 32)
add("v_mul_hi_u32_u24_e32", "b32", "b32 b32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32)
add("v_mad_i32_i24", "b32", "b32 b32 b32", lambda a, b, c: signed(a, 24) * signed(b, 24) + c)
add("v_mad_u32_u24", "b32", "b32 b32 b32", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
add("v_mad_u32_u16", "b32", "u16 u16 u32", lambda a, b, c: a * b + c)
add("v_mad_i32_i16", "b32", "i16 i16 i32", lambda a, b, c: signed(a, 16) * signed(b, 16) + c)
add("v_mad_u16", "b16", "u16 u16 u16", lambda a, b, c: a * b + c, keep=True)
add("v_mad_u16", "b16", "u16 u16 u16", lambda a, b, c: min(a * b + c, 0xFFFF), " clamp", keep=True)
add("v_mad_i16", "b16", "i16 i16 i16", lambda a, b, c: a * b + c, keep=True)
add("v_mad_u64_u32", "b64", "u32 u32 u64", lambda a, b, c: (a * b + c, a * b + c > M64), mask=8)
add(
    "v_mad_i64_i32",
    "b64",
    "i32 i32 i64",
    lambda a, b, c: (
        signed(a, 32) * signed(b, 32) + signed(c, 64),
        bool(signed(a, 32) * signed(b, 32) + signed(c, 64) >> 64 & 1),
    ),
    mask=8,
)
add("v_add_co_u32_e32", "b32", "u32 u32", lambda a, b: (a + b, a + b > M32), mask=106)
add("v_add_co_u32_e64", "b32", "u32 u32", lambda a, b: (a + b, a + b > M32), mask=8)
add("v_sub_co_u32_e32", "b32", "u32 u32", lambda a, b: (a - b, a < b), mask=106)
add("v_subrev_co_u32_e32", "b32", "u32 u32", lambda a, b: (b - a, b < a), mask=106)
add(
    "v_addc_co_u32_e32", "b32", "u32 u32", lambda a, b, c: (a + b + c, a + b + c > M32), mask=106, mask_in=106
)
add("v_addc_co_u32_e64", "b32", "u32 u32", lambda a, b, c: (a + b + c, a + b + c > M32), mask=8, mask_in=12)
add("v_subb_co_u32_e32", "b32", "u32 u32", lambda a, b, c: (a - b - c, a < b + c), mask=106, mask_in=106)
add("v_subbrev_co_u32_e64", "b32", "u32 u32", lambda a, b, c: (b - a - c, b < a + c), mask=8, mask_in=12)
add("v_cndmask_b32_e32", "b32", "b32 b32", lambda a, b, c: b if c else a, mask_in=106)
add("v_cndmask_b32_e64", "b32", "b32 b32", lambda a, b, c: b if c else a, mask_in=12)


def permuted(a: int, b: int, c: int) -> int:
    data = (a << 32 | b).to_bytes(8, "little")
    result = []
    for select in c.to_bytes(4, "little"):
        if select >= 13:
            result.append(255)
        elif select == 12:
            result.append(0)
        elif select >= 8:
            result.append(255 if data[2 * (select - 8) + 1] & 128 else 0)
        else:
            result.append(data[select])
    return int.from_bytes(bytes(result), "little")


def byte_difference(a: int, b: int, masked: bool = False) -> int:
    pairs = zip(a.to_bytes(4, "little"), b.to_bytes(4, "little"), strict=True)
    return sum(abs(x - y) for x, y in pairs if y or not masked)


def quad_difference(a: int, b: int, c: int, masked: bool) -> int:
    result = 0
    for n in range(4):
        window = a >> 8 * n & M32
        total = byte_difference(window, b, masked) + (c >> 16 * n & 0xFFFF)
        result |= (total & 0xFFFF) << 16 * n
    return result


add("v_perm_b32", "b32", "b32 b32 b32", permuted)
add("v_sad_u8", "b32", "b32 b32 b32", lambda a, b, c: byte_difference(a, b) + c)
add("v_msad_u8", "b32", "b32 b32 b32", lambda a, b, c: byte_difference(a, b, True) + c)
add("v_sad_hi_u8", "b32", "b32 b32 b32", lambda a, b, c: (byte_difference(a, b) << 16) + c)
add(
    "v_sad_u16",
    "b32",
    "b32 b32 b32",
    lambda a, b, c: abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16)) + c,
)
add("v_sad_u32", "b32", "b32 b32 b32", lambda a, b, c: abs(a - b) + c)
add("v_qsad_pk_u16_u8", "b64", "b64 b32 b64", lambda a, b, c: quad_difference(a, b, c, False))
add("v_mqsad_pk_u16_u8", "b64", "b64 b32 b64", lambda a, b, c: quad_difference(a, b, c, True))
add(
    "v_lerp_u8",
    "b32",
    "b32 b32 b32",
    lambda a, b, c: int.from_bytes(
        bytes(
            (x + y + (z & 1)) >> 1
            for x, y, z in zip(*(v.to_bytes(4, "little") for v in (a, b, c)), strict=True)
        ),
        "little",
    ),
)
add(
    "v_sat_pk_u8_i16_e32",
    "b32",
    "b32",
    lambda a: clamp(signed(a, 16), 0, 255) | clamp(signed(a >> 16, 16), 0, 255) << 8,
)
add("v_prng_b32_e32", "b32", "b32", lambda a: a << 1 ^ (197 if a >> 31 else 0))
add(
    "v_ashr_pk_i8_i32",
    "b16",
    "i32 i32 u32",
    lambda a, b, c: (
        (clamp(signed(a, 32) >> (c & 31), -128, 127) & 255)
        | (clamp(signed(b, 32) >> (c & 31), -128, 127) & 255) << 8
    ),
    keep=True,
)
add(
    "v_ashr_pk_u8_i32",
    "b16",
    "i32 i32 u32",
    lambda a, b, c: clamp(signed(a, 32) >> (c & 31), 0, 255) | clamp(signed(b, 32) >> (c & 31), 0, 255) << 8,
    keep=True,
)


def table_function(table: int, width: int) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, c: int) -> int:
        result = 0
        for bit in range(width):
            index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1
            result |= (table >> index & 1) << bit
        return result

    return function


for table in (0x00, 0xFF, 0x96, 0xCA, 0x6C, 0x01, 0x80, 0xE8):
    add("v_bitop3_b32", "b32", "b32 b32 b32", table_function(table, 32), f" bitop3:{table:#x}")
add("v_bitop3_b16", "b16", "b16 b16 b16", table_function(0x6C, 16), " bitop3:0x6c", keep=True)

for letter in "iu":
    for width in (16, 32):
        kind = f"{letter}{width}"
        number = (lambda w: lambda x: signed(x, w))(width) if letter == "i" else int
        suffix = "_e32"
        for name, choose in (("min", min), ("max", max)):
            pick = (lambda f, n: lambda *values: f(values, key=n))(choose, number)
            add(f"v_{name}_{kind}{suffix}", kind, f"{kind} {kind}", pick)
            add(f"v_{name}3_{kind}", kind, f"{kind} {kind} {kind}", pick, keep=width == 16)
        middle = (lambda n: lambda *values: sorted(values, key=n)[1])(number)
        add(f"v_med3_{kind}", kind, f"{kind} {kind} {kind}", middle, keep=width == 16)
        orders = {
            "lt": lambda x, y: x < y,
            "eq": lambda x, y: x == y,
            "le": lambda x, y: x <= y,
            "gt": lambda x, y: x > y,
            "ne": lambda x, y: x != y,
            "ge": lambda x, y: x >= y,
            "f": lambda x, y: False,
            "t": lambda x, y: True,
        }
        for name, order in orders.items():
            relation = (lambda f, n: lambda a, b: f(n(a), n(b)))(order, number)
            compare_case(f"v_cmp_{name}_{kind}_e64", kind, relation)
for letter in "iu":
    number64 = (lambda x: signed(x, 64)) if letter == "i" else int
    for name in ("lt", "eq", "le", "gt", "ne", "ge"):
        relation = (lambda f, n: lambda a, b: f(n(a), n(b)))(orders[name], number64)
        compare_case(f"v_cmp_{name}_{letter}64_e64", f"{letter}64", relation)


# Floats


def extreme3(format, largest):
    return lambda a, b, c: format.minimum(format.minimum(a, b, largest), c, largest)


def median(format):
    def function(a, b, c):
        if any(map(format.is_nan, (a, b, c))):
            return format.minimum(format.minimum(a, b), c)
        return sorted((a, b, c), key=format.order)[1]

    return function


def propagated(format, largest):
    def two(a, b):
        if format.is_nan(a) or format.is_nan(b):
            return format.nan
        return (max if largest else min)(a, b, key=format.order)

    return lambda a, b, c: two(two(a, b), c)


def rounding(format, function):
    def rounded(a):
        if format.is_nan(a):
            return format.nan
        if format.is_infinite(a):
            return a
        return format.round(Fraction(function(format.exact(a))), format.is_negative(a))

    return rounded


def fraction_of(format):
    largest = format.one - 1

    def function(a):
        if format.is_nan(a) or format.is_infinite(a):
            return format.nan
        value = format.exact(a)
        result = format.round(value - math.floor(value))
        return largest if result >= format.one else result

    return function


def mantissa_of(format):
    def function(a):
        if format.is_nan(a) or format.is_infinite(a) or format.is_zero(a):
            return a
        value = abs(format.exact(a))
        while value >= 1:
            value /= 2
        while value < Fraction(1, 2):
            value *= 2
        return format.round(value) | (a & format.sign)

    return function


def exponent_of(format):
    def function(a):
        if format.is_nan(a) or format.is_infinite(a) or format.is_zero(a):
            return 0
        return math.frexp(float(format.exact(a)))[1]

    return function


def scaled(format, width):
    def function(a, n):
        if format.is_nan(a):
            return format.nan
        if format.is_infinite(a) or format.is_zero(a):
            return a
        n = clamp(signed(n, width), -5000, 5000)
        return format.round(format.exact(a) * Fraction(2) ** n, format.is_negative(a)) | (a & format.sign)

    return function


def fixup(format):
    default = format.sign | format.nan

    def function(q, d, n):
        if format.is_nan(n) or format.is_nan(d):
            return format.nan
        sign = (d ^ n) & format.sign
        if (format.is_zero(d) and format.is_zero(n)) or (format.is_infinite(d) and format.is_infinite(n)):
            return default
        if format.is_zero(d) or format.is_infinite(n):
            return sign | format.infinity
        if format.is_infinite(d) or format.is_zero(n):
            return sign
        distance = (format.magnitude(n) >> format.mantissa_bits) - (
            format.magnitude(d) >> format.mantissa_bits
        )
        limit = {32: -150, 64: -1075}.get(format.width)
        if limit is not None and distance < limit:
            return sign
        if limit is not None and distance > format.bias + 1:
            return sign | format.infinity
        return sign | format.magnitude(q)

    return function


def class_test(format):
    def function(a, mask):
        negative = format.is_negative(a)
        if format.is_nan(a):
            bit = 0 if format.is_signalling(a) else 1
        elif format.is_infinite(a):
            bit = 2 if negative else 9
        elif format.is_zero(a):
            bit = 5 if negative else 6
        elif format.is_denormal(a):
            bit = 4 if negative else 7
        else:
            bit = 3 if negative else 8
        return bool(mask >> bit & 1)

    return function


def float_order(format, name):
    tests = {
        "lt": lambda x, y: x < y,
        "eq": lambda x, y: x == y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "lg": lambda x, y: x != y,
        "ge": lambda x, y: x >= y,
        "o": lambda x, y: True,
        "f": lambda x, y: False,
    }

    def function(a, b):
        inverted = name not in tests
        stem = {
            "u": "o",
            "nge": "ge",
            "nlg": "lg",
            "ngt": "gt",
            "nle": "le",
            "neq": "eq",
            "nlt": "lt",
            "tru": "f",
        }
        test = tests[stem[name] if inverted else name]
        if format.is_nan(a) or format.is_nan(b):
            return inverted

        def key(x):
            return 0 if format.is_zero(x) else format.order(x) + (1 if format.is_negative(x) else 0)

        return test(key(a), key(b)) != inverted

    return function


for kind in ("f16", "f32", "f64"):
    format = FORMATS[kind]
    e32 = "" if kind == "f64" else "_e32"
    add(f"v_add_{kind}{e32}", kind, f"{kind} {kind}", format.add)
    add(f"v_mul_{kind}{e32}", kind, f"{kind} {kind}", format.mul)
    add(f"v_fma_{kind}", kind, f"{kind} {kind} {kind}", format.fma, keep=True)
    add(f"v_min_{kind}{e32}", kind, f"{kind} {kind}", format.minimum)
    add(f"v_max_{kind}{e32}", kind, f"{kind} {kind}", (lambda f: lambda a, b: f.minimum(a, b, True))(format))
    if kind != "f64":
        add(f"v_sub_{kind}_e32", kind, f"{kind} {kind}", format.sub)
        add(f"v_subrev_{kind}_e32", kind, f"{kind} {kind}", (lambda f: lambda a, b: f.sub(b, a))(format))
        add(f"v_min3_{kind}", kind, f"{kind} {kind} {kind}", extreme3(format, False), keep=True)
        add(f"v_max3_{kind}", kind, f"{kind} {kind} {kind}", extreme3(format, True), keep=True)
        add(f"v_med3_{kind}", kind, f"{kind} {kind} {kind}", median(format), keep=True)
    for name, function in (
        ("trunc", math.trunc),
        ("ceil", math.ceil),
        ("floor", math.floor),
        ("rndne", round),
    ):
        add(f"v_{name}_{kind}_e32", kind, kind, rounding(format, function))
    add(f"v_fract_{kind}_e32", kind, kind, fraction_of(format))
    add(f"v_frexp_mant_{kind}_e32", kind, kind, mantissa_of(format))
    width = 16 if kind == "f16" else 32
    add(f"v_frexp_exp_i{width}_{kind}_e32", f"i{width}", kind, exponent_of(format))
    suffix = "_e32" if kind == "f16" else ""
    add(f"v_ldexp_{kind}{suffix}", kind, f"{kind} i{width}", scaled(format, width))
    add(f"v_div_fixup_{kind}", kind, f"{kind} {kind} {kind}", fixup(format), keep=True)
    compare_case(f"v_cmp_class_{kind}_e64", kind, class_test(format), "b32")
    for name in [
        "f",
        "lt",
        "eq",
        "le",
        "gt",
        "lg",
        "ge",
        "o",
        "u",
        "nge",
        "nlg",
        "ngt",
        "nle",
        "neq",
        "nlt",
        "tru",
    ]:
        compare_case(f"v_cmp_{name}_{kind}_e64", kind, float_order(format, name))

add("v_fmac_f32_e32", "f32", "f32 f32", F32.fma, old=True)
add("v_fmac_f64_e32", "f64", "f64 f64", F64.fma, old=True)
add("v_minimum3_f32", "f32", "f32 f32 f32", propagated(F32, False))
add("v_maximum3_f32", "f32", "f32 f32 f32", propagated(F32, True))
add(
    "v_mul_legacy_f32",
    "f32",
    "f32 f32",
    lambda a, b: 0 if F32.is_zero(a) or F32.is_zero(b) else F32.mul(a, b),
)


def reciprocal(format):
    def function(a):
        if format.is_nan(a):
            return format.nan
        sign = a & format.sign
        if format.is_zero(a):
            return sign | format.infinity
        return sign if format.is_infinite(a) else format.round(1 / format.exact(a))

    return function


add("v_rcp_f32_e32", "f32", "f32", reciprocal(F32))
add("v_rcp_iflag_f32_e32", "f32", "f32", reciprocal(F32))
add("v_rcp_f64_e32", "f64", "f64", reciprocal(F64))

# Conversions

for kind, format in (("f32", F32), ("f64", F64)):
    for integer, is_signed in (("i32", True), ("u32", False)):
        add(
            f"v_cvt_{integer}_{kind}_e32",
            integer,
            kind,
            (lambda f, s: lambda a: to_integer(a, f, 32, s))(format, is_signed),
        )
        add(
            f"v_cvt_{kind}_{integer}_e32",
            kind,
            integer,
            (lambda f, s: lambda a: f.round(Fraction(signed(a, 32) if s else a)))(format, is_signed),
        )
for integer, is_signed in (("i16", True), ("u16", False)):
    add(
        f"v_cvt_{integer}_f16_e32", integer, "f16", (lambda s: lambda a: to_integer(a, F16, 16, s))(is_signed)
    )
    add(
        f"v_cvt_f16_{integer}_e32",
        "f16",
        integer,
        (lambda s: lambda a: F16.round(Fraction(signed(a, 16) if s else a)))(is_signed),
    )
add("v_cvt_f16_f32_e32", "f16", "f32", lambda a: convert(a, F32, F16))
add("v_cvt_f32_f16_e32", "f32", "f16", lambda a: convert(a, F16, F32))
add("v_cvt_f32_f64_e32", "f32", "f64", lambda a: convert(a, F64, F32))
add("v_cvt_f64_f32_e32", "f64", "f32", lambda a: convert(a, F32, F64))
add("v_cvt_f32_bf16_e32", "f32", "bf16", lambda a: a << 16)
for byte in range(4):
    add(
        f"v_cvt_f32_ubyte{byte}_e32",
        "f32",
        "u32",
        (lambda n: lambda a: F32.round(Fraction(a >> 8 * n & 255)))(byte),
    )
add("v_cvt_off_f32_i4_e32", "f32", "u32", lambda a: F32.round(Fraction(signed(a, 4), 16)))
add(
    "v_cvt_flr_i32_f32_e32",
    "i32",
    "f32",
    lambda a: to_integer(rounding(F32, math.floor)(a), F32, 32, True),
)


def packed_conversion(target, towards_zero=False):
    return lambda a, b: convert(a, F32, target, towards_zero) | convert(b, F32, target, towards_zero) << 16


add("v_cvt_pk_bf16_f32", "v2bf16", "f32 f32", packed_conversion(BF16))
add("v_cvt_pk_f16_f32", "v2f16", "f32 f32", packed_conversion(F16))
add("v_cvt_pkrtz_f16_f32", "v2f16", "f32 f32", packed_conversion(F16, True))
add("v_pack_b32_f16", "b32", "f16 f16", lambda a, b: a | b << 16)
add("v_cvt_pk_u16_u32", "b32", "u32 u32", lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16)
add(
    "v_cvt_pk_i16_i32",
    "b32",
    "i32 i32",
    lambda a, b: (
        (clamp(signed(a, 32), -32768, 32767) & 0xFFFF) | (clamp(signed(b, 32), -32768, 32767) & 0xFFFF) << 16
    ),
)


def normalised(format, is_signed):
    scale, low = (32767, -32767) if is_signed else (65535, 0)

    def one(a):
        if format.is_nan(a):
            return 0
        value = Fraction(-2 if format.is_negative(a) else 2) if format.is_infinite(a) else format.exact(a)
        return (
            clamp(round(F32.exact(F32.round(value * scale)) if abs(value) < 4 else value * scale), low, scale)
            & 0xFFFF
        )

    return lambda a, b: one(a) | one(b) << 16


for letter, is_signed in (("i", True), ("u", False)):
    add(f"v_cvt_pknorm_{letter}16_f32", "b32", "f32 f32", normalised(F32, is_signed))
    add(f"v_cvt_pknorm_{letter}16_f16", "b32", "f16 f16", normalised(F16, is_signed))
add(
    "v_cvt_pk_u8_f32",
    "b32",
    "f32 b32 b32",
    lambda a, b, c: c & ~(255 << 8 * (b & 3)) | min(to_integer(a, F32, 32, False), 255) << 8 * (b & 3),
)


# The driver


@pytest.fixture(scope="module")
def runners(machine):
    return dict(
        zip((case.text for case in CASES), machine.build([[case.text] for case in CASES]), strict=True)
    )


def same(kind: str, actual: int, expected: int) -> bool:
    """Equal patterns; all quiet NaNs are equal."""
    if kind.startswith("v2"):
        half = kind[2:]
        return all(same(half, actual >> s & 0xFFFF, expected >> s & 0xFFFF) for s in (0, 16))
    format = FORMATS.get(kind)
    if actual == expected:
        return True
    if format is not None and format.is_nan(expected):
        return format.is_nan(actual) and not format.is_signalling(actual)
    return False


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_instruction(case: Case, machine, runners, values, random_exec) -> None:
    random = np.random.default_rng(SEED + len(case.text))
    for _ in range(4):
        check(case, machine.State(), runners[case.text], random, values, random_exec)


def check(case: Case, state, run, random, values, random_exec, keep: bool = False) -> None:
    """Runs a case once and compares every lane, every other register, and the mask.

    Args:
        state: a new one, whose size of a wave counts.
        keep: whether a result of 16 bits leaves the upper half of its register, whatever the case says.
    """
    lanes = state.v.shape[1]
    every = (1 << lanes) - 1
    state.v[:] = random.integers(0, 1 << 32, state.v.shape, dtype=np.uint64).astype(np.uint32)
    state.s[:106] = random.integers(0, 1 << 32, 106, dtype=np.uint64).astype(np.uint32)
    state.set_pair(106, int(random.integers(0, 1 << 63)))
    state.exec = active = random_exec(random) & every
    sources = []
    for position, kind in enumerate(case.kinds):
        column = values(random, kind)[:lanes]
        if kind.endswith("64"):
            state.set_wide(2 + 2 * position, column)
        else:
            state.v[2 + 2 * position] = column
        width = 16 if kind.endswith("16") else 64
        sources.append([int(x) & ((1 << width) - 1) for x in column])
    kind = case.result
    if case.old:
        column = values(random, kind)[:lanes]
        if kind.endswith("64"):
            state.set_wide(10, column)
        else:
            state.v[10] = column
        sources.append([int(x) for x in column])
    if case.mask_in:
        mask = state.pair(case.mask_in)
        sources.append([mask >> lane & 1 for lane in range(lanes)])
    before, scalars = state.v.copy(), state.s.copy()

    assert run(state) == -1

    width = {"16": 16, "64": 64}.get(kind[-2:], 32) if not kind.startswith("v2") else 32
    expected_mask = 0
    for lane in range(lanes):
        low, high = int(state.v[10][lane]), int(state.v[11][lane])
        if not active >> lane & 1:
            assert (low, high) == (before[10][lane], before[11][lane]), f"lane {lane} is off"
            continue
        arguments = [source[lane] for source in sources]
        outcome = case.meaning(*arguments)
        if case.mask:
            carry = outcome[1] if isinstance(outcome, tuple) else outcome
            expected_mask |= bool(carry) << lane
            outcome = outcome[0] if isinstance(outcome, tuple) else None
        if not kind:
            continue
        expected = int(outcome) & ((1 << width) - 1)
        got = low | high << 32 if width == 64 else low
        context = f"seed {SEED}, lane {lane}: {[hex(x) for x in arguments]} -> {got:#x}, wanted {expected:#x}"
        if width == 16:
            upper = int(before[10][lane]) >> 16 if keep or case.keep else 0
            assert got >> 16 == upper, context
            got &= 0xFFFF
        assert same(kind, got, expected), context
    changed = {10, 11} if width == 64 else {10} if kind else set()
    for row in range(64):
        if row not in changed:
            assert (state.v[row] == before[row]).all(), f"row {row} changed"
    if case.mask:
        assert state.pair(case.mask) & every == expected_mask, f"seed {SEED}"
        words = lanes // 32
        scalars[case.mask : case.mask + words] = state.s[case.mask : case.mask + words]
    assert (state.s == scalars).all()
