"""BUFFER_ loads and stores as calls of native/ops/buffer.c."""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.flat import LOADS, STORES, TO_LDS, vector_or_none
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, scalar, unsupported
from workbench.targets import target as target_record


def address_fields(instruction: Instruction, rows: Rows) -> dict[str, int]:
    """Op fields of the address of a buffer instruction, and under "constant" the constant scalar offset.

    Address, resource and scalar offset are the last three sources of every buffer instruction.
    """
    address, resource, offset = instruction.src[-3:]
    constant, register = 0, NO_REGISTER
    if offset.kind == "imm":
        constant = offset.bits("b32")
    elif offset.kind == "s":
        register = offset.index
    elif offset.kind != "off":
        raise unsupported(instruction, "Its scalar offset is neither a register nor a constant.")
    modifiers = instruction.modifiers
    flags = (abi.BUFFER_OFFEN if modifiers.get("offen") else 0) | (
        abi.BUFFER_IDXEN if modifiers.get("idxen") else 0
    )
    resource_form = abi.WIDE_RESOURCE if target_record(rows.target).has_wide_resources else 0
    return {
        "src0": vector_or_none(address, rows) if flags else NO_REGISTER,
        "ssrc0": scalar(resource),
        "ssrc1": register,
        "offset": modifiers.get("offset", 0),
        "flags": flags | resource_form,
        "constant": constant,
    }


def _encode_load(data: str, instruction: Instruction, rows: Rows) -> OpFields:
    fields = address_fields(instruction, rows)
    constant = fields.pop("constant")
    if instruction.modifiers.get("lds"):
        if data not in TO_LDS:
            raise unsupported(instruction, "There is no load to LDS of this width.")
        return OpFields(function="hk_buffer_load_lds", imm=(constant, LOADS[data]), **fields)
    return OpFields(
        function=f"hk_{instruction.opcode}", dst=rows.row(instruction.dst[0]), imm=(constant,), **fields
    )


def _encode_store(instruction: Instruction, rows: Rows) -> OpFields:
    fields = address_fields(instruction, rows)
    constant = fields.pop("constant")
    return OpFields(
        function=f"hk_{instruction.opcode}", src1=rows.row(instruction.src[0]), imm=(constant,), **fields
    )


NATIVE: dict[str, NativeOp] = {
    **{
        f"buffer_load_{data}": NativeOp(f"hk_buffer_load_{data}", partial(_encode_load, data))
        for data in LOADS
    },
    **{f"buffer_store_{data}": NativeOp(f"hk_buffer_store_{data}", _encode_store) for data in STORES},
}
