"""DS_ instructions as calls of native/ops/lds.c."""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported

READS = (
    "u8", "i8", "u16", "i16", "u8_d16", "u8_d16_hi", "i8_d16", "i8_d16_hi", "u16_d16", "u16_d16_hi",
    "b32", "b64", "b96", "b128",
)  # fmt: skip
TRANSPOSED_READS = ("b64_tr_b16", "b64_tr_b8", "b64_tr_b4", "b96_tr_b6")
WRITES = ("b8", "b16", "b8_d16_hi", "b16_d16_hi", "b32", "b64", "b96", "b128")


def lds_offset(instruction: Instruction) -> int:
    """Byte offset of a one-address DS instruction."""
    if instruction.modifiers.get("gds"):
        raise unsupported(instruction, "It accesses the global data share, which these targets do not have.")
    return instruction.modifiers.get("offset", 0)


def two_lds_offsets(instruction: Instruction) -> tuple[int, int]:
    """Byte offsets of a two-address DS instruction."""
    lds_offset(instruction)
    memory, modifiers = instruction.record.memory, instruction.modifiers
    assert memory is not None
    return modifiers.get("offset0", 0) * memory.stride, modifiers.get("offset1", 0) * memory.stride


def _encode_read(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function=f"hk_{instruction.opcode}",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(instruction.src[0]),
        offset=lds_offset(instruction),
    )


def _encode_write(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function=f"hk_{instruction.opcode}",
        src0=rows.row(instruction.src[0]),
        src1=rows.row(instruction.src[1]),
        offset=lds_offset(instruction),
    )


def _encode_read2(function: str, instruction: Instruction, rows: Rows) -> OpFields:
    first, second = two_lds_offsets(instruction)
    return OpFields(
        function=function,
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(instruction.src[0]),
        offset=first,
        imm=(second,),
    )


def _encode_write2(function: str, instruction: Instruction, rows: Rows) -> OpFields:
    first, second = two_lds_offsets(instruction)
    return OpFields(
        function=function,
        src0=rows.row(instruction.src[0]),
        src1=rows.row(instruction.src[1]),
        src2=rows.row(instruction.src[2]),
        offset=first,
        imm=(second,),
    )


def _encode_addtid(instruction: Instruction, rows: Rows) -> OpFields:
    reads = instruction.opcode == "ds_read_addtid_b32"
    return OpFields(
        function=f"hk_{instruction.opcode}",
        dst=rows.row(instruction.dst[0]) if reads else NO_REGISTER,
        src1=NO_REGISTER if reads else rows.row(instruction.src[-1]),
        offset=lds_offset(instruction),
    )


NATIVE: dict[str, NativeOp] = {
    **{
        f"ds_read_{data}": NativeOp(f"hk_ds_read_{data}", _encode_read)
        for data in (*READS, *TRANSPOSED_READS)
    },
    **{f"ds_write_{data}": NativeOp(f"hk_ds_write_{data}", _encode_write) for data in WRITES},
    **{
        f"ds_{access}2{stride}_{data}": NativeOp(function, partial(encode, function))
        for access, encode in (("read", _encode_read2), ("write", _encode_write2))
        for stride in ("", "st64")
        for data in ("b32", "b64")
        for function in (f"hk_ds_{access}2_{data}",)
    },
    "ds_read_addtid_b32": NativeOp("hk_ds_read_addtid_b32", _encode_addtid),
    "ds_write_addtid_b32": NativeOp("hk_ds_write_addtid_b32", _encode_addtid),
}
