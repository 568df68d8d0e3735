"""Roles of an instruction in hazard rules: as the first of a pair, and as the second.

A role is a class of access, as `hazard_rules.Rule` names them, of one unit: a VGPR, an AGPR, a scalar operand
encoding, a hardware register, or whether a double-precision matrix instruction was issued.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import (
    Access,
    Control,
    Keeps,
    Lanes,
    Matrix,
    Memory,
    Registers,
    Space,
    Trait,
)
from workbench.codeobject.waits import wait_states
from workbench.emulator.native import abi

_AGPR, _SCALAR, _HWREG, _DGEMM = 512, 1024, 2048, 4096

VECTORS, SCALARS, PAIRS, MASKS = 8192, 10240, 10496, 10752
"""First units of gfx11 and later: VGPRs, SGPRs, pairs of SGPRs that vector instructions have read, and SGPRs
that they have read as masks."""

_VCCZ, _EXECZ = 251, 252
_SDWA_DWORD = 6
_VCC = (_SCALAR + abi.VCC, _SCALAR + abi.VCC + 1)
_EXEC = (_SCALAR + abi.EXEC, _SCALAR + abi.EXEC + 1)
_M0 = _SCALAR + abi.M0
# Bits of op_sel that put a result into a part of its register: a half, or a byte.
_HALF, _BYTE = 8, 12


@dataclass(slots=True)
class Roles:
    """Roles of one instruction.

    Attributes:
        produces, consumes: its classes of accesses as the first and as the second of a pair.
        forwarded: classes of accesses that need no wait after an instruction of the same opcode.
        writes: units that it overwrites, which makes earlier instructions irrelevant.
        span, c_span: first unit and count of a matrix instruction's result and addend.
        passes: passes of a matrix instruction.
        states: number of wait states that it counts for.
        clears: classes of accesses of earlier instructions that it waits for.
        lasts: its classes of accesses that no distance ends; only `follows` asks for them.
        follows: classes and units that `lasts` of an earlier instruction must have, each with what this one
            then produces.
    """

    produces: list[tuple[str, int]] = field(default_factory=list)
    consumes: list[tuple[str, int]] = field(default_factory=list)
    forwarded: set[tuple[str, int]] = field(default_factory=set)
    writes: list[int] = field(default_factory=list)
    c_span: tuple[int, int] = (-1, 0)
    span: tuple[int, int] = (-1, 0)
    passes: int = 0
    states: int = 1
    clears: set[str] = field(default_factory=set)
    lasts: set[tuple[str, int]] = field(default_factory=set)
    follows: list[tuple[tuple[str, int], tuple[str, int]]] = field(default_factory=list)

    def produce(self, role: str, units: Iterable[int]) -> None:
        """Add a role as the first of a pair."""
        self.produces += [(role, unit) for unit in units]

    def consume(self, role: str, units: Iterable[int], *, forwarded: bool = False) -> None:
        """Add a role as the second of a pair."""
        added = [(role, unit) for unit in units]
        self.consumes += added
        if forwarded:
            self.forwarded.update(added)

    def follow(self, earlier: str, earlier_unit: int, role: str, unit: int) -> None:
        """Add a role as the first of a pair, if an earlier instruction has another that lasts."""
        self.follows.append(((earlier, earlier_unit), (role, unit)))


def unit_name(unit: int) -> str:
    """A register's name in messages; "" if it is not a register of the program."""
    if VECTORS <= unit < SCALARS:
        return f"v{unit - VECTORS}"
    if _HWREG <= unit < VECTORS:
        return ""
    if unit >= _SCALAR:
        index = unit - (SCALARS if unit >= SCALARS else _SCALAR)
        named = {abi.VCC: "vcc", abi.VCC + 1: "vcc", abi.EXEC: "exec", abi.EXEC + 1: "exec"}
        return {**named, abi.M0: "m0"}.get(index, f"s{index}")
    return f"a{unit - _AGPR}" if unit >= _AGPR else f"v{unit}"


