"""`numerics=exact`: matrix instructions to the bit, on published cases and against an independent reference.

matrix_bits_gfx942.npz.xz (tests/data) has a part of the cases that MMA-Sim's model made of an MI300X; others
in the same form are taken where HIPKITTENS_TEST_MATRIX_CASES names their file. published_arithmetic.py has
the same arithmetic in Python's integers, and gives other random cases.
"""

from __future__ import annotations

import io
import lzma
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.native.ops.published_arithmetic import FORMATS, PUBLISHED, multiply
from tests.emulator.native.ops.test_matrix import (
    BITS,
    DENSE,
    DENSE_LIKE,
    LEVELS,
    REGISTERS,
    SMALL,
    SPARSE,
    element_places,
    get,
    layouts,
    matrix_library,
    put,
    small_lane_elements,
    small_matrix,
)
from tests.emulator.translate.test_matrix_chain import chained

DATA = Path(__file__).parents[3] / "data"
RECORDED = Path(os.environ.get("HIPKITTENS_TEST_MATRIX_CASES") or DATA / "matrix_bits_gfx942.npz.xz")


@cache
def recorded() -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Bits of A, B, C and D by instruction ("f32_16x16x16_f16") and case ("wide")."""
    cases: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    # Hundreds of small arrays: NumPy's compression, array by array, takes twice the bytes.
    content = RECORDED.read_bytes()
    if RECORDED.suffix == ".xz":
        content = lzma.decompress(content)
    with np.load(io.BytesIO(content)) as file:
        for key in file.files:
            _, instruction, case, operand = key.split("|")
            cases.setdefault((instruction, case), {})[operand] = file[key]
    return cases


def kinds_of(instruction: str) -> tuple[str, str]:
    """Types of A and B by an instruction's name."""
    kinds = re.fullmatch(r"f\d\d_\d+x\d+x\d+(?:_\d+b)?_(x?b?f\w\w?)(?:_(b?f\w+))?", instruction)
    assert kinds
    return kinds[1], kinds[2] or kinds[1]


def same_bits(bits: np.ndarray, other: np.ndarray) -> np.ndarray:
    """True where two arrays of bits of fp32 or fp64 are equal; all NaNs are equal."""
    as_float = np.float64 if bits.dtype == np.uint64 else np.float32
    return (bits == other) | (np.isnan(bits.view(as_float)) & np.isnan(other.view(as_float)))


def run(native, name: str, a, b, c, target: str = "gfx942", library=None) -> np.ndarray:
    """D of one instruction on a wave, [blocks, m, n] bits; A, B and C are [blocks, ...]."""
    shape = DENSE[name]
    wave = native.Wave(target, exact=True)
    if library is not None:
        wave.library = library
    wave.wave.mode = 0xF0
    kinds = {"A": shape.type_a, "B": shape.type_b, "CD": shape.type_d}
    # The layouts of gfx950's older instructions are gfx942's.
    layout = target if (target, name, "A") in layouts() else "gfx942"
    places = {o: element_places(layout, name, o, shape) for o in kinds}
    for (operand, kind), first, bits in zip(kinds.items(), (16, 32, 64), (a, b, c), strict=True):
        put(wave.v, first, places[operand], bits.astype(np.uint64), BITS[kind])
    sources = [native.v(16, 8), native.v(32, 8), native.v(64, 32)]
    assert not wave.run(native.instruction(name, [native.v(128, 32)], sources))
    result = get(wave.v, 128, places["CD"], BITS[shape.type_d])
    return result if shape.type_d == "f64" else result.astype(np.uint32)


def whole(instruction: str, bits: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], int]:
    """Operands of the instruction's size: zeros between what is recorded, rows and columns `step` apart."""
    shape = DENSE[f"v_mfma_{instruction}"]
    sizes = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "C": (shape.m, shape.n)}
    full = {operand: np.zeros(size, bits[operand].dtype) for operand, size in sizes.items()}
    step = shape.m // len(bits["A"])
    full["A"][::step], full["B"][:, ::step], full["C"][::step, ::step] = (bits[o] for o in "ABC")
    return full, step


INSTRUCTIONS = sorted({instruction for instruction, _ in recorded()})


