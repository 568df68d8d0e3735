"""Translates a kernel's machine code into native code: what to translate, in which pieces, and its cache.

Basic blocks are found by following branches from the kernel's entry; each becomes a native function that
runs the block for one wave and says which block is next. Everything that cannot be executed is found before
anything runs and named in one error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from workbench.cache import Cache, digest
from workbench.codeobject import printer
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode, decode_one
from workbench.codeobject.elf import CodeObject
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import MATRICES, Flow
from workbench.emulator.native import abi, function_address
from workbench.emulator.native.ops import NATIVE, Rows
from workbench.emulator.sanitizer import hazards
from workbench.emulator.sanitizer.hazards import Hazards
from workbench.emulator.sanitizer.recorder import Recorder
from workbench.emulator.semantics import ENDS_BLOCK, NO_OPERATION, SEMANTICS
from workbench.emulator.semantics.control import SETS_REGISTER, mode_after, target_of
from workbench.emulator.translate import engine
from workbench.emulator.translate.block import INDEXED, BlockTranslator, Mode, Options, Unsupported
from workbench.emulator.translate.matrix_chain import MatrixChain
from workbench.errors import CodeObjectError, UnsupportedInstruction

PIECE = 256
"""Instructions after which a long block is cut; a piece is a block that falls through."""

_RETURN_REGISTERS = 30
"""SGPR pair that holds the return address in the calling convention of AMDGPU functions."""

_UNCONDITIONAL = frozenset(
    {"s_branch", "s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_setpc_b64", "s_swappc_b64"}
)
_INDIRECT = frozenset({"s_setpc_b64", "s_swappc_b64"})


@dataclass(frozen=True)
class Block:
    """A basic block, or a piece of a long one.

    Attributes:
        index: its place in Translation.blocks and in counts of executions.
        address: code object address of its first instruction.
        size: bytes of code.
    """

    index: int
    address: int
    size: int
    _code: tuple[bytes, int, str] = field(repr=False, compare=False)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The block's instructions, decoded anew."""
        data, base, target = self._code
        start = self.address - base
        return tuple(decode(data[start : start + self.size], self.address, target))


@dataclass(frozen=True)
class Translation:
    """A kernel ready to run.

    Attributes:
        kernel: its name.
        blocks: basic blocks, by index.
        entry: index of the block at the kernel's entry.
        functions: native function pointers (abi.h's BlockFn) by block index.
        addresses: block index by code object address, for indirect jumps.
        row_count: vector register rows that the code touches, AGPRs included.
    """

    kernel: str
    blocks: tuple[Block, ...]
    entry: int
    functions: Any
    addresses: Mapping[int, int]
    row_count: int
    _code: engine.LoadedCode = field(repr=False, compare=False)


def translate(code_object: CodeObject, kernel: str, *, sanitize: bool = False) -> Translation:
    """Native code for a kernel of a code object, from the cache where it has been translated before.

    Args:
        sanitize: the code tells the sanitizer (native/observe/sanitizer) of each instruction before it runs.

    Raises:
        UnsupportedInstruction: instructions that the kernel can reach are not executed; the message names
            the first with its address and source line, and how many more there are.
        CodeObjectError: the code object has no such kernel, or its code is damaged.
    """
    info = code_object.kernels.get(kernel)
    if info is None:
        known = ", ".join(code_object.kernels) or "none"
        raise CodeObjectError(f"the code object has no kernel {kernel!r}; it has: {known}.")
    options = replace(_options(code_object, kernel), sanitize=sanitize)
    cache_ = Cache("translations")
    key = digest(
        translator_version(),
        engine.identity(),
        repr(options.mode),
        f"sanitize {sanitize}",
        f"{options.target} {options.acc_offset} {options.rows} {info.entry} {code_object.text.address}",
        repr(_function_symbols(code_object)),
        code_object.text.data,
    )
    stored = cache_.get(key)
    if stored is not None:
        program = _Program.unpack(stored)
    else:
        program = _compile(code_object, kernel, options)
        cache_.put(key, program.pack())
    return _load(code_object, kernel, program)


