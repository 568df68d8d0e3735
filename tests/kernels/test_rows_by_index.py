"""Rows by index, views with strides, and rotations of pairs."""

from __future__ import annotations

import torch
from tile_cases import Batch, close, random

import workbench as wb
from workbench.runtime import device

TILES = [
    ("rt_bf<32, 32, row_l, rt_16x32_s>", 32, 32),
    ("rt_fl<16, 48, row_l, rt_16x16_s>", 16, 48),
    ("rt_fl<32, 16, col_l, rt_16x16_s>", 32, 16),
    ("rt_fl<8, 64, row_l, rt_rows_s<bf16, 64>>", 8, 64),
]


def test_gather_and_scatter(arch: str) -> None:
    """Rows of 40 columns, so that some columns of a second tile are past the end; and rows outside it."""
    batch = Batch()
    for tile, rows, cols in TILES:
        for across in (0, 1):
            x = random(50, 40, dtype=torch.bfloat16).float()
            generator = torch.Generator().manual_seed(rows + across)
            index = torch.randperm(50, generator=generator)[:rows].to(torch.int32)
            index[3], index[5] = -1, 50
            first, width = across * cols, max(0, min(40 - across * cols, cols))
            if width == 0:
                continue
            there = (index >= 0) & (index < 50)
            gathered = torch.zeros(rows, cols)
            gathered[there, :width] = x[index[there].long(), first : first + width]
            scattered = torch.full((50, 40), float("nan"))
            scattered[index[there].long(), first : first + width] = gathered[there, :width]
            batch.add(
                f"{tile} {across}",
                f"""{tile} r; const auto rows = [&](int row) {{ return g.index[row]; }};
                gather(r, g.x, {{0, 0, 0, {across}}}, rows);
                store(g.gathered, r, {{0, 0, 0, 0}});
                scatter(g.scattered, r, {{0, 0, 0, {across}}}, rows);""",
                x=x,
                index=index,
                expected={"gathered": gathered, "scattered": scattered},
            )
    batch.run(arch)


def test_rotations(arch: str) -> None:
    x, y, angle = random(16, 32, seed=1), random(16, 32, seed=2), random(16, 32, seed=3)
    cos, sin = angle.cos(), angle.sin()
    batch = Batch()
    batch.add(
        "halves",
        """rt_fl<16, 32, row_l, rt_16x32_s> x, y, c, s; load(x, g.x, {0, 0, 0, 0});
        load(y, g.y, {0, 0, 0, 0});
        load(c, g.cos, {0, 0, 0, 0}); load(s, g.sin, {0, 0, 0, 0}); rotate(x, y, x, y, c, s);
        store(g.first, x, {0, 0, 0, 0}); store(g.second, y, {0, 0, 0, 0});""",
        **{"x": x, "y": y, "cos": cos, "sin": sin},
        expected={"first": x * cos - y * sin, "second": y * cos + x * sin},
        check=close(2, 1e-6),
    )
    pairs = torch.stack((x, y), -1).flatten(-2)
    batch.add(
        "pairs",
        """using shape = ducks::rt_shape::rt_shape<16, 32, 8>;
        using half = ducks::rt_shape::rt_shape<16, 16, 4>;
        rt_fl<16, 64, row_l, shape> x; rt_fl<16, 32, row_l, half> c, s; load(x, g.x, {0, 0, 0, 0});
        load(c, g.cos, {0, 0, 0, 0}); load(s, g.sin, {0, 0, 0, 0}); rotate_pairs(x, x, c, s);
        store(g.out, x, {0, 0, 0, 0});""",
        **{"x": pairs, "cos": cos, "sin": sin},
        expected={"out": torch.stack((x * cos - y * sin, y * cos + x * sin), -1).flatten(-2)},
        check=close(2, 1e-6),
    )
    batch.run(arch)


VIEWS = """
#include "kittens.cuh"
using namespace kittens;
__global__ void copy_view(gl_strided<float, -1, -1, -1, 16> x, gl<float, -1, -1, -1, 16> out) {
    rt_fl<16, 16> r;
    const int batch = static_cast<int>(blockIdx.x), depth = static_cast<int>(blockIdx.y);
    load(r, x, {batch, depth, static_cast<int>(blockIdx.z), 0});
    store(out, r, {batch, depth, static_cast<int>(blockIdx.z), 0});
}
"""


def test_views_with_strides(arch: str) -> None:
    """A launch fills in the strides; rows past the end of the view read as zero, not as later memory."""
    kernel = wb.compile(VIEWS, arch=arch)["copy_view"]
    whole = torch.arange(2 * 40 * 3 * 2 * 16, dtype=torch.float32).view(2, 40, 3, 2, 16)
    x = whole[:, :37, :, 1].transpose(1, 2)
    out = torch.full((2, 3, 37, 16), float("nan"))
    kernel.launch(wb.Launch((2, 3, 3), 64), (), {"x": x, "out": out}, device=device(f"emulated:{arch}"))
    assert torch.equal(out, x)
