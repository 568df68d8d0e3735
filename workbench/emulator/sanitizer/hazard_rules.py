"""The table of dependencies that hardware does not wait for.

RULES is the table of the CDNA3 and CDNA4 instruction set guides ("Manually Inserted Wait States (NOPs)" and
the one for matrix instructions), with the counts of LLVM's GCNHazardRecognizer for gfx942 and gfx950;
hardware interlocks all other dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.targets import TILE_TARGETS

TARGETS = tuple(sorted(TILE_TARGETS))

Counts = Mapping[str, "int | Mapping[int, int]"]

SEARCHED = 19
"""Number of wait states that LLVM looks back from an access to vector registers. If 20 are required it misses
a pair that lacks only the last one, so compiled code sometimes has 19: not reported, because a C++ programmer
cannot change it."""


@dataclass(frozen=True)
class Rule:
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$"""One dependency that needs wait states.

 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Attributes:
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    name: short, unique name.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    after: action of the first instruction, in words.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    before: action of the second one on the same register.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    producers: classes of accesses of the first instruction.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    consumers: classes of accesses of the second one.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    counts: required wait states by target; after a matrix instruction, by its passes.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    source: the function or constant of LLVM's GCNHazardRecognizer that has the count.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note: True if the compiler keeps to it and the guides do not ask for it: a note, not a finding.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$"""

 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$name: str
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$after: str
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$before: str
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$producers: tuple[str, ...]
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$consumers: tuple[str, ...]
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$counts: Counts
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$source: str
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$is_note: bool = False

 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$def states(self, target: str, passes: int = 0) -> int:
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    """Wait states whose lack is reported, on a target after this many passes; 0 if there is no rule."""
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    count = self.counts.get(target, 0)
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    return min(SEARCHED, count if isinstance(count, int) else count.get(passes, 0))


def _both(count: int | Mapping[int, int]) -> Counts:
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$return dict.fromkeys(TARGETS, count)


