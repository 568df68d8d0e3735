"""Registers chosen at run time: s_movrel on scalar registers, and the index mode of vector registers that
compilers use for arrays held in registers."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import OpFields
from workbench.emulator.semantics.registry import straight
from workbench.emulator.translate.block import BlockTranslator
from workbench.emulator.translate.ir import I32, I64, Value
from workbench.emulator.translate.options import Unsupported


def _relative(block: BlockTranslator, first: int, width: int) -> str:
    """Pointer to the scalar register `first` + M0, kept inside the register file."""
    block.close_run()
    index = block.register(abi.M0) + first
    index = block.emitter.intrinsic("umin", index, 128 - width)
    block.scalars.flush()
    return block.emitter.offset("%wave", index.zext(64).shl(2))


def _read(block: BlockTranslator, instruction: Instruction) -> None:
    width = instruction.dst[0].width
    pointer = _relative(block, instruction.src[0].index, width)
    value = block.emitter.load(I64 if width == 2 else I32, pointer, 4)
    block.set_register(instruction.dst[0].index, value)


def _write(block: BlockTranslator, instruction: Instruction) -> None:
    width = instruction.dst[0].width
    value = block.scalar(instruction.src[0], "b64" if width == 2 else "b32")
    pointer = _relative(block, instruction.dst[0].index, width)
    block.emitter.store(value, pointer, 4)
    block.scalars.forget()


straight("s_movrels_b32 s_movrels_b64")(_read)
straight("s_movreld_b32 s_movreld_b64")(_write)


# Vector registers plus M0, or plus parts of it.
_SOURCE, _RESULT, _PARTS, _SWAP = 1, 2, 4, 8


def _relative_rows(opcode: str, flags: int) -> None:
    def handle(block: BlockTranslator, instruction: Instruction) -> None:
        if instruction.form.is_dpp:
            raise Unsupported(f"{opcode} with DPP")
        source = instruction.src[0]
        row, register, constant = NO_REGISTER, NO_REGISTER, 0
        if source.kind == "imm":
            constant = source.bits("b32")
        elif source.kind == "s":
            register = source.index
        else:
            row = block.row_of(source)
        block.close_run()
        fields = OpFields(
            "hk_movrel",
            dst=block.row_of(instruction.dst[0]),
            src0=row,
            ssrc0=register,
            flags=flags,
            imm=(constant, block.options.rows),
        )
        block.native(fields.function, fields.record(instruction.address), can_fault=False)

    straight(opcode)(handle)


_relative_rows("v_movrels_b32", _SOURCE)
_relative_rows("v_movreld_b32", _RESULT)
_relative_rows("v_movrelsd_b32", _SOURCE | _RESULT)
_relative_rows("v_movrelsd_2_b32", _SOURCE | _RESULT | _PARTS)


@straight("v_swaprel_b32")
def swap_relative(block: BlockTranslator, instruction: Instruction) -> None:
    result, source = (*instruction.dst, *instruction.src)[:2]
    block.close_run()
    fields = OpFields(
        "hk_movrel",
        dst=block.row_of(result),
        src0=block.row_of(source),
        flags=_SOURCE | _RESULT | _PARTS | _SWAP,
        imm=(0, block.options.rows),
    )
    block.native(fields.function, fields.record(instruction.address), can_fault=False)


_INDEX_ENABLE = 1 << 27
"""GPR_IDX_EN of MODE (CDNA3 ISA guide, "Mode register")."""


def _set_index(block: BlockTranslator, value: Value) -> None:
    old = block.register(abi.M0)
    block.set_register(abi.M0, (old & 0xFFFFFF00) | (value & 0xFF))


def _set_positions(block: BlockTranslator, positions: int) -> None:
    """Sets the operands that the index applies to: bits 0..2 sources, bit 3 the destination."""
    old = block.register(abi.M0)
    block.set_register(abi.M0, (old & 0xFFFF0FFF) | positions << 12)
    block.indexed_positions = positions


def _enable(block: BlockTranslator, on: bool) -> None:
    block.close_run()
    pointer = block.function.field("mode")
    old = block.emitter.load(I32, pointer, 4)
    block.emitter.store(old | _INDEX_ENABLE if on else old & ~_INDEX_ENABLE & 0xFFFFFFFF, pointer, 4)


@straight("s_set_gpr_idx_on")
def index_on(block: BlockTranslator, instruction: Instruction) -> None:
    _enable(block, True)
    _set_index(block, block.scalar(instruction.src[0]))
    _set_positions(block, int(instruction.src[1].value or 0) & 15)


@straight("s_set_gpr_idx_mode")
def index_mode(block: BlockTranslator, instruction: Instruction) -> None:
    _set_positions(block, int(instruction.src[0].value or 0) & 15)


@straight("s_set_gpr_idx_idx")
def index_value(block: BlockTranslator, instruction: Instruction) -> None:
    _set_index(block, block.scalar(instruction.src[0]))


@straight("s_set_gpr_idx_off")
def index_off(block: BlockTranslator, instruction: Instruction) -> None:
    _enable(block, False)
    block.indexed_positions = 0
