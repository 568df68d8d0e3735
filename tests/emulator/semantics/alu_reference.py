"""IEEE arithmetic on bit patterns with exact fractions: an independent definition of the instructions.

Nothing here shares code or method with the emulator: numbers are Python fractions, rounded once at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Float:
    """A binary interchange format."""

    exponent_bits: int
    mantissa_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @property
    def nan(self) -> int:
        return self.infinity | 1 << (self.mantissa_bits - 1)

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    def magnitude(self, bits: int) -> int:
        return bits & (self.sign - 1)

    def is_nan(self, bits: int) -> bool:
        return self.magnitude(bits) > self.infinity

    def is_signalling(self, bits: int) -> bool:
        return self.is_nan(bits) and not bits >> (self.mantissa_bits - 1) & 1

    def is_infinite(self, bits: int) -> bool:
        return self.magnitude(bits) == self.infinity

    def is_zero(self, bits: int) -> bool:
        return self.magnitude(bits) == 0

    def is_denormal(self, bits: int) -> bool:
        return 0 < self.magnitude(bits) < 1 << self.mantissa_bits

    def is_negative(self, bits: int) -> bool:
        return bool(bits & self.sign)

    def exact(self, bits: int) -> Fraction:
        """The value of a finite number."""
        magnitude = self.magnitude(bits)
        exponent = magnitude >> self.mantissa_bits
        mantissa = magnitude & ((1 << self.mantissa_bits) - 1)
        if exponent:
            mantissa |= 1 << self.mantissa_bits
        power = max(exponent, 1) - self.bias - self.mantissa_bits
        value = Fraction(mantissa) * Fraction(2) ** power
        return -value if self.is_negative(bits) else value

    def round(self, value: Fraction, negative_zero: bool = False, towards_zero: bool = False) -> int:
        """The pattern nearest to a value, ties to even."""
        if value == 0:
            return self.sign if negative_zero else 0
        sign = self.sign if value < 0 else 0
        value = abs(value)
        power = math.floor(math.log2(value.numerator) - math.log2(value.denominator))
        while Fraction(2) ** power > value:
            power -= 1
        while Fraction(2) ** (power + 1) <= value:
            power += 1
        power = max(power, 1 - self.bias)
        units = value / Fraction(2) ** (power - self.mantissa_bits)
        whole = units.numerator // units.denominator
        rest = units - whole
        if not towards_zero and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)):
            whole += 1
        code = whole + ((power - (1 - self.bias)) << self.mantissa_bits)
        if code >= self.infinity:
            return sign | (self.infinity - 1 if towards_zero else self.infinity)
        return sign | code

    # Operations on patterns

    def add(self, a: int, b: int) -> int:
        return self.fma(a, self.one, b)

    @property
    def one(self) -> int:
        return self.bias << self.mantissa_bits

    def negate(self, a: int) -> int:
        return a ^ self.sign

    def sub(self, a: int, b: int) -> int:
        return self.nan if self.is_nan(b) else self.add(a, self.negate(b))

    def mul(self, a: int, b: int) -> int:
        if self.is_nan(a) or self.is_nan(b):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a) or self.is_infinite(b):
            return self.nan if self.is_zero(a) or self.is_zero(b) else sign | self.infinity
        return self.round(self.exact(a) * self.exact(b), bool(sign)) | sign

    def fma(self, a: int, b: int, c: int) -> int:
        if self.is_nan(a) or self.is_nan(b) or self.is_nan(c):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a) or self.is_infinite(b):
            if self.is_zero(a) or self.is_zero(b):
                return self.nan
            if self.is_infinite(c) and (c & self.sign) != sign:
                return self.nan
            return sign | self.infinity
        if self.is_infinite(c):
            return c
        total = self.exact(a) * self.exact(b) + self.exact(c)
        both = bool(sign) and self.is_negative(c)
        product_zero = self.is_zero(a) or self.is_zero(b)
        return self.round(total, both and product_zero and self.is_zero(c))

    def minimum(self, a: int, b: int, largest: bool = False) -> int:
        """v_min, v_max in IEEE mode."""
        for x in (a, b):
            if self.is_signalling(x):
                return x | 1 << (self.mantissa_bits - 1)
        if self.is_nan(a):
            return b
        if self.is_nan(b):
            return a
        return max(a, b, key=self.order) if largest else min(a, b, key=self.order)

    def order(self, bits: int) -> int:
        """A number that orders patterns like their values, -0 below +0."""
        return -self.magnitude(bits) - 1 if self.is_negative(bits) else self.magnitude(bits)


F16 = Float(5, 10)
F32 = Float(8, 23)
F64 = Float(11, 52)
BF16 = Float(8, 7)
FORMATS = {"f16": F16, "f32": F32, "f64": F64, "bf16": BF16}


def convert(bits: int, source: Float, target: Float, towards_zero: bool = False) -> int:
    """A pattern of one format in another."""
    sign = target.sign if source.is_negative(bits) else 0
    if source.is_nan(bits):
        return target.nan
    if source.is_infinite(bits):
        return sign | target.infinity
    return target.round(source.exact(bits), bool(sign), towards_zero) | sign


def to_integer(bits: int, source: Float, width: int, signed: bool) -> int:
    """Truncated and saturated; zero for NaN."""
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    if source.is_nan(bits):
        return 0
    if source.is_infinite(bits):
        value = low if source.is_negative(bits) else high
    else:
        value = min(max(math.trunc(source.exact(bits)), low), high)
    return value & ((1 << width) - 1)


def signed(value: int, width: int) -> int:
    """An unsigned number as two's complement."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def ulp_distance(a: int, b: int, format: Float) -> int:
    """Patterns between two numbers; infinity is next to the largest."""
    return abs(format.order(a) - format.order(b)) if a != b else 0
