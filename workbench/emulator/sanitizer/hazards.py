"""Dependencies that hardware does not wait for: pairs of instructions that need wait states between them.

A wait state is an instruction of the wave issued in between; `s_nop N` is N + 1 of them. Compilers count them
for the instructions that they choose themselves, and nobody does for inline assembly. RULES is the table of
the CDNA3 and CDNA4 instruction set guides ("Manually Inserted Wait States (NOPs)" and the one for matrix
instructions), with the counts of LLVM's GCNHazardRecognizer for gfx942 and gfx950; what is
not in it is interlocked. `find` looks for pairs that are too close on a
way through the code; those that it finds are followed while the kernel runs, so that only ways that are taken
are reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from workbench.codeobject.instruction import Instruction, Operand
from workbench.emulator.native import abi
from workbench.emulator.native.ops.matrix import DENSE, SMALL, SPARSE
from workbench.emulator.translate.operands import is_dpp, is_sdwa
from workbench.targets import TILE_TARGETS

TARGETS = tuple(sorted(TILE_TARGETS))

_SDWA_DWORD = 6
_SDWA_PRESERVE = 2
_VCCZ, _EXECZ = 251, 252
# Units of what an instruction reads and writes: VGPRs, AGPRs, scalar encodings, hardware registers, and
# whether a double-precision matrix instruction went by.
_AGPR, _SCALAR, _HWREG, _DGEMM = 512, 1024, 2048, 4096

Counts = Mapping[str, "int | Mapping[int, int]"]

SEARCHED = 19
"""Wait states that LLVM looks back from what reads or writes vector registers. Of a count of 20 it misses one
that lacks only the last, so compiled code has 19 here and there: not reported, because nobody who writes C++
could change it."""


@dataclass(frozen=True)
class Rule:
    """One dependency that needs wait states.

    Attributes:
        name: a short name of its own.
        after: what the first instruction does, in words.
        before: what the second one does with the same register.
        producers: classes of accesses of the first instruction.
        consumers: classes of accesses of the second one.
        counts: wait states that are wanted, by target; after a matrix instruction, by its passes.
        source: the function or constant of LLVM's GCNHazardRecognizer that has the count.
    """

    name: str
    after: str
    before: str
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    counts: Counts
    source: str

    def states(self, target: str, passes: int = 0) -> int:
        """Wait states whose lack is reported, on a target after so many passes; 0 where there is no rule."""
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
_OVERLAPPED = "reads registers of that result as SrcC that are not exactly the same ones"

RULES: tuple[Rule, ...] = (
    # ---- Scalar registers ----
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
        "a VALU instruction reads it, as a constant or as v_cndmask's mask",
        ("valu scalar",),
        ("valu reads scalar",),
        _both(2),
        "checkVALUHazards (hasVDecCoExecHazard)",
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
        "s_movrel, s_sendmsg, an LDS add-TID instruction, GDS, or a load from memory to LDS",
        ("salu m0",),
        ("uses m0",),
        _both(1),
        "checkReadM0Hazards",
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
    # ---- Vector registers ----
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
        "a scaled conversion to fp4 writes a VGPR",
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
        ("not dot c", "memory reads"),
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
    # ---- Matrix instructions ----
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
        "a matrix instruction reads exactly it as SrcC",
        ("xdl",),
        tuple(f"{kind} c same" for kind in ("xdl", *_NOT_XDL)),
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
        "a VALU, vector memory or LDS instruction writes it",
        ("xdl",),
        ("valu writes", "memory writes"),
        _AFTER_XDL,
        "GFX940_XDL_N_PassWriteVgprVALUWawWaitStates",
    ),
    Rule(
        "xdl-c-write",
        "an XDL matrix instruction reads SrcC",
        "a VALU, vector memory or LDS instruction writes it",
        ("xdl c",),
        ("valu writes", "memory writes"),
        _by_passes((1, 3, 7, 15)),
        "checkMAIVALUHazards (SMFMA*ReadVgprVALUWarWaitStates)",
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
        "an f32 or f64 matrix instruction reads exactly it as SrcC",
        ("sgemm",),
        tuple(f"{kind} c same" for kind in _NOT_XDL),
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
        "a VALU, vector memory or LDS instruction writes it",
        ("sgemm",),
        ("valu writes", "memory writes"),
        _AFTER_SGEMM,
        "GFX940_SMFMA_N_PassWriteVgprVALUWawWaitStates",
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
        "the same instruction reads it as SrcC, or an f32 or f64 matrix instruction other registers of it",
        ("dgemm_4x4",),
        ("dgemm_4x4 c same", *(f"{kind} c overlap" for kind in _NOT_XDL)),
        _both(4),
        "DMFMA4x4WritesVGPRFullSrcCWaitStates, DMFMA4x4WritesVGPROverlappedSrcCWaitStates",
    ),
    Rule(
        "dgemm-4x4-valu",
        "v_mfma_f64_4x4x4_4b_f64 writes a result",
        "a VALU instruction reads or writes it, or a load writes it",
        ("dgemm_4x4",),
        ("valu reads", "valu writes", "memory writes"),
        _both(6),
        "DMFMA4x4WriteVgprVALUReadWaitStates, DMFMA4x4WriteVgprVALUWriteWaitStates",
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
        "a VALU, vector memory or LDS instruction writes it",
        ("dgemm_16x16",),
        ("valu writes", "memory writes"),
        _both(11),
        "DMFMA16x16WriteVgprVALUWriteWaitStates",
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
    ),
)


@dataclass(frozen=True)
class Hazard:
    """Two instructions that are too close on some way through the code.

    Attributes:
        rule: which one, by its place in RULES.
        producer, consumer: addresses of the first and the second instruction.
        wanted: wait states between them.
        unit: the register that they share, as `unit_name` reads it.
    """

    rule: int
    producer: int
    consumer: int
    wanted: int
    unit: int


@dataclass
class Hazards:
    """What `find` has found, in the form that code is made from.

    Attributes:
        found: each pair once.
        by_producer, by_consumer: places in `found` by address.
        offsets: wait states of the block before an instruction, by address, for the addresses above.
        lengths: wait states of each block, by the address of its last instruction.
    """

    found: list[Hazard] = field(default_factory=list)
    by_producer: dict[int, list[int]] = field(default_factory=dict)
    by_consumer: dict[int, list[int]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)


MOST: int = abi.SAN_MARKS
"""Pairs of a kernel that are followed while it runs."""


def unit_name(unit: int) -> str:
    """A register as a message names it; "" for what is no register of the program."""
    if unit >= _HWREG:
        return ""
    if unit >= _SCALAR:
        index = unit - _SCALAR
        named = {abi.VCC: "vcc", abi.VCC + 1: "vcc", abi.EXEC: "exec", abi.EXEC + 1: "exec"}
        return {**named, abi.M0: "m0"}.get(index, f"s{index}")
    return f"a{unit - _AGPR}" if unit >= _AGPR else f"v{unit}"


def wait_states(instruction: Instruction) -> int:
    """Wait states that an instruction is: one, s_nop as many as it says."""
    if instruction.opcode == "s_nop":
        return (int(instruction.src[0].value or 0) & 15) + 1
    return 1


# ---- What an instruction reads and writes ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Producer:
    """The first instruction of a pair, with the registers of its result where it is a matrix instruction."""

    address: int
    opcode: str
    passes: int
    span: tuple[int, int]


@dataclass(slots=True)
class _Facts:
    produces: list[tuple[str, int]] = field(default_factory=list)
    consumes: list[tuple[str, int]] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    c_span: tuple[int, int] = (-1, 0)
    span: tuple[int, int] = (-1, 0)
    passes: int = 0
    states: int = 1


def _units(operand: Operand) -> range:
    if operand.kind == "v":
        return range(operand.index, operand.index + operand.width)
    if operand.kind == "a":
        return range(_AGPR + operand.index, _AGPR + operand.index + operand.width)
    if operand.kind == "s":
        return range(_SCALAR + operand.index, _SCALAR + min(operand.index + operand.width, 128))
    return range(0)


def _span(operand: Operand) -> tuple[int, int]:
    units = _units(operand)
    return (units.start, len(units)) if units else (-1, 0)


_TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")
_CARRY_IN = ("v_addc_co", "v_subb_co", "v_subbrev_co")
_MEMORY = ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF")


@cache
def matrix_passes(opcode: str, target: str, eight_bit: bool = False) -> int:
    """Passes (4 cycles each) of a matrix instruction; f8f6f4 takes twice as many with an 8-bit input."""
    shape = DENSE.get(opcode) or SMALL.get(opcode) or SPARSE[opcode]
    if shape.m == 4:
        return 4 if shape.type_d == "f64" else 2
    if shape.type_d == "f64":
        return 16 if target == "gfx950" else 8
    passes = 4 if shape.m == 16 else 8
    if shape.blocks > 1 or shape.type_a == "f32" or (opcode in SMALL and eight_bit):
        passes *= 2
    return passes


def _matrix_kind(opcode: str) -> str:
    shape = DENSE.get(opcode) or SMALL.get(opcode) or SPARSE.get(opcode)
    if shape is None:
        return ""
    if shape.type_d == "f64":
        return "dgemm_4x4" if shape.m == 4 else "dgemm_16x16"
    return "sgemm" if shape.type_a == "f32" else "xdl"


def _facts(instruction: Instruction, target: str) -> _Facts:
    facts = _Facts(states=wait_states(instruction))
    format = instruction.format
    if format.startswith("VOP"):
        _valu(facts, instruction, target)
    elif format.startswith(_MEMORY) or format == "DS":
        _memory(facts, instruction)
    elif format.startswith("SOP"):
        _scalar(facts, instruction)
    for operand in instruction.dst:
        facts.writes.extend(_units(operand))
    return facts


def _valu(facts: _Facts, instruction: Instruction, target: str) -> None:
    opcode = instruction.opcode
    for operand in instruction.dst:
        if operand.kind == "s":
            facts.produces += [("valu scalar", unit) for unit in _units(operand)]
    for place, operand in enumerate(instruction.src):
        if operand.kind == "s":
            if place == 2 and opcode.startswith(_CARRY_IN):
                continue  # a carry is forwarded: 0 wait states in the guides' table
            facts.consumes += [("valu reads scalar", unit) for unit in _units(operand)]
        elif operand.kind == "special" and operand.index in (_VCCZ, _EXECZ):
            first = _SCALAR + (abi.VCC if operand.index == _VCCZ else abi.EXEC)
            facts.consumes += [("zero flag", first), ("zero flag", first + 1)]
    if opcode.startswith("v_cmpx"):
        exec_units = (_SCALAR + abi.EXEC, _SCALAR + abi.EXEC + 1)
        facts.produces += [("valu scalar", unit) for unit in exec_units]
        facts.produces.append(("valu exec", exec_units[0]))
        facts.writes.extend(exec_units)
    kind = _matrix_kind(opcode)
    if kind:
        _matrix(facts, instruction, kind, target)
    else:
        _plain_valu(facts, instruction)


def _matrix(facts: _Facts, instruction: Instruction, kind: str, target: str) -> None:
    opcode = instruction.opcode
    modifiers = instruction.modifiers
    eight_bit = modifiers.get("cbsz", 0) < 2 or modifiers.get("blgp", 0) < 2
    facts.passes = matrix_passes(opcode, target, eight_bit)
    facts.span = _span(instruction.dst[0])
    if opcode in SPARSE:
        others, c = instruction.src[-3:], instruction.dst[0]
    else:
        a, b, c, *scales = instruction.src
        others = (a, b, *scales)
    reads = [unit for operand in others if operand.kind in ("v", "a") for unit in _units(operand)]
    facts.c_span = _span(c)
    facts.consumes += [("mfma a or b", unit) for unit in reads]
    in_c = list(_units(c)) if c.kind in ("v", "a") else []
    facts.consumes += [(f"{kind} c", unit) for unit in in_c]
    facts.consumes.append(("mfma exec", _SCALAR + abi.EXEC))
    facts.consumes += [(role, unit) for role in ("not trans", "reads or keeps") for unit in (*reads, *in_c)]
    facts.produces += [(kind, unit) for unit in _units(instruction.dst[0])]
    if kind == "xdl":
        facts.produces += [("xdl c", unit) for unit in in_c]
    if kind.startswith("dgemm"):
        facts.produces.append(("dgemm", _DGEMM))


def _plain_valu(facts: _Facts, instruction: Instruction) -> None:
    opcode = instruction.opcode
    modifiers = instruction.modifiers
    vectors = [operand for operand in instruction.src if operand.kind in ("v", "a")]
    reads = [unit for operand in vectors for unit in _units(operand)]
    results = [u for operand in instruction.dst if operand.kind in ("v", "a") for u in _units(operand)]
    is_permlane = opcode.startswith("v_permlane")
    is_dot = opcode.startswith("v_dot")
    keeps = opcode.startswith(("v_fmac", "v_mac", "v_pk_fmac")) or is_permlane or opcode == "v_swap_b32"
    if is_permlane or opcode == "v_swap_b32":
        reads = sorted({*reads, *results})
    part = modifiers.get("op_sel", 0) & (12 if "cvt_sr" in opcode or "scalef32_sr" in opcode else 8)
    is_partial = instruction.format == "VOP3" and part != 0
    if is_sdwa(instruction) and modifiers.get("dst_sel", _SDWA_DWORD) != _SDWA_DWORD:
        is_partial = True
        keeps = keeps or modifiers.get("dst_unused", 0) == _SDWA_PRESERVE
    kept = results if keeps or is_partial else []

    facts.consumes += [("valu reads", unit) for unit in (*reads, *(results if keeps else ()))]
    facts.consumes += [("reads or keeps", unit) for unit in (*reads, *kept)]
    if not opcode.startswith(_TRANSCENDENTAL):
        facts.consumes += [("not trans", unit) for unit in reads]
    if is_dot:
        # v_dot2c and its like have their SrcC in the destination.
        c = results if len(instruction.src) < 3 else list(_units(instruction.src[2]))
        facts.consumes += [(f"not dot c {opcode}", unit) for unit in c]
        ab = [unit for operand in instruction.src[:2] if operand.kind == "v" for unit in _units(operand)]
        facts.consumes += [("not dot c", unit) for unit in ab]
        facts.consumes += [(f"other writes {opcode}", unit) for unit in results]
    else:
        facts.consumes += [("not dot c", unit) for unit in reads]
        facts.consumes += [("other writes", unit) for unit in results]
    facts.consumes += [("valu writes", unit) for unit in results]

    if is_dpp(instruction):
        facts.consumes += [("dpp", unit) for unit in reads]
        facts.consumes.append(("dpp exec", _SCALAR + abi.EXEC))
    if opcode in ("v_readlane_b32", "v_readfirstlane_b32"):
        facts.consumes += [("readlane", unit) for unit in reads]
    if opcode in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"):
        facts.consumes.append(("lane exec", _SCALAR + abi.EXEC))
    if opcode in ("v_readlane_b32", "v_writelane_b32") and instruction.src[1].kind == "s":
        facts.consumes += [("lane select", unit) for unit in _units(instruction.src[1])]
    if is_permlane:
        facts.consumes += [("permlane", unit) for unit in reads]
        facts.consumes.append(("permlane exec", _SCALAR + abi.EXEC))
    if opcode.startswith("v_div_fmas"):
        vcc = (_SCALAR + abi.VCC, _SCALAR + abi.VCC + 1)
        facts.consumes += [("div_fmas mask", unit) for unit in vcc]
    if opcode in ("v_fma_f64", "v_fmac_f64"):
        facts.consumes.append(("fma f64", _DGEMM))

    facts.produces += [("valu", unit) for unit in results]
    facts.produces += [("dot" if is_dot else "valu, no dot", unit) for unit in results]
    if opcode.startswith(_TRANSCENDENTAL):
        facts.produces += [("trans", unit) for unit in results]
    if is_partial:
        facts.produces += [("partial", unit) for unit in results]
    if opcode.startswith(("v_cvt_scalef32_pk_fp4", "v_cvt_scalef32_sr_pk_fp4")):
        facts.produces += [("fp4", unit) for unit in results]
    if is_permlane or opcode == "v_swap_b32":
        facts.writes.extend(reads)


def _memory(facts: _Facts, instruction: Instruction) -> None:
    opcode = instruction.opcode
    modifiers = instruction.modifiers
    is_lds = instruction.format == "DS"
    for operand in instruction.src:
        if operand.kind == "s" and not is_lds:
            facts.consumes += [("memory scalar", unit) for unit in _units(operand)]
        elif operand.kind in ("v", "a"):
            facts.consumes += [("memory reads", unit) for unit in _units(operand)]
    for operand in instruction.dst:
        if operand.kind in ("v", "a"):
            facts.consumes += [("memory writes", unit) for unit in _units(operand)]
    to_lds = not is_lds and bool("_load_lds_" in opcode or modifiers.get("lds"))
    if to_lds or (is_lds and ("addtid" in opcode or modifiers.get("gds") or opcode.startswith("ds_gws"))):
        facts.consumes.append(("uses m0", _SCALAR + abi.M0))
    if to_lds:
        facts.consumes.append(("memory scalar", _SCALAR + abi.M0))
    if not is_lds and ("_store_" in opcode or "cmpswap_x2" in opcode):
        is_buffer = instruction.format in ("MUBUF", "MTBUF")
        data = instruction.src[0 if is_buffer else 1] if len(instruction.src) > 1 else None
        by_register = is_buffer and instruction.src[-1].kind == "s"
        if data is not None and data.kind in ("v", "a") and data.width > 2 and not by_register:
            facts.produces += [("store data", unit) for unit in _units(data)]


def _scalar(facts: _Facts, instruction: Instruction) -> None:
    opcode = instruction.opcode
    m0 = _SCALAR + abi.M0
    if any(m0 in _units(operand) for operand in instruction.dst):
        facts.produces.append(("salu m0", m0))
    if opcode.startswith(("s_movrel", "s_sendmsg", "s_ttracedata")):
        facts.consumes.append(("uses m0", m0))
    if opcode.startswith(("s_getreg", "s_setreg")):
        for operand in (*instruction.dst, *instruction.src):
            if operand.kind == "hwreg":
                unit = _HWREG + (int(operand.value or 0) & 63)
                facts.consumes.append(("hardware register", unit))
                if opcode.startswith("s_setreg"):
                    facts.produces.append(("setreg", unit))


# ---- The way through the code ----------------------------------------------------------------------------

_HORIZON = 20

# What waits to be old enough: by unit, class and first instruction, the wait states since.
_Pending = dict[tuple[int, str, _Producer], int]


@cache
def _rules(target: str) -> Mapping[tuple[str, str], tuple[int, ...]]:
    table: dict[tuple[str, str], list[int]] = {}
    for number, rule in enumerate(RULES):
        if target in rule.counts:
            for pair in itertools.product(rule.producers, rule.consumers):
                table.setdefault(pair, []).append(number)
    return {pair: tuple(numbers) for pair, numbers in table.items()}


def find(
    blocks: Sequence[Sequence[Instruction]],
    successors: Callable[[int], Iterable[int]],
    target: str,
) -> Hazards:
    """Every pair of instructions that is too close on some way through the code.

    Args:
        blocks: a kernel's basic blocks.
        successors: blocks that may follow a block, by index; none after an indirect jump.
    """
    if target not in TARGETS:
        return Hazards()
    walk = _Walk(blocks, target)
    entering: dict[int, _Pending] = {index: {} for index in range(len(blocks))}
    waiting = list(range(len(blocks)))
    queued = set(waiting)
    while waiting:
        index = waiting.pop()
        queued.discard(index)
        leaving = walk.block(index, entering[index])
        for successor in successors(index):
            known = entering[successor]
            changed = False
            for key, distance in leaving.items():
                if known.get(key, _HORIZON) > distance:
                    known[key] = distance
                    changed = True
            if changed and successor not in queued:
                waiting.append(successor)
                queued.add(successor)
    return walk.result()


class _Walk:
    """Goes through blocks and keeps what it meets."""

    def __init__(self, blocks: Sequence[Sequence[Instruction]], target: str) -> None:
        self._blocks = blocks
        self._target = target
        self._rules = _rules(target)
        self._facts: list[list[_Facts]] = [[_facts(i, target) for i in block] for block in blocks]
        self._leaving: dict[int, _Pending] = {}
        self._found: dict[tuple[int, int, int], Hazard] = {}

    def block(self, index: int, entering: _Pending) -> _Pending:
        """Look at a block; what is pending at its end."""
        known = self._leaving.get(index)
        # By unit: class, first instruction, and when it was, on the block's own clock.
        pending: dict[int, list[tuple[str, _Producer, int]]] = {}
        for (unit, kind, producer), distance in entering.items():
            pending.setdefault(unit, []).append((kind, producer, -distance))
        now = 0
        for instruction, facts in zip(self._blocks[index], self._facts[index], strict=True):
            if known is not None and now >= _HORIZON:
                return known
            for role, unit in facts.consumes:
                if unit in pending:
                    self._meet(instruction, facts, role, unit, pending[unit], now)
            now += facts.states
            for unit in facts.writes:
                pending.pop(unit, None)
            if facts.produces:
                producer = _Producer(instruction.address, instruction.opcode, facts.passes, facts.span)
                for kind, unit in facts.produces:
                    pending.setdefault(unit, []).append((kind, producer, now))
        leaving: _Pending = {}
        for unit, entries in pending.items():
            for kind, producer, then in entries:
                distance = now - then
                if distance < _HORIZON:
                    key = unit, kind, producer
                    leaving[key] = min(distance, leaving.get(key, distance))
        if now >= _HORIZON:
            self._leaving[index] = leaving
        return leaving

    def _meet(
        self,
        instruction: Instruction,
        facts: _Facts,
        role: str,
        unit: int,
        entries: list[tuple[str, _Producer, int]],
        now: int,
    ) -> None:
        for kind, producer, then in entries:
            wanted_role = role
            if role.startswith(("not dot c ", "other writes ")):
                # Accumulating into the same dot product's result is what the instruction is for.
                if producer.opcode == instruction.opcode:
                    continue
                wanted_role = role.removesuffix(f" {instruction.opcode}")
            numbers = self._rules.get((kind, wanted_role), ())
            if role.endswith(" c"):
                same = producer.span == facts.c_span
                numbers += self._rules.get((kind, f"{role} {'same' if same else 'overlap'}"), ())
            for number in numbers:
                wanted = RULES[number].states(self._target, producer.passes)
                if now - then < wanted:
                    key = number, producer.address, instruction.address
                    self._found.setdefault(
                        key, Hazard(number, producer.address, instruction.address, wanted, unit)
                    )

    def result(self) -> Hazards:
        hazards = Hazards()
        # Where an instruction breaks several rules with another, the one that wants most says it all.
        most: dict[tuple[int, int], Hazard] = {}
        for hazard in self._found.values():
            pair = hazard.producer, hazard.consumer
            if pair not in most or most[pair].wanted < hazard.wanted:
                most[pair] = hazard
        hazards.found = sorted(most.values(), key=lambda hazard: (hazard.consumer, hazard.producer))[:MOST]
        for number, hazard in enumerate(hazards.found):
            hazards.by_producer.setdefault(hazard.producer, []).append(number)
            hazards.by_consumer.setdefault(hazard.consumer, []).append(number)
        if not hazards.found:
            return hazards
        for block, facts in zip(self._blocks, self._facts, strict=True):
            now = 0
            for instruction, each in zip(block, facts, strict=True):
                hazards.offsets[instruction.address] = now
                now += each.states
            hazards.lengths[block[-1].address] = now
        return hazards


__all__ = ["RULES", "Hazard", "Hazards", "Rule", "find", "unit_name", "wait_states"]
