"""Dependencies that gfx11 and later do not wait for, by LLVM's GCNHazardRecognizer and AMDGPUWaitSGPRHazards.

Distances are in vector instructions, as LLVM has them there: s_nop counts for none, v_nop for one. Some rules
need no distance but a wait (s_wait_alu, before gfx12 s_waitcnt_depctr); these are followed for as many vector
instructions as all others. We had no list of AMD's; compilers for these targets keep to LLVM's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.emulator.sanitizer.hazard_rules import RULES, SEARCHED, Counts, Rule
from workbench.targets import PARTIAL

TARGETS = tuple(sorted(record.name for record in PARTIAL))

_GFX1250 = ("gfx1250",)
_GFX12 = ("gfx1201",)
_RDNA3 = ("gfx1100", "gfx1101", "gfx1102", "gfx1103")
_GFX11 = (*_RDNA3, "gfx1151")


def _on(targets: Iterable[str], count: int | Mapping[int, int]) -> Counts:
    return dict.fromkeys(targets, count)


V_NOP = "a v_nop"
_SCALAR_WAIT = "s_wait_alu depctr_sa_sdst(0)"
_VECTOR_WAIT = "s_wait_alu depctr_va_sdst(0) depctr_va_vcc(0)"

LATER_RULES: tuple[Rule, ...] = (
    Rule(
        "trans-use",
        "a transcendental instruction writes a VGPR",
        "a vector instruction reads it",
        ("trans result",),
        ("vector read",),
        _on(_RDNA3, 6),
        "fixVALUTransUseHazard",
        remedy="s_waitcnt_depctr depctr_va_vdst(0)",
    ),
    Rule(
        "trans-coexecution",
        "a transcendental instruction writes a VGPR",
        "a vector instruction that is not transcendental reads it",
        ("trans result",),
        ("read beside trans",),
        _on(_GFX1250, 1),
        "fixVALUTransCoexecutionHazards",
        remedy=V_NOP,
    ),
    Rule(
        "trans-source",
        "a transcendental instruction reads a VGPR",
        "a vector instruction that is not transcendental writes it",
        ("trans source",),
        ("write beside trans",),
        _on(_GFX1250, 1),
        "fixVALUTransCoexecutionHazards",
        remedy=V_NOP,
    ),
    Rule(
        "wmma-ab",
        "a matrix instruction writes a result",
        "a matrix instruction reads it as A, B or an index",
        ("wmma result",),
        ("wmma factor",),
        _on((*_GFX11, *_GFX12, *_GFX1250), 1),
        "fixWMMAHazards",
        remedy=V_NOP,
    ),
    # Counts by latency: 16 cycles with integers, and in f8f6f4 with an 8-bit operand; else 8.
    Rule(
        "wmma-factor",
        "a matrix instruction beside which vector instructions execute writes a result",
        "a matrix instruction reads it as A, B or an index",
        ("xdl wmma result",),
        ("xdl wmma factor",),
        _on(_GFX1250, {8: 5, 16: 9}),
        "checkWMMACoexecutionHazards",
        remedy=V_NOP,
    ),
    Rule(
        "wmma-vector",
        "a matrix instruction beside which vector instructions execute writes a result",
        "a vector instruction reads or writes it",
        ("xdl wmma result",),
        ("vector read beside wmma", "vector write beside wmma"),
        _on(_GFX1250, {8: 4, 16: 8}),
        "checkWMMACoexecutionHazards",
        remedy=V_NOP,
    ),
    Rule(
        "swmmac-factor",
        "a sparse matrix instruction writes a result",
        "a matrix instruction reads it as A, B or an index",
        ("xdl swmmac result",),
        ("xdl wmma factor",),
        _on(_GFX1250, {8: 3, 16: 5}),
        "checkWMMACoexecutionHazards",
        remedy=V_NOP,
    ),
    Rule(
        "swmmac-vector",
        "a sparse matrix instruction writes a result",
        "a vector instruction reads or writes it",
        ("xdl swmmac result",),
        ("vector read beside wmma", "vector write beside wmma"),
        _on(_GFX1250, {8: 2, 16: 4}),
        "checkWMMACoexecutionHazards",
        remedy=V_NOP,
    ),
    # A register counts as read by a vector instruction if that read its pair: SGPR 2n or 2n + 1.
    Rule(
        "sgpr-scalar",
        "a scalar instruction writes an SGPR or VCC that a vector instruction has read before",
        "a scalar or vector instruction reads it",
        ("scalar write after vector read",),
        ("scalar read of sgpr", "vector read of sgpr"),
        _on(_GFX12, SEARCHED),
        "AMDGPUWaitSGPRHazards",
        remedy=_SCALAR_WAIT,
    ),
    Rule(
        "sgpr-vector",
        "a vector instruction writes an SGPR or VCC that a vector instruction has read before",
        "a vector instruction reads it",
        ("vector write after vector read", "vector write of vcc after vector read"),
        ("vector read of sgpr",),
        _on(_GFX12, SEARCHED),
        "AMDGPUWaitSGPRHazards",
        remedy=_VECTOR_WAIT,
    ),
    Rule(
        "mask-scalar",
        "a scalar instruction writes an SGPR or VCC that a vector instruction has read as its mask",
        "a scalar or vector instruction reads it",
        ("scalar write after mask",),
        ("scalar read of sgpr", "vector read of sgpr"),
        _on(_GFX11, SEARCHED),
        "fixVALUMaskWriteHazard",
        remedy="s_waitcnt_depctr depctr_sa_sdst(0)",
        lanes=64,
    ),
    Rule(
        "mask-vector",
        "a vector instruction writes an SGPR or VCC that a vector instruction has read as its mask",
        "a vector instruction reads it",
        ("vector write after mask", "vector write of vcc after mask"),
        ("vector read of sgpr",),
        _on(_GFX11, SEARCHED),
        "fixVALUMaskWriteHazard",
        remedy="s_waitcnt_depctr depctr_va_sdst(0) depctr_va_vcc(0)",
        lanes=64,
    ),
)

ALL_RULES: tuple[Rule, ...] = (*RULES, *LATER_RULES)
"""The rules of every target; hazards name them by their index."""
