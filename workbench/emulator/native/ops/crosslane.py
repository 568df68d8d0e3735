"""Moves between lanes as calls of native/ops/crosslane.c."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows


def _encode_permute(instruction: Instruction, rows: Rows) -> OpFields:
    address, data = instruction.src
    return OpFields(
        function=f"hk_{instruction.opcode}",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(address),
        src1=rows.row(data),
        offset=instruction.modifiers.get("offset", 0),
    )


def _encode_swizzle(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function="hk_ds_swizzle_b32",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(instruction.src[0]),
        offset=instruction.modifiers.get("offset", 0),
    )


def _encode_swap(instruction: Instruction, rows: Rows) -> OpFields:
    # Both registers are read and written; in whichever list they are, the printed order is preserved.
    registers = (*instruction.dst, *instruction.src)
    return OpFields(
        function=f"hk_{instruction.opcode}", dst=rows.row(registers[0]), src0=rows.row(registers[1])
    )


NATIVE: dict[str, NativeOp] = {
    "ds_bpermute_b32": NativeOp("hk_ds_bpermute_b32", _encode_permute, can_fault=False),
    "ds_permute_b32": NativeOp("hk_ds_permute_b32", _encode_permute, can_fault=False),
    "ds_swizzle_b32": NativeOp("hk_ds_swizzle_b32", _encode_swizzle, can_fault=False),
    "v_permlane16_swap_b32": NativeOp("hk_v_permlane16_swap_b32", _encode_swap, can_fault=False),
    "v_permlane32_swap_b32": NativeOp("hk_v_permlane32_swap_b32", _encode_swap, can_fault=False),
}
