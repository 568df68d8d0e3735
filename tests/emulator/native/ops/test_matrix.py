"""Matrix instructions against NumPy in double precision, elements placed by the hardware's lane tables.

mfma_lane_tables_gfx942.csv and mfma_layout.csv (tests/data, with their sources) say which lane and register
hold each element; nothing here is shared with the C code.
"""

from __future__ import annotations

import csv
import ctypes
import math
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.native.ops.published_arithmetic import fma
from workbench.codeobject.instructions import MATRICES, Matrix
from workbench.emulator.native import NATIVE_FOLDER, operations
from workbench.toolchain import cpu
from workbench.toolchain import native as native_code

SMALL = {name: shape for name, shape in MATRICES.items() if shape.type_a == "f8f6f4"}
SPARSE = {name: shape for name, shape in MATRICES.items() if shape.sparse}
DENSE = {name: shape for name, shape in MATRICES.items() if name not in SMALL and name not in SPARSE}

DATA = Path(__file__).parents[3] / "data"
EPSILON = float(np.finfo(np.float32).eps)


def decode_small(
    bits: np.ndarray, exponent_bits: int, mantissa_bits: int, bias: int, kind: str
) -> np.ndarray:
    """Values of a small float format, from its definition."""
    bits = bits.astype(np.int64)
    exponent = bits >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = bits & (1 << mantissa_bits) - 1
    sign = np.where(bits >> (exponent_bits + mantissa_bits) & 1, -1.0, 1.0)
    unit = 1 << mantissa_bits
    value = np.where(
        exponent == 0,
        np.ldexp(mantissa / unit, 1 - bias),
        np.ldexp(1 + mantissa / unit, (exponent - bias).astype(np.int64)),
    )
    value = sign * value
    top = (1 << exponent_bits) - 1
    if kind == "ieee":
        value = np.where(exponent == top, np.where(mantissa == 0, sign * np.inf, np.nan), value)
    elif kind == "one nan":
        value = np.where((exponent == top) & (mantissa == unit - 1), np.nan, value)
    elif kind == "fnuz":
        value = np.where(bits == 1 << (exponent_bits + mantissa_bits), np.nan, value)
    return value


