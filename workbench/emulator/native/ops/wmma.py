"""Matrix instructions of gfx12 as calls of native/ops/wmma.c."""

from __future__ import annotations

from functools import partial

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported

_FUNCTION = "hk_wmma_f32_16x16x16"


def _encode(is_brain: bool, instruction: Instruction, rows: Rows) -> OpFields:
    if instruction.modifiers.get("neg_lo") or instruction.modifiers.get("neg_hi"):
        raise unsupported(instruction, "It changes signs of its sources.")
    a, b, c = instruction.src
    constant = c.bits("f32") if c.kind == "imm" else 0
    return OpFields(
        function=_FUNCTION,
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=NO_REGISTER if c.kind == "imm" else rows.row(c),
        flags=int(is_brain),
        imm=(constant,),
    )


NATIVE: dict[str, NativeOp] = {
    f"v_wmma_f32_16x16x16_{kind}": NativeOp(_FUNCTION, partial(_encode, kind == "bf16"), can_fault=False)
    for kind in ("f16", "bf16")
}
