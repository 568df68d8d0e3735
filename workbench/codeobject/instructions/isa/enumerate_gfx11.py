"""Makes the opcode table of gfx11, gfx12 and gfx1250 by asking LLVM's disassembler, as enumerate.py does for
gfx9:

    python -m workbench.codeobject.instructions.isa.enumerate_gfx11 [--check] [targets...]

A row has: format, opcode number, mnemonic, operands in printed order, modifiers, meaning, targets that have
this row. The meaning is in meanings.py.

Operand: `[=|+]field:kind[width][/width][.type]`, as in enumerate.py. The second width is that in waves of
64 lanes, if it differs: a lane mask is s1/2. A field "vcc" is that fixed mask. Further kinds: h half of a
VGPR (bit 7 of an 8-bit field, or a bit of op_sel, says which), y a source of any kind whose VGPRs are halves,
n optional scalar registers (absent if all of this kind are null), and those of `_sopp` and `_immediate_kind`.
Further types: v2f16splat is v2f16 whose inline constants stand for both halves, v2b16 prints them as the bits
of a single, and f16whole prints all bits of a literal.

Modifier: `name`, `name:shape`, or `bit=name:value` for a bit that adds a value to a modifier of another name.
Forms with DPP have no rows: dpp16 and dpp8 say that an opcode has them, dpp_neg0 and the like which source
modifiers are in the dword that they add; scales, that it may have scales before it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from workbench.codeobject.encodings_gfx11 import (
    DPP8,
    DPP16,
    GENERATIONS,
    HALVES,
    NULL,
    SCALE,
    Layout,
    layouts,
)
from workbench.codeobject.instructions.isa.enumerate import Row, Table, Text, disassemble, split
from workbench.codeobject.instructions.isa.meanings import meaning_of

TABLE = Table(
    Path(__file__).with_name("opcodes_gfx11.csv"),
    ("format", "opcode", "mnemonic", "operands", "modifiers", "meaning"),
    by_name=True,
)

WAVE64 = "+wavefrontsize64"
"""LLVM's feature for code of 64 lanes; without it, LLVM assumes 32."""

TRUE16 = "+real-true16"
"""LLVM's feature to print halves of registers, as the hardware has them."""

Ask = Callable[[Sequence[bytes], bool], list[Text | None]]
"""Disassembles encodings of a target, in code for waves of 64 lanes if the second argument is True."""

_NAMED = {"vcc": (106, 2), "vcc_lo": (106, 1), "exec": (126, 2), "exec_lo": (126, 1), "null": (NULL, 1)}
_REGISTER = re.compile(r"-?\|?(ttmp|[sv])(?:(\d+)(\.[lh])?|\[(\d+):(\d+)\])\|?")


def _register(text: str) -> tuple[str, int, int, bool] | None:
    """Kind, first index, dwords of a printed register, and whether it is a half; None for anything else."""
    if text in _NAMED:
        return "s", *_NAMED[text], False
    match = _REGISTER.fullmatch(text)
    if match is None:
        return None
    kind = match[1]
    if match[2]:
        return kind, int(match[2]), 1, match[3] is not None
    return kind, int(match[4]), int(match[5]) - int(match[4]) + 1, False


