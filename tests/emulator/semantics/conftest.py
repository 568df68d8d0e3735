"""A wave on which tests run single instructions of real machine code, many in one compilation.

Tests name instructions by their text; encodings.json has most encodings, which saves starting the assembler
(0.1 s each). `HIPKITTENS_UPDATE_ENCODINGS=1` adds those that are missing.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from assembler import assemble

from tests import json_records

sys.path.insert(0, str(Path(__file__).parent))

ENCODINGS = Path(__file__).with_name("encodings.json")


@functools.cache
def _known() -> dict[str, dict[str, list[int]]]:
    """Dwords of each instruction's text by target; the file has a line for each opcode."""
    return {
        target: {
            f"{opcode} {operands}".rstrip(): code
            for opcode, codes in opcodes.items()
            for operands, code in codes.items()
        }
        for target, opcodes in json.loads(ENCODINGS.read_text()).items()
    }


def _write() -> None:
    content: dict[str, dict[str, dict[str, list[int]]]] = {}
    for target, codes in _known().items():
        for text, code in codes.items():
            opcode, _, operands = text.partition(" ")
            content.setdefault(target, {}).setdefault(opcode, {})[operands] = code
    ENCODINGS.write_text(json_records.dumps(content, depth=2))


def _assemble(texts: list[str], target: str) -> dict[str, list[int]]:
    codes = zip(texts, assemble(texts, target), strict=True)
    return {text: list(struct.unpack(f"<{len(code) // 4}I", code)) for text, code in codes}


def encode(texts: Iterable[str], target: str) -> dict[str, list[int]]:
    """Machine code of each text, as dwords."""
    table = _known().setdefault(target, {})
    missing = sorted({text for text in texts if text not in table})
    if missing:
        table.update(_assemble(missing, target))
        if os.environ.get("HIPKITTENS_UPDATE_ENCODINGS"):
            _write()
    return {text: table[text] for text in texts}


class State:
    """Registers of a wave: `v` [rows][lanes] and `s` [129] (the last is SCC) as uint32."""

    def __init__(self, rows: int = 64, lanes: int = 64) -> None:
        from workbench.emulator.native.abi import ffi

        size = rows * lanes * 4
        room = np.zeros(size + 64, np.uint8)
        start = -room.ctypes.data % 64
        self._room = room
        self.v = room[start : start + size].view(np.uint32).reshape(rows, lanes)
        self._wave_room = np.zeros(ffi.sizeof("Wave") + 64, np.uint8)
        self.address = self._wave_room.ctypes.data + -self._wave_room.ctypes.data % 64
        self.wave = ffi.cast("Wave *", self.address)
        self.wave.v = ffi.cast("uint32_t *", self.v.ctypes.data)
        self.s = np.frombuffer((ctypes.c_uint32 * 129).from_address(self.address), np.uint32)
        self.exec = (1 << lanes) - 1
        self.wave.mode = 0x3F0

    @property
    def exec(self) -> int:
        return int(self.s[126]) | int(self.s[127]) << 32

    @exec.setter
    def exec(self, value: int) -> None:
        self.s[126], self.s[127] = value & 0xFFFFFFFF, value >> 32

    def pair(self, index: int) -> int:
        """A 64-bit scalar register pair."""
        return int(self.s[index]) | int(self.s[index + 1]) << 32

    def set_pair(self, index: int, value: int) -> None:
        self.s[index], self.s[index + 1] = value & 0xFFFFFFFF, value >> 32

    def wide(self, row: int) -> np.ndarray:
        """Two rows as 64-bit numbers, one per lane."""
        return self.v[row].astype(np.uint64) | self.v[row + 1].astype(np.uint64) << np.uint64(32)

    def set_wide(self, row: int, values: np.ndarray) -> None:
        self.v[row] = (values & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        self.v[row + 1] = (values >> np.uint64(32)).astype(np.uint32)


Runner = Callable[[State], int]


def build(
    programs: Sequence[Sequence[str]], target: str = "gfx950", mode: int = 0x3F0, acc_offset: int = 32
) -> list[Runner]:
    """Functions that run each program (a straight list of instructions) on a state."""
    codes = encode([text for program in programs for text in program], target)
    end = b"\x00\x00\x81\xbf"  # s_endpgm
    words = [[word for text in program for word in codes[text]] for program in programs]
    return build_code(
        [struct.pack(f"<{len(code)}I", *code) + end for code in words], target, mode, acc_offset
    )


def build_code(
    programs: Sequence[bytes], target: str, mode: int = 0x3F0, acc_offset: int = 32, lanes: int = 64
) -> list[Runner]:
    """Functions that run each program (a straight list of instructions, then `s_endpgm`) on a state."""
    from workbench import targets
    from workbench.codeobject.decoder import decode
    from workbench.emulator.translate import emission, engine
    from workbench.emulator.translate.options import Mode, Options
    from workbench.toolchain import cpu

    blocks = []
    index_of = {}
    for number, program in enumerate(programs):
        address = 0x1000000 * number
        blocks.append(list(decode(program, address, target, lanes)))
        index_of[address] = number
    options = Options(
        target,
        acc_offset,
        Mode.from_register(mode),
        cpu.features(),
        lanes,
        64,
        has_null=targets.target(target).has_null,
    )

    def refuse(failures: list) -> None:
        raise AssertionError([(instruction.mnemonic, reason) for instruction, reason in failures])

    emitted = emission.emit(blocks, index_of, options, refuse)
    data = engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)
    names = [f"block{number}" for number in range(len(programs))]
    code = engine.LoadedCode(data, emitted.symbols, names, lanes)

    def runner(number: int) -> Runner:
        function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.addresses[f"block{number}"])

        def run(state: State, keep: object = code) -> int:
            return int(function(state.address))

        return run

    return [runner(number) for number in range(len(programs))]


