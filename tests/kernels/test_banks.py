"""Shared memory without bank conflicts: counted by the emulated device, by phases measured on gfx950."""

from __future__ import annotations

import pytest
import torch
from test_shared import ALLOCATE, CORNER
from tile_cases import DTYPES, FP8, SHAPES, Batch, c_type, distinct, random

MEANT_FOR = {
    "st_16x16_swizzled_s": {"row_l": ["rt_16x16_s"], "col_l": ["rt_16x16_s", "rt_32x16_4_s"]},
    "st_16x32_s": {"row_l": ["rt_16x32_s"], "col_l": ["rt_16x32_s", "rt_16x32_4_s"]},
    "st_32x16_s": {"row_l": ["rt_32x16_s"], "col_l": ["rt_32x16_4_s"]},
    "st_32x32_s": {
        "row_l": ["rt_32x16_s", "rt_16x32_s", "rt_32x32_8_s"],
        "col_l": ["rt_32x16_s", "rt_16x32_s", "rt_16x32_4_s", "rt_32x32_s", "rt_32x32_8_s"],
    },
    "st_8x32_s": {"row_l": ["rt_16x32_s"], "col_l": ["rt_16x32_s", "rt_16x32_4_s"]},
    "st_16x128_s": {"row_l": ["rt_16x128_s"], "col_l": []},
}
"""Base shapes of shared tiles and the register tiles that they are laid out for, by layout."""

NARROW = {
    "gfx950": [
        ("st_32x16_s", "rt_32x16_s"),
        ("st_32x32_s", "rt_32x16_s"),
        ("st_32x32_s", "rt_32x32_8_s"),
        ("st_8x32_s", "rt_16x32_s"),
    ],
    "gfx942": [("st_8x32_s", "rt_16x32_s")],
}
"""Pairs that are not for 1-byte types in the row layout: a lane holds 8 bytes of a row, and 32 rows of 16 or
32 bytes share banks however pieces of 16 bytes, which gfx950 loads straight to shared memory, are ordered."""


def cases(batch: Batch, arch: str, dtype: torch.dtype, statement: str) -> None:
    """A case for each pair of shapes; `statement` uses shared tile `s`, register tile `a`, layouts x, out."""
    for st_shape, by_layout in MEANT_FOR.items():
        for layout, rt_shapes in by_layout.items():
            for rt_shape in rt_shapes:
                pair = (st_shape, rt_shape)
                if dtype.itemsize == 1 and layout == "row_l" and pair in NARROW[arch]:
                    continue
                rows, cols = (max(SHAPES[rt_shape][0], 32), max(SHAPES[rt_shape][1], 32))
                one_byte = dtype.itemsize == 1
                x = random(rows, cols).to(dtype) if one_byte else distinct(rows, cols, dtype)
                batch.add(
                    f"{st_shape} {rt_shape} {layout}",
                    f"""{ALLOCATE} using tile = st<{c_type(x)}, {rows}, {cols}, {st_shape}>;
                    tile &s = al.allocate<tile>();
                    rt<{c_type(x)}, {rows}, {cols}, {layout}, {rt_shape}> a;
                    {statement}""",
                    x=x,
                    shared=rows * cols * x.element_size(),
                    wanted={"out": x},
                )


def check(batch: Batch, arch: str) -> None:
    counters = batch.run(arch, profile=True)
    conflicts = {what: c["lds_bank_conflict"] for what, c in counters.items() if c["lds_bank_conflict"]}
    assert not conflicts


@pytest.mark.parametrize("dtype", [*DTYPES, "fp8e4m3"])
def test_loads_have_no_conflicts(arch: str, batch: Batch, dtype: str) -> None:
    cases(
        batch,
        arch,
        DTYPES.get(dtype, FP8[arch]),
        f"""group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
        load(a, s); store(g.out, a, {CORNER});""",
    )
    check(batch, arch)


@pytest.mark.parametrize("dtype", [*DTYPES, "fp8e4m3"])
def test_stores_have_no_conflicts(arch: str, batch: Batch, dtype: str) -> None:
    cases(
        batch,
        arch,
        DTYPES.get(dtype, FP8[arch]),
        f"""load(a, g.x, {CORNER}); store(s, a); wait_and_barrier();
        group<1>::store(g.out, s, {CORNER});""",
    )
    check(batch, arch)
