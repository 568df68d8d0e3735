"""Runs of lane-wise instructions over more registers than an L1 cache has room for."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from workbench.codeobject.decoder import decode
from workbench.emulator.native import abi
from workbench.emulator.translate import emission, engine, lane_run
from workbench.emulator.translate.options import Mode, Options
from workbench.toolchain import cpu

ROWS, LENGTH = 250, 900
# Opcodes of VOP2 (CDNA3 ISA guide, 12.9) with their meaning.
OPERATIONS = {
    0x13: np.bitwise_and,
    0x14: np.bitwise_or,
    0x15: np.bitwise_xor,
    0x34: np.add,
    0x35: np.subtract,
}
CONDITIONAL = 0x00  # v_cndmask_b32: source 1 where VCC has the lane, else source 0


def vop2(opcode: int, target: int, first: int, second: int) -> int:
    return opcode << 25 | target << 17 | second << 9 | 256 + first


def translated(words: list[int]) -> tuple[emission.Emitted, bytes]:
    """One block of these instructions, and its object file."""
    block = decode(struct.pack(f"<{len(words) + 1}I", *words, 0xBF810000), 0, "gfx942")
    options = Options("gfx942", 0, Mode(), cpu.features(), 64, ROWS)
    emitted = emission.emit([block], {0: 0}, options, lambda failures: pytest.fail(str(failures)))
    return emitted, engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)


def run(words: list[int], rows: np.ndarray, mask: int, condition: int) -> np.ndarray:
    """Rows after the instructions, by the translated code of one block."""
    emitted, data = translated(words)
    code = engine.LoadedCode(data, emitted.symbols, ["block0"], ROWS)
    memory = np.zeros(abi.ffi.sizeof("Wave") + ROWS * 256 + 128, np.uint8)
    registers = memory[-memory.ctypes.data % 64 :][: ROWS * 256]
    wave = abi.ffi.cast("Wave *", registers.ctypes.data + registers.nbytes)
    wave.v = abi.ffi.cast("uint32_t *", registers.ctypes.data)
    wave.s[abi.EXEC], wave.s[abi.EXEC + 1] = mask & 0xFFFFFFFF, mask >> 32
    wave.s[abi.VCC], wave.s[abi.VCC + 1] = condition & 0xFFFFFFFF, condition >> 32
    registers.view(np.uint32)[:] = rows.ravel()
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.addresses["block0"])(abi.address(wave))
    return registers.view(np.uint32).reshape(ROWS, 64).copy()


def test_a_run_over_many_registers(random: np.random.Generator) -> None:
    rows = random.integers(0, 2**32, (ROWS, 64), np.uint32)
    lanes, chooses = random.random(64) < 0.7, random.random(64) < 0.5
    expected, words = rows.copy(), []
    for opcode in random.choice([*OPERATIONS, CONDITIONAL], LENGTH):
        target, first, second = (int(n) for n in random.integers(0, ROWS, 3))
        words.append(vop2(int(opcode), target, first, second))
        a, b = expected[first], expected[second]
        result = np.where(chooses, b, a) if opcode == CONDITIONAL else OPERATIONS[opcode](a, b)
        expected[target] = np.where(lanes, result, expected[target])
    mask, condition = (
        int(bits @ (np.uint64(1) << np.arange(64, dtype=np.uint64))) for bits in (lanes, chooses)
    )
    np.testing.assert_array_equal(run(words, rows, mask, condition), expected)


def test_code_between_that_reads_and_writes_rows(
    random: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conversions in C take rows from memory: the bits are those of a run that keeps nothing on the stack."""
    rows = random.integers(0, 2**32, (ROWS, 64), np.uint32)
    words: list[int] = []
    for number in range(LENGTH):
        target, first, second = (int(n) for n in random.integers(0, ROWS, 3))
        if number % 9 == 8:
            words.append(0x7E000000 | target << 17 | 0x29 << 9 | 256 + first)  # v_sin_f32
        else:
            words.append(vop2(0x15, target, first, second))
    mask = int(random.integers(0, 2**63))
    with_stack = run(words, rows, mask, 0)
    monkeypatch.setattr(lane_run, "_L1_BYTES", 1 << 30)
    np.testing.assert_array_equal(with_stack, run(words, rows, mask, 0))


@pytest.mark.skipif(cpu.machine() != "x86_64", reason="the encoding of x86-64's instructions")
def test_offsets_of_the_stack_are_short(random: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte for the offset of a slot, so that a run over many registers fits an instruction cache."""
    monkeypatch.setenv("HIPKITTENS_CPU", "x86-64-v4")
    words = [vop2(0x15, *(int(n) for n in random.integers(0, ROWS, 3))) for _ in range(LENGTH)]
    short = len(translated(words)[1])
    monkeypatch.setattr(lane_run, "_MIDDLE", 0)
    assert short < 0.95 * len(translated(words)[1])
