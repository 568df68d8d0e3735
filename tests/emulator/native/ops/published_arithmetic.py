"""Arithmetic of a CDNA 3 matrix core, written from its published description with NumPy's integers only.

Source: Xie, Wang, Yang, Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores",
arXiv:2511.10909, compared by its authors with an MI300X bit for bit. Nothing here is shared with the C code,
and nothing computes in floating point but what decides about infinities and NaNs.

An element is D[i][j], from row i of A, column j of B and C[i][j]. K is taken in groups, ascending; the
result of one, an fp32, is the addend of the next. `Rules` has the constants, so that a test can change one
and see cases fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    """A float format: field widths, bias, and what its top exponent means ("ieee", "fnuz", "one nan", "")."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    top: str = "ieee"


F32 = Format(8, 23, 127)
FORMATS = {
    "f32": F32,
    "f64": Format(11, 52, 1023),
    "xf32": F32,
    "f16": Format(5, 10, 15),
    "bf16": Format(8, 7, 127),
    "fp8": Format(4, 3, 8, "fnuz"),
    "bf8": Format(5, 2, 16, "fnuz"),
    "fp8 ocp": Format(4, 3, 7, "one nan"),
    "bf8 ocp": Format(5, 2, 15),
    "fp6": Format(2, 3, 1, ""),
    "bf6": Format(3, 2, 3, ""),
    "fp4": Format(2, 1, 1, ""),
}


@dataclass(frozen=True)
class Rules:
    """The constants of a fused sum.

    Attributes:
        group_32, group_16, group_8: products that are summed at once, at most, by the bits of an element.
        product_bits: fractional bits of a product, at the greatest exponent of its sum.
        sum_bits: fractional bits of the sum of products, at the greater exponent of it and the addend.
        addend_bits: the same for the addend.
        zero_exponent: what a zero counts as.
        product_down, sum_down, addend_down: round down there, where cutting towards zero is the other way.
        split: sums of even and odd k apart, for 8 bits and less.
        addend_reach: with `split`, an addend further below than this counts as 0.
        overflow: exponent of two from which a product is infinite.
        nearest: round the result to nearest even, not towards zero.
        xf32_bits: mantissa bits of XF32 that are used.
    """

    group_32: int = 4
    group_16: int = 8
    group_8: int = 16
    product_bits: int = 24
    sum_bits: int = 31
    addend_bits: int = 24
    zero_exponent: int = -126
    product_down: bool = False
    sum_down: bool = True
    addend_down: bool = True
    split: bool = True
    addend_reach: int = 25
    overflow: int = 128
    nearest: bool = True
    xf32_bits: int = 10

    def group(self, kind: str, depth: int) -> int:
        """Products that are summed at once."""
        bits = 1 + FORMATS[kind].exponent_bits + FORMATS[kind].mantissa_bits
        return min(depth, {32: self.group_32, 16: self.group_16}.get(bits, self.group_8))


PUBLISHED = Rules()


@dataclass(frozen=True)
class Numbers:
    """Decomposed elements: significand 2^(exponent - mantissa_bits), and as float64 with infinities."""

    significand: Ints
    exponent: Ints
    value: Floats
    mantissa_bits: int


def numbers(bits: npt.NDArray[np.unsignedinteger], kind: str, rules: Rules = PUBLISHED) -> Numbers:
    """Numbers from bit patterns."""
    form = FORMATS[kind]
    pattern = bits.astype(np.int64)
    if kind == "xf32":
        # Truncation leaves a NaN a NaN.
        nan = (pattern & 0x7FFFFFFF) > 0x7F800000
        pattern = (pattern >> 23 - rules.xf32_bits << 23 - rules.xf32_bits) | np.where(nan, 0x400000, 0)
    mantissa = pattern & (1 << form.mantissa_bits) - 1
    field = pattern >> form.mantissa_bits & (1 << form.exponent_bits) - 1
    sign = np.where(pattern >> form.mantissa_bits + form.exponent_bits & 1, -1, 1)
    significand = sign * (mantissa + np.where(field > 0, 1 << form.mantissa_bits, 0))
    exponent = np.maximum(field, 1) - form.bias
    exponent = np.where(significand == 0, rules.zero_exponent, exponent)
    with np.errstate(over="ignore"):
        value = np.ldexp(significand.astype(np.float64), (exponent - form.mantissa_bits).astype(int))
    last = (1 << form.exponent_bits) - 1
    if form.top == "ieee":
        value = np.where(field == last, np.where(mantissa == 0, sign * np.inf, np.nan), value)
    elif form.top == "one nan":
        full = (1 << form.mantissa_bits) - 1
        value = np.where((field == last) & (mantissa == full), np.nan, value)
    elif form.top == "fnuz":
        value = np.where(pattern == 1 << form.mantissa_bits + form.exponent_bits, np.nan, value)
    return Numbers(significand, exponent, value, form.mantissa_bits)


