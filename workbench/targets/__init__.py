"""Targets (what code is compiled for) and products (GPUs that run it): every figure once, with its source.

A `Target` has the facts of the instruction set: gfx950 is the same in an MI350X and an MI355X. A
`Product` has the rest: clock, compute units, memory. Peak rates are not stored but follow from the other
facts, as in AMD's own footnotes: operations per clock and compute unit, times compute units, times peak
engine clock (MI355X: 2,516.6 TFLOP/s of bf16, where tables print 2.5 PFLOP/s). Memory bandwidth is the figure
that AMD states, slightly below bus width times data rate (MI300X: 5.3 TB/s stated, 5.325 in the same paper's
footnote MI300-13).

If sources disagree, the source says which was used and why.

A new product is one more `Product` in `products.PRODUCTS`.
"""

from __future__ import annotations

from workbench.targets.fact import Fact
from workbench.targets.instruction_sets import (
    ARCHS,
    GENERICS,
    GFX90A,
    GFX942,
    GFX950,
    GFX1100,
    GFX1201,
    KNOWN,
    LIBRARY_TARGETS,
    NAMES,
    PARTIAL,
    TARGETS,
    TILE_TARGETS,
    WAVE,
    Target,
    check_arch,
    for_generations,
    further_of_generations,
    is_timed,
    keeps_halves,
    macros,
    of_same_generation,
    runs_on,
    target,
    waits_of,
    wave_size,
)
from workbench.targets.lds import CONFLICT_RULES, ConflictRule, conflict_rule
from workbench.targets.page import document, facts, summary
from workbench.targets.products import (
    MI210,
    MI300X,
    MI325X,
    MI350X,
    MI355X,
    PARTIAL_PRODUCTS,
    PRODUCTS,
    RX7900XTX,
    RX9070XT,
    Product,
    default_product,
    product,
)
from workbench.targets.timing import CDNA3_TIMING, CDNA4_TIMING, CHAIN, LINE_BYTES, Timing
from workbench.targets.under_load import UnderLoad
from workbench.targets.waits import Request, WaitCounter, WaitCounters
from workbench.targets.wave_matrices import WaveMatrixLayout

__all__ = [
    "ARCHS",
    "CDNA3_TIMING",
    "CDNA4_TIMING",
    "CHAIN",
    "CONFLICT_RULES",
    "GENERICS",
    "GFX90A",
    "GFX942",
    "GFX950",
    "GFX1100",
    "GFX1201",
    "KNOWN",
    "LIBRARY_TARGETS",
    "LINE_BYTES",
    "MI210",
    "MI300X",
    "MI325X",
    "MI350X",
    "MI355X",
    "NAMES",
    "PARTIAL",
    "PARTIAL_PRODUCTS",
    "PRODUCTS",
    "RX7900XTX",
    "RX9070XT",
    "TARGETS",
    "TILE_TARGETS",
    "WAVE",
    "ConflictRule",
    "Fact",
    "Product",
    "Request",
    "Target",
    "Timing",
    "UnderLoad",
    "WaitCounter",
    "WaitCounters",
    "WaveMatrixLayout",
    "check_arch",
    "conflict_rule",
    "default_product",
    "document",
    "facts",
    "for_generations",
    "further_of_generations",
    "is_timed",
    "keeps_halves",
    "macros",
    "of_same_generation",
    "product",
    "runs_on",
    "summary",
    "target",
    "waits_of",
    "wave_size",
]