def values_of(kind: str, target: str, bits: np.ndarray) -> np.ndarray:
    """Bit patterns to float64 (int64 for i8)."""
    if kind == "f64":
        return bits.astype(np.uint64).view(np.float64)
    if kind == "f32":
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    if kind == "xf32":
        return (bits.astype(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind == "i8":
        return bits.astype(np.uint8).view(np.int8).astype(np.int64)
    fnuz = target != "gfx950"
    if kind == "fp8":
        return decode_small(bits, 4, 3, 8 if fnuz else 7, "fnuz" if fnuz else "one nan")
    if kind == "bf8":
        return decode_small(bits, 5, 2, 16 if fnuz else 15, "fnuz" if fnuz else "ieee")
    raise AssertionError(kind)


BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}


def random_bits(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Bit patterns of numbers around 1, including denormals and both zeros; bytes over their whole range."""
    if BITS[kind] == 8:
        return random.integers(0, 256, shape).astype(np.uint64)
    values = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))
    values = np.where(random.random(shape) < 0.05, 0.0 * np.sign(values), values)
    if kind == "f64":
        return values.view(np.uint64)
    single = values.astype(np.float32)
    if kind in ("f32", "xf32"):
        return single.view(np.uint32).astype(np.uint64)
    if kind == "f16":
        half = np.where(random.random(shape) < 0.05, values * 2.0**-20, values).astype(np.float16)
        return half.view(np.uint16).astype(np.uint64)
    return (single.view(np.uint32) >> 16).astype(np.uint64)


Place = tuple[int, int, int]  # lane, register, first bit


def rows_of(name: str) -> list[dict[str, str]]:
    with open(DATA / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@cache
def layouts() -> dict[tuple[str, str, str], dict[str, str]]:
    """(target, instruction, operand) -> the line of mfma_layout.csv."""
    return {(r["arch"], r["instruction"], r["operand"]): r for r in rows_of("mfma_layout.csv")}


def evaluate(formula: str, **names: int) -> int:
    return int(eval(formula, {"__builtins__": {}, "floor": math.floor}, names))


def place(line: dict[str, str], bits: int, **names: int) -> Place:
    """Place of an element, by the formulas of mfma_layout.csv."""
    lane = evaluate(line["lane_of_element"], **names)
    where = line["gpr_of_element"]
    if match := re.fullmatch(r"element e ?= ?(.*?)(?: of the lane vector)?", where):
        bit = evaluate(match[1], **names) * bits
        return lane, bit // 32, bit % 32
    if match := re.fullmatch(r"\[.*: ?(.*)\]|\[\d+:(\d+)\]", where):
        return lane, evaluate(match[1] or match[2], **names), 0
    if match := re.fullmatch(r"(.*)\.\[.* : (.*)\]", where):
        return lane, evaluate(match[1], **names), evaluate(match[2], **names)
    return lane, evaluate(where, **names), 0


@cache
def element_places(target: str, name: str, operand: str, shape: Matrix) -> np.ndarray:
    """[blocks, rows, columns, 3] lane, register and first bit of every element of A, B or CD."""
    line = layouts()[target, name, operand]
    kind = {"A": shape.type_a, "B": shape.type_b, "CD": shape.type_d}[operand]
    size = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "CD": (shape.m, shape.n)}[operand]
    letters = {"A": "ik", "B": "kj", "CD": "ij"}[operand]
    places = np.zeros((shape.blocks, *size, 3), int)
    for block in range(shape.blocks):
        for row in range(size[0]):
            for column in range(size[1]):
                names = {letters[0]: row, letters[1]: column, "block": block}
                places[block, row, column] = place(line, BITS[kind], **names)
    return places


BITS |= {"i32": 32}


def put(v: np.ndarray, first: int, places: np.ndarray, bits: np.ndarray, width: int) -> None:
    lane, register, bit = np.moveaxis(places, -1, 0)
    if width == 64:
        v[first + register, lane] = bits & 0xFFFFFFFF
        v[first + register + 1, lane] = bits >> 32
        return
    for where in np.ndindex(lane.shape):
        v[first + register[where], lane[where]] |= np.uint32(int(bits[where]) << int(bit[where]))


def get(v: np.ndarray, first: int, places: np.ndarray, width: int) -> np.ndarray:
    lane, register, _ = np.moveaxis(places, -1, 0)
    low = v[first + register, lane].astype(np.uint64)
    if width == 64:
        low |= v[first + register + 1, lane].astype(np.uint64) << np.uint64(32)
    return low


TARGETS = [(target, name) for target, name, operand in layouts() if operand == "A" and name in DENSE]


@pytest.mark.parametrize(("target", "name"), TARGETS)
def test_dense(native, random, target: str, name: str) -> None:
    shape = DENSE[name]
    wave = native.Wave(target)
    wave.wave.mode = 0xF0
    sizes = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "CD": (shape.m, shape.n)}
    kinds = {"A": shape.type_a, "B": shape.type_b, "CD": shape.type_d}
    first = {"A": 16, "B": 32, "CD": 256 + 64}
    bits, value, places = {}, {}, {}
    for operand in ("A", "B", "CD"):
        full = (shape.blocks, *sizes[operand])
        kind = kinds[operand]
        if kind == "i32":
            bits[operand] = random.integers(0, 1 << 32, full).astype(np.uint64)
            value[operand] = bits[operand].astype(np.int64)
        else:
            bits[operand] = random_bits(random, kind, full)
            value[operand] = values_of(kind, target, bits[operand])
        places[operand] = element_places(target, name, operand, shape)
        put(wave.v, first[operand], places[operand], bits[operand], BITS[kind])
    wave.exec = int(random.integers(0, 1 << 63))
    with np.errstate(invalid="ignore"):
        expected = value["CD"] + value["A"] @ value["B"]
        magnitude = abs(value["CD"]) + abs(value["A"]) @ abs(value["B"])
    assert not wave.run(
        native.instruction(
            name,
            [native.v(128, 32)],
            [native.v(16, 8), native.v(32, 8), native.a(64, 32)],
        )
    )
    pattern = get(wave.v, 128, places["CD"], BITS[shape.type_d])
    if shape.type_d == "i32":
        assert np.array_equal(pattern, expected.astype(np.uint64) & np.uint64(0xFFFFFFFF))
        return
    if shape.type_d == "f64":
        result, epsilon = pattern.view(np.float64), float(np.finfo(np.float64).eps)
    else:
        result, epsilon = pattern.astype(np.uint32).view(np.float32).astype(np.float64), EPSILON
    finite = np.isfinite(expected)
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    assert finite.mean() > 0.1 or "8" in name
    error = abs(result - expected)[finite]
    assert np.all(error <= (shape.k + 1) * epsilon * magnitude[finite])


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x32_bf16", "v_mfma_f32_32x32x16_f16"])
def test_order_of_accumulation(native, random, name: str) -> None:
    """One rounding to fp32 a product, the second of each pair first: to the last bit, in double precision."""
    shape = DENSE[name]
    wave = native.Wave("gfx950")
    wave.library = matrix_library(without_tiles())
    a = random_bits(random, shape.type_a, (1, shape.m, shape.k))
    b = random_bits(random, shape.type_b, (1, shape.k, shape.n))
    places = {o: element_places("gfx950", name, o, shape) for o in ("A", "B", "CD")}
    put(wave.v, 16, places["A"], a, 16)
    put(wave.v, 32, places["B"], b, 16)
    total = np.full((shape.m, shape.n), 0.5, np.float32)
    va, vb = values_of(shape.type_a, "gfx950", a)[0], values_of(shape.type_b, "gfx950", b)[0]
    for k in (n ^ 1 for n in range(shape.k)):
        total = (total.astype(np.float64) + va[:, k, None] * vb[k, None, :]).astype(np.float32)
    wave.run(
        native.instruction(
            name, [native.v(128, 16)], [native.v(16, 4), native.v(32, 4), native.imm(0.5, 240)]
        )
    )
    result = get(wave.v, 128, places["CD"], 32).astype(np.uint32).view(np.float32)[0]
    assert np.array_equal(result.view(np.uint32), total.view(np.uint32))


def test_layouts_agree_with_the_lane_tables() -> None:
    """The formulas of the other tests against the tables that list every lane."""
    for line in rows_of("mfma_lane_tables_gfx942.csv"):
        name, operand = line["instruction"], {"D": "CD"}.get(line["operand"], line["operand"])
        shape = DENSE[name]
        kind = {"A": shape.type_a, "B": shape.type_b, "CD": shape.type_d}[operand]
        places = element_places("gfx942", name, operand, shape)
        slot = re.fullmatch(r"v(\d+)(?:\.\[\d+:(\d+)\])?|v\[\d+:(\d+)\]", line["register_slot"])
        assert slot
        register, bit = int(slot[1] or slot[3]), int(slot[2] or 0)
        for lane, element in enumerate(line["elements"].split()):
            row, column = map(int, element.split(":"))
            assert tuple(places[0, row, column]) == (lane, register, bit), (name, operand, lane, kind)


@pytest.mark.parametrize(
    "name", ["v_mfma_f32_32x32x2_f32", "v_mfma_f32_4x4x1_16b_f32", "v_mfma_f32_16x16x16_bf16"]
)
def test_denormal_inputs(native, name: str) -> None:
    """MODE selects the handling of fp32 denormals; smaller ones are always numbers."""
    for mode in (0xF0, 0x00):
        wave = native.Wave("gfx942")
        wave.wave.mode = mode
        is_single = name.endswith("_f32")
        wave.v[16:18] = 0x007FFFFF if is_single else 0x00010001
        wave.v[18:20] = 0x4B000000 if is_single else 0x4B004B00
        wave.run(
            native.instruction(name, [native.v(64, 16)], [native.v(16, 2), native.v(18, 2), native.imm(0)])
        )
        assert bool(wave.v[64].any()) == (mode == 0xF0 or not is_single)


@pytest.mark.parametrize("shift", [-4, 4])
def test_result_may_overlap_sources(native, random, shift: int) -> None:
    name = "v_mfma_f32_32x32x8_bf16"
    wave = native.Wave("gfx942")
    wave.v[16:64] = random.integers(0, 1 << 32, (48, 64)) & 0xBF80BF80
    apart = native.instruction(
        name, [native.v(128, 16)], [native.v(16, 2), native.v(20, 2), native.v(30, 16)]
    )
    wave.run(apart)
    expected = wave.v[128:144].copy()
    together = native.instruction(
        name, [native.v(30 + shift, 16)], [native.v(16, 2), native.v(20, 2), native.v(30, 16)]
    )
    wave.run(together)
    assert np.array_equal(wave.v[30 + shift : 46 + shift], expected)
    on_a = native.instruction(name, [native.v(16, 16)], [native.v(16, 2), native.v(20, 2), native.imm(0)])
    apart = native.instruction(name, [native.v(128, 16)], [native.v(16, 2), native.v(20, 2), native.imm(0)])
    wave.run(apart)
    wave.run(on_a)
    assert np.array_equal(wave.v[16:32], wave.v[128:144])


BLOCK_SOURCES = [
    ("v_mfma_f32_16x16x4_4b_f16", 1, 1),
    ("v_mfma_f32_16x16x4_4b_f16", 2, 3),
    ("v_mfma_f32_32x32x4_2b_bf16", 1, 0),
    ("v_mfma_f32_4x4x4_16b_f16", 3, 5),
    ("v_mfma_i32_16x16x4_4b_i8", 2, 1),
]


@pytest.mark.parametrize(("name", "cbsz", "abid"), BLOCK_SOURCES)
def test_cbsz_shares_a_block_of_a(native, random, name: str, cbsz: int, abid: int) -> None:
    """CBSZ, ABID: groups of 2**cbsz blocks all take A from block `abid` of the group."""
    wave = native.Wave("gfx942")
    wave.v[16:40] = random.integers(0, 1 << 32, (24, 64)) & 0xBBFFBBFF
    shape = DENSE[name]
    sources = [native.v(16, 2), native.v(18, 2), native.imm(0)]
    wave.run(native.instruction(name, [native.v(64, 32)], sources, cbsz=cbsz, abid=abid))
    # The same result from an A whose lanes are rearranged beforehand.
    lanes = np.arange(64)
    block = lanes // shape.m
    source = (block >> cbsz << cbsz) + abid
    wave.v[20:22] = wave.v[16:18][:, source * shape.m + lanes % shape.m]
    sources[0] = native.v(20, 2)
    wave.run(native.instruction(name, [native.v(128, 32)], sources))
    assert np.array_equal(wave.v[64:96], wave.v[128:160])


B_LANES = {
    1: lambda lane: lane % 32,
    2: lambda lane: lane % 32 + 32,
    3: lambda lane: (lane + 16) % 64,
    4: lambda lane: lane % 16,
    5: lambda lane: lane % 16 + 16,
    6: lambda lane: lane % 16 + 32,
    7: lambda lane: lane % 16 + 48,
}


@pytest.mark.parametrize("blgp", B_LANES)
@pytest.mark.parametrize(
    "name", ["v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_16x16x16_f16", "v_mfma_f32_4x4x4_16b_f16"]
)
def test_blgp_rearranges_the_lanes_of_b(native, random, name: str, blgp: int) -> None:
    wave = native.Wave("gfx942")
    wave.v[16:20] = random.integers(0, 1 << 32, (4, 64)) & 0xBBFFBBFF
    sources = [native.v(16, 2), native.v(18, 2), native.imm(1.0, 242)]
    wave.run(native.instruction(name, [native.v(64, 32)], sources, blgp=blgp))
    wave.v[20:22] = wave.v[18:20][:, B_LANES[blgp](np.arange(64))]
    sources[1] = native.v(20, 2)
    wave.run(native.instruction(name, [native.v(128, 32)], sources))
    assert np.array_equal(wave.v[64:96], wave.v[128:160])


@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_blgp_negates_doubles(native, random, name: str) -> None:
    wave = native.Wave("gfx942")
    for register in range(16, 40, 2):
        bits = random.standard_normal(64).view(np.uint64)
        wave.v[register], wave.v[register + 1] = bits & 0xFFFFFFFF, bits >> np.uint64(32)
    for blgp in range(8):
        run = [native.v(64, 8)], [native.v(16, 2), native.v(18, 2), native.v(20, 8)]
        wave.run(native.instruction(name, *run, blgp=blgp))
        negated = wave.v.copy()
        for bit, (first, last) in enumerate(((16, 18), (18, 20), (20, 28))):
            if blgp >> bit & 1:
                negated[first + 1 : last : 2] ^= np.uint32(0x80000000)
        other = native.Wave("gfx942")
        other.v[:] = negated
        other.run(native.instruction(name, *run))
        assert np.array_equal(wave.v[64:72], other.v[64:72])
        # A constant for C has the bits of its double, and the same sign as a register with it.
        wave.v[32:40] = np.array([0, 0x3FF00000] * 4, np.uint32)[:, None]
        for first, addend in ((64, native.imm(1.0, 242)), (128, native.v(32, 8))):
            sources = [native.v(16, 2), native.v(18, 2), addend]
            wave.run(native.instruction(name, [native.v(first, 8)], sources, blgp=blgp))
        assert np.array_equal(wave.v[64:72], wave.v[128:136])


# 8, 6 and 4 bit floats

# exponent bits, mantissa bits, bias, what the top exponent means; by the value of cbsz and blgp
SMALL_FORMATS = [(4, 3, 7, "one nan"), (5, 2, 15, "ieee"), (2, 3, 1, ""), (3, 2, 3, ""), (2, 1, 1, "")]
REGISTERS = [8, 8, 6, 6, 4]


def small_lane_elements(
    random: np.random.Generator, format_: int, finite: bool
) -> tuple[np.ndarray, np.ndarray]:
    """[64 lanes, 32 elements] values, and the same packed into [registers, 64]."""
    exponent, mantissa, bias, kind = SMALL_FORMATS[format_]
    width = 1 + exponent + mantissa
    bits = random.integers(0, 1 << width, (64, 32))
    if finite:
        bits = np.where(np.isfinite(decode_small(bits, exponent, mantissa, bias, kind)), bits, 0)
    packed = np.zeros((REGISTERS[format_], 64), np.uint32)
    for lane in range(64):
        value = sum(int(b) << (width * e) for e, b in enumerate(bits[lane]))
        packed[:, lane] = [value >> (32 * r) & 0xFFFFFFFF for r in range(REGISTERS[format_])]
    return decode_small(bits, exponent, mantissa, bias, kind), packed


def small_matrix(name: str, operand: str, format_: int, elements: np.ndarray, m: int, k: int) -> np.ndarray:
    """[m, k] from what the lanes hold, by mfma_layout.csv; 8-bit formats have their k in two chunks."""
    key = f"{name} (fp8, chunk16)" if format_ < 2 else name
    line = layouts()["gfx950", key, operand]
    matrix = np.zeros((m, k))
    names = {"A": ("i", "k"), "B": ("j", "k")}[operand]
    for row in range(m):
        for column in range(k):
            lane, register, bit = place(line, 8, **dict(zip(names, (row, column), strict=True)))
            matrix[row, column] = elements[lane, register * 4 + bit // 8]
    return matrix


@pytest.mark.parametrize("scale_range", [None, (100, 150), (0, 256)])
@pytest.mark.parametrize("formats", [(0, 0), (1, 0), (2, 3), (4, 4), (0, 4), (3, 1)])
@pytest.mark.parametrize("plain", ["v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"])
def test_small_floats(native, random, plain: str, formats: tuple[int, int], scale_range) -> None:
    name = plain if scale_range is None else plain.replace("mfma", "mfma_scale")
    shape = SMALL[name]
    wave = native.Wave("gfx950")
    elements_a, wave.v[16 : 16 + REGISTERS[formats[0]]] = small_lane_elements(random, formats[0], True)
    elements_b, wave.v[32 : 32 + REGISTERS[formats[1]]] = small_lane_elements(random, formats[1], True)
    a = small_matrix(plain, "A", formats[0], elements_a, shape.m, shape.k)
    b = small_matrix(plain, "B", formats[1], elements_b, shape.m, shape.k)
    c = random.standard_normal((1, shape.m, shape.n)).astype(np.float32)
    places = element_places("gfx950", plain, "CD", shape)
    put(wave.v, 64, places, c.view(np.uint32), 32)
    sources = [native.v(16, 8), native.v(32, 8), native.v(64, 16)]
    modifiers = {"cbsz": formats[0], "blgp": formats[1]}
    scale = [np.zeros((shape.m, shape.k))] * 2
    if scale_range is not None:
        wave.v[100:102] = random.integers(0, 1 << 32, (2, 64))
        bytes_ = random.integers(*scale_range, (2, 64))
        selects = 2, 3
        for operand in (0, 1):
            shift = np.uint32(8 * selects[operand])
            wave.v[100 + operand] &= ~np.uint32(0xFF << int(shift))
            wave.v[100 + operand] |= bytes_[operand].astype(np.uint32) << shift
        # Scale of (row, k): the lane of the group k // 32.
        rows, columns = np.indices((shape.m, shape.k))
        scale = [bytes_[o][columns // 32 * shape.m + rows] - 127.0 for o in (0, 1)]
        modifiers |= {"op_sel": 0b10, "op_sel_hi": 0b11}
        sources += [native.v(100), native.v(101)]
    assert not wave.run(native.instruction(name, [native.v(128, 16)], sources, **modifiers))
    result = get(wave.v, 128, places, 32).astype(np.uint32).view(np.float32)[0].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # Long doubles hold every product of the widest scales.
        left = np.ldexp(a.astype(np.longdouble), np.where(scale[0] == 128, 0, scale[0]).astype(int))
        right = np.ldexp(b.astype(np.longdouble), np.where(scale[1] == 128, 0, scale[1]).astype(int))
        expected = c[0] + left @ right.T
        magnitude = abs(c[0]) + abs(left) @ abs(right).T
    nan = (scale[0] == 128).any(1)[:, None] | (scale[1] == 128).any(1)[None, :]
    assert np.array_equal(np.isnan(result), nan) or scale_range == (0, 256)
    check = ~nan & (magnitude < 2.0**127) & np.isfinite(result)
    error = abs(result - expected)
    assert np.all(error[check] <= (shape.k + 1) * EPSILON * magnitude[check] + 2.0**-149 * shape.k)
    assert np.all(np.isnan(result[nan]))
    if scale_range != (0, 256):
        assert check.all()


# Sparse


@pytest.mark.parametrize("name", SPARSE)
def test_sparse(native, random, name: str) -> None:
    """Two of every four elements of A's row are stored; their indexes are two bits each in src2."""
    shape = SPARSE[name]
    target = "gfx950"
    wave = native.Wave(target)
    width = BITS[shape.type_a]
    lanes_k = shape.k * shape.m // 64  # elements of K that a lane covers
    stored = lanes_k // 2
    sets = 32 // (2 * stored)
    cbsz, abid = int(random.integers(0, 2)), int(random.integers(0, 4))
    a_bits = random_bits(random, shape.type_a, (64, stored))
    b_bits = random_bits(random, shape.type_b, (64, lanes_k))
    for first, bits in ((16, a_bits), (32, b_bits)):
        per = 32 // width
        for element in range(bits.shape[1]):
            wave.v[first + element // per] |= (bits[:, element] << np.uint64(width * (element % per))).astype(
                np.uint32
            )
    wave.v[60] = random.integers(0, 1 << 32, 64)
    index_set = abid % sets if cbsz == 0 else 0
    index = wave.v[60] >> np.uint32(2 * stored * index_set)
    a_stored, b_stored = values_of(shape.type_a, target, a_bits), values_of(shape.type_b, target, b_bits)
    exact = shape.type_d == "i32"
    a = np.zeros((shape.m, shape.k), np.int64 if exact else np.float64)
    b = np.zeros((shape.n, shape.k), a.dtype)
    for lane in range(64):
        start = lane // shape.m * lanes_k
        b[lane % shape.n, start : start + lanes_k] = b_stored[lane]
        for element in range(stored):
            at = start + element // 2 * 4 + (int(index[lane]) >> (2 * element) & 3)
            # Two stored elements may have one index: both are multiplied.
            a[lane % shape.m, at] += a_stored[lane, element]
    places = element_places(target, DENSE_LIKE[shape.m], "CD", DENSE[DENSE_LIKE[shape.m]])
    c = random.integers(0, 1 << 20, (1, shape.m, shape.n))
    c_bits = c.astype(np.uint64) if exact else c.astype(np.float32).view(np.uint32).astype(np.uint64)
    put(wave.v, 64, places, c_bits, 32)
    sources = [native.v(16, 4), native.v(32, 8), native.v(60)]
    assert not wave.run(native.instruction(name, [native.v(64, 16)], sources, cbsz=cbsz, abid=abid))
    pattern = get(wave.v, 64, places, 32)[0]
    with np.errstate(invalid="ignore"):
        expected = c[0] + a @ b.T
        magnitude = c[0] + abs(a) @ abs(b).T
    if exact:
        assert np.array_equal(pattern, expected.astype(np.uint64) & np.uint64(0xFFFFFFFF))
        return
    result = pattern.astype(np.uint32).view(np.float32).astype(np.float64)
    finite = np.isfinite(expected)
    error = abs(result[finite] - expected[finite])
    # Elements that share an index may cancel in the reference's magnitude.
    assert np.all(error <= 4 * (shape.k + 1) * EPSILON * magnitude[finite])


DENSE_LIKE = {16: "v_mfma_f32_16x16x32_bf16", 32: "v_mfma_f32_32x32x16_bf16"}


# The same bits on every CPU


def extreme(random: np.random.Generator, shape: tuple[int, ...], mantissa: int, kind: str) -> np.ndarray:
    """Bits of bf16 (mantissa 7) or fp32 (23).

    "plain" is around 1; "edge" has exponents about where VDPBF16PS stops being exact; "any" are bits
    whatever, so infinities, NaNs and denormals too.
    """
    bits = random.integers(0, 1 << (mantissa + 9), shape)
    if kind == "any":
        return bits.astype(np.uint64)
    lowest = {("plain", 7): 120, ("plain", 23): 110, ("edge", 7): 68, ("edge", 23): 20}[kind, mantissa]
    exponents = random.integers(lowest, lowest + 8, shape)
    bits = bits & ~(255 << mantissa) | exponents << mantissa
    return np.where(random.random(shape) < 0.1, bits >> (mantissa + 8) << (mantissa + 8), bits).astype(
        np.uint64
    )


@pytest.mark.parametrize("kind", ["plain", "edge", "any"])
@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x32_bf16", "v_mfma_f32_32x32x16_bf16"])
def test_bf16_to_the_last_bit(native, random, name: str, kind: str) -> None:
    """Denormals kept, one rounding a product, overflow to infinity, one NaN: by rational arithmetic."""
    shape = DENSE[name]
    wave = native.Wave("gfx950")
    wave.library = matrix_library(without_tiles())
    a = extreme(random, (1, shape.m, shape.k), 7, kind)
    b = extreme(random, (1, shape.k, shape.n), 7, kind)
    c = extreme(random, (1, shape.m, shape.n), 23, kind)
    if kind == "any":
        a[0, 3:] &= 0xBFFF  # rows without infinities and NaNs
        c[0, 3:] &= 0xBFFFFFFF
        b[0, :, 3:] &= 0xBFFF
    places = {o: element_places("gfx950", name, o, shape) for o in ("A", "B", "CD")}
    for first, operand, bits, width in ((16, "A", a, 16), (32, "B", b, 16), (64, "CD", c, 32)):
        put(wave.v, first, places[operand], bits, width)
    assert not wave.run(
        native.instruction(name, [native.v(128, 16)], [native.v(16, 4), native.v(32, 4), native.v(64, 16)])
    )
    result = get(wave.v, 128, places["CD"], 32).astype(np.uint32)[0]
    va, vb = values_of("bf16", "gfx950", a)[0], values_of("bf16", "gfx950", b)[0]
    for i in range(0, shape.m, 3):
        for j in range(0, shape.n, 3):
            total = float(c[0, i, j].astype(np.uint32).view(np.float32))
            for k in (n ^ 1 for n in range(shape.k)):
                total = fma(float(va[i, k]), float(vb[k, j]), total)
            expected = 0x7FC00000 if math.isnan(total) else int(np.float32(total).view(np.uint32))
            assert int(result[i, j]) == expected, (i, j)


SOFTWARE = "x86-64-v4-software-amx"
"""AMX in software: its code, tested on CPUs that have the rest of what it needs."""
EVERYTHING = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
LEVELS = ["native", "x86-64-v3", *(["x86-64-v4", "x86-64-v4-bf16"] if EVERYTHING else [])]
"""This CPU's code against code without 512-bit vectors; others take seconds to compile."""


def has_tiles() -> bool:
    """True if this CPU's code multiplies bf16 and smaller floats by AMX, which sums in another order."""
    return bool(operations().hk_matrix_unit())


def without_tiles() -> str:
    """The highest level with the same bits as all others."""
    return "x86-64-v4-bf16" if has_tiles() else "native"


@cache
def matrix_library(level: str) -> ctypes.CDLL:
    """The matrix instructions, made for a level of CPU; skips where this CPU is below it."""
    if level == "native":
        return operations()
    if not cpu.LEVELS[level].runs_here:
        pytest.skip(f"this CPU has not all that {level} wants")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIPKITTENS_CPU", level)
        # The whole library where others build it for this level, too.
        name, which = ("hkemu", "*.c") if level in ("x86-64-v3", SOFTWARE) else ("matrix", "matrix*.c")
        files, headers = sorted(NATIVE_FOLDER.rglob(which)), sorted(NATIVE_FOLDER.rglob("*.h"))
        flags = ("-DHK_LANES=64",)
        built = native_code.build(name, files, flags=flags, depends=headers, include=NATIVE_FOLDER)
        return ctypes.CDLL(str(built))


CROSS = (
    *(
        f"v_mfma_f32_{size}_{kind}"
        for size in ("16x16x32", "32x32x16")
        for kind in ("bf16", "f16", "fp8_bf8")
    ),
    *("v_mfma_f32_16x16x16_bf16", "v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_4x4x4_16b_f16"),
    *("v_mfma_i32_16x16x64_i8", "v_mfma_i32_32x32x16_i8", "v_mfma_f32_16x16x4_f32"),
    *("v_smfmac_f32_16x16x64_bf16", "v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"),
)


@pytest.mark.parametrize("name", CROSS)
def test_every_level_of_cpu_gives_the_same_bits(native, random, name: str) -> None:
    """Operands of all kinds; results in place, next to and overlapping their sources; constant C."""
    size = 16 if "16x16" in name else 32
    cases = []
    for number in range(24):
        v = random.integers(0, 1 << 32, (512, 64)).astype(np.uint32)
        kind = ("plain", "edge", "any")[number % 3]
        if "bf16" in name and kind != "any":
            halves = extreme(random, (64, 64, 2), 7, kind).astype(np.uint32)
            v[:64] = halves[..., 0] | halves[..., 1] << 16
        if "i32" not in name:
            v[64:256] = extreme(random, (192, 64), 23, kind)
        scales = random.integers(*((0, 256), (80, 140), (115, 140))[number % 3], (2, 64, 4)).astype(np.uint8)
        v[300:302] = scales.view(np.uint32)[..., 0]
        to, addend = (128, 128, 132)[number // 3 % 3], native.v((128, 64, 128)[number // 3 % 3], 16)
        addend = native.imm((1.0, 2.0**-60, 0)[number % 3]) if number % 8 == 7 else addend
        if number == 4:
            to = 8  # over A and B
        if "smfmac" in name:
            addend = native.v(300)
        target = "gfx942" if "f8f6f4" not in name and "x32_b" not in name and number % 2 else "gfx950"
        modifiers = {"cbsz": number % 5, "blgp": number // 5} if "f8f6f4" in name else {}
        sources = [native.v(0, 8), native.v(8, 8), addend]
        if "scale" in name:
            sources += [native.v(300), native.v(301)]
        cases.append((v, target, native.instruction(name, [native.v(to, size)], sources, **modifiers)))
    results = {}
    for level in LEVELS:
        tiles = level == "native" and re.search("_bf16$|f?8_bf8$|f8f6f4", name) and "_2b_" not in name
        try:
            library = matrix_library(without_tiles() if tiles and "smfmac" not in name else level)
        except pytest.skip.Exception:
            continue
        results[level] = []
        for v, target, instruction in cases:
            wave = native.Wave(target)
            wave.library = library
            wave.wave.mode = 0xF0
            wave.v[:] = v
            assert not wave.run(instruction)
            results[level].append(wave.v.copy())
    if len(results) < 2:
        pytest.skip(f"this CPU has less than two of the levels {', '.join(LEVELS)}")
    first = next(iter(results.values()))
    for level, registers in results.items():
        for number, (reference, other) in enumerate(zip(first, registers, strict=True)):
            assert np.array_equal(reference, other), (level, number)


@pytest.fixture(scope="module")
def software_library() -> ctypes.CDLL:
    """AMX's software form; tests that need it are drawn together, since building it takes many seconds."""
    return matrix_library(SOFTWARE)


KINDS = pytest.mark.parametrize("kind", ["plain", "edge", "any"])
TILED = pytest.mark.parametrize(
    "name",
    [
        "v_mfma_f32_16x16x32_bf16",
        "v_mfma_f32_32x32x16_bf16",
        "v_mfma_f32_16x16x16_bf16",
        "v_mfma_f32_32x32x8_bf16",
        "v_mfma_f32_16x16x32_fp8_fp8",
    ],
)


@KINDS
@TILED
def test_tiles_to_the_last_bit(native, random, name: str, kind: str) -> None:
    if not has_tiles():
        pytest.skip("this CPU has no AMX, or the system does not lend it")
    check_tiles(native, random, name, kind, matrix_library("native"))


@KINDS
@TILED
def test_software_tiles_to_the_last_bit(native, random, name: str, kind: str, software_library) -> None:
    check_tiles(native, random, name, kind, software_library)


def check_tiles(native, random, name: str, kind: str, library: ctypes.CDLL) -> None:
    """AMX's sums (Intel's manual, TDPBF16PS): those of even K and of odd K apart, then both, then C; where
    that is not exact, the other order."""
    shape = DENSE[name]
    eight = shape.type_a == "fp8"
    target = "gfx950" if ("gfx950", name, "A") in layouts() else "gfx942"
    wave = native.Wave(target)
    wave.library = library
    if eight:
        a, b = (random_bits(random, "fp8", (1, *size)) for size in ((shape.m, shape.k), (shape.k, shape.n)))
    else:
        a = extreme(random, (1, shape.m, shape.k), 7, kind)
        b = extreme(random, (1, shape.k, shape.n), 7, kind)
    c = extreme(random, (1, shape.m, shape.n), 23, "plain" if eight else kind)
    places = {o: element_places(target, name, o, shape) for o in ("A", "B", "CD")}
    width = 8 if eight else 16
    for first, operand, bits, size in ((16, "A", a, width), (32, "B", b, width), (64, "CD", c, 32)):
        put(wave.v, first, places[operand], bits, size)
    other = native.Wave(target)
    other.library = matrix_library(without_tiles())
    other.wave.mode, other.v[:] = wave.wave.mode, wave.v
    instruction = native.instruction(
        name, [native.v(128, 16)], [native.v(16, 4), native.v(32, 4), native.v(64, 16)]
    )
    for machine in (wave, other):
        assert not machine.run(instruction)
    result = get(wave.v, 128, places["CD"], 32).astype(np.uint32)[0]
    sequential = get(other.v, 128, places["CD"], 32).astype(np.uint32)[0]
    va, vb = values_of(shape.type_a, target, a)[0], values_of(shape.type_b, target, b)[0]
    groups = 64 // shape.m
    lane = shape.k // groups  # elements of K a lane
    # As the registers have them, lane group by lane group; pairs of 8-bit floats are made in the order of K.
    order = [g * lane + 2 * r for r in range(lane // 2) for g in range(groups)]
    if eight:
        order.sort()
    factors = eight or all(np.all((x & 0x7FFF == 0) | (x & 0x7FFF >= 0x2380)) for x in (a[0], b[0]))
    addends = c[0].astype(np.uint32).view(np.float32).astype(np.float64) * 2.0**126
    if not (factors and np.all((addends == np.rint(addends)) | ~np.isfinite(addends))):
        assert np.array_equal(result, sequential)
        return
    for i in range(0, shape.m, 3):
        for j in range(0, shape.n, 3):
            halves = [0.0, 0.0]
            for k in order:
                for odd in (0, 1):
                    halves[odd] = fma(float(va[i, k + odd]), float(vb[k + odd, j]), halves[odd])
            both = fma(1.0, halves[0], halves[1])
            total = fma(1.0, both, float(c[0, i, j].astype(np.uint32).view(np.float32)))
            expected = 0x7FC00000 if math.isnan(total) else int(np.float32(total).view(np.uint32))
            assert int(result[i, j]) == expected, (i, j)
