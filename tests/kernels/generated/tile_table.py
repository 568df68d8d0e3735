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

from tile_batches import FAMILIES

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[2] / "docs" / "tile_tests.md"

CHECKED = {
    "maps of tiles": "maps, constants, maps with a row's or column's value: type x layout x base shape",
    "reductions of tiles": "max, min, sum, prod along rows and columns, with and without a start",
    "masks": "every mask over type x layout x base shape, with and without a value",
    "conversions of tiles": "between all types, every fp8 code",
    "layouts of tiles": "transpose, swap_layout, swap_layout_inplace: type x layout x base shape",
    "vectors": "align, ortho and naive: global and shared memory, maps, conversions, reductions",
    "matrix multiplication": "four forms x type x base shape x layout of the accumulator; exact on integers",
    "global memory, registers": "load and store: coordinates, axes, edges, conversions on the way",
    "global memory, shared": "groups of 1 to 8 waves: four ways to load, stores, edges, vectors",
    "shared memory, registers": "every pair of base shapes, both layouts, whole tiles and parts, conversions",
    "grid and layouts": "threads in groups, chiplet order, dimensions, strides, offsets, shared_allocator",
}


INTRODUCTION = """# Tests of the tile library by family

Each generated case (`tests/kernels/generated/`) is one function on one configuration of one target. It runs
on the emulated device and is compared with PyTorch: bit by bit if the result is exact or only moved,
otherwise within the bound that the case states. `python tests/kernels/generated/tile_table.py` writes this
page, and a test keeps it true.

A run tests all configurations of loads, stores and layouts, each on one of the targets, which the seed picks.
Maps, reductions, masks, vectors, conversions and multiplications have factors that do not interact, so a run
tests a covering array of their product: any two values (of function, target with element type, layout and
base shape) meet in at least one case. Each seed (`HIPKITTENS_TEST_SEED`, printed) gives another array; the
counts are for seed 1. `make test-product` tests the full product, and `HIPKITTENS_TEST_ALL=10` every tenth
batch of it, others with each seed.
"""

REST = """
The sanitizer watches a fifth of a run's kernels, others with each seed, or all of them with
`HIPKITTENS_TEST_SANITIZE=all`.

These programs must not compile (`tests/kernels/test_errors.py`); each gives one error with this sentence, on
both targets:
"""


def table() -> str:
    """The Markdown of the page."""
    for path in sorted(HERE.glob("test_*.py")):
        if path.stem not in ("test_coverage", "test_sanitized", "test_table"):
            importlib.import_module(path.stem)
    wrong = importlib.import_module("test_errors")
    counts: Counter[tuple[str, str]] = Counter()
    for name, family in FAMILIES.items():
        for suite, batches in (("all", family.all_batches()), ("run", family.covering_batches("1"))):
            for kernel in (kernel for batch in batches for kernel in batch.kernels):
                counts[name, f"kernels, {suite}"] += 1
                counts[name, f"cases, {suite}"] += len(kernel.cases)
    columns = ("cases, run", "kernels, run", "cases, all", "kernels, all")
    lines = [
        INTRODUCTION,
        "| family | what | cases | kernels | all cases | all kernels |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name in sorted(FAMILIES):
        cells = " | ".join(f"{counts[name, column]:,}" for column in columns)
        lines.append(f"| {name} | {CHECKED[name]} | {cells} |")
    totals = " | ".join(f"**{sum(counts[name, column] for name in FAMILIES):,}**" for column in columns)
    lines += [
        f"| **all** | | {totals} |",
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
