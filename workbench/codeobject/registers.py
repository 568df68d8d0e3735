"""The registers that an instruction reads, writes and preserves: its operands and implicit registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Keeps, Registers, Trait
from workbench.targets import wave_size

VCC, EXEC = 106, 126
"""Numbers of the first scalar registers of the two lane masks."""

NULL = 125
"""Number of the scalar register that takes no writes and reads as 0; no target has another of that number."""

M0 = Operand("s", 124, 1)
SCC = Operand("special", 253, 1)

# Source codes that mean another register: vccz, execz, scc, lds_direct.
_SHOWN = {251: Registers.VCC, 252: Registers.EXEC, 253: Registers.SCC, 254: Registers.M0}
_SDWA_DWORD = 6
_SDWA_PRESERVE = 2
_OP_SEL_RESULT = 8
_ALL = 15


@cache
def unnamed(target: str) -> Mapping[Registers, Operand]:
    """The operands that records of a target name directly; a lane mask has a register for 32 lanes."""
    words = wave_size(target) // 32
    return MappingProxyType(
        {
            Registers.SCC: SCC,
            Registers.VCC: Operand("s", VCC, words),
            Registers.EXEC: Operand("s", EXEC, words),
            Registers.M0: M0,
        }
    )


def leaves_lanes(instruction: Instruction) -> bool:
    """True if DPP leaves some lanes unwritten that EXEC enables.

    These are lanes outside its masks and, without bound_ctrl, lanes whose source is outside the row or off.
    """
    modifiers = instruction.modifiers
    masks = modifiers.get("row_mask", _ALL), modifiers.get("bank_mask", _ALL)
    return instruction.form.is_dpp and not (modifiers.get("bound_ctrl") and masks == (_ALL, _ALL))


def kept(instruction: Instruction) -> Keeps:
    """The part of the old destination that the lanes enabled by EXEC preserve."""
    record, form, modifiers = instruction.record, instruction.form, instruction.modifiers
    if record.keeps is not Keeps.NOTHING:
        return record.keeps
    if leaves_lanes(instruction):
        return Keeps.LANES
    if form.is_sdwa:
        is_part = modifiers.get("dst_sel", _SDWA_DWORD) != _SDWA_DWORD
        return Keeps.PART if is_part and modifiers.get("dst_unused") == _SDWA_PRESERVE else Keeps.NOTHING
    is_high = Trait.HALF_RESULT in record.traits and modifiers.get("op_sel", 0) & _OP_SEL_RESULT
    return Keeps.PART if is_high else Keeps.NOTHING


def read(instruction: Instruction) -> Iterator[Operand]:
    """Registers that can change what an instruction does: "v", "a", "s" and SCC; some more than once."""
    direct = unnamed(instruction.form.target)
    for operand in instruction.src:
        if operand.kind == "special" and operand.index in _SHOWN:
            yield direct[_SHOWN[operand.index]]
        else:
            yield from _registers((operand,))
    keeps = kept(instruction)
    if keeps is not Keeps.NOTHING:
        # Only a vector register preserves a part of itself, or lanes.
        yield from (o for o in _registers(instruction.dst) if keeps is Keeps.VALUE or o.kind != "s")
    reads = instruction.record.reads
    yield from (operand for flag, operand in direct.items() if flag in reads)
    if instruction.modifiers.get("lds"):
        yield M0


def written(instruction: Instruction) -> Iterator[Operand]:
    """Registers that an instruction may write: "v", "a", "s" and SCC."""
    yield from _registers(instruction.dst)
    writes, direct = instruction.record.writes, unnamed(instruction.form.target)
    yield from (operand for flag, operand in direct.items() if flag in writes)


def stored(instruction: Instruction) -> tuple[Operand, ...]:
    """Vector registers that a store or an atomic sends to memory; each of two addresses has its own."""
    sources = instruction.src
    address = sources[-3] if instruction.form.is_buffer else sources[0]
    return tuple(operand for operand in sources if operand is not address and operand.kind in ("v", "a"))


def _registers(operands: tuple[Operand, ...]) -> Iterator[Operand]:
    for operand in operands:
        if operand.kind in ("v", "a") or (operand.kind == "s" and operand.index != NULL):
            yield operand
