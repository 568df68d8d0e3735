"""Data types of elements: one row each, from which every table of types is made.

A row has the type's names in shapes and messages, in PyTorch, in the tile library and in C++; how its bits
form a number; how close results must come; and, for 8-bit floats, which of the two encodings it uses. A
target says which encoding is its own (`Target.has`). To add a type, write a row here and its conversions in
the headers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as pytorch


@dataclass(frozen=True, slots=True)
class DataType:
    """The record of a data type: names, bits, range, encoding and tolerances.

    Attributes:
        name: name in shape parameters, kinds of arguments and messages: "bf16".
        torch: names of PyTorch's types for it; messages use the first. Numbers of less than 8 bits and powers
            of two are stored in bytes. Signedness is ignored for widths without an unsigned type in PyTorch,
            or in earlier releases.
        qualified: name in the tile library, which for 8-bit floats means the target's encoding; C++'s own
            name if there is one. For less than 8 bits, the type of just as many numbers as fill whole bytes.
        spelled: names without namespace of its elements in debug info, HIP's own first. 6-bit floats have
            none: four of them share three bytes, which no tensor element does.
        bits: bits of a number.
        largest, lowest: largest and lowest finite number.
        exponent, mantissa: number of bits for a float, else 0.
        encoding: "ocp" or "fnuz" for 8-bit floats; None if there is only one encoding.
        bounds: relative and absolute bounds of results in it (explained in operators/tolerances.py); None:
            equal.
    """

    name: str
    torch: tuple[str, ...]
    qualified: str
    spelled: tuple[str, ...]
    bits: int
    largest: float
    lowest: float
    exponent: int = 0
    mantissa: int = 0
    encoding: str | None = None
    bounds: tuple[float, float] | None = None

    @property
    def dtype(self) -> pytorch.dtype:
        """PyTorch's type for it."""
        import torch

        dtype: torch.dtype = getattr(torch, self.torch[0])
        return dtype

    @property
    def format(self) -> str:
        """Its name without the encoding: "e4m3" for "e4m3fn" and "e4m3fnuz"."""
        return self.name.removesuffix("fnuz").removesuffix("fn") if self.encoding else self.name

    @property
    def short(self) -> str:
        """Its name, with integers as i8, u8, i32, ..."""
        return self.name.replace("uint", "u").replace("int", "i")

    @property
    def cpp(self) -> str:
        """The C++ name within the tile library's namespace."""
        return self.qualified.removeprefix("kittens::")


def _float(
    name: str,
    torch: tuple[str, ...],
    qualified: str,
    spelled: tuple[str, ...],
    parts: tuple[int, int],
    largest: float,
    bounds: tuple[float, float] | None = None,
    encoding: str | None = None,
) -> DataType:
    bits = 1 + sum(parts)
    return DataType(name, torch, qualified, spelled, bits, largest, -largest, *parts, encoding, bounds)


def _fp8(name: str, parts: tuple[int, int], largest: float, bounds: tuple[float, float]) -> DataType:
    encoding, suffix = ("fnuz", "_fnuz") if name.endswith("fnuz") else ("ocp", "")
    short_name = f"fp8{name[:4]}"
    names = (f"__hip_fp8_{name[:4]}{suffix}", short_name)
    return _float(
        name, (f"float8_{name}",), f"kittens::{short_name}", names, parts, largest, bounds, encoding
    )


def _integer(
    name: str, torch: tuple[str, ...], qualified: str, spelled: tuple[str, ...], bits: int
) -> DataType:
    unsigned = name.startswith("u")
    largest = (1 << bits if unsigned else 1 << bits - 1) - 1
    return DataType(name, torch, qualified, spelled, bits, largest, 0 if unsigned else -largest - 1)


