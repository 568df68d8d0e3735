"""GLOBAL_, FLAT_ and SCRATCH_ instructions as calls of native/ops/flat.c.

Only the table of data kinds says how many bytes each kind moves; the numbers are those of abi.h's `HkData`.
"""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, scalar, unsupported

LOADS: dict[str, int] = {
    "ubyte": abi.U8,
    "sbyte": abi.I8,
    "ushort": abi.U16,
    "sshort": abi.I16,
    "ubyte_d16": abi.U8_LO,
    "sbyte_d16": abi.I8_LO,
    "short_d16": abi.U16_LO,
    "ubyte_d16_hi": abi.U8_HI,
    "sbyte_d16_hi": abi.I8_HI,
    "short_d16_hi": abi.U16_HI,
    "dword": abi.B32,
    "dwordx2": abi.B64,
    "dwordx3": abi.B96,
    "dwordx4": abi.B128,
}
STORES: dict[str, int] = {
    "byte": abi.B8,
    "short": abi.B16,
    "byte_d16_hi": abi.B8_FROM_HI,
    "short_d16_hi": abi.B16_FROM_HI,
    "dword": abi.B32,
    "dwordx2": abi.B64,
    "dwordx3": abi.B96,
    "dwordx4": abi.B128,
}
TO_LDS = ("ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4")


def vector_or_none(operand: Operand, rows: Rows) -> int:
    """Row of an address operand, NO_REGISTER for `off`."""
    return NO_REGISTER if operand.kind == "off" else rows.row(operand)


def _scalar_base(instruction: Instruction, position: int) -> int:
    if len(instruction.src) <= position:
        return NO_REGISTER
    return scalar(instruction.src[position])


def _encode_load(instruction: Instruction, rows: Rows) -> OpFields:
    if instruction.modifiers.get("lds"):
        raise unsupported(instruction, "It loads to LDS through a modifier of an older encoding.")
    return OpFields(
        function=f"hk_{instruction.opcode}",
        dst=rows.row(instruction.dst[0]),
        src0=vector_or_none(instruction.src[0], rows),
        ssrc0=(base := _scalar_base(instruction, 1)),
        offset=instruction.modifiers.get("offset", 0),
        flags=rows.address_flags(instruction, base),
    )


def _encode_store(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function=f"hk_{instruction.opcode}",
        src0=vector_or_none(instruction.src[0], rows),
        src1=rows.row(instruction.src[1]),
        ssrc0=(base := _scalar_base(instruction, 2)),
        offset=instruction.modifiers.get("offset", 0),
        flags=rows.address_flags(instruction, base),
    )


def _encode_to_lds(function: str, kind: int, instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function=function,
        src0=vector_or_none(instruction.src[0], rows),
        ssrc0=_scalar_base(instruction, 1),
        offset=instruction.modifiers.get("offset", 0),
        imm=(kind,),
    )


def _encode_addtid(instruction: Instruction, rows: Rows) -> OpFields:
    *data, base = instruction.src
    if base.kind == "off":
        raise unsupported(instruction, "Without a scalar base it has no address.")
    return OpFields(
        function=f"hk_{instruction.opcode}",
        dst=rows.row(instruction.dst[0]) if instruction.dst else NO_REGISTER,
        src1=rows.row(data[0]) if data else NO_REGISTER,
        ssrc0=scalar(base),
        offset=instruction.modifiers.get("offset", 0),
    )


def _encode_transposing(instruction: Instruction, rows: Rows) -> OpFields:
    if rows.mask_words != 1:
        raise unsupported(instruction, "No source says which lanes of 64 exchange what they read.")
    return _encode_load(instruction, rows)


NATIVE: dict[str, NativeOp] = {
    **{
        f"global_{access}_addtid_b32": NativeOp(f"hk_global_{access}_addtid_b32", _encode_addtid)
        for access in ("load", "store")
    },
    **{
        f"global_load_tr_b{bits}": NativeOp(f"hk_global_load_tr_b{bits}", _encode_transposing)
        for bits in (64, 128)
    },
    **{
        f"{space}_load_{data}": NativeOp(f"hk_{space}_load_{data}", _encode_load)
        for space in ("global", "flat", "scratch")
        for data in LOADS
    },
    **{
        f"{space}_store_{data}": NativeOp(f"hk_{space}_store_{data}", _encode_store)
        for space in ("global", "flat", "scratch")
        for data in STORES
    },
    **{
        f"{space}_load_lds_{data}": NativeOp(function, partial(_encode_to_lds, function, LOADS[data]))
        for space in ("global", "scratch")
        for function in (f"hk_{space}_load_lds",)
        for data in TO_LDS
        if space == "global" or LOADS[data] <= LOADS["dword"]
    },
}
