"""Numbers as the bytes of a kernel's parameter, checked against its type."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

from workbench.codeobject.debug import Type
from workbench.dtypes import BF16, spelled


class UnfitError(Exception):
    """A value that a parameter cannot take: the value that came, and what was expected."""

    def __init__(self, came: str, expected: str) -> None:
        super().__init__(f"{came}; expected {expected}")
        self.came = came
        self.wanted = expected


def described(value: Any) -> str:
    """A value, in words."""
    if is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float, str)):
        return f"{type(value).__name__} {value!r}"
    return f"a {type(value).__name__}"


def is_tensor(value: Any) -> bool:
    # Not isinstance: torch is imported only if it is used, and then the value's type names it.
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__)


def scalar_bytes(kind: Type, value: Any) -> bytes:
    """The bytes of a number (Python's, NumPy's or ctypes') as a parameter of this type.

    Raises:
        UnfitError: the value is not a number of this type, or out of its range.
    """
    number = value
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "shape", None) == ():
        if kind.kind == "unknown" and value.dtype.itemsize == kind.size:
            return bytes(value.tobytes())
        number = value.item()
    elif isinstance(value, ctypes._SimpleCData):
        if ctypes.sizeof(value) != kind.size:
            raise UnfitError(
                f"a {type(value).__name__} of {ctypes.sizeof(value)} bytes", f"{kind.size} bytes"
            )
        return bytes(value)
    if kind.kind == "unknown":
        return _untyped(kind, number)
    if kind.kind == "bool":
        if not isinstance(number, bool):
            raise UnfitError(described(value), "True or False (bool)")
        return bytes([number])
    if kind.kind in ("int", "uint"):
        if not isinstance(number, int):
            raise UnfitError(described(value), f"an integer ({kind.name})")
        low, high = _int_range(kind)
        if not low <= number <= high:
            raise UnfitError(str(number), f"a value from {low} to {high} ({kind.name})")
        return number.to_bytes(kind.size, "little", signed=kind.kind == "int")
    if kind.kind == "float":
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise UnfitError(described(value), f"a number ({kind.name})")
        return _float(kind, number)
    raise UnfitError(described(value), f"{kind.name}, which only bytes or a ctypes.Structure can give")


def _float(kind: Type, value: int | float) -> bytes:
    try:
        number = float(value)
    except OverflowError:
        expected = f"a value that {kind.name} can hold"
        raise UnfitError("an int too large for a float", expected) from None
    if kind.size == 8:
        return struct.pack("<d", number)
    narrow = kind.size == 2 and BF16 in spelled(kind.name)
    code = {4: "<f", 2: "<f" if narrow else "<e"}.get(kind.size)
    if code is None:
        raise UnfitError(repr(number), f"{kind.name}, which only bytes can give")
    try:
        encoded = struct.pack(code, number)
        if narrow and math.isfinite(number):
            encoded = _round_bf16(encoded)
            if encoded[2:] in (b"\x80\x7f", b"\x80\xff"):
                raise OverflowError
    except OverflowError:
        raise UnfitError(repr(number), f"a value that {kind.name} can hold") from None
    return encoded[2:] if narrow else encoded


def _untyped(kind: Type, number: Any) -> bytes:
    """Without debug info a number keeps its Python type: an int is an integer, a float a float or double."""
    if isinstance(number, int) and kind.size in (1, 2, 4, 8):
        bits = 8 * kind.size
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            raise UnfitError(str(number), f"a value of {kind.size} bytes")
        return (number & ((1 << bits) - 1)).to_bytes(kind.size, "little")
    if isinstance(number, float) and kind.size in (4, 8):
        return _float(Type("float", "float" if kind.size == 4 else "double", kind.size), number)
    raise UnfitError(
        described(number),
        f"{kind.size} bytes (no debug info: bytes, a ctypes.Structure or a NumPy scalar)",
    )


def _int_range(kind: Type) -> tuple[int, int]:
    bits = 8 * kind.size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.kind == "int" else (0, (1 << bits) - 1)


def _round_bf16(encoded: bytes) -> bytes:
    """A float's bytes with the low half rounded away, to nearest even."""
    bits = int.from_bytes(encoded, "little")
    bits += 0x7FFF + (bits >> 16 & 1)
    return (bits & 0xFFFF0000).to_bytes(4, "little")
