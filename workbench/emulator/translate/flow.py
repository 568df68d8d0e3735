"""The reachable instructions of a kernel as basic blocks, and the floating-point mode of each block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.codeobject.decoder import decode_one
from workbench.codeobject.decoder_gfx11 import with_banks
from workbench.codeobject.elf import CodeObject, is_padding
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import MATRICES, Control, Flow
from workbench.codeobject.instructions.form import Form
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.semantics.control import may_skip_after, mode_after, mode_constant, target_of
from workbench.emulator.semantics.executed import as_operation
from workbench.emulator.semantics.known_scalars import KnownScalars
from workbench.emulator.translate.late_loads import follow_at_once
from workbench.emulator.translate.options import Mode
from workbench.errors import CodeObjectError
from workbench.targets import target as target_record

State = TypeVar("State")

PIECE = 1024
"""Instructions after which a long block is cut; a piece is a block that falls through."""
PIECE_WITH_MATRICES = 256
"""The same for code with matrix instructions: the CPU's matrix unit must not go idle during a run of vector
instructions (native/ops/matrix_tiles.h)."""

_RETURN_REGISTERS = 30
"""SGPR pair that holds the return address in the calling convention of AMDGPU functions."""


def ends_block(instruction: Instruction) -> bool:
    """True if an instruction ends its block, under gfx9's name for what it does or its own."""
    return (instruction.form.meaning or instruction.opcode) in ENDS_BLOCK


def function_symbols(code_object: CodeObject) -> list[int]:
    """Addresses of device functions, which indirect calls can go to."""
    start, end = code_object.text.address, code_object.text.address + len(code_object.text.data)
    return sorted(
        {
            symbol.address
            for symbol in code_object.symbols.of_kind("function")
            if start <= symbol.address < end and symbol.name not in code_object.kernels
        }
    )


@dataclass
class Code:
    """Reachable instructions, the beginnings of blocks, and the last instructions of functions that run past
    their end: padding follows, or another function that was not called."""

    instructions: dict[int, Instruction]
    leaders: set[int]
    falls: set[int] = field(default_factory=set)


def reachable(code_object: CodeObject, entry: int) -> Code:
    """Instructions that execution from a kernel's entry can reach.

    Raises:
        CodeObjectError: execution can reach bytes that are not an instruction, or leave the code.
    """
    base, data = code_object.text
    lanes = code_object.wave_size_at(entry)
    ends = {s.address + s.size for s in code_object.symbols.of_kind("function") if s.size}
    code = Code({}, {entry})
    pending = [(entry, KnownScalars())]
    made: set[int] = set()
    any_target = False

    def follow_later(addresses: Iterable[int]) -> None:
        for address in addresses:
            code.leaders.add(address)
            pending.append((address, KnownScalars()))

    while pending:
        address, scalars = pending.pop()
        while address not in code.instructions:
            if not base <= address < base + len(data):
                raise CodeObjectError(
                    f"execution from {entry:#x} can reach {address:#x}, outside the code at {base:#x} to "
                    f"{base + len(data):#x}: the code object is damaged."
                )
            instruction = decode_one(data, address - base, address, code_object.target, lanes)
            code.instructions[address] = instruction
            after = address + instruction.size
            if ends_block(instruction):
                flow = instruction.record.flow
                for successor in successors(instruction):
                    if flow is Flow.INDIRECT_CALL and is_padding(data, successor - base):
                        continue  # This call never returns, such as a failed assertion's.
                    code.leaders.add(successor)
                    pending.append((successor, scalars.branched(instruction, taken=successor != after)))
                if flow in (Flow.JUMP, Flow.INDIRECT_CALL):
                    target = scalars.pair(instruction.src[0])
                    if target is not None:
                        follow_later([target])
                    elif not any_target and not _is_return(instruction):
                        any_target = True
                        follow_later(function_symbols(code_object))
                break
            if after in ends:
                code.falls.add(address)
                break
            operation = as_operation(instruction)
            scalars.follow(operation)
            if (place := scalars.code_address(operation)) is not None:
                made.add(place)
            address = after
        if any_target and not pending:
            # Such as those of Tensile's activation functions, one of which a jump chooses later.
            places = {place for place in made if base <= place < base + len(data)} - code.leaders
            follow_later(sorted(places))
    return code