BF16 = _float(
    "bf16",
    ("bfloat16",),
    "kittens::bf16",
    ("__hip_bfloat16", "bf16", "hip_bfloat16", "__bf16"),
    (8, 7),
    (2 - 2.0**-7) * 2.0**127,
    (1.6e-2, 1e-2),
)
FP16 = _float(
    "fp16",
    ("float16",),
    "kittens::half",
    ("__half", "half", "_Float16", "__fp16"),
    (5, 10),
    65504.0,
    (1e-2, 1e-3),
)
FP32 = _float("fp32", ("float32",), "float", ("float",), (8, 23), (2 - 2.0**-23) * 2.0**127, (1.3e-5, 1e-5))
FP64 = _float("fp64", ("float64",), "double", ("double",), (11, 52), (2 - 2.0**-52) * 2.0**1023, (1e-7, 1e-7))
E4M3FN = _fp8("e4m3fn", (4, 3), 448.0, (1.25e-1, 2e-2))
E4M3FNUZ = _fp8("e4m3fnuz", (4, 3), 240.0, (1.25e-1, 2e-2))
E5M2 = _fp8("e5m2", (5, 2), 57344.0, (2.5e-1, 2e-2))
E5M2FNUZ = _fp8("e5m2fnuz", (5, 2), 57344.0, (2.5e-1, 2e-2))
E2M3 = _float("e2m3", ("uint8",), "kittens::fp6e2m3_4", (), (2, 3), 7.5)
E3M2 = _float("e3m2", ("uint8",), "kittens::fp6e3m2_4", (), (3, 2), 28.0)
E2M1 = _float("e2m1", ("uint8",), "kittens::fp4e2m1_2", ("fp4e2m1_2",), (2, 1), 6.0)
E8M0 = DataType(
    "e8m0", ("uint8", "float8_e8m0fnu"), "kittens::fp8e8m0", ("fp8e8m0",), 8, 2.0**127, 2.0**-127, 8
)
BOOL = DataType("bool", ("bool",), "bool", ("bool",), 8, 1, 0)
# A plain char is neither signed nor unsigned char.
INT8 = _integer("int8", ("int8",), "kittens::int8", ("signed char", "char"), 8)
UINT8 = _integer("uint8", ("uint8",), "unsigned char", ("unsigned char", "char"), 8)
INT16 = _integer("int16", ("int16",), "short", ("short",), 16)
UINT16 = _integer("uint16", ("uint16", "int16"), "unsigned short", ("unsigned short",), 16)
INT32 = _integer("int32", ("int32",), "int", ("int",), 32)
UINT32 = _integer("uint32", ("uint32", "int32"), "unsigned int", ("unsigned int",), 32)
INT64 = _integer("int64", ("int64",), "long", ("long", "long long"), 64)
UINT64 = _integer("uint64", ("uint64", "int64"), "unsigned long", ("unsigned long", "unsigned long long"), 64)
INT4 = _integer("int4", ("uint8", "int8"), "kittens::int4_2", ("int4_2",), 4)
UINT4 = _integer("uint4", ("uint8",), "kittens::uint4_2", ("uint4_2",), 4)

TYPES = (
    *(BF16, FP16, FP32, FP64, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ),
    *(BOOL, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64),
    *(E2M3, E3M2, E2M1, E8M0, INT4, UINT4),
)
"""All data types; those that PyTorch stores as bytes come last."""

E4M3 = (E4M3FN, E4M3FNUZ)
"""The dtypes that "fp8" means, depending on the target."""

MICROSCALED = (E4M3FN, E5M2, E2M3, E3M2, E2M1)
"""Formats of numbers of the OCP microscaling specification, widest first."""


def of_torch(dtype: object) -> DataType | None:
    """The type for one of PyTorch's, or for its name, such as "bfloat16"; None if it has no row."""
    name = str(dtype).removeprefix("torch.")
    return next((t for t in TYPES if t.torch[0] == name), None)


def is_float(value: object, *bits: int) -> bool:
    """True for a tensor of floats of one of these widths; 16 covers bf16 and fp16."""
    data_type = of_torch(getattr(value, "dtype", None))
    return data_type is not None and data_type.exponent > 0 and data_type.bits in bits


def bare(name: str) -> str:
    """A C++ type's name without namespace and qualifiers."""
    return name.replace("const ", "").replace("volatile ", "").rpartition("::")[2].strip()


def spelled(name: str) -> tuple[DataType, ...]:
    """Types that a C++ type's name means, with or without namespace and qualifiers."""
    plain_name = bare(name)
    return tuple(t for t in TYPES if plain_name in t.spelled)


@dataclass(frozen=True, slots=True)
class Fp8:
    """An encoding of 8-bit floats.

    Attributes:
        name: "ocp" or "fnuz".
        e4m3, e5m2: types in it.
    """

    name: str
    e4m3: DataType
    e5m2: DataType

    def encoding(self, data_type: DataType) -> DataType:
        """An 8-bit float's format in this encoding; any other type itself."""
        return next(
            (candidate for candidate in (self.e4m3, self.e5m2) if candidate.format == data_type.format),
            data_type,
        )


OCP = Fp8("ocp", E4M3FN, E5M2)
FNUZ = Fp8("fnuz", E4M3FNUZ, E5M2FNUZ)
