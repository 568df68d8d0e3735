"""Turns machine code into instructions, driven by the opcode table in isa/.

The tables say which fields an opcode has, in printed order and how wide; encodings.py says where the fields
lie. This module has what the ISA defines once for all opcodes: how a source field names a register or a
constant, and which forms change their operands with a modifier.

Kernels have tens of thousands of instructions, so each opcode's row is compiled once, at its first use, into
small readers that shift a field out of the encoding and look its operand up in a table, and an encoding that
was seen before is not read again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from types import MappingProxyType

from workbench import targets
from workbench.codeobject import code_words, decoder_gfx11
from workbench.codeobject.encodings import DPP_SOURCE, ENCODINGS, SDWA_SOURCE
from workbench.codeobject.instruction import INLINE_FLOATS, LITERAL, Instruction, Operand
from workbench.codeobject.instructions import Entry, Form, Space, forms
from workbench.errors import CodeObjectError

# Dwords of a matrix operand of the f8f6f4 instructions by its format code (cbsz for A, blgp for B): fp8 and
# bf8 take 8, fp6 and bf6 take 6, fp4 takes 4 (CDNA4 ISA guide, "Matrix formats").
_F8F6F4_DWORDS = {0: 8, 1: 8, 2: 6, 3: 6, 4: 4}
# v_mfma_ld_scale_b32 forms one instruction with the following f8f6f4 MFMA if this bit, the lowest of abid, is
# set.
_SCALED = 1 << 11

_REMEMBERED = 1 << 16
"""Number of encodings to cache, over all forms: more than a kernel of 50,000 instructions has."""

OperandReader = Callable[[int, int, int], Operand | None]
"""Makes an operand from the encoding's bits, its literal, and the instruction's address."""

Decoded = tuple[tuple[Operand, ...], tuple[Operand, ...], Mapping[str, int]]


_seen: dict[int, Decoded] = {}
_numbers = itertools.count()


class _ReservedSource(Exception):
    """A source field holds a code that names nothing."""


@cache
def _register(kind: str, index: int, width: int) -> Operand:
    if kind == "s" and width > 1:
        # Hardware ignores the low bits of a scalar register's number where it takes several registers.
        index &= ~1 if width == 2 else ~3
    return Operand(kind, index, width)


@cache
def _sources(width: int) -> tuple[Operand | None, ...]:
    """Operand of each nine-bit source code (CDNA3 ISA guide, "Scalar operands", "Vector operands").

    None for the literal and for reserved codes.
    """
    table: list[Operand | None] = [None] * 512
    for code in range(128):
        table[code] = _register("s", code, width)
    for code in range(128, 193):
        table[code] = Operand("imm", code, width, code - 128)
    for code in range(193, 209):
        table[code] = Operand("imm", code, width, 192 - code)
    for code in (*range(235, 240), *range(251, 255)):
        table[code] = Operand("special", code, width)
    for code, value in INLINE_FLOATS.items():
        table[code] = Operand("imm", code, width, value)
    for index in range(256):
        table[256 + index] = _register("v", index, width)
    return tuple(table)


def _source(code: int, width: int, literal: int | None) -> Operand:
    operand = _sources(width)[code]
    if operand is not None:
        return operand
    if code == LITERAL and literal is not None:
        return Operand("imm", LITERAL, width, literal)
    raise _ReservedSource(code)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


# The position of a source in the neg, abs, sext and select fields.
_POSITIONS = {"src0": 0, "src1": 1, "vsrc1": 1, "src2": 2}
_IMMEDIATES = ("simm", "optional", "waitcnt", "sendmsg", "set_gpr_idx_mode", "imm", "gpr_idx")
# Fields whose value is a modifier of the same name when it is not zero.
_PLAIN_MODIFIERS = (
    *("clamp", "omod", "cbsz", "abid", "blgp", "gds", "glc", "nv", "lds", "offset0", "offset1"),
    *("bound_ctrl", "fi", "dst_unused", "neg_lo", "neg_hi"),
)
# Fields that a form always prints, zero or not.
_DPP_FIELDS = ("dpp_ctrl", "row_mask", "bank_mask")
_SDWA_SELECTS = ("dst_sel", "src0_sel", "src1_sel")
_DATA_FIELDS = ("vdst", "vdata", "vdata0", "vdata1")


class _Reader:
    """Decoder for the encodings of one form.

    Attributes:
        size: bytes without a literal.
        is_scale: True for the first half of a scaled matrix instruction.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.format = form.format
        self.modifiers = form.modifiers
        encoding = ENCODINGS[form.format]
        self.size = encoding.size
        self._fields = encoding.fields
        self.has_label = any(entry.kind == "label" for entry in form.entries)
        self.has_fixed_literal = any(entry.field == "literal" for entry in form.entries)
        # Shifts and masks of the fields in which 255 means that a literal follows.
        self.literal_fields = (
            [(low, (1 << width) - 1) for name, (low, width) in self._fields.items() if name[-4:-1] == "src"]
            if form.format in ("SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC")
            else []
        )
        self.literal_fields = [item for item in self.literal_fields if item[0] < 16 and item[1] != 0x7F]
        if form.format in ("VOP2", "VOPC"):
            self.literal_fields = self.literal_fields[:1]
        self.is_scale = form.gives_scales
        self._readers: list[tuple[str, bool, bool, OperandReader]] | None = None
        self._number = next(_numbers)
        self._modifier_bits = 0
        self._plain: Mapping[str, int] | None = None

    @cached_property
    def _is_gws(self) -> bool:
        memory = self.form.record.memory
        return memory is not None and memory.space is Space.GWS

    @cached_property
    def _is_small_float(self) -> bool:
        """True for an f8f6f4 matrix instruction, whose operands are as wide as their formats say."""
        matrix = self.form.record.matrix
        return matrix is not None and matrix.type_a == "f8f6f4"

    def takes_scales(self, word: int) -> bool:
        """True if the first dword of this form says that the scales before it belong to it."""
        return bool(word & _SCALED) and self._is_small_float

    def has_literal(self, word: int) -> bool:
        """True if a literal dword follows the encoding that begins with `word`."""
        if self.has_fixed_literal:
            return True
        return any(word >> low & mask == LITERAL for low, mask in self.literal_fields)

    def decode(self, bits: int, literal: int, address: int) -> Decoded:
        """Destinations, sources and modifiers of an encoding.

        Args:
            bits: the encoding without its literal, first dword lowest.
            literal: the literal dword; 0 if there is none.
            address: address of the instruction.
        """
        if self.has_label:
            return self._decode(bits, literal, address)
        key = literal << 80 | bits << 16 | self._number
        decoded = _seen.get(key)
        if decoded is None:
            if len(_seen) >= _REMEMBERED:
                _seen.clear()
            decoded = _seen[key] = self._decode(bits, literal, address)
        return decoded

    def _decode(self, bits: int, literal: int, address: int) -> Decoded:
        if self._readers is None:
            self._compile()
        assert self._readers is not None
        modifiers = self._plain
        if modifiers is None or bits & self._modifier_bits:
            modifiers = MappingProxyType(self._read_modifiers(bits))
        returns = "sc0" in modifiers or "glc" in modifiers
        dst: list[Operand] = []
        src: list[Operand] = []
        for role, only_returning, is_loaded, reader in self._readers:
            if only_returning and not returns:
                continue
            # A load directly to LDS has no destination register: M0 holds the LDS address.
            if is_loaded and "lds" in modifiers:
                continue
            operand = reader(bits, literal, address)
            if operand is None:
                continue
            if role == "=":
                dst.append(operand)
            else:
                if role == "+" and returns:
                    dst.append(operand)
                src.append(operand)
        return tuple(dst), tuple(src), modifiers

    def _compile(self) -> None:
        self._modifier_bits = self._find_modifier_bits()
        # Forms whose modifiers are all zero or absent share one empty (or constant) mapping.
        always = self.form.is_dpp or self.form.is_sdwa or self.format in ("VOP3P", "MTBUF")
        self._plain = None if always else MappingProxyType({})
        self._readers = [
            (entry.role, entry.returning, entry.is_loaded, self._reader(entry)) for entry in self.form.entries
        ]

    def _mask(self, *names: str) -> int:
        bits = 0
        for name in names:
            if name in self._fields:
                low, width = self._fields[name]
                bits |= (1 << width) - 1 << low
        return bits

    def _find_modifier_bits(self) -> int:
        names = [*_PLAIN_MODIFIERS, "op_sel", "offset", "offset0", "offset1", "offen", "idxen"]
        names += [name for name in self._fields if name.startswith("bit")]
        names += ["lds"]
        always = ("offset", "offen", "idxen", "gds")
        bits = self._mask(*(name for name in names if name in self.modifiers or name in always))
        if "op_sel" in self._fields and any(name.startswith("op_sel") for name in self.modifiers):
            bits |= self._mask("op_sel")
        if "bitop3" in self.modifiers:
            bits |= self._mask("neg0", "neg1", "neg2", "abs0", "abs1", "abs2", "omod")
        if self.format == "DS":
            bits |= self._mask("offset0", "offset1")
        return bits

    def _field(self, name: str, bits: int) -> int:
        low, width = self._fields[name]
        return bits >> low & (1 << width) - 1

    def _read_modifiers(self, bits: int) -> dict[str, int]:
        names = self.modifiers
        modifiers: dict[str, int] = {}
        for name in _PLAIN_MODIFIERS:
            if (name in names or name == "gds") and name in self._fields and names.get(name) != "source":
                if name == "gds" and not self._is_gws:
                    continue
                value = self._field(name, bits)
                if value:
                    modifiers[name] = value
        for name, shape in names.items():
            # A cache policy bit, or a bit of op_sel with another meaning: the shape gives its name.
            if name[:3] == "bit" and name[3:].isdigit():
                value = self._field(name, bits)
            elif name[:6] == "op_sel" and name[6:].isdigit():
                value = self._field("op_sel", bits) >> int(name[6:]) & 1
            else:
                continue
            if value:
                modifiers[shape] = 1
        if "bitop3" in names:
            value = self._field("omod", bits) << 6
            for i in range(3):
                value |= self._field(f"neg{i}", bits) << i | self._field(f"abs{i}", bits) << 3 + i
            modifiers["bitop3"] = value
        if "op_sel" in names and (value := self._field("op_sel", bits)):
            modifiers["op_sel"] = value
        if self.format == "VOP3P":
            modifiers["op_sel_hi"] = self._field("op_sel_hi", bits) | self._field("op_sel_hi2", bits) << 2
        if self.form.is_dpp:
            for name in _DPP_FIELDS:
                modifiers[name] = self._field(name, bits)
        if self.form.is_sdwa:
            for name in _SDWA_SELECTS:
                if name in names:
                    modifiers[name] = self._field(name, bits)
        self._read_offset(bits, modifiers)
        return modifiers

    def _read_offset(self, bits: int, modifiers: dict[str, int]) -> None:
        if self.format == "SMEM":
            # With both a register and a constant, the constant is a modifier.
            if any(e.kind == "smem" for e in self.form.entries) and self._field("imm", bits):
                value = _signed(self._field("offset", bits), 21)
                if self._field("soffset_en", bits) and value:
                    modifiers["offset"] = value
            return
        if self.format == "DS":
            value = self._field("offset0", bits) | self._field("offset1", bits) << 8
            if value and "offset0" not in self.modifiers:
                modifiers["offset"] = value
            return
        if "offset" not in self._fields or not self.form.entries:
            return
        value = self._field("offset", bits)
        if self.format in ("GLOBAL", "SCRATCH"):
            value = _signed(value, 13)
        if value:
            modifiers["offset"] = value
        if self.format in ("MUBUF", "MTBUF"):
            for name in ("offen", "idxen"):
                if self._field(name, bits):
                    modifiers[name] = 1
        if self.format == "MTBUF":
            modifiers["dfmt"], modifiers["nfmt"] = self._field("dfmt", bits), self._field("nfmt", bits)

    def _reader(self, entry: Entry) -> OperandReader:
        """The reader of one operand, by the kind of the entry."""
        field, kind, width = entry.field, entry.kind, entry.width
        if field == "vcc":
            return self._vcc_reader(entry)
        if field == "literal":
            return lambda bits, literal, address: Operand("imm", LITERAL, width, literal)
        low, field_width = self._fields[field]
        mask = (1 << field_width) - 1
        if kind == "label":
            return lambda bits, literal, address: Operand(
                "label", 0, 1, address + 4 + 4 * _signed(bits >> low & mask, 16)
            )
        if kind == "hwreg":
            return lambda bits, literal, address: Operand("hwreg", 0, 1, bits >> low & mask)
        if kind in _IMMEDIATES:
            return lambda bits, literal, address: Operand("simm", 0, 1, bits >> low & mask)
        if kind == "smem":
            return self._smem_offset
        if kind in ("g", "t", "b", "o"):
            return self._address_reader(kind, low, mask, width)
        if self.format == "VOP3P_MAI" or (self.format == "VOP1" and kind == "a"):
            return self._matrix_reader(entry)
        if kind == "s" and field not in ("ssrc0", "ssrc1", "src0", "src1", "src2"):
            scale = {"sbase": 2, "srsrc": 4}.get(field, 1)
            if field == "vdst":
                mask = 127
            return lambda bits, literal, address: _register("s", (bits >> low & mask) * scale, width)
        if (
            field_width == 8
            and field in (*_DATA_FIELDS, "vaddr", "vsrc1", "src0")
            and not (self.form.is_sdwa and field in ("src0", "vsrc1"))
        ):
            return self._vgpr_reader(entry, low)
        return self._source_reader(entry)

    def _vgpr_reader(self, entry: Entry, low: int) -> OperandReader:
        vector = tuple(_register("v", index, entry.width) for index in range(256))
        # A GWS instruction reads data where others have an address.
        if "acc" in self._fields and (entry.field in _DATA_FIELDS or self._is_gws):
            accumulators = tuple(_register("a", index, entry.width) for index in range(256))
            acc = self._fields["acc"][0]
            banks = (vector, accumulators)
            return lambda bits, literal, address: banks[bits >> acc & 1][bits >> low & 255]
        if self._has_source_modifiers(entry):
            return self._source_reader(entry)
        return lambda bits, literal, address: vector[bits >> low & 255]

    def _has_source_modifiers(self, entry: Entry) -> bool:
        position = _POSITIONS.get(entry.field)
        if position is None:
            return False
        names = self.modifiers
        return names.get("neg_lo") == "source" or any(
            f"{name}{position}" in names for name in ("neg", "abs", "sext")
        )

    def _source_reader(self, entry: Entry) -> OperandReader:
        """Reader of a source field of eight or nine bits, with the modifiers that the opcode has for it."""
        field, width = entry.field, entry.width
        low, field_width = self._fields[field]
        mask = (1 << field_width) - 1
        table = _sources(width)
        takes_literal = bool(self.literal_fields)
        # In DPP and SDWA forms an eight-bit source counts VGPRs, unless SDWA's bit says scalar.
        base, scalar_bit = 0, 0
        if self.form.is_dpp or (field == "vsrc1" and not self.form.is_sdwa):
            base = 256
        elif self.form.is_sdwa:
            base, scalar_bit = 256, self._mask("s0" if field == "src0" else "s1")

        def plain(bits: int, literal: int, address: int) -> Operand:
            code = (bits >> low & mask) + (0 if scalar_bit and bits & scalar_bit else base)
            return table[code] or _source(code, width, literal if takes_literal else None)

        if not self._has_source_modifiers(entry):
            return plain
        position = _POSITIONS[field]
        names = self.modifiers
        if names.get("neg_lo") == "source":
            # Mixed-precision forms: neg_lo negates, neg_hi takes the absolute value.
            neg = 1 << self._fields["neg_lo"][0] + position
            absolute = 1 << self._fields["neg_hi"][0] + position
            sext = 0
        else:
            neg, absolute, sext = (
                self._mask(f"{name}{position}") if f"{name}{position}" in names else 0
                for name in ("neg", "abs", "sext")
            )
        changed = neg | absolute | sext

        def modified(bits: int, literal: int, address: int) -> Operand:
            operand = plain(bits, literal, address)
            if not bits & changed:
                return operand
            return Operand(
                operand.kind,
                operand.index,
                operand.width,
                operand.value,
                bool(bits & neg),
                bool(bits & absolute),
                bool(bits & sext),
            )

        return modified

    def _vcc_reader(self, entry: Entry) -> OperandReader:
        vcc = _register("s", 106, 2)
        if entry.role != "=" or "sd" not in self._fields:
            return lambda bits, literal, address: vcc
        # An SDWA comparison may name another result.
        low = self._fields["sdst"][0]
        named = self._mask("sd")
        return lambda bits, literal, address: _register("s", bits >> low & 127, 2) if bits & named else vcc

    def _address_reader(self, kind: str, low: int, mask: int, width: int) -> OperandReader:
        off = _register("off", 0, 0)
        if kind == "o":
            return lambda bits, literal, address: (
                off if bits >> low & mask == 127 else _register("s", bits >> low & mask, width)
            )
        if kind == "g":
            scalar = self._fields["saddr"][0]
            return lambda bits, literal, address: _register(
                "v", bits >> low & mask, 2 if bits >> scalar & 127 == 127 else 1
            )
        if kind == "t":
            if targets.target(self.form.target).scratch_vector_bit:
                used = expected = self._mask("sve")
            else:
                used = expected = 127 << self._fields["saddr"][0]
            return lambda bits, literal, address: (
                _register("v", bits >> low & mask, 1) if bits & used == expected else off
            )
        offen, idxen = self._fields["offen"][0], self._fields["idxen"][0]

        def buffer(bits: int, literal: int, address: int) -> Operand:
            count = (bits >> offen & 1) + (bits >> idxen & 1)
            return _register("v", bits >> low & mask, count) if count else off

        return buffer

    def _smem_offset(self, bits: int, literal: int, address: int) -> Operand:
        if self._field("soffset_en", bits):
            return _register("s", self._field("soffset", bits), 1)
        if self._field("imm", bits):
            return Operand("simm", 0, 1, _signed(self._field("offset", bits), 21))
        return _register("s", self._field("offset", bits) & 127, 1)

    def _matrix_reader(self, entry: Entry) -> OperandReader:
        """Reader of an operand that may be an AGPR by one of the acc bits."""
        field, kind, width = entry.field, entry.kind, entry.width
        low, field_width = self._fields[field]
        mask = (1 << field_width) - 1
        flag = {"src0": "acc0", "src1": "acc1"}.get(field, "acc_cd")
        matrix = self.form.record.matrix
        if field == "src2" and matrix is not None and matrix.sparse:
            # The index of sparse matrices is always in a VGPR.
            flag = ""
        accumulator = self._mask(flag) if flag in self.modifiers else 0
        formats = None
        if field in ("src0", "src1") and self._is_small_float:
            formats = self._fields["cbsz" if field == "src0" else "blgp"]
        base = 256 if field_width == 9 else 0

        def read(bits: int, literal: int, address: int) -> Operand:
            count = width
            if formats is not None:
                count = _F8F6F4_DWORDS.get(bits >> formats[0] & 7, width)
            code = bits >> low & mask
            if code < base:
                return _source(code, count, None)
            return _register("a" if kind == "a" or bits & accumulator else "v", code - base, count)

        return read


