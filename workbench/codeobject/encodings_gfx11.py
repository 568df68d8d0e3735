"""Bit fields of each instruction format of gfx11, gfx12 and gfx1250 (RDNA3 and RDNA4 ISA guides, "Microcode
formats"; LLVM's tests of its gfx1250 assembler).

Shared by decoder_gfx11.py, which reads fields, and by isa/enumerate_gfx11.py, which sets them. Positions
count from bit 0 of the first dword; an instruction is its dwords in order, least significant first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Layout(NamedTuple):
    """One format.

    Attributes:
        base: fixed bits of the first dword.
        leading: number of its leading bits that tell it from other formats.
        opcode: (low bit, width) of the opcode.
        size: bytes without a literal and without a DPP dword.
        fields: (low bit, width) by field.
        named_only: True for formats of graphics, of which only the names are recorded.
    """

    base: int
    leading: int
    opcode: tuple[int, int]
    size: int
    fields: Mapping[str, tuple[int, int]]
    named_only: bool = False


DPP16, DPP8, DPP8_FI = 250, 233, 234
"""Values of src0 that say: a dword follows that names the VGPR and the lanes."""

NULL, M0 = 124, 125
"""Codes of scalar registers that gfx9 numbers the other way round."""

DPP_FIELDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "DPP16": {
        "src0": (0, 8),
        "dpp_ctrl": (8, 9),
        "fi": (18, 1),
        "bound_ctrl": (19, 1),
        "neg0": (20, 1),
        "abs0": (21, 1),
        "neg1": (22, 1),
        "abs1": (23, 1),
        "bank_mask": (24, 4),
        "row_mask": (28, 4),
    },
    "DPP8": {"src0": (0, 8), "dpp8": (8, 24)},
}
"""Fields of the dword that follows a DPP form; its src0 replaces the encoding's."""

SCALE = "VOP3P_SCALE"
"""Format of the scales of gfx1250's matrix instructions: 8 bytes before those of the instruction."""

