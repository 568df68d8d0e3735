"""Makes the opcode table by asking LLVM's disassembler about every opcode number of every format.

For each opcode, it disassembles a neutral encoding, then one more for each field with only that field
changed. The place where the printed text changes says which operand the field is, how wide it is, and which
modifiers the opcode has; if LLVM rejects an encoding, the field does not exist. So the table consists of
observations, is complete by construction, and can be made again for a new LLVM or target:

    python -m workbench.codeobject.instructions.isa.enumerate [--check] [targets...]

It needs llvm-mc (name or path in LLVM_MC, or llvm-mc-22 or llvm-mc on PATH). The decoder reads only the
table.

A row has: format, opcode number, mnemonic, operands in printed order, modifiers, targets that have this row.
Operand: `[=|+]field:kind[width][.type]`; "=" is written, "+" is read and, if the atomic returns, written;
"?" after the field: printed and written only if the atomic returns. Kinds: v VGPR, a AGPR, s scalar
register, x source of any kind, and those that `_operand_kind` names. Widths are dwords. Types say how
constants print: b32 if there is none. A field "vcc" is that fixed register pair. Modifier: `name` or
`name:shape`; for op_sel the shape lists the field's bits in printed order.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workbench import targets
from workbench.codeobject.encodings import ENCODINGS

# Each encoding is followed by three distinct s_nop, which show where the instruction ended, and a fourth that
# separates the outputs of two encodings.
PADS = b"".join((0xBF80AA01 + i).to_bytes(4, "little") for i in range(3))
_MARK = (0xBF801234).to_bytes(4, "little")

Row = tuple[str, ...]
"""An instruction in the order of `_COLUMNS`."""
Text = tuple[str, int]
Ask = Callable[[Sequence[bytes]], list[Text | None]]
"""`disassemble` for one target."""


def find_llvm_mc() -> str | None:
    """Path of llvm-mc; None if there is none."""
    for name in (os.environ.get("LLVM_MC"), "llvm-mc-22", "llvm-mc"):
        if name and (path := shutil.which(name)):
            return path
    return None


def disassemble(
    target: str, encodings: Sequence[bytes], llvm_mc: str | None = None, features: str = ""
) -> list[Text | None]:
    """The text and size in bytes of the instruction at the start of each encoding; None if there is none.

    `features` are those of LLVM's -mattr.

    Raises:
        RuntimeError: no llvm-mc, or its output cannot be matched to the input.
    """
    tool = llvm_mc or find_llvm_mc()
    if tool is None:
        raise RuntimeError("llvm-mc is needed: apt-get install llvm-22, or set LLVM_MC.")
    if not encodings:
        return []

    def line(data: bytes) -> str:
        return " ".join(f"0x{byte:02x}" for byte in data)

    source = "".join(f"{line(e + PADS)}\n{line(_MARK)}\n" for e in encodings)
    command = [tool, "--disassemble", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", f"-mattr={features}"]
    # A compiler that prints its own backtrace takes seconds; only the crash itself matters.
    quiet = os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1", "LLVM_DISABLE_CRASH_REPORT": "1"}
    run = subprocess.run(command, input=source, capture_output=True, text=True, check=False, env=quiet)
    if run.returncode < 0 and encodings:
        # Some impossible encodings crash llvm-mc: find them, since they are no instructions.
        if len(encodings) == 1:
            return [None]
        half = len(encodings) // 2
        halves = (encodings[:half], encodings[half:])
        return [text for part in halves for text in disassemble(target, part, tool, features)]
    invalid = {(int(m[1]) - 1) // 2 for m in re.finditer(r"<stdin>:(\d+):\d+: warning: invalid", run.stderr)}
    groups: list[list[str]] = [[]]
    for printed in run.stdout.splitlines():
        if not printed.startswith("\t"):
            continue
        text = printed.strip().replace("\t", " ")
        if text == "s_nop 0x1234":
            groups.append([])
        else:
            groups[-1].append(text)
    if len(groups) != len(encodings) + 1:
        raise RuntimeError(f"{tool} did not take all input: {run.stderr[-500:]}")
    results: list[Text | None] = []
    for index, (encoding, group) in enumerate(zip(encodings, groups, strict=False)):
        if index in invalid or len(group) < 2 or not group[1].startswith("s_nop 0xaa"):
            results.append(None)
        else:
            results.append((group[0], len(encoding) + 4 * (int(group[1][-1]) - 1)))
    return results


def encode(format_: str, opcode: int, fields: Mapping[str, int], literal: int | None = None) -> bytes:
    """An instruction of a format with the given fields, the others zero."""
    encoding = ENCODINGS[format_]
    value = encoding.base | opcode << encoding.opcode[0]
    for name, content in fields.items():
        low, width = encoding.fields[name]
        value = value & ~(((1 << width) - 1) << low) | (content & (1 << width) - 1) << low
    data = value.to_bytes(encoding.size, "little")
    return data if literal is None else data + literal.to_bytes(4, "little")


def split(text: str) -> tuple[str, list[str], list[str]]:
    """Mnemonic, operands and modifiers of a printed instruction."""
    mnemonic, _, rest = text.partition(" ")
    rest = re.sub(r"/\*.*?\*/", "", rest)
    depth = 0
    operands = [""]
    for character in rest:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            operands.append("")
        else:
            operands[-1] += character
    operands = [operand.strip() for operand in operands]
    head, *modifiers = re.split(r"\s+(?![^\[(]*[\])])", operands[-1])
    operands[-1] = head
    if head in ("gds", "sc0", "sc1", "nt", "glc", "slc", "scc"):
        return mnemonic, [], [head, *modifiers]
    return mnemonic, [operand for operand in operands if operand], modifiers


def register(text: str) -> tuple[str, int, int] | None:
    """Kind, first index and dwords of a printed register; None for anything else."""
    named = {"vcc": 106, "flat_scratch": 102, "xnack_mask": 104, "exec": 126}
    if text in named:
        return "s", named[text], 2
    match = re.fullmatch(r"-?\|?([sva])(?:(\d+)|\[(\d+):(\d+)\])\|?", text)
    if match is None:
        return None
    if match[2]:
        return match[1], int(match[2]), 1
    return match[1], int(match[3]), int(match[4]) - int(match[3]) + 1


# Fields that hold operands, and the value that a probe puts there; sources of nine bits count VGPRs
# from 256.
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
    "vaddr": 96,
    "vdata": 112,
    "vdata0": 128,
    "vdata1": 144,
    "srsrc": 3,
    "saddr": 10,
}
# Single bits and small fields that change modifiers; the value that a probe puts there.
_FLAGS = {
    "abs0": 1,
    "abs1": 1,
    "abs2": 1,
    "neg0": 1,
    "neg1": 1,
    "neg2": 1,
    "sext0": 1,
    "sext1": 1,
    "clamp": 1,
    "omod": 1,
    "neg_lo": 1,
    "neg_hi": 1,
    "op_sel_hi": 2,
    "cbsz": 1,
    "abid": 1,
    "blgp": 1,
    "acc": 1,
    "acc0": 1,
    "acc1": 1,
    "acc_cd": 1,
    "gds": 1,
    "glc": 1,
    "nv": 1,
    "lds": 1,
    "bit14": 1,
    "bit15": 1,
    "bit16": 1,
    "bit17": 1,
    "bit25": 1,
    "bit53": 1,
    "bit54": 1,
    "fi": 1,
    "bound_ctrl": 1,
    "dst_sel": 0,
    "dst_unused": 1,
    "src0_sel": 0,
    "src1_sel": 0,
    "s0": 1,
    "s1": 1,
    "sd": 1,
    "offset0": 1,
}
_NEUTRAL: dict[str, list[dict[str, int]]] = {
    "VOP1": [{"src0": 256}, {"src0": 0}],
    "VOP2": [{"src0": 256}],
    "VOPC": [{"src0": 256}],
    # 64-bit operations support no DPP other than row_newbcast.
    "VOP1_DPP": [{"dpp_ctrl": c, "row_mask": 15, "bank_mask": 15} for c in (0xE4, 0x150)],
    "VOP2_DPP": [{"dpp_ctrl": c, "row_mask": 15, "bank_mask": 15} for c in (0xE4, 0x150)],
    "VOP1_SDWA": [{"src0_sel": 6, "dst_sel": 6}, {"src0_sel": 6, "src1_sel": 6, "dst_sel": 6}],
    "VOP2_SDWA": [{"src0_sel": 6, "src1_sel": 6, "dst_sel": 6}],
    "VOPC_SDWA": [{"src0_sel": 6, "src1_sel": 6}],
    "VOP3": [
        {"src0": 256, "src1": 256, "src2": 256},
        {"src0": 256, "src1": 0, "src2": 0},
        {"src0": 0, "src1": 0, "src2": 0},
        {"src0": 256, "src1": 256, "src2": 0},
    ],
    "VOP3P": [{"src0": 256, "src1": 256, "src2": 256, "op_sel_hi": 3, "op_sel_hi2": 1}],
    "VOP3P_MAI": [{"src0": 256, "src1": 256, "src2": 256}],
    "SMEM": [{"imm": 1}, {}],
    "DS": [{}, {"gds": 1}],
    "GLOBAL": [{"saddr": 127}],
    "SCRATCH": [{"saddr": 127, "sve": 1}, {"saddr": 127}],
    "MUBUF": [{"offen": 1}, {}],
    "MTBUF": [{"offen": 1, "dfmt": 1}],
}
# Opcode numbers that belong to another format which shares the leading bits.
_LIMITS = {"SOP2": 96, "SOPK": 29, "VOP2": 62, "VOP2_DPP": 62, "VOP2_SDWA": 62, "VOP3": 896}

_LITERALS = (0x3E22F983, 0x3C00, 5, 0x3F800000)
_MATRIX = ("v_mfma_f", "v_mfma_i", "v_smfmac", "v_accvgpr")
# VOP3 forms whose third source is a lane mask.
_MASKED = ("v_cndmask", "v_addc_co", "v_subb_co", "v_subbrev_co")
# Encodings that probe more of an opcode than single fields do: name, and the bits added to the neutral one.
_VARIANTS: dict[str, dict[str, dict[str, int]]] = {
    "VOP3": {f"op_sel{bit}": {"op_sel": 1 << bit} for bit in range(4)},
    "VOP3P": {
        **{f"op_sel{bit}": {"op_sel": 1 << bit} for bit in range(3)},
        "op_sel_hi none": {"op_sel_hi": 0, "op_sel_hi2": 0},
        "op_sel_hi first": {"op_sel_hi": 1, "op_sel_hi2": 0},
    },
    **{
        name: {"returning": {"bit16": 1, "vdst": _PROBES["vdst"]}, "offset": {"offset": 4}}
        for name in ("FLAT", "GLOBAL", "SCRATCH")
    },
    "MUBUF": {"offset": {"offset": 4}},
    "MTBUF": {"offset": {"offset": 4}},
}


def _valid(text: Text | None) -> Text | None:
    return None if text is None or "/*" in text[0] else text


class Format:
    """Everything that LLVM prints for one format on one target, and the rows that follow from it."""

    def __init__(self, target: str, name: str, ask: Ask) -> None:
        self.target = target
        self.name = name
        self._ask = ask
        self.encoding = ENCODINGS[name]
        self.neutral: dict[int, dict[str, int]] = {}
        self.base: dict[int, Text] = {}
        self.probed: dict[tuple[int, str], Text | None] = {}

    def run(self) -> list[list[str]]:
        """The rows of the format's table."""
        count = _LIMITS.get(self.name, 1 << self.encoding.opcode[1])
        for neutral in _NEUTRAL.get(self.name, [{}]):
            if "sve" in neutral and not targets.target(self.target).scratch_vector_bit:
                continue
            for opcode, text in enumerate(self._ask([encode(self.name, n, neutral) for n in range(count)])):
                if (
                    text
                    and opcode not in self.base
                    and self._belongs(text[0], neutral)
                    and "/*" not in text[0]
                ):
                    self.base[opcode], self.neutral[opcode] = text, neutral
        jobs = [(o, f) for o in self.base for f in self.encoding.fields if f in _PROBES or f in _FLAGS]
        answers = self._ask(
            [encode(self.name, o, {**self.neutral[o], f: _PROBES.get(f, _FLAGS.get(f, 0))}) for o, f in jobs]
        )
        self.probed = dict(zip(jobs, map(_valid, answers), strict=True))
        # A nine-bit source that takes no VGPR (lane selects) is probed with a scalar register.
        retry = [
            (o, f)
            for (o, f), text in self.probed.items()
            if (text is None and f in ("src0", "src1", "src2")) or (f == "src2" and self._is_masked(o))
        ]
        answers = self._ask([encode(self.name, o, {**self.neutral[o], f: 12}) for o, f in retry])
        self.probed.update(zip(retry, map(_valid, answers), strict=True))
        variants = _VARIANTS.get(self.name, {})
        jobs = [(o, v) for o in self.base for v in variants]
        answers = self._ask([encode(self.name, o, {**self.neutral[o], **variants[v]}) for o, v in jobs])
        self.probed.update(zip(jobs, map(_valid, answers), strict=True))
        types = self._types()
        rows = []
        for opcode in sorted(self.base):
            mnemonic, printed, _ = split(self.base[opcode][0])
            operands = self._operands(opcode, mnemonic, printed, types)
            modifiers = self._modifiers(opcode, mnemonic)
            rows.append([self.name, str(opcode), mnemonic, " ".join(operands), " ".join(modifiers)])
        return rows

    def _belongs(self, text: str, neutral: Mapping[str, int]) -> bool:
        if self.name == "VOP3" and text.startswith(_MASKED) and neutral.get("src2"):
            # LLVM prints a VGPR there too, but only a scalar register pair is an instruction.
            return False
        matrix = text.startswith(_MATRIX)
        if self.name == "VOP3P_MAI":
            return matrix
        if self.name == "VOP3P":
            return not matrix
        suffix = {"VOP1_DPP": "_dpp", "VOP2_DPP": "_dpp"}.get(self.name)
        if suffix is None and self.name.endswith("_SDWA"):
            suffix = "_sdwa"
        return suffix is None or split(text)[0].endswith(suffix)

    def _is_masked(self, opcode: int) -> bool:
        return self.name == "VOP3" and self.base[opcode][0].startswith(_MASKED)

    def _types(self) -> dict[tuple[int, str], str]:
        """Texts of constants in each source, from probes with 1.0, 1/(2*pi) and, where allowed, literals."""
        sources = [f for f in self.encoding.fields if re.fullmatch(r"s?src\d", f)]
        if self.name.endswith("_DPP"):
            return {}
        # SDWA sources are scalars or constants if their own bit says so.
        scalar = {"src0": {"s0": 1}, "vsrc1": {"s1": 1}} if self.name.endswith("_SDWA") else {}
        if scalar:
            sources = [field for field in scalar if field in self.encoding.fields]
        jobs = [(o, f) for o in self.base for f in sources]

        def printed(value: int, literal: int | None = None) -> list[str]:
            answers = self._ask(
                [
                    encode(self.name, o, {**self.neutral[o], **scalar.get(f, {}), f: value}, literal)
                    for o, f in jobs
                ]
            )
            return [self._changed(o, text) for (o, _), text in zip(jobs, answers, strict=True)]

        if self.encoding.size == 4:
            literals = [printed(255, literal) for literal in _LITERALS]
        else:
            literals = [[""] * len(jobs) for _ in _LITERALS]
        signatures = zip(printed(242), printed(248), *literals, strict=True)
        types = {}
        for job, (unity, inverse, precise, half, five, whole) in zip(jobs, signatures, strict=True):
            if unity in ("", "invalid"):
                continue
            if unity == "0x3c00":
                kind = "i16"
            elif inverse == "0.15915494309189532":
                kind = "b64" if five.startswith("lit") else "f64"
            elif precise.startswith("0xf983"):
                kind = "f16"
            elif precise == "0x3e22f983" and half.startswith("lit"):
                kind = "v2f16"
            elif precise == "0x3e22f983" and half == "0x3c00":
                kind = "bf16" if whole.startswith("lit") else "v2bf16"
            else:
                kind = "b32"
            types[job] = kind
        return types

    def _changed(self, opcode: int, text: Text | None) -> str:
        if text is None:
            return ""
        if "/*Invalid" in text[0]:
            return "invalid"
        _, before, _ = split(self.base[opcode][0])
        _, after, _ = split(text[0])
        for old, new in zip(before, after, strict=False):
            if old != new:
                return new
        return ""

    def _operands(
        self, opcode: int, mnemonic: str, printed: list[str], types: Mapping[tuple[int, str], str]
    ) -> list[str]:
        if self.name == "SOPP":
            return self._sopp(mnemonic)
        owner: dict[int, tuple[str, str]] = {}
        extra: list[str] = []
        for field in self.encoding.fields:
            if field not in _PROBES:
                continue
            text = self.probed.get((opcode, field))
            if text is None:
                continue
            _, after, _ = split(text[0])
            if len(after) != len(printed):
                continue
            for index, (old, new) in enumerate(zip(printed, after, strict=True)):
                if old != new:
                    owner.setdefault(index, (field, new))
        operands = []
        for index, old in enumerate(printed):
            if index in owner:
                field, new = owner[index]
                operands.append(self._operand(opcode, mnemonic, field, new, types))
            elif old == "vcc":
                written = index < self._first_source(mnemonic, printed)
                operands.append(("=" if written else "") + "vcc:s2")
            elif self.name == "SOPK":
                operands.append(
                    "literal:x1" if index and "setreg_imm32" in mnemonic else self._sopk(mnemonic)
                )
            elif self.name in ("VOP2",) and self.base[opcode][1] == 8:
                operands.append("literal:x1" + (".f16" if mnemonic.endswith("f16") else ""))
            elif self.name in ("GLOBAL", "SCRATCH") and old == "off":
                operands.append("saddr:" + ("o2" if self.name == "GLOBAL" else "o1"))
            elif self.name == "SMEM":
                operands.append("offset:smem")
            else:
                raise RuntimeError(f"{self.target} {self.base[opcode][0]}: nothing sets operand {old!r}")
        if self.name in ("FLAT", "GLOBAL", "SCRATCH") and "atomic" in mnemonic:
            # With the return bit set, an additional operand comes first.
            answer = self.probed[opcode, "returning"]
            if answer is not None:
                destination = register(split(answer[0])[1][0])
                if destination and destination[1] == _PROBES["vdst"]:
                    extra.append(f"=vdst?:v{destination[2]}")
        return extra + operands

    def _first_source(self, mnemonic: str, printed: list[str]) -> int:
        """Index of the first operand that is read, if one of the printed ones is a fixed vcc."""
        if self.name in ("VOPC", "VOPC_SDWA"):
            return 1
        return 2 if "_co_" in mnemonic else 1

    def _operand(
        self, opcode: int, mnemonic: str, field: str, new: str, types: Mapping[tuple[int, str], str]
    ) -> str:
        parsed = register(new)
        kind, width = (parsed[0], parsed[2]) if parsed else ("?", 1)
        if parsed is None:
            kind = self._operand_kind(mnemonic, field, new)
            return self._role(mnemonic, field) + f"{field}:{kind}"
        suffix = ""
        if (opcode, field) in types:
            kind = kind if self.name.endswith("_SDWA") else "x"
            if types[opcode, field] != "b32":
                suffix = "." + types[opcode, field]
        if field == "vaddr":
            kind = {"GLOBAL": "g", "SCRATCH": "t", "MUBUF": "b", "MTBUF": "b"}.get(self.name, kind)
            if kind in "gtb":
                return f"vaddr:{kind}"
        if field == "saddr":
            kind = "o"
        if self.name in ("MUBUF", "MTBUF") and field == "soffset":
            kind = "x"
        return self._role(mnemonic, field) + f"{field}:{kind}{width}{suffix}"

    @staticmethod
    def _operand_kind(mnemonic: str, field: str, new: str) -> str:
        if new.startswith("gpr_idx"):
            return "gpr_idx"
        if mnemonic.startswith("s_atc_probe"):
            return "imm"
        raise RuntimeError(f"{mnemonic}: operand {new!r} of field {field} is of no known kind")

    def _role(self, mnemonic: str, field: str) -> str:
        if mnemonic.startswith(("v_swap", "v_permlane16_swap", "v_permlane32_swap")):
            return "="
        if field == "vdst":
            return "="
        if field == "sdst":
            reads = mnemonic.startswith(("s_cmpk", "s_setreg", "s_cbranch"))
            return "" if reads else "="
        if field in ("sdata", "vdata") and self.name in ("SMEM", "MUBUF", "MTBUF"):
            if "atomic" in mnemonic:
                return "+"
            return "=" if "load" in mnemonic or "memtime" in mnemonic or "memrealtime" in mnemonic else ""
        return ""

    def _sopk(self, mnemonic: str) -> str:
        if mnemonic in ("s_cbranch_i_fork", "s_call_b64"):
            return "simm16:label"
        if mnemonic == "s_getreg_b32":
            return "simm16:hwreg"
        if mnemonic.startswith("s_setreg"):
            return "=simm16:hwreg"
        return "simm16:simm"

    def _sopp(self, mnemonic: str) -> list[str]:
        opcode = next(o for o, text in self.base.items() if split(text[0])[0] == mnemonic)
        values = (0, 3)
        texts = self._ask([encode("SOPP", opcode, {"simm16": value}) for value in values])
        printed = [split(text[0])[1] if text else None for text in texts]
        if mnemonic.startswith(("s_branch", "s_cbranch")):
            return ["simm16:label"]
        for name in ("waitcnt", "sendmsg", "set_gpr_idx_mode"):
            if mnemonic.startswith(f"s_{name}"):
                return [f"simm16:{name}"]
        if printed[1] is None or printed[0] == printed[1]:
            return []
        return ["simm16:optional" if not printed[0] else "simm16:simm"]

    def _modifiers(self, opcode: int, mnemonic: str) -> list[str]:
        base = self.base[opcode][0]
        modifiers = []
        if "op_sel" in self.encoding.fields:
            modifiers += self._op_sel(opcode)
        for field in self.encoding.fields:
            text = self.probed.get((opcode, field))
            if field not in _FLAGS or text is None or text[0] == base:
                continue
            after = split(text[0])[2]
            if field == "offset0":
                modifiers.append(
                    "offset0 offset1" if any(m.startswith("offset0") for m in after) else "offset"
                )
                continue
            if "bitop3:" in text[0]:
                if "bitop3" not in modifiers:
                    modifiers.append("bitop3")
                continue
            added = [m for m in after if m not in split(base)[2]]
            if field.startswith("bit") and len(added) == 1:
                modifiers.append(f"{field}:{added[0]}")
            elif field == "blgp" and added and added[0].startswith("neg"):
                modifiers.append("blgp:neg")
            elif field in ("neg_lo", "neg_hi") and not added:
                # Mixed-precision forms print these as the sources' neg and abs.
                modifiers.append(f"{field}:source")
            elif field in ("sdst", "op_sel_hi"):
                continue
            elif re.match(r"abs[12]|neg[12]", field) and self._is_scalar_result(opcode):
                # In a form with a scalar result the abs bits are part of its field.
                if field.startswith("neg"):
                    modifiers.append(field)
            else:
                modifiers.append(field)
        text = self.probed.get((opcode, "offset"))
        if text is not None and text[0] != base:
            modifiers.append("offset")
        return modifiers

    def _is_scalar_result(self, opcode: int) -> bool:
        """True if a VOP3 form has a scalar destination in bits 14:8."""
        text = self.probed.get((opcode, "abs1"))
        if "sdst" not in self.encoding.fields or self.name != "VOP3" or text is None:
            return False
        return any(operand == "s[2:3]" for operand in split(text[0])[1])

    def _op_sel(self, opcode: int) -> list[str]:
        if self.name == "VOP3" and self._is_scalar_result(opcode):
            return []
        order: dict[int, int] = {}
        other = []
        for bit in range(self.encoding.fields["op_sel"][1]):
            text = self.probed[opcode, f"op_sel{bit}"]
            if text is None:
                continue
            for modifier in split(text[0])[2]:
                if modifier.startswith("op_sel:"):
                    order[modifier[8:-1].split(",").index("1")] = bit
                elif modifier.startswith(("fi:", "bound_ctrl:")):
                    other.append(f"op_sel{bit}:{modifier.split(':')[0]}")
        shape = "".join(str(order.get(i, "-")) for i in range(max(order) + 1)) if order else ""
        if shape:
            other.insert(0, f"op_sel:{shape}")
        if "op_sel_hi" in self.encoding.fields:
            # Packed forms print op_sel_hi unless all its bits are set, mixed-precision forms unless none is
            # set.
            for name, suffix in (("op_sel_hi none", ""), ("op_sel_hi first", "mixed")):
                text = self.probed[opcode, name]
                texts = [m for m in split(text[0])[2] if m.startswith("op_sel_hi:")] if text else []
                if texts:
                    other.append(f"op_sel_hi:{texts[0].count(',') + 1}{suffix}")
                    break
        return other


