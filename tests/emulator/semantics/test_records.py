"""The record of every opcode against its execution, on every target.

Every opcode that executes runs on random states. A register that its record does not list is changed: nothing
else may change. One that it lists as read is changed: something else must, for some input. Nothing that it
does not list may be written.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from tests.codeobject.random_encodings import random_encoding
from tests.emulator.conftest import LoneWave, aligned
from workbench.codeobject import Instruction, Operand, printer, registers
from workbench.codeobject.decoder import decode_one
from workbench.codeobject.encodings import ENCODINGS
from workbench.codeobject.instructions import Access, Form, Keeps, Registers, Space, forms
from workbench.codeobject.printer import operand_text
from workbench.emulator.native import abi
from workbench.emulator.native.ops import NATIVE
from workbench.emulator.semantics import NO_OPERATION, SEMANTICS
from workbench.emulator.semantics.control import HW_MODE
from workbench.emulator.translate import emission, engine
from workbench.emulator.translate.options import Mode, Options
from workbench.errors import CodeObjectError
from workbench.targets import NAMES
from workbench.toolchain import cpu

ACC_OFFSET = 96
ROWS = 2 * ACC_OFFSET
ARENA = 1 << 13
LDS_BYTES = 1 << 12
SCRATCH_BYTES = 256
NAMED = 64
"""Vector registers that an operand may begin with; a matrix has 32."""

USUAL_MODE = 0x3F0
CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
OTHER_MODE = 0x80000F
"""Rounds to zero, flushes denormals, lets NaN through a clamp, has no IEEE mode, saturates in 8 bits."""

SCALAR_TRIES = 6
POOL = 1 << 17
SCC = 128

INDEXED = {
    r"s_movrel.*": "M0 names the register",
    r"s_getreg_b32": "STATUS shows SCC, and whether VCC and EXEC are zero",
}
CLOCKS = {r"s_mem(real)?time": "the clock goes on"}
# Reads without a visible effect: opcodes, which of their reads, and why.
UNSEEN = (
    (r"v_cmpx?_(f|t|tru)_.*", r".*", "the result is the same for all sources"),
    (r"s_set_gpr_idx_.*", r".*", "only the next instructions show it"),
    (r"s_setvskip", "MODE", "only the next instructions show it"),
    (r"s_(buffer_)?atomic_cmpswap.*", r"source 0.*", "one comparison is hardly ever true"),
    (r"s_cmpk_(eq|lg)_.*", r"source 0.*", "a constant of 16 bits is hardly ever met"),
    (
        r"s_buffer_.*|t?buffer_.*",
        r"source \d, dword [23]",
        "bounds and formats that this access may not ask for",
    ),
    (r"v_cmpx?_[ou]_f(16|32|64)", "MODE", "tells NaN from numbers only"),
    (
        r"v_cvt_([iu](16|32)_f(16|32|64)|pk(norm|accum)?_[iu](8|16)_f(16|32)|(pk_)?f32_(fp|bf)8)",
        "MODE",
        "exact, or to an integer, which is zero for a denormal",
    ),
    (r"v_cvt_(f32_ubyte\d|f64_[iu]32)", "MODE", "exact, but for an output modifier without a clamp"),
    (
        r"v_cvt_(scalef32_.*|(pk|sr|pkrtz)_f16_f32)",
        "MODE",
        "rounds in a way of its own, with zero for a denormal",
    ),
    (r"v_cmpx?_(class|o|u)_f64", r"source \d, dword 0", "tells infinities from NaNs only"),
    (r"v_(cvt_[iu]32|rndne|trig_preop)_f64", r"source 0, dword 0", "decides between neighbours only"),
)


def _reason(table: dict[str, str], opcode: str) -> str:
    return next((reason for pattern, reason in table.items() if re.fullmatch(pattern, opcode)), "")


@dataclass(frozen=True)
class Effort:
    """Number of random encodings of a form, of those that execute, and of states for each."""

    candidates: int
    usable: int
    trials: int


EXECUTED = frozenset({*SEMANTICS, *NATIVE})
FIRST, AGAIN = Effort(3, 2, 6), Effort(16, 8, 18)


@dataclass
class Report:
    """Result of the check of a target.

    Attributes:
        checked: opcodes that ran.
        refused: opcodes of which no form was found that executes.
        exceptions: opcodes of which a part was not checked, with the reason.
        wrong: what is wrong, as text.
    """

    checked: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    exceptions: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def _units(operands: Iterator[Operand]) -> set[int]:
    """Numbers of the dwords of registers: rows of vector registers, then scalar encodings, then SCC."""
    units: set[int] = set()
    for operand in operands:
        if operand.kind == "special":
            units.add(ROWS + SCC)
            continue
        first = {"v": 0, "a": ACC_OFFSET, "s": ROWS}[operand.kind] + operand.index
        last = min(first + operand.width, ROWS + SCC if operand.kind == "s" else ROWS)
        units.update(range(first, last))
    return units


def _fits(instruction: Instruction) -> bool:
    """True if registers exist, and those of a memory access are apart, so that each can have its role."""
    vectors = [o for o in (*instruction.dst, *instruction.src) if o.kind in ("v", "a")]
    if any(operand.index + operand.width > ACC_OFFSET for operand in vectors):
        return False
    scalars = [o for o in (*instruction.dst, *instruction.src) if o.kind == "s"]
    if any(operand.index + operand.width > 128 for operand in scalars):
        return False
    # VCCZ and EXECZ hardly ever change.
    if any(operand.kind == "special" for operand in instruction.src):
        return False
    # A branch to the next instruction goes there either way.
    behind = instruction.address + instruction.size
    if any(operand.kind == "label" and int(operand.value or 0) == behind for operand in instruction.src):
        return False
    # A and B of a matrix instruction are vector registers, C is no scalar one.
    if instruction.record.matrix is not None:
        a, b, c = (operand.kind for operand in instruction.src[:3])
        if not {a, b} <= {"v", "a"} or c == "s":
            return False
    memory = instruction.record.memory
    if memory is None:
        return True
    if any(operand.index + operand.width > 102 for operand in scalars):
        return False
    sources = [unit for o in instruction.src if o.kind in ("v", "a", "s") for unit in _units(iter((o,)))]
    return len(sources) == len(set(sources))


def _neutral(
    generator: random.Random, format_: str, code: bytes, is_hardware: bool, is_lane_write: bool
) -> bytes:
    """The same with the fields that make most random encodings trap, or hide their operands, set to fit."""
    fields = ENCODINGS[format_].fields
    value = int.from_bytes(code, "little")
    changed = {"row_mask": 15, "bank_mask": 15, "cbsz": 0, "abid": 0}
    for name in ("vdst", "vaddr", "vdata", "vdata0", "vdata1", "vsrc1", "src0", "src1", "src2"):
        if name in fields:
            low, width = fields[name]
            content = value >> low & (1 << width) - 1
            if width == 8 or content >= 256:
                changed[name] = content & ~255 | content % NAMED
    if generator.random() < 0.7:
        changed |= {"src0_sel": 6, "src1_sel": 6}
    if format_ == "MUBUF" and not value >> fields["idxen"][0] & 1:
        # A separate address for each lane: lanes that share one may get another lane's data from an atomic.
        changed["offen"] = 1
    if format_ in ("GLOBAL", "SCRATCH", "FLAT", "MUBUF", "MTBUF", "DS", "SMEM"):
        changed |= {"offset": 16, "offset0": 1, "offset1": 2, "imm": 1, "soffset_en": 0, "gds": 0}
        changed |= {"dfmt": 14, "nfmt": 4}
    if format_ == "DS":
        changed |= {"offset0": 0, "offset1": 1}
    if format_ == "SOPP":
        changed["simm16"] = generator.randrange(2)
    if format_ == "SOPK" and is_hardware:
        changed["simm16"] = HW_MODE | generator.choice((31, 7)) << 11
    if is_lane_write:
        # It takes both from scalar registers.
        changed |= {"src0": generator.randrange(40), "src1": 40 + generator.randrange(40)}
    if "dst_sel" in fields:
        low, width = fields["dst_sel"]
        changed["dst_sel"] = min(value >> low & 7, 6)
    if generator.random() < 0.4:
        # Output modifiers and clamp, which follow the floating-point mode.
        changed |= {"omod": generator.randrange(4), "clmp": generator.randrange(2)}
    for name, content in changed.items():
        if name in fields:
            low, width = fields[name]
            value = value & ~(((1 << width) - 1) << low) | (content & (1 << width) - 1) << low
    return value.to_bytes(len(code), "little")


Rows = dict[tuple[str, int], Form]

SCALES = "v_mfma_ld_scale_b32"
SCALED = "scaled"
"""In place of a format: a matrix instruction with its scales before it, together 16 bytes."""


def rows_of(target: str) -> Rows:
    """Every form of a target, and the matrix instructions that take scales again with scales."""
    rows = dict(forms(target))
    scales = next((form for form in rows.values() if form.opcode == SCALES), None)
    for (_, number), form in list(rows.items()):
        if scales is not None and form.record.matrix is not None and form.record.matrix.type_a == "f8f6f4":
            rows[SCALED, number] = form.scaled(scales)
    return rows


def _encoding(generator: random.Random, format_: str, number: int, form: Form, target: str) -> bytes:
    """A random encoding of a form that is likely to execute."""
    if format_ == SCALED:
        by_key = forms(target)
        (key,) = (key for key, other in by_key.items() if other.opcode == SCALES)
        scales = _encoding(generator, *key, by_key[key], target)
        matrix = _encoding(generator, form.format, number, by_key[form.format, number], target)
        # The lowest bit of abid says that the scales before it belong to it.
        return scales[:8] + bytes((matrix[0], matrix[1] | 8)) + matrix[2:]
    code = random_encoding(generator, format_, number, form)
    if re.fullmatch(r"v_(mad|fma)[am]k_f32", form.opcode) and generator.random() < 0.7:
        # From -4 to 4: of a denormal number or NaN the result is the same in every mode.
        code = code[:-4] + struct.pack("<f", generator.uniform(-4, 4))
    is_hardware = any(entry.kind == "hwreg" for entry in form.entries)
    return _neutral(generator, format_, code, is_hardware, form.opcode == "v_writelane_b32")


def candidates(
    generator: random.Random, target: str, rows: Rows, count: int
) -> Iterator[tuple[Form, list[Instruction]]]:
    """Some instructions of each form."""
    for number, ((format_, opcode), form) in enumerate(rows.items()):
        instructions: list[Instruction] = []
        for _ in range(4 * count):
            code = _encoding(generator, format_, opcode, form, target)
            try:
                instruction = decode_one(
                    code, 0, 0x100000 * (number + 1) + 0x1000 * len(instructions), target
                )
            except CodeObjectError:
                continue
            if _fits(instruction):
                instructions.append(instruction)
                if len(instructions) == count:
                    break
        yield form, instructions


def _emit(target: str, instructions: Sequence[Instruction], mode: int) -> tuple[emission.Emitted, set[int]]:
    """Code of each instruction as a separate block, and the indices of refused instructions."""
    blocks = [[instruction] for instruction in instructions]
    index_of = {instruction.address: place for place, instruction in enumerate(instructions)}
    for place, instruction in enumerate(instructions):
        index_of.setdefault(instruction.address + instruction.size, 2 * len(instructions) + place)
        for operand in (*instruction.src, *instruction.dst):
            if operand.kind == "label":
                index_of.setdefault(int(operand.value or 0), len(instructions) + place)
    options = Options(target, ACC_OFFSET, Mode.from_register(mode), cpu.features(), 64, ROWS)
    failures: list[emission.Failure] = []
    emitted = emission.emit(blocks, index_of, options, failures.extend)
    return emitted, {index_of[instruction.address] for instruction, _ in failures}


class Wave:
    """A wave with memory, and its state as one array of dwords."""

    def __init__(self, target: str) -> None:
        self.arena = aligned((ARENA,), np.uint8)
        self.lone = LoneWave(target, ROWS, LDS_BYTES, SCRATCH_BYTES, [self.arena], acc_offset=ACC_OFFSET)
        address = abi.address(self.lone.wave)
        self.address = address
        scalars = np.frombuffer((ctypes.c_uint32 * (SCC + 1)).from_address(address), np.uint32)
        self.parts = [
            self.lone.v.reshape(-1),
            scalars,
            self.arena.view(np.uint32),
            self.lone.lds.view(np.uint32),
            self.lone.scratch.view(np.uint32),
        ]
        ends = np.cumsum([len(part) for part in self.parts])
        self.ends = ends
        self.state = np.zeros(ends[-1], np.uint32)
        self.scalars = int(ends[0])

    def load(self, state: np.ndarray, mode: int) -> None:
        start = 0
        for part, end in zip(self.parts, self.ends, strict=True):
            part[:] = state[start:end]
            start = end
        wave = self.lone.wave
        wave.mode, wave.target, wave.block, wave.code_base = mode, 0, 0, 0x10000
        wave.fault.kind = wave.fault.lane = 0
        wave.fault.address = 0

    def run(
        self, function: object, state: np.ndarray, mode: int = USUAL_MODE
    ) -> tuple[np.ndarray, tuple[int, ...]]:
        """The state after `function`, and its other effects."""
        self.load(state, mode)
        answer = function(self.address)
        wave = self.lone.wave
        # The mode counts as an effect only where the instruction writes it: its changed bits.
        other = (answer, wave.mode ^ mode, wave.target, wave.block, wave.fault.kind, wave.fault.lane)
        return np.concatenate(self.parts), (*other, wave.fault.address)


def _places(wave: Wave, unit: int) -> slice:
    """A register's dwords in the state."""
    if unit < ROWS:
        return slice(64 * unit, 64 * unit + 64)
    place = wave.scalars + unit - ROWS
    return slice(place, place + 1)


