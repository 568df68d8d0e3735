"""Instructions that run as C functions rather than as generated code: memory, LDS, matrix, cross-lane.

`NATIVE` maps an opcode (Instruction.opcode) to the function and to the encoder of its constants.
"""

from __future__ import annotations

from workbench.emulator.native.ops import (
    atomics,
    buffer,
    conversions,
    copies,
    crosslane,
    flat,
    lds,
    matrix,
    typed_buffer,
    wmma,
)
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows

NATIVE: dict[str, NativeOp] = {
    **flat.NATIVE,
    **buffer.NATIVE,
    **typed_buffer.NATIVE,
    **lds.NATIVE,
    **crosslane.NATIVE,
    **atomics.NATIVE,
    **matrix.NATIVE,
    **wmma.NATIVE,
    **copies.NATIVE,
    **conversions.NATIVE,
}

__all__ = ["NATIVE", "NativeOp", "OpFields", "Rows"]
