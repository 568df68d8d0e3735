"""Moves: between vector registers, and between lanes and scalar registers."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.semantics.registry import lanes, register
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import Value
from workbench.emulator.translate.operands import fetch, prepare, put

# Moves


@lanes("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "b32 <- b32")
def mov(block: BlockTranslator, a: Value) -> Value:
    return a


@lanes("v_mov_b16", "b16 <- b16")
def mov16(block: BlockTranslator, a: Value) -> Value:
    return a


def _move_64(block: BlockTranslator, instruction: Instruction) -> None:
    """v_mov_b64: two dword moves, which keep registers whole; DPP patterns move both alike."""
    source, result = instruction.src[0], instruction.dst[0]
    prepare(block, ((source, "b64"),))
    run = block.open_run()
    if instruction.form.is_dpp or source.kind not in ("v", "a", "s", "imm"):
        put(block, result, "b64", fetch(block, source, "b64", 0))
        return
    values = [block.dword(source, word, kind="b64") for word in (0, 1)]
    row = block.row_of(result)
    for word, value in enumerate(values):
        run.set_row(row + word, value)


register("v_mov_b64", _move_64)


def _swap(block: BlockTranslator, instruction: Instruction) -> None:
    first, second = (block.row_of(operand) for operand in (*instruction.dst, *instruction.src)[:2])
    run = block.open_run()
    first_value, second_value = run.row(first), run.row(second)
    run.set_row(first, second_value)
    run.set_row(second, first_value)


register("v_swap_b32", _swap)


def _swap_halves(block: BlockTranslator, instruction: Instruction) -> None:
    operands = (*instruction.dst, *instruction.src)[:2]
    first, second = (fetch(block, operand, "b16", 3) for operand in operands)
    put(block, operands[0], "b16", second, True)
    put(block, operands[1], "b16", first, True)


register("v_swap_b16", _swap_halves)


@lanes("v_cndmask_b32", "b32 <- b32 b32 mask")
def cndmask(block: BlockTranslator, a: Value, b: Value, mask: Value) -> Value:
    return mask.select(b, a)


@lanes("v_cndmask_b16", "b16 <- b16 b16 mask")
def cndmask16(block: BlockTranslator, a: Value, b: Value, mask: Value) -> Value:
    return mask.select(b, a)


# Lanes to and from scalar registers


def _readlane(block: BlockTranslator, instruction: Instruction) -> None:
    row = block.row_of(instruction.src[0])
    lane = block.scalar(instruction.src[1]) & (block.function.wave_size - 1)
    if block.writes_row(row):
        block.close_run()
    block.set_register(instruction.dst[0].index, block.row_lane(row, lane))


def _writelane(block: BlockTranslator, instruction: Instruction) -> None:
    row = block.row_of(instruction.dst[0])
    value = block.scalar(instruction.src[0])
    lane = block.scalar(instruction.src[1]) & (block.function.wave_size - 1)
    block.set_row_lane(row, lane, value)


def _readfirstlane(block: BlockTranslator, instruction: Instruction) -> None:
    operand = instruction.src[0]
    if operand.kind not in ("v", "a"):
        # A scalar source reads as itself.
        block.set_register(instruction.dst[0].index, block.scalar(operand))
        return
    row = block.row_of(operand)
    if block.writes_row(row):
        block.close_run()
    mask, emitter = block.exec(), block.emitter
    kind = mask.type.text
    # If EXEC is 0, lane 0 is read: counting trailing zeros would give the last lane, so the zero is replaced.
    index = emitter.call(
        f"declare {kind} @llvm.cttz.{kind}({kind}, i1)",
        mask.type,
        f"@llvm.cttz.{kind}",
        f"{kind} {mask.name}, i1 false",
    )
    assert index is not None
    lane = index & (block.function.wave_size - 1)
    if lane.type.bits > 32:
        lane = lane.trunc(32)
    block.set_register(instruction.dst[0].index, block.row_lane(row, lane))


register("v_readlane_b32", _readlane)
register("v_writelane_b32", _writelane)
register("v_readfirstlane_b32", _readfirstlane)
