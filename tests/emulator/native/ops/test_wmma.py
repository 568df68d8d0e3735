"""V_WMMA and V_SWMMAC against exact integers, with the equations of AMD's matrix instruction calculator.

Each instruction runs in a kernel that hands it registers from memory. Factors are whole numbers times a power
of two, so a product of matrices of Python's integers is exact.
"""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest

import workbench as wb
from workbench.kernel import Module

torch = pytest.importorskip("torch")

ARCH = "gfx1201"
SIDE = 16
DENSE = [
    *(
        f"v_wmma_{d}_16x16x16_{a}"
        for d, a in (("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"))
    ),
    *(f"v_wmma_f32_16x16x16_{a}_{b}" for a, b in itertools.product(("fp8", "bf8"), repeat=2)),
    *(f"v_wmma_i32_16x16x{shape}" for shape in ("16_iu8", "16_iu4", "32_iu4")),
]
SPARSE = [
    *(
        f"v_swmmac_{d}_16x16x32_{a}"
        for d, a in (("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16"))
    ),
    *(f"v_swmmac_f32_16x16x32_{a}_{b}" for a, b in itertools.product(("fp8", "bf8"), repeat=2)),
    *(f"v_swmmac_i32_16x16x{shape}" for shape in ("32_iu8", "32_iu4", "64_iu4")),
]
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}
UNIT = 2.0**-20
"""Every number here is a multiple of it."""

MODIFIED = {
    "v_wmma_f32_16x16x16_f16": "neg_lo:[1,0,1] neg_hi:[0,1,1]",
    "v_wmma_f32_16x16x16_bf16": "neg_lo:[0,1,1] neg_hi:[0,1,0]",
    "v_wmma_f16_16x16x16_f16": "neg_lo:[0,0,0] neg_hi:[1,0,1]",
    "v_wmma_f32_16x16x16_fp8_bf8": "neg_lo:[0,0,1] neg_hi:[0,0,1]",
    "v_wmma_i32_16x16x16_iu8": "neg_lo:[1,0,0] clamp; neg_lo:[0,1,0]; neg_lo:[1,1,0] clamp; clamp",
    "v_wmma_i32_16x16x16_iu4": "neg_lo:[0,1,0]",
    "v_wmma_i32_16x16x32_iu4": "neg_lo:[1,1,0] clamp",
    "v_swmmac_f32_16x16x32_f16": "index_key:1 neg_lo:[1,0,0] neg_hi:[0,1,0]",
    "v_swmmac_i32_16x16x32_iu8": "index_key:1 neg_lo:[1,1,0] clamp",
    "v_swmmac_i32_16x16x32_iu4": "index_key:1 neg_lo:[0,1,0]",
    "v_swmmac_i32_16x16x64_iu4": "neg_lo:[1,0,0]",
}
"""Modifiers of further kernels with the instruction, of which a name ends with the number."""


def modifiers(name: str) -> dict[str, str]:
    """Modifiers of each kernel with the instruction, by what is added to its name."""
    texts = MODIFIED[name].split("; ") if name in MODIFIED else []
    return {"": ""} | {f"_{number}": text for number, text in enumerate(texts)}


_NAME = re.compile(r"v_(wmma|swmmac)_([a-z]+\d+)_16x16x(\d+)_([a-z]+\d+)(?:_(\w+))?")