class _Slot:
    """Readers of one format, found by the opcode's bits."""

    __slots__ = ("dpp", "mask", "readers", "sdwa", "shift")

    def __init__(self, name: str, table: Mapping[tuple[str, int], _Reader]) -> None:
        self.shift, width = ENCODINGS[name].opcode
        self.mask = (1 << width) - 1

        def column(format_: str) -> list[_Reader | None]:
            return [table.get((format_, number)) for number in range(1 << width)]

        self.readers = column(name)
        if name == "VOP3P":
            self.readers = [a or b for a, b in zip(self.readers, column("VOP3P_MAI"), strict=True)]
        self.dpp = column(f"{name}_DPP") if name in ("VOP1", "VOP2") else None
        self.sdwa = column(f"{name}_SDWA") if name in ("VOP1", "VOP2", "VOPC") else None

    def find(self, word: int) -> _Reader | None:
        number = word >> self.shift & self.mask
        if self.sdwa is not None:
            source = word & 0x1FF
            if source == SDWA_SOURCE:
                return self.sdwa[number]
            if source == DPP_SOURCE:
                return self.dpp[number] if self.dpp is not None else None
        return self.readers[number]


class _Table:
    """The readers of a target: by the nine leading bits of an instruction."""

    def __init__(self, target: str) -> None:
        readers = {key: _Reader(form) for key, form in forms(target).items()}
        slots = {
            name: _Slot(name, readers)
            for name in ENCODINGS
            if name != "VOP3P_MAI" and not name.endswith(("_DPP", "_SDWA"))
        }
        self._flat = [slots["FLAT"], slots["SCRATCH"], slots["GLOBAL"], None]
        self._slots: list[_Slot | None] = []
        for leading in range(512):
            name = _format_of(leading)
            self._slots.append(slots[name] if name else None)

    def find(self, word: int) -> _Reader | None:
        """The reader of an instruction by its first dword; None if there is none."""
        slot = self._slots[word >> 23]
        if word >> 26 == 0x37:
            slot = self._flat[word >> 14 & 3]
        return slot.find(word) if slot is not None else None


