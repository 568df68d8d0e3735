"""Turns machine code of gfx11, gfx12 and gfx1250 into instructions, driven by the opcode table in isa/.

The tables say which fields an opcode has (isa/enumerate_gfx11.py), encodings_gfx11.py where these lie. What
differs from gfx9, whose decoder is decoder.py: one scalar register or two hold a lane mask, by the wave's
size; 16-bit operands are halves of registers; any ALU instruction may have a literal; a dword of DPP may
follow most vector instructions; and two instructions may share one encoding (VOPD).

Operands are numbered as on gfx9: M0 is scalar register 124 and null is 125, though the encodings of gfx11
and later have them the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from workbench.codeobject import code_words
from workbench.codeobject.encodings_gfx11 import (
    ALIASES,
    DPP8,
    DPP8_FI,
    DPP16,
    DPP_FIELDS,
    FLAT_SEGMENTS,
    GENERATIONS,
    HALVES,
    M0,
    NULL,
    SCALE,
    WIDE_LITERALS,
    Layout,
    generation,
    layouts,
)
from workbench.codeobject.instruction import INLINE_FLOATS, LITERAL, LITERAL64, Instruction, Operand
from workbench.codeobject.instructions import Entry, Form, forms
from workbench.errors import CodeObjectError

WAVE = 32
"""Lanes of a wave of code that does not say: most compilers' choice for these targets."""

_MEMORY_OFFSET_BITS = {"SMEM": 21, "FLAT": 13, "GLOBAL": 13, "SCRATCH": 13, "MUBUF": 0, "MTBUF": 0}
"""Bits of gfx11's signed offsets; an offset of 24 bits is signed too, others are not."""

_POSITIONS = {"src0": 0, "src1": 1, "vsrc1": 1, "src2": 2, "vsrc2": 2}
_BANK = 256
_BANKS = {**_POSITIONS, "vaddr": 0, "vdata": 1, "vdata0": 1, "vdata1": 2}
_RESULT = 3
"""The bit of VOP3's op_sel for the result."""

_FORMAT_DWORDS = {0: 16, 1: 16, 2: 12, 3: 12, 4: 8}
"""Dwords of an f8f6f4 matrix by its format: fp8, bf8, fp6, bf6, fp4 (16x128 elements in 32 lanes)."""

_BANKS_MODIFIER = "vgpr_msb"

_IMMEDIATES = (
    *("simm", "count", "optional", "waitcnt", "sendmsg", "delay", "depctr", "event", "version"),
    *("hwreg", "length"),
)
_SCALAR_FIELDS = {"sbase": 2}
_PLAIN = (
    *("clamp", "omod", "neg_lo", "neg_hi", "gds", "glc", "dlc", "slc", "tfe", "th", "scope", "wait_exp"),
    *("nv", "scale_offset"),
)
_DPP_SOURCE_CODES = {DPP16: "DPP16", DPP8: "DPP8", DPP8_FI: "DPP8"}
_WITH_LITERALS = (
    *("SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"),
    *HALVES,
    *HALVES.values(),
)
_WITHOUT_LITERALS = ("v", "h", "s", "a", "sendmsg")
"""Kinds of sources whose code is a register or a number, never that of a literal."""

_WIDE = 1 << 64
"""Added to a literal of 64 bits, to tell it from one of 32."""

Read = Callable[[int, int], Operand | None]
"""Makes an operand from the encoding's bits and its literal."""


class _Reserved(Exception):
    """A source field holds a code that names nothing."""


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


@cache
def _vector(index: int, width: int, half: int | None = None) -> Operand:
    return Operand("v", index, width, half=half)


@cache
def _scalar(code: int, width: int) -> Operand:
    if code in (NULL, M0):
        return Operand("s", M0 if code == NULL else NULL, width)
    # Hardware ignores the low bits of a scalar register's number where it takes several registers.
    return Operand("s", code & ~(1 if width == 2 else 3) if width > 1 else code, width)


@cache
def _constants(width: int) -> Mapping[int, Operand]:
    """Operand of each source code below 256 but for literals and reserved codes."""
    table = {code: _scalar(code, width) for code in range(128)}
    table |= {code: Operand("imm", code, width, code - 128) for code in range(128, 193)}
    table |= {code: Operand("imm", code, width, 192 - code) for code in range(193, 209)}
    special = (230, 231, *range(235, 240), *range(251, 255))
    table |= {code: Operand("special", code, width) for code in special}
    table |= {code: Operand("imm", code, width, value) for code, value in INLINE_FLOATS.items()}
    return MappingProxyType(table)


