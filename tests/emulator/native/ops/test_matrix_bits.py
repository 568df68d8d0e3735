"""`numerics=exact`: matrix instructions to the bit, on published cases and against an independent reference.

matrix_bits_gfx942.npz (tests/data) has a part of the cases that MMA-Sim's model made of an MI300X; all of them are
taken where HIPKITTENS_TEST_MATRIX_CASES names their file. published_arithmetic.py has the same arithmetic again, in
Python's integers; other random cases come from it.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.native.ops import published_arithmetic
from tests.emulator.native.ops.published_arithmetic import FORMATS, PUBLISHED, Rules
from tests.emulator.native.ops.test_matrix import BITS, DENSE, SPARSE, element_places, get, put

DATA = Path(__file__).parents[3] / "data"
RECORDED = Path(os.environ.get("HIPKITTENS_TEST_MATRIX_CASES") or DATA / "matrix_bits_gfx942.npz")


@cache
def recorded() -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Bits of A, B, C and D by instruction ("f32_16x16x16_f16") and case ("wide")."""
    cases: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    with np.load(RECORDED) as file:
        for key in file.files:
            _, instruction, case, operand = key.split("|")
            cases.setdefault((instruction, case), {})[operand] = file[key]
    return cases


def kinds_of(instruction: str) -> tuple[str, str]:
    """Types of A and B by an instruction's name."""
    kinds = re.fullmatch(r"f\d\d_\d+x\d+x\d+(?:_\d+b)?_(x?b?f\w\w?)(?:_(b?f\w+))?", instruction)
    assert kinds
    return kinds[1], kinds[2] or kinds[1]


def same_bits(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Where two arrays of bits of fp32 or fp64 are equal; NaNs are, whatever their payload."""
    as_float = np.float64 if one.dtype == np.uint64 else np.float32
    return (one == other) | (np.isnan(one.view(as_float)) & np.isnan(other.view(as_float)))


def run(native, name: str, a, b, c, target: str = "gfx942", library=None) -> np.ndarray:
    """D of one instruction on a wave, [blocks, m, n] bits; A, B and C are [blocks, ...]."""
    shape = DENSE[name]
    wave = native.Wave(target, exact=True)
    if library is not None:
        wave.library = library
    wave.wave.mode = 0xF0
    kinds = {"A": shape.type_a, "B": shape.type_b, "CD": shape.type_d}
    places = {o: element_places(target, name, o, shape) for o in kinds}
    for (operand, kind), first, bits in zip(kinds.items(), (16, 32, 64), (a, b, c), strict=True):
        put(wave.v, first, places[operand], bits.astype(np.uint64), BITS[kind])
    sources = [native.v(16, 8), native.v(32, 8), native.v(64, 32)]
    assert not wave.run(native.instruction(name, [native.v(128, 32)], sources))
    found = get(wave.v, 128, places["CD"], BITS[shape.type_d])
    return found if shape.type_d == "f64" else found.astype(np.uint32)


@pytest.mark.parametrize("instruction", sorted({instruction for instruction, _ in recorded()}))
def test_published_cases(native, instruction: str) -> None:
    """Every bit of every recorded case, in each block of an instruction."""
    name = f"v_mfma_{instruction}"
    blocks = DENSE[name].blocks
    for (of, case), bits in recorded().items():
        if of != instruction:
            continue
        repeated = [np.broadcast_to(bits[o], (blocks, *bits[o].shape)) for o in "ABC"]
        found = run(native, name, *repeated)
        for block in range(blocks):
            assert same_bits(found[block], bits["D"]).all(), (case, block)