_SOURCES = {"src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}
_VOP3 = {
    "vdst": (0, 8),
    "abs0": (8, 1),
    "abs1": (9, 1),
    "abs2": (10, 1),
    "sdst": (8, 7),
    "op_sel": (11, 4),
    "clamp": (15, 1),
    **_SOURCES,
    "omod": (59, 2),
    "neg0": (61, 1),
    "neg1": (62, 1),
    "neg2": (63, 1),
}
_VOP3P = {
    "vdst": (0, 8),
    "neg_hi": (8, 3),
    "op_sel": (11, 3),
    "op_sel_hi2": (14, 1),
    "clamp": (15, 1),
    **_SOURCES,
    "op_sel_hi": (59, 2),
    "neg_lo": (61, 3),
}
_VINTERP = {
    "vdst": (0, 8),
    "wait_exp": (8, 3),
    "op_sel": (11, 4),
    "clamp": (15, 1),
    **_SOURCES,
    "neg0": (61, 1),
    "neg1": (62, 1),
    "neg2": (63, 1),
}
_COMMON: Mapping[str, Layout] = {
    "SOP2": Layout(0x80000000, 2, (23, 7), 4, {"sdst": (16, 7), "ssrc0": (0, 8), "ssrc1": (8, 8)}),
    "SOP1": Layout(0xBE800000, 9, (8, 8), 4, {"sdst": (16, 7), "ssrc0": (0, 8)}),
    "SOPC": Layout(0xBF000000, 9, (16, 7), 4, {"ssrc0": (0, 8), "ssrc1": (8, 8)}),
    "SOPK": Layout(0xB0000000, 4, (23, 5), 4, {"sdst": (16, 7), "simm16": (0, 16)}),
    "SOPP": Layout(0xBF800000, 9, (16, 7), 4, {"simm16": (0, 16)}),
    "VOP1": Layout(0x7E000000, 7, (9, 8), 4, {"vdst": (17, 8), "src0": (0, 9)}),
    "VOP2": Layout(0x00000000, 1, (25, 6), 4, {"vdst": (17, 8), "src0": (0, 9), "vsrc1": (9, 8)}),
    "VOPC": Layout(0x7C000000, 7, (17, 8), 4, {"src0": (0, 9), "vsrc1": (9, 8)}),
    "VOP3": Layout(0xD4000000, 6, (16, 10), 8, _VOP3),
    "VOP3P": Layout(0xCC000000, 9, (16, 7), 8, _VOP3P),
    "VINTERP": Layout(0xCD000000, 8, (16, 5), 8, _VINTERP),
    # The two halves of a dual instruction: each has its fields, the other half's stay as they are.
    "VOPDX": Layout(0xC8000000, 6, (22, 4), 8, {"vdst": (56, 8), "src0": (0, 9), "vsrc1": (9, 8)}),
    "VOPDY": Layout(0xC8000000, 6, (17, 5), 8, {"vdst": (49, 7), "src0": (32, 9), "vsrc1": (41, 8)}),
}
_DS = {
    "offset0": (0, 8),
    "offset1": (8, 8),
    "vaddr": (32, 8),
    "vdata0": (40, 8),
    "vdata1": (48, 8),
    "vdst": (56, 8),
}
_FLAT12 = {
    "saddr": (0, 7),
    "vdst": (32, 8),
    "sve": (49, 1),
    "scope": (50, 2),
    "th": (52, 3),
    "vdata": (55, 8),
    "vaddr": (64, 8),
    "offset": (72, 24),
}
_SMEM12 = {
    "sbase": (0, 6),
    "sdata": (6, 7),
    "scope": (21, 2),
    "th": (23, 2),
    "offset": (32, 24),
    "soffset": (57, 7),
}
_GFX12: Mapping[str, Layout] = {
    **_COMMON,
    "SMEM": Layout(0xF4000000, 6, (13, 6), 8, _SMEM12),
    "DS": Layout(0xD8000000, 6, (18, 8), 8, _DS),
    "FLAT": Layout(0xEC000000, 8, (14, 8), 12, _FLAT12),
    "SCRATCH": Layout(0xED000000, 8, (14, 8), 12, _FLAT12),
    "GLOBAL": Layout(0xEE000000, 8, (14, 8), 12, _FLAT12),
    "VBUFFER": Layout(
        0xC4000000,
        6,
        (14, 8),
        12,
        {
            "soffset": (0, 7),
            "tfe": (22, 1),
            "vdata": (32, 8),
            "srsrc": (41, 9),
            "scope": (50, 2),
            "th": (52, 3),
            "format": (55, 7),
            "offen": (62, 1),
            "idxen": (63, 1),
            "vaddr": (64, 8),
            "offset": (72, 24),
        },
    ),
    "VIMAGE": Layout(0xD0000000, 6, (14, 8), 12, {}, named_only=True),
    "VSAMPLE": Layout(0xE4000000, 6, (14, 8), 12, {}, named_only=True),
    "VDSDIR": Layout(0xCE000000, 8, (20, 2), 4, {}, named_only=True),
    "VEXPORT": Layout(0xF8000000, 6, (26, 0), 8, {}, named_only=True),
}
_FLAT11 = {
    "offset": (0, 13),
    "dlc": (13, 1),
    "glc": (14, 1),
    "slc": (15, 1),
    "vaddr": (32, 8),
    "vdata": (40, 8),
    "saddr": (48, 7),
    "sve": (55, 1),
    "vdst": (56, 8),
}
_BUFFER11 = {
    "offset": (0, 12),
    "slc": (12, 1),
    "dlc": (13, 1),
    "glc": (14, 1),
    "vaddr": (32, 8),
    "vdata": (40, 8),
    "srsrc": (48, 5),
    "tfe": (53, 1),
    "offen": (54, 1),
    "idxen": (55, 1),
    "soffset": (56, 8),
}
_GFX11: Mapping[str, Layout] = {
    **_COMMON,
    "SMEM": Layout(
        0xF4000000,
        6,
        (18, 8),
        8,
        {
            "sbase": (0, 6),
            "sdata": (6, 7),
            "dlc": (13, 1),
            "glc": (14, 1),
            "offset": (32, 21),
            "soffset": (57, 7),
        },
    ),
    "DS": Layout(0xD8000000, 6, (18, 8), 8, {**_DS, "gds": (17, 1)}),
    "FLAT": Layout(0xDC000000, 6, (18, 7), 8, _FLAT11),
    "SCRATCH": Layout(0xDC010000, 6, (18, 7), 8, _FLAT11),
    "GLOBAL": Layout(0xDC020000, 6, (18, 7), 8, _FLAT11),
    "MUBUF": Layout(0xE0000000, 6, (18, 8), 8, _BUFFER11),
    "MTBUF": Layout(0xE8000000, 6, (15, 4), 8, {**_BUFFER11, "format": (19, 7)}),
    "MIMG": Layout(0xF0000000, 6, (18, 8), 8, {}, named_only=True),
    "LDSDIR": Layout(0xCE000000, 8, (20, 2), 4, {}, named_only=True),
    "EXP": Layout(0xF8000000, 6, (26, 0), 8, {}, named_only=True),
}
# Bit 48 of flat forms and bit 56 of scalar loads: the offset register counts elements, not bytes.
_FLAT1250 = {**_FLAT12, "nv": (7, 1), "scale_offset": (48, 1)}
_GFX1250: Mapping[str, Layout] = {
    **{name: layout for name, layout in _GFX12.items() if not layout.named_only},
    "SMEM": Layout(0xF4000000, 6, (13, 6), 8, {**_SMEM12, "nv": (20, 1), "scale_offset": (56, 1)}),
    "FLAT": Layout(0xEC000000, 8, (14, 8), 12, _FLAT1250),
    "SCRATCH": Layout(0xED000000, 8, (14, 8), 12, _FLAT1250),
    "GLOBAL": Layout(0xEE000000, 8, (14, 8), 12, _FLAT1250),
    "VBUFFER": Layout(0xC4000000, 6, (14, 8), 12, {**_GFX12["VBUFFER"].fields, "nv": (7, 1)}),
    # One more bit of opcode than before.
    "VOP3P": Layout(0xCC000000, 8, (16, 8), 8, _VOP3P),
    # The first half of a scaled matrix instruction, which begins like another VOP3P.
    SCALE: Layout(0xCC000000, 8, (16, 8), 8, _VOP3P),
    # Dual instructions with three sources and their signs, and results of any parity.
    "VOPD3X": Layout(
        0xCF000000,
        8,
        (18, 6),
        12,
        {
            "vdst": (64, 8),
            "src0": (0, 9),
            "vsrc1": (48, 8),
            "vsrc2": (56, 8),
            "neg0": (41, 1),
            "neg1": (42, 1),
            "neg2": (43, 1),
        },
    ),
    "VOPD3Y": Layout(
        0xCF000000,
        8,
        (12, 6),
        12,
        {
            "vdst": (88, 8),
            "src0": (32, 9),
            "vsrc1": (72, 8),
            "vsrc2": (80, 8),
            "neg0": (44, 1),
            "neg1": (45, 1),
            "neg2": (46, 1),
        },
    ),
    # Of image instructions, gfx1250 has the copies of tensors, whose descriptors are in scalar registers.
    "TENSOR": Layout(
        0xD0400001,
        6,
        (14, 8),
        12,
        {
            "nv": (7, 1),
            "scope": (50, 2),
            "th": (52, 3),
            "unused": (56, 8),
            "vaddr0": (64, 8),
            "vaddr1": (72, 8),
            "vaddr2": (80, 8),
            "vaddr3": (88, 8),
        },
    ),
}
_BY_GENERATION = {"gfx11": _GFX11, "gfx12": _GFX12, "gfx1250": _GFX1250}
GENERATIONS: Mapping[str, str] = {
    "gfx1201": "gfx12",
    "gfx1250": "gfx1250",
    "gfx1100": "gfx11",
    "gfx1151": "gfx11",
}
"""Each recorded target's encodings."""

PROCESSORS: Mapping[int, str] = {
    0x41: "gfx1100",
    0x44: "gfx1103",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4E: "gfx1201",
}
"""Targets by EF_AMDGPU_MACH of the ELF header (LLVM AMDGPUUsage)."""

ALIASES: Mapping[str, str] = {
    "gfx1101": "gfx1100",
    "gfx1102": "gfx1100",
    "gfx1103": "gfx1100",
    "gfx1200": "gfx1201",
}
"""Targets with the instructions of another one."""

HALVES: Mapping[str, str] = {"VOPDX": "VOPDY", "VOPD3X": "VOPD3Y"}
"""The formats of the two halves of a dual instruction."""

FLAT_SEGMENTS: Mapping[int, str] = {0: "FLAT", 1: "SCRATCH", 2: "GLOBAL"}
"""Format by the segment field of gfx11's flat instructions, bits 17:16 of the first dword."""


WIDE_LITERALS = frozenset({"gfx1250"})
"""Generations with literals of 64 bits."""

PLAIN_OFFSETS = frozenset({"gfx11"})
"""Generations whose scalar loads are printed without an offset of zero."""


def generation(target: str) -> str:
    """The encodings that a target has: "gfx11", "gfx12" or "gfx1250"."""
    return GENERATIONS[ALIASES.get(target, target)]


@cache
def layouts(target: str) -> Mapping[str, Layout]:
    """The formats of a target."""
    return _BY_GENERATION[generation(target)]
