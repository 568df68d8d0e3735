"""One decoded machine instruction: its operands, its modifiers and its opcode's record.

The decoder makes these, and the translator and the views read them; nothing here depends on the encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.codeobject.instructions import Form, Record
from workbench.errors import CodeObjectError

INVERSE_TWO_PI = 0.15915494309189532
"""The value of inline constant 248, 1/(2*pi), in double precision."""

# Source encodings 240..248 and the constant that each means (CDNA3 ISA guide, "Scalar operands").
INLINE_FLOATS: Mapping[int, float] = MappingProxyType(
    {240: 0.5, 241: -0.5, 242: 1.0, 243: -1.0, 244: 2.0, 245: -2.0, 246: 4.0, 247: -4.0, 248: INVERSE_TWO_PI}
)

LITERAL = 255
"""Source encoding of a 32-bit literal that follows the instruction."""

LITERAL64 = 254
"""The same of a 64-bit literal, on gfx1250."""

# 1/(2*pi) is not representable; the hardware's constants per precision.
_INVERSE_TWO_PI_BITS = {"f16": 0x3118, "bf16": 0x3E22, "f32": 0x3E22F983, "f64": 0x3FC45F306DC9C882}
_FLOAT_FORMATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_WIDTHS = {"16": 16, "32": 32, "64": 64}


def float_bits(value: float, kind: str) -> int:
    """Bit pattern of an inline float constant in the precision "f16", "bf16", "f32" or "f64"."""
    if value == INVERSE_TWO_PI:
        return _INVERSE_TWO_PI_BITS[kind]
    if kind == "bf16":
        return float_bits(value, "f32") >> 16
    return int.from_bytes(struct.pack(_FLOAT_FORMATS[kind], value), "little")


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of an instruction.

    Attributes:
        kind: "v" VGPR, "a" AGPR, "s" scalar register, "imm" constant, "special" (shared_base 235,
            shared_limit 236, private_base 237, private_limit 238, pops 239, vccz 251, execz 252, scc 253,
            lds_direct 254), "label" (branch target), "off" (no address register), "hwreg" (the fields of
            s_getreg/s_setreg), "simm" (plain immediate field).
        index: v/a: register number; s: scalar operand encoding 0..127 (flat_scratch 102, xnack_mask 104,
            VCC 106, ttmp 108..123, M0 124, EXEC 126); imm and special: source encoding (128..208 and
            240..248 inline, 255 literal, 254 literal of 64 bits); else 0.
        width: dwords read or written.
        value: imm: inline integer, inline float, or the literal as an unsigned int; label: absolute
            address; hwreg and simm: the field's value; else None.
        neg, abs, sext: source modifiers, applied abs first; sext only in SDWA.
        half: for a 16-bit operand of gfx11 and later, the half of the register: 0 low, 1 high; else None.
    """

    kind: str
    index: int
    width: int
    value: int | float | None = None
    neg: bool = False
    abs: bool = False
    sext: bool = False
    half: int | None = None

    def bits(self, type: str) -> int:
        """A constant as the bit pattern that an instruction sees in an operand of the given type.

        Types are a letter class and a width: "b", "i", "u", "f" or "bf" with 16, 32 or 64 (as "f16",
        "bf16", "b64"), or two of them packed ("v2f16", "v2bf16", "v2i16", "v2f32").
        Inline integers are sign-extended for every type, even in a floating-point operand. An inline
        float takes the operand's precision, and an integer operand sees the float of its own width; a packed
        16-bit floating-point operand has it in the low half only (op_sel_hi chooses), a packed 16-bit
        integer operand sees the single, and packed 32-bit has the constant in both halves. A literal is
        the high dword of an f64, sign-extended in an i64 and zero-extended in other 64-bit types; 16-bit
        types see its low half.

        Source modifiers (neg, abs) are not applied.

        Raises:
            CodeObjectError: the operand is not a constant, or the type is unknown.
        """
        if self.kind not in ("imm", "simm") or self.value is None:
            raise CodeObjectError(
                f"operand of kind {self.kind!r} has no bit pattern; only constants (imm, simm) do. "
                "Read the register instead."
            )
        packed = type.startswith("v2")
        element = type[2:] if packed else type
        letters = element.rstrip("0123456789")
        width = _WIDTHS.get(element[len(letters) :], 0)
        if letters not in ("b", "i", "u", "f", "bf") or not width or (letters == "bf" and width != 16):
            raise CodeObjectError(
                f"unknown operand type {type!r}; expected b, i, u or f with 16, 32 or 64, bf16, or such a "
                "type after v2."
            )
        value = self.value
        if packed and width == 32:
            low = self.bits(element)
            return low << 32 | low
        if packed:
            width = 32
        mask = (1 << width) - 1
        if isinstance(value, float):
            if letters in ("f", "bf"):
                return float_bits(value, element)
            return float_bits(value, f"f{width}")
        if self.index == LITERAL and self.kind == "imm" and width == 64:
            if letters == "f":
                return (value & 0xFFFFFFFF) << 32
            if letters == "i" and value & 0x80000000:
                return value | 0xFFFFFFFF00000000
            return value
        return value & mask


@dataclass(frozen=True, slots=True)
class Instruction:
    """One decoded machine instruction.

    Attributes:
        address: address of its first byte, in the address space that the caller of the decoder chose (a code
            object's virtual address).
        size: bytes: 4, 8, 12 or 16.
        mnemonic: mnemonic in llvm-objdump's form: v_add_f32_e32, v_mov_b32_dpp, s_load_dwordx4.
        opcode: the mnemonic without _e32, _e64, _dpp, _sdwa: v_add_f32.
        format: SOP1 SOP2 SOPC SOPK SOPP SMEM VOP1 VOP2 VOPC VOP3 VOP3P VOP3P_MAI DS FLAT GLOBAL SCRATCH
            MUBUF MTBUF. DPP and SDWA forms carry their fields in `modifiers`.
        dst: written operands in printed order. VOP3B's scalar result is included; implicit VCC, EXEC and
            SCC are not. A destination that is also read (v_fmac) appears here only.
        src: read operands in printed order (stores: address, data, scalar address).
        modifiers: only what is present or not zero: offset, offset0, offset1, sc0, sc1, nt, glc, slc, gds,
            lds, offen, idxen, clamp, omod (0..3), op_sel, op_sel_hi, neg_lo, neg_hi (bit masks by source;
            op_sel_hi always present for VOP3P), cbsz, abid, blgp, dpp_ctrl, row_mask, bank_mask,
            bound_ctrl, dst_sel, dst_unused, src0_sel, src1_sel, and immediate fields.
        words: the encoding as dwords, literal included.
        form: the opcode's row of the target's table.
    """

    address: int
    size: int
    mnemonic: str
    opcode: str
    format: str
    dst: tuple[Operand, ...]
    src: tuple[Operand, ...]
    modifiers: Mapping[str, int]
    words: tuple[int, ...]
    form: Form = field(compare=False, repr=False)

    @property
    def record(self) -> Record:
        """The opcode's record: operands, class, memory, implicit registers."""
        return self.form.record
