"""Conversions that take scales from other lanes, and tables, as calls of native/ops/convert.c."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported

_UPPER_LANES = 16

# Bytes of lanes 0 to 15 and of the lanes above, by scale_sel without the bit for scales of the upper lanes:
# those on which the comments and the lowering of LLVM's MLIR, amdgpu.scaled_ext_packed_matrix, agree.
_BYTES_OF_8_BITS = {0: (0, 0), 2: (1, 1), 4: (2, 2), 6: (3, 3)}
_BYTES_OF_LESS = {0: (0, 1), 2: (2, 3), 1: (0, 2)}
_AMBIGUOUS = 8
"""Of 8 bits, the upper lanes' byte 0: LLVM's comments allow it, its lowering does not."""


def _bytes(instruction: Instruction, bits: int) -> tuple[int, int, int]:
    """Bytes of both halves of a wave, and the flag for the upper lanes' scales."""
    select = instruction.modifiers.get("scale_sel", 0)
    table, upper = (_BYTES_OF_8_BITS, 8) if bits == 8 else (_BYTES_OF_LESS, 4)
    halves = table.get(select & ~upper)
    if halves is None or (bits == 8 and select == _AMBIGUOUS):
        raise unsupported(instruction, f"Which scales scale_sel:{select} selects is not published.")
    return (*halves, _UPPER_LANES if select & upper else 0)


def _encode_scaled(formats: int, bits: int, instruction: Instruction, rows: Rows) -> OpFields:
    numbers, scale = instruction.src
    low, high, upper = _bytes(instruction, bits)
    row, scalar, constant = NO_REGISTER, NO_REGISTER, 0
    if scale.kind == "imm":
        constant = scale.bits("b32")
    elif scale.kind == "s":
        scalar = scale.index
    else:
        row = rows.row(scale)
    return OpFields(
        function="hk_convert_blocks",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(numbers),
        src1=row,
        ssrc0=scalar,
        flags=low | high << 2 | upper,
        imm=(formats, constant),
    )


def _encode_table(bits: int, instruction: Instruction, rows: Rows) -> OpFields:
    high, low, indices = instruction.src
    return OpFields(
        function="hk_perm_pk16",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(high),
        src1=rows.row(low),
        src2=rows.row(indices),
        imm=(low.width, high.width, bits),
    )


_SMALL = {
    "fp8": (abi.SMALL_FP8, 8),
    "bf8": (abi.SMALL_BF8, 8),
    "fp6": (abi.SMALL_FP6, 6),
    "bf6": (abi.SMALL_BF6, 6),
    "fp4": (abi.SMALL_FP4, 4),
}
_LARGE = {"f32": abi.LARGE_F32, "f16": abi.LARGE_F16, "bf16": abi.LARGE_BF16}


def _scaled() -> Iterator[tuple[str, NativeOp]]:
    for small, (kind, bits) in _SMALL.items():
        count = 16 if bits == 6 else 8
        for large, number in _LARGE.items():
            formats = kind << abi.SCALED_SMALL | number << abi.SCALED_LARGE | count << abi.SCALED_COUNT
            encode = partial(_encode_scaled, formats, bits)
            yield (
                f"v_cvt_scale_pk{count}_{large}_{small}",
                NativeOp("hk_convert_blocks", encode, can_fault=False),
            )


NATIVE: dict[str, NativeOp] = {
    **dict(_scaled()),
    **{
        f"v_perm_pk16_b{bits}_u4": NativeOp("hk_perm_pk16", partial(_encode_table, bits), can_fault=False)
        for bits in (4, 6, 8)
    },
}
