"""Copies between memory and LDS, barriers in LDS, loads that transpose: calls of native/ops/copies.c."""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.lds import lds_offset
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, scalar, scale_flags, unsupported


def _base(instruction: Instruction, position: int) -> int:
    return scalar(instruction.src[position]) if len(instruction.src) > position else NO_REGISTER


def _flags(instruction: Instruction, rows: Rows, base: int, size: int) -> int:
    return rows.address_flags(instruction, base) | scale_flags(instruction, size)


def _encode_copy(function: str, size: int, instruction: Instruction, rows: Rows) -> OpFields:
    # The row of the addresses to write comes first.
    written, read, *_ = instruction.src
    shared, memory = (written, read) if function == "hk_async_to_lds" else (read, written)
    base = _base(instruction, 2)
    return OpFields(
        function=function,
        dst=rows.row(shared),
        src0=rows.row(memory),
        ssrc0=base,
        offset=instruction.modifiers.get("offset", 0),
        flags=_flags(instruction, rows, base, size),
        imm=(size,),
    )


def _encode_arrive(instruction: Instruction, rows: Rows) -> OpFields:
    return OpFields(
        function="hk_barrier_arrive",
        dst=rows.row(instruction.dst[0]) if instruction.dst else NO_REGISTER,
        src0=rows.row(instruction.src[0]),
        src1=rows.row(instruction.src[1]) if len(instruction.src) > 1 else NO_REGISTER,
        offset=lds_offset(instruction),
    )


def _group(operands: tuple[Operand, ...], position: int) -> int:
    return operands[position].index if len(operands) > position else NO_REGISTER


def _encode_tensor(function: str, instruction: Instruction, rows: Rows) -> OpFields:
    groups = instruction.src
    if len(groups) not in (2, 4) or any(operand.kind != "s" for operand in groups):
        raise unsupported(instruction, "Its descriptor has two or four groups of scalar registers.")
    return OpFields(
        function=function,
        ssrc0=groups[0].index,
        ssrc1=groups[1].index,
        ssrc2=_group(groups, 2),
        sdst=_group(groups, 3),
    )


def _encode_transposed(space: str, width: int, instruction: Instruction, rows: Rows) -> OpFields:
    base = _base(instruction, 1) if space == "global" else NO_REGISTER
    size = {16: 16, 8: 8, 6: 12, 4: 8}[width]
    flags = _flags(instruction, rows, base, size) if space == "global" else 0
    return OpFields(
        function="hk_lds_load_tr" if space == "ds" else "hk_global_load_tr",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(instruction.src[0]),
        ssrc0=base,
        offset=instruction.modifiers.get("offset", 0),
        flags=flags,
        imm=(width,),
    )


_TRANSPOSED = {"tr16_b128": 16, "tr8_b64": 8, "tr6_b96": 6, "tr4_b64": 4}

NATIVE: dict[str, NativeOp] = {
    # Outside of a cluster, the loads that serve all of its work-groups serve one.
    **{
        f"{name}_b{8 * size}": NativeOp(function, partial(_encode_copy, function, size))
        for name, function in (
            ("global_load_async_to_lds", "hk_async_to_lds"),
            ("cluster_load_async_to_lds", "hk_async_to_lds"),
            ("global_store_async_from_lds", "hk_async_from_lds"),
        )
        for size in (1, 4, 8, 16)
    },
    **{
        f"ds_{name}": NativeOp("hk_barrier_arrive", _encode_arrive)
        for name in ("atomic_async_barrier_arrive_b64", "atomic_barrier_arrive_rtn_b64")
    },
    **{
        opcode: NativeOp(function, partial(_encode_tensor, function))
        for opcode, function in (
            ("tensor_load_to_lds", "hk_tensor_to_lds"),
            ("tensor_store_from_lds", "hk_tensor_from_lds"),
        )
    },
    **{
        f"{space}_{name}": NativeOp(function, partial(_encode_transposed, space, width))
        for space, function in (("ds", "hk_lds_load_tr"), ("global", "hk_global_load_tr"))
        for suffix, width in _TRANSPOSED.items()
        for name in (f"load_{suffix}",)
    },
}