def _format_of(leading: int) -> str | None:
    """Format by the leading nine bits of the first dword (CDNA3 ISA guide, table of encodings)."""
    if leading < 0x100:
        return {0x3F: "VOP1", 0x3E: "VOPC"}.get(leading >> 2, "VOP2")
    if leading < 0x180:
        scalar = {0x17D: "SOP1", 0x17E: "SOPC", 0x17F: "SOPP"}.get(leading)
        return scalar or ("SOPK" if leading >> 5 == 0xB else "SOP2")
    if leading >> 3 == 0x34:
        return "VOP3P" if leading == 0x1A7 else "VOP3"
    return {0x30: "SMEM", 0x36: "DS", 0x37: "FLAT", 0x38: "MUBUF", 0x3A: "MTBUF"}.get(leading >> 3)


@cache
def _table(target: str) -> _Table:
    return _Table(target)


def _decode_at(words: tuple[int, ...], index: int, address: int, table: _Table, target: str) -> Instruction:
    """The instruction that begins at `words[index]`."""
    word = words[index]
    reader = table.find(word)
    if reader is None:
        dwords = " ".join(f"{w:08x}" for w in words[index : index + 2])
        raise CodeObjectError(
            f"no {target} instruction at address {address:#x}: the dwords there are {dwords}. The code is "
            "damaged, or this is data."
        )
    form, size = reader.form, reader.size
    length = size // 4
    literal = 0
    if size == 4 and reader.has_literal(word):
        length = 2
    if index + length > len(words):
        raise CodeObjectError(
            f"{form.mnemonic} at address {address:#x} is cut short: {4 * (len(words) - index)} of its "
            f"{4 * length} bytes are there."
        )
    if size == 4:
        bits = word
        if length == 2:
            literal = words[index + 1]
    else:
        bits = word | words[index + 1] << 32
    try:
        if reader.is_scale and index + 4 <= len(words):
            follower = table.find(words[index + 2])
            if follower is not None and follower.takes_scales(words[index + 2]):
                return _scaled(reader, follower, words[index : index + 4], address)
        dst, src, modifiers = reader.decode(bits, literal, address)
    except _ReservedSource as error:
        raise CodeObjectError(
            f"{form.mnemonic} at address {address:#x} has a source operand with the reserved code {error}."
        ) from None
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


