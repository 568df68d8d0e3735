"""Roles of an instruction in the hazard rules of gfx11 and later (`hazard_rules_gfx11`)."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.codeobject import immediates_gfx11, registers
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Control, Matrix, Memory, Registers, Space, Trait
from workbench.emulator.sanitizer.hazard_roles import MASKS, PAIRS, SCALARS, VECTORS, Roles

_VCC = (registers.VCC, registers.VCC + 1)
_LAST_SGPR = registers.VCC + 1

_TRANS_STATES = 3
"""Distance that a transcendental counts for where six vector instructions, or two transcendentals, end a
dependency. Between one and the other LLVM counts both apart; this never reports more."""

_VECTOR_RESULTS = ("trans result",)
_SCALAR_WRITES = ("scalar write after vector read", "scalar write after mask")
_VECTOR_WRITES = ("vector write after vector read", "vector write after mask")
_VCC_WRITES = ("vector write of vcc after vector read", "vector write of vcc after mask")
_MEMORY = {Space.SCALAR, Space.SCALAR_BUFFER, Space.BUFFER}


def roles_of(instruction: Instruction) -> Roles:
    """The roles of an instruction of gfx11 or later."""
    record = instruction.record
    roles = Roles(states=0)
    if record.memory is not None:
        _memory(roles, record.memory)
    elif instruction.form.is_vector:
        _vector(roles, instruction)
    elif record.control is Control.WAIT or instruction.form.single in ("s_wait_alu", "s_waitcnt_depctr"):
        _wait(roles, instruction)
    else:
        _scalar(roles, instruction)
    roles.writes = [unit for operand in registers.written(instruction) for unit in _units(operand)]
    return roles


def _units(operand: Operand) -> range:
    base = {"v": VECTORS, "s": SCALARS}.get(operand.kind)
    if base is None:
        return range(0)
    return range(base + operand.index, base + operand.index + operand.width)


def _vectors(operands: Iterable[Operand]) -> list[int]:
    return [unit for operand in operands if operand.kind == "v" for unit in _units(operand)]


def _sgprs(operands: Iterable[Operand]) -> list[int]:
    """Numbers of SGPRs and of VCC among operands; M0, EXEC and NULL have no hazards."""
    return [
        number
        for operand in operands
        if operand.kind == "s"
        for number in range(operand.index, operand.index + operand.width)
        if number <= _LAST_SGPR
    ]


def _memory(roles: Roles, memory: Memory) -> None:
    if memory.space in _MEMORY:
        roles.clears |= {*_SCALAR_WRITES, *_VECTOR_WRITES, *_VCC_WRITES}
    if memory.space not in (Space.SCALAR, Space.SCALAR_BUFFER):
        # Vector memory and LDS instructions wait for all vector results.
        roles.clears |= set(_VECTOR_RESULTS)


def _wait(roles: Roles, instruction: Instruction) -> None:
    if instruction.form.single not in ("s_wait_alu", "s_waitcnt_depctr"):
        return
    counts = immediates_gfx11.dependencies(int(instruction.src[0].value or 0))
    for counter, kinds in (
        ("va_vdst", _VECTOR_RESULTS),
        ("sa_sdst", _SCALAR_WRITES),
        ("va_sdst", _VECTOR_WRITES),
        ("va_vcc", _VCC_WRITES),
    ):
        if counts.get(counter) == 0:
            roles.clears |= set(kinds)


def _scalar(roles: Roles, instruction: Instruction) -> None:
    reads = _sgprs(registers.read(instruction))
    # A scalar instruction waits for the vector results that it reads, and with them for all.
    if set(reads) - set(_VCC):
        roles.clears |= set(_VECTOR_WRITES)
    if set(reads) & set(_VCC):
        roles.clears |= set(_VCC_WRITES)
    roles.consume("scalar read of sgpr", (SCALARS + number for number in reads))
    for number in _sgprs(registers.written(instruction)):
        roles.follow("vector read", PAIRS + number // 2, "scalar write after vector read", SCALARS + number)
        roles.follow("mask", MASKS + number, "scalar write after mask", SCALARS + number)


def _vector(roles: Roles, instruction: Instruction) -> None:
    record = instruction.record
    read, written = tuple(registers.read(instruction)), tuple(registers.written(instruction))
    reads, results = _vectors(read), _vectors(written)
    is_trans = Trait.TRANSCENDENTAL in record.traits
    roles.states = _TRANS_STATES if is_trans else 1
    roles.consume("vector read", reads)
    if is_trans:
        roles.produce("trans result", results)
        roles.produce("trans source", reads)
    else:
        roles.consume("read beside trans", reads)
        roles.consume("write beside trans", results)
    if record.matrix is not None:
        _matrix(roles, instruction, record.matrix, results)
    else:
        roles.consume("vector read beside wmma", reads)
        roles.consume("vector write beside wmma", results)
    _scalars(roles, instruction, read, written)


def _matrix(roles: Roles, instruction: Instruction, matrix: Matrix, results: list[int]) -> None:
    a, b, c = instruction.src[:3]
    factors = _vectors((a, b, c) if matrix.sparse else (a, b))
    roles.consume("wmma factor", factors)
    roles.produce("wmma result", results)
    # Other vector instructions execute beside all but f32's.
    if matrix.type_a != "f32":
        roles.passes = _latency(instruction, matrix)
        roles.consume("xdl wmma factor", factors)
        roles.produce("xdl swmmac result" if matrix.sparse else "xdl wmma result", results)


def _latency(instruction: Instruction, matrix: Matrix) -> int:
    """Cycles of a gfx1250 instruction (LLVM, SISchedule.td)."""
    formats = (instruction.modifiers.get(name, 0) for name in ("matrix_a_fmt", "matrix_b_fmt"))
    has_8_bits = matrix.type_a == "f8f6f4" and min(formats) < 2
    return 16 if has_8_bits or matrix.type_d == "i32" else 8


def _scalars(
    roles: Roles, instruction: Instruction, read: Iterable[Operand], written: Iterable[Operand]
) -> None:
    traits = instruction.record.traits
    sgprs = _sgprs(read)
    roles.consume("vector read of sgpr", (SCALARS + number for number in sgprs))
    for number in sgprs:
        roles.lasts.add(("vector read", PAIRS + number // 2))
    masks = _sgprs(instruction.src[2:3]) if Trait.MASK_SOURCE in traits else []
    if Registers.VCC in instruction.record.reads:
        masks += _VCC
    for number in masks:
        roles.lasts.add(("mask", MASKS + number))
    for number in _sgprs(written):
        name = "vector write of vcc" if number in _VCC else "vector write"
        roles.follow("vector read", PAIRS + number // 2, f"{name} after vector read", SCALARS + number)
        roles.follow("mask", MASKS + number, f"{name} after mask", SCALARS + number)