def rows(target: str, ask: Ask | None = None) -> list[Row]:
    """The instructions of a target, from llvm-mc's answers or from the ones passed in.

    Raises:
        RuntimeError: see `disassemble`.
    """
    ask = ask or partial(disassemble, target)
    return [tuple(row) for name in ENCODINGS for row in Format(target, name, ask).run()]


@dataclass(frozen=True)
class Table:
    """A file with the instructions of several targets, as CSV.

    Attributes:
        path: the file.
        columns: names of a row's columns, beside "targets".
        by_name: whether rows of one opcode are in the order of their names, not of their targets.
    """

    path: Path
    columns: tuple[str, ...]
    by_name: bool = False

    def of(self, target: str) -> list[Row]:
        """The instructions of a target."""
        with self.path.open(encoding="utf-8", newline="") as file:
            return [
                tuple(row[name] for name in self.columns)
                for row in csv.DictReader(file)
                if target in row["targets"].split()
            ]

    def text(self, by_target: Mapping[str, Iterable[Row]], formats: Iterable[str]) -> str:
        """The file for these instructions; one that targets share is a line that names them.

        Args:
            formats: names of encodings in the file's order.
        """
        owners: dict[Row, list[str]] = {}
        for target, instructions in by_target.items():
            for row in instructions:
                owners.setdefault(row, []).append(target)
        order = {name: place for place, name in enumerate(dict.fromkeys(formats))}
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow((*self.columns, "targets"))

        def place(row: Row) -> tuple[int, int, Row]:
            return order[row[0]], int(row[1]), row[2:] if self.by_name else ()

        for row in sorted(owners, key=place):
            writer.writerow((*row, " ".join(owners[row])))
        return out.getvalue()


TABLE = Table(
    Path(__file__).with_name("opcodes.csv"), ("format", "opcode", "mnemonic", "operands", "modifiers")
)


def main(arguments: Iterable[str] | None = None) -> int:
    """Writes the table, or with --check says whether LLVM would still give the same."""
    parser = argparse.ArgumentParser(description="Make the opcode table from LLVM's disassembler.")
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    parser.add_argument("targets", nargs="*", default=targets.NAMES)
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    by_target = {name: rows(name) if name in options.targets else TABLE.of(name) for name in targets.NAMES}
    print(", ".join(f"{name}: {len(by_target[name])} rows" for name in options.targets))
    text = TABLE.text(by_target, ENCODINGS)
    if options.check:
        if TABLE.path.read_text(encoding="utf-8") != text:
            print("the table differs from what LLVM prints: run without --check", file=sys.stderr)
            return 1
    else:
        TABLE.path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