def shifted(value: Ints, left: Ints | int, down: bool) -> Ints:
    """value 2^left as an integer, rounded down or towards zero."""
    left = np.broadcast_to(np.asarray(left, np.int64), np.shape(value))
    right = np.clip(-left, 0, 62)
    magnitude = value if down else abs(value)
    moved = magnitude << np.clip(left, 0, 30) >> right
    return moved if down else np.sign(value) * moved


def to_f32(value: int, exponent: int, nearest: bool = True) -> int:
    """Bits of value 2^exponent as fp32, rounded to nearest even (or towards zero)."""
    if value == 0:
        return 0
    sign = 0x80000000 if value < 0 else 0
    magnitude = abs(value)
    cut = max(magnitude.bit_length() - 24, -149 - exponent)
    if cut > 0:
        significand, rest = magnitude >> cut, magnitude & (1 << cut) - 1
        half = 1 << cut - 1
        magnitude = significand + (nearest and (rest > half or (rest == half and significand & 1 == 1)))
        exponent += cut
    if magnitude == 0:
        return sign
    length = magnitude.bit_length()
    if length + exponent > 128:
        return sign | 0x7F800000
    if length + exponent <= -126:
        return sign | magnitude << exponent + 149
    magnitude = magnitude << 24 - length if length <= 24 else magnitude >> length - 24
    return sign | (length + exponent + 126) << 23 | magnitude & 0x7FFFFF


def _sum(a: Numbers, b: Numbers, scale: Ints, rules: Rules) -> tuple[Ints, Ints]:
    """The fused sum of products along the last axis, in units of 2^(e - product_bits), and e."""
    exponent = a.exponent + b.exponent + scale
    most = exponent.max(-1)
    fraction = a.mantissa_bits + b.mantissa_bits
    terms = shifted(
        a.significand * b.significand,
        rules.product_bits - fraction + exponent - most[..., None],
        rules.product_down,
    )
    return terms.sum(-1), most


def fused(
    a: Numbers, b: Numbers, c: npt.NDArray[np.uint32], rules: Rules, *, split: bool, scale: Ints
) -> npt.NDArray[np.uint32]:
    """One fused sum: [..., k] of products and [...] of addends, the bits of fp32, to such bits."""
    extra = rules.sum_bits - rules.product_bits
    addend = numbers(c, "f32", rules)
    if split and rules.split:
        (even, e0), (odd, e1) = (
            _sum(_part(a, first), _part(b, first), scale[..., first::2], rules) for first in (0, 1)
        )
        e = np.maximum(e0, e1)
        total = shifted(even, e0 - e, rules.sum_down) + shifted(odd, e1 - e, rules.sum_down)
    else:
        total, e = _sum(a, b, scale, rules)
    m = np.maximum(e, addend.exponent)
    s = shifted(total, extra + e - m, rules.sum_down)
    finest = max(rules.sum_bits, rules.addend_bits)
    added = shifted(addend.significand, rules.addend_bits - 23 + addend.exponent - m, rules.addend_down)
    if split:
        added = np.where(addend.exponent < m - rules.addend_reach, 0, added)
    whole = (s << finest - rules.sum_bits) + (added << finest - rules.addend_bits)
    result = np.empty(c.shape, np.uint32)
    with np.errstate(invalid="ignore", over="ignore"):
        products = np.ldexp(a.value * b.value, scale.astype(int))
        plain = addend.value + products.sum(-1)
        huge = abs(products) >= 2.0**rules.overflow
        over = np.where(huge, np.sign(products) * np.inf, 0).sum(-1)
    for at in np.ndindex(c.shape):
        special = plain[at] if not math.isfinite(plain[at]) else over[at]
        if special != 0 and not math.isfinite(special):
            result[at] = np.float32(special).view(np.uint32)
        else:
            result[at] = to_f32(int(whole[at]), int(m[at]) - finest, rules.nearest)
    return result


