"""Instructions for the simulated compute unit: executing unit, cycles and dependences of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.codeobject.instructions import Access, Control, Flow, Space
from workbench.codeobject.registers import read, written
from workbench.codeobject.waits import requests_left, wait_states
from workbench.profile.issue import issue_cycles, result_width
from workbench.profile.simulation.native import CData, ffi, number
from workbench.targets import Request, Target

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction, Operand

_ACCUMULATION_BASE = 256
_SOURCES, _RESULTS = number("SOURCES"), number("RESULTS")
_PASSES_OF_TWO = 2
_WIDE_BYTES = 4

Levels = tuple[float, float, float, float]
"""Shares of an instruction's lines that L1, L2, Infinity Cache and HBM serve."""

Adjust = Callable[["Instruction", dict[str, Any]], dict[str, Any]]
"""Returns changed keywords of a SimOp, for a hypothetical instruction."""

FROM_L2: Levels = (0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Program:
    """A kernel's code for the simulation.

    Attributes:
        addresses, mnemonics: of the instructions in the order of the blocks.
        first: [blocks + 1] where each block begins among them.
        ops: one C record per instruction, as keywords of SimOp.
        scalar_lines: lines of the scalar cache that the code's scalar loads touch.
        polls: blocks that load a scalar which another work-group may change.
    """

    addresses: tuple[int, ...]
    mnemonics: tuple[str, ...]
    first: tuple[int, ...]
    ops: tuple[dict[str, Any], ...]
    scalar_lines: int = 0
    polls: frozenset[int] = frozenset()

    @cached_property
    def records(self) -> CData:
        """`ops` as SimOp[]."""
        return ffi.new("SimOp[]", list(self.ops))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "records"}


def program(
    blocks: Sequence[Sequence[int]],
    instructions: Mapping[int, Instruction],
    text: int,
    target: Target,
    levels: Mapping[int, Levels],
    adjust: Adjust | None = None,
) -> Program:
    """A kernel's code for the simulation.

    Args:
        blocks: addresses of each block's instructions.
        instructions: by address.
        text: address of the code's first byte.
        target: target, for its timing.
        levels: of vector memory instructions, by address.
        adjust: changes of instructions.
    """
    listed: list[Instruction] = []
    first = [0]
    for block in blocks:
        listed += (instructions[address] for address in block)
        first.append(len(listed))
    lines, line_count = _scalar_lines(instructions, target)
    records: dict[int, dict[str, Any]] = {}
    for instruction in listed:
        if instruction.address not in records:
            op = _op(instruction, text, target, levels.get(instruction.address, FROM_L2))
            op |= lines.get(instruction.address, {})
            records[instruction.address] = op if adjust is None else adjust(instruction, op)
    return Program(
        tuple(instruction.address for instruction in listed),
        tuple(instruction.mnemonic for instruction in listed),
        tuple(first),
        tuple(records[instruction.address] for instruction in listed),
        line_count,
        frozenset(
            i
            for i, block in enumerate(blocks)
            if any(lines.get(address, {}).get("flags") == number("SHARED") for address in block)
        ),
    )


def _op(instruction: Instruction, text: int, target: Target, levels: Levels) -> dict[str, Any]:
    timing = target.timing
    kind, cycles, more = _kind(instruction, target)
    latency = max(cycles, timing.turn) if kind in ("VALU", "MFMA") else timing.turn
    op: dict[str, Any] = {
        "kind": number(kind),
        "cycles": cycles,
        "latency": latency,
        "forwarded": latency,
        "place": (instruction.address - text) // 4,
        "size": instruction.size,
        "memory_left": -1,
        "local_left": -1,
        "level": levels,
        **more,
    }
    if instruction.record.flow not in (Flow.NEXT, Flow.END):
        op["flags"] = op.get("flags", 0) | number("JUMPS")
    sources = _ranges(read(instruction))
    results = _ranges(written(instruction))
    if kind == "MFMA":
        addend = instruction.dst[0] if _adds_to_result(instruction) else instruction.src[2]
        plain = [o for o in instruction.src if o is not addend]
        sources = [*_ranges(plain)[: _SOURCES - 1], *(_ranges([addend]) or [(0, 0)])]
    keep = _RESULTS if kind in ("VALU", "MFMA") else 0
    op["source"], op["sources"] = sources[-_SOURCES:], min(len(sources), _SOURCES)
    op["result"], op["results"] = results[:keep], min(len(results), keep)
    return op