def _source(code: int, width: int, literal: int) -> Operand:
    if code >= 256:
        return _vector(code - 256, width)
    if code == LITERAL:
        return Operand("imm", LITERAL, width, literal & 0xFFFFFFFF)
    if code == LITERAL64 and width == 2 and literal & _WIDE:
        return Operand("imm", LITERAL64, width, literal & (1 << 64) - 1)
    operand = _constants(width).get(code)
    if operand is None:
        raise _Reserved(code)
    return operand


def _changed(operand: Operand, neg: bool, absolute: bool, half: int | None) -> Operand:
    return Operand(operand.kind, operand.index, operand.width, operand.value, neg, absolute, False, half)


class _Reader:
    """Decoder for the encodings of one form, in waves of one size.

    Attributes:
        form: the opcode's row, or what follows from it for a form with DPP.
        size: bytes without a literal.
    """

    def __init__(self, form: Form, layout: Layout, lanes: int, dpp: str = "") -> None:
        self.form = form
        self.layout = layout
        self.size = layout.size + (4 if dpp else 0)
        self._lanes = lanes
        self._dpp = dpp
        self._fields = dict(layout.fields)
        if dpp:
            first = 8 * layout.size
            added = {name: (low + first, width) for name, (low, width) in DPP_FIELDS[dpp].items()}
            # VOP3's own source modifiers apply, not those of the dword.
            self._fields = {**added, **self._fields, "src0": added["src0"]}
        self.label = any(entry.kind == "label" for entry in form.entries)
        self._literal_fields = [
            self._fields[entry.field]
            for entry in form.entries
            if form.format in _WITH_LITERALS
            and entry.field in ("ssrc0", "ssrc1", "src0", "src1", "src2")
            and entry.kind not in _WITHOUT_LITERALS
        ]
        self._fixed_literal = max((e.width for e in form.entries if e.field == "literal"), default=0)
        self._has_wide_literals = generation(form.target) in WIDE_LITERALS and form.format not in (
            "VOP3",
            "VOP3P",
        )
        self._readers: list[tuple[Entry, Read]] | None = None

    def _bits(self, name: str, bits: int) -> int:
        low, width = self._fields[name]
        return bits >> low & (1 << width) - 1

    def literal_dwords(self, bits: int) -> int:
        """Dwords of the literal that follows the encoding; 0 if none does."""
        if self._fixed_literal:
            return self._fixed_literal
        codes = [bits >> low & (1 << width) - 1 for low, width in self._literal_fields]
        if self._has_wide_literals and LITERAL64 in codes:
            return 2
        return 1 if LITERAL in codes else 0

    def decode(
        self, bits: int, literal: int, address: int, banks: int = 0
    ) -> tuple[tuple[Operand, ...], tuple[Operand, ...], Mapping[str, int]]:
        """Destinations, sources and modifiers of an encoding, as `Instruction` has them.

        Args:
            bits: the encoding without its literal, first dword lowest.
            literal: the literal dword; 0 if there is none.
            address: address of the instruction.
            banks: which 256 vector registers operands name, as s_set_vgpr_msb has it.
        """
        if self._readers is None:
            self._readers = [(entry, self._reader(entry)) for entry in self.form.entries]
        modifiers = self._modifiers(bits)
        returns = bool(modifiers.get("th", 0) & 1 or modifiers.get("glc", 0))
        dst: list[Operand] = []
        src: list[Operand] = []
        for entry, read in self._readers:
            if entry.returning and not returns:
                continue
            if entry.kind == "label":
                distance = _signed(self._bits(entry.field, bits), 16)
                operand: Operand | None = Operand("label", 0, 1, address + 4 + 4 * distance)
            else:
                operand = read(bits, literal)
            if operand is None:
                continue
            if banks and operand.kind == "v":
                bank = banks >> 2 * self._bank_of(entry) & 3
                operand = replace(operand, index=operand.index + _BANK * bank)
            if entry.role == "=":
                dst.append(operand)
            else:
                if entry.role == "+" and returns:
                    dst.append(operand)
                src.append(operand)
        return tuple(dst), tuple(src), MappingProxyType(modifiers)

    def _bank_of(self, entry: Entry) -> int:
        """Which two bits of s_set_vgpr_msb choose the registers of an operand (LLVM, AMDGPUBaseInfo.cpp,
        getVGPRLoweringOperandTables)."""
        position = _BANKS.get(entry.field, _RESULT)
        if self.form.format == "VBUFFER" and entry.field == "vdata":
            return _RESULT
        # The constant of v_fmamk comes between its registers.
        behind_literal = entry is self.form.entries[-1] and self.form.entries[-2].field == "literal"
        return position + 1 if behind_literal else position

    def _modifiers(self, bits: int) -> dict[str, int]:
        shapes = self.form.modifiers
        modifiers: dict[str, int] = {}
        for name in _PLAIN:
            if name in shapes and shapes[name] != "source" and (value := self._bits(name, bits)):
                modifiers[name] = value
        for name, shape in shapes.items():
            # A bit of op_sel that adds to the value of another modifier.
            field, equals, other = name.partition("=")
            if equals and self._bit_of(field, bits):
                modifiers[other] = modifiers.get(other, 0) + int(shape)
        if shapes.get("bitop3") == "vsrc2":
            modifiers["bitop3"] = self._bits("vsrc2", bits)
        elif "bitop3" in shapes:
            table = self._bits("omod", bits) << 6
            for place in range(3):
                table |= (
                    self._bits(f"neg{place}", bits) << place | self._bits(f"abs{place}", bits) << 3 + place
                )
            modifiers["bitop3"] = table
        if "op_sel" in shapes and (value := self._bits("op_sel", bits)):
            modifiers["op_sel"] = value
        if "op_sel_hi" in self._fields and "op_sel_hi" in shapes:
            modifiers["op_sel_hi"] = self._bits("op_sel_hi", bits) | self._bits("op_sel_hi2", bits) << 2
        if self._dpp == "DPP16":
            modifiers |= {name: self._bits(name, bits) for name in ("dpp_ctrl", "row_mask", "bank_mask")}
            modifiers |= {name: 1 for name in ("bound_ctrl", "fi") if self._bits(name, bits)}
        elif self._dpp == "DPP8":
            modifiers["dpp8"] = self._bits("dpp8", bits)
            if self._source_code(bits) == DPP8_FI:
                modifiers["fi"] = 1
        modifiers |= self._offset(bits)
        return modifiers

    def _bit_of(self, name: str, bits: int) -> int:
        """A bit named by its field and number: op_sel1, op_sel_hi0."""
        if name in self._fields:
            return self._bits(name, bits)
        return self._bits(name[:-1], bits) >> int(name[-1]) & 1

    def _source_code(self, bits: int) -> int:
        low, width = self.layout.fields["src0"]
        return bits >> low & (1 << width) - 1

    def _offset(self, bits: int) -> dict[str, int]:
        shapes, offsets = self.form.modifiers, {}
        if "offset0" in shapes:
            offsets = {name: self._bits(name, bits) for name in ("offset0", "offset1")}
        elif "offset0" in self._fields and self.form.entries:
            offsets = {"offset": self._bits("offset0", bits) | self._bits("offset1", bits) << 8}
        elif self.form.format == "SMEM":
            # With both a register and a constant, the constant is a modifier.
            if any(e.kind == "smem" for e in self.form.entries) and self._bits("soffset", bits) != NULL:
                offsets = {"offset": self._memory_offset(bits)}
        elif "offset" in self._fields and "offset" in shapes:
            offsets = {"offset": self._memory_offset(bits)}
            for name in ("offen", "idxen", "format"):
                if name in self._fields and (name != "format" or "format" in shapes):
                    offsets[name] = self._bits(name, bits)
        return {name: value for name, value in offsets.items() if value or name == "format"}

    def _memory_offset(self, bits: int) -> int:
        _, width = self._fields["offset"]
        sign = width if width == 24 else _MEMORY_OFFSET_BITS[self.form.format]
        value = self._bits("offset", bits)
        return _signed(value, sign) if sign else value

    def _reader(self, entry: Entry) -> Read:
        """The reader of one operand, by the kind of the entry."""
        field, kind = entry.field, entry.kind
        width = self._width(entry)
        if field == "vcc":
            return lambda bits, literal: _scalar(106, width)
        if field == "literal":
            index, mask = (LITERAL64, (1 << 64) - 1) if width == 2 else (LITERAL, 0xFFFFFFFF)
            return lambda bits, literal: Operand("imm", index, width, literal & mask)
        if kind == "smem":
            return self._smem
        if kind == "smem_offset":
            return lambda bits, literal: Operand("simm", 0, 1, self._memory_offset(bits))
        low, field_width = self._fields[field]
        mask = (1 << field_width) - 1
        if kind in _IMMEDIATES:
            name = "hwreg" if kind == "hwreg" else "simm"
            # A prefetch has five bits for its length.
            mask = 31 if kind == "length" else mask
            return lambda bits, literal: Operand(name, 0, 1, bits >> low & mask)
        if kind == "o":
            return lambda bits, literal: (
                Operand("off", 0, 0) if bits >> low & mask == NULL else _scalar(bits >> low & mask, width)
            )
        if kind == "n":
            return self._optional(low, width)
        if kind in ("g", "t", "b"):
            return self._address(kind, low, mask)
        if field in _POSITIONS and field_width == 9:
            return self._vector_source(entry, low, mask, width)
        if field in ("ssrc0", "ssrc1") or (field == "soffset" and field_width == 8):
            return lambda bits, literal: _source(bits >> low & mask, width, literal)
        if kind == "s":
            # Scalar registers in a field for vectors have seven bits.
            scale = _SCALAR_FIELDS.get(field, 4 if field == "srsrc" and field_width == 5 else 1)
            if field_width == 8 and field != "soffset":
                mask = 127
            return lambda bits, literal: _scalar((bits >> low & mask) * scale, width)
        return self._vgpr(entry, low, mask)

    def _width(self, entry: Entry) -> int:
        return entry.width64 if self._lanes == 64 else entry.width

    def _smem(self, bits: int, literal: int) -> Operand:
        soffset = self._bits("soffset", bits)
        # gfx11's assembler writes an offset of zero as null.
        if soffset != NULL or (self._fields["offset"][1] < 24 and not self._memory_offset(bits)):
            return _scalar(soffset, 1)
        return Operand("simm", 0, 1, self._memory_offset(bits))

    def _optional(self, low: int, width: int) -> Read:
        fields = [self._fields[entry.field] for entry in self.form.entries if entry.kind == "n"]

        def read(bits: int, literal: int) -> Operand | None:
            if all(bits >> place & (1 << bit_count) - 1 == NULL for place, bit_count in fields):
                return None
            return _scalar(bits >> low & 127, width)

        return read

    def _address(self, kind: str, low: int, mask: int) -> Read:
        off = Operand("off", 0, 0)
        if kind == "g":
            scalar = self._fields["saddr"][0]
            return lambda bits, literal: _vector(bits >> low & mask, 2 if bits >> scalar & 127 == NULL else 1)
        if kind == "t":
            sve = self._fields["sve"][0]
            return lambda bits, literal: _vector(bits >> low & mask, 1) if bits >> sve & 1 else off
        offen, idxen = self._fields["offen"][0], self._fields["idxen"][0]

        def buffer(bits: int, literal: int) -> Operand:
            count = (bits >> offen & 1) + (bits >> idxen & 1)
            return _vector(bits >> low & mask, count) if count else off

        return buffer

    def _format_bits(self, field: str) -> list[int]:
        """Bits of the format of a matrix of an f8f6f4 instruction, lowest first; empty for other operands."""
        name = {"src0": "matrix_a_fmt", "src1": "matrix_b_fmt"}.get(field)
        tokens = {shape: key for key, shape in self.form.modifiers.items() if key.endswith(f"={name}")}
        places = []
        for value in ("1", "2", "4"):
            bit = tokens.get(value, "").partition("=")[0]
            if bit in self._fields:
                places.append(self._fields[bit][0])
            elif bit:
                places.append(self._fields[bit[:-1]][0] + int(bit[-1]))
        return places

    def _modifier_bits(self, entry: Entry) -> tuple[int, int]:
        """Bits that negate a source and take its absolute value; 0 if there are none."""
        position, shapes = _POSITIONS.get(entry.field), self.form.modifiers
        if position is None:
            return 0, 0
        if shapes.get("neg_lo") == "source":
            # Mixed-precision forms: neg_lo negates, neg_hi takes the absolute value.
            return 1 << self._fields["neg_lo"][0] + position, 1 << self._fields["neg_hi"][0] + position
        names = [f"{name}{position}" for name in ("neg", "abs")]
        prefix = "dpp_" if self._dpp and "op_sel" not in self.layout.fields else ""
        neg, absolute = (
            1 << self._fields[name][0] if prefix + name in shapes and name in self._fields else 0
            for name in names
        )
        return neg, absolute

    def _half_bit(self, entry: Entry) -> int | None:
        """The bit that says which half of a register an operand is; None if it is a whole one."""
        if entry.kind not in ("h", "y"):
            return None
        if "op_sel" in self.layout.fields:
            return self._fields["op_sel"][0] + _POSITIONS.get(entry.field, _RESULT)
        return self._fields[entry.field][0] + 7

    def _vector_source(self, entry: Entry, low: int, mask: int, width: int) -> Read:
        neg, absolute = self._modifier_bits(entry)
        half = self._half_bit(entry)
        in_op_sel = "op_sel" in self.layout.fields
        formats = self._format_bits(field=entry.field)
        if formats:
            return lambda bits, literal: _source(
                bits >> low & mask,
                _FORMAT_DWORDS.get(sum((bits >> place & 1) << n for n, place in enumerate(formats)), width),
                literal,
            )

        def read(bits: int, literal: int) -> Operand:
            code = bits >> low & mask
            if half is not None and code >= 256 and not in_op_sel:
                code &= ~128
            operand = _source(code, width, literal)
            part = None
            if half is not None and operand.kind in ("v", "s"):
                part = bits >> half & 1 if in_op_sel or operand.kind == "v" else 0
            if part is None and not bits & (neg | absolute):
                return operand
            return _changed(operand, bool(bits & neg), bool(bits & absolute), part)

        return read

    def _vgpr(self, entry: Entry, low: int, mask: int) -> Read:
        neg, absolute = self._modifier_bits(entry)
        half, width = self._half_bit(entry), self._width(entry)
        in_op_sel = "op_sel" in self.layout.fields
        status = 1 << self._fields["tfe"][0] if entry.field == "vdata" and "tfe" in self._fields else 0
        parity = entry.field == "vdst" and self._fields["vdst"] == (49, 7)

        def read(bits: int, literal: int) -> Operand:
            index = bits >> low & mask
            if parity:
                # The two results of a dual instruction have registers of different parity.
                index = index << 1 | (~bits >> 56 & 1)
            part = None
            if half is not None:
                part = bits >> half & 1
                if not in_op_sel:
                    index &= 127
            # With tfe, a load's status comes after its data.
            operand = _vector(index, width + (1 if bits & status else 0), part)
            if not bits & (neg | absolute):
                return operand
            return _changed(operand, bool(bits & neg), bool(bits & absolute), part)

        return read