_SHAPES = ("bits", "single", "few", "special", "double", "half")
# Zeros, infinities and NaNs of every width, and numbers near one.
_SPECIAL = np.array(
    [
        *(
            0,
            1,
            0x80000000,
            0xFFFFFFFF,
            0x3F800000,
            0x7F800000,
            0x7FC00000,
            0x7FF00000,
            0x7FF80001,
            0x3FF00000,
        ),
        *(0x7C00, 0x7E00, 0x3C00, 0x38003800, 0x40B00000, 0x80, 0x3F7F0000, 0x00010001),
    ],
    np.uint32,
)
_RESOURCE = 14 << 15 | 4 << 12 | 0xFAC
"""The last dword of a buffer resource: four components of 32 bits, unsigned, in their order."""


@cache
def _pool(shape: str) -> np.ndarray:
    """A pool of dwords of a shape: drawing all of them again would take most of the time."""
    generator, count = np.random.default_rng(_SHAPES.index(shape)), POOL
    if shape == "single":
        return generator.normal(0, 4, count).astype(np.float32).view(np.uint32)
    if shape == "half":
        return generator.normal(0, 4, 2 * count).astype(np.float16).view(np.uint32)
    if shape == "double":
        return (generator.normal(0, 4, count).view(np.uint64) >> np.uint64(32)).astype(np.uint32)
    if shape == "few":
        return generator.integers(0, 3, count, dtype=np.uint32)
    if shape == "special":
        return generator.choice(_SPECIAL, count)
    return generator.integers(0, 1 << 32, count, dtype=np.uint32)


