"""Matrix units: passes of instructions, and dense operations per clock and compute unit."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.targets.fact import Fact
from workbench.targets.sources import (
    CDNA2_RATES,
    CDNA3_RATES,
    CDNA4_RATES,
    MI400_PAGES,
    RX7900XTX_TABLE,
    RX9070XT,
    WMMA_RATES,
)

CYCLES_OF_A_PASS = Fact(4, "cycles", "LLVM, SISchedule.td: MFMA latencies are in passes of four clocks")
CDNA2_PASSES = Fact(8, "", "LLVM, SISchedule.td, MFMA latencies of GFX90A")
CDNA3_PASSES = Fact(4, "", "LLVM, SISchedule.td, MFMA latencies of GFX940 and GFX950")
"""Passes of an instruction on 16-bit sources with 16 by 16 results; CDNA 4 has them too."""


def _rates(source: str, **rates: int) -> dict[str, Fact]:
    return {kind: Fact(rate, "operations/clock", source) for kind, rate in rates.items()}


CDNA2_MATRIX_RATES: Mapping[str, Fact] = _rates(CDNA2_RATES, F64=256, F32=256, F16=1024, BF16=1024, I8=1024)
CDNA3_MATRIX_RATES: Mapping[str, Fact] = {
    **_rates(CDNA3_RATES, F64=256, F32=256, F16=2048, BF16=2048, F8=4096),
    **_rates("AMD CDNA 3 white paper (2025), table 1 (footnote MI325-019 prints 4,046, a slip)", I8=4096),
    **_rates(
        f"{CDNA3_RATES}: 653.7 TFLOP/s, as table 2; table 1 prints 490.3, which is the MI300A's",
        XF32=1024,
    ),
}
CDNA4_MATRIX_RATES: Mapping[str, Fact] = {
    **_rates(CDNA4_RATES, F64=128, F32=256, F16=4096, BF16=4096, F8=8192, I8=8192),
    **_rates(f"{CDNA4_RATES} (it prints 16,834, against the 10 PFLOP/s beside it)", F6F4=16384),
}
RDNA3_MATRIX_RATES: Mapping[str, Fact] = _rates(
    f"{WMMA_RATES}; {RX7900XTX_TABLE}: 123 TFLOP/s of fp16 from 96 compute units at 2.5 GHz",
    F16=512,
    BF16=512,
    I8=512,
)
RDNA4_MATRIX_RATES: Mapping[str, Fact] = _rates(
    f"{WMMA_RATES}; {RX9070XT}: 779 TOPS of int8 with sparsity from 64 compute units at 2.97 GHz",
    F16=1024,
    BF16=1024,
    F8=2048,
    I8=2048,
)
_CDNA5 = f"{MI400_PAGES}: 20 PFLOP/s of fp8 from 256 compute units at 2,400 MHz, which is assumed"
CDNA5_MATRIX_RATES: Mapping[str, Fact] = {
    **_rates("assumed, half of fp8's", F16=16384, BF16=16384),
    **_rates(_CDNA5, F8=32768),
    **_rates(f"{MI400_PAGES}: 40 PFLOP/s of fp4, twice those of fp8", F6F4=65536),
}
"""Operations by rocprof's name of the input type; a type without an entry has no instructions."""