def _dpp_form(form: Form, kind: str) -> Form:
    """The form with a DPP dword that follows from an opcode's row."""
    suffix = {"VOP1": "_dpp", "VOP2": "_dpp", "VOPC": ""}.get(form.format, "_e64_dpp")
    return Form(
        form.target,
        f"{form.format}_{kind}",
        form.opcode + suffix,
        form.entries,
        form.modifiers,
        form.meaning,
    )


class _Slot:
    """Readers of one format, found by the opcode's bits."""

    def __init__(self, name: str, layout: Layout, rows: Mapping[tuple[str, int], Form], lanes: int) -> None:
        self.name = name
        self.layout = layout
        self.shift, width = layout.opcode
        self.mask = (1 << width) - 1
        found = {number: form for (format_, number), form in rows.items() if format_ == name}
        self.readers = {number: _Reader(form, layout, lanes) for number, form in found.items()}
        self.dpp = {
            (number, kind): _Reader(_dpp_form(form, kind), layout, lanes, kind)
            for number, form in found.items()
            for kind in DPP_FIELDS
            if kind.lower() in form.modifiers
        }
        self.source = layout.fields.get("src0") if name in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P") else None

    def begins(self, leading: int) -> bool:
        """True if nine leading bits can be those of this format."""
        count = self.layout.leading
        return leading >> 9 - count == self.layout.base >> 32 - count

    def find(self, bits: int) -> _Reader | None:
        number = bits >> self.shift & self.mask
        if self.source is not None:
            kind = _DPP_SOURCE_CODES.get(bits >> self.source[0] & 0x1FF)
            if kind is not None:
                return self.dpp.get((number, kind))
        return self.readers.get(number)


