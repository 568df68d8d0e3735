"""Instructions that run as C functions rather than as generated code: memory, LDS, matrix, cross-lane.

`NATIVE` maps an opcode (Instruction.opcode) to the function and to the encoder of its constants.
"""

from __future__ import annotations

import re

from workbench.emulator.native.ops import (
    atomics,
    buffer,
    conversions,
    copies,
    crosslane,
    flat,
    half_loads,
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
NATIVE |= {
    opcode: half_loads.keeping(operation)
    for opcode, operation in NATIVE.items()
    if re.search(r"_(load|read)_.*d16", opcode)
}

__all__ = ["NATIVE", "NativeOp", "OpFields", "Rows"]
