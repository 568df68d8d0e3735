"""The registry of semantics: every instruction's meaning is registered here under its opcode.

A meaning is a short function of typed values; the decorators wrap it with what its family shares (operands,
modifiers, results), so that a reader of a semantics module sees the instruction and nothing else.

A signature says what goes in and out, results first: "f32 <- f32 f32", "u32 mask <- u32 u32 mask". Kinds are
a type letter and width (b, i, u, f, bf); `mask` is a lane mask in a scalar register pair, or VCC if the
encoding has no field for it; `old` is the destination's previous value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Registers
from workbench.emulator.native import abi
from workbench.emulator.semantics.executed import CHANGED
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.operands import (
    fetch,
    fetch_packed,
    packed_dword,
    prepare,
    put,
    put_packed,
)
from workbench.emulator.translate.options import Unsupported

Handler = Callable[[BlockTranslator, Instruction], None]
Meaning = Callable[..., Any]

SEMANTICS: dict[str, Handler] = {}
"""Handler of each opcode."""

NO_OPERATION: set[str] = set()
"""Opcodes that are executed by doing nothing: waits, hints, cache control."""

ENDS_BLOCK: set[str] = set()
"""Opcodes after which the wave continues in another block."""

VCC = Operand("s", abi.VCC, 2)
_EXEC = Operand("s", abi.EXEC, 2)


def register(opcodes: str, handler: Handler) -> None:
    """Register a handler under each of the opcodes, separated by spaces."""
    for opcode in opcodes.split():
        assert opcode not in SEMANTICS, opcode
        SEMANTICS[opcode] = handler


def _parse(signature: str) -> tuple[list[str], list[str]]:
    results, sources = signature.split("<-")
    return results.split(), sources.split()


def _mask_operand(operands: tuple[Operand, ...], position: int) -> Operand:
    return operands[position] if position < len(operands) else VCC


def lanes(opcodes: str, signature: str, *, keep_high: bool = False) -> Callable[[Meaning], Meaning]:
    """Register a lane-wise vector instruction: meaning(block, *sources) returns the result or results. Clamp
    is applied to float results here; integer meanings that saturate look at `block.clamp`, and the others are
    those where the hardware's clamp does nothing.

    Args:
        keep_high: True if a 16-bit result preserves the other half of the destination.
    """
    result_kinds, source_kinds = _parse(signature)

    def decorate(meaning: Meaning) -> Meaning:
        def handle(block: BlockTranslator, instruction: Instruction) -> None:
            results = [_mask_operand(instruction.dst, n) for n in range(len(result_kinds))]
            sources = []
            position = 0
            for kind in source_kinds:
                if kind == "old":
                    sources.append((Operand("old", results[0].index, results[0].width), result_kinds[0]))
                    continue
                operand = _mask_operand(instruction.src, position) if kind == "mask" else None
                if operand is None:
                    if position >= len(instruction.src):
                        raise Unsupported(f"{instruction.opcode} with {len(instruction.src)} sources")
                    operand = instruction.src[position]
                sources.append((operand, kind))
                position += 1
            prepare(block, tuple(sources))
            for operand, kind in zip(results, result_kinds, strict=True):
                if kind == "mask":
                    block.prepare_mask_write(operand.index)
            block.open_run()
            values = []
            position = 0
            for operand, kind in sources:
                if operand.kind == "old":
                    values.append(_old(block, results[0], kind))
                else:
                    values.append(fetch(block, operand, kind, position))
                    position += 1
            outcome = meaning(block, *values)
            outcomes = outcome if isinstance(outcome, tuple) else (outcome,)
            for operand, kind, value in zip(results, result_kinds, outcomes, strict=True):
                put(block, operand, kind, value, keep_high)

        register(opcodes, handle)
        return meaning

    return decorate


def _old(block: BlockTranslator, operand: Operand, kind: str) -> Value:
    """The destination's value before the instruction, as a source without modifiers."""
    instruction = block.instruction
    if instruction.modifiers.get("op_sel", 0) & 8 and kind.endswith("16") and operand.half is None:
        raise Unsupported("op_sel on a destination that is also read")
    plain = Operand(operand.kind, operand.index, operand.width, half=operand.half)
    # Position 3 is beyond every select, pattern and op_sel bit of the sources.
    return fetch(block, plain, kind, 3)


