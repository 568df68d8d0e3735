"""An instruction as a call of a C function: the function's name and its constants.

The C side is native/abi.h's `Op`; an encode function fills its fields from a decoded instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.codeobject import printer
from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native.abi import MAX_LANES, NO_REGISTER, SCALE_SHIFT, SIGNED_OFFSET, ffi
from workbench.errors import UnsupportedInstruction
from workbench.targets import target as target_record


@dataclass(frozen=True)
class Rows:
    """Places of vector registers in the wave's register file.

    Attributes:
        target: name of the target.
        acc_offset: row of AGPR 0.
        exact: matrix instructions give a matrix core's bits (native/ops/matrix_exact.h).
        wave_size: lanes of a wave.
    """

    target: str
    acc_offset: int
    exact: bool = False
    wave_size: int = MAX_LANES

    @property
    def mask_words(self) -> int:
        """Scalar registers of a lane mask."""
        return self.wave_size // 32

    def address_flags(self, instruction: Instruction, base: int) -> int:
        """Bits of `OpFields.flags` for the offset of a global, flat or scratch access.

        Args:
            base: scalar register of the base address, or NO_REGISTER.
        """
        memory = instruction.record.memory
        flags = scale_flags(instruction, memory.bytes if memory is not None else 1)
        if base != NO_REGISTER and target_record(self.target).has_signed_offsets:
            flags |= SIGNED_OFFSET
        return flags

    def row(self, operand: Operand) -> int:
        """First row of a vector register operand.

        Raises:
            UnsupportedInstruction: the operand is not a vector register.
        """
        if operand.kind == "v":
            return operand.index
        if operand.kind == "a":
            return self.acc_offset + operand.index
        raise UnsupportedInstruction(
            f"operand of kind {operand.kind!r} (encoding {operand.index}); expected a vector register: "
            "the emulated device does not execute this form of the instruction."
        )


@dataclass(frozen=True)
class OpFields:
    """Fields of one `Op` record; fields without a register hold NO_REGISTER."""

    function: str
    dst: int = NO_REGISTER
    src0: int = NO_REGISTER
    src1: int = NO_REGISTER
    src2: int = NO_REGISTER
    sdst: int = NO_REGISTER
    ssrc0: int = NO_REGISTER
    ssrc1: int = NO_REGISTER
    ssrc2: int = NO_REGISTER
    offset: int = 0
    flags: int = 0
    imm: tuple[int, ...] = field(default=())

    def record(self, pc: int) -> bytes:
        """The `Op` as the C function reads it; `pc` is the instruction's code object address."""
        fields = {name: value for name, value in vars(self).items() if name != "function"}
        fields["imm"] = [value & 0xFFFFFFFF for value in self.imm]
        return bytes(ffi.buffer(ffi.new("Op *", {"pc": pc, **fields})))


@dataclass(frozen=True)
class NativeOp:
    """An instruction that runs as a C function.

    Attributes:
        function: symbol of the C function; encode may choose a variant (OpFields.function).
        encode: computes the constants of one instruction.
        can_fault: True if the function may return nonzero.
    """

    function: str
    encode: Callable[[Instruction, Rows], OpFields]
    can_fault: bool = True


def scale_flags(instruction: Instruction, size: int) -> int:
    """Bits of `OpFields.flags` for an offset register that counts elements of `size` bytes."""
    if not instruction.modifiers.get("scale_offset"):
        return 0
    return (size.bit_length() - 1) << SCALE_SHIFT


def unsupported(instruction: Instruction, reason: str) -> UnsupportedInstruction:
    """The error for a form of an instruction that has no C function."""
    return UnsupportedInstruction(
        f"{printer.text(instruction)} at {instruction.address:#x}: {reason} The emulated device does not "
        "execute this form; compile the kernel without it, or run it on a GPU."
    )


def scalar(operand: Operand) -> int:
    """Scalar operand encoding, NO_REGISTER for `off`.

    Raises:
        UnsupportedInstruction: the operand is not a scalar register.
    """
    if operand.kind == "off":
        return NO_REGISTER
    if operand.kind == "s":
        return operand.index
    raise UnsupportedInstruction(
        f"operand of kind {operand.kind!r} (encoding {operand.index}); expected a scalar register: "
        "the emulated device does not execute this form of the instruction."
    )
