"""Arithmetic on code addresses: moving one, adding to it, reading the program counter."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.codeobject.instruction import Instruction, Operand

Register = tuple[str, int]
"""Kind and number; the register with bits 31:0 represents a whole address."""

_SUMS = {
    "s_add_u32": (0, 1),
    "v_add_co_u32": (0, 1),
    "v_lshl_add_u64": (2,),
    "v_mad_u64_u32": (2,),
    "v_mad_i64_i32": (2,),
    "s_mov_b32": (0,),
    "s_mov_b64": (0,),
    "v_mov_b32": (0,),
    "v_mov_b64": (0,),
}
"""Sources that may be an address, for an instruction that moves one or adds to it."""


def low(operand: Operand) -> Register:
    """The register that represents an address."""
    return operand.kind, operand.index


def is_program_counter(instruction: Instruction) -> bool:
    """True if the instruction's result is the address of the next one."""
    return instruction.opcode == "s_getpc_b64"


def result(instruction: Instruction, addresses: Mapping[Register, int]) -> int | None:
    """The address that a result is computed from; None for none or two. `addresses`: those of registers."""
    if is_program_counter(instruction):
        return instruction.address + instruction.size
    sources = [instruction.src[place] for place in _SUMS.get(instruction.opcode, ())]
    made_of = [addresses[low(operand)] for operand in sources if low(operand) in addresses]
    if len(made_of) != 1:
        return None
    others = [operand.value for operand in sources if low(operand) not in addresses]
    if instruction.opcode == "s_add_u32" and isinstance(others[0], int):
        return made_of[0] + (others[0] + 2**31) % 2**32 - 2**31
    return made_of[0]