def roles_of(instruction: Instruction) -> Roles:
    """The roles of an instruction."""
    roles = Roles(states=wait_states(instruction))
    record = instruction.record
    if record.memory is not None:
        if record.memory.space not in (Space.SCALAR, Space.SCALAR_BUFFER):
            _memory(roles, instruction, record.memory)
    elif instruction.form.is_vector:
        _valu(roles, instruction)
    else:
        _scalar(roles, instruction)
    for operand in instruction.dst:
        roles.writes.extend(_units(operand))
    return roles


def _units(operand: Operand) -> range:
    if operand.kind == "v":
        return range(operand.index, operand.index + operand.width)
    if operand.kind == "a":
        return range(_AGPR + operand.index, _AGPR + operand.index + operand.width)
    if operand.kind == "s":
        return range(_SCALAR + operand.index, _SCALAR + min(operand.index + operand.width, 128))
    return range(0)


def _vector_units(operands: Iterable[Operand]) -> list[int]:
    return [unit for operand in operands if operand.kind in ("v", "a") for unit in _units(operand)]


def _span(operand: Operand) -> tuple[int, int]:
    units = _units(operand)
    return (units.start, len(units)) if units else (-1, 0)


def _valu(roles: Roles, instruction: Instruction) -> None:
    record = instruction.record
    for operand in instruction.dst:
        if operand.kind == "s":
            roles.produce("valu scalar", _units(operand))
    for place, operand in enumerate(instruction.src):
        if operand.kind == "s":
            if place == 2 and Trait.CARRY_IN in record.traits:
                continue  # a carry is forwarded: 0 wait states in the guides' table
            is_mask = place == 2 and Trait.MASK_SOURCE in record.traits
            roles.consume("valu reads mask" if is_mask else "valu reads scalar", _units(operand))
        elif operand.kind == "special" and operand.index in (_VCCZ, _EXECZ):
            roles.consume("zero flag", _VCC if operand.index == _VCCZ else _EXEC)
    if Registers.EXEC in record.writes:
        roles.produce("valu scalar", _EXEC)
        roles.produce("valu exec", _EXEC[:1])
        roles.writes.extend(_EXEC)
    if record.matrix is not None:
        _matrix(roles, instruction, record.matrix)
    else:
        _plain_valu(roles, instruction)


def _matrix(roles: Roles, instruction: Instruction, matrix: Matrix) -> None:
    kind = matrix.pipeline
    roles.passes = matrix.passes_with(instruction.modifiers)
    roles.span = _span(instruction.dst[0])
    if matrix.sparse:
        others, c = instruction.src[-3:], instruction.dst[0]
    else:
        a, b, c, *scales = instruction.src
        others = (a, b, *scales)
    reads, in_c = _vector_units(others), _vector_units((c,))
    roles.c_span = _span(c)
    roles.consume("mfma a or b", reads)
    roles.consume(f"{kind} c", in_c)
    roles.consume("mfma exec", _EXEC[:1])
    for role in ("not trans", "reads or keeps"):
        roles.consume(role, (*reads, *in_c))
    roles.produce(kind, _units(instruction.dst[0]))
    if kind == "xdl":
        roles.produce("xdl c", in_c)
    if matrix.type_d == "f64":
        roles.produce("dgemm", (_DGEMM,))


def _plain_valu(roles: Roles, instruction: Instruction) -> None:
    record = instruction.record
    traits = record.traits
    reads, results = _vector_units(instruction.src), _vector_units(instruction.dst)
    exchanges = Trait.EXCHANGES in traits
    if exchanges:
        reads = sorted({*reads, *results})
    keeps = registers.kept(instruction)
    is_partial = _is_partial(instruction)
    is_read = record.keeps is Keeps.VALUE or (instruction.form.is_sdwa and keeps is Keeps.PART)

    roles.consume("valu reads", (*reads, *(results if is_read else ())))
    roles.consume(
        "reads or keeps", (*reads, *(results if is_read or is_partial or keeps is Keeps.PART else ()))
    )
    if Trait.TRANSCENDENTAL not in traits:
        roles.consume("not trans", reads)
    if Trait.DOT in traits:
        _dot(roles, instruction, results)
    else:
        roles.consume("not dot c", reads)
        roles.consume("other writes", results)
    roles.consume("valu writes", results)
    _lanes(roles, instruction, reads)
    if Registers.VCC in record.reads:
        roles.consume("div_fmas mask", _VCC)
    arithmetic = record.arithmetic
    if arithmetic is not None and (arithmetic.kind, arithmetic.type) == ("FMA", "F64"):
        roles.consume("fma f64", (_DGEMM,))

    roles.produce("valu", results)
    roles.produce("dot" if Trait.DOT in traits else "valu, no dot", results)
    if Trait.TRANSCENDENTAL in traits:
        roles.produce("trans", results)
    if is_partial:
        roles.produce("partial", results)
    if Trait.FP4_RESULT in traits:
        roles.produce("fp4", results)
    if exchanges:
        roles.writes.extend(reads)


