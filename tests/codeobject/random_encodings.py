"""Random machine code over every opcode of a target, for tests that compare two readers of it."""

from __future__ import annotations

import random
import re

from workbench.codeobject.encodings import ENCODINGS
from workbench.codeobject.instructions import Form
from workbench.codeobject.instructions.isa.enumerate import encode

# Source codes that name something on every target; VGPRs more often than the rest.
_CODES = (
    *range(102),
    *(106, 107, 124, 126, 127, 128, 129, 192, 193, 208),
    *range(240, 249),
    *range(256, 512),
)
_SCALAR_CODES = tuple(code for code in _CODES if code < 256)
# Literals at the edges of what is also an inline constant.
_LITERALS = (
    *(0x3F800000, 0x12345678, 5, 0x3C00, 0xFFFFFFFF, 0x3E22F983, 0x3FF00000, 0x40000000, 0x3118, 0xFFF0),
    *(0x3F80, 0x40, 0x41, 0xFFFFFFF0, 0x4248),
)
_VALUES = re.compile(
    r"v(dst|addr|data\d?|src1)|s(dst|data|base|rsrc|offset|addr|src\d)|ssrc\d|src\d|simm16|offset\d?"
)


def _field(generator: random.Random, name: str, width: int) -> int:
    if re.fullmatch(r"src\d", name) and width == 9:
        return generator.choice(_CODES)
    if name.startswith("ssrc"):
        return generator.choice((*_SCALAR_CODES, 255))
    if name == "soffset" and width == 8:
        return generator.choice(_SCALAR_CODES)
    if name == "sdst":
        return generator.randrange(102)
    if name == "saddr":
        return generator.choice((127, generator.randrange(102)))
    return generator.randrange(1 << width)


def random_encoding(generator: random.Random, format_: str, opcode: int, form: Form) -> bytes:
    """An encoding of an opcode with random fields, and a literal after it whether used or not."""
    fields: dict[str, int] = {}
    for name, (_, width) in ENCODINGS[format_].fields.items():
        if name in ("lds", "nv") or (
            name == "op_sel" and format_ == "VOP3" and "op_sel" not in form.modifiers
        ):
            continue
        if _VALUES.fullmatch(name) or name in ("dpp_ctrl", "dfmt", "nfmt"):
            fields[name] = _field(generator, name, width)
            if generator.random() < 0.7 and not name.startswith(("simm", "off")):
                # Tuples of registers are aligned.
                fields[name] &= ~3
        elif generator.random() < 0.2:
            fields[name] = generator.randrange(1 << width)
        elif name in ("row_mask", "bank_mask"):
            fields[name] = 15
        elif name.endswith("_sel"):
            fields[name] = generator.randrange(7)
        elif name.startswith("op_sel_hi"):
            fields[name] = (1 << width) - 1
    if format_ == "SMEM" and generator.random() < 0.7:
        fields.update(imm=1, soffset_en=0, soffset=0)
    if format_ in ("VOP1", "VOP3") and form.entries and form.entries[0].kind == "s":
        fields["vdst"] = fields["vdst"] % 102
    literal = generator.choice((*_LITERALS, generator.randrange(1 << 32)))
    return encode(format_, opcode, fields, literal)