def compare(
    condition: str, kind: str, second: str | None = None, later: str | None = None
) -> Callable[[Meaning], Meaning]:
    """Register v_cmp_ and v_cmpx_ with a condition, as "lt_f32": meaning(block, a, b) gives lanes of i1.

    v_cmpx also writes EXEC; on later targets it writes EXEC alone.

    Args:
        condition: the end of the names, with the type.
        kind, second: types of the operands; the second's is the first's by default.
        later: operation that is v_cmpx_ of later targets, by default `CHANGED` with gfx9's name; "": they
            have none.
    """

    def decorate(meaning: Meaning) -> Meaning:
        def handle(
            block: BlockTranslator, instruction: Instruction, results: tuple[Operand, ...] | None = None
        ) -> None:
            result = _mask_operand(instruction.dst if results is None else results, 0)
            first, other = instruction.src[0], instruction.src[1]
            if instruction.form.is_dpp or (not instruction.form.is_sdwa and len(instruction.src) != 2):
                raise Unsupported(f"{instruction.mnemonic} in this form")
            prepare(block, ((first, kind), (other, second or kind)))
            block.prepare_mask_write(result.index)
            run = block.open_run()
            value = meaning(block, fetch(block, first, kind, 0), fetch(block, other, second or kind, 1))
            if not block.is_null(result.index):
                run.set_mask(result.index, value)
            if Registers.EXEC in instruction.record.writes and result.index != abi.EXEC:
                run.set_mask(abi.EXEC, value)

        register(f"v_cmp_{condition} v_cmpx_{condition}", handle)
        if (name := f"{CHANGED}v_cmpx_{condition}" if later is None else later) != "":
            register(name, lambda block, instruction: handle(block, instruction, (_EXEC,)))
        return meaning

    return decorate


def packed(opcodes: str, signature: str) -> Callable[[Meaning], Meaning]:
    """Register a packed 16-bit instruction: the meaning sees vectors with both halves of every lane."""
    _, source_kinds = _parse(signature)

    def decorate(meaning: Meaning) -> Meaning:
        def handle(block: BlockTranslator, instruction: Instruction) -> None:
            prepare(block, tuple((operand, "b32") for operand in instruction.src))
            block.open_run()
            values = [
                fetch_packed(block, operand, kind, position)
                for position, (operand, kind) in enumerate(zip(instruction.src, source_kinds, strict=True))
            ]
            put_packed(block, instruction.dst[0], meaning(block, *values))

        register(opcodes, handle)
        return meaning

    return decorate


def packed_floats(opcodes: str) -> Callable[[Meaning], Meaning]:
    """Register a v_pk_*_f32: the meaning is applied to each of two f32 of a register pair."""

    def decorate(meaning: Meaning) -> Meaning:
        def handle(block: BlockTranslator, instruction: Instruction) -> None:
            prepare(block, tuple((operand, "b64") for operand in instruction.src))
            block.open_run()
            results = [
                meaning(
                    block,
                    *(
                        packed_dword(block, operand, position, high)
                        for position, operand in enumerate(instruction.src)
                    ),
                )
                for high in (False, True)
            ]
            operand = instruction.dst[0]
            for word, value in enumerate(results):
                put(block, Operand(operand.kind, operand.index + word, 1), "f32", value)

        register(opcodes, handle)
        return meaning

    return decorate


def scalar(opcodes: str, signature: str, *, scc: str = "") -> Callable[[Meaning], Meaning]:
    """Register a scalar ALU instruction: meaning(block, *sources) gives the result.

    Args:
        signature: kinds of 32 or 64 bits, results first; no result where only SCC is written.
        scc: "nonzero": SCC says whether the result is not zero; "pair": the meaning returns (result, SCC as
            i1); "only": the meaning returns SCC; "": SCC stays.
    """
    result_kinds, source_kinds = _parse(signature)

    def decorate(meaning: Meaning) -> Meaning:
        def handle(block: BlockTranslator, instruction: Instruction) -> None:
            sources = [kind for kind in source_kinds if kind != "old"]
            if len(sources) > len(instruction.src):
                raise Unsupported(f"{instruction.opcode} with {len(instruction.src)} sources")
            values = [
                block.scalar(operand, kind) for operand, kind in zip(instruction.src, sources, strict=False)
            ]
            if "old" in source_kinds:
                values.append(block.scalar(instruction.dst[0], result_kinds[0]))
            outcome = meaning(block, *values)
            if scc == "only":
                block.scalars.set_scc(outcome)
                return
            condition = None
            if scc == "pair":
                outcome, condition = outcome
            block.set_register(instruction.dst[0].index, outcome)
            if scc == "nonzero":
                condition = outcome.ne(0)
            if condition is not None:
                block.scalars.set_scc(condition)

        register(opcodes, handle)
        return meaning

    return decorate


def ends_block(opcodes: str) -> Callable[[Handler], Handler]:
    """Register an instruction that ends its block; the handler calls `block.finish`."""

    def decorate(handler: Handler) -> Handler:
        register(opcodes, handler)
        ENDS_BLOCK.update(opcodes.split())
        return handler

    return decorate


def straight(opcodes: str) -> Callable[[Handler], Handler]:
    """Register a handler that emits scalar code by itself."""

    def decorate(handler: Handler) -> Handler:
        register(opcodes, handler)
        return handler

    return decorate


def nothing(opcodes: str) -> None:
    """Register instructions for which nothing has to be done."""
    register(opcodes, lambda block, instruction: None)
    NO_OPERATION.update(opcodes.split())