@pytest.fixture(scope="session")
def machine():
    """`build` and `State` for the tests."""

    class Machine:
        pass

    Machine.build = staticmethod(build)
    Machine.build_code = staticmethod(build_code)
    Machine.State = State
    return Machine


def some_exec(random: np.random.Generator) -> int:
    """Execution masks: all, none, random."""
    kind = random.integers(0, 4)
    if kind < 2:
        return (1 << 64) - 1
    if kind == 2:
        return 0 if random.integers(0, 4) == 0 else 1 << int(random.integers(0, 64))
    return int(random.integers(0, 1 << 63)) << 1 | int(random.integers(0, 2))


@pytest.fixture(scope="session")
def random_exec():
    return some_exec


def special_patterns(random: np.random.Generator, count: int, width: int, mantissa: int) -> np.ndarray:
    """Float patterns with many zeros, denormals, infinities, NaNs and numbers near each other."""
    exponent = width - 1 - mantissa
    bias = (1 << (exponent - 1)) - 1
    top = (1 << exponent) - 1
    result = []
    for _ in range(count):
        kind = int(random.integers(0, 10))
        sign = int(random.integers(0, 2)) << (width - 1)
        fraction = int(random.integers(0, 1 << mantissa))
        if kind == 0:
            bits = 0
        elif kind == 1:
            bits = fraction
        elif kind == 2:
            bits = top << mantissa | (fraction if random.integers(0, 2) else 0)
        elif kind == 3:
            bits = int(random.integers(0, 1 << exponent)) << mantissa | fraction
        elif kind == 4:
            bits = int(random.integers(bias - 1, bias + 3)) << mantissa
        elif kind == 5:
            bits = (top - 1) << mantissa | fraction
        elif kind == 6:
            bits = 1 << mantissa | fraction
        else:
            bits = int(random.integers(bias - 4, bias + 5)) << mantissa | fraction
        result.append(sign | bits)
    return np.array(result, np.uint64 if width == 64 else np.uint32)


def operand_values(random: np.random.Generator, kind: str) -> np.ndarray:
    """64 lanes of a source of a kind ("f32", "u16", "i64", ...), as patterns of 32 or 64 bits."""
    width = int(re.sub(r"\D", "", kind))
    if kind.startswith("f"):
        values = special_patterns(random, 64, width, {16: 10, 32: 23, 64: 52}[width])
    elif kind.startswith("bf"):
        values = special_patterns(random, 64, 16, 7)
    else:
        size = 1 << width
        values = random.integers(0, size, 64, dtype=np.uint64)
        edges = np.array([0, 1, 2, size - 1, size // 2, size // 2 - 1, 31, 32, 33], np.uint64)
        at_edge = random.random(64) < 0.4
        values[at_edge] = edges[random.integers(0, len(edges), int(at_edge.sum()))]
        small = random.random(64) < 0.2
        values[small] = random.integers(0, 100, int(small.sum()), dtype=np.uint64)
    if width == 16:
        values = values.astype(np.uint64) | random.integers(0, 1 << 16, 64, dtype=np.uint64) << np.uint64(16)
    return values.astype(np.uint64 if width == 64 else np.uint32)


@pytest.fixture(scope="session")
def values():
    return operand_values
