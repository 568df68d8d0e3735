"""LLVM IR of a kernel: passes each block's instructions to their semantics or to a native operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import MATRICES
from workbench.emulator.native import function_address
from workbench.emulator.native.ops import NATIVE, Rows
from workbench.emulator.sanitizer.analysis import Analysis
from workbench.emulator.sanitizer.recorder import Recorder
from workbench.emulator.semantics import NO_OPERATION, SEMANTICS
from workbench.emulator.semantics.control import run_past
from workbench.emulator.semantics.executed import executed, spare_rows
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.lane_run import INDEXED
from workbench.emulator.translate.late_accesses import LateAccesses
from workbench.emulator.translate.late_loads import by_arrival
from workbench.emulator.translate.matrix_chain import KEPT_ROWS, MatrixChain, sums
from workbench.emulator.translate.options import Mode, Options, Unsupported
from workbench.errors import UnsupportedInstruction


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
    """IR of a kernel: functions, constants and declarations as text, and the native symbols it calls.

    Attributes:
        rows: vector register rows that the code touches.
    """

    functions: list[str]
    constants: list[str]
    declarations: set[str]
    symbols: set[str]
    rows: int


Failure = tuple[Instruction, str]


def emit(
    blocks: list[list[Instruction]],
    index_of: Mapping[int, int],
    options: Options,
    refuse: Callable[[list[Failure]], None],
    modes: Sequence[Mode | None] | None = None,
    analysis: Analysis | None = None,
    falls: Collection[int] = (),
    skips: Mapping[int, int] = MappingProxyType({}),
) -> Emitted:
    """IR of every block.

    Args:
        blocks: instructions of each block, by index.
        index_of: block index by address.
        refuse: called with all unsupported instructions, if any, and the reasons.
        modes: floating-point mode at the start of each block; by default the kernel's.
        analysis: the sanitizer's analysis of the code.
        falls: addresses of the last instructions of functions, after which execution must not continue.
        skips: blocks that do not run while MODE.vskip is set, and their replacements, by index.
    """
    named = row_count(blocks, options.acc_offset)
    result = Emitted([], [], set(), set(), named)
    spare = max(named, options.rows)
    if more := spare_rows(instruction for block in blocks for instruction in block):
        result.rows = spare + more
    failures: list[Failure] = []
    has_matrices = any(i.opcode in MATRICES for block in blocks for i in block)
    rows = Rows(options.target, options.acc_offset, options.exact, options.wave_size)
    accumulators = (
        frozenset()
        if options.exact
        else sums((instruction for block in blocks for instruction in block), rows)
    )
    for index, block in enumerate(blocks):
        last = block[-1]
        next_index = index_of.get(last.address + last.size, -1)
        mode = modes[index] if modes is not None else options.mode
        translator = BlockTranslator(
            options, f"block{index}", index_of.__getitem__, next_index, mode, has_matrices, skips
        )
        translator.skip_over(index)
        # The sanitizer gets each instruction before it runs.
        chain = None if options.sanitize or options.late else MatrixChain(translator, spare, accumulators)
        falls_out = last.address in falls
        _emit_block(translator, block, rows, failures, analysis or Analysis(), chain, falls_out, spare)
        if chain is not None and chain.kept:
            result.rows = spare + KEPT_ROWS
        if not failures:
            result.functions.append(translator.function.text())
            result.constants.extend(translator.function.constants)
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
    analysis: Analysis,
    chain: MatrixChain | None,
    falls: bool,
    spare: int,
) -> None:
    recorder = Recorder(translator, rows, analysis) if translator.options.sanitize else None
    late = LateAccesses(translator, rows) if translator.options.late else None
    ordered = ((i, (i,)) for i in block) if late is not None else by_arrival(block)
    for instruction, issued in _operations(ordered, rows.wave_size, spare):
        opcode = instruction.opcode
        if late is not None:
            late.before(instruction)
        if recorder is not None and not translator.indexed_positions:
            for issue in issued:
                recorder.before(issue, executed(issue, rows.wave_size, spare))
        if opcode in NO_OPERATION:
            continue
        native = NATIVE.get(opcode)
        try:
            if chain is not None:
                if opcode in MATRICES and chain.add(instruction, NATIVE[opcode].encode(instruction, rows)):
                    continue
                chain.make_way(instruction)
        except UnsupportedInstruction as reason:
            failures.append((instruction, str(reason)))
            continue
        if translator.indexed_positions and instruction.form.is_vector:
            translator.close_run()
            translator.begin(_indexed(instruction, translator.indexed_positions))
            instruction = translator.instruction
        else:
            translator.begin(instruction)
        try:
            if native is not None:
                fields = native.encode(instruction, rows)
                if function_address(fields.function, rows.wave_size) is None:
                    raise Unsupported(
                        f"the native library for waves of {rows.wave_size} lanes has no {fields.function}"
                    )
                record = fields.record(instruction.address)
                if late is None or not late.issue(instruction, fields.function):
                    translator.native(fields.function, record, native.can_fault)
            else:
                handler = SEMANTICS.get(opcode)
                if handler is None:
                    raise Unsupported("no semantics for this instruction")
                handler(translator, instruction)
        except (Unsupported, UnsupportedInstruction) as reason:
            failures.append((instruction, str(reason)))
        translator.end()
        if translator.indexed_positions:
            # The rows that an indexed instruction accesses are not known here, so it gets its own run.
            translator.close_run()
    if chain is not None and not translator.finished:
        chain.finish()
    if translator.indexed_positions:
        failures.append((block[-1], "a block that ends in the index mode of vector registers"))
    if not translator.finished:
        if recorder is not None:
            recorder.hand_over()
        if falls:
            run_past(translator, block[-1])
        else:
            translator.finish()


def _operations(
    instructions: Iterable[tuple[Instruction, Sequence[Instruction]]], lanes: int, spare: int
) -> Iterator[tuple[Instruction, Sequence[Instruction]]]:
    """Operations in the place of instructions; what comes with an instruction comes with its first one."""
    for instruction, issued in instructions:
        for operation in executed(instruction, lanes, spare):
            yield operation, issued
            issued = ()


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