class _Dual:
    """The reader of VOPD: two instructions with one encoding and one literal."""

    def __init__(self, x: _Slot, y: _Slot) -> None:
        self.x, self.y = x, y

    def find(self, bits: int) -> tuple[_Reader, _Reader] | None:
        """The readers of both halves."""
        first, second = self.x.find(bits), self.y.find(bits)
        return (first, second) if first and second else None


@cache
def _scaled_form(scales: Form, form: Form) -> Form:
    return form.with_scales(scales)


def _scaled(
    scales: _Reader, reader: _Reader, words: tuple[int, ...], index: int, address: int, banks: int
) -> Instruction:
    """A matrix instruction with its scales: two encodings are one instruction of 16 bytes."""
    following = words[index : index + 4]
    first, second = following[0] | following[1] << 32, following[2] | following[3] << 32
    try:
        _, scale_operands, selects = scales.decode(first, 0, address, banks)
        dst, src, modifiers = reader.decode(second, 0, address, banks)
    except _Reserved as error:
        raise CodeObjectError(
            f"{scales.form.mnemonic} at address {address:#x} has a source operand with the reserved code "
            f"{error}."
        ) from None
    form = _scaled_form(scales.form, reader.form)
    return Instruction(
        address,
        16,
        form.mnemonic,
        form.opcode,
        form.base_format,
        dst,
        (*src, *scale_operands),
        MappingProxyType({**modifiers, **selects}),
        following,
        form,
    )


