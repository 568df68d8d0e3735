"""Fills the register fields of a sanitizer's record from operands."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.codeobject import registers
from workbench.codeobject.instruction import Operand
from workbench.codeobject.instructions import Combines
from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData
from workbench.emulator.native.ops import Rows

# 64-bit results of which one dword often comes from registers whose other half is unwritten.
CARRIES = {Combines.UPWARDS: abi.SAN_CARRY, Combines.DOWNWARDS: abi.SAN_CARRY_DOWN}


def set_scalar_source(record: CData, position: int, operand: Operand, mask_words: int = 1) -> None:
    """A scalar source; any other operand leaves the field unchanged.

    Args:
        mask_words: scalar registers of a lane mask, for operands that may be vccz.
    """
    if position >= abi.SAN_SOURCES:
        return
    if operand.kind == "s" and operand.index != registers.NULL:
        record.ssrc[position] = operand.index
        record.ssrc_count[position] = min(operand.width, 128 - operand.index)
    elif operand.kind == "special" and operand.index == 251:
        record.ssrc[position], record.ssrc_count[position] = abi.VCC, mask_words
    elif operand.kind == "special" and operand.index == 253:
        record.ssrc[position], record.ssrc_count[position] = abi.SAN_SCC, 1


def set_vector_source(record: CData, position: int, operand: Operand, rows: Rows) -> None:
    """A vector source; any other operand leaves the field unchanged."""
    if position < abi.SAN_SOURCES and operand.kind in ("v", "a"):
        record.src[position] = rows.row(operand)
        record.src_count[position] = operand.width


def set_results(record: CData, operands: Sequence[Operand], rows: Rows | None) -> None:
    """The destinations; vector ones only if `rows` are passed."""
    scalars = 0
    for operand in operands:
        if operand.kind == "s" and operand.index != registers.NULL and scalars < 2:
            record.sdst[scalars] = operand.index
            record.sdst_count[scalars] = min(operand.width, 128 - operand.index)
            scalars += 1
        elif operand.kind in ("v", "a") and rows is not None and not record.dst_count:
            record.dst = rows.row(operand)
            record.dst_count = operand.width