# Fields that hold operands, and the value that a probe puts there.
_PROBES = {
    "sdst": 8,
    "ssrc0": 12,
    "ssrc1": 6,
    "sdata": 24,
    "sbase": 4,
    "soffset": 9,
    "vdst": 32,
    "src0": 256 + 40,
    "src1": 256 + 48,
    "src2": 256 + 64,
    "vsrc1": 80,
    "vsrc2": 84,
    "vaddr": 96,
    "vdata": 112,
    "vdata0": 64,
    "vdata1": 72,
    "srsrc": 8,
    "saddr": 10,
    "vaddr0": 16,
    "vaddr1": 24,
    "vaddr2": 32,
    "vaddr3": 40,
}
_GFX11_PROBES = {"srsrc": 3}
_FLAGS = {
    **dict.fromkeys(("abs0", "abs1", "abs2", "neg0", "neg1", "neg2", "clamp", "omod", "neg_lo", "neg_hi"), 1),
    **dict.fromkeys(("gds", "glc", "dlc", "slc", "tfe", "th", "scope", "wait_exp", "nv", "scale_offset"), 1),
    "op_sel_hi": 2,
    "offset0": 1,
    "format": 2,
}
_S = {"soffset": NULL}
_NEUTRAL: dict[str, list[dict[str, int]]] = {
    "VOP1": [{"src0": 256}, {"src0": 0}],
    "VOP2": [{"src0": 256}],
    "VOPC": [{"src0": 256}],
    "VOP3": [
        {"src0": 256, "src1": 256, "src2": 256},
        {"src0": 256, "src1": 0, "src2": 0},
        {"src0": 0, "src1": 0, "src2": 0},
        {"src0": 256, "src1": 256, "src2": 0},
    ],
    "VOP3P": [{"src0": 256, "src1": 256, "src2": 256, "op_sel_hi": 3, "op_sel_hi2": 1}],
    "TENSOR": [{"unused": NULL, "vaddr2": 48, "vaddr3": 56}],
    SCALE: [{"src0": 256, "src1": 256, "src2": 256, "op_sel_hi": 0, "op_sel_hi2": 0}],
    "VINTERP": [{"src0": 256, "src1": 256, "src2": 256}],
    "SOP1": [{}, {"ssrc0": 193}, {"ssrc0": 128}],
    "SMEM": [_S],
    "FLAT": [{"saddr": NULL}],
    "GLOBAL": [{"saddr": NULL}],
    "SCRATCH": [{"saddr": NULL, "sve": 1}],
    "VBUFFER": [{**_S, "offen": 1, "format": 1}],
    "MUBUF": [{**_S, "offen": 1}, _S],
    "MTBUF": [{**_S, "offen": 1, "format": 1}],
    # The other half is v_dual_mov_b32.
    "VOPDX": [{"src0": 256}],
    "VOPDY": [{"src0": 256}],
    "VOPD3X": [{"src0": 256}],
    "VOPD3Y": [{"src0": 256}],
}
# The opcode numbers from which on the leading bits belong to another format.
_LIMITS = {"SOP2": 96, "SOPK": 29, "VOP2": 62}
_LITERALS = (0x3E22F983, 0x3C00, 5, 0x3F800000, 0x3C003C00)
_DUAL_MOV = 8
# v_wmma_f32_16x16x128_f8f6f4, the instruction that is asked about with scales.
_SCALED, _SCALES = 51, 53
# VOP3 forms whose third source is a lane mask.
_MASKED = ("v_cndmask", "v_add_co_ci", "v_sub_co_ci", "v_subrev_co_ci")
# Numbers of the formats that LLVM names; the others follow as sums of these.
_VALUES = {
    "MATRIX_FMT_BF8": 1,
    "MATRIX_FMT_FP6": 2,
    "MATRIX_FMT_FP4": 4,
    "MATRIX_SCALE_ROW1": 1,
    "MATRIX_SCALE_FMT_E5M3": 1,
    "MATRIX_SCALE_FMT_E4M3": 2,
}
_FLOW = ("s_branch", "s_cbranch", "s_call", "s_subvector_loop")
_PLAIN = "0123456789"


def encode(layout: Layout, opcode: int, fields: Mapping[str, int], literal: int | None = None) -> bytes:
    """An instruction of a format with the given fields, the others zero."""
    value = layout.base | opcode << layout.opcode[0]
    for name, content in fields.items():
        low, width = layout.fields[name]
        value = value & ~(((1 << width) - 1) << low) | (content & (1 << width) - 1) << low
    data = value.to_bytes(layout.size, "little")
    return data if literal is None else data + literal.to_bytes(4, "little")


def dpp_dword(kind: str, **fields: int) -> bytes:
    """The dword of a DPP form with neutral lanes, or with other fields."""
    if kind == "DPP8":
        # Each lane of eight reads itself.
        return (fields.get("src0", 0) | 0xFAC688 << 8).to_bytes(4, "little")
    value = fields.get("src0", 0) | 0xE4 << 8 | 0xFF << 24
    for place, name in enumerate(("neg0", "abs0", "neg1", "abs1")):
        value |= fields.get(name, 0) << 20 + place
    value |= fields.get("fi", 0) << 18 | fields.get("bound_ctrl", 0) << 19
    return value.to_bytes(4, "little")


def _counters(mnemonic: str) -> list[str]:
    """The counters of an s_wait_*, with their lowest bits in the immediate (RDNA4 ISA guide, S_WAIT_*)."""
    names = re.fullmatch(r"s_wait_(\w+cnt)", mnemonic)
    if names is None:
        return []
    return [f"{name}:{8 * place}" for place, name in enumerate(reversed(names[1].split("_")))]