@cache
def _scaled_form(scale: Form, form: Form) -> Form:
    return form.scaled(scale)


def _scaled(scale: _Reader, reader: _Reader, words: tuple[int, ...], address: int) -> Instruction:
    """An f8f6f4 MFMA with its scales: v_mfma_ld_scale_b32 and the MFMA are one instruction of 16 bytes."""
    _, scales, selects = scale.decode(words[0] | words[1] << 32, 0, address)
    dst, src, modifiers = reader.decode(words[2] | words[3] << 32, 0, address)
    form = _scaled_form(scale.form, reader.form)
    merged = {name: value for name, value in modifiers.items() if name != "abid"}
    merged["op_sel"] = selects.get("op_sel", 0) & 3
    merged["op_sel_hi"] = selects["op_sel_hi"] & 3
    return Instruction(
        address,
        16,
        form.mnemonic,
        form.opcode,
        form.base_format,
        dst,
        (*src, *scales),
        MappingProxyType(merged),
        words,
        form,
    )


def _decode_of(target: str) -> code_words.DecodeAt:
    table = _table(target)
    return lambda words, index, address: _decode_at(words, index, address, table, target)


def decode_one(code: bytes, offset: int, address: int, target: str, lanes: int | None = None) -> Instruction:
    """The instruction at byte `offset` of `code`, whose own address is `address`.

    Args:
        lanes: lanes of a wave, where the target has a choice: 32 (if None) or 64.

    Raises:
        CodeObjectError: the bytes are not an instruction of the target, or are cut short.
    """
    if decoder_gfx11.decodes(target):
        return decoder_gfx11.decode_one(code, offset, address, target, lanes or decoder_gfx11.WAVE)
    return code_words.one(code, offset, address, target, _decode_of(target))


def decode(code: bytes, address: int, target: str, lanes: int | None = None) -> list[Instruction]:
    """All instructions of `code` in order; the first is at `address`.

    Modifiers hold what Instruction.modifiers lists. In addition, a scalar memory offset is a source operand,
    or a modifier if there is a register too; the data register of an atomic is a source, and also a
    destination if the atomic returns. `lanes` as for `decode_one`.

    Raises:
        CodeObjectError: some bytes are not an instruction; the message has their address.
    """
    if decoder_gfx11.decodes(target):
        return decoder_gfx11.decode(code, address, target, lanes or decoder_gfx11.WAVE)
    return code_words.each(code, address, target, _decode_of(target))
