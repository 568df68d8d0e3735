"""Where the lanes of a wave have the elements of V_WMMA's and V_SWMMAC's matrices.

All have 16 columns of B and D, so a wave is groups of 16 lanes: lane 16 g + i has elements of row i of A, of
column i of B, and of column i of C and D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from workbench.targets.sources import MATRIX_CALCULATOR


@dataclass(frozen=True)
class WaveMatrixLayout:
    """The layout of a target.

    With 32 lanes, elements of K are dealt to the two groups of lanes in turns, `runs` of them at a time. With
    64 lanes, groups 2 and 3 have the second half of the registers that groups 0 and 1 have with 32; a factor
    that fills one register with 32 lanes is in groups 0 and 1 alone.

    Attributes:
        shared_factors: every group of lanes has all of A and B; else see above.
        runs: adjacent elements of K of one lane, by the bits of an element; of a lane with fewer, all. Of a
            sparse instruction this many stored elements of A, and twice as many of B.
        block_runs: the same of f8f6f4 instructions.
        interleaved_rows: neighbouring rows of D are in neighbouring groups of lanes; else in neighbouring
            elements of a lane, eight of them (with 64 lanes four in groups 0 and 1, then four in 2 and 3).
        ordered_indices: the indices of a sparse A follow each other in the order of K, the first half of them
            in the even group of lanes; else a lane has those of its own elements.
        packed_results: two 16-bit elements of C and D share a register; else op_sel chooses its half.
        source: where this was published.
    """

    shared_factors: bool
    runs: Mapping[int, int]
    interleaved_rows: bool
    packed_results: bool
    source: str
    block_runs: Mapping[int, int] = field(default_factory=dict)
    ordered_indices: bool = False


GFX11_WAVE_MATRICES = WaveMatrixLayout(
    shared_factors=True,
    runs=MappingProxyType({}),
    interleaved_rows=True,
    packed_results=False,
    source=f"{MATRIX_CALCULATOR}, rdna3",
)
GFX12_WAVE_MATRICES = WaveMatrixLayout(
    shared_factors=False,
    runs=MappingProxyType({16: 4, 8: 8, 4: 16}),
    interleaved_rows=False,
    packed_results=True,
    source=f"{MATRIX_CALCULATOR}, rdna4",
)
GFX1250_WAVE_MATRICES = WaveMatrixLayout(
    shared_factors=False,
    runs=MappingProxyType({32: 2, 16: 8, 8: 16}),
    interleaved_rows=False,
    packed_results=True,
    source="ROCm/rocm-systems, rocjitsu, mma/layout.h. HipKittens' headers for gfx1250 load 16 adjacent "
    "elements of 16 bits where these are twice eight: both factors alike, which gives the same products. Of "
    "f8f6f4 as rocjitsu has it with scales; without, rocjitsu has 4 and 6 bits in another order. "
    "The indices are as rocjitsu and AMD's FPSan have them; rocjitsu says that AMD's ISA guide describes "
    "K = 128 otherwise",
    block_runs=MappingProxyType({8: 16, 6: 32, 4: 32}),
    ordered_indices=True,
)
