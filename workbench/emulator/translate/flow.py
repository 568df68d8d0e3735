"""Which instructions a kernel can reach, cut into basic blocks, and the floating-point mode of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.codeobject.decoder import decode_one
from workbench.codeobject.elf import CodeObject
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Flow
from workbench.emulator.semantics import ENDS_BLOCK
from workbench.emulator.semantics.control import SETS_REGISTER, mode_after, target_of
from workbench.emulator.translate.late_loads import follow_at_once
from workbench.emulator.translate.options import Mode
from workbench.errors import CodeObjectError

PIECE = 256
"""Instructions after which a long block is cut; a piece is a block that falls through."""

_RETURN_REGISTERS = 30
"""SGPR pair that holds the return address in the calling convention of AMDGPU functions."""

_UNCONDITIONAL = frozenset(
    {"s_branch", "s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_setpc_b64", "s_swappc_b64"}
)
_INDIRECT = frozenset({"s_setpc_b64", "s_swappc_b64"})


def function_symbols(code_object: CodeObject) -> list[int]:
    """Addresses of device functions, which indirect calls can go to."""
    start, end = code_object.text.address, code_object.text.address + len(code_object.text.data)
    return sorted(
        {
            symbol.address
            for symbol in code_object.symbols.values()
            if symbol.kind == "function"
            and start <= symbol.address < end
            and symbol.name not in code_object.kernels
        }
    )


@dataclass
class Code:
    """Reachable instructions and where blocks begin."""

    instructions: dict[int, Instruction]
    leaders: set[int]


def reachable(code_object: CodeObject, entry: int) -> Code:
    """Instructions that execution from `entry` can reach.

    Raises:
        CodeObjectError: execution can run into bytes that are no instruction, or out of the code.
    """
    base, data = code_object.text
    code = Code({}, {entry})
    pending = [entry]
    functions_added = False
    while pending:
        address = pending.pop()
        constants = _Constants()
        while address not in code.instructions:
            if not base <= address < base + len(data):
                raise CodeObjectError(
                    f"execution from {entry:#x} can reach {address:#x}, outside the code at {base:#x} to "
                    f"{base + len(data):#x}: the code object is damaged."
                )
            instruction = decode_one(data, address - base, address, code_object.target)
            code.instructions[address] = instruction
            after = address + instruction.size
            opcode = instruction.opcode
            if opcode in ENDS_BLOCK:
                for successor in successors(instruction):
                    if opcode == "s_swappc_b64" and _is_padding(data, successor - base):
                        continue  # this call never returns, such as a failed assertion's
                    code.leaders.add(successor)
                    pending.append(successor)
                if opcode in _INDIRECT:
                    target = constants.pair(instruction.src[0])
                    targets: list[int] = []
                    if target is not None:
                        targets = [target]
                    elif not functions_added and not _is_return(instruction):
                        functions_added = True
                        targets = function_symbols(code_object)
                    code.leaders.update(targets)
                    pending.extend(targets)
                break
            constants.follow(instruction)
            address = after
    return code


def _is_padding(data: bytes, offset: int) -> bool:
    """Whether only s_nop follows to the end of the code, which compilers fill up for the prefetcher."""
    words = data[offset:]
    return 0 <= offset <= len(data) and len(words) % 4 == 0 and words == b"\0\0\x80\xbf" * (len(words) // 4)


def _is_return(instruction: Instruction) -> bool:
    """Whether a jump goes back to a caller, whose address after the call is a block's beginning anyway."""
    return instruction.opcode == "s_setpc_b64" and instruction.src[0].index == _RETURN_REGISTERS


