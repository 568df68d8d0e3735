"""The table of dependencies that hardware does not wait for.

RULES is the table of the CDNA3 and CDNA4 instruction set guides ("Manually Inserted Wait States (NOPs)" and
the one for matrix instructions), with the counts of LLVM's GCNHazardRecognizer for gfx942 and gfx950;
hardware interlocks all other dependencies. Those of gfx11 and later are in `hazard_rules_gfx11`.
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
    """One dependency that needs wait states.

    Attributes:
        name: short, unique name.
        after: action of the first instruction, in words.
        before: action of the second one on the same register.
        producers: classes of accesses of the first instruction.
        consumers: classes of accesses of the second one.
        counts: required wait states by target; after a matrix instruction, by its passes.
        source: the function or constant of LLVM's GCNHazardRecognizer that has the count.
        is_note: True if the compiler keeps to it and the guides do not ask for it: a note, not a finding.
        remedy: the instruction that ends the dependency, where s_nop does not: counts are of vector
            instructions then.
        lanes: lanes of the waves that have the dependency; 0: of any.
    """

    name: str
    after: str
    before: str
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    counts: Counts
    source: str
    is_note: bool = False
    remedy: str = ""
    lanes: int = 0

    def states(self, target: str, passes: int = 0) -> int:
        """Wait states whose lack is reported, on a target after this many passes; 0 if there is no rule."""
        count = self.counts.get(target, 0)
        return min(SEARCHED, count if isinstance(count, int) else count.get(passes, 0))


def _both(count: int | Mapping[int, int]) -> Counts:
    return dict.fromkeys(TARGETS, count)


def _by_passes(gfx942: Sequence[int], gfx950: Sequence[int] | None = None) -> Counts:
    """Counts after 2, 4, 8 and 16 passes."""
    return {
        "gfx942": dict(zip((2, 4, 8, 16), gfx942, strict=True)),
        "gfx950": dict(zip((2, 4, 8, 16), gfx950 or gfx942, strict=True)),
    }


_NOT_XDL = ("sgemm", "dgemm_4x4", "dgemm_16x16")
_AFTER_XDL = _by_passes((5, 7, 11, 19), (5, 8, 12, 20))
_AFTER_SGEMM = _by_passes((4, 6, 10, 18))
_DGEMM_16 = {"gfx942": 11, "gfx950": 19}
# A result is forwarded to SrcC only if the registers and the opcode are the same: LLVM's pull request 218363,
# "Add wait states between different MFMAs sharing an accumulator", requires for two opcodes the wait states
# of a partial overlap. The guides require as much for instructions with other passes.
_OVERLAPPED = "reads registers of that result as SrcC, unless exactly the same ones by the same opcode"

RULES: tuple[Rule, ...] = (
    # Scalar registers.
    Rule(
        "sgpr-vmem",
        "a VALU instruction writes an SGPR, VCC or M0",
        "a vector memory instruction reads it",
        ("valu scalar",),
        ("memory scalar",),
        _both(5),
        "checkVMEMHazards",
    ),
    Rule(
        "sgpr-valu",
        "a VALU instruction writes an SGPR or VCC",
        "a VALU instruction reads it as a constant",
        ("valu scalar",),
        ("valu reads scalar",),
        _both(2),
        "checkVALUHazards (hasVDecCoExecHazard)",
    ),
    # The guides have 2 for a constant and 0 for a carry, and describe the mask along with the carry: both
    # have a bit for each lane.
    Rule(
        "sgpr-mask",
        "a VALU instruction writes an SGPR or VCC",
        "v_cndmask takes it as its mask",
        ("valu scalar",),
        ("valu reads mask",),
        _both(2),
        "checkVALUHazards (hasVDecCoExecHazard)",
        is_note=True,
    ),
    Rule(
        "lane-select",
        "a VALU instruction writes an SGPR or VCC",
        "v_readlane or v_writelane takes its lane from it",
        ("valu scalar",),
        ("lane select",),
        _both(4),
        "checkRWLaneHazards",
    ),
    Rule(
        "vcc-div-fmas",
        "a VALU instruction writes VCC",
        "v_div_fmas reads it",
        ("valu scalar",),
        ("div_fmas mask",),
        _both(4),
        "checkDivFMasHazards",
    ),
    Rule(
        "vccz-execz",
        "a VALU instruction writes VCC or EXEC",
        "a VALU instruction reads VCCZ or EXECZ as data",
        ("valu scalar", "valu exec"),
        ("zero flag",),
        _both(5),
        "ISA guide only",
    ),
    Rule(
        "exec-dpp",
        "a VALU instruction writes EXEC (v_cmpx)",
        "a DPP instruction",
        ("valu exec",),
        ("dpp exec",),
        _both(5),
        "checkDPPHazards",
    ),
    Rule(
        "exec-lane",
        "a VALU instruction writes EXEC (v_cmpx)",
        "v_readlane, v_readfirstlane or v_writelane",
        ("valu exec",),
        ("lane exec",),
        _both(4),
        "checkVALUHazards (hasVDecCoExecHazard)",
    ),
    Rule(
        "exec-mfma",
        "a VALU instruction writes EXEC (v_cmpx)",
        "a matrix instruction",
        ("valu exec",),
        ("mfma exec",),
        _both(4),
        "checkMAIHazards90A",
    ),
    Rule(
        "exec-permlane",
        "v_cmpx writes EXEC",
        "v_permlane16_swap or v_permlane32_swap",
        ("valu exec",),
        ("permlane exec",),
        {"gfx950": 4},
        "checkPermlaneHazards",
    ),
    Rule(
        "m0",
        "a scalar instruction writes M0",
        "s_movrel, s_sendmsg, an LDS add-TID instruction, GDS, or a global or scratch load to LDS",
        ("salu m0",),
        ("uses m0",),
        _both(1),
        "checkReadM0Hazards",
    ),
    Rule(
        "m0-buffer",
        "a scalar instruction writes M0",
        "a buffer load to LDS",
        ("salu m0",),
        ("buffer uses m0",),
        _both(1),
        "checkReadM0Hazards (isLdsDma)",
        is_note=True,
    ),
    Rule(
        "setreg",
        "s_setreg writes a hardware register",
        "s_getreg or s_setreg of the same one",
        ("setreg",),
        ("hardware register",),
        _both(2),
        "checkGetRegHazards, checkSetRegHazards",
    ),
    # Vector registers.
    Rule(
        "vgpr-dpp",
        "a VALU instruction writes a VGPR",
        "a DPP instruction reads it",
        ("valu",),
        ("dpp",),
        _both(2),
        "checkDPPHazards",
    ),
    Rule(
        "vgpr-readlane",
        "a VALU instruction writes a VGPR",
        "v_readlane or v_readfirstlane reads it",
        ("valu",),
        ("readlane",),
        _both(1),
        "checkVALUHazards (hasVDecCoExecHazard)",
    ),
    Rule(
        "vgpr-permlane",
        "a VALU instruction writes a VGPR",
        "v_permlane16_swap or v_permlane32_swap reads it",
        ("valu",),
        ("permlane",),
        {"gfx950": 2},
        "checkPermlaneHazards",
    ),
    Rule(
        "trans",
        "a transcendental instruction (v_exp, v_log, v_rcp, v_rsq, v_sqrt, v_sin, v_cos) writes a VGPR",
        "a VALU instruction that is not transcendental reads it",
        ("trans",),
        ("not trans",),
        _both(1),
        "checkVALUHazards (hasTransForwardingHazard)",
    ),
    Rule(
        "partial",
        "a VALU instruction writes a part of a VGPR through SDWA or op_sel",
        "a VALU instruction reads it",
        ("partial",),
        ("reads or keeps",),
        _both(1),
        "checkVALUHazards (hasDstSelForwardingHazard)",
    ),
    Rule(
        "fp4",
        "a stochastic conversion to fp4 writes a VGPR",
        "a VALU instruction reads it",
        ("fp4",),
        ("reads or keeps",),
        {"gfx950": 1},
        "checkVALUHazards (hasCvtScaleForwardingHazard)",
    ),
    Rule(
        "store-data",
        "a vector memory instruction takes more than 8 bytes a lane of data (stores, cmpswap_x2)",
        "a VALU instruction writes a VGPR of its data",
        ("store data",),
        ("valu writes",),
        _both(2),
        "checkVALUHazardsHelper (has12DWordStoreHazard)",
    ),
    Rule(
        "dot-read",
        "a dot product (v_dot*) writes a VGPR",
        "another instruction reads it; the same one only as SrcA or SrcB",
        ("dot",),
        ("not dot c", "dot a or b", "memory reads"),
        _both(3),
        "checkMAIVALUHazards",
    ),
    Rule(
        "dot-write",
        "a dot product (v_dot*) writes a VGPR",
        "another VALU instruction writes it",
        ("dot",),
        ("other writes",),
        _both(3),
        "checkMAIVALUHazards",
    ),
    # Matrix instructions.
    Rule(
        "vgpr-mfma",
        "a VALU instruction (no matrix, no dot product) writes a VGPR or AGPR",
        "a matrix instruction reads it",
        ("valu, no dot",),
        ("mfma a or b", *(f"{kind} c" for kind in ("xdl", *_NOT_XDL))),
        _both(2),
        "checkMAIHazards90A",
    ),
    Rule(
        "xdl-ab",
        "an XDL matrix instruction writes a result",
        "a matrix instruction reads it as SrcA, SrcB, an index or a scale",
        ("xdl",),
        ("mfma a or b",),
        _AFTER_XDL,
        "GFX940_XDL_N_PassWritesVGPROverlappedSrcABWaitStates",
    ),
    Rule(
        "xdl-c-overlap",
        "an XDL matrix instruction writes a result",
        f"an XDL matrix instruction {_OVERLAPPED}",
        ("xdl",),
        ("xdl c overlap",),
        _by_passes((3, 5, 9, 17), (4, 6, 10, 18)),
        "GFX940_XDL_N_PassWritesVGPROverlappedXDLOrSMFMASrcCWaitStates",
    ),
    Rule(
        "xdl-gemm-c-overlap",
        "an XDL matrix instruction writes a result",
        f"an f32 or f64 matrix instruction {_OVERLAPPED}",
        ("xdl",),
        tuple(f"{kind} c overlap" for kind in _NOT_XDL),
        _by_passes((3, 5, 9, 17), (3, 6, 10, 18)),
        "GFX940_XDL_N_PassWritesVGPROverlappedSGEMMDGEMMSrcCWaitStates",
    ),
    Rule(
        "two-pass-c",
        "an XDL matrix instruction of 2 passes (4x4) writes a result",
        "the same opcode reads exactly it as SrcC",
        ("xdl",),
        ("xdl c same",),
        _both({2: 2}),
        "GFX940_SMFMA4x4WritesVGPRFullSrcCWaitStates",
    ),
    Rule(
        "xdl-read",
        "an XDL matrix instruction writes a result",
        "a VALU, vector memory or LDS instruction reads it",
        ("xdl",),
        ("valu reads", "memory reads"),
        _AFTER_XDL,
        "GFX940_XDL_N_PassWriteVgprVALUMemExpReadWaitStates",
    ),
    Rule(
        "xdl-write",
        "an XDL matrix instruction writes a result",
        "a VALU instruction writes it",
        ("xdl",),
        ("valu writes",),
        _AFTER_XDL,
        "GFX940_XDL_N_PassWriteVgprVALUWawWaitStates",
    ),
    Rule(
        "xdl-load",
        "an XDL matrix instruction writes a result",
        "a load from memory or LDS writes it",
        ("xdl",),
        ("memory writes",),
        _AFTER_XDL,
        "GFX940_XDL_N_PassWriteVgprVALUWawWaitStates",
        is_note=True,
    ),
    Rule(
        "xdl-c-write",
        "an XDL matrix instruction reads SrcC",
        "a VALU instruction writes it",
        ("xdl c",),
        ("valu writes",),
        _by_passes((1, 3, 7, 15)),
        "checkMAIVALUHazards (SMFMA*ReadVgprVALUWarWaitStates)",
    ),
    Rule(
        "xdl-c-load",
        "an XDL matrix instruction reads SrcC",
        "a load from memory or LDS writes it",
        ("xdl c",),
        ("memory writes",),
        _by_passes((1, 3, 7, 15)),
        "checkMAIVALUHazards (SMFMA*ReadVgprVALUWarWaitStates)",
        is_note=True,
    ),
    Rule(
        "sgemm-ab",
        "an f32 matrix instruction writes a result",
        "a matrix instruction reads it as SrcA, SrcB, an index or a scale",
        ("sgemm",),
        ("mfma a or b",),
        _AFTER_SGEMM,
        "GFX940_SMFMA_N_PassWritesVGPROverlappedSrcABWaitStates",
    ),
    Rule(
        "sgemm-c-overlap",
        "an f32 matrix instruction writes a result",
        f"an f32 or f64 matrix instruction {_OVERLAPPED}",
        ("sgemm",),
        tuple(f"{kind} c overlap" for kind in _NOT_XDL),
        _by_passes((2, 4, 8, 16)),
        "GFX940_SMFMA_N_PassWritesVGPROverlappedSMFMASrcCWaitStates",
    ),
    Rule(
        "sgemm-two-pass-c",
        "an f32 matrix instruction of 2 passes (4x4) writes a result",
        "the same opcode reads exactly it as SrcC",
        ("sgemm",),
        ("sgemm c same",),
        _both({2: 2}),
        "GFX940_SMFMA4x4WritesVGPRFullSrcCWaitStates",
    ),
    Rule(
        "sgemm-read",
        "an f32 matrix instruction writes a result",
        "a VALU, vector memory or LDS instruction reads it",
        ("sgemm",),
        ("valu reads", "memory reads"),
        _AFTER_SGEMM,
        "GFX940_SMFMA_N_PassWriteVgprVALUMemExpReadWaitStates",
    ),
    Rule(
        "sgemm-write",
        "an f32 matrix instruction writes a result",
        "a VALU instruction writes it",
        ("sgemm",),
        ("valu writes",),
        _AFTER_SGEMM,
        "GFX940_SMFMA_N_PassWriteVgprVALUWawWaitStates",
    ),
    Rule(
        "sgemm-load",
        "an f32 matrix instruction writes a result",
        "a load from memory or LDS writes it",
        ("sgemm",),
        ("memory writes",),
        _AFTER_SGEMM,
        "GFX940_SMFMA_N_PassWriteVgprVALUWawWaitStates",
        is_note=True,
    ),
    Rule(
        "dgemm-4x4-ab",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "a matrix instruction reads it as SrcA or SrcB",
        ("dgemm_4x4",),
        ("mfma a or b",),
        _both(6),
        "DMFMA4x4WritesVGPROverlappedMFMASrcABWaitStates",
    ),
    Rule(
        "dgemm-4x4-c",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "the same opcode reads exactly it as SrcC, or an f32 or f64 matrix instruction otherwise",
        ("dgemm_4x4",),
        ("dgemm_4x4 c same", *(f"{kind} c overlap" for kind in _NOT_XDL)),
        _both(4),
        "DMFMA4x4WritesVGPRFullSrcCWaitStates, DMFMA4x4WritesVGPROverlappedSrcCWaitStates",
    ),
    Rule(
        "dgemm-4x4-valu",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "a VALU instruction reads or writes it",
        ("dgemm_4x4",),
        ("valu reads", "valu writes"),
        _both(6),
        "DMFMA4x4WriteVgprVALUReadWaitStates, DMFMA4x4WriteVgprVALUWriteWaitStates",
    ),
    Rule(
        "dgemm-4x4-load",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "a load from memory or LDS writes it",
        ("dgemm_4x4",),
        ("memory writes",),
        _both(6),
        "DMFMA4x4WriteVgprVALUWriteWaitStates",
        is_note=True,
    ),
    Rule(
        "dgemm-4x4-memory",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "a vector memory or LDS instruction reads it",
        ("dgemm_4x4",),
        ("memory reads",),
        _both(9),
        "DMFMA4x4WriteVgprMemExpReadWaitStates",
    ),
    Rule(
        "dgemm-16x16-ab",
        "v_mfma_f64_16x16x4_f64 writes a result",
        "a matrix instruction reads it as SrcA or SrcB",
        ("dgemm_16x16",),
        ("mfma a or b",),
        _DGEMM_16,
        "DMFMA16x16WritesVGPROverlappedMFMASrcABWaitStates",
    ),
    Rule(
        "dgemm-16x16-c-overlap",
        "v_mfma_f64_16x16x4_f64 writes a result",
        f"an f32 or f64 matrix instruction {_OVERLAPPED}",
        ("dgemm_16x16",),
        tuple(f"{kind} c overlap" for kind in _NOT_XDL),
        {"gfx942": 9, "gfx950": 17},
        "DMFMA16x16WritesVGPROverlappedSrcCWaitStates",
    ),
    Rule(
        "dgemm-16x16-read",
        "v_mfma_f64_16x16x4_f64 writes a result",
        "a VALU instruction reads it",
        ("dgemm_16x16",),
        ("valu reads",),
        _DGEMM_16,
        "DMFMA16x16WriteVgprVALUReadWaitStates",
    ),
    Rule(
        "dgemm-16x16-write",
        "v_mfma_f64_16x16x4_f64 writes a result",
        "a VALU instruction writes it",
        ("dgemm_16x16",),
        ("valu writes",),
        _both(11),
        "DMFMA16x16WriteVgprVALUWriteWaitStates",
    ),
    Rule(
        "dgemm-16x16-load",
        "v_mfma_f64_16x16x4_f64 writes a result",
        "a load from memory or LDS writes it",
        ("dgemm_16x16",),
        ("memory writes",),
        _both(11),
        "DMFMA16x16WriteVgprVALUWriteWaitStates",
        is_note=True,
    ),
    Rule(
        "dgemm-16x16-memory",
        "v_mfma_f64_16x16x4_f64 writes a result",
        "a vector memory or LDS instruction reads it",
        ("dgemm_16x16",),
        ("memory reads",),
        _both(18),
        "DMFMA16x16WriteVgprMemExpReadWaitStates",
    ),
    Rule(
        "dgemm-fma64",
        "an f64 matrix instruction",
        "v_fma_f64 or v_fmac_f64, whatever registers they have",
        ("dgemm",),
        ("fma f64",),
        _both(2),
        "checkMAIVALUHazards (DMFMAToFMA64WaitStates)",
        is_note=True,
    ),
)