def _scalar_lines(
    instructions: Mapping[int, Instruction], target: Target
) -> tuple[dict[int, dict[str, Any]], int]:
    """Lines of the scalar cache that each scalar load touches, as keywords of SimOp by address; their number.

    A pointer that no earlier instruction writes is one that the wave starts with, as a rule that of the
    kernel's arguments, so the offset from it identifies the line. Any other load has a line of its own: its
    address is not recorded.
    """
    loads = {
        address: instruction for address, instruction in instructions.items() if _loads_a_scalar(instruction)
    }
    changed: dict[int, int] = {}
    for address in sorted(instructions):
        for operand in written(instructions[address]):
            if operand.kind == "s":
                for register in range(operand.index, operand.index + operand.width):
                    changed.setdefault(register, address)
    size = int(target.timing.scalar_line)
    numbers: dict[tuple[int, int], int] = {}
    entries: dict[int, dict[str, Any]] = {}
    for address, instruction in loads.items():
        memory, (base, offset, *more) = instruction.record.memory, instruction.src
        assert memory is not None
        if instruction.modifiers.get("glc"):
            entries[address] = {"flags": number("SHARED")}
            continue
        constant = not more and offset.kind == "simm" and isinstance(offset.value, int)
        registers = range(base.index, base.index + base.width)
        if not constant or any(changed.get(register, address) < address for register in registers):
            keys, flags = [(-1, address)], 0
        else:
            begin = int(offset.value or 0)
            touched = range(begin // size, (begin + memory.bytes - 1) // size + 1)
            keys, flags = [(base.index, line) for line in touched], number("ENTRY")
        entries[address] = {"keys": keys, "flags": flags}
    # Lines that follow each other in memory have numbers that do.
    for key in sorted({key for entry in entries.values() for key in entry.get("keys", ())}):
        numbers[key] = len(numbers)
    for entry in entries.values():
        if keys := entry.pop("keys", None):
            entry |= {"scalar_line": numbers[keys[0]], "scalar_lines": len(keys)}
    return entries, len(numbers)


def _loads_a_scalar(instruction: Instruction) -> bool:
    memory = instruction.record.memory
    return (
        memory is not None
        and memory.space in (Space.SCALAR, Space.SCALAR_BUFFER)
        and memory.access is Access.LOAD
    )


def _adds_to_result(instruction: Instruction) -> bool:
    matrix = instruction.record.matrix
    return matrix is not None and matrix.sparse


def _ranges(operands: Iterable[Operand]) -> list[tuple[int, int]]:
    """Vector registers by the simulation's numbers, each range once.

    A scalar result is ready by the wave's next turn, so nothing ever waits for one.
    """
    bases = {"v": 0, "a": _ACCUMULATION_BASE}
    return list(dict.fromkeys((bases[o.kind] + o.index, o.width) for o in operands if o.kind in bases))


def _kind(instruction: Instruction, target: Target) -> tuple[str, int, dict[str, Any]]:
    """Kind, cycles, and further keywords of an instruction."""
    record, timing = instruction.record, target.timing
    if record.matrix is not None:
        return _matrix(instruction, target)
    if record.pipeline in ("valu", "trans"):
        return _vector(instruction, target)
    if record.memory is not None:
        return _memory(instruction, target)
    if record.flow is Flow.END:
        return "END", timing.turn, {}
    if record.pipeline == "branch":
        return "BRANCH", timing.turn, {}
    if record.control is Control.WAIT:
        memory, local = (requests_left(instruction, kind) for kind in (Request.LOAD, Request.LDS))
        return (
            "WAIT",
            timing.turn,
            {
                "memory_left": -1 if memory is None else memory,
                "local_left": -1 if local is None else local,
            },
        )
    field = instruction.words[0] & 0xFFFF
    if record.control is Control.BARRIER:
        return "BARRIER", timing.turn, {}
    if record.control is Control.IDLE:
        return "IDLE", timing.turn * wait_states(instruction), {}
    if record.control is Control.SLEEP:
        return "IDLE", timing.turn + timing.sleep * (field & 127), {}
    if record.control is Control.PRIORITY:
        return "PRIORITY", timing.turn, {"priority": field & 3}
    return ("SALU" if record.pipeline == "salu" else "OTHER"), timing.turn, {}


def _matrix(instruction: Instruction, target: Target) -> tuple[str, int, dict[str, Any]]:
    """An MFMA: its passes, and the time after which others may use its result.

    An addend of the same registers is forwarded when the passes are over; a vector instruction or another
    MFMA's A or B has to wait longer.
    """
    matrix, timing = instruction.record.matrix, target.timing
    assert matrix is not None
    passes = matrix.passes_with(instruction.modifiers)
    cycles = matrix.cycles_with(instruction.modifiers)
    states = passes + (timing.mfma_states if passes <= _PASSES_OF_TWO else timing.mfma_long_states)
    widest = max((o.width for o in instruction.src[:2] if o.kind in ("v", "a")), default=2)
    operands = min(cycles, max(timing.turn, timing.mfma_operands * -(-widest // 2)))
    return (
        "MFMA",
        cycles,
        {
            "operands": operands,
            "latency": timing.turn * (states + 1),
            "forwarded": cycles,
        },
    )


def _vector(instruction: Instruction, target: Target) -> tuple[str, int, dict[str, Any]]:
    record, timing = instruction.record, target.timing
    arithmetic = record.arithmetic
    is_packed = arithmetic is not None and arithmetic.type == "F32" and result_width(instruction) > 1
    flags = number("ALONE") if is_packed and not timing.packed_overlaps else 0
    return "VALU", issue_cycles(instruction, timing), {"flags": flags}


def _memory(instruction: Instruction, target: Target) -> tuple[str, int, dict[str, Any]]:
    memory, timing = instruction.record.memory, target.timing
    assert memory is not None
    if memory.space in (Space.SCALAR, Space.SCALAR_BUFFER):
        if memory.access is Access.ATOMIC:
            # A semaphore, as a rule: other dies change its line.
            return "SMEM", int(timing.turn), {"flags": number("SHARED")}
        return ("SMEM" if memory.access is Access.LOAD else "OTHER"), int(timing.turn), {}
    if memory.space is Space.LANES:
        # Like a read of a dword per lane without conflicts.
        return "LDS", target.wave_size * 4 // target.lds_bytes_per_clock, {}
    if memory.space is Space.LDS:
        return "LDS", 0, {}
    if memory.access is Access.NONE or memory.space is Space.GWS:
        return "OTHER", int(timing.turn), {}
    cycles = int(timing.l1_wide if memory.bytes > _WIDE_BYTES else timing.l1_narrow)
    flags = 0
    if memory.to_lds or instruction.modifiers.get("lds"):
        flags |= number("TO_LDS")
    if memory.access is Access.ATOMIC:
        flags |= number("ATOMIC")
    return ("LOAD" if memory.access is Access.LOAD else "STORE"), cycles, {"flags": flags}
