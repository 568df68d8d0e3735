"""Loads of half a register that leave the other half, as calls of native/ops/half_loads.c."""

from __future__ import annotations

from dataclasses import replace

from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import Keeps
from workbench.emulator.native import abi
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows


def keeping(operation: NativeOp) -> NativeOp:
    """A load with the variant that its instruction's record asks for."""

    def encode(instruction: Instruction, rows: Rows) -> OpFields:
        fields = operation.encode(instruction, rows)
        if instruction.record.keeps is not Keeps.PART:
            return fields
        half = abi.KEEPS_LOW if "_hi" in instruction.opcode else abi.KEEPS_HIGH
        return replace(fields, function=f"{fields.function}_keep", flags=fields.flags | half)

    return replace(operation, encode=encode)
