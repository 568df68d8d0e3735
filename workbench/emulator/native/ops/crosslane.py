"""Moves between lanes as calls of native/ops/crosslane.c."""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, scalar


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


_OTHER_ROW, _FETCH_INACTIVE, _ZERO = 1, 2, 4
_OF_OTHER_ROW = ("v_permlanex16_b32", "v_permlanex16_var_b32")


def _encode_permlane16(instruction: Instruction, rows: Rows) -> OpFields:
    data, *selects = instruction.src
    bits = instruction.modifiers.get("op_sel", 0)
    scalars, constants, row = [NO_REGISTER] * 2, [0, 0], NO_REGISTER
    for n, select in enumerate(selects):
        if select.kind == "imm":
            constants[n] = select.bits("b32")
        elif select.kind == "s":
            scalars[n] = select.index
        else:
            row = rows.row(select)
    return OpFields(
        function="hk_permlane16",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(data),
        src1=row,
        ssrc0=scalars[0],
        ssrc1=scalars[1],
        flags=(_OTHER_ROW if instruction.opcode in _OF_OTHER_ROW else 0)
        | (_FETCH_INACTIVE if bits & 1 else 0)
        | (_ZERO if bits & 2 else 0),
        imm=tuple(constants),
    )


def _encode_permlane64(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function="hk_permlane64", dst=rows.row(instruction.dst[0]), src0=rows.row(instruction.src[0])
    )


_GROUP_MOVES = ("bcast", "up", "down", "xor", "idx_gen")
"""v_permlane_*_b32 by their numbers in crosslane.c."""


def _encode_group_move(number: int, instruction: Instruction, rows: Rows) -> OpFields:
    data, *selects = instruction.src
    scalars, constants = [NO_REGISTER] * 2, [0, 0]
    # The width of a group comes last; v_permlane_idx_gen_b32 has no other.
    for n, select in zip((1,) if len(selects) == 1 else (0, 1), selects, strict=True):
        if select.kind == "imm":
            constants[n] = select.bits("b32")
        else:
            scalars[n] = scalar(select)
    return OpFields(
        function="hk_permlane_group",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(data),
        ssrc0=scalars[0],
        ssrc1=scalars[1],
        flags=number,
        imm=tuple(constants),
    )


NATIVE: dict[str, NativeOp] = {
    **{
        f"v_permlane_{name}_b32": NativeOp(
            "hk_permlane_group", partial(_encode_group_move, number), can_fault=False
        )
        for number, name in enumerate(_GROUP_MOVES)
    },
    "ds_bpermute_fi_b32": NativeOp("hk_ds_bpermute_fi_b32", _encode_permute, can_fault=False),
    **{
        f"v_permlane{row}16{select}_b32": NativeOp("hk_permlane16", _encode_permlane16, can_fault=False)
        for row in ("", "x")
        for select in ("", "_var")
    },
    "v_permlane64_b32": NativeOp("hk_permlane64", _encode_permlane64, can_fault=False),
    "ds_bpermute_b32": NativeOp("hk_ds_bpermute_b32", _encode_permute, can_fault=False),
    "ds_permute_b32": NativeOp("hk_ds_permute_b32", _encode_permute, can_fault=False),
    "ds_swizzle_b32": NativeOp("hk_ds_swizzle_b32", _encode_swizzle, can_fault=False),
    "v_permlane16_swap_b32": NativeOp("hk_v_permlane16_swap_b32", _encode_swap, can_fault=False),
    "v_permlane32_swap_b32": NativeOp("hk_v_permlane32_swap_b32", _encode_swap, can_fault=False),
}
