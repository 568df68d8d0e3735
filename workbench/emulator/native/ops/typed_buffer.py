"""Typed buffer accesses (BUFFER_LOAD_FORMAT_ and the like, TBUFFER_) as calls of typed_buffer.c."""

from __future__ import annotations

from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.buffer import address_fields
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported


def _encode(instruction: Instruction, rows: Rows) -> OpFields:
    opcode = instruction.opcode
    if instruction.modifiers.get("lds"):
        raise unsupported(instruction, "A typed load to LDS is not among what compilers emit.")
    fields = address_fields(instruction, rows)
    fields["flags"] |= abi.BUFFER_FORMAT
    constant = fields.pop("constant")
    store = "_store_" in opcode
    how = (
        len(opcode.rsplit("_", 1)[1])
        | abi.FORMAT_STORE * store
        | abi.FORMAT_D16 * ("_d16" in opcode)
        | abi.FORMAT_HIGH * ("_d16_hi" in opcode)
    )
    if opcode.startswith("tbuffer"):
        data, number = instruction.modifiers.get("dfmt", 0), instruction.modifiers.get("nfmt", 0)
        how |= abi.FORMAT_TYPED | data << 8 | number << 12
    register = rows.row(instruction.src[0] if store else instruction.dst[0])
    return OpFields(
        function="hk_buffer_format",
        dst=NO_REGISTER if store else register,
        src1=register if store else NO_REGISTER,
        imm=(constant, how),
        **fields,
    )


NATIVE: dict[str, NativeOp] = {
    **{
        f"{kind}_{access}_format_{d16}{components}": NativeOp("hk_buffer_format", _encode)
        for kind in ("buffer", "tbuffer")
        for access in ("load", "store")
        for d16 in ("", "d16_")
        for components in ("x", "xy", "xyz", "xyzw")
    },
    **{
        f"buffer_{access}_format_d16_hi_x": NativeOp("hk_buffer_format", _encode)
        for access in ("load", "store")
    },
}