@cache
def _pair(first: Form, second: Form) -> Form:
    return Form(
        first.target,
        "VOPD",
        f"{first.mnemonic} :: {second.mnemonic}",
        (*first.entries, *second.entries),
        MappingProxyType({}),
        "",
    )


class _Table:
    """The readers of a target, by the nine leading bits of an instruction."""

    def __init__(self, target: str, lanes: int) -> None:
        self.target = target
        self.lanes = lanes
        rows, formats = forms(target), layouts(target)
        slots = {name: _Slot(name, layout, rows, lanes) for name, layout in formats.items()}
        self.scales = slots.get(SCALE)
        self._dual = {x: _Dual(slots[x], slots[y]) for x, y in HALVES.items() if x in slots}
        self._flat = {number: slots[name] for number, name in FLAT_SEGMENTS.items()}
        self._is_old_flat = formats["FLAT"].size == 8
        self._slots: list[_Slot | None] = [None] * 512
        for leading in range(512):
            matching = [
                slot
                for name, slot in slots.items()
                if name not in (*HALVES.values(), SCALE) and slot.begins(leading)
            ]
            if matching:
                self._slots[leading] = max(matching, key=lambda slot: slot.layout.leading)

    def find(self, slot: _Slot, bits: int) -> tuple[_Reader, ...]:
        """The reader of an instruction, or those of both halves; none if there is no such instruction."""
        dual = self._dual.get(slot.name)
        if dual is not None:
            return dual.find(bits) or ()
        reader = slot.find(bits)
        return (reader,) if reader else ()

    def slot(self, word: int) -> _Slot | None:
        """The format of an instruction by its first dword."""
        slot = self._slots[word >> 23]
        if slot is not None and self._is_old_flat and slot.name in FLAT_SEGMENTS.values():
            return self._flat.get(word >> 16 & 3)
        return slot


