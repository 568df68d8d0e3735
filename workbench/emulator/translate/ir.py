"""Text of LLVM IR, written quickly: types, values with operators, and the emitter that numbers them.

A kernel has tens of thousands of IR instructions and has to be ready in a second, so the IR is made as text
(llvmlite's own IR objects take ten times as long). Semantics are written with `Value`s, which look like
numbers: `(a ^ b) + c` appends two lines to the emitter and returns the second's name. Operators do what the
type says (`+` is fadd on floats); if the sign of an integer matters, it is in the method's name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, lru_cache

LANES = 16
"""Lanes that generated code handles at once: a row of the wave, an AVX-512 register of dwords."""

_CONSTANTS = 1 << 14
"""Number of constants of each kind whose texts are cached."""


class Type:
    """An LLVM first-class type; each type is a single object, so that `is` compares types.

    Attributes:
        text: LLVM syntax.
        element: the scalar type's syntax.
        bits: bits of one element.
        lanes: number of elements, 0 for a scalar.
        is_float: True if elements are floating point.
    """

    __slots__ = ("bits", "element", "is_float", "lanes", "suffix", "text")

    def __init__(self, element: str, bits: int, lanes: int, is_float: bool) -> None:
        self.element = element
        self.bits = bits
        self.lanes = lanes
        self.is_float = is_float
        self.text = f"<{lanes} x {element}>" if lanes else element
        letter = "f" if is_float else "i"
        self.suffix = f"v{lanes}{letter}{bits}" if lanes else f"{letter}{bits}"

    def __repr__(self) -> str:
        return self.text


_FLOAT_NAMES = {16: "half", 32: "float", 64: "double"}


@cache
def _type(bits: int, lanes: int, is_float: bool) -> Type:
    # One object per type, however its arguments were passed: types are compared by identity.
    return Type(_FLOAT_NAMES[bits] if is_float else f"i{bits}", bits, lanes, is_float)


def integer(bits: int, lanes: int = 0) -> Type:
    """iN, or a vector of them."""
    return _type(bits, lanes, False)


def floating(bits: int, lanes: int = 0) -> Type:
    """half, float or double, or a vector of them."""
    return _type(bits, lanes, True)


POINTER = Type("ptr", 64, 0, False)
I1, I16, I32, I64 = integer(1), integer(16), integer(32), integer(64)


def with_bits(type: Type, bits: int) -> Type:
    """A type of the same kind and lanes with another element width."""
    return floating(bits, type.lanes) if type.is_float else integer(bits, type.lanes)


def as_integer(type: Type) -> Type:
    """The integer type of the same shape."""
    return integer(type.bits, type.lanes)


def as_float(type: Type) -> Type:
    """The float type of the same shape."""
    return floating(type.bits, type.lanes)


def constant_text(type: Type, value: int | float) -> str:
    """A constant of a type, the same in every lane; a float type takes a float, or an int as bit pattern."""
    # By bits: 1 and 1.0, and 0.0 and -0.0, are equal as keys of a cache.
    if type.is_float and isinstance(value, float):
        return _float_text(type, struct.pack("<d", value))
    return _integer_text(type, int(value))


@lru_cache(maxsize=_CONSTANTS)
def _float_text(type: Type, double: bytes) -> str:
    # LLVM writes floats of every width as the bits of the double of the same value.
    number = f"0x{int.from_bytes(double, 'little'):016X}"
    if type.bits == 16:
        (value,) = struct.unpack("<d", double)
        number = f"0xH{int.from_bytes(struct.pack('<e', value), 'little'):04X}"
    return f"splat ({type.element} {number})" if type.lanes else number


@lru_cache(maxsize=_CONSTANTS)
def _integer_text(type: Type, value: int) -> str:
    if type.is_float:
        bits = as_integer(type)
        return f"bitcast ({bits.text} {_integer_text(bits, value)} to {type.text})"
    number = str(value & ((1 << type.bits) - 1))
    return f"splat ({type.element} {number})" if type.lanes else number


class Value:
    """An SSA value or a constant, with the operators of its type."""

    __slots__ = ("emitter", "name", "type")

    def __init__(self, emitter: Emitter, name: str, type: Type) -> None:
        self.emitter = emitter
        self.name = name
        self.type = type

    # Arithmetic. Floats are rounded to nearest even, nothing is contracted.

    def __add__(self, other: Operand) -> Value:
        return self.emitter.binary("fadd" if self.type.is_float else "add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.emitter.binary("fsub" if self.type.is_float else "sub", self, other)

    def __rsub__(self, other: int | float) -> Value:
        return self.emitter.const(self.type, other) - self

    def __mul__(self, other: Operand) -> Value:
        return self.emitter.binary("fmul" if self.type.is_float else "mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.emitter.binary("fdiv", self, other)

    def __neg__(self) -> Value:
        if self.type.is_float:
            return self.emitter.line(self.type, f"fneg {self.type.text} {self.name}")
        return self.emitter.const(self.type, 0) - self

    def fabs(self) -> Value:
        """The float with its sign cleared."""
        return self.emitter.intrinsic("fabs", self)

    # Bits. On floats these work on the pattern and give integers.

    def __and__(self, other: Operand) -> Value:
        return self.emitter.binary("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.emitter.binary("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.emitter.binary("xor", self, other)

    def __invert__(self) -> Value:
        return self.emitter.binary("xor", self, -1)

    def shl(self, amount: Operand) -> Value:
        """Left shift; the amount is less than the width."""
        return self.emitter.binary("shl", self, amount)

    def lshr(self, amount: Operand) -> Value:
        """Right shift with zeros."""
        return self.emitter.binary("lshr", self, amount)

    def ashr(self, amount: Operand) -> Value:
        """Right shift with the sign."""
        return self.emitter.binary("ashr", self, amount)

    # Comparisons: lanes of i1.

    def eq(self, other: Operand) -> Value:
        """Equal; false where a float is NaN."""
        return self.emitter.compare("oeq" if self.type.is_float else "eq", self, other)

    def ne(self, other: Operand) -> Value:
        """Not equal; true where a float is NaN."""
        return self.emitter.compare("une" if self.type.is_float else "ne", self, other)

    def cmp(self, predicate: str, other: Operand) -> Value:
        """Any LLVM predicate: slt, uge, olt, uno, ..."""
        return self.emitter.compare(predicate, self, other)

    def is_nan(self) -> Value:
        """i1 per lane: the float is a NaN."""
        return self.emitter.compare("uno", self, self)

    # Conversions.

    def bits(self) -> Value:
        """The pattern of a float as an integer of the same shape."""
        return self.bitcast(as_integer(self.type)) if self.type.is_float else self

    def bitcast(self, type: Type) -> Value:
        """The same bits as another type."""
        return self if type is self.type else self.emitter.convert("bitcast", self, type)

    def trunc(self, bits: int) -> Value:
        """The low bits of an integer."""
        return self.emitter.convert("trunc", self, with_bits(self.type, bits))

    def zext(self, bits: int) -> Value:
        """An integer made wider with zeros."""
        return self.emitter.convert("zext", self, with_bits(self.type, bits))

    def sext(self, bits: int) -> Value:
        """An integer made wider with its sign."""
        return self.emitter.convert("sext", self, with_bits(self.type, bits))

    def fpext(self, bits: int) -> Value:
        """A float made wider, exactly."""
        return self.emitter.convert("fpext", self, with_bits(self.type, bits))

    def fptrunc(self, bits: int) -> Value:
        """A float made narrower, to nearest even."""
        return self.emitter.convert("fptrunc", self, with_bits(self.type, bits))

    def select(self, yes: Operand, no: Operand, type: Type | None = None) -> Value:
        """`yes` where this i1 is set, else `no`; `type` is needed if both are numbers."""
        if type is None:
            type = yes.type if isinstance(yes, Value) else no.type  # type: ignore[union-attr]
        return self.emitter.select(self, self.emitter.value(type, yes), self.emitter.value(type, no))


Operand = Value | int | float
"""A value, or a number that becomes a constant of the other operand's type."""