class Shape:
    """Types and sizes of an instruction, by its name."""

    def __init__(self, name: str, lanes: int) -> None:
        match = _NAME.fullmatch(name)
        assert match is not None
        kind, self.type_d, k, self.type_a, type_b = match.groups()
        self.sparse, self.k, self.lanes = kind == "swmmac", int(k), lanes
        self.type_b = type_b or self.type_a
        self.bits = BITS[self.type_a]
        stored = self.k // 2 if self.sparse else self.k
        self.rows_a = max(1, SIDE * stored * self.bits // 32 // lanes)
        self.rows_b = max(1, SIDE * self.k * self.bits // 32 // lanes)
        self.rows_d = SIDE * SIDE * BITS[self.type_d] // 32 // lanes


Place = tuple[int, int, int]  # lane, register, first bit


def dense_place(s: Shape, i: int, k: int) -> Place:
    """An element of A or B, or of a sparse instruction's B."""
    bits, first = s.bits, s.bits * (k % (32 // s.bits))
    if s.sparse:
        if s.lanes == 32:
            lane = k // 8 % 2 if bits == 16 else k // 16 if s.k == 32 else k // 32
            register = (
                4 * (k // 16) + k // 2 % 4
                if bits == 16
                else k // 4 % 4
                if bits == 8
                else k // 8 % 2
                if s.k == 32
                else k // 8 % 4
            )
            return 16 * lane + i, register, first
        if bits == 16:
            return 16 * (k // 8) + i, k // 2 % 4, first
        if s.k == 32:
            return 32 * (k // 8 % 2) + 16 * (k // 16) + i, k // 4 % 2 if bits == 8 else 0, first
        return 32 * (k // 16 % 2) + 16 * (k // 32) + i, k // 8 % 2, first
    if s.lanes == 32:
        if bits == 16:
            return 16 * (k // 4 % 2) + i, 2 * (k // 8) + k // 2 % 2, first
        if bits == 8:
            return 16 * (k // 8) + i, k // 4 % 2, first
        return (16 * (k // 8) + i, 0, first) if s.k == 16 else (16 * (k // 16) + i, k // 8 % 2, first)
    if bits == 16:
        return 32 * (k // 8 % 2) + 16 * (k // 4 % 2) + i, k // 2 % 2, first
    if bits == 8:
        return 32 * (k // 4 % 2) + 16 * (k // 8 % 2) + i, 0, first
    return (
        (16 * (k // 8) + i, 0, first) if s.k == 16 else (32 * (k // 8 % 2) + 16 * (k // 16 % 2) + i, 0, first)
    )


def stored_place(s: Shape, i: int, k: int) -> Place:
    """The first stored element of A's group of four that begins at k; the second one follows it."""
    bits = s.bits
    first = 0 if bits == 16 else 2 * bits * (k // 4 % (16 // bits))
    if s.lanes == 32:
        register = 2 * (k // 16) + k // 4 % 2 if bits == 16 else k // 8 % 2 if bits == 8 else 0
        if s.k == 64:
            register = k // 16 % 2
        lane = k // 8 % 2 if bits == 16 else k // 16 if s.k == 32 else k // 32
        return 16 * lane + i, register, first
    if bits == 16:
        return 16 * (k // 8) + i, k // 4 % 2, first
    if bits == 8:
        return 32 * (k // 8 % 2) + 16 * (k // 16) + i, 0, first
    return (
        (16 * (k // 16) + i, 0, first) if s.k == 32 else (32 * (k // 16 % 2) + 16 * (k // 32) + i, 0, first)
    )


def index_place(s: Shape, i: int, k: int, key: int) -> Place:
    """Four bits that say which of A's group of four from k on are stored."""
    lane, _, _ = stored_place(s, i, k)
    if s.lanes == 32:
        first = 8 * (k // 16) + 4 * (k // 4 % 2) if s.bits == 16 else 4 * (k // 4 % (4 if s.k == 32 else 8))
        sets = 1 if s.k == 64 else 2
    else:
        first = 4 * (k // 4 % (2 if s.bits > 4 else 4))
        sets = 4 if s.bits > 4 else 2
    return lane, 0, first + key * 32 // sets


def result_place(s: Shape, i: int, j: int) -> Place:
    """An element of C or D."""
    if s.lanes == 32:
        lane, place = 16 * (i // 8) + j, i % 8
    else:
        lane, place = 32 * (i // 4 % 2) + 16 * (i // 8) + j, i % 4
    return (lane, place // 2, 16 * (place % 2)) if BITS[s.type_d] == 16 else (lane, place, 0)


def scatter(rows: int, lanes: int, elements: dict[Place, int]) -> np.ndarray:
    """Registers [rows, lanes] with these bits."""
    registers = np.zeros((rows, lanes), np.uint32)
    for (lane, register, bit), value in elements.items():
        registers[register, lane] |= np.uint32(value << bit)
    return registers


def as_numbers(kind: str, bits: np.ndarray, is_signed: bool) -> np.ndarray:
    """Bit patterns as exact multiples of UNIT, or as integers."""
    if kind == "iu8":
        return np.where(is_signed & (bits > 127), bits.astype(int) - 256, bits.astype(int)).astype(object)
    if kind == "iu4":
        return np.where(is_signed & (bits > 7), bits.astype(int) - 16, bits.astype(int)).astype(object)
    if kind == "i32":
        return bits.astype(np.uint32).view(np.int32).astype(object)
    types = {
        "fp8": torch.float8_e4m3fn,
        "bf8": torch.float8_e5m2,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
    }
    if kind == "f32":
        values = bits.astype(np.uint32).view(np.float32).astype(float)
    else:
        raw = torch.from_numpy(bits.astype(np.uint8 if BITS[kind] == 8 else np.uint16))
        values = raw.view(types[kind]).double().numpy()
    scaled = values / UNIT
    assert np.array_equal(scaled, np.rint(scaled)), kind
    return scaled.astype(np.int64).astype(object)


def random_bits(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Patterns of numbers that are multiples of UNIT and of quite different size."""
    if kind in ("iu8", "iu4", "i32"):
        return random.integers(0, 1 << BITS[kind], shape, dtype=np.uint64)
    if kind in ("fp8", "bf8"):
        # Without infinities, NaNs and, of e5m2, numbers above 2^11.
        return random.integers(0, 2, shape) << 7 | random.integers(0, 0x7F if kind == "fp8" else 0x68, shape)
    # Sums of 33 products of f16 must not overflow it.
    largest = 31 if kind == "f16" else 255
    values = random.integers(-largest, largest + 1, shape) * np.exp2(random.integers(-12, 1, shape))
    single = values.astype(np.float32)
    if kind == "f32":
        return single.view(np.uint32).astype(np.uint64)
    if kind == "bf16":
        return (single.view(np.uint32) >> 16).astype(np.uint64)
    return single.astype(np.float16).view(np.uint16).astype(np.uint64)


def source(names: list[str], lanes: int) -> str:
    """A kernel for each instruction, and one with modifiers."""
    kernels = ["#include <hip/hip_runtime.h>\ntypedef unsigned Rows1;\n"]
    for count in (2, 4, 8):
        kernels.append(f"typedef unsigned Rows{count} __attribute__((ext_vector_type({count})));\n")
    for name in names:
        s = Shape(name, lanes)
        for suffix, modified in modifiers(name).items():
            text = f"{name} %0, %1, %2, %{3 if s.sparse else 0} {modified}"
            kernels.append(
                f'extern "C" __global__ void {name}{suffix}(const Rows{s.rows_a} *a, const Rows{s.rows_b} *b,'
                f" const Rows1 *k, Rows{s.rows_d} *c) {{\n    const int i = threadIdx.x;\n"
                f"    Rows{s.rows_d} sums = c[i];\n"
                f'    asm("{text}" : "+v"(sums) : "v"(a[i]), "v"(b[i]), "v"(k[i]));\n    c[i] = sums;\n}}\n'
            )
    return "".join(kernels)


@cache
def module(lanes: int) -> Module:
    flags = () if lanes == 32 else ("-mwavefrontsize64",)
    return wb.compile(source(DENSE + SPARSE, lanes), arch=ARCH, flags=flags)


@pytest.fixture(scope="module")
def modules() -> None:
    """Compiles for both wave sizes: the tests are drawn together, since each draw compiles all kernels."""
    for lanes in (32, 64):
        module(lanes)


def run(
    name: str, suffix: str, s: Shape, a: np.ndarray, b: np.ndarray, indices: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """Registers of D after the instruction; lanes' registers are adjacent in memory."""
    operands = [torch.from_numpy(rows.T.copy().view(np.int32)) for rows in (a, b, indices, c)]
    module(s.lanes)[name + suffix][1, s.lanes](*operands)
    return operands[3].numpy().view(np.uint32).reshape(s.lanes, s.rows_d).T


CASES = [(name, suffix) for name in DENSE + SPARSE for suffix in modifiers(name)]


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_products(random: np.random.Generator, name: str, suffix: str, lanes: int) -> None:
    s = Shape(name, lanes)
    text = modifiers(name)[suffix]
    flags = {
        field: [int(x) for x in bits.split(",")]
        for field, bits in re.findall(r"(neg_\w\w):\[([\d,]+)\]", text)
    }
    lo, hi = flags.get("neg_lo", [0, 0, 0]), flags.get("neg_hi", [0, 0, 0])
    key = 1 if "index_key" in text else 0
    is_integer = s.type_d == "i32"
    bits_a, bits_b = (random_bits(random, kind, (SIDE, s.k)) for kind in (s.type_a, s.type_b))
    bits_c = random_bits(random, s.type_d, (SIDE, SIDE))
    if "clamp" in text:
        bits_c[:, ::2] = 0x7FFFFFF0
        bits_c[:, 1::4] = 0x80000010
    a, b, c = (
        as_numbers(kind, bits, is_integer and bool(signed))
        for kind, bits, signed in zip(
            (s.type_a, s.type_b, s.type_d), (bits_a, bits_b, bits_c), (*lo[:2], 0), strict=True
        )
    )
    place_b = {dense_place(s, j, k): int(bits_b[j, k]) for j in range(SIDE) for k in range(s.k)}
    places_k: dict[Place, int] = {}
    if s.sparse:
        place_a: dict[Place, int] = {}
        stored = np.zeros((SIDE, s.k), bool)
        for i, k in itertools.product(range(SIDE), range(0, s.k, 4)):
            first, second = sorted(random.choice(4, 2, replace=False))
            stored[i, [k + first, k + second]] = True
            lane, register, bit = stored_place(s, i, k)
            place_a[lane, register, bit] = int(bits_a[i, k + first])
            place_a[lane, register, bit + s.bits] = int(bits_a[i, k + second])
            places_k[index_place(s, i, k, key)] = int(first | second << 2)
        a = np.where(stored, a, 0)
        # Signs by the place in a register, which is that among the stored elements.
        odd = np.cumsum(stored, axis=1) % 2 == 0
    else:
        place_a = {dense_place(s, i, k): int(bits_a[i, k]) for i in range(SIDE) for k in range(s.k)}
        odd = np.broadcast_to(np.arange(s.k) % 2 == 1, (SIDE, s.k))
    if not is_integer:
        a = np.where(np.where(odd, hi[0], lo[0]) == 1, -a, a)
        b = np.where(np.where(np.arange(s.k) % 2 == 1, hi[1], lo[1]) == 1, -b, b)
        c = np.abs(c) if hi[2] else c
        c = -c if lo[2] else c
    places_c = {result_place(s, i, j): int(bits_c[i, j]) for i in range(SIDE) for j in range(SIDE)}
    rows = run(
        name,
        suffix,
        s,
        scatter(s.rows_a, lanes, place_a),
        scatter(s.rows_b, lanes, place_b),
        scatter(1, lanes, places_k),
        scatter(s.rows_d, lanes, places_c),
    )
    width = BITS[s.type_d]
    actual_bits = np.zeros((SIDE, SIDE), np.uint64)
    for i, j in itertools.product(range(SIDE), repeat=2):
        lane, register, bit = result_place(s, i, j)
        actual_bits[i, j] = int(rows[register, lane]) >> bit & (1 << width) - 1
    if is_integer:
        total = a @ b.T + c
        if "clamp" in text:
            expected = np.clip(total, -(1 << 31), (1 << 31) - 1) & 0xFFFFFFFF
            assert (total != np.clip(total, -(1 << 31), (1 << 31) - 1)).any()
        else:
            expected = total & 0xFFFFFFFF
        assert np.array_equal(actual_bits.astype(object), expected)
        return
    # In units of UNIT squared: products of two numbers.
    scale = int(1 / UNIT)
    total, size = a @ b.T + c * scale, np.abs(a) @ np.abs(b).T + np.abs(c) * scale
    actual = result_numbers(s.type_d, actual_bits, scale)
    # A rounding of 24 bits for each product, of partial sums no larger than `size`; and that of the result.
    terms = s.k // 2 if s.sparse else s.k
    bound = (
        size * terms / 2**24
        + np.abs(total) * {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}[s.type_d]
        + scale
    )
    assert (np.abs(actual - total) <= bound).all()


def result_numbers(kind: str, bits: np.ndarray, scale: int) -> np.ndarray:
    """Results in units of UNIT squared, cut to whole ones."""
    if kind == "f32":
        values = bits.astype(np.uint32).view(np.float32).astype(float)
    elif kind == "f16":
        values = bits.astype(np.uint16).view(np.float16).astype(float)
    else:
        values = (bits.astype(np.uint32) << 16).view(np.float32).astype(float)
    return np.vectorize(lambda x: int(x / UNIT * scale), otypes=[object])(values)