class _Constants:
    """Scalar registers whose values are known in straight code: enough to see where a call goes that the
    compiler made from the program counter and a distance."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._carry: int | None = None

    def pair(self, operand: Operand) -> int | None:
        """A 64-bit register pair, None if it is not known."""
        low, high = (self._values.get(operand.index + n) for n in (0, 1))
        return low | high << 32 if operand.kind == "s" and low is not None and high is not None else None

    def _value(self, operand: Operand) -> int | None:
        if operand.kind in ("imm", "simm"):
            return operand.bits("b32")
        return self._values.get(operand.index) if operand.kind == "s" else None

    def follow(self, instruction: Instruction) -> None:
        """Account for an instruction."""
        opcode = instruction.opcode
        results: list[int | None] = []
        carry = self._carry if not instruction.form.is_scalar else None
        if opcode == "s_getpc_b64":
            after = instruction.address + instruction.size
            results = [after & 0xFFFFFFFF, after >> 32]
            carry = self._carry
        elif opcode == "s_mov_b32":
            results = [self._value(instruction.src[0])]
            carry = self._carry
        elif opcode == "s_mov_b64" and (value := self.pair(instruction.src[0])) is not None:
            results = [value & 0xFFFFFFFF, value >> 32]
            carry = self._carry
        elif opcode in ("s_add_u32", "s_addc_u32"):
            a, b = (self._value(operand) for operand in instruction.src)
            start = 0 if opcode == "s_add_u32" else self._carry
            if a is not None and b is not None and start is not None:
                total = a + b + start
                results, carry = [total & 0xFFFFFFFF], total >> 32
        for operand in instruction.dst:
            if operand.kind == "s":
                for register in range(operand.index, operand.index + operand.width):
                    self._values.pop(register, None)
        if results:
            first = instruction.dst[0].index
            self._values.update({first + n: value for n, value in enumerate(results) if value is not None})
        self._carry = carry


def successors(instruction: Instruction) -> Iterator[int]:
    """Where execution can go on after an instruction that ends its block, as far as that is known."""
    after = instruction.address + instruction.size
    opcode = instruction.opcode
    if opcode == "s_trap" and instruction.src[0].value != 3:
        return  # a compiler puts nothing after a trap that ends the wave
    if instruction.record.flow in (Flow.BRANCH, Flow.CONDITIONAL, Flow.CALL):
        yield target_of(instruction)
    if opcode not in _UNCONDITIONAL or opcode == "s_swappc_b64":
        yield after


def blocks_of(code: Code) -> list[list[Instruction]]:
    """The reachable instructions cut into blocks, by ascending address."""
    blocks: list[list[Instruction]] = []
    current: list[Instruction] = []
    expected = -1
    addresses = sorted(code.instructions)
    leaders = set(code.leaders)
    # A jump into the middle of an instruction makes two readings of the same bytes, which may join again.
    for address, following in itertools.pairwise(addresses):
        instruction = code.instructions[address]
        after = address + instruction.size
        if after != following and instruction.opcode not in ENDS_BLOCK:
            leaders.add(after)
    for address in addresses:
        instruction = code.instructions[address]
        is_long = len(current) >= PIECE and not follow_at_once(current[-1], instruction)
        if current and (address in leaders or address != expected or is_long):
            blocks.append(current)
            current = []
        current.append(instruction)
        expected = address + instruction.size
        if instruction.opcode in ENDS_BLOCK:
            blocks.append(current)
            current = []
    if current:
        blocks.append(current)
    return blocks


def float_modes(
    blocks: list[list[Instruction]], index_of: Mapping[int, int], roots: Iterable[int], initial: Mode
) -> list[Mode | None]:
    """The floating-point mode at the start of each block; None where it depends on the way taken.

    Functions that are called indirectly begin in the kernel's mode, and are taken to leave it as it was.
    """
    changes = [any(instruction.opcode in SETS_REGISTER for instruction in block) for block in blocks]
    if not any(changes):
        return [initial] * len(blocks)
    modes: dict[int, Mode | None] = dict.fromkeys(roots, initial)
    pending = list(modes)
    while pending:
        index = pending.pop()
        mode = modes[index]
        if changes[index]:
            for instruction in blocks[index]:
                mode = mode_after(instruction, mode)
        last = blocks[index][-1]
        after = last.address + last.size
        ends = last.opcode in ENDS_BLOCK
        for successor in successors(last) if ends else (after,):
            place = index_of[successor]
            if place not in modes:
                modes[place] = mode
            elif modes[place] is None or modes[place] == mode:
                continue
            else:
                modes[place] = None
            pending.append(place)
    return [modes.get(index, initial) for index in range(len(blocks))]


def followers(blocks: Sequence[Sequence[Instruction]], index: int, index_of: Mapping[int, int]) -> list[int]:
    """Blocks that a wave may run right after a block; none after a call, whose callee comes in between."""
    last = blocks[index][-1]
    if last.opcode == "s_swappc_b64":
        return []
    if last.record.flow is Flow.CALL:
        return [index_of[target_of(last)]]
    ways = successors(last) if last.opcode in ENDS_BLOCK else (last.address + last.size,)
    return [index_of[address] for address in ways if address in index_of]
