"""One row of an opcode table: which fields an opcode has in one encoding, in printed order and how wide.

The table in isa/ has LLVM's answers (isa/enumerate.py says to which questions).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType

from workbench.codeobject.encodings_gfx11 import ALIASES, GENERATIONS
from workbench.codeobject.instructions.families import record_of
from workbench.codeobject.instructions.record import Entry, Keeps, Record
from workbench.errors import CodeObjectError
from workbench.targets import NAMES, keeps_halves

DECODED: tuple[str, ...] = (*NAMES, *GENERATIONS, *ALIASES)
"""Targets whose machine code can be decoded: the emulated device runs `targets.NAMES` alone."""

_SCALES = "v_mfma_ld_scale_b32"
_DUAL = "v_dual_"
_FLOATS = ("f64", "f32", "bf16", "f16")
_HALF_LOAD = re.compile(r"_load_(?!.*_format_xy(zw)?$).*d16")
_SUFFIXES = ("_dpp", "_sdwa", "_e32", "_e64")


class Form:
    """An opcode in one encoding.

    Attributes:
        target: target whose table has the row.
        format: name of the encoding, as VOP1_DPP; `base_format` without _DPP or _SDWA.
        mnemonic: mnemonic in LLVM's form; `opcode` without the encoding's suffix.
        is_scalar, is_vector: True for encodings of the scalar or the vector ALU.
        is_skipped: True if MODE.vskip keeps it from issuing: VALU, vector memory and LDS (CDNA3 ISA guide,
            S_SETVSKIP).
        is_buffer: True for encodings of memory through a buffer's descriptor.
        is_dpp, is_sdwa: True for these variants of a vector encoding.
        is_plain: True if an assembler uses this encoding when the text has no suffix.
        gives_scales: True if it holds the scales of the matrix instruction after it and forms one instruction
            with it.
        single: for a half of a dual instruction, the opcode of the same operation alone; else its own.
        entries: the printed operands in order.
        modifiers: names of modifiers with their shapes ("" if there is none).
        meaning: opcode with the same meaning on gfx9, whose record and semantics it shares: for these targets
            its own; on later ones, "" if there is none.
    """

    def __init__(
        self,
        target: str,
        format_: str,
        mnemonic: str,
        entries: tuple[Entry, ...],
        modifiers: Mapping[str, str],
        meaning: str | None = None,
    ) -> None:
        self.target = target
        self.format = format_
        self.base_format, _, variant = format_.partition("_")
        if variant == "MAI":
            self.base_format = format_
        self.is_scalar = format_.startswith("SOP")
        self.is_vector = format_.startswith("VOP")
        self.is_skipped = not format_.startswith(("SOP", "SMEM"))
        self.is_buffer = format_ in ("MUBUF", "MTBUF", "VBUFFER")
        self.is_dpp = variant.startswith("DPP")
        self.is_sdwa = variant == "SDWA"
        self.is_plain = not (self.is_dpp or self.is_sdwa or mnemonic.endswith("_e64"))
        self.mnemonic = mnemonic
        self.opcode = mnemonic
        for suffix in _SUFFIXES:
            self.opcode = self.opcode.removesuffix(suffix)
        self.gives_scales = self.opcode == _SCALES
        self.single = self.opcode.replace(_DUAL, "v_", 1)
        self.entries = entries
        self.modifiers = modifiers
        self.meaning = self.opcode if meaning is None else meaning

    @classmethod
    def of_row(cls, target: str, row: Mapping[str, str]) -> Form:
        """From a row of the target's table."""
        modifiers = {}
        for text in row["modifiers"].split():
            name, _, shape = text.partition(":")
            modifiers[name] = shape
        entries = tuple(Entry(text) for text in row["operands"].split())
        return cls(target, row["format"], row["mnemonic"], entries, modifiers, row.get("meaning"))

    @cached_property
    def record(self) -> Record:
        """The opcode's record: operands, class, memory, implicit registers."""
        record = record_of(self.target, self.base_format, self.meaning or self.opcode, self.entries)
        loads_half = _HALF_LOAD.search(self.opcode) is not None and keeps_halves(self.target)
        if loads_half or any(entry.role == "=" and entry.kind == "h" for entry in self.entries):
            # A result that is half a register leaves the other half as it was.
            keeps = Keeps.PART if record.keeps is Keeps.NOTHING else record.keeps
            record = replace(record, keeps=keeps)
        return record if record.opcode == self.opcode else replace(record, opcode=self.opcode)

    @cached_property
    def source_type(self) -> str:
        """Type of float that the name ends with: "f16" for v_cvt_f32_f16; "f32" if it has none."""
        return next((part for part in reversed(self.opcode.split("_")) if part in _FLOATS), "f32")

    def scaled(self, scale: Form) -> Form:
        """This f8f6f4 matrix instruction with the scales of `scale` as further operands: one instruction."""
        mnemonic = self.mnemonic.replace("v_mfma_", "v_mfma_scale_")
        return Form(self.target, self.format, mnemonic, (*self.entries, *scale.entries), self.modifiers)

    def with_scales(self, scales: Form) -> Form:
        """This WMMA of gfx1250 with the scales of the encoding before it: one instruction."""
        kind = re.sub(r"v_wmma_ld_(scale\d*)_paired_b\d+", r"\1", scales.mnemonic)
        mnemonic = self.mnemonic.replace("v_wmma_", f"v_wmma_{kind}_")
        modifiers = MappingProxyType({**self.modifiers, **scales.modifiers})
        return Form(self.target, self.format, mnemonic, (*self.entries, *scales.entries), modifiers, "")


@cache
def forms(target: str) -> Mapping[tuple[str, int], Form]:
    """All instructions of a target by (format, opcode number).

    Raises:
        CodeObjectError: no table for that target.
    """
    if target not in DECODED:
        raise CodeObjectError(f"no opcode table for target {target!r}; there are {', '.join(DECODED)}.")
    table = "opcodes.csv" if target in NAMES else "opcodes_gfx11.csv"
    name = ALIASES.get(target, target)
    with files(f"{__package__}.isa").joinpath(table).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if name in row["targets"].split()]
    return MappingProxyType({(r["format"], int(r["opcode"])): Form.of_row(target, r) for r in rows})
