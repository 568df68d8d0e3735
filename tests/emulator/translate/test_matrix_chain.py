"""Chains of matrix instructions: the same registers as by single instructions, whatever they share."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulator.native.ops.test_matrix import SOFTWARE, matrix_library
from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.native.ops import NATIVE, Rows
from workbench.emulator.translate.matrix_chain import MatrixChain, sums

WORDS = abi.ffi.sizeof("Op") // 4
FLAGS_WORD = abi.offset("Op", "flags") // 4
SEEN_A, SEEN_B, LINKED = abi.MATRIX_SEEN_A, abi.MATRIX_SEEN_B, abi.MATRIX_LINKED


class Calls:
    """A fake of the block's translator: records its arguments."""

    indexed_positions = 0
    function = SimpleNamespace(wave_size=64)
    row_of = staticmethod(Rows("gfx950", 256).row)

    def __init__(self, uses_tiles: bool = False) -> None:
        self.uses_tiles = uses_tiles
        self.made: list[tuple[str, bytes, int | None]] = []

    def native(self, function: str, op: bytes, can_fault: bool, count: int | None = None) -> None:
        assert not can_fault
        self.made.append((function, op, count))

    def flags(self) -> list[int]:
        """Op.flags of every record, in order."""
        words = np.frombuffer(b"".join(op for _, op, _ in self.made), np.uint32)
        return [int(f) for f in words.reshape(-1, WORDS)[:, FLAGS_WORD]]

    def run(self, wave) -> None:
        for function, op, count in self.made:
            record = ctypes.create_string_buffer(op)
            more = [] if count is None else [ctypes.c_int32(count)]
            call = getattr(wave.library, function)
            call.restype, call.argtypes = ctypes.c_int32, None
            address = ctypes.c_void_p(abi.address(wave.wave))
            assert call(address, ctypes.c_void_p(ctypes.addressof(record)), *more) == 0


GFX950 = Rows("gfx950", 256)


def chained(
    instructions: list[Instruction], rows: Rows = GFX950, spare: int | None = None, uses_tiles: bool = False
) -> Calls:
    calls = Calls(uses_tiles)
    chain = MatrixChain(calls, spare, sums(instructions, rows))
    for instruction in instructions:
        fields = NATIVE[instruction.opcode].encode(instruction, rows)
        if instruction.record.matrix is None:
            chain.make_way(instruction)
        elif chain.add(instruction, fields):
            continue
        calls.native(fields.function, bytes(fields.record(instruction.address)), False)
    chain.finish()
    return calls


def registers(random: np.random.Generator, kind: str) -> np.ndarray:
    """[512, 64] bits: bf16 pairs around 1 ("plain"), some tiny ("edge"), or any."""
    if kind == "any":
        return random.integers(0, 1 << 32, (512, 64)).astype(np.uint32)
    halves = random.standard_normal((512, 64, 2)).astype(np.float32)
    if kind == "edge":
        tiny = random.random((512, 1, 1)) < 0.05
        halves = np.where(tiny, halves * np.float32(2.0**-60), halves)
    bits = halves.view(np.uint32) >> 16
    return bits[..., 0] | bits[..., 1] << 16


NAMES = [
    *(f"v_mfma_f32_{shape}_bf16" for shape in ("16x16x32", "16x16x16", "32x32x16")),
    *(f"v_mfma_f32_{shape}_f16" for shape in ("16x16x32", "32x32x16", "32x32x8")),
]
OTHERS = [*NAMES, "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_16x16x4_f32"]


LEVELS = ["native", SOFTWARE]
"""This CPU's code, and that of CPUs with AMX."""


def waves(native: SimpleNamespace, level: str) -> tuple[SimpleNamespace, SimpleNamespace]:
    """Two waves whose instructions are a level's; skips where this CPU cannot run them."""
    both = native.Wave("gfx950"), native.Wave("gfx950")
    for wave in both:
        wave.library = matrix_library(level)
    return both


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["plain", "edge", "any"])
@pytest.mark.parametrize("name", NAMES)
def test_random_sequences(
    native: SimpleNamespace, random: np.random.Generator, name: str, kind: str, level: str
) -> None:
    """Few registers, so that results, addends and factors meet in every way."""
    width = 16 if "32x32" in name else 4
    for _ in range(12):
        sequence = []
        for _ in range(int(random.integers(2, 24))):
            to = int(random.integers(0, 10)) * 4
            c = native.v(to, width)
            if (choice := random.random()) < 0.2:
                c = native.imm(0 if choice < 0.1 else 1.0)
            elif choice < 0.3:
                c = native.v(int(random.integers(0, 40)), width)
            a, b = (native.v(int(random.integers(0, 20)) * 2 + 30, 4) for _ in range(2))
            sequence.append(native.instruction(name, [native.v(to, width)], [a, b, c]))
            if random.random() < 0.1:
                other = OTHERS[int(random.integers(0, len(OTHERS)))]
                sequence.append(native.instruction(other, [native.v(to, 16)], [a, b, native.v(to, 16)]))
        single, other = waves(native, level)
        single.v[:] = other.v[:] = registers(random, kind)
        for instruction in sequence:
            assert single.run(instruction) == 0
        chained(sequence, uses_tiles=level == SOFTWARE).run(other)
        assert np.array_equal(single.v, other.v)