def _is_return(instruction: Instruction) -> bool:
    """True for a jump back to a caller; the address after the call begins a block anyway."""
    return instruction.record.flow is Flow.JUMP and instruction.src[0].index == _RETURN_REGISTERS


def successors(instruction: Instruction) -> Iterator[int]:
    """Known addresses at which execution may continue after the last instruction of a block."""
    flow = instruction.record.flow
    if flow is Flow.TRAP and instruction.src[0].value != 3:
        return  # A compiler emits nothing after a trap that ends the wave.
    if flow in (Flow.BRANCH, Flow.CONDITIONAL, Flow.CALL):
        yield target_of(instruction)
    if flow.goes_on:
        yield instruction.address + instruction.size


def blocks_of(code: Code) -> list[list[Instruction]]:
    """The reachable instructions cut into blocks, by ascending address."""
    blocks: list[list[Instruction]] = []
    current: list[Instruction] = []
    expected = -1
    has_matrices = any(instruction.opcode in MATRICES for instruction in code.instructions.values())
    longest = min(PIECE, PIECE_WITH_MATRICES) if has_matrices else PIECE
    addresses = sorted(code.instructions)
    leaders = set(code.leaders)
    # A jump into the middle of an instruction makes two readings of the same bytes, which may join again.
    for address, following in itertools.pairwise(addresses):
        instruction = code.instructions[address]
        after = address + instruction.size
        if after != following and not ends_block(instruction):
            leaders.add(after)
    for address in addresses:
        instruction = code.instructions[address]
        is_long = len(current) >= longest and not follow_at_once(current[-1], instruction)
        if current and (address in leaders or address != expected or is_long):
            blocks.append(current)
            current = []
        current.append(instruction)
        expected = address + instruction.size
        if ends_block(instruction):
            blocks.append(current)
            current = []
    if current:
        blocks.append(current)
    return blocks


def float_modes(
    blocks: list[list[Instruction]], index_of: Mapping[int, int], roots: Iterable[int], initial: Mode
) -> list[Mode | None]:
    """The floating-point mode at the start of each block; None if it depends on the path.

    Functions that are called indirectly begin in the kernel's mode, and are assumed to preserve it.
    """
    changes = [any(map(_writes_registers, _forms([block]))) for block in blocks]
    if not any(changes):
        return [initial] * len(blocks)

    def after(index: int, mode: Mode | None) -> Mode | None:
        if changes[index]:
            for instruction in blocks[index]:
                mode = mode_after(instruction, mode)
        return mode

    def ways(index: int) -> list[int]:
        last = blocks[index][-1]
        addresses = successors(last) if ends_block(last) else (last.address + last.size,)
        # One of them may be past a function's end.
        return [index_of[address] for address in addresses if address in index_of]

    modes = _states(roots, initial, after, ways)
    return [modes.get(index, initial) for index in range(len(blocks))]


def _states(
    roots: Iterable[int],
    initial: State,
    after: Callable[[int, State | None], State | None],
    ways: Callable[[int], Iterable[int]],
) -> dict[int, State | None]:
    """A wave's state at the start of each block that it reaches; None where it depends on the way taken.

    Args:
        roots: blocks that begin in the state `initial`.
        after: the state at a block's end, by its index and the state at its start.
        ways: the blocks that may follow a block, by index.
    """
    states: dict[int, State | None] = dict.fromkeys(roots, initial)
    pending = list(states)
    while pending:
        index = pending.pop()
        state = after(index, states[index])
        for place in ways(index):
            if place not in states:
                states[place] = state
            elif states[place] is None or states[place] == state:
                continue
            else:
                states[place] = None
            pending.append(place)
    return states


