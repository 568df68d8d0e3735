"""Inputs of a translation besides the code: target, MODE register, and the CPU that it is for."""

from __future__ import annotations

from dataclasses import dataclass

VSKIP = 28
"""Bit of the MODE register that makes waves skip vector instructions (CDNA3 ISA guide, "Mode register")."""

_FLOATING = 0xFF | 1 << 8 | 1 << 9 | 1 << 23
"""The bits of `Mode`: rounding and denormals, DX10_CLAMP, IEEE, FP16_OVFL."""


class Unsupported(Exception):
    """The emulated device does not execute this instruction or modifier; the text says which."""


@dataclass(frozen=True, slots=True)
class Mode:
    """The floating-point fields of the MODE register, as known when the code is translated.

    Rounding: 0 nearest even, 1 up, 2 down, 3 to zero. Denormals: 0 flush sources and results, 1 flush
    results, 2 flush sources, 3 keep.

    Attributes:
        value: these fields of the register.
        overflow_saturates: FP16_OVFL: conversions to 8 bits saturate instead of overflowing.
    """

    value: int = 0x3F0
    round32: int = 0
    round64: int = 0
    denormal32: int = 3
    denormal64: int = 3
    dx10_clamp: bool = True
    ieee: bool = True
    overflow_saturates: bool = False

    @classmethod
    def from_register(cls, value: int) -> Mode:
        """From the register's value, whose other fields do not concern floating point."""
        return cls(
            value=value & _FLOATING,
            round32=value & 3,
            round64=value >> 2 & 3,
            denormal32=value >> 4 & 3,
            denormal64=value >> 6 & 3,
            dx10_clamp=bool(value >> 8 & 1),
            ieee=bool(value >> 9 & 1),
            overflow_saturates=bool(value >> 23 & 1),
        )

    def with_field(self, first: int, size: int, field: int) -> Mode:
        """After a write of `field` to bits first..first+size-1."""
        mask = ((1 << size) - 1) << first
        return Mode.from_register((self.value & ~mask) | (field << first & mask))


@dataclass(frozen=True, slots=True)
class Options:
    """Inputs of a translation besides the code.

    Attributes:
        target: name of the target.
        acc_offset: row of AGPR 0.
        mode: floating-point mode at the kernel's start.
        host: features of the CPU that runs the code, as LLVM names them.
        wave_size: lanes of a wave of the kernel.
        has_null: True if scalar register 125 is null.
        has_global_scratch: True if scratch has global addresses (`Target.has_global_scratch`).
        rows: vector register rows that a wave has.
        sanitize: True if the code reports to the sanitizer.
        single: True if each instruction is a separate block, so that the driver sees the state between any
            two.
        exact: True if matrix instructions compute a matrix core's bits (docs/numerics.md).
        approximate: True if transcendental instructions err as the launch requests (docs/numerics.md).
        late: True if loads complete when the launch requests (workbench/lateness.py).
        scheduled: True, with `late`, if waves can stop before each access and wait (workbench/schedules.py).
    """

    target: str
    acc_offset: int
    mode: Mode
    host: frozenset[str]
    wave_size: int
    rows: int = 512
    has_null: bool = False
    has_global_scratch: bool = False
    sanitize: bool = False
    single: bool = False
    exact: bool = False
    approximate: bool = False
    late: bool = False
    scheduled: bool = False

    @property
    def uses_tiles(self) -> bool:
        """True if the CPU's matrix unit may execute matrix instructions, and so must not go idle between them
        (native/ops/matrix_tiles.h)."""
        return "amx-bf16" in self.host
