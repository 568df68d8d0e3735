"""Writes docs/tile_tests.md: how many generated cases there are.

Run as `python tests/kernels/generated/tile_table.py`.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))

from tile_batches import ARCHS, FAMILIES

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[2] / "docs" / "tile_tests.md"

CHECKED = {
    "maps of tiles": "maps, constants, maps with a row's or column's value: type x layout x base shape",
    "reductions of tiles": "max, min, sum, prod along rows and columns, with and without a start",
    "masks": "every mask over type x layout x base shape, with and without a value",
    "conversions of tiles": "between all types, every fp8 code, transpose, swap_layout, swap_layout_inplace",
    "vectors": "align, ortho and naive: global and shared memory, maps, conversions, reductions",
    "matrix multiplication": "four forms x type x base shape x layout of the accumulator; exact on integers",
    "global memory, registers": "load and store: coordinates, axes, edges, conversions on the way",
    "global memory, shared": "groups of 1 to 8 waves: four ways to load, stores, edges, vectors",
    "shared memory, registers": "every pair of base shapes, both layouts, whole tiles and parts, conversions",
    "grid and layouts": "threads in groups, chiplet order, dimensions, strides, offsets, shared_allocator",
}


INTRODUCTION = """# Tests of the tile library by family

Generated cases (`tests/kernels/generated/`), each one function on one configuration, run on both emulated
devices and compared with PyTorch: bit by bit what is moved or exact, else within the bound that stands beside
the case. Written by `python tests/kernels/generated/tile_table.py`; a test keeps it true.
"""

REST = """
The sanitizer looks at a fifth of these kernels in a run, other ones with each seed, and at all of them with
`HIPKITTENS_TEST_SANITIZE=all`; the same seed (`HIPKITTENS_TEST_SEED`, printed) repeats a run.

Programs that must not compile (`tests/kernels/test_errors.py`), each with the sentence that its one error
says, on both targets:
"""


def table() -> str:
    """The document."""
    for path in sorted(HERE.glob("test_*.py")):
        if path.stem not in ("test_sanitized", "test_table"):
            importlib.import_module(path.stem)
    wrong = importlib.import_module("test_errors")
    counts = Counter(
        (name, batch.arch, what)
        for name, family in FAMILIES.items()
        for batch in family.batches
        for kernel in batch.kernels
        for what in ("kernel", *("case" for _ in kernel.cases))
    )
    lines = [INTRODUCTION]
    lines += [
        "| family | what | " + " | ".join(f"cases, {arch}" for arch in ARCHS) + " | kernels |",
        "| --- | --- |" + " ---: |" * (len(ARCHS) + 1),
    ]
    for name in sorted(FAMILIES):
        cases = " | ".join(f"{counts[name, arch, 'case']:,}" for arch in ARCHS)
        kernels = sum(counts[name, arch, "kernel"] for arch in ARCHS)
        lines.append(f"| {name} | {CHECKED[name]} | {cases} | {kernels:,} |")
    cases = " | ".join(f"**{sum(counts[n, arch, 'case'] for n in FAMILIES):,}**" for arch in ARCHS)
    kernels = sum(n for (_, _, what), n in counts.items() if what == "kernel")
    lines += [
        f"| **all** | | {cases} | **{kernels:,}** |",
        REST,
        "| family | programs |",
        "| --- | ---: |",
        *(f"| {name} | {len(programs)} |" for name, programs in wrong.FAMILIES.items()),
        f"| **all** | **{sum(map(len, wrong.FAMILIES.values()))}** |",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(table(), encoding="utf-8")