def test_recorded_cases_are_of_every_float_instruction_of_gfx942() -> None:
    named = {f"v_mfma_{i}" for i in INSTRUCTIONS}
    there = {n for t, n, _ in layouts() if t == "gfx942" and n in DENSE and DENSE[n].type_d != "i32"}
    assert there == named
    assert all(
        {case for of, case in recorded() if of == instruction}
        == {"normal", "wide", "cancel", "small", "large", "special"}
        for instruction in INSTRUCTIONS
    )


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_published_cases(native, instruction: str) -> None:
    """Every bit of every recorded case, in each block of an instruction, and of the reference too."""
    name = f"v_mfma_{instruction}"
    blocks = DENSE[name].blocks
    for (of, case), bits in recorded().items():
        if of != instruction:
            continue
        assert same_bits(multiply(*(bits[o] for o in "ABC"), *kinds_of(instruction)), bits["D"]).all(), case
        full, step = whole(instruction, bits)
        result = run(native, name, *(np.broadcast_to(full[o], (blocks, *full[o].shape)) for o in "ABC"))
        for block in range(blocks):
            assert same_bits(result[block][::step, ::step], bits["D"]).all(), (case, block)


MUTANTS = {
    "one rounding a product": {"group_16": 1, "group_8": 1, "group_32": 1},
    "groups of 4 for 16 bits": {"group_16": 4},
    "groups of 16 for 16 bits": {"group_16": 16},
    "groups of 8 for xf32": {"group_32": 8},
    "groups of 8 for 8 bits": {"group_8": 8},
    "groups of 32 for 8 bits": {"group_8": 32},
    "a bit less of products": {"product_bits": 23},
    "a bit more of products": {"product_bits": 25},
    "a bit less of the sum": {"sum_bits": 30},
    "a bit more of the sum": {"sum_bits": 32},
    "a bit less of the addend": {"addend_bits": 23},
    "a bit more of the addend": {"addend_bits": 25},
    "products rounded down": {"product_down": True},
    "sums cut towards zero": {"sum_down": False},
    "addends cut towards zero": {"addend_down": False},
    "zeros without an exponent": {"zero_exponent": -1000},
    "even and odd k together": {"split": False},
    "addends of 8 bits reach further": {"addend_reach": 26},
    "addends of 8 bits reach less": {"addend_reach": 24},
    "products stay finite": {"overflow": 1000},
    "products overflow early": {"overflow": 127},
    "results cut": {"nearest": False},
    "a bit less of xf32": {"xf32_bits": 9},
    "a bit more of xf32": {"xf32_bits": 11},
}


def bf16(*values: float) -> np.ndarray:
    """The bits of the upper halves of fp32."""
    return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


# A row of A, a column of B, an element of C, and D computed by hand: cases that the recording lacks.
BY_HAND = {
    # A tie, and 2^-32 above it: rounded down to 2^-31 it stays a tie, and goes to even.
    "below 31 bits of the sum": (bf16(2**-12, 2**-16), bf16(2**-12, 2**-16), 1.0, 1.0),
    "31 bits of the sum": (bf16(2**-12, 2**-15), bf16(2**-12, 2**-16), 1.0, 1 + 2**-23),
    # 0 times 2^60 has exponent -66, so 2^-91 is beyond 24 bits.
    "a zero's exponent": (bf16(0, 2**-45), bf16(2.0**60, 2**-46), 0.0, 0.0),
    "above a zero's exponent": (bf16(0, 2**-45), bf16(2.0**60, 2**-45), 0.0, 2**-90),
}