def test_tile(native: SimpleNamespace) -> None:
    """A warp's tile: every operand is inspected once, every result loaded and stored once."""
    sequence = [
        native.instruction(
            NAMES[0],
            [native.v(128 + 4 * (2 * m + n), 4)],
            [
                native.v(16 * k + 4 * m, 4),
                native.v(64 + 16 * k + 4 * n, 4),
                native.v(128 + 4 * (2 * m + n), 4),
            ],
        )
        for k in range(2)
        for m in range(3)
        for n in range(2)
    ]
    calls = chained(sequence)
    assert [count for _, _, count in calls.made] == [12]
    flags = calls.flags()
    assert sum(not f & SEEN_A for f in flags) == 6
    assert sum(not f & SEEN_B for f in flags) == 4
    assert sum(bool(f & LINKED) for f in flags) == 6


@pytest.mark.parametrize("outer", ["m", "n"])
def test_squares_of_results(native: SimpleNamespace, outer: str) -> None:
    """For the CPU's matrix unit: of each four results, two share a factor A and two a factor B; what is left
    of 5 x 3 results comes last."""
    pairs = [(m, n) for m in range(5) for n in range(3)]
    sequence = [
        native.instruction(
            NAMES[0],
            [native.v(128 + 4 * (3 * m + n), 4)],
            [
                native.v(32 * k + 4 * m, 4),
                native.v(64 + 32 * k + 4 * n, 4),
                native.v(128 + 4 * (3 * m + n), 4),
            ],
        )
        for k in range(2)
        for m, n in sorted(pairs, key=lambda pair: pair if outer == "m" else pair[::-1])
    ]
    [(_, record, count)] = chained(sequence, uses_tiles=True).made
    assert count == 30
    words = np.frombuffer(record, np.uint32).reshape(count, WORDS)
    fields = (abi.offset("Op", name) for name in ("dst", "src0", "src1"))
    d, a, b = (words.view(np.uint16)[:, offset // 2] for offset in fields)
    assert (d[::2] == d[1::2]).all()
    assert len(set(d)) == 15
    for first in range(0, 16, 8):
        assert len(set(a[first : first + 8])) == len(set(b[first : first + 8])) == 4
    assert sorted(zip(d, a, b, strict=True)) == sorted(
        (128 + 4 * (3 * m + n), 32 * k + 4 * m, 64 + 32 * k + 4 * n) for k in range(2) for m, n in pairs
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("spare", [None, 300])
@pytest.mark.parametrize("name", [NAMES[0], NAMES[1], NAMES[3]])
def test_loads_between(
    native: SimpleNamespace, random: np.random.Generator, name: str, spare: int | None, level: str
) -> None:
    """Loads overwrite factors, results and addresses in every way, with room for copies and without."""
    for _ in range(12):
        sequence = []
        for _ in range(int(random.integers(20, 90))):
            if random.random() < 0.3:
                to = int(random.choice([32, 36, 40, 44, 46, 50, 54, 56, 0, 4]))
                load = native.instruction("ds_read_b128", [native.v(to, 4)], [native.v(60)], offset=to * 64)
                sequence.append(replace(load, format="DS"))
            c = native.v(int(random.integers(0, 8)) * 4, 4)
            width = 2 if name == NAMES[1] else 4
            a, b = (native.v(int(random.integers(8, 14)) * 4, width) for _ in range(2))
            sequence.append(native.instruction(name, [c], [a, b, c]))
        single, other = waves(native, level)
        single.v[:] = other.v[:] = registers(random, "plain")
        single.v[60] = other.v[60] = 16 * np.arange(64)
        single.lds[:] = other.lds[:] = (
            registers(random, "plain").view(np.uint8).reshape(-1)[: single.lds.size]
        )
        for instruction in sequence:
            assert single.run(instruction) == 0
        chained(sequence, spare=spare, uses_tiles=level == SOFTWARE).run(other)
        named = slice(0, 300)  # the rest belongs to the chain
        assert np.array_equal(single.v[named], other.v[named])


def test_a_tile_whose_factors_are_loaded_anew(native: SimpleNamespace) -> None:
    """Factors replace those before them in registers: with room for copies results are loaded once."""
    sequence = []
    for k in range(2):
        for n in range(4):
            d = native.v(128 + 4 * n, 4)
            sequence.append(native.instruction(NAMES[0], [d], [native.v(0, 4), native.v(64 + 4 * n, 4), d]))
        load = native.instruction("ds_read_b128", [native.v(0, 4)], [native.v(40)], offset=16 * k)
        sequence.append(replace(load, format="DS"))
    assert [count for _, _, count in chained(sequence).made] == [4, None, 4, None]
    calls = chained(sequence, spare=256)
    assert [name for name, _, count in calls.made if count] == ["hk_mfma_f32_16x16_chain"]
    assert sum(bool(f & LINKED) for f in calls.flags()[-8:]) == 4


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("overwritten_by", ["ds_read_b128", "v_mfma_f32_16x16x4_f32", NAMES[0], NAMES[3]])
def test_what_overwrites_a_sum_is_looked_at(
    native: SimpleNamespace, random: np.random.Generator, overwritten_by: str, blocks: int, level: str
) -> None:
    """A chain need not inspect its own sums again. Denormals, which its fast paths would flush, come from
    elsewhere: the next chain adds zeros to them."""
    c, other = native.v(0, 4), native.v(8, 4)

    def product(a: int, to: Operand) -> Instruction:
        return native.instruction(NAMES[0], [to], [native.v(a, 4), native.v(24, 4), to])

    if overwritten_by == "ds_read_b128":
        write = replace(native.instruction(overwritten_by, [c], [native.v(60)]), format="DS")
    else:
        factors = [native.v(30, 4), native.v(30, 4)]
        write = native.instruction(overwritten_by, [c], [*factors, native.v(40, 4)])
        write = replace(write, format="VOP3P_MAI")
    sequence = [product(20, other), product(20, c), write, product(30, other), product(30, c)]
    wave, _ = waves(native, level)
    wave.v[:] = registers(random, "plain")
    wave.v[30:34], wave.v[40:44], wave.v[60] = 0, 1, 16 * np.arange(64)
    wave.lds[:] = np.ones(wave.lds.size // 4, np.uint32).view(np.uint8)
    for part in (sequence,) if blocks == 1 else (sequence[:3], sequence[3:]):
        chained(part).run(wave)
    assert (wave.v[:4] == 1).all()


def test_alone_is_no_chain(native: SimpleNamespace) -> None:
    operands = [native.v(8, 4)], [native.v(0, 4), native.v(4, 4), native.v(8, 4)]
    calls = chained([native.instruction(NAMES[0], *operands)]).made
    assert [name for name, _, _ in calls] == ["hk_mfma_f32_16x16", "hk_forget_sums"]


def waiting(native: SimpleNamespace) -> MatrixChain:
    """A chain with a wait: A in v0 to v3, B in v10 to v13, C and D in v32 to v35."""
    chain = MatrixChain(Calls())
    operands = [native.v(32, 4)], [native.v(0, 4), native.v(10, 4), native.v(32, 4)]
    matrix = native.instruction(NAMES[0], *operands)
    assert chain.add(matrix, NATIVE[NAMES[0]].encode(matrix, GFX950))
    return chain


SCALAR = [
    ("s_add_u32", "SOP2", True),
    ("s_cmp_lg_u32", "SOPC", True),
    ("s_setreg_b32", "SOPK", False),
    ("s_set_gpr_idx_on", "SOPC", False),
    ("s_cbranch_scc0", "SOPP", False),
    ("s_swappc_b64", "SOP1", False),
    ("v_mov_b32", "VOP1", True),
    ("s_load_dword", "SMEM", False),
]


@pytest.mark.parametrize(("opcode", "format_", "expected"), SCALAR)
def test_what_may_run_before(native: SimpleNamespace, opcode: str, format_: str, expected: bool) -> None:
    chain = waiting(native)
    assert chain.lets_pass(replace(native.instruction(opcode), format=format_)) is expected


@pytest.mark.parametrize(
    ("dst", "src", "expected"),
    [
        ([(40, 4)], [(50, 1)], True),
        ([(2, 4)], [(50, 1)], False),  # into A
        ([(40, 4)], [(33, 1)], False),  # an address that is a result
        ([], [(50, 1), (29, 4)], False),  # stores a result
        ([(13, 4)], [(50, 1)], False),  # the last row of B, and past it
        ([], [(50, 2)], True),
        ([], [(50, 1), (2, 4)], True),  # stores a factor
    ],
)
def test_memory_beside_the_chain(native: SimpleNamespace, dst: list, src: list, expected: bool) -> None:
    chain = waiting(native)
    memory = native.instruction("ds_read_b128", [native.v(*d) for d in dst], [native.v(*s) for s in src])
    assert chain.lets_pass(replace(memory, format="DS")) is expected