def _scales(text: str, size: int) -> Text | None:
    """What a scaled matrix instruction's text says of its scales; None for another instruction."""
    mnemonic, operands, modifiers = split(text)
    named = re.fullmatch(r"v_wmma_(scale(?:16)?)_f32_.*", mnemonic)
    if named is None:
        return None
    # Its name before an instruction that takes no scales.
    name = f"v_wmma_ld_{named[1]}_paired_{'b64' if named[1] == 'scale16' else 'b32'}"
    return " ".join([name, ", ".join(operands[4:]), *modifiers]), size - 8


class Format:
    """Everything that LLVM prints for one format on one target, and the rows that follow from it."""

    def __init__(self, target: str, name: str, ask: Ask) -> None:
        self.target = target
        self.name = name
        self._ask = ask
        self.layout = layouts(target)[name]
        self.neutral: dict[int, dict[str, int]] = {}
        self.base: dict[int, Text] = {}
        self.widths: dict[int, list[int]] = {}
        self.probed: dict[tuple[int, str], Text | None] = {}

    def _encode(self, opcode: int, fields: Mapping[str, int], literal: int | None = None) -> bytes:
        data = encode(self.layout, opcode, fields, literal)
        if self.name == SCALE:
            return data[:8] + encode(self.layout, _SCALED, {"src0": 256, "src1": 256, "src2": 256}) + data[8:]
        if not self.name.startswith("VOPD"):
            return data
        # The other half: v_dual_mov_b32 of v0, to a register of the other parity.
        other = next(n for pair in HALVES.items() if self.name in pair for n in pair if n != self.name)
        layout = layouts(self.target)[other]
        mov = encode(layout, _DUAL_MOV, {"src0": 256} if len(data) == 8 else {"src0": 256, "vdst": 1})
        value = int.from_bytes(data[: layout.size], "little") | int.from_bytes(mov, "little")
        return value.to_bytes(layout.size, "little") + data[layout.size :]

    def _asked(self, encodings: Sequence[bytes], wave64: bool = False) -> list[Text | None]:
        """Answers with the text of this half of a dual instruction only."""
        answers = []
        for answer in self._ask(encodings, wave64):
            if answer is not None and "/*" in answer[0]:
                answer = None
            if answer is not None and self.name.startswith("VOPD"):
                half = answer[0].split(" :: ")[self.name.endswith("Y")]
                answer = (half, answer[1])
            if answer is not None and self.name == SCALE:
                answer = _scales(*answer)
            answers.append(answer)
        return answers

    def run(self) -> list[Row]:
        """The rows of the format's table."""
        count = _LIMITS.get(self.name, 1 << self.layout.opcode[1])
        for neutral in _NEUTRAL.get(self.name, [{}]):
            answers = self._asked([self._encode(n, neutral) for n in range(count)])
            for opcode, text in enumerate(answers):
                if text and opcode not in self.base and self._belongs(text[0], neutral):
                    self.base[opcode], self.neutral[opcode] = text, neutral
        self._rebase()
        if self.layout.named_only:
            return [(self.name, str(o), split(t[0])[0], "", "", "") for o, t in sorted(self.base.items())]
        self._probe()
        self._find_widths()
        self._find_dpp()
        self._find_scaled()
        types = self._types()
        rows: list[Row] = []
        for opcode in sorted(self.base):
            mnemonic, printed, _ = split(self.base[opcode][0])
            operands = self._operands(opcode, mnemonic, printed, types)
            modifiers = self._modifiers(opcode, mnemonic)
            rows.append(
                (
                    self.name,
                    str(opcode),
                    mnemonic,
                    " ".join(operands),
                    " ".join(modifiers),
                    meaning_of(mnemonic),
                )
            )
        return rows

    def _rebase(self) -> None:
        """Takes op_sel_hi out of the neutral encoding of opcodes that use its bits for something else."""
        for opcode, (text, _) in self.base.items():
            if "matrix_b_fmt" in text:
                self.neutral[opcode] = {**self.neutral[opcode], "op_sel_hi": 0, "op_sel_hi2": 0}
            elif "matrix_b_reuse" in text:
                self.neutral[opcode] = {**self.neutral[opcode], "op_sel_hi2": 0}
        opcodes = [opcode for opcode, (text, _) in self.base.items() if "matrix_b_" in text]
        answers = self._asked([self._encode(o, self.neutral[o]) for o in opcodes])
        self.base.update((o, text) for o, text in zip(opcodes, answers, strict=True) if text is not None)

    def _belongs(self, text: str, neutral: Mapping[str, int]) -> bool:
        # LLVM prints a VGPR as a lane mask too, but only a scalar register is an instruction.
        return not (self.name == "VOP3" and text.startswith(_MASKED) and neutral.get("src2"))

    def _probe(self) -> None:
        value_of = _PROBES | (_GFX11_PROBES if "MUBUF" in layouts(self.target) else {})
        fields = [f for f in self.layout.fields if f in value_of or f in _FLAGS]
        jobs = [(o, f, {f: value_of.get(f, _FLAGS.get(f, 0))}) for o in self.base for f in fields]
        if "op_sel" in self.layout.fields:
            places = range(self.layout.fields["op_sel"][1])
            jobs += [(o, f"op_sel{bit}", {"op_sel": 1 << bit}) for o in self.base for bit in places]
        if self.name == SCALE:
            signs = [(sign, bit) for sign in ("neg_lo", "neg_hi") for bit in range(2)]
            jobs += [(o, f"{sign}{bit}", {sign: 1 << bit}) for o in self.base for sign, bit in signs]
        if self.name in ("VOP3P", SCALE):
            for name in ("op_sel_hi0", "op_sel_hi1", "op_sel_hi2"):
                field, bit = (name, 1) if name == "op_sel_hi2" else ("op_sel_hi", 1 << int(name[-1]))
                jobs += [
                    (o, name, {field: self.neutral[o].get(field, 0) | bit})
                    for o in self.base
                    if not self.neutral[o]["op_sel_hi2"]
                ]
            for name, value in (("none", 0), ("first", 1)):
                halves = {"op_sel_hi": value, "op_sel_hi2": 0}
                jobs += [(o, f"op_sel_hi {name}", halves) for o in self.base]
        if self.name == "SOPP":
            jobs += [(o, f"simm16 {value}", {"simm16": value}) for o in self.base for value in (0, 3)]
        if "offset" in self.layout.fields:
            jobs += [(o, "offset", {"offset": 4}) for o in self.base]
        if "th" in self.layout.fields and "vdst" in self.layout.fields:
            jobs += [(o, "returning", {"th": 1, "vdst": _PROBES["vdst"]}) for o in self.base]
        if "glc" in self.layout.fields and "vdst" in self.layout.fields:
            jobs += [(o, "returning", {"glc": 1, "vdst": _PROBES["vdst"]}) for o in self.base]
        self._ask_all(jobs)
        # A source that takes no VGPR is probed with a scalar register, one that takes neither with -1.
        for value in (12, 193):
            retry = [
                (o, f, {f: value})
                for (o, f), text in self.probed.items()
                if f in ("src0", "src1", "src2", "ssrc0")
                and (text is None or (value == 12 and f == "src2" and self._is_masked(o)))
            ]
            self._ask_all(retry)
        # Matrix instructions of 8-bit floats have signs for the third source alone.
        third = [
            (o, f, {f: 4})
            for (o, f), text in self.probed.items()
            if f in ("neg_lo", "neg_hi") and text is None
        ]
        self._ask_all(third)

    def _ask_all(self, jobs: Sequence[tuple[int, str, Mapping[str, int]]]) -> None:
        answers = self._asked([self._encode(o, {**self.neutral[o], **fields}) for o, _, fields in jobs])
        self.probed.update(zip(((o, f) for o, f, _ in jobs), answers, strict=True))

    def _is_masked(self, opcode: int) -> bool:
        return self.name == "VOP3" and self.base[opcode][0].startswith(_MASKED)

    def _find_widths(self) -> None:
        """Dwords of the operands in waves of 64 lanes."""
        opcodes = list(self.base)
        # Waves of 64 have no dual instructions.
        wave64 = not self.name.startswith("VOPD")
        answers = self._asked([self._encode(o, self.neutral[o]) for o in opcodes], wave64)
        for opcode, answer in zip(opcodes, answers, strict=True):
            printed = split((answer or self.base[opcode])[0])[1]
            self.widths[opcode] = [parsed[2] if (parsed := _register(word)) else 0 for word in printed]

    def _types(self) -> dict[tuple[int, str], str]:
        """How constants print in each source, from probes with 1.0, 1/(2*pi) and literals."""
        # Interpolation takes vector registers only.
        sources = [f for f in self.layout.fields if re.fullmatch(r"s?src\d", f) and self.name != "VINTERP"]
        jobs = [(o, f) for o in self.base for f in sources]

        def asked(value: int, literal: int | None = None) -> list[list[str]]:
            encodings = [self._encode(o, {**self.neutral[o], f: value}, literal) for o, f in jobs]
            return [split(text[0])[1] if text else [] for text in self._asked(encodings)]

        # The operand that the field changes, apart from a literal that the opcode always has.
        plain = [split(self.base[o][0])[1] for o, _ in jobs]
        unities = asked(242)
        places = [
            next((i for i, (old, new) in enumerate(zip(p, u, strict=False)) if old != new), len(p))
            for p, u in zip(plain, unities, strict=True)
        ]

        def printed(answers: list[list[str]]) -> list[str]:
            return [
                answer[place] if place < len(answer) and answer[place] != p[place] else ""
                for answer, place, p in zip(answers, places, plain, strict=True)
            ]

        literals = [printed(asked(255, literal)) for literal in _LITERALS]
        signatures = zip(printed(unities), printed(asked(248)), *literals, strict=True)
        types = {}
        for job, (unity, inverse, precise, half, five, whole, twice) in zip(jobs, signatures, strict=True):
            if unity == "":
                continue
            if unity == "0x3c00":
                kind = "i16"
            elif unity == "0x3f800000":
                kind = "v2b16"
            elif inverse == "0.15915494309189532":
                kind = "b64" if five.startswith("lit") else "f64"
            elif precise.startswith("0xf983"):
                kind = "f16"
            elif twice.startswith("lit"):
                kind = "f16whole" if half.startswith("lit") else "v2f16splat"
            elif precise == "0x3e22f983" and half.startswith("lit"):
                kind = "v2f16"
            elif precise == "0x3e22f983" and half == "0x3c00":
                kind = "bf16" if whole.startswith("lit") else "v2bf16"
            else:
                kind = "b32"
            types[job] = kind
        return types

    def _operands(
        self, opcode: int, mnemonic: str, printed: list[str], types: Mapping[tuple[int, str], str]
    ) -> list[str]:
        if self.name == "SOPP":
            return self._sopp(opcode, mnemonic)
        owner: dict[int, tuple[str, str]] = {}
        # A scalar address changes the width of the vector address too, so it comes after that.
        for field in sorted((*self.layout.fields, "offset"), key=lambda name: name == "saddr"):
            text = self.probed.get((opcode, field))
            if text is None or (field not in _PROBES and field != "offset"):
                continue
            after = split(text[0])[1]
            if len(after) != len(printed):
                continue
            for index, (old, new) in enumerate(zip(printed, after, strict=True)):
                if old == new or (field == "sdst" and self.name == "VOP3" and _register(new) is None):
                    continue
                if field == "sdst" and self.name == "VOP3" and not self._is_scalar_result(opcode):
                    continue
                if index in owner and owner[index][0] == "soffset" and field == "offset":
                    owner[index] = ("offset", new)
                elif index in owner and owner[index][0] == "offset" and field == "soffset":
                    continue
                else:
                    owner.setdefault(index, (field, new))
        operands = []
        for index, old in enumerate(printed):
            if index in owner:
                operands.append(self._operand(opcode, mnemonic, index, *owner[index], types))
            elif old in ("vcc", "vcc_lo"):
                operands.append(("=" if index < self._first_source(mnemonic) else "") + "vcc:s1/2")
            elif self.name == "SOPK":
                operands.append(self._sopk(mnemonic, index))
            elif self.name in ("SOP2", "VOP2", "VOPDX", "VOPDY") and self.base[opcode][1] > self.layout.size:
                width = (self.base[opcode][1] - self.layout.size) // 4
                operands.append(f"literal:x{width}" + (".f16" if mnemonic.endswith("f16") else ""))
            elif self.name in ("GLOBAL", "SCRATCH", "FLAT") and old == "off":
                operands.append("saddr:" + ("o1" if self.name == "SCRATCH" else "o2"))
            elif self.name == "SMEM":
                operands.append("offset:smem")
            else:
                raise RuntimeError(f"{self.target} {self.base[opcode][0]}: nothing sets operand {old!r}")
        based = self.probed.get((opcode, "saddr"))
        if self.name == "FLAT" and based is not None and len(split(based[0])[1]) > len(printed):
            # A scalar address is printed if there is one; the vector address is an offset to it then.
            operands = [re.sub(r"^vaddr:v2", "vaddr:g", operand) for operand in operands] + ["saddr:n2"]
        returning = self.probed.get((opcode, "returning"))
        if "atomic" in mnemonic and returning is not None:
            # With the return bit set, an additional operand comes first.
            after = split(returning[0])[1]
            destination = _register(after[0])
            if len(after) > len(printed) and destination and destination[1] == _PROBES["vdst"]:
                operands.insert(0, f"=vdst?:v{destination[2]}")
        return operands

    def _first_source(self, mnemonic: str) -> int:
        """Index of the first operand that is read, if one of the printed ones is a fixed VCC."""
        return 1 if self.name == "VOPC" else 2 if "_co_" in mnemonic else 1

    def _operand(
        self,
        opcode: int,
        mnemonic: str,
        index: int,
        field: str,
        new: str,
        types: Mapping[tuple[int, str], str],
    ) -> str:
        parsed = _register(new)
        role = self._role(mnemonic, field)
        if field == "offset":
            return "offset:" + ("smem" if self._has_soffset_operand(opcode, index) else "smem_offset")
        if parsed is None:
            return role + f"{field}:{self._immediate_kind(mnemonic, new)}"
        kind, _, width, is_half = parsed
        suffix = ""
        if (opcode, field) in types and field != "vdst":
            kind = "y" if is_half else "x"
            if types[opcode, field] != "b32":
                suffix = "." + types[opcode, field]
        elif is_half:
            kind = "h"
        if field == "vaddr":
            kind = {"GLOBAL": "g", "SCRATCH": "t", "MUBUF": "b", "MTBUF": "b", "VBUFFER": "b"}.get(
                self.name, kind
            )
            if kind in "gtb":
                return f"vaddr:{kind}"
        if field == "saddr" and not mnemonic.startswith("tensor"):
            kind = "o"
        if field in ("vaddr2", "vaddr3"):
            kind = "n"
        other = self.widths[opcode][index]
        wave64 = f"/{other}" if other and other != self._width(opcode, index) else ""
        if wave64 and kind == "x" and _register(split(self.base[opcode][0])[1][index])[0] == "s":  # type: ignore[index]
            return f"{role}{field}:s{width}{wave64}"
        return f"{role}{field}:{kind}{width}{wave64}{suffix}"

    def _width(self, opcode: int, index: int) -> int:
        """Dwords of a register of the neutral encoding; 0 for another operand."""
        parsed = _register(split(self.base[opcode][0])[1][index])
        return parsed[2] if parsed else 0

    def _has_soffset_operand(self, opcode: int, index: int) -> bool:
        text = self.probed.get((opcode, "soffset"))
        return text is not None and index < len(operands := split(text[0])[1]) and operands[index] == "s9"

    @staticmethod
    def _immediate_kind(mnemonic: str, new: str) -> str:
        if new.startswith("sendmsg"):
            return "sendmsg"
        if mnemonic.startswith(("s_prefetch", "s_buffer_prefetch", "s_atc_probe")):
            return "length"
        if mnemonic.startswith(("s_barrier", "s_get_barrier", "s_wakeup_barrier")):
            return "x1"
        raise RuntimeError(f"{mnemonic}: operand {new!r} is of no known kind")

    def _role(self, mnemonic: str, field: str) -> str:
        if mnemonic.startswith(("v_swap", "v_permlane16_swap", "v_permlane32_swap")):
            return "="
        if field in ("vdst", "sdst"):
            reads = mnemonic.startswith(("s_cmpk", "s_setreg", "s_cbranch", "s_waitcnt_"))
            # Loads to LDS read the LDS address there.
            return "" if reads or "_store_" in mnemonic or "_to_lds_" in mnemonic else "="
        if field in ("sdata", "vdata") and self.name in ("SMEM", "MUBUF", "MTBUF", "VBUFFER"):
            if "atomic" in mnemonic:
                return "+"
            return "=" if "load" in mnemonic else ""
        return ""

    def _sopk(self, mnemonic: str, index: int) -> str:
        if index and "setreg_imm32" in mnemonic:
            return "literal:x1"
        if mnemonic.startswith(_FLOW):
            return "simm16:label"
        if mnemonic == "s_getreg_b32":
            return "simm16:hwreg"
        if mnemonic.startswith("s_setreg"):
            return "=simm16:hwreg"
        return "simm16:" + ("version" if mnemonic == "s_version" else "simm")

    def _sopp(self, opcode: int, mnemonic: str) -> list[str]:
        answers = [self.probed[opcode, f"simm16 {value}"] for value in (0, 3)]
        printed = [split(text[0])[1] if text else None for text in answers]
        if mnemonic.startswith(_FLOW):
            return ["simm16:label"]
        kinds = {
            "s_waitcnt": "waitcnt",
            "s_delay_alu": "delay",
            "s_wait_alu": "depctr",
            "s_waitcnt_depctr": "depctr",
            "s_wait_event": "event",
            "s_sendmsg": "sendmsg",
            "s_sendmsghalt": "sendmsg",
        }
        if mnemonic in kinds:
            return [f"simm16:{kinds[mnemonic]}"]
        if printed[1] is None or printed[0] == printed[1]:
            return []
        plain = printed[1] == ["3"]
        return ["simm16:" + ("optional" if not printed[0] else "count" if plain else "simm")]

    def _is_scalar_result(self, opcode: int) -> bool:
        """True if a VOP3 form has a scalar destination in bits 14:8."""
        text = self.probed.get((opcode, "abs1"))
        if self.name != "VOP3" or text is None:
            return False
        return "s2" in split(text[0])[1]

    def _modifiers(self, opcode: int, mnemonic: str) -> list[str]:
        base = self.base[opcode][0]
        plain = split(base)[2]
        modifiers = _counters(mnemonic)
        is_table = "bitop" in mnemonic
        if is_table:
            # Of two sources, the table is where the third would be.
            modifiers.append("bitop3" if "bitop3" in mnemonic else "bitop3:vsrc2")
        if "op_sel" in self.layout.fields and not self._is_scalar_result(opcode):
            modifiers += self._op_sel(opcode)
        for field in self.layout.fields:
            text = self.probed.get((opcode, field))
            if field not in _FLAGS or text is None or text[0] == base:
                continue
            after = split(text[0])[2]
            added = [m for m in after if m not in plain]
            if field == "offset0":
                two = any(m.startswith("offset0") for m in after)
                modifiers.append("offset0 offset1" if two else "offset")
            elif field in ("neg_lo", "neg_hi") and self.name == SCALE:
                continue
            elif field in ("neg_lo", "neg_hi"):
                # Mixed-precision forms print these as the sources' neg and abs.
                modifiers.append(f"{field}:{added[0].count(',') + 1}" if added else f"{field}:source")
            elif is_table and re.match(r"(abs|neg)\d|omod", field):
                # These bits are the truth table.
                continue
            elif field == "op_sel_hi" or (re.match(r"abs\d", field) and self._is_scalar_result(opcode)):
                continue
            elif field == "th":
                # The values have other names for each kind of access.
                name = re.search(r"th:TH_(LOAD|STORE|ATOMIC)", text[0])
                modifiers.append(f"th:{name[1].lower()}" if name else "th")
            else:
                modifiers.append(field)
        text = self.probed.get((opcode, "offset"))
        if text is not None and any(m.startswith("offset") for m in split(text[0])[2]):
            modifiers.append("offset")
        modifiers += ["scales"] if opcode in self.scaled else []
        return modifiers + self.dpp[opcode]

    def _op_sel(self, opcode: int) -> list[str]:
        order: dict[int, int] = {}
        other = []
        plain = split(self.base[opcode][0])[2]
        for bit in range(self.layout.fields["op_sel"][1]):
            text = self.probed[opcode, f"op_sel{bit}"]
            if text is None:
                continue
            for modifier in split(text[0])[2]:
                if modifier in plain:
                    continue
                name, _, value = modifier.partition(":")
                if name == "op_sel":
                    places = value[1:-1].split(",")
                    order[places.index("1")] = bit
                    order.setdefault(len(places) - 1, -1)
                else:
                    other.append(f"op_sel{bit}={name}:{_VALUES.get(value, value or 1)}")
        if order:
            shape = (order.get(i, -1) for i in range(max(order) + 1))
            other.insert(0, "op_sel:" + "".join("-" if bit < 0 else str(bit) for bit in shape))
        if self.name in ("VOP3P", SCALE) and not self.neutral[opcode]["op_sel_hi2"]:
            for place in (
                "op_sel_hi0",
                "op_sel_hi1",
                "op_sel_hi2",
                "neg_lo0",
                "neg_lo1",
                "neg_hi0",
                "neg_hi1",
            ):
                text = self.probed.get((opcode, place))
                for modifier in split(text[0])[2] if text else []:
                    name, _, value = modifier.partition(":")
                    if modifier not in plain:
                        other.append(f"{place}={name}:{_VALUES.get(value, value or 1)}")
        elif self.name == "VOP3P":
            # Packed forms print op_sel_hi unless all its bits are set, mixed-precision forms unless none is.
            for name, suffix in (("op_sel_hi none", ""), ("op_sel_hi first", "mixed")):
                text = self.probed[opcode, name]
                texts = [m for m in split(text[0])[2] if m.startswith("op_sel_hi:")] if text else []
                if texts:
                    other.append(f"op_sel_hi:{texts[0].count(',') + 1}{suffix}")
                    break
        return other

    def _find_scaled(self) -> None:
        """Opcodes that form one instruction with the scales before them."""
        self.scaled: set[int] = set()
        if self.name != "VOP3P" or SCALE not in layouts(self.target):
            return
        scales = encode(self.layout, _SCALES, {"src0": 256, "src1": 256, "src2": 256})
        opcodes = list(self.base)
        answers = self._asked([scales + self._encode(o, self.neutral[o]) for o in opcodes])
        self.scaled = {
            o for o, a in zip(opcodes, answers, strict=True) if a and a[1] == 16 and "_scale_" in a[0]
        }

    def _find_dpp(self) -> None:
        """Which opcodes have forms with DPP, and the source modifiers in the dword that these add."""
        self.dpp: dict[int, list[str]] = {opcode: [] for opcode in self.base}
        if self.name not in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"):
            return
        codes = {"DPP16": DPP16, "DPP8": DPP8}
        flags = ("neg0", "abs0", "neg1", "abs1")
        probes = [("DPP16", ""), ("DPP8", ""), *(("DPP16", flag) for flag in flags)]
        jobs = [(opcode, kind, flag) for opcode in self.base for kind, flag in probes]
        answers = self._asked(
            [
                self._encode(o, {**self.neutral[o], "src0": codes[kind]})
                + dpp_dword(kind, **({flag: 1} if flag else {}))
                for o, kind, flag in jobs
            ]
        )
        plain: dict[tuple[int, str], Text] = {}
        for (opcode, kind, flag), answer in zip(jobs, answers, strict=True):
            if answer is None or answer[1] != self.layout.size + 4:
                continue
            if not flag and ("quad_perm" if kind == "DPP16" else "dpp8") in answer[0]:
                plain[opcode, kind] = answer
                self.dpp[opcode].append(kind.lower())
            elif flag and answer != plain.get((opcode, kind), answer):
                self.dpp[opcode].append(f"dpp_{flag}")


