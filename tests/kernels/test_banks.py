"""Shared memory without bank conflicts: counted by the emulated device, by phases measured on gfx950."""

from __future__ import annotations

import re

import pytest
import torch
from test_shared import ALLOCATE, CORNER
from tile_cases import DTYPES, SHAPES, Batch, distinct

from workbench import toolchain

MEANT_FOR = {
    "st_16x16_swizzled_s": ["rt_16x16_s"],
    "st_16x32_s": ["rt_16x32_s"],
    "st_32x16_s": ["rt_32x16_s"],
    "st_32x32_s": ["rt_32x16_s", "rt_16x32_s", "rt_32x32_8_s"],
    "st_8x32_s": ["rt_16x32_s"],
}
"""Base shapes of shared tiles and the register tiles that they are laid out for."""


def clang_major() -> int:
    """Major version of the clang that compiles here, which may be inside zig or hipcc."""
    found = re.search(r"clang (?:version )?(\d+)", toolchain.find_compiler().version)
    return int(found[1]) if found else 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_loads_have_no_conflicts(arch: str, batch: Batch, dtype: str, request: pytest.FixtureRequest) -> None:
    if dtype == "bf16" and clang_major() < 22:
        why = "clang before 22 reads the first dword of 16 bytes of bf16 a second time, alone, with conflicts"
        request.applymarker(pytest.mark.xfail(reason=why, strict=False))
    for st_shape, rt_shapes in MEANT_FOR.items():
        for rt_shape in rt_shapes:
            rows, cols = (max(SHAPES[rt_shape][0], 32), max(SHAPES[rt_shape][1], 32))
            x = distinct(rows, cols, DTYPES[dtype])
            batch.add(
                f"{st_shape} {rt_shape}",
                f"""{ALLOCATE} using tile = st<{dtype}, {rows}, {cols}, {st_shape}>;
                tile &s = al.allocate<tile>();
                group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
                rt<{dtype}, {rows}, {cols}, row_l, {rt_shape}> a;
                load(a, s); store(g.out, a, {CORNER});""",
                x=x,
                shared=rows * cols * x.element_size(),
                wanted={"out": x},
            )
    counters = batch.run(arch, profile=True)
    conflicts = {what: c["lds_bank_conflict"] for what, c in counters.items()}
    assert not any(conflicts.values()), conflicts


STORED = {"gfx950": ["st_16x16_swizzled_s", "st_8x32_s"], "gfx942": list(MEANT_FOR)}
"""Shared tiles into which the first register tile that they are meant for is stored without conflicts too.

On gfx950 the swizzles of the others, which are HipKittens', spread the lanes that a read serves together; a
write serves others together.
"""


def test_stores_have_no_conflicts(arch: str, batch: Batch) -> None:
    for st_shape in STORED[arch]:
        rt_shape = MEANT_FOR[st_shape][0]
        x = distinct(32, 32, torch.bfloat16)
        batch.add(
            st_shape,
            f"""{ALLOCATE} using tile = st_bf<32, 32, {st_shape}>;
            tile &s = al.allocate<tile>();
            rt_bf<32, 32, row_l, {rt_shape}> a;
            load(a, g.x, {CORNER}); store(s, a); wait_and_barrier();
            group<1>::store(g.out, s, {CORNER});""",
            x=x,
            shared=2048,
            wanted={"out": x},
        )
    counters = batch.run(arch, profile=True)
    conflicts = {what: c["lds_bank_conflict"] for what, c in counters.items()}
    assert not any(conflicts.values()), conflicts