def _part(x: Numbers, first: int) -> Numbers:
    return Numbers(
        x.significand[..., first::2], x.exponent[..., first::2], x.value[..., first::2], x.mantissa_bits
    )


def _pairs(x: Numbers, rows: bool) -> Numbers:
    """[m, 1, k] of A's rows or [1, n, k] of B's columns, which are [k, n]."""

    def placed(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        return values[:, None, :] if rows else values.T[None, :, :]

    return Numbers(placed(x.significand), placed(x.exponent), placed(x.value), x.mantissa_bits)  # type: ignore[arg-type]


def multiply(
    a: npt.NDArray[np.unsignedinteger],
    b: npt.NDArray[np.unsignedinteger],
    c: npt.NDArray[np.unsignedinteger],
    kind_a: str,
    kind_b: str,
    rules: Rules = PUBLISHED,
    scales: tuple[Ints, Ints] | None = None,
) -> npt.NDArray[np.unsignedinteger]:
    """Bits of D = A B + C.

    Args:
        a, b: [m, k] and [k, n] bits of elements.
        c: [m, n] bits of fp32 (of fp64 with fp64 factors).
        kind_a, kind_b: of `FORMATS`.
        scales: exponents of two [m, k] and [k, n] that factors are multiplied by.
    """
    if kind_a in ("f32", "f64"):
        return _one_by_one(a, b, c, kind_a)
    left, right = _pairs(numbers(a, kind_a, rules), True), _pairs(numbers(b, kind_b, rules), False)
    depth = a.shape[1]
    shape = (*c.shape, depth)
    scale = np.zeros(shape, np.int64)
    if scales is not None:
        scale = scale + scales[0][:, None, :] + scales[1].T[None]
    split = left.mantissa_bits <= 3
    group = rules.group(kind_a, depth)
    total = c.astype(np.uint32)
    for first in range(0, depth, group):
        part = slice(first, first + group)
        x, y = (
            Numbers(n.significand[..., part], n.exponent[..., part], n.value[..., part], n.mantissa_bits)
            for n in (left, right)
        )
        total = fused(x, y, total, rules, split=split, scale=scale[..., part])
    return total


def _one_by_one(
    a: npt.NDArray[np.unsignedinteger],
    b: npt.NDArray[np.unsignedinteger],
    c: npt.NDArray[np.unsignedinteger],
    kind: str,
) -> npt.NDArray[np.unsignedinteger]:
    """fp32 and fp64: successive fused multiply-adds, by rational arithmetic."""
    as_float = np.float32 if kind == "f32" else np.float64
    word = np.uint32 if kind == "f32" else np.uint64
    x, y, z = (v.astype(word).view(as_float).astype(np.float64) for v in (a, b, c))
    result = np.empty(c.shape, word)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, j in np.ndindex(c.shape):
            total = float(z[i, j])
            for k in range(a.shape[1]):
                total = fma(float(x[i, k]), float(y[k, j]), total, 24 if kind == "f32" else 53)
            result[i, j] = as_float(total).view(word)
    return result


def fma(a: float, b: float, c: float, digits: int = 24) -> float:
    """a b + c rounded once to nearest even, to fp32 (24 digits) or fp64 (53)."""
    if not all(map(math.isfinite, (a, b, c))) or (a * b == 0 and (a == 0 or b == 0)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return 0.0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    least, most = (-149, 128) if digits == 24 else (-1074, 1024)
    quantum = Fraction(2) ** max(exponent - digits + 1, least)
    rounded = round(exact / quantum) * quantum
    if abs(rounded) >= Fraction(2) ** most:
        return math.copysign(math.inf, exact)
    return float(rounded) if rounded else math.copysign(0.0, exact)