def choose_registers(
    blocks: list[list[Instruction]], index_of: Mapping[int, int], roots: Iterable[int], lanes: int
) -> tuple[list[list[Instruction]], list[tuple[Instruction, str]]]:
    """The blocks with the vector registers that s_set_vgpr_msb chooses.

    Execution of kernels and functions begins with the first 256 registers, and calls preserve the choice
    (LLVM, AMDGPULowerVGPREncoding.cpp).

    Returns:
        the blocks; and instructions that name vector registers where the choice depends on the way taken,
        with that reason.
    """
    if not any(_banks_after(instruction, 0) for block in blocks for instruction in block):
        return blocks, []

    def after(index: int, choice: int | None) -> int | None:
        for instruction in blocks[index]:
            choice = _banks_after(instruction, choice)
        return choice

    starts = _states(roots, 0, after, lambda index: followers(blocks, index, index_of))
    result, failures = [], []
    for index, block in enumerate(blocks):
        choice, renamed = starts.get(index, 0), []
        for instruction in block:
            if choice is None and any(o.kind == "v" for o in (*instruction.dst, *instruction.src)):
                failures.append((instruction, "the s_set_vgpr_msb before it depends on the way taken"))
            renamed.append(with_banks(instruction, choice, lanes) if choice else instruction)
            choice = _banks_after(instruction, choice)
        result.append(renamed)
    return result, failures


def _banks_after(instruction: Instruction, before: int | None) -> int | None:
    """The low byte of the last s_set_vgpr_msb: two bits for each of three sources and the result.

    A constant that is written to MODE has them too, in bits 19:12, whatever field is written: the result's
    first (LLVM, AMDGPULowerVGPREncoding.cpp).
    """
    if instruction.record.control is Control.BANKS:
        return int(instruction.src[0].value or 0) & 0xFF
    has_banks = target_record(instruction.form.target).has_register_banks
    constant = mode_constant(instruction) if has_banks else None
    if constant is None:
        return before
    banks = constant >> 12 & 0xFF
    return banks >> 2 | (banks & 3) << 6


def split_where_skipped(
    blocks: list[list[Instruction]], entry: int
) -> tuple[list[list[Instruction]], frozenset[int]]:
    """Blocks cut so that instructions that MODE.vskip may skip have their own blocks.

    Args:
        entry: address where execution begins, with nothing skipped. Code that only indirect jumps and calls
            reach may all be skipped.

    Returns:
        the blocks, and the addresses of all instructions in those that may be skipped.
    """
    if not any(form.record.control is Control.SKIP or _writes_registers(form) for form in _forms(blocks)):
        return blocks, frozenset()
    by_address = {block[0].address: block for block in blocks}
    may_skip: dict[int, bool] = {}

    def follow(start: int, skips: bool) -> None:
        pending = [(start, skips)]
        while pending:
            address, skipping = pending.pop()
            if may_skip.get(address) in (True, skipping) or address not in by_address:
                continue
            may_skip[address] = skipping
            block = by_address[address]
            for instruction in block:
                skipping = may_skip_after(instruction, skipping)
            last = block[-1]
            ways = successors(last) if ends_block(last) else (last.address + last.size,)
            pending += [(way, skipping) for way in ways]

    follow(entry, False)
    for address in by_address.keys() - may_skip.keys():
        follow(address, True)
    pieces: list[list[Instruction]] = []
    skipped: set[int] = set()
    for block in blocks:
        skipping, inside = may_skip[block[0].address], False
        for position, instruction in enumerate(block):
            belongs = skipping and (instruction.form.is_skipped or (inside and _does_nothing(instruction)))
            if position == 0 or belongs != inside:
                pieces.append([])
            inside = belongs
            pieces[-1].append(instruction)
            if belongs:
                skipped.add(instruction.address)
            skipping = may_skip_after(instruction, skipping)
    return pieces, frozenset(skipped)


def _forms(blocks: list[list[Instruction]]) -> set[Form]:
    return {instruction.form for block in blocks for instruction in block}


def _writes_registers(form: Form) -> bool:
    return form.record.control is Control.REGISTER


def _does_nothing(instruction: Instruction) -> bool:
    """True for an instruction that a skipped block may contain without effect: waits and s_nop."""
    return instruction.record.control in (Control.WAIT, Control.IDLE)


def followers(blocks: Sequence[Sequence[Instruction]], index: int, index_of: Mapping[int, int]) -> list[int]:
    """Blocks that a wave may run right after a block; none after a call, whose callee comes in between."""
    last = blocks[index][-1]
    if last.record.flow is Flow.INDIRECT_CALL:
        return []
    if last.record.flow is Flow.CALL:
        return [index_of[target_of(last)]]
    ways = successors(last) if ends_block(last) else (last.address + last.size,)
    return [index_of[address] for address in ways if address in index_of]