def _by_passes(gfx942: Sequence[int], gfx950: Sequence[int] | None = None) -> Counts:
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$"""Counts after 2, 4, 8 and 16 passes."""
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$return {
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "gfx942": dict(zip((2, 4, 8, 16), gfx942, strict=True)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "gfx950": dict(zip((2, 4, 8, 16), gfx950 or gfx942, strict=True)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$}


_NOT_XDL = ("sgemm", "dgemm_4x4", "dgemm_16x16")
_AFTER_XDL = _by_passes((5, 7, 11, 19), (5, 8, 12, 20))
_AFTER_SGEMM = _by_passes((4, 6, 10, 18))
_DGEMM_16 = {"gfx942": 11, "gfx950": 19}
# A result is forwarded to SrcC only if the registers and the opcode are the same: LLVM's pull request 218363,
# "Add wait states between different MFMAs sharing an accumulator", requires for two opcodes the wait states
# of a partial overlap. The guides require as much for instructions with other passes.
_OVERLAPPED = "reads registers of that result as SrcC, unless exactly the same ones by the same opcode"

RULES: tuple[Rule, ...] = (
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$# Scalar registers.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgpr-vmem",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes an SGPR, VCC or M0",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a vector memory instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(5),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVMEMHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgpr-valu",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes an SGPR or VCC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads it as a constant",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasVDecCoExecHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$# The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$# a bit for each lane.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgpr-mask",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes an SGPR or VCC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_cndmask takes it as its mask",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads mask",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasVDecCoExecHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "lane-select",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes an SGPR or VCC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_readlane or v_writelane takes its lane from it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("lane select",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(4),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkRWLaneHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vcc-div-fmas",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes VCC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_div_fmas reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("div_fmas mask",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(4),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkDivFMasHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vccz-execz",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes VCC or EXEC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads VCCZ or EXECZ as data",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu scalar", "valu exec"),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("zero flag",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(5),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "ISA guide only",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "exec-dpp",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes EXEC (v_cmpx)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a DPP instruction",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dpp exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(5),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkDPPHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "exec-lane",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes EXEC (v_cmpx)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_readlane, v_readfirstlane or v_writelane",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("lane exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(4),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasVDecCoExecHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "exec-mfma",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes EXEC (v_cmpx)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(4),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIHazards90A",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "exec-permlane",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_cmpx writes EXEC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_permlane16_swap or v_permlane32_swap",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("permlane exec",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    {"gfx950": 4},
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkPermlaneHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "m0",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a scalar instruction writes M0",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "s_movrel, s_sendmsg, an LDS add-TID instruction, GDS, or a global or scratch load to LDS",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("salu m0",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("uses m0",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(1),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkReadM0Hazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "m0-buffer",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a scalar instruction writes M0",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a buffer load to LDS",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("salu m0",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("buffer uses m0",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(1),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkReadM0Hazards (isLdsDma)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "setreg",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "s_setreg writes a hardware register",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "s_getreg or s_setreg of the same one",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("setreg",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("hardware register",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkGetRegHazards, checkSetRegHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$# Vector registers.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vgpr-dpp",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a DPP instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dpp",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkDPPHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vgpr-readlane",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_readlane or v_readfirstlane reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("readlane",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(1),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasVDecCoExecHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vgpr-permlane",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_permlane16_swap or v_permlane32_swap reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("permlane",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    {"gfx950": 2},
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkPermlaneHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "trans",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a transcendental instruction (v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos) writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction that is not transcendental reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("trans",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("not trans",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(1),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasTransForwardingHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "partial",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes a part of a VGPR through SDWA or op_sel",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("partial",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("reads or keeps",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(1),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasDstSelForwardingHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "fp4",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a stochastic conversion to fp4 writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("fp4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("reads or keeps",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    {"gfx950": 1},
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazards (hasCvtScaleForwardingHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "store-data",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a vector memory instruction takes more than 8 bytes a lane of data (stores, cmpswap_x2)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes a VGPR of its data",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("store data",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkVALUHazardsHelper (has12DWordStoreHazard)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dot-read",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a dot product (v_dot*) writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "another instruction reads it; the same one only as SrcA or SrcB",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dot",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("not dot c", "dot a or b", "memory reads"),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(3),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIVALUHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dot-write",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a dot product (v_dot*) writes a VGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "another VALU instruction writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dot",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("other writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(3),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIVALUHazards",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$# Matrix instructions.
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "vgpr-mfma",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction (no matrix, no dot product) writes a VGPR or AGPR",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu, no dot",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma a or b", *(f"{kind} c" for kind in ("xdl", *_NOT_XDL))),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIHazards90A",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-ab",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction reads it as SrcA, SrcB, an index or a scale",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma a or b",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_XDL,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWritesVGPROverlappedSrcABWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-c-overlap",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    f"an XDL matrix instruction {_OVERLAPPED}",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl c overlap",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _by_passes((3, 5, 9, 17), (4, 6, 10, 18)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWritesVGPROverlappedXDLOrSMFMASrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-gemm-c-overlap",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    f"an f32 or f64 matrix instruction {_OVERLAPPED}",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    tuple(f"{kind} c overlap" for kind in _NOT_XDL),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _by_passes((3, 5, 9, 17), (3, 6, 10, 18)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWritesVGPROverlappedSGEMMDGEMMSrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "two-pass-c",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction of 2 passes (4x4) writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "the same opcode reads exactly it as SrcC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl c same",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both({2: 2}),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA4x4WritesVGPRFullSrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-read",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU, vector memory or LDS instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads", "memory reads"),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_XDL,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWriteVgprVALUMemExpReadWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-write",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_XDL,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWriteVgprVALUWawWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-load",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a load from memory or LDS writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_XDL,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_XDL_N_PassWriteVgprVALUWawWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-c-write",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction reads SrcC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl c",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _by_passes((1, 3, 7, 15)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIVALUHazards (SMFMA*ReadVgprVALUWarWaitStates)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "xdl-c-load",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an XDL matrix instruction reads SrcC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a load from memory or LDS writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("xdl c",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _by_passes((1, 3, 7, 15)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIVALUHazards (SMFMA*ReadVgprVALUWarWaitStates)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-ab",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction reads it as SrcA, SrcB, an index or a scale",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma a or b",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_SGEMM,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA_N_PassWritesVGPROverlappedSrcABWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-c-overlap",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    f"an f32 or f64 matrix instruction {_OVERLAPPED}",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    tuple(f"{kind} c overlap" for kind in _NOT_XDL),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _by_passes((2, 4, 8, 16)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA_N_PassWritesVGPROverlappedSMFMASrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-two-pass-c",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction of 2 passes (4x4) writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "the same opcode reads exactly it as SrcC",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm c same",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both({2: 2}),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA4x4WritesVGPRFullSrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-read",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU, vector memory or LDS instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads", "memory reads"),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_SGEMM,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA_N_PassWriteVgprVALUMemExpReadWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-write",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_SGEMM,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA_N_PassWriteVgprVALUWawWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "sgemm-load",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f32 matrix instruction writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a load from memory or LDS writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("sgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _AFTER_SGEMM,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "GFX940_SMFMA_N_PassWriteVgprVALUWawWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-4x4-ab",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_4x4x4_4b_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction reads it as SrcA or SrcB",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma a or b",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(6),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA4x4WritesVGPROverlappedMFMASrcABWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-4x4-c",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_4x4x4_4b_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "the same opcode reads exactly it as SrcC, or an f32 or f64 matrix instruction otherwise",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4 c same", *(f"{kind} c overlap" for kind in _NOT_XDL)),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(4),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA4x4WritesVGPRFullSrcCWaitStates, DMFMA4x4WritesVGPROverlappedSrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-4x4-valu",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_4x4x4_4b_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads or writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads", "valu writes"),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(6),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA4x4WriteVgprVALUReadWaitStates, DMFMA4x4WriteVgprVALUWriteWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-4x4-load",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_4x4x4_4b_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a load from memory or LDS writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(6),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA4x4WriteVgprVALUWriteWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-4x4-memory",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_4x4x4_4b_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a vector memory or LDS instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_4x4",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory reads",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(9),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA4x4WriteVgprMemExpReadWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-ab",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a matrix instruction reads it as SrcA or SrcB",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("mfma a or b",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _DGEMM_16,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WritesVGPROverlappedMFMASrcABWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-c-overlap",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    f"an f32 or f64 matrix instruction {_OVERLAPPED}",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    tuple(f"{kind} c overlap" for kind in _NOT_XDL),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    {"gfx942": 9, "gfx950": 17},
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WritesVGPROverlappedSrcCWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-read",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu reads",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _DGEMM_16,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WriteVgprVALUReadWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-write",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a VALU instruction writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("valu writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(11),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WriteVgprVALUWriteWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-load",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a load from memory or LDS writes it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory writes",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(11),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WriteVgprVALUWriteWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-16x16-memory",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_mfma_f64_16x16x4_f64 writes a result",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "a vector memory or LDS instruction reads it",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm_16x16",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("memory reads",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(18),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "DMFMA16x16WriteVgprMemExpReadWaitStates",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$Rule(
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "dgemm-fma64",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "an f64 matrix instruction",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "v_fma_f64 or v_fmac_f64, whatever registers they have",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("dgemm",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    ("fma f64",),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    _both(2),
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    "checkMAIVALUHazards (DMFMAToFMA64WaitStates)",
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$    is_note=True,
 The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both have$),
)