def _values(generator: np.random.Generator, shape: str, count: int) -> np.ndarray:
    first = int(generator.integers(0, POOL - count))
    return _pool(shape)[first : first + count]


def _state(generator: np.random.Generator, wave: Wave, instruction: Instruction, trial: int) -> np.ndarray:
    """A state on which the instruction does something: random registers, addresses that are valid."""
    state = _values(generator, _SHAPES[trial % len(_SHAPES)], len(wave.state)).copy()
    scalars = state[wave.scalars : wave.scalars + SCC + 1]
    scalars[SCC] &= 1
    scalars[abi.M0] = 4 * int(generator.integers(0, 8))
    scalars[abi.EXEC : abi.EXEC + 2] = generator.integers(1, 1 << 32, 2) if trial % 2 else 0xFFFFFFFF
    if trial % len(_SHAPES) == 3:
        scalars[abi.EXEC] = 0
    if trial % len(_SHAPES) == 4:
        scalars[abi.EXEC : abi.EXEC + 2] = 1, 0
    memory = instruction.record.memory
    if memory is None:
        return state
    base = wave.arena.ctypes.data + 1024

    def offsets() -> np.ndarray:
        return 16 * generator.permutation(128)[:64].astype(np.uint32)

    def put(operand: Operand, low: np.ndarray | int, high: int = 0) -> None:
        if operand.kind not in ("v", "a", "s"):
            return
        first = min(_units(iter((operand,))))
        state[_places(wave, first)] = low
        if operand.width > 1:
            state[_places(wave, first + 1)] = high

    sources = instruction.src
    if memory.space in (Space.GLOBAL, Space.FLAT):
        wide = sources[0].width == 2
        put(sources[0], offsets() + np.uint32(base & 0xFFFFFFFF) if wide else offsets(), base >> 32)
        if sources[-1].kind == "s":
            put(sources[-1], base & 0xFFFFFFFF, base >> 32)
    elif memory.space is Space.SCRATCH:
        put(sources[0], 4 * (offsets() // 16 % 32))
        if sources[-1].kind == "s":
            put(sources[-1], 32)
    elif memory.space is Space.BUFFER and len(sources) >= 3:
        address, resource, offset = sources[-3:]
        by_index = bool(instruction.modifiers.get("idxen"))
        put(address, offsets() // 16 if by_index else offsets(), 16)
        first = ROWS + resource.index
        stride = 16 << 16 if by_index else 0
        for place, value in enumerate((base & 0xFFFFFFFF, base >> 32 | stride, 4096, _RESOURCE)):
            state[_places(wave, first + place)] = value
        put(offset, 64)
    elif memory.space is Space.LDS and sources:
        put(sources[0], offsets() % 1024)
    elif memory.space in (Space.SCALAR, Space.SCALAR_BUFFER) and sources:
        pointer = sources[0 if memory.access is Access.LOAD else 1]
        put(pointer, base & 0xFFFFFFFF, base >> 32)
        if memory.space is Space.SCALAR_BUFFER:
            for place, value in ((2, 4096), (3, _RESOURCE)):
                state[_places(wave, ROWS + pointer.index + place)] = value
    return state


def _active(wave: Wave, state: np.ndarray) -> np.ndarray:
    low, high = (int(state[wave.scalars + abi.EXEC + n]) for n in (0, 1))
    return np.array([(low | high << 32) >> lane & 1 for lane in range(64)], bool)


class Checker:
    """Checks one instruction on random states."""

    def __init__(
        self, wave: Wave, instruction: Instruction, function: object, in_other_mode: object, seed: int
    ) -> None:
        self.wave = wave
        self.instruction = instruction
        self.function = function
        self.in_other_mode = in_other_mode
        self.follows_mode = False
        self.generator = np.random.default_rng(seed)
        self.reads = _units(registers.read(instruction))
        self.writes = _units(registers.written(instruction))
        self.lanewise = Registers.EXEC in instruction.record.reads and instruction.record.memory is None
        self.silent = set(self.reads)
        self.shape = _SHAPES[0]
        everything = np.zeros(len(wave.state), bool)
        everything[: int(wave.ends[1])] = True
        for unit in self.reads:
            everything[_places(wave, unit)] = False
        self.unread = everything
        unwritten = np.zeros(len(wave.state), bool)
        unwritten[: int(wave.ends[1])] = True
        for unit in self.writes:
            unwritten[_places(wave, unit)] = False
        self.unwritten = unwritten

    def places(self) -> Iterator[tuple[str, bool]]:
        """Dwords that the instruction reads, by operand ("source 1, dword 0"), and if they had an effect."""
        is_kept = registers.kept(self.instruction) is not Keeps.NOTHING
        named = (("source", self.instruction.src), ("destination", self.instruction.dst if is_kept else ()))
        for kind, operands in named:
            for number, operand in enumerate(operands):
                if operand.kind in ("v", "a", "s"):
                    for dword, unit in enumerate(sorted(_units(iter((operand,))))):
                        if unit in self.reads:
                            yield f"{kind} {number}, dword {dword}", unit not in self.silent
        if Registers.MODE in self.instruction.record.reads:
            yield "MODE", self.follows_mode
        for flag, operand in registers.unnamed(self.instruction.form.target).items():
            if flag in self.instruction.record.reads:
                yield operand_text(operand), not _units(iter((operand,))) <= self.silent

    def _changed(self, before: np.ndarray) -> np.ndarray:
        values = _values(self.generator, "bits", len(before))
        if len(before) > 64:
            return before ^ values ^ 1
        near = np.where(values >> 16 & 1, before ^ (values & 63), before ^ 1)
        others = np.where(values >> 17 & 1, before ^ values, _values(self.generator, self.shape, len(before)))
        return np.where(values >> 18 & 1, near, others)

    def trial(self, number: int, indexed: bool) -> Iterator[str]:
        """Yields differences on one state; of `indexed` registers, only listed ones are compared."""
        self.shape = _SHAPES[number % len(_SHAPES)]
        state = _state(self.generator, self.wave, self.instruction, number)
        after, other = self.wave.run(self.function, state)
        active = _active(self.wave, state)
        yield from self._mode(state, after, other)
        if other[1] and Registers.MODE not in self.instruction.record.writes:
            yield "writes the MODE register, which it does not list"
        if not indexed:
            yield from self._unlisted_writes(state, after)
            changed = np.where(self.unread, self._changed(state), state)
            changed[self.wave.scalars + SCC] &= 1
            yield from self._unlisted_reads(state, changed, after, other, active)
        for unit in sorted(self.silent):
            place = _places(self.wave, unit)
            # A vector register has 64 lanes to try at once.
            for _ in range(1 if unit < ROWS else SCALAR_TRIES):
                changed = state.copy()
                changed[place] = self._changed(state[place])
                if unit == ROWS + SCC:
                    changed[place] = 1 - state[place]
                outcome, more = self.wave.run(self.function, changed)
                if more != other or self._differs(outcome, after, unit, active):
                    self.silent.discard(unit)
                    break

    def _differs(self, outcome: np.ndarray, after: np.ndarray, unit: int, active: np.ndarray) -> bool:
        different = outcome != after
        place = _places(self.wave, unit)
        if unit not in self.writes:
            different[place] = False
        elif unit < ROWS and self.lanewise:
            different[place] &= active
        return bool(different.any())

    def _mode(self, state: np.ndarray, after: np.ndarray, other: tuple[int, ...]) -> Iterator[str]:
        """Yields differences in another floating-point mode."""
        outcome, more = self.wave.run(self.in_other_mode, state, OTHER_MODE)
        if more != other or (outcome != after).any():
            self.follows_mode = True
            if Registers.MODE not in self.instruction.record.reads:
                yield "depends on the MODE register, which it does not list"

    def _unlisted_writes(self, state: np.ndarray, after: np.ndarray) -> Iterator[str]:
        units = np.flatnonzero((state != after) & self.unwritten)
        if len(units):
            yield f"writes {self._name(int(units[0]))}"

    def _unlisted_reads(
        self,
        state: np.ndarray,
        changed: np.ndarray,
        after: np.ndarray,
        other: tuple[int, ...],
        active: np.ndarray,
    ) -> Iterator[str]:
        outcome, more = self.wave.run(self.function, changed)
        if more != other:
            yield "goes on elsewhere when a register changes that it does not list"
        different = (outcome != after) & ~self.unwritten
        for unit in self.writes:
            place = _places(self.wave, unit)
            if unit < ROWS and self.lanewise:
                # Disabled lanes do not change.
                stays = outcome[place] == changed[place]
                different[place] = np.where(active, different[place], ~stays)
        # A vector memory access out of range, and inactive lanes, leave the destination unchanged.
        if self.instruction.record.memory is not None:
            unchanged = (outcome == changed) & (after == state)
            different &= ~unchanged
        units = np.flatnonzero(different)
        if len(units):
            yield f"{self._name(int(units[0]))} depends on a register that it does not list"

    def _name(self, place: int) -> str:
        if place < self.wave.scalars:
            row, lane = divmod(place, 64)
            return f"v{row} lane {lane}" if row < ACC_OFFSET else f"a{row - ACC_OFFSET} lane {lane}"
        return f"s{place - self.wave.scalars}" if place < self.wave.ends[1] else "memory"


class Run:
    """Checks the forms of a target.

    Attributes:
        silent, effective: an instruction in which a read had no effect, and one in which it had one, by
            opcode and read.
    """

    def __init__(self, target: str, seed: int) -> None:
        self.target = target
        self.seed = seed
        self.report = Report()
        self.silent: dict[tuple[str, str], str] = {}
        self.effective: dict[tuple[str, str], str] = {}

    def look(self, rows: Rows, effort: Effort) -> None:
        """Check instructions of some forms."""
        report = self.report
        drawn = list(candidates(random.Random(self.seed), self.target, rows, effort.candidates))
        every = [instruction for _, found in drawn for instruction in found]
        _, failed = _emit(self.target, every, USUAL_MODE)
        good, place = [], 0
        for form, instructions in drawn:
            usable = [i for n, i in enumerate(instructions) if place + n not in failed][: effort.usable]
            place += len(instructions)
            good += usable
            (report.checked if usable else report.refused).add(form.opcode)
        report.refused -= report.checked
        wave = Wave(self.target)
        codes = [self._code(good, mode) for mode in (USUAL_MODE, OTHER_MODE)]
        for number, instruction in enumerate(good):
            functions = [CALL(code.addresses[f"block{number}"]) for code in codes]
            self._one(wave, instruction, functions, number, effort.trials)

    def _code(self, instructions: Sequence[Instruction], mode: int) -> engine.LoadedCode:
        emitted, failed = _emit(self.target, instructions, mode)
        assert not failed
        data = engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)
        return engine.LoadedCode(data, emitted.symbols, [f"block{n}" for n in range(len(instructions))], 64)

    def _one(
        self, wave: Wave, instruction: Instruction, functions: Sequence[object], number: int, trials: int
    ) -> None:
        opcode, text = instruction.opcode, printer.text(instruction)
        if reason := _reason(CLOCKS, opcode):
            self.report.exceptions[opcode] = reason
            return
        checker = Checker(wave, instruction, *functions, zlib.crc32(f"{self.seed} {number}".encode()))
        indexed = _reason(INDEXED, opcode)
        for trial in range(4 * trials if instruction.format.startswith("SOP") else trials):
            self.report.wrong += [f"{text}: {wrong}" for wrong in checker.trial(trial, bool(indexed))]
        if indexed:
            self.report.exceptions[opcode] = indexed
        elif opcode not in NO_OPERATION:
            for place, has_effect in checker.places():
                (self.effective if has_effect else self.silent).setdefault((opcode, place), text)

    def missing(self) -> dict[tuple[str, str], str]:
        """Reads that had no effect in any instruction, and are no exceptions."""
        unread = {}
        for (opcode, place), text in self.silent.items():
            if (opcode, place) in self.effective:
                continue
            reasons = (
                why for name, read, why in UNSEEN if re.fullmatch(name, opcode) and re.fullmatch(read, place)
            )
            if reason := next(reasons, ""):
                self.report.exceptions[opcode] = reason
            else:
                unread[opcode, place] = text
        return unread


def in_turn(target: str) -> Rows:
    """The forms of a target that a run checks: opcodes of several targets on one of them, by the seed; with
    `make test-product` on all."""
    rows = rows_of(target)
    if os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0":
        return rows
    opcodes = {other: {form.opcode for form in rows_of(other).values()} for other in NAMES}
    seed = os.environ["HIPKITTENS_TEST_SEED"]

    def turn(opcode: str) -> str:
        having = [other for other in NAMES if opcode in opcodes[other]]
        return having[zlib.crc32(f"{seed} {opcode}".encode()) % len(having)]

    return {key: form for key, form in rows.items() if turn(form.opcode) == target}


def check(target: str, rows: Rows, seed: int) -> Report:
    """Checks a target's forms; opcodes with a read that had no effect are tried for longer."""
    run = Run(target, seed)
    run.look(rows, FIRST)
    if again := {opcode for opcode, _ in run.missing()} | run.report.refused & EXECUTED:
        run.look({key: form for key, form in rows.items() if form.opcode in again}, AGAIN)
    run.report.wrong += [
        f"{text}: what it reads as {place} changes nothing" for (_, place), text in run.missing().items()
    ]
    run.report.wrong += [f"{opcode}: no form of it ran" for opcode in run.report.refused & EXECUTED]
    return run.report


def test_constants_do_not_hide_the_mode() -> None:
    # v_madmk_f32 flushes denormal numbers in every mode: with such a constant, and with NaN, no result shows
    # it.
    rows = {key: form for key, form in rows_of("gfx90a").items() if form.opcode == "v_madmk_f32"}
    for seed in range(200):
        ((_, instructions),) = candidates(random.Random(seed), "gfx90a", rows, AGAIN.usable)
        constants = [int(instruction.src[1].value or 0) for instruction in instructions]
        assert any(0 < constant >> 23 & 255 < 255 for constant in constants), (seed, constants)


@pytest.mark.parametrize("target", NAMES)
def test_records_are_what_executes(target: str) -> None:
    seed = random.randrange(1 << 32)
    rows = in_turn(target)
    report = check(target, rows, seed)
    print(
        f"seed {seed}; {target}: {len(report.checked)} opcodes checked, {len(report.refused)} refused, "
        f"{len(report.exceptions)} with exceptions"
    )
    for reason in sorted(set(report.exceptions.values())):
        print(f"  {sum(each == reason for each in report.exceptions.values())}: {reason}")
    assert report.checked >= {form.opcode for form in rows.values()} & EXECUTED
    assert not report.wrong, "\n".join(report.wrong[:40])