class Emitter:
    """Appends lines of IR to a list and names their results.

    Attributes:
        lines: list that receives the next line; the owner switches lists to write several basic blocks at
            once.
        intrinsics: declarations of the functions called so far.
        rounding: emits an operation (LLVM name, result type, operands) that does not round to nearest;
            returns None for operations that it does not handle. None if all operations round to nearest.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self.rounding: Callable[[str, Type, tuple[Value, ...]], Value | None] | None = None
        self._count = 0

    def fresh(self) -> str:
        """A new SSA name."""
        self._count += 1
        return f"%t{self._count}"

    def const(self, type: Type, value: int | float) -> Value:
        """A constant; an int for a float type is its bit pattern."""
        return Value(self, constant_text(type, value), type)

    def value(self, type: Type, operand: Operand) -> Value:
        """The operand as a value of that type."""
        return operand if isinstance(operand, Value) else self.const(type, operand)

    def line(self, type: Type, text: str) -> Value:
        """Append an instruction with a result."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"{name} = {text}")
        return Value(self, name, type)

    def binary(self, operation: str, left: Value, right: Operand) -> Value:
        """A two-operand instruction."""
        type = left.type
        if self.rounding is not None and type.is_float:
            other = self.value(type, right)
            if (rounded := self.rounding(operation, type, (left, other))) is not None:
                return rounded
        name = right.name if isinstance(right, Value) else constant_text(type, right)
        self._count += 1
        result = f"%t{self._count}"
        self.lines.append(f"{result} = {operation} {type.text} {left.name}, {name}")
        return Value(self, result, type)

    def compare(self, predicate: str, left: Value, right: Operand) -> Value:
        """LLVM's icmp or fcmp, by the type of the operands."""
        type = left.type
        name = right.name if isinstance(right, Value) else constant_text(type, right)
        operation = "fcmp" if type.is_float else "icmp"
        return self.line(integer(1, type.lanes), f"{operation} {predicate} {type.text} {left.name}, {name}")

    def convert(self, operation: str, value: Value, type: Type) -> Value:
        """A cast by LLVM's `operation`."""
        if self.rounding is not None and type.is_float:
            rounded = self.rounding(operation, type, (value,))
            if rounded is not None:
                return rounded
        return self.line(type, f"{operation} {value.type.text} {value.name} to {type.text}")

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """LLVM's select on a condition."""
        return self.line(
            yes.type,
            f"select {condition.type.text} {condition.name}, "
            f"{yes.type.text} {yes.name}, {yes.type.text} {no.name}",
        )

    def intrinsic(self, name: str, *arguments: Operand) -> Value:
        """Call llvm.<name>.<type>, whose operands all have the type of the first and of the result."""
        first = arguments[0]
        assert isinstance(first, Value)
        type = first.type
        if self.rounding is not None and type.is_float:
            operands = tuple(self.value(type, argument) for argument in arguments)
            if (rounded := self.rounding(name, type, operands)) is not None:
                return rounded
        values = ", ".join(f"{type.text} {self.value(type, argument).name}" for argument in arguments)
        function = f"@llvm.{name}.{type.suffix}"
        self.intrinsics.add(f"declare {type.text} {function}({', '.join([type.text] * len(arguments))})")
        return self.line(type, f"call {type.text} {function}({values})")

    def call(self, declaration: str, result: Type | None, function: str, arguments: str) -> Value | None:
        """Call a function by its text; `declaration` makes it known to the module."""
        self.intrinsics.add(declaration)
        if result is None:
            self.lines.append(f"call void {function}({arguments})")
            return None
        return self.line(result, f"call {result.text} {function}({arguments})")

    def shuffle(self, left: Value, right: Value | None, indices: list[int] | tuple[int, ...]) -> Value:
        """Elements of one or two vectors by number; -1 is any."""
        type = left.type
        other = right.name if right is not None else "poison"
        text = ", ".join(f"i32 {index}" if index >= 0 else "i32 poison" for index in indices)
        result = floating(type.bits, len(indices)) if type.is_float else integer(type.bits, len(indices))
        return self.line(
            result,
            f"shufflevector {type.text} {left.name}, {type.text} {other}, <{len(indices)} x i32> <{text}>",
        )

    def extract(self, value: Value, lane: int) -> Value:
        """One lane of a vector."""
        return self.line(
            _type(value.type.bits, 0, value.type.is_float),
            f"extractelement {value.type.text} {value.name}, i64 {lane}",
        )

    def splat(self, value: Value, lanes: int = LANES) -> Value:
        """A vector with a scalar in every lane."""
        type = floating(value.type.bits, lanes) if value.type.is_float else integer(value.type.bits, lanes)
        inserted = self.line(type, f"insertelement {type.text} poison, {value.type.text} {value.name}, i64 0")
        return self.line(
            type,
            f"shufflevector {type.text} {inserted.name}, {type.text} poison, <{lanes} x i32> zeroinitializer",
        )

    def freeze(self, value: Value) -> Value:
        """The same value, which LLVM does not identify with the load that it came from."""
        return self.line(value.type, f"freeze {value.type.text} {value.name}")

    def load(self, type: Type, pointer: str, align: int) -> Value:
        """Load from a pointer's name."""
        return self.line(type, f"load {type.text}, ptr {pointer}, align {align}")

    def store(self, value: Value, pointer: str, align: int) -> None:
        """Store to a pointer's name."""
        self.lines.append(f"store {value.type.text} {value.name}, ptr {pointer}, align {align}")

    def offset(self, pointer: str, offset: int | Value) -> str:
        """Name of pointer + offset bytes."""
        text = str(offset) if isinstance(offset, int) else offset.name
        return self.line(POINTER, f"getelementptr i8, ptr {pointer}, i64 {text}").name
