"""Translates a kernel's machine code into native code, and caches it.

Basic blocks are found by following branches from the kernel's entry (`flow`); each becomes a native function
(`emission`) that runs the block for one wave and says which block is next. Everything that cannot be executed
is found before anything runs, and one error names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from workbench.cache import Cache, digest
from workbench.codeobject import printer
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode
from workbench.codeobject.elf import CodeObject
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.names import first_names
from workbench.emulator.native import abi
from workbench.emulator.native.ops import Rows
from workbench.emulator.sanitizer.analysis import analyse
from workbench.emulator.translate import engine
from workbench.emulator.translate.emission import Failure, emit
from workbench.emulator.translate.flow import (
    blocks_of,
    choose_registers,
    float_modes,
    followers,
    function_symbols,
    reachable,
    split_where_skipped,
)
from workbench.emulator.translate.late_loads import at_stops, one_by_one
from workbench.emulator.translate.options import Mode, Options
from workbench.emulator.translate.unwritten import rows_read_first
from workbench.errors import CodeObjectError, EmptyKernel, UnsupportedInstruction
from workbench.targets import PARTIAL
from workbench.targets import target as target_record
from workbench.toolchain import cpu


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
    _code: tuple[bytes, int, str, int] = field(repr=False, compare=False)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The block's instructions, decoded again."""
        data, base, target, lanes = self._code
        start = self.address - base
        return tuple(decode(data[start : start + self.size], self.address, target, lanes))


@dataclass(frozen=True)
class Translation:
    """A kernel ready to run.

    Attributes:
        kernel: name of the kernel.
        blocks: basic blocks, by index.
        entry: index of the block at the kernel's entry.
        functions: native function pointers (abi.h's BlockFn) by block index.
        places: code object addresses of the blocks in order, and the blocks' indices, for indirect jumps.
        row_count: vector register rows that the code touches, AGPRs included.
        poisoned: [row_count] 1 for each row that must hold poison when a wave whose lanes are all on starts;
            None: every row.
    """

    kernel: str
    blocks: tuple[Block, ...]
    entry: int
    functions: Any
    places: tuple[Any, Any]
    row_count: int
    poisoned: bytes | None
    _code: engine.LoadedCode = field(repr=False, compare=False)


