"""Bit fields of each instruction format (CDNA3 ISA guide, "Microcode formats").

Shared by the decoder, which reads fields, and by isa/enumerate.py, which sets them. Positions count from
bit 0 of the first dword; an instruction is its dwords in order, least significant first. One bit has two
names where targets differ: bit 13 of the flat forms is LDS on gfx90a and SVE (a scratch address register is
used) since gfx940.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Encoding(NamedTuple):
    """One format: fixed bits of the first dword, the opcode's place, bytes, and (low bit, width) by field."""

    base: int
    opcode: tuple[int, int]
    size: int
    fields: Mapping[str, tuple[int, int]]


_VOP3_SOURCES = {"src0": (32, 9), "src1": (41, 9), "src2": (50, 9)}
_DPP = {
    "src0": (32, 8),
    "dpp_ctrl": (40, 9),
    "fi": (50, 1),
    "bound_ctrl": (51, 1),
    "neg0": (52, 1),
    "abs0": (53, 1),
    "neg1": (54, 1),
    "abs1": (55, 1),
    "bank_mask": (56, 4),
    "row_mask": (60, 4),
}
_SDWA_SOURCES = {
    "src0": (32, 8),
    "src0_sel": (48, 3),
    "sext0": (51, 1),
    "neg0": (52, 1),
    "abs0": (53, 1),
    "s0": (55, 1),
    "src1_sel": (56, 3),
    "sext1": (59, 1),
    "neg1": (60, 1),
    "abs1": (61, 1),
    "s1": (63, 1),
}
_SDWA = {
    **_SDWA_SOURCES,
    "dst_sel": (40, 3),
    "dst_unused": (43, 2),
    "clamp": (45, 1),
    "omod": (46, 2),
}
_FLAT = {
    "vaddr": (32, 8),
    "vdata": (40, 8),
    "saddr": (48, 7),
    "acc": (55, 1),
    "vdst": (56, 8),
    "offset": (0, 13),
    "sve": (13, 1),
    "lds": (13, 1),
    "bit16": (16, 1),
    "bit17": (17, 1),
    "bit25": (25, 1),
}

DPP_SOURCE = 250
"""Value of an e32 form's src0 that says: a DPP dword follows."""

SDWA_SOURCE = 249
"""Value of an e32 form's src0 that says: an SDWA dword follows."""

