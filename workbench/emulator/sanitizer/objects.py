"""Instructions that access a variable of the code object by an index: `__constant__` and `__device__` arrays.

Their addresses come from the program counter and a constant, so the code says which variable is meant. That
matters because they are all in one allocation, where an index past the end of an array reaches the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from workbench.codeobject import registers
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Access, Space
from workbench.emulator.semantics import code_addresses
from workbench.emulator.semantics.code_addresses import Register, low

_SPACES = (Space.GLOBAL, Space.FLAT, Space.SCALAR)

Addresses = dict[Register, int]
"""The code object address from which a register's value was computed."""


def find(
    blocks: Sequence[Sequence[Instruction]], successors: Callable[[int], Iterable[int]]
) -> Mapping[int, int]:
    """The code object address that each access, by its own address, adds an index to.

    Args:
        blocks: a kernel's basic blocks.
        successors: blocks that may follow a block, by index.
    """
    if not any(code_addresses.is_program_counter(instruction) for block in blocks for instruction in block):
        return {}
    after = [tuple(successors(index)) for index in range(len(blocks))]
    entered = {index for following in after for index in following} - {0}
    at_start: dict[int, Addresses] = {index: {} for index in range(len(blocks)) if index not in entered}
    bases: dict[int, int] = {}
    waiting = list(at_start)
    while waiting:
        index = waiting.pop()
        addresses = dict(at_start[index])
        for instruction in blocks[index]:
            base = _accessed(instruction, addresses)
            if base is None:
                bases.pop(instruction.address, None)
            else:
                bases[instruction.address] = base
            _follow(instruction, addresses)
        for next_index in after[index]:
            before = at_start.get(next_index)
            both = addresses if before is None else dict(before.items() & addresses.items())
            if both != before:
                at_start[next_index] = dict(both)
                waiting.append(next_index)
    return bases


def _accessed(instruction: Instruction, addresses: Addresses) -> int | None:
    memory = instruction.record.memory
    if memory is None or memory.space not in _SPACES or memory.access is Access.NONE:
        return None
    wide = [operand for operand in instruction.src if operand.kind in ("s", "v") and operand.width == 2]
    scalar = [operand for operand in wide if operand.kind == "s"]
    address = scalar[0] if scalar else instruction.src[0] if instruction.src else None
    return addresses.get(low(address)) if address is not None else None


def _follow(instruction: Instruction, addresses: Addresses) -> None:
    result = code_addresses.result(instruction, addresses)
    for operand in registers.written(instruction):
        for unit in range(operand.index, operand.index + operand.width):
            addresses.pop((operand.kind, unit), None)
    if result is not None:
        addresses[low(instruction.dst[0])] = result


__all__ = ["find"]
