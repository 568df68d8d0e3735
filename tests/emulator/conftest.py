"""A single wave, for tests that call one native operation at a time."""

from __future__ import annotations

import ctypes
import random as drawn
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.codeobject.rows import row
from workbench import targets
from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi, operations
from workbench.emulator.native.abi import ffi
from workbench.emulator.native.observe import lds_conflicts

PC = 0x1234


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros at a 64-byte boundary, as register rows are."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


@pytest.fixture
def set_pace(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Changes times of the driver's turns, by the attributes of `dispatch.Pace`."""
    from workbench.emulator.node import dispatch

    return lambda **times: monkeypatch.setattr(dispatch, "PACE", replace(dispatch.PACE, **times))


class LoneWave:
    """Registers, LDS, scratch and memory of one wave, and the call of a native operation on it.

    With `lds_end` the hardware's LDS ends there, and nothing stops an access beyond `lds_size`.
    """

    def __init__(
        self,
        target: str = "gfx950",
        rows: int = 512,
        lds_size: int = 65536,
        scratch_size: int = 256,
        memory: Sequence[np.ndarray] = (),
        read_only: Sequence[np.ndarray] = (),
        profile: bool = False,
        acc_offset: int = 256,
        exact: bool = False,
        lds_end: int | None = None,
    ) -> None:
        from workbench.emulator.native.ops import Rows

        self.library = operations()
        self.rows = Rows(target, acc_offset, exact)
        self.v = aligned((rows, abi.MAX_LANES), np.uint32)
        self.lds = aligned(((lds_end or lds_size) + 64,), np.uint8)
        self.scratch = aligned((max(scratch_size, 4) * 64,), np.uint8)
        both = abi.ALLOCATION_READ | abi.ALLOCATION_WRITE
        spans = [(m, both) for m in memory] + [(m, abi.ALLOCATION_READ) for m in read_only]
        table = sorted(
            (m.ctypes.data, m.ctypes.data + m.nbytes, flags, m.ctypes.data + m.nbytes) for m, flags in spans
        )
        self.kept = [*memory, *read_only]
        self.allocations = ffi.new("Allocation[]", table)
        self.machine = ffi.new(
            "Machine *",
            {
                "allocations": self.allocations,
                "allocation_count": len(table),
                "lds_address_mask": targets.target(target).lds_address_mask,
                "lds_rules": lds_conflicts.rules(target),
                "exact_lds": lds_end is None,
            },
        )
        self.counters = ffi.new("Counters *")
        self.stop = ffi.new("int32_t *")
        self.overrun = ffi.new("HkOverrun *")
        self.group = ffi.new(
            "Group *",
            {
                "wave_count": 1,
                "machine": self.machine,
                "counters": self.counters,
                "stop": self.stop,
                "lds_end": lds_end or lds_size,
                "overrun": self.overrun,
                "profile": profile,
            },
        )
        raw = aligned((ffi.sizeof("Wave"),), np.uint8)
        self.kept.append(raw)
        self.wave = ffi.cast("Wave *", raw.ctypes.data)
        self.wave.v = ffi.cast("uint32_t *", self.v.ctypes.data)
        self.wave.lds = ffi.cast("uint8_t *", self.lds.ctypes.data)
        self.wave.lds_size = lds_size
        self.wave.scratch = ffi.cast("uint8_t *", self.scratch.ctypes.data)
        self.wave.scratch_size = scratch_size
        self.wave.group = self.group
        self.exec = (1 << 64) - 1

    @property
    def exec(self) -> int:
        return self.wave.s[abi.EXEC] | self.wave.s[abi.EXEC + 1] << 32

    @exec.setter
    def exec(self, value: int) -> None:
        self.wave.s[abi.EXEC] = value & 0xFFFFFFFF
        self.wave.s[abi.EXEC + 1] = value >> 32

    def set_s64(self, register: int, value: int) -> None:
        self.wave.s[register] = value & 0xFFFFFFFF
        self.wave.s[register + 1] = value >> 32 & 0xFFFFFFFF

    def set_v64(self, register: int, values: np.ndarray) -> None:
        wide = values.astype(np.uint64)
        self.v[register] = wide & 0xFFFFFFFF
        self.v[register + 1] = wide >> 32

    def prepare(self, instruction: Instruction) -> tuple[ctypes._CFuncPtr, abi.CData]:
        from workbench.emulator.native.ops import NATIVE

        fields = NATIVE[instruction.opcode].encode(instruction, self.rows)
        function = getattr(self.library, fields.function)
        function.restype = ctypes.c_int32
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        return function, ffi.from_buffer("Op *", fields.record(PC))

    def run(self, instruction: Instruction) -> int:
        """The operation's answer: 0, or nonzero with `wave.fault` filled."""
        function, op = self.prepare(instruction)
        return int(function(abi.address(self.wave), abi.address(op)))


def instruction(
    opcode: str, dst: Sequence[Operand] = (), src: Sequence[Operand] = (), **modifiers: int
) -> Instruction:
    """A decoded instruction, constructed."""
    return Instruction(
        address=PC,
        size=8,
        mnemonic=opcode,
        opcode=opcode,
        format="",
        dst=tuple(dst),
        src=tuple(src),
        modifiers=modifiers,
        words=(0, 0),
        form=row(opcode),
    )


@pytest.fixture(scope="session")
def native() -> SimpleNamespace:
    """LoneWave, and short names for operands: v(n, width), a(n), s(n), imm(value), off."""
    return SimpleNamespace(
        Wave=LoneWave,
        instruction=instruction,
        aligned=aligned,
        v=lambda n, width=1: Operand("v", n, width),
        a=lambda n, width=1: Operand("a", n, width),
        s=lambda n, width=1: Operand("s", n, width),
        imm=lambda value, index=128: Operand("imm", index, 1, value),
        off=Operand("off", 0, 0),
        abi=abi,
        PC=PC,
    )


@pytest.fixture
def random(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator whose seed is printed, so that a failure can be repeated."""
    seed = drawn.randrange(1 << 32)
    print(f"seed {seed}")
    return np.random.default_rng(seed)