def rows(target: str, ask: Ask | None = None) -> list[Row]:
    """The instructions of a target, from llvm-mc's answers or from the ones passed in.

    Raises:
        RuntimeError: see `disassemble`.
    """
    ask = ask or partial(live, target)
    return [row for name in layouts(target) for row in Format(target, name, ask).run()]


def live(target: str, encodings: Sequence[bytes], wave64: bool = False) -> list[Text | None]:
    """Disassembles with the installed LLVM."""
    answers = disassemble(target, encodings, None, f"{TRUE16},{WAVE64}" if wave64 else TRUE16)
    # An instruction without operands has two spaces before its modifiers.
    return [(" ".join(answer[0].split()), answer[1]) if answer else None for answer in answers]


def main(arguments: Iterable[str] | None = None) -> int:
    """Writes the table, or with --check says whether LLVM would still give the same."""
    parser = argparse.ArgumentParser(description="Make the opcode table from LLVM's disassembler.")
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    parser.add_argument("targets", nargs="*", default=list(GENERATIONS))
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    by_target = {name: rows(name) if name in options.targets else TABLE.of(name) for name in GENERATIONS}
    print(", ".join(f"{name}: {len(by_target[name])} rows" for name in options.targets))
    formats = (name for target in by_target for name in layouts(target))
    text = TABLE.text(by_target, formats)
    if options.check:
        if TABLE.path.read_text(encoding="utf-8") != text:
            print("the table differs from what LLVM prints: run without --check", file=sys.stderr)
            return 1
    else:
        TABLE.path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
