"""Instructions of later targets as the operations that the emulated device has.

An operation is registered under gfx9's name for it, where gfx9 has it (`Form.meaning`), and otherwise under
its own. A few names stand for other operations than on gfx9: these are registered with `CHANGED` before them.
Instructions of gfx9 are their own operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from workbench.codeobject.decoder_gfx11 import decodes, halves
from workbench.codeobject.instruction import Instruction, Operand
from workbench.codeobject.instructions import Access, forms
from workbench.codeobject.instructions.form import Form
from workbench.targets import NAMES

CHANGED = "changed:"
"""Stands before the name of an operation that is another one on gfx9."""


@cache
def _gfx9_opcodes() -> frozenset[str]:
    return frozenset(form.opcode for target in NAMES for form in forms(target).values())


@cache
def _by_opcode(target: str) -> Mapping[str, Form]:
    return {form.opcode: form for form in forms(target).values()}


@cache
def operation(form: Form) -> str:
    """The name under which an opcode of a later target is registered, if the emulated device has it."""
    alone = _by_opcode(form.target).get(form.single, form)
    if alone.meaning:
        return alone.meaning
    return CHANGED + alone.opcode if alone.opcode in _gfx9_opcodes() else alone.opcode


def executed(instruction: Instruction, lanes: int, spare: int) -> Iterator[Instruction]:
    """The operations that an instruction is, in the order in which they are done.

    Args:
        lanes: lanes of a wave.
        spare: a vector register row that no instruction names.
    """
    if not decodes(instruction.form.target):
        yield instruction
        return
    parts = halves(instruction, lanes)
    if len(parts) == 2:
        yield from _dual(_operation(parts[0]), _operation(parts[1]), spare)
    else:
        yield _operation(parts[0])


def as_operation(instruction: Instruction) -> Instruction:
    """An instruction under the name of its operation; a dual instruction keeps its own."""
    return _operation(instruction) if decodes(instruction.form.target) else instruction


def _operation(instruction: Instruction) -> Instruction:
    form, modifiers = instruction.form, instruction.modifiers
    memory = form.record.memory
    if memory is not None and memory.access is Access.ATOMIC and modifiers.get("th", 0) & 1:
        modifiers = {**modifiers, "sc0": 1}
    return replace(instruction, opcode=operation(form), modifiers=modifiers)


def _dual(first: Instruction, second: Instruction, spare: int) -> Iterator[Instruction]:
    """Both halves of a dual instruction, which read their sources before either writes its result.

    Where the second reads the first's result, it gets the value that was there before from a spare row.
    """
    result = first.dst[0]
    if any(operand.kind == "v" and operand.index == result.index for operand in second.src):
        moves = _by_opcode(first.form.target)["v_mov_b32"]
        saved = Operand("v", spare, 1)
        yield replace(
            first,
            opcode="v_mov_b32",
            format=moves.format,
            dst=(saved,),
            src=(result,),
            form=moves,
            modifiers={},
        )
        sources = (
            replace(operand, index=spare)
            if operand.kind == "v" and operand.index == result.index
            else operand
            for operand in second.src
        )
        second = replace(second, src=tuple(sources))
    yield first
    yield second


def spare_rows(instructions: Iterator[Instruction]) -> int:
    """Rows that `executed` uses beyond those that instructions name."""
    return int(any(instruction.format == "VOPD" for instruction in instructions))