@cache
def translator_version() -> str:
    """Digest of the sources that decide what code is made."""
    return digest(*(part for path in sources() for part in (path.name, path.read_bytes())))


def sources() -> list[Path]:
    """The sources that decide what code is made of a kernel."""
    emulator = Path(__file__).resolve().parents[1]
    parts = (emulator / "translate", emulator / "semantics", emulator / "sanitizer", emulator / "native")
    files = [
        *(path for folder in parts for path in sorted(folder.rglob("*.py"))),
        abi.HEADER,
        *sorted((emulator.parent / "codeobject").rglob("*.py")),
        *sorted((emulator.parent / "codeobject" / "isa").glob("*")),
    ]
    return [path for path in files if path.is_file()]


def _options(code_object: CodeObject, kernel: str) -> Options:
    descriptor = code_object.kernels[kernel].descriptor
    mode = descriptor.float_mode | descriptor.dx10_clamp << 8 | descriptor.ieee_mode << 9
    mode |= descriptor.fp16_overflow << 23
    return Options(
        target=code_object.target,
        acc_offset=descriptor.accum_offset,
        mode=Mode.of(mode),
        host=engine.host_features(),
        rows=descriptor.vgpr_count,
    )


# What can be reached


def _function_symbols(code_object: CodeObject) -> list[int]:
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
class _Code:
    """Reachable instructions and where blocks begin."""

    instructions: dict[int, Instruction]
    leaders: set[int]


def reachable(code_object: CodeObject, entry: int) -> _Code:
    """Instructions that execution from `entry` can reach.

    Raises:
        CodeObjectError: execution can run into bytes that are no instruction, or out of the code.
    """
    base, data = code_object.text
    code = _Code({}, {entry})
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
                for successor in _successors(instruction):
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
                        targets = _function_symbols(code_object)
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
        carry = self._carry if not instruction.format.startswith("SOP") else None
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


def _successors(instruction: Instruction) -> Iterator[int]:
    """Where execution can go on after an instruction that ends its block, as far as that is known."""
    after = instruction.address + instruction.size
    opcode = instruction.opcode
    if opcode == "s_trap" and instruction.src[0].value != 3:
        return  # a compiler puts nothing after a trap that ends the wave
    if instruction.record.flow in (Flow.BRANCH, Flow.CONDITIONAL, Flow.CALL):
        yield target_of(instruction)
    if opcode not in _UNCONDITIONAL or opcode == "s_swappc_b64":
        yield after


def blocks_of(code: _Code) -> list[list[Instruction]]:
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
        if current and (address in leaders or address != expected or len(current) >= PIECE):
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
        for successor in _successors(last) if ends else (after,):
            place = index_of[successor]
            if place not in modes:
                modes[place] = mode
            elif modes[place] is None or modes[place] == mode:
                continue
            else:
                modes[place] = None
            pending.append(place)
    return [modes.get(index, initial) for index in range(len(blocks))]


# Compilation


@dataclass(frozen=True)
class _Program:
    """What the cache keeps of a translation."""

    blocks: list[tuple[int, int]]
    entry: int
    row_count: int
    symbols: list[str]
    code: bytes

    def pack(self) -> bytes:
        return bytes(
            msgpack.packb(
                [self.blocks, self.entry, self.row_count, self.symbols, self.code], use_bin_type=True
            )
        )

    @classmethod
    def unpack(cls, data: bytes) -> _Program:
        blocks, entry, row_count, symbols, code = msgpack.unpackb(data)
        return cls([(a, s) for a, s in blocks], entry, row_count, symbols, code)