@cache
def _table(target: str, lanes: int) -> _Table:
    return _Table(target, lanes)


def _decode_at(
    words: tuple[int, ...], index: int, address: int, table: _Table, banks: int = 0
) -> Instruction:
    """The instruction that begins at `words[index]`."""
    slot = table.slot(words[index])
    following = words[index : index + 4]
    bits = 0
    for place, word in enumerate(following):
        bits |= word << 32 * place
    readers = table.find(slot, bits) if slot is not None else ()
    is_scale = slot is not None and slot.name == "VOP3P" and table.scales is not None
    if slot is None or not (readers or (is_scale and table.scales and table.scales.find(bits))):
        dwords = " ".join(f"{w:08x}" for w in following[:2])
        raise CodeObjectError(
            f"no {table.target} instruction at address {address:#x}: the dwords there are {dwords}. The code "
            "is damaged, or this is data."
        )
    scales = table.scales.find(bits) if table.scales is not None and slot.name == "VOP3P" else None
    if scales is not None:
        second = following[2] | following[3] << 32 if len(following) == 4 else 0
        reader = slot.find(second) if second >> 24 & 0xFF == slot.layout.base >> 24 else None
        if reader is not None and "scales" in reader.form.modifiers:
            return _scaled(scales, reader, words, index, address, banks)
        # Before another instruction it is one of its own.
        readers = (scales,)
    form = readers[0].form if len(readers) == 1 else _pair(readers[0].form, readers[1].form)
    if slot.layout.named_only:
        raise CodeObjectError(
            f"{form.mnemonic} at address {address:#x} is a graphics instruction: its operands are not "
            "decoded, and no kernel for computing needs it."
        )
    length = readers[0].size // 4
    literal = 0
    try:
        count = max(reader.literal_dwords(bits) for reader in readers)
        for place, word in enumerate(following[length : length + count]):
            literal |= word << 32 * place
        if count == 2:
            literal |= _WIDE
        length += count
        if length > len(following):
            raise CodeObjectError(
                f"{form.mnemonic} at address {address:#x} is cut short: {4 * len(following)} of its "
                f"{4 * length} bytes are there."
            )
        bits &= (1 << 8 * readers[0].size) - 1
        parts = [reader.decode(bits, literal, address, banks) for reader in readers]
    except _Reserved as error:
        raise CodeObjectError(
            f"{form.mnemonic} at address {address:#x} has a source operand with the reserved code {error}."
        ) from None
    dst, src, modifiers = parts[0]
    if len(parts) == 2:
        dst, src = (*dst, *parts[1][0]), (*src, *parts[1][1])
    return Instruction(
        address,
        4 * length,
        form.mnemonic,
        form.opcode,
        form.base_format,
        dst,
        src,
        modifiers,
        words[index : index + length],
        form,
    )