def translate(
    code_object: CodeObject,
    kernel: str,
    *,
    sanitize: bool = False,
    single: bool = False,
    exact: bool = False,
    approximate: bool = False,
    late: bool = False,
    scheduled: bool = False,
) -> Translation:
    """Native code for a kernel of a code object, from the cache if it has been translated before.

    Args:
        sanitize: the code reports each instruction to the sanitizer (native/observe/sanitizer) before it
            runs.
        single: make each instruction a separate block.
        exact: matrix instructions give a matrix core's bits.
        approximate: transcendental instructions err as the launch requests.
        late: loads complete when the launch requests.
        scheduled: with `late`, waves can stop where the launch requests.

    Raises:
        UnsupportedInstruction: instructions that the kernel can reach are not executed; the message names
            the first with its address and source line, and how many more there are.
        EmptyKernel: the compiler left no instructions.
        CodeObjectError: the code object has no such kernel, or its code is damaged.
    """
    info = code_object.kernels.get(kernel)
    if info is None:
        names = first_names(code_object.kernels) or "none"
        raise CodeObjectError(f"the code object has no kernel {kernel!r}; it has: {names}.")
    if not info.size:
        raise EmptyKernel(
            f"kernel {info.short_name} has no instructions: the compiler removed all of it, even its end. It "
            "may do so if every path through a kernel is undefined behaviour in C++: most often an endless "
            "loop without effects, else __builtin_unreachable() or a division by zero. A GPU would execute "
            "whatever follows. Give the loop an end or an effect (a store, "
            '`asm volatile("")`); compiled at -O0 the kernel still shows what it does.'
        )
    options = replace(
        _options(code_object, kernel),
        sanitize=sanitize,
        single=single,
        exact=exact,
        approximate=approximate,
        late=late,
        scheduled=scheduled,
    )
    cache_ = Cache("translations")
    key = digest(
        translator_version(),
        engine.identity(),
        repr(options.mode),
        f"sanitize {sanitize}, single {single}, exact {exact}, approximate {approximate}, late {late}, "
        f"scheduled {scheduled}",
        f"{options.target} {options.acc_offset} {options.wave_size} {options.rows} {info.entry} "
        f"{options.uses_tiles}",
        f"{code_object.text.address}",
        repr(function_symbols(code_object)),
        code_object.text_digest,
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
    """Digest of the sources that determine the code."""
    return digest(*(part for path in sources() for part in (path.name, path.read_bytes())))


def sources() -> list[Path]:
    """The sources that determine a kernel's code."""
    emulator = Path(__file__).resolve().parents[1]
    parts = (emulator / "translate", emulator / "semantics", emulator / "sanitizer", emulator / "native")
    files = [
        *(path for folder in parts for path in sorted(folder.rglob("*.py"))),
        abi.HEADER,
        *sorted((emulator.parent / "codeobject").rglob("*.py")),
        *sorted((emulator.parent / "codeobject").rglob("*.csv")),
    ]
    return [path for path in files if path.is_file()]


def _options(code_object: CodeObject, kernel: str) -> Options:
    descriptor = code_object.kernels[kernel].descriptor
    mode = descriptor.float_mode | descriptor.dx10_clamp << 8 | descriptor.ieee_mode << 9
    mode |= descriptor.fp16_overflow << 23
    return Options(
        target=code_object.target,
        acc_offset=descriptor.accum_offset,
        mode=Mode.from_register(mode),
        host=cpu.features(),
        wave_size=descriptor.wave_size,
        rows=descriptor.vgpr_count,
        has_null=target_record(code_object.target).has_null,
        has_global_scratch=target_record(code_object.target).has_global_scratch,
    )


@dataclass(frozen=True)
class _Program:
    """A translation in the form that is cached."""

    blocks: list[tuple[int, int]]
    entry: int
    row_count: int
    symbols: list[str]
    code: bytes
    poisoned: bytes | None

    def pack(self) -> bytes:
        fields = [self.blocks, self.entry, self.row_count, self.symbols, self.code, self.poisoned]
        return bytes(msgpack.packb(fields, use_bin_type=True))

    @classmethod
    def unpack(cls, data: bytes) -> _Program:
        blocks, entry, row_count, symbols, code, poisoned = msgpack.unpackb(data)
        return cls([(a, s) for a, s in blocks], entry, row_count, symbols, code, poisoned)


def _compile(code_object: CodeObject, kernel: str, options: Options) -> _Program:
    info = code_object.kernels[kernel]
    code = reachable(code_object, info.entry)
    blocks, skipped = split_where_skipped(blocks_of(code), info.entry)
    if options.single:
        blocks = [piece for block in blocks for piece in one_by_one(block)]
    elif options.scheduled:
        blocks = [piece for block in blocks for piece in at_stops(block)]
    index_of = {block[0].address: index for index, block in enumerate(blocks)}
    roots = [
        index_of[address] for address in (info.entry, *function_symbols(code_object)) if address in index_of
    ]
    skips: dict[int, int] = {}
    for index, block in reversed(list(enumerate(blocks))):
        behind = index_of.get(block[-1].address + block[-1].size)
        if block[0].address in skipped and behind is not None:
            skips[index] = skips.get(behind, behind)

    def followed_by(index: int) -> list[int]:
        ways = followers(blocks, index, index_of)
        return [*ways, *(skips[way] for way in ways if way in skips)]

    blocks, failures = choose_registers(blocks, index_of, roots, options.wave_size)
    if failures:
        _refuse(code_object, kernel, failures)
    modes = float_modes(blocks, index_of, roots, options.mode)
    analysis = analyse(blocks, followed_by, options.target, options.wave_size) if options.sanitize else None
    emitted = emit(
        blocks,
        index_of,
        options,
        lambda failures: _refuse(code_object, kernel, failures),
        modes,
        analysis,
        code.falls,
        skips,
    )
    data = engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)
    entry = index_of[info.entry]
    # Whoever observes registers, or loads that are late, sees what was there before the first write.
    hides_poison = not (options.sanitize or options.single or options.late or skips)
    # Later targets write halves of registers, whose records no test compares with execution yet.
    hides_poison &= target_record(options.target) not in PARTIAL
    first = rows_read_first(blocks, followed_by, entry, _rows_of(options)) if hides_poison else None
    return _Program(
        blocks=[
            (block[0].address, block[-1].address + block[-1].size - block[0].address) for block in blocks
        ],
        entry=entry,
        row_count=emitted.rows,
        symbols=sorted(emitted.symbols),
        code=data,
        poisoned=bytes(row in first for row in range(emitted.rows)) if first is not None else None,
    )


def _rows_of(options: Options) -> Rows:
    return Rows(options.target, options.acc_offset, options.exact, options.wave_size)


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
    except Exception:  # printing is a convenience here; the mnemonic is enough
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
    code = engine.LoadedCode(program.code, program.symbols, names, code_object.kernels[kernel].wave_size)
    functions = np.array([code.addresses[name] for name in names], np.uint64)
    lanes = code_object.kernels[kernel].wave_size
    source = (code_object.text.data, code_object.text.address, code_object.target, lanes)
    blocks = tuple(
        Block(index, address, size, source) for index, (address, size) in enumerate(program.blocks)
    )
    in_order = sorted(blocks, key=lambda block: block.address)
    return Translation(
        kernel=kernel,
        blocks=blocks,
        entry=program.entry,
        functions=functions,
        places=(
            np.array([block.address for block in in_order], np.uint64),
            np.array([block.index for block in in_order], np.int32),
        ),
        row_count=program.row_count,
        poisoned=program.poisoned,
        _code=code,
    )


__all__ = ["Block", "Translation", "translate"]
