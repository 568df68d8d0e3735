"""Typed buffer accesses (BUFFER_LOAD_FORMAT_, TBUFFER_ and similar) as calls of typed_buffer.c."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from workbench.codeobject.decoder_gfx11 import decodes
from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.buffer import address_fields
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported

_SINGLE_BYTE = 1
"""The format, BUF_FMT_8_UNORM, of an instruction whose text has none."""


def _encode(how: int, instruction: Instruction, rows: Rows) -> OpFields:
    if instruction.modifiers.get("lds"):
        raise unsupported(
            instruction,
            "The emulated device does not execute typed loads to LDS, which compilers do not emit.",
        )
    fields = address_fields(instruction, rows)
    fields["flags"] |= abi.BUFFER_FORMAT
    constant = fields.pop("constant")
    if decodes(instruction.form.target):
        how |= abi.FORMAT_UNIFIED | instruction.modifiers.get("format", _SINGLE_BYTE) << 8
    elif how & abi.FORMAT_TYPED:
        how |= instruction.modifiers.get("dfmt", 0) << 8 | instruction.modifiers.get("nfmt", 0) << 12
    store = how & abi.FORMAT_STORE
    register = rows.row(instruction.src[0] if store else instruction.dst[0])
    return OpFields(
        function="hk_buffer_format",
        dst=NO_REGISTER if store else register,
        src1=register if store else NO_REGISTER,
        imm=(constant, how),
        **fields,
    )


_HALVES = (("", 0), ("d16_", abi.FORMAT_D16), ("d16_hi_", abi.FORMAT_D16 | abi.FORMAT_HIGH))


def _operations() -> Iterator[tuple[str, NativeOp]]:
    for kind, typed in (("buffer", 0), ("tbuffer", abi.FORMAT_TYPED)):
        for access, store in (("load", 0), ("store", abi.FORMAT_STORE)):
            for components in ("x", "xy", "xyz", "xyzw"):
                for half, d16 in _HALVES:
                    if d16 & abi.FORMAT_HIGH and (kind, components) != ("buffer", "x"):
                        continue
                    encode = partial(_encode, len(components) | store | d16 | typed)
                    yield f"{kind}_{access}_format_{half}{components}", NativeOp("hk_buffer_format", encode)


NATIVE: dict[str, NativeOp] = dict(_operations())