ENCODINGS: Mapping[str, Encoding] = {
    "SOP2": Encoding(0x80000000, (23, 7), 4, {"sdst": (16, 7), "ssrc0": (0, 8), "ssrc1": (8, 8)}),
    "SOP1": Encoding(0xBE800000, (8, 8), 4, {"sdst": (16, 7), "ssrc0": (0, 8)}),
    "SOPC": Encoding(0xBF000000, (16, 7), 4, {"ssrc0": (0, 8), "ssrc1": (8, 8)}),
    "SOPK": Encoding(0xB0000000, (23, 5), 4, {"sdst": (16, 7), "simm16": (0, 16)}),
    "SOPP": Encoding(0xBF800000, (16, 7), 4, {"simm16": (0, 16)}),
    "SMEM": Encoding(
        0xC0000000,
        (18, 8),
        8,
        {
            "sbase": (0, 6),
            "sdata": (6, 7),
            "soffset_en": (14, 1),
            "nv": (15, 1),
            "glc": (16, 1),
            "imm": (17, 1),
            "offset": (32, 21),
            "soffset": (57, 7),
        },
    ),
    "VOP1": Encoding(0x7E000000, (9, 8), 4, {"vdst": (17, 8), "src0": (0, 9)}),
    "VOP2": Encoding(0x00000000, (25, 6), 4, {"vdst": (17, 8), "src0": (0, 9), "vsrc1": (9, 8)}),
    "VOPC": Encoding(0x7C000000, (17, 8), 4, {"src0": (0, 9), "vsrc1": (9, 8)}),
    "VOP1_DPP": Encoding(0x7E000000 | DPP_SOURCE, (9, 8), 8, {"vdst": (17, 8), **_DPP}),
    "VOP2_DPP": Encoding(DPP_SOURCE, (25, 6), 8, {"vdst": (17, 8), "vsrc1": (9, 8), **_DPP}),
    "VOP1_SDWA": Encoding(0x7E000000 | SDWA_SOURCE, (9, 8), 8, {"vdst": (17, 8), **_SDWA}),
    "VOP2_SDWA": Encoding(SDWA_SOURCE, (25, 6), 8, {"vdst": (17, 8), "vsrc1": (9, 8), **_SDWA}),
    "VOPC_SDWA": Encoding(
        0x7C000000 | SDWA_SOURCE,
        (17, 8),
        8,
        {"vsrc1": (9, 8), **_SDWA_SOURCES, "sdst": (40, 7), "sd": (47, 1)},
    ),
    "VOP3": Encoding(
        0xD0000000,
        (16, 10),
        8,
        {
            "vdst": (0, 8),
            "abs0": (8, 1),
            "abs1": (9, 1),
            "abs2": (10, 1),
            "sdst": (8, 7),
            "op_sel": (11, 4),
            "clamp": (15, 1),
            **_VOP3_SOURCES,
            "omod": (59, 2),
            "neg0": (61, 1),
            "neg1": (62, 1),
            "neg2": (63, 1),
        },
    ),
    "VOP3P": Encoding(
        0xD3800000,
        (16, 7),
        8,
        {
            "vdst": (0, 8),
            "neg_hi": (8, 3),
            "op_sel": (11, 3),
            "op_sel_hi2": (14, 1),
            "clamp": (15, 1),
            **_VOP3_SOURCES,
            "op_sel_hi": (59, 2),
            "neg_lo": (61, 3),
        },
    ),
    "VOP3P_MAI": Encoding(
        0xD3800000,
        (16, 7),
        8,
        {
            "vdst": (0, 8),
            "cbsz": (8, 3),
            "abid": (11, 4),
            "acc_cd": (15, 1),
            **_VOP3_SOURCES,
            "acc0": (59, 1),
            "acc1": (60, 1),
            "blgp": (61, 3),
        },
    ),
    "DS": Encoding(
        0xD8000000,
        (17, 8),
        8,
        {
            "offset0": (0, 8),
            "offset1": (8, 8),
            "gds": (16, 1),
            "acc": (25, 1),
            "vaddr": (32, 8),
            "vdata0": (40, 8),
            "vdata1": (48, 8),
            "vdst": (56, 8),
        },
    ),
    "FLAT": Encoding(0xDC000000, (18, 7), 8, {**_FLAT, "offset": (0, 12)}),
    "SCRATCH": Encoding(0xDC004000, (18, 7), 8, _FLAT),
    "GLOBAL": Encoding(0xDC008000, (18, 7), 8, _FLAT),
    "MUBUF": Encoding(
        0xE0000000,
        (18, 7),
        8,
        {
            "offset": (0, 12),
            "offen": (12, 1),
            "idxen": (13, 1),
            "bit14": (14, 1),
            "bit15": (15, 1),
            "lds": (16, 1),
            "bit17": (17, 1),
            "vaddr": (32, 8),
            "vdata": (40, 8),
            "srsrc": (48, 5),
            "acc": (55, 1),
            "soffset": (56, 8),
        },
    ),
    "MTBUF": Encoding(
        0xE8000000,
        (15, 4),
        8,
        {
            "offset": (0, 12),
            "offen": (12, 1),
            "idxen": (13, 1),
            "bit14": (14, 1),
            "dfmt": (19, 4),
            "nfmt": (23, 3),
            "vaddr": (32, 8),
            "vdata": (40, 8),
            "srsrc": (48, 5),
            "bit53": (53, 1),
            "bit54": (54, 1),
            "acc": (55, 1),
            "soffset": (56, 8),
        },
    ),
}
"""Fields of each format. A field whose name depends on the target (cache policy bits) is named by its bit;
an opcode's row in the table says what the bit is called there."""