def with_banks(instruction: Instruction, banks: int, lanes: int = WAVE) -> Instruction:
    """An instruction as it is executed after an s_set_vgpr_msb, with `banks` in the low bits.

    Two bits each say which 256 registers the sources and the result are from; assemblers print the low
    number. The modifier "vgpr_msb" keeps them.
    """
    table = _table(instruction.form.target, lanes)
    banked = _decode_at(instruction.words, 0, instruction.address, table, banks)
    return replace(banked, modifiers=MappingProxyType({**banked.modifiers, _BANKS_MODIFIER: banks}))


def halves(instruction: Instruction, lanes: int = WAVE) -> tuple[Instruction, ...]:
    """The two instructions of a VOPD, X first; any other instruction alone.

    Both read their sources before either writes its result. Each has the whole encoding as its words.
    """
    if instruction.format != "VOPD":
        return (instruction,)
    table = _table(instruction.form.target, lanes)
    words = instruction.words
    slot = table.slot(words[0])
    assert slot is not None
    size = slot.layout.size // 4
    bits = sum(word << 32 * place for place, word in enumerate(words[:size]))
    readers = table.find(slot, bits)
    literal = words[size] if len(words) > size else 0
    results = []
    for reader in readers:
        dst, src, modifiers = reader.decode(
            bits, literal, instruction.address, instruction.modifiers.get(_BANKS_MODIFIER, 0)
        )
        form = reader.form
        results.append(
            Instruction(
                instruction.address,
                instruction.size,
                form.mnemonic,
                form.opcode,
                form.base_format,
                dst,
                src,
                modifiers,
                words,
                form,
            )
        )
    return tuple(results)


def decodes(target: str) -> bool:
    """True if this module decodes a target's code."""
    return target in GENERATIONS or target in ALIASES


def _decode_of(target: str, lanes: int) -> code_words.DecodeAt:
    table = _table(target, lanes)
    return lambda words, index, address: _decode_at(words, index, address, table)


def decode_one(code: bytes, offset: int, address: int, target: str, lanes: int = WAVE) -> Instruction:
    """The instruction at byte `offset` of `code`, whose own address is `address`.

    Args:
        lanes: lanes of a wave, 32 or 64.

    Raises:
        CodeObjectError: the bytes are not an instruction of the target, or are cut short.
    """
    return code_words.one(code, offset, address, target, _decode_of(target, lanes))


def decode(code: bytes, address: int, target: str, lanes: int = WAVE) -> list[Instruction]:
    """All instructions of `code` in order; the first is at `address`. Otherwise as `decode_one`."""
    return code_words.each(code, address, target, _decode_of(target, lanes))
