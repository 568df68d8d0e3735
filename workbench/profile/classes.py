"""Which pipeline executes an instruction: the classes that rocprof counts and the timing model charges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.codeobject.instruction import Instruction

CLASSES = (
    "valu",
    "trans",
    "mfma",
    "salu",
    "smem",
    "lds",
    "vmem_load",
    "vmem_store",
    "vmem_atomic",
    "vmem_other",
    "flat_load",
    "flat_store",
    "flat_atomic",
    "branch",
    "message",
    "internal",
)
"""Every class that `classify` gives.

trans: transcendental and other quarter-rate vector instructions. vmem_*: buffer, global and scratch; flat_*:
generic addresses, which may turn out to be LDS. vmem_other: cache control. message: s_sendmsg and s_endpgm.
internal: handled by the sequencer itself (s_waitcnt, s_nop, s_barrier, s_setprio, ...).
"""

_BRANCH = re.compile(r"s_(branch|cbranch_\w+|setpc_b64|swappc_b64|call_b64)$")
_MESSAGE = re.compile(r"s_(sendmsg\w*|endpgm\w*)$")

# Quarter rate: the transcendental unit (CDNA3 ISA guide, "Transcendental") and full 32-bit integer products.
_QUARTER = re.compile(
    r"v_((exp|log|rcp|rsq|sqrt|sin|cos)(_iflag|_legacy)?_(f16|f32|f64)"
    r"|mul_(lo|hi)_[ui]32|mad_[ui]64_[ui]32|(rcp|rsq|sqrt)_f64)$"
)


def classify(instruction: Instruction) -> str:
    """The class of an instruction, one of `CLASSES`.

    Raises:
        ValueError: an encoding format that no class is known for.
    """
    opcode, kind = instruction.opcode, instruction.format
    if kind.startswith(("VOP", "VINTRP")):
        if opcode.startswith(("v_mfma", "v_smfmac")):
            return "mfma"
        return "trans" if _QUARTER.match(opcode) else "valu"
    if kind.startswith("SOP"):
        if _BRANCH.match(opcode):
            return "branch"
        if kind != "SOPP":
            return "salu"
        return "message" if _MESSAGE.match(opcode) else "internal"
    if kind == "SMEM":
        return "smem"
    if kind == "DS":
        return "lds"
    if kind in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"):
        unit = "flat" if kind == "FLAT" else "vmem"
        if "_atomic_" in opcode:
            return f"{unit}_atomic"
        if "_load" in opcode:
            return f"{unit}_load"
        return f"{unit}_store" if "_store" in opcode else "vmem_other"
    raise ValueError(f"{instruction.mnemonic}: no class for format {kind}")


_ARITHMETIC = re.compile(
    r"v_(pk_)?(add|sub|subrev|mul|fma|fmac|mad|mac|fmamk|fmaak|madmk|madak)(_legacy)?_f(16|32|64)$"
)


def arithmetic(opcode: str) -> tuple[str, str, int] | None:
    """What rocprof's VALU FLOP counters see in a vector instruction.

    Kind ("ADD", "MUL", "FMA", "TRANS"), type ("F16", "F32", "F64") and floating-point operations a lane; None
    for an instruction that rocprof's VALU FLOP counters do not count.
    """
    if match := _ARITHMETIC.match(opcode):
        packed, name, _, bits = match.groups()
        kind = {"add": "ADD", "sub": "ADD", "subrev": "ADD", "mul": "MUL"}.get(name, "FMA")
        return kind, f"F{bits}", (2 if kind == "FMA" else 1) * (2 if packed else 1)
    if match := re.match(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)\w*_f(16|32|64)$", opcode):
        return "TRANS", f"F{match.group(2)}", 1
    return None