def _compile(code_object: CodeObject, kernel: str, options: Options) -> _Program:
    info = code_object.kernels[kernel]
    blocks = blocks_of(reachable(code_object, info.entry))
    index_of = {block[0].address: index for index, block in enumerate(blocks)}
    roots = [
        index_of[address] for address in (info.entry, *_function_symbols(code_object)) if address in index_of
    ]
    modes = float_modes(blocks, index_of, roots, options.mode)
    dependencies = (
        hazards.find(blocks, lambda index: _followers(blocks, index, index_of), options.target)
        if options.sanitize
        else None
    )
    emitted = emit(
        blocks,
        index_of,
        options,
        lambda failures: _refuse(code_object, kernel, failures),
        modes,
        dependencies,
    )
    data = engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)
    return _Program(
        blocks=[
            (block[0].address, block[-1].address + block[-1].size - block[0].address) for block in blocks
        ],
        entry=index_of[info.entry],
        row_count=row_count(blocks, options.acc_offset),
        symbols=sorted(emitted.symbols),
        code=data,
    )


def _followers(blocks: Sequence[Sequence[Instruction]], index: int, index_of: Mapping[int, int]) -> list[int]:
    """Blocks that a wave may run right after a block; none after a call, whose callee comes in between."""
    last = blocks[index][-1]
    if last.opcode == "s_swappc_b64":
        return []
    if last.record.flow is Flow.CALL:
        return [index_of[target_of(last)]]
    ways = _successors(last) if last.opcode in ENDS_BLOCK else (last.address + last.size,)
    return [index_of[address] for address in ways if address in index_of]


def row_count(blocks: Iterable[Iterable[Instruction]], acc_offset: int) -> int:
    """Vector register rows that instructions name, AGPRs included; never less than AGPR 0's."""
    rows = 1
    for block in blocks:
        for instruction in block:
            for operand in (*instruction.dst, *instruction.src):
                if operand.kind == "v":
                    rows = max(rows, operand.index + operand.width)
                elif operand.kind == "a":
                    rows = max(rows, acc_offset + operand.index + operand.width)
    return rows


@dataclass
class Emitted:
    """IR of a kernel: functions, constants and declarations as text, and the native symbols it calls."""

    functions: list[str]
    constants: list[str]
    declarations: set[str]
    symbols: set[str]


Failure = tuple[Instruction, str]


def emit(
    blocks: list[list[Instruction]],
    index_of: Mapping[int, int],
    options: Options,
    refuse: Callable[[list[Failure]], None],
    modes: Sequence[Mode | None] | None = None,
    hazards: Hazards | None = None,
) -> Emitted:
    """IR of every block.

    Args:
        blocks: by index.
        index_of: block index by address.
        refuse: called with all instructions that cannot be executed and the reasons, if there are any.
        modes: floating-point mode at the start of each block; by default the kernel's.
        hazards: what the sanitizer follows through the run.
    """
    result = Emitted([], [], set(), set())
    failures: list[Failure] = []
    rows = Rows(options.target, options.acc_offset)
    for index, block in enumerate(blocks):
        last = block[-1]
        next_index = index_of.get(last.address + last.size, -1)
        mode = modes[index] if modes is not None else options.mode
        translator = BlockTranslator(options, f"block{index}", index_of.__getitem__, next_index, mode)
        _emit_block(translator, block, rows, failures, hazards or Hazards())
        if not failures:
            result.functions.append(translator.function())
            result.constants.extend(translator.constants)
            result.declarations.update(translator.emitter.intrinsics)
    if failures:
        refuse(failures)
    result.symbols = {
        name
        for declaration in result.declarations
        if (name := declaration.partition("@")[2].partition("(")[0]).startswith("hk_")
    }
    return result