def by_hand(case: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C and D of a 16x16x16 instruction, the same in every element of D."""
    row, column, addend, result = BY_HAND[case]
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 16), np.uint16)
    a[:, : len(row)], b[: len(column)] = row, column[:, None]
    c, d = (np.full((16, 16), x, np.float32).view(np.uint32) for x in (addend, result))
    return a, b, c, d


@pytest.mark.parametrize("case", BY_HAND)
def test_cases_by_hand(native, case: str) -> None:
    a, b, c, d = by_hand(case)
    assert np.array_equal(multiply(a, b, c, "bf16", "bf16"), d)
    assert np.array_equal(run(native, "v_mfma_f32_16x16x16_bf16", a[None], b[None], c[None])[0], d)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_cases_tell_mutants(mutant: str) -> None:
    """Changing any constant of the rules makes a case fail."""
    rules = replace(PUBLISHED, **MUTANTS[mutant])
    for case in BY_HAND:
        a, b, c, d = by_hand(case)
        if not np.array_equal(multiply(a, b, c, "bf16", "bf16", rules), d):
            return
    for (instruction, _), bits in recorded().items():
        kinds = kinds_of(instruction)
        if kinds[0] in ("f32", "f64"):
            continue
        if not same_bits(multiply(*(bits[o] for o in "ABC"), *kinds, rules), bits["D"]).all():
            return
    pytest.fail(f"every case has the same bits with {MUTANTS[mutant]}")


def bits_of(
    random: np.random.Generator, kind: str, spread: int, low: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Random numbers with exponents `low` to `low + spread`, within the type's range; a tenth are 0."""
    form = FORMATS[kind]
    top = (1 << form.exponent_bits) - 2
    field = random.integers(low + form.bias, low + form.bias + spread + 1, shape).clip(0, top)
    mantissa = random.integers(0, 1 << form.mantissa_bits, shape)
    sign = random.integers(0, 2, shape)
    pattern = (sign << form.exponent_bits | field) << form.mantissa_bits | mantissa
    sign_bit = form.exponent_bits + form.mantissa_bits
    bits = np.where(random.random(shape) < 0.1, sign << sign_bit, pattern)
    return bits.astype({7: np.uint8, 15: np.uint16, 31: np.uint32}[sign_bit])


# Exponents of A and B (lowest, spread) and of C, near where native/ops/matrix_exact.c changes its method.
PLACES = {
    "around 1": (-2, 4, 0, 6),
    "addends far above": (-3, 3, 8, 12),
    "addends just above the short way": (0, 0, 4, 3),
    "addends far below": (0, 4, -30, 12),
    "wide": (-12, 24, -10, 20),
    "lowest factors": (-37, 4, -74, 10),
    "highest factors": (14, 4, 30, 10),
    "lowest addends": (-35, 3, -97, 5),
    "highest addends": (10, 4, 97, 6),
    "overflow": (60, 4, 120, 7),
    "denormal results": (-70, 4, -127, 5),
}
SOME = (
    *("v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_bf16", "v_mfma_f32_16x16x8_xf32"),
    *("v_mfma_f32_16x16x32_fp8_bf8", "v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_4x4x4_16b_bf16"),
    *("v_mfma_f32_32x32x4_xf32", "v_mfma_f32_32x32x16_bf8_bf8"),
)


def operands(random: np.random.Generator, name: str, place: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random A, B and C, [blocks, ...]."""
    shape = DENSE[name]
    low, spread, c_low, c_spread = PLACES[place]
    a = bits_of(random, shape.type_a, spread, low, (shape.blocks, shape.m, shape.k))
    b = bits_of(random, shape.type_b, spread, low, (shape.blocks, shape.k, shape.n))
    return a, b, bits_of(random, "f32", c_spread, c_low, (shape.blocks, shape.m, shape.n))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SOME)
def test_other_cases(native, random, name: str, place: str) -> None:
    """Compares with the reference at the edges of the fast path for many elements."""
    shape = DENSE[name]
    a, b, c = operands(random, name, place)
    result = run(native, name, a, b, c)
    for block in range(min(shape.blocks, 2)):
        expected = multiply(a[block], b[block], c[block], shape.type_a, shape.type_b)
        assert same_bits(result[block], expected).all()


@pytest.mark.parametrize("distance", range(3, 10))
def test_edge_of_the_short_way(native, random, distance: int) -> None:
    """Sums whose last bits decide a tie: an addend `distance` above the products."""
    name = "v_mfma_f32_16x16x16_bf16"
    unit = np.uint16(0x3F80)
    a = np.where(random.random((1, 16, 16)) < 0.5, unit, random.integers(0x3F80, 0x4000, (1, 16, 16)))
    b = np.where(random.random((1, 16, 16)) < 0.5, unit, random.integers(0x3F80, 0x4000, (1, 16, 16)))
    signs = random.integers(0, 2, (2, 1, 16, 16)) << 15
    a, b = (a | signs[0]).astype(np.uint16), (b | signs[1]).astype(np.uint16)
    # Small products together with large ones, so that low bits are cut.
    a[0, :, ::3] -= np.uint16(9 << 7)
    c = ((127 + distance) << 23 | random.integers(0, 1 << 23, (1, 16, 16))).astype(np.uint32)
    c |= (random.integers(0, 2, (1, 16, 16)) << 31).astype(np.uint32)
    c[0, ::2] &= np.uint32(0xFFFFFFFE)
    expected = multiply(a[0], b[0], c[0], "bf16", "bf16")
    assert np.array_equal(run(native, name, a, b, c)[0], expected)


@pytest.mark.parametrize(
    "name", ["v_mfma_f32_16x16x32_bf16", "v_mfma_f32_32x32x16_f16", "v_mfma_f32_16x16x32_fp8_bf8"]
)
def test_gfx950_has_the_rules_of_gfx942(native, random, name: str) -> None:
    """Assumed: its K, and the OCP encoding of 8 bits."""
    shape = DENSE[name]
    a, b, c = operands(random, name, "around 1")
    kinds = [f"{k} ocp" if BITS[k] == 8 else k for k in (shape.type_a, shape.type_b)]
    expected = multiply(a[0], b[0], c[0], *kinds)
    assert same_bits(run(native, name, a, b, c, target="gfx950")[0], expected).all()


@pytest.mark.parametrize("name", ["v_smfmac_f32_16x16x32_bf16", "v_smfmac_f32_32x32x32_fp8_bf8"])
def test_sparse(native, random, name: str) -> None:
    """Assumed: what is stored counts as K."""
    shape = SPARSE[name]
    wave = native.Wave("gfx942", exact=True)
    per, lanes_k = 32 // BITS[shape.type_a], shape.k * shape.m // 64
    stored = lanes_k // 2
    a = bits_of(random, shape.type_a, 4, -2, (64, stored))
    b = bits_of(random, shape.type_b, 4, -2, (64, lanes_k))
    for first, bits in ((16, a), (32, b)):
        for element in range(bits.shape[1]):
            word = bits[:, element].astype(np.uint32) << np.uint32(BITS[shape.type_a] * (element % per))
            wave.v[first + element // per] |= word
    wave.v[60] = random.integers(0, 1 << 32, 64)
    dense = DENSE_LIKE[shape.m]
    places = element_places("gfx950", dense, "CD", DENSE[dense])
    c = bits_of(random, "f32", 3, 0, (shape.m, shape.n))
    put(wave.v, 64, places, c[None].astype(np.uint64), 32)
    sources = [native.v(16, 4), native.v(32, 8), native.v(60)]
    assert not wave.run(native.instruction(name, [native.v(64, 16)], sources))
    result = get(wave.v, 64, places, 32)[0].astype(np.uint32)
    groups = 64 // shape.m
    rows = np.concatenate([a[g * shape.m : (g + 1) * shape.m] for g in range(groups)], 1)
    columns = np.concatenate([b[g * shape.n : (g + 1) * shape.n] for g in range(groups)], 1)
    for i in range(0, shape.m, 5):
        at = [
            g * lanes_k + e // 2 * 4 + (int(wave.v[60][g * shape.m + i]) >> (2 * e) & 3)
            for g in range(groups)
            for e in range(stored)
        ]
        expected = multiply(rows[i : i + 1], columns[:, at].T, c[i : i + 1], shape.type_a, shape.type_b)
        assert same_bits(result[i], expected[0]).all()


SMALL_KINDS = ["fp8 ocp", "bf8 ocp", "fp6", "bf6", "fp4"]


@pytest.mark.parametrize("scales", [None, (120, 134), (0, 256)])
@pytest.mark.parametrize("formats", [(0, 1), (2, 3), (4, 4)])
@pytest.mark.parametrize("plain", ["v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"])
def test_small_floats(native, random, plain: str, formats: tuple[int, int], scales) -> None:
    """Assumed: as 8 bits, the exponents of the scales added to those of the products."""
    shape = SMALL[plain]
    wave = native.Wave("gfx950", exact=True)
    matrices, kinds = [], [SMALL_KINDS[f] for f in formats]
    for first, operand, format_ in ((16, "A", formats[0]), (32, "B", formats[1])):
        _, wave.v[first : first + REGISTERS[format_]] = small_lane_elements(random, format_, True)
        form = FORMATS[SMALL_KINDS[format_]]
        width = 1 + form.exponent_bits + form.mantissa_bits
        codes = np.zeros((64, 32))
        for lane in range(64):
            words = wave.v[first : first + REGISTERS[format_], lane]
            value = sum(int(w) << (32 * r) for r, w in enumerate(words))
            codes[lane] = [value >> (width * e) & (1 << width) - 1 for e in range(32)]
        matrices.append(small_matrix(plain, operand, format_, codes, shape.m, shape.k).astype(np.uint8))
    c = bits_of(random, "f32", 6, 0, (shape.m, shape.n))
    places = element_places("gfx950", plain, "CD", shape)
    put(wave.v, 64, places, c[None].astype(np.uint64), 32)
    sources, name, exponents = [native.v(16, 8), native.v(32, 8), native.v(64, 16)], plain, None
    if scales is not None:
        name = plain.replace("mfma", "mfma_scale")
        wave.v[100:102] = random.integers(*scales, (2, 64))
        rows, columns = np.indices((shape.m, shape.k))
        a, b = (wave.v[100 + o][columns // 32 * shape.m + rows].astype(np.int64) - 127 for o in (0, 1))
        exponents = a, b.T
        sources += [native.v(100), native.v(101)]
    modifiers = {"cbsz": formats[0], "blgp": formats[1]}
    assert not wave.run(native.instruction(name, [native.v(128, 16)], sources, **modifiers))
    result = get(wave.v, 128, places, 32)[0].astype(np.uint32)
    expected = multiply(matrices[0], matrices[1].T, c, *kinds, scales=exponents)
    if exponents is not None:
        nan = (exponents[0] == 128).any(1)[:, None] | (exponents[1] == 128).any(0)[None]
        expected = np.where(nan, np.uint32(0x7FC00000), expected)
    assert same_bits(result, expected).all()


@pytest.mark.parametrize("place", ["around 1", "wide", "lowest addends", "overflow"])
@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_bf16", "v_mfma_f32_32x32x8_f16"])
def test_chains(native, random, name: str, place: str) -> None:
    """The same registers as by single instructions, whatever they share."""
    shape = DENSE[name]
    low, spread, c_low, c_spread = PLACES[place]
    width, functions = 16 if shape.m == 32 else 4, []
    for number in range(6):
        sequence = []
        for _ in range(int(random.integers(2, 24))):
            # In every other sequence some factors are results.
            to = int(random.integers(0, 6)) * width
            c = native.v(to, width) if random.random() < 0.8 else native.imm(0)
            a, b = (native.v(int(random.integers(0, 24)) * 2 + 100 - 10 * (number % 2), 2) for _ in range(2))
            sequence.append(native.instruction(name, [native.v(to, width)], [a, b, c]))
        single, other = native.Wave("gfx942", exact=True), native.Wave("gfx942", exact=True)
        halves = bits_of(random, shape.type_a, spread, low, (512, 64, 2)).astype(np.uint32)
        single.v[:] = halves[..., 0] | halves[..., 1] << np.uint32(16)
        single.v[:100] = bits_of(random, "f32", c_spread, c_low, (100, 64))
        other.v[:] = single.v
        for instruction in sequence:
            assert single.run(instruction) == 0
        calls = chained(sequence, other.rows)
        calls.run(other)
        functions += [function for function, _, _ in calls.made]
        assert same_bits(single.v, other.v).all()
    assert any(function.endswith("_chain") for function in functions)


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "native"])
def test_every_level_of_cpu_gives_the_same_bits(native, random, level: str) -> None:
    library = matrix_library(level)
    for name in SOME[:5]:
        for place in PLACES:
            a, b, c = operands(random, name, place)
            assert np.array_equal(run(native, name, a, b, c), run(native, name, a, b, c, library=library))