def _is_partial(instruction: Instruction) -> bool:
    """True if SDWA or op_sel puts the result into a part of its register."""
    modifiers = instruction.modifiers
    if instruction.form.is_sdwa:
        return modifiers.get("dst_sel", _SDWA_DWORD) != _SDWA_DWORD
    bits = _BYTE if Trait.BYTE_PLACED in instruction.record.traits else _HALF
    return instruction.format == "VOP3" and bool(modifiers.get("op_sel", 0) & bits)


def _dot(roles: Roles, instruction: Instruction, results: list[int]) -> None:
    """True for a dot product, which is meant to accumulate into the result of another."""
    # v_dot2c and similar instructions have their SrcC in the destination.
    c = results if len(instruction.src) < 3 else list(_units(instruction.src[2]))
    roles.consume("not dot c", c, forwarded=True)
    roles.consume("other writes", results, forwarded=True)
    for operand in instruction.src[:2]:
        if operand.kind == "v":
            roles.consume("dot a or b", _units(operand))


def _lanes(roles: Roles, instruction: Instruction, reads: list[int]) -> None:
    """Roles of instructions that read or write other lanes' registers."""
    lanes = instruction.record.lanes
    if instruction.form.is_dpp:
        roles.consume("dpp", reads)
        roles.consume("dpp exec", _EXEC[:1])
    if lanes is Lanes.READ:
        roles.consume("readlane", reads)
    if lanes in (Lanes.READ, Lanes.WRITE):
        roles.consume("lane exec", _EXEC[:1])
        if len(instruction.src) > 1 and instruction.src[1].kind == "s":
            roles.consume("lane select", _units(instruction.src[1]))
    if lanes is Lanes.PERMUTE:
        roles.consume("permlane", reads)
        roles.consume("permlane exec", _EXEC[:1])


def _memory(roles: Roles, instruction: Instruction, memory: Memory) -> None:
    is_lds = instruction.format == "DS"
    for operand in instruction.src:
        if operand.kind == "s" and not is_lds:
            roles.consume("memory scalar", _units(operand))
    roles.consume("memory reads", _vector_units(instruction.src))
    roles.consume("memory writes", _vector_units(instruction.dst))
    to_lds = memory.to_lds or bool(instruction.modifiers.get("lds"))
    # Table 11 of the guides names scratch and global loads to LDS, not those through a buffer resource.
    if to_lds and memory.space is Space.BUFFER:
        roles.consume("buffer uses m0", (_M0,))
    elif to_lds or Trait.M0_NOT_INTERLOCKED in instruction.record.traits:
        roles.consume("uses m0", (_M0,))
    if to_lds:
        roles.consume("memory scalar", (_M0,))
    if not is_lds and memory.access in (Access.STORE, Access.ATOMIC):
        is_buffer = memory.space is Space.BUFFER
        data = instruction.src[0 if is_buffer else 1] if len(instruction.src) > 1 else None
        by_register = is_buffer and instruction.src[-1].kind == "s"
        if data is not None and data.width > 2 and not by_register:
            roles.produce("store data", _vector_units((data,)))


def _scalar(roles: Roles, instruction: Instruction) -> None:
    if any(_M0 in _units(operand) for operand in instruction.dst):
        roles.produce("salu m0", (_M0,))
    if Trait.M0_NOT_INTERLOCKED in instruction.record.traits:
        roles.consume("uses m0", (_M0,))
    for operand in (*instruction.dst, *instruction.src):
        if operand.kind == "hwreg":
            unit = _HWREG + (int(operand.value or 0) & 63)
            roles.consume("hardware register", (unit,))
            if instruction.record.control is Control.REGISTER:
                roles.produce("setreg", (unit,))