def _emit_block(
    translator: BlockTranslator,
    block: list[Instruction],
    rows: Rows,
    failures: list[Failure],
    hazards: Hazards,
) -> None:
    recorder = Recorder(translator, rows, hazards) if translator.options.sanitize else None
    # The sanitizer hears of each instruction before it runs.
    chain = MatrixChain(translator) if recorder is None else None
    for instruction in block:
        opcode = instruction.opcode
        if recorder is not None and not translator.indexed_positions:
            translator.begin(instruction)
            recorder.before(instruction)
        if opcode in NO_OPERATION:
            continue
        native = NATIVE.get(opcode)
        try:
            if chain is not None:
                if opcode in MATRICES and chain.add(instruction, NATIVE[opcode].encode(instruction, rows)):
                    continue
                if chain.waits and not chain.lets_pass(instruction):
                    chain.flush()
        except UnsupportedInstruction as reason:
            failures.append((instruction, str(reason)))
            continue
        if translator.indexed_positions and instruction.format.startswith("VOP"):
            translator.close_run()
            translator.begin(_indexed(instruction, translator.indexed_positions))
            instruction = translator.instruction
        else:
            translator.begin(instruction)
        try:
            if native is not None:
                fields = native.encode(instruction, rows)
                if function_address(fields.function) is None:
                    raise Unsupported(f"the native library has no {fields.function}")
                translator.native(fields.function, fields.record(instruction.address), native.can_fault)
            else:
                handler = SEMANTICS.get(opcode)
                if handler is None:
                    raise Unsupported("no semantics for this instruction")
                handler(translator, instruction)
        except (Unsupported, UnsupportedInstruction) as reason:
            failures.append((instruction, str(reason)))
        translator.end()
        if translator.indexed_positions:
            # Which rows an indexed instruction touches is not known here: it is a run of its own.
            translator.close_run()
    if chain is not None and not translator.finished:
        chain.flush()
    if translator.indexed_positions:
        failures.append((block[-1], "a block that ends in the index mode of vector registers"))
    if not translator.finished:
        if recorder is not None:
            recorder.hand_over()
        translator.finish()


def _indexed(instruction: Instruction, positions: int) -> Instruction:
    """The instruction with INDEXED added to the registers that the index applies to."""

    def shifted(operand: Operand, bit: int) -> Operand:
        return (
            replace(operand, index=operand.index + INDEXED)
            if operand.kind == "v" and positions & bit
            else operand
        )

    return replace(
        instruction,
        dst=tuple(shifted(operand, 8) for operand in instruction.dst),
        src=tuple(shifted(operand, 1 << n) for n, operand in enumerate(instruction.src)),
    )


def _refuse(code_object: CodeObject, kernel: str, failures: list[Failure]) -> None:
    instruction, reason = failures[0]
    others = sorted({other.opcode for other, _ in failures[1:]} - {instruction.opcode})
    place = _source_line(code_object, instruction.address)
    more = ""
    if len(failures) > 1:
        more = f" {len(failures) - 1} more instructions of the kernel are not executed either"
        more += f" ({', '.join(others[:8])}{', ...' if len(others) > 8 else ''})." if others else "."
    raise UnsupportedInstruction(
        f"kernel {kernel!r} has an instruction that the emulated {code_object.target} does not execute: "
        f"{_text(instruction)} at {instruction.address:#x}{place} ({reason}).{more} Nothing was run. Write "
        "the kernel without it, or run it on a GPU."
    )


def _text(instruction: Instruction) -> str:
    try:
        return printer.text(instruction)
    except Exception:  # the printer is a convenience here; the mnemonic is enough
        return instruction.mnemonic


def _source_line(code_object: CodeObject, address: int) -> str:
    """ ", file:line" of an instruction, empty without debug info."""
    try:
        line = DebugInfo(code_object).place_of(address)
    except CodeObjectError:
        return ""
    return f", {line[0]}:{line[1]}" if line else ""


def _load(code_object: CodeObject, kernel: str, program: _Program) -> Translation:
    names = [f"block{index}" for index in range(len(program.blocks))]
    code = engine.LoadedCode(program.code, program.symbols, names)
    functions = np.array([code.addresses[name] for name in names], np.uint64)
    source = (code_object.text.data, code_object.text.address, code_object.target)
    blocks = tuple(
        Block(index, address, size, source) for index, (address, size) in enumerate(program.blocks)
    )
    return Translation(
        kernel=kernel,
        blocks=blocks,
        entry=program.entry,
        functions=functions,
        addresses={block.address: block.index for block in blocks},
        row_count=program.row_count,
        _code=code,
    )


__all__ = ["Block", "Translation", "translate"]
